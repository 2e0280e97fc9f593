"""wdelta push, to folders."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time

import tiny
import training
from harness import Outcome, parse_object, read, test
from training import (checkpoint, checkpoints, expect_record, flip, history, home, kept_base, numbers, object_of,
                      objects, push, record, url)


def refused(t, source, *options, says="", hint="", store="store", code=5):
    """A push that fails, without a new record or object; the error."""
    before = t.tree(store) if os.path.exists(t.path(store)) else {}
    error = push(t, source, *options, store=store, code=code)["error"]
    assert says in error["message"], error
    assert hint in (error["hint"] or ""), error
    after = t.tree(store) if os.path.exists(t.path(store)) else {}
    assert {name for name in after if name.endswith(".json") or "objects" in name} == {
        name for name in before if name.endswith(".json") or "objects" in name}, error
    return error


@test("the first push is an anchor, and the later ones are deltas against the record before")
def first_and_later(t):
    checkpoints(t, 1, 2, 3)
    one, two, three = (push(t, "run/%d" % step, "--step", str(step)) for step in (1, 2, 3))
    assert [value["number"] for value in (one, two, three)] == [1, 2, 3] == numbers(t)
    assert [value["step"] for value in (one, two, three)] == [1, 2, 3]
    assert one["delta_bytes"] is None and one["base_state"] is None and one["anchor_bytes"] > 6000, one
    assert two["anchor_bytes"] is None and 0 < two["delta_bytes"] < one["anchor_bytes"] / 5, two
    assert two["base_state"] == one["state"] and three["base_state"] == two["state"]
    assert two["base_fingerprint"] == one["fingerprint"]
    assert record(t, 1)["delta"] is None and record(t, 3)["anchor"] is None
    assert os.path.getsize(object_of(t, 3)) == three["delta_bytes"] == three["wire_bytes"]
    for step in (1, 2, 3):
        expect_record(t, step, "run/%d" % step)


@test("push reports number, step, bytes, sparsity, seconds and state, and with -q only the number")
def report(t):
    checkpoints(t, 1, 2)
    text = t.good("push", "run/1", url(t), "--step", "7").text()
    assert text.startswith("record 1 (step 7): ") and "bytes sent" in text and text.count("\n") == 1, text
    value = push(t, "run/2", "--step", "8")
    assert value["schema"] == "wdelta.push/1" and value["created"] >= 1.6e9 and value["tags"] == []
    assert value["elements_total"] == 3008 and 0 < value["elements_changed"] <= 12 and value["tensors_changed"] == 2
    assert abs(value["sparsity"] - (1 - value["elements_changed"] / 3008)) < 1e-9
    assert value["bytes_total"] == 6016 and abs(value["ratio"] - 6016 / value["delta_bytes"]) < 1e-6
    assert value["retries"] == 0 and value["already_there"] is False and value["new_anchor_bytes"] is None
    assert all(value["seconds"][part] >= 0 for part in ("encode", "upload", "commit"))
    assert value["state"] == t.good("id", "-q", "run/2").text().strip()
    blank = t.json("push", "--no-such-thing", code=2)
    assert set(blank) == set(value) and blank["number"] is None and blank["wire_bytes"] is None
    checkpoints(t, 3)
    assert t.good("push", "-q", "run/3", url(t)).text() == "3\n"


@test("steps may repeat and fall, and @step finds the newest record with it")
def steps(t):
    checkpoints(t, 1, 2, 3, 4)
    for source, step in ((1, 10), (2, 20), (3, 10), (4, 20)):
        push(t, "run/%d" % source, "--step", str(step))
    assert numbers(t) == [1, 2, 3, 4]
    expect_record(t, "step:10", "run/3")
    expect_record(t, "step:20", "run/4")
    push(t, "run/1", "--step", "5")  # a trainer that began again from an older checkpoint
    assert record(t, 5)["delta"] and record(t, 5)["step"] == 5
    expect_record(t, "HEAD", "run/1")


@test("pushing the newest state again is success, sends nothing and adds no record")
def again(t):
    history(t, 1, 2)
    before = t.tree("store")
    value = push(t, "run/2", "--step", "2")
    assert value["already_there"] is True and value["number"] == 2 and value["wire_bytes"] == 0, value
    assert "nothing to do" in t.good("push", "run/2", url(t)).text()
    checkpoint(t, "run/copy", 2)
    assert push(t, "run/copy")["already_there"] is True
    assert t.tree("store") == before
    assert push(t, "run/2", "--step", "9")["number"] == 3  # another step is another record
    expect_record(t, "HEAD", "run/2")


@test("without a base a push fails with 5, says where it looked and what an anchor costs, and --anchor accepts that")
def no_base(t):
    history(t, 1)
    checkpoint(t, "elsewhere/2", 2)
    error = refused(t, "elsewhere/2", says="no base for record 2", hint="--anchor")
    assert "elsewhere/.wdelta/push-" in error["message"], error
    assert "6016 bytes" in error["hint"].replace(",", "") and "--base" in error["hint"], error
    error = refused(t, "elsewhere/2", "--mirror", "elsewhere/m", says="elsewhere/m", hint="--anchor")
    value = push(t, "elsewhere/2", "--anchor")
    assert value["number"] == 2 and value["anchor_bytes"] > 6000 and value["delta_bytes"] is None
    expect_record(t, 2, "elsewhere/2")
    checkpoint(t, "elsewhere/3", 3)
    assert push(t, "elsewhere/3", "--anchor")["delta_bytes"]  # there is a base now, so that it is used


@test("--base names the checkpoint of the newest record, and any other is a conflict")
def named_base(t):
    history(t, 1, 2)
    checkpoint(t, "elsewhere/3", 3)
    error = refused(t, "elsewhere/3", "--base", "run/1", says="run/1", hint="newest record")
    assert error["expected"] == record(t, 2)["state"] and error["found"] == record(t, 1)["state"], error
    value = push(t, "elsewhere/3", "--base", "run/2")
    assert value["number"] == 3 and value["delta_bytes"] < 2000 and value["base_state"] == record(t, 2)["state"]
    expect_record(t, 3, "elsewhere/3")
    assert push(t, "elsewhere/3", "--base", "run/1", "--mirror", "m", code=2)["error"]["kind"] == "usage"


@test("the checkpoint of the last push is kept by hard links, and survives its deletion")
def kept_by_links(t):
    history(t, 1)
    base = kept_base(t)
    assert t.tree(base) == t.tree("run/1")
    assert os.stat(base + "/m-1.safetensors").st_ino == os.stat(t.path("run/1/m-1.safetensors")).st_ino
    shutil.rmtree(t.path("run/1"))
    checkpoints(t, 2)
    value = push(t, "run/2")
    assert value["number"] == 2 and value["delta_bytes"] < 2000, value
    expect_record(t, 2, "run/2")
    assert sorted(name for name in os.listdir(home(t)) if name.startswith("spool")) == []


@test("--keep-base copy keeps a copy, and off keeps nothing")
def keep_base(t):
    checkpoints(t, 1, 2, 3)
    push(t, "run/1", "--keep-base", "copy")
    base = kept_base(t)
    assert t.tree(base) == t.tree("run/1")
    assert os.stat(base + "/m-1.safetensors").st_ino != os.stat(t.path("run/1/m-1.safetensors")).st_ino
    for name in ("m-1.safetensors", "m-2.safetensors"):  # overwritten where it lies, which a copy does not mind
        with open(t.path("run/1/" + name), "r+b") as file:
            file.write(read(t.path("run/2/" + name)))
    assert push(t, "run/1")["delta_bytes"] < 2000
    expect_record(t, 2, "run/2")
    push(t, "run/3", "--keep-base", "off", store="other")
    assert not [name for name in os.listdir(home(t, store="other")) if name.startswith("base")]
    refused(t, "run/2", store="other", says="no base")


@test("a checkpoint that was overwritten where it lies is no base: exit 5, and the hint is --mirror")
def overwritten(t):
    history(t, 1)
    checkpoint(t, "aside", 2)
    for name in ("m-1.safetensors", "m-2.safetensors"):
        with open(t.path("run/1/" + name), "r+b") as file:
            file.write(read(t.path("aside/" + name)))
    refused(t, "run/1", hint="--mirror")
    push(t, "run/1", "--rebase", code=5)


@test("a single file is pushed, and its companions are not needed")
def single_file(t):
    for step in (1, 2):
        tiny.write_safetensors(t.path("run/%d.safetensors" % step), {"w": training.weights("w", step)})
        push(t, "run/%d.safetensors" % step)
    training.pull(t, "r")
    assert t.tree("r/current/.") == {"model.safetensors": read(t.path("run/2.safetensors"))}


@test("--mirror is filled by the first push, and moved on by each later one")
def mirror(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2, 3):
        shutil.rmtree(t.path("live"), ignore_errors=True)
        shutil.copytree(t.path("run/%d" % step), t.path("live"))
        value = push(t, "live", "--mirror", "keep/mirror", "--step", str(step))
        assert (value["delta_bytes"] is None) == (step == 1), value
        assert t.tree("keep/mirror") == t.tree("run/%d" % step)
        expect_record(t, step, "run/%d" % step)
    assert not os.path.exists(t.path("live/.wdelta")) and not os.path.exists(t.path(".wdelta"))
    checkpoint(t, "occupied", 9)
    refused(t, "run/1", "--mirror", "occupied", store="empty", says="occupied")


@test("the source may be deleted as soon as --released appears, and everything after that works from the spool")
def released(t):
    checkpoints(t, 1, 2)
    push(t, "run/1", "--mirror", "keep/m")
    wanted = t.tree("run/2")
    with t.popen("push", "--json", "run/2", url(t), "--mirror", "keep/m", "--released", "ok") as process:
        while not os.path.exists(t.path("ok")):
            assert process.poll() in (None, 0), process.stderr.read()
            time.sleep(0.0005)
        shutil.rmtree(t.path("run/2"))
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    parse_object(out.decode(), 0)
    assert read(t.path("ok")) == b""
    assert t.tree("keep/m") == wanted
    training.pull(t, "r")
    assert t.tree("r/current/.") == wanted


@test("a source that was released before the push was killed is in the history after the next push")
def released_then_killed(t):
    checkpoints(t, 1, 2, 3)
    push(t, "run/1", "--mirror", "keep/m", "--step", "1")
    kills = training.Kills(t, ["push", "run/2", url(t), "--mirror", "keep/m", "--released", "ok", "--step", "2"])
    seen = set()
    for where in kills.each(14):
        was_released = os.path.exists(t.path("ok"))
        seen.add(was_released)
        wanted = t.tree("run/2")
        shutil.rmtree(t.path("run/2"))  # whether it was released or not: nobody may need it to finish
        value = push(t, "run/3", "--mirror", "keep/m", "--step", "3")
        steps = [record(t, number)["step"] for number in numbers(t)]
        assert steps in ([1, 2, 3], [1, 3]) and (steps == [1, 2, 3] or not was_released), (steps, where)
        assert value["number"] == len(steps) and value["delta_bytes"], (value, where)
        assert t.tree("keep/m") == t.tree("run/3"), where
        expect_record(t, "HEAD", "run/3")
        if len(steps) == 3:
            training.pull(t, "r", revision="step:2")
            assert t.tree("r/current/.") == wanted, where
    assert seen == {True, False}, seen


@test("a first push that is killed at any point and run again makes exactly one record")
def killed_first(t):
    checkpoints(t, 1, 2)
    for where in training.Kills(t, ["push", "run/1", url(t), "--step", "1"]).each(10):
        assert push(t, "run/1", "--step", "1")["number"] == 1 and numbers(t) == [1], where
        assert push(t, "run/2", "--step", "2")["delta_bytes"], where
        expect_record(t, 1, "run/1")
        expect_record(t, 2, "run/2")


@test("a push that committed and was cut off before it moved its mirror on is finished by the next one")
def mirror_left_behind(t):
    checkpoints(t, 1, 2, 3)
    push(t, "run/1", "--mirror", "keep/m")
    shutil.copytree(t.path("keep"), t.path("before"), symlinks=True)
    push(t, "run/2", "--mirror", "keep/m")
    # As a crash would have left it: the record is there, mirror and state are the old ones, and the spool waits.
    folder = home(t, "keep")
    spool = {"writer": record(t, 2)["writer"], "base_state": record(t, 1)["state"], "state": record(t, 2)["state"]}
    for extra in ({}, {"committed": "yes"}):
        shutil.rmtree(t.path("keep"))
        shutil.copytree(t.path("before"), t.path("keep"), symlinks=True)
        shutil.copy(object_of(t, 2), folder + "/spool.wdp")
        tiny.write_file(folder + "/spool.json", json.dumps({**spool, **extra}))
        assert push(t, "run/2", "--mirror", "keep/m")["number"] == 2 and numbers(t) == [1, 2]
        assert t.tree("keep/m") == t.tree("run/2") and not os.path.exists(folder + "/spool.json")
    assert push(t, "run/3", "--mirror", "keep/m")["delta_bytes"]
    assert t.tree("keep/m") == t.tree("run/3")


@test("the pack of an interrupted push is dropped with a note if somebody else has pushed since")
def spool_overtaken(t):
    history(t, 1)
    checkpoints(t, 2, 3)
    t.good("pack", "run/1", "run/2", "-o", "d.wdp")
    push(t, "run/3", "--base", "run/1")  # by another way than the home of run/
    folder = home(t)
    shutil.copy(t.path("d.wdp"), folder + "/spool.wdp")
    states = {name: t.good("id", "-q", "run/%d" % name).text().strip() for name in (1, 2)}
    spool = {"writer": "0" * 32, "base_state": states[1], "state": states[2]}
    tiny.write_file(folder + "/spool.json", json.dumps(spool))
    value = push(t, "run/2", "--rebase")
    assert any("dropped" in note for note in value["notes"]), value["notes"]
    assert numbers(t) == [1, 2, 3]
    expect_record(t, 2, "run/3")
    expect_record(t, 3, "run/2")


@test("of two pushers the slower gets exit 5 with a hint, and succeeds with --rebase; both states rebuild")
def two_pushers(t):
    for who in ("first", "second"):
        checkpoint(t, who + "/1", 1)
    push(t, "first/1")
    assert push(t, "second/1", "--rebase")["already_there"] is True
    checkpoint(t, "first/2", 2)
    checkpoint(t, "second/3", 3)
    push(t, "first/2")
    error = refused(t, "second/3", says="has a newer record", hint="--rebase")
    assert error["found"] == record(t, 2)["state"] and error["retryable"] is not None
    value = push(t, "second/3", "--rebase")
    assert value["number"] == 3 and value["delta_bytes"] < 2000 and value["base_state"] == record(t, 2)["state"]
    expect_record(t, 2, "first/2")
    expect_record(t, 3, "second/3")
    checkpoint(t, "second/4", 4)
    assert push(t, "second/4")["number"] == 4  # its base is the newest record again
    refused(t, "first/2", says="has a newer record")


@test("--rebase brings a mirror to the newest record, too")
def rebase_mirror(t):
    checkpoint(t, "first/1", 1)
    push(t, "first/1", "--mirror", "keep/m")
    checkpoint(t, "second/2", 2)
    push(t, "second/2", "--base", "first/1")
    checkpoint(t, "first/3", 3)
    refused(t, "first/3", "--mirror", "keep/m", says="has a newer record", hint="--rebase")
    assert push(t, "first/3", "--mirror", "keep/m", "--rebase")["number"] == 3
    assert t.tree("keep/m") == t.tree("first/3")
    expect_record(t, 2, "second/2")
    expect_record(t, 3, "first/3")
    checkpoint(t, "third/4", 4)
    assert push(t, "third/4", "--mirror", "third/m", "--rebase")["delta_bytes"]  # a mirror that has to be fetched
    assert t.tree("third/m") == t.tree("third/4")


@test("pushers that all push at the same time with --rebase each get one record")
def many_pushers(t):
    checkpoint(t, "p0/base", 0)
    push(t, "p0/base")
    for who in range(4):
        checkpoint(t, "p%d/ckpt" % who, who + 1)
    options = ["--json", "--base", "p0/base", "--rebase", "--step"]
    processes = [t.popen("push", "p%d/ckpt" % who, url(t), *options, str(who)) for who in range(4)]
    outcomes = []
    for process in processes:
        with process:
            out, err = process.communicate(timeout=60)
            outcomes.append(Outcome(process.returncode, out, err))
    for outcome in outcomes:
        assert outcome.code == 0, outcome.talk()
    got = [parse_object(outcome.text(), 0)["number"] for outcome in outcomes]
    assert sorted(got) == [2, 3, 4, 5] and numbers(t) == [1, 2, 3, 4, 5], got
    for who in range(4):
        expect_record(t, "step:%d" % who, "p%d/ckpt" % who)
    t.good("verify", url(t))


@test("a ready pack is pushed from a file and from a pipe, and needs no home")
def ready_pack(t):
    checkpoints(t, 1, 2, 3)
    t.good("pack", "--anchor", "run/1", "-o", "1.wdp")
    t.good("pack", "run/1", "run/2", "-o", "2.wdp")
    t.good("pack", "run/2", "run/3", "-o", "3.wdp")
    refused(t, "2.wdp", says="is empty", hint="--anchor")
    assert push(t, "1.wdp", "--step", "1")["anchor_bytes"] == os.path.getsize(t.path("1.wdp"))
    value = push(t, "2.wdp", "--step", "2")
    assert value["number"] == 2 and value["delta_bytes"] == value["wire_bytes"] == os.path.getsize(t.path("2.wdp"))
    value = push(t, "-", "--step", "3", data=read(t.path("3.wdp")))
    assert value["number"] == 3 and value["delta_bytes"] == os.path.getsize(t.path("3.wdp"))
    assert push(t, "-", "--step", "3", data=read(t.path("3.wdp")))["already_there"] is True
    assert not [name for name in t.tree() if ".wdelta" in name or "push" in name]
    for step in (1, 2, 3):
        expect_record(t, step, "run/%d" % step)
    refused(t, "1.wdp", says="anchor", hint="--anchor")


@test("a pack for another base is a conflict that names both states")
def wrong_pack(t):
    history(t, 1, 2, 3)
    checkpoints(t, 4)
    t.good("pack", "run/1", "run/4", "-o", "d.wdp")
    error = refused(t, "d.wdp", says="d.wdp", hint="newest record")
    assert error["expected"] == record(t, 3)["state"] and error["found"] == record(t, 1)["state"]
    flip(t.path("d.wdp"))
    push(t, "d.wdp", code=4)
    push(t, "-", data=b"not a pack", code=4)


@test("a pack moves a mirror on, too")
def pack_and_mirror(t):
    checkpoints(t, 1, 2)
    push(t, "run/1", "--mirror", "keep/m")
    t.good("pack", "run/1", "run/2", "-o", "2.wdp")
    push(t, "2.wdp", "--mirror", "keep/m")
    assert t.tree("keep/m") == t.tree("run/2")


@test("--ready waits for its marker before anything is read, and ends on SIGTERM with 143")
def ready(t):
    with t.popen("push", "--json", "run/1", url(t), "--ready", "go") as process:
        time.sleep(0.2)
        assert process.poll() is None and not os.path.exists(t.path("store"))
        checkpoints(t, 1)
        tiny.write_file(t.path("go"), "")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert parse_object(out.decode(), 0)["number"] == 1
    expect_record(t, 1, "run/1")
    with t.popen("push", "--json", "run/1", url(t), "--ready", "never", stdin=subprocess.DEVNULL) as process:
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    parse_object(out.decode(), 143)


@test("--tag names the record; if another record has that name, the push is done and the exit code is 5")
def tag(t):
    history(t, 1)
    checkpoints(t, 2, 3)
    assert push(t, "run/2", "--tag", "best")["tags"] == ["best"]
    expect_record(t, "best", "run/2")
    assert push(t, "run/2", "--tag", "best")["already_there"] is True
    value = push(t, "run/3", "--tag", "best", code=5)
    assert "best" in value["error"]["message"] and numbers(t) == [1, 2, 3], value["error"]
    expect_record(t, "best", "run/2")
    expect_record(t, "HEAD", "run/3")
    assert push(t, "run/1", "--tag", "17", code=2)["error"]["kind"] == "usage"
    assert numbers(t) == [1, 2, 3]


@test("--anchor-every adds an anchor when the last is so far back, announced and hardly larger than the files")
def anchor_every(t):
    checkpoints(t, *range(1, 7))
    added = [push(t, "run/%d" % step, "--anchor-every", "2")["new_anchor_bytes"] for step in range(1, 7)]
    assert [bool(size) for size in added] == [False, False, True, False, True, False], added
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(t.path("run/3"))
               for name in names)
    assert added[2] <= size * 1.001 + 65536
    way = json.loads(read(t.path("store/ways/%012d/anchor.json" % 3)))
    assert way["from"] == 0 and way["state"] == record(t, 3)["state"] and record(t, 3)["anchor"] is None
    assert sum(part["bytes"] for part in way["objects"]) == added[2]
    assert json.loads(read(t.path("store/tip.json"))) == {"wdelta_tip": 1, "number": 6, "anchors": [3, 5], "jumps": []}
    for number in (1, 2, 4):
        os.unlink(object_of(t, number, "anchor" if number == 1 else "delta"))
    for step in (3, 5, 6):
        expect_record(t, step, "run/%d" % step)


@test("an anchor is added from the mirror just as well, and not without --anchor-every")
def anchor_of_mirror(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2):
        assert push(t, "run/%d" % step, "--mirror", "keep/m")["new_anchor_bytes"] is None
    assert not os.path.exists(t.path("store/ways"))
    assert push(t, "run/3", "--mirror", "keep/m", "--anchor-every", "1")["new_anchor_bytes"] > 6000
    os.unlink(object_of(t, 1, "anchor"))
    expect_record(t, 3, "run/3")


@test("a lost hint, an old one, and one that makes no sense harm nobody")
def hints(t):
    history(t, 1, 2, 3, 4)
    tip = t.path("store/tip.json")
    checkpoints(t, 5, 6, 7, 8)
    step = 4
    for content in (None, '{"wdelta_tip":1,"number":2,"anchors":[],"jumps":[]}', "rubbish",
                    '{"wdelta_tip":9,"number":1}', '{"wdelta_tip":1,"number":900,"anchors":[700],"jumps":[[3,800]]}'):
        os.unlink(tip)
        if content is not None:
            tiny.write_file(tip, content)
        expect_record(t, "HEAD", "run/%d" % step)
        if step == 8:
            break
        step += 1
        assert push(t, "run/%d" % step)["number"] == step
        assert json.loads(read(tip))["number"] >= step
        os.unlink(tip)
        expect_record(t, "HEAD", "run/%d" % step)
        tiny.write_file(tip, '{"wdelta_tip":1,"number":%d,"anchors":[],"jumps":[]}' % step)


@test("two pushes from the same place do not work at the same time: the second gets exit 6, or waits with --lock-wait")
def lock(t):
    checkpoints(t, 1, 2)
    push(t, "run/1")
    with open(os.path.join(home(t), "lock"), "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        value = push(t, "run/2", code=6)
        assert "process" in value["error"]["message"] and "--lock-wait" in value["error"]["hint"], value["error"]
        assert numbers(t) == [1]
        with t.popen("push", "-q", "run/2", url(t), "--lock-wait", "30s") as process:
            time.sleep(0.3)
            assert process.poll() is None
            fcntl.flock(held, fcntl.LOCK_UN)
            assert process.communicate(timeout=60)[0] == b"2\n"


@test("--include and --exclude choose what is pushed, and what is left out is named in a note")
def choice(t):
    checkpoints(t, 1)
    tiny.write_file(t.path("run/1/optimizer.pt"), b"x" * 100)
    value = push(t, "run/1")
    assert any("optimizer.pt" in note for note in value["notes"]), value["notes"]
    push(t, "run/1", "--include", "*.pt", "--exclude", "tokenizer/*", store="other")
    training.pull(t, "r", store="other")
    assert set(t.tree("r/current/.")) == {"m-1.safetensors", "m-2.safetensors", "model.safetensors.index.json",
                                          "config.json", "optimizer.pt"}


@test("a push to a record, to a place that is no remote, or of nothing fails with 2 and 3, and leaves nothing behind")
def failures(t):
    checkpoints(t, 1)
    t.fails(2, "push", "run/1", url(t, revision=1))
    t.fails(2, "push", "run/1", "store", says="not a remote")
    t.fails(2, "push", "run/1", url(t), "--step", "-1")
    t.fails(2, "push", "run/1", url(t), "--keep-base", "move")
    t.fails(2, "push", "run/1", url(t), "--lock-wait", "soon")
    t.fails(2, "push", "-", url(t), "--anchor-every", "3", data=b"", says="pack")
    push(t, "missing", code=3)
    assert not os.path.exists(t.path("store/records"))


@test("a push that is killed at any point and run again makes exactly one record")
def killed(t):
    checkpoints(t, 1, 2, 3)
    push(t, "run/1", "--step", "1")
    words = ["push", "run/2", url(t), "--step", "2"]
    for where in training.Kills(t, words).each(16):
        value = push(t, "run/2", "--step", "2")
        assert value["number"] == 2 and numbers(t) == [1, 2], (numbers(t), where)
        expect_record(t, 2, "run/2")
        assert not [name for name in os.listdir(home(t)) if name.startswith("spool")], where
        value = push(t, "run/3", "--step", "3")
        assert value["number"] == 3 and value["delta_bytes"] and len(objects(t)) == 3, (value, where)
        expect_record(t, 3, "run/3")


@test("an anchor is added with --base and with --keep-base off, also if an older base is kept")
def anchor_and_base(t):
    checkpoints(t, 1, 2, 3)
    push(t, "run/1")
    assert push(t, "run/2", "--base", "run/1", "--anchor-every", "1")["new_anchor_bytes"] > 6000


@test("a pack that was killed before its mirror was moved on is finished by the next push")
def pack_killed(t):
    checkpoints(t, 1, 2, 3)
    push(t, "run/1", "--mirror", "keep/m")
    t.good("pack", "run/1", "run/2", "-o", "2.wdp")
    for where in training.Kills(t, ["push", "2.wdp", url(t), "--mirror", "keep/m"]).each(14):
        push(t, "2.wdp", "--mirror", "keep/m")
        assert numbers(t) == [1, 2] and t.tree("keep/m") == t.tree("run/2"), where
        assert push(t, "run/3", "--mirror", "keep/m")["delta_bytes"], where


@test("the tag of an interrupted push is given when the next push finishes it")
def tag_of_interrupted(t):
    history(t, 1)
    checkpoints(t, 2, 3)
    t.good("pack", "run/1", "run/2", "-o", home(t) + "/spool.wdp")
    states = [t.good("id", "-q", "run/%d" % step).text().strip() for step in (1, 2)]
    spool = {"writer": "1" * 32, "tag": "best", "base_state": states[0], "state": states[1]}
    tiny.write_file(home(t) + "/spool.json", json.dumps(spool))
    push(t, "run/3")
    expect_record(t, "best", "run/2")


@test("a remote in the place of a base or a mirror is a usage error")
def remote_as_base(t):
    checkpoints(t, 1)
    for command in (["push", "run/1", url(t), "--base"], ["push", "run/1", url(t), "--mirror"], ["pull", url(t), "r", "--base"]):
        t.fails(2, *command, "file:///nowhere")


@test("an interrupted push that was committed is found however often its states came back since")
def interrupted_to_and_fro(t):
    checkpoints(t, 1, 2)
    checkpoint(t, "elsewhere/1", 1)
    checkpoint(t, "elsewhere/2", 2)
    push(t, "run/1", "--step", "1")
    push(t, "run/2", "--step", "2")
    for step in range(3, 40):
        push(t, "elsewhere/%d" % (2 - step % 2), "--step", str(step), "--rebase")
    # As if it had been killed right after its commit.
    spooled = record(t, 2)
    state = {"writer": spooled["writer"], "step": "2", "base_state": spooled["base_state"], "state": spooled["state"]}
    assert record(t, 39)["state"] == spooled["base_state"]
    for extra in ({"number": "2"}, {}):
        tiny.write_file(os.path.join(home(t), "spool.wdp"), read(object_of(t, 2)))
        tiny.write_file(os.path.join(home(t), "spool.json"), json.dumps({**state, **extra}))
        assert push(t, "run/2", "--step", "2", "--rebase")["number"] == 2
        assert numbers(t) == list(range(1, 40))
