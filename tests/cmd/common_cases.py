"""What all commands have in common: help, usage errors, JSON, reports, notes, streams, signals."""

import json
import os
import pty
import shutil
import signal
import stat
import subprocess
import time

import tiny
from harness import Skipped, abandoned_pipe, parse_object, read, test, wait_until_it_has_read, \
    wait_until_it_works
from training import history, url

COMMANDS = ["diff", "pack", "apply", "push", "pull", "log", "tag", "revert", "gc", "id", "verify", "cat", "doctor",
            "help"]
# A use of each command that works when a/, b/ and d.wdp are there, and prints a report.
USES = {"diff": ["diff", "a", "b"], "pack": ["pack", "a", "b", "-o", "new.wdp"],
        "apply": ["apply", "a", "d.wdp", "-o", "out"], "verify": ["verify", "a"], "cat": ["cat", "a"],
        "help": ["help"]}
BINARY_USES = {"diff": ["diff", "a", "b", "-o", "-"], "pack": ["pack", "a", "b", "-o", "-"],
               "cat": ["cat", "a", "norm"]}


def prepare(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")


@test("--version names the version, the commit and the libraries")
def version(t):
    lines = t.good("--version").text().splitlines()
    assert lines[0] == "wdelta 0.1.0" and lines[1].startswith("commit ") and lines[2].startswith("libraries "), lines
    value = t.json("--version")
    assert value["version"] == "0.1.0" and value["schema"] == "wdelta.version/1" and value["libraries"], value


@test("help lists every command, and --help of each fits 80 columns")
def help_lists(t):
    text = t.good("help").text()
    assert text == t.good("--help").text()
    for command in COMMANDS:
        assert "\n  %s " % command in text
        page = t.good(command, "--help").text()
        assert page.startswith("usage: wdelta " + command), page
        for line in (page + text).splitlines():
            assert len(line) <= 80, line
        if command != "help":
            assert t.good("help", command).text() == page  # no terminal, so no man page
    assert t.json("help", "diff")["text"].startswith("usage: wdelta diff")


@test("a wrong command, option or number of operands is a usage error with a hint")
def usage_errors(t):
    t.fails(2, says="no command")
    t.fails(2, "dif", says="did you mean 'wdelta diff'?")
    t.fails(2, "frobnicate", says="'wdelta help' lists")
    t.fails(2, "help", "pakc", says="did you mean 'wdelta pack'?")
    t.fails(2, "-v", "diff", "a", "b", says="before the command")
    for command in COMMANDS:
        t.fails(2, command, "--no-such-thing", says="unknown option '--no-such-thing'")
        t.fails(2, command, "-Z", says="unknown option '-Z'")
        t.fails(2, command, "--report", says="needs a value")
    t.fails(2, "diff", "--exot-code", "a", "b", says="did you mean '--exit-code'?")
    for words in (["diff", "a"], ["diff", "a", "b", "c"], ["pack", "-o", "x"], ["apply", "-o", "x"], ["verify"], ["cat"],
                  ["cat", "a", "b", "c"], ["help", "a", "b"], ["push", "a"], ["push", "a", "b", "c"], ["pull"],
                  ["pull", "a"], ["log"], ["log", "a", "b"], ["tag", "a"], ["revert", "--to", "1"], ["gc"], ["id"],
                  ["doctor"], ["doctor", "a", "b", "c"]):
        t.fails(2, *words, says="operand")
    t.fails(2, "apply", "a", "-o", "x", says="no delta to apply")
    t.fails(2, "diff", "a", "", says="empty")


@test("a value that an option does not take is a usage error that says what it takes")
def wrong_values(t):
    _, value = t.fails(2, "diff", "--by", "colour", "a", "b", says="tensor, layer, dtype or shard")
    assert value["error"]["expected"] == "tensor, layer, dtype or shard" and value["error"]["found"] == "colour"
    t.fails(2, "diff", "--sort=age", "a", "b", says="name, changed, share or size")
    t.fails(2, "diff", "--top", "-1", "a", "b", says="number")
    t.fails(2, "diff", "--threads", "many", "a", "b", says="number")
    t.fails(2, "diff", "--color", "red", "a", "b", says="auto, always or never")
    t.fails(2, "diff", "--progress", "bar", "a", "b", says="auto, tty, plain or none")
    t.fails(2, "diff", "--output=", "a", "b", says="needs a value")
    t.fails(2, "diff", "--exit-code=yes", "a", "b", says="takes no value")
    t.fails(2, "pack", "--level", "9", "a", "b", "-o", "x", says="fast, default or max")
    t.fails(2, "apply", "--fsync", "maybe", "a", "b", "-o", "x", says="on or off")


@test("a setting comes from the flag, then from the environment")
def environment(t):
    t.pair()
    t.fails(2, "diff", "a", "b", says="WDELTA_THREADS", environment={"WDELTA_THREADS": "many"})
    t.good("diff", "a", "b", "--threads", "1", environment={"WDELTA_THREADS": "many"})
    t.good("diff", "a", "b", environment={"WDELTA_THREADS": ""})
    t.fails(2, "pack", "a", "b", "-o", "x", says="WDELTA_LEVEL", environment={"WDELTA_LEVEL": "9"})
    t.fails(2, "apply", "a", "b", "-o", "x", says="WDELTA_FSYNC", environment={"WDELTA_FSYNC": "9"})


@test("a remote where a file belongs is a usage error in every command, and is noticed before any file is opened")
def remotes(t):
    url = "s3://bucket/run7"
    for words in (["diff", "missing", "missing", "-o", url], ["diff", url, url, "-o", url],
                  ["pack", "missing", url, "-o", "x"], ["pack", "missing", "missing", "-o", url],
                  ["pack", "missing", "--base", url, "-o", "x"],
                  ["apply", "missing", url, "-o", "x"], ["apply", "missing", "missing", "-o", url], ["cat", url],
                  ["cat", "missing", "x", "-o", url], ["push", url, url], ["pull", url, url], ["id", url]):
        t.fails(2, *words, says="is a remote, and a file or a folder belongs here")
    t.fails(3, "cat", "./" + url)


@test("a file whose name looks like an option is named after --")
def double_dash(t):
    tiny.write_safetensors(t.path("-x.safetensors"), {"w": tiny.ramp(4)})
    t.good("verify", "--", "-x.safetensors")
    t.fails(2, "verify", "-x.safetensors")


@test("--json gives one object with the vocabulary of the command, where unknown figures are null")
def vocabulary(t):
    prepare(t)
    common = ["elements_total", "elements_changed", "sparsity", "bytes_total", "bytes_changed", "tensors_total",
              "tensors_changed", "tensors_added", "tensors_removed", "base_state", "state", "base_fingerprint",
              "fingerprint"]
    for command in ("diff", "pack", "apply", "cat"):
        value = t.json(*USES[command])
        assert value["schema"] == "wdelta.%s/1" % command and value["command"] == command
        assert set(common) <= set(value), value
        blank = t.json(command, "--no-such-thing", code=2)
        assert set(blank) == set(value), set(blank) ^ set(value)
        assert all(blank[name] is None for name in common)
    for command in ("diff", "pack"):
        assert {"delta_bytes", "ratio"} <= set(t.json(*USES[command]))
    assert set(t.json("verify", "a")["targets"][0]) >= {"target", "ok", "kind", "state", "fingerprint", "error"}


@test("--report writes the same object as --json, on success and on failure")
def report(t):
    prepare(t)
    for words, code in ((["diff", "a", "b"], 0), (["diff", "-q", "a", "b"], 1), (["diff", "a"], 2),
                        (["verify", "missing"], 3)):
        t.good(*words, "--report", "r.json", code=code)
        value = parse_object(read(t.path("r.json")).decode(), code)
        again = t.json(*words, code=code)
        value["seconds"] = again["seconds"] = None
        assert value == again
    t.good("diff", "a", "b", "-o", "-", "--report", "r.json")
    assert json.loads(read(t.path("r.json")))["delta_bytes"] > 0
    assert not [name for name in t.tree() if "r.json." in name]


@test("a report that cannot be written is a failure, and the JSON object says so")
def report_fails(t):
    t.pair()
    t.fails(3, "diff", "a", "b", "--report", "no/such/folder/r.json", says="no/such/folder/r.json")
    t.fails(9, "diff", "a", "b", "--report", "/dev/full", says="No space left")
    assert not os.path.isfile("/dev/full")
    t.fails(3, "diff", "a", "missing", "--report", "/dev/full", says="missing")  # the first failure counts


@test("--report may name a device, which is written to and stays a device")
def report_device(t):
    t.pair()
    outcome = t.good("diff", "a", "b", "-q", "--report", "/dev/stderr", code=1)
    parse_object(outcome.talk(), 1)
    assert os.path.islink("/dev/stderr")


@test("an output that is a device or a FIFO is written to, and stays what it is")
def special_outputs(t):
    t.pair()
    os.mkfifo(t.path("pipe"))
    for words in (["diff", "a", "b"], ["pack", "a", "b"], ["cat", "a", "norm"]):
        t.good(*words, "-o", "file")
        with t.popen(*words, "-o", "pipe") as process:
            with open(t.path("pipe"), "rb") as reader:
                assert reader.read() == read(t.path("file")), words
            assert process.wait(60) == 0
        t.good(*words, "-o", "/dev/null")
        t.fails(9, *words, "-o", "/dev/full", says="/dev/full")
    assert stat.S_ISFIFO(os.stat(t.path("pipe")).st_mode)
    assert all(stat.S_ISCHR(os.stat(name).st_mode) for name in ("/dev/null", "/dev/full"))


@test("a result that cannot be written to standard output is exit 9")
def output_full(t):
    for words in [*USES.values(), *([*words, "--json"] for words in USES.values()), *BINARY_USES.values()]:
        prepare(t)
        shutil.rmtree(t.path("out"), ignore_errors=True)
        with open("/dev/full", "wb") as full:
            outcome = t.run(*words, stdout=full)
        assert outcome.code == 9 and "No space left" in outcome.talk(), (words, outcome.code, outcome.talk())


@test("a reader of standard output that goes away is exit 141, without a word")
def output_abandoned(t):
    for words in list(USES.values()) + list(BINARY_USES.values()):
        prepare(t)
        pipe = abandoned_pipe()
        outcome = t.run(*words, stdout=pipe)
        os.close(pipe)
        assert outcome.code == 141 and "wdelta: " not in outcome.talk().replace("wdelta: note: ", ""), outcome.talk()


@test("a closed standard output is a failure, and no file gets its descriptor")
def output_closed(t):
    t.pair()
    outcome = t.run("diff", "a", "b", "-o", "-", preexec_fn=lambda: os.close(1))
    assert outcome.code == 9, outcome.talk()
    outcome = t.run("pack", "a", "b", "-o", "d.wdp", preexec_fn=lambda: [os.close(n) for n in (0, 1, 2)])
    t.good("verify", "d.wdp")


@test("binary data are not written to a terminal")
def terminal(t):
    t.pair()
    for words in BINARY_USES.values():
        master, slave = pty.openpty()
        outcome = t.run(*words, stdout=slave)
        os.close(slave)
        os.close(master)
        assert outcome.code == 2 and "terminal" in outcome.talk() and "hint: " in outcome.talk(), outcome.talk()


@test("--json and binary output exclude each other")
def json_and_binary(t):
    t.pair()
    for words in BINARY_USES.values():
        value = t.json(*words, code=2)
        assert "--report" in value["error"]["hint"]


@test("what is left out of a checkpoint is named in a note, on standard error and in JSON")
def notes(t):
    t.pair()
    for folder in "ab":
        tiny.write_file(t.path(folder + "/optimizer.pt"), b"x" * 1000)
    outcome = t.good("diff", "a", "b")
    assert "wdelta: note: " in outcome.talk() and "optimizer.pt" in outcome.talk(), outcome.talk()
    assert "optimizer.pt" not in outcome.text()
    assert any("optimizer.pt" in note for note in t.json("diff", "a", "b")["notes"])
    assert t.good("diff", "-q", "a", "b", code=1).err == b""
    assert any("optimizer.pt" in note for note in t.json("diff", "-q", "a", "b", code=1)["notes"])


@test("names from files cannot send control characters to a terminal, and reach JSON unharmed")
def hostile_names(t):
    name = "evil\x1b[2J\r\u202egpj\n\x07\x9b"
    left_out = "odd\x1b]0;x\x07\u202e.bin"
    for folder, change in (("a", {}), ("b", {1: 1})):
        tiny.write_sharded(t.path(folder), {"m.safetensors": {name: tiny.ramp(8, change), name + folder: tiny.ramp(4)}},
                           {left_out: "x"})
    t.good("pack", "a", "b", "-o", "d.wdp")
    for words in (["diff", "a", "b"], ["cat", "b"], ["cat", "d.wdp"], ["cat", "-q", "b"],
                  ["verify", "a", "--against", "b"], ["cat", "a", "no\x1b[2Jne"], ["diff", "a", "\x1b[2J"]):
        outcome = t.run(*words)
        assert outcome.out + outcome.err, words
        for text in (outcome.text(), outcome.talk()):
            bad = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c == "\u202e"]
            assert not bad, (words, text)
    value = t.json("diff", "a", "b")
    assert name in [tensor["name"] for tensor in value["tensors"]]
    assert any(left_out in note for note in value["notes"])


@test("colours come with --color always, and never by themselves into a pipe")
def colours(t):
    tiny.write_safetensors(t.path("a.safetensors"), {"old": tiny.ramp(4)})
    tiny.write_safetensors(t.path("b.safetensors"), {"new": tiny.ramp(4)})
    words = ["diff", "a.safetensors", "b.safetensors"]
    assert b"\x1b[" in t.good(*words, "--color", "always").out
    assert b"\x1b[" in t.good(*words, environment={"WDELTA_COLOR": "always"}).out
    assert b"\x1b[" not in t.good(*words).out
    assert b"\x1b[" not in t.good(*words, "--color", "always", "--json").out
    assert terminal_output(t, words, {"TERM": "xterm"}).count(b"\x1b[")
    assert not terminal_output(t, words, {"TERM": "xterm", "NO_COLOR": "1"}).count(b"\x1b[")
    assert not terminal_output(t, words, {"TERM": "dumb"}).count(b"\x1b[")


def terminal_output(t, words, environment):
    """What a command prints on a terminal of 80 columns."""
    master, slave = pty.openpty()
    with t.popen(*words, stdout=slave, stderr=subprocess.DEVNULL, environment=environment) as process:
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:  # the terminal was closed at the other end
            pass
        assert process.wait() == 0
    os.close(master)
    return text


@test("long names are shortened on a terminal, so that lines fit, and nowhere else")
def long_names(t):
    name = "model.layers.0." + "very_" * 20 + "long.weight"
    tiny.write_safetensors(t.path("a.safetensors"), {name: tiny.ramp(4)})
    tiny.write_safetensors(t.path("b.safetensors"), {name: tiny.ramp(4, {1: 1})})
    words = ["diff", "a.safetensors", "b.safetensors"]
    assert name in t.good(*words).text()
    text = terminal_output(t, words, {"TERM": "dumb"}).decode()
    assert name not in text and "model.layers.0." in text and "long.weight" in text and "..." in text, text
    table = text[text.index("changed tensors"):]
    assert all(len(line) <= 80 for line in table.splitlines()), text


@test("SIGINT and SIGTERM end each command with 130 and 143, and leave nothing behind")
def signals(t):
    for name in ("a.safetensors", "b.safetensors"):
        tiny.write_sparse(t.path(name), 1 << 36)
    before = t.tree()
    for words in (["diff", "a.safetensors", "b.safetensors"], ["pack", "a.safetensors", "b.safetensors", "-o", "d.wdp"],
                  ["pack", "--anchor", "a.safetensors", "-o", "d.wdp"], ["verify", "a.safetensors"]):
        for number in (signal.SIGINT, signal.SIGTERM):
            with t.popen(*words, "--json") as process:
                wait_until_it_works(process)
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
            assert process.returncode == 128 + number, (words, process.returncode)
            parse_object(out.decode(), 128 + number)
            assert t.tree() == before, (words, set(t.tree()) ^ set(before))


@test("progress is a line that is rewritten with tty, comes after a second, and stays away with none")
def progress(t):
    tiny.write_sparse(t.path("a.safetensors"), 1 << 36)
    started = time.monotonic()
    with t.popen("verify", "a.safetensors", "--progress", "tty", "--threads", "1") as process:
        text = os.read(process.stderr.fileno(), 1)
        assert time.monotonic() - started >= 1
        while b" left" not in text:
            text += os.read(process.stderr.fileno(), 1000)
            assert len(text) < 10000, text
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert text.startswith(b"\r\x1b[Kverify ") and b"/s" in text and b"\n" not in text, text
    assert rest.rsplit(b"\r\x1b[K", 1)[1].startswith(b"wdelta: "), rest  # the line is gone before the error
    with t.popen("verify", "a.safetensors", "--progress", "none", "--threads", "1") as process:
        wait_until_it_works(process)
        time.sleep(1.2)
        process.send_signal(signal.SIGTERM)
        _, text = process.communicate(timeout=60)
    assert text.startswith(b"wdelta: ") and b"/s" not in text and b"\r" not in text, text


@test("apply that waits for standard input ends on SIGINT with 130")
def signal_while_reading(t):
    t.pair()
    before = t.tree()
    for words in (["apply", "a", "-", "-o", "out"], ["pack", "--base", "a", "-", "-o", "x.wdp"], ["cat", "-"],
                  ["verify", "-"]):
        with t.popen(*words, "--json", stdin=subprocess.PIPE) as process:
            process.stdin.write(b"x" * 1000000)  # more than a pipe holds: it is reading now
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            finally:
                process.kill()
            assert process.returncode == 130, (words, process.returncode)
            out = process.stdout.read()
        parse_object(out.decode(), 130)
        assert t.tree() == before


@test("a source that changes while it is read is exit 5")
def source_changes(t):
    for words in (["diff", "a.safetensors", "b.safetensors"], ["pack", "a.safetensors", "b.safetensors", "-o", "d.wdp"],
                  ["verify", "b.safetensors"]):
        for name in ("a.safetensors", "b.safetensors"):
            tiny.write_sparse(t.path(name), 1 << 32)
        before = set(t.tree())
        with t.popen(*words, "--json", "--threads", "1") as process:
            wait_until_it_has_read(process, 1 << 24)  # the first of a long way: the files were looked at, not yet again
            process.send_signal(signal.SIGSTOP)
            os.utime(t.path("b.safetensors"), (1, 1))
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=120)
        assert process.returncode == 5, (words, process.returncode, err)
        parse_object(out.decode(), 5)
        assert set(t.tree()) == before


@test("a file that may not be read, and a folder that may not be written, are exit 8")
def denied(t):
    t.pair()
    tiny.write_safetensors(t.path("secret.safetensors"), {"w": tiny.ramp(4)})
    os.chmod(t.path("secret.safetensors"), 0)
    options = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    os.chmod(t.folder, 0o555)
    try:
        if t.run("--version", **options).code != 0:
            raise Skipped("another user cannot run the program")
    except PermissionError:
        raise Skipped("another user cannot run the program")
    try:
        t.fails(8, "diff", "a", "secret.safetensors", says="secret.safetensors", **options)
        t.fails(8, "cat", "secret.safetensors", **options)
        t.fails(8, "verify", "secret.safetensors", **options)
        t.fails(8, "apply", "secret.safetensors", "secret.safetensors", "-o", "out", **options)
        t.fails(8, "pack", "--anchor", "a", "-o", "d.wdp", says="d.wdp", **options)
    finally:
        os.chmod(t.folder, 0o755)


@test("what is no remote, no revision, no size and no time is a usage error in every command")
def usage(t):
    history(t, 1)
    uses = {"push": ["run/1", "R"], "pull": ["R", "r"], "log": ["R"], "tag": ["R", "x"], "revert": ["R", "--to", "1"],
            "gc": ["R"], "doctor": ["R"], "verify": ["R"], "id": ["run/1", "--in", "R"]}
    for command, words in uses.items():
        good = [url(t) if word == "R" else word for word in words]
        if command not in ("doctor", "verify"):  # which take a folder, too
            t.fails(2, command, *["somewhere" if word == "R" else word for word in words], says="not a remote")
        for option, value in (("--bwlimit", "50X"), ("--bwlimit", "-1"), ("--timeout", "soon"), ("--retries", "x"),
                              ("--idle-timeout", "1 s"), ("--connect-timeout", ""), ("--jobs", "many")):
            t.fails(2, command, *good, option, value)
        t.fails(2, command, *["file://relative" if word == "R" else word for word in words])
    for command in ("pull", "log", "tag", "verify"):
        words = [url(t, revision="HEAD~~") if word == "R" else word for word in uses[command]]
        t.fails(2, command, *words, says="HEAD~~")
    t.fails(2, "log", url(t), environment={"WDELTA_BWLIMIT": "50X"})
