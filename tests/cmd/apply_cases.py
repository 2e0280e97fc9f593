"""wdelta apply."""

import os

import tiny
from harness import FULL_DISK, read, test


def prepare(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.good("diff", "a", "b", "-o", "d.safetensors")


@test("apply rebuilds every file byte for byte, from a pack and from a plain delta")
def rebuild(t):
    prepare(t)
    for number, delta in enumerate(("d.wdp", "d.safetensors")):
        out = "out%d" % number
        text = t.good("apply", "a", delta, "-o", out).text()
        assert text.startswith(out + ": 3 of 436 elements changed"), text
        assert t.tree(out) == t.tree("b")
    value = t.json("apply", "a", "d.wdp", "-o", "out3")
    assert value["path"] == "out3" and value["already_applied"] is False and value["elements_changed"] == 3
    assert value["state"] == t.json("pack", "a", "b", "-o", "d.wdp")["state"]


@test("diff, pack and apply work as one pipe")
def pipe(t):
    t.pair()
    delta = t.good("diff", "a", "b", "-o", "-").out
    pack = t.good("pack", "--base", "a", "-", "-o", "-", data=delta).out
    t.good("apply", "a", "-", "-o", "out", data=pack)
    assert t.tree("out") == t.tree("b")


@test("a truncated pipe is never taken for a whole delta, and no output appears")
def truncated(t):
    prepare(t)
    for name in ("d.wdp", "d.safetensors"):
        whole = read(t.path(name))
        for length in (0, 1, 8, 40, len(whole) // 2, len(whole) - 1):
            t.fails(4, "apply", "a", "-", "-o", "out", data=whole[:length])


@test("apply -q prints the path")
def quiet(t):
    prepare(t)
    outcome = t.good("apply", "-q", "a", "d.wdp", "-o", "out")
    assert outcome.out == b"out\n" and outcome.err == b""
    outcome = t.good("apply", "-q", "--in-place", "a", "d.wdp")
    assert outcome.out == b"a\n" and outcome.err == b""


@test("several deltas are a chain, applied in one go")
def chain(t):
    prepare(t)
    tiny.write_pair(t.path("unused"), t.path("c"))
    tiny.write_safetensors(t.path("c/a-2.safetensors"),
                           {"layers.1.weight": tiny.ramp(64), "norm": tiny.ramp(8, {7: 2})})
    t.good("pack", "b", "c", "-o", "2.wdp")
    t.good("apply", "a", "d.wdp", "2.wdp", "-o", "out")
    assert t.tree("out") == t.tree("c")
    t.fails(3, "apply", "a", "2.wdp", "d.wdp", "-o", "out2", says="a delta is missing")
    t.good("apply", "a", "d.safetensors", "2.wdp", "-o", "out3")
    assert t.tree("out3") == t.tree("c")


@test("--in-place leaves exactly the new checkpoint, and a second time changes nothing and says so")
def in_place(t):
    prepare(t)
    t.good("apply", "--in-place", "a", "d.wdp")
    assert t.tree("a") == t.tree("b")
    outcome = t.good("apply", "--in-place", "a", "d.wdp")
    assert "already" in outcome.text() and "wdelta: note: " in outcome.talk(), outcome.talk()
    value = t.json("apply", "--in-place", "a", "d.wdp")
    assert value["already_applied"] is True and value["notes"]
    assert t.tree("a") == t.tree("b")


@test("apply to a base that already is the result makes the output, with a note")
def already(t):
    prepare(t)
    outcome = t.good("apply", "b", "d.wdp", "-o", "out")
    assert "wdelta: note: " in outcome.talk(), outcome.talk()
    assert t.tree("out") == t.tree("b")


@test("added, removed, reshaped and retyped tensors, another shard layout and other files are rebuilt")
def forms(t):
    tiny.write_sharded(t.path("a"), {"m.safetensors": {
        "gone": tiny.ramp(4), "kept": tiny.ramp(16), "shape": tiny.ramp(6), "type": tiny.ramp(4),
        "empty": ("F32", [0, 3], b""), "scalar": ("F64", [], b"12345678")}}, {"config.json": "1", "old.txt": "x"})
    tiny.write_sharded(t.path("b"), {
        "1.safetensors": {"fresh": tiny.ramp(5), "shape": ("BF16", [2, 3], tiny.ramp(6)[2]),
                          "scalar": ("F64", [], b"12345679")},
        "2.safetensors": {"kept": tiny.ramp(16), "type": ("F16", [4], tiny.ramp(4)[2]), "empty": ("F32", [0, 3], b"")}},
        {"config.json": "2", "sub/new.md": "x"}, {"format": "pt"})
    for there, back, name in (("a", "b", "1"), ("b", "a", "2")):
        t.good("pack", there, back, "-o", name + ".wdp")
        t.good("diff", there, back, "-o", name + ".safetensors")
        for delta in (name + ".wdp", name + ".safetensors"):
            t.good("apply", there, delta, "-o", "out-" + delta)
            assert t.tree("out-" + delta) == t.tree(back), delta


@test("a single file is rebuilt as a single file")
def single(t):
    tiny.write_safetensors(t.path("a.safetensors"), {"w": tiny.ramp(40)}, {"format": "pt"})
    tiny.write_safetensors(t.path("b.safetensors"), {"w": tiny.ramp(40, {3: 3})}, {"format": "np"})
    t.good("pack", "a.safetensors", "b.safetensors", "-o", "d.wdp")
    t.good("apply", "a.safetensors", "d.wdp", "-o", "out.safetensors")
    assert read(t.path("out.safetensors")) == read(t.path("b.safetensors"))
    t.good("apply", "--in-place", "a.safetensors", "d.wdp", "--fsync", "off")
    assert read(t.path("a.safetensors")) == read(t.path("b.safetensors"))


@test("an anchor rebuilds its checkpoint from any base")
def anchor(t):
    t.pair()
    t.good("pack", "--anchor", "b", "-o", "full.wdp")
    t.good("apply", "a", "full.wdp", "-o", "out")
    assert t.tree("out") == t.tree("b")


@test("an anchor in the place of the base needs no base, with and without deltas that follow, from a file and a pipe")
def anchor_alone(t):
    prepare(t)
    t.good("pack", "--anchor", "a", "-o", "full.wdp")
    text = t.good("apply", "full.wdp", "-o", "out").text()
    assert text.startswith("out: "), text
    assert t.tree("out") == t.tree("a")
    t.good("apply", "full.wdp", "d.wdp", "-o", "out2")
    assert t.tree("out2") == t.tree("b")
    value = t.json("apply", "-", "d.safetensors", "-o", "out3", data=read(t.path("full.wdp")))
    assert t.tree("out3") == t.tree("b")
    assert value["base_state"] is None and value["state"] == t.json("verify", "b")["targets"][0]["state"], value
    t.fails(4, "apply", "-", "-o", "out4", data=read(t.path("full.wdp"))[:-1])
    t.fails(2, "apply", "d.wdp", "-o", "out4", says="needs a base")
    t.fails(2, "apply", "-", "-o", "out4", data=read(t.path("d.wdp")))
    t.fails(3, "apply", "full.wdp", "full.wdp", "d.safetensors", "missing", "-o", "out4", says="missing")


@test("a wrong base is exit 5, names the first tensor that differs, and makes no output")
def wrong_base(t):
    prepare(t)
    tiny.write_safetensors(t.path("a/a-1.safetensors"),
                           {"embed": tiny.ramp(300, {5: 0x0001}), "layers.0.weight": tiny.ramp(64)})
    for delta in ("d.wdp", "d.safetensors"):
        _, value = t.fails(5, "apply", "a", delta, "-o", "out", says="embed")
        assert value["error"]["tensor"] == "embed", value["error"]
        t.fails(5, "apply", "--in-place", "a", delta)


@test("a base that differs only where the delta changes nothing is a wrong base too")
def wrong_elsewhere(t):
    prepare(t)
    tiny.write_safetensors(t.path("a/a-2.safetensors"),
                           {"layers.1.weight": tiny.ramp(64), "norm": tiny.ramp(8, {0: 1})})
    t.fails(5, "apply", "a", "d.wdp", "-o", "out", says="norm")
    t.fails(5, "apply", "--in-place", "a", "d.wdp")


@test("--in-place refuses symbolic links and files with more than one link")
def links(t):
    prepare(t)
    os.link(t.path("a/a-1.safetensors"), t.path("other-name"))
    t.fails(10, "apply", "--in-place", "a", "d.wdp", says="a-1.safetensors")
    # A snapshot folder of links into blobs, as the Hugging Face cache has it.
    snapshot = "models--x--y/snapshots/0123"
    os.makedirs(t.path(snapshot))
    os.makedirs(t.path("models--x--y/blobs"))
    for name in ("a-1.safetensors", "a-2.safetensors", "config.json", "model.safetensors.index.json"):
        os.rename(t.path("a/" + name), t.path("models--x--y/blobs/" + name[::-1]))
        os.symlink("../../blobs/" + name[::-1], t.path(snapshot + "/" + name))
    os.rename(t.path("a/tokenizer"), t.path(snapshot + "/tokenizer"))
    os.remove(t.path("other-name"))
    t.fails(10, "apply", "--in-place", snapshot, "d.wdp", says="a-1.safetensors")
    t.good("apply", snapshot, "d.wdp", "-o", "out")
    assert t.tree("out") == t.tree("b")


@test("apply needs an output or --in-place, not both, and checks its names first")
def usage(t):
    t.fails(2, "apply", "missing", "missing", says="--in-place")
    t.fails(2, "apply", "--in-place", "missing", "missing", "-o", "x", says="exclude each other")
    t.fails(2, "apply", "--in-place", "-", "missing", says="'-'")
    t.fails(2, "apply", "-", "-", "-o", "x", says="more than once")
    t.fails(2, "apply", "missing", "missing", "-o", "-", says="'-'")
    t.fails(2, "apply", "missing", "-", "-", "-o", "x", says="more than once")


@test("apply fails with 3, 4, 9 and 10, and leaves no output")
def failures(t):
    prepare(t)
    t.fails(3, "apply", "missing", "d.wdp", "-o", "out", says="missing")
    t.fails(3, "apply", "a", "missing", "-o", "out", says="missing")
    t.fails(3, "apply", "a", "d.wdp", "-o", "no/such/folder/out")
    damaged = bytearray(read(t.path("d.wdp")))
    damaged[len(damaged) // 2] ^= 1
    tiny.write_file(t.path("bad.wdp"), bytes(damaged))
    t.fails(4, "apply", "a", "bad.wdp", "-o", "out", says="bad.wdp")
    t.fails(4, "apply", "--in-place", "a", "bad.wdp")
    t.fails(4, "apply", "a", "a/config.json", "-o", "out")
    t.fails(9, "apply", "a", "d.wdp", "-o", "out", **FULL_DISK)
    tiny.write_index(t.path("a"), {"embed": "../b/a-1.safetensors"})
    t.fails(10, "apply", "a", "d.wdp", "-o", "out")


@test("a pack of an unknown version or with unknown required flags is refused with 10 by every command")
def unsupported(t):
    prepare(t)
    for at, byte in ((8, 2), (9, 1), (15, 0x80)):  # low and high byte of the version, highest byte of the flags
        content = bytearray(read(t.path("d.wdp")))
        content[at] = byte
        tiny.write_file(t.path("x.wdp"), bytes(content))
        for words in (["apply", "a", "x.wdp", "-o", "out"], ["apply", "--in-place", "a", "x.wdp"], ["verify", "x.wdp"],
                      ["cat", "x.wdp"], ["pack", "--base", "a", "x.wdp", "-o", "y.wdp"]):
            t.fails(10, *words, says="x.wdp")
        t.fails(10, "apply", "a", "-", "-o", "out", data=bytes(content))
