"""SkyRL's delta folders that have to be applied, and such that have to be refused."""

from checkpoints import single
from frames import deep, frame, xor
from skyrl import TORCH_NAMES, build
from vector import (EMBED, EXAMPLE, EXAMPLE_FRAME, EXAMPLE_RESULT, LARGE, LARGE_RESULT, MALFORMED, MISSING, MODEL,
                    MODEL_NEXT, MODEL_RESULT, NORM, OTHER, REFUSED, UNKNOWN, WRONG_BASE, bad, edited, filled, good)

PAYLOAD = "delta-rank00000-file000000.safetensors"
STEP = xor(EXAMPLE.tensors()[0].data, EXAMPLE_RESULT.tensors()[0].data)


def example(**options):
    return build(EXAMPLE, EXAMPLE_RESULT, **options)


def with_record(**fields):
    """The example with other fields in its record; None leaves one out."""
    delta = example()
    record = delta.record("w")
    record.update(fields)
    for key in [key for key in record if record[key] is None]:
        del record[key]
    return delta


# ---- to be applied ----

good("SkyRL: the worked example is applied", EXAMPLE, EXAMPLE_RESULT, example(frames={"w": EXAMPLE_FRAME}))
for checksum in ("xxh3-128", "sha256"):
    good(f"SkyRL: {checksum} in one file is applied", MODEL, MODEL_RESULT, build(MODEL, MODEL_RESULT, checksum))
    good(f"SkyRL: {checksum} in two files is applied", MODEL, MODEL_RESULT,
         build(MODEL, MODEL_RESULT, checksum, payloads=2))
NAMED = single(*(filled("t." + dtype, dtype, 8) for dtype in TORCH_NAMES))
NAMED_RESULT = edited(NAMED, {tensor.name: {0: bytes([tensor.data[0] ^ 1])} for tensor in NAMED.tensors()})
good("SkyRL: every dtype that it names is applied", NAMED, NAMED_RESULT, build(NAMED, NAMED_RESULT))
good("SkyRL: a tensor of three blocks is applied", LARGE, LARGE_RESULT, build(LARGE, LARGE_RESULT, "sha256"))
good("SkyRL: a delta where nothing changed is applied", MODEL, MODEL, build(MODEL, MODEL))
good("SkyRL: two deltas whose versions fit are applied in one go", MODEL, MODEL_NEXT, build(MODEL, MODEL_RESULT),
     build(MODEL_RESULT, MODEL_NEXT, version=2, base_version=1), again=False)
keyed = with_record(payload_key="0")
keyed.payloads[PAYLOAD] = {"0": keyed.payloads[PAYLOAD]["w"]}
good("SkyRL: the key of a payload need not be the name of its tensor", EXAMPLE, EXAMPLE_RESULT, keyed)
more = example()
more.manifest["run"] = "x"
good("SkyRL: unknown keys of the manifest are passed over", EXAMPLE, EXAMPLE_RESULT, more)

# ---- to be refused ----

for name, data in (("is longer than its tensor", frame(STEP + b"\0\0")),
                   ("is shorter than its tensor", frame(STEP[:-2])),
                   ("has more content than it states", frame(STEP + b"\0\0", stated=16)),
                   ("is followed by another one", frame(STEP) + frame(b"")),
                   ("is followed by a byte", frame(STEP) + b"\0"), ("is cut short", frame(STEP)[:-1])):
    bad(f"SkyRL: a frame that {name} is refused", MALFORMED, example(frames={"w": data}))
bad("SkyRL: another base is refused", WRONG_BASE, example(), base=OTHER)
bad("SkyRL: another base is refused by sha256", WRONG_BASE, example(checksum="sha256"), base=OTHER)
late = build(MODEL, MODEL_RESULT, payloads=2)
late.record(NORM)["checksum"] = late.record(EMBED)["checksum"]
bad("SkyRL: another checksum of the last tensor alone is refused", WRONG_BASE, late, base=MODEL)
bad("SkyRL: a base version that does not fit the delta before is refused", WRONG_BASE, build(MODEL, MODEL_RESULT),
    build(MODEL_RESULT, MODEL_NEXT, version=6, base_version=5), base=MODEL)
for file in ("sub/" + PAYLOAD, "../" + PAYLOAD, "/" + PAYLOAD, ".."):
    outside = with_record(payload_file=file)
    outside.manifest["payload_files"] = [file]
    bad(f"SkyRL: a payload file named '{file}' is refused", REFUSED,
        outside.files() | {"sub/" + PAYLOAD: outside.payload(PAYLOAD)}, verify=True)
files = example().files()
del files[PAYLOAD]
bad("SkyRL: a missing payload file is refused", MISSING, files, verify=True)
for name, exits, fields in (
        ("a payload key that is not in its file", MALFORMED, {"payload_key": "v"}),
        ("a checksum that is not hexadecimal", MALFORMED, {"checksum": "zc47d91ff0d6d1ed1303fcd0f5a12d50"}),
        ("a checksum that is too short", MALFORMED, {"checksum": "ac47d91f"}),
        ("another uncompressed size", MALFORMED, {"uncompressed_num_bytes": 18}),
        ("another compressed size", MALFORMED, {"compressed_num_bytes": 1}),
        ("an uncompressed size below zero", MALFORMED, {"uncompressed_num_bytes": -16}),
        ("a shape below zero", MALFORMED, {"shape": [-2, -4]}),
        ("a shape that is text", MALFORMED, {"shape": "2,4"}),
        ("no name", MALFORMED, {"name": None}), ("no payload file", MALFORMED, {"payload_file": None}),
        ("no checksum", MALFORMED, {"checksum": None}),
        ("an unknown dtype", UNKNOWN, {"dtype": "float3"}),
        ("the checksum blake3", REFUSED, {"checksum_algorithm": "blake3"}),
        ("an unknown checksum", UNKNOWN, {"checksum_algorithm": "md5"})):
    bad(f"SkyRL: a record with {name} is refused", exits, with_record(**fields), verify=True)
bad("SkyRL: a record with another dtype than the base has is refused", WRONG_BASE, with_record(dtype="float16"),
    word="w")
bad("SkyRL: a record with another shape than the base has is refused", WRONG_BASE, with_record(shape=[4, 2]), word="w")
bad("SkyRL: a record with a shape that overflows is refused", (MALFORMED, WRONG_BASE),
    with_record(shape=[1 << 40, 1 << 40]))
bad("SkyRL: a tensor that the base does not have is refused", WRONG_BASE, with_record(name="x"), word="x")
twice = example()
twice.manifest["tensors"] *= 2
bad("SkyRL: a tensor that is named twice is refused", MALFORMED, twice, verify=True)
for key in ("version", "base_version", "tensors"):  # without them it may not be taken for a delta of SkyRL at all
    lacking = example()
    del lacking.manifest[key]
    bad(f"SkyRL: a manifest without {key} is refused", UNKNOWN, lacking)
texts = example()
texts.manifest["version"] = "one"
bad("SkyRL: a version that is text is refused", MALFORMED, texts, verify=True)
files = example().files()
bad("SkyRL: a manifest that nests very deep is refused", MALFORMED,
    files | {"manifest.json": files["manifest.json"][:-1] + b',"x":' + deep() + b"}"}, verify=True)
bad("SkyRL: a manifest that is cut short is refused", MALFORMED,
    files | {"manifest.json": files["manifest.json"][:-1]}, verify=True)
for name, data in (("cut short", files[PAYLOAD][:-1]), ("followed by a byte", files[PAYLOAD] + b"\0")):
    bad(f"SkyRL: a payload file that is {name} is refused", MALFORMED, files | {PAYLOAD: data}, verify=True)
