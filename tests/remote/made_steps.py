"""What the long tests of remotes share: checkpoints that are a function of a name, a store, and runs of the program.

Nothing here uses the library under test, so that what is made can judge it.
"""

import hashlib
import json
import os
import pathlib
import random
import shlex
import signal
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, COLUMNS, TENSORS = 64, 64, 12
CHANGES = 500


class Wrong(Exception):
    """Something that must not happen, did."""


def expect(holds, *words):
    if not holds:
        raise Wrong(" ".join(map(str, words)))


class Maker:
    """Files of a small checkpoint for any label, always the same ones: common weights with changes of its own."""

    def __init__(self, seed):
        self.seed = seed
        self.common = random.Random(f"{seed}/common").randbytes(2 * TENSORS * ROWS * COLUMNS)

    def files(self, label):
        """{name: bytes}, two shards with their index and a companion that holds the label."""
        rng = random.Random(f"{self.seed}/{label}")
        weights = bytearray(self.common)
        for _ in range(CHANGES):
            at = 2 * rng.randrange(len(weights) // 2)
            weights[at : at + 2] = rng.randbytes(2)
        size = 2 * ROWS * COLUMNS
        tensors = {f"layers.{i}.weight": ([ROWS, COLUMNS], bytes(weights[size * i : size * (i + 1)]))
                   for i in range(TENSORS)}
        if rng.random() < 0.2:  # a tensor that others do not have
            tensors[f"head.{rng.randrange(4)}.bias"] = ([COLUMNS], rng.randbytes(2 * COLUMNS))
        names = list(tensors)
        files, weight_map = {}, {}
        for shard, part in (("model-1.safetensors", names[:6]), ("model-2.safetensors", names[6:])):
            files[shard] = safetensors({name: tensors[name] for name in part})
            weight_map.update({name: shard for name in part})
        files["model.safetensors.index.json"] = json.dumps({"metadata": {}, "weight_map": weight_map}).encode()
        files["config.json"] = json.dumps({"label": label}).encode()
        return files

    def write(self, folder, label):
        folder.mkdir(parents=True)
        for name, content in self.files(label).items():
            (folder / name).write_bytes(content)

    def check(self, folder, label, where):
        """The folder holds exactly the files of this label."""
        wanted = self.files(label)
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
        expect(found == set(wanted), f"{where}: expected the files {sorted(wanted)}, found {sorted(found)}")
        for name, content in wanted.items():
            expect((folder / name).read_bytes() == content, f"{where}: '{name}' has other bytes than '{label}'")


def label_of(folder):
    return json.loads((folder / "config.json").read_bytes())["label"]


def safetensors(tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def clean_environment(home):
    """That of this process without anything that leads to other stores."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("AWS_", "WDELTA_", "HF_")) and not name.lower().endswith("_proxy")}
    return {**kept, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}


class Gateway:
    """Ceph's S3 gateway with an empty bucket, below `folder`; a context."""

    def __init__(self, folder, *options):
        self.folder = folder
        home = folder.parent / "gateway-home"
        home.mkdir(parents=True)
        self.environment = clean_environment(home)
        self.options = options

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # not without stopping the gateway
        said = subprocess.run([ROOT / "scripts/rgw", "start", self.folder, *self.options], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        if said.returncode != 0:
            sys.exit(f"the gateway does not start: {said.stderr.strip()}")
        for word in shlex.split(said.stdout):
            name, equals, value = word.partition("=")
            if equals and name.startswith(("AWS_", "RGW_")):
                self.environment[name] = value
        self.endpoint = self.environment["RGW_HTTP"]
        self.aws("s3api", "create-bucket", "--bucket", "steps")
        return self

    def __exit__(self, *_):
        subprocess.run([ROOT / "scripts/rgw", "stop", self.folder], check=True)

    def aws(self, *words):
        """Another client of S3, as a second opinion."""
        words = ["aws", "--endpoint-url", self.endpoint, "--region", "us-east-1", *map(str, words)]
        return subprocess.run(words, env=self.environment, check=True, capture_output=True, text=True).stdout


def installed(*tools):
    """Ends the program if one of these is missing: with exit code 77, or 1 where nothing may be left out."""
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    for tool in tools:
        if not any(os.access(os.path.join(folder, tool), os.X_OK) for folder in path.split(":")):
            print(f"skipped: {tool} is not installed")
            sys.exit(1 if os.environ.get("WDELTA_REQUIRE_ALL") == "1" else 77)


def records_of(folder):
    """The records in a copy of a history, checked as far as a stranger can: no gaps, and each names the one before."""
    paths = sorted((folder / "records").iterdir())
    records, before = [], None
    for number, path in enumerate(paths, 1):
        expect(path.name == f"{number:012}.json", f"expected record {number} next, found '{path.name}'")
        content = path.read_bytes()
        record = json.loads(content)
        expect(record["number"] == number, f"record {number} says that it is {record['number']}")
        expect(record["previous"] == before, f"record {number} does not name the record before it")
        before = hashlib.sha256(content).hexdigest()
        records.append(record)
    return records
