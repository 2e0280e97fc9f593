#!/usr/bin/env python3
"""Writes all vectors: generate.py [FOLDER]. Without FOLDER, into the folder of this program, less the large files.

With FOLDER everything is written there, also what is too large to be kept: the `absent` files of cases.json.
"""

import json
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True

import bad_block_cases  # noqa: E402,F401: registers its cases in bad_common
import bad_codec_cases  # noqa: E402,F401
import bad_common  # noqa: E402
import bad_index_cases  # noqa: E402,F401
import bad_plain_cases  # noqa: E402
import bad_section_cases  # noqa: E402,F401
import good_cases  # noqa: E402
import good_codec_cases  # noqa: E402,F401: adds its cases to those of good_cases
from cases import COMMON_BASE  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

README = """# Vectors

Packs and plain deltas that every reader of the formats has to take, or has to refuse. They are written by
`generate.py`, which was made from wdelta-format(5) alone and shares no code with the library: XXH3 (`xxh3.py`),
Zstandard frames of raw and RLE blocks, packs (`wdp.py`, `class_bits.py`, `adaptive.py`), plain deltas (`plain.py`),
and a reader of both (`unpack.py`, `unpack_classes.py`, `unpack_plain.py`). This page and `cases.json` are written by
it too; do not edit them.

`tests/vectors.py PROGRAM` generates all of them again, compares them with what is kept here, and tries each.

* `good-NAME/`: `delta` applied to `base` gives `result`, bit for bit. Anchors have no base. A base or result that
  another case has too is kept there.
* `bad-NAME`: refused, as malformed unless another exit status is given.
* `unsupported-NAME`: refused as unknown, status 10.

The base of all bad and unsupported ones, but for anchors, is `common-base.safetensors`. `cases.json` has a row for
each, with a sentence that says what it is; these fields are left out where they have the usual value:

* `delta`: `NAME/delta.wdp` of good ones, else `NAME.wdp`
* `base`: `common-base.safetensors`; null for anchors
* `exit`: 0, the exit status. 4 is malformed, 10 not supported or harmful, and 5 means that the base is the wrong one.
* `word`: empty; what stands in the message of the program
* `verify`: true. If it is false, the fault can be seen only with the base, or when a block is decoded, and `verify`
  may let it pass.
* `absent`: no files; those that are too large to be kept, which the generator writes

A further codec is a row in `CODECS` of `wdp.py`, a row in `DECODERS` of `unpack.py`, and cases in
`good_codec_cases.py` and `bad_codec_cases.py`.
"""


def vectors():
    """(cases, {path: bytes})."""
    cases = sorted(good_cases.CASES + bad_common.CASES + bad_plain_cases.CASES, key=lambda case: case.name)
    files = {COMMON_BASE: bad_common.BASE.files("base")["base.safetensors"]}
    for case in cases:
        assert not set(files) & set(case.files), case.name
        files.update(case.files)
    rows = ",\n".join(json.dumps(case.row()) for case in cases)
    files["cases.json"] = f"[\n{rows}\n]\n".encode()
    files["README.md"] = README.encode()
    return cases, files


def write(folder, files):
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def kept(path):
    """Whether a path of this folder is one of the vectors, rather than part of the generator."""
    return path.suffix != ".py" and "__pycache__" not in path.parts


def main():
    cases, files = vectors()
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    if len(sys.argv) == 2:
        return write(pathlib.Path(sys.argv[1]), files)
    for path in HERE.iterdir():
        if path.is_dir() and path.name.startswith("good-"):
            shutil.rmtree(path)
        elif path.is_file() and kept(path):
            path.unlink()
    absent = {path for case in cases for path in case.absent}
    return write(HERE, {path: content for path, content in files.items() if path not in absent})


if __name__ == "__main__":
    main()
