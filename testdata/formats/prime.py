"""prime-rl's sparse updates: a manifest, and one safetensors file with positions and new values."""

import json
import struct
from dataclasses import dataclass

from checkpoints import Tensor, header_of, width
from frames import changed_elements, changed_tensors, frame, values_at
from skyrl import TORCH_NAMES

MANIFEST, PATCH = "sparse_update_manifest.json", "sparse_update_patch.safetensors"
PACKERS = {"I32": "i", "I64": "q"}


def hash_tensor(dtype, data):
    """The XOR of all elements, each widened to 64 bits: floats to a double, integers with their sign."""
    if dtype == "BF16":
        padded = b"".join(b"\0\0" + data[at:at + 2] for at in range(0, len(data), 2))
        numbers = struct.unpack("<%df" % (len(padded) // 4), padded)
    else:
        code = {"F16": "e", "F32": "f", "F64": "d", "I32": "i", "I64": "q", "U8": "B", "I8": "b"}[dtype]
        numbers = struct.unpack("<%d%s" % (len(data) // struct.calcsize(code), code), data)
    out = 0
    for number in numbers:
        out ^= struct.unpack("<Q", struct.pack("<d" if isinstance(number, float) else "<q", number))[0]
    return out


@dataclass
class Prime:
    manifest: dict
    tensors: list
    compressed: bool

    def entry(self, name):
        return next(entry for entry in self.manifest["tensors"] if entry["name"] == name)

    def patch(self):
        data = header_of(self.tensors, {"format": "pt"}) + b"".join(tensor.data for tensor in self.tensors)
        return frame(data) if self.compressed else data

    def files(self):
        files = {MANIFEST: json.dumps(self.manifest, indent=2, sort_keys=True).encode() + b"\n"}
        return files | ({PATCH: self.patch()} if self.tensors else {})


def build(base, result, compressed=False, index_dtype="I32", step=5, base_step=4):
    """`index_dtype`: I64 is for tensors of 2^31 elements and more, but readers take it for any."""
    entries, tensors, total, changed = [], [], 0, 0
    numbers = {tensor.name: number for number, tensor in enumerate(base.tensors())}
    for old, new in changed_tensors(base, result):
        positions, number = changed_elements(old.data, new.data, width(new.dtype)), numbers[new.name]
        indices = struct.pack("<%d%s" % (len(positions), PACKERS[index_dtype]), *positions)
        values = values_at(new.data, positions, width(new.dtype))
        tensors += [Tensor(f"tensor_{number}.indices", index_dtype, (len(positions),), indices),
                    Tensor(f"tensor_{number}.values", new.dtype, (len(positions),), values)]
        entries.append({"name": new.name, "shape": list(new.shape), "dtype": TORCH_NAMES[new.dtype],
                        "indices": f"tensor_{number}.indices", "values": f"tensor_{number}.values",
                        "numel": new.elements(), "changed_numel": len(positions),
                        "checksum": hash_tensor(index_dtype, indices) ^ hash_tensor(new.dtype, values)})
        changed += len(positions)
    total = sum(tensor.elements() for tensor in base.tensors())
    delta = Prime({"format": "prime-rl-sparse-update", "version": 1, "step": step, "base_step": base_step,
                   "compute_dtype": "bfloat16", "compressed": compressed and bool(tensors),
                   "patch_file": PATCH if tensors else None, "tensors": entries}, tensors, compressed)
    delta.manifest["stats"] = {"total_tensors": len(numbers), "patched_tensors": len(entries), "total_numel": total,
                               "changed_numel": changed, "sparsity": 1 - changed / total,
                               "patch_bytes": len(delta.patch()) if tensors else 0}
    return delta
