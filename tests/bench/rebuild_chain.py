#!/usr/bin/env python3
"""rebuild_chain.py CHAIN OUT: writes every step of a chain of bf16 checkpoints in full, OUT/step_NNNNNN.safetensors.

CHAIN holds one full checkpoint, step_NNNNNN.safetensors, and after it step_NNNNNN.delta.safetensors for each further
step: plain deltas with NAME.indices (I32) and NAME.values. It uses nothing of the program under test, so that what it
makes can judge it.
"""
import array
import json
import pathlib
import struct
import sys


def load(path):
    """A safetensors file as (header bytes with their length, entries, data)."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    body = 8 + length
    return content[:body], json.loads(content[8:body]), memoryview(content)[body:]


def piece(entries, data, name):
    begin, end = entries[name]["data_offsets"]
    return data[begin:end]


def main(chain, out):
    steps = sorted(chain.glob("step_*.safetensors"))
    full = [path for path in steps if not path.name.endswith(".delta.safetensors")]
    if len(full) != 1:
        sys.exit(f"rebuild_chain: expected one full step in '{chain}', found {len(full)}")
    out.mkdir(parents=True, exist_ok=True)
    head, entries, data = load(full[0])
    (out / full[0].name).write_bytes(head + bytes(data))
    tensors = {
        name: array.array("H", bytes(piece(entries, data, name)))
        for name in sorted(entries.keys() - {"__metadata__"}, key=lambda name: entries[name]["data_offsets"])
    }
    for path in steps:
        if path in full:
            continue
        _, changes, values = load(path)
        for key in changes:
            if not key.endswith(".indices"):
                continue
            name = key.removesuffix(".indices")
            if entries[name]["dtype"] != "BF16":
                sys.exit(f"rebuild_chain: expected BF16 for '{name}', found {entries[name]['dtype']}")
            weights = tensors[name]
            new = array.array("H", bytes(piece(changes, values, name + ".values")))
            for index, value in zip(array.array("i", bytes(piece(changes, values, key))), new):
                weights[index] = value
        with open(out / path.name.replace(".delta", ""), "wb") as file:
            file.write(head)
            for weights in tensors.values():
                weights.tofile(file)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
