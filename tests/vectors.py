#!/usr/bin/env python3
"""Holds the program against testdata/vectors: vectors.py PROGRAM [FILTER].

The vectors are written by a generator that was made from wdelta-format(5) alone. Here they are generated again and
compared with what is kept, each is tried on the program, and what the program writes is read by the generator's reader.
FILTER picks the lines whose text contains it.
"""

import functools
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the source tree
VECTORS = pathlib.Path(__file__).resolve().parents[1] / "testdata" / "vectors"
sys.path.insert(0, str(VECTORS))

import generate  # noqa: E402
from adaptive import encode_adaptive  # noqa: E402
from checkpoints import Checkpoint, Tensor, parse_shard, single, width  # noqa: E402
from class_bits import EXPONENTS, encode_classes  # noqa: E402
from good_codec_cases import stepped  # noqa: E402
from plain import build_plain  # noqa: E402
from streams import Fault, NoZstd, Reader  # noqa: E402
from unpack import read_pack  # noqa: E402
from unpack_plain import read_plain, rebuild  # noqa: E402
from wdp import CODECS, build, encode_planes  # noqa: E402

CODEC_NAMES = ("raw", "zstd", "gaps", "classes", "planes", "adaptive")  # as pack --codec takes them


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Program:
    def __init__(self, path, folder):
        self.path, self.folder, self.count = path, folder, 0

    def run(self, *arguments, stdin=None):
        return subprocess.run([self.path, *map(str, arguments)], input=stdin, capture_output=True, check=False,
                              env=dict(os.environ, WDELTA_FSYNC="off", WDELTA_PROGRESS="none"))

    def must(self, *arguments, stdin=None, exit=0):
        run = self.run(*arguments, stdin=stdin)
        expect(run.returncode == exit, f"'{arguments[0]}' exits with {run.returncode} instead of {exit}: "
               + run.stderr.decode(errors="replace").strip().replace("\n", " / "))
        return run

    def fresh(self, ending=""):
        self.count += 1
        return self.folder / f"out-{self.count}{ending}"


def contents(path):
    """{relative path: bytes} of a checkpoint's files; a single file has the path ''."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def load(path):
    files = contents(path)
    if "" in files:
        return Checkpoint([parse_shard("model.safetensors", files[""])], single=True)
    shards = [parse_shard(name, data) for name, data in files.items() if name.endswith(".safetensors")]
    return Checkpoint(shards, {name: data for name, data in files.items() if not name.endswith(".safetensors")})


def base_of(made, case):
    """The operand that stands before the delta; anchors have none."""
    return [made / case["base"]] if case["base"] else []


def loaded_base(made, case):
    return load(made / case["base"]) if case["base"] else None


def check_kept(made, files, absent):
    """Every vector that is kept is what the generator writes, and none is missing or too many."""
    kept = {path.relative_to(VECTORS).as_posix() for path in VECTORS.rglob("*")
            if path.is_file() and generate.kept(path.relative_to(VECTORS))}
    expect(not kept - set(files), f"not made by the generator: {sorted(kept - set(files))}")
    missing = set(files) - absent - kept
    expect(not missing, f"missing: {sorted(missing)}")
    different = sorted(path for path in kept if (VECTORS / path).read_bytes() != (made / path).read_bytes())
    expect(not different, f"different: {different}")


# ---- the program reads what the generator wrote ----

def check_good(program, made, case):
    delta, result = made / case["delta"], contents(made / case["result"])
    program.must("verify", delta)
    for source, stdin in ((delta, None), ("-", delta.read_bytes())):
        out = program.fresh(".safetensors" if "" in result else "")
        before = base_of(made, case)
        if stdin and not before:  # a lone '-' would be a base; an anchor is taken on any base too
            before = [made / generate.COMMON_BASE]
        program.must("apply", *before, source, "-o", out, stdin=stdin)
        expect(contents(out) == result, "the result differs" + (" when it comes through a pipe" if stdin else ""))
    rebuilt = rebuild(loaded_base(made, case), delta.read_bytes()).files("x")
    expect({path.removeprefix("x.safetensors").removeprefix("x/"): data for path, data in rebuilt.items()} == result,
           "the generator's own reader finds another result")


def check_refused(program, made, case):
    delta, out = made / case["delta"], program.fresh()
    run = program.must("apply", *base_of(made, case), delta, "-o", out, exit=case["exit"])
    message = run.stderr.decode(errors="replace")
    expect(not out.exists(), "'apply' leaves an output behind")
    expect(message.startswith("wdelta:"), f"no message: {message!r}")
    expect(case["word"] in message, f"no '{case['word']}' in the message: {message.strip()}")
    if case["verify"]:
        program.must("verify", delta, exit=case["exit"])
    try:
        rebuild(loaded_base(made, case), delta.read_bytes())
    except Fault as fault:
        expect(fault.code == case["exit"], f"the generator's own reader finds another fault: {fault}")
    else:
        raise Failed("the generator's own reader finds no fault")


def check_sweep(program, made):
    """Every truncation and a flipped bit in every byte, all in one run of verify."""
    data, folder = (made / "good-added" / "delta.wdp").read_bytes(), program.fresh()
    folder.mkdir()
    for at in range(len(data)):
        (folder / f"cut-{at}.wdp").write_bytes(data[:at])
        flipped = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:]
        (folder / f"flip-{at}.wdp").write_bytes(flipped)
    run = program.run("verify", "--json", *sorted(folder.iterdir()))
    targets = json.loads(run.stdout)["targets"]
    expect(len(targets) == 2 * len(data), f"{len(targets)} of {2 * len(data)} targets are reported")
    passed = [os.path.basename(target["target"]) for target in targets if target["ok"]]
    expect(not passed, f"taken for whole: {passed}")


# ---- random tensors: large enough that writers have something to choose ----

def random_pair(seed):
    """Two checkpoints with tensors of several dtypes, whose values lie as weights do; few or most elements move."""
    chance, before, after = random.Random(seed), [], []
    for number, (dtype, code, share) in enumerate(RANDOM_TENSORS):
        values = [struct.unpack("<" + code[1], struct.pack("<" + code[0], chance.gauss(0, 0.05)))[0]
                  for _ in range(6000)] if code else [chance.randrange(256) for _ in range(6000)]
        w = width(dtype)
        values = [value >> 8 * (struct.calcsize(code[1]) - w) if code else value for value in values]
        tensor = Tensor(f"t{number}", dtype, (60, 100), b"".join(value.to_bytes(w, "little") for value in values))
        some = range(1500, 3100) if number % 2 else range(6000)  # in the odd ones most runs are idle
        steps = {at: chance.choice((1, 1, 1, -1, -1, -1, 2, -2, 3, -5, 40, -(1 << 8 * w - 1)))
                 for at in some if chance.random() < share}
        before.append(tensor)
        after.append(stepped(tensor, steps))
    return single(*before), single(*after)


# dtype; codes of struct for a value and for its bits (of which the upper ones are kept); share of elements that move
RANDOM_TENSORS = (("BF16", "fI", 0.01), ("BF16", "fI", 0.1), ("BF16", "fI", 0.9), ("F16", "eH", 0.02),
                  ("F32", "fI", 0.3), ("F64", "dQ", 0.01), ("F8_E5M2", "eH", 0.05), ("U8", "", 0.03))


def check_random_read(program, seed):
    """The program applies what the generator wrote, with all choices of the writer made by lot."""
    (base, result), chance = random_pair(seed), random.Random(seed)

    def codec(record, number, old, new):
        dtype = record.new.dtype
        if chance.random() < 0.2:
            return CODECS["planes"][0], encode_planes(old, new, dtype, chance.randrange(2))
        if dtype in ("BF16", "F16", "F8_E5M2") and chance.random() < 0.4:
            columns = chance.choice((1, 7, 100, 65536))
            return CODECS["adaptive"][0], encode_adaptive(old, new, dtype, columns, chance.randrange(columns),
                                                          chance.randrange(8))
        exponents = 1 << EXPONENTS.get(dtype, (0, 0))[1]
        count = chance.randint(1, min(16, exponents))
        usual = max(exponents // 2 - 12, 0)  # where the exponents of small weights begin
        first = min(chance.choice((usual, chance.randrange(exponents))), exponents - count)
        return CODECS["classes"][0], encode_classes(
            old, new, dtype, count, first, chance.randrange(8),
            chance.choice((None, True, False)), chance.choice((None, 0, 3, 23)), chance.choice((0, 2, 15)))

    folder = program.fresh()
    generate.write(folder, base.files("base") | {"delta.wdp": build(base, result, codec=codec).bytes()})
    program.must("apply", folder / "base.safetensors", folder / "delta.wdp", "-o", folder / "out.safetensors")
    expect(contents(folder / "out.safetensors")[""] == result.files("x")["x.safetensors"], "the result differs")


def check_random_written(program, seed, codec):
    base, result = random_pair(seed)
    folder = program.fresh()
    generate.write(folder, base.files("base") | result.files("result"))
    program.must("pack", *(["--codec", codec] if codec else []), folder / "base.safetensors",
                 folder / "result.safetensors", "-o", folder / "delta.wdp")
    same_result(base, (folder / "delta.wdp").read_bytes(), result)


# ---- the generator's reader reads what the program wrote ----

def same_result(base, data, result):
    try:
        Reader.forms_as_written = True
        rebuilt = rebuild(base, data)
    except Fault as fault:
        raise Failed(f"the generator's reader refuses it: {fault}") from None
    except NoZstd:
        raise Skipped("needs the zstd program") from None
    finally:
        Reader.forms_as_written = False
    expect(rebuilt.files("x") == result.files("x"), "the generator's reader finds another result")


def compare_index(mine, theirs):
    """Layout and index follow from the two checkpoints alone, so they have to be equal field by field."""
    for name in ("base", "result", "figures", "removed", "base_tensors"):
        expect(getattr(mine.index, name) == getattr(theirs.index, name),
               f"{name} of the index: {getattr(theirs.index, name)} instead of {getattr(mine.index, name)}")
    for one, two in zip(mine.index.records, theirs.index.records):
        expect(vars(one) == vars(two), f"record {vars(two)} instead of {vars(one)}")
    expect(len(mine.index.records) == len(theirs.index.records), "another number of records")
    expect(mine.layout == theirs.layout, f"layout {theirs.layout} instead of {mine.layout}")


def check_pack(program, made, case, codec):
    result_path, out = made / case["result"], program.fresh(".wdp")
    operands = (base_of(made, case) or ["--anchor"]) + [result_path]
    options = ["--codec", codec] if codec else []
    if "patterns" in case["name"]:
        options += ["--include", "*.dat", "--include", "*.json", "--exclude", "b.*"]
    program.must("pack", *options, *operands, "-o", out)
    base, result = loaded_base(made, case), load(result_path)
    same_result(base, out.read_bytes(), result)
    patterns = {"includes": ["*.dat", "*.json"], "excludes": ["b.*"]} if "patterns" in case["name"] else {}
    compare_index(read_pack(build(base, result, **patterns).bytes()), read_pack(out.read_bytes()))


def check_diff(program, made, case):
    base_path, result_path, out = made / case["base"], made / case["result"], program.fresh(".safetensors")
    program.must("diff", base_path, result_path, "-o", out)
    base, result = load(base_path), load(result_path)
    same_result(base, out.read_bytes(), result)
    mine, theirs = read_plain(build_plain(base, result).bytes()), read_plain(out.read_bytes())
    compare_index(mine, theirs)
    expect(set(mine.metadata) == set(theirs.metadata), "other keys in the metadata")
    for key, one in mine.metadata.items():
        two = theirs.metadata[key]
        if key in ("changed_params", "wdelta.byte_tensors"):  # JSON can be written in more than one way
            one, two = json.loads(one), json.loads(two)
        expect(one == two, f"metadata: {key} is {two!r} instead of {one!r}")
    expect(mine.tensors["wdelta.blocks"].data == theirs.tensors["wdelta.blocks"].data, "'wdelta.blocks' differs")


def lines(program, made, cases, files):
    """(sentence, check) of everything."""
    absent = {path for case in cases for path in case["absent"]}
    yield "kept vectors are what the generator writes", lambda: check_kept(made, files, absent)
    for case in cases:
        name = case["name"]
        check = check_refused if case["exit"] else check_good
        yield f"{'refused' if case['exit'] else 'applied'}: {name}", functools.partial(check, program, made, case)
    yield "refused: every truncation and a flipped bit in every byte", lambda: check_sweep(program, made)
    for seed in range(4):
        yield f"applied: random tensors {seed}", functools.partial(check_random_read, program, seed)
    for codec in (None,) + CODEC_NAMES:
        yield (f"read by the generator: pack{' --codec ' + codec if codec else ''} of random tensors",
               functools.partial(check_random_written, program, 4, codec))
    for case in cases:
        if case["exit"] or case["name"].startswith("good-plain-"):
            continue
        for codec in (None,) + (() if case["absent"] else CODEC_NAMES):
            yield (f"read by the generator: pack{' --codec ' + codec if codec else ''} of {case['name']}",
                   functools.partial(check_pack, program, made, case, codec))
    for case in cases:
        if not case["exit"] and case["base"] and "patterns" not in case["name"]:
            yield f"read by the generator: diff of {case['name']}", functools.partial(check_diff, program, made, case)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path, wanted = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else ""
    if not os.access(path, os.X_OK):
        sys.exit(f"vectors.py: '{path}' is not a program")
    cases, files = generate.vectors()
    usual = {"base": generate.COMMON_BASE, "result": None, "exit": 0, "word": "", "verify": True, "absent": []}
    rows = [usual | case.row() | {"delta": case.delta} for case in cases]
    passed = failed = skipped = 0
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="wdelta-vectors-"))
    try:
        made = scratch / "made"
        generate.write(made, files)
        program = Program(path, scratch)
        # With WDELTA_SAMPLE=N every Nth only: a program with sanitizers takes ten times as long to start.
        sample = int(os.environ.get("WDELTA_SAMPLE", "1"))
        for number, (sentence, check) in enumerate(lines(program, made, rows, files)):
            if wanted not in sentence or number % sample:
                continue
            try:
                check()
            except Failed as failure:
                failed += 1
                print(f"FAILED  {sentence}\n        {failure}")
            except Skipped as reason:
                skipped += 1
                failed += "WDELTA_REQUIRE_ALL" in os.environ
                print(f"skipped {sentence}: {reason}")
            else:
                passed += 1
                print(f"ok      {sentence}")
    finally:
        shutil.rmtree(scratch)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
