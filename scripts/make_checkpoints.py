#!/usr/bin/env python3
"""Writes small checkpoints that look like one step of training apart, each from the next: make_checkpoints.py FOLDER...

Each is a folder with two BF16 safetensors shards, their index, and config.json. Small weights change more often than
large ones, nearly always by one step of the bit pattern, about one in a hundred in all; as optimizers do it.
"""

import array
import json
import pathlib
import random
import struct
import sys

HIDDEN, LAYERS, WORDS = 128, 4, 1000


def shapes():
    yield "model.embed_tokens.weight", (WORDS, HIDDEN)
    for layer in range(LAYERS):
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            yield f"model.layers.{layer}.self_attn.{name}.weight", (HIDDEN, HIDDEN)
        yield f"model.layers.{layer}.mlp.up_proj.weight", (4 * HIDDEN, HIDDEN)
        yield f"model.layers.{layer}.input_layernorm.weight", (HIDDEN,)
    yield "model.norm.weight", (HIDDEN,)


def bfloat16(values):
    """The upper halves of the float32 patterns, as unsigned 16-bit numbers."""
    patterns = array.array("I", array.array("f", values).tobytes())
    return array.array("H", (pattern >> 16 for pattern in patterns))


def train(weights, rng):
    """One step: a chance of change that halves with each octave of |w|."""
    new = array.array("H", weights)
    for at, pattern in enumerate(weights):
        exponent = pattern >> 7 & 0xFF
        if rng.random() < 0.01 * 2.0 ** (118 - exponent):
            new[at] = pattern + rng.choice((-1, 1)) if pattern & 0x7FFF else pattern + 1
    return new


def write_checkpoint(folder, tensors):
    folder.mkdir(parents=True)
    names = list(tensors)
    weight_map = {}
    for number, part in enumerate((names[: len(names) // 2], names[len(names) // 2 :]), 1):
        shard = f"model-{number:05}-of-00002.safetensors"
        header, data = {"__metadata__": {"format": "pt"}}, b""
        for name in part:
            shape, weights = tensors[name]
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + 2 * len(weights)]}
            data += weights.tobytes()
            weight_map[name] = shard
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        (folder / shard).write_bytes(struct.pack("<Q", len(text)) + text + data)
    index = {"metadata": {"total_size": sum(2 * len(w) for _, w in tensors.values())}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    config = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": WORDS, "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rng = random.Random(1)
    tensors = {}
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        tensors[name] = shape, bfloat16(rng.gauss(0.0, 0.02) for _ in range(count))
    for folder in sys.argv[1:]:
        write_checkpoint(pathlib.Path(folder), tensors)
        tensors = {name: (shape, train(weights, rng)) for name, (shape, weights) in tensors.items()}


if __name__ == "__main__":
    main()
