"""The plain delta, written from wdelta-format(5): a safetensors file that says what a pack says."""

import json
import struct
from dataclasses import dataclass, field

from checkpoints import Tensor, bits, elements, header_of, short, short32, varint, width
from wdp import CHANGED, build, changed_elements, stream


@dataclass
class PlainDelta:
    """Its tensors by name, and its metadata; both can be altered before bytes() is called."""
    tensors: dict
    metadata: dict = field(default_factory=dict)

    def put(self, name, dtype, data):
        self.tensors[name] = Tensor(name, dtype, (len(data) // width(dtype),), bytes(data))

    def bytes(self):
        # Wide elements first, as safetensors files have it, so that all are aligned.
        ordered = sorted(self.tensors.values(), key=lambda tensor: (-bits(tensor.dtype), tensor.name))
        return header_of(ordered, self.metadata) + b"".join(tensor.data for tensor in ordered)


def block_digests(records):
    out = b""
    for record in records:
        for number, old, new in record.blocks:
            out += varint(number + 1) + short32(old) + short(new) if record.kind == CHANGED else short(new)
        if record.kind == CHANGED:
            out += varint(0)
    return out


def build_plain(base, result):
    pack = build(base, result)
    records, figures = pack.index.records, pack.index.figures
    delta = PlainDelta({})
    byte_tensors, changed_names = [], []
    for record in records:
        tensor = record.new
        if record.kind != CHANGED:
            if tensor.data:
                name = "wdelta.new/" + tensor.name
                delta.tensors[name] = Tensor(name, tensor.dtype, tensor.shape, tensor.data)
            continue
        w = width(tensor.dtype)
        positions = changed_elements(record.old.data, tensor.data, w)
        values = elements(tensor.data, w)
        delta.put(tensor.name + ".indices", "I32", struct.pack("<%di" % len(positions), *positions))
        value_dtype = tensor.dtype if bits(tensor.dtype) >= 8 else "U8"
        delta.put(tensor.name + ".values", value_dtype,
                  b"".join(values[position].to_bytes(w, "little") for position in positions))
        changed_names.append(tensor.name)
        if bits(tensor.dtype) < 8:
            byte_tensors.append(tensor.name)
    for file in pack.layout.files:
        if file.carried and file.content:
            delta.put("wdelta.file/" + file.path, "U8", file.content)
    delta.put("wdelta.layout", "U8", pack.layout.body())
    delta.put("wdelta.index", "U8", stream(pack.index.content()))
    delta.put("wdelta.blocks", "U8", block_digests(records))
    delta.metadata = {
        "format": "sparse_weight_patch", "version": "1", "sparse": "True", "model_version": "0",
        "num_changed_params": str(len(changed_names)), "total_changed_elements": str(figures[1]),
        "total_elements": str(figures[0]), "sparsity": repr(1 - figures[1] / figures[0] if figures[0] else 1.0),
        "changed_params": json.dumps(changed_names), "wdelta.version": "1",
        "wdelta.byte_tensors": json.dumps(byte_tensors),
        "wdelta.base_fingerprint": base.fingerprint().hex(), "wdelta.base_state": base.state().hex(),
        "wdelta.fingerprint": result.fingerprint().hex(), "wdelta.state": result.state().hex(),
    }
    return delta
