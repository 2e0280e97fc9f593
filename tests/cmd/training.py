"""What the tests of histories share: checkpoints of a training run, a remote in a folder, and kills at chosen calls."""

import hashlib
import json
import os
import random
import re
import shutil
import subprocess

import tiny
from harness import Skipped, read

ELEMENTS = 1500
CALLS = ("pwrite64,rename,renameat,renameat2,fsync,fdatasync,ftruncate,unlink,unlinkat,rmdir,mkdir,openat,link,linkat,"
         "symlink,symlinkat")


def weights(seed, step):
    """A BF16 tensor without patterns, in which each step has changed a few more elements."""
    source = random.Random(seed)
    patterns = [source.randrange(1, 0x7F80) for _ in range(ELEMENTS)]
    for done in range(1, step + 1):
        source = random.Random("%s/%d" % (seed, done))
        for _ in range(6):
            patterns[source.randrange(ELEMENTS)] = source.randrange(0x7F80)
    return ("BF16", [ELEMENTS], tiny.bf16(*patterns))


def checkpoint(t, name, step, config=None):
    """The checkpoint of a step, in two shards with companions, a few kilobytes; its path."""
    tiny.write_sharded(t.path(name), {"m-1.safetensors": {"embed": weights("embed", step)},
                                      "m-2.safetensors": {"layers.0": weights("layers", step), "norm": tiny.ramp(8)}},
                       {"config.json": config or '{"kind": "tiny"}', "tokenizer/vocab.txt": "a\nb\n"})
    return name


def checkpoints(t, *steps):
    """run/1, run/2 and so on."""
    for step in steps:
        checkpoint(t, "run/%d" % step, step)


def url(t, name="store", revision=""):
    return "file://" + t.path(name) + ("@" + str(revision) if revision != "" else "")


def push(t, source, *options, store="store", code=0, **more):
    return t.json("push", source, url(t, store), *options, code=code, **more)


def pull(t, folder, *options, store="store", revision="", code=0, **more):
    return t.json("pull", url(t, store, revision), folder, *options, code=code, **more)


def history(t, *steps, store="store"):
    """A store with a record for each step, and the checkpoints that they are."""
    checkpoints(t, *steps)
    for step in steps:
        push(t, "run/%d" % step, "--step", str(step), store=store)


def record_path(t, number, store="store"):
    return t.path("%s/records/%012d.json" % (store, number))


def record(t, number, store="store"):
    return json.loads(read(record_path(t, number, store)))


def write_record(t, number, content, store="store"):
    """Writes a record with the checksum that belongs to it."""
    content = {key: value for key, value in content.items() if key != "check"}
    text = json.dumps(content, separators=(",", ":"))[:-1]
    check = hashlib.sha256(text.encode()).hexdigest()[:16]
    tiny.write_file(record_path(t, number, store), text + ',"check":"%s"}\n' % check)


def kept_base(t, *arguments):
    """The folder of the checkpoint that the last push has kept; there is just one."""
    folder = home(t, *arguments)
    [name] = [name for name in os.listdir(folder) if name.startswith("base-")]
    return os.path.join(folder, name)


def numbers(t, store="store"):
    return sorted(int(name.split(".")[0]) for name in os.listdir(t.path(store + "/records")))


def objects(t, store="store"):
    """The keys of all objects, sorted."""
    found = []
    for folder, _, files in os.walk(t.path(store + "/objects")):
        found += [os.path.relpath(os.path.join(folder, name), t.path(store)) for name in files]
    return sorted(found)


def object_of(t, number, way="delta", store="store"):
    """The path of the one object of a record's delta or anchor."""
    (only,) = record(t, number, store)[way]
    return t.path("%s/objects/%s/%s" % (store, only["sha256"][:2], only["sha256"]))


def flip(path, at=-20):
    content = bytearray(read(path))
    content[at] ^= 1
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        file.write(content)


def home(t, beside="run", store="store"):
    """Where pushes from that folder to the store keep what they need."""
    folder = t.path(os.path.join(beside, ".wdelta"))
    found = [name for name in os.listdir(folder)
             if json.loads(read(os.path.join(folder, name, "state.json")))["remote"] == url(t, store)]
    assert len(found) == 1, found
    return os.path.join(folder, found[0])


def versions(t, folder):
    return sorted(os.listdir(t.path(folder + "/versions")))


def expect_current(t, folder, source):
    """The current version has exactly the files of that checkpoint."""
    found, wanted = t.tree(os.path.join(folder, "current") + "/."), t.tree(source)
    assert found == wanted, sorted(set(found) ^ set(wanted)) or [name for name in found if found[name] != wanted[name]]


def expect_record(t, revision, source, store="store"):
    """Whoever pulls that record gets exactly the files of that checkpoint."""
    shutil.rmtree(t.path("probe-pull"), ignore_errors=True)
    pull(t, "probe-pull", revision=revision, store=store)
    expect_current(t, "probe-pull", source)
    shutil.rmtree(t.path("probe-pull"))


# ---- Kills --------------------------------------------------------------------------------------------------------


def traced(t, words, *options):
    environment = {**t.environment, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    trace = ["strace", "-f", "-qq", "-e", "signal=none", *options]
    return subprocess.run([*trace, t.program, *words], cwd=t.folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def need_strace():
    try:
        works = subprocess.run(["strace", "-qq", "-e", "trace=none", "-e", "inject=getppid:error=EIO:when=1", "true"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        works = False
    if not works:
        raise Skipped("strace is not installed, or may not trace here")


class Kills:
    """Runs a command again and again, each time from the same beginning, killed at another call that changes files."""

    def __init__(self, t, words):
        need_strace()
        self.t, self.words = t, [*words, "--threads", "1", "--jobs", "1"]
        self.aside = t.folder + "-aside"
        shutil.rmtree(self.aside, ignore_errors=True)
        shutil.copytree(t.folder, self.aside, symlinks=True)

    def reset(self):
        for name in os.listdir(self.t.folder):
            path = self.t.path(name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        shutil.copytree(self.aside, self.t.folder, symlinks=True, dirs_exist_ok=True)

    def points(self, most):
        """[(call, how often the first thread has called it, its arguments)] of an undisturbed run, evenly chosen."""
        log = self.aside + ".log"
        names = ",".join("?" + name for name in CALLS.split(","))
        outcome = traced(self.t, self.words, "-e", "trace=" + names, "-o", log)
        assert outcome.returncode == 0, outcome.stderr.decode()
        count, found, first = {}, [], None
        with open(log) as lines:
            for line in lines:
                match = re.match(r"(\d+) +(\w+)\((.*)", line)
                if not match:
                    continue
                thread, call, arguments = match.groups()
                first = first or thread
                if thread != first:
                    continue  # strace counts by thread: the first one does the work
                count[call] = count.get(call, 0) + 1
                reads = call == "openat" and not re.search(r"O_CREAT|O_RDWR|O_WRONLY|O_TMPFILE", arguments)
                if not reads and "ENOENT" not in arguments and "EEXIST" not in arguments:
                    found.append((call, count[call], arguments.strip()))
        os.unlink(log)
        assert len(found) >= 10, found
        if os.environ.get("WDELTA_CRASH_ALL") or len(found) <= most:
            return found
        return [found[i * len(found) // most] for i in range(most)]

    def each(self, most):
        """Yields, after each kill, where it was."""
        try:
            for call, number, arguments in self.points(most):
                self.reset()
                outcome = traced(self.t, self.words, "-e", "trace=" + call, "-o", "/dev/null",
                                 "-e", "inject=%s:signal=KILL:when=%d" % (call, number))
                assert outcome.returncode == -9, (call, number, arguments, outcome.returncode, outcome.stderr.decode())
                yield "%s number %d (%s)" % (call, number, arguments)
        finally:
            shutil.rmtree(self.aside)


def long_history(t):
    """Nine records, of which the fourth and the seventh have an anchor besides their delta."""
    checkpoints(t, *range(1, 10))
    for step in range(1, 10):
        push(t, "run/%d" % step, "--step", str(step), "--anchor-every", "3")
    ways = sorted(int(name) for name in os.listdir(t.path("store/ways")))
    assert ways == [4, 7], ways
