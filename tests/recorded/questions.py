"""What the commands answer: for each command a row of command lines, run one after the other in one folder, and how
their exit codes and the fields of their JSON objects are written down in testdata/recorded/answers.json.

In the folder are the checkpoints of models.py, what is in testdata/recorded/packs as packs/, some damaged things, and
the unpacked histories/, replicas/ and canonical/. {store}, {kinds}, {lone}, {followed} and {versions} are the URLs of the
stores in them, {nowhere} is that of an empty one.
"""

import os
import re
import shutil

import archive
import harness
import models
import tiny

QUESTIONS = """
--version
diff kinds-base kinds-new
diff --exit-code kinds-base kinds-new
diff --exit-code run/1 run/1
diff --by dtype kinds-base kinds-new
diff --by shard --sort size --top 3 kinds-base kinds-new
diff -o out.safetensors kinds-base kinds-new
diff kinds-base packs/kinds-level-default.wdp
diff run/1 packs/canonical-named
diff run/8 {store}@10
diff {store}@8 {store}@10
diff --counts {store}@8 {store}@10
diff kinds-base
diff kinds-base missing
diff kinds-base damaged.safetensors
pack kinds-base kinds-new -o out.wdp
pack --anchor kinds-new -o anchor.wdp
pack --base run/0 packs/step-1.wdp packs/step-2.wdp -o squashed.wdp
pack kinds-base values-new --format canonical -o out.canonical
pack kinds-base types-new --format skyrl -o out.skyrl
pack run/1 run/2 --format trl -o out.trl
pack kinds-base kinds-new --codec none -o out
pack kinds-base kinds-new --format canonical -o out
pack kinds-base values-new --format trl -o out
pack --base run/1 packs/step-1.wdp packs/step-2.wdp -o out
pack --base run/0 packs/step-2.wdp packs/step-1.wdp -o out
pack --base run/3 packs/step-1.wdp -o out
pack --base run/1 damaged.wdp -o out
pack missing run/1 -o out
pack kinds-base kinds-new -o missing/out
apply kinds-base packs/kinds-level-default.wdp -o out
apply run/0 packs/step-1.wdp packs/step-2.wdp -o chain
apply packs/anchor-codec-zstd.wdp packs/step-2.wdp -o from-anchor
apply run/1 packs/canonical-named -o from-canonical
apply run/1 packs/trl-raw.safetensors -o from-trl
apply run/2 packs/step-2.wdp -o already
apply --in-place patched packs/step-1.wdp
apply --in-place patched packs/step-1.wdp
apply --in-place linked packs/step-1.wdp
apply run/0 packs/step-2.wdp packs/step-1.wdp -o wrong-order
apply run/5 packs/step-1.wdp -o wrong-base
apply run/1 damaged.wdp -o damaged
apply run/1 newer.wdp -o newer
apply run/0 missing.wdp -o missing
apply run/0 packs/step-1.wdp
verify kinds-base packs/kinds-level-max.wdp packs/plain.safetensors
verify --against kinds-base packs/kinds-codec-adaptive.wdp
verify --against run/3 run/4
verify --quick run/1
verify {store}
verify --quick {store}@9
verify {store}@3
verify replicas/rest
verify damaged.wdp
verify damaged.safetensors run/1
verify newer.wdp
verify missing
stats kinds-base kinds-new
stats --base kinds-base packs/kinds-level-default.wdp --compare-encodings
stats packs/step-1.wdp packs/step-2.wdp
stats {store}@4..9
stats --by tensor run/1 run/2
stats --fail-if changed>0 run/1 run/2
stats --fail-if nan>0 run/1 run/2
stats --fail-if nonsense run/1 run/2
stats --base run/5 packs/step-1.wdp
stats run/1 missing
log {store}
log -n 2 {store}
log {store}@2..4
log {versions}
log {nowhere}
log {store}@99
id run/1
id run/8 --in {store}
id run/5 --in {store}
id kinds-new --in {kinds}
id run/11 --in {store}
id lone/3.safetensors --in {lone}
id missing
tag {store}@9 another
tag {store}@9 best
tag --force {store}@9 best
tag --delete {store} another
tag --delete {store} another
tag {store}@9 17
tag {store}@99 late
revert {store} --to best --step 77
revert {store} --to best --step 77
revert {store} --to 3
revert {store} --to 99
gc {store} --keep 2 --grace 0
gc {store} --keep 2 --grace 0 --delete
gc {store} --keep 0
gc {nowhere}
gc {versions}
doctor {store}
doctor run
doctor {nowhere}
doctor
cat kinds-base
cat packs/kinds-level-default.wdp
cat packs/anchor-kinds.wdp
cat packs/plain.safetensors
cat kinds-base embed -o embed.bin
cat packs/anchor-kinds.wdp embed -o embed.bin
cat kinds-base no-such-tensor -o none.bin
cat missing
cat damaged.wdp
push run/1 {nowhere} --step 1 --tag first
push run/1 {nowhere} --step 1
push run/2 {nowhere} --step 2 --anchor-every 1
push run/3 {nowhere} --step 3 --mirror mirror
push packs/step-1.wdp {nowhere}
push run/10 {store} --base run/9 --step 10 --level max
push run/11 {store} --base run/9
push elsewhere/7 {store}
push elsewhere/7 {versions} --format canonical
push elsewhere/7 {versions} --format canonical --anchor
push elsewhere/7 {versions}
push elsewhere/7 {store} --format canonical
push run/1 {store}@2
push missing {store}
push run/1 {store} --tag 17
pull --plan {store} r
pull --check {store} r
pull {store}@8 r
pull {store} r --exec true
pull {store} r
pull --check {store} r
pull {store} r --exec false --allow-rollback
pull {store}@best r --exec false
pull {kinds} r
pull {lone} lone-replica --in-place
pull {store}@3 collected
pull {store}@99 missing
pull {store}@none missing
pull {nowhere} missing
pull {versions} v --keep 3
pull {versions}@2 v
pull {followed} replicas/rest --check
pull {followed} replicas/rest
pull {store} r --marker sglang
pull --retries 0 http://localhost:1/x missing
"""

TYPES = {dict: "object", list: "list", str: "text", bool: "bool", int: "number", float: "number", type(None): "null"}


def by_command():
    """{command: its command lines}, in their order."""
    found = {}
    for line in QUESTIONS.split("\n"):
        if line:
            found.setdefault(line.split()[0].lstrip("-"), []).append(line)
    return found


def prepare(t, recorded):
    """Everything that the questions are about. `recorded`: where the recorded things are."""
    models.write_kinds(t.folder)
    for step in models.STEPS:
        models.write_step(t.folder, step)
        models.write_lone(t.folder, step)
    models.write_step(t.folder, 7, "elsewhere/%d")
    models.copy(t.folder, "run/0", "patched")
    os.mkdir(t.path("linked"))
    for name in os.listdir(t.path("run/0")):
        os.symlink(t.path("run/0/" + name), t.path("linked/" + name))
    shutil.copytree(os.path.join(recorded, "packs"), t.path("packs"))
    pack = harness.read(t.path("packs/step-2.wdp"))
    tiny.write_file(t.path("damaged.wdp"), pack[:-30] + bytes([pack[-30] ^ 1]) + pack[-29:])
    tiny.write_file(t.path("newer.wdp"), pack[:8] + b"\2" + pack[9:])
    tiny.write_file(t.path("damaged.safetensors"), harness.read(t.path("run/1/m-1.safetensors"))[:-1])
    for name in ("histories", "replicas", "canonical"):
        archive.unpack(name, t.path(name), recorded)


def ask(t, line):
    """The exit code and the JSON object of a command line."""
    urls = {"store": "histories/store", "kinds": "histories/kinds", "lone": "histories/lone-store",
            "followed": "replicas/store", "versions": "canonical/store", "nowhere": "nowhere"}
    words = [word.format(**{name: "file://" + t.path(path) for name, path in urls.items()}) for word in line.split()]
    outcome = t.run(*words[:1], "--json", *words[1:])
    return outcome.code, harness.parse_object(outcome.text(), outcome.code)


def options_of(t, command):
    """The options that the command's --help lists."""
    return sorted(set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", t.good(command, "--help").text(), re.MULTILINE)))


def fields(value, path=""):
    """{path of each field: names of the types it has}, over all elements of lists."""
    found = {path: {TYPES[type(value)]}} if path else {}
    children = value.items() if isinstance(value, dict) else [("[]", each) for each in value if isinstance(each, dict)] \
        if isinstance(value, list) else ()
    for name, child in children:
        below = path + name if name == "[]" else path + "." + name if path else name
        for each, types in fields(child, below).items():
            found.setdefault(each, set()).update(types)
    return found
