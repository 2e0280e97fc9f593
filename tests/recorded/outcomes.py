"""What the tests of recorded things share: running commands on them, and comparing what comes of it."""

import json
import os
import shutil

import archive
import models


def notes():
    with open(os.path.join(archive.RECORDED, "recorded.json")) as file:
        return json.load(file)


def recorded_names(name):
    """The folders of an archive."""
    return sorted({path.split("/")[0] for path in archive.names(name)})


def url(t, store="store", revision=""):
    return "file://" + t.path(store) + ("@%s" % revision if revision != "" else "")


def write_steps(t, *steps, run="run"):
    for step in steps:
        models.write_step(t.folder, step, run + "/%d")


def state_of(t, checkpoint):
    return t.json("id", checkpoint)["state"]


def files_of(t, checkpoint):
    """Of a checkpoint, without the marker of another program. A path may lead over a link."""
    return {path: content for path, content in t.tree(os.path.join(checkpoint, ".")).items()
            if not path.startswith(".weight_sync")} if os.path.isdir(t.path(checkpoint)) else t.tree(checkpoint)


def expect_same(t, found, wanted):
    """Both have the same files, byte by byte."""
    found, wanted = files_of(t, found), files_of(t, wanted)
    assert found == wanted, sorted(set(found) ^ set(wanted)) or [name for name in found if found[name] != wanted[name]]


def expect_record(t, revision, wanted, store="store"):
    """A new folder that pulls that record gets exactly the files of that checkpoint."""
    t.json("pull", url(t, store, revision), "probe")
    expect_same(t, "probe/current", wanted)
    shutil.rmtree(t.path("probe"))


def steps_in(t, store="store"):
    """The steps of the records, from the first to the last."""
    return [row["step"] for row in reversed(t.json("log", "-n", "0", url(t, store))["records"])]


def expect_at_least(value, recorded):
    """Everything that was recorded is in the value, and the same; the value may have more."""
    if isinstance(recorded, dict):
        for key in recorded:
            assert key in value, key
            expect_at_least(value[key], recorded[key])
    elif isinstance(recorded, list):
        assert len(value) == len(recorded), (value, recorded)
        for each, known in zip(value, recorded):
            expect_at_least(each, known)
    else:
        assert value == recorded, (value, recorded)
