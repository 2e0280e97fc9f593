"""The files in which a pusher and a replica remember where they stand, across versions of wdelta."""

import json
import os

import tiny
from harness import read, test
from training import checkpoints, expect_current, history, home, pull, push, url


def rewrite(path, change):
    state = json.loads(read(path))
    change(state)
    tiny.write_file(path, json.dumps(state))
    return read(path)


def newer(state):
    state["format"] = "2"


@test("a state says that it is of format 1, and one from before there was a format is read all the same")
def formats(t):
    history(t, 1, 2)
    pull(t, "r")
    files = [home(t) + "/state.json", t.path("r/.wdelta/state.json")]
    for path in files:
        assert list(json.loads(read(path)))[0] == "format" and json.loads(read(path))["format"] == "1", read(path)
        rewrite(path, lambda state: state.pop("format"))
    checkpoints(t, 3)
    value = push(t, "run/3")
    assert value["number"] == 3 and value["anchor_bytes"] is None, value
    value = pull(t, "r")
    assert value["previous"] == 2 and [row["from"] for row in value["plan"]] == [2], value
    expect_current(t, "r", "run/3")
    assert all(json.loads(read(path))["format"] == "1" for path in files)


@test("a state of a newer wdelta is exit 10, and nothing of it is touched")
def newer_states(t):
    history(t, 1, 2)
    pull(t, "r")
    checkpoints(t, 3)
    pusher, replica = home(t) + "/state.json", t.path("r/.wdelta/state.json")
    before = {path: rewrite(path, newer) for path in (pusher, replica)}
    store, copies = t.tree("store"), t.tree("r/versions")
    for words in (["push", "run/3", url(t)], ["pull", url(t), "r"], ["pull", "--check", url(t), "r"], ["verify", "r"]):
        error = t.json(*words, code=10)["error"]
        assert "newer wdelta" in error["message"] and "at least as new" in error["hint"], (words, error)
        assert error["expected"] == "format 1" and error["found"] == "format 2", error
    assert {path: read(path) for path in before} == before
    assert t.tree("store") == store and t.tree("r/versions") == copies
    assert os.path.islink(t.path("r/current"))


@test("a spool of a newer wdelta is exit 10, too")
def newer_spool(t):
    history(t, 1)
    tiny.write_file(home(t) + "/spool.json", json.dumps({"format": "7", "pack": {"parts": [1, 2]}}))
    checkpoints(t, 2)
    error = t.json("push", "run/2", url(t), code=10)["error"]
    assert "spool.json" in error["message"] and "format 7" in error["message"], error
