"""Recorded replicas: folders at rest follow their history, and what a killed pull left is finished by the next one."""

import os

import archive
from harness import test
from outcomes import expect_same, recorded_names, url, write_steps

# All had record 2, which is step 5, when the last pull came to its end. Record 3 is step 6, and record 4 is step 7.
REST = ("rest", "rest-in-place")
FOLDERS = [name for name in recorded_names("replicas") if name not in ("run", "store")]


def prepare(t, *steps):
    archive.unpack("replicas", t.folder)
    write_steps(t, *steps)


def options_of(folder):
    return ["--in-place"] if "in-place" in folder else []


def versions(t, folder):
    return os.listdir(t.path(folder + "/versions"))


def follow(t, folder, number, step, *options, revision=""):
    """A pull brings the folder to that record, which is that step, and the folder is in order."""
    value = t.json("pull", url(t, revision=revision), folder, *options)
    assert value["number"] == number, value
    expect_same(t, folder + "/current", "run/%d" % step)
    assert t.json("verify", folder)["ok"], folder
    assert len(versions(t, folder)) <= (1 if "--in-place" in options else 2), versions(t, folder)


@test("a recorded replica at rest has the checkpoint of its record, which is proved without its remote")
def at_rest(t):
    prepare(t, 4, 5)
    for folder in REST:
        expect_same(t, folder + "/current", "run/5")
        assert t.json("verify", folder)["ok"], folder
        t.json("pull", "--check", url(t), folder, code=1)
    assert len(versions(t, "rest")) == 2 and len(versions(t, "rest-in-place")) == 1


@test("a recorded replica at rest is up to date at its own record, and goes back to the one before without fetching")
def stays(t):
    prepare(t, 4, 5)
    value = t.json("pull", url(t, revision=2), "rest")
    assert value["up_to_date"] and value["wire_bytes"] == 0, value
    value = t.json("pull", url(t, revision=1), "rest")
    assert value["wire_bytes"] == 0, value
    expect_same(t, "rest/current", "run/4")


@test("a recorded replica, at rest or killed at any point of a pull, goes on to the newest record, and then to the next")
def goes_on(t):
    prepare(t, 7, 8)
    for folder in FOLDERS:
        follow(t, folder, 4, 7, *options_of(folder))
    assert t.json("push", "run/8", url(t))["number"] == 5
    for folder in FOLDERS:
        follow(t, folder, 5, 8, *options_of(folder))


@test("a recorded replica that was killed on its way to a record is brought to that very record")
def finishes(t):
    prepare(t, 6, 7)
    for folder in FOLDERS:
        follow(t, folder, 3, 6, *options_of(folder), revision=3)
        follow(t, folder, 4, 7, *options_of(folder))


@test("a recorded replica that was killed at any point of a pull is brought back to the record that it had before")
def goes_back(t):
    prepare(t, 5, 7)
    for folder in FOLDERS:
        follow(t, folder, 2, 5, *options_of(folder), revision=2)
        follow(t, folder, 4, 7, *options_of(folder))


@test("a recorded replica that was killed in place is brought back by copies, and to a record before that")
def goes_back_by_copies(t):
    prepare(t, 4, 5, 7)
    for folder in FOLDERS:
        if "in-place" in folder:
            follow(t, folder, 2, 5, revision=2)
            follow(t, folder, 1, 4, revision=1)
            follow(t, folder, 4, 7)


@test("a recorded replica that was patched in place is followed by copies from then on, and the other way round")
def changes_mode(t):
    prepare(t, 7, 8)
    for folder in FOLDERS:
        mode = [] if options_of(folder) else ["--in-place"]
        follow(t, folder, 4, 7, *mode)
    assert t.json("push", "run/8", url(t))["number"] == 5
    for folder in FOLDERS:
        follow(t, folder, 5, 8)


@test("a recorded replica that was killed while it made a copy still serves the record that it had before")
def serves(t):
    prepare(t, 5)
    for folder in FOLDERS:
        if "in-place" not in folder:
            expect_same(t, folder + "/current", "run/5")
