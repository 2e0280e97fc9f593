"""grail's delta folders, codecs v3 and v3.1: one Zstandard frame with places and new values of elements."""

import hashlib
import json
import struct
from dataclasses import dataclass

from frames import changed_elements, changed_tensors, frame, values_at, xxh3_text

DELTA = "delta_sparse.bin.zst"
CODES = {"uint8": "B", "uint16": "H", "int32": "i"}
VALUE_NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}


def pack_as(dtype, numbers):
    return struct.pack("<%d%s" % (len(numbers), CODES[dtype]), *numbers)


def narrowest(numbers, dtypes):
    top = max(numbers, default=0)
    return next(dtype for dtype in dtypes if top < {"uint8": 1 << 8, "uint16": 1 << 16, "int32": 1 << 31}[dtype])


def places(positions, shape):
    """(row deltas, column deltas) of flat positions: the tensor is seen as [shape[0], the rest]."""
    columns = 1
    for dimension in shape[1:]:
        columns *= dimension
    rows, cols, before = [], [], None
    for at in positions:
        row, col = divmod(at, columns)
        rows.append(row - (before[0] if before else 0))
        cols.append(col - before[1] if before and before[0] == row else col)
        before = row, col
    return rows, cols


@dataclass
class Grail:
    header: dict
    lists: list  # for each tensor [rows, columns, values] as bytes, in the order of the header
    metadata: dict

    def data(self):
        return b"".join(piece for pieces in self.lists for piece in pieces)

    def content(self):
        header = json.dumps(self.header, separators=(",", ":")).encode()
        return struct.pack("<I", len(header)) + header + self.data()

    def files(self):
        made = {DELTA: frame(self.content()), "delta_metadata.json": json.dumps({
            "format": "sparse_codec_v3.1", "threshold": 0.0, "prev_window": self.metadata["prev_window"],
            "anchor_window": self.metadata["anchor_window"],
            "shapes": {entry["name"]: entry["shape"] for entry in self.header["tensors"]}}).encode()}
        manifest = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
        return made | {"metadata.json": json.dumps({"file_manifest": manifest} | self.metadata).encode()}


def build(base, result, row_dtype=None, col_dtype=None, window=30, prev_window=20, version=31):
    """Version 3 has no names of index dtypes: all are int32."""
    if version == 3:
        row_dtype = col_dtype = "int32"
    delta = Grail({"version": version, "tensors": []}, [], {
        "window": window, "prev_window": prev_window, "anchor_window": 0, "checkpoint_type": "DELTA",
        "weights_hash": xxh3_text(b"".join(tensor.data for tensor in result.tensors()))})
    at = 0
    for old, new in changed_tensors(base, result):
        width = 4 if new.dtype == "F32" else 2
        positions = changed_elements(old.data, new.data, width)
        rows, cols = places(positions, new.shape)
        row_name = row_dtype or narrowest(rows, ("uint8", "uint16", "int32"))
        col_name = col_dtype or narrowest(cols, ("uint16", "int32"))
        pieces = [pack_as(row_name, rows), pack_as(col_name, cols), values_at(new.data, positions, width)]
        sizes = [len(piece) for piece in pieces]
        delta.header["tensors"].append({
            "name": new.name, "shape": list(new.shape), "num_nonzero": len(positions),
            "value_dtype": VALUE_NAMES[new.dtype], "row_dtype": row_name, "col_dtype": col_name,
            "indices_offset": at, "indices_size": sizes[0] + sizes[1], "rows_size": sizes[0], "cols_size": sizes[1],
            "values_offset": at + sizes[0] + sizes[1], "values_size": sizes[2]})
        if version == 3:
            for key in ("row_dtype", "col_dtype"):
                del delta.header["tensors"][-1][key]
        delta.lists.append(pieces)
        at += sum(sizes)
    return delta
