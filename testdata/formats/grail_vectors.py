"""grail's delta folders that have to be applied, and such that have to be refused."""

import struct

from checkpoints import single
from frames import bomb, deep, frame, windowed
from grail import DELTA, build, pack_as
from vector import (EXAMPLE, EXAMPLE_RESULT, LARGE, LARGE_RESULT, MALFORMED, MODEL, MODEL_NEXT, MODEL_RESULT, UNKNOWN,
                    WRONG_BASE, Folder, bad, filled, flipped, good)


def example(**options):
    return build(EXAMPLE, EXAMPLE_RESULT, **options)


def with_entry(**fields):
    delta = example()
    delta.header["tensors"][0].update(fields)
    return delta


def with_places(rows, cols, row_dtype="int32", col_dtype="int32"):
    """The example with other rows and columns, as differences."""
    delta = example(row_dtype=row_dtype, col_dtype=col_dtype)
    delta.lists[0][:2] = [pack_as(row_dtype, rows), pack_as(col_dtype, cols)]
    return delta


def with_content(data):
    """The files of the example with another content of the frame; their digests fit."""
    delta = example()
    delta.content = lambda: data
    return delta.files()


# ---- to be applied; nothing proves the base of a single tensor, and the program says so ----

def applied(sentence, base, result, *deltas, **options):
    good(f"grail: {sentence}", base, result, *deltas, warns=True if base != result else None, **options)


applied("the worked example is applied", EXAMPLE, EXAMPLE_RESULT, example())
applied("the file alone, without a folder, is applied", EXAMPLE, EXAMPLE_RESULT, Folder({"": example().files()[DELTA]}))
applied("the file alone in a folder is applied", EXAMPLE, EXAMPLE_RESULT, Folder({DELTA: example().files()[DELTA]}))
TALL = single(filled("tall", "BF16", 70000, 1), filled("line", "BF16", 70000), filled("wide", "BF16", 2, 70000))
TALL_RESULT = flipped(TALL, {"tall": [0, 1, 300, 69999], "line": [5, 6, 69999], "wide": [0, 69999, 70000, 139999]})
for rows in (None, "int32"):
    for cols in (None, "int32"):
        applied(f"rows as {rows or 'narrow as can be'}, columns as {cols or 'narrow as can be'}, are applied", TALL,
                TALL_RESULT, build(TALL, TALL_RESULT, rows, cols))
applied("rows as uint16 and columns as uint16 are applied", MODEL, MODEL_RESULT,
        build(MODEL, MODEL_RESULT, "uint16", "uint16"))
applied("tensors of one, two and three dimensions are applied", MODEL, MODEL_NEXT, build(MODEL, MODEL_NEXT))
KINDS = single(*(filled("t." + dtype, dtype, 8, 8) for dtype in ("BF16", "F16")), filled("u", "U8", 8))
KINDS_RESULT = flipped(KINDS, {"t.BF16": [3, 4, 63], "t.F16": [0, 9]})
applied("values of 2 bytes of either dtype are applied", KINDS, KINDS_RESULT, build(KINDS, KINDS_RESULT))
WIDE = single(filled("w", "F32", 8, 8))
applied("values of float32 are applied", WIDE, flipped(WIDE, {"w": [0, 7, 63]}, 4),
        build(WIDE, flipped(WIDE, {"w": [0, 7, 63]}, 4)))
applied("version 3, with all indices as int32, is applied", MODEL, MODEL_RESULT,
        build(MODEL, MODEL_RESULT, version=3))
applied("a tensor of three blocks is applied", LARGE, LARGE_RESULT, build(LARGE, LARGE_RESULT))
applied("a frame that has a window is applied", LARGE, LARGE_RESULT,
        Folder({DELTA: windowed(build(LARGE, LARGE_RESULT).content())}))
applied("a delta where nothing changed is applied", MODEL, MODEL, build(MODEL, MODEL))
applied("two deltas whose windows fit are applied in one go", MODEL, MODEL_NEXT, build(MODEL, MODEL_RESULT),
        build(MODEL_RESULT, MODEL_NEXT, window=40, prev_window=30), again=False)

# ---- to be refused: places ----

for name, rows, cols in (("a row out of range", (0, 2), (1, 2)), ("a row far out of range", (0, 0x7FFFFFFF), (1, 2)),
                         ("a row below zero", (-1, 2), (1, 2)), ("rows that fall", (1, -1), (2, 1)),
                         ("a column out of range", (0, 1), (1, 4)), ("a column below zero", (0, 1), (-1, 2)),
                         ("columns that fall in a row", (0, 0), (2, -1)), ("a place twice", (0, 0), (1, 0)),
                         ("columns that run over the end of a row", (0, 0), (3, 2))):
    bad(f"grail: {name} {'is' if name.startswith('a ') else 'are'} refused", MALFORMED, with_places(rows, cols))
for name, fields in (("more elements than rows", {"num_nonzero": 3}), ("fewer elements than rows", {"num_nonzero": 1}),
                     ("a huge count", {"num_nonzero": 1 << 62}), ("a count below zero", {"num_nonzero": -1}),
                     ("values beyond the end", {"values_offset": 8}),
                     ("a huge offset", {"values_offset": (1 << 64) - 2}),
                     ("an offset below zero", {"indices_offset": -1}),
                     ("sizes that do not add up", {"rows_size": 1}), ("more values than elements", {"values_size": 6})):
    bad(f"grail: an entry with {name} is refused", MALFORMED, with_entry(**fields), verify=True)
for field in ("value_dtype", "row_dtype", "col_dtype"):
    bad(f"grail: an unknown {field} is refused", UNKNOWN, with_entry(**{field: "int5"}), verify=True)

# ---- to be refused: bases ----

bad("grail: a tensor that the base does not have is refused", WRONG_BASE, with_entry(name="x"), word="x")
bad("grail: another shape than the base has is refused", WRONG_BASE, with_entry(shape=[4, 2]), word="w")
bad("grail: a shape that overflows is refused", (MALFORMED, WRONG_BASE), with_entry(shape=[1 << 40, 1 << 40]))
bad("grail: another dtype than the base has is refused", WRONG_BASE, with_entry(value_dtype="float16"), word="w")
bad("grail: a window that does not fit the delta before is refused", WRONG_BASE, build(MODEL, MODEL_RESULT),
    build(MODEL_RESULT, MODEL_NEXT, window=60, prev_window=50), base=MODEL)

# ---- to be refused: the file ----

twice = example()
twice.header["tensors"] *= 2
bad("grail: a tensor that is named twice is refused", MALFORMED, twice, verify=True)
old = example()
old.header["version"] = 2
bad("grail: version 2 of the codec is refused", UNKNOWN, old, verify=True)
content = example().content()
for name, data in (("a header longer than the file", struct.pack("<I", 1 << 20) + content[4:]),
                   ("a header that is no JSON", content.replace(b'{"version"', b'{{version"')),
                   ("no header", content[:3]), ("no data", content[:-10]), ("data cut short", content[:-1]),
                   ("a byte behind its data", content + b"\0")):
    bad(f"grail: a file with {name} is refused", MALFORMED, with_content(data), verify=True)
for name, data in (("cut short", frame(content)[:-1]), ("followed by another", frame(content) + frame(b"")),
                   ("followed by a byte", frame(content) + b"\0"), ("not a frame", content),
                   ("of far less content than it states", windowed(content, stated=1 << 60)),
                   ("of very many zeroes behind its data", bomb(content)),
                   ("of a header that nests very deep", frame(struct.pack("<I", len(deep())) + deep())),
                   ("of more content than it states", frame(content, stated=len(content) - 1))):
    bad(f"grail: a frame that is {name} is refused", MALFORMED, {DELTA: data}, verify=True)
