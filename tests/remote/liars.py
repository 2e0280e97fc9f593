#!/usr/bin/env python3
"""Pushes and pulls of small steps through a proxy that lies: whatever succeeds has to be right, and all has to end.

  liars.py [--pulls 200] [--pushes 200] [--seed N] [--program FILE]

A push that exits 0 is in the history, once, with the bytes that were pushed; a pull that exits 0 leaves exactly the
files of a step, and none older than what was pushed before. Whatever fails says 4, 5 or 7, and everything ends in time.
Afterwards, straight at the store, the history has no gaps, the program's own verify agrees, and every record gives the
bytes that were pushed. Prints one line of figures; exit 1 if anything is wrong.
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from lying_proxy import LIES, LyingProxy
from made_steps import ROOT, Gateway, Maker, Wrong, expect, installed, label_of, records_of

DEADLINE = 60  # seconds
CHANCE = 0.02  # of each fault, for each request that it fits
ALLOWED = {4: "damaged", 5: "conflict", 7: "transient"}
PATIENT = ("--retries", "12", "--idle-timeout", "1s", "--connect-timeout", "5s")
FRESH = 20  # each so many pulls, into a new folder; and each so many pushes, an anchor


class Trial:
    def __init__(self, options, folder, gateway, proxy):
        self.program, self.folder, self.proxy = options.program.resolve(), folder, proxy
        self.maker, self.straight = Maker(options.seed), gateway.environment
        self.lied_to = {**gateway.environment, "AWS_ENDPOINT_URL": proxy.address, "HOME": str(folder)}
        self.counts, self.wrong = collections.Counter(), []
        self.acknowledged, self.newest = {}, 0
        self.slowest = 0
        self.story = open(folder / "story.log", "w")

    def run(self, *words):
        """Through the proxy, within the deadline; returns the exit code and the JSON object."""
        words = [str(word) for word in (self.program, *words, *PATIENT, "--json")]
        begun = time.monotonic()
        try:
            outcome = subprocess.run(words, env=self.lied_to, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                     timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.complain(f"no end after {DEADLINE} s: {' '.join(words[1:])}")
            return None, {}
        self.slowest = max(self.slowest, time.monotonic() - begun)
        code = outcome.returncode
        try:
            report = json.loads(outcome.stdout)
        except ValueError:
            self.complain(f"no JSON object from: {' '.join(words[1:])}: {outcome.stdout!r}")
            report = {}
        self.counts["retries"] += report.get("retries") or 0
        said = f"{outcome.stdout.strip()} {outcome.stderr.strip()}"
        self.story.write(f"{begun:.3f} {' '.join(words[1:4])}: {code} {said}\n")
        self.story.flush()
        if code != 0:
            self.counts[f"{words[1]} {code}"] += 1
            if code not in ALLOWED:
                self.complain(f"exit {code} from: {' '.join(words[1:4])}: {(report.get('error') or {}).get('message')}")
        return code, report

    def complain(self, text):
        self.wrong.append(text)
        print(f"  WRONG: {text}", flush=True)

    def push(self, step):
        source = self.folder / f"trainer/step-{step}"
        self.maker.write(source, f"step {step}")
        # The same command again, as after any failure that may pass, with what the hint to a conflict says. Then the
        # next step.
        further = []
        for _ in range(3):
            code, report = self.run("push", source, "s3://steps/run", "--step", step, "--anchor-every", FRESH, *further)
            further = ["--rebase"] if code == 5 else []
            if code == 0:
                self.acknowledged[step] = self.newest = report["number"]
                self.counts["pushed"] += 1
                break
        shutil.rmtree(self.folder / f"trainer/step-{step - 2}", ignore_errors=True)

    def pull(self, number):
        replica = self.folder / f"replica-{number // FRESH}"
        before = label_of(replica / "current") if (replica / "current").exists() else None
        code, report = self.run("pull", "s3://steps/run", replica)
        try:
            current = replica / "current"
            if code == 0:
                self.counts["pulled"] += 1
                self.maker.check(current, label_of(current), f"pull {number}")
                expect(report["number"] >= self.newest,
                       f"pull {number} gave record {report['number']}, though {self.newest} was pushed before")
            elif before is not None:  # the old version is still there, whole
                self.maker.check(current, label_of(current), f"after pull {number}, which failed,")
        except Wrong as wrong:
            self.complain(str(wrong))
        if number % FRESH == FRESH - 1:
            shutil.rmtree(replica, ignore_errors=True)

    def judge(self, gateway):
        gateway.aws("s3", "cp", "--only-show-errors", "--recursive", "s3://steps/run/records",
                    self.folder / "copy/records")
        records = records_of(self.folder / "copy")
        steps = [record["step"] for record in records]
        twice = sorted({step for step in steps if steps.count(step) > 1})
        expect(not twice, f"steps that are in the history more than once: {twice}")
        for step, number in self.acknowledged.items():
            found = records[number - 1]["step"] if number <= len(records) else None
            expect(found == step, f"step {step} was told record {number}, which has step {found}")
        self.tool("verify", "s3://steps/run")
        replica = self.folder / "judge"
        for record in records:
            self.tool("pull", f"s3://steps/run@{record['number']}", replica)
            self.maker.check(replica / "current", f"step {record['step']}", f"record {record['number']}")
        return records

    def tool(self, *words):
        words = [str(word) for word in (self.program, *words, "-q")]
        outcome = subprocess.run(words, env=self.straight, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=DEADLINE)
        expect(outcome.returncode == 0, f"{' '.join(words[1:3])} exits {outcome.returncode}: {outcome.stderr.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pulls", type=int, default=200)
    parser.add_argument("--pushes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/wdelta")
    parser.add_argument("--keep", type=pathlib.Path, help="work below this folder, and leave it")
    parser.add_argument("--faults", default=",".join(LIES), help="only these")
    options = parser.parse_args()
    installed("radosgw", "ceph-mon", "ceph-osd", "aws")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wdelta-liars-", dir=options.keep))
    name = f"{options.pushes} pushes and {options.pulls} pulls through a lying proxy, seed {options.seed}"
    begun = time.monotonic()
    try:
        with open(folder / "proxy.log", "w") as log, Gateway(folder / "rgw") as gateway:
            rules = [f"{fault}:{CHANCE}" for fault in options.faults.split(",")]
            proxy = LyingProxy(gateway.endpoint, rules, options.seed, log).start()
            trial = Trial(options, folder, gateway, proxy)
            for number in range(max(options.pushes, options.pulls)):
                if number < options.pushes:
                    trial.push(number + 1)
                if number < options.pulls:
                    trial.pull(number)
            try:
                records = trial.judge(gateway)
            except Wrong as wrong:
                trial.complain(str(wrong))
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    counts = trial.counts
    exits = ", ".join(f"{what.split()[0]} exit {what.split()[1]}: {times}" for what, times in sorted(counts.items())
                      if what.startswith(("push ", "pull ")))
    print(f"{name}: {proxy.requests} requests, {sum(proxy.lies.values())} lies of {len(proxy.lies)} kinds, "
          f"{counts['pushed']} pushes and {counts['pulled']} pulls succeeded ({exits or 'no failures'}), "
          f"{counts['retries']} retries, slowest {trial.slowest:.1f} s, "
          + (f"{len(trial.wrong)} WRONG" if trial.wrong else f"all {len(records)} records bit-exact")
          + f", {time.monotonic() - begun:.0f} s", flush=True)
    sys.exit(1 if trial.wrong else 0)


if __name__ == "__main__":
    main()
