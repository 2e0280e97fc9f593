"""Packs that have to be applied, for codecs 3 (classes) and 4 (planes)."""

import struct

from adaptive import encode_adaptive
from cases import bf16, filled, u8
from checkpoints import Checkpoint, Tensor, elements, shard, single, width
from class_bits import encode_classes
from good_cases import WEIGHT, pack_case
from wdp import CODECS, encode_planes


def by(name, encode, **options):
    """A codec for build(), with choices of its writer."""
    return lambda record, number, old, new: (CODECS[name][0], encode(old, new, record.new.dtype, **options))


def stepped(tensor, steps):
    """The same tensor with steps added to elements: {number: step}."""
    w = width(tensor.dtype)
    values = elements(tensor.data, w)
    for at, step in steps.items():
        values[at] = (values[at] + step) % (1 << 8 * w)
    return Tensor(tensor.name, tensor.dtype, tensor.shape, b"".join(value.to_bytes(w, "little") for value in values))


# ---- classes ----

def classes(name, sentence, tensor, steps, **options):
    pack_case("classes-" + name, sentence, single(tensor), single(stepped(tensor, steps)),
              codec=by("classes", encode_classes, **options))


def of_exponents(name, dtype, shift, exponents):
    """One element for each exponent, with both signs and some mantissa."""
    bits = 8 * width(dtype)
    values = [exponent << shift | at % 2 << bits - 1 | at % (1 << min(shift, 3))
              for at, exponent in enumerate(exponents)]
    letter = {8: "B", 16: "H", 32: "I", 64: "Q"}[bits]
    return Tensor(name, dtype, (len(values),), struct.pack(f"<{len(values)}{letter}", *values))


MIXED = [120, 121, 118, 119, 0, 122, 121, 255, 119, 120, 121, 121, 60, 118, 120, 119, 122, 123, 124, 120]
BF = of_exponents("w", "BF16", 7, MIXED)
LINE = u8("line", bytes(at % 256 for at in range(300)))

classes("one", "One class; steps of 1, 2 and 3 up and down, large ones, the largest and the smallest.", BF,
        {0: 1, 1: -1, 3: 2, 4: -2, 6: 3, 9: -3, 11: 100, 14: -1000, 17: 0x7FFF, 19: -0x8000})
classes("several", "Four classes of a BF16 tensor; the first and the last have further exponents.", BF,
        {0: 1, 2: -1, 4: 1, 5: 2, 7: -1, 9: -3, 10: 1, 16: -7}, count=4, first=119)
classes("sixteen", "Sixteen classes of a BF16 tensor, up to the exponent 255; most of them have no member.", BF,
        {0: 1, 7: -1, 12: 4}, count=16, first=240)
classes("exponent-0", "The first class has the exponent 0 alone.",
        of_exponents("w", "BF16", 7, [0, 0, 0, 1, 2, 0, 1]), {0: 1, 2: -1, 4: -1, 6: 2}, count=2)
for dtype, shift, exponents, count, first in (
        ("F16", 10, [15, 14, 13, 0, 31, 16, 15, 15, 14, 12], 3, 14), ("F32", 23, MIXED[:12], 4, 119),
        ("F64", 52, [1020, 1021, 1022, 1023, 1023, 0, 2047, 1022], 3, 1021),
        ("F8_E4M3", 3, [7, 8, 6, 5, 0, 15, 7, 8, 7], 3, 6), ("F8_E5M2FNUZ", 2, [15, 16, 14, 0, 31, 15], 2, 30)):
    classes(dtype.lower().replace("_", "-"), f"Classes of a tensor of dtype {dtype}.",
            of_exponents("w", dtype, shift, exponents), {0: 1, 1: -1, 2: -5, 4: 2, 5: -2}, count=count, first=first)
classes("u8", "One class of a tensor whose dtype has no exponents.", LINE, {0: 1, 100: -1, 254: 7, 299: -128})
classes("f4", "One class of the bytes of an F4 tensor.", filled("t", "F4", 12, (24,)), {0: 1, 5: 31, 11: -2})
classes("u64", "Steps of 64 bits: the largest, the smallest, and some between.",
        Tensor("w", "U64", (6,), struct.pack("<6Q", 0, 1, 2, 3, 2 ** 64 - 1, 2 ** 63)),
        {0: 2 ** 63 - 1, 1: -2 ** 63, 2: 5, 4: 2 ** 40, 5: -2 ** 40}, step_k=15)
classes("complement", "The unchanged members are listed, as most change.", BF,
        {at: 1 if at % 3 else -1 for at in range(20) if at not in (4, 11, 19)}, count=3, first=119)
classes("all-changed", "All members change: the unchanged ones are listed, and there is none.", BF,
        {at: -1 for at in range(20)}, complement=True)
classes("all-listed", "All members change, and all of them are listed.", BF, {at: 1 for at in range(20)},
        complement=False)
classes("majority", "Most steps are larger than 1, and most of these larger than 2, so that the others are listed.", BF,
        {0: 3, 1: -4, 2: 5, 3: 1, 4: 6, 5: -9, 6: 2, 7: 3, 8: -3, 9: 4, 10: 12, 11: -2})
classes("half", "Just half of the steps are larger than 1, and half of these larger than 2: they are listed.", BF,
        {0: 1, 1: 2, 2: 3, 3: -1, 4: 1, 5: -2, 6: -3, 7: -1})
classes("all-larger", "All steps are larger than 2: no event is listed.", BF, {0: 3, 5: -4, 6: 5})
classes("runs", "Runs of 64 elements, of which one in five is active.", LINE, {130: 1, 140: -1, 191: 2}, r=1)
classes("runs-majority", "Runs of 64 elements, of which all but one are active; the last is shorter.", LINE,
        {0: 1, 64: -1, 127: 2, 192: -3, 299: 1}, r=1)
classes("runs-all", "Runs of 128 elements, all active.", LINE, {0: 1, 128: 1, 256: -1}, r=2)
classes("runs-one-short", "A run of 4096 elements is longer than the block.", BF, {3: 1}, r=7, count=2, first=119)
classes("escape", "Gaps of 31 and 32 members by Rice(0): 31 zeros, and the escape. A step is escaped too.", LINE,
        {31: 1, 64: -1, 299: 40}, k=0, step_k=0)
classes("k-23", "The largest k that a list of members may have.", LINE, {31: 1, 200: -1}, k=23)

# ---- adaptive ----

def adaptive(name, sentence, tensor, steps, **options):
    pack_case("adaptive-" + name, sentence, single(tensor), single(stepped(tensor, steps)),
              codec=by("adaptive", encode_adaptive, **options))


GRID = of_exponents("w", "BF16", 7, [118 + at * at % 7 for at in range(120)])
GRID_STEPS = {at: (1, -1, -1, 2, 1, -3, 900, -0x8000)[at * at // 5 % 8] for at in range(120) if at % 4 or at % 5 == 0}
adaptive("grid", "Rows of 12 columns, whose changes go both ways; the steps are of all sizes.", GRID, GRID_STEPS,
         columns=12)
adaptive("first-column", "The block begins in the fourth of five columns.", GRID, GRID_STEPS, columns=5, column=3)
adaptive("one-column", "There is one column.", BF, {0: 1, 1: -1, 3: 2, 6: 3, 19: -0x8000})
adaptive("wide", "There are as many columns as can be, and more than elements.", BF, {0: 1, 5: -1}, columns=65536,
         column=65530)
adaptive("runs", "Runs of 64 elements, of which the second is idle.", of_exponents("w", "BF16", 7, [119] * 140),
         {3: 1, 60: -1, 130: 2, 139: -9}, columns=20, r=1)
adaptive("f16", "The adaptive codec for F16.", of_exponents("w", "F16", 10, [15, 14, 13, 0, 31, 16, 15, 15]),
         {0: 1, 3: -1, 4: 5, 7: -1}, columns=4)
adaptive("f8-e4m3", "The adaptive codec for elements of one byte.",
         of_exponents("w", "F8_E4M3", 3, [7, 8, 6, 5, 0, 15, 7, 8, 7]), {0: 1, 4: -1, 5: -128, 7: 30}, columns=3)

# ---- planes ----

PLANES = [filled("a", "U8", 20, (20,)), WEIGHT, filled("x", "F32", 24, (2, 3)), filled("y", "F64", 32, (4,))]
MOVED = [stepped(PLANES[0], {0: 1, 19: -1}), stepped(WEIGHT, {at: -1 for at in range(8)}),
         stepped(PLANES[2], {0: -2 ** 31, 5: 70000}), stepped(PLANES[3], {0: 2 ** 63 - 1, 3: -1})]
for mode_, what_ in ((0, "of the elements"), (1, "of the steps")):
    pack_case(f"planes-{mode_}", f"Planes {what_}, for elements of 1, 2, 4 and 8 bytes.", single(*PLANES),
              single(*MOVED), codec=by("planes", encode_planes, mode=mode_))
for form_ in (0, 1, 2):
    pack_case(f"planes-form-{form_}", f"The streams of planes are in form {form_}.", single(bf16("w", 1, 1, 1)),
              single(bf16("w", 2, 2, 2)), codec=by("planes", encode_planes, form=form_))
pack_case("planes-new", "Added tensors and files are coded as planes.", single(WEIGHT),
          Checkpoint([shard("model.safetensors", PLANES)], {"config.json": b"{}"}), new_codec="planes",
          file_codec="planes")
