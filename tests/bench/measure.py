"""How the bench runs programs and keeps score: wall time, peak memory, medians of alternating runs, and the table."""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


class Failed(Exception):
    """A program of the bench did not do its work; a figure from it would mean nothing."""


def remove(*paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def run(command, output=subprocess.DEVNULL):
    """Runs a program to its end; returns seconds, peak resident bytes and what it printed (with output=PIPE)."""
    words = [str(word) for word in command]
    talk = tempfile.TemporaryFile()
    start = time.perf_counter()
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=talk)
    printed = child.stdout.read() if child.stdout else b""
    # wait4 gives this child's own peak. It starts from what the parent had when it forked, so this process stays small:
    # whatever needs memory runs as a program of its own.
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        talk.seek(0)
        said = talk.read().decode(errors="replace")
        raise Failed(f"exit {child.returncode} from: {' '.join(words)}\n{said[-2000:]}")
    return seconds, usage.ru_maxrss * 1024, printed.decode()


class Contender:
    """A command to be timed, and what it leaves behind, which is removed between the runs and outside the time."""

    def __init__(self, name, command, leaves=()):
        self.name, self.command, self.leaves = name, command, leaves
        self.seconds = []

    def race(self, counts, keep):
        remove(*self.leaves)
        seconds = run(self.command)[0]
        if counts:
            self.seconds.append(seconds)
        if not keep:
            # At once, so that the disk has nothing of it to write while the next one runs.
            remove(*self.leaves)

    @property
    def median(self):
        return statistics.median(self.seconds)


def alternate(contenders, rounds):
    """Runs all in turn, so that a change of the machine's mood meets everyone; the first round only warms up.
    What the last round made stays."""
    for number in range(rounds + 1):
        for contender in contenders:
            contender.race(counts=number > 0, keep=number == rounds)


class Score:
    """The table, printed line by line as figures come in, and whether anything is over its limit."""

    def __init__(self):
        self.over = []

    def title(self, text):
        print(f"\n{text}\n{'':2}{'what':<52} {'measured':>12} {'limit':>12}", flush=True)

    def line(self, what, measured, limit=None, unit="", note=""):
        """A figure that must not exceed its limit; without a limit it is only told."""
        self._judge(what, measured, limit, limit is None or measured <= limit, unit, note)

    def at_least(self, what, measured, limit=None, unit="", note=""):
        self._judge(what, measured, limit, limit is None or measured >= limit, unit, note)

    def _judge(self, what, measured, limit, holds, unit, note):
        verdict = "" if limit is None else "ok" if holds else "OVER"
        if not holds:
            self.over.append(what)
        shown = "" if limit is None else self._figure(limit, unit)
        print(f"  {what:<52} {self._figure(measured, unit):>12} {shown:>12}  {verdict:<4}  {note}".rstrip(), flush=True)

    def ratio(self, contender, reference, crew, limit=None, note=""):
        note += f"{contender.median:.3f} s against {reference.median:.3f} s"
        self.line(f"{contender.name} / {reference.name}, {crew}", contender.median / reference.median, limit, note=note)

    def must(self, what, holds):
        if not holds:
            self.over.append(what)
        print(f"  {what:<52} {'yes' if holds else 'NO':>12} {'yes':>12}  {'ok' if holds else 'OVER'}", flush=True)

    @staticmethod
    def _figure(value, unit):
        if unit == "bytes":
            return f"{value:,.0f}"
        if unit == "MiB":
            return f"{value / 2**20:.1f} MiB"
        return f"{value:.3f}" + (f" {unit}" if unit else "")


def fail(message):
    sys.exit(f"bench: {message}")
