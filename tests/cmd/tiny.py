"""Tiny checkpoints for the command-line tests, written without the library under test."""

import json
import os
import struct


def safetensors_bytes(tensors, metadata=None):
    """A safetensors file. tensors: {name: (dtype, shape, bytes)}, in the order of their data."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def write_file(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def write_safetensors(path, tensors, metadata=None):
    write_file(path, safetensors_bytes(tensors, metadata))


def write_sharded(folder, shards, companions=None, metadata=None):
    """A folder with an index. shards: {file name: tensors}; companions: {relative path: content}."""
    weight_map = {name: file for file, tensors in shards.items() for name in tensors}
    for file, tensors in shards.items():
        write_safetensors(os.path.join(folder, file), tensors, metadata)
    write_index(folder, weight_map)
    for path, content in (companions or {}).items():
        write_file(os.path.join(folder, path), content)


def write_index(folder, weight_map):
    write_file(os.path.join(folder, "model.safetensors.index.json"),
               json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}))


def bf16(*patterns):
    """The bytes of BF16 elements, given as bit patterns."""
    return struct.pack("<%dH" % len(patterns), *patterns)


def ramp(count, changes=None):
    """A BF16 vector of `count` elements that all differ; `changes`: {position: bit pattern}."""
    patterns = [(0x3C00 + 7 * i) & 0xFFFF for i in range(count)]
    for position, pattern in (changes or {}).items():
        patterns[position] = pattern
    return ("BF16", [count], bf16(*patterns))


def write_sparse(path, data_bytes):
    """A valid file with one U8 tensor of zeros that takes no room on disk, however large it is."""
    text = json.dumps({"zeros": {"dtype": "U8", "shape": [data_bytes], "data_offsets": [0, data_bytes]}}).encode()
    text += b" " * (-len(text) % 8)
    write_file(path, struct.pack("<Q", len(text)) + text)
    os.truncate(path, 8 + len(text) + data_bytes)


def write_pair(folder_a, folder_b):
    """Two checkpoints of two shards each, the second one step of training after the first."""
    first = {"embed": ramp(300), "layers.0.weight": ramp(64)}
    second = {"layers.1.weight": ramp(64), "norm": ramp(8)}
    write_sharded(folder_a, {"a-1.safetensors": first, "a-2.safetensors": second},
                  {"config.json": '{"step": 1}', "tokenizer/vocab.txt": "a\nb\n"})
    first = {"embed": ramp(300, {5: 0x1234, 77: 0x8000}), "layers.0.weight": ramp(64)}
    second = {"layers.1.weight": ramp(64, {63: 0x7FC1}), "norm": ramp(8)}
    write_sharded(folder_b, {"a-1.safetensors": first, "a-2.safetensors": second},
                  {"config.json": '{"step": 2}', "tokenizer/vocab.txt": "a\nb\n"})
