"""wdelta id."""

import os

import tiny
from harness import test
from training import checkpoint, checkpoints, flip, history, object_of, pull, push, record, url


@test("id prints state and fingerprint, and --in names the record, or the one with the same tensors")
def identify(t):
    history(t, 1, 2, 3)
    value = t.json("id", "run/2")
    assert value["state"] == record(t, 2)["state"] and value["fingerprint"] == record(t, 2)["fingerprint"]
    assert value["number"] is None and value["differing"] == []
    assert t.good("id", "-q", "run/2").text() == value["state"] + "\n"
    value = t.json("id", "run/2", "--in", url(t))
    assert value["number"] == 2 and value["step"] == 2 and value["same_layout"] is True and value["nearest"] is None
    assert "record 2 (step 2)" in t.good("id", "run/2", "--in", url(t)).text()
    checkpoint(t, "other", 2, config='{"kind": "another"}')
    value = t.json("id", "other", "--in", url(t))
    assert value["number"] == 2 and value["same_layout"] is False and value["state"] != record(t, 2)["state"]
    pull(t, "r", revision=1)
    assert t.json("id", "r/current", "--in", url(t))["number"] == 1


@test("id, diff and pull --base choose files beside the weights as the push did, unless told otherwise")
def recorded_choice(t):
    checkpoints(t, 1, 2)
    for step in (1, 2):
        tiny.write_file(t.path("run/%d/notes.bin" % step), b"%d" % step)
        push(t, "run/%d" % step, "--step", str(step), "--include", "*.bin", "--exclude", "tokenizer/*")
    value = t.json("id", "run/2", "--in", url(t))
    assert value["number"] == 2 and value["same_layout"] is True and value["state"] == record(t, 2)["state"], value
    assert t.json("id", "run/2", "--in", url(t), "--exclude", "*.bin")["same_layout"] is False
    assert t.json("diff", "run/2", url(t))["different"] is False
    assert t.json("diff", "--counts", "run/2", url(t))["wire_bytes"] == 0
    value = pull(t, "r", "--base", "run/1")
    assert value["wire_bytes"] == os.path.getsize(object_of(t, 2)), value
    assert t.json("id", "r/current", "--in", url(t))["same_layout"] is True
    tiny.write_file(t.path("run/2/notes.bin"), b"other")
    assert t.json("id", "run/2", "--in", url(t))["same_layout"] is False
    assert t.json("diff", "run/2", url(t))["different"] is True


@test("id --in names the nearest record and the tensors that differ, and exits with 1")
def nearest(t):
    history(t, 1, 2, 3)
    checkpoint(t, "near", 2)
    flip(t.path("near/m-2.safetensors"), at=-1)  # in norm, which lies last
    value = t.json("id", "near", "--in", url(t), code=1)
    assert value["number"] is None and value["nearest"] == 2 and value["differing"] == ["norm"], value
    outcome = t.good("id", "near", "--in", url(t), code=1)
    assert "nearest is record 2" in outcome.text() and "  norm\n" in outcome.text(), outcome.text()
    t.fails(3, "id", "missing")
    t.fails(2, "id", "run/1", "--in", "store", says="not a remote")
    t.fails(3, "id", "run/1", "--in", url(t, "nowhere"))
