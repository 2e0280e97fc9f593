"""wdelta verify, of a history and of a folder that a pull keeps."""

import os

import tiny
from harness import read, test
from training import flip, history, long_history, object_of, pull, record, record_path, url


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
