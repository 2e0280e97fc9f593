"""Checkpoints in memory: safetensors files made and read by hand, and the digests that identify a checkpoint.

Written from wdelta-format(5) alone, as everything in this folder.
"""

import hashlib
import json
import struct
from dataclasses import dataclass, field

from xxh3 import xxh3_128

BLOCK = 1 << 20

# In the order of their numbers in a pack.
DTYPES = ["BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ",
          "F8_E5M2FNUZ", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"]
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BF16": 16, "C64": 64}


def bits(dtype):
    if dtype in BITS:
        return BITS[dtype]
    if dtype.startswith("F8"):
        return 8
    return int(dtype.lstrip("FUI"))


def width(dtype):
    """Bytes of an element as the codecs see it."""
    return max(1, bits(dtype) // 8)


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(string):
    data = string.encode(errors="surrogateescape")  # some cases need a name that is not UTF-8
    return varint(len(data)) + data


def u64(number):
    return struct.pack("<Q", number)


def short(data):
    return u64(xxh3_128(bytes(data))[1])


def short32(data):
    return short(data)[:4]


def elements(data, w):
    return [int.from_bytes(data[at:at + w], "little") for at in range(0, len(data), w)]


def sha256(data):
    return hashlib.sha256(data).digest()


@dataclass
class Tensor:
    name: str
    dtype: str
    shape: tuple
    data: bytes

    def blocks(self):
        return [self.data[at:at + BLOCK] for at in range(0, len(self.data), BLOCK)]

    def elements(self):
        return len(self.data) // width(self.dtype)

    def same_form(self, other):
        return (self.dtype, tuple(self.shape)) == (other.dtype, tuple(other.shape))

    def form(self):
        return bytes([DTYPES.index(self.dtype)]) + varint(len(self.shape)) + b"".join(map(varint, self.shape))

    def digest(self):
        parts = [text("wdelta tensor 1"), text(self.name), text(self.dtype), varint(len(self.shape))]
        parts += map(varint, self.shape)
        parts += [struct.pack(">QQ", *xxh3_128(block)) for block in self.blocks()]
        return sha256(b"".join(parts))


@dataclass
class Shard:
    """One safetensors file. Its tensors are in the order of their data."""
    name: str
    header: bytes
    tensors: list

    def data(self):
        return b"".join(tensor.data for tensor in self.tensors)


@dataclass
class Checkpoint:
    shards: list
    companions: dict = field(default_factory=dict)
    single: bool = False

    def __post_init__(self):
        self.shards = sorted(self.shards, key=lambda shard: shard.name.encode())
        self.companions = dict(sorted(self.companions.items(), key=lambda item: item[0].encode()))

    def tensors(self):
        found = [tensor for shard in self.shards for tensor in shard.tensors]
        return sorted(found, key=lambda tensor: tensor.name.encode())

    def fingerprint(self):
        tensors = self.tensors()
        return sha256(text("wdelta fingerprint 1") + varint(len(tensors)) +
                      b"".join(tensor.digest() for tensor in tensors))

    def layout_digest(self):
        out = text("wdelta layout 1") + varint(len(self.shards))
        for shard in self.shards:
            out += text(shard.name) + varint(len(shard.header)) + sha256(shard.header)
        out += varint(len(self.companions))
        for path, content in self.companions.items():
            out += text(path) + varint(len(content)) + sha256(content)
        return sha256(out)

    def state(self):
        return sha256(text("wdelta state 1") + self.fingerprint() + self.layout_digest())

    def parts(self):
        """(name, bytes) of what is numbered as files in a pack: headers, then companions."""
        return [(shard.name, shard.header) for shard in self.shards] + list(self.companions.items())

    def files(self, stem):
        """The files as they lie on disk: STEM.safetensors, or everything below STEM/."""
        if self.single:
            return {stem + ".safetensors": self.shards[0].header + self.shards[0].data()}
        out = {f"{stem}/{shard.name}": shard.header + shard.data() for shard in self.shards}
        return out | {f"{stem}/{path}": content for path, content in self.companions.items()}


def header_of(tensors, metadata=None):
    """The header of a safetensors file, padded with spaces to a multiple of 8."""
    fields, at = {}, 0
    if metadata is not None:
        fields["__metadata__"] = metadata
    for tensor in tensors:
        end = at + len(tensor.data)
        fields[tensor.name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    code = json.dumps(fields, separators=(",", ":")).encode()
    code += b" " * (-len(code) % 8)
    return u64(len(code)) + code


def shard(name, tensors, metadata=None):
    for tensor in tensors:
        count = 1
        for dimension in tensor.shape:
            count *= dimension
        assert count * bits(tensor.dtype) == 8 * len(tensor.data), tensor.name
    return Shard(name, header_of(tensors, metadata), list(tensors))


def single(*tensors, metadata=None):
    """A checkpoint that is one file."""
    return Checkpoint([shard("model.safetensors", tensors, metadata)], single=True)


def parse_header(data):
    """(header bytes, metadata, [(begin, end, name, dtype, shape)] by offset) of a safetensors file or its header."""
    size = 8 + struct.unpack_from("<Q", data)[0]
    fields = json.loads(data[8:size])
    metadata = fields.pop("__metadata__", None) or {}
    rows = [(*entry["data_offsets"], name, entry["dtype"], tuple(entry["shape"])) for name, entry in fields.items()]
    return data[:size], metadata, sorted(rows)


def parse_shard(name, data):
    header, _, rows = parse_header(data)
    body = data[len(header):]
    return Shard(name, header, [Tensor(row[2], row[3], row[4], body[row[0]:row[1]]) for row in rows])
