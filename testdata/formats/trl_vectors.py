"""TRL patches that have to be applied, and such that have to be refused."""

import struct

import canonical
from checkpoints import Tensor, single
from trl import FORMS, build, build_anchor
from vector import (EXAMPLE, EXAMPLE_RESULT, LARGE, LARGE_RESULT, MALFORMED, MODEL, MODEL_NEXT, MODEL_RESULT, OTHER,
                    REFUSED, UNKNOWN, WRONG_BASE, bad, filled, flipped, good)


def example(form="v1"):
    return build(EXAMPLE, EXAMPLE_RESULT, form)


def words(code, *numbers):
    return struct.pack("<%d%s" % (len(numbers), code), *numbers)


# ---- to be applied; the base is never proved, and the program says so ----

LONG = single(filled("long", "BF16", 70000))
EDGES = {"65535, which still are U16,": flipped(LONG, {"long": [0, 65536]}),
         "65536, which are U32,": flipped(LONG, {"long": [0, 65537]}),
         "65535 before the first, which still are U16,": flipped(LONG, {"long": [65535]})}
MIXED = single(filled("half", "BF16", 8), filled("wide", "F32", 8), filled("byte", "U8", 8))
for form in FORMS:
    good(f"TRL: the worked example as {form} is applied", EXAMPLE, EXAMPLE_RESULT, example(form), warns=True)
    good(f"TRL: {form} of several tensors is applied", MODEL, MODEL_RESULT, build(MODEL, MODEL_RESULT, form),
         warns=True)
    good(f"TRL: {form} of a tensor of three blocks is applied", LARGE, LARGE_RESULT, build(LARGE, LARGE_RESULT, form),
         warns=True)
    good(f"TRL: {form} where nothing changed is applied", MODEL, MODEL, build(MODEL, MODEL, form), warns=None)
    good(f"TRL: {form} passes over tensors of other dtypes that it does not name", MIXED, flipped(MIXED, {"half": [3]}),
         build(MIXED, flipped(MIXED, {"half": [3]}), form), warns=True)
    good(f"TRL: two patches as {form} are applied in one go", MODEL, MODEL_NEXT, build(MODEL, MODEL_RESULT, form),
         build(MODEL_RESULT, MODEL_NEXT, form, 2), warns=True, again=False)
for gap, result in EDGES.items():
    good(f"TRL: gap_delta with gaps of {gap} is applied", LONG, result, build(LONG, result), warns=True)
good("TRL: an anchor gives every tensor", MODEL, MODEL_RESULT, build_anchor(MODEL_RESULT), warns=None)
good("TRL: a patch follows an anchor", OTHER, EXAMPLE_RESULT, build_anchor(EXAMPLE), example(), warns=None)
good("TRL: a patch follows a canonical delta", MODEL, MODEL_NEXT, canonical.build(MODEL, MODEL_RESULT),
     build(MODEL_RESULT, MODEL_NEXT), warns=True, again=False)
known = example()
known.metadata |= {"trainer": "x", "note": "y"}
good("TRL: unknown metadata is passed over", EXAMPLE, EXAMPLE_RESULT, known, warns=True)
for form in FORMS:
    turned = build(MODEL, MODEL_RESULT, form)
    turned.tensors.reverse()
    good(f"TRL: {form} with its lists in another order is applied", MODEL, MODEL_RESULT, turned, warns=True)
dotted = single(Tensor("a.val.idx", "BF16", (8,), EXAMPLE.tensors()[0].data))
good("TRL: the name of a tensor may end as those of the lists do", dotted, flipped(dotted, {"a.val.idx": [2]}),
     build(dotted, flipped(dotted, {"a.val.idx": [2]})), warns=True)

# ---- to be refused: positions ----

for name, numbers in (("out of range", (1, 8)), ("far out of range", (1, 0x7FFFFFFF)), ("below zero", (-1, 6)),
                      ("that fall", (6, 1)), ("that repeat", (1, 1))):
    for form in ("v1", "raw"):
        bad(f"TRL: {form} with positions {name} is refused", MALFORMED,
            example(form).replace("w" + FORMS[form][0], "I32", words("i", *numbers)))
for name, dtype, data in (("out of range", "U16", words("H", 1, 6)), ("far out of range", "U16", words("H", 1, 65535)),
                          ("out of 32 bits", "U32", words("I", 0xFFFFFFFF, 1))):
    bad(f"TRL: gaps that lead {name} are refused", MALFORMED, example("gap_delta").replace("w.idx", dtype, data))
for form in FORMS:
    positions_end, values_end, coder, _ = FORMS[form]
    dtype, three = coder([1, 3, 6])
    bad(f"TRL: {form} with fewer values than positions is refused", MALFORMED,
        example(form).replace("w" + positions_end, dtype, three))
    bad(f"TRL: {form} with more values than positions is refused", MALFORMED,
        example(form).replace("w" + values_end, "BF16", bytes(6)))
    for end in (positions_end, values_end):
        lacking = example(form)
        lacking.tensors = [tensor for tensor in lacking.tensors if not tensor.name.endswith(end)]
        bad(f"TRL: {form} without '{end}' of a tensor is refused", MALFORMED, lacking, verify=True)
    bad(f"TRL: {form} with values that are F16 is refused", MALFORMED,
        example(form).replace("w" + values_end, "F16", bytes(4)), verify=True)
    bad(f"TRL: {form} with positions that are F32 is refused", MALFORMED,
        example(form).replace("w" + positions_end, "F32", words("I", 1, 4)), verify=True)
    stranger = example(form)
    stranger.tensors = [Tensor(tensor.name.replace("w.", "x.", 1), tensor.dtype, tensor.shape, tensor.data)
                        for tensor in stranger.tensors]
    if form == "v1":
        stranger.metadata["changed_params"] = '["x"]'
    bad(f"TRL: {form} of a tensor that the base does not have is refused", WRONG_BASE, stranger, word="x")
    bad(f"TRL: {form} of a tensor that is no BF16 in the base is refused", WRONG_BASE, example(form),
        base=single(Tensor("w", "F16", (2, 4), EXAMPLE.tensors()[0].data)), word="w")
    data = example(form).files()[""]
    bad(f"TRL: {form} that is cut short is refused", MALFORMED, {"": data[:-1]}, verify=True)
    bad(f"TRL: {form} that is followed by a byte is refused", MALFORMED, {"": data + b"\0"}, verify=True)
bad("TRL: gap_delta with positions that are I32 is refused", MALFORMED,
    example("gap_delta").replace("w.idx", "I32", words("i", 1, 4)), verify=True)
bad("TRL: raw with positions that are U16 is refused", MALFORMED,
    example("raw").replace("w.idx", "U16", words("H", 1, 6)), verify=True)

# ---- to be refused: metadata and anchors ----

for key, value, exits, word in (("encoding", "nvcomp_cascaded", REFUSED, "nvcomp"),
                                ("encoding", "huffman", UNKNOWN, ""), ("version", "2", UNKNOWN, ""),
                                ("sparse", "maybe", UNKNOWN, "")):
    other = example("gap_delta")
    other.metadata[key] = value
    if word:
        other.replace("w.idx", "U8", bytes(12))
    bad(f"TRL: {key} '{value}' is refused", exits, other, word=word, verify=True)
wide = single(Tensor("w", "BF16", (4, 2), EXAMPLE.tensors()[0].data))
bad("TRL: an anchor with a tensor of another shape is refused", (WRONG_BASE, REFUSED), build_anchor(wide))
more = single(*EXAMPLE.tensors(), filled("x", "BF16", 8))
bad("TRL: an anchor with a tensor that the base does not have is refused", (WRONG_BASE, REFUSED), build_anchor(more),
    word="x")
