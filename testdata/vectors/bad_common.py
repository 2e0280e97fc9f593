"""What the packs that have to be refused have in common.

Most start from common(): the base is one file, the result a folder with a new header, two new companions, two changed
tensors (which lie in the order b, a) and an added one. Each case puts in one fault; all checksums around it are right.
"""

from cases import MALFORMED, REFUSED, Case, bf16, replaced, u16s, u8
from checkpoints import BLOCK, Checkpoint, shard, single
from wdp import build

CASES = []

A = bf16("a", 1, 2, 3, 4, 5, 6)
B = bf16("b", 10, 20, 30, 40)
C = u8("c", b"unchanged")
NEW = u8("new", b"added")
LONG = u8("new", b"\x01" * BLOCK + b"\x02" * BLOCK + b"\x03" * 7)
CHANGED_TENSORS = [replaced(B, {0: u16s(11)}), replaced(A, {2: u16s(1), 10: u16s(7)}), C]


def result_with(new):
    return Checkpoint([shard("model.safetensors", CHANGED_TENSORS + [new])],
                      {"config.json": b'{"a":1}', "notes.txt": b"some text"})


BASE = single(B, A, C)
RESULT, LARGE, SMALL = result_with(NEW), result_with(LONG), single(*CHANGED_TENSORS)


def common():
    return build(BASE, RESULT)


def small():
    """No files and no added tensor, for faults within the block of a changed one."""
    return build(BASE, SMALL)


def companions():
    """Only the two companions are new; no tensor changes."""
    return build(BASE, Checkpoint(BASE.shards, RESULT.companions))


def long():
    return build(BASE, LARGE, new_codec="zstd")


def anchor():
    return build(None, RESULT)


# Where things are in common(). Files: 0 the header, 1 config.json, 2 notes.txt; tensors a 3, b 4, c 5, new 6.
HEADER_FILE, CONFIG, NOTES, FIRST_TENSOR = 0, 1, 2, 3


def block_of(pack, stream_number):
    return next(block for block in pack.blocks if block.stream == stream_number)


def block_of_a(pack):
    """The block of tensor a, the first by name."""
    return block_of(pack, len(pack.layout.files))


def fault(name, sentence, word="", exit=MALFORMED, verify=True, start=common):
    """Registers a function that puts the fault into a pack; it may return the bytes of the whole file."""
    def register(function):
        pack = start()
        data = function(pack)
        kind = "unsupported" if exit == REFUSED and not name.startswith("path-") else "bad"
        case = Case(f"{kind}-{name}", sentence, f"{kind}-{name}.wdp", exit=exit, word=word, verify=verify)
        if start is anchor:
            case.base = None
        case.files[case.delta] = data if data is not None else pack.bytes()
        CASES.append(case)
        return function
    return register
