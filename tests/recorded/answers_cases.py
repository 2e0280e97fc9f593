"""What the commands answered when things were recorded: exit codes stay, and fields are only ever added."""

import json
import os

import archive
import questions
from harness import test


def recorded():
    with open(os.path.join(archive.RECORDED, "answers.json")) as file:
        return json.load(file)


def expect_fields(line, value, wanted, types):
    """Every recorded field is there; unless it is null, or always was, it has a type that it had."""
    found = questions.fields(value)
    missing = sorted(set(wanted) - set(found))
    assert not missing, "%s: no longer has %s" % (line, ", ".join(missing))
    for path in wanted:
        known = set(types[path].split())
        assert known == {"null"} or found[path] <= known | {"null"}, (line, path, found[path], known)


def register(command, known):
    @test("every recorded answer of wdelta %s has its exit code, its kind of error and its fields" % command)
    def answers(t):
        questions.prepare(t, archive.RECORDED)
        types = {**known["always"], **known["sometimes"]}
        for line, code, kind, fields in known["answers"]:
            found, value = questions.ask(t, line)
            assert (found, value["error"] and value["error"]["kind"]) == (code, kind), (line, found, value["error"])
            expect_fields(line, value, [*known["always"], *known["sets"][fields]], types)
        if known["options"]:
            missing = set(known["options"]) - set(questions.options_of(t, command))
            assert not missing, "%s no longer has %s" % (command, ", ".join(sorted(missing)))


for each, answers_of_it in recorded().items():
    register(each, answers_of_it)


@test("every question that is asked of the commands has a recorded answer")
def every_question(_):
    asked = questions.by_command()
    assert asked == {command: [row[0] for row in known["answers"]] for command, known in recorded().items()}
