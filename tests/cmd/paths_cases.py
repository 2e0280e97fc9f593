"""Paths that cannot be followed, read or made: each is an error with a reason, whatever command meets it."""

import os
import shutil

import tiny
from harness import Skipped, test
from training import checkpoints, push, url


def loop(t, name="loop"):
    os.symlink(os.path.basename(name), t.path(name))


@test("a link that leads back to itself is exit 10, wherever it is named")
def links_in_a_circle(t):
    t.pair()
    checkpoints(t, 1)
    push(t, "run/1")
    loop(t)
    for words in (["push", "loop", "file://" + t.path("x")], ["diff", "a", "loop"], ["diff", "loop", "a"],
                  ["verify", "loop"], ["id", "loop"], ["cat", "loop"], ["pack", "--anchor", "loop", "-o", "x.wdp"],
                  ["stats", "a", "loop"], ["pull", url(t), "loop"], ["pull", url(t), "loop/below"]):
        error = t.json(*words, code=10)["error"]
        assert "Too many levels of symbolic links" in error["message"], (words, error)
        assert "leads back to itself" in error["hint"], (words, error)


@test("a store that is a link that leads back to itself, or that lies below one, is exit 10")
def store_in_a_circle(t):
    checkpoints(t, 1)
    loop(t)
    for store in ("loop", "loop/store"):
        error = t.json("push", "run/1", "file://" + t.path(store), code=10)["error"]
        assert "Too many levels" in error["message"] and "unexpected" not in error["message"], error
        error = t.json("pull", "file://" + t.path(store), "into", code=10)["error"]
        assert "unexpected" not in error["message"], error


@test("a pull into a folder whose parts are links that lead nowhere, or files, says what is in the way")
def parts_of_a_replica(t):
    checkpoints(t, 1)
    push(t, "run/1")
    for part in ("versions", ".wdelta", ".wdelta/packs", ".wdelta/state.json", ".wdelta/lock"):
        os.makedirs(os.path.dirname(t.path("into/" + part)), exist_ok=True)
        loop(t, "into/" + part)
        value = t.json("pull", url(t), "into", code=10)
        assert "Too many levels" in value["error"]["message"], value["error"]
        shutil.rmtree(t.path("into"))
    t.good("pull", url(t), "into")
    os.remove(t.path("into/current"))
    tiny.write_file(t.path("into/current"), b"a file")
    error = t.json("pull", url(t), "into", code=10)["error"]
    assert "not a link that wdelta made" in error["message"], error


@test("names that are too long are exit 10, with the limits in the hint")
def long_names(t):
    t.pair()
    checkpoints(t, 1)
    push(t, "run/1")
    name, path = "x" * 300, "d/" * 2100 + "x"
    for words in (["push", name, "file://" + t.path("x")], ["push", "run/1", "file://" + t.path(name)],
                  ["diff", "a", name], ["diff", "a", path], ["verify", path], ["pull", url(t), name],
                  ["pull", url(t), path], ["pack", "a", "b", "-o", name], ["apply", "a", name, "-o", "out"]):
        error = t.json(*words, code=10)["error"]
        assert "File name too long" in error["message"] and "255 bytes" in error["hint"], (words, error)


@test("names with odd bytes are ordinary names")
def odd_names(t):
    odd = b"o\xff\x01\n d"
    t.pair()
    folder = os.path.join(os.fsencode(t.folder), odd)
    os.rename(t.path("a"), folder)
    os.mkdir(os.path.join(folder, odd))
    with open(os.path.join(folder, odd, odd + b".txt"), "wb") as file:
        file.write(b"a companion whose path is not UTF-8")
    t.good("push", os.fsdecode(odd), url(t))
    t.good("pull", url(t), os.fsdecode(odd + b"-into"))
    assert os.path.exists(os.path.join(os.fsencode(t.folder), odd + b"-into", b"current"))
    t.good("verify", os.fsdecode(odd + b"-into"))


@test("folders that may not be read or entered are exit 8, and say which")
def unreadable(t):
    t.pair()
    checkpoints(t, 1)
    push(t, "run/1")
    shutil.copytree(t.path("a"), t.path("c"))
    os.makedirs(t.path("c/deep"))
    os.makedirs(t.path("into/versions"))
    os.makedirs(t.path("into/.wdelta/packs"))
    os.makedirs(t.path("closed/store"))
    everybody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    for folder, _, _ in os.walk(t.folder):
        os.chmod(folder, 0o777)
    try:
        if t.run("--version", **everybody).code != 0:
            raise Skipped("another user cannot run the program")
    except PermissionError:
        raise Skipped("another user cannot run the program")
    for closed in ("c/deep", "into/versions", "closed"):
        os.chmod(t.path(closed), 0)
    try:
        for words, named in ((["diff", "a", "c"], "c/deep"), (["push", "c", "file://" + t.path("x")], "c/deep"),
                             (["pull", url(t), "into"], "into/versions"),
                             (["push", "b", "file://" + t.path("closed/store")], "closed/store"),
                             (["pull", "file://" + t.path("closed/store"), "other"], "closed/store"),
                             (["verify", "closed/x"], "closed/x"), (["pull", url(t), "closed/x"], "closed/x")):
            error = t.json(*words, code=8, **everybody)["error"]
            assert named in error["message"] and "Permission denied" in error["message"], (words, error)
    finally:
        for closed in ("c/deep", "into/versions", "closed"):
            os.chmod(t.path(closed), 0o777)
