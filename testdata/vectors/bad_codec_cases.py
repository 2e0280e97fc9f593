"""Packs with a fault in a block that is coded by classes or as planes.

Tensor a is BF16 and has six elements, all with the exponent 0; those at 1 and 5 change, by -1 and +1.
"""

from adaptive import encode_adaptive
from bad_common import BASE, NOTES, SMALL, A, B, C, block_of, block_of_a, fault, small
from cases import replaced
from checkpoints import single, varint
from class_bits import BitWriter, encode_classes
from wdp import build, encode_planes, stream

OLD, NEW = BASE.tensors()[0].data, SMALL.tensors()[0].data
CLASSES, PLANES, ADAPTIVE = 3, 4, 5


def coded(codec, name, sentence, data, **options):
    @fault(name, sentence, verify=False, start=small, **options)
    def _(pack):
        block = block_of_a(pack)
        block.codec, block.coded = codec, data


# ---- classes ----

def classes(name, sentence, data):
    coded(CLASSES, "classes-" + name, sentence, data if isinstance(data, bytes) else data.bytes())


def head(count=1, first=None, r=0):
    out = BitWriter().put(count - 1, 4)
    if first is not None:
        out.put(first, 11)
    return out.put(r, 3)


def listed(out, complement=0, size=2, count=0, k=1, positions=(1, 5)):
    """The list of a class; without arguments that of the two that change. count: l without its leading one."""
    out.put(complement, 1).put(size, 5)
    return out.put(count, size - 1).put(k, 5).gaps(positions, k) if size else out


def steps(out, large=0):
    """No step of the two is larger than 1, unless `large` says how many are; the first is negative."""
    return out.put(large, 2).put(0b01, 2)


GOOD = encode_classes(OLD, NEW, "BF16", k=1)
assert GOOD == steps(listed(head())).bytes()

classes("empty", "The coded block has no bytes.", b"")
classes("cut-short", "The bits end in the list of members.", GOOD[:-1])
classes("trailing-byte", "A byte follows the bits.", GOOD + b"\0")
USED = len(steps(listed(head())).bits)
assert USED % 8
classes("fill", "The bits that fill up the last byte are not zero.", GOOD[:-1] + bytes([GOOD[-1] | 0x80]))
NONE = dict(size=0, positions=())
classes("exponent-too-large", "The last class has the exponent 256, which BF16 does not have.",
        steps(listed(listed(head(2, 255)), **NONE)))
classes("exponent-far-too-large", "The last of sixteen classes has the exponent 2062.",
        steps(BitWriter().put(15, 4).put(2047, 11).put(0, 3)))


@fault("classes-of-u8", "There are two classes in a tensor whose dtype has no exponents.", verify=False)
def _(pack):
    new = single(B, A, replaced(C, {0: b"v"}))
    bits = listed(listed(head(2, 0), size=1, k=0, positions=(0,)), **NONE).put(0, 1).put(0, 1).bytes()
    return build(BASE, new, codec=lambda *block: (CLASSES, bits)).bytes()


classes("member-outside", "A listed member is behind the last one of the block.",
        steps(listed(head(), positions=(1, 6))))
classes("member-of-empty-class", "Two members are listed in a class that has none.",
        steps(listed(listed(head(2, 0), **NONE), positions=(1, 5))))
classes("member-far-outside", "A gap of 2^64 - 1 leads back to the same member, if it is added carelessly.",
        steps(listed(head(), positions=(1,)).put(0, 32).put(2 ** 64 - 1, 64)))
classes("count-too-large", "Seven members are listed in a class of six.",
        steps(listed(head(), size=3, count=3, positions=range(7))))
classes("count-huge", "The number of listed members has 31 bits.", steps(listed(head(), size=31, count=2 ** 30 - 1)))
classes("k-24", "A list has the k 24.", steps(listed(head(), k=24)))
classes("k-31", "A list has the k 31.", steps(listed(head(), k=31)))
classes("events-too-many", "Three of two changed members have large steps.",
        listed(head()).put(3, 2).put(0b01, 2).put(0, 16))
classes("event-outside", "The event that one step is large names a third one.",
        listed(head()).put(1, 2).rice(2, 0).put(0, 16))
classes("no-change", "The bits say that no element changes.", listed(head(), **NONE))
classes("wrong-step", "A step leads to another value than the digest of the new block says.",
        listed(head()).put(0, 2).put(0b10, 2))
classes("steps-missing", "The bits end before the signs.", listed(head()).bytes()[:3])


@fault("classes-without-old-block", "An added tensor is coded by classes.", "old block", verify=False)
def _(pack):
    pack.blocks[-1].codec = CLASSES


# ---- adaptive: highest exponent, columns, first column, length of the bits, the bits, decisions ----

def adaptive(name, sentence, data):
    coded(ADAPTIVE, "adaptive-" + name, sentence, data)


WALKED = encode_adaptive(OLD, NEW, "BF16", columns=3)
assert WALKED[:5] == b"\x00\x03\x00\x01\x00"
adaptive("empty", "The coded block has no bytes.", b"")
adaptive("no-columns", "There are 0 columns.", b"\x00\x00" + WALKED[2:])
adaptive("columns-too-many", "There are 65537 columns.", b"\x00" + varint(65537) + WALKED[2:])
adaptive("column-outside", "The first element is in column 3 of 3.", b"\x00\x03\x03" + WALKED[3:])
adaptive("no-bits", "There are no bits before the decisions.", b"\x00\x03\x00\x00" + WALKED[5:])
adaptive("bits-too-long", "A byte follows the bits.", b"\x00\x03\x00\x02\x00\x00" + WALKED[5:])
adaptive("bits-fill", "The byte of the bits is not filled up with zeros.", b"\x00\x03\x00\x01\x80" + WALKED[5:])
adaptive("bits-huge", "The bits are longer than the block.", b"\x00\x03\x00" + varint(2 ** 40) + WALKED[4:])
adaptive("cut-short", "The decisions lack their last byte.", WALKED[:-1])
adaptive("few-bytes", "The decisions have three bytes.", WALKED[:8])
adaptive("trailing-byte", "A byte follows the decisions.", WALKED + b"\0")
adaptive("wrong-decisions", "The decisions lead to other values than the digest of the new block says.",
         WALKED[:5] + bytes([WALKED[5] ^ 0x40]) + WALKED[6:])


@fault("adaptive-of-u8", "The dtype has no exponent.", verify=False)
def _(pack):
    return build(BASE, single(B, A, replaced(C, {0: b"v"})), codec="adaptive").bytes()


@fault("adaptive-without-old-block", "An added tensor is coded by the adaptive codec.", "old block", verify=False)
def _(pack):
    pack.blocks[-1].codec = ADAPTIVE


# ---- planes ----

def planes(name, sentence, data):
    coded(PLANES, "planes-" + name, sentence, data)


LOW, HIGH = bytes([0, 1, 0, 0, 0, 2]), bytes(6)
FOLDED = encode_planes(OLD, NEW, "BF16")
assert FOLDED == b"\x01" + stream(LOW) + stream(HIGH)

planes("mode-2", "The mode is 2.", b"\x02" + FOLDED[1:])
planes("mode-255", "The mode is 255.", b"\xff" + FOLDED[1:])
planes("empty", "The coded block has no bytes.", b"")
planes("plane-too-short", "A plane has one byte too few.", b"\x01" + stream(LOW[:5]) + stream(HIGH))
planes("plane-too-long", "A plane has one byte too many.", b"\x01" + stream(LOW) + stream(bytes(7)))
planes("planes-too-long", "Both planes have one byte too many.", b"\x01" + stream(LOW + b"\0") + stream(bytes(7)))
planes("planes-too-short", "Both planes have one byte too few.", b"\x01" + stream(LOW[:5]) + stream(bytes(5)))
planes("plane-missing", "The second plane is missing.", b"\x01" + stream(LOW))
planes("trailing-byte", "A byte follows the planes.", FOLDED + b"\0")
planes("cut-short", "A plane ends before its length.", FOLDED[:-1])
planes("unknown-form", "A plane has the form 3.", b"\x01\x06\x03" + LOW + stream(HIGH))
planes("not-turned", "The elements are not turned, so that they do not match the digest of the new block.",
       b"\x00" + stream(NEW[::2]) + stream(NEW[1::2]))


@fault("planes-of-steps-without-old-block", "An added tensor is coded as planes of steps.", "old block", verify=False)
def _(pack):
    block = pack.blocks[-1]
    block.codec, block.coded = PLANES, b"\x01" + stream(block.coded)


@fault("planes-of-steps-of-file", "A file is coded as planes of steps.", "old block")
def _(pack):
    block = block_of(pack, NOTES)
    block.codec, block.coded = PLANES, b"\x01" + stream(block.coded)
