"""The pack, written from wdelta-format(5): streams, codecs, sections.

build() compares two checkpoints and gives a Pack, whose parts can be altered before bytes() puts them together; all
checksums are computed at that moment, so that an altered part is the only fault.
"""

import struct
from dataclasses import dataclass, field

from adaptive import encode_adaptive
from checkpoints import elements, sha256, short, short32, text, u64, varint, width
from class_bits import encode_classes

MAGIC = bytes.fromhex("89574450" "0d0a1a0a")
ANCHOR = 1  # a required flag
LAYOUT, BLOCKS, INDEX, END = 0x4C, 0x42, 0x49, 0x45
CHANGED, ADDED, RESHAPED, RETYPED = 1, 2, 4, 5


# ---- streams and Zstandard frames ----

def zstd_frame(content, checked_size=None, stated=True):
    """A frame of RLE blocks where 128 KiB (or the rest) are one byte repeated, and of raw blocks elsewhere.

    checked_size is what the header states, if that is to differ from the truth.
    """
    size = len(content) if checked_size is None else checked_size
    if not stated:
        head = b"\x00\x58"  # no content size; a window of 2 MiB
    elif size < 256:
        head = b"\x20" + struct.pack("<B", size)
    elif size < 65536 + 256:
        head = b"\x60" + struct.pack("<H", size - 256)
    else:
        head = b"\xa0" + struct.pack("<I", size)
    out = struct.pack("<I", 0xFD2FB528) + head
    pieces = [content[at:at + (1 << 17)] for at in range(0, len(content), 1 << 17)] or [b""]
    for number, piece in enumerate(pieces):
        repeats = len(piece) > 1 and piece == piece[:1] * len(piece)
        block = len(piece) << 3 | repeats << 1 | (number == len(pieces) - 1)
        out += struct.pack("<I", block)[:3] + (piece[:1] if repeats else piece)
    return out


def stream(content, form=None):
    """The form is the writer's own choice (without a compressor), unless one is given."""
    if form is None:
        form = 1 if len(content) > 1 and content == content[:1] * len(content) else 0
    head = varint(len(content)) + bytes([form])
    if form == 0:
        return head + content
    if form == 1:
        return head + content[:1]
    frame = zstd_frame(content)
    return head + varint(len(frame)) + frame


# ---- codecs: encode(old, new, dtype) gives the coded block ----

def changed_elements(old, new, w):
    return [at // w for at in range(0, len(new), w) if old[at:at + w] != new[at:at + w]]


def gap_bytes(positions):
    out, following = bytearray(), 0
    for position in positions:
        gap = position - following
        out += b"\xff" * (gap // 255) + bytes([gap % 255])
        following = position + 1
    return bytes(out)


def folded_step(old, new, w):
    step = (new - old) % (1 << 8 * w)
    if step >= 1 << 8 * w - 1:
        step -= 1 << 8 * w
    return 2 * step if step >= 0 else -2 * step - 1


def gap_streams(old, new, w, positions=None):
    """The contents of the 1 + w streams. Positions may name more elements than have changed."""
    if positions is None:
        positions = changed_elements(old, new, w)
    before, after = elements(old, w), elements(new, w)
    steps = [folded_step(before[position], after[position], w) for position in positions]
    return [gap_bytes(positions)] + [bytes(step >> 8 * plane & 255 for step in steps) for plane in range(w)]


def encode_raw(old, new, dtype):
    return new


def encode_zstd(old, new, dtype):
    return zstd_frame(new)


def encode_gaps(old, new, dtype, forms=None, positions=None):
    contents = gap_streams(old, new, width(dtype), positions)
    return b"".join(stream(content, form) for content, form in zip(contents, forms or [None] * len(contents)))


def encode_planes(old, new, dtype, mode=None, form=None):
    """Mode 1 where there is an old block, unless a mode is given."""
    w = width(dtype)
    mode = int(old is not None) if mode is None else mode
    values = elements(new, w)
    if mode == 1:
        values = [folded_step(one, two, w) for one, two in zip(elements(old, w), values)]
    elif w > 1:
        values = [value << 1 & (1 << 8 * w) - 1 | value >> 8 * w - 1 for value in values]
    planes = [bytes(value >> 8 * at & 255 for value in values) for at in range(w)]
    return bytes([mode]) + b"".join(stream(plane, form) for plane in planes)


# A further codec is one more row.
CODECS = {"raw": (0, encode_raw), "zstd": (1, encode_zstd), "gaps": (2, encode_gaps), "classes": (3, encode_classes),
          "planes": (4, encode_planes), "adaptive": (5, encode_adaptive)}


# ---- the difference of two checkpoints ----

@dataclass
class Record:
    name: str
    kind: int
    place: int
    new: object
    old: object
    changed: int
    blocks: list  # (number, old block or None, new block)


def compare(base, result):
    """(records, removed tensors, the nine figures)."""
    before = {tensor.name: tensor for tensor in base.tensors()} if base else {}
    records, after = [], result.tensors()
    for place, tensor in enumerate(after):
        old = before.get(tensor.name)
        if old is not None and old.same_form(tensor):
            if old.data == tensor.data:
                continue
            pairs = enumerate(zip(old.blocks(), tensor.blocks()))
            blocks = [(number, one, two) for number, (one, two) in pairs if one != two]
            changed = sum(len(changed_elements(one, two, width(tensor.dtype))) for _, one, two in blocks)
            records.append(Record(tensor.name, CHANGED, place, tensor, old, changed, blocks))
            continue
        kind = ADDED if old is None else RETYPED if old.dtype != tensor.dtype else RESHAPED
        blocks = [(number, None, block) for number, block in enumerate(tensor.blocks())]
        records.append(Record(tensor.name, kind, place, tensor, old, tensor.elements(), blocks))
    names = {tensor.name for tensor in after}
    removed = [tensor for name, tensor in before.items() if name not in names]
    parts_before = dict(base.parts()) if base else {}
    parts_after = dict(result.parts())
    files = sum(parts_before.get(path) != parts_after.get(path) for path in {**parts_before, **parts_after})
    figures = [sum(tensor.elements() for tensor in after), sum(record.changed for record in records),
               sum(len(tensor.data) for tensor in after),
               sum(record.changed * width(record.new.dtype) for record in records),
               len(after), sum(record.kind != ADDED for record in records),
               sum(record.kind == ADDED for record in records), len(removed), files]
    return records, removed, figures


# ---- the pack ----

@dataclass
class File:
    """A row of the layout: a shard's header or a companion."""
    path: str
    content: bytes
    carried: bool
    data_length: int = None  # of shards only
    digest: bytes = None

    def row(self):
        middle = varint(len(self.content))
        if self.data_length is not None:
            middle += varint(self.data_length)
        return text(self.path) + middle + (self.digest or sha256(self.content)) + bytes([self.carried])


@dataclass
class Layout:
    files: list
    single: bool
    includes: list = field(default_factory=list)
    excludes: list = field(default_factory=list)
    form: int = None

    def content(self):
        shards = [file for file in self.files if file.data_length is not None]
        companions = [file for file in self.files if file.data_length is None]
        out = varint(int(self.single))
        for group in (shards, companions):
            out += varint(len(group)) + b"".join(file.row() for file in group)
        for patterns in (self.includes, self.excludes):
            out += varint(len(patterns)) + b"".join(map(text, patterns))
        return out

    def body(self):
        return stream(self.content(), self.form)

    def digest(self):
        """The layout digest, of the rows as they are now."""
        out = text("wdelta layout 1")
        for is_shard in (True, False):
            group = [file for file in self.files if (file.data_length is not None) == is_shard]
            out += varint(len(group))
            for file in group:
                out += text(file.path) + varint(len(file.content)) + (file.digest or sha256(file.content))
        return sha256(out)


@dataclass
class Block:
    stream: int
    number: int
    codec: int
    coded: bytes
    old: bytes = None  # short32(old block)
    new: bytes = None  # short(new block)
    flagged: bool = None  # whether bit 7 is set; None: if there is an old block
    checksum: bytes = None

    def body(self):
        flagged = self.old is not None if self.flagged is None else self.flagged
        rest = varint(self.stream) + varint(self.number) + bytes([self.codec | flagged << 7])
        rest += (self.old or b"") + self.new + self.coded
        return (self.checksum or short32(rest)) + rest


@dataclass
class Index:
    base: object
    result: object
    records: list
    removed: list
    figures: list
    layout: Layout
    base_digests: bytes = None  # fingerprint and layout digest, if they are to differ from the truth
    result_digests: bytes = None
    forms: tuple = (None, None)

    def content(self):
        out = b""
        if self.base is not None:
            out += self.base_digests or self.base.fingerprint() + self.base.layout_digest()
        out += self.result_digests or self.result.fingerprint() + self.layout.digest()
        out += b"".join(map(varint, self.figures)) + varint(len(self.records))
        for record in self.records:
            out += text(record.name) + bytes([record.kind]) + varint(record.place) + record.new.form()
            if record.kind in (RESHAPED, RETYPED):
                out += record.old.form()
            out += varint(record.changed)
        out += varint(len(self.removed)) + b"".join(text(tensor.name) + tensor.form() for tensor in self.removed)
        out += b"".join(record.new.digest()[:4] for record in self.records)
        tensors = self.base.tensors() if self.base is not None else []
        return out + varint(len(tensors)) + b"".join(tensor.digest()[:4] for tensor in tensors)


def section(kind, body):
    return bytes([kind]) + varint(len(body)) + body


def end_section(before, index_at, length=None, digest=None):
    length = len(before) if length is None else length
    return section(END, u64(index_at) + u64(length) + (digest or sha256(before)) + MAGIC)


def coded_extents(rows):
    """The second stream of the index, of [offset, length]."""
    out, ended = b"", 0
    for offset, length in rows:
        out += varint(length)
        if length:
            out += varint(folded_step(ended, offset, 8))
            ended = offset + length
    return out


@dataclass
class Pack:
    layout: Layout
    blocks: list
    index: Index
    required: int = 0
    optional: int = 0
    version: int = 1
    reserved: int = 0
    # Alter the coded parts: each takes the bytes and returns others.
    alter_layout: object = None  # the content of the layout
    alter_index: object = None  # the content of the index's first stream
    alter_extents: object = None  # a list of [offset, length], in place

    def header(self):
        return MAGIC + struct.pack("<HHII", self.version, self.reserved, self.required, self.optional)

    def layout_body(self):
        content = self.layout.content()
        return stream(self.alter_layout(content) if self.alter_layout else content, self.layout.form)

    def index_content(self):
        content = self.index.content()
        return self.alter_index(content) if self.alter_index else content

    def sections(self):
        """[(type, body)] of all but the end."""
        out = [(LAYOUT, self.layout_body())] + [(BLOCKS, block.body()) for block in self.blocks]
        at = len(self.header()) + len(section(*out[0]))
        numbers = [number for number, file in enumerate(self.layout.files) if file.carried]
        numbers += [len(self.layout.files) + record.place for record in self.index.records]
        extents = {number: [0, 0] for number in numbers}
        for block, row in zip(self.blocks, out[1:]):
            size = len(section(*row))
            extent = extents.setdefault(block.stream, [0, 0])
            if extent == [0, 0]:
                extent[0] = at
            extent[1] += size
            at += size
        rows = [extents[number] for number in numbers]
        if self.alter_extents:
            self.alter_extents(rows)
        body = stream(self.index_content(), self.index.forms[0])
        body += stream(coded_extents(rows), self.index.forms[1])
        return out + [(INDEX, short(body) + body)]

    def assemble(self, sections, **faults):
        """The pack of these sections, with an end that fits unless faults say otherwise."""
        out, index_at = self.header(), 0
        for kind, body in sections:
            if kind == INDEX:
                index_at = len(out)
            out += section(kind, body)
        faults.setdefault("index_at", index_at)
        return out + end_section(out, **faults)

    def bytes(self, **faults):
        return self.assemble(self.sections(), **faults)


def build(base, result, codec="gaps", new_codec="raw", file_codec="raw", includes=(), excludes=()):
    """The pack from base to result; an anchor if there is no base.

    codec is for blocks with an old block: a name, or a function of (record, number, old, new) that gives (id, coded).
    """
    records, removed, figures = compare(base, result)
    have = {sha256(content) for _, content in base.parts()} if base else set()
    files = [File(shard.name, shard.header, sha256(shard.header) not in have, len(shard.data()))
             for shard in result.shards]
    files += [File(path, content, sha256(content) not in have) for path, content in result.companions.items()]
    blocks = []

    def add(number, block_number, old, new, dtype, name):
        identity, encode = CODECS[name]
        coded = encode(old, new, dtype)
        blocks.append(Block(number, block_number, identity, coded, old and short32(old), short(new)))

    for number, file in enumerate(files):
        if file.carried:
            for at in range(0, len(file.content), 1 << 20):
                add(number, at >> 20, None, file.content[at:at + (1 << 20)], "U8", file_codec)
    by_name = {record.name: record for record in records}
    for tensor in [tensor for shard in result.shards for tensor in shard.tensors]:
        record = by_name.get(tensor.name)
        for number, old, new in record.blocks if record else []:
            if old is not None and callable(codec):
                identity, coded = codec(record, number, old, new)
                blocks.append(Block(len(files) + record.place, number, identity, coded, short32(old),
                                    short(new)))
            else:
                add(len(files) + record.place, number, old, new, tensor.dtype,
                    new_codec if old is None else codec)
    layout = Layout(files, result.single, list(includes), list(excludes))
    index = Index(base, result, records, removed, figures, layout)
    return Pack(layout, blocks, index, required=0 if base is not None else ANCHOR)
