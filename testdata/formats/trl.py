"""TRL's sparse patches: one safetensors file with positions and new values of BF16 elements."""

import json
import struct
from dataclasses import dataclass

from canonical import check
from checkpoints import Tensor, header_of, parse_header
from frames import changed_elements, changed_tensors, values_at


def gaps_of(positions):
    return [at - before - 1 for before, at in zip([-1] + positions, positions)]


def packed_gaps(positions):
    """(dtype, bytes) of gap_delta: as narrow as the largest gap permits."""
    gaps = gaps_of(positions)
    code, dtype = ("H", "U16") if max(gaps, default=0) <= 65535 else ("I", "U32")
    return dtype, struct.pack("<%d%s" % (len(gaps), code), *gaps)


def packed_positions(positions):
    return "I32", struct.pack("<%di" % len(positions), *positions)


# form -> (endings of the names, coder of positions, what stands in `encoding`)
FORMS = {"v1": (".indices", ".values", packed_positions, None), "raw": (".idx", ".val", packed_positions, "raw"),
         "gap_delta": (".idx", ".val", packed_gaps, "gap_delta")}


@dataclass
class Trl:
    metadata: dict
    tensors: list

    def replace(self, name, dtype, data):
        """Another list for the tensor of that name, as long as the data says."""
        width = {"U8": 1, "U16": 2, "BF16": 2, "F16": 2}.get(dtype, 4)
        self.tensors = [Tensor(name, dtype, (len(data) // width,), data) if tensor.name == name else tensor
                        for tensor in self.tensors]
        return self

    def data(self):
        return b"".join(tensor.data for tensor in self.tensors)

    def files(self):
        return {"": header_of(self.tensors, self.metadata) + self.data()}


def build(base, result, form="gap_delta", model_version=1):
    positions_end, values_end, coder, encoding = FORMS[form]
    tensors, changed, names = [], 0, []
    for old, new in changed_tensors(base, result):
        positions = changed_elements(old.data, new.data, 2)
        dtype, coded = coder(positions)
        pair = [Tensor(new.name + positions_end, dtype, (len(positions),), coded),
                Tensor(new.name + values_end, "BF16", (len(positions),), values_at(new.data, positions, 2))]
        tensors += pair if form == "v1" else pair[::-1]  # the order of the data is free
        changed += len(positions)
        names.append(new.name)
    metadata = metadata_of(base, "True", model_version, len(names), changed)
    metadata |= {"encoding": encoding} if encoding else {"changed_params": json.dumps(names)}
    return Trl(metadata, tensors)


def build_anchor(result, model_version=1):
    """Every tensor in full."""
    tensors = result.tensors()
    total = sum(tensor.elements() for tensor in tensors)
    return Trl(metadata_of(result, "False", model_version, len(tensors), total), tensors)


def metadata_of(checkpoint, sparse, model_version, params, changed):
    total = sum(tensor.elements() for tensor in checkpoint.tensors())
    return {"format": "sparse_weight_patch", "version": "1", "sparse": sparse, "model_version": str(model_version),
            "num_changed_params": str(params), "total_changed_elements": str(changed), "total_elements": str(total),
            "sparsity": repr(1 - changed / total)}


# ---- the reader ----

def positions_in(dtype, data):
    code = {"I32": "i", "U16": "H", "U32": "I"}[dtype]
    numbers = struct.unpack("<%d%s" % (len(data) // struct.calcsize(code), code), data)
    if dtype == "I32":
        return list(numbers)
    out, at = [], -1
    for gap in numbers:
        at += gap + 1
        out.append(at)
    return out


def read(data, base):
    """(metadata, {name: new bytes}) of a file; every rule for writers is checked."""
    header, metadata, rows = parse_header(data)
    body = {row[2]: (row[3], row[4], data[len(header) + row[0]:len(header) + row[1]]) for row in rows}
    for key in ("format", "version", "sparse", "model_version", "num_changed_params", "total_changed_elements",
                "total_elements", "sparsity"):
        check(isinstance(metadata.get(key), str), f"no '{key}' in the metadata")
    check(metadata["format"] == "sparse_weight_patch" and metadata["version"] == "1", "format or version")
    check(metadata["sparse"] == "True", f"sparse is {metadata['sparse']!r}")
    encoding = metadata.get("encoding")
    check(encoding in (None, "raw", "gap_delta"), f"encoding is {encoding!r}")
    positions_end, values_end = (".idx", ".val") if encoding else (".indices", ".values")
    names = [name[:-len(values_end)] for name in body if name.endswith(values_end)]
    check(set(body) == {name + end for name in names for end in (positions_end, values_end)}, "other tensors")
    old, found, changed = {tensor.name: tensor for tensor in base.tensors()}, {}, 0
    for name in names:
        dtype, shape, coded = body[name + positions_end]
        positions = positions_in(dtype, coded)
        check(dtype in {"gap_delta": ("U16", "U32")}.get(encoding, ("I32",)), f"positions are {dtype}")
        if encoding == "gap_delta":
            check((dtype == "U16") == (max(gaps_of(positions)) <= 65535), "gaps are wider than they need to be")
        check(positions == sorted(set(positions)) and positions, "positions do not rise")
        value_dtype, value_shape, values = body[name + values_end]
        check(value_dtype == "BF16" and shape == value_shape == (len(positions),), f"form of the values of '{name}'")
        out = bytearray(old[name].data)
        for number, at in enumerate(positions):
            out[2 * at:2 * at + 2] = values[2 * number:2 * number + 2]
        found[name] = bytes(out)
        check(positions == changed_elements(old[name].data, found[name], 2), "an element that does not change")
        changed += len(positions)
    if not encoding:
        check(sorted(json.loads(metadata["changed_params"])) == sorted(names), "changed_params")
    total = sum(tensor.elements() for tensor in base.tensors())
    check(metadata["num_changed_params"] == str(len(names)), "num_changed_params")
    check(metadata["total_changed_elements"] == str(changed), "total_changed_elements")
    check(changed <= int(metadata["total_elements"]) <= total, "total_elements")
    check(0 <= float(metadata["sparsity"]) <= 1, "sparsity")
    return metadata, found
