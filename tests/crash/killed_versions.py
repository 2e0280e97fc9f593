#!/usr/bin/env python3
"""Pushes and pulls of versions for other systems are killed at random moments, and repeated.

    killed_versions.py PROGRAM [SEED [STEPS]]

Each step of a training is pushed until a push lives to its end, sometimes with a source that may be overwritten; then
two folders pull it, one of them in place with SGLang's marker. However often they are killed, there is one version for
each step, and each folder has the very bytes of the step. Prints the seed and a line of figures.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))

import tiny  # noqa: E402
from kill_points import tree  # noqa: E402

ELEMENTS = 700_000  # more than a block
TRIES = 6  # the last one is left alone
WHOLE_EVERY = 5


def expect(truth, *what):
    if not truth:
        sys.exit("FAILED  " + " ".join(map(str, what)))


def checkpoint(folder):
    """{relative path: content}, without the marker, which is no part of it."""
    return {path: content for path, content in tree(folder).items() if not path.startswith(".weight_sync/")}


class Run:
    def __init__(self, program, seed):
        self.program, self.random = program, random.Random(seed)
        self.changes, self.killed = {}, 0

    def write_step(self, folder, step):
        for _ in range(20):
            self.changes[self.random.randrange(ELEMENTS)] = self.random.randrange(1 << 16)
        shards = {"m-1.safetensors": {"embed": tiny.ramp(ELEMENTS, self.changes)},
                  "m-2.safetensors": {"head": tiny.ramp(64, {9: step}), "norm": tiny.ramp(8)}}
        tiny.write_sharded(folder, shards, {"config.json": "{}"})

    def until_done(self, *words):
        """Runs the command, killed after a random time at most five times."""
        for attempt in range(TRIES):
            process = subprocess.Popen([self.program, *words, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                process.wait(self.random.random() * 0.05 if attempt + 1 < TRIES else None)
            except subprocess.TimeoutExpired:
                process.kill()
            trouble = process.communicate()[1].decode()
            if process.returncode == 0:
                return
            expect(process.returncode == -9, words, "exits", process.returncode, trouble)
            self.killed += 1


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    print("seed", seed, flush=True)
    run = Run(os.path.abspath(sys.argv[1]), seed)
    folder = tempfile.mkdtemp(prefix="wdelta-versions-")
    try:
        os.chdir(folder)
        url = "file://%s/store/run" % folder
        for step in range(1, steps + 1):
            source = "source/%d" % step
            run.write_step(source, step)
            released = ("--released", folder + "/released") if step % 4 == 0 else ()
            run.until_done("push", source, url, "--format", "canonical", "--anchor-every", str(WHOLE_EVERY), *released)
            with open("store/run/latest") as pointer:
                latest = pointer.read()
            expect(latest == "run/weight_v%06d" % step, "after step", step, "the pointer says", latest)
            for replica, options in (("copies", ()), ("in-place", ("--in-place", "--marker", "sglang"))):
                if run.random.random() < 0.4:
                    continue  # more to catch up with next time
                run.until_done("pull", url, replica, *options)
                expect(checkpoint(replica + "/current") == checkpoint(source), "step", step, "is another one in", replica)
                expect(subprocess.call([run.program, "verify", replica, "-q"]) == 0, replica, "is not in order")
            if released:  # the trainer goes on
                run.write_step(source, 0)
            shutil.rmtree("source/%d" % (step - 2), ignore_errors=True)
        print("%d steps, %d killed" % (steps, run.killed))
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
