"""Recorded stores of versions for other systems, the folders that follow them, and their pushers."""

import json
import os

import archive
from harness import read, test
from outcomes import expect_same, recorded_names, url, write_steps

FORM = ("--format", "canonical")
PUSHERS = ("sending", "pointed")
FOLDERS = [name for name in recorded_names("canonical") if name not in ("run", "store", *PUSHERS)]


def prepare(t, *steps):
    archive.unpack("canonical", t.folder)
    write_steps(t, *steps)


def options_of(folder):
    return ["--in-place", "--marker", "sglang"] if "marker" in folder else ["--in-place"] if "in-place" in folder else []


def follow(t, folder, version, *options, store="store", revision=""):
    """A pull brings the folder to that version, which is the step of the same number."""
    value = t.json("pull", url(t, store, revision), folder, *options)
    assert value["number"] == version, value
    expect_same(t, folder + "/current", "run/%d" % version)
    assert t.json("verify", folder)["ok"], folder


def marked(t, folder):
    return json.loads(read(t.path(folder + "/current/.weight_sync/state.json")))["version"]


@test("every version of a recorded store is pulled bit for bit into an empty folder")
def pulled(t):
    prepare(t, 1, 2, 3)
    for version in (1, 2, 3):
        follow(t, "new-%d" % version, version, revision=version)
    follow(t, "newest", 3)


@test("a recorded replica of such a store, at rest or killed in a pull, goes on to the newest version, and to the next")
def goes_on(t):
    prepare(t, 3, 4)
    for folder in FOLDERS:
        follow(t, folder, 3, *options_of(folder))
    assert t.json("push", "run/4", url(t), *FORM)["number"] == 4
    for folder in FOLDERS:
        follow(t, folder, 4, *options_of(folder))
        assert "marker" not in folder or marked(t, folder) == "000004", folder


@test("a recorded replica of such a store has the version that its marker says, and an update exists")
def at_rest(t):
    prepare(t, 2)
    for folder in ("rest", "rest-marker"):
        expect_same(t, folder + "/current", "run/2")
        t.json("pull", "--check", url(t), folder, code=1)
    assert marked(t, "rest-marker") == "000002"


@test("a push adds a delta to a recorded store from what its pusher kept")
def pushed(t):
    prepare(t, 3, 4, 5)
    for version in (4, 5):
        value = t.json("push", "run/%d" % version, url(t), *FORM)
        assert value["number"] == version and value["delta_bytes"] < 2000 and value["base_state"], value
    follow(t, "new", 5)
    assert read(t.path("store/latest")) == b"store/weight_v000005"


@test("a push to a recorded store from elsewhere, without a base, is a conflict, and is accepted as a whole version")
def pushed_from_elsewhere(t):
    prepare(t, 4)
    write_steps(t, 4, run="elsewhere")
    t.json("push", "elsewhere/4", url(t), *FORM, code=5)
    assert t.json("push", "elsewhere/4", url(t), *FORM, "--anchor")["number"] == 4
    follow(t, "new", 4)


@test("a recorded push of a version that was killed is finished by the same push, or passed by the next")
def finished(t):
    prepare(t, 3, 4)
    for name in PUSHERS:
        write_steps(t, 3, 4, run=name + "/run")
        for version in (3, 4):
            assert t.json("push", "%s/run/%d" % (name, version), url(t, name + "/store"), *FORM)["number"] == version
            follow(t, "at-%s-%d" % (name, version), version, store=name + "/store")
    archive.unpack("canonical", t.path("again"))
    write_steps(t, 4, run="again/pointed/run")
    assert t.json("push", "again/pointed/run/4", url(t, "again/pointed/store"), *FORM)["number"] == 4
    follow(t, "again/third", 3, store="again/pointed/store", revision=3)
    follow(t, "again/fourth", 4, store="again/pointed/store")


@test("every recorded folder of such a store is tried")
def every_folder(t):
    prepare(t)
    for name in PUSHERS:
        assert os.path.isdir(t.path(name + "/store/updates")), name
    for name in FOLDERS:
        assert os.path.islink(t.path(name + "/current")), name
