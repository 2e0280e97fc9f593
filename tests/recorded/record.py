#!/usr/bin/env python3
"""Records what a program writes: record.py PROGRAM FOLDER.

FOLDER must be empty or missing; it gets what testdata/recorded holds but for its README.md. The work is done in
/tmp/wdelta-recorded, which must not exist. Kills need strace.
"""

import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the source tree
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))

import archive  # noqa: E402
import folders  # noqa: E402
import harness  # noqa: E402
import models  # noqa: E402
import questions  # noqa: E402
import recipes  # noqa: E402
import recorder  # noqa: E402
import training  # noqa: E402


def record_packs(t, folder):
    """The packs and deltas; the commands."""
    os.mkdir(os.path.join(folder, "packs"))
    for recipe in recipes.RECIPES:
        t.do(*recipe.words, "-o", recipe.name)
        models.copy(t.folder, recipe.name, os.path.join(folder, "packs", recipe.name))
    return t.commands


def digests(t):
    """{checkpoint: the digest of its files}"""
    names = [name for name in os.listdir(t.folder) if name not in ("run", "lone")]
    names += [os.path.join(run, name) for run in ("run", "lone") for name in os.listdir(t.path(run))]
    return {name: archive.digest(t.tree(name)) for name in sorted(names)}


def record_answers(program, recorded):
    """For each command its options, the fields of its answers with their types, and each answer: the command line, the
    exit code, the kind of error, and which of the `sets` of fields it has besides those that the command always has."""
    commands = {}
    for command, lines in questions.by_command().items():
        with tempfile.TemporaryDirectory() as folder:
            t = harness.Scratch(program, folder)
            questions.prepare(t, recorded)
            asked = [(line, *questions.ask(t, line)) for line in lines]
            options = questions.options_of(t, command) if command != "version" else []
        found = [questions.fields(value) for _, _, value in asked]
        types = {path: " ".join(sorted(set().union(*(each.get(path, ()) for each in found))))
                 for path in sorted(set().union(*found))}
        always = set.intersection(*map(set, found))
        extras = [sorted(set(each) - always) for each in found]
        sets = sorted(set(map(tuple, extras)))
        commands[command] = {
            "options": options, "always": {path: types[path] for path in types if path in always},
            "sometimes": {path: types[path] for path in types if path not in always}, "sets": sets,
            "answers": [(line, code, value["error"] and value["error"]["kind"], sets.index(tuple(extra)))
                        for (line, code, value), extra in zip(asked, extras)]}
    return commands


def text_of(value, indent=""):
    """JSON with as much on a line as there is room for."""
    short = json.dumps(value)
    if len(indent + short) <= 118 or not value or not isinstance(value, (dict, list, tuple)):
        return short
    deeper = indent + " "
    rows = ["%s: %s" % (json.dumps(key), text_of(each, deeper)) for key, each in value.items()] \
        if isinstance(value, dict) else [text_of(each, deeper) for each in value]
    lines = [rows[0]]
    for row in rows[1:]:
        fits = len(deeper + lines[-1] + row) < 117 and "\n" not in lines[-1] + row
        lines[-1:] = [lines[-1] + ", " + row] if fits else [lines[-1] + ",", row]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + "\n".join(deeper + line for line in lines) + "\n" + indent + end


def write_json(path, value):
    with open(path, "w") as file:
        file.write(text_of(value) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = map(os.path.abspath, sys.argv[1:])
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        sys.exit("record.py: '%s' is not empty" % folder)
    try:
        training.need_strace()
    except harness.Skipped as reason:
        sys.exit("record.py: %s" % reason)
    t = recorder.Recorder(program)
    try:
        version = t.json("--version")
        notes = {"program": {key: version[key] for key in ("version", "commit", "libraries")}, "commands": {}, "told": {}}
        models.write_all(t.folder)
        notes["checkpoints"] = digests(t)
        notes["commands"]["packs"] = record_packs(t, folder)
        for make in folders.RECORDINGS:
            t.begin()
            notes["told"].update(make(t) or {})
            elsewhere = archive.holds_path_elsewhere(t.folder)
            assert not elsewhere, "these could not be unpacked at another path: %s" % elsewhere
            archive.save(t.folder, os.path.join(folder, make.__name__ + ".tar.xz"))
            notes["commands"][make.__name__] = t.commands
    finally:
        t.end()
    write_json(os.path.join(folder, "recorded.json"), notes)
    write_json(os.path.join(folder, "answers.json"), record_answers(program, folder))


if __name__ == "__main__":
    main()
