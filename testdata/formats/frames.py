"""Zstandard frames by hand, and what changed between two tensors.

A frame made here states the size of its content, and has only raw and RLE blocks: every reader of Zstandard has to take
it, and it needs no library.
"""

import re
import struct
import zlib

from xxh3 import xxh3_128

MAGIC = bytes.fromhex("28b52ffd")
BLOCK_LIMIT = 128 << 10  # no block of a frame has more content
WINDOW = 0x48  # the descriptor of 512 KiB, which compressors take for large content


def frame(content, stated=None):
    """One frame of a single segment. `stated` is the content size in its header, if it is to lie."""
    return MAGIC + size_field(len(content) if stated is None else stated) + blocks(content)


def windowed(content, stated=None):
    """One frame that has a window and may be read piece by piece, with its content size in 8 bytes."""
    return MAGIC + struct.pack("<BBQ", 0xC0, WINDOW, len(content) if stated is None else stated) + blocks(content)


def unsized(content):
    """The same, but it does not state its content size."""
    return MAGIC + struct.pack("<BB", 0, WINDOW) + blocks(content)


def size_field(size):
    """The descriptor of a single segment without checksum, and the content size."""
    if size < 256:
        return struct.pack("<BB", 0x20, size)
    if size < 65536 + 256:
        return struct.pack("<BH", 0x60, size - 256)
    return struct.pack("<BI", 0xA0, size)


def bomb(content, zeroes=1 << 30):
    """A short frame of this content and very many zeroes behind it, in RLE blocks."""
    count = zeroes // BLOCK_LIMIT
    begin = struct.pack("<I", len(content) << 3)[:3] + content
    block = struct.pack("<I", BLOCK_LIMIT << 3 | 2)[:3] + b"\0"
    return (windowed(b"", len(content) + count * BLOCK_LIMIT)[:-3] + begin + block * (count - 1)
            + bytes([block[0] | 1]) + block[1:])


def deep(levels=100000):
    """JSON that nests too deep for anything that recurses."""
    return b"[" * levels + b"]" * levels


def blocks(content):
    pieces = [content[at:at + BLOCK_LIMIT] for at in range(0, len(content), BLOCK_LIMIT)] or [b""]
    out = []
    for number, piece in enumerate(pieces):
        same = len(piece) > 1 and piece == piece[:1] * len(piece)
        head = len(piece) << 3 | same << 1 | (number == len(pieces) - 1)
        out.append(struct.pack("<I", head)[:3] + (piece[:1] if same else piece))
    return b"".join(out)


def frame_facts(data):
    """(content size or None, window log, dictionary id or 0) that the header of a frame states."""
    assert data[:4] == MAGIC, "not a Zstandard frame"
    descriptor, at = data[4], 5
    single, size_flag = descriptor >> 5 & 1, descriptor >> 6
    window = 0
    if not single:
        exponent, mantissa = data[at] >> 3, data[at] & 7
        window = (1 << 10 + exponent) + (1 << 10 + exponent >> 3) * mantissa
        at += 1
    width = (0, 1, 2, 4)[descriptor & 3]
    dictionary = int.from_bytes(data[at:at + width], "little")
    at += width
    if not single and not size_flag:
        return None, (window - 1).bit_length(), dictionary
    width = (1, 2, 4, 8)[size_flag]
    size = int.from_bytes(data[at:at + width], "little") + (256 if size_flag == 1 else 0)
    return size, (max(window, size if single else 0, 1) - 1).bit_length(), dictionary


# ---- differences ----

def xor(old, new):
    return (int.from_bytes(old, "little") ^ int.from_bytes(new, "little")).to_bytes(len(old), "little")


def changed_bytes(old, new):
    """Positions of the bytes that differ, rising."""
    return [found.start() for found in re.finditer(rb"[^\0]", xor(old, new), re.DOTALL)]


def changed_elements(old, new, width):
    """Positions of the elements of `width` bytes that differ, rising."""
    return list(dict.fromkeys(at // width for at in changed_bytes(old, new)))


def values_at(data, positions, width):
    return b"".join(data[at * width:at * width + width] for at in positions)


def changed_tensors(base, result):
    """[(old, new)] of two checkpoints that have the same tensors, by name."""
    pairs = list(zip(base.tensors(), result.tensors()))
    assert all(old.name == new.name and old.same_form(new) for old, new in pairs)
    return [(old, new) for old, new in pairs if old.data != new.data]


# ---- checksums of whole tensors, as text ----

def xxh3_text(data):
    return "%016x%016x" % xxh3_128(bytes(data))


def adler32_text(data):
    return "%08x" % zlib.adler32(data)


CHECKSUMS = {"xxh3-128": xxh3_text, "adler32": adler32_text}
