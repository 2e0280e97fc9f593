"""What a case is, and small makers of tensors for them.

A case has a name (good-..., bad-..., unsupported-...), one sentence, and files. Its fields go to cases.json, unless
they have the value given here; `absent` lists files that are too large to be kept, and made again by every run.
"""

import struct
from dataclasses import dataclass, field

from checkpoints import Tensor

# The base of all that are refused, but for anchors, which need none.
COMMON_BASE = "common-base.safetensors"

# The exit statuses of the program that cases expect.
DONE, MALFORMED, WRONG_BASE, REFUSED = 0, 4, 5, 10


@dataclass
class Case:
    name: str
    sentence: str
    delta: str  # path of the delta; all paths are relative to this folder
    base: str = COMMON_BASE  # None for anchors
    result: str = None
    exit: int = DONE
    word: str = ""  # stands in the message
    verify: bool = True  # without the base, verify already gives that exit status
    absent: list = field(default_factory=list)
    files: dict = field(default_factory=dict)  # path -> bytes

    def row(self):
        usual = {"base": COMMON_BASE, "result": None, "exit": DONE, "word": "", "verify": True, "absent": []}
        row = {"name": self.name, "sentence": self.sentence}
        if self.delta not in (f"{self.name}.wdp", f"{self.name}/delta.wdp"):
            row["delta"] = self.delta
        return row | {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}


def u16s(*values):
    return struct.pack("<%dH" % len(values), *values)


def bf16(name, *values):
    """A BF16 tensor of one dimension, by bit patterns."""
    return Tensor(name, "BF16", (len(values),), u16s(*values))


def u8(name, data):
    return Tensor(name, "U8", (len(data),), bytes(data))


def filled(name, dtype, size, shape=None):
    """A tensor with `size` bytes that do not repeat soon."""
    data = bytes((7 * at * at + 13 * at + 5) % 251 for at in range(size))
    return Tensor(name, dtype, shape, data)


def replaced(tensor, changes):
    """The same tensor with bytes changed: {offset: bytes}."""
    data = bytearray(tensor.data)
    for at, piece in changes.items():
        data[at:at + len(piece)] = piece
    return Tensor(tensor.name, tensor.dtype, tensor.shape, bytes(data))
