"""wdelta tag."""

import json

from harness import read, test
from training import expect_record, history, record, url


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
