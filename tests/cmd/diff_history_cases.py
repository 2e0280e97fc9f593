"""wdelta diff where a side is a record of a history."""

import os
import time

import tiny
import training
from harness import read, test
from training import history, url


def same_figures(found, wanted):
    """Two reports of diff agree in all that was counted."""
    for key in ("different", "elements_total", "elements_changed", "sparsity", "bytes_total", "bytes_changed",
                "tensors_total", "tensors_changed", "tensors_added", "tensors_removed", "tensors", "groups", "files"):
        assert found[key] == wanted[key], (key, found[key], wanted[key])


def no_leftovers(t):
    return not [name for name in os.listdir(t.folder) if "diff" in name or name.startswith((".", "wdelta"))]


@test("diff --counts with a record on either side, or on both, tells what diff of the checkpoints tells")
def counts(t):
    training.history(t, 1, 2, 3)
    sides = {number: ("run/%d" % number, training.url(t, revision=number)) for number in (1, 2, 3)}
    for old, new in ((1, 2), (3, 1), (2, 2)):
        wanted = t.json("diff", *(sides[number][0] for number in (old, new)))
        for base, next_one in ((0, 1), (1, 0), (1, 1)):
            words = (sides[old][base], sides[new][next_one])
            value = t.json("diff", "--counts", *words)
            same_figures(value, wanted)
            assert value["number"] == (new if next_one else old), value
            assert value["base_number"] == (old if base else None), value
            assert t.good("diff", "--counts", *words).text() == t.good("diff", *(sides[n][0] for n in (old, new))).text()
            assert t.good("diff", "--counts", "-q", *words, code=int(old != new)).out == b""
    assert no_leftovers(t), os.listdir(t.folder)


@test("diff --counts fetches only deltas when the other side is in the history, and an anchor when it is not")
def counts_fetch(t):
    training.history(t, 1, 2, 3)
    delta = os.path.getsize(training.object_of(t, 3))
    anchor = os.path.getsize(training.object_of(t, 1, "anchor"))
    assert t.json("diff", "--counts", "run/2", training.url(t))["wire_bytes"] == delta
    assert t.json("diff", "--counts", training.url(t), "run/2")["wire_bytes"] == delta
    assert t.json("diff", "--counts", training.url(t), "run/3")["wire_bytes"] == 0
    training.checkpoint(t, "stranger", 9)
    assert t.json("diff", "--counts", "stranger", training.url(t))["wire_bytes"] > anchor


@test("diff with -o, --by or --sort rebuilds a record by itself, below --work, and the delta it writes fits")
def counts_implied(t):
    training.history(t, 1, 2)
    os.mkdir(t.path("scratch"))
    old, new = training.url(t, revision=1), training.url(t, revision=2)
    same_figures(t.json("diff", "--by", "dtype", old, new, "--work", "scratch"), t.json("diff", "--by", "dtype", "run/1",
                                                                                      "run/2"))
    t.good("diff", "--sort", "name", "run/1", new)
    t.good("diff", old, new, "-o", "delta.safetensors", "--work", "scratch")
    t.good("apply", "run/1", "delta.safetensors", "-o", "rebuilt")
    assert t.tree("rebuilt") == t.tree("run/2")
    assert os.listdir(t.path("scratch")) == [] and no_leftovers(t), os.listdir(t.folder)


@test("diff of two records names by digests what changed, was added and was removed, in the order of the words")
def two_records(t):
    training.history(t, 1, 2)
    tiny.write_sharded(t.path("run/3"), {"m-1.safetensors": {"embed": training.weights("embed", 2)},
                                         "m-2.safetensors": {"layers.0": training.weights("layers", 3),
                                                             "other": tiny.ramp(8)}})
    training.push(t, "run/3", "--step", "3")
    first, second, third = (training.url(t, revision=number) for number in (1, 2, 3))
    value = t.json("diff", first, second)
    assert [(row["name"], row["change"]) for row in value["tensors"]] == [("embed", "changed"), ("layers.0", "changed")]
    assert value["base_number"] == 1 and value["number"] == 2 and value["different"] is True, value
    value = t.json("diff", second, third)
    assert [(row["name"], row["change"]) for row in value["tensors"]] == [
        ("other", "added"), ("norm", "removed"), ("layers.0", "changed")], value["tensors"]
    back = t.json("diff", third, second)
    assert [(row["name"], row["change"]) for row in back["tensors"]] == [
        ("norm", "added"), ("other", "removed"), ("layers.0", "changed")], back["tensors"]
    assert t.json("diff", "--exit-code", third, training.url(t))["different"] is False
    assert t.good("diff", "-q", first, third, code=1).out == b""
    text = t.good("diff", second, third).text()
    assert "from record 2 (step 2) to record 3 (step 3)" in text and "removed tensors\n  norm\n" in text, text


@test("diff of records of two histories compares their tensors")
def two_histories(t):
    training.history(t, 1, 2)
    training.history(t, 2, 3, store="other")
    old, same, new = training.url(t, revision=2), training.url(t, "other", 1), training.url(t, "other", 2)
    assert t.json("diff", old, same)["different"] is False
    assert t.json("diff", old, new)["tensors_changed"] == 2
    same_figures(t.json("diff", "--counts", old, new), t.json("diff", "run/2", "run/3"))


@test("diff --counts that fails or is ended by a signal leaves nothing behind")
def counts_fails(t):
    training.history(t, 1, 2)
    new = training.url(t, revision=2)
    t.fails(3, "diff", "--counts", "run/1", training.url(t, revision=7))
    t.fails(3, "diff", "--counts", "missing", new)
    t.fails(3, "diff", "--counts", "run/1", new, "--work", "no/such/folder")
    t.fails(2, "diff", "--counts", "-", new)
    whole = read(training.object_of(t, 2))
    training.flip(training.object_of(t, 2))
    t.fails(4, "diff", "--counts", "run/1", new)
    tiny.write_file(training.object_of(t, 2), whole)
    assert no_leftovers(t)
    for delay in (0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.02):
        with t.popen("diff", "--counts", training.url(t, revision=1), new) as process:
            time.sleep(delay)
            process.terminate()
            process.communicate(timeout=60)
        assert process.returncode in (0, 143, -15), process.returncode
        assert no_leftovers(t), os.listdir(t.folder)


@test("diff names the tensors of a checkpoint that are not those of a record")
def diff_record(t):
    history(t, 1, 2)
    same = t.json("diff", "--exit-code", "run/2", url(t, revision="step:2"))
    assert same["tensors_changed"] == 0 and same["tensors_total"] == 3 and same["number"] == 2, same
    value = t.json("diff", "--exit-code", "run/1", url(t, revision=2), code=1)
    assert value["tensors_changed"] == 2, value
    names = [tensor if isinstance(tensor, str) else tensor["name"] for tensor in value["tensors"]]
    assert sorted(names) == ["embed", "layers.0"], names
    text = t.good("diff", "run/1", url(t)).text()
    assert "embed" in text and "layers.0" in text and "norm" not in text, text
    assert t.good("diff", "-q", "run/1", url(t), code=1).out == b""
    t.fails(3, "diff", "run/1", url(t, revision=7))


@test("diff with a record says in JSON whether they differ")
def diff_says(t):
    history(t, 1, 2)
    assert t.json("diff", "run/2", url(t))["different"] is False
    assert t.json("diff", "run/1", url(t))["different"] is True
