#!/usr/bin/env python3
"""The program and the official safetensors package read what the other wrote: safetensors_package.py PROGRAM [FILTER].

Runs in the virtual environment that tests/interop/run makes.
"""

import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # nothing is left in the source tree
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("tests/cmd", "testdata/formats", "testdata/vectors")]

import numpy  # noqa: E402
import package  # noqa: E402
import safetensors.numpy  # noqa: E402
from frames import frame, xor, xxh3_text  # noqa: E402
from harness import test  # noqa: E402
from run import run_registered  # noqa: E402


def write_every_dtype(scratch, metadata=None):
    before, after = package.every_dtype()
    package.write(scratch.path("a.safetensors"), before, metadata)
    package.write(scratch.path("b.safetensors"), after, metadata)
    return before, after


def bf16_pair(scratch, count=3000):
    """Two checkpoints with one BF16 tensor `w` and one `same`; the old and new bits of `w`."""
    old = numpy.arange(count, dtype="<u2") * 7 + 0x3C00
    new = old.copy()
    new[[0, 1, 70, count - 1]] = 0x3F80, 0x7FC1, 0x8000, 0
    for path, bits in (("a.safetensors", old), ("b.safetensors", new)):
        package.write(scratch.path(path), {"same": ("bfloat16", (8,), bytes(16)),
                                           "w": ("bfloat16", (count // 10, 10), bits.tobytes())})
    return old, new


@test("the program takes every dtype that the package writes, and gives back the same file")
def _(scratch):
    _, after = write_every_dtype(scratch, {"format": "pt"})
    scratch.good("pack", "a.safetensors", "b.safetensors", "-o", "x.wdp")
    scratch.good("apply", "a.safetensors", "x.wdp", "-o", "out.safetensors")
    assert scratch.tree("out.safetensors") == scratch.tree("b.safetensors")
    found = package.read(scratch.path("out.safetensors"))
    assert {name: one[2] for name, one in found.items()} == {name: one[2] for name, one in after.items()}
    assert {name: one[0] for name, one in found.items()} == {
        "t." + dtype: name for dtype, (name, _) in package.DTYPES.items()}
    assert package.metadata(scratch.path("out.safetensors")) == {"format": "pt"}


@test("the package reads the values of every dtype from a checkpoint changed in place")
def _(scratch):
    _, after = write_every_dtype(scratch)
    scratch.good("diff", "a.safetensors", "b.safetensors", "-o", "d.safetensors")
    scratch.good("apply", "--in-place", "a.safetensors", "d.safetensors")
    found = package.read(scratch.path("a.safetensors"))
    assert {name: one[2] for name, one in found.items()} == {name: one[2] for name, one in after.items()}


@test("the package opens a plain delta, and numpy rebuilds every tensor with it")
def _(scratch):
    write_every_dtype(scratch)
    scratch.good("diff", "a.safetensors", "b.safetensors", "-o", "d.safetensors")
    delta, old, new = (package.read(scratch.path(name + ".safetensors")) for name in "dab")
    as_bytes = json.loads(package.metadata(scratch.path("d.safetensors"))["wdelta.byte_tensors"])
    assert as_bytes == ["t.float4_e2m1fn_x2"], as_bytes
    for name, (dtype, _, data) in old.items():
        index_dtype, shape, positions = delta[name + ".indices"]
        positions = numpy.frombuffer(positions, "<i4")
        value_dtype, value_shape, values = delta[name + ".values"]
        assert index_dtype == "I32" and shape == value_shape == positions.shape, (name, shape, value_shape)
        assert value_dtype == ("U8" if name in as_bytes else dtype), (name, value_dtype)
        width = len(values) // len(positions)
        rebuilt = numpy.frombuffer(data, f"V{width}").copy()
        changed = rebuilt != numpy.frombuffer(new[name][2], f"V{width}")
        assert numpy.array_equal(numpy.flatnonzero(changed), positions), (name, positions)
        rebuilt[positions] = numpy.frombuffer(values, f"V{width}")
        assert rebuilt.tobytes() == new[name][2], name


@test("safe_open gives the lists of a plain delta as numpy arrays")
def _(scratch):
    old = {name: numpy.arange(40).astype(name).reshape(8, 5) for name in package.NUMPY}
    new = {name: array.copy() for name, array in old.items()}
    for array in new.values():
        array[0, 1] = not array[0, 1]
        array[7, 4] = not array[7, 4]
    safetensors.numpy.save_file(old, scratch.path("a.safetensors"))
    safetensors.numpy.save_file(new, scratch.path("b.safetensors"))
    scratch.good("diff", "a.safetensors", "b.safetensors", "-o", "d.safetensors")
    with safetensors.safe_open(scratch.path("d.safetensors"), framework="numpy") as delta:
        metadata = delta.metadata()
        assert (metadata["format"], metadata["sparse"]) == ("sparse_weight_patch", "True"), metadata
        assert sorted(json.loads(metadata["changed_params"])) == sorted(old), metadata
        for name, array in old.items():
            positions, values = delta.get_tensor(name + ".indices"), delta.get_tensor(name + ".values")
            assert values.dtype == array.dtype and positions.dtype == numpy.int32, name
            flat = array.reshape(-1).copy()
            flat[positions] = values
            assert package.same(flat.reshape(8, 5), new[name]), name


@test("the program takes scalars, empty tensors and many dimensions as numpy saves them")
def _(scratch):
    old = {"scalar": numpy.float32(1.5), "empty": numpy.zeros((0, 3), numpy.float16), "line": numpy.arange(5),
           "deep": numpy.arange(720, dtype=numpy.int16).reshape(1, 2, 3, 4, 5, 6), "é \"x\"/\n": numpy.ones(3)}
    old = {name: numpy.asarray(array) for name, array in old.items()}
    new = {name: array.copy() for name, array in old.items()} | {"scalar": numpy.asarray(numpy.float32(-2))}
    new["deep"][0, 1, 2, 3, 4, 5] = -1
    safetensors.numpy.save_file(old, scratch.path("a.safetensors"), {"made by": "numpy"})
    safetensors.numpy.save_file(new, scratch.path("b.safetensors"), {"made by": "numpy"})
    for command in ("pack", "diff"):
        scratch.good(command, "a.safetensors", "b.safetensors", "-o", command + ".delta")
        scratch.good("apply", "a.safetensors", command + ".delta", "-o", command + ".out")
        found = package.arrays(scratch.path(command + ".out"))
        assert set(found) == set(new)
        for name, array in new.items():
            assert package.same(found[name], array), name


@test("the package opens every shard of a checkpoint that was rebuilt from a folder")
def _(scratch):
    for folder, step in (("a", 0), ("b", 1)):
        os.mkdir(scratch.path(folder))
        weight_map = {}
        for number in range(2):
            file = "model-%05d-of-00002.safetensors" % (number + 1)
            tensors = {f"layers.{number}.{part}": numpy.arange(600, dtype=dtype) for part, dtype in
                       (("weight", numpy.float32), ("bias", numpy.float16))}
            tensors[f"layers.{number}.weight"][17 * number] += step
            safetensors.numpy.save_file(tensors, scratch.path(f"{folder}/{file}"), {"format": "np"})
            weight_map |= dict.fromkeys(tensors, file)
        with open(scratch.path(folder + "/model.safetensors.index.json"), "w") as index:
            json.dump({"metadata": {"total_size": 7200}, "weight_map": weight_map}, index)
    scratch.good("pack", "a", "b", "-o", "x.wdp")
    scratch.good("apply", "a", "x.wdp", "-o", "out")
    with open(scratch.path("out/model.safetensors.index.json")) as index:
        weight_map = json.load(index)["weight_map"]
    for name, file in weight_map.items():
        assert package.same(package.arrays(scratch.path("out/" + file))[name],
                            package.arrays(scratch.path("b/" + file))[name]), name


# ---- formats of other systems ----

def decoded(encoding, dtype, data):
    """Positions from a list of a TRL patch."""
    if encoding != "gap_delta":
        assert dtype == "I32", dtype
        return numpy.frombuffer(data, "<i4")
    return numpy.cumsum(numpy.frombuffer(data, {"U16": "<u2", "U32": "<u4"}[dtype]).astype("i8") + 1) - 1


@test("the package opens a TRL patch that the program wrote, and numpy rebuilds the tensor with it")
def _(scratch):
    old, new = bf16_pair(scratch)
    scratch.good("pack", "a.safetensors", "b.safetensors", "--format", "trl", "-o", "patch.safetensors")
    patch = scratch.path("patch.safetensors")
    found, metadata = package.read(patch), package.metadata(patch)
    assert (metadata["format"], metadata["sparse"]) == ("sparse_weight_patch", "True"), metadata
    encoding = metadata.get("encoding")
    positions_end, values_end = (".idx", ".val") if encoding else (".indices", ".values")
    assert set(found) == {"w" + positions_end, "w" + values_end}, set(found)
    dtype, _, positions = found["w" + positions_end]
    assert found["w" + values_end][0] == "BF16"
    old[decoded(encoding, dtype, positions)] = numpy.frombuffer(found["w" + values_end][2], "<u2")
    assert package.same(old, new)


@test("the program applies TRL patches that the package wrote")
def _(scratch):
    old, new = bf16_pair(scratch)
    positions = numpy.flatnonzero(old != new)
    gaps = numpy.diff(positions, prepend=-1) - 1
    values = ("bfloat16", positions.shape, new[positions].tobytes())
    common = {"format": "sparse_weight_patch", "version": "1", "sparse": "True", "model_version": "1",
              "num_changed_params": "1", "total_changed_elements": str(len(positions)), "total_elements": "3008",
              "sparsity": repr(1 - len(positions) / 3008)}
    indices = ("int32", positions.shape, positions.astype("<i4").tobytes())
    for number, (lists, more) in enumerate((
            ({"w.indices": indices, "w.values": values}, {"changed_params": '["w"]'}),
            ({"w.idx": indices, "w.val": values}, {"encoding": "raw"}),
            ({"w.idx": ("uint16", gaps.shape, gaps.astype("<u2").tobytes()), "w.val": values},
             {"encoding": "gap_delta"}),
            ({"w.idx": ("uint32", gaps.shape, gaps.astype("<u4").tobytes()), "w.val": values},
             {"encoding": "gap_delta"}))):
        package.write(scratch.path(f"patch-{number}"), lists, common | more)
        scratch.good("apply", "a.safetensors", f"patch-{number}", "-o", f"out-{number}")
        assert scratch.tree(f"out-{number}") == scratch.tree("b.safetensors"), more


@test("the program applies an anchor of TRL that the package wrote")
def _(scratch):
    bf16_pair(scratch)
    tensors = {name: ("bfloat16", shape, data)
               for name, (_, shape, data) in package.read(scratch.path("b.safetensors")).items()}
    package.write(scratch.path("anchor"), tensors, {
        "format": "sparse_weight_patch", "version": "1", "sparse": "False", "model_version": "1",
        "num_changed_params": "2", "total_changed_elements": "3008", "total_elements": "3008", "sparsity": "0.0"})
    scratch.good("apply", "a.safetensors", "anchor", "-o", "out")
    assert scratch.tree("out") == scratch.tree("b.safetensors")


@test("the package opens the shards of canonical and SkyRL deltas that the program wrote")
def _(scratch):
    _, new = bf16_pair(scratch)
    scratch.good("pack", "a.safetensors", "b.safetensors", "--format", "canonical", "-o", "canonical")
    scratch.good("pack", "a.safetensors", "b.safetensors", "--format", "skyrl", "-o", "skyrl")
    canonical = scratch.path("canonical/model-00000-of-00001.safetensors")
    payload = scratch.path("skyrl/delta-rank00000-file000000.safetensors")
    for path in (canonical, payload):
        found = package.arrays(path)
        assert set(found) == {"w"} and found["w"].dtype == numpy.uint8 and found["w"].ndim == 1, found
        assert found["w"][:4].tobytes().hex() == "28b52ffd"
    assert package.metadata(canonical) == {"w": xxh3_text(new.tobytes())}
    assert not package.metadata(payload)


@test("the program applies a canonical delta whose shard the package wrote")
def _(scratch):
    old, new = bf16_pair(scratch)
    os.mkdir(scratch.path("delta"))
    safetensors.numpy.save_file({"w": numpy.frombuffer(frame(xor(old.tobytes(), new.tobytes())), numpy.uint8)},
                                scratch.path("delta/model-00000-of-00001.safetensors"), {"w": xxh3_text(new.tobytes())})
    with open(scratch.path("delta/model.safetensors.index.json"), "w") as index:
        json.dump({"metadata": {"version": "000001", "base_version": "000000", "delta_encoding": "xor",
                                "compression_format": "zstd", "checksum_format": "xxh3-128"},
                   "weight_map": {"w": "model-00000-of-00001.safetensors"}}, index)
    scratch.good("apply", "a.safetensors", "delta", "-o", "out")
    assert scratch.tree("out") == scratch.tree("b.safetensors")


if __name__ == "__main__":
    run_registered(__doc__)
