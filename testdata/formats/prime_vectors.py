"""prime-rl's sparse updates that have to be applied, and such that have to be refused."""

import struct

from checkpoints import Tensor, single
from frames import bomb, deep, frame, windowed
from prime import MANIFEST, PATCH, build
from vector import (EXAMPLE, EXAMPLE_RESULT, LARGE, LARGE_RESULT, MALFORMED, MISSING, MODEL, MODEL_NEXT, MODEL_RESULT,
                    REFUSED, UNKNOWN, WRONG_BASE, bad, filled, flipped, good)


def example(**options):
    return build(EXAMPLE, EXAMPLE_RESULT, **options)


def with_entry(**fields):
    delta = example()
    delta.entry("w").update(fields)
    return delta


def with_manifest(**fields):
    delta = example()
    delta.manifest |= fields
    return delta


def with_tensor(number, dtype, data, width=4):
    """The example with other indices (0) or values (1), and without a checksum of them."""
    delta = example()
    delta.tensors[number] = Tensor(delta.tensors[number].name, dtype, (len(data) // width,), data)
    del delta.entry("w")["checksum"]
    return delta


# ---- to be applied ----

for compressed in (False, True):
    how = "a compressed file" if compressed else "a plain file"
    good(f"prime-rl: the worked example in {how} is applied", EXAMPLE, EXAMPLE_RESULT, example(compressed=compressed),
         warns=True)
    good(f"prime-rl: several tensors in {how} are applied", MODEL, MODEL_RESULT,
         build(MODEL, MODEL_RESULT, compressed), warns=True)
    good(f"prime-rl: a tensor of three blocks in {how} is applied", LARGE, LARGE_RESULT,
         build(LARGE, LARGE_RESULT, compressed), warns=True)
    good(f"prime-rl: positions as I64 in {how} are applied", MODEL, MODEL_RESULT,
         build(MODEL, MODEL_RESULT, compressed, "I64"), warns=True)
good("prime-rl: an update where nothing changed, without a file, is applied", MODEL, MODEL, build(MODEL, MODEL),
     warns=None)
KINDS = single(filled("a", "F32", 8), filled("b", "F16", 8), filled("c", "U8", 8), filled("d", "BF16", 8))
KINDS_RESULT = flipped(flipped(KINDS, {"a": [1, 7]}, 4), {"b": [0], "d": [7]})
KINDS_RESULT = flipped(KINDS_RESULT, {"c": [2]}, 1)
good("prime-rl: tensors of several dtypes are applied", KINDS, KINDS_RESULT, build(KINDS, KINDS_RESULT), warns=True)
good("prime-rl: two updates whose steps fit are applied in one go", MODEL, MODEL_NEXT, build(MODEL, MODEL_RESULT),
     build(MODEL_RESULT, MODEL_NEXT, step=6, base_step=5), warns=True, again=False)

# ---- to be refused ----

for name, numbers in (("out of range", (1, 8)), ("far out of range", (1, 0x7FFFFFFF)), ("below zero", (-1, 6)),
                      ("that fall", (6, 1)), ("that repeat", (1, 1))):
    bad(f"prime-rl: positions {name} are refused", MALFORMED, with_tensor(0, "I32", struct.pack("<2i", *numbers)))
    bad(f"prime-rl: positions {name}, as I64, are refused", MALFORMED,
        with_tensor(0, "I64", struct.pack("<2q", *numbers), 8))
bad("prime-rl: more positions than values are refused", MALFORMED,
    with_tensor(0, "I32", struct.pack("<3i", 1, 3, 6)), verify=True)
bad("prime-rl: more values than positions are refused", MALFORMED, with_tensor(1, "BF16", bytes(6), 2), verify=True)
bad("prime-rl: positions that are F32 are refused", MALFORMED, with_tensor(0, "F32", bytes(8)), verify=True)
bad("prime-rl: values of another dtype than the manifest says are refused", MALFORMED,
    with_tensor(1, "F16", bytes(4), 2), verify=True)
for name, exits, fields in (("another count", MALFORMED, {"changed_numel": 3}),
                            ("another number of elements", MALFORMED, {"numel": 9}),
                            ("indices that its file does not have", MALFORMED, {"indices": "tensor_9.indices"}),
                            ("values that its file does not have", MALFORMED, {"values": "tensor_9.values"}),
                            ("an unknown dtype", UNKNOWN, {"dtype": "float3"}),
                            ("a shape below zero", MALFORMED, {"shape": [-2, -4]})):
    bad(f"prime-rl: an entry with {name} is refused", exits, with_entry(**fields), verify=True)
bad("prime-rl: another shape than the base has is refused", WRONG_BASE, with_entry(shape=[4, 2]), word="w")
bad("prime-rl: a shape that overflows is refused", (MALFORMED, WRONG_BASE), with_entry(shape=[1 << 40, 1 << 40]))
bad("prime-rl: a tensor that the base does not have is refused", WRONG_BASE, with_entry(name="x"), word="x")
bad("prime-rl: another dtype than the base has is refused", WRONG_BASE, example(),
    base=single(Tensor("w", "F16", (2, 4), EXAMPLE.tensors()[0].data)), word="w")
bad("prime-rl: a step that does not fit the update before is refused", WRONG_BASE, build(MODEL, MODEL_RESULT),
    build(MODEL_RESULT, MODEL_NEXT, step=8, base_step=7), base=MODEL)
for file in ("sub/" + PATCH, "../" + PATCH, "/" + PATCH, ".."):
    outside = with_manifest(patch_file=file)
    bad(f"prime-rl: a file named '{file}' is refused", REFUSED, outside.files() | {"sub/" + PATCH: outside.patch()},
        verify=True)
bad("prime-rl: a missing file is refused", MISSING, {MANIFEST: example().files()[MANIFEST]}, verify=True)
bad("prime-rl: another version is refused", UNKNOWN, with_manifest(version=2), verify=True)
bad("prime-rl: a list of tensors that is none is refused", MALFORMED, with_manifest(tensors=3), verify=True)
twice = example()
twice.manifest["tensors"] *= 2
bad("prime-rl: a tensor that is named twice is refused", MALFORMED, twice, verify=True)
files = example().files()
bad("prime-rl: a manifest that is cut short is refused", MALFORMED, files | {MANIFEST: files[MANIFEST][:-3]},
    verify=True)
bad("prime-rl: a manifest that nests very deep is refused", MALFORMED,
    files | {MANIFEST: files[MANIFEST].rstrip()[:-1] + b',"x":' + deep() + b"}"}, verify=True)
plain, packed = files[PATCH], example(compressed=True).files()
for name, data in (("cut short", plain[:-1]), ("followed by a byte", plain + b"\0"), ("empty", b"")):
    bad(f"prime-rl: a file that is {name} is refused", MALFORMED, files | {PATCH: data}, verify=True)
for name, data in (("cut short", frame(plain)[:-1]), ("followed by a byte", frame(plain) + b"\0"),
                   ("of a file that is cut short", frame(plain[:-1])),
                   ("of far less content than it states", windowed(plain, stated=1 << 60)),
                   ("of very many zeroes behind its file", bomb(plain)),
                   ("of more content than it states", frame(plain, stated=len(plain) - 1))):
    bad(f"prime-rl: a frame that is {name} is refused", MALFORMED, packed | {PATCH: data}, verify=True)
