"""wdelta revert."""

import os

from harness import test
from training import checkpoints, expect_current, expect_record, history, numbers, pull, push, record, url


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
