#!/usr/bin/env python3
"""Who may include whom, and what may stand only in one place.

    include_rules.py              check this tree; print each violation as FILE:LINE: what
    include_rules.py --self-test  prove on small made-up trees that every rule can fail

The rooms of lib/ receive from each other in one direction, through one header; each third-party header, the terminal
and threads have one home. See lib/README.md for the map.
"""

import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What a room may include beside `base` and itself. Files directly in lib/ (the walks, the public face) may all.
ROOMS = {
    "base": (),
    "checkpoint": (),
    "delta": ("checkpoint/checkpoint.h",),
    "codec": ("delta/tensor_delta.h",),
    "pack": ("codec/codec.h",),
    "history": ("pack/container.h",),
    "remote": (),
}

# Third-party headers and the only places in lib/ and cmd/ that may include them.
HOMES = {
    r"zstd(_errors)?\.h|zdict\.h": r"lib/codec/zstd_frame\.cc",
    r"xxhash\.h|xxh3\.h": r"lib/base/digest\.cc",
    r"openssl/.*": r"lib/base/digest\.cc",
    r"blake3\.h": r"lib/base/blake3_hasher\.cc",
    r"curl/.*": r"lib/remote/http_client\.cc",
    r"CLI/.*": r"cmd/.*",
    r"doctest.*": r"tests/.*",
    r"thread": r"lib/base/parallel\.(cc|h)",
}

# Expressions and the only places that may hold them.
EXPRESSIONS = {
    "a thread": (r"\bstd::(?:jthread|thread|async)\b|\bpthread_create\b", r"lib/base/parallel\.(cc|h)"),
    "writing to the terminal": (
        r"\bstd::(?:cout|cerr|clog)\b|\b(?:stdout|stderr)\b"
        r"|\b(?:printf|vprintf|puts|putchar|perror)\s*\(|\bfmt::v?print\b",
        r"cmd/(ui|progress)\.cc",
    ),
    "a write to standard output as a file": (
        r"\bwrite\s*\(\s*(?:[12]|STDOUT_FILENO|STDERR_FILENO)\s*,",
        r"lib/base/file\.cc|cmd/(ui|progress)\.cc",
    ),
}

VAGUE_NAMES = {"util", "utils", "utility", "helper", "helpers", "manager", "misc", "common"}
GENERATED = {"version_stamp.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT_OR_STRING = re.compile(
    r'R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)


def code_only(text):
    """`text` without what comments and literals say; line numbers stay."""
    return COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def room_of(path):
    """"base" for lib/base/file.cc, "" for lib/wdelta.h, None outside lib/."""
    parts = path.split("/")
    if parts[0] != "lib":
        return None
    return parts[1] if len(parts) > 2 else ""


def check_quoted(path, header, tree):
    """What is wrong with #include "header" in `path`, or None."""
    if path.startswith("cmd/"):
        if header == "wdelta.h" or f"cmd/{header}" in tree:
            return None
        return f"cmd may include only wdelta.h and its own headers, not '{header}'"
    if header in GENERATED:
        return None if path == "lib/version.cc" else f"only lib/version.cc may include '{header}'"
    if f"lib/{header}" not in tree:
        return f"'{header}' is not a header of lib (paths start there)"
    room = room_of(path)
    if room == "":
        return None
    if room not in ROOMS:
        return f"room '{room}' is unknown; add it to this check with the one header that it receives"
    if header.split("/")[0] in ("base", room) and "/" in header or header in ROOMS[room]:
        return None
    allowed = ", ".join(dict.fromkeys(("base/*", f"{room}/*", *ROOMS[room])))
    return f"{room} may include {allowed}, not '{header}'"


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
    for path in sorted(tree):
        folder, _, name = path.rpartition("/")
        stem = name.rsplit(".", 1)[0]
        if VAGUE_NAMES & set(stem.split("_")):
            yield path, 1, "the name says nothing about what is inside"
        folders[stem].add(folder)
        if len(folders[stem]) > 1:
            yield path, 1, f"another file is named '{stem}': {', '.join(sorted(folders[stem] - {folder}))}"


def check(tree):
    """All violations in `tree`, a dict from path to text of the sources of lib/ and cmd/."""
    for path, text in sorted(tree.items()):
        yield from check_includes(path, text, tree)
        yield from check_expressions(path, text)
    yield from check_names(tree)


def read_tree(root):
    files = [p for top in ("lib", "cmd") for p in (root / top).rglob("*") if p.suffix in (".cc", ".h", ".inc")]
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in files}


GOOD = {
    "lib/wdelta.h": '#include "base/result.h"\n',
    "lib/outbound.cc": '#include "pack/writer.h"\n#include "wdelta.h"\n',
    "lib/base/result.h": "// a comment may say std::thread, printf( and stderr\n",
    "lib/base/parallel.cc": "#include <thread>\nstd::jthread worker;\n",
    "lib/base/file.cc": "write(STDOUT_FILENO, data, size);\n",
    "lib/base/digest.cc": "#include <openssl/evp.h>\n#include <xxhash.h>\n",
    "lib/checkpoint/checkpoint.h": '#include "base/result.h"\n',
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
    ("cmd/main.cc", '#include "base/result.h"\n', "cmd/main.cc:1", "only wdelta.h"),
    ("lib/base/file.cc", '\n#include "wdelta.h"\n', "lib/base/file.cc:2", "base may include"),
    ("lib/base/file.cc", '#include "checkpoint/checkpoint.h"\n', "lib/base/file.cc:1", "base may include"),
    ("lib/checkpoint/x.cc", '#include "delta/tensor_delta.h"\n', "lib/checkpoint/x.cc:1", "checkpoint may include"),
    ("lib/delta/x.cc", '#include "checkpoint/safetensors.h"\n', "lib/delta/x.cc:1", "delta may include"),
    ("lib/codec/x.cc", '#include "checkpoint/checkpoint.h"\n', "lib/codec/x.cc:1", "codec may include"),
    ("lib/pack/x.cc", '#include "delta/tensor_delta.h"\n', "lib/pack/x.cc:1", "pack may include"),
    ("lib/history/x.cc", '#include "codec/codec.h"\n', "lib/history/x.cc:1", "history may include"),
    ("lib/remote/x.cc", '#include "pack/writer.h"\n', "lib/remote/x.cc:1", "remote may include"),
    ("lib/remote/x.cc", "#include <curl/curl.h>\n", "lib/remote/x.cc:1", "<curl/curl.h>"),
    ("lib/attic/x.cc", '#include "base/result.h"\n', "lib/attic/x.cc:1", "unknown"),
    ("lib/outbound.cc", '#include "../cmd/ui.h"\n', "lib/outbound.cc:1", "not a header of lib"),
    ("lib/outbound.cc", '#include "version_stamp.h"\n', "lib/outbound.cc:1", "only lib/version.cc"),
    ("lib/pack/x.cc", "#include <zstd.h>\n", "lib/pack/x.cc:1", "<zstd.h>"),
    ("lib/pack/x.cc", '#include "zstd.h"\n', "lib/pack/x.cc:1", "<zstd.h>"),
    ("lib/pack/x.cc", "#include <xxhash.h>\n", "lib/pack/x.cc:1", "<xxhash.h>"),
    ("lib/outbound.cc", "#include <openssl/sha.h>\n", "lib/outbound.cc:1", "<openssl/sha.h>"),
    ("lib/pack/x.cc", "#include <blake3.h>\n", "lib/pack/x.cc:1", "<blake3.h>"),
    ("lib/outbound.cc", "#include <CLI/CLI.hpp>\n", "lib/outbound.cc:1", "<CLI/CLI.hpp>"),
    ("lib/base/x.cc", "#include <doctest/doctest.h>\n", "lib/base/x.cc:1", "<doctest/doctest.h>"),
    ("lib/pack/x.cc", "#include <thread>\n", "lib/pack/x.cc:1", "<thread>"),
    ("lib/pack/x.cc", "/* two\nlines */ std::thread t;\n", "lib/pack/x.cc:2", "a thread"),
    ("cmd/progress.cc", "pthread_create(a, b, c, d);\n", "cmd/progress.cc:1", "a thread"),
    ("lib/outbound.cc", 'printf("x");\n', "lib/outbound.cc:1", "terminal"),
    ("lib/outbound.cc", "std::cerr << 1;\n", "lib/outbound.cc:1", "terminal"),
    ("lib/outbound.cc", "fputs(text, stderr);\n", "lib/outbound.cc:1", "terminal"),
    ("lib/inbound.cc", "write(STDOUT_FILENO, a, 1);\n", "lib/inbound.cc:1", "standard output"),
    ("lib/inbound.cc", "::write(1, a, 1);\n", "lib/inbound.cc:1", "standard output"),
    ("cmd/main.cc", 'fmt::print("x");\n', "cmd/main.cc:1", "terminal"),
    ("cmd/main.cc", "std::cout << 1;\n", "cmd/main.cc:1", "terminal"),
    ("lib/pack/digest.cc", "", "lib/pack/digest.cc:1", "another file is named"),
    ("cmd/codec.h", "", "lib/codec/codec.h:1", "another file is named"),
    ("lib/base/string_util.h", "", "lib/base/string_util.h:1", "says nothing"),
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
