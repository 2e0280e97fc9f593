"""Recorded pushers: what a push keeps for the next one, and what a killed push left, which the next one finishes.

Each has pushed the steps 1 and 2. Those that were killed were pushing step 3, which is no longer there.
"""

import archive
from harness import test
from outcomes import expect_record, expect_same, recorded_names, steps_in, url, write_steps

REST = ("rest", "rest-copy", "rest-mirror")
# What the next push of step 4 makes of them: the steps of all records then.
STEPS_AFTER = {"packing": [1, 2, 4], "spooled": [1, 2, 3, 4], "sent": [1, 2, 3, 4], "committed": [1, 2, 3, 4],
               "first": [3, 4], "mirror-spooled": [1, 2, 3, 4], "mirror-patching": [1, 2, 3, 4]}


def prepare(t, *steps):
    archive.unpack("pushers", t.folder)
    for name in (*REST, *STEPS_AFTER):
        write_steps(t, *steps, run=name + "/run")
    write_steps(t, 1, 2, *steps)


def push(t, name, step, *options):
    """Pushes as the recorded pusher did."""
    mirror = ["--mirror", name + "/keep/m"] if "mirror" in name else []
    return t.json("push", "%s/run/%d" % (name, step), url(t, name + "/store"), "--step", str(step), *mirror, *options)


def expect_history(t, name, steps):
    store = name + "/store"
    assert steps_in(t, store) == steps, (name, steps_in(t, store))
    for number, step in enumerate(steps, 1):
        expect_record(t, number, "run/%d" % step, store)
    assert t.json("verify", url(t, store))["ok"], name
    if "mirror" in name:
        expect_same(t, name + "/keep/m", "run/%d" % steps[-1])


@test("every recorded pusher is tried")
def every_pusher(_):
    assert set(recorded_names("pushers")) == {*REST, *STEPS_AFTER}


@test("a recorded pusher at rest pushes the next steps as deltas from what it kept")
def goes_on(t):
    prepare(t, 3, 4)
    for name in REST:
        for step in (3, 4):
            value = push(t, name, step)
            assert value["number"] == step and value["delta_bytes"] and value["base_state"], (name, value)
        expect_history(t, name, [1, 2, 3, 4])


@test("a recorded pusher at rest sends nothing when its last checkpoint is pushed again")
def already_there(t):
    prepare(t)
    for name in REST:
        value = push(t, name, 2)
        assert value["already_there"] and value["number"] == 2 and value["wire_bytes"] == 0, (name, value)
        expect_history(t, name, [1, 2])


@test("a recorded push that was killed is finished by the push of the next step, and each record is right")
def finished(t):
    prepare(t, 3, 4)
    for name, steps in STEPS_AFTER.items():
        value = push(t, name, 4)
        assert value["number"] == len(steps) and value["delta_bytes"], (name, value)
        expect_history(t, name, steps)
    expect_record(t, "third", "run/3", "spooled/store")


@test("a recorded push that was killed is finished by the same push, and makes exactly one record")
def repeated(t):
    prepare(t, 3, 4)
    for name, steps in STEPS_AFTER.items():
        value = push(t, name, 3, *(("--tag", "third") if name == "spooled" else ()))
        before = [step for step in steps if step < 3] + [3]
        assert value["number"] == len(before), (name, value)
        expect_history(t, name, before)
        assert push(t, name, 4)["delta_bytes"], name
        expect_history(t, name, before + [4])


@test("a recorded push that was killed leaves a history of which every record is reached")
def readable(t):
    prepare(t, 3)
    for name in STEPS_AFTER:
        if name == "first":
            t.json("log", url(t, "first/store"), code=3)
            continue
        committed = name in ("committed", "mirror-patching")
        store = name + "/store"
        assert steps_in(t, store) == ([1, 2, 3] if committed else [1, 2]), name
        expect_record(t, "HEAD", "run/3" if committed else "run/2", store)
