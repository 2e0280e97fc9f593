"""Packs that are not whole, or have a fault in the header, a section, the layout or the end."""

from bad_common import BASE, RESULT, CONFIG, HEADER_FILE, NOTES, block_of, block_of_a, companions, fault, small
from cases import REFUSED, WRONG_BASE
from checkpoints import sha256, short, varint
from wdp import BLOCKS, END, INDEX, LAYOUT, Block, build, end_section, section

# ---- not whole ----

WHOLE = small().bytes()
STARTS = [20]  # where each section begins
for kind_, body_ in small().sections():
    STARTS.append(STARTS[-1] + len(section(kind_, body_)))
BLOCK_START, INDEX_START, END_START = STARTS[1], STARTS[-2], STARTS[-1]

for name_, length_, what_ in (
        ("empty", 0, "has no byte at all"),
        ("in-header", 13, "ends within the header"),
        ("after-layout", BLOCK_START, "ends behind the layout"),
        ("in-block", BLOCK_START + 10, "ends within a block"),
        ("before-index", INDEX_START, "ends before the index"),
        ("before-end", END_START, "ends before the end section"),
        ("last-byte", len(WHOLE) - 1, "lacks its last byte")):
    fault(f"truncated-{name_}", f"The file {what_}.")(lambda pack, length=length_: WHOLE[:length])

for name_, at_, what_ in (
        ("optional-flags", 16, "the optional flags"), ("layout", 60, "the layout"),
        ("block-checksum", BLOCK_START + 3, "the checksum of a block"),
        ("block", BLOCK_START + 24, "a coded block"), ("index", INDEX_START + 100, "the index"),
        ("end-magic", len(WHOLE) - 1, "the magic of the end")):
    fault(f"flipped-{name_}", f"One bit is flipped in {what_}.")(
        lambda pack, at=at_: WHOLE[:at] + bytes([WHOLE[at] ^ 0x10]) + WHOLE[at + 1:])


@fault("trailing-byte", "A byte follows the end section.", "damaged")
def _(pack):
    return WHOLE + b"\0"


@fault("two-packs", "A second pack follows the first.", "damaged")
def _(pack):
    return WHOLE + WHOLE


# ---- header, sections, end ----

@fault("reserved-field", "The field of the header that has to be 0 is 1.", exit=REFUSED, start=small)
def _(pack):
    pack.reserved = 1


@fault("version-2", "The version is 2.", "version", REFUSED, start=small)
def _(pack):
    pack.version = 2


@fault("version-0", "The version is 0.", "version", REFUSED, start=small)
def _(pack):
    pack.version = 0


for bit_ in (1, 31):
    @fault(f"required-flag-{bit_}", f"The required flag of bit {bit_} is set.", "flag", REFUSED, start=small)
    def _(pack, bit=bit_):
        pack.required |= 1 << bit


for codec_ in (100, 127):
    @fault(f"codec-{codec_}", f"A block has the codec {codec_}.", "codec", REFUSED, start=small)
    def _(pack, codec=codec_):
        block_of_a(pack).codec = codec


@fault("end-index-offset", "The end gives another offset for the index.", "index", start=small)
def _(pack):
    return pack.bytes(index_at=BLOCK_START)


@fault("end-index-offset-huge", "The end gives an offset for the index that is far outside of the file.", "index",
       start=small)
def _(pack):
    return pack.bytes(index_at=2 ** 64 - 1)


@fault("end-length", "The end gives another length for what stands before it.", "end record", start=small)
def _(pack):
    return pack.bytes(length=END_START - 1)


@fault("end-sha256", "The SHA-256 in the end is that of something else.", "SHA-256", start=small)
def _(pack):
    return pack.bytes(digest=sha256(b"something else"))


@fault("end-too-long", "The body of the end has 57 bytes.", "end record", start=small)
def _(pack):
    return WHOLE[:END_START] + section(END, WHOLE[END_START + 2:] + b"\0")


def rearranged(name, sentence, arrange, **options):
    @fault(name, sentence, start=small, **options)
    def _(pack):
        return pack.assemble(arrange(pack.sections()))


rearranged("section-unknown", "There is a section of an unknown type before the index.",
           lambda rows: rows[:-1] + [(0x58, b"what?")] + rows[-1:])
rearranged("section-after-index", "A block section follows the index.", lambda rows: rows + [rows[1]])
rearranged("layout-missing", "There is no layout.", lambda rows: rows[1:])
rearranged("layout-twice", "There are two layouts.", lambda rows: rows[:1] + rows)
rearranged("layout-not-first", "The layout follows the first block.", lambda rows: [rows[1], rows[0]] + rows[2:])
rearranged("index-missing", "There is no index.", lambda rows: rows[:-1])
rearranged("index-twice", "There are two indexes.", lambda rows: rows + rows[-1:])
rearranged("layout-trailing-byte", "A byte follows the stream of the layout section.",
           lambda rows: [(LAYOUT, rows[0][1] + b"\0")] + rows[1:])
rearranged("block-checksum", "The checksum of a block is wrong, and all other checksums are right.",
           lambda rows: rows[:1] + [(BLOCKS, b"\0" * 4 + rows[1][1][4:])] + rows[2:])
rearranged("block-empty", "A block section has no body.", lambda rows: rows[:1] + [(BLOCKS, b"")] + rows[1:])
rearranged("index-checksum", "The checksum of the index is wrong, and all other checksums are right.",
           lambda rows: rows[:-1] + [(INDEX, b"\0" * 8 + rows[-1][1][8:])])
rearranged("index-trailing-byte", "A byte follows the streams of the index section.",
           lambda rows: rows[:-1] + [(INDEX, short(rows[-1][1][8:] + b"\0") + rows[-1][1][8:] + b"\0")])


@fault("section-length-not-shortest", "The length of a section is a varint with a needless byte.", "section",
       start=small)
def _(pack):
    rows = pack.sections()
    size = len(rows[0][1])
    assert size < 128
    out = pack.header() + bytes([LAYOUT, size | 128, 0]) + rows[0][1]
    out += b"".join(section(*row) for row in rows[1:-1])
    at = len(out)
    return out + section(*rows[-1]) + end_section(out + section(*rows[-1]), at)


@fault("section-length-huge", "The length of a section is 2^64 - 1.", "section", start=small)
def _(pack):
    rows = pack.sections()
    out = pack.header() + bytes([LAYOUT]) + varint(2 ** 64 - 1) + rows[0][1]
    return out + end_section(out, 20)


@fault("section-length-overflow", "The length of a section is a varint of 2^64.", "section", start=small)
def _(pack):
    out = pack.header() + bytes([LAYOUT]) + varint(2 ** 64) + pack.sections()[0][1]
    return out + end_section(out, 20)


# ---- layout ----

def renamed(name, sentence, path, number=NOTES, word=""):
    @fault(f"path-{name}", sentence, word, REFUSED, start=companions)
    def _(pack):
        pack.layout.files[number].path = path


renamed("parent", "A companion's path leads to the folder above.", "../notes.txt", CONFIG, "outside")
renamed("parent-inside", "A companion's path has a component '..'.", "sub/../../notes.txt", NOTES, "outside")
renamed("absolute", "A companion's path is absolute.", "/tmp/notes.txt", CONFIG, "absolute")
renamed("hidden", "A companion's name begins with a dot.", ".bashrc", CONFIG, "hidden")
renamed("dot", "A companion's path has a component '.'.", "sub/./notes.txt", NOTES, "hidden")
renamed("backslash", "A companion's path has a backslash.", "sub\\notes.txt", NOTES, "backslash")
renamed("trailing-slash", "A companion's path ends in a slash.", "notes.txt/", NOTES, "empty")
renamed("empty", "A companion's path has no byte.", "", CONFIG, "empty")
renamed("nul", "A companion's path has a zero byte.", "notes\0.txt", NOTES, "control")
renamed("component-too-long", "A component of a companion's path has 256 bytes.", "n" * 252 + ".txt", NOTES, "255")
renamed("too-long", "A companion's path has 1025 bytes.", "/".join(["n" * 204] * 5) + "n", NOTES, "1024")
renamed("shard-in-folder", "A shard's name has a slash.", "sub/model.safetensors", HEADER_FILE, "outside")
renamed("shard-parent", "A shard's name leads to the folder above.", "../model.safetensors", HEADER_FILE, "outside")
renamed("shard-ending", "A shard's name does not end in .safetensors.", "model.bin", HEADER_FILE, "safetensors")
renamed("twice", "A path occurs twice.", "config.json", NOTES, "twice")
renamed("folder-of-another", "The path of a companion is a folder of another.", "config.json/notes.txt", NOTES,
        "folder")
renamed("names-a-shard", "A companion has the path of a shard.", "model.safetensors", CONFIG, "twice")
renamed("not-utf8", "A companion's path is not UTF-8.", "notes\udcff.txt", NOTES, "UTF-8")


@fault("layout-names-out-of-order", "The companions are not ordered by path.", "order", start=companions)
def _(pack):
    files = pack.layout.files
    files[CONFIG].path, files[NOTES].path = files[NOTES].path, files[CONFIG].path


@fault("layout-digest", "The layout digest of the index is not that of the layout.", "layout")
def _(pack):
    pack.index.result_digests = RESULT.fingerprint() + sha256(b"another layout")


@fault("layout-file-digest", "The SHA-256 of a carried companion is that of something else.", "SHA-256",
       start=companions)
def _(pack):
    pack.layout.files[NOTES].digest = sha256(b"something else")


@fault("layout-header-digest", "The SHA-256 of a carried header is that of something else.", "SHA-256")
def _(pack):
    pack.layout.files[HEADER_FILE].digest = sha256(b"something else")


@fault("layout-data-length", "The data of a shard have another length than its header says.", verify=False)
def _(pack):
    pack.layout.files[HEADER_FILE].data_length += 1


@fault("layout-carried-2", "The byte that says whether a file is carried is 2.", "carried", start=companions)
def _(pack):
    pack.layout.files[NOTES].carried = 2


@fault("layout-not-carried", "A file is neither carried nor in the base.", "notes.txt", WRONG_BASE, verify=False,
       start=companions)
def _(pack):
    pack.layout.files[NOTES].carried = 0
    pack.blocks.remove(block_of(pack, NOTES))


@fault("layout-not-carried-with-block", "A header is not carried, but has a block.", start=lambda: build(BASE, BASE))
def _(pack):
    header = BASE.shards[0].header
    pack.blocks.append(Block(HEADER_FILE, 0, 0, header, None, short(header)))


@fault("layout-no-shard", "There is no shard.", "shard")
def _(pack):
    del pack.layout.files[0]
    for block in pack.blocks:
        block.stream -= 1
    del pack.blocks[0]


@fault("layout-flags", "The layout has an unknown flag.", "flag", start=small)
def _(pack):
    pack.alter_layout = lambda content: b"\x02" + content[1:]


@fault("layout-single-with-companions", "The result is a single file and has companions.", "lone", start=companions)
def _(pack):
    pack.layout.single = True


@fault("layout-single-name", "The shard of a single file has another name than model.safetensors.", start=small)
def _(pack):
    pack.layout.files[HEADER_FILE].path = "weights.safetensors"


def altered_layout(name, sentence, alter):
    @fault(name, sentence, start=small)
    def _(pack):
        pack.alter_layout = alter


altered_layout("layout-content-trailing-byte", "A byte follows the patterns in the layout.",
               lambda content: content + b"\0")
altered_layout("layout-content-truncated", "The layout ends before the exclude patterns.", lambda content: content[:-1])
altered_layout("layout-count-too-large", "The layout announces 2^40 shards.",
               lambda content: content[:1] + varint(2 ** 40) + content[2:])
altered_layout("layout-pattern-count-too-large", "The layout announces 2^63 exclude patterns.",
               lambda content: content[:-1] + varint(2 ** 63))
altered_layout("layout-varint-not-shortest", "The number of shards is a varint with a needless byte.",
               lambda content: content[:1] + b"\x81\0" + content[2:])
altered_layout("layout-name-too-long", "A name is announced to be longer than the layout.",
               lambda content: content[:2] + varint(2 ** 32) + content[3:])
altered_layout("layout-patterns-too-many", "There are 1001 include patterns.",
               lambda content: content[:-2] + varint(1001) + b"\x01a" * 1001 + b"\0")
rearranged("layout-too-long", "The layout is longer than 1 MiB and 64 times its section: one repeated byte.",
           lambda rows: [(LAYOUT, varint((1 << 20) + 64 * 5 + 1) + b"\x01\x00")] + rows[1:])
