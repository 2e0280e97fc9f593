#!/usr/bin/env python3
"""Kills the program, or fails its system calls, at every point where the disk could be left half written.

    kill_points.py PROGRAM [FILTER]

Each scenario runs once under strace to list the calls that change files. Then it runs again for each of them, killed as
that call begins, or with that call failing as on a full or broken disk. What lies on disk then must be the old state or
the new one, and the same command run again must finish with exactly the right bytes.

Patching in place is killed at every point. Of the other scenarios at most POINTS are tried, evenly spread, so that it
takes less than a minute; WDELTA_CRASH_ALL=1 tries all. With WDELTA_SAMPLE=N every Nth point of any scenario is tried.
Without strace the test is skipped; with WDELTA_REQUIRE_ALL=1 that is a failure.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))

import tiny  # noqa: E402

POINTS = 30
CALLS = "pwrite64,rename,renameat,renameat2,fsync,fdatasync,ftruncate,unlink,unlinkat,rmdir,mkdir,openat,flock"
LEFT_BY_A_KILL = re.compile(r"^\.[^/]*\.wdelta-\d+-\d+(/|$)")  # hidden, named after the output, the process and chance


class Failure(Exception):
    pass


def expect(truth, *what):
    if not truth:
        raise Failure(" ".join(str(part) for part in what))


def tree(top):
    """{relative path: content} of a folder, folders without files left out; of a file {"": content}."""
    if os.path.isfile(top):
        with open(top, "rb") as file:
            return {"": file.read()}
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


class Stage:
    """A folder with the checkpoints a, b, c, packs between them, and what they should become."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = dict(os.environ, TMPDIR=os.path.join(folder, "tmp"))
        # Leaks cannot be looked for under a tracer.
        self.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        os.mkdir(self.environment["TMPDIR"])
        ramp = tiny.ramp
        first, second = {"embed": ramp(300), "l.0": ramp(64)}, {"l.1": ramp(64), "norm": ramp(8)}
        tiny.write_sharded(self.path("a"), {"m-1.safetensors": first, "m-2.safetensors": second},
                           {"config.json": "1", "old/vocab.txt": "a"})
        first, second = {"embed": ramp(300, {5: 1, 77: 2}), "l.0": ramp(64)}, {"l.1": ramp(64, {9: 3}), "norm": ramp(8)}
        tiny.write_sharded(self.path("b"), {"m-1.safetensors": first, "m-2.safetensors": second},
                           {"config.json": "1", "old/vocab.txt": "a"})
        first = {"embed": ramp(300, {5: 4, 99: 5}), "l.0": ramp(64, {1: 6})}
        second = {"l.1": ramp(64, {9: 3}), "norm": ramp(8), "added": ramp(20)}
        tiny.write_sharded(self.path("c"), {"m-1.safetensors": first, "m-2.safetensors": second},
                           {"config.json": "3", "new/vocab.txt": "b"})
        self.must("pack", "a", "b", "-o", "ab.wdp")
        self.must("pack", "b", "c", "-o", "bc.wdp")
        self.must("diff", "a", "c", "-o", "ac.safetensors")
        self.must("pack", "a", "c", "-o", "ac.wdp")
        first, second = {"embed": ramp(300, {5: 4, 99: 5}), "l.0": ramp(64)}, {"l.1": ramp(64, {9: 3}), "norm": ramp(8)}
        tiny.write_sharded(self.path("d"), {"m-1.safetensors": first, "m-2.safetensors": second},
                           {"config.json": "1", "old/vocab.txt": "a"})
        canonical = ("--format", "canonical", "-q")
        self.must("pack", "a", "b", "-o", "ab.xor", *canonical)
        self.must("pack", "b", "d", "-o", "bd.xor", *canonical, "--version-name", "000002", "--base-version-name", "000001")
        self.clean = tree(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, words, strace=()):
        return subprocess.run([*strace, self.program, *words], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def must(self, *words):
        outcome = self.run(words)
        expect(outcome.returncode == 0, words, "exits", outcome.returncode, outcome.stderr.decode())

    def reset(self, copy_base):
        """Back to the beginning; the base to be patched is a fresh copy of a."""
        for name in os.listdir(self.folder):
            if name != "tmp" and not any(path.split("/")[0] == name for path in self.clean):
                path = self.path(name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        for name in os.listdir(self.path("tmp")):
            os.unlink(self.path("tmp/" + name))
        if copy_base:
            shutil.copytree(self.path("a"), self.path("base"))

    def extra(self):
        """Files that were not there at the beginning, without the output and the base to be patched."""
        return [path for path in tree(self.folder)
                if path not in self.clean and path.split("/")[0] not in ("out", "base")]

    def points(self, words):
        """The calls of an undisturbed run that change something: [(name, how often it was called before and now)]."""
        log = self.path("tmp/strace.log")
        outcome = self.run(words, ("strace", "-f", "-qq", "-e", "trace=" + CALLS, "-e", "signal=none", "-o", log))
        if outcome.returncode != 0:
            raise Failure("strace: " + outcome.stderr.decode())
        count, points, threads = {}, [], set()
        with open(log) as lines:
            for line in lines:
                match = re.match(r"(\d+) +(\w+)\((.*)", line)
                if not match:
                    continue
                thread, call, arguments = match.groups()
                threads.add(thread)
                count[thread, call] = count.get((thread, call), 0) + 1
                if call == "openat" and not re.search(r"O_CREAT|O_RDWR|O_WRONLY", arguments):
                    continue
                if "ENOENT" in arguments or thread != min(threads, key=int):
                    continue  # strace counts by thread: the first one does the work
                points.append((call, count[thread, call], arguments.strip()))
        os.unlink(log)
        return points


def sampled(points):
    return points[::int(os.environ.get("WDELTA_SAMPLE", "1"))]


def spread(points):
    points = sampled(points)
    if os.environ.get("WDELTA_CRASH_ALL") or len(points) <= POINTS:
        return points
    return [points[i * len(points) // POINTS] for i in range(POINTS)]


def injected(stage, words, call, number, fault):
    return stage.run(words, ("strace", "-f", "-qq", "-e", "trace=" + call, "-e", "signal=none", "-o", "/dev/null",
                             "-e", "inject=%s:%s:when=%d" % (call, fault, number)))


IN_PLACE = (
    (("apply", "--in-place", "base", "ab.wdp", "bc.wdp", "--threads", "1", "-q"), "c"),
    (("apply", "--in-place", "base", "ab.xor", "bd.xor", "--threads", "1", "-q"), "d"),
)
NEW_OUTPUT = (
    (("apply", "a", "ab.wdp", "bc.wdp", "-o", "out", "--threads", "1", "-q"), "c"),
    (("pack", "a", "c", "-o", "out", "--threads", "1", "-q"), "ac.wdp"),
    (("diff", "a", "c", "-o", "out", "--threads", "1"), "ac.safetensors"),
)


def check_in_place(stage, words, wanted, fault, codes):
    """Whatever happens to it, the same command again finishes with the right bytes and leaves nothing behind but what
    a kill, or a call that cannot remove it, leaves in TMPDIR, where a delta of another system became a pack."""
    expected = tree(stage.path(wanted))
    stage.reset(True)
    points = stage.points(words)
    expect(len(points) > 20, "only", len(points), "calls that change files")
    expect(tree(stage.path("base")) == expected, "undisturbed")
    tried = 0
    for call, number, arguments in sampled(points) if "KILL" in fault else spread(points):
        where = "%s number %d (%s)" % (call, number, arguments)
        stage.reset(True)
        code = injected(stage, words, call, number, fault).returncode
        expect(code in codes, "exit", code, "at", where)
        again = stage.run(words)
        expect(again.returncode == 0, "the same command again exits", again.returncode, "after", where, again.stderr.decode())
        expect(tree(stage.path("base")) == expected, "wrong files", sorted(tree(stage.path("base"))), "after", where)
        extra = [path for path in stage.extra()
                 if not ("KILL" in fault or call == "unlink") or not path.startswith("tmp/")
                 or not LEFT_BY_A_KILL.match(path[4:])]
        expect(not extra, "left behind", extra, "after", where)
        tried += 1
    return tried, len(points)


def check_new_output(stage, words, wanted, fault, codes):
    """The output is not there at all or right; after a kill only recognisable files are left, after an error nothing."""
    expected = tree(stage.path(wanted))
    stage.reset(False)
    points = stage.points(words)
    expect(len(points) >= 5, "only", len(points), "calls that change files")
    expect(tree(stage.path("out")) == expected, "undisturbed")
    tried = 0
    for call, number, arguments in spread(points):
        where = "%s number %d (%s)" % (call, number, arguments)
        stage.reset(False)
        outcome = injected(stage, words, call, number, fault)
        code = outcome.returncode
        expect(code in codes, "exit", code, "at", where, outcome.stderr.decode())
        there = os.path.exists(stage.path("out"))
        expect(not there or tree(stage.path("out")) == expected, "half an output after", where)
        expect(code != 0 or there, "success without an output after", where)
        extra = stage.extra()
        if "KILL" in fault:
            expect(all(LEFT_BY_A_KILL.match(path) for path in extra), "unrecognisable", extra, "after", where)
        else:
            expect(not extra, "left behind", extra, "after", where)
            # Only when the sync of the folder fails does the output have its name already.
            expect(not there or code == 0 or call == "fsync", "an output in spite of exit", code, "at", where)
        if not there:
            again = stage.run(words)
            expect(again.returncode == 0, "the same command again exits", again.returncode, "after", where, again.stderr)
            expect(tree(stage.path("out")) == expected, "wrong output of the second run after", where)
        tried += 1
    return tried, len(points)


def scenarios():
    killed, failed = (-9, 0), (9, 0)
    faults = (("killed", "signal=KILL", killed), ("disk full", "error=ENOSPC", failed), ("disk broken", "error=EIO", failed))
    for check, how, commands in ((check_in_place, "in place", IN_PLACE), (check_new_output, "-o", NEW_OUTPUT)):
        for words, wanted in commands:
            for name, fault, codes in faults:
                yield "%s %s to %s, %s" % (words[0], how, wanted, name), (
                    lambda stage, arguments=(words, wanted, fault, codes), check=check: check(stage, *arguments))


def tracing_works():
    try:
        return subprocess.run(["strace", "-qq", "-e", "trace=none", "-e", "inject=getppid:error=EIO:when=1", "true"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not tracing_works():
        print("skipped: strace is not installed (package strace), or may not trace here")
        sys.exit(1 if os.environ.get("WDELTA_REQUIRE_ALL") == "1" else 0)
    wanted = sys.argv[2] if len(sys.argv) == 3 else ""
    failed = 0
    folder = tempfile.mkdtemp(prefix="wdelta-crash-")
    try:
        stage = Stage(os.path.abspath(sys.argv[1]), folder)
        for name, check in scenarios():
            if wanted not in name:
                continue
            try:
                tried, of = check(stage)
                print("ok      %s: %d of %d points" % (name, tried, of))
            except Failure as reason:
                failed += 1
                print("FAILED  %s: %s" % (name, reason))
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
