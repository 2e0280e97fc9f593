"""The checkpoints from which everything in testdata/recorded was made. They are computed, and never change: their
digests are recorded, too. Only SHAKE-256 is asked for random bytes, so that every Python gives the same ones."""

import hashlib
import os
import shutil
import struct

import tiny

# The types of safetensors: the bytes of an element, and the bits of those that have less than a byte.
TYPES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1,
         "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "C64": 8, "F64": 8, "I64": 8, "U64": 8}
BELOW_A_BYTE = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
STEPS = range(0, 12)
BLOCKS_ELEMENTS = 700_000  # of two bytes: more than a block of 1 MiB


def noise(name, length):
    return hashlib.shake_256(name.encode()).digest(length)


def numbers(name, count, limit):
    """`count` random numbers below `limit`."""
    return [value % limit for value in struct.unpack("<%dQ" % count, noise(name, 8 * count))]


# ---- Tensors ----------------------------------------------------------------------------------------------------------


def weights(name, count):
    """Bit patterns of BF16 weights as a model has them: any sign and mantissa, exponents from 2^-12 to 1/2."""
    return [(value & 0x807F) | (115 + (value >> 8) % 12) << 7 for value in numbers(name, count, 1 << 16)]


def stepped(patterns, name, count):
    """What a step of training makes of them: a few go up or down by one, and one in ten becomes something else."""
    result = list(patterns)
    for n, chance in enumerate(numbers(name, count, 1 << 48)):
        position = chance % len(result)
        result[position] = (result[position] + (1 if chance & (1 << 40) else -1)) & 0xFFFF
        if n % 10 == 9:
            result[position] = chance >> 24 & 0xFFFF
    return result


def bf16(shape, patterns):
    return "BF16", shape, tiny.bf16(*patterns)


def edited(tensor, edits):
    """The tensor with other bytes. edits: {position of a byte: its new value}."""
    dtype, shape, values = tensor
    values = bytearray(values)
    for position, value in edits.items():
        values[position] = value
    return dtype, shape, bytes(values)


# ---- A pair with a tensor of each type, and each kind of change ---------------------------------------------------------


def of_each_type():
    tensors = {}
    for dtype, width in TYPES.items():
        values = noise("type " + dtype, 15 * width)
        if dtype == "BOOL":
            values = bytes(value & 1 for value in values)
        tensors["type." + dtype] = (dtype, [3, 5], values)
    for dtype, bits in BELOW_A_BYTE.items():
        tensors["type." + dtype] = (dtype, [3, 8], noise("type " + dtype, 3 * bits))
    return tensors


def with_other_values(tensors):
    """Each tensor of at least four bytes with two of them changed."""
    result = {}
    for name, tensor in tensors.items():
        size = len(tensor[2])
        old = tensor[2][size // 3:size // 3 + 1] + tensor[2][-1:]
        result[name] = edited(tensor, {size // 3: old[0] ^ 1, size - 1: old[1] ^ 1}) if size >= 4 else tensor
    return result


EMBED = weights("embed", 600)
FILLED = ("U8", [600], bytes(600))


def write_kinds(folder):
    """kinds-base and kinds-new; what is rebuilt of kinds-new: kinds-result, which has no extra.bin, and kinds-chosen,
    which has that and no notes; values-new, the tensors of kinds-base with other values in all of them, and types-new,
    with other values in those of whole bytes."""
    first = {"embed": bf16([20, 30], EMBED), "filled": FILLED, "noise": ("U8", [90], noise("u8", 90)),
             "same": bf16([64], weights("same", 64)), "empty": ("BF16", [0, 4], b""), "scalar": ("F32", [], b"\0\0\x80?")}
    second = {**of_each_type(), "removed": bf16([8], weights("removed", 8)), "reshaped": bf16([6, 4], weights("re", 24)),
              "retyped": bf16([8], weights("retyped", 8)), "removed.empty": ("I64", [3, 0], b"")}
    files = {"config.json": '{"step": 1}', "tokenizer/vocab.txt": "a\nb\n", "old.txt": "gone\n"}
    base = os.path.join(folder, "kinds-base")
    tiny.write_sharded(base, {"m-1.safetensors": first, "m-2.safetensors": second}, files, {"format": "pt"})

    for name, same in (("values-new", ()), ("types-new", ["type." + dtype for dtype in BELOW_A_BYTE])):
        shards = {"m-1.safetensors": with_other_values(first),
                  "m-2.safetensors": {**with_other_values(second), **{each: second[each] for each in same}}}
        tiny.write_sharded(os.path.join(folder, name), shards, files, {"format": "pt"})

    first = {**first, "embed": bf16([20, 30], stepped(EMBED, "embed step", 20)), "filled": ("U8", [600], b"\7" * 600),
             "noise": ("U8", [90], noise("u8 again", 90)), "scalar": ("F32", [], b"\0\0\0@")}
    second = with_other_values({name: tensor for name, tensor in second.items() if name.startswith("type.")})
    second = {**second, "reshaped": bf16([4, 6], weights("re", 24)), "retyped": ("F16", [8], noise("retyped", 16)),
              "added": bf16([3, 5], weights("added", 15)), "added.empty": ("F64", [0], b"")}
    files = {"config.json": '{"step": 2}', "tokenizer/vocab.txt": "a\nb\n", "extra.bin": "2", "notes/new.md": "# new\n"}
    for name, left_out in (("kinds-new", ""), ("kinds-result", "extra.bin"), ("kinds-chosen", "notes/new.md")):
        tiny.write_sharded(os.path.join(folder, name), {"m-1.safetensors": first, "m-3.safetensors": second},
                           {path: text for path, text in files.items() if path != left_out}, {"format": "pt"})


# ---- Tensors of more than one block, in a single file -------------------------------------------------------------------


def write_blocks(folder):
    """blocks-base.safetensors and blocks-new.safetensors."""
    patterns = weights("blocks", 500) * (BLOCKS_ELEMENTS // 500)
    for name, values in (("base", patterns), ("new", stepped(patterns, "blocks step", 60))):
        tiny.write_safetensors(os.path.join(folder, "blocks-%s.safetensors" % name),
                               {"large": bf16([BLOCKS_ELEMENTS], values), "small": bf16([64], values[:64])})


# ---- A training run -----------------------------------------------------------------------------------------------------


def tensors_of_step(step):
    tensors = {}
    for name, shape, count, changes in (("embed", [15, 20], 300, 5), ("layers.0", [200], 200, 4), ("norm", [8], 8, 1)):
        patterns = weights("run " + name, count)
        for done in range(1, step + 1):
            patterns = stepped(patterns, "run %s %d" % (name, done), changes)
        tensors[name] = bf16(shape, patterns)
    return tensors


def write_step(folder, step, name="run/%d"):
    """The checkpoint of a step: two shards and companions. From step 6 on it has another configuration."""
    tensors = tensors_of_step(step)
    shards = {"m-1.safetensors": {"embed": tensors.pop("embed")}, "m-2.safetensors": tensors}
    config = '{"kind": "tiny"}' if step < 6 else '{"kind": "tiny", "longer": true}'
    tiny.write_sharded(os.path.join(folder, name % step if "%" in name else name), shards,
                       {"config.json": config, "tokenizer/vocab.txt": "a\nb\n"})


def write_lone(folder, step):
    """The same tensors in a single file, lone/STEP.safetensors."""
    tiny.write_safetensors(os.path.join(folder, "lone/%d.safetensors" % step), tensors_of_step(step))


def copy(folder, old, new):
    """A copy of a checkpoint, a folder or a file."""
    old, new = os.path.join(folder, old), os.path.join(folder, new)
    if os.path.isdir(old):
        shutil.copytree(old, new)
    else:
        os.makedirs(os.path.dirname(new), exist_ok=True)
        shutil.copy(old, new)


def write_all(folder):
    write_kinds(folder)
    write_blocks(folder)
    for step in STEPS:
        write_step(folder, step)
        write_lone(folder, step)
