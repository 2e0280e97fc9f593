#!/usr/bin/env python3
"""Many pushers on one history: none of their pushes may be lost, doubled or damaged.

  pushers.py [--pushers 8] [--pushes 50] [--seed N] [--remote file|rgw] [--program FILE]

Each pusher has a home of its own and pushes its checkpoints one after the other with --rebase. About one push in twenty
is killed, at some moment or, on rgw, just when its record has been written, and the same command repeated until it
succeeds, often when others have pushed meanwhile. On rgw, the answer to about one in twenty is lost after the store has
done the work. In the end every push has to be in the history exactly once, with nothing
beside them and no gaps, the program's own verify has to agree, and every record has to give the very bytes that were
pushed. Prints one line of figures; exit 1 if anything is wrong.
"""

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from lying_proxy import LyingProxy
from made_steps import ROOT, Gateway, Maker, Wrong, clean_environment, expect, installed, label_of, records_of

LOST = ("lost_answer:0.04:PUT:/records/", "lost_answer:0.01:PUT:/objects/", "lost_answer:0.01:PUT:/tip.json")
PATIENCE = 120  # seconds for one run; far more than it needs
REPEATS = 30


class Pusher(threading.Thread):
    options = ()  # of each push

    def __init__(self, number, fleet, limit=PATIENCE):
        """`limit`: seconds after which a push is killed, and repeated; only at PATIENCE is that a failure."""
        super().__init__(daemon=True)
        self.number, self.fleet, self.limit = number, fleet, limit
        self.home = fleet.folder / f"pusher-{number}"
        self.rng = random.Random(f"{fleet.seed}/kills/{number}")
        self.proxy = None  # a folder needs none
        if fleet.store:
            self.proxy = LyingProxy(fleet.store, LOST, f"{fleet.seed}/{number}", fleet.proxy_log).start()
        self.trouble = None

    def run(self):
        try:
            for push in range(1, self.fleet.pushes + 1):
                self.push(push)
        except Exception as trouble:  # told by the main thread
            self.trouble = trouble
            self.fleet.stop = True

    def label_for(self, push):
        return f"{self.number}.{push}"

    def push(self, push):
        label, step = self.label_for(push), 100000 * self.number + push
        source = self.home / f"checkpoint-{push}"
        self.fleet.maker.write(source, label)
        words = [self.fleet.program, "push", source, self.fleet.remote, "--step", step, "--rebase", "--json",
                 "--retries", 20, *self.options]
        self.fleet.intend(label, step)
        kill = self.rng.random() < self.fleet.killed
        for _ in range(REPEATS):
            if self.fleet.stop:
                return
            if kill and self.proxy and self.rng.random() < 0.5:
                code, said, notes = self.kill_at_commit(words)
            else:
                code, said, notes = self.once(words, kill)
            kill = False
            if code == 0:
                self.fleet.acknowledge(step, json.loads(said))
                break
            self.fleet.count(f"exit {code}")
            # Killed by us, or what the manual says may pass. Not even a conflict may get through --rebase.
            expect(code in (-9, 7), f"push {label} exits {code}: {notes.strip()} {said.strip()}")
        else:
            raise Wrong(f"push {label} did not succeed in {REPEATS} runs")
        # The trainer keeps the last two.
        shutil.rmtree(self.home / f"checkpoint-{push - 2}", ignore_errors=True)

    def begin(self, words):
        environment = {**self.fleet.environment, "HOME": str(self.home)}
        if self.proxy:
            environment["AWS_ENDPOINT_URL"] = self.proxy.address
        return subprocess.Popen([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill_at_commit(self, words):
        """Kills it when its record is there, before it knows, and gives others the time to go on from that record."""
        there = threading.Event()

        def watch(request, answer):
            if request.method == "PUT" and "/records/" in request.target and answer.status == 200:
                there.set()
            return there.is_set()

        self.proxy.watch = watch
        child = self.begin(words)
        expect(there.wait(self.limit) or self.limit < PATIENCE, f"no record after {PATIENCE} s: {words}")
        child.kill()
        said, notes = child.communicate()
        self.proxy.watch = None
        self.fleet.count("at commit")
        time.sleep(self.rng.uniform(0, 2 * self.fleet.usual))
        return child.returncode, said, notes

    def once(self, words, kill):
        begun = time.monotonic()
        child = self.begin(words)
        try:
            said, notes = child.communicate(timeout=self.rng.uniform(0, self.fleet.usual) if kill else self.limit)
            self.fleet.took(time.monotonic() - begun)
        except subprocess.TimeoutExpired:
            child.kill()
            said, notes = child.communicate()
            expect(kill or self.limit < PATIENCE, f"no end after {PATIENCE} s: {words}")
        return child.returncode, said, notes


class Fleet:
    """What the pushers share, and what they said: the label of each step that they meant to push, and the number of the
    record that each step was told to be."""

    def __init__(self, options, folder):
        self.folder, self.program, self.seed = folder, options.program.resolve(), options.seed
        self.pushers, self.pushes = options.pushers, getattr(options, "pushes", None)
        self.maker, self.mutex = Maker(options.seed), threading.Lock()
        self.intended, self.acknowledged, self.counts = {}, {}, collections.Counter()
        self.usual, self.stop, self.killed = 0.5, False, options.killed
        self.log, self.proxy_log = open(folder / "acknowledged.log", "w"), open(folder / "proxy.log", "w")

    def at(self, remote, environment, store=None):
        self.remote, self.environment, self.store = remote, environment, store

    def took(self, seconds):
        with self.mutex:
            self.usual = 0.95 * self.usual + 0.05 * seconds

    def count(self, what):
        with self.mutex:
            self.counts[what] += 1

    def intend(self, label, step):
        with self.mutex:
            self.intended[step] = label

    def acknowledge(self, step, report):
        with self.mutex:
            expect(report["ok"] and report["step"] == step, f"push of step {step} reports {report}")
            self.acknowledged[step] = report["number"]
            self.counts["retries"] += report["retries"]
            self.log.write(f"{step} {report['number']} {report['already_there']}\n")
            self.log.flush()

    def members(self):
        return [Pusher(number, self) for number in range(1, self.pushers + 1)]

    def run(self):
        crew = self.members()
        for each in crew:
            each.start()
        for each in crew:
            each.join()
        self.counts["lost"] = sum(sum(each.proxy.lies.values()) for each in crew if each.proxy)
        troubles = [each.trouble for each in crew if each.trouble]
        if troubles:
            raise troubles[0]

    def figures(self):
        counts = self.counts
        return (f"{len(self.acknowledged)} records, none lost, none doubled, all rebuilt bit-exact; "
                f"{counts['exit -9']} killed ({counts['at commit']} at their commit), {counts['lost']} answers lost, "
                f"{counts['exit 7']} repeated after exit 7, {counts['retries']} retries")

    # ---- the oracle ------------------------------------------------------------------------------------------------

    def judge(self, copy, remote):
        """`copy`: a folder with the history's objects; `remote`: the store without a proxy."""
        records = self.judge_records(copy)
        self.tool("verify", remote)
        for record in self.within_reach(records):
            self.judge_content(record, remote)
        return records

    def judge_records(self, copy):
        """Each push that succeeded is in the history, once, under the number that it was told, and nothing else is."""
        records = records_of(copy)
        seen = collections.Counter(record["step"] for record in records)
        doubled = sorted(step for step, times in seen.items() if times > 1)
        missing, strange = sorted(set(self.acknowledged) - set(seen)), sorted(set(seen) - set(self.acknowledged))
        expect(not missing, f"{len(missing)} pushes that succeeded are not in the history: {missing[:9]}")
        expect(not strange, f"{len(strange)} records that nobody pushed with success: {strange[:9]}")
        expect(not doubled, f"{len(doubled)} pushes are in the history more than once: {doubled[:9]}")
        for record in records:
            step, number = record["step"], record["number"]
            expect(self.acknowledged[step] == number,
                   f"step {step} was told {self.acknowledged[step]}, and is record {number}")
        return records

    def within_reach(self, records):
        expect(len(records) == self.pushers * self.pushes, f"{len(records)} records")
        return records

    def judge_content(self, record, remote):
        """The record gives the very bytes that were pushed."""
        number, label, replica = record["number"], self.intended[record["step"]], self.folder / "replica"
        self.tool("pull", f"{remote}@{number}", replica)
        expect(label_of(replica / "current") == label, f"record {number} is not '{label}'")
        self.maker.check(replica / "current", label, f"record {number}")

    def tool(self, *words):
        outcome = subprocess.run([str(word) for word in (self.program, *words, "-q")], env=self.environment,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        expect(outcome.returncode == 0, f"{words[0]} {words[1]} exits {outcome.returncode}: {outcome.stderr.strip()}")


def on_folder(fleet):
    fleet.at(f"file://{fleet.folder}/store", clean_environment(fleet.folder))
    (fleet.folder / "store").mkdir()
    begun = time.monotonic()
    fleet.run()
    seconds = time.monotonic() - begun
    fleet.judge(fleet.folder / "store", fleet.remote)
    return seconds


def on_gateway(fleet):
    with Gateway(fleet.folder / "rgw") as gateway:
        fleet.at("s3://steps/run", gateway.environment, gateway.endpoint)
        begun = time.monotonic()
        fleet.run()
        seconds = time.monotonic() - begun
        gateway.aws("s3", "cp", "--only-show-errors", "--recursive", "s3://steps/run/records",
                    fleet.folder / "copy/records")
        fleet.judge(fleet.folder / "copy", fleet.remote)
        return seconds


def shared_arguments(description, pushers):
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--pushers", type=int, default=pushers)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--killed", type=float, default=0.05, help="the share of pushes that are killed")
    parser.add_argument("--remote", choices=("file", "rgw"), default="rgw")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/wdelta")
    parser.add_argument("--keep", type=pathlib.Path, help="work below this folder, and leave it")
    return parser


def conduct(make_fleet, options, name):
    """The whole trial: one line of figures, or what is wrong and exit 1."""
    if options.remote == "rgw":
        installed("radosgw", "ceph-mon", "ceph-osd", "aws")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wdelta-pushers-", dir=options.keep))
    fleet = make_fleet(options, folder)
    name += f" on {options.remote}, seed {options.seed}"
    try:
        seconds = on_folder(fleet) if options.remote == "file" else on_gateway(fleet)
        print(f"{name}: {fleet.figures()}, {seconds:.1f} s", flush=True)
    except Wrong as wrong:
        print(f"{name}: WRONG: {wrong}", flush=True)
        sys.exit(1)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = shared_arguments(__doc__, 8)
    parser.add_argument("--pushes", type=int, default=50, help="of each")
    options = parser.parse_args()
    conduct(Fleet, options, f"{options.pushers} pushers x {options.pushes} pushes")


if __name__ == "__main__":
    main()
