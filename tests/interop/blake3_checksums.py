#!/usr/bin/env python3
"""Canonical deltas with checksums of the blake3 package: blake3_checksums.py PROGRAM [FILTER].

PROGRAM either has libblake3, and then has to agree with the package, or is without it, and then has to say so. Runs in
the virtual environment that tests/interop/run makes.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing is left in the source tree
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("tests/cmd", "testdata/formats", "testdata/vectors")]

import blake3  # noqa: E402
import canonical  # noqa: E402
import numpy  # noqa: E402
import package  # noqa: E402
import safetensors.numpy  # noqa: E402
from frames import frame  # noqa: E402
from harness import test  # noqa: E402
from run import run_registered  # noqa: E402

SHARD = "model-00000-of-00001.safetensors"
COUNTS = (1, 512, 513, 100_003)  # elements: less than a chunk of BLAKE3, one, and trees


def write_pair(scratch):
    """Checkpoints a and b; the old and new bytes of each tensor that changed."""
    rng = numpy.random.default_rng(1)
    pairs = {}
    for count in COUNTS:
        old = rng.integers(0, 1 << 16, count, dtype="<u2")
        new = old.copy()
        new[-1] ^= 1
        pairs[f"w{count}"] = (old.tobytes(), new.tobytes())
    for path, side in (("a.safetensors", 0), ("b.safetensors", 1)):
        package.write(scratch.path(path), {"same": ("bfloat16", (8,), bytes(16))} | {
            name: ("bfloat16", (len(pair[side]) // 2,), pair[side]) for name, pair in pairs.items()})
    return pairs


def write_delta(scratch, name, pairs, encoding, digest=lambda data: blake3.blake3(data).hexdigest()):
    os.mkdir(scratch.path(name))
    frames = {tensor: numpy.frombuffer(frame(canonical.CONTENTS[encoding](old, new)), numpy.uint8)
              for tensor, (old, new) in pairs.items()}
    safetensors.numpy.save_file(frames, scratch.path(f"{name}/{SHARD}"),
                                {tensor: digest(new) for tensor, (_, new) in pairs.items()})
    with open(scratch.path(f"{name}/{canonical.INDEX}"), "w") as index:
        metadata = dict(zip(canonical.METADATA_KEYS, ("000001", "000000", encoding, "zstd", "blake3")))
        json.dump({"metadata": metadata, "weight_map": dict.fromkeys(pairs, SHARD)}, index)


def has_library(program):
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return ", blake3 " in said


if len(sys.argv) > 1 and has_library(sys.argv[1]):
    @test("deltas with BLAKE3 checksums are applied, and applied again without a change")
    def _(scratch):
        pairs = write_pair(scratch)
        for encoding in canonical.CONTENTS:
            write_delta(scratch, encoding, pairs, encoding)
            scratch.good("verify", "a.safetensors", encoding)
            out, again = f"{encoding}.safetensors", f"{encoding}-again.safetensors"
            scratch.good("apply", "a.safetensors", encoding, "-o", out)
            assert scratch.tree(out) == scratch.tree("b.safetensors"), encoding
            scratch.good("apply", out, encoding, "-o", again)
            assert scratch.tree(again) == scratch.tree("b.safetensors"), encoding

    @test("a delta whose BLAKE3 checksums are of other bytes changes nothing")
    def _(scratch):
        pairs = write_pair(scratch)
        write_delta(scratch, "wrong", pairs, "xor", lambda data: blake3.blake3(data + b"x").hexdigest())
        scratch.fails(5, "apply", "--in-place", "a.safetensors", "wrong")
        write_delta(scratch, "short", pairs, "xor", lambda data: blake3.blake3(data).hexdigest()[:32])
        scratch.fails(4, "apply", "--in-place", "a.safetensors", "short")
else:
    @test("a delta with BLAKE3 checksums is refused by a program that is without them, which says what is missing")
    def _(scratch):
        write_delta(scratch, "delta", write_pair(scratch), "xor")
        scratch.fails(10, "apply", "a.safetensors", "delta", "-o", "out.safetensors", says="libblake3 is installed")


if __name__ == "__main__":
    run_registered(__doc__)
