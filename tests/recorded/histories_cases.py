"""Recorded histories: every record is still reached, also by its names, and the history goes on."""

import archive
import models
from harness import test
from outcomes import expect_at_least, expect_record, expect_same, notes, state_of, steps_in, url, write_steps

CHECKPOINTS = {1: 1, 2: 2, 4: 4, 5: 5, 6: 6, 7: 5, 8: 7, 9: 8, 10: 9}  # the step of run/ that each record is
COLLECTED = 3
NAMES = {"HEAD": 9, "HEAD~3": 5, "early": 2, "best": 5, "fast": 8, "step:4": 6, "step:5": 5, "step:7": 7}


def prepare(t):
    archive.unpack("histories", t.folder)
    write_steps(t, *models.STEPS)


@test("log tells of a recorded history what it told when that was recorded")
def listed(t):
    archive.unpack("histories", t.folder)
    expect_at_least(t.json("log", url(t))["records"], notes()["told"]["log"])


@test("every record of a recorded history is pulled bit for bit, by its number, its state, its step and its tags")
def pulled(t):
    prepare(t)
    for number, step in CHECKPOINTS.items():
        expect_record(t, number, "run/%d" % step)
    for name, step in NAMES.items():
        expect_record(t, name, "run/%d" % step)
    expect_record(t, state_of(t, "run/7")[:12], "run/7")


@test("one folder visits every record of a recorded history, forwards and backwards")
def visited(t):
    prepare(t)
    for number in [*CHECKPOINTS, *reversed(CHECKPOINTS)]:
        assert t.json("pull", url(t, revision=number), "replica")["number"] == number
        expect_same(t, "replica/current", "run/%d" % CHECKPOINTS[number])


@test("a recorded record whose objects were collected cannot be reached, with exit status 3")
def collected(t):
    prepare(t)
    for command in (("pull", url(t, revision=COLLECTED), "replica"), ("verify", url(t, revision=COLLECTED)),
                    ("revert", url(t), "--to", str(COLLECTED))):
        assert t.json(*command, code=3)["error"]["kind"] == "not_found", command
    assert len(steps_in(t)) == 10


@test("recorded histories are proved, record by record and object by object")
def verified(t):
    archive.unpack("histories", t.folder)
    for store in ("store", "kinds", "lone-store"):
        assert t.json("verify", url(t, store))["ok"], store
    assert t.json("verify", url(t, "store", 9))["ok"]


@test("a checkpoint is found in a recorded history, and so is what differs from one of its records")
def found(t):
    prepare(t)
    for number, step in ((10, 9), (9, 8), (7, 5), (6, 6), (3, 3)):
        assert t.json("id", "run/%d" % step, "--in", url(t))["number"] == number, step
    assert t.json("id", "run/11", "--in", url(t), code=1)["nearest"] == 10
    names = {row["name"] for row in t.json("diff", "run/8", url(t))["tensors"]}
    assert names == {row["name"] for row in t.json("diff", "run/8", "run/9")["tensors"]}


@test("a push adds to a recorded history, from a base, after a pull, with an anchor, and with a rebase")
def pushed(t):
    prepare(t)
    assert t.json("push", "run/10", url(t), "--base", "run/9", "--step", "10")["number"] == 11
    t.good("pack", "run/10", "run/11", "-o", "11.wdp")
    assert t.json("push", "11.wdp", url(t), "--step", "11")["number"] == 12
    value = t.json("push", "run/3", url(t), "--rebase", "--step", "3", "--anchor-every", "2")
    assert value["number"] == 13 and value["delta_bytes"] and value["new_anchor_bytes"], value
    assert t.json("revert", url(t), "--to", "early")["number"] == 14
    for number, step in {**CHECKPOINTS, 11: 10, 12: 11, 13: 3, 14: 2}.items():
        expect_record(t, number, "run/%d" % step)
    assert steps_in(t) == [1, 2, 3, 4, 5, 4, 5, 7, 8, 9, 10, 11, 3, 2]
    assert t.json("verify", url(t))["ok"]


@test("a tag of a recorded history is moved, removed and added")
def tagged(t):
    prepare(t)
    t.json("tag", url(t, revision=9), "best", code=5)
    t.json("tag", "--force", url(t, revision=9), "best")
    expect_record(t, "best", "run/8")
    t.json("tag", "--delete", url(t), "early")
    t.json("pull", url(t, revision="early"), "replica", code=3)
    t.json("tag", url(t, revision=4), "fourth")
    expect_record(t, "fourth", "run/4")


@test("gc makes the same plan for a recorded history, and what it keeps is still reached")
def collects(t):
    prepare(t)
    expect_at_least(t.json("gc", url(t), "--keep", "2", "--grace", "0"), notes()["told"]["gc"])
    removed = t.json("gc", url(t), "--keep", "2", "--grace", "0", "--delete")["objects_removed"]
    assert removed == notes()["told"]["gc"]["objects_removed"] and removed > 0
    for number in (1, 2, 5, 9, 10):
        expect_record(t, number, "run/%d" % CHECKPOINTS[number])
    assert t.json("verify", url(t))["ok"]


@test("a recorded history of chosen files, with added, removed, reshaped and retyped tensors, is pulled and goes on")
def chosen_files(t):
    archive.unpack("histories", t.folder)
    models.write_kinds(t.folder)
    expect_record(t, 1, "kinds-base", "kinds")
    expect_record(t, 2, "kinds-chosen", "kinds")
    assert t.json("id", "kinds-new", "--in", url(t, "kinds"))["number"] == 2
    assert t.json("push", "kinds-base", url(t, "kinds"), "--base", "kinds-chosen", "--include", "extra.bin")["number"] == 3
    expect_record(t, "HEAD", "kinds-base", "kinds")


@test("a recorded history of a single file is pulled as model.safetensors and goes on")
def lone_file(t):
    archive.unpack("histories", t.folder)
    for step in (1, 2, 3, 4):
        models.write_lone(t.folder, step)
    assert t.json("push", "lone/4.safetensors", url(t, "lone-store"), "--base", "lone/3.safetensors")["number"] == 4
    for number in (1, 2, 3, 4):
        t.json("pull", url(t, "lone-store", number), "replica")
        assert list(t.tree("replica/current/.")) == ["model.safetensors"]
        expect_same(t, "replica/current/model.safetensors", "lone/%d.safetensors" % number)
