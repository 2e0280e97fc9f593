"""Plain deltas that have to be refused, each for one fault."""

import struct

from bad_common import A, BASE, B, C, RESULT, SMALL
from cases import MALFORMED, REFUSED, WRONG_BASE, Case, replaced, u16s
from checkpoints import short32, single, varint
from plain import build_plain
from wdp import build, stream

CASES = []


def fault(name, sentence, word="", exit=MALFORMED, verify=True, result=RESULT):
    def register(function):
        delta = build_plain(BASE, result)
        delta.metadata = {"wdelta.version": "1"}  # the other keys are for people
        data = function(delta)
        kind = "unsupported" if exit == REFUSED and "path" not in name else "bad"
        case = Case(f"{kind}-plain-{name}", sentence, f"{kind}-plain-{name}.safetensors", exit=exit, word=word,
                    verify=verify)
        case.files[case.delta] = data if data is not None else delta.bytes()
        CASES.append(case)
        return function
    return register


def indices(name, sentence, values, word, verify=True, dtype="I32"):
    """Tensor a has six elements, of which those at 1 and 5 change."""
    @fault(name, sentence, word, verify=verify, result=SMALL)
    def _(delta):
        delta.put("a.indices", dtype, struct.pack("<%d%s" % (len(values), "i" if dtype == "I32" else "q"), *values))


indices("indices-falling", "The indices of a tensor do not rise.", [5, 1], "rise")
indices("indices-twice", "An index of a tensor is there twice.", [1, 1], "rise")
indices("indices-outside", "An index is behind the last element.", [1, 6], "outside")
indices("indices-negative", "An index is negative.", [-1, 5], "outside")
indices("indices-too-few", "There is one index for two values.", [1], "a.indices")
indices("indices-elsewhere", "An index names another element than the one that changed.", [2, 5], "decode",
        verify=False)
indices("indices-wide", "The indices are I64, though the tensor is small.", [1, 5], "a.indices", dtype="I64")


@fault("indices-dtype", "The indices are F32.", "a.indices", result=SMALL)
def _(delta):
    delta.put("a.indices", "F32", struct.pack("<2i", 1, 5))


@fault("indices-without-block", "The block of an index has no digest.", "block", result=SMALL)
def _(delta):
    data = delta.tensors["wdelta.blocks"].data
    delta.put("wdelta.blocks", "U8", b"\0" + data[14:])


@fault("indices-missing", "A changed tensor has no indices.", "missing", result=SMALL)
def _(delta):
    del delta.tensors["a.indices"]


@fault("values-missing", "A changed tensor has no values.", "missing", result=SMALL)
def _(delta):
    del delta.tensors["a.values"]


@fault("values-dtype", "The values are of another dtype than the tensor.", "a.values", result=SMALL)
def _(delta):
    delta.put("a.values", "F16", delta.tensors["a.values"].data)


@fault("values-wrong", "A value is not the one that the digest of the new block says.", "decode", verify=False,
       result=SMALL)
def _(delta):
    delta.put("a.values", "BF16", u16s(1, 8))


@fault("values-shape", "The values have two dimensions.", result=SMALL)
def _(delta):
    tensor = delta.tensors["a.values"]
    tensor.shape = (2, 1)


@fault("unknown-tensor", "There are indices and values of a tensor that has no record.", "index does not name",
       result=SMALL)
def _(delta):
    delta.put("c.indices", "I32", struct.pack("<i", 0))
    delta.put("c.values", "U8", C.data[:1])


@fault("new-missing", "An added tensor is missing.", "missing")
def _(delta):
    del delta.tensors["wdelta.new/new"]


@fault("new-form", "An added tensor has another dtype than its record.", "wdelta.new/new")
def _(delta):
    delta.tensors["wdelta.new/new"].dtype = "I8"


@fault("new-digest", "An added tensor does not match the digest of its block.", "new")
def _(delta):
    delta.tensors["wdelta.new/new"].data = b"Added"


@fault("file-missing", "A carried file is missing.", "missing")
def _(delta):
    del delta.tensors["wdelta.file/notes.txt"]


@fault("file-digest", "A carried file does not match its SHA-256.", "notes.txt")
def _(delta):
    delta.put("wdelta.file/notes.txt", "U8", b"some Text")


@fault("file-not-in-layout", "There is a file that the layout does not have.", "index does not name")
def _(delta):
    delta.put("wdelta.file/stray.txt", "U8", b"stray")


for part_ in ("layout", "index", "blocks"):
    @fault(f"{part_}-missing", f"There is no wdelta.{part_}.", result=SMALL)
    def _(delta, part=part_):
        del delta.tensors["wdelta." + part]

    @fault(f"{part_}-trailing-byte", f"A byte follows in wdelta.{part_}.", result=SMALL)
    def _(delta, part=part_):
        delta.put("wdelta." + part, "U8", delta.tensors["wdelta." + part].data + b"\0")


@fault("blocks-number-outside", "A block with a digest is behind the end of its tensor.", result=SMALL)
def _(delta):
    data = delta.tensors["wdelta.blocks"].data
    delta.put("wdelta.blocks", "U8", varint(2) + data[1:])


@fault("blocks-twice", "A block has its digests twice.", "order", result=SMALL)
def _(delta):
    data = delta.tensors["wdelta.blocks"].data
    delta.put("wdelta.blocks", "U8", data[:13] + data)


@fault("blocks-old-digest", "The digest of an old block is not that of the base's, which is the right base.",
       "tensor 'a'", verify=False, result=SMALL)
def _(delta):
    data = delta.tensors["wdelta.blocks"].data
    delta.put("wdelta.blocks", "U8", data[:1] + short32(b"another") + data[5:])


@fault("version-2", "The metadata say that the version is 2.", "", REFUSED)
def _(delta):
    delta.metadata["wdelta.version"] = "2"


@fault("path-parent", "The layout of a plain delta has a path that leads to the folder above.", "outside", exit=REFUSED)
def _(delta):
    pack = build(BASE, RESULT)
    pack.layout.files[1].path = "../config.json"
    delta.put("wdelta.layout", "U8", pack.layout.body())
    delta.put("wdelta.index", "U8", stream(pack.index.content()))
    delta.put("wdelta.file/../config.json", "U8", delta.tensors.pop("wdelta.file/config.json").data)


@fault("wrong-base", "A plain delta was made for another base.", "made for base", exit=WRONG_BASE, verify=False)
def _(delta):
    return build_plain(single(replaced(B, {0: u16s(99)}), A, C), SMALL).bytes()


@fault("truncated", "A plain delta lacks its last byte.", "cut short", result=SMALL)
def _(delta):
    return delta.bytes()[:-1]
