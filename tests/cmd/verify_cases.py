"""wdelta verify."""

import xml.etree.ElementTree

import tiny
from harness import read, test


def prepare(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.good("diff", "a", "b", "-o", "d.safetensors")
    tiny.write_file(t.path("bad.safetensors"), b"\x02\0\0\0\0\0\0\0{}trailing")


@test("verify accepts checkpoints, packs and plain deltas, and says what each is")
def kinds(t):
    prepare(t)
    for target, kind in (("a", "checkpoint"), ("a/a-1.safetensors", "checkpoint"), ("d.wdp", "pack"),
                         ("d.safetensors", "plain delta")):
        text = t.good("verify", target).text()
        assert text.startswith("%s: ok, %s, " % (target, kind)) and text.count("\n") == 1, text
        row = t.json("verify", target)["targets"][0]
        assert row["kind"] == kind and row["ok"] is True and row["error"] is None
    assert t.good("verify", "-", data=read(t.path("d.wdp"))).text().startswith("-: ok, pack")
    assert t.json("verify", "b")["targets"][0]["state"] == t.json("pack", "a", "b", "-o", "d.wdp")["state"]


@test("verify -q prints nothing but errors")
def quiet(t):
    prepare(t)
    outcome = t.good("verify", "-q", "a", "d.wdp")
    assert outcome.out == b"" and outcome.err == b""
    outcome = t.good("verify", "-q", "bad.safetensors", code=4)
    assert outcome.out == b"" and outcome.err.startswith(b"wdelta: ")


@test("all targets are verified, and the exit code is that of the first failure")
def several(t):
    prepare(t)
    outcome = t.good("verify", "a", "bad.safetensors", "missing", "d.wdp", code=4)
    lines = outcome.text().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "a: ok", "bad.safetensors: failed", "missing: failed", "d.wdp: ok"]
    errors = [line for line in outcome.talk().splitlines() if line.startswith("wdelta: ")]
    assert len(errors) == 2 and "bad.safetensors" in errors[0] and "missing" in errors[1], errors
    value = t.json("verify", "missing", "a", "bad.safetensors", code=3)
    assert [(row["target"], row["ok"]) for row in value["targets"]] == [
        ("missing", False), ("a", True), ("bad.safetensors", False)]
    assert value["targets"][2]["error"]["kind"] == "integrity" and value["error"]["kind"] == "not_found"


@test("--against compares a checkpoint with its pack or another one, and a delta with its base")
def against(t):
    prepare(t)
    for target, other in (("b", "d.wdp"), ("b", "b"), ("d.wdp", "a"), ("d.safetensors", "a")):
        t.good("verify", target, "--against", other)
    t.fails(4, "verify", "a", "--against", "b", says="embed")
    t.fails(4, "verify", "a", "--against", "d.wdp")
    t.fails(3, "verify", "a", "--against", "missing", says="missing")


@test("a checkpoint with one flipped bit is not what its pack says")
def flipped(t):
    prepare(t)
    content = bytearray(read(t.path("b/a-2.safetensors")))
    content[-1] ^= 1
    tiny.write_file(t.path("b/a-2.safetensors"), bytes(content))
    t.good("verify", "b")  # as good a checkpoint as any
    t.fails(4, "verify", "b", "--against", "d.wdp", says="norm")


@test("every flipped byte of a small pack is found")
def flipped_pack(t):
    prepare(t)
    whole = read(t.path("d.wdp"))
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        tiny.write_file(t.path("x.wdp"), bytes(damaged))
        code = t.run("verify", "x.wdp").code
        assert code in (4, 10), (at, code)  # 10: the version or a flag was hit


@test("--quick reads the structure only")
def quick(t):
    prepare(t)
    assert "structure only" in t.good("verify", "--quick", "a", "d.wdp").text()
    t.fails(4, "verify", "--quick", "bad.safetensors")


@test("--junit writes one test case for each target")
def junit(t):
    prepare(t)
    t.good("verify", "a", "bad.safetensors", "--junit", "r.xml", code=4)
    suite = xml.etree.ElementTree.parse(t.path("r.xml")).getroot()
    assert suite.tag == "testsuite" and suite.get("tests") == "2" and suite.get("failures") == "1"
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == ["a", "bad.safetensors"]
    assert cases[0].find("failure") is None and cases[1].find("failure").get("type") == "integrity"
    tiny.write_safetensors(t.path("<&\"\x1b>.safetensors"), {"w": tiny.ramp(2)})
    t.good("verify", "<&\"\x1b>.safetensors", "--junit", "r.xml")
    name = xml.etree.ElementTree.parse(t.path("r.xml")).getroot().find("testcase").get("name")
    assert name.startswith("<&\"") and "\x1b" not in name, name
    t.fails(9, "verify", "a", "--junit", "/dev/full")


@test("verify fails with 2, 3, 4 and 10")
def failures(t):
    prepare(t)
    t.fails(2, "verify", "-", "-", says="more than once")
    t.fails(2, "verify", "a", "b", "--against", "-", says="once")
    t.fails(3, "verify", "missing", says="missing")
    t.fails(4, "verify", "bad.safetensors", says="bad.safetensors")
    t.fails(4, "verify", "-", data=read(t.path("d.wdp"))[:-1])
    tiny.write_index(t.path("a"), {"embed": "../b/a-1.safetensors"})
    t.fails(10, "verify", "a", says="../b/a-1.safetensors")
    tiny.write_index(t.path("b"), {"embed": "not-there.safetensors"})
    t.fails(3, "verify", "b", says="not-there.safetensors")


@test("a malformed safetensors file is exit 4 with a message that names the tensor and the rule")
def malformed(t):
    good = tiny.safetensors_bytes({"first": tiny.ramp(4), "second": tiny.ramp(4)})
    for old, new, says in ((b"[8,16]", b"[7,15]", "second"), (b'"BF16"', b'"BF99"', "BF99"), (b"[4]", b"[5]", ""),
                           (b'"second"', b'"first" ', "first"), (b"[0,8]", b"[0,-8]", "")):
        assert old in good
        padded = good.replace(old, new, 1)
        if len(new) != len(old):
            padded = padded.replace(b" " * (len(new) - len(old)), b"", 1) if b" " in padded else padded
        tiny.write_file(t.path("x.safetensors"), padded)
        t.fails(4, "verify", "x.safetensors", says=says)
    tiny.write_file(t.path("x.safetensors"), good + b"\0")
    t.fails(4, "verify", "x.safetensors")
    tiny.write_file(t.path("x.safetensors"), good[:-1])
    t.fails(4, "verify", "x.safetensors")
