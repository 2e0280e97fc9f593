"""Packs with a fault in a block section or in a coded block."""

import struct

from bad_common import RESULT, C, FIRST_TENSOR, NOTES, anchor, block_of, block_of_a, fault, long, small
from checkpoints import short, short32, varint
from wdp import Block, stream, zstd_frame

# ---- blocks ----

@fault("block-order", "The blocks 1 and 0 of a tensor are exchanged.", "block", start=long)
def _(pack):
    pack.blocks[-2], pack.blocks[-3] = pack.blocks[-3], pack.blocks[-2]


@fault("block-twice", "A block is there twice.", "block", start=long)
def _(pack):
    pack.blocks.insert(-1, pack.blocks[-2])


@fault("block-missing", "The middle block of an added tensor is missing.", "block", start=long)
def _(pack):
    del pack.blocks[-2]


@fault("block-last-missing", "The last block of an added tensor is missing.", "missing", start=long)
def _(pack):
    del pack.blocks[-1]


@fault("block-only-missing", "The only block of an added tensor is missing.", "missing")
def _(pack):
    del pack.blocks[-1]


@fault("block-of-file-missing", "The only block of a carried file is missing.", "missing")
def _(pack):
    pack.blocks.remove(block_of(pack, NOTES))


@fault("block-of-changed-missing", "A changed tensor has no block.")
def _(pack):
    pack.blocks.remove(block_of(pack, FIRST_TENSOR))


@fault("block-number-outside", "The number of a block is behind the end of its tensor.", "block")
def _(pack):
    block_of(pack, FIRST_TENSOR).number = 1


@fault("block-number-huge", "The number of a block is 2^64 - 1.", "block")
def _(pack):
    block_of(pack, FIRST_TENSOR).number = 2 ** 64 - 1


@fault("stream-number-of-unchanged", "A block belongs to a tensor that has no record.")
def _(pack):
    extra = Block(FIRST_TENSOR + 2, 0, 0, C.data, short32(C.data), short(C.data))
    pack.blocks.insert(-1, extra)


@fault("stream-number-outside", "A block has a stream number behind the last tensor.")
def _(pack):
    pack.blocks.append(Block(FIRST_TENSOR + 4, 0, 0, b"x", None, short(b"x")))


@fault("stream-order-files", "The blocks of two files are exchanged.")
def _(pack):
    pack.blocks[1], pack.blocks[2] = pack.blocks[2], pack.blocks[1]


@fault("stream-order-file-last", "The block of a file follows those of the tensors.")
def _(pack):
    pack.blocks.append(pack.blocks.pop(2))


@fault("stream-interleaved", "The block of another tensor stands between two blocks of a tensor.", start=long)
def _(pack):
    pack.blocks.insert(-1, pack.blocks.pop(4))


@fault("old-block-of-added", "A block of an added tensor has an old block.", "block")
def _(pack):
    pack.blocks[-1].old = short32(b"old")


@fault("old-block-of-file", "A block of a file has an old block.", "block")
def _(pack):
    pack.blocks[0].old = short32(b"old")


@fault("old-block-of-anchor", "A block of an anchor has an old block.", "block", start=anchor)
def _(pack):
    pack.blocks[-1].old = short32(b"old")


@fault("old-block-lacking", "A block of a changed tensor has no old block.", "block")
def _(pack):
    block = block_of(pack, FIRST_TENSOR)
    block.codec, block.old, block.coded = 0, None, RESULT.tensors()[0].data


@fault("old-block-digest", "The digest of an old block is not that of the base's, which is the right base.",
       "tensor 'a'", verify=False)
def _(pack):
    block_of(pack, FIRST_TENSOR).old = short32(b"another")


@fault("new-block-digest", "The digest of a new block is not that of its content.", "decode", verify=False)
def _(pack):
    block_of(pack, FIRST_TENSOR).new = short(b"another")


@fault("new-block-digest-of-added", "The digest of an added tensor's block is not that of its content.", "block")
def _(pack):
    pack.blocks[-1].new = short(b"another")


@fault("new-block-digest-of-file", "The digest of a file's block is not that of its content.")
def _(pack):
    pack.blocks[1].new = short(b"another")


@fault("file-codec-gaps", "A file is coded by gaps.", "old block")
def _(pack):
    pack.blocks[1].codec = 2


@fault("gaps-without-old-block", "An added tensor is coded by gaps.", "old block", verify=False)
def _(pack):
    pack.blocks[-1].codec = 2


def raw(name, sentence, change):
    @fault(name, sentence, "length", verify=False)
    def _(pack):
        block = pack.blocks[-1]
        block.coded = change(block.coded)
        block.new = short(block.coded)


raw("raw-too-short", "A raw block is shorter than it should be.", lambda coded: coded[:-1])
raw("raw-too-long", "A raw block is longer than it should be.", lambda coded: coded + b"\0")
raw("raw-empty", "A raw block has no bytes.", lambda coded: b"")


# ---- gaps: tensor a has six elements, of which those at 1 and 5 change ----

def gaps(name, sentence, word, coded):
    @fault(f"gaps-{name}", sentence, word, verify=False, start=small)
    def _(pack):
        block_of_a(pack).coded = coded


LOW, HIGH = b"\x01\x02", b"\x00\x00"  # steps of -1 and +1
GAPS = b"\x01\x03"
GOOD = stream(GAPS) + stream(LOW) + stream(HIGH)
assert GOOD == block_of_a(small()).coded

gaps("position-outside", "A gap leads behind the last element of the block.", "position outside",
     stream(b"\x01\x04") + GOOD[4:])
gaps("position-far-outside", "Gaps with escapes lead far behind the block.", "position outside",
     stream(b"\x01\xff\xff\x03", 0) + GOOD[4:])
gaps("end-in-escape", "The gaps end in 255.", "escape",
     stream(b"\x01\x03\xff") + GOOD[4:])
gaps("only-escapes", "The gaps are nothing but 255.", "escape",
     stream(b"\xff" * 4) + GOOD[4:])
gaps("too-few-steps", "There is one step for two elements.", "steps",
     stream(GAPS) + stream(LOW[:1]) + stream(HIGH[:1]))
gaps("too-many-steps", "There are three steps for two elements.", "stream of",
     stream(GAPS) + stream(LOW * 2) + stream(HIGH * 2))
gaps("uneven-planes", "The two streams of steps differ in length.", "stream of",
     stream(GAPS) + stream(LOW) + stream(b"\0" * 3))
gaps("stream-missing", "The last stream of steps is missing.", "early",
     stream(GAPS) + stream(LOW))
gaps("trailing-byte", "A byte follows the streams.", "too many",
     GOOD + b"\0")
gaps("empty", "The coded block has no bytes.", "early",
     b"")
gaps("unknown-form", "A stream has the form 3.", "form",
     b"\x02\x03" + GAPS + GOOD[4:])
gaps("stream-too-long", "A stream of one repeated byte is 2^40 bytes long.", "stream of",
     varint(2 ** 40) + b"\x01\x00" + GOOD[4:])
gaps("stream-longer-than-block", "The gaps are more than the elements of the block.", "stream of",
     stream(b"\0" * 7) + stream(b"\x02" * 7) + stream(b"\0" * 7))
gaps("stream-truncated", "A stream ends before its length.", "early",
     GOOD[:-1])
gaps("length-not-shortest", "The length of a stream is a varint with a needless byte.", "shortest",
     b"\x82\0" + GOOD[1:])
gaps("wrong-step", "A step leads to another value than the digest of the new block says.", "decode",
     stream(GAPS) + stream(b"\x01\x04") + stream(HIGH))


# ---- Zstandard frames ----

ALSO_AS_STREAMS = ("longer-content", "size-not-stated", "two-frames", "trailing-byte", "truncated")


def framed(name, sentence, frame):
    """As a coded block, and some as a stream of gaps."""
    @fault(f"zstd-{name}", sentence + " (A coded block.)", "frame", verify=False, start=small)
    def _(pack):
        block = block_of_a(pack)
        block.codec, block.coded = 1, frame(RESULT.tensors()[0].data)

    if name in ALSO_AS_STREAMS:
        @fault(f"stream-zstd-{name}", sentence + " (A stream.)", "frame", verify=False, start=small)
        def _(pack):
            made = frame(GAPS)
            block_of_a(pack).coded = b"\x02\x02" + varint(len(made)) + made + GOOD[4:]


framed("size-too-large", "A frame states one byte more than it has.", lambda data: zstd_frame(data, len(data) + 1))
framed("size-too-small", "A frame states one byte less than it has.", lambda data: zstd_frame(data, len(data) - 1))
framed("longer-content", "A frame has, and states, one byte more than its place.",
       lambda data: zstd_frame(data + b"\0"))
framed("huge-content", "A frame of RLE blocks has 8 MiB.", lambda data: zstd_frame(bytes(1 << 23)))
framed("size-not-stated", "A frame does not state its content size.", lambda data: zstd_frame(data, stated=False))
framed("two-frames", "There are two frames, the second of them empty.", lambda data: zstd_frame(data) + zstd_frame(b""))
framed("split-frames", "The content is split into two frames.",
       lambda data: zstd_frame(data[:1], len(data)) + zstd_frame(data[1:]))
framed("trailing-byte", "A byte follows the frame.", lambda data: zstd_frame(data) + b"\0")
framed("skippable", "A skippable frame follows the frame.",
       lambda data: zstd_frame(data) + struct.pack("<II", 0x184D2A50, 2) + b"xx")
framed("truncated", "The frame lacks its last byte.", lambda data: zstd_frame(data)[:-1])
framed("not-a-frame", "There is no frame, but the content itself.", lambda data: data)
framed("no-bytes", "There is no byte in place of a frame.", lambda data: b"")
