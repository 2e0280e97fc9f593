"""wdelta pack."""

import hashlib

import tiny
from harness import FULL_DISK, read, test


@test("pack of two checkpoints reports its size against the model, and the states")
def report(t):
    t.pair()
    text = t.good("pack", "a", "b", "-o", "d.wdp").text()
    size = len(read(t.path("d.wdp")))
    assert text.startswith("d.wdp: {:,} bytes".format(size)) and "of 872 bytes of tensors" in text, text
    assert "3 of 436 elements" in text
    value = t.json("pack", "a", "b", "-o", "d.wdp")
    assert value["path"] == "d.wdp" and value["delta_bytes"] == size and abs(value["ratio"] - 872 / size) < 1e-12
    assert value["sha256"] == hashlib.sha256(read(t.path("d.wdp"))).hexdigest()
    assert value["state"] != value["base_state"] and value["fingerprint"] != value["base_fingerprint"]
    assert value["state"][:12] in text and value["base_state"][:12] in text
    assert value["state"] in t.good("pack", "-v", "a", "b", "-o", "d.wdp").text()


@test("pack -q prints the path, and nothing when it goes to a pipe")
def quiet(t):
    t.pair()
    outcome = t.good("pack", "-q", "a", "b", "-o", "d.wdp")
    assert outcome.out == b"d.wdp\n" and outcome.err == b""
    assert t.good("pack", "-q", "a", "b", "-o", "-").out == read(t.path("d.wdp"))
    outcome = t.good("pack", "a", "b", "-o", "-")
    assert outcome.out == read(t.path("d.wdp")) and outcome.err == b""


@test("the bytes of a pack do not depend on threads, and --level, --codec and --no-check all give packs that apply")
def variants(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp", "--threads", "1")
    assert t.good("pack", "a", "b", "-o", "-", "--threads", "4").out == read(t.path("d.wdp"))
    assert t.good("pack", "a", "b", "-o", "-", environment={"WDELTA_THREADS": "3"}).out == read(t.path("d.wdp"))
    for number, words in enumerate((["--level", "fast"], ["--level", "max"], ["--codec", "raw"], ["--no-check"])):
        t.good("pack", "a", "b", "-o", "v.wdp", *words)
        t.good("apply", "a", "v.wdp", "-o", "out%d" % number)
        assert t.tree("out%d" % number) == t.tree("b"), words


@test("a pack from the plain delta leads to the same state as one from the checkpoints")
def from_plain(t):
    t.pair()
    t.good("diff", "a", "b", "-o", "d.safetensors")
    direct = t.json("pack", "a", "b", "-o", "1.wdp")
    converted = t.json("pack", "--base", "a", "d.safetensors", "-o", "2.wdp")
    for name in ("state", "base_state", "fingerprint", "elements_changed", "elements_total"):
        assert direct[name] == converted[name], name
    t.good("apply", "a", "2.wdp", "-o", "out")
    assert t.tree("out") == t.tree("b")


@test("several deltas are squashed into one, which does what the chain does")
def squash(t):
    t.pair()
    tiny.write_pair(t.path("unused"), t.path("c"))
    tiny.write_safetensors(t.path("c/a-2.safetensors"),
                           {"layers.1.weight": tiny.ramp(64, {0: 1}), "norm": tiny.ramp(8, {7: 2})})
    t.good("pack", "a", "b", "-o", "1.wdp")
    t.good("pack", "b", "c", "-o", "2.wdp")
    t.good("pack", "--base", "a", "1.wdp", "2.wdp", "-o", "12.wdp")
    t.good("apply", "a", "12.wdp", "-o", "out")
    assert t.tree("out") == t.tree("c")
    t.fails(3, "pack", "--base", "a", "2.wdp", "1.wdp", "-o", "x.wdp", says="a delta is missing")
    tiny.write_safetensors(t.path("unused/a-1.safetensors"),
                           {"embed": tiny.ramp(300, {5: 1}), "layers.0.weight": tiny.ramp(64)})
    t.fails(5, "pack", "--base", "unused", "1.wdp", "2.wdp", "-o", "x.wdp", says="embed")


@test("an anchor holds a whole checkpoint, and has no base")
def anchor(t):
    t.pair()
    value = t.json("pack", "--anchor", "b", "-o", "full.wdp")
    assert value["base_state"] is None and value["elements_total"] == 436
    t.good("verify", "full.wdp")
    t.good("verify", "b", "--against", "full.wdp")


@test("a file that is left out changes no byte of the pack")
def left_out(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "1.wdp")
    tiny.write_file(t.path("b/optimizer.pt"), b"o" * 3488)
    outcome = t.good("pack", "a", "b", "-o", "2.wdp")
    assert "optimizer.pt" in outcome.talk() and read(t.path("1.wdp")) == read(t.path("2.wdp"))


@test("pack refuses inputs that make no sense before it reads anything")
def usage(t):
    t.fails(2, "pack", "missing", "-o", "x", says="--anchor")
    t.fails(2, "pack", "missing", "missing", says="-o FILE")
    t.fails(2, "pack", "a", "b", "c", "-o", "x", says="--base")
    t.fails(2, "pack", "--anchor", "a", "b", "-o", "x", says="one checkpoint")
    t.fails(2, "pack", "--anchor", "--base", "a", "b", "-o", "x")
    t.fails(2, "pack", "--anchor", "-", "-o", "x", says="'-'")
    t.fails(2, "pack", "a", "-", "-o", "x", says="--base")
    t.fails(2, "pack", "--base", "-", "d", "-o", "x")
    t.fails(2, "pack", "--base", "a", "-", "-", "-o", "x", says="more than once")
    t.pair()
    t.fails(2, "pack", "a", "b", "-o", "x", "--codec", "no-such-codec", says="no-such-codec")


@test("pack fails with 3, 4, 5, 9 and 10, and leaves no output")
def failures(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.fails(3, "pack", "a", "missing", "-o", "x", says="missing")
    t.fails(3, "pack", "--base", "a", "missing", "-o", "x", says="missing")
    tiny.write_file(t.path("cut.wdp"), read(t.path("d.wdp"))[:-5])
    t.fails(4, "pack", "--base", "a", "cut.wdp", "-o", "x", says="cut.wdp")
    t.fails(4, "pack", "--base", "a", "-", "-o", "x", data=read(t.path("cut.wdp")))
    t.fails(9, "pack", "a", "b", "-o", "x", **FULL_DISK)
    tiny.write_sharded(t.path("c"), {"a-1.safetensors": {"embed": tiny.ramp(300, {0: 1})}})
    t.fails(5, "pack", "--base", "c", "d.wdp", "-o", "x")
    tiny.write_index(t.path("c"), {"embed": "/etc/passwd"})
    t.fails(10, "pack", "a", "c", "-o", "x", says="/etc/passwd")
