"""wdelta stats as text, Markdown, CSV and JSON Lines, and hostile names in them."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import termios

import tiny
import training
from harness import read, test

# Tries to be a cell, code, a tag, a mention, a link, a colour, another direction and a line of its own.
HOSTILE = ("a|b`c```<script>alert(1)</script> @octocat #12 [x](http://evil.example) \x1b[31m\u202e\n| x | *b* &lt; \\| "
           "</details>\r\x9b")
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]


def write_model(t, layers=3, changed=4):
    """Two checkpoints with the names of a small Llama; each layer has changed in a few more elements."""
    def tensors(step):
        found = {"model.embed_tokens.weight": tiny.ramp(400, {7: 1} if step else {})}
        for layer in range(layers):
            changes = {i: 0x1234 for i in range(changed * (layer + 1))} if step else {}
            found["model.layers.%d.mlp.up_proj.weight" % layer] = tiny.ramp(512, changes)
            found["model.layers.%d.self_attn.q_proj.weight" % layer] = tiny.ramp(256, changes)
        return found
    for step, folder in enumerate("ab"):
        tiny.write_sharded(t.path(folder), {"m.safetensors": tensors(step)}, {"config.json": str(step)})


def write_hostile(t):
    names = [HOSTILE, "a\"b,c", *FORMULAS]
    for step, folder in enumerate("ab"):
        tiny.write_sharded(t.path(folder), {"m.safetensors": {
            name: tiny.ramp(64, {0: 0x1234, 1: 0x7FC0} if step else {}) for name in names}})
    return names


def stats(t, *words, **options):
    return t.good("stats", "a", "b", *words, **options).out.decode()


def table(text):
    """CSV with titles, as a list of {title: cell}; a row has just the cells of the titles."""
    assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n"), text
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert all(len(row) == len(rows[0]) for row in rows), rows
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def on_terminal(t, columns, *words):
    """What a terminal of that width gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    text = b""
    with t.popen(*words, stdout=slave, environment={"TERM": "xterm", "NO_COLOR": "1"}) as process:
        os.close(slave)
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:
            pass
        assert process.wait(60) == 0, process.stderr.read()
    os.close(master)
    return text.decode().replace("\r\n", "\n")


def expect_harmless(text):
    bad = [c for c in text if (ord(c) < 32 and c not in "\r\n") or 0x7f <= ord(c) < 0xa0 or c == "\u202e"]
    assert not bad, bad


@test("stats tells totals, sparsity with its definition, and a table with bars and their meaning")
def human(t):
    write_model(t)
    text = stats(t, "--by", "layer")
    lines = text.splitlines()
    assert lines[0].startswith("49 of 2,704 elements changed (1.81 %), in 7 of 7 tensors"), text
    assert "sparsity: 98.19 % (1 - changed/total over the whole model)" in lines, text
    rows = {line.split()[0]: line for line in lines if line.startswith("  model.")}
    for name, share in (("model.layers.0", "1.04 %"), ("model.layers.2", "3.12 %")):
        assert share in rows[name], text
    assert "█" in rows["model.layers.2"] and "share: of the row's own elements; full bar: the largest share" in text
    assert "config.json" in text and "by steps" in text and "by exponent, BF16" in text and "largest movers" in text


@test("stats fits a terminal of 80 columns, and cuts no name in a pipe")
def width(t):
    write_model(t, layers=30)
    for by in ("tensor", "layer", "module", "dtype"):
        text = on_terminal(t, 80, "stats", "a", "b", "--by", by, "--top", "0")
        assert text and max(map(len, text.splitlines())) <= 80, text
    assert "model.layers.29.self_attn.q_proj.weight" in stats(t, "--by", "tensor", "--top", "0")


@test("stats --top limits rows and says how many more there are")
def top(t):
    write_model(t, layers=30)
    text = stats(t, "--by", "layer", "--top", "4")
    assert len(re.findall(r"^  model\.(?:embed_tokens|layers\.\d+) ", text, re.M)) == 4, text
    assert "and 27 more; '--top 0' shows all" in text, text
    assert "and 27 more" not in stats(t, "--by", "layer", "--top", "0")


@test("stats --format csv and jsonl have the same rows: one for each tensor, layer, module or dtype")
def rows(t):
    write_model(t)
    for by, count in (("tensor", 7), ("layer", 4), ("module", 3), ("dtype", 1)):
        cells = table(stats(t, "--by", by, "--format", "csv"))
        objects = [json.loads(line) for line in stats(t, "--by", by, "--format", "jsonl").splitlines()]
        assert len(cells) == len(objects) == count, (by, cells)
        assert list(cells[0])[:6] == ["name", "tensors_total", "tensors_changed", "elements_total", "elements_changed",
                                      "sparsity"], cells[0]
        for row, value in zip(cells, objects):
            assert list(row) == list(value)
            for key, cell in row.items():
                known = value[key]
                text = "" if known is None else known if isinstance(known, str) else json.dumps(known)
                assert cell.replace(" ", "") == text.replace(" ", "") or float(cell) == float(known), (key, cell, known)
        assert sum(int(row["elements_total"]) for row in cells) == 2704
        assert sum(int(row["elements_changed"]) for row in cells) == 49
    first = next(row for row in objects_of(t, "tensor") if row["name"] == "model.embed_tokens.weight")
    assert first["dtype"] == "BF16" and first["shape"] == [400] and first["change"] == "changed"
    assert first["nan"] == 0 and first["largest_at"] == 7 and first["rows_untouched"] == 0, first


def objects_of(t, by):
    return [json.loads(line) for line in stats(t, "--by", by, "--format", "jsonl").splitlines()]


@test("stats -o writes to a file what would be printed")
def output(t):
    write_model(t)
    for form in ("human", "md", "csv", "jsonl"):
        text = stats(t, "--format", form)
        t.good("stats", "a", "b", "--format", form, "-o", "report")
        assert read(t.path("report")).decode() == text, form
        os.unlink(t.path("report"))
    t.fails(3, "stats", "a", "missing", "--format", "md", "-o", "report")


@test("stats --format md has a headline, a table of totals, gates in words, and folds a long table")
def markdown(t):
    write_model(t, layers=30)
    text = stats(t, "--format", "md", "--by", "layer", "--top", "0", "--fail-if", "sparsity<0.5")
    assert text.startswith("## wdelta stats: "), text
    assert "✅ PASS" in text and "| figure | value |" in text, text
    assert "<summary>by layer: 31 rows</summary>\n\n| layer |" in text, text
    assert text.count("<details>") == text.count("</details>") > 0
    text = stats(t, "--format", "md", "--fail-if", "sparsity>0.5", code=1)
    assert "❌ FAIL: 1 of 1 gate failed" in text and "| ❌ FAIL | `sparsity>0.5` |" in text, text


@test("names that try to be Markdown stay names")
def hostile_markdown(t):
    write_hostile(t)
    for by in ("tensor", "layer", "module"):
        text = stats(t, "--format", "md", "--by", by)
        expect_harmless(text)
        bars = None
        for line in text.splitlines():
            # First code spans, in which a backslash is only a backslash; then what a backslash has made plain.
            rest = re.sub(r"\\[^\w\s]", "", re.sub(r"`[^`]*`", "", line))
            assert "`" not in rest and "@" not in rest and "<script" not in rest and "](" not in rest, line
            if line.startswith("|"):
                bars = bars or rest.count("|")
                assert rest.count("|") == bars, line
            else:
                bars = None
                assert "|" not in rest, line


@test("names that try to be formulas, controls or second lines are plain text in CSV, and exact in JSON Lines")
def hostile_rows(t):
    names = write_hostile(t)
    text = stats(t, "--format", "csv", "--by", "tensor")
    expect_harmless(text)
    cells = table(text)
    assert len(cells) == len(names)
    for row in cells:
        assert row["name"][0] not in "=+-@\t\r", row
        assert row["elements_total"] == "64"
    assert {"'=1+1", "'+1", "'-1", "'@SUM(A1)", "a\"b,c"} <= {row["name"] for row in cells}, cells
    assert sorted(row["name"] for row in objects_of(t, "tensor")) == sorted(names)


@test("a terminal obeys nothing that stands in a name")
def hostile_text(t):
    write_hostile(t)
    for by in ("tensor", "layer", "module"):
        expect_harmless(stats(t, "--by", by).replace("\r", "\x01"))
        text = on_terminal(t, 80, "stats", "a", "b", "--by", by)
        expect_harmless(text.replace("\r", "\x01"))
        assert max(map(len, text.splitlines())) <= 80, text


@test("stats of a history has a row for each record, and figures over all of them")
def history(t):
    training.history(t, 1, 2, 3, 4)
    url = training.url(t)
    text = t.good("stats", url, "--by", "step").text()
    assert text.startswith("3 deltas in 4 records (1 to 4, step 1 to 4): "), text
    assert re.search(r"^ +1 +1 +anchor ", text, re.M), text
    for word in ("min", "mean", "max", "sum"):
        assert re.search(r"^  %s " % word, text, re.M), text
    cells = table(t.good("stats", url, "--by", "step", "--format", "csv").text())
    assert [row["number"] for row in cells] == ["1", "2", "3", "4"]
    assert cells[0]["delta_bytes"] == "" and int(cells[3]["delta_bytes"]) > 0 and float(cells[3]["ratio"]) > 1, cells
    text = t.good("stats", url, "--by", "step", "--top", "2").text()
    assert "and 2 more before these; '--top 0' shows all" in text, text
    text = t.good("stats", url, "--by", "step", "--format", "md").text()
    assert "### by record" in text and "### over 3 deltas" in text, text


@test("stats of several packs has a row for each; of one alone it says what it does not know")
def packs(t):
    training.checkpoints(t, 1, 2, 3)
    for step in (2, 3):
        t.good("pack", "run/%d" % (step - 1), "run/%d" % step, "-o", "%d.wdp" % step)
    text = t.good("stats", "2.wdp", "3.wdp", "--by", "step").text()
    assert "  2.wdp " in text and "  3.wdp " in text and text.startswith("2 deltas: "), text
    text = t.good("stats", "2.wdp", "--by", "tensor").text()
    assert "knows only the tensors it touches" in text and "delta: " in text and "by exponent" not in text, text
    cells = table(t.good("stats", "2.wdp", "--by", "tensor", "--format", "csv").text())
    assert cells and all(row["nan"] == "" and row["largest_change"] == "" for row in cells), cells


@test("the forms of stats do not depend on the number of threads")
def deterministic(t):
    write_model(t, layers=8)
    for form in ("human", "md", "csv", "jsonl"):
        assert stats(t, "--format", form, "--threads", "1") == stats(t, "--format", form, "--threads", "7")
