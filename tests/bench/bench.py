#!/usr/bin/env python3
"""Measures wdelta against its limits; started by scripts/bench. Prints a table; exit 1 if anything is over.

Speed is told as ratios of medians of alternating runs with warm caches and equal threads, so that it means the same on
any machine: to the limit (a program that only reads both checkpoints and ORs their XOR), to cp, to XOR + zstd -1.
Decoding alone is told as a ratio to memcmp.
"""
import argparse
import filecmp
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import follow
import remote
import size_tables
from measure import Contender, Failed, Score, alternate, fail, remove, run

HERE = pathlib.Path(__file__).resolve().parent


class Bench:
    def __init__(self, options, work):
        self.work, self.score = work, Score()
        self.program, self.tools = options.program.resolve(), options.tools.resolve()
        self.quick = options.quick
        self.rounds = 3 if options.quick else 5
        self.scale = 0.25 if options.quick else 1
        self.table_scale = 0.03 if options.quick else 0.1
        self.threads = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]

    # ---- data ------------------------------------------------------------------------------------------------------

    def make(self, name, *options, sides=("base", "new")):
        """A pair made by the generator, kept for the next run; returns its folders and what the generator said."""
        place = self.work / name
        source = b"".join((HERE / file).read_bytes() for file in ("generate.cc", "model_shape.h"))
        recipe = [hashlib.sha256(source).hexdigest(), *map(str, options), *sides]
        stamp = self.work / f"{name}.made.json"
        folders = [place / side for side in sides]
        if stamp.exists() and json.loads(stamp.read_text())["recipe"] == recipe and all(f.is_dir() for f in folders):
            return folders, json.loads(stamp.read_text())["made"]
        remove(stamp, place)
        outs = [word for side, folder in zip(sides, folders) for word in (f"--out-{side}", folder)]
        printed = run([self.tools / "generate", *outs, *options], output=subprocess.PIPE)[2]
        os.sync()  # else the disk is still busy with the new files while the first command is timed
        stamp.write_text(json.dumps({"recipe": recipe, "made": json.loads(printed)}))
        return folders, json.loads(printed)

    def drop(self, name):
        remove(self.work / name, self.work / f"{name}.made.json")

    def wdelta(self, command, *words, threads=None):
        tail = [] if threads is None else ["--threads", threads]
        return [self.program, command, *words, *tail]

    def pack(self, base, new, out, *words):
        """Packs and returns the report."""
        remove(out)
        return json.loads(run(self.wdelta("pack", base, new, "-o", out, "--json", *words), output=subprocess.PIPE)[2])

    # ---- speed -----------------------------------------------------------------------------------------------------

    def speed(self, base, new, weights, rounds, judged=True):
        """`weights`: the file inside both checkpoints that holds all the tensors, '' if they are files themselves."""
        pack, other, frames, out, copy = (
            self.work / name for name in ("out.wdp", "out.other.wdp", "out.frames", "out.applied", "out.copy"))
        ratio = self.score.ratio if judged else lambda *words, limit=None, **more: self.score.ratio(*words, **more)
        digests, medians = set(), {}
        for threads in self.threads:
            crew = f"{threads} thread{'s' if threads > 1 else ''}"
            both = [base / weights, new / weights]
            packs = lambda to, *words: self.wdelta("pack", base, new, "-o", to, *words, threads=threads)
            limit = Contender("limit", [self.tools / "limit", "--threads", threads, *both])
            peer = Contender("XOR + zstd -1", [self.tools / "xor_zstd", "--threads", threads, *both, frames], [frames])
            diff = Contender("diff", self.wdelta("diff", base, new, threads=threads))
            stats = Contender("stats", self.wdelta("stats", base, new, threads=threads))
            fast = Contender("pack --level fast", packs(other, "--level", "fast"), [other])
            packing = Contender("pack", packs(pack), [pack])
            alternate([limit, diff, stats, fast, packing, peer], rounds)
            remove(other)
            ratio(diff, limit, crew, limit=1.5)
            ratio(stats, diff, crew, limit=1.5)
            ratio(fast, limit, crew, limit=4, note="the first default codec; ")
            ratio(fast, peer, crew, limit=0.75)
            ratio(packing, peer, crew, limit=1.0)
            ratio(packing, limit, crew)
            most = Contender("pack --level max", packs(other, "--level", "max"), [other])
            alternate([most], 1)
            remove(other)
            ratio(most, peer, crew)
            digests.add(hashlib.file_digest(pack.open("rb"), "sha256").hexdigest())

            words = [base, pack, "-o", out, "--fsync", "off"]
            apply = Contender("apply", self.wdelta("apply", *words, threads=threads), [out])
            copying = Contender("cp", ["cp", "-r", "--reflink=never", new, copy], [copy])
            alternate([copying, apply], rounds)
            ratio(apply, copying, crew, limit=2.2)
            same = filecmp.cmp(out / weights, new / weights, shallow=False)
            self.score.must(f"apply rebuilt the very bytes, {crew}", same)
            medians[threads] = {each.name: each.median for each in (fast, packing, most, apply)}
            remove(frames, out, copy)
        self.score.must("the pack is the same for any threads", len(digests) == 1)
        if 2 in medians:
            for name, seconds in medians[2].items():
                self.score.line(f"{name}: time at 1 thread / at 2", medians[1][name] / seconds)
        remove(pack)

    def memory_to_memory(self, base, new, judged=True):
        """Coding and decoding alone. Wanted are 2 GB a second and thread where memcmp runs at 6."""
        for level, every in (("default", 1), ("fast", 1), ("max", 16)):
            for threads in self.threads:
                words = ["--threads", threads, "--level", level, "--rounds", self.rounds, "--every", every, base, new]
                printed = run([self.program.parent / "decode_speed", *words], output=subprocess.PIPE)[2]
                found = json.loads(printed)
                crew = f"{level}, {threads} thread{'s' if threads > 1 else ''}"
                note = f"{found['decode']:.2f} GB/s, memcmp {found['memcmp']:.2f} GB/s"
                least = 2 / 6 if judged and level == "default" else None
                self.score.at_least(f"decode / memcmp, {crew}", found["decode"] / found["memcmp"], least, note=note)
                self.score.line(f"encode, {crew}", found["encode"], unit="GB/s")

    def sizes(self, base, new, expected_changed):
        out = self.work / "out.wdp"
        report = self.pack(base, new, out)
        changed, delta = report["elements_changed"], report["delta_bytes"]
        self.score.line("pack", delta, unit="bytes", note=f"{report['bytes_total'] / delta:.1f} times smaller")
        self.score.line("bits for each changed weight", 8 * delta / changed, note=f"{changed:,} changed")
        self.score.must("delta_bytes is the size of the file", delta == out.stat().st_size)
        self.score.must("elements_changed is what was changed", changed == expected_changed)
        remove(out)

    def generated(self):
        (base, new), made = self.make("pair", "--config", "--scale", self.scale)
        size, share = 2 * made["elements"], 100 * made["density"]
        self.score.title(f"generated pair: {made['tensors']} tensors, {size:,} bytes, {share:.2f} % changed")
        self.speed(base, new, "model.safetensors", self.rounds)
        self.sizes(base, new, made["changed"])
        self.score.title("the same pair, from memory to memory (decoding: at least)")
        self.memory_to_memory(base, new)

    def follow(self):
        (base, new), made = self.make("pair", "--config", "--scale", self.scale)
        size, share = 2 * made["elements"], 100 * made["density"]
        self.score.title(f"replicas that follow: {size:,} bytes, {share:.2f} % changed in a step")
        follow.measure(self, (base, new), size)

    # ---- a long history ---------------------------------------------------------------------------------------------

    def history(self):
        """A report over a thousand records in a folder."""
        count, place = (100 if self.quick else 1000), self.work / "history"
        remove(place)
        steps = [place / "a", place / "b"]
        run([sys.executable, HERE.parents[1] / "scripts" / "make_checkpoints.py", *steps])
        url = f"file://{place}/store"
        for number in range(count):
            words = ["--step", number, "--base", steps[(number + 1) % 2]] if number else ["--step", 0]
            run(self.wdelta("push", steps[number % 2], url, *words, "--keep-base", "off", "-q"))
        self.score.title(f"a history of {count:,} records in a folder")
        found = json.loads(run(self.wdelta("stats", url, "--json"), output=subprocess.PIPE)[2])
        self.score.must("every record is in the report", len(found["records"]) == count)
        seconds = min(run(self.wdelta("stats", url))[0] for _ in range(self.rounds))
        self.score.line("stats of the history", seconds, 1, "s")
        remove(place)

    # ---- sizes at the edges ----------------------------------------------------------------------------------------

    def edges(self):
        (base, _), made = self.make("pair", "--config", "--scale", self.scale)
        out = self.work / "out.wdp"

        (other,), _ = self.make("other", "--config", "--scale", self.scale, "--dense", sides=("new",))
        self.score.title("another model altogether, and nothing changed")
        packed = self.pack(base, other, out)["delta_bytes"]
        whole = self.work / "out.zst"
        run(["zstd", "-1", "-q", "-f", "-k", other / "model.safetensors", "-o", whole])
        note = f"{packed:,} bytes against {whole.stat().st_size:,}"
        self.score.line("dense pack / zstd -1 of the new weights", packed / whole.stat().st_size, 1.01, note=note)
        remove(whole, out)

        (twin,), _ = self.make("twin", "--config", "--scale", self.scale, "--same", sides=("new",))
        packed = self.pack(base, twin, out)["delta_bytes"]
        self.score.line("pack of no change", packed, 64 * 1024 + 48 * made["tensors"], unit="bytes")
        remove(out)
        self.drop("twin")

    # ---- real chains -----------------------------------------------------------------------------------------------

    def chains(self, folder):
        found = sorted({path.parent for path in folder.rglob("step_*.delta.safetensors")})
        if not found:
            fail(f"no step_*.delta.safetensors in '{folder}'")
        columns = []
        for chain in found:
            steps = self.work / "chains" / chain.name
            run([sys.executable, HERE / "rebuild_chain.py", chain, steps])
            base, new = sorted(steps.glob("step_*.safetensors"))[-2:]
            self.score.title(f"chain {chain.name}: {base.stem} to {new.stem}, {base.stat().st_size:,} bytes")
            # Files this small are read in a few milliseconds, so the start of a process is a good part of each ratio:
            # told, and not judged.
            self.speed(base, new, "", 3 * self.rounds, judged=False)
            columns.append((chain.name, size_tables.of_chain(self, chain.name, base, new)))
        remove(self.work / "chains")
        size_tables.print_markdown(columns)

    # ---- memory ----------------------------------------------------------------------------------------------------

    def peaks(self, label, base, new, judged=True, more=()):
        pack, out = self.work / "out.wdp", self.work / "out.applied"
        plain = self.work / "out.safetensors"
        commands = {
            "diff": ["diff", base, new],
            "diff -o": ["diff", base, new, "-o", plain],
            "pack": ["pack", base, new, "-o", pack],
            "pack plain": ["pack", "--base", base, plain, "-o", pack],
            "pack --anchor": ["pack", "--anchor", new, "-o", pack],
            "apply": ["apply", base, pack, "-o", out, "--fsync", "off"],
            "verify": ["verify", new, "--against", pack],
        }
        for threads in (1, 2, 8):
            allowed = (64 + 8 * threads) * 2**20 if judged else None
            for name in ("diff", *more, "pack", "apply", "verify"):
                remove(out)
                seconds, peak, _ = run(self.wdelta(*commands[name], threads=threads))
                self.score.line(f"{label}: {name}, threads {threads}", peak, allowed, "MiB", f"{seconds:.2f} s")
        remove(pack, out, plain)

    def memory(self):
        self.score.title("peak resident memory: at most 64 MiB + 8 MiB for each thread")
        print("  (less than the 20 MiB of the bench itself shows as that)")
        size = 2 * 10**9 if self.quick else 12 * 10**9
        (base, new), made = self.make("holes", "--sparse-file", size)
        self.peaks(f"{2 * made['elements'] / 1e9:.0f} GB", base, new)
        self.drop("holes")

        (base, new), made = self.make("shards", "--tensors", 15000, "--rows", 16, "--columns", 64, "--shards", 1500)
        self.peaks(f"{made['shards']} shards", base, new)
        self.drop("shards")

        (base, new), made = self.make("third", "--scale", 0.25, "--density", 0.3)
        self.peaks(f"{100 * made['density']:.0f} % changed", base, new, more=("diff -o", "pack plain"))
        self.drop("third")

        (base, _), _ = self.make("pair", "--config", "--scale", self.scale)
        (other,), _ = self.make("other", "--config", "--scale", self.scale, "--dense", sides=("new",))
        self.peaks("all changed", base, other, more=("pack --anchor",))

        (base, new), made = self.make("names", "--tensors", 140000)
        self.score.title(f"a header of {made['tensors']:,} tensors (its index may take more memory)")
        self.peaks("many names", base, new, judged=False)
        seconds = min(run(self.wdelta("verify", "--quick", base))[0] for _ in range(self.rounds))
        self.score.line("many names: verify --quick", seconds, 0.5, "s")
        self.drop("names")


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench", description="measures wdelta against its limits")
    parser.add_argument("--quick", action="store_true", help="a quarter of the size, three rounds")
    parser.add_argument("--density", action="store_true", help="also sizes at several densities")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="with --density: draw them, as SVG")
    parser.add_argument("--memory", action="store_true", help="also peak memory, on 12 GB of holes and more")
    parser.add_argument("--data", type=pathlib.Path, metavar="DIR", help="also the chains of checkpoints found there")
    parser.add_argument("--remote", nargs="?", const="", metavar="WORD,...", help="only a step through radosgw, and of "
                        f"that only these lines: {', '.join([*remote.LINKS, *remote.FLOWS])}")
    parts = ["speed", "follow", "history", "edges", "density", "memory", "data"]
    parser.add_argument("--only", choices=parts, help="this part and no other")
    parser.add_argument("--report-only", action="store_true", help="exit 0 even if something is over its limit")
    parser.add_argument("--tools", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the wdelta to measure")
    options = parser.parse_args()
    if options.remote is not None:
        options.only = "remote"
    if options.plot is not None and not (options.density or options.only == "density"):
        parser.error("'--plot' needs '--density'")
    if options.only == "data" and options.data is None:
        parser.error("'--only data' needs '--data DIR'")
    return options


def measure(options, work):
    bench = Bench(options, work)
    load, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(f"processors: {processors}, load before the start: {load:.2f}")
    if load > 0.3 * processors:
        print("the machine is busy with other work: the ratios of speed are not to be trusted")

    parts = {
        "speed": (bench.generated, True),
        "follow": (bench.follow, True),
        "history": (bench.history, True),
        "edges": (bench.edges, True),
        "density": (lambda: size_tables.by_density(bench, options.plot), options.density),
        "data": (lambda: bench.chains(options.data), options.data is not None),
        "memory": (bench.memory, options.memory),
        "remote": (lambda: remote.measure(bench, options.remote), options.remote is not None),
    }
    for name, (part, asked) in parts.items():
        if asked if options.only is None else options.only == name:
            try:
                part()
            except Failed as failure:
                print(failure, flush=True)
                bench.score.over.append(f"{name}: ended early")
    return bench.score.over


def main():
    options = parse()
    kept = os.environ.get("WDELTA_BENCH_DIR")
    if kept:
        work = pathlib.Path(kept).resolve()
        work.mkdir(parents=True, exist_ok=True)
        over = measure(options, work)
    else:
        with tempfile.TemporaryDirectory(prefix="wdelta-bench-") as folder:
            over = measure(options, pathlib.Path(folder))
    if over:
        print(f"\n{len(over)} over the limit:", *over, sep="\n  ")
    else:
        print("\nall within their limits")
    return 1 if over and not options.report_only else 0


if __name__ == "__main__":
    sys.exit(main())
