"""What the command-line tests share: the registry of tests, a scratch folder for each, and ways to run the program."""

import json
import os
import resource
import signal
import subprocess
import time

import tiny

TESTS = []  # (sentence, function)
KINDS = {2: "usage", 3: "not_found", 4: "integrity", 5: "conflict", 6: "busy", 7: "transient", 8: "denied",
         9: "local_io", 10: "refused", 11: "hook", 130: "signal", 143: "signal", 141: "local_io"}
ENVELOPE = ["schema", "ok", "exit_code", "command", "seconds", "notes"]
ERROR_FIELDS = {"kind", "message", "hint", "retryable", "path", "tensor", "expected", "found"}


class Skipped(Exception):
    """The machine cannot show what the test wants to see."""


def test(sentence):
    """Registers a test; the sentence is true when it passes."""
    def register(function):
        assert all(sentence != known for known, _ in TESTS), sentence
        TESTS.append((sentence, function))
        return function
    return register


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def text(self):
        return self.out.decode()

    def talk(self):
        return self.err.decode()


def parse_object(text, code):
    """The one JSON object on `text`, checked against the envelope and the exit code."""
    lines = text.splitlines()
    assert len(lines) == 1, "expected one line of JSON, found %r" % text
    value = json.loads(lines[0], object_pairs_hook=unique_keys)
    assert list(value)[:len(ENVELOPE)] == ENVELOPE and list(value)[-1] == "error", list(value)
    assert value["exit_code"] == code, (value["exit_code"], code)
    assert value["ok"] == (code in (0, 1)), value
    assert value["seconds"]["total"] >= 0
    if value["ok"]:
        assert value["error"] is None
    else:
        assert set(value["error"]) == ERROR_FIELDS, value["error"]
        assert value["error"]["kind"] == KINDS[code], value["error"]
    return value


def unique_keys(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)


class Process(subprocess.Popen):
    """A process that does not outlive a test that failed: the plain Popen would wait for its end."""

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.kill()
        return super().__exit__(kind, value, trace)


class Scratch:
    """One test's folder, and the program run inside it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("WDELTA_") and key != "NO_COLOR"}
        self.environment["TMPDIR"] = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def pair(self):
        tiny.write_pair(self.path("a"), self.path("b"))

    def popen(self, *words, environment=None, **options):
        return Process([self.program, *words], cwd=self.folder, env={**self.environment, **(environment or {})},
                       stdin=options.pop("stdin", subprocess.DEVNULL),
                       stdout=options.pop("stdout", subprocess.PIPE),
                       stderr=options.pop("stderr", subprocess.PIPE), **options)

    def run(self, *words, data=None, **options):
        if data is not None:
            options["stdin"] = subprocess.PIPE
        with self.popen(*words, **options) as process:
            out, err = process.communicate(data, timeout=120)
        assert b"Sanitizer" not in (err or b""), err.decode(errors="replace")
        return Outcome(process.returncode, out, err)

    def good(self, *words, code=0, **options):
        """Runs a command that has to succeed; its standard output, as bytes."""
        outcome = self.run(*words, **options)
        assert outcome.code == code, "exit %d, expected %d: %s" % (outcome.code, code, outcome.talk())
        return outcome

    def json(self, *words, code=0, **options):
        """Runs a command with --json; the object."""
        outcome = self.run(*words[:1], "--json", *words[1:], **options)
        assert outcome.code == code, "exit %d, expected %d: %s" % (outcome.code, code, outcome.talk())
        return parse_object(outcome.text(), code)

    def fails(self, code, *words, says="", **options):
        """The command fails with this code, with and without --json; it says why, and leaves nothing behind."""
        before = self.tree()
        outcome = self.run(*words, **options)
        assert outcome.code == code, "exit %d, expected %d: %s" % (outcome.code, code, outcome.talk())
        talk = outcome.talk()
        assert any(line.startswith("wdelta: ") for line in talk.splitlines()), talk
        assert says in talk, "%r is not in %r" % (says, talk)
        assert self.tree() == before, "left behind: %s" % sorted(set(self.tree()) ^ set(before))
        value = self.json(*words, code=code, **options)
        assert self.tree() == before, "left behind with --json: %s" % sorted(set(self.tree()) ^ set(before))
        message = value["error"]["message"]
        assert message and not message.endswith("."), message
        return outcome, value

    def tree(self, name="."):
        """{relative path: content} of everything in a folder or of a file; links by their target."""
        top = os.path.normpath(self.path(name))
        if os.path.isfile(top):
            return {"": read(top)}
        found = {}
        for folder, folders, files in os.walk(top):
            for entry in files + folders:
                path = os.path.join(folder, entry)
                relative = os.path.relpath(path, top)
                if os.path.islink(path):
                    found[relative] = os.readlink(path)
                elif os.path.isdir(path):
                    found[relative + "/"] = None
                elif not os.path.isfile(path):
                    found[relative] = os.lstat(path).st_mode
                elif os.path.getsize(path) > 1 << 26 or not os.access(path, os.R_OK):
                    found[relative] = os.path.getsize(path)
                else:
                    found[relative] = read(path)
        return found


def read(path):
    with open(path, "rb") as file:
        return file.read()


def small_files_only():
    """In the child: no file may grow over 64 bytes, which looks like a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


FULL_DISK = {"preexec_fn": small_files_only, "restore_signals": False}


def abandoned_pipe():
    """A descriptor to write to that nobody reads."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    return write_end


def wait_until_it_works(process):
    """Returns when a command is in the middle of its work: it has answered SIGUSR1 by a line of status."""
    handled = 0
    while not handled & (1 << (signal.SIGUSR1 - 1)):
        assert process.poll() is None, process.stderr.read()
        with open("/proc/%d/status" % process.pid) as status:
            handled = int(next(line for line in status if line.startswith("SigCgt")).split()[1], 16)
        time.sleep(0.001)
    process.send_signal(signal.SIGUSR1)
    line = process.stderr.readline().decode()
    assert line.startswith("wdelta: ") and "/s" in line, line
    return line


def wait_until_it_has_read(process, size):
    """Returns when a command has read that many bytes, of whatever files."""
    done = 0
    while done < size:
        assert process.poll() is None, process.stderr.read()
        with open("/proc/%d/io" % process.pid) as counts:
            done = int(next(line for line in counts if line.startswith("rchar")).split()[1])
        time.sleep(0.001)
