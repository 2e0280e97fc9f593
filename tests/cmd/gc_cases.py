"""wdelta gc, and what goes on beside and after it."""

import json
import os
import time

import tiny
from harness import test
from training import (checkpoint, checkpoints, expect_current, expect_record, history, long_history, numbers,
                      object_of, objects, pull, push, url)


@test("gc without --delete shows its plan and removes nothing, and so does -n with it")
def gc_plan(t):
    long_history(t)
    before = t.tree("store")
    for words in (["gc"], ["gc", "--delete", "-n"], ["gc", "--delete", "--dry-run"]):
        value = t.json(*words, url(t), "--keep", "2", "--grace", "0")
        assert value["objects_removed"] > 0 and value["bytes_removed"] > 0 and value["deleted"] is False, value
        assert value["records"] == 9 and value["first_kept"] == 8 and value["objects_total"] == len(objects(t))
        assert t.tree("store") == before
    text = t.good("gc", url(t), "--keep", "2", "--grace", "0").text()
    assert text.startswith("would remove ") and "'--delete' removes them" in text, text


@test("gc --delete keeps every kept and tagged record within reach, and removes the rest")
def gc_delete(t):
    long_history(t)
    t.good("tag", url(t, revision=5), "best")
    pull(t, "behind", revision=7)
    total = len(objects(t))
    value = t.json("gc", url(t), "--keep", "2", "--grace", "0", "--delete")
    assert value["deleted"] is True and value["objects_removed"] == total - len(objects(t)) > 0, value
    for step in (4, 5, 7, 8, 9):  # 4 and 7 have the anchors that the others begin with
        expect_record(t, step, "run/%d" % step)
    expect_record(t, "best", "run/5")
    for step in (1, 2, 3):
        assert pull(t, "gone", revision=step, code=3)["error"]["message"]
    pull(t, "behind")
    expect_current(t, "behind", "run/9")
    assert numbers(t) == list(range(1, 10)) and len(t.json("log", url(t))["records"]) == 9
    t.good("verify", url(t))
    again = t.json("gc", url(t), "--keep", "2", "--grace", "0", "--delete")
    assert again["objects_removed"] == 0
    checkpoints(t, 10)
    push(t, "run/10")
    expect_record(t, 10, "run/10")
    t.good("tag", "--delete", url(t), "best")
    assert t.json("gc", url(t), "--keep", "2", "--grace", "0", "--delete")["objects_removed"] > 0
    expect_record(t, 10, "run/10")


@test("gc leaves objects alone that are younger than the grace period, by the store's clock")
def gc_grace(t):
    long_history(t)
    before = objects(t)
    value = t.json("gc", url(t), "--keep", "1", "--delete")  # a day, unless told otherwise
    assert value["objects_removed"] == 0 and value["objects_too_young"] > 0 and objects(t) == before, value
    old = object_of(t, 2)
    os.utime(old, (time.time() - 100000,) * 2)
    value = t.json("gc", url(t), "--keep", "1", "--delete")
    assert value["objects_removed"] == 1 and not os.path.exists(old), value


@test("gc removes an object that no record names, and keeps records that are young with --keep-for")
def gc_orphan(t):
    long_history(t)
    orphan = t.path("store/objects/ab/ab" + "0" * 62)
    tiny.write_file(orphan, b"of a push that never came to its end")
    value = t.json("gc", url(t), "--keep", "1", "--keep-for", "1d", "--grace", "0", "--delete")
    assert value["objects_removed"] == 1 and value["first_kept"] == 1 and not os.path.exists(orphan), value
    t.fails(2, "gc", url(t), "--keep", "0")
    t.fails(2, "gc", url(t), "--keep-for", "long")
    t.fails(2, "gc", url(t), "--grace", "1w")
    t.fails(3, "gc", url(t, "nowhere"))


@test("gc leaves an object alone that a push has pinned, and gives way to another gc")
def gc_fence(t):
    long_history(t)
    old = object_of(t, 2)
    pin, sweep = t.path("store/pins/%s/%s" % (os.path.basename(old), "0" * 32)), t.path("store/sweeps/" + "0" * 32)
    tiny.write_file(pin, "pin")
    tiny.write_file(sweep, "sweep")
    collect = ("gc", url(t), "--keep", "1", "--grace", "0", "--delete")
    outcome, value = t.fails(6, *collect, says="another collector has been running")
    os.utime(sweep, (time.time() - 301,) * 2)
    assert t.json(*collect)["objects_removed"] > 0 and os.path.exists(old)
    assert os.listdir(t.path("store/sweeps")) == [] and os.path.exists(pin)
    os.utime(pin, (time.time() - 3601,) * 2)
    assert t.json(*collect)["objects_removed"] == 1 and not os.path.exists(old) and not os.path.exists(pin)


@test("a push that uses an old object again waits for a gc that is at work, and sends what that has taken")
def push_fence(t):
    history(t, 1, 2)
    push(t, "run/1", "--step", "3")
    old = object_of(t, 2)
    sweep = t.path("store/sweeps/" + "0" * 32)
    tiny.write_file(sweep, "sweep")
    with t.popen("push", "run/2", url(t), "--step", "4", "--json") as child:
        while not os.path.isdir(t.path("store/pins/" + os.path.basename(old))):
            assert child.poll() is None, child.stderr.read()
            time.sleep(0.01)
        time.sleep(0.3)
        assert child.poll() is None and numbers(t) == [1, 2, 3]
        os.unlink(old)
        os.unlink(sweep)
        said, _ = child.communicate(timeout=60)
    value = json.loads(said)
    assert child.returncode == 0 and value["number"] == 4 and "waiting" in value["notes"][0], value
    assert object_of(t, 4) == old and os.listdir(t.path("store/pins/" + os.path.basename(old))) == []
    expect_record(t, 4, "run/2")


@test("a model that goes to and fro is pulled by the same packs again")
def to_and_fro(t):
    checkpoints(t, 1, 2)
    for number in range(12):
        push(t, "run/%d" % (1 + number % 2), "--step", str(number))
    assert len(objects(t)) == 3
    value = pull(t, "r")
    assert len(value["plan"]) == 12 and value["number"] == 12, value
    expect_current(t, "r", "run/2")


@test("a push with --rebase goes on from an anchor where what came after its base was collected")
def rebase_after_gc(t):
    checkpoints(t, 1)
    push(t, "run/1", "--step", "1")
    for step in range(2, 10):
        checkpoint(t, "elsewhere/%d" % step, step)
        push(t, "elsewhere/%d" % step, "--rebase", "--anchor-every", "3")
    assert t.json("gc", url(t), "--keep", "1", "--grace", "0", "--delete")["objects_removed"] > 0
    checkpoint(t, "run/10", 10)
    assert push(t, "run/10", "--rebase", "--step", "10")["number"] == 10
    expect_record(t, 10, "run/10")


@test("in a history without a later anchor gc removes nothing")
def gc_no_anchor(t):
    history(t, 1, 2, 3)
    assert t.json("gc", url(t), "--keep", "1", "--grace", "0", "--delete")["objects_removed"] == 0
    for step in (1, 2, 3):
        expect_record(t, step, "run/%d" % step)
