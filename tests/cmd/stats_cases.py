"""wdelta stats: what it counts, its gates, and comparisons with an earlier report."""

import json
import re
import shutil
import xml.etree.ElementTree

import tiny
import training
from harness import read, test

NAN, INF = 0x7FC0, 0x7F80


def write(t, folder, tensors):
    tiny.write_sharded(t.path(folder), {"m.safetensors": tensors}, {"config.json": "{}"})


def matrix(rows, columns, changes=None):
    _, _, data = tiny.ramp(rows * columns, changes)
    return ("BF16", [rows, columns], data)


def mixture(t, experts=4):
    """A layer of numbered experts and one of stacked experts; in each only expert 1 changes, in two rows."""
    for folder, changes in (("a", {}), ("b", {0: 0x1234, 9: 0x1235})):
        tensors = {"model.layers.0.mlp.experts.%d.%s.weight" % (i, part): matrix(4, 8, changes if i == 1 else {})
                   for i in range(experts) for part in ("up_proj", "down_proj")}
        _, _, data = tiny.ramp(experts * 32, {32 + at: value for at, value in changes.items()})
        tensors["model.layers.1.mlp.experts.gate_up_proj"] = ("BF16", [experts, 4, 8], data)
        tensors["model.embed_tokens.weight"] = matrix(10, 8)
        write(t, folder, tensors)


@test("stats of two checkpoints, and of a delta with its base, count the same")
def depths(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.good("diff", "a", "b", "-o", "d.safetensors")
    pair = t.json("stats", "a", "b", "--by", "tensor", "--fail-if", "delta_bytes>1GB")
    for delta in ("d.wdp", "d.safetensors"):
        both = t.json("stats", "--base", "a", delta, "--by", "tensor")
        for key in ("elements_total", "elements_changed", "sparsity", "nan", "inf", "rows_total", "rows_untouched",
                    "tensors", "exponents", "steps", "movers", "findings", "state", "base_state"):
            assert both[key] == pair[key], (key, both[key], pair[key])
        assert both["subject"] == "delta_and_base" and pair["subject"] == "checkpoints"
    assert pair["elements_changed"] == 3 and pair["nan"] == 1 and pair["base_nan"] == 0, pair
    assert pair["delta_bytes"] == t.json("stats", "d.wdp")["delta_bytes"] == len(read(t.path("d.wdp")))


@test("a delta alone is told from its index, without its blocks")
def index_alone(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    value = t.json("stats", "d.wdp", "--by", "tensor")
    assert value["subject"] == "delta" and value["elements_changed"] == 3 and value["nan"] is None, value
    assert [row["name"] for row in value["tensors"]] == ["embed", "layers.1.weight"], value["tensors"]
    whole = read(t.path("d.wdp"))
    piped = t.json("stats", "-", "--by", "tensor", data=whole)
    assert piped["tensors"] == value["tensors"]


@test("a base that is another checkpoint, or has the changes already, is refused")
def wrong_base(t):
    t.pair()
    write(t, "c", {"embed": tiny.ramp(300, {1: 2})})
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.fails(5, "stats", "--base", "c", "d.wdp")
    t.fails(5, "stats", "--base", "b", "d.wdp", says="already")


@test("experts are rolled up, numbered ones and stacked ones, and untouched experts and rows are counted")
def experts(t):
    mixture(t)
    value = t.json("stats", "a", "b", "--by", "module")
    assert value["experts_total"] == 8 and value["experts_untouched"] == 6, value
    rows = {row["name"]: row for row in value["groups"]}
    up = rows["mlp.experts.up_proj"]
    assert up["tensors_total"] == 4 and up["experts_total"] == 4 and up["experts_untouched"] == 3, up
    assert up["rows_total"] == 16 and up["rows_untouched"] == 14, up
    stacked = rows["mlp.experts.gate_up_proj"]
    assert stacked["experts_total"] == 4 and stacked["experts_untouched"] == 3, stacked
    assert rows["model.embed_tokens"]["experts_total"] == 0
    layers = [row["name"] for row in t.json("stats", "a", "b")["groups"]]
    assert layers == ["model.embed_tokens", "model.layers.0", "model.layers.1"], layers
    assert any("6 of 8 experts" in sentence for sentence in value["findings"]), value["findings"]


@test("exponents, steps, movers, NaN and infinities are those of the elements")
def values(t):
    # 1.0, 1.5, 2.0, 0.0 and a NaN; 1.0 goes one step up, 2.0 becomes infinite, the NaN becomes 1.0.
    write(t, "a", {"w": ("BF16", [5], tiny.bf16(0x3F80, 0x3FC0, 0x4000, 0x0000, NAN))})
    write(t, "b", {"w": ("BF16", [5], tiny.bf16(0x3F81, 0x3FC0, INF, 0x0000, 0x3F80))})
    value = t.json("stats", "a", "b")
    table, = value["exponents"]
    assert table["dtype"] == "BF16"
    assert table["rows"] == [{"exponent": 0, "elements_total": 2, "elements_changed": 1},
                             {"exponent": 1, "elements_total": 1, "elements_changed": 1}], table
    assert table["zero_or_subnormal"]["elements_total"] == 1 and table["inf_or_nan"]["elements_total"] == 1, table
    assert value["steps"] == [{"least": 1, "most": 1, "down": 0, "up": 1}], value["steps"]
    assert value["movers"] == [{"name": "w", "index": 0, "before": 1, "after": 1.0078125, "change": 0.0078125}], value
    assert (value["nan"], value["base_nan"], value["inf"], value["base_inf"]) == (0, 1, 1, 0), value
    assert any("1 elements are infinite" in sentence for sentence in value["findings"]), value["findings"]


@test("--compare-encodings has the size of each level as pack makes it, and bounds below the others")
def encodings(t):
    training.checkpoints(t, 1, 2)
    value = t.json("stats", "run/1", "run/2", "--compare-encodings")
    sizes = {row["name"]: row["bytes"] for row in value["encodings"]}
    for name, words in (("wdelta", ()), ("wdelta --level fast", ("--level", "fast")),
                        ("wdelta --level max", ("--level", "max"))):
        packed = t.json("pack", "run/1", "run/2", "-o", "d.wdp", *words)
        assert sizes[name] == packed["delta_bytes"], (name, sizes, packed)
    changed = value["elements_changed"]
    assert sizes["int32 index + value, raw"] == 6 * changed, (sizes, changed)
    bounds = [row["bytes"] for row in value["encodings"] if row["is_bound"]]
    assert len(bounds) == 2 and 0 < max(bounds) < sizes["int32 index + value, raw"], sizes
    with_base = t.json("stats", "--base", "run/1", "d.wdp", "--compare-encodings")
    assert with_base["encodings"] == value["encodings"]
    t.fails(2, "stats", "d.wdp", "--compare-encodings", says="with its base")


@test("a gate that holds is exit 0, one that does not is exit 1 with the measured value and the limit")
def gates(t):
    t.pair()
    passing = ["sparsity<0.5", "nan(embed)>0", "changed(norm)>0", "tensors_added>0", "delta_bytes>200MB"]
    words = [word for gate in passing for word in ("--fail-if", gate)]
    assert t.good("stats", "a", "b", "-q", *words).out == b""
    outcome = t.good("stats", "a", "b", *words, "--fail-if", "nan>0", "--fail-if", "changed(layers.*)>=1", code=1)
    assert "gate failed: nan>0: measured 1, limit 0" in outcome.talk(), outcome.talk()
    assert "gate failed: changed(layers.*)>=1: measured 1, limit 1" in outcome.talk(), outcome.talk()
    value = t.json("stats", "a", "b", *words, "--fail-if", "nan>0", code=1)
    assert [gate["failed"] for gate in value["gates"]] == [False] * 5 + [True], value["gates"]
    assert value["gates"][5] == {"gate": "nan>0", "measured": 1, "limit": 0, "record": None, "failed": True}


@test("a gate that cannot be evaluated fails the command, and never passes")
def unanswered(t):
    t.pair()
    t.good("pack", "a", "b", "-o", "d.wdp")
    t.fails(2, "stats", "a", "b", "--fail-if", "sparsty<1", says="no figure 'sparsty'")
    t.fails(2, "stats", "a", "b", "--fail-if", "sparsity", says="relation")
    t.fails(3, "stats", "a", "b", "--fail-if", "changed(nothing.*)>0", says="no tensor matches")
    t.fails(2, "stats", "d.wdp", "--fail-if", "nan>0", says="--base")
    t.fails(2, "stats", "d.wdp", "--fail-if", "sparsity(embed)<1", says="--base")
    assert t.good("stats", "d.wdp", "--fail-if", "changed(embed)>2").out


@test("--compare shows what changed against an earlier report; --tolerance makes it a gate")
def compare(t):
    t.pair()
    write(t, "c", {"embed": tiny.ramp(300, {i: 1 for i in range(100)}), "layers.0.weight": tiny.ramp(64),
                   "layers.1.weight": tiny.ramp(64), "norm": tiny.ramp(8)})
    t.good("stats", "a", "b", "--report", "last.json")
    t.good("stats", "a", "b", "--format", "json", "-o", "same.json")
    earlier, same = json.loads(read(t.path("last.json"))), json.loads(read(t.path("same.json")))
    earlier["seconds"] = same["seconds"]
    assert earlier == same
    assert t.good("stats", "a", "b", "--compare", "last.json", "--tolerance", "0%").code == 0
    assert t.good("stats", "a", "c", "--compare", "last.json").code == 0  # shown only
    value = t.json("stats", "a", "c", "--compare", "last.json", "--tolerance", "0.5%", code=1)
    changes = {change["name"]: change for change in value["changes"]}
    assert changes["sparsity"]["failed"] and not changes["elements_changed"]["failed"], changes
    assert changes["elements_changed"]["before"] == 3 and changes["elements_changed"]["now"] == 100, changes
    assert t.good("stats", "a", "c", "--compare", "last.json", "--tolerance", "30%").code == 0
    outcome = t.good("stats", "a", "c", "--compare", "last.json", "--tolerance", "0.005", code=1)
    assert re.search(r"changed more than tolerated: sparsity was 0\.99\d+, is 0\.7\d+", outcome.talk()), outcome.talk()


@test("an earlier report that is none, or is not there, is an error")
def earlier_reports(t):
    t.pair()
    tiny.write_file(t.path("no.json"), "{}")
    tiny.write_file(t.path("bad.json"), '{"schema": "wdelta.stats/1", "elements_total": 1.5}')
    t.good("diff", "a", "b", "--report", "diff.json")
    for name in ("no.json", "bad.json", "diff.json"):
        t.fails(4, "stats", "a", "b", "--compare", name, says=name)
    t.fails(3, "stats", "a", "b", "--compare", "missing.json")
    t.fails(2, "stats", "a", "b", "--tolerance", "1%", says="--compare")
    t.fails(2, "stats", "a", "b", "--compare", "no.json", "--tolerance", "much", says="tolerance")


@test("--junit has a test case for each gate and each figure compared")
def junit(t):
    t.pair()
    t.good("stats", "a", "b", "--report", "last.json")
    t.good("stats", "a", "b", "--fail-if", "nan>0", "--fail-if", "sparsity<0.1", "--compare", "last.json", "--junit",
           "out.xml", code=1)
    suite = xml.etree.ElementTree.fromstring(read(t.path("out.xml")))
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert suite.get("failures") == "1" and cases["nan>0"].get("message").endswith("limit 0"), cases
    assert cases["sparsity<0.1"] is None and cases["unchanged sparsity"] is None, cases


@test("a range of a history is told from its records, and gated record by record")
def history(t):
    training.history(t, 1, 2, 3, 4, 5)
    url = training.url(t)
    value = t.json("stats", url + "@2..4", "--fail-if", "sparsity<0.1")
    assert [row["number"] for row in value["records"]] == [2, 3, 4], value["records"]
    assert value["delta_bytes"] == sum(row["delta_bytes"] for row in value["records"])
    assert value["subject"] == "history" and value["tensors_total"] is None, value
    value = t.json("stats", url, "--fail-if", "sparsity<0.9999", code=1)
    assert value["gates"][0]["record"] in ("2", "3", "4", "5"), value["gates"]
    assert t.good("stats", url, "-q").text().startswith("0.99"), t.good("stats", url, "-q").text()
    t.fails(2, "stats", url, "--by", "layer", says="--by step")
    t.fails(2, "stats", "run/1", "run/2", "--by", "step")
    t.fails(2, "stats", url, url)
    t.fails(2, "stats", "run/1")


@test("--format json is --json, on failure too, and does not mix with another form on standard output")
def forms(t):
    t.pair()
    a = json.loads(t.good("stats", "a", "b", "--format", "json").out)
    b = t.json("stats", "a", "b")
    a["seconds"] = b["seconds"]
    assert a == b
    failed = json.loads(t.good("stats", "a", "missing", "--format", "json", code=3).out)
    assert failed["error"]["kind"] == "not_found", failed
    t.fails(2, "stats", "a", "b", "--json", "--format", "csv", says="standard output")
    assert t.json("stats", "a", "b", "--format", "csv", "-o", "rows.csv")["sparsity"] == b["sparsity"]
    assert read(t.path("rows.csv")).startswith(b"name,")


@test("added, removed, reshaped and retyped tensors, and empty ones, are counted")
def other_forms(t):
    write(t, "a", {"gone": tiny.ramp(4), "shape": matrix(2, 4), "type": tiny.ramp(4), "empty": ("F32", [0, 3], b"")})
    write(t, "b", {"new": tiny.ramp(4, {0: NAN}), "shape": matrix(4, 2), "type": ("F16", [4], tiny.bf16(1, 2, 3, 4)),
                   "empty": ("F32", [0, 3], b"")})
    value = t.json("stats", "a", "b", "--by", "tensor", "--fail-if", "tensors_removed>1")
    assert (value["tensors_added"], value["tensors_removed"], value["nan"]) == (1, 1, 1), value
    assert {row["name"]: row["change"] for row in value["tensors"]} == {
        "gone": "removed", "new": "added", "shape": "reshaped", "type": "retyped", "empty": "same"}, value["tensors"]
    for form in ("human", "md", "csv", "jsonl", "html", "svg"):
        assert t.good("stats", "a", "b", "--format", form).out


@test("stats of a history reads no pack: it works when all objects are gone")
def without_objects(t):
    training.history(t, 1, 2, 3)
    before = t.json("stats", training.url(t))["records"]
    shutil.rmtree(t.path("store/objects"))
    assert t.json("stats", training.url(t))["records"] == before and len(before) == 3
