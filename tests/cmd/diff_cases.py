"""wdelta diff."""

import shutil
import struct

import tiny
from harness import FULL_DISK, read, test


def write_forms(t):
    """Every form of change at once."""
    tiny.write_sharded(t.path("a"), {"m.safetensors": {
        "gone": tiny.ramp(4), "kept": tiny.ramp(16), "shape": tiny.ramp(6), "type": tiny.ramp(4),
        "value": tiny.ramp(100)}}, {"config.json": "1", "old.txt": "x"})
    tiny.write_sharded(t.path("b"), {"m.safetensors": {
        "kept": tiny.ramp(16), "fresh": tiny.ramp(5), "shape": ("BF16", [2, 3], tiny.ramp(6)[2]),
        "type": ("F16", [4], tiny.ramp(4)[2]), "value": tiny.ramp(100, {3: 9})}}, {"config.json": "2", "new.md": "x"})


@test("diff of equal checkpoints says so in one line and exits 0, in all forms")
def same(t):
    tiny.write_pair(t.path("a"), t.path("unused"))
    tiny.write_pair(t.path("b"), t.path("unused"))
    text = t.good("diff", "a", "b").text()
    assert text.startswith("no difference") and text.count("\n") == 1, text
    assert t.good("diff", "--exit-code", "a", "b").text() == text
    outcome = t.good("diff", "-q", "a", "b")
    assert outcome.out == b"" and outcome.err == b""
    value = t.json("diff", "a", "b")
    assert value["different"] is False and value["tensors"] == [] and value["files"] == [] and value["sparsity"] == 1


@test("diff shows totals and the changed tensors, and exits 0")
def changed(t):
    t.pair()
    outcome = t.good("diff", "a", "b")
    lines = outcome.text().splitlines()
    assert lines[0].startswith("3 of 436 elements changed (0.69 %), in 2 of 4 tensors"), lines
    assert outcome.err == b"" and "config.json" in outcome.text() and "vocab.txt" not in outcome.text()
    rows = [line.split() for line in lines if line.startswith("  embed") or line.startswith("  layers")]
    assert rows[0][:2] == ["embed", "BF16"] and rows[1][0] == "layers.1.weight", rows
    assert all(len(line) <= 100 for line in lines)


@test("diff exits 1 for a difference with --exit-code, and with -q, which prints nothing")
def exit_code(t):
    t.pair()
    assert t.good("diff", "--exit-code", "a", "b", code=1).text() == t.good("diff", "a", "b").text()
    outcome = t.good("diff", "-q", "a", "b", code=1)
    assert outcome.out == b"" and outcome.err == b""
    assert t.json("diff", "--exit-code", "a", "b", code=1)["different"] is True
    assert t.json("diff", "-q", "a", "b", code=1)["ok"] is True


@test("diff --json counts over the whole model, and computes no digests without -o")
def figures(t):
    t.pair()
    value = t.json("diff", "a", "b")
    assert (value["elements_total"], value["elements_changed"]) == (436, 3)
    assert (value["bytes_total"], value["bytes_changed"]) == (872, 6)
    assert (value["tensors_total"], value["tensors_changed"]) == (4, 2)
    assert abs(value["sparsity"] - (1 - 3 / 436)) < 1e-12
    for name in ("state", "base_state", "fingerprint", "base_fingerprint", "delta_bytes", "ratio"):
        assert value[name] is None, name
    assert [(tensor["name"], tensor["elements_changed"]) for tensor in value["tensors"]] == [
        ("embed", 2), ("layers.1.weight", 1)]
    assert [(file["path"], file["change"]) for file in value["files"] if not file["is_header"]] == [
        ("config.json", "changed")]
    value = t.json("diff", "a", "b", "-o", "d.safetensors")
    for name in ("state", "base_state", "fingerprint", "base_fingerprint"):
        assert len(value[name]) == 64, name
    assert value["delta_bytes"] == len(read(t.path("d.safetensors")))
    assert abs(value["ratio"] - 872 / value["delta_bytes"]) < 1e-12


@test("diff names added, removed, reshaped and retyped tensors and changed files")
def forms(t):
    write_forms(t)
    text = t.good("diff", "a", "b").text()
    order = [text.index(title) for title in ("added tensors\n  fresh", "removed tensors\n  gone",
                                             "reshaped tensors\n  shape  BF16 [6] -> BF16 [2, 3]",
                                             "retyped tensors\n  type  BF16 [4] -> F16 [4]",
                                             "changed files", "changed tensors")]
    assert order == sorted(order), text
    assert "old.txt  removed" in text and "new.md  added" in text and "config.json  changed" in text
    value = t.json("diff", "a", "b")
    changes = {tensor["name"]: tensor["change"] for tensor in value["tensors"]}
    assert changes == {"fresh": "added", "gone": "removed", "shape": "reshaped", "type": "retyped", "value": "changed"}
    assert value["tensors_added"] == 1 and value["tensors_removed"] == 1
    assert value["elements_total"] == 131 and value["elements_changed"] == 16, value
    shape = next(tensor for tensor in value["tensors"] if tensor["name"] == "shape")
    assert shape["old_shape"] == [6] and shape["shape"] == [2, 3]


@test("a step that changes only config.json is a difference")
def only_config(t):
    tiny.write_pair(t.path("a"), t.path("unused"))
    tiny.write_pair(t.path("b"), t.path("unused"))
    tiny.write_file(t.path("b/config.json"), '{"step": 3}')
    t.good("diff", "-q", "a", "b", code=1)
    text = t.good("diff", "a", "b").text()
    assert text.startswith("0 of 436 elements changed (0 %)") and "config.json" in text
    t.good("diff", "-q", "a", "b", "--exclude", "*.json")


@test("--include and --exclude choose the files beside the weights, with patterns taken as they are")
def choice(t):
    t.pair()
    for folder in "ab":
        tiny.write_file(t.path(folder + "/[x]"), folder)
        tiny.write_file(t.path(folder + "/y,z"), folder)
    def files(*words):
        value = t.json("diff", "a", "b", *words)
        return {file["path"] for file in value["files"] if not file["is_header"]}
    assert files() == {"config.json"}
    assert files("--exclude", "config.*") == set()
    assert files("--include", "[x]", "--include", "y,z") == {"config.json", "[x]", "y,z"}
    assert files("--include", "*", "--exclude=y,z") == {"[x]", "config.json"}


@test("diff matches tensors by name across another shard layout")
def resharded(t):
    tensors = {"one": tiny.ramp(10), "two": tiny.ramp(20)}
    tiny.write_safetensors(t.path("a.safetensors"), tensors)
    tiny.write_sharded(t.path("b"), {"1.safetensors": {"two": tiny.ramp(20)}, "2.safetensors": {"one": tiny.ramp(10)}})
    value = t.json("diff", "a.safetensors", "b")
    assert value["elements_changed"] == 0 and value["tensors_changed"] == 0 and value["different"] is True
    assert value["files"]


@test("bit patterns count: -0.0 and NaN payloads are changes, and an equal NaN is none")
def bits(t):
    def write(name, *values):
        tiny.write_safetensors(t.path(name), {"w": ("F32", [3], struct.pack("<3I", *values))})
    write("a.safetensors", 0, 0x7FC00001, 0x7FC00009)
    write("b.safetensors", 0x80000000, 0x7FC00002, 0x7FC00009)
    assert t.json("diff", "a.safetensors", "b.safetensors")["elements_changed"] == 2


@test("--top limits the rows and says how many more there are; --sort orders them")
def rows(t):
    for name, shift in (("a.safetensors", 0), ("b.safetensors", 1)):
        tiny.write_safetensors(t.path(name), {
            "w%02d" % i: tiny.ramp(100 - i, {position: 1 for position in range(i)} if shift else {})
            for i in range(30)})
    def names(*words):
        text = t.good("diff", "a.safetensors", "b.safetensors", *words).text()
        return [line.split()[0] for line in text.splitlines() if line.startswith("  w")], text
    found, text = names()
    assert len(found) == 20 and found[0] == "w29" and "and 9 more" in text, text
    assert names("--top", "3")[0] == ["w29", "w28", "w27"]
    found, text = names("--top", "0", "--sort", "name")
    assert found == ["w%02d" % i for i in range(1, 30)] and "more" not in text
    assert names("--sort", "size", "--top", "2")[0] == ["w01", "w02"]
    assert names("--sort", "share", "--top", "1")[0] == ["w29"]
    value = t.json("diff", "a.safetensors", "b.safetensors")
    assert len(value["tensors"]) == 29 and value["groups"] is None
    assert len(t.json("diff", "a.safetensors", "b.safetensors", "--top", "4")["tensors"]) == 4


@test("--by sums up by layer, dtype or shard")
def groups(t):
    t.pair()
    for by, count in (("layer", None), ("dtype", 1), ("shard", 2)):
        value = t.json("diff", "a", "b", "--by", by)
        assert sum(group["elements_total"] for group in value["groups"]) == 436
        assert sum(group["elements_changed"] for group in value["groups"]) == 3
        assert count in (None, len(value["groups"]))
        text = t.good("diff", "a", "b", "--by", by).text()
        assert "by %s" % by in text and "changed tensors" not in text
    assert [group["name"] for group in t.json("diff", "a", "b", "--by", "dtype")["groups"]] == ["BF16"]


@test("diff -o writes the same plain delta to a file and to a pipe, with nothing else on standard output")
def output(t):
    t.pair()
    text = t.good("diff", "a", "b", "-o", "d.safetensors").text()
    assert "wrote d.safetensors" in text
    assert t.good("diff", "a", "b", "-o", "-").out == read(t.path("d.safetensors"))
    t.good("verify", "d.safetensors")
    assert t.good("diff", "-q", "a", "b", "-o", "-", code=1).out == read(t.path("d.safetensors"))


@test("diff fails with 2, 3, 4, 9 and 10, and leaves no output")
def failures(t):
    t.pair()
    t.fails(2, "diff", "-", "b", says="'-'")
    t.fails(2, "diff", "a", "-")
    t.fails(2, "diff", "a", "b", "-o", "a")
    t.fails(3, "diff", "a", "missing", says="missing")
    t.fails(3, "diff", "missing", "b", "-o", "d")
    t.fails(3, "diff", "a", "b", "-o", "no/such/folder/d")
    tiny.write_file(t.path("bad.safetensors"), b"\x08\0\0\0\0\0\0\0not json")
    t.fails(4, "diff", "a", "bad.safetensors", "-o", "d", says="bad.safetensors")
    t.fails(9, "diff", "a", "b", "-o", "d", **FULL_DISK)
    tiny.write_index(t.path("b"), {"embed": "../a/a-1.safetensors"})
    t.fails(10, "diff", "a", "b", "-o", "d", says="../a/a-1.safetensors")


@test("diff of a base and a delta shows what the delta does, in every format, and refuses another base")
def with_delta(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.good("diff", "a", "b", "-o", "d.safetensors")
    t.good("pack", "a", "b", "--format", "canonical", "-o", "canonical")
    expected = t.json("diff", "a", "b")
    for delta in ("d.wdp", "d.safetensors", "canonical"):
        value = t.json("diff", "a", delta)
        for key in ("elements_total", "elements_changed", "tensors", "tensors_changed"):
            assert value[key] == expected[key], (delta, key)
        t.good("diff", "a", delta, "-o", "again.safetensors")
        assert t.good("apply", "a", "again.safetensors", "-o", "out").code == 0
        rebuilt, wanted = t.tree("out"), t.tree("b")
        if delta == "canonical":  # which says nothing of files beside the weights
            wanted["config.json"] = t.tree("a")["config.json"]
        assert rebuilt == wanted, delta
        shutil.rmtree(t.path("out"))
    tiny.write_safetensors(t.path("c.safetensors"), {"embed": tiny.ramp(300, {1: 2})})
    t.fails(5, "diff", "c.safetensors", "d.wdp")
