#!/usr/bin/env python3
"""Who may include whom, and what may stand only in one place.

    include_rules.py              check this tree; print each violation as FILE:LINE: what
    include_rules.py --self-test  prove on small made-up trees that every rule can fail

The folders of lib/ include each other in one direction and no header includes itself; each third-party header, the
terminal and threads have one home. See lib/README.md for the map.
"""

import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What each folder of lib/ may include beside itself: these, and what they may include. lib/README.md says why.
FOLDERS = {
    "core": (),
    "checkpoint": ("core",),
    "delta": ("checkpoint",),
    "codec": ("delta",),
    "pack": ("codec",),
    "walk": ("pack",),
    "foreign": ("walk",),
    "remote": ("core",),
    "history": ("core",),
    "local": ("checkpoint",),
    "sync": ("walk", "history", "remote", "local"),
    "canonical": ("sync", "foreign"),
    "stats": ("walk",),
    "calls": ("canonical", "stats"),
}

# The public headers, which alone lie in the root of lib/, and the folders that may include them; None: all of them.
PUBLIC = {
    "wdelta.h": ("calls",),
    "stats_report.h": ("stats", "calls"),
    "reports.h": None,
}

# What is not installed and still serves the program: two macros, which bring nothing that has to be linked.
SHORT_FORMS = "core/try.h"

# Third-party headers and the only places in lib/ and cmd/ that may include them.
HOMES = {
    r"zstd(_errors)?\.h|zdict\.h": r"lib/codec/zstd_frame\.cc",
    r"xxhash\.h|xxh3\.h": r"lib/core/digest\.cc",
    r"openssl/.*": r"lib/core/digest\.cc",
    r"blake3\.h": r"lib/core/blake3_hasher\.cc",
    r"curl/.*": r"lib/remote/http_client\.cc",
    r"CLI/.*": r"cmd/.*",
    r"doctest.*": r"tests/.*",
    r"thread": r"lib/core/parallel\.(cc|h)",
}

# Expressions and the only places that may hold them.
EXPRESSIONS = {
    "a thread": (r"\bstd::(?:jthread|thread|async)\b|\bpthread_create\b", r"lib/core/parallel\.(cc|h)"),
    "writing to the terminal": (
        r"\bstd::(?:cout|cerr|clog)\b|\b(?:stdout|stderr)\b"
        r"|\b(?:printf|vprintf|puts|putchar|perror)\s*\(|\bfmt::v?print\b",
        r"cmd/(ui|progress)\.cc",
    ),
    "a write to standard output as a file": (
        r"\bwrite\s*\(\s*(?:[12]|STDOUT_FILENO|STDERR_FILENO)\s*,",
        r"lib/core/file\.cc|cmd/(ui|progress)\.cc",
    ),
}

VAGUE_NAMES = {"util", "utils", "utility", "helper", "helpers", "manager", "misc", "common"}
GENERATED = {"version_stamp.h": "lib/calls/version_info.cc"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT_OR_STRING = re.compile(
    r'R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)


def code_only(text):
    """`text` without what comments and literals say; line numbers stay."""
    return COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def folder_of(path):
    """"core" for lib/core/file.cc, "" for lib/wdelta.h, None outside lib/."""
    parts = path.split("/")
    if parts[0] != "lib":
        return None
    return parts[1] if len(parts) > 2 else ""


def reach(folder):
    """The folders that `folder` may include, itself among them."""
    found, left = {folder}, [folder]
    while left:
        for other in FOLDERS[left.pop()]:
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def check_quoted(path, header, tree):
    """What is wrong with #include "header" in `path`, or None."""
    if path.startswith("cmd/"):
        if header in PUBLIC or header == SHORT_FORMS or f"cmd/{header}" in tree:
            return None
        return f"cmd may include only the public headers and its own, not '{header}'"
    if header in GENERATED:
        return None if path == GENERATED[header] else f"only {GENERATED[header]} may include '{header}'"
    folder = folder_of(path)
    if folder == "" or (folder == "core" and "/" not in header):
        # Installed headers name each other from where they lie, so that any prefix will do.
        beside = "/".join([*path.split("/")[1:-1], header])
        return None if f"lib/{beside}" in tree else f"'{header}' is not a header of lib (paths start there)"
    if f"lib/{header}" not in tree:
        return f"'{header}' is not a header of lib (paths start there)"
    if folder not in FOLDERS:
        return f"folder '{folder}' is unknown; add it to this check with what it may include"
    if "/" not in header:
        allowed = PUBLIC.get(header)
        return None if allowed is None or folder in allowed else f"{folder} may not include '{header}'"
    if header.split("/")[0] in reach(folder):
        return None
    return f"{folder} may include {', '.join(sorted(reach(folder)))}, not '{header}'"


def check_root(tree):
    for path in sorted(tree):
        if folder_of(path) == "" and path.split("/")[1] not in PUBLIC:
            yield path, 1, "only the public headers lie in the root of lib/"


def check_cycles(tree):
    """Headers that include each other, in whichever folders they lie."""
    includes = {}
    for path, text in tree.items():
        if not path.startswith("lib/") or not path.endswith(".h"):
            continue
        quoted = [match.group(2) for match in map(INCLUDE.match, text.split("\n")) if match and match.group(1) == '"']
        includes[path] = [f"lib/{header}" for header in quoted]
    done = set()

    def walk(path, trail):
        if path in trail:
            return trail[trail.index(path):]
        if path in done or path not in includes:
            return None
        for header in includes[path]:
            found = walk(header, [*trail, path])
            if found:
                return found
        done.add(path)
        return None

    for path in sorted(includes):
        cycle = walk(path, [])
        if cycle:
            yield cycle[0], 1, f"includes itself: {' -> '.join([*cycle, cycle[0]])}"
            return


def check_includes(path, text, tree):
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, header = match.groups()
        third_party = False
        for pattern, home in HOMES.items():
            if re.fullmatch(pattern, header):
                third_party = True
                if not re.fullmatch(home, path):
                    yield path, number, f"<{header}> may be included only in {home}".replace("\\", "")
        if kind == '"' and not third_party:
            problem = check_quoted(path, header, tree)
            if problem:
                yield path, number, problem


def check_expressions(path, text):
    for number, line in enumerate(code_only(text).split("\n"), 1):
        for what, (pattern, home) in EXPRESSIONS.items():
            match = re.search(pattern, line)
            if match and not re.fullmatch(home, path):
                yield path, number, f"{what} ({match.group().strip()}) belongs only in {home}".replace("\\", "")


def check_names(tree):
    folders = defaultdict(set)
    commands = {path[4:-3] for path in tree if path.startswith("cmd/") and path.endswith(".cc")}
    for path in sorted(tree):
        folder, _, name = path.rpartition("/")
        stem = name.rsplit(".", 1)[0]
        if VAGUE_NAMES & set(stem.split("_")):
            yield path, 1, "the name says nothing about what is inside"
        # A command has the same name in cmd/ and in lib/calls/.
        folders[stem].add("cmd" if folder == "lib/calls" and stem in commands else folder)
        if len(folders[stem]) > 1:
            yield path, 1, f"another file is named '{stem}': {', '.join(sorted(folders[stem] - {folder}))}"


def check(tree):
    """All violations in `tree`, a dict from path to text of the sources of lib/ and cmd/."""
    for path, text in sorted(tree.items()):
        yield from check_includes(path, text, tree)
        yield from check_expressions(path, text)
    yield from check_names(tree)
    yield from check_root(tree)
    yield from check_cycles(tree)


def read_tree(root):
    files = [p for top in ("lib", "cmd") for p in (root / top).rglob("*") if p.suffix in (".cc", ".h", ".inc")]
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in files}


GOOD = {
    "lib/wdelta.h": '#include "core/result.h"\n#include "reports.h"\n',
    "lib/reports.h": "",
    "lib/stats_report.h": "",
    "lib/walk/rebuild.cc": '#include "pack/writer.h"\n#include "delta/tensor_delta.h"\n#include "reports.h"\n',
    "lib/history/record.h": '#include "core/result.h"\n',
    "lib/remote/remote.h": "",
    "lib/sync/session.h": '#include "history/record.h"\n#include "remote/remote.h"\n',
    "lib/calls/apply.cc": '#include "sync/session.h"\n#include "wdelta.h"\n',
    "cmd/apply.cc": '#include "wdelta.h"\n',
    "lib/core/result.h": "// a comment may say std::thread, printf( and stderr\n",
    "lib/core/parallel.cc": "#include <thread>\nstd::jthread worker;\n",
    "lib/core/file.cc": "write(STDOUT_FILENO, data, size);\n",
    "lib/core/digest.cc": "#include <openssl/evp.h>\n#include <xxhash.h>\n",
    "lib/checkpoint/checkpoint.h": '#include "core/result.h"\n',
    "lib/checkpoint/safetensors.h": "",
    "lib/delta/tensor_delta.h": '#include "checkpoint/checkpoint.h"\n',
    "lib/codec/codec.h": '#include "delta/tensor_delta.h"\n',
    "lib/codec/zstd_frame.cc": '#include <zstd.h>\nauto text = "fmt::print";\nsnprintf(buffer, 2, "x");\n',
    "lib/pack/writer.h": '#include "codec/codec.h"\n#include <fmt/format.h>\n',
    "cmd/main.cc": '#include <CLI/CLI.hpp>\n#include "ui.h"\n#include "wdelta.h"\n',
    "cmd/ui.h": "",
    "cmd/ui.cc": "fmt::print(stderr, text);\n",
}

# A change to the good tree, and where and what the check must then say.
BAD = [
    ("cmd/main.cc", '#include "core/result.h"\n', "cmd/main.cc:1", "only the public headers"),
    ("lib/core/file.cc", '\n#include "pack/writer.h"\n', "lib/core/file.cc:2", "core may include"),
    ("lib/walk/x.cc", '#include "wdelta.h"\n', "lib/walk/x.cc:1", "may not include 'wdelta.h'"),
    ("lib/sync/x.cc", '#include "stats_report.h"\n', "lib/sync/x.cc:1", "may not include 'stats_report.h'"),
    ("lib/walk/x.cc", '#include "sync/session.h"\n', "lib/walk/x.cc:1", "walk may include"),
    ("lib/loose.cc", "", "lib/loose.cc:1", "only the public headers"),
    ("lib/remote/remote.h", '#include "remote/retry.h"\n', "lib/remote/remote.h:1", "not a header of lib"),
    ("lib/remote/remote.h", '#include "remote/remote.h"\n', "lib/remote/remote.h:1", "includes itself"),
    ("lib/core/result.h", '#include "../reports.h"\n', "lib/core/result.h:1", "not a header of lib"),
    ("lib/core/file.cc", '#include "checkpoint/checkpoint.h"\n', "lib/core/file.cc:1", "core may include"),
    ("lib/checkpoint/x.cc", '#include "delta/tensor_delta.h"\n', "lib/checkpoint/x.cc:1", "checkpoint may include"),
    ("lib/delta/x.cc", '#include "codec/codec.h"\n', "lib/delta/x.cc:1", "delta may include"),
    ("lib/codec/x.cc", '#include "pack/writer.h"\n', "lib/codec/x.cc:1", "codec may include"),
    ("lib/history/x.cc", '#include "codec/codec.h"\n', "lib/history/x.cc:1", "history may include"),
    ("lib/remote/x.cc", '#include "pack/writer.h"\n', "lib/remote/x.cc:1", "remote may include"),
    ("lib/remote/x.cc", "#include <curl/curl.h>\n", "lib/remote/x.cc:1", "<curl/curl.h>"),
    ("lib/attic/x.cc", '#include "core/result.h"\n', "lib/attic/x.cc:1", "unknown"),
    ("lib/walk/rebuild.cc", '#include "../cmd/ui.h"\n', "lib/walk/rebuild.cc:1", "not a header of lib"),
    ("lib/walk/rebuild.cc", '#include "version_stamp.h"\n', "lib/walk/rebuild.cc:1", "only lib/calls/version_info.cc"),
    ("lib/pack/x.cc", "#include <zstd.h>\n", "lib/pack/x.cc:1", "<zstd.h>"),
    ("lib/pack/x.cc", '#include "zstd.h"\n', "lib/pack/x.cc:1", "<zstd.h>"),
    ("lib/pack/x.cc", "#include <xxhash.h>\n", "lib/pack/x.cc:1", "<xxhash.h>"),
    ("lib/walk/rebuild.cc", "#include <openssl/sha.h>\n", "lib/walk/rebuild.cc:1", "<openssl/sha.h>"),
    ("lib/pack/x.cc", "#include <blake3.h>\n", "lib/pack/x.cc:1", "<blake3.h>"),
    ("lib/walk/rebuild.cc", "#include <CLI/CLI.hpp>\n", "lib/walk/rebuild.cc:1", "<CLI/CLI.hpp>"),
    ("lib/core/x.cc", "#include <doctest/doctest.h>\n", "lib/core/x.cc:1", "<doctest/doctest.h>"),
    ("lib/pack/x.cc", "#include <thread>\n", "lib/pack/x.cc:1", "<thread>"),
    ("lib/pack/x.cc", "/* two\nlines */ std::thread t;\n", "lib/pack/x.cc:2", "a thread"),
    ("cmd/progress.cc", "pthread_create(a, b, c, d);\n", "cmd/progress.cc:1", "a thread"),
    ("lib/walk/rebuild.cc", 'printf("x");\n', "lib/walk/rebuild.cc:1", "terminal"),
    ("lib/walk/rebuild.cc", "std::cerr << 1;\n", "lib/walk/rebuild.cc:1", "terminal"),
    ("lib/walk/rebuild.cc", "fputs(text, stderr);\n", "lib/walk/rebuild.cc:1", "terminal"),
    ("lib/walk/verify.cc", "write(STDOUT_FILENO, a, 1);\n", "lib/walk/verify.cc:1", "standard output"),
    ("lib/walk/verify.cc", "::write(1, a, 1);\n", "lib/walk/verify.cc:1", "standard output"),
    ("cmd/main.cc", 'fmt::print("x");\n', "cmd/main.cc:1", "terminal"),
    ("cmd/main.cc", "std::cout << 1;\n", "cmd/main.cc:1", "terminal"),
    ("lib/pack/digest.cc", "", "lib/pack/digest.cc:1", "another file is named"),
    ("cmd/codec.h", "", "lib/codec/codec.h:1", "another file is named"),
    ("lib/core/string_util.h", "", "lib/core/string_util.h:1", "says nothing"),
    ("cmd/manager.cc", "", "cmd/manager.cc:1", "says nothing"),
]


def self_test():
    failures = 0
    for violation in check(GOOD):
        print("self-test: the good tree has", violation)
        failures += 1
    for path, text, where, what in BAD:
        found = [(f"{p}:{n}", message) for p, n, message in check({**GOOD, path: text})]
        if not any(place == where and what in message for place, message in found) or len(found) != 1:
            print(f"self-test: {path} with {text!r}: expected one violation at {where} with {what!r}, found {found}")
            failures += 1
    print(f"include rules: self-test, {len(BAD)} violations sought, {failures} problems")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    tree = read_tree(ROOT)
    if not any(path.startswith("lib/") for path in tree):
        print("include rules: no sources found")
        return 1
    violations = list(check(tree))
    for path, number, message in violations:
        print(f"{path}:{number}: {message}")
    print(f"include rules: {len(tree)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
