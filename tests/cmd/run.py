#!/usr/bin/env python3
"""Runs the command-line tests: run.py PROGRAM [FILTER]. With FILTER, those whose sentence contains it or whose file's
name begins with it.

Each file beside this one whose name ends in _cases.py registers tests. Each test gets an empty folder of its own.
With WDELTA_REQUIRE_ALL in the environment, a test that this machine cannot run counts as failed.
"""

import importlib
import os
import shutil
import signal
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True  # nothing is left in the source tree

import harness  # noqa: E402

TEST_SECONDS = 200  # a test that hangs fails by itself, and the others still run


def give_up(*_):
    raise TimeoutError("the test took more than %d s" % TEST_SECONDS)


def run_registered(usage):
    """Runs what was registered, as the arguments PROGRAM [FILTER] say, and ends."""
    if len(sys.argv) not in (2, 3):
        sys.exit(usage)
    program = os.path.abspath(sys.argv[1])
    if not os.access(program, os.X_OK):
        sys.exit("run.py: '%s' is not a program" % program)
    wanted = sys.argv[2] if len(sys.argv) == 3 else ""
    signal.signal(signal.SIGALRM, give_up)
    passed = failed = skipped = 0
    for sentence, function in harness.TESTS:
        # Begins, because pull_cases is also the end of canonical_pull_cases, which would run twice.
        if wanted not in sentence and not function.__module__.startswith(wanted):
            continue
        folder = tempfile.mkdtemp(prefix="wdelta-test-")
        os.chmod(folder, 0o755)
        signal.alarm(TEST_SECONDS)
        try:
            function(harness.Scratch(program, folder))
            passed += 1
            print("ok      %s" % sentence)
        except harness.Skipped as reason:
            skipped += 1
            if os.environ.get("WDELTA_REQUIRE_ALL"):
                failed += 1
            print("skipped %s (%s)" % (sentence, reason))
        except Exception:  # a test may fail in any way
            failed += 1
            print("FAILED  %s\n%s" % (sentence, traceback.format_exc()))
        finally:
            signal.alarm(0)
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    print("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    sys.exit(1 if failed or not passed else 0)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for name in sorted(name[:-3] for name in os.listdir(here) if name.endswith("_cases.py")):
        importlib.import_module(name)
    run_registered(__doc__)


if __name__ == "__main__":
    main()
