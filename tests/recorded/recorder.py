"""Runs the program that is recorded, keeps its command lines, and kills it where it is told to."""

import os
import re
import shutil
import subprocess

import archive
import harness
import training


class NotPassed(Exception):
    """The program makes no such call: what it leaves when it is killed there cannot be recorded."""


class Recorder(harness.Scratch):
    """Works in a folder of fixed name, because what is recorded has that name in it."""

    def __init__(self, program):
        super().__init__(program, archive.RECORDED_AT)
        os.mkdir(self.folder)
        self.aside = self.folder + "-aside"
        self.commands = []

    def begin(self):
        """Empties the folder."""
        shutil.rmtree(self.folder)
        os.mkdir(self.folder)
        self.commands = []

    def end(self):
        shutil.rmtree(self.folder)
        shutil.rmtree(self.aside, ignore_errors=True)

    def url(self, store="store"):
        return "file://" + self.path(store)

    def do(self, *words):
        self.commands.append(" ".join(("wdelta", *words)))
        return self.good(*words)

    def push(self, source, store, *options):
        self.do("push", source, self.url(store), *options)
        archive.set_times(self.path(store))

    def pull(self, store, folder, *options):
        self.do("pull", self.url(store), folder, *options)

    def remove(self, *names):
        for path in map(self.path, names):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def killed(self, words, call, where):
        """Runs a command and kills it as it is about to make the first such call whose arguments match `where`. A first
        run, in a copy that is then dropped, counts the calls until that one; both runs work on one thread."""
        words = [*words, "--threads", "1", *(["--jobs", "1"] if words[0] in ("push", "pull") else [])]
        for old, new in ((self.folder, self.aside), (self.aside, self.folder)):  # both runs get new files
            shutil.rmtree(new, ignore_errors=True)
            subprocess.run(["cp", "-a", old, new], check=True)
        outcome, calls = self.trace(words, call)
        assert outcome.returncode == 0, (words, outcome.stderr.decode())
        shutil.rmtree(self.folder)
        os.rename(self.aside, self.folder)
        numbers = [number for number, arguments in enumerate(calls, 1) if re.search(where, arguments)]
        if not numbers:
            raise NotPassed("no %s of %s in: wdelta %s" % (call, where, " ".join(words)))
        outcome, calls = self.trace(words, call, "-e", "inject=%s:signal=KILL:when=%d" % (call, numbers[0]))
        assert outcome.returncode == -9, (words, outcome.returncode, outcome.stderr.decode())
        assert len(calls) == numbers[0] and re.search(where, calls[-1]), (words, calls)
        self.commands.append(" ".join(("wdelta", *words, "(killed before", call, "of", where + ")")))

    def trace(self, words, call, *options):
        """What came of a command, and the arguments of each such call of its first thread."""
        log = self.folder + ".log"
        outcome = training.traced(self, words, "-y", "-s", "300", "-e", "trace=" + call, *options, "-o", log)
        with open(log) as lines:
            calls = [match.groups() for match in (re.match(r"(\d+) +%s\((.*)" % call, line) for line in lines) if match]
        os.unlink(log)
        return outcome, [arguments for thread, arguments in calls if thread == calls[0][0]]
