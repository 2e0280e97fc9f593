"""wdelta pull from stores of versions: those of push --format canonical, and those that other systems write."""

import json
import os
import shutil

import tiny
import training
from harness import read, test
from training import checkpoint, checkpoints, expect_current, flip, pull, url, versions
from canonical_store import INDEX, folder_of, index_of, publish, refused_pull, run_of, run_of_deltas, steps_of


@test("a pull of each version has exactly the files of the checkpoint, companions included, and verifies")
def follow(t):
    checkpoints(t, 1, 2, 3, 4)
    for step in (1, 2, 3, 4):
        delta_bytes = publish(t, "run/%d" % step)["delta_bytes"]
        value = pull(t, "r")
        expect_current(t, "r", "run/%d" % step)
        assert value["number"] == step and value["previous"] == (step - 1 or None) and value["lag_records"] == 0
        assert value["state"] == t.good("id", "-q", "run/%d" % step).text().strip()
        assert step == 1 or delta_bytes <= value["wire_bytes"] < delta_bytes + 10, value
        assert value["notes"] == [], value["notes"]
        t.good("verify", "r")
    assert len(versions(t, "r")) == 2
    for folder in ("late", "late-in-place"):
        value = pull(t, folder, *(["--in-place"] if "place" in folder else []))
        assert steps_of(value) == [(0, 1), (1, 2), (2, 3), (3, 4)], value["plan"]
        expect_current(t, folder, "run/4")


@test("an index without metadata and one with odd white space come back as they were, byte for byte")
def index_bytes(t):
    checkpoints(t, 1)
    weight_map = json.loads(read(t.path("run/1/" + INDEX)))["weight_map"]
    for number, text in enumerate(('{"weight_map": %s}', '{\n  "weight_map" : %s\n}\n',
                                   '{"metadata": {}, "weight_map": %s}', '{"weight_map":%s,\n"metadata" : { \t}\n} ',
                                   '{\n  "metadata": {\n    "total_size": 6\n  },\n  "weight_map": %s\n}')):
        tiny.write_file(t.path("run/1/" + INDEX), text % json.dumps(weight_map))
        store, folder = "s%d" % number, "r%d" % number
        publish(t, "run/1", store=store)
        assert index_of(t, 1, store)["metadata"]["version"] == "000001"
        assert pull(t, folder, store=store)["state"] == t.good("id", "-q", "run/1").text().strip(), text
        expect_current(t, folder, "run/1")


@test("a pull that finds no new version says so, fetches nothing and changes nothing")
def up_to_date(t):
    run_of(t, 1, 2)
    pull(t, "r")
    before = t.tree("r")
    value = pull(t, "r")
    assert value["up_to_date"] is True and value["wire_bytes"] == 0 and value["plan"] == [] and value["number"] == 2
    after = t.tree("r")
    before.pop(".wdelta/lock"), after.pop(".wdelta/lock")
    assert after == before


@test("versions that begin with a delta need --base, and without it a pull is exit 3 and says so")
def needs_base(t):
    run_of_deltas(t, 1, 2)
    error = pull(t, "r", code=3)["error"]
    assert "version 0" in error["message"] and "--base" in error["hint"], error
    assert not os.path.lexists(t.path("r/current"))
    before = t.tree("run/0")
    value = pull(t, "r", "--base", "run/0")
    assert steps_of(value) == [(0, 1), (1, 2)], value["plan"]
    expect_current(t, "r", "run/2")
    assert t.tree("run/0") == before
    checkpoint(t, "run/3", 3)
    publish(t, "run/3", "--base", "run/2")
    assert steps_of(pull(t, "r")) == [(2, 3)]  # and only the first time
    expect_current(t, "r", "run/3")
    checkpoint(t, "wrong/9", 9)
    pull(t, "other", "--base", "wrong/9", code=5)
    assert not os.path.lexists(t.path("other/current"))


@test("--check is 1 if there is a new version and 0 if not, --plan says what would be fetched, and both change nothing")
def questions(t):
    run_of(t, 1, 2)
    assert pull(t, "r", "--check", code=1)["update_exists"] is True
    assert steps_of(pull(t, "r", "--plan")) == [(0, 1), (1, 2)]
    assert not os.path.exists(t.path("r"))
    pull(t, "r")
    assert pull(t, "r", "--check", code=0)["update_exists"] is False
    checkpoint(t, "run/3", 3)
    delta_bytes = publish(t, "run/3")["delta_bytes"]
    before = t.tree("r")
    value = pull(t, "r", "--check", code=1)
    assert value["number"] == 3 and value["lag_records"] == 1 and value["path"] is None, value
    value = pull(t, "r", "--plan")
    assert steps_of(value) == [(2, 3)] and value["plan"][0]["bytes"] == delta_bytes and value["wire_bytes"] == 0, value
    after = t.tree("r")
    before.pop(".wdelta/lock"), after.pop(".wdelta/lock")
    assert after == before


@test("a version is named by its number or from the end, and any other name is exit 3")
def revisions(t):
    run_of(t, 1, 2, 3)
    for revision, step in ((2, 2), ("HEAD~1", 2), ("HEAD", 3), (1, 1), ("HEAD~2", 1), (3, 3)):
        value = pull(t, "r", revision=revision)
        assert value["number"] == step and value["lag_records"] == 3 - step, (revision, value)
        expect_current(t, "r", "run/%d" % step)
    for revision in (0, 4, "HEAD~3", "step:1", "best", "f" * 12):
        assert refused_pull(t, "r", "run/3", revision=revision, code=3)["hint"], revision


@test("a version that is still there is switched to without fetching anything, however many are kept")
def still_there(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2, 3):
        publish(t, "run/%d" % step)
        pull(t, "r", "--keep", "5")
    for step in (2, 1, 3):
        value = pull(t, "r", "--keep", "5", revision=step)
        assert value["number"] == step and value["wire_bytes"] == 0, value
        expect_current(t, "r", "run/%d" % step)
    assert [name.split("-")[0] for name in versions(t, "r")] == ["1", "2", "3"]


@test("twenty deltas are caught up with, in place and not, and from a version in between")
def catch_up(t):
    run_of(t, 1, 2)
    for folder in ("two", "place"):
        pull(t, folder, revision=1 if folder == "place" else 2, *(["--in-place"] if folder == "place" else []))
    run = range(3, 23)
    for step in run:
        checkpoint(t, "run/%d" % step, step)
        t.good("push", "-q", "run/%d" % step, url(t), "--format", "canonical")
    for folder, options, first in (("two", [], 2), ("place", ["--in-place"], 1), ("new", [], 0)):
        value = pull(t, folder, *options)
        assert steps_of(value)[0][0] == first and len(value["plan"]) == 22 - first, value["plan"]
        expect_current(t, folder, "run/22")
        t.good("verify", folder)
    assert len(versions(t, "place")) == 1


@test("a whole version in between begins anew: who is behind it takes it and what follows, not the deltas before")
def whole_in_between(t):
    run_of(t, 1)
    for folder in ("r", "place"):
        pull(t, folder)
    checkpoints(t, 2, 3, 4)
    publish(t, "run/2")
    checkpoint(t, "elsewhere/3", 3, config='{"kind": "new"}')
    publish(t, "elsewhere/3", "--anchor")
    checkpoint(t, "elsewhere/4", 4, config='{"kind": "new"}')
    publish(t, "elsewhere/4")
    for folder, options in (("r", []), ("place", ["--in-place"]), ("late", [])):
        assert steps_of(pull(t, folder, *options)) == [(0, 3), (3, 4)]
        expect_current(t, folder, "elsewhere/4")
    pull(t, "r", revision=2)
    expect_current(t, "r", "run/2")


@test("a folder of slime without a pointer is pulled, with its versions at the root or under updates/")
def slime_folder(t):
    run_of_deltas(t, 1, 2, 3)
    for store, under in (("root", ""), ("nested", "/updates")):
        for version in (1, 2, 3):
            shutil.copytree(t.path(folder_of(version)), t.path("%s%s/weight_v%06d" % (store, under, version)))
            os.unlink(t.path("%s%s/weight_v%06d/SHA256SUMS" % (store, under, version)))
        last = t.path("%s%s/weight_v000003/" % (store, under))
        os.rename(last + INDEX, last + "aside")  # its writer is not done
        assert pull(t, store + "-r", "--base", "run/0", store=store)["number"] == 2
        expect_current(t, store + "-r", "run/2")
        os.rename(last + "aside", last + INDEX)
        assert steps_of(pull(t, store + "-r", store=store)) == [(2, 3)]
        expect_current(t, store + "-r", "run/3")
        assert pull(t, store + "-r", store=store)["up_to_date"] is True
        pull(t, store + "-r3", code=3, store=store)


@test("a whole version without SHA256SUMS is taken with a note, and files that are no part of it are left out")
def unproved(t):
    run_of(t, 1)
    os.unlink(t.path(folder_of(1) + "/SHA256SUMS"))
    value = pull(t, "r")
    assert any("was not verified" in note for note in value["notes"]), value["notes"]
    expect_current(t, "r", "run/1")


@test("--exec runs once for each new version")
def hook(t):
    run_of(t, 1)
    for step in (1, 1, 2, 2):
        if step == 2:
            checkpoint(t, "run/2", 2)
            publish(t, "run/2")
        t.good("pull", url(t), "r", "--exec", 'echo "$WDELTA_NUMBER" >> seen')
    assert read(t.path("seen")) == b"1\n2\n"


@test("a copy that was changed is noticed, and the new one is built from the other that is here")
def changed_copy(t):
    run_of_deltas(t, 1, 2)
    pull(t, "r", "--base", "run/0", revision=1)
    pull(t, "r")
    flip(t.path("r/current/m-1.safetensors"))
    checkpoint(t, "run/3", 3)
    publish(t, "run/3", "--base", "run/2")
    value = pull(t, "r", "--keep", "3")
    assert any("building from something else" in note for note in value["notes"]), value["notes"]
    expect_current(t, "r", "run/3")
    flip(t.path("r/current/m-1.safetensors"))
    checkpoint(t, "run/4", 4)
    publish(t, "run/4", "--base", "run/3")
    pull(t, "r", code=5)  # nothing in the store is whole, and nothing else is here
    pull(t, "r", "--base", "run/0")
    expect_current(t, "r", "run/4")


@test("a pull of versions that is killed at any point leaves the old or the new one, and the next one finishes")
def killed(t):
    run_of(t, 1, 2, 3)
    for folder, options in (("r", []), ("place", ["--in-place"])):
        pull(t, folder, *options, revision=1)
        if folder == "r":
            pull(t, folder, revision=2)
        for where in training.Kills(t, ["pull", url(t), folder, *options]).each(10):
            pull(t, folder, *options)
            expect_current(t, folder, "run/3")
            t.good("verify", folder)
    for where in training.Kills(t, ["pull", url(t, revision=1), "first"]).each(14):
        pull(t, "first", revision=1)
        expect_current(t, "first", "run/1")


@test("a newest version that is older than --max-age is refused with 10, but not one that is named")
def max_age(t):
    run_of(t, 1, 2)
    pull(t, "r", "--max-age", "1h", revision=1)
    os.utime(t.path(folder_of(2) + "/" + INDEX), (1.6e9, 1.6e9))
    refused_pull(t, "r", "run/1", "--max-age", "1h", code=10, says="seconds old")
    pull(t, "r", "--max-age", "1h", revision=2)
    expect_current(t, "r", "run/2")
