"""wdelta pull --marker sglang: a version that SGLang patches as well."""

import fcntl
import os
import time

import tiny
import training
from harness import read, test
from training import checkpoint, expect_current, flip, history, pull, url, versions
from canonical_store import folder_of, publish, run_of, steps_of

OPTIONS = ("--in-place", "--marker", "sglang")
SHARD = "/model-00000-of-00001.safetensors"
MARKER = "r/current/.weight_sync/state.json"


def expect_marked(t, version, source):
    """The current version has the files of that checkpoint, and beside them only the marker of that version."""
    found = t.tree("r/current/.")
    assert found.pop(".weight_sync/state.json") == b'{"version": "%06d"}' % version
    assert found.pop(".weight_sync/", 0) is None
    found.pop(".weight_sync/lock", None)
    assert found == t.tree(source), sorted(set(found) ^ set(t.tree(source)))


@test("--marker without --in-place, or of an unknown kind, is a usage error")
def usage(t):
    run_of(t, 1)
    t.fails(2, "pull", url(t), "r", "--marker", "sglang", says="--in-place")
    t.fails(2, "pull", url(t), "r", "--in-place", "--marker", "vllm", says="vllm")


@test("the marker says in SGLang's own words which version is there, after each pull")
def words(t):
    for step in (1, 2, 3):
        checkpoint(t, "run/%d" % step, step)
        publish(t, "run/%d" % step)
        pull(t, "r", *OPTIONS)
        expect_marked(t, step, "run/%d" % step)
        t.good("verify", "r")
        assert pull(t, "r", *OPTIONS)["up_to_date"] is True
        expect_marked(t, step, "run/%d" % step)
    assert read(t.path(MARKER)) == b'{"version": "000003"}'
    assert len(versions(t, "r")) == 1


@test("a version that was pulled without a marker gets one")
def later(t):
    run_of(t, 1)
    pull(t, "r", "--in-place")
    expect_current(t, "r", "run/1")
    assert pull(t, "r", *OPTIONS)["up_to_date"] is True
    expect_marked(t, 1, "run/1")


@test("--check and --plan leave the marker alone")
def questions(t):
    run_of(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    pull(t, "r", *OPTIONS, "--check", code=1)
    pull(t, "r", *OPTIONS, "--plan")
    expect_marked(t, 1, "run/1")


@test("while SGLang holds its lock a pull is exit 6, and --lock-wait waits for it")
def lock(t):
    run_of(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    with open(t.path("r/current/.weight_sync/lock"), "a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        pull(t, "r", *OPTIONS, code=6)
        pull(t, "r", *OPTIONS, "--lock-wait", "0.1s", code=6)
        expect_marked(t, 1, "run/1")
        with t.popen("pull", "-q", url(t), "r", *OPTIONS, "--lock-wait", "inf") as process:
            time.sleep(0.1)
            assert process.poll() is None
            fcntl.flock(held, fcntl.LOCK_UN)
            assert process.wait(timeout=60) == 0, process.stderr.read()
    expect_marked(t, 2, "run/2")


@test("a version that another program has moved on is what its marker says, and the pull goes on from there")
def moved_on(t):
    run_of(t, 1)
    pull(t, "r", *OPTIONS)
    for step in (2, 3):
        checkpoint(t, "run/%d" % step, step)
        publish(t, "run/%d" % step)
    os.unlink(t.path(MARKER))
    t.good("apply", "--in-place", "r/current", folder_of(2))
    tiny.write_file(t.path(MARKER), b'{"version": "000002"}')
    value = pull(t, "r", *OPTIONS)
    assert any("another program" in note and "version 2" in note for note in value["notes"]), value["notes"]
    assert value["previous"] == 2 and steps_of(value) == [(2, 3)], value
    expect_marked(t, 3, "run/3")
    checkpoint(t, "run/4", 4)
    publish(t, "run/4")
    t.good("apply", "--in-place", "r/current", folder_of(4))
    tiny.write_file(t.path(MARKER), b'{"version": "000004"}')
    assert pull(t, "r", *OPTIONS)["up_to_date"] is True
    expect_marked(t, 4, "run/4")
    t.good("verify", "r")


@test("without its marker a version is taken for what it was if it still is that, and refused with 4 if it is not")
def missing(t):
    run_of(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    os.unlink(t.path(MARKER))
    flip(t.path("r/current/m-1.safetensors"))
    error = pull(t, "r", *OPTIONS, code=4)["error"]
    assert "half changed" in error["message"] and error["hint"] and error["expected"] != error["found"], error
    flip(t.path("r/current/m-1.safetensors"))
    pull(t, "r", *OPTIONS)
    expect_marked(t, 2, "run/2")


@test("a pull that fails before it changes anything leaves the marker as it was")
def failed_pull(t):
    run_of(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    flip(t.path(folder_of(2) + SHARD), -20)
    pull(t, "r", *OPTIONS, code=4)
    expect_marked(t, 1, "run/1")
    os.unlink(t.path(folder_of(2) + "/SHA256SUMS"))
    pull(t, "r", *OPTIONS, code=4)  # only when it is applied
    expect_marked(t, 1, "run/1")
    flip(t.path(folder_of(2) + SHARD), -20)
    pull(t, "r", *OPTIONS)
    expect_marked(t, 2, "run/2")


@test("a marker that cannot be read is exit 4, and nothing is changed")
def unreadable(t):
    run_of(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    for text in (b"", b"{", b"[]", b'{"version": -1}'):
        tiny.write_file(t.path(MARKER), text)
        pull(t, "r", *OPTIONS, code=4)
        found = t.tree("r/current/.")
        assert found["m-1.safetensors"] == read(t.path("run/1/m-1.safetensors"))
        assert found[".weight_sync/state.json"] == text


@test("of a native history the marker has the number of the record")
def native(t):
    history(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    expect_marked(t, 1, "run/1")
    pull(t, "r", *OPTIONS)
    expect_marked(t, 2, "run/2")


@test("a pull with a marker that is killed at any point is finished by the next one, and never marks half a version")
def killed(t):
    run_of(t, 1, 2)
    pull(t, "r", *OPTIONS, revision=1)
    for where in training.Kills(t, ["pull", url(t), "r", *OPTIONS]).each(16):
        if os.path.exists(t.path(MARKER)):
            expect_marked(t, int(read(t.path(MARKER))[13:19]), "run/%d" % int(read(t.path(MARKER))[13:19]))
        pull(t, "r", *OPTIONS)
        expect_marked(t, 2, "run/2")
        t.good("verify", "r")
