"""wdelta log."""

import os
import re

from harness import test
from training import checkpoints, history, object_of, push, record, url


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
