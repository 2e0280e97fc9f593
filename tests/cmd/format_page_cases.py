"""The example in wdelta-format(5) against the program."""

import os
import re

import tiny
from harness import read, test

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "man", "wdelta-format.5")
FILE = re.compile(r"[a-z]+(?:/[a-z.]+)?\.[a-z]+")  # alone on a line: the hexadecimal lines after it are its content
HEXADECIMAL = re.compile(r"([0-9a-f]{3})  ([0-9a-f]{2}(?: [0-9a-f]{2})*)(?:  .*)?")  # offset, bytes, what they are
STATE = re.compile(r"(old|new)  ([0-9a-f]{64})")


def example():
    """{path: content} and {folder: state}, from the literal blocks of the section EXAMPLE."""
    page = read(PAGE).decode()
    section = re.search(r"^\.Sh EXAMPLE\n(.*?)^\.Sh ", page, re.MULTILINE | re.DOTALL).group(1)
    files, states, path = {}, {}, None
    for block in re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", section, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if FILE.fullmatch(line):
                path = line
                files[path] = b""
            elif match := STATE.fullmatch(line):
                states[match.group(1)] = match.group(2)
            elif match := HEXADECIMAL.fullmatch(line):
                assert int(match.group(1), 16) == len(files[path]), "%s: a byte before %s is not shown" % (path, line)
                files[path] += bytes.fromhex(match.group(2))
    return files, states


def write_example(t):
    files, states = example()
    assert set(files) == {"old/config.json", "old/model.safetensors", "new/config.json", "new/model.safetensors",
                          "delta.wdp"}, set(files)
    for path, content in files.items():
        tiny.write_file(t.path(path), content)
    return states


@test("the pack in wdelta-format(5) is valid, and rebuilds the second checkpoint of the page from the first")
def pack_of_page(t):
    write_example(t)
    assert "writes %d bytes:" % os.path.getsize(t.path("delta.wdp")) in read(PAGE).decode()
    t.good("verify", "delta.wdp", "old", "new")
    t.good("verify", "delta.wdp", "--against", "old")
    t.good("apply", "old", "delta.wdp", "-o", "out")
    assert t.tree("out") == t.tree("new")


@test("the states in wdelta-format(5) are those of its two checkpoints, and of its pack")
def states_of_page(t):
    states = write_example(t)
    assert set(states) == {"old", "new"}, states
    for folder, state in states.items():
        assert t.good("id", "-q", folder).text() == state + "\n", folder
    pack = t.json("cat", "delta.wdp")
    assert (pack["base_state"], pack["state"]) == (states["old"], states["new"]), pack
