"""A reader of plain deltas, and rebuild(), which takes either kind of delta."""

import struct
from types import SimpleNamespace

from checkpoints import BLOCK, Tensor, bits, elements, parse_header, short, short32, width
from streams import Malformed, Reader, need, need_known
from unpack import (check_base, layout_digest, put_together, read_index, read_layout, read_pack, rebuild_pack,
                    section_limit, size_of)
from wdp import CHANGED, MAGIC


def read_plain(data):
    header, metadata, rows = parse_header(data)
    body = data[len(header):]
    tensors = {name: Tensor(name, dtype, shape, body[begin:end]) for begin, end, name, dtype, shape in rows}
    need_known(metadata.get("wdelta.version") == "1", "another version")
    for name in ("wdelta.layout", "wdelta.index", "wdelta.blocks"):
        need(name in tensors, f"'{name}' is missing")
    layout = read_layout(tensors["wdelta.layout"].data)
    outer = Reader(tensors["wdelta.index"].data)
    index = read_index(outer.stream(section_limit(outer.data)), False)
    outer.end()
    need(layout_digest(layout) == index.result[1], "layout digest does not match")
    reader = Reader(tensors["wdelta.blocks"].data)
    for record in index.records:
        if record.kind != CHANGED:
            record.blocks = [(number, None, reader.take(8)) for number in range(-(-size_of(record.form) // BLOCK))]
            continue
        number = reader.varint()
        while number:
            record.blocks.append((number - 1, reader.take(4), reader.take(8)))
            number = reader.varint()
        numbers = [number for number, _, _ in record.blocks]
        need(numbers == sorted(set(numbers)), "blocks do not rise")
    reader.end()
    check_plain_forms(layout, index, tensors)
    return SimpleNamespace(layout=layout, index=index, tensors=tensors, metadata=metadata)


def check_plain_forms(layout, index, tensors):
    """Everything is there in its dtype and shape, and nothing else."""
    expected = {"wdelta.layout": ("U8", None), "wdelta.index": ("U8", None), "wdelta.blocks": ("U8", None)}
    for file in layout.files:
        if file.carried and file.length:
            expected["wdelta.file/" + file.path] = ("U8", (file.length,))
    for record in index.records:
        dtype, shape = record.form
        if record.kind == CHANGED:
            count = size_of(record.form) // width(dtype)
            expected[record.name + ".indices"] = ("I64" if count >= 1 << 31 else "I32", (record.changed,))
            expected[record.name + ".values"] = (dtype if bits(dtype) >= 8 else "U8", (record.changed,))
        elif size_of(record.form):
            expected["wdelta.new/" + record.name] = (dtype, shape)
    for name, (dtype, shape) in expected.items():
        need(name in tensors, f"'{name}' is missing")
        need(tensors[name].dtype == dtype and shape in (None, tensors[name].shape), f"'{name}' has another form")
    need(set(tensors) == set(expected), "tensors that the index does not name")


def rebuild_plain(base, data):
    plain = read_plain(data)
    check_base(base, plain.index)
    old_tensors = {tensor.name: tensor for tensor in base.tensors()}

    def part(name, size=None):
        if size == 0:
            return b""
        need(name in plain.tensors, f"'{name}' is missing")
        return plain.tensors[name].data

    def file_content(number, length):
        return part("wdelta.file/" + plain.layout.files[number].path, length)

    def new_tensor(record):
        if record.kind != CHANGED:
            out = part("wdelta.new/" + record.name, size_of(record.form))
        else:
            w, out = width(record.form[0]), bytearray(old_tensors[record.name].data)
            part(record.name + ".indices")
            index_width = width(plain.tensors[record.name + ".indices"].dtype)
            positions = elements(part(record.name + ".indices"), index_width)
            values = part(record.name + ".values")
            need(len(values) == w * len(positions), "values and indices do not match")
            need(positions == sorted(set(positions)), "indices do not rise")
            numbers = {number for number, _, _ in record.blocks}
            for at, position in enumerate(positions):
                need(position * w < len(out), "index outside of the tensor")
                need(position * w // BLOCK in numbers, "index in a block without digest")
                out[position * w:position * w + w] = values[at * w:at * w + w]
        for number, old, new in record.blocks:
            begin = number * BLOCK
            need(old is None or short32(old_tensors[record.name].data[begin:begin + BLOCK]) == old,
                 "old block does not match its digest")
            need(short(out[number * BLOCK:(number + 1) * BLOCK]) == new, "new block does not match its digest")
        return bytes(out)

    return put_together(base, plain.layout, plain.index, file_content, new_tensor)


def rebuild(base, data):
    """The checkpoint that the delta leads to. base is None for an anchor."""
    if data[:8] == MAGIC:
        return rebuild_pack(base, read_pack(data))
    try:
        return rebuild_plain(base, data)
    except (ValueError, KeyError, struct.error) as error:
        raise Malformed(f"not a safetensors file: {error}") from None
