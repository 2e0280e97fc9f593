"""A step of training on its way from a trainer to a replica through a real S3 store, radosgw.

Three flows, each from "the checkpoint is saved" to "the same bytes are on the replica's disk, synced": wdelta (push,
and pull into a folder that has the step before); XOR + zstd -1 as several systems do it (encode to a file, upload,
download, decode with checksums into a new file); and a full copy of the weights. The last two are sent by curl, with
signed URLs, so that they pay for nothing but their bytes. They run on the loopback interface, and from a network
namespace of their own whose link is limited by a token bucket in both directions. The result is the ratio to XOR + zstd
in the same run.
"""
import contextlib
import datetime
import filecmp
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse

from measure import Failed, fail, remove

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "remote"))
from made_steps import Gateway  # noqa: E402

LINKS = {"loopback": None, "1gbit": "1gbit", "100mbit": "100mbit"}
FLOWS = {"wdelta": "wdelta", "xor": "XOR + zstd -1", "full": "full copy"}
WEIGHTS = "model.safetensors"


def words(text):
    """What --remote was given, as the links and the flows to run."""
    asked = [word for word in text.split(",") if word]
    for word in asked:
        if word not in LINKS and word not in FLOWS:
            fail(f"'--remote' knows {', '.join([*LINKS, *FLOWS])}, not '{word}'")
    links = [word for word in asked if word in LINKS] or list(LINKS)
    return links, [word for word in asked if word in FLOWS] or list(FLOWS)


class Link:
    """A pair of interfaces, one of them in a namespace of its own, limited in both directions; a context."""

    def __init__(self, rate):
        self.rate, self.name = rate, f"wdelta-{os.getpid()}"
        self.near, self.far = f"wd{os.getpid()}a", f"wd{os.getpid()}b"
        self.address = "10.203.77.1"

    def __enter__(self):
        far = ["ip", "-n", self.name]
        shape = ["root", "tbf", "rate", self.rate, "burst", "512kb", "latency", "20ms"]
        try:
            for command in (
                ["ip", "netns", "add", self.name],
                ["ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.name],
                ["ip", "addr", "add", self.address + "/30", "dev", self.near],
                [*far, "addr", "add", "10.203.77.2/30", "dev", self.far],
                ["ip", "link", "set", self.near, "up"],
                [*far, "link", "set", self.far, "up"],
                ["tc", "qdisc", "add", "dev", self.near, *shape],
                ["tc", "-n", self.name, "qdisc", "add", "dev", self.far, *shape],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for command in (["ip", "link", "del", self.near], ["ip", "netns", "del", self.name]):
            subprocess.run(command, capture_output=True)

    def bytes(self):
        counters = pathlib.Path("/sys/class/net", self.near, "statistics")
        return sum(int((counters / name).read_text()) for name in ("rx_bytes", "tx_bytes"))

    def around(self, command):
        return ["ip", "netns", "exec", self.name, *command]


class Loopback:
    """No link at all. Its bytes cannot be told from those within the store."""

    address = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def bytes(self):
        return None

    def around(self, command):
        return command


def signed_url(method, endpoint, key, keys):
    """A URL that allows one thing for an hour."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    query = urllib.parse.urlencode(sorted({
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": f"{keys['AWS_ACCESS_KEY_ID']}/{scope}",
        "X-Amz-Date": now, "X-Amz-Expires": "3600", "X-Amz-SignedHeaders": "host"}.items()))
    host = urllib.parse.urlsplit(endpoint).netloc
    request = f"{method}\n{key}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    secret = ("AWS4" + keys["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in (*scope.split("/"), text):
        secret = hmac.digest(secret, part.encode(), "sha256")
    return f"{endpoint}{key}?{query}&X-Amz-Signature={secret.hex()}"


class Course:
    """The flows on one link. Each returns its seconds by part, and the bytes of its payload, both ways together."""

    def __init__(self, bench, link, gateway, base, new, work):
        self.bench, self.link, self.gateway, self.base, self.new, self.work = bench, link, gateway, base, new, work
        self.endpoint = gateway.environment.get("RGW_LISTEN", gateway.endpoint)
        self.environment = {**gateway.environment, "AWS_ENDPOINT_URL": self.endpoint}
        self.trainer, self.replica, self.kept = work / "trainer", work / "replica", work / "kept"

    def call(self, *command, near=False):
        """Runs a program at the far end of the link, or `near` the store, where it costs the link nothing."""
        command = [str(word) for word in command]
        environment = self.environment if not near else self.gateway.environment
        begun = time.perf_counter()
        done = subprocess.run(command if near else self.link.around(command), env=environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        seconds = time.perf_counter() - begun
        if done.returncode != 0:
            said = (done.stderr + done.stdout)[-2000:]
            raise Failed(f"exit {done.returncode} from: {command[0]} {command[1]}\n{said}")
        return seconds, done.stdout

    def wdelta(self, *command, near=False):
        seconds, said = self.call(self.bench.program, *command, "--json", near=near)
        return seconds, json.loads(said)

    def prepare_wdelta(self):
        """A history with the base as its only record, a trainer that pushed it and a replica that has it; and a copy of
        all that changes."""
        self.trainer.mkdir(parents=True)
        for name, source in (("step-1", self.base), ("step-2", self.new)):
            shutil.copytree(source, self.trainer / name, copy_function=os.link)
        self.wdelta("push", self.trainer / "step-1", "s3://steps/run", "--step", 1, "--level", "fast", near=True)
        self.wdelta("pull", "s3://steps/run", self.replica, near=True)
        self.first_keys = self.keys()
        self.kept.mkdir()
        for source, name in ((self.trainer / ".wdelta", "trainer"), (self.replica, "replica")):
            self.call("cp", "-a", source, self.kept / name, near=True)

    def keys(self):
        listed = json.loads(self.gateway.aws("s3api", "list-objects-v2", "--bucket", "steps", "--prefix", "run/",
                                             "--output", "json"))
        return {entry["Key"] for entry in listed["Contents"]}

    def reset_wdelta(self):
        for key in self.keys() - self.first_keys:
            self.gateway.aws("s3api", "delete-object", "--bucket", "steps", "--key", key)
        (self.work / "tip.json").write_text('{"wdelta_tip":1,"number":1,"anchors":[],"jumps":[]}')
        self.gateway.aws("s3", "cp", "--only-show-errors", self.work / "tip.json", "s3://steps/run/tip.json")
        remove(self.trainer / ".wdelta", self.replica)
        self.call("cp", "-a", self.kept / "trainer", self.trainer / ".wdelta", near=True)
        self.call("cp", "-a", self.kept / "replica", self.replica, near=True)

    def flow_wdelta(self):
        push_seconds, push = self.wdelta("push", self.trainer / "step-2", "s3://steps/run", "--step", 2)
        pull_seconds, pull = self.wdelta("pull", "s3://steps/run", self.replica)
        parts = {"push": push_seconds, "pull": pull_seconds}
        return parts, push["wire_bytes"] + pull["wire_bytes"], self.replica / "current" / WEIGHTS

    def upload(self, file, key):
        return self.call("curl", "-fsS", "-T", file, signed_url("PUT", self.endpoint, key, self.environment))[0]

    def download(self, key, file):
        return self.call("curl", "-fsS", "-o", file, signed_url("GET", self.endpoint, key, self.environment))[0]

    def flow_xor(self):
        sent, got, out = self.work / "sent.frames", self.work / "got.frames", self.work / "out.safetensors"
        remove(sent, got, out)
        parts = {"encode": self.call(self.bench.tools / "xor_zstd", self.base / WEIGHTS, self.new / WEIGHTS, sent)[0]}
        parts["upload"] = self.upload(sent, "/steps/xor")
        parts["download"] = self.download("/steps/xor", got)
        parts["decode"] = self.call(self.bench.tools / "xor_unzstd", self.base / WEIGHTS, got, out)[0]
        parts["sync"] = self.call("sync", out)[0]
        return parts, 2 * sent.stat().st_size, out

    def flow_full(self):
        out = self.work / "out.safetensors"
        remove(out)
        parts = {"upload": self.upload(self.new / WEIGHTS, "/steps/full")}
        parts["download"] = self.download("/steps/full", out)
        parts["sync"] = self.call("sync", out)[0]
        return parts, 2 * out.stat().st_size, out

    def race(self, flows, rounds):
        """All flows in turn, `rounds` times; {flow: (seconds, parts of the median run, payload, bytes on the link)}."""
        if "wdelta" in flows:
            self.prepare_wdelta()
        runs = {flow: [] for flow in flows}
        for number in range(rounds):
            for flow in flows:
                if flow == "wdelta" and number:
                    self.reset_wdelta()
                os.sync()  # what others wrote must not burden this one
                before = self.link.bytes()
                parts, payload, result = getattr(self, f"flow_{flow}")()
                on_link = None if before is None else self.link.bytes() - before
                same = filecmp.cmp(result, self.new / WEIGHTS, shallow=False)
                runs[flow].append((sum(parts.values()), parts, payload, on_link, same))
        return {flow: self.middle(found) for flow, found in runs.items()}

    @staticmethod
    def middle(runs):
        total = statistics.median_low([run[0] for run in runs])
        chosen = next(run for run in runs if run[0] == total)
        return (*chosen[:4], all(run[4] for run in runs))


def tell(bench, name, results):
    for flow, (seconds, parts, payload, on_link, same) in results.items():
        each = ", ".join(f"{part} {took:.2f}" for part, took in parts.items())
        wire = "" if on_link is None else f", {on_link:,} on the link"
        note = f"{payload:,} bytes sent and fetched{wire}; {each}; {'verified' if same else 'WRONG BYTES'}"
        bench.score.line(f"{name}: {FLOWS[flow]}, saved to ready", seconds, unit="s", note=note)
        if not same:
            bench.score.over.append(f"{name}: {FLOWS[flow]}: the replica has other bytes")
    for flow in ("wdelta", "full"):
        if flow in results and "xor" in results:
            (seconds, _, payload, *_), (peer_seconds, _, peer_payload, *_) = results[flow], results["xor"]
            bench.score.line(f"{name}: {FLOWS[flow]} / {FLOWS['xor']}, seconds", seconds / peer_seconds)
            bench.score.line(f"{name}: {FLOWS[flow]} / {FLOWS['xor']}, bytes", payload / peer_payload)


def measure(bench, text):
    links, flows = words(text)
    for tool in ("radosgw", "ceph-mon", "ceph-osd", "aws", "curl"):
        if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin") is None:
            fail(f"'--remote' needs {tool}, which is not installed")
    (base, new), made = bench.make("pair", "--config", "--scale", bench.scale)
    size, share = 2 * made["elements"], 100 * made["density"]
    bench.score.title(f"a step of {size:,} bytes, {share:.2f} % changed, through radosgw")
    for name in links:
        rate = LINKS[name]
        if rate and (os.geteuid() != 0 or shutil.which("tc", path=os.environ["PATH"] + ":/usr/sbin") is None):
            print(f"  {name}: skipped, a limited link needs root, and ip and tc (package iproute2)", flush=True)
            continue
        work = bench.work / "remote"
        remove(work)
        rounds = 1 if bench.quick or name == "100mbit" else 3
        with contextlib.ExitStack() as stack:
            stack.callback(remove, work)
            try:
                link = stack.enter_context(Link(rate) if rate else Loopback())
            except subprocess.CalledProcessError as refused:
                print(f"  {name}: skipped, {' '.join(refused.cmd)}: {refused.stderr.strip()}", flush=True)
                continue
            listen = ["--listen", link.address] if link.address else []
            gateway = stack.enter_context(Gateway(work / "rgw", *listen))
            tell(bench, name, Course(bench, link, gateway, base, new, work).race(flows, rounds))
