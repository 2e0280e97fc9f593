#!/usr/bin/env python3
"""Holds the program against the formats of other systems: formats.py PROGRAM [FILTER].

The deltas are made by testdata/formats, which was written from descriptions of the formats alone: each is tried on the
program, and what the program writes is read by readers made there. Each failure is one line. FILTER picks the sentences
that contain it.
"""

import functools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the source tree
TESTDATA = pathlib.Path(__file__).resolve().parents[1] / "testdata"
sys.path[:0] = [str(TESTDATA / "formats"), str(TESTDATA / "vectors")]

import canonical  # noqa: E402
import canonical_vectors  # noqa: E402, F401: these register their vectors
import examples  # noqa: E402
import grail  # noqa: E402
import grail_vectors  # noqa: E402, F401
import prime  # noqa: E402
import prime_vectors  # noqa: E402, F401
import skyrl  # noqa: E402
import skyrl_vectors  # noqa: E402, F401
import trl  # noqa: E402
import trl_vectors  # noqa: E402, F401
from checkpoints import Checkpoint, Tensor, shard, single, width  # noqa: E402
from frames import changed_tensors, xor  # noqa: E402
from streams import Fault, NoZstd  # noqa: E402
from vector import (EVERY, EVERY_RESULT, EXAMPLE, EXAMPLE_RESULT, LARGE, LARGE_RESULT, MODEL, MODEL_NEXT,  # noqa: E402
                    MODEL_RESULT, VECTORS, edited, filled, flipped)


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Place:
    """A folder for one check, and the program run there."""

    def __init__(self, program, folder):
        self.program, self.folder, self.count = program, folder, 0
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("WDELTA_")}
        self.environment |= {"WDELTA_FSYNC": "off", "WDELTA_PROGRESS": "none", "TMPDIR": str(folder)}

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, env=self.environment, timeout=100)

    def must(self, *words, exits=(0,)):
        """Standard error of a command that ends with one of these statuses."""
        run = self.run(*words)
        talk = run.stderr.decode(errors="replace").strip()
        expect(run.returncode in exits, f"'{shown(words)}' exits with {run.returncode} instead of "
               f"{' or '.join(map(str, exits))}: {one_line(talk)}")
        expect("Sanitizer" not in talk, one_line(talk))
        return talk

    def fresh(self):
        self.count += 1
        return self.folder / f"out-{self.count}"

    def write(self, files):
        """A path with these files; the path '' is a single one. No name says what it is."""
        path = self.fresh()
        if "" in files:
            path.write_bytes(files[""])
            return path
        for name, data in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
        return path

    def checkpoint(self, checkpoint):
        return self.write(files_of(checkpoint))

    def result_of(self, *words):
        """The files that a command writes to the path that it gets as last operand."""
        out = self.fresh()
        self.must(*words, out)
        return contents(out)


def shown(words):
    return " ".join(word if isinstance(word, str) else word.name for word in words)


def one_line(text):
    return text.replace("\n", " / ")


def files_of(checkpoint):
    if checkpoint.single:
        return {"": checkpoint.shards[0].header + checkpoint.shards[0].data()}
    return {path.removeprefix("x/"): data for path, data in checkpoint.files("x").items()}


def contents(path):
    """{relative path: bytes} of everything in a folder; a single file has the path ''."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {found.relative_to(path).as_posix(): found.read_bytes() if found.is_file() else None
            for found in path.rglob("*")}


def differing(found, wanted):
    return "files that differ: %s" % sorted(name or "(the file)" for name in set(found) | set(wanted)
                                            if found.get(name) != wanted.get(name))


def expect_files(found, wanted, what):
    folders = {name for name, data in found.items() if data is None}
    found = {name: data for name, data in found.items() if name not in folders}
    expect(found == wanted, f"{what}: {differing(found, wanted)}")


# ---- the program reads what was made here ----

def unverified(talk):
    """Whether the program says that the base of a delta cannot be verified."""
    return any(line.startswith("wdelta: ") and "verified" in line and "base" in line for line in talk.splitlines())


def check_good(place, vector):
    base, wanted = place.checkpoint(vector.base), files_of(vector.result)
    deltas = [place.write(files) for files in vector.deltas]
    before = contents(place.folder)
    out = place.fresh()
    talk = place.must("apply", base, *deltas, "-o", out)
    expect_files(contents(out), wanted, "'apply' gives another result")
    if vector.warns is not None:
        expect(unverified(talk) == vector.warns,
               ("no warning that the base cannot be verified: " if vector.warns else "a warning: ") + one_line(talk))
    kept = place.checkpoint(vector.base)
    for _ in range(2 if vector.again else 1):
        place.must("apply", "--in-place", kept, *deltas)
        expect_files(contents(kept), wanted, "'apply --in-place' gives another result")
    if vector.again:
        place.must("apply", place.checkpoint(vector.result), *deltas, "-o", (twice := place.fresh()))
        expect_files(contents(twice), wanted, "a second 'apply' gives another result")
    for delta in deltas:
        place.must("verify", delta)
    place.must("verify", deltas[0], "--against", base)
    place.must("stats", "--base", base, deltas[0])
    pack = place.fresh()
    place.must("pack", "--base", base, *deltas, "-o", pack)
    expect_files(place.result_of("apply", base, pack, "-o"), wanted, "the pack of it gives another result")
    after = contents(place.folder)
    expect(all(after[name] == data for name, data in before.items()), "the base or a delta was changed")


def check_refused(place, vector):
    base, kept = place.checkpoint(vector.base), place.checkpoint(vector.base)
    deltas = [place.write(files) for files in vector.deltas]
    before, out = contents(place.folder), place.fresh()
    commands = [("apply", base, *deltas, "-o", out), ("apply", "--in-place", kept, *deltas),
                ("pack", "--base", base, *deltas, "-o", out)]
    commands += [("verify", deltas[-1])] if vector.verify else []
    for words in commands:
        talk = place.must(*words, exits=vector.exits)
        after = contents(place.folder)
        expect(after == before, f"'{shown(words)}' leaves something behind: {differing(after, before)}")
        expect(talk.startswith("wdelta: "), f"'{shown(words)}' says {one_line(talk)!r}")
        expect(vector.word in talk, f"'{vector.word}' is not in what '{shown(words)}' says: {one_line(talk)}")


def check_compressed(place, build, level):
    """Frames of the real compressor, which has more kinds of blocks than those that are made by hand."""
    if not shutil.which("zstd"):
        raise Skipped("the zstd program is not installed")
    base, result = random_pair(f"compressed {level}", ["BF16"])
    frames = {}
    for number, (old, new) in enumerate(changed_tensors(base, result)):
        content = place.folder / f"content-{number}"
        content.write_bytes(xor(old.data, new.data))
        run = subprocess.run(["zstd", "-q", "-c", *level.split(), content], capture_output=True, check=True)
        frames[new.name] = run.stdout
    delta, out = place.write(build(base, result, frames=frames).files()), place.fresh()
    place.must("apply", place.checkpoint(base), delta, "-o", out)
    expect_files(contents(out), files_of(result), "it gives another result")


# ---- what the program writes is read here ----

def folder_files(path):
    """{name: bytes} of a delta folder that has no folders in it; the file that describes it was written last."""
    found = {entry.name: entry for entry in path.iterdir()}
    expect(all(entry.is_file() for entry in found.values()), f"a folder in it: {sorted(found)}")
    times = {name: entry.stat().st_mtime_ns for name, entry in found.items()}
    last = next((name for name in (canonical.INDEX, "manifest.json") if name in found), None)
    expect(last, f"no index and no manifest: {sorted(found)}")
    expect(times[last] == max(times.values()), f"'{last}' was not written last")
    return {name: entry.read_bytes() for name, entry in found.items()}


def read_canonical(path, base, version="000001", base_version="000000", encoding="xor", checksum="xxh3-128"):
    metadata, found = canonical.read(folder_files(path), base)
    wanted = dict(zip(canonical.METADATA_KEYS, (version, base_version, encoding, "zstd", checksum)))
    expect(metadata == wanted, f"metadata: {metadata}")
    return found


def read_trl(path, base):
    expect(path.is_file(), "a TRL patch is one file")
    return trl.read(path.read_bytes(), base)[1]


def read_skyrl(path, base, version=1, base_version=0):
    manifest, found = skyrl.read(folder_files(path), base)
    expect((manifest["version"], manifest["base_version"]) == (version, base_version),
           f"versions: {manifest['version']}, {manifest['base_version']}")
    return found


READERS = {"canonical": read_canonical, "trl": read_trl, "skyrl": read_skyrl}
# (--format, options, what the reader expects)
TARGETS = (("canonical", (), {}),
           ("canonical", ("--encoding", "overwrite"), {"encoding": "overwrite"}),
           ("canonical", ("--checksum", "adler32", "--version-name", "v8", "--base-version-name", "v7"),
            {"checksum": "adler32", "version": "v8", "base_version": "v7"}),
           ("canonical", ("--encoding", "overwrite", "--checksum", "adler32"),
            {"encoding": "overwrite", "checksum": "adler32"}),
           ("trl", (), {}), ("skyrl", (), {}), ("plain", (), {}), ("wdp", (), {}))


def check_delta(place, path, target, base_path, base, result):
    """What the program wrote for a target says what changed, here and to the program."""
    kind, _, expected = target
    if kind in READERS:
        try:
            found = READERS[kind](path, base, **expected)
        except (AssertionError, Fault, KeyError) as fault:
            raise Failed(f"the reader finds: {fault!r}") from fault
        except NoZstd as reason:
            raise Skipped("the zstd program is not installed") from reason
        wanted = {new.name: new.data for _, new in changed_tensors(base, result)}
        expect(found == wanted, f"the reader finds other bytes in {sorted(set(found) ^ set(wanted)) or 'a tensor'}")
    expect_files(place.result_of("apply", base_path, path, "-o"), files_of(result), "it gives another result")


def check_written(place, target, base, result):
    base_path, path = place.checkpoint(base), place.fresh()
    place.must("pack", base_path, place.checkpoint(result), "--format", target[0], *target[1], "-o", path)
    check_delta(place, path, target, base_path, base, result)


def check_no_word(place, kind, base, result, others):
    """A format that has no word for a change says so, and names one that has."""
    before_path, after_path, out = place.checkpoint(base), place.checkpoint(result), place.fresh()
    before = contents(place.folder)
    talk = place.must("pack", before_path, after_path, "--format", kind, "-o", out, exits=(2, 10))
    expect(contents(place.folder) == before, "something is left behind")
    expect(any(other in talk for other in others), f"no other format is named: {one_line(talk)}")


def check_note(place, kind):
    """A file beside the weights that changed has no place in the format, which is told."""
    other = Checkpoint(MODEL_RESULT.shards, MODEL.companions | {"config.json": b'{"hidden_size": 51}\n'})
    paths, out = (place.checkpoint(MODEL), place.checkpoint(other)), place.fresh()
    talk = place.must("pack", *paths, "--format", kind, "-o", out)
    expect("wdelta: note: " in talk, f"no note: {one_line(talk)}")
    expect_files(place.result_of("apply", paths[0], out, "-o"), files_of(MODEL_RESULT), "it gives another result")


def unspeakable():
    """(what, formats that cannot say it, base, result, formats that can)."""
    tensor = EXAMPLE.tensors()[0]
    mixed = single(tensor, filled("f", "F32", 8))
    every = ("wdp", "plain")
    yield "a change of F32", ("trl",), mixed, flipped(mixed, {"f": [1]}, 4), every + ("canonical", "skyrl")
    small = single(filled("f", "F4", 8))
    yield "a change of F4", ("trl", "skyrl"), small, edited(small, {"f": {0: b"\1"}}), every + ("canonical",)
    formats = ("canonical", "trl", "skyrl")
    yield "an added tensor", formats, EXAMPLE, single(tensor, filled("x", "BF16", 8)), every
    yield "a removed tensor", formats, single(tensor, filled("x", "BF16", 8)), EXAMPLE, every
    yield "a reshaped tensor", formats, EXAMPLE, single(Tensor("w", "BF16", (4, 2), tensor.data)), every
    yield "a tensor of another dtype", formats, EXAMPLE, single(Tensor("w", "F16", (2, 4), tensor.data)), every


def speakable():
    """(what, formats, base, result): pairs that these formats can say."""
    formats = ("canonical", "trl", "skyrl", "plain", "wdp")
    yield "the worked example", formats, EXAMPLE, EXAMPLE_RESULT
    yield "a model of two shards", formats, MODEL, MODEL_RESULT
    yield "a tensor of three blocks", formats, LARGE, LARGE_RESULT
    yield "no change", formats, MODEL, MODEL
    mixed = single(filled("half", "BF16", 8), filled("wide", "F32", 8))
    others = ("canonical", "skyrl", "plain", "wdp")
    yield "a BF16 tensor beside one of F32 that stays", others, mixed, flipped(mixed, {"half": [3]})
    yield "every dtype", ("canonical", "plain", "wdp"), EVERY, EVERY_RESULT
    yield "signs of zero and NaN", formats, EXAMPLE, edited(EXAMPLE, {"w": {0: bytes.fromhex("00800000c17fffff")}})


def check_reader(_, build, read):
    """A reader finds what the generator of its format wrote."""
    for base, result in ((EXAMPLE, EXAMPLE_RESULT), (MODEL, MODEL_NEXT), (MODEL, MODEL)):
        wanted = {new.name: new.data for _, new in changed_tensors(base, result)}
        expect(read(build(base, result).files(), base)[1] == wanted, "the reader finds other bytes")


OWN = {"canonical xor": (canonical.build, canonical.read),
       "canonical overwrite": (functools.partial(canonical.build, encoding="overwrite"), canonical.read),
       "SkyRL": (skyrl.build, skyrl.read)} | {
    "TRL " + form: (functools.partial(trl.build, form=form), lambda files, base: trl.read(files[""], base))
    for form in trl.FORMS}


# ---- conversions ----

SOURCES = {
    "canonical xor": canonical.build,
    "canonical overwrite": functools.partial(canonical.build, encoding="overwrite", checksum="adler32", shards=2),
    "TRL v1": functools.partial(trl.build, form="v1"), "TRL raw": functools.partial(trl.build, form="raw"),
    "TRL gap_delta": trl.build, "SkyRL": skyrl.build, "grail": grail.build, "prime-rl": prime.build,
    "compressed prime-rl": functools.partial(prime.build, compressed=True), "pack": "wdp", "plain delta": "plain"}


def random_pair(seed, dtypes):
    """A checkpoint of several shards with any bits as values, and one where some of the elements differ."""
    chance, shards, edits = random.Random(seed), [], {}
    for number in range(3):
        tensors = []
        for at in range(3):
            dtype, shape = chance.choice(dtypes), tuple(chance.randint(1, 40) for _ in range(chance.randint(1, 3)))
            count, w = 1, width(dtype)
            for dimension in shape:
                count *= dimension
            name = f"layers.{number}.{at}"
            tensors.append(Tensor(name, dtype, shape, chance.randbytes(count * w)))
            share = chance.choice((0, 0.01, 0.1, 1))
            edits[name] = {place * w: chance.randbytes(w) for place in range(count) if chance.random() < share}
        shards.append(shard(f"part-{number}.safetensors", tensors))
    base = Checkpoint(shards, {"config.json": b"{}"})
    return base, edited(base, edits)


def check_conversion(place, source, target, seed):
    base, result = random_pair(seed, ["BF16"])
    base_path, made, path = place.checkpoint(base), SOURCES[source], place.fresh()
    if isinstance(made, str):
        delta = place.fresh()
        place.must("pack", base_path, place.checkpoint(result), "--format", made, "-o", delta)
    else:
        delta = place.write(made(base, result).files())
    place.must("pack", "--base", base_path, delta, "--format", target[0], *target[1], "-o", path)
    check_delta(place, path, target, base_path, base, result)


def check_chain(place, target):
    """Two deltas become one."""
    base_path, path = place.checkpoint(MODEL), place.fresh()
    first, second = canonical.build(MODEL, MODEL_RESULT), trl.build(MODEL_RESULT, MODEL_NEXT)
    deltas = [place.write(first.files()), place.write(second.files())]
    place.must("pack", "--base", base_path, *deltas, "--format", target[0], *target[1], "-o", path)
    check_delta(place, path, target, base_path, MODEL, MODEL_NEXT)


def called(target):
    return " ".join((target[0],) + target[1])


def lines():
    """(sentence, check) of everything; a check takes a Place."""
    for sentence, made, given in examples.BYTES:
        yield sentence, lambda place, made=made, given=given: expect(made == given, f"{made!r} instead of {given!r}")
    for kind, (build, read) in OWN.items():
        yield (f"the reader of {kind} finds what the generator wrote",
               functools.partial(check_reader, build=build, read=read))
    for vector in VECTORS:
        yield vector.sentence, functools.partial(check_refused if vector.result is None else check_good, vector=vector)
    for level in ("-1", "-19", "-1 --no-check", "-3 --long=27"):
        yield (f"canonical: frames of 'zstd {level}' are applied",
               functools.partial(check_compressed, build=canonical.build, level=level))
        yield (f"SkyRL: frames of 'zstd {level}' are applied",
               functools.partial(check_compressed, build=skyrl.build, level=level))
    for target in TARGETS:
        for what, formats, base, result in speakable():
            if target[0] in formats:
                yield (f"pack --format {called(target)} writes {what}",
                       functools.partial(check_written, target=target, base=base, result=result))
    for what, formats, base, result, others in unspeakable():
        for kind in formats:
            yield (f"pack --format {kind} refuses {what}",
                   functools.partial(check_no_word, kind=kind, base=base, result=result, others=others))
    for kind in ("canonical", "trl", "skyrl"):
        yield (f"pack --format {kind} tells of a changed file that it cannot carry",
               functools.partial(check_note, kind=kind))
    for source in SOURCES:
        for number, target in enumerate(TARGETS):
            yield (f"{source} becomes {called(target)} without losing a bit",
                   functools.partial(check_conversion, source=source, target=target, seed=f"{source} {number}"))
    for target in TARGETS:
        yield f"two deltas become one as {called(target)}", functools.partial(check_chain, target=target)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, wanted = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else ""
    if not os.access(program, os.X_OK):
        sys.exit(f"formats.py: '{program}' is not a program")
    passed = failed = skipped = 0
    for sentence, check in lines():
        if wanted not in sentence:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="wdelta-formats-"))
        try:
            check(Place(program, folder))
            passed += 1
        except Failed as failure:
            failed += 1
            print(f"FAILED  {sentence}: {failure}".replace(str(folder) + "/", ""))
        except Skipped as reason:
            skipped += 1
            failed += os.environ.get("WDELTA_REQUIRE_ALL") == "1"
            print(f"skipped {sentence}: {reason}")
        except (subprocess.SubprocessError, OSError) as reason:
            failed += 1
            print(f"FAILED  {sentence}: {reason}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
