"""What looks at a history and looks after it: log, tag, revert, gc, id, diff, verify and doctor on folders."""

import json
import os
import re
import time

import tiny
from harness import read, test
from training import (checkpoint, checkpoints, expect_current, expect_record, flip, history, numbers, object_of,
                      objects, pull, push, record, record_path, url)

RECORD_FIELDS = {"number", "step", "created", "state", "fingerprint", "elements_total", "elements_changed", "sparsity",
                 "bytes_total", "delta_bytes", "ratio", "anchor_bytes", "tags"}


@test("log lists the records, the newest first, with step, bytes, share, packs, state and tags")
def log_table(t):
    history(t, 1, 2)
    checkpoints(t, 3)
    push(t, "run/3")
    t.good("tag", url(t, revision=2), "best")
    lines = t.good("log", url(t)).text().splitlines()
    assert lines[0].split()[:2] == ["number", "step"] and len(lines) == 4, lines
    assert [line.split()[0] for line in lines[1:]] == ["3", "2", "1"]
    assert [line.split()[1] for line in lines[1:]] == ["-", "2", "1"]
    assert "delta" in lines[1] and "anchor" in lines[3] and "all" in lines[3]
    assert record(t, 2)["state"][:12] in lines[2] and lines[2].endswith("best") and "%" in lines[2]
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", lines[1])


@test("log --oneline, -n, -q, a revision and a range choose what is listed and how")
def log_choices(t):
    history(t, 1, 2, 3, 4, 5)
    t.good("tag", url(t, revision=4), "best")

    def listed(*words, revision=""):
        return t.good("log", "-q", *words, url(t, revision=revision)).text().split()

    assert listed() == ["5", "4", "3", "2", "1"]
    assert listed("-n", "2") == ["5", "4"] and listed("-n", "0") == listed("-n", "99") == listed()
    assert listed(revision="2..4") == ["4", "3", "2"] and listed(revision="step:4..") == ["5", "4"]
    assert listed(revision="..HEAD~3") == ["2", "1"] and listed(revision="best") == ["4"]
    assert listed("-n", "1", revision="2..4") == ["4"]
    lines = t.good("log", "--oneline", url(t)).text().splitlines()
    assert lines[1] == "4 %s step 4 (best)" % record(t, 4)["state"][:12] and len(lines) == 5, lines
    t.fails(2, "log", url(t, revision="4..2"))
    t.fails(3, "log", url(t, revision="2..9"))
    t.fails(2, "log", "-n", "few", url(t))
    t.fails(3, "log", url(t, "nowhere"))


@test("log --json has an object for each record with the fields of the vocabulary")
def log_json(t):
    history(t, 1, 2)
    value = t.json("log", url(t))
    assert [row["number"] for row in value["records"]] == [2, 1]
    for row in value["records"]:
        assert RECORD_FIELDS <= set(row), RECORD_FIELDS - set(row)
        assert row["state"] == record(t, row["number"])["state"] and row["elements_total"] == 3008
    assert value["records"][0]["delta_bytes"] == os.path.getsize(object_of(t, 2))
    assert value["records"][1]["anchor_bytes"] == os.path.getsize(object_of(t, 1, "anchor"))
    assert t.json("log", "--no-such-thing", code=2)["records"] is None


@test("a tag is made, repeated, moved only with --force, and removed with --delete")
def tags(t):
    history(t, 1, 2, 3)
    value = t.json("tag", url(t, revision=2), "best")
    assert value["number"] == 2 and value["state"] == record(t, 2)["state"]
    assert json.loads(read(t.path("store/tags/best.json")))["number"] == 2
    t.good("tag", url(t, revision="step:2"), "best")
    error = t.json("tag", url(t), "best", code=5)["error"]
    assert "best" in error["message"] and "--force" in error["hint"], error
    assert t.good("tag", "-q", "--force", url(t), "best").text() == "3\n"
    expect_record(t, "best", "run/3")
    t.good("tag", url(t, revision="best"), "second-name")
    assert sorted(t.json("log", url(t, revision=3))["records"][0]["tags"]) == ["best", "second-name"]
    t.good("tag", "--delete", url(t), "best")
    assert t.json("log", url(t))["records"][0]["tags"] == ["second-name"]
    t.fails(3, "tag", "--delete", url(t), "best", says="best")
    t.fails(3, "tag", url(t, revision=9), "x")
    for name in ("17", "deadbeef", "-x", ".x", "a..b", "a/b", "", "x" * 101, "step:1"):
        assert t.run("tag", url(t), "--", name).code == 2, name


@test("revert appends a record with the old state, and whoever pulls gets the old bytes")
def revert(t):
    history(t, 1, 2, 3)
    pull(t, "r")
    before = set(os.listdir(t.folder))
    value = t.json("revert", url(t), "--to", "step:1")
    assert value["number"] == 4 and value["step"] == 1 and value["state"] == record(t, 1)["state"]
    assert record(t, 4)["delta"] and value["wire_bytes"] < 3000 and numbers(t) == [1, 2, 3, 4]
    assert set(os.listdir(t.folder)) == before
    pull(t, "r")
    expect_current(t, "r", "run/1")
    assert t.good("revert", "-q", url(t), "--to", "1").text() == "4\n" and numbers(t) == [1, 2, 3, 4]
    assert t.json("revert", url(t), "--to", "3", "--step", "77")["step"] == 77
    expect_record(t, "HEAD", "run/3")
    checkpoints(t, 5)
    push(t, "run/5", "--rebase")
    expect_record(t, "HEAD", "run/5")
    t.fails(3, "revert", url(t), "--to", "99")
    t.fails(2, "revert", url(t), says="--to")
    t.fails(2, "revert", url(t), "--to", "step:")


def long_history(t):
    checkpoints(t, *range(1, 10))
    for step in range(1, 10):
        push(t, "run/%d" % step, "--step", str(step), "--anchor-every", "3")
    ways = sorted(int(name) for name in os.listdir(t.path("store/ways")))
    assert ways == [4, 7], ways


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


@test("diff names the tensors of a checkpoint that are not those of a record")
def diff_record(t):
    history(t, 1, 2)
    same = t.json("diff", "--exit-code", "run/2", url(t, revision="step:2"))
    assert same["tensors_changed"] == 0 and same["tensors_total"] == 3 and same["number"] == 2, same
    value = t.json("diff", "--exit-code", "run/1", url(t, revision=2), code=1)
    assert value["tensors_changed"] == 2, value
    names = [tensor if isinstance(tensor, str) else tensor["name"] for tensor in value["tensors"]]
    assert sorted(names) == ["embed", "layers.0"], names
    text = t.good("diff", "run/1", url(t)).text()
    assert "embed" in text and "layers.0" in text and "norm" not in text, text
    assert t.good("diff", "-q", "run/1", url(t), code=1).out == b""
    t.fails(3, "diff", "run/1", url(t, revision=7))


@test("verify proves a history by rebuilding its head or a record, and a checkpoint against a record")
def verify_history(t):
    long_history(t)
    row = t.json("verify", url(t))["targets"][0]
    assert row["kind"] == "history" and row["ok"] is True and row["state"] == record(t, 9)["state"]
    assert t.json("verify", url(t, revision=4))["targets"][0]["state"] == record(t, 4)["state"]
    assert "9 records" in t.good("verify", url(t)).text() + t.good("verify", url(t)).talk()
    t.good("verify", "--quick", url(t))
    t.good("verify", "run/1", url(t))  # beside another target
    t.fails(3, "verify", url(t, "nowhere"))
    t.good("verify", "run/9", "--against", url(t))
    t.good("verify", "run/2", "--against", url(t, revision="step:2"))
    t.fails(4, "verify", "run/1", "--against", url(t), says="embed")


@test("verify of a history finds a damaged object, which --quick does not, and a cut one, which it does")
def verify_objects(t):
    history(t, 1, 2, 3)
    whole = read(object_of(t, 2))
    flip(object_of(t, 2))
    outcome, value = t.fails(4, "verify", url(t), says=os.path.basename(object_of(t, 2)))
    assert value["targets"][0]["ok"] is False
    t.good("verify", "--quick", url(t))
    tiny.write_file(object_of(t, 2), whole[:-1])
    t.fails(4, "verify", "--quick", url(t))
    t.fails(4, "verify", url(t))
    os.unlink(object_of(t, 2))
    t.fails(3, "verify", url(t), says="record 3")
    t.fails(3, "verify", "--quick", url(t), says="record 3")
    t.good("verify", url(t, revision=1))


@test("verify of a history finds every record that is damaged, missing or says something else than the others")
def verify_records(t):
    history(t, 1, 2, 3)
    for number in (1, 2, 3):
        whole = read(record_path(t, number))
        other = whole.replace(b'"step":%d' % number, b'"step":8', 1)  # nobody can tell that of the newest
        for content in (whole[:-5], b"[]", other if number < 3 else b"{}"):
            tiny.write_file(record_path(t, number), content)
            t.fails(4, "verify", url(t))
        tiny.write_file(record_path(t, number), whole)
    t.good("verify", url(t))
    os.unlink(record_path(t, 2))
    assert t.run("verify", url(t)).code in (3, 4)


@test("verify of a pulled folder proves its current version")
def verify_folder(t):
    history(t, 1, 2)
    pull(t, "r")
    row = t.json("verify", "r")["targets"][0]
    assert row["kind"] == "pulled folder" and row["state"] == record(t, 2)["state"]
    t.good("verify", "--quick", "r")
    flip(t.path("r/current/m-1.safetensors"))
    t.fails(4, "verify", "r", says="r")
    flip(t.path("r/current/m-1.safetensors"))
    t.good("verify", "r")
    tiny.write_file(t.path("r/current/config.json"), "{}")
    t.fails(4, "verify", "r")


@test("doctor finds a good store and a good folder good, in any order, and leaves nothing behind")
def doctor(t):
    history(t, 1)
    pull(t, "r")

    def kept():
        return {name: content for name, content in t.tree().items() if not name.endswith("/lock")}

    before = kept()
    for words in ([url(t), "r"], ["r", url(t)], [url(t)], ["r"]):
        value = t.json("doctor", *words)
        assert not [row for row in value["findings"] if row["problem"]], value["findings"]
        names = {row["name"] for row in value["findings"]}
        assert len(words) == 1 or {"history", "create-if-absent", "ranges", "clock", "free space", "lock"} <= names
        assert kept() == before, set(kept()) ^ set(before)
    assert t.good("doctor", url(t), "r").text().count("  ok  ") >= 10


@test("doctor exits with 1 for a folder that is not there and for a history that is damaged, and marks it")
def doctor_problem(t):
    history(t, 1)
    outcome = t.good("doctor", url(t), "missing", code=1)
    assert re.search(r"^ +! +folder +.*missing", outcome.text(), re.MULTILINE), outcome.text()
    tiny.write_file(record_path(t, 1), "rubbish")
    value = t.json("doctor", url(t), code=1)
    assert [row["name"] for row in value["findings"] if row["problem"]] == ["history"], value["findings"]
    t.fails(2, "doctor")
    t.fails(2, "doctor", "one", "two")


@test("what is no remote, no revision, no size and no time is a usage error in every command")
def usage(t):
    history(t, 1)
    uses = {"push": ["run/1", "R"], "pull": ["R", "r"], "log": ["R"], "tag": ["R", "x"], "revert": ["R", "--to", "1"],
            "gc": ["R"], "doctor": ["R"], "verify": ["R"], "id": ["run/1", "--in", "R"]}
    for command, words in uses.items():
        good = [url(t) if word == "R" else word for word in words]
        if command not in ("doctor", "verify"):  # which take a folder, too
            t.fails(2, command, *["somewhere" if word == "R" else word for word in words], says="not a remote")
        for option, value in (("--bwlimit", "50X"), ("--bwlimit", "-1"), ("--timeout", "soon"), ("--retries", "x"),
                              ("--idle-timeout", "1 s"), ("--connect-timeout", ""), ("--jobs", "many")):
            t.fails(2, command, *good, option, value)
        t.fails(2, command, *["file://relative" if word == "R" else word for word in words])
    for command in ("pull", "log", "tag", "verify"):
        words = [url(t, revision="HEAD~~") if word == "R" else word for word in uses[command]]
        t.fails(2, command, *words, says="HEAD~~")
    t.fails(2, "log", url(t), environment={"WDELTA_BWLIMIT": "50X"})


@test("diff with a record says in JSON whether they differ")
def diff_says(t):
    history(t, 1, 2)
    assert t.json("diff", "run/2", url(t))["different"] is False
    assert t.json("diff", "run/1", url(t))["different"] is True
