"""wdelta cat."""

import tiny
from harness import FULL_DISK, read, test


def prepare(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.good("diff", "a", "b", "-o", "d.safetensors")


@test("cat shows the index of a checkpoint: tensors with dtype and shape, and files")
def checkpoint(t):
    prepare(t)
    text = t.good("cat", "b").text()
    assert text.startswith("b: checkpoint, ") and "4 tensors of 872 bytes" in text, text
    assert any(line.split()[:3] == ["embed", "BF16", "[300]"] for line in text.splitlines()), text
    assert "config.json" in text and "tokenizer/vocab.txt" in text
    value = t.json("cat", "b")
    assert [tensor["name"] for tensor in value["tensors"]] == ["embed", "layers.0.weight", "layers.1.weight", "norm"]
    assert value["elements_total"] == 436 and value["elements_changed"] is None and value["kind"] == "checkpoint"
    assert {"config.json", "tokenizer/vocab.txt"} <= {file["path"] for file in value["files"]}


@test("cat shows the index of a pack and of a plain delta, from a file and from a pipe")
def deltas(t):
    prepare(t)
    state = t.json("pack", "a", "b", "-o", "d.wdp")["state"]
    for name, kind in (("d.wdp", "pack"), ("d.safetensors", "plain delta")):
        text = t.good("cat", name).text()
        assert text.startswith("%s: %s, " % (name, kind)) and state in text and "embed" in text, text
        assert "3 of 436 elements" in text, text
        value = t.json("cat", name)
        assert value["state"] == state and value["elements_changed"] == 3 and value["bytes"] == len(read(t.path(name)))
        assert t.good("cat", "-", data=read(t.path(name))).text() == text.replace(name, "-", 1)


@test("cat -q prints the names of the tensors")
def quiet(t):
    t.pair()
    assert t.good("cat", "-q", "a").text() == "embed\nlayers.0.weight\nlayers.1.weight\nnorm\n"


@test("cat writes the bytes of one tensor, to standard output or to a file")
def tensor(t):
    t.pair()
    expected = tiny.ramp(64, {63: 0x7FC1})[2]
    outcome = t.good("cat", "b", "layers.1.weight")
    assert outcome.out == expected and outcome.err == b""
    t.good("cat", "b", "layers.1.weight", "-o", "w.bin")
    assert read(t.path("w.bin")) == expected
    assert t.good("cat", "-q", "b", "layers.1.weight", "-o", "w.bin").out == b"w.bin\n"
    value = t.json("cat", "b/a-2.safetensors", "norm", "-o", "w.bin")
    assert value["tensor"] == "norm" and value["bytes"] == 16 and value["path"] == "w.bin" and value["tensors"] is None


@test("cat fails with 2, 3, 4, 9 and 10, and leaves no output")
def failures(t):
    prepare(t)
    t.fails(2, "cat", "a", "-o", "x", says="none is named")
    t.fails(3, "cat", "missing", says="missing")
    _, value = t.fails(3, "cat", "a", "no.such.tensor", "-o", "x", says="no.such.tensor")
    assert value["error"]["tensor"] == "no.such.tensor"
    tiny.write_file(t.path("bad.safetensors"), b"\x02\0\0\0\0\0\0\0{}trailing")
    t.fails(4, "cat", "bad.safetensors")
    t.fails(4, "cat", "-", data=read(t.path("d.wdp"))[:-1])
    t.fails(9, "cat", "a", "embed", "-o", "x", **FULL_DISK)
    tiny.write_index(t.path("a"), {"embed": "/etc/passwd"})
    t.fails(10, "cat", "a", says="/etc/passwd")
