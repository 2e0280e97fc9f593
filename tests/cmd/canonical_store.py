"""What the tests of versions for other systems share: where their files are, and what they have to say."""

import hashlib
import json
import os

import training
from harness import read
from training import checkpoint, pull, url

INDEX = "model.safetensors.index.json"
CANONICAL = ("--format", "canonical")


def publish(t, source, *options, store="store", code=0, **more):
    return training.push(t, source, *CANONICAL, *options, store=store, code=code, **more)


def run_of(t, *steps, store="store"):
    """A store with a version for each step, the first one whole, and the checkpoints that they are."""
    for step in steps:
        checkpoint(t, "run/%d" % step, step)
        publish(t, "run/%d" % step, store=store)


def run_of_deltas(t, *steps, store="store"):
    """The same without a whole version: the model that the run began with is run/0."""
    checkpoint(t, "run/0", 0)
    base = ["--base", "run/0"]
    for step in steps:
        checkpoint(t, "run/%d" % step, step)
        publish(t, "run/%d" % step, *base, store=store)
        base = ["--base", "run/%d" % step]


def folder_of(version, store="store"):
    return "%s/updates/weight_v%06d" % (store, version)


def index_of(t, version, store="store"):
    return json.loads(read(t.path(folder_of(version, store) + "/" + INDEX)))


def write_index(t, version, index, store="store"):
    with open(t.path(folder_of(version, store) + "/" + INDEX), "w") as file:
        json.dump(index, file)


def latest(t, store="store"):
    return read(t.path(store + "/latest"))


def point_at(t, text, store="store"):
    with open(t.path(store + "/latest"), "w") as file:
        file.write(text)


def expect_sums(t, version, store="store"):
    """SHA256SUMS names every file of the version but itself, each with its checksum."""
    folder = t.path(folder_of(version, store))
    there = {name for name, content in t.tree(folder).items() if content is not None} - {"SHA256SUMS"}
    listed = dict(reversed(line.split("  ", 1)) for line in read(folder + "/SHA256SUMS").decode().splitlines())
    assert set(listed) == there, set(listed) ^ there
    for name, digest in listed.items():
        assert hashlib.sha256(read(os.path.join(folder, name))).hexdigest() == digest, name


def published_files(t, store="store"):
    """All that a reader of the store could see."""
    if not os.path.exists(t.path(store)):
        return {}
    return {name: content for name, content in t.tree(store).items()
            if name == "latest" or (name.startswith("updates/") and content is not None)}


def refused(t, source, *options, code=5, says="", hint="", store="store"):
    """A push that fails and leaves the store as it was; the error."""
    before = published_files(t, store)
    error = publish(t, source, *options, store=store, code=code)["error"]
    assert says in error["message"], error
    assert hint in (error["hint"] or ""), error
    assert published_files(t, store) == before, error
    return error


def steps_of(value):
    """The way of a pull: which versions, from which."""
    return [(row["from"], row["to"]) for row in value["plan"]]


def refused_pull(t, folder, source, *options, code, says="", store="store", revision=""):
    """A pull that fails, and its folder still has that checkpoint; the error."""
    before = training.versions(t, folder)
    error = pull(t, folder, *options, store=store, revision=revision, code=code)["error"]
    assert says in error["message"], error
    assert training.versions(t, folder) == before, training.versions(t, folder)
    training.expect_current(t, folder, source)
    return error


def log_of(t, store="store", **options):
    return t.run("log", url(t, store), **options)
