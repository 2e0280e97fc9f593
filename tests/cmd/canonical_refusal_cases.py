"""What wdelta pull refuses of a store of versions, and what is there afterwards."""

import os
import shutil

import tiny
from harness import read, test
from training import checkpoint, expect_current, flip, pull, push, versions
from canonical_store import (INDEX, folder_of, index_of, point_at, publish, refused_pull, run_of, run_of_deltas,
                             write_index)

SHARD = "/model-00000-of-00001.safetensors"


@test("a run that went backwards is refused with 10; --allow-rollback follows it, and what is named is never refused")
def backwards(t):
    run_of(t, 1, 2, 3)
    for folder in ("r", "r2", "place"):
        pull(t, folder)
    pull(t, "both", revision=2)
    pull(t, "both")
    point_at(t, "store/weight_v000002")
    error = refused_pull(t, "r", "run/3", code=10, says="backwards")
    assert (error["expected"], error["found"]) == ("3", "2") and "--allow-rollback" in error["hint"], error
    pull(t, "r", "--allow-rollback")
    expect_current(t, "r", "run/2")
    assert pull(t, "r")["up_to_date"] is True  # this is the run now
    for folder, options in (("place", ["--in-place"]), ("both", [])):
        pull(t, folder, "--allow-rollback", *options)
        expect_current(t, folder, "run/2")
        assert len(versions(t, folder)) == 1
    pull(t, "r2", revision=1)
    expect_current(t, "r2", "run/1")


@test("another run is refused with 10, and --allow-rollback follows it")
def another_run(t):
    run_of(t, 1, 2)
    pull(t, "r")
    for step in (4, 5, 6):
        checkpoint(t, "other/%d" % step, step)
        publish(t, "other/%d" % step, store="new")
    shutil.rmtree(t.path("store"))
    os.rename(t.path("new"), t.path("store"))
    refused_pull(t, "r", "run/2", code=10, says="another history")
    pull(t, "r", "--allow-rollback")
    expect_current(t, "r", "other/6")
    assert pull(t, "r")["up_to_date"] is True


@test("a version that was written anew since it was pulled is refused with 10 as a base, and followed if one says so")
def rewritten(t):
    run_of(t, 1, 2)
    for folder in ("r", "place"):
        pull(t, folder)
    point_at(t, "store/weight_v000001")
    shutil.rmtree(t.path(folder_of(2)))
    for step, base in ((5, "run/1"), (6, "other/5")):
        checkpoint(t, "other/%d" % step, step)
        publish(t, "other/%d" % step, "--base", base)
    os.utime(t.path(folder_of(2) + "/" + INDEX), (1.6e9, 1.6e9))  # another time than that of a moment ago
    refused_pull(t, "r", "run/2", code=10, says="rewritten")
    for folder, options in (("r", []), ("place", ["--in-place"])):
        pull(t, folder, "--allow-rollback", *options)
        expect_current(t, folder, "other/6")


@test("a damaged shard is exit 4 and the folder stays as it was, and once it is mended the pull works")
def damaged_delta(t):
    run_of(t, 1)
    for folder in ("r", "place"):
        pull(t, folder)
    checkpoint(t, "run/2", 2)
    publish(t, "run/2")
    shard = t.path(folder_of(2) + SHARD)
    whole = read(shard)
    for at in (4, 30, -1, -20, -60):
        flip(shard, at)
        for folder, options in (("r", []), ("place", ["--in-place"])):
            refused_pull(t, folder, "run/1", *options, code=4)
        tiny.write_file(shard, whole)
    tiny.write_file(shard, whole[:-7])
    refused_pull(t, "r", "run/1", code=4)
    tiny.write_file(shard, whole)
    for folder, options in (("r", []), ("place", ["--in-place"])):
        assert pull(t, folder, *options)["number"] == 2
        expect_current(t, folder, "run/2")


@test("a damaged shard after versions that began with --base is said to be damaged, not to lack a base")
def damaged_without_whole(t):
    run_of_deltas(t, 1, 2)
    pull(t, "r", "--base", "run/0", revision=1)
    flip(t.path(folder_of(2) + SHARD), -20)
    refused_pull(t, "r", "run/1", code=4, says="SHA-256")
    os.unlink(t.path(folder_of(2) + "/SHA256SUMS"))  # as others write it, where the base might be the wrong one
    refused_pull(t, "r", "run/1", code=5, says="the delta is damaged")
    flip(t.path(folder_of(2) + SHARD), -20)
    pull(t, "r")
    expect_current(t, "r", "run/2")


@test("a damaged file of a whole version is found by SHA256SUMS, exit 4, and nothing is switched")
def damaged_whole(t):
    run_of(t, 1)
    for name in ("/m-1.safetensors", "/config.json", "/tokenizer/vocab.txt", "/" + INDEX):
        flip(t.path(folder_of(1) + name), -3)
        error = pull(t, "r", code=4)["error"]
        assert not os.path.lexists(t.path("r/current")), name
        if name != "/" + INDEX:
            assert name[1:] in error["message"] and error["expected"] != error["found"], error
        flip(t.path(folder_of(1) + name), -3)
    pull(t, "r")
    expect_current(t, "r", "run/1")


@test("a shard or a version that is missing is exit 3 and is named")
def missing(t):
    run_of(t, 1, 2, 3)
    pull(t, "r", revision=1)
    os.rename(t.path(folder_of(3) + SHARD), t.path("aside"))
    refused_pull(t, "r", "run/1", code=3, says="model-00000-of-00001.safetensors")
    os.rename(t.path("aside"), t.path(folder_of(3) + SHARD))
    os.rename(t.path(folder_of(2)), t.path("aside"))
    refused_pull(t, "r", "run/1", code=3, says="000002")
    os.rename(t.path("aside"), t.path(folder_of(2)))
    point_at(t, "store/weight_v000004")
    refused_pull(t, "r", "run/1", code=3, says="000004")
    point_at(t, "store/weight_v000000")
    pull(t, "r4", code=3)
    point_at(t, "store/weight_v000003")
    pull(t, "r")
    expect_current(t, "r", "run/3")


@test("an index that leads elsewhere is exit 10, and one that contradicts itself or its place is exit 4")
def hostile_index(t):
    run_of(t, 1, 2)
    pull(t, "r", revision=1)
    good = index_of(t, 2)
    os.unlink(t.path(folder_of(2) + "/SHA256SUMS"))  # else that would tell
    for name in ("../weight_v000001/m-1.safetensors", "/etc/passwd", "..", "a/b.safetensors"):
        write_index(t, 2, {**good, "weight_map": {"embed": name}})
        refused_pull(t, "r", "run/1", code=10)
    for change in ({"version": "000003"}, {"version": "x"}, {"base_version": "000002"}, {"base_version": "000005"},
                   {"base_version": ""}, {"base_version": "-1"}):
        write_index(t, 2, {**good, "metadata": {**good["metadata"], **change}})
        refused_pull(t, "r", "run/1", code=4, says="000002")
    for text in ("", "{", "[]", '{"metadata": {"delta_encoding": "xor"}}', '{"weight_map": []}', "\xff"):
        tiny.write_file(t.path(folder_of(2) + "/" + INDEX), text.encode("latin-1"))
        refused_pull(t, "r", "run/1", code=4)
    write_index(t, 2, good)
    pull(t, "r")
    expect_current(t, "r", "run/2")


@test("a pointer that cannot be read is exit 4, and is not taken for an empty store")
def unreadable_pointer(t):
    run_of(t, 1)
    pull(t, "r")
    for text in ("", "weight_v", "store/", "store/weight_v-1", "store/weight_v9999999999999", "\0" * 10, "x" * 5000):
        point_at(t, text)
        refused_pull(t, "r", "run/1", code=4, says="names no version")
    point_at(t, "\n store/weight_v000001 \n")
    assert pull(t, "r")["up_to_date"] is True


@test("a native history and a store of versions do not follow each other in one folder, unless one says so")
def two_kinds(t):
    run_of(t, 1, 2)
    pull(t, "r")
    push(t, "run/1", store="native")
    refused_pull(t, "r", "run/2", code=10, store="native", says="another history")
    pull(t, "r", "--allow-rollback", store="native")
    expect_current(t, "r", "run/1")
    refused_pull(t, "r", "run/1", code=10)
    pull(t, "r", "--allow-rollback")
    expect_current(t, "r", "run/2")
