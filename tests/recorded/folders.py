"""The recorded folders: the commands that make each. The name of a function is the name of its archive; what it returns
is noted, as what the program told about it.

Where a command is killed, the name of the folder says in the middle of what. A program that does not do such a thing
leaves that folder out.
"""

import sys

import archive
import models
from recorder import NotPassed

RECORDINGS = []


def recorded(function):
    RECORDINGS.append(function)
    return function


def write_steps(t, *steps, run="run"):
    for step in steps:
        models.write_step(t.folder, step, run + "/%d")


def kill(t, folder, words, call, where):
    """Leaves the folder as a command does that is killed there. False: the folder is left out."""
    try:
        t.killed(words, call, where)
        return True
    except NotPassed as reason:
        print("left out: %s: %s" % (folder, reason), file=sys.stderr)
        t.remove(folder)
        return False


@recorded
def histories(t):
    """store: ten records. 4 and 8 have an added anchor, 5 was pushed as a pack, 6 repeats a step, 7 reverts to 5, 10 is
    whole; 2, 5 and 9 have tags; what led to 3 was collected. kinds: records of chosen files. lone-store: of a single file."""
    write_steps(t, *models.STEPS)
    for step in (1, 2, 3, 4):
        t.push("run/%d" % step, "store", "--step", str(step), "--anchor-every", "3", *(("--tag", "early") * (step == 2)))
    t.do("pack", "run/4", "run/5", "-o", "5.wdp")
    t.push("5.wdp", "store", "--step", "5")
    t.do("tag", t.url() + "@step:5", "best")
    t.push("run/6", "store", "--step", "4", "--level", "max", "--base", "run/5")
    t.do("revert", t.url(), "--to", "best")
    t.push("run/7", "store", "--step", "7", "--rebase", "--anchor-every", "3")
    t.push("run/8", "store", "--step", "8", "--level", "fast", "--tag", "fast")
    models.copy(t.folder, "run/9", "elsewhere/9")
    t.push("elsewhere/9", "store", "--step", "9", "--anchor")
    t.remove("run", "elsewhere", "5.wdp")
    archive.set_times(t.path("store"))
    t.do("gc", t.url(), "--keep", "4", "--grace", "0", "--delete")

    models.write_kinds(t.folder)
    chosen = ("--include", "extra.bin", "--exclude", "notes/*")
    t.push("kinds-base", "kinds", *chosen)
    t.push("kinds-new", "kinds", *chosen)
    t.remove("kinds-base", "kinds-new", "kinds-result", "kinds-chosen", "values-new", "types-new", ".wdelta")
    for step in (1, 2, 3):
        models.write_lone(t.folder, step)
        t.push("lone/%d.safetensors" % step, "lone-store", "--step", str(step), "--keep-base", "copy")
    t.remove("lone")
    plan = t.json("gc", t.url(), "--keep", "2", "--grace", "0")
    return {"log": t.json("log", t.url())["records"],
            "gc": {key: plan[key] for key in plan if key.startswith(("objects_", "bytes_", "records", "first_"))}}


@recorded
def replicas(t):
    """Folders that follow store, which has four records of the steps 4, 5, 6 and 7, and the pusher. All have been at
    record 2; those at rest still are. The others were killed on their way to record 3."""
    in_place = ("--in-place",)
    folders = {"rest": (), "rest-in-place": in_place, "fetching": (), "copying": ("--keep", "1"), "patching": (),
               "switching": (), "in-place-patching": in_place, "in-place-committing": in_place,
               "in-place-renaming": in_place}
    for step in (4, 5):
        write_steps(t, step)
        t.push("run/%d" % step, "store", "--step", str(step))
        for folder, options in folders.items():
            t.pull("store", folder, *options)
    write_steps(t, 6)
    t.push("run/6", "store", "--step", "6")
    for folder, call, where in (
            ("fetching", "pwrite64", r"/packs/[^/]*\.map>"),
            ("copying", "pwrite64", r"/\.wdelta/.*new.*m-2\.safetensors"),
            ("patching", "pwrite64", r"/building/m-2\.safetensors>"),
            ("switching", "rename", r'/\.wdelta/current", "switching/current"'),
            ("in-place-patching", "pwrite64", r"/versions/[^/]*/m-2\.safetensors>"),
            ("in-place-committing", "rename", r'/\.wdelta-apply/new/config\.json"'),
            ("in-place-renaming", "symlink", "versions/3-")):
        kill(t, folder, ["pull", t.url(), folder, *folders[folder]], call, where)
    write_steps(t, 7)
    t.push("run/7", "store", "--step", "7")
    t.remove("run/4", "run/5", "run/6")


@recorded
def pushers(t):
    """In each folder a run, its store with the records of the steps 1 and 2, and what the pusher keeps. Those that were
    killed were about to push step 3, which is no longer there."""
    for name, options in (("rest", ("--keep-base", "link")), ("rest-copy", ("--keep-base", "copy")),
                          ("rest-mirror", ("--mirror", "rest-mirror/keep/m"))):
        begin_run(t, name, *options)
    for name, call, where, options in (
            ("packing", "rename", r'\.spool\.wdp[^"]*", "[^"]*/spool\.wdp"', ()),
            ("spooled", "linkat", r"/store/objects/", ("--tag", "third")),
            ("sent", "linkat", r'"000000000003\.json"', ()),
            ("committed", "mkdir", r"/base\.new", ()),
            ("first", "linkat", r'"000000000001\.json"', ()),
            ("mirror-spooled", "linkat", r"/store/objects/", ("--mirror", "mirror-spooled/keep/m")),
            ("mirror-patching", "pwrite64", r"/keep/m/m-2\.safetensors>", ("--mirror", "mirror-patching/keep/m"))):
        if name != "first":
            begin_run(t, name, *(options if "--mirror" in options else ()))
        write_steps(t, 3, run=name + "/run")
        if kill(t, name, ["push", name + "/run/3", t.url(name + "/store"), "--step", "3", *options], call, where):
            t.remove(name + "/run/3")


def begin_run(t, name, *options):
    write_steps(t, 1, 2, run=name + "/run")
    for step in (1, 2):
        label = () if "--format" in options else ("--step", str(step))
        t.push("%s/run/%d" % (name, step), name + "/store", *label, *options)
    t.remove(name + "/run/1")


@recorded
def canonical(t):
    """store: three versions, of the steps 1, 2 and 3, the first one whole; its pusher; and folders that follow it. All
    have been at version 2, those at rest still are. sending/ and pointed/ are pushers with a store of their own that
    were killed when they pushed step 3, before and after the pointer was moved."""
    form = ("--format", "canonical")
    marker = ("--in-place", "--marker", "sglang")
    folders = {"rest": (), "rest-marker": marker, "patching": (), "in-place-patching": ("--in-place",),
               "marker-patching": marker}
    for step in (1, 2):
        write_steps(t, step)
        t.push("run/%d" % step, "store", *form)
        for folder, options in folders.items():
            t.pull("store", folder, *options)
    write_steps(t, 3)
    t.push("run/3", "store", *form)
    t.remove("run/1", "run/2")
    for folder, where in (("patching", r"/building/m-2\.safetensors>"),
                          ("in-place-patching", r"/versions/[^/]*/m-2\.safetensors>"),
                          ("marker-patching", r"/versions/[^/]*/m-2\.safetensors>")):
        kill(t, folder, ["pull", t.url(), folder, *folders[folder]], "pwrite64", where)
    for name, call, where in (("sending", "linkat", r'"model\.safetensors\.index\.json"'),
                              ("pointed", "rename", r'/base\.new", ')):
        begin_run(t, name, *form)
        write_steps(t, 3, run=name + "/run")
        if kill(t, name, ["push", name + "/run/3", t.url(name + "/store"), *form], call, where):
            t.remove(name + "/run/3")


@recorded
def applies(t):
    """Checkpoints on which `apply --in-place` was killed, and the deltas that it was given."""
    models.write_kinds(t.folder)
    write_steps(t, 1, 2, 3)
    for step in (1, 2):
        models.write_lone(t.folder, step)
    t.do("pack", "run/1", "run/2", "-o", "1-2.wdp")
    t.do("pack", "run/2", "run/3", "-o", "2-3.wdp")
    t.do("pack", "kinds-base", "kinds-new", "-o", "kinds.wdp")
    t.do("pack", "lone/1.safetensors", "lone/2.safetensors", "-o", "lone.wdp")
    t.do("pack", "run/1", "run/2", "-o", "canonical", "--format", "canonical")
    for name, deltas, call, where in (
            ("patching", ("1-2.wdp",), "pwrite64", r"/patching/m-2\.safetensors>"),
            ("chain-patching", ("1-2.wdp", "2-3.wdp"), "pwrite64", r"/chain-patching/m-2\.safetensors>"),
            ("canonical-patching", ("canonical",), "pwrite64", r"/canonical-patching/m-2\.safetensors>")):
        models.write_step(t.folder, 1, name)
        kill(t, name, ["apply", "--in-place", name, *deltas], call, where)
    for name, call, where in (("staging", "pwrite64", r"/\.wdelta-apply/new/m-3\.safetensors>"),
                              ("committing", "rename", r'/\.wdelta-apply/new/m-3\.safetensors"'),
                              ("removing", "unlink", r"/m-2\.safetensors")):
        models.copy(t.folder, "kinds-base", name)
        kill(t, name, ["apply", "--in-place", name, "kinds.wdp"], call, where)
    models.copy(t.folder, "lone/1.safetensors", "lone-patching/model.safetensors")
    kill(t, "lone-patching", ["apply", "--in-place", "lone-patching/model.safetensors", "lone.wdp"], "pwrite64",
         r'/lone-patching/model\.safetensors>, .*, 16, ')
    t.remove("run", "lone", "kinds-base", "kinds-new", "kinds-result", "kinds-chosen", "values-new", "types-new")
