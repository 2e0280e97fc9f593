"""A reader of packs, written from wdelta-format(5): slow, whole in memory, and strict.

read_pack() gives what can be known without the base, rebuild_pack() the result. The faults are those of streams.py.
"""

import hashlib
import re
import struct
from types import SimpleNamespace

from checkpoints import (BLOCK, DTYPES, Checkpoint, Shard, Tensor, bits, elements, parse_header, sha256, short, short32,
                         text, varint, width)
from streams import (Reader, WrongBase, decode_gaps, decode_planes, decode_raw, decode_zstd, need, need_known, unfold)
from adaptive import decode_adaptive
from unpack_classes import decode_class_bits
from wdp import ADDED, ANCHOR, BLOCKS, CHANGED, END, INDEX, LAYOUT, MAGIC, RESHAPED, RETYPED


def section_limit(body):
    """How long the content of layout and index may be."""
    return min(256 << 20, (1 << 20) + 64 * len(body))


def decode_classes(coded, old, size, dtype):
    need(old is not None, "classes without an old block")
    w = width(dtype)
    new = decode_class_bits(coded, elements(old, w), dtype, w)
    return b"".join(value.to_bytes(w, "little") for value in new)


# A further codec is one more row.
DECODERS = {0: decode_raw, 1: decode_zstd, 2: decode_gaps, 3: decode_classes, 4: decode_planes,
            5: decode_adaptive}


# ---- layout and index ----

def check_path(path):
    need_known(not re.search("[\ud800-\udfff]", path), "path is not UTF-8")
    need_known(len(path.encode()) <= 1024, f"path '{path}' is too long")
    for component in path.split("/"):
        need_known(component and not component.startswith(".") and len(component.encode()) <= 255 and
                   not re.search(r"[\\\x00-\x1f\x7f]", component), f"hostile path '{path}'")


def rising(names):
    keys = [name.encode(errors="surrogateescape") for name in names]
    return all(one < two for one, two in zip(keys, keys[1:]))


def read_layout(body):
    outer = Reader(body)
    reader = Reader(outer.stream(section_limit(body)))
    outer.end()
    flags = reader.varint()
    need(flags <= 1, "unknown flags of the layout")
    files, counts = [], []
    for is_shard in (True, False):
        names = []
        for _ in range(reader.count()):
            file = SimpleNamespace(path=reader.text(), length=reader.varint(), data_length=None, content=None)
            if is_shard:
                file.data_length = reader.varint()
                need_known("/" not in file.path, f"hostile name '{file.path}'")
                need_known(file.path.endswith(".safetensors"), "a shard's name does not end in .safetensors")
            check_path(file.path)
            file.digest, file.carried = reader.take(32), reader.u8()
            need(file.carried <= 1, "carried is neither 0 nor 1")
            need_known(file.path not in {other.path for other in files}, "a path occurs twice")
            files.append(file)
            names.append(file.path)
        need(rising(names), "names out of order")
        counts.append(len(names))
    need(counts[0] >= 1, "no shard")
    need(not flags or (len(files) == 1 and files[0].path == "model.safetensors"), "a single file with other files")
    paths = {file.path for file in files}
    for path in paths:
        pieces = path.split("/")
        need_known(not any("/".join(pieces[:n]) in paths for n in range(1, len(pieces))), "a path is also a folder")
    patterns = [[reader.text() for _ in range(reader.count())] for _ in range(2)]
    need(max(map(len, patterns)) <= 1000, "more than 1000 patterns")
    reader.end()
    return SimpleNamespace(single=bool(flags), files=files, patterns=patterns, shards=files[:counts[0]])


def layout_digest(layout):
    out = text("wdelta layout 1")
    for group in (layout.shards, layout.files[len(layout.shards):]):
        out += varint(len(group))
        for file in group:
            out += text(file.path) + varint(file.length) + file.digest
    return sha256(out)


def read_form(reader):
    dtype = reader.u8()
    need(dtype < len(DTYPES), "unknown dtype")
    return DTYPES[dtype], tuple(reader.varint() for _ in range(reader.count()))


def read_index(content, anchor):
    reader = Reader(content)
    base = None if anchor else (reader.take(32), reader.take(32))
    index = SimpleNamespace(base=base, result=(reader.take(32), reader.take(32)), records=[], removed=[])
    index.figures = [reader.varint() for _ in range(9)]
    for _ in range(reader.count()):
        record = SimpleNamespace(name=reader.text(), kind=reader.u8(), place=reader.varint(), form=read_form(reader),
                                 old_form=None, blocks=[])
        need(record.kind in (CHANGED, ADDED, RESHAPED, RETYPED), "unknown kind of record")
        if record.kind in (RESHAPED, RETYPED):
            record.old_form = read_form(reader)
        record.changed = reader.varint()
        index.records.append(record)
    index.removed = [(reader.text(), read_form(reader)) for _ in range(reader.count())]
    need(rising([record.name for record in index.records]), "names out of order")
    need(rising([name for name, _ in index.removed]), "names out of order")
    places = [record.place for record in index.records]
    need(places == sorted(set(places)) and all(place < index.figures[4] for place in places), "places out of order")
    for record in index.records:
        record.digest = reader.take(4)
    index.base_tensors = [reader.take(4) for _ in range(reader.count())]
    reader.end()
    return index


def size_of(form):
    count = 1
    for dimension in form[1]:
        count *= dimension
    return count * bits(form[0]) // 8


# ---- the pack ----

def read_pack(data):
    """Everything that can be known without the base."""
    need(data[:8] == MAGIC[:len(data[:8])] and len(data) >= 20, "not a pack, or cut off")
    version, zero, required, _ = struct.unpack_from("<HHII", data, 8)
    need_known(version == 1, f"version {version}")
    need_known(not required & ~ANCHOR, f"required flags {required:x}")
    need_known(zero == 0, "reserved field is not 0")
    anchor = bool(required & ANCHOR)
    reader, rows = Reader(data), []
    reader.take(20)
    while not rows or rows[-1][0] != END:
        at, kind = reader.at, reader.u8()
        need(kind in (LAYOUT, BLOCKS, INDEX, END), f"unknown type of section {kind:x}")
        rows.append((kind, at, reader.take(reader.varint())))
    end_at = rows[-1][1]
    reader.end()
    kinds = bytes(kind for kind, _, _ in rows)
    need(re.fullmatch(b"LB*IE", kinds), "sections out of order")
    end = Reader(rows[-1][2])
    need(len(rows[-1][2]) == 56 and end.number(8) == rows[-2][1] and end.number(8) == end_at, "wrong end")
    need(end.take(32) == hashlib.sha256(data[:end_at]).digest() and end.take(8) == MAGIC, "wrong digest in the end")
    pack = SimpleNamespace(anchor=anchor, layout=read_layout(rows[0][2]), blocks=[])
    body = rows[-2][2]
    need(body[:8] == short(body[8:]), "checksum of the index")
    reader = Reader(body[8:])
    limit = section_limit(body)
    pack.index, extents = read_index(reader.stream(limit), anchor), Reader(reader.stream(limit))
    reader.end()
    files, records = pack.layout.files, {record.place: record for record in pack.index.records}
    need(layout_digest(pack.layout) == pack.index.result[1], "layout digest does not match")
    for _, at, body in rows[1:-2]:
        pack.blocks.append(read_block(body, at))
    found = {}
    for block, row in zip(pack.blocks, rows[1:-2]):
        length = 1 + len(varint(len(row[2]))) + len(row[2])
        found.setdefault(block.stream, [block.at, 0])[1] += length
    expected = [number for number, file in enumerate(files) if file.carried]
    expected += [len(files) + record.place for record in pack.index.records]
    ended = 0
    for number in expected:
        length = extents.varint()
        need(length == found.get(number, [0, 0])[1], "wrong length in the index")
        if length:
            offset = (ended + unfold(extents.varint())) % (1 << 64)
            need(offset == found[number][0], "wrong offset in the index")
            ended = offset + length
    extents.end()
    need(set(found) <= set(expected), "block of a stream that is not there")
    check_block_order(pack, records)
    return pack


def read_block(body, at):
    need(body[:4] == short32(body[4:]), "checksum of a block")
    reader = Reader(body[4:])
    block = SimpleNamespace(at=at, stream=reader.varint(), number=reader.varint(), old=None)
    codec = reader.u8()
    block.codec = codec & 127
    need_known(block.codec in DECODERS, f"unknown codec {block.codec}")
    if codec & 128:
        block.old = reader.take(4)
    block.new, block.coded = reader.take(8), reader.rest()
    return block


def check_block_order(pack, records):
    files, order = pack.layout.files, []
    for block in pack.blocks:
        if not order or order[-1][0] != block.stream:
            order.append((block.stream, []))
        order[-1][1].append(block.number)
    streams = [stream for stream, _ in order]
    need(len(set(streams)) == len(streams), "the blocks of a stream do not follow each other")
    in_files = [stream for stream in streams if stream < len(files)]
    need(streams[:len(in_files)] == sorted(in_files), "streams out of order")
    for stream, numbers in order:
        need(numbers == sorted(set(numbers)), "block numbers do not rise")
    blocks = {}
    for block in pack.blocks:
        blocks.setdefault(block.stream, []).append(block)
    for stream in [number for number, file in enumerate(files) if file.carried] + \
            [len(files) + place for place in records]:
        record = records.get(stream - len(files)) if stream >= len(files) else None
        whole = record is None or record.kind != CHANGED
        size = size_of(record.form) if record else files[stream].length
        count = -(-size // BLOCK)
        mine = blocks.get(stream, [])
        need(all(block.number < count for block in mine), "block number outside")
        need(mine if not whole else len(mine) == count, "missing block")
        need(all((block.old is None) == whole for block in mine), "old block where there is none, or none")


def check_base(base, index):
    if index.base != (base.fingerprint(), base.layout_digest()):
        raise WrongBase("another base")


def checked(new, block):
    need(short(new) == block.new, "new block does not match its digest")
    return new


def rebuild_pack(base, pack):
    index, layout = pack.index, pack.layout
    if not pack.anchor:
        check_base(base, index)
    old_tensors = {tensor.name: tensor for tensor in base.tensors()} if not pack.anchor else {}
    blocks = {}
    for block in pack.blocks:
        blocks.setdefault(block.stream, []).append(block)

    def file_content(number, length):
        out = b""
        for block in blocks.get(number, []):
            new = DECODERS[block.codec](block.coded, None, min(BLOCK, length - len(out)), "U8")
            out += checked(new, block)
        return out

    def new_tensor(record):
        mine = blocks.get(len(layout.files) + record.place, [])
        need(record.kind != CHANGED or record.name in old_tensors, "changed tensor that the base lacks")
        out = bytearray(old_tensors[record.name].data if record.kind == CHANGED else size_of(record.form))
        for block in mine:
            begin = block.number * BLOCK
            size = min(BLOCK, len(out) - begin)
            old = bytes(out[begin:begin + size]) if block.old else None
            if block.old:
                need(short32(old) == block.old, "old block does not match its digest")
            new = checked(DECODERS[block.codec](block.coded, old, size, record.form[0]), block)
            need(len(new) == size, "block of another length")
            out[begin:begin + size] = new
        return bytes(out)

    return put_together(base, pack.layout, index, file_content, new_tensor)


def put_together(base, layout, index, file_content, new_tensor):
    have = {sha256(content): content for _, content in base.parts()} if base and index.base else {}
    for number, file in enumerate(layout.files):
        if not file.carried and file.digest not in have:
            need(index.base, "an anchor does not carry a file")
            raise WrongBase("the base lacks a file")
        file.content = file_content(number, file.length) if file.carried else have[file.digest]
        need(len(file.content) == file.length and sha256(file.content) == file.digest, "file does not match its digest")
    records = {record.name: record for record in index.records}
    old_tensors = {tensor.name: tensor for tensor in base.tensors()} if base and index.base else {}
    shards = []
    for file in layout.shards:
        _, _, rows = parse_header(file.content)
        tensors = []
        for begin, end, name, dtype, shape in rows:
            record = records.pop(name, None)
            need(record is not None or name in old_tensors, "tensor without a source")
            need(record is None or record.form == (dtype, shape), "form differs from the header's")
            data = new_tensor(record) if record else old_tensors[name].data
            need(len(data) == end - begin, "tensor of another length")
            tensors.append(Tensor(name, dtype, shape, data))
        need(file.data_length == sum(len(tensor.data) for tensor in tensors), "data of another length")
        shards.append(Shard(file.path, file.content, tensors))
    need(not records, "record of a tensor that is not there")
    companions = {file.path: file.content for file in layout.files[len(layout.shards):]}
    result = Checkpoint(shards, companions, layout.single)
    places = {tensor.name: place for place, tensor in enumerate(result.tensors())}
    need(index.figures[4] == len(places), "another number of tensors")
    need(all(record.place == places[record.name] for record in index.records), "record in a wrong place")
    need((result.fingerprint(), result.layout_digest()) == index.result, "result does not match its digests")
    return result
