"""Canonical delta folders that have to be applied, and such that have to be refused."""

import json
import struct

from canonical import INDEX, build
from checkpoints import Tensor, header_of
from frames import MAGIC, blocks, bomb, deep, frame, size_field, unsized, windowed, xor
from vector import (EMBED, EVERY, EVERY_RESULT, EXAMPLE, EXAMPLE_FRAME, EXAMPLE_RESULT, LARGE, LARGE_RESULT, LAYER_1,
                    MALFORMED, MISSING, MODEL, MODEL_NEXT, MODEL_RESULT, NORM, OTHER, REFUSED, UNKNOWN, WRONG_BASE,
                    Folder, bad, edited, good)

SHARD = "model-00000-of-00001.safetensors"
STEP = xor(EXAMPLE.tensors()[0].data, EXAMPLE_RESULT.tensors()[0].data)  # what the frame of the example holds


def example(**options):
    return build(EXAMPLE, EXAMPLE_RESULT, **options)


def model(**options):
    return build(MODEL, MODEL_RESULT, **options)


def with_frame(data, **options):
    return example(frames={"w": data}, **options)


def with_lists(positions, values, count=None):
    """The example as an overwrite with these lists."""
    count = len(positions) if count is None else count
    return with_frame(frame(struct.pack("<%dI" % (len(positions) + 1), count, *positions) + values),
                      encoding="overwrite")


def with_metadata(**fields):
    """The example with other metadata; None leaves a field out."""
    delta = example()
    delta.metadata |= fields
    delta.metadata = {key: value for key, value in delta.metadata.items() if value is not None}
    return delta


def with_index(data):
    return example().files() | {INDEX: data}


# ---- to be applied ----

good("canonical: the worked example is applied", EXAMPLE, EXAMPLE_RESULT, with_frame(EXAMPLE_FRAME))
for encoding in ("xor", "overwrite"):
    good(f"canonical: the worked example as {encoding}, in a frame of a raw block, is applied", EXAMPLE, EXAMPLE_RESULT,
         example(encoding=encoding))
    for checksum in ("xxh3-128", "adler32"):
        for shards in (1, 2):
            good(f"canonical: {encoding} with {checksum} in {shards} shards is applied", MODEL, MODEL_RESULT,
                 model(encoding=encoding, checksum=checksum, shards=shards))
    good(f"canonical: {encoding} of a tensor of three blocks is applied", LARGE, LARGE_RESULT,
         build(LARGE, LARGE_RESULT, encoding))
    good(f"canonical: {encoding} of every dtype is applied", EVERY, EVERY_RESULT,
         build(EVERY, EVERY_RESULT, encoding, "adler32", shards=3))
    ALL_NEW = edited(EXAMPLE, {"w": {0: bytes(16)}})
    good(f"canonical: {encoding} of every byte of a tensor is applied", EXAMPLE, ALL_NEW,
         build(EXAMPLE, ALL_NEW, encoding))
    good(f"canonical: {encoding} where nothing changed, with an empty map, is applied", MODEL, MODEL,
         build(MODEL, MODEL, encoding))
    good(f"canonical: two deltas with {encoding} whose versions fit are applied in one go", MODEL, MODEL_NEXT,
         model(encoding=encoding),
         build(MODEL_RESULT, MODEL_NEXT, encoding, version="000002", base_version="000001"), again=False)
good("canonical: a frame that has a window is applied", LARGE, LARGE_RESULT, build(
    LARGE, LARGE_RESULT, frames={"big": windowed(xor(*(one.tensors()[0].data for one in (LARGE, LARGE_RESULT))))}))
good("canonical: versions may be any text", EXAMPLE, EXAMPLE_RESULT, example(version="v1", base_version="v0"))
good("canonical: versions may be numbers", EXAMPLE, EXAMPLE_RESULT, with_metadata(version=1, base_version=0))
good("canonical: an xor and an overwrite follow one another", MODEL, MODEL_NEXT,
     model(version="b", base_version="a"),
     build(MODEL_RESULT, MODEL_NEXT, "overwrite", "adler32", version="c", base_version="b"), again=False)


good("canonical: the index may be sorted and indented, and have other files beside it", EXAMPLE, EXAMPLE_RESULT,
     Folder(with_index(json.dumps(json.loads(example().index()), sort_keys=True, indent=2).encode())
            | {"receipt.json": b"{}", "notes.txt": b"x"}))
HALF_DONE = edited(MODEL, {NORM: {0: next(one for one in MODEL_RESULT.tensors() if one.name == NORM).data}})
for encoding in ("xor", "overwrite"):
    good(f"canonical: {encoding} goes on where some tensors are new already", HALF_DONE, MODEL_RESULT,
         model(encoding=encoding))
same = example()
same.shards[SHARD]["w"], same.digests["w"] = frame(bytes(16)), build(EXAMPLE_RESULT, EXAMPLE).digests["w"]
good("canonical: a tensor may be listed that does not change", EXAMPLE, EXAMPLE, same)
good("canonical: an overwrite may carry a byte that does not change", EXAMPLE, EXAMPLE_RESULT,
     with_lists([0, 2, 13], b"\x80\x81\xbf"))

# ---- to be refused: frames ----

for name, data in (
        ("is longer than its tensor", frame(STEP + b"\0\0")),
        ("is shorter than its tensor", frame(STEP[:-2])),
        ("is empty", frame(b"")),
        ("has more content than it states", frame(STEP + b"\0\0", stated=16)),
        ("has less content than it states", frame(STEP[:-2], stated=16)),
        ("has no size and is longer than its tensor", unsized(STEP + b"\0\0")),
        ("has no size and is shorter than its tensor", unsized(STEP[:-2])),
        ("is followed by another one", frame(STEP) + frame(b"")),
        ("is cut in two", frame(STEP[:8]) + frame(STEP[8:])),
        ("has a skippable frame before it", bytes.fromhex("502a4d1800000000") + frame(STEP)),
        ("is followed by a byte", frame(STEP) + b"\0"),
        ("is cut short", frame(STEP)[:-1]),
        ("ends before its blocks", MAGIC + size_field(16)),
        ("states far more than its tensor has", windowed(STEP, stated=1 << 60)),
        ("lies about a small size and unfolds to far more", MAGIC + size_field(16) + bomb(STEP)[14:]),
        ("unfolds to far more than its tensor has", bomb(STEP)),
        ("has a wrong checksum of its own", MAGIC + b"\x24\x10" + blocks(STEP) + b"\1\2\3\4"),
        ("wants a dictionary", MAGIC + b"\x21\x07\x10" + blocks(STEP)),
        ("has another magic number", b"\x29" + frame(STEP)[1:]),
        ("has a block of the reserved kind", MAGIC + size_field(16) + b"\x87\0\0" + blocks(STEP)[3:])):
    bad(f"canonical: a frame that {name} is refused", MALFORMED, with_frame(data))

# ---- to be refused: lists of an overwrite ----

for name, delta in (
        ("out of range", with_lists([2, 16], b"\x81\xbf")),
        ("far out of range", with_lists([2, 0xFFFFFFFF], b"\x81\xbf")),
        ("that fall", with_lists([13, 2], b"\xbf\x81")),
        ("that repeat", with_lists([2, 2, 13], b"\x81\x81\xbf"))):
    bad(f"canonical: an overwrite with positions {name} is refused", MALFORMED, delta)
for name, delta in (
        ("more values than it counts", with_lists([2, 13], b"\x81\xbf\x00")),
        ("fewer values than it counts", with_lists([2, 13], b"\x81")),
        ("a count beyond its end", with_lists([2, 13], b"\x81\xbf", count=3)),
        ("a huge count", with_lists([2, 13], b"\x81\xbf", count=0xFFFFFFFF)),
        ("no count", with_frame(frame(b"\x02\0\0"), encoding="overwrite"))):
    bad(f"canonical: an overwrite with {name} is refused", MALFORMED, delta)

# ---- to be refused: digests and bases ----

for checksum, digest in (("xxh3-128", "ac47d91ff0d6d1ed1303fcd0f5a12d51"), ("adler32", "355e067b")):
    wrong = example(checksum=checksum)
    wrong.digests["w"] = digest
    bad(f"canonical: another {checksum} than that of the result is refused", WRONG_BASE, wrong)
    bad(f"canonical: an xor of another base is refused by {checksum}", WRONG_BASE, example(checksum=checksum),
        base=OTHER)
    bad(f"canonical: an overwrite of another base is refused by {checksum}", WRONG_BASE,
        example(checksum=checksum, encoding="overwrite"), base=OTHER)
second = build(MODEL_RESULT, MODEL_NEXT, version="000002", base_version="000001")
second.digests[EMBED] = "0" * 32
bad("canonical: another digest in the second of two deltas is refused", WRONG_BASE, model(), second, base=MODEL)
late = model(shards=2)
late.digests[NORM] = late.digests[EMBED]
bad("canonical: another digest of the last tensor alone is refused", WRONG_BASE, late, base=MODEL)
for name, digest in (("too short", "ac47d91f"), ("not hexadecimal", "zc47d91ff0d6d1ed1303fcd0f5a12d50"), ("empty", "")):
    wrong = example()
    wrong.digests["w"] = digest
    bad(f"canonical: a digest that is {name} is refused", MALFORMED, wrong, verify=True)
wrong = example()
wrong.digests = {}
bad("canonical: a tensor without a digest is refused", MALFORMED, wrong, verify=True)
bad("canonical: a base version that does not fit the delta before is refused", WRONG_BASE, model(),
    build(MODEL_RESULT, MODEL_NEXT, version="000006", base_version="000005"), base=MODEL)
bad("canonical: two deltas in the wrong order are refused", WRONG_BASE,
    build(MODEL_RESULT, MODEL_NEXT, version="000002", base_version="000001"), model(), base=MODEL)
wrong = example()
wrong.shards[SHARD]["x"], wrong.digests["x"], wrong.weight_map["x"] = frame(STEP), wrong.digests["w"], SHARD
bad("canonical: a tensor that the base does not have is refused", WRONG_BASE, wrong, word="x")

# ---- to be refused: shards ----

for name in ("sub/" + SHARD, "../" + SHARD, "/" + SHARD, "..", "./" + SHARD):
    wrong = example()
    wrong.weight_map["w"] = name
    bad(f"canonical: a shard named '{name}' is refused", REFUSED, wrong.files() | {"sub/" + SHARD: wrong.shard(SHARD)},
        verify=True)
wrong = example()
wrong.weight_map["w"] = "model.bin"
bad("canonical: a shard that is not named *.safetensors is refused", UNKNOWN,
    {"model.bin": wrong.shard(SHARD), INDEX: wrong.index()}, verify=True)
wrong = model(shards=2)
one, two = wrong.shards
wrong.shards[two][EMBED] = wrong.shards[one][EMBED]
bad("canonical: a tensor in two shards is refused", MALFORMED, wrong, base=MODEL, verify=True)
bad("canonical: a missing shard is refused", MISSING, {INDEX: example().index()}, verify=True)
files = model(shards=2).files()
del files[two]
bad("canonical: a missing second shard is refused", MISSING, files, base=MODEL, verify=True)
wrong = example()
wrong.weight_map["v"] = SHARD
bad("canonical: a tensor of the index that its shard does not have is refused", MALFORMED, wrong, verify=True)
wrong = model(shards=2)
wrong.weight_map[EMBED] = two
bad("canonical: a tensor of the index that is in another shard is refused", MALFORMED, wrong, base=MODEL, verify=True)
wrong = model()
del wrong.weight_map[LAYER_1]
bad("canonical: a tensor that the index does not have is refused", MALFORMED, wrong, base=MODEL, verify=True)
data = example().shard(SHARD)
for name, other in (("cut short", data[:-1]), ("followed by a byte", data + b"\0"), ("empty", b""),
                    ("not U8", data.replace(b'"U8"', b'"I8"')),
                    ("of two dimensions", header_of([Tensor("w", "U8", (1, len(frame(STEP))), frame(STEP))],
                                                    example().digests) + frame(STEP))):
    bad(f"canonical: a shard that is {name} is refused", MALFORMED, example().files() | {SHARD: other}, verify=True)

# ---- to be refused: the index ----

text = example().index()
for name, data in (
        ("cut short", text[:-1]), ("followed by a brace", text + b"}"),
        ("that nests very deep", text[:-1] + b',"x":' + deep() + b"}"),
        ("with a key twice in its map", text.replace(
            b'"weight_map":{', b'"weight_map":{"w":"model-00001-of-00001.safetensors",')),
        ("with a map that is a list", text[:text.index(b'{"w"')] + b'["w"]}'),
        ("with a shard that is a number", text.replace(b'"%s"' % SHARD.encode(), b"1")),
        ("without a map", text[:text.index(b',"weight_map"')] + b"}")):
    bad(f"canonical: an index {name} is refused", MALFORMED, with_index(data), verify=True)
for key in ("version", "base_version"):
    bad(f"canonical: an index without {key} is refused", MALFORMED, with_metadata(**{key: None}), verify=True)
for key in ("compression_format", "checksum_format"):
    bad(f"canonical: an index without {key} is refused", UNKNOWN, with_metadata(**{key: None}), verify=True)
for value in (True, [1], {"number": 1}):
    bad(f"canonical: a version that is {value} is refused", MALFORMED, with_metadata(version=value), verify=True)
bad("canonical: an unknown encoding is refused", UNKNOWN, with_metadata(delta_encoding="add"), verify=True, word="add")
bad("canonical: an unknown compression is refused", UNKNOWN, with_metadata(compression_format="lz4"), verify=True,
    word="lz4")
bad("canonical: an unknown checksum is refused", UNKNOWN, with_metadata(checksum_format="md5"), verify=True, word="md5")
# Malformed for a program with BLAKE3, because the checksums are shorter than it would have them.
bad("canonical: blake3 is refused where the program is without it", UNKNOWN, with_metadata(checksum_format="blake3"),
    verify=True)
