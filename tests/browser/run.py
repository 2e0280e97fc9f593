#!/usr/bin/env python3
"""Looks at the pages of `wdelta stats` in a real browser: run.py PROGRAM [FILTER].

A test whose sentence contains FILTER is run; each gets an empty folder of its own, and all share one browser. Ends with
77 where there is no browser to be had.
"""

import os
import shutil
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True  # nothing is left in the source tree
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))

import harmless_cases  # noqa: E402, F401  (registers its tests)
import harness  # noqa: E402
import reading_cases  # noqa: E402, F401
import webdriver  # noqa: E402


def run_all(program, wanted, browser):
    passed = failed = 0
    for sentence, function in harness.TESTS:
        if wanted not in sentence:
            continue
        folder = tempfile.mkdtemp(prefix="wdelta-browser-test-")
        try:
            browser.forget()
            function(harness.Scratch(program, folder), browser)
            passed += 1
            print("ok      %s" % sentence)
        except Exception:  # a test may fail in any way
            failed += 1
            print("FAILED  %s\n%s" % (sentence, traceback.format_exc()))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    if not os.access(program, os.X_OK):
        sys.exit("run.py: '%s' is not a program" % program)
    try:
        with webdriver.Browser() as browser:
            return run_all(program, sys.argv[2] if len(sys.argv) == 3 else "", browser)
    except webdriver.Missing as reason:
        print("skipped: %s" % reason)
        return 77


if __name__ == "__main__":
    sys.exit(main())
