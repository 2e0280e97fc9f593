"""Recorded folders: how one becomes a file of testdata/recorded, and a folder again, at another path.

A recorded folder holds what Git does not keep: empty folders, hard links, times. So each is a tar file.

What a pusher and a replica remember has the absolute URL of their remote in it. That is all that has to change when a
recorded folder is unpacked elsewhere, and it is plain text: `move` writes the new path in the place of the old one into
the JSON files below .wdelta, and gives the home of a pusher the name that wdelta-push(1) says it has: push-HASH, the
first twelve digits of the SHA-256 of the remote's URL. Nothing else is touched. `holds_path_elsewhere` proves, when a
folder is recorded, that the path stands nowhere else.
"""

import hashlib
import json
import os
import tarfile

RECORDED = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/recorded"))
RECORDED_AT = "/tmp/wdelta-recorded"  # where record.py works
LONG_AGO = 1577836800  # 2020-01-01: what a recorded store says of its objects, so that none is younger than a test


def set_times(folder):
    """Everything in a store is from long ago. A replica remembers the time of a record, so this comes before a pull."""
    for parent, folders, files in os.walk(folder):
        for name in files + folders:
            os.utime(os.path.join(parent, name), (LONG_AGO, LONG_AGO), follow_symlinks=False)


def save(folder, path):
    """Writes all that is in the folder to a tar.xz file, without owners. Stores hold the same bytes again and again, far
    from each other, which only xz makes good use of."""
    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = int(member.mtime)
        return member

    with tarfile.open(path, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(os.listdir(folder)):
            archive.add(os.path.join(folder, name), name, filter=plain)


def unpack(name, folder, recorded=RECORDED):
    """Unpacks a recorded folder at another path."""
    with tarfile.open(os.path.join(recorded, name + ".tar.xz")) as archive:
        archive.extraction_filter = lambda member, _: member  # it is ours: links, times and all
        archive.extractall(folder)
    move(folder, RECORDED_AT, folder)


def names(name):
    """The paths in a recorded folder."""
    with tarfile.open(os.path.join(RECORDED, name + ".tar.xz")) as archive:
        return archive.getnames()


def is_state(path):
    return path.endswith(".json") and "/.wdelta/" in path


def files_below(folder):
    for parent, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                yield path


def holds_path_elsewhere(folder):
    """Files that have the folder's path in them and that `move` would leave alone."""
    def content(path):
        with open(path, "rb") as file:
            return file.read()

    return [path for path in files_below(folder) if not is_state(path) and folder.encode() in content(path)]


def home_name(url):
    return "push-" + hashlib.sha256(url.encode()).hexdigest()[:12]


def move(folder, old, new):
    """What lies in `folder` was recorded when that was at `old`, and is at `new` now."""
    for path in [path for path in files_below(folder) if is_state(path)]:
        with open(path, "r+b") as file:
            content = file.read()
            if old.encode() not in content:
                continue
            file.seek(0)
            file.truncate()
            file.write(content.replace(old.encode(), new.encode()))
    for parent, folders, _ in list(os.walk(folder)):
        for name in folders if os.path.basename(parent) == ".wdelta" else ():
            if name.startswith("push-"):
                rename_home(os.path.join(parent, name), old, new)


def rename_home(path, old, new):
    with open(os.path.join(path, "state.json")) as file:
        remote = json.load(file)["remote"]
    recorded = home_name(remote.replace(new, old))
    assert os.path.basename(path) == recorded, "%s should be called %s" % (path, recorded)
    os.rename(path, os.path.join(os.path.dirname(path), home_name(remote)))


def digest(tree):
    """A digest of files as harness.Scratch.tree gives them: paths and contents."""
    whole = hashlib.sha256()
    for path, content in sorted(tree.items()):
        content = b"" if content is None else content.encode() if isinstance(content, str) else content
        whole.update(b"%s\n%d\n" % (path.encode(), len(content)) + content)
    return whole.hexdigest()
