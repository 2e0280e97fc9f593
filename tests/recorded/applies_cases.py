"""Recorded checkpoints on which `apply --in-place` was killed: the same command finishes the work."""

import archive
import models
from harness import test
from outcomes import expect_same, recorded_names, write_steps

# The checkpoint, its deltas, and what they lead to.
KILLED = {
    "patching": ("patching", ("1-2.wdp",), "run/2"),
    "chain-patching": ("chain-patching", ("1-2.wdp", "2-3.wdp"), "run/3"),
    "canonical-patching": ("canonical-patching", ("canonical",), "run/2"),
    "staging": ("staging", ("kinds.wdp",), "kinds-result"),
    "committing": ("committing", ("kinds.wdp",), "kinds-result"),
    "removing": ("removing", ("kinds.wdp",), "kinds-result"),
    "lone-patching": ("lone-patching/model.safetensors", ("lone.wdp",), "lone/2.safetensors"),
}


def prepare(t):
    archive.unpack("applies", t.folder)
    models.write_kinds(t.folder)
    write_steps(t, 1, 2, 3)
    models.write_lone(t.folder, 2)


@test("every recorded checkpoint that is half patched is tried")
def every_folder(_):
    folders = {name for name in recorded_names("applies") if "." not in name and name != "canonical"}
    assert folders == set(KILLED), folders ^ set(KILLED)


@test("a recorded checkpoint that is half patched is finished by the same command, and repeating it changes nothing")
def finished(t):
    prepare(t)
    for checkpoint, deltas, wanted in KILLED.values():
        for _ in range(2):
            t.json("apply", "--in-place", checkpoint, *deltas)
            expect_same(t, checkpoint, wanted)
    assert list(t.tree("lone-patching")) == ["model.safetensors"]


@test("a recorded checkpoint that was killed in one delta is finished and taken on by a chain of that and the next")
def taken_on(t):
    prepare(t)
    t.json("apply", "--in-place", "patching", "1-2.wdp", "2-3.wdp")
    expect_same(t, "patching", "run/3")
