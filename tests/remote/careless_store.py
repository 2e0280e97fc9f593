#!/usr/bin/env python3
"""A store that takes no notice of create-if-absent: a push finds out before it writes anything, and refuses.

  careless_store.py [--program FILE]

A real gateway, behind a proxy that takes the condition off every conditional write. A push is refused, says why and
what would help, and leaves the store as it was. With --single-writer it goes through, a pull gives the very bytes, and
a second push does not overwrite the record of the first. Prints one line; exit 1 if anything is wrong.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lying_proxy import LyingProxy
from made_steps import ROOT, Gateway, Maker, Wrong, expect, installed, records_of

REMOTE = "s3://steps/run"
PATIENCE = 60  # seconds for one run; far more than it needs


class Trial:
    def __init__(self, program, folder, gateway, proxy):
        self.program, self.folder, self.gateway = program.resolve(), folder, gateway
        self.environment = {**gateway.environment, "AWS_ENDPOINT_URL": proxy.address, "HOME": str(folder)}
        self.maker = Maker(1)
        self.maker.write(folder / "one", "one")
        self.maker.write(folder / "two", "two")

    def run(self, code, *words, json_wanted=True):
        words = [str(word) for word in (self.program, *words)] + ["--json"] * json_wanted
        outcome = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=PATIENCE)
        expect(outcome.returncode == code,
               f"{' '.join(words[1:])} exits {outcome.returncode}, not {code}: {outcome.stdout} {outcome.stderr}")
        return json.loads(outcome.stdout) if json_wanted else outcome.stderr

    def stored(self):
        """The keys in the bucket, as another client sees them."""
        page = self.gateway.aws("s3api", "list-objects-v2", "--bucket", "steps", "--query", "Contents[].Key")
        return json.loads(page) or []

    def refused(self):
        for source in (self.folder / "one", self.folder / "anchor.wdp"):
            report = self.run(10, "push", source, REMOTE, "--step", "1")
            error = report["error"]
            expect(error["kind"] == "refused" and not error["retryable"], error)
            expect("create-if-absent" in error["message"] and "s3://steps/run" in error["message"], error)
            expect("--single-writer" in error["hint"], error)
            expect(report["number"] is None, report)
            expect(not self.stored(), "a push that was refused left", self.stored())
        talk = self.run(10, "push", self.folder / "one", REMOTE, json_wanted=False)
        expect(any(line.startswith("hint: ") and "--single-writer" in line for line in talk.splitlines()), talk)

    def single_writer(self):
        expect(self.run(0, "push", self.folder / "one", REMOTE, "--step", "1", "--single-writer")["number"] == 1, "")
        expect(self.run(0, "push", self.folder / "two", REMOTE, "--step", "2", "--single-writer")["number"] == 2, "")
        for number, label in ((1, "one"), (2, "two")):
            self.run(0, "pull", f"{REMOTE}@{number}", self.folder / "replica")
            self.maker.check(self.folder / "replica/current", label, f"record {number}")
        self.run(0, "verify", REMOTE)
        # Whoever has not said so is still refused, now that there is something to lose.
        before = self.stored()
        self.maker.write(self.folder / "elsewhere/three", "three")
        self.run(10, "push", self.folder / "elsewhere/three", REMOTE, "--step", "3", "--rebase")
        expect(self.stored() == before, "a push that was refused changed the store")
        self.gateway.aws("s3", "cp", "--only-show-errors", "--recursive", f"{REMOTE}/records",
                         self.folder / "copy/records")
        expect(len(records_of(self.folder / "copy")) == 2, "not two records")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/wdelta")
    options = parser.parse_args()
    installed("radosgw", "ceph-mon", "ceph-osd", "aws")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wdelta-careless-"))
    try:
        with Gateway(folder / "rgw") as gateway:
            secret = gateway.environment["AWS_SECRET_ACCESS_KEY"]
            proxy = LyingProxy(gateway.endpoint, ["ignore_condition:1"], secret=secret).start()
            trial = Trial(options.program, folder, gateway, proxy)
            trial.run(0, "pack", folder / "one", "--anchor", "-o", folder / "anchor.wdp")
            trial.refused()
            trial.single_writer()
            ignored = proxy.lies["ignore_condition"]
        print(f"a store that ignores create-if-absent: refused, and trusted with --single-writer; {ignored} conditions "
              "ignored", flush=True)
    except Wrong as wrong:
        print(f"a store that ignores create-if-absent: WRONG: {wrong}", flush=True)
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
