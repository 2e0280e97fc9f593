"""What a vector is, and the checkpoints that vectors share.

A vector that has to be applied says what comes out; one that has to be refused says with which exit status. Its
sentence is true when the program does so.
"""

import json
from dataclasses import dataclass

from checkpoints import BLOCK, DTYPES, Checkpoint, Shard, Tensor, bits, shard, single

MALFORMED, WRONG_BASE, REFUSED, MISSING = 4, 5, 10, 3
UNKNOWN = (MALFORMED, REFUSED)  # a word that no description has: a fault, or something newer

VECTORS = []


@dataclass
class Vector:
    sentence: str
    base: Checkpoint
    deltas: list  # each {path: bytes}; a delta that is one file has the path ''
    result: Checkpoint = None
    exits: tuple = (0,)
    word: str = ""  # stands in the message
    verify: bool = False  # of one to be refused: verify refuses it too, without the base
    warns: bool = False  # the base is not proved, and the program says so; None: it may say so
    again: bool = True  # it can be applied to its own result


class Folder:
    """A delta whose files are given."""

    def __init__(self, files):
        self.made = files

    def files(self):
        return self.made


def good(sentence, base, result, *deltas, **options):
    VECTORS.append(Vector(sentence, base, [delta.files() for delta in deltas], result, **options))


def bad(sentence, exits, *deltas, base=None, **options):
    """Deltas may be given as their files too."""
    files = [delta if isinstance(delta, dict) else delta.files() for delta in deltas]
    exits = exits if isinstance(exits, tuple) else (exits,)
    VECTORS.append(Vector(sentence, base or EXAMPLE, files, exits=exits, **options))


def edited(checkpoint, edits):
    """The same checkpoint with other bytes in some tensors: {name: {offset: bytes}}."""
    def edit(tensor):
        data = bytearray(tensor.data)
        for at, piece in edits.get(tensor.name, {}).items():
            data[at:at + len(piece)] = piece
        assert len(data) == len(tensor.data)
        return Tensor(tensor.name, tensor.dtype, tensor.shape, bytes(data))

    assert set(edits) <= {tensor.name for tensor in checkpoint.tensors()}
    shards = [Shard(one.name, one.header, [edit(tensor) for tensor in one.tensors]) for one in checkpoint.shards]
    return Checkpoint(shards, checkpoint.companions, checkpoint.single)


def flipped(checkpoint, places, width=2):
    """The lowest bit of some elements is flipped: {name: [element]}."""
    old = {tensor.name: tensor.data for tensor in checkpoint.tensors()}
    return edited(checkpoint, {name: {at * width: bytes([old[name][at * width] ^ 1]) for at in elements}
                               for name, elements in places.items()})


def filled(name, dtype, *shape, seed=5):
    """A tensor with bytes that do not repeat soon."""
    size = bits(dtype)
    for dimension in shape:
        size *= dimension
    size //= 8
    if size > BLOCK:
        piece = bytes((at * at + seed * at >> 3) % 251 for at in range(65537))
        data = (piece * (size // len(piece) + 1))[:size]
    else:
        data = bytes((7 * at * at + 13 * at + seed) % 251 for at in range(size))
    if dtype == "BOOL":
        data = bytes(byte & 1 for byte in data)
    if dtype in ("BF16", "F16", "F32"):  # small numbers, none of which is odd
        width = bits(dtype) // 8
        data = b"".join(data[at:at + width - 1] + b"\x3b" for at in range(0, size, width))
    return Tensor(name, dtype, shape, data)


# ---- the worked example of the descriptions ----

EXAMPLE = single(Tensor("w", "BF16", (2, 4), bytes.fromhex("803f") * 8))
EXAMPLE_RESULT = edited(EXAMPLE, {"w": {2: bytes.fromhex("813f"), 12: bytes.fromhex("80bf")}})
EXAMPLE_FRAME = bytes.fromhex("28b52ffd20106d000038000001008000000100052002")
OTHER = edited(EXAMPLE, {"w": {4: b"\x82"}})  # not the base of the example

# ---- a small model: two shards, BF16, with files beside them ----

EMBED, LAYER_0, LAYER_1, NORM, HEAD = ("model.embed_tokens.weight", "model.layers.0.mlp.weight",
                                       "model.layers.1.mlp.weight", "model.norm.weight", "lm_head.weight")
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = {"metadata": {"total_size": 2256}, "weight_map": {EMBED: FIRST, LAYER_0: FIRST, LAYER_1: SECOND, NORM: SECOND,
                                                          HEAD: SECOND}}
MODEL = Checkpoint(
    [shard(FIRST, [filled(EMBED, "BF16", 6, 50), filled(LAYER_0, "BF16", 16, 16)], {"format": "pt"}),
     shard(SECOND, [filled(LAYER_1, "BF16", 4, 8, 8), filled(NORM, "BF16", 16), filled(HEAD, "BF16", 6, 50)])],
    {"config.json": b'{"hidden_size": 50}\n', "model.safetensors.index.json": json.dumps(INDEX, indent=2).encode()})
MODEL_RESULT = flipped(MODEL, {EMBED: [0, 7, 8, 299], LAYER_1: [255], NORM: [0, 1, 15]})
MODEL_NEXT = flipped(MODEL_RESULT, {EMBED: [7, 9], LAYER_0: range(256)})  # two steps after MODEL

# ---- one tensor of three blocks: changes on both sides of their borders, and in the middle of each ----

IN_BLOCK = BLOCK // 2  # elements
LARGE = single(filled("big", "BF16", 1024, 1026), filled("small", "BF16", 8))
LARGE_RESULT = flipped(LARGE, {"big": [0, 3, IN_BLOCK - 1, IN_BLOCK, IN_BLOCK * 3 // 2, 2 * IN_BLOCK - 1, 2 * IN_BLOCK,
                                       1024 * 1026 - 1]})

# ---- every dtype ----

EVERY = single(*(filled("t." + dtype, dtype, 8, seed=number) for number, dtype in enumerate(DTYPES)))
EVERY_RESULT = edited(EVERY, {tensor.name: {0: bytes([tensor.data[0] ^ 1]),
                                            len(tensor.data) - 1: bytes([tensor.data[-1] ^ 1])}
                              for tensor in EVERY.tensors()})
