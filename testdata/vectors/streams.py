"""The reading half of the small things: numbers, streams, Zstandard frames and coded blocks.

Faults are raised as Malformed, WrongBase or Unknown, whose code is the exit status that the program has to give.
"""

import shutil
import subprocess

from checkpoints import elements, width


class Fault(Exception):
    pass


class Malformed(Fault):
    code = 4


class WrongBase(Fault):
    code = 5


class Unknown(Fault):
    code = 10


class NoZstd(Exception):
    """A compressed block needs the zstd program, which is not there."""


def need(condition, what):
    if not condition:
        raise Malformed(what)


def need_known(condition, what):
    if not condition:
        raise Unknown(what)


class Reader:
    forms_as_written = False  # hold streams to the rules for writers too

    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def take(self, count):
        need(count <= len(self.data) - self.at, "ends early")
        self.at += count
        return self.data[self.at - count:self.at]

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        need(self.at == len(self.data), "bytes behind the end")

    def u8(self):
        return self.take(1)[0]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        need(value < 1 << 64, "varint too large")
        need(byte or shift == 7, "varint not in its shortest form")
        return value

    def count(self):
        """A number of things, each of which takes at least one byte here."""
        value = self.varint()
        need(value <= len(self.data) - self.at, "count too large")
        return value

    def text(self):
        # Paths that are not UTF-8 are refused by check_path, names of tensors because no header has them.
        return self.take(self.varint()).decode(errors="surrogateescape")

    def stream(self, limit=1 << 30):
        length, form = self.varint(), self.u8()
        need(length <= limit, "stream too long")
        begin = self.at
        if form == 0:
            content = self.take(length)
        elif form == 1:
            content = self.take(1) * length
        else:
            need(form == 2, "unknown form of a stream")
            content = unframe(self.take(self.varint()), length)
        if self.forms_as_written:
            repeats = length > 1 and content == content[:1] * length
            need((form == 1) == repeats, "form 1 where a writer has none, or none where it has one")
            need(form != 2 or self.at - begin < length, "form 2 where form 0 is not longer")
        return content


def unframe(frame, length):
    """The content of exactly one Zstandard frame that states its content size."""
    reader = Reader(frame)
    need(reader.number(4) == 0xFD2FB528, "not a Zstandard frame")
    descriptor = reader.u8()
    single, size_flag = descriptor >> 5 & 1, descriptor >> 6
    need(not descriptor & 8, "reserved bit of a frame")
    if not single:
        reader.u8()
    reader.take((0, 1, 2, 4)[descriptor & 3])
    need(single or size_flag, "frame does not state its content size")
    size = reader.number((1, 2, 4, 8)[size_flag]) + (256 if size_flag == 1 else 0)
    need(size == length, "frame with another content size")
    out, compressed, last = b"", False, False
    while not last:
        head = reader.number(3)
        last, kind, count = head & 1, head >> 1 & 3, head >> 3
        need(kind != 3, "reserved kind of block in a frame")
        piece = reader.take(1 if kind == 1 else count)
        compressed |= kind == 2
        out += piece * count if kind == 1 else piece
    reader.take(4 if descriptor & 4 else 0)
    reader.end()
    if compressed:
        if not shutil.which("zstd"):
            raise NoZstd()
        run = subprocess.run(["zstd", "-dc"], input=frame, capture_output=True, check=False)
        need(run.returncode == 0, "zstd: " + run.stderr.decode(errors="replace").strip())
        out = run.stdout
    need(len(out) == length, "frame with another content size")
    return out


# ---- codecs: decode(coded, old, N, dtype) gives the new block ----

def decode_raw(coded, old, size, dtype):
    return coded


def decode_zstd(coded, old, size, dtype):
    return unframe(coded, size)


def unfold(folded):
    return -(folded + 1 >> 1) if folded & 1 else folded >> 1


def decode_gaps(coded, old, size, dtype):
    need(old is not None, "gaps without an old block")
    w = width(dtype)
    reader, count = Reader(coded), size // w
    gaps = reader.stream(limit=size)
    positions, following, open_gap = [], 0, 0
    for byte in gaps:
        open_gap += byte
        if byte < 255:
            following += open_gap
            need(following < count, "position outside of the block")
            positions.append(following)
            following, open_gap = following + 1, 0
    need(not gaps or gaps[-1] != 255, "gaps end in 255")
    planes = [reader.stream(limit=count) for _ in range(w)]
    reader.end()
    need(all(len(plane) == len(positions) for plane in planes), "wrong number of steps")
    out = bytearray(old)
    for number, position in enumerate(positions):
        folded = sum(plane[number] << 8 * at for at, plane in enumerate(planes))
        value = int.from_bytes(old[position * w:position * w + w], "little") + unfold(folded)
        out[position * w:position * w + w] = (value % (1 << 8 * w)).to_bytes(w, "little")
    return bytes(out)


def decode_planes(coded, old, size, dtype):
    reader, w = Reader(coded), width(dtype)
    mode = reader.u8()
    need(mode <= 1, "unknown mode of planes")
    need(mode == 0 or old is not None, "planes of steps without an old block")
    planes = [reader.stream(limit=size // w) for _ in range(w)]
    reader.end()
    need(all(len(plane) == size // w for plane in planes), "plane of another length")
    values, mask = elements(b"".join(map(bytes, zip(*planes))), w), (1 << 8 * w) - 1
    if mode:
        values = [one + unfold(folded) & mask for one, folded in zip(elements(old, w), values)]
    elif w > 1:
        values = [value >> 1 | (value & 1) << 8 * w - 1 for value in values]
    return b"".join(value.to_bytes(w, "little") for value in values)
