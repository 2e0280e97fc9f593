#!/usr/bin/env python3
"""Garbage is collected while many push and pull: nothing that a kept record needs may be lost.

  collectors.py [--seconds 60] [--pushers 4] [--seed N] [--remote file|rgw] [--grace 10] [--program FILE]

The pushers mostly go back and forth between a few states, so that packs which were collected, or are about to be, arise
again and again, and push anchors of them, too; some pushes are killed and repeated. Beside them `gc --delete` runs all
the time with a grace period that is just longer than a push, and is stopped for a moment wherever it is, ended by
SIGTERM, or told to go on. Others pull, and have to get the newest record or a later one. In the end every push is in
the history once, verify agrees, and every record that is kept or has a tag gives the very bytes that were pushed.
Prints one line of figures; exit 1 if anything is wrong.
"""

import json
import random
import signal
import subprocess
import threading
import time

from made_steps import expect, label_of
from pushers import PATIENCE, Fleet, Pusher, conduct, shared_arguments

STATES = 5  # that pushers go back to
KEPT = 6  # records
ANCHORS = 4  # each so many records
TAGGED = (2, 3)  # records, from before the collecting begins


class Wanderer(Pusher):
    """Pushes until the time is up, mostly what was there before."""

    options = ("--anchor-every", ANCHORS)

    def label_for(self, push):
        return f"state {self.rng.randrange(STATES)}" if self.rng.random() < 0.8 else super().label_for(push)

    def run(self):
        try:
            push = 0
            while not self.fleet.over():
                push += 1
                self.push(push)
        except Exception as trouble:  # told by the main thread
            self.trouble = trouble
            self.fleet.stop = True


class Beside(threading.Thread):
    """What runs beside the pushers, again and again."""

    proxy = None  # straight at the store

    def __init__(self, name, fleet):
        super().__init__(daemon=True)
        self.home, self.fleet, self.trouble = fleet.folder / name, fleet, None
        self.rng = random.Random(f"{fleet.seed}/{name}")

    def run(self):
        try:
            while not self.fleet.over():
                self.once()
        except Exception as trouble:  # told by the main thread
            self.trouble = trouble
            self.fleet.stop = True

    def begin(self, *words):
        return subprocess.Popen([str(word) for word in (self.fleet.program, *words, "--json")],
                                env=self.fleet.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def finish(self, child, *allowed):
        said, notes = child.communicate(timeout=PATIENCE)
        expect(child.returncode in allowed, f"{child.args[1]} exits {child.returncode}: {notes.strip()} {said.strip()}")
        self.fleet.count(f"{child.args[1]} {child.returncode}")
        return json.loads(said) if child.returncode == 0 else None


class Collector(Beside):
    def once(self):
        child = self.begin("gc", self.fleet.remote, "--keep", KEPT, "--grace", self.fleet.grace, "--delete")
        chance = self.rng.random()
        if chance < 0.5:  # somewhere between what it has seen and what it does about that
            time.sleep(self.rng.uniform(0, 0.05))
            child.send_signal(signal.SIGSTOP)
            time.sleep(self.rng.uniform(0, 2))
            child.send_signal(signal.SIGCONT)
        elif chance < 0.8:
            time.sleep(self.rng.uniform(0, 0.05))
            child.send_signal(signal.SIGTERM)
        report = self.finish(child, 0, 143, -signal.SIGTERM)
        if report:
            self.fleet.collected(report)


class Puller(Beside):
    def once(self):
        before = max(self.fleet.acknowledged.values())
        report = self.finish(self.begin("pull", self.fleet.remote, self.home), 0)
        expect(report["number"] >= before, f"pulled record {report['number']}, and {before} was there before")
        label = label_of(self.home / "current")
        self.fleet.maker.check(self.home / "current", label, f"pulled record {report['number']}")
        time.sleep(self.rng.uniform(0, 0.5))


class CollectedFleet(Fleet):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.seconds, self.grace, self.longest, self.removed = options.seconds, options.grace, 0, 0

    def over(self):
        return self.stop or time.monotonic() > self.end

    def members(self):
        first = Pusher(0, self)
        for push in range(1, 5):  # a history, of which some is to be kept for ever
            first.push(push)
        for number in TAGGED:
            self.tool("tag", f"{self.remote}@{number}", f"kept-{number}")
        self.end = time.monotonic() + self.seconds
        # An object that is older than the grace period while its push is under way is not protected, as the manual says.
        # So no push lasts that long, however slow the machine is.
        limit = 0.9 * self.grace
        return [*(Wanderer(number, self, limit) for number in range(1, self.pushers + 1)), Collector("collector", self),
                Puller("puller-1", self), Puller("puller-2", self)]

    def took(self, seconds):
        super().took(seconds)
        with self.mutex:
            self.longest = max(self.longest, seconds)

    def collected(self, report):
        with self.mutex:
            self.removed += report["objects_removed"]

    def within_reach(self, records):
        expect(self.longest < self.grace, f"a push took {self.longest:.1f} s, longer than the grace period")
        expect(self.removed > 0, "nothing was collected")
        self.tool("gc", self.remote, "--keep", KEPT, "--grace", 0, "--delete")
        return [*records[-KEPT:], *(records[number - 1] for number in TAGGED)]

    def figures(self):
        counts = self.counts
        early = counts["gc 143"] + counts["gc -15"]
        return (f"{len(self.acknowledged)} records, none lost, none doubled, all kept ones rebuilt bit-exact; "
                f"{counts['gc 0'] + early} collections ({early} ended early) removed {self.removed} objects, "
                f"{counts['pull 0']} pulls, {counts['exit -9']} pushes killed ({counts['at commit']} at their commit), "
                f"{counts['lost']} answers lost, slowest push {self.longest:.1f} s of {self.grace} s of grace")


def main():
    parser = shared_arguments(__doc__, 4)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--grace", type=int, default=10, help="seconds")
    options = parser.parse_args()
    conduct(CollectedFleet, options, f"{options.pushers} pushers and a collector, {options.seconds:g} s")


if __name__ == "__main__":
    main()
