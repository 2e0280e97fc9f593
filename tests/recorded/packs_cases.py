"""Recorded packs and deltas: what they lead to, what is told about them, and that they are still written the same."""

import os
import re
import shutil

import archive
import models
from harness import Skipped, test
from outcomes import expect_same, files_of, notes, state_of
from recipes import CODECS, LEVELS, RECIPES, is_foreign

PACKS = os.path.join(archive.RECORDED, "packs")


def prepare(t):
    models.write_all(t.folder)


def delta(recipe):
    return os.path.join(PACKS, recipe.name)


@test("every checkpoint is computed as it was when things were recorded from it")
def same_checkpoints(t):
    prepare(t)
    for name, digest in notes()["checkpoints"].items():
        assert archive.digest(t.tree(name)) == digest, name


@test("there is a recorded pack for every codec and every level, and every recorded pack is tried")
def every_pack(_):
    assert sorted(os.listdir(PACKS)) == sorted(recipe.name for recipe in RECIPES)
    for name in [*("codec-" + codec for codec in CODECS), *("level-" + level for level in LEVELS)]:
        assert os.path.exists(os.path.join(PACKS, "kinds-%s.wdp" % name)), name


@test("every recorded pack and delta, applied to its base, gives the files that it was made from")
def applied(t):
    prepare(t)
    for recipe in RECIPES:
        output = "out/" + recipe.name
        os.makedirs(t.path("out"), exist_ok=True)
        base = [recipe.base] if recipe.base else []
        value = t.json("apply", *base, delta(recipe), "-o", output)
        expect_same(t, output, recipe.result)
        assert value["state"] == state_of(t, recipe.result) or recipe.name == "chosen-files.wdp", recipe.name


@test("every recorded delta, applied in place, gives the files that it was made from, and nothing when it is repeated")
def applied_in_place(t):
    prepare(t)
    for recipe in RECIPES:
        if not recipe.base:
            continue
        target = "in-place/" + recipe.name + (".safetensors" if recipe.base.endswith(".safetensors") else "")
        models.copy(t.folder, recipe.base, target)
        for again in (False, True):
            value = t.json("apply", "--in-place", target, delta(recipe))
            expect_same(t, target, recipe.result)
            assert value["already_applied"] == again or is_foreign(recipe), (recipe.name, value["already_applied"])


@test("recorded steps are applied as a chain, and behind a recorded anchor")
def chained(t):
    prepare(t)
    steps = [os.path.join(PACKS, "step-%d.wdp" % step) for step in (1, 2)]
    t.good("apply", "run/0", *steps, "-o", "chain")
    expect_same(t, "chain", "run/2")
    t.good("apply", os.path.join(PACKS, "anchor-level-max.wdp"), steps[1], "-o", "after-anchor")
    expect_same(t, "after-anchor", "run/2")


@test("every recorded pack and plain delta is proved alone, and every delta against its base")
def verified(t):
    prepare(t)
    for recipe in RECIPES:
        if not is_foreign(recipe):
            assert t.json("verify", delta(recipe))["ok"], recipe.name
        if recipe.base:
            assert t.json("verify", "--against", recipe.base, delta(recipe))["ok"], recipe.name


@test("the diff to what a recorded delta leads to is the diff of the two checkpoints")
def compared(t):
    prepare(t)
    for recipe in RECIPES:
        if not recipe.base or recipe.name == "chosen-files.wdp":
            continue
        wanted = t.json("diff", recipe.base, recipe.result)
        found = t.json("diff", recipe.base, delta(recipe))
        for field in ("elements_total", "elements_changed", "bytes_changed", "tensors_changed", "tensors_added",
                      "tensors_removed", "files_changed", "tensors", "files"):
            assert found[field] == wanted[field], (recipe.name, field, found[field], wanted[field])


@test("cat shows the states that a recorded pack leads from and to, and the bytes of a tensor in a recorded anchor")
def shown(t):
    prepare(t)
    for recipe in RECIPES:
        if is_foreign(recipe) or recipe.name == "chosen-files.wdp":
            continue
        value = t.json("cat", delta(recipe))
        assert value["state"] == state_of(t, recipe.result), recipe.name
        assert value["tensors"] and (recipe.base is None or value["base_state"] == state_of(t, recipe.base)), recipe.name
        if recipe.base is None:
            there = t.good("cat", recipe.result, "embed", "-o", "-").out
            assert t.good("cat", delta(recipe), "embed", "-o", "-").out == there, recipe.name


@test("the commands that wrote the recorded packs and deltas write the same bytes again, on one thread and on three")
def same_bytes(t):
    recorded, now = (re.search(r"zstd [\d.]+", libraries).group() for libraries in
                     (notes()["program"]["libraries"], t.json("--version")["libraries"]))
    if recorded != now:
        raise Skipped("they were recorded with %s, and this is %s" % (recorded, now))
    prepare(t)
    for threads in ("1", "3"):
        for recipe in RECIPES:
            t.good(*recipe.words, "-o", recipe.name, "--threads", threads)
            assert files_of(t, recipe.name) == files_of(t, delta(recipe)), (recipe.name, threads)
            if not recipe.name.endswith((".wdp", ".safetensors")):
                shutil.rmtree(t.path(recipe.name))
