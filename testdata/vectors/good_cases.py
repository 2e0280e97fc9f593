"""Deltas that have to be applied: the result is given, and has to appear bit for bit."""

from cases import Case, bf16, filled, replaced, u16s, u8
from checkpoints import BLOCK, Checkpoint, Tensor, shard, single
from plain import build_plain
from wdp import CODECS, build, encode_gaps

CASES = []
SINGLES = {}  # bytes of a checkpoint that is a single file -> path


def add(name, sentence, base, result, delta, large=False):
    """A case from checkpoints; delta is a Pack or a PlainDelta."""
    folder = "good-" + name
    ending = "safetensors" if hasattr(delta, "tensors") else "wdp"
    case = Case(folder, sentence, f"{folder}/delta.{ending}")
    case.files[case.delta] = delta.bytes()
    for role, checkpoint in (("base", base), ("result", result)):
        if checkpoint is None:
            case.base = None
            continue
        made = checkpoint.files(f"{folder}/{role}")
        path = f"{folder}/{role}" + (".safetensors" if checkpoint.single else "")
        # What another case already has as a single file is not kept twice.
        known = SINGLES.setdefault(made[path], path) if checkpoint.single else path
        setattr(case, role, known)
        if known != path:
            continue
        case.files.update(made)
        if large:
            case.absent += made
    CASES.append(case)


def pack_case(name, sentence, base, result, large=False, **options):
    add(name, sentence, base, result, build(base, result, **options), large)


def by_gaps(forms=None, positions=None):
    """A codec for build(): gaps, with the streams in the given forms, or with more positions than changed."""
    def encode(record, number, old, new):
        return CODECS["gaps"][0], encode_gaps(old, new, record.new.dtype, forms, positions)
    return encode


# ---- values and codecs ----

WEIGHT = bf16("w", 0x3F80, 0x3F81, 0x0000, 0x8000, 0x7F80, 0x7FC1, 0xFFFF, 0x0001)

pack_case("no-change", "The result is the base; the pack has no blocks.", single(WEIGHT), single(WEIGHT))
pack_case("one-element", "One element of a BF16 tensor moves up by one step.",
          single(WEIGHT), single(replaced(WEIGHT, {2: u16s(0x3F82)})))
pack_case("codec-raw", "A changed block is coded raw, although it has an old block.",
          single(WEIGHT), single(replaced(WEIGHT, {2: u16s(0x3F82)})), codec="raw")
pack_case("codec-zstd-raw-block", "A changed block is a Zstandard frame of one raw block.",
          single(WEIGHT), single(replaced(WEIGHT, {2: u16s(0x3F82)})), codec="zstd")
ZEROES = u8("zeroes", bytes(700))
pack_case("codec-zstd-rle-block", "A changed block is a Zstandard frame of one RLE block.",
          single(ZEROES), single(u8("zeroes", b"\x07" * 700)), codec="zstd")
pack_case("steps", "Steps of +1, -1, the largest and the smallest, and around the ends of the range.",
          single(bf16("w", 10, 10, 0, 0, 0, 0xFFFF, 0xFFFF, 0x8000, 0x7FFF, 0x7FFF)),
          single(bf16("w", 11, 9, 0x7FFF, 0x8000, 0xFFFF, 0, 0x7FFF, 0x7FFF, 0x8000, 0)))

BYTES = u8("bytes", bytes(300))
EDGES = u8("edges", bytes(2048))
places, position = [], -1
for gap in (0, 1, 253, 254, 255, 256, 509, 510):
    position += gap + 1
    places.append(position)
pack_case("gaps-edges", "Gaps of 0, 1, 253, 254, 255, 256, 509 and 510 elements.",
          single(EDGES), single(replaced(EDGES, {at: b"\x01" for at in places})))
pack_case("gaps-first-and-last", "The first and the last element of a block change.",
          single(BYTES), single(replaced(BYTES, {0: b"\x01", 299: b"\xff"})))
pack_case("gaps-all-elements", "Every element of a block changes, so that all gaps are 0.",
          single(BYTES), single(u8("bytes", b"\x02" * 300)))
pack_case("gaps-unchanged-element", "A changed element that carries its old value, with a step of 0.",
          single(WEIGHT), single(replaced(WEIGHT, {2: u16s(0x3F82)})), codec=by_gaps(positions=[0, 1, 7]))
for form, what in ((0, "as they are"), (1, "as one repeated byte"), (2, "as Zstandard frames")):
    pack_case(f"stream-form-{form}", f"The streams of a coded block are stored {what}.",
              single(BYTES), single(replaced(BYTES, {at: b"\x01" for at in range(5, 60, 6)})),
              codec=by_gaps(forms=[form] * 2))

base = single(WEIGHT, metadata={"format": "pt"})
result = single(replaced(WEIGHT, {2: u16s(0x3F82)}), metadata={"format": "pt", "step": "1"})
pack = build(base, result)
pack.layout.form, pack.index.forms = 2, (2, 2)
add("stream-form-2-of-sections", "Layout and index are stored as Zstandard frames.", base, result, pack)
pack = build(base, result, file_codec="zstd")
add("file-zstd", "A carried header is coded as a Zstandard frame.", base, result, pack)
pack = build(base, result)
pack.optional = 0xFFFFFFFF
add("optional-flags", "All optional flags are set, which a reader ignores.", base, result, pack)

# ---- dtypes ----

for dtype, w in (("BOOL", 1), ("F8_E4M3", 1), ("F16", 2), ("F32", 4), ("I32", 4), ("F64", 8),
                 ("C64", 8)):
    tensor = filled("t", dtype, 12 * w, (3, 4))
    if dtype == "BOOL":
        tensor.data = bytes(at & 1 for at in range(12))
    new = replaced(tensor, {w: bytes(w), 5 * w: b"\x01" * w, 12 * w - 1: b"\x00"})
    pack_case("dtype-" + dtype.lower().replace("_", "-"), f"Three elements of a tensor of dtype {dtype} change.",
              single(tensor), single(new))
for dtype, shape in (("F4", (4, 6)), ("F6_E3M2", (2, 8))):
    tensor = filled("t", dtype, 12, shape)
    pack_case("dtype-" + dtype.lower().replace("_", "-"), f"Two bytes of a tensor of dtype {dtype} change.",
              single(tensor), single(replaced(tensor, {0: b"\xa5", 11: b"\x5a"})))
pack_case("not-a-number", "NaN payloads, the quiet bit, the signs of NaN and of zero change; none is taken for equal.",
          single(bf16("w", 0x7FC0, 0x7FC1, 0x7F81, 0x7FC0, 0x0000, 0x8000)),
          single(bf16("w", 0x7FC1, 0x7FC0, 0x7FC1, 0xFFC0, 0x8000, 0x0000)))

# ---- tensors that come, go and change their form ----

OTHER = filled("other", "F32", 24, (2, 3))
pack_case("added", "A tensor is added; it lies before the old one.", single(WEIGHT), single(OTHER, WEIGHT))
pack_case("added-zstd", "An added tensor is coded as a Zstandard frame.",
          single(WEIGHT), single(u8("flat", b"\x11" * 1000), WEIGHT), new_codec="zstd")
pack_case("removed", "A tensor is removed.", single(OTHER, WEIGHT), single(WEIGHT))
pack_case("renamed", "A tensor gets another name: one is removed, one is added.", single(OTHER, WEIGHT),
          single(Tensor("another", "F32", (2, 3), OTHER.data), WEIGHT))
pack_case("reshaped", "A tensor gets another shape, and keeps its bytes.",
          single(OTHER), single(Tensor("other", "F32", (3, 2), OTHER.data)))
pack_case("retyped", "A tensor gets another dtype of the same size.",
          single(OTHER), single(Tensor("other", "I32", (2, 3), OTHER.data)))
pack_case("retyped-and-reshaped", "A tensor gets another dtype and another shape; that counts as retyped.",
          single(OTHER), single(filled("other", "BF16", 8, (4,))))
EMPTY = Tensor("empty", "F32", (0, 4), b"")
SCALAR = Tensor("scalar", "F32", (), bytes.fromhex("0000803f"))
pack_case("empty-and-scalar", "An empty tensor stays, a tensor of rank 0 changes.", single(EMPTY, SCALAR),
          single(EMPTY, replaced(SCALAR, {0: b"\x01"})))
pack_case("empty-added", "An empty tensor is added: a record without blocks.", single(SCALAR), single(SCALAR, EMPTY))
pack_case("empty-reshaped", "An empty tensor gets another shape without an element.", single(EMPTY, SCALAR),
          single(Tensor("empty", "F32", (4, 0, 2), b""), SCALAR))
pack_case("empty-filled", "An empty tensor gets elements, and another one loses them.",
          single(EMPTY, OTHER), single(Tensor("empty", "F32", (1, 4), bytes(16)), Tensor("other", "F32", (0,), b"")))
pack_case("no-tensors", "Neither checkpoint has a tensor; only metadata change.",
          single(metadata={"a": "1"}), single(metadata={"a": "2"}))
NAMES = [bf16(name, 1, 2) for name in ("a", "a.b", "aé", "b", "Z", "ä", "日本")]
pack_case("name-order", "Names are ordered as bytes, while the data lie in another order.", single(*NAMES),
          single(*[replaced(tensor, {0: b"\x09"}) for tensor in reversed(NAMES)]))

# ---- headers, companions, shards ----

pack_case("header-metadata", "Only the metadata of the header change.", single(WEIGHT, metadata={"step": "1"}),
          single(WEIGHT, metadata={"step": "2"}))
pack_case("header-order", "The same tensors lie in another order in the file.", single(OTHER, WEIGHT),
          single(WEIGHT, OTHER))


def folder(companions, *shards):
    return Checkpoint([shard(name, tensors) for name, *tensors in shards], companions)


ONE = ("model.safetensors", OTHER, WEIGHT)
pack_case("companion-changed", "Only config.json changes.", folder({"config.json": b'{"a":1}'}, ONE),
          folder({"config.json": b'{"a":2}'}, ONE))
pack_case("companion-added-in-subfolder", "A companion appears in a subfolder, another one with no bytes.",
          folder({}, ONE), folder({"tokenizer/extra/vocab.txt": b"a\nb\n", "empty.txt": b""}, ONE))
pack_case("companion-removed", "A companion is gone in the result.", folder({"a.txt": b"a", "b.txt": b"b"}, ONE),
          folder({"b.txt": b"b"}, ONE))
pack_case("companion-renamed", "A companion gets another name, and is not carried.", folder({"a.txt": b"text"}, ONE),
          folder({"sub/c.txt": b"text"}, ONE))
pack_case("companion-copied", "A companion of the base is there twice in the result, a new one too.",
          folder({"a.txt": b"text"}, ONE),
          folder({"a.txt": b"text", "b.txt": b"text", "c.txt": b"new", "d.txt": b"new"}, ONE))
pack_case("companion-patterns", "The pack holds the patterns by which its companions were chosen.",
          folder({"a.dat": b"1"}, ONE), folder({"a.dat": b"2"}, ONE), includes=["*.dat", "*.json"], excludes=["b.*"])
TWO = (("model-00001-of-00002.safetensors", OTHER), ("model-00002-of-00002.safetensors", WEIGHT))
MOVED = replaced(WEIGHT, {0: u16s(0x3F7F)})
pack_case("resharded", "One shard becomes two, and a tensor changes.", folder({}, ONE),
          folder({}, TWO[0], (TWO[1][0], MOVED)))
pack_case("shards-renamed", "Two shards get other names; their headers are not carried.", folder({}, *TWO),
          folder({}, ("a.safetensors", OTHER), ("b.safetensors", MOVED)))
pack_case("shards-swapped", "Two shards exchange their names.", folder({}, *TWO),
          folder({}, (TWO[0][0], WEIGHT), (TWO[1][0], OTHER)))
pack_case("shard-order", "Blocks come shard by shard, which is not the order of the tensors' names.",
          folder({}, ("1.safetensors", bf16("z", 1, 2), bf16("m", 1)), ("2.safetensors", bf16("a", 3, 4))),
          folder({}, ("1.safetensors", bf16("z", 2, 2), bf16("m", 2)), ("2.safetensors", bf16("a", 4, 4))))
base, result = single(*NAMES[:3]), single(*[replaced(tensor, {0: b"\x09"}) for tensor in NAMES[2::-1]])
pack = build(base, result)
pack.blocks.append(pack.blocks.pop(-2))
add("tensor-order", "Tensors come neither as they lie in the result nor by name, which a reader takes.", base, result,
    pack)
pack_case("file-to-folder", "The base is a single file, the result a folder.", single(OTHER, WEIGHT),
          folder({"config.json": b"{}"}, *TWO))
pack_case("folder-to-file", "The base is a folder, the result a single file.", folder({"config.json": b"{}"}, *TWO),
          single(OTHER, MOVED))
INDEX = (b'{"metadata":{"total_size":40},"weight_map":{"other":"model-00001-of-00002.safetensors",'
         b'"w":"model-00002-of-00002.safetensors"}}')
pack_case("sharded-with-index", "A folder whose index names the shards; the index is a companion.",
          folder({"model.safetensors.index.json": INDEX}, *TWO),
          folder({"model.safetensors.index.json": INDEX}, TWO[0], (TWO[1][0], MOVED)))

# ---- anchors ----

pack_case("anchor-file", "An anchor of a single file.", None, single(OTHER, EMPTY, WEIGHT, metadata={"a": "b"}))
pack_case("anchor-folder", "An anchor of a folder with two shards and companions, coded by zstd.", None,
          folder({"config.json": b'{"a":1}', "sub/note.txt": b""}, *TWO), new_codec="zstd", file_codec="zstd")

# ---- more than one block ----

LONG = Tensor("long", "BF16", (3 * BLOCK // 4,), bytes(3 * BLOCK // 2))
pack_case("second-block", "Of a tensor with two blocks only the second, shorter one changes.", single(LONG),
          single(replaced(LONG, {BLOCK: b"\x01", 3 * BLOCK // 2 - 2: u16s(0xFFFF)})), large=True)
pack_case("added-three-blocks", "An added tensor has three blocks, each a frame of RLE blocks.", single(WEIGHT),
          single(u8("long", b"\x01" * BLOCK + b"\x02" * BLOCK + b"\x03" * 5), WEIGHT), large=True, new_codec="zstd")

# ---- plain deltas ----


def plain_case(name, sentence, base, result, large=False):
    add("plain-" + name, sentence, base, result, build_plain(base, result), large)


plain_case("no-change", "A plain delta that changes nothing.", single(WEIGHT), single(WEIGHT))
only_version = build_plain(single(WEIGHT), single(MOVED))
only_version.metadata = {"wdelta.version": "1"}
add("plain-only-version", "A plain delta whose metadata have the version alone, the only key that readers need.",
    single(WEIGHT), single(MOVED), only_version)
plain_case("changed", "A plain delta with indices and values of two tensors.", single(OTHER, WEIGHT),
           single(replaced(OTHER, {8: b"\x00\x01"}), replaced(WEIGHT, {0: u16s(1), 14: u16s(2)})))
plain_case("new", "A plain delta with an added, a reshaped and a retyped tensor, an empty one and a removed one.",
           single(OTHER, WEIGHT, bf16("gone", 1), bf16("typed", 1, 2)),
           single(EMPTY, Tensor("other", "F32", (6,), OTHER.data), WEIGHT, u8("added", b"abc"),
                  Tensor("typed", "F16", (2,), u16s(1, 2))))
plain_case("files", "A plain delta with a changed header and companions, one of them empty.",
           folder({"config.json": b'{"a":1}', "old.txt": b"x"}, ONE),
           folder({"config.json": b'{"a":2}', "sub/new.txt": b"y", "empty.txt": b""}, *TWO))
plain_case("sub-byte", "A plain delta of an F4 tensor, whose values are bytes.",
           single(filled("t", "F4", 12, (24,))), single(replaced(filled("t", "F4", 12, (24,)), {3: b"\xee"})))
plain_case("second-block", "A plain delta of a tensor with two blocks, of which the second changes.", single(LONG),
           single(replaced(LONG, {BLOCK: b"\x01", 3 * BLOCK // 2 - 2: u16s(0xFFFF)})), large=True)
