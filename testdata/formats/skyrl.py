"""SkyRL's delta folders: a manifest, and payload files with one Zstandard frame of old XOR new for each tensor."""

import hashlib
import json
from dataclasses import dataclass

from canonical import check, check_frame
from checkpoints import Tensor, header_of, parse_header
from frames import CHECKSUMS, changed_tensors, frame, xor

TORCH_NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64", "F8_E4M3": "float8_e4m3fn",
               "F8_E5M2": "float8_e5m2", "I8": "int8", "U8": "uint8", "I16": "int16", "I32": "int32", "I64": "int64",
               "BOOL": "bool"}
RECORD_KEYS = ["name", "dtype", "shape", "uncompressed_num_bytes", "compressed_num_bytes", "payload_file",
               "payload_key", "checksum", "checksum_algorithm"]
MANIFEST_KEYS = ["version", "base_version", "tensors", "total_uncompressed_num_bytes", "total_compressed_num_bytes",
                 "payload_files"]
SUMS = CHECKSUMS | {"sha256": lambda data: hashlib.sha256(data).hexdigest()}


@dataclass
class Skyrl:
    manifest: dict
    payloads: dict  # file name -> {key: frame}

    def record(self, name):
        return next(record for record in self.manifest["tensors"] if record["name"] == name)

    def payload(self, name):
        tensors = [Tensor(key, "U8", (len(data),), data) for key, data in self.payloads[name].items()]
        return header_of(tensors) + b"".join(tensor.data for tensor in tensors)

    def files(self):
        manifest = json.dumps(self.manifest, separators=(",", ":")).encode()
        return {name: self.payload(name) for name in self.payloads} | {"manifest.json": manifest}


def build(base, result, checksum="xxh3-128", version=1, base_version=0, payloads=1, frames=None):
    delta = Skyrl({"version": version, "base_version": base_version, "tensors": []}, {})
    for number, (old, new) in enumerate(changed_tensors(base, result)):
        file = "delta-rank00000-file%06d.safetensors" % (number % payloads)
        data = (frames or {}).get(new.name) or frame(xor(old.data, new.data))
        delta.payloads.setdefault(file, {})[new.name] = data
        delta.manifest["tensors"].append(dict(zip(RECORD_KEYS, (
            new.name, TORCH_NAMES[new.dtype], list(new.shape), len(new.data), len(data), file, new.name,
            SUMS[checksum](new.data), checksum))))
    records = delta.manifest["tensors"]
    delta.manifest |= {"total_uncompressed_num_bytes": sum(record["uncompressed_num_bytes"] for record in records),
                       "total_compressed_num_bytes": sum(record["compressed_num_bytes"] for record in records),
                       "payload_files": sorted(delta.payloads)}
    return delta


def read(files, base):
    """(manifest, {name: new bytes}) of the files of a folder; every rule for writers is checked."""
    manifest = json.loads(files["manifest.json"])
    check(list(manifest)[:len(MANIFEST_KEYS)] == MANIFEST_KEYS, f"keys of the manifest: {list(manifest)}")
    check(isinstance(manifest["version"], int) and isinstance(manifest["base_version"], int), "versions are no numbers")
    names = sorted(name for name in files if name.endswith(".safetensors"))
    check(sorted(manifest["payload_files"]) == names, f"payload files: {manifest['payload_files']}")
    check(names == ["delta-rank00000-file%06d.safetensors" % at for at in range(len(names))], f"names: {names}")
    frames = {}
    for file in names:
        header, metadata, rows = parse_header(files[file])
        check(not metadata, "a payload file with metadata")
        for begin, end, key, dtype, shape in rows:
            check((dtype, shape) == ("U8", (end - begin,)), f"form of '{key}': {dtype} {shape}")
            frames[file, key] = files[file][len(header) + begin:len(header) + end]
    old, found = {tensor.name: tensor for tensor in base.tensors()}, {}
    for record in manifest["tensors"]:
        check(list(record) == RECORD_KEYS, f"keys of a record: {list(record)}")
        name = record["name"]
        check(record["payload_key"] == name, f"payload key of '{name}'")
        check(record["dtype"] == TORCH_NAMES[old[name].dtype], f"dtype of '{name}': {record['dtype']}")
        check(record["shape"] == list(old[name].shape), f"shape of '{name}': {record['shape']}")
        data = frames.pop((record["payload_file"], name))
        content = check_frame(data, name)
        check(record["compressed_num_bytes"] == len(data), f"compressed_num_bytes of '{name}'")
        check(record["uncompressed_num_bytes"] == len(content) == len(old[name].data), f"bytes of '{name}'")
        found[name] = xor(old[name].data, content)
        check(record["checksum"] == SUMS[record["checksum_algorithm"]](found[name]), f"checksum of '{name}'")
        check(found[name] != old[name].data, f"'{name}' did not change")
    check(not frames, f"payloads without a record: {sorted(frames)}")
    for kind in ("uncompressed", "compressed"):
        check(manifest[f"total_{kind}_num_bytes"] == sum(record[f"{kind}_num_bytes"] for record in manifest["tensors"]),
              f"total_{kind}_num_bytes")
    return manifest, found
