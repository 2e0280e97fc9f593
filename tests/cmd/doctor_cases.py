"""wdelta doctor."""

import re

import tiny
from harness import test
from training import history, pull, record_path, url


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
