"""Packs with a fault in the index."""

from bad_common import BASE, SMALL, A, B, C, NEW, FIRST_TENSOR, NOTES, anchor, block_of, fault, small
from cases import WRONG_BASE, replaced, u16s
from checkpoints import Tensor, sha256, short32, single, text, varint
from wdp import ADDED, CHANGED, build

# ---- index ----

@fault("result-fingerprint", "The fingerprint of the result is wrong.", "result", verify=False, start=small)
def _(pack):
    pack.index.result_digests = sha256(b"another") + pack.layout.digest()


@fault("wrong-base", "The pack was made for a base with another fingerprint.", "made for base",
       exit=WRONG_BASE, verify=False)
def _(pack):
    other = single(replaced(B, {0: u16s(99)}), A, C)
    return build(other, SMALL).bytes()


@fault("record-order", "The records are not ordered by name.", "order", start=small)
def _(pack):
    pack.index.records[0], pack.index.records[1] = pack.index.records[1], pack.index.records[0]


@fault("record-twice", "A record is there twice.", "order", start=small)
def _(pack):
    pack.index.records.insert(0, pack.index.records[0])


@fault("record-kind", "A record is of the unknown kind 3.", "kind", start=small)
def _(pack):
    pack.index.records[0].kind = 3


@fault("record-kind-0", "A record is of the unknown kind 0.", "kind", start=small)
def _(pack):
    pack.index.records[0].kind = 0


@fault("record-place", "The place of a record is that of another tensor.", verify=False)
def _(pack):
    block_of(pack, FIRST_TENSOR + 3).stream -= 1
    pack.index.records[2].place -= 1


@fault("record-place-outside", "The place of a record is behind the last tensor.", "order")
def _(pack):
    block_of(pack, FIRST_TENSOR + 3).stream += 1
    pack.index.records[2].place += 1


@fault("record-dtype", "A record has the unknown dtype 22.", "dtype")
def _(pack):
    pack.alter_index = lambda content: content.replace(text("new") + bytes([ADDED, 3, 4]),
                                                       text("new") + bytes([ADDED, 3, 22]))


@fault("record-form", "The form of a record is not that of the header.", "header", verify=False)
def _(pack):
    pack.index.records[2].new = Tensor("new", "I8", NEW.shape, NEW.data)


@fault("record-name", "A record names a tensor that the result does not have.", verify=False)
def _(pack):
    pack.index.records[2].name = "old"


@fault("record-missing", "A tensor of the result is not in the base and has no record.", verify=False)
def _(pack):
    del pack.index.records[2], pack.blocks[-1]


@fault("record-changed-not-in-base", "A tensor that the base lacks is recorded as changed.", verify=False)
def _(pack):
    pack.index.records[2].kind = CHANGED
    pack.blocks[-1].old = short32(b"old")


@fault("record-places-fall", "The places of two records are exchanged.", "order", start=small)
def _(pack):
    one, two = pack.index.records
    one.place, two.place = two.place, one.place


@fault("tensor-count", "The index gives one tensor too many in all.", verify=False, start=small)
def _(pack):
    pack.index.figures[4] += 1


@fault("removed-order", "The removed tensors are not ordered by name.", "order", start=lambda: build(BASE, single(C)))
def _(pack):
    pack.index.removed.reverse()


def altered_index(name, sentence, alter):
    @fault(name, sentence, start=small)
    def _(pack):
        pack.alter_index = alter


altered_index("index-content-trailing-byte", "A byte follows the digests in the index.",
              lambda content: content + b"\0")
altered_index("index-content-truncated", "The index ends within the last digest.", lambda content: content[:-1])
altered_index("index-count-too-large", "The index announces 2^40 tensors of the base.",
              lambda content: content[:-13] + varint(2 ** 40) + content[-12:])


def extents(name, sentence, alter):
    @fault(f"extent-{name}", sentence, start=small)
    def _(pack):
        pack.alter_extents = alter


def shift(rows, number, column, by):
    rows[number][column] += by


extents("offset", "The index gives another offset for a stream.", lambda rows: shift(rows, 1, 0, 1))
extents("length", "The index gives another length for a stream.", lambda rows: shift(rows, 1, 1, 1))
extents("outside", "The index gives an offset behind the end of the file.", lambda rows: shift(rows, 1, 0, 2 ** 40))
extents("none", "The index says that a stream with a block has none.", lambda rows: rows.__setitem__(1, [0, 0]))
extents("missing", "The index gives no extent for the last stream.", lambda rows: rows.pop())
extents("too-many", "The index gives one extent too many.", lambda rows: rows.append([0, 0]))


@fault("anchor-not-carried", "An anchor does not carry a file.", start=anchor)
def _(pack):
    pack.layout.files[NOTES].carried = 0
    pack.blocks.remove(block_of(pack, NOTES))


@fault("anchor-record-missing", "An anchor lacks a tensor.", start=anchor)
def _(pack):
    del pack.index.records[-1], pack.blocks[-1]
