"""wdelta pull, from folders."""

import fcntl
import json
import mmap
import os
import shutil
import subprocess
import time

import tiny
import training
from harness import parse_object, read, test
from training import (checkpoint, checkpoints, expect_current, flip, history, numbers, object_of, pull, push, record,
                      record_path, url, versions, write_record)


def name_of(t, number):
    return "%d-%s" % (number, record(t, number)["state"][:12])


@test("a pull makes versions/NUMBER-STATE with exactly the files, the link current, and its own state in .wdelta")
def layout(t):
    history(t, 1, 2, 3)
    value = pull(t, "r")
    assert sorted(os.listdir(t.path("r"))) == [".wdelta", "current", "versions"]
    assert versions(t, "r") == [name_of(t, 3)]
    assert os.readlink(t.path("r/current")) == "versions/" + name_of(t, 3)
    expect_current(t, "r", "run/3")
    assert value["number"] == 3 and value["step"] == 3 and value["state"] == record(t, 3)["state"]
    assert value["path"] == "r/versions/" + name_of(t, 3) and value["previous"] is None
    assert value["up_to_date"] is False and value["lag_records"] == 0
    assert [(row["from"], row["to"]) for row in value["plan"]] == [(0, 1), (1, 2), (2, 3)]
    assert value["wire_bytes"] == sum(row["bytes"] for row in value["plan"])
    assert all(value["seconds"][part] >= 0 for part in ("download", "apply"))
    blank = t.json("pull", "--no-such-thing", code=2)
    assert set(blank) == set(value), set(blank) ^ set(value)


@test("a pull follows record by record, and fetches only the deltas")
def follow(t):
    checkpoints(t, 1, 2, 3, 4)
    for step in (1, 2, 3, 4):
        delta_bytes = push(t, "run/%d" % step)["delta_bytes"]
        value = pull(t, "r")
        expect_current(t, "r", "run/%d" % step)
        assert value["previous"] == (step - 1 or None) and value["number"] == step
        if step > 1:
            assert value["wire_bytes"] == delta_bytes, value
    assert t.good("pull", "-q", url(t), "r").text() == "r/versions/%s\n" % name_of(t, 4)


@test("a pull that finds nothing new says so, fetches nothing and changes nothing")
def up_to_date(t):
    history(t, 1, 2)
    pull(t, "r")
    before = t.tree("r")
    value = pull(t, "r")
    assert value["up_to_date"] is True and value["wire_bytes"] == 0 and value["number"] == 2 and value["plan"] == []
    assert "up to date" in t.good("pull", url(t), "r").text()
    after = t.tree("r")
    before.pop(".wdelta/lock"), after.pop(".wdelta/lock")
    assert after == before


@test("every form of a revision leads to its record: HEAD, HEAD~N, a number, a step, a tag and digits of a state")
def revisions(t):
    history(t, 1, 2, 3, 4)
    t.good("tag", url(t, revision=2), "best")
    for revision, step in (("HEAD", 4), ("HEAD~1", 3), ("HEAD~3", 1), (2, 2), ("step:3", 3), ("best", 2),
                           (record(t, 1)["state"][:8], 1), (record(t, 3)["state"], 3)):
        value = pull(t, "r", revision=revision)
        assert value["number"] == step and value["lag_records"] == 4 - step, (revision, value)
        expect_current(t, "r", "run/%d" % step)
    for revision in ("HEAD~4", 5, 0, "step:9", "worst", "f" * 12):
        assert pull(t, "r", revision=revision, code=3)["error"]["hint"]
    for revision in ("HEAD~x", "step:", "Bad", "-x", "step:-1"):
        t.fails(2, "pull", url(t, revision=revision), "r2")
    expect_current(t, "r", "run/3")


@test("a late joiner takes the newest anchor and the deltas after it, and one that follows never fetches an anchor")
def late_joiner(t):
    checkpoints(t, *range(1, 7))
    for step in range(1, 7):
        push(t, "run/%d" % step, "--anchor-every", "3")
        if step == 2:
            pull(t, "follower")
    value = pull(t, "late")
    assert [(row["from"], row["to"]) for row in value["plan"]] == [(0, 4), (4, 5), (5, 6)], value["plan"]
    expect_current(t, "late", "run/6")
    value = pull(t, "follower")
    assert all(row["from"] > 0 for row in value["plan"]) and value["previous"] == 2, value["plan"]
    expect_current(t, "follower", "run/6")


@test("thirty-four records are followed across the borders of what records repeat")
def thirty_four(t):
    checkpoints(t, *range(1, 35))
    for step in range(1, 35):
        t.good("push", "-q", "run/%d" % step, url(t), "--step", str(step))
        if step == 3:
            pull(t, "r")
    assert pull(t, "r")["previous"] == 3
    expect_current(t, "r", "run/34")
    pull(t, "late", revision=33)
    expect_current(t, "late", "run/33")
    assert len(t.json("log", url(t))["records"]) == 34


@test("there are never more than two copies, and a file that a server has mapped never changes")
def keep_two(t):
    checkpoints(t, 1, 2, 3, 4)
    served = []
    for step in (1, 2, 3, 4):
        push(t, "run/%d" % step)
        pull(t, "r")
        found = versions(t, "r")
        assert found == sorted(name_of(t, number) for number in (step - 1, step) if number), found
        for name in found:
            assert t.tree("r/versions/" + name) == t.tree("run/" + name.split("-")[0])
        with open(t.path("r/current/m-1.safetensors"), "rb") as file:
            served.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    for step, mapped in enumerate(served, 1):
        assert mapped[:] == read(t.path("run/%d/m-1.safetensors" % step)), step
        mapped.close()


@test("--keep 3 keeps three versions, --keep 1 one, and --keep 0 is a usage error")
def keep_others(t):
    checkpoints(t, *range(1, 7))
    for step in (1, 2, 3, 4):
        push(t, "run/%d" % step)
        pull(t, "r", "--keep", "3")
    assert versions(t, "r") == [name_of(t, number) for number in (2, 3, 4)]
    for name in versions(t, "r"):
        assert t.tree("r/versions/" + name) == t.tree("run/" + name.split("-")[0])
    push(t, "run/5")
    pull(t, "r", "--keep", "1")
    assert versions(t, "r") == [name_of(t, 5)]
    expect_current(t, "r", "run/5")
    push(t, "run/6")
    pull(t, "r", environment={"WDELTA_KEEP": "1"})
    assert versions(t, "r") == [name_of(t, 6)]
    t.fails(2, "pull", url(t), "r2", "--keep", "0", says="--keep")


@test("a version that is still there is switched to without fetching anything")
def switch_back(t):
    history(t, 1, 2)
    pull(t, "r", revision=1)
    pull(t, "r")
    value = pull(t, "r", revision=1)
    assert value["wire_bytes"] == 0 and value["number"] == 1 and value["previous"] == 2, value
    expect_current(t, "r", "run/1")
    assert len(versions(t, "r")) == 2
    assert pull(t, "r")["wire_bytes"] == 0
    expect_current(t, "r", "run/2")


@test("--in-place patches the current version and keeps no other")
def in_place(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2, 3):
        push(t, "run/%d" % step)
        inode = os.stat(t.path("r/current/m-1.safetensors")).st_ino if step > 1 else None
        pull(t, "r", "--in-place")
        assert versions(t, "r") == [name_of(t, step)]
        expect_current(t, "r", "run/%d" % step)
        assert step == 1 or os.stat(t.path("r/current/m-1.safetensors")).st_ino == inode


@test("--base stands in for the anchor, and is only read")
def base(t):
    history(t, 1, 2, 3)
    before = t.tree("run")
    value = pull(t, "r", "--base", "run/2")
    assert [(row["from"], row["to"]) for row in value["plan"]] == [(2, 3)], value["plan"]
    expect_current(t, "r", "run/3")
    checkpoint(t, "unrelated", 9)
    assert pull(t, "r2", "--base", "unrelated")["plan"][0]["from"] == 0
    expect_current(t, "r2", "run/3")
    assert t.tree("run") == before


@test("a copy that was changed is noticed, with a note, and the new one is built from something else")
def tampered(t):
    history(t, 1)
    pull(t, "r")
    flip(t.path("r/current/m-1.safetensors"))
    checkpoints(t, 2, 3, 4)
    push(t, "run/2")
    value = pull(t, "r")
    assert any("building from something else" in note for note in value["notes"]), value["notes"]
    expect_current(t, "r", "run/2")
    assert versions(t, "r") == [name_of(t, 2)]  # the other is worth nothing
    push(t, "run/3")
    pull(t, "r")
    expect_current(t, "r", "run/3")
    os.unlink(t.path("r/current/config.json"))
    push(t, "run/4")
    pull(t, "r")
    expect_current(t, "r", "run/4")


@test("a damaged object is exit 4, names itself, and nothing is switched; once it is repaired, the pull works")
def damaged_object(t):
    history(t, 1)
    pull(t, "r")
    checkpoints(t, 2)
    push(t, "run/2")
    whole = read(object_of(t, 2))
    flip(object_of(t, 2))
    error = pull(t, "r", code=4)["error"]
    assert os.path.basename(object_of(t, 2)) in error["message"] and error["expected"] != error["found"], error
    expect_current(t, "r", "run/1")
    assert versions(t, "r") == [name_of(t, 1)]
    tiny.write_file(object_of(t, 2), whole[:-3])
    pull(t, "r", code=4)
    tiny.write_file(object_of(t, 2), whole)
    pull(t, "r")
    expect_current(t, "r", "run/2")


@test("a damaged record is exit 4, and nothing is switched")
def damaged_record(t):
    history(t, 1)
    pull(t, "r")
    checkpoints(t, 2)
    push(t, "run/2")
    path = record_path(t, 2)
    whole = read(path)
    for content in (b"", b"{}", whole[:-10], whole.replace(b'"number":2', b'"number":3', 1),
                    whole.replace(b'"elements_total":3008', b'"elements_total":-1', 1)):
        tiny.write_file(path, content)
        assert pull(t, "r", code=4)["error"]["message"]
        expect_current(t, "r", "run/1")
    tiny.write_file(path, whole)
    pull(t, "r")
    expect_current(t, "r", "run/2")


@test("a missing object is exit 3 and is named, unless an anchor leads around it")
def missing_object(t):
    checkpoints(t, 1, 2, 3, 4)
    push(t, "run/1")
    pull(t, "r")
    for step in (2, 3, 4):
        push(t, "run/%d" % step)
    saved = read(object_of(t, 3))
    os.unlink(object_of(t, 3))
    value = pull(t, "r", code=3)
    assert "record 3" in value["error"]["message"] + " ".join(value["notes"]), (value["error"], value["notes"])
    expect_current(t, "r", "run/1")
    tiny.write_file(object_of(t, 3), saved)
    checkpoints(t, 5)
    push(t, "run/5", "--anchor-every", "2")
    os.unlink(object_of(t, 3))
    value = pull(t, "r")
    assert value["plan"][0]["from"] == 0 and value["number"] == 5, value["plan"]
    expect_current(t, "r", "run/5")


def go_back(t, number):
    """The store loses its newest records down to that number."""
    for gone in [n for n in numbers(t) if n > number]:
        os.unlink(record_path(t, gone))
    os.unlink(t.path("store/tip.json"))


@test("a history that went backwards is refused with 10; --allow-rollback follows it, and @REV is never refused")
def backwards(t):
    history(t, 1, 2, 3)
    pull(t, "r")
    pull(t, "r2")
    go_back(t, 2)
    error = pull(t, "r", code=10)["error"]
    assert "backwards" in error["message"] and "--allow-rollback" in error["hint"], error
    assert error["expected"] == "3" and error["found"] == "2"
    expect_current(t, "r", "run/3")
    pull(t, "r", revision="HEAD")
    expect_current(t, "r", "run/2")
    pull(t, "r", code=10)
    pull(t, "r", revision=1)
    expect_current(t, "r", "run/1")
    pull(t, "r2", "--allow-rollback")
    expect_current(t, "r2", "run/2")
    assert pull(t, "r2")["up_to_date"] is True  # it is the history now


@test("a history that was rewritten and has grown past its old end is refused with 10")
def rewritten(t):
    history(t, 1, 2)
    pull(t, "r")
    go_back(t, 1)
    checkpoint(t, "other/5", 5)
    checkpoint(t, "other/6", 6)
    push(t, "other/5", "--base", "run/1")
    push(t, "other/6", "--base", "other/5")
    error = pull(t, "r", code=10)["error"]
    assert "rewritten" in error["message"], error
    expect_current(t, "r", "run/2")
    pull(t, "r", "--allow-rollback")
    expect_current(t, "r", "other/6")


@test("another history in the same folder is refused with 10, and --allow-rollback follows it")
def other_history(t):
    history(t, 1, 2)
    pull(t, "r")
    checkpoint(t, "run/9", 9)
    for step in (1, 2, 9):
        push(t, "run/%d" % step, store="other")
    error = pull(t, "r", store="other", code=10)["error"]
    assert "another history" in error["message"] and "--allow-rollback" in error["hint"], error
    expect_current(t, "r", "run/2")
    pull(t, "r", "--allow-rollback", store="other")
    expect_current(t, "r", "run/9")


@test("after an interruption only what is missing is fetched")
def resume(t):
    checkpoints(t, 1, 2, 3, 4)
    push(t, "run/1")
    pull(t, "r")
    sizes = [push(t, "run/%d" % step)["delta_bytes"] for step in (2, 3, 4)]
    saved = read(object_of(t, 4))
    os.unlink(object_of(t, 4))
    pull(t, "r", code=3)  # 2 and 3 may have been fetched
    kept = sum(os.path.getsize(t.path("r/.wdelta/packs/" + name)) for name in os.listdir(t.path("r/.wdelta/packs"))
               if name.endswith(".wdp"))
    assert kept == sizes[0] + sizes[1], kept
    tiny.write_file(object_of(t, 4), saved)
    value = pull(t, "r", "--plan")
    assert [row["missing_bytes"] for row in value["plan"]] == [0, 0, sizes[2]], value["plan"]
    value = pull(t, "r")
    assert value["wire_bytes"] == sizes[2], (value["wire_bytes"], sizes)
    expect_current(t, "r", "run/4")


@test("of an object that was fetched in part only the missing pieces are fetched again")
def resume_in_part(t):
    piece, total = 8 << 20, 18 << 20
    tiny.write_safetensors(t.path("run/1.safetensors"), {"w": ("U8", [total], os.urandom(total))})
    size = push(t, "run/1.safetensors")["anchor_bytes"]
    assert size > 2 * piece
    with t.popen("pull", url(t), "r", "--bwlimit", "6M", "--jobs", "1") as process:  # a second for each piece
        while True:
            names = os.listdir(t.path("r/.wdelta/packs")) if os.path.isdir(t.path("r/.wdelta/packs")) else []
            maps = [read(t.path("r/.wdelta/packs/" + name)) for name in names if name.endswith(".map")]
            if maps and maps[0][:1] == b"\x01":
                break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.005)
        process.kill()
    value = pull(t, "r")
    assert value["wire_bytes"] in (size - piece, size - 2 * piece), value["wire_bytes"]
    assert read(t.path("r/current/model.safetensors")) == read(t.path("run/1.safetensors"))


def check_kills(t, words, most, may_be_half=False):
    """Killed anywhere, the folder is at the old or the new record, `current` leads to a folder, and the next pull
    finishes."""
    for where in training.Kills(t, words).each(most):
        try:
            assert os.path.isdir(t.path("r/current")), where
            assert t.tree("r/current/.") in (t.tree("run/2"), t.tree("run/3")) or may_be_half, where
            t.good(*words)
            expect_current(t, "r", "run/3")
            assert len(versions(t, "r")) <= 2
            assert not {"building", "new", "current"} & set(os.listdir(t.path("r/.wdelta")))
            checkpoints(t, 4)
            push(t, "run/4")
            pull(t, "r")
            expect_current(t, "r", "run/4")
            t.good("verify", "r")
        except AssertionError as problem:
            raise AssertionError("after %s: %s" % (where, problem)) from problem


@test("a pull that is killed at any point leaves the old or the new version, and the next one finishes")
def killed(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2):
        push(t, "run/%d" % step)
        pull(t, "r")
    push(t, "run/3")
    check_kills(t, ["pull", url(t), "r"], 10)


@test("a first pull that is killed at any point leaves nothing or the new version, and the next one finishes")
def killed_first(t):
    checkpoints(t, 3)
    push(t, "run/3")
    words = ["pull", url(t), "r"]
    for where in training.Kills(t, words).each(10):
        if os.path.lexists(t.path("r/current")):
            expect_current(t, "r", "run/3")
        t.good(*words)
        expect_current(t, "r", "run/3")
        assert len(versions(t, "r")) == 1, where


@test("a pull in place that is killed at any point is finished by the next one")
def killed_in_place(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2):
        push(t, "run/%d" % step)
        pull(t, "r", "--in-place")
    push(t, "run/3")
    check_kills(t, ["pull", url(t), "r", "--in-place"], 10, may_be_half=True)


@test("after a pull that was killed at any point, a pull of another record gives that record, in place or not")
def killed_then_another(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2, 3):
        push(t, "run/%d" % step)
    for options in ([], ["--in-place"], ["--keep", "1"]):
        for revision in (1, 2):
            pull(t, "r", *options, revision=revision)
        for where in training.Kills(t, ["pull", url(t), "r", *options]).each(14):
            try:
                for revision, mode in ((1, options), (2, options), (2, []), (1, ["--in-place"])):
                    shutil.rmtree(t.path("again"), ignore_errors=True)
                    shutil.copytree(t.path("r"), t.path("again"), symlinks=True)
                    pull(t, "again", *mode, revision=revision)
                    expect_current(t, "again", "run/%d" % revision)
                    t.good("verify", "again")
                t.good("revert", url(t), "--to", "2")  # record 4 has the state of record 2
                assert pull(t, "r", *options)["number"] == 4
                expect_current(t, "r", "run/2")
            except AssertionError as problem:
                raise AssertionError("%s, after %s: %s" % (options, where, problem)) from problem
        shutil.rmtree(t.path("r"))


@test("a kept copy is read before it becomes current: one that was truncated or changed is built from something else")
def spoilt_copy(t):
    history(t, 1, 2)
    for folder, options in (("r", []), ("place", ["--in-place"]), ("one", ["--keep", "1"])):
        for spoil in (lambda path: os.truncate(path, 300), flip, os.unlink):
            shutil.rmtree(t.path(folder), ignore_errors=True)
            pull(t, folder, revision=1)
            pull(t, folder)
            spoil(t.path("%s/versions/%s/m-1.safetensors" % (folder, name_of(t, 1))))
            value = pull(t, folder, *options, revision=1)
            assert any("building from something else" in note for note in value["notes"]), value["notes"]
            expect_current(t, folder, "run/1")
            t.good("verify", folder)
            pull(t, folder, *options)
            expect_current(t, folder, "run/2")


@test("a folder of somebody else beside the copies stays, whatever its name is")
def not_ours(t):
    history(t, 1, 2, 3)
    tiny.write_file(t.path("r/versions/2024-backup/model.safetensors"), "mine")
    for revision in (1, 2, 3):
        pull(t, "r", "--keep", "1", revision=revision)
    assert read(t.path("r/versions/2024-backup/model.safetensors")) == b"mine"
    assert versions(t, "r") == ["2024-backup", name_of(t, 3)] or versions(t, "r") == [name_of(t, 3), "2024-backup"]


@test("a lock that is held is exit 6 and names its holder, and --lock-wait waits for it")
def lock(t):
    history(t, 1, 2)
    pull(t, "r", revision=1)
    tiny.write_file(t.path("r/.wdelta/lock"), "process 12345 on somewhere")
    with open(t.path("r/.wdelta/lock"), "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        error = pull(t, "r", code=6)["error"]
        assert "process 12345 on somewhere" in error["message"] and "--lock-wait" in error["hint"], error
        assert error["retryable"] is True
        pull(t, "r", "--lock-wait", "0.2s", code=6)
        expect_current(t, "r", "run/1")
        with t.popen("pull", "-q", url(t), "r", "--lock-wait", "inf") as process:
            time.sleep(0.3)
            assert process.poll() is None
            fcntl.flock(held, fcntl.LOCK_UN)
            out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out.decode().strip() == "r/versions/" + name_of(t, 2), err
    expect_current(t, "r", "run/2")


@test("two pulls into one folder at the same time both succeed when they wait for each other")
def together(t):
    history(t, 1, 2, 3)
    processes = [t.popen("pull", "--json", url(t), "r", "--lock-wait", "60s", "--threads", "1") for _ in range(3)]
    for process in processes:
        with process:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
            assert parse_object(out.decode(), 0)["number"] == 3
    expect_current(t, "r", "run/3")
    assert versions(t, "r") == [name_of(t, 3)]


@test("--check is 1 if an update exists and 0 if not, and changes nothing")
def check(t):
    history(t, 1)
    before = t.tree()
    value = pull(t, "r", "--check", code=1)
    assert value["update_exists"] is True and value["number"] == 1 and t.tree() == before
    pull(t, "r")
    assert pull(t, "r", "--check")["update_exists"] is False
    checkpoints(t, 2)
    push(t, "run/2")
    before = t.tree()
    outcome = t.good("pull", "--check", url(t), "r", code=1)
    assert "an update exists" in outcome.text()
    after = t.tree()
    before.pop("r/.wdelta/lock"), after.pop("r/.wdelta/lock")
    assert after == before
    assert pull(t, "r", "--check", revision=1)["up_to_date"] is True


@test("--plan and -n say what would be fetched, change nothing, and do not make the folder")
def plan(t):
    history(t, 1, 2)
    before = t.tree()
    for option in ("--plan", "-n", "--dry-run"):
        value = pull(t, "r", option)
        assert [(row["from"], row["to"]) for row in value["plan"]] == [(0, 1), (1, 2)], value
        assert value["wire_bytes"] == 0 and all(row["bytes"] == row["missing_bytes"] > 0 for row in value["plan"])
        assert t.tree() == before
    text = t.good("pull", "--plan", url(t), "r").text()
    assert "anchor to 1: " in text and "from 1 to 2: " in text, text
    pull(t, "r", revision=1)
    assert [(row["from"], row["to"]) for row in pull(t, "r", "--plan")["plan"]] == [(1, 2)]
    expect_current(t, "r", "run/1")


HOOK = """env > hook.env; cat > hook.json; echo "$WDELTA_NUMBER" >> hook.runs; echo to the log; test ! -e fail"""


@test("--exec runs after the switch, with WDELTA_ variables and the result on standard input, and without credentials")
def hook(t):
    history(t, 1, 2)
    pull(t, "r", revision=1)
    secrets = {"AWS_ACCESS_KEY_ID": "open", "AWS_SECRET_ACCESS_KEY": "sesame", "HF_TOKEN": "sesame",
               "HUGGING_FACE_HUB_TOKEN": "sesame", "OTHER": "stays", "WDELTA_STEP": "999"}
    outcome = t.run("pull", "--json", url(t), "r", "--exec", HOOK, environment=secrets)
    value = parse_object(outcome.text(), 0)
    assert "to the log" in outcome.talk() and value["number"] == 2
    lines = dict(line.split("=", 1) for line in read(t.path("hook.env")).decode().splitlines() if "=" in line)
    assert not [name for name in lines if name.startswith(("AWS_", "HF_", "HUGGING_FACE_"))], lines
    assert lines["OTHER"] == "stays" and lines["WDELTA_DIR"] == "r" and lines["WDELTA_NUMBER"] == "2"
    assert lines["WDELTA_PATH"] == "r/versions/" + name_of(t, 2) and lines["WDELTA_PREVIOUS"] == "1"
    assert lines["WDELTA_STATE"] == record(t, 2)["state"] and lines["WDELTA_STEP"] == "2"
    told = json.loads(read(t.path("hook.json")))
    assert told["number"] == 2 and told["state"] == value["state"] and told["path"] == value["path"]
    assert set(told) <= set(value), set(told) - set(value)
    pull(t, "r", "--exec", HOOK)
    assert read(t.path("hook.runs")) == b"2\n"  # nothing came, so that it did not run


@test("a hook that fails is exit 11 with the data in place, and it is run again by the next pull")
def hook_fails(t):
    history(t, 1)
    tiny.write_file(t.path("fail"), "")
    error = pull(t, "r", "--exec", HOOK, code=11)["error"]
    assert "in place" in error["hint"], error
    expect_current(t, "r", "run/1")
    pull(t, "r", "--exec", HOOK, code=11)
    os.unlink(t.path("fail"))
    pull(t, "r", "--exec", HOOK)
    pull(t, "r", "--exec", HOOK)
    assert read(t.path("hook.runs")) == b"1\n1\n1\n"
    assert "signal 9" in pull(t, "r2", "--exec", "kill -9 $$", code=11)["error"]["message"]
    pull(t, "r3")  # without a hook
    os.unlink(t.path("hook.runs"))
    pull(t, "r3", "--exec", HOOK)
    assert read(t.path("hook.runs")) == b"1\n"


@test("a newest record that is older than --max-age is refused with 10, but not one that is named")
def max_age(t):
    history(t, 1)
    content = record(t, 1)
    content["created"] -= 10000
    write_record(t, 1, content)
    error = pull(t, "r", "--max-age", "2h", code=10)["error"]
    assert "old" in error["message"] and error["hint"], error
    pull(t, "r", "--max-age", "2h", revision="HEAD")
    pull(t, "r", "--max-age", "2h", code=10)  # also if there is nothing new
    pull(t, "r", "--max-age", "3h")
    content["created"] += 20000  # a clock that is hours ahead
    write_record(t, 1, content)
    pull(t, "r2", "--max-age", "3h", code=10)


@test("what does not fit is exit 9 before anything is fetched")
def no_room(t):
    if os.geteuid() == 0:
        os.mkdir(t.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", t.path("small")],
                          stderr=subprocess.DEVNULL).returncode == 0:
            try:
                checkpoint_larger_than_the_mount(t)
            finally:
                subprocess.run(["umount", t.path("small")], check=True)
            return
    # Without a mount: a record that says of itself that it is larger than any disk.
    history(t, 1)
    content = record(t, 1)
    content["bytes_total"] = 1 << 60
    write_record(t, 1, content)
    expect_no_room(t, "r")


def checkpoint_larger_than_the_mount(t):
    tiny.write_safetensors(t.path("run/1.safetensors"), {"w": ("U8", [1 << 20], os.urandom(1 << 20))})
    push(t, "run/1.safetensors")
    expect_no_room(t, "small/r")


def expect_no_room(t, folder):
    value = pull(t, folder, code=9)
    assert "not enough room" in value["error"]["message"] and "--in-place" in value["error"]["hint"], value["error"]
    assert int(value["error"]["expected"]) > int(value["error"]["found"])
    assert os.listdir(t.path(folder + "/.wdelta/packs")) == [] and not os.path.lexists(t.path(folder + "/current"))


@test("a folder in memory is pulled into, and patched there")
def in_memory(t):
    checkpoints(t, 1, 2, 3)
    folder = "/dev/shm/wdelta-test-%d" % os.getpid()
    try:
        for step in (1, 2, 3):
            push(t, "run/%d" % step)
            pull(t, folder)
            expect_current(t, folder, "run/%d" % step)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@test("a pull from nothing, from an empty folder or into something else fails with 2, 3 and 10")
def failures(t):
    history(t, 1)
    t.fails(2, "pull", "store", "r", says="not a remote")
    t.fails(2, "pull", url(t), "r", "--max-age", "old")
    t.fails(2, "pull", url(t), "r", "--bwlimit", "fast")
    t.fails(2, "pull", url(t), "-", says="")
    os.mkdir(t.path("empty"))
    for store in ("missing", "empty"):
        assert pull(t, "r", store=store, code=3)["error"]["message"]
    os.mkdir(t.path("mine")), os.mkdir(t.path("mine/current"))
    assert "current" in pull(t, "mine", code=10)["error"]["message"]
    tiny.write_file(t.path("file"), "x")
    assert t.run("pull", url(t), "file").code in (3, 9)


@test("another history is refused with 10 also if it has as many records")
def other_history_as_long(t):
    history(t, 1, 2)
    pull(t, "r")
    checkpoints(t, 9)
    push(t, "run/1", store="other")
    push(t, "run/9", store="other")
    pull(t, "r", store="other", code=10)


@test("a version that lost a file is built around, as one that was changed is")
def lost_file(t):
    history(t, 1, 2, 3)
    pull(t, "r", revision=1)
    pull(t, "r", revision=2)
    os.unlink(t.path("r/versions/1-%s/m-1.safetensors" % record(t, 1)["state"][:12]))
    pull(t, "r")
    expect_current(t, "r", "run/3")


@test("a pull with --keep 1 that is killed at any point is finished by the next one")
def killed_keep_one(t):
    history(t, 1)
    pull(t, "r", "--keep", "1")
    checkpoints(t, 2, 3)
    push(t, "run/2")
    for where in training.Kills(t, ["pull", url(t), "r", "--keep", "1"]).each(200):
        push(t, "run/3")
        pull(t, "r", "--keep", "1")
        expect_current(t, "r", "run/3")
        assert len(versions(t, "r")) == 1, where


@test("the hook runs for a version also if the pull that switched to it was killed")
def killed_before_hook(t):
    history(t, 1)
    pull(t, "r", "--exec", "true")
    checkpoints(t, 2)
    push(t, "run/2")
    words = ["pull", url(t), "r", "--exec", "echo $WDELTA_NUMBER >> hooks"]
    for where in training.Kills(t, words).each(200):
        t.good(*words)
        assert os.path.exists(t.path("hooks")) and read(t.path("hooks")).split()[-1] == b"2", where


@test("--check and --plan leave an empty folder empty")
def plan_in_empty(t):
    history(t, 1)
    os.mkdir(t.path("r"))
    pull(t, "r", "--plan")
    assert os.listdir(t.path("r")) == []


@test("a pull with a base that is the record already fetches nothing, and copies it")
def base_is_target(t):
    history(t, 1, 2)
    value = pull(t, "r", "--base", "run/2")
    assert value["number"] == 2 and value["wire_bytes"] == 0 and value["plan"] == [], value
    expect_current(t, "r", "run/2")
    assert os.listdir(t.path("r/.wdelta/packs")) == []
