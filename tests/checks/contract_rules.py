#!/usr/bin/env python3
"""What the library promises to those who link it, as rules on its sources.

    contract_rules.py              check this tree; print each violation as FILE:LINE: what
    contract_rules.py --self-test  prove on small made-up trees that every rule can fail

No exception leaves it: std::filesystem, which throws unless each call is asked not to, has one home, and every public
call that returns a Result is made through Guarded. Inside the library no public call is used: it would turn values into
text and back. What the environment says is read once, at the edge.
"""

import pathlib
import re
import sys

from include_rules import code_only, read_tree

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What may stand in lib/ only in one place, and why.
HOMES = {
    "std::filesystem throws; core/path.h does not": (
        r"<filesystem>|\bstd::(?:experimental::)?filesystem\b|\bfs::", r"lib/core/path\.cc"),
    "the environment is a value in Context": (
        r"\b(?:secure_)?getenv\b|\b(?:set|unset|put|clear)env\b|\benviron\b", r"lib/core/environment\.cc"),
}

EXPORTED = re.compile(r"^WDELTA_EXPORT\s+Result<.*?>\s+(\w+)\(", re.MULTILINE | re.DOTALL)


def check_homes(path, text):
    for number, line in enumerate(code_only(text).split("\n"), 1):
        for why, (pattern, home) in HOMES.items():
            match = re.search(pattern, line)
            if match and not re.fullmatch(home, path):
                yield path, number, f"'{match.group()}': {why}"


def check_guards(tree):
    """Each call that a public header promises is defined as one line that goes through Guarded."""
    for header, text in sorted(tree.items()):
        if not re.fullmatch(r"lib/\w+\.h", header):
            continue
        for match in EXPORTED.finditer(text):
            name, line = match.group(1), text.count("\n", 0, match.start()) + 1
            defined = re.compile(r"^Result<[^\n]*>\s+" + name + r"\([^{;]*\)\s*\{\s*return Guarded\(", re.MULTILINE)
            if not any(defined.search(source) for path, source in tree.items() if path.endswith(".cc")):
                yield header, line, f"{name} is not defined through Guarded, so what is thrown inside would leave it"


def check_face(tree):
    """Calls that take a request and a context are for programs outside."""
    names = {name for header, text in tree.items() if re.fullmatch(r"lib/\w+\.h", header)
             for name in re.findall(r"^WDELTA_EXPORT\s+Result<[^;]*?>\s+(\w+)\(const \w*Request&", text, re.MULTILINE)}
    if not names:
        return
    # Not a member, not a longer name, not the definition.
    used = re.compile(r"(?<![\w.>:])(?<!> )(%s)\(" % "|".join(sorted(names)))
    for path, text in sorted(tree.items()):
        if not path.endswith(".cc"):
            continue
        for number, line in enumerate(code_only(text).split("\n"), 1):
            match = used.search(line)
            if match:
                yield path, number, f"'{match.group(1)}' is a public call: use what it is made of"


def check(tree):
    tree = {path: text for path, text in tree.items() if path.startswith("lib/")}
    for path, text in sorted(tree.items()):
        yield from check_homes(path, text)
    yield from check_guards(tree)
    yield from check_face(tree)


GOOD = {
    "lib/wdelta.h": "WDELTA_EXPORT Result<Report> Diff(const Request& request, const Context& context);\n"
                    "WDELTA_EXPORT std::string JsonString(std::string_view text);\n",
    "lib/calls/diff.cc": "// std::filesystem would throw\nResult<Report> Diff(const Request& request,\n"
                         "    const Context& context) {\n  return Guarded(DoDiff, request, context);\n}\n",
    "lib/core/path.cc": "#include <filesystem>\nnamespace fs = std::filesystem;\nfs::remove_all(path, failed);\n",
    "lib/core/environment.cc": "for (char** entry = environ; *entry; ++entry) Add(*entry);\n",
    "cmd/help.cc": "#include <filesystem>\nstd::getenv(name);\n",
}

# A change to the good tree, and where and what the check must then say.
BAD = [
    ("lib/calls/x.cc", "\n#include <filesystem>\n", "lib/calls/x.cc:2", "throws"),
    ("lib/calls/x.cc", "auto x = fs::exists(path);\n", "lib/calls/x.cc:1", "throws"),
    ("lib/core/path.h", "std::filesystem::path x;\n", "lib/core/path.h:1", "throws"),
    ("lib/remote/x.cc", "const char* value = std::getenv(name);\n", "lib/remote/x.cc:1", "environment"),
    ("lib/remote/x.cc", "\nspawn(words, environ);\n", "lib/remote/x.cc:2", "environment"),
    ("lib/calls/diff.cc", "Result<Report> Diff(const Request& request) {\n  return Report();\n}\n", "lib/wdelta.h:1",
     "Guarded"),
    ("lib/calls/x.cc", "\n  WD_ASSIGN(const Report report, Diff({a, b}, context));\n", "lib/calls/x.cc:2", "public"),
    ("lib/calls/x.cc", "return Guarded(Diff, request);\nplan.Diff(x);\nauto y = Diff(request, context);\n",
     "lib/calls/x.cc:3", "public"),
    ("lib/stats_report.h", "\nWDELTA_EXPORT Result<std::vector<X>>\n    Stats(int x);\n", "lib/stats_report.h:2", "Stats"),
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
    print(f"contract rules: self-test, {len(BAD)} violations sought, {failures} problems")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    tree = read_tree(ROOT)
    violations = list(check(tree))
    for path, number, message in violations:
        print(f"{path}:{number}: {message}")
    print(f"contract rules: {len(tree)} files, {len(violations)} violations")
    return 1 if violations or not tree else 0


if __name__ == "__main__":
    sys.exit(main())
