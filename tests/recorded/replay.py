#!/usr/bin/env python3
"""Holds a program against what an earlier one has written: replay.py PROGRAM [FILTER].

Each file beside this one whose name ends in _cases.py registers tests about what is in testdata/recorded. A test whose
sentence or file contains FILTER is run, in an empty folder of its own.
"""

import importlib
import os
import sys

sys.dont_write_bytecode = True  # nothing is left in the source tree
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "cmd"))

from run import run_registered  # noqa: E402


def main():
    for name in sorted(name[:-3] for name in os.listdir(HERE) if name.endswith("_cases.py")):
        importlib.import_module(name)
    run_registered(__doc__)


if __name__ == "__main__":
    main()
