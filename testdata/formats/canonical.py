"""The canonical delta folder: an index, and shards with one Zstandard frame for each changed tensor."""

import json
import struct
from dataclasses import dataclass

from checkpoints import Tensor, header_of, parse_header
from frames import CHECKSUMS, changed_bytes, changed_tensors, frame, frame_facts, values_at, xor
from streams import unframe

INDEX = "model.safetensors.index.json"
METADATA_KEYS = ["version", "base_version", "delta_encoding", "compression_format", "checksum_format"]


def overwrite_content(old, new):
    positions = changed_bytes(old, new)
    return struct.pack("<%dI" % (len(positions) + 1), len(positions), *positions) + values_at(new, positions, 1)


CONTENTS = {"xor": xor, "overwrite": overwrite_content}


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass
class Canonical:
    """All parts of a delta, to be changed before files() by those who need a bad one."""
    metadata: dict
    shards: dict  # file name -> {tensor name: frame}
    digests: dict  # tensor name -> text
    weight_map: dict

    def index(self):
        return compact({"metadata": self.metadata, "weight_map": self.weight_map})

    def shard(self, name):
        tensors = [Tensor(key, "U8", (len(data),), data) for key, data in self.shards[name].items()]
        digests = {key: self.digests[key] for key in self.shards[name] if key in self.digests}
        return header_of(tensors, digests) + b"".join(tensor.data for tensor in tensors)

    def files(self):
        return {name: self.shard(name) for name in self.shards} | {INDEX: self.index()}


def build(base, result, encoding="xor", checksum="xxh3-128", version="000001", base_version="000000", shards=1,
          frames=None):
    """The delta from base to result, its tensors dealt to so many shards. `frames` has given ones, by name."""
    changed = changed_tensors(base, result)
    delta = Canonical(dict(zip(METADATA_KEYS, (version, base_version, encoding, "zstd", checksum))), {}, {}, {})
    for number, (old, new) in enumerate(changed):
        name = "model-%05d-of-%05d.safetensors" % (number % shards, min(shards, len(changed)))
        data = (frames or {}).get(new.name) or frame(CONTENTS[encoding](old.data, new.data))
        delta.shards.setdefault(name, {})[new.name] = data
        delta.digests[new.name] = CHECKSUMS[checksum](new.data)
        delta.weight_map[new.name] = name
    return delta


# ---- the reader: takes what a writer that keeps all rules has written, and nothing else ----

def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_frame(data, name):
    size, window_log, dictionary = frame_facts(data)
    check(size is not None, f"the frame of '{name}' does not state its content size")
    check(window_log <= 27, f"the frame of '{name}' has a window log of {window_log}")
    check(dictionary == 0, f"the frame of '{name}' has a dictionary")
    return unframe(data, size)  # exactly one frame


def new_data(encoding, old, content):
    if encoding == "xor":
        check(len(content) == len(old), "the frame is not as long as the tensor")
        return xor(old, content)
    count = struct.unpack_from("<I", content)[0]
    check(len(content) == 4 + 5 * count, "content of another length")
    positions = struct.unpack_from("<%dI" % count, content, 4)
    check(list(positions) == sorted(set(positions)), "positions do not rise")
    out = bytearray(old)
    for at, value in zip(positions, content[4 + 4 * count:]):
        check(out[at] != value, "a byte that does not change")
        out[at] = value
    return bytes(out)


def read(files, base):
    """(metadata, {name: new bytes}) of the files of a folder; base is a Checkpoint."""
    index = json.loads(files[INDEX])
    check(list(index) == ["metadata", "weight_map"], f"keys of the index: {list(index)}")
    metadata, weight_map = index["metadata"], index["weight_map"]
    check(list(metadata) == METADATA_KEYS, f"keys of the metadata: {list(metadata)}")
    check(all(isinstance(value, str) for value in metadata.values()), "metadata that is not text")
    check(metadata["compression_format"] == "zstd", metadata["compression_format"])
    names = sorted(name for name in files if name.endswith(".safetensors"))
    check(names == ["model-%05d-of-%05d.safetensors" % (at, len(names)) for at in range(len(names))],
          f"names of the shards: {names}")
    check(set(weight_map.values()) == set(names), "the index names other shards than there are")
    old = {tensor.name: tensor for tensor in base.tensors()}
    found = {}
    for shard in names:
        header, digests, rows = parse_header(files[shard])
        check(len(header) % 8 == 0, "a header that is not padded")
        check(set(digests) == {row[2] for row in rows}, "digests of other tensors than there are")
        for begin, end, name, dtype, shape in rows:
            check(weight_map.get(name) == shard, f"the index has '{name}' elsewhere")
            check((dtype, shape) == ("U8", (end - begin,)), f"form of '{name}': {dtype} {shape}")
            data = files[shard][len(header) + begin:len(header) + end]
            found[name] = new_data(metadata["delta_encoding"], old[name].data, check_frame(data, name))
            check(digests[name] == CHECKSUMS[metadata["checksum_format"]](found[name]), f"digest of '{name}'")
            check(found[name] != old[name].data, f"'{name}' did not change")
    check(set(found) == set(weight_map), "the index has tensors that no shard has")
    return metadata, found
