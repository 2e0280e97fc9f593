"""Replicas that follow a history step by step, as ratios to cp of the same checkpoint in the same run.

The first two pulls are not counted: they fetch an anchor and lay down a second copy. From the third on a replica does the
same work each time, which is what it does for weeks. The replicas and the copy lie in memory if there is room: wdelta does
not sync files there, and cp never does. On a disk the figures hold the time of the syncs, and are only told.
"""
import filecmp
import json
import os
import pathlib
import shutil
import tempfile

from measure import Contender, remove, run

WEIGHTS = "model.safetensors"
UNCOUNTED = 2


def place_in_memory(size):
    """A folder in memory with room for so many bytes, or None."""
    memory = pathlib.Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < size:
        return None
    return tempfile.TemporaryDirectory(prefix="wdelta-bench-", dir=memory)


class History:
    """Steps that go to and fro between two checkpoints. The number of the step lies in a companion, so that no state
    comes twice: a replica that already has a state does nothing."""

    def __init__(self, bench, sides):
        self.bench, self.sides, self.step = bench, sides, 0
        self.url = f"file://{bench.work}/followed"

    def push(self):
        source = self.sides[self.step % 2]
        (source / "generation_config.json").write_text(json.dumps({"step": self.step}))
        base = ["--base", self.sides[(self.step + 1) % 2]] if self.step else []
        run(self.bench.wdelta("push", source, self.url, "--step", self.step, *base, "--keep-base", "off", "-q"))
        self.step += 1
        return source


def measure(bench, sides, size):
    """`sides`: the two checkpoints, of `size` bytes each, in folders that get one more companion."""
    # Two copies and the next one; the one that is patched; what cp makes; and some more.
    room = place_in_memory(6 * size)
    with room or tempfile.TemporaryDirectory(dir=bench.work) as folder:
        for threads in bench.threads:
            crew = f"{threads} thread{'s' if threads > 1 else ''}"
            race(bench, sides, pathlib.Path(folder), threads, crew, limits=(1.6, 1.6) if room else (None, None))


def race(bench, sides, folder, threads, crew, limits):
    history = History(bench, sides)
    copies, patched, copy = folder / "copies", folder / "patched", folder / "cp"
    pulls = Contender("pull, third and later", bench.wdelta("pull", history.url, copies, threads=threads))
    copying = Contender("cp", ["cp", "-r", "--reflink=never", "source", copy], [copy])
    patches = Contender("pull --in-place, third and later",
                        bench.wdelta("pull", history.url, patched, "--in-place", threads=threads))
    for number in range(UNCOUNTED + bench.rounds):
        source = history.push()
        copying.command[-2] = source
        for contender in (copying, pulls, patches):
            contender.race(counts=number >= UNCOUNTED, keep=contender is not copying)
    for contender, limit in zip((pulls, patches), limits):
        bench.score.ratio(contender, copying, crew, limit=limit)
    for replica in (copies, patched):
        same = filecmp.cmp(replica / "current" / WEIGHTS, source / WEIGHTS, shallow=False)
        bench.score.must(f"{replica.name}: the very bytes of the last step, {crew}", same)
    remove(copies, patched, bench.work / "followed", *(side / "generation_config.json" for side in sides))
