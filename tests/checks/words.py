#!/usr/bin/env python3
"""Words that do not belong into a finished tree: marks of unfinished work, and paths of somebody's machine.

    words.py              check this tree; print each find as FILE:LINE: what
    words.py --self-test  prove that each pattern finds what it should
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}

# Each with an example that it must find. The examples are written in two pieces, so that this file passes itself.
PATTERNS = [
    (r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|WI" r"P)\b", "// TO" "DO: later"),
    (r"(?i)\bplace" r"holder\b", "a place" "holder"),
    (r"(?i)\bnot (?:yet )?imple" r"mented\b", "not yet imple" "mented"),
    (r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/", 'open("/ro' 'ot/x")'),
    (r"^(?:<{7}|>{7}|={7})(?: |$)", "<<<<" "<<< ours"),
]


def finds(text):
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, _ in PATTERNS:
            match = re.search(pattern, line)
            if match:
                yield number, match.group()


def texts(root):
    """Every text file of the tree with its path."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            path = pathlib.Path(folder, name)
            content = path.read_bytes()
            if b"\0" not in content:
                yield path.relative_to(root).as_posix(), content.decode("utf-8", "replace")


def self_test():
    failures = 0
    for pattern, example in PATTERNS:
        if not any(re.search(pattern, line) for line in [example]):
            print(f"self-test: {pattern!r} does not find {example!r}")
            failures += 1
        if [number for number, _ in finds(f"good\n{example}\ngood")] != [2]:
            print(f"self-test: {example!r} is not found on its line alone")
            failures += 1
    print(f"words: self-test, {len(PATTERNS)} patterns, {failures} problems")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    files = violations = 0
    for path, text in texts(ROOT):
        files += 1
        for number, word in finds(text):
            print(f"{path}:{number}: '{word}' does not belong here")
            violations += 1
    print(f"words: {files} files, {violations} finds")
    return 1 if violations or not files else 0


if __name__ == "__main__":
    sys.exit(main())
