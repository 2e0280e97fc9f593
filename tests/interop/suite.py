"""Runs the registered tests of an interop suite, each in a scratch folder of its own."""

import os
import shutil
import sys
import tempfile
import traceback

from harness import TESTS, Scratch


def run(usage):
    """For the arguments PROGRAM [FILTER]; returns the exit code."""
    if len(sys.argv) not in (2, 3):
        sys.exit(usage)
    program, wanted = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else ""
    passed = failed = 0
    for sentence, function in TESTS:
        if wanted not in sentence:
            continue
        folder = tempfile.mkdtemp(prefix="wdelta-interop-")
        try:
            function(Scratch(program, folder))
            passed += 1
            print(f"ok      {sentence}")
        except Exception:  # a test may fail in any way
            failed += 1
            print(f"FAILED  {sentence}\n{traceback.format_exc()}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
