"""wdelta push --format canonical: versions for SGLang and Stitch."""

import os
import re
import shutil
import subprocess

import tiny
import training
from harness import read, test
from training import checkpoint, checkpoints, expect_record, history, home, kept_base, push, url
from canonical_store import (CANONICAL, INDEX, expect_sums, folder_of, index_of, latest, log_of, point_at, publish,
                             published_files, refused, run_of, run_of_deltas)


@test("a version is a folder under updates/ with its index and SHA256SUMS, and latest names the newest one")
def layout(t):
    checkpoints(t, 1, 2)
    publish(t, "run/1")
    assert latest(t) == b"store/weight_v000001"
    files = published_files(t)
    assert set(files) == {"latest"} | {"updates/weight_v000001/" + name for name in (
        "config.json", "m-1.safetensors", "m-2.safetensors", "tokenizer/vocab.txt", INDEX, "SHA256SUMS")}, set(files)
    for name, content in t.tree("run/1").items():
        if name != INDEX and content is not None:
            assert files["updates/weight_v000001/" + name] == content, name
    assert index_of(t, 1)["metadata"] == {"version": "000001", "total_size": 0}
    publish(t, "run/2")
    assert latest(t) == b"store/weight_v000002"
    assert index_of(t, 2)["metadata"] == {"version": "000002", "base_version": "000001", "delta_encoding": "xor",
                                          "compression_format": "zstd", "checksum_format": "xxh3-128"}
    assert set(os.listdir(t.path(folder_of(2)))) == {"model-00000-of-00001.safetensors", INDEX, "SHA256SUMS"}
    assert set(index_of(t, 2)["weight_map"]) == {"embed", "layers.0"}
    for version in (1, 2):
        expect_sums(t, version)
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], check=True,
                       cwd=t.path(folder_of(version)))


@test("the first version is whole, the later ones are deltas, and an unchanged checkpoint sends nothing")
def whole_then_deltas(t):
    checkpoints(t, 1, 2, 3)
    one, two, three = (publish(t, "run/%d" % step) for step in (1, 2, 3))
    assert [value["number"] for value in (one, two, three)] == [1, 2, 3]
    assert one["anchor_bytes"] == one["wire_bytes"] > 6000 and one["delta_bytes"] is None and one["base_state"] is None
    assert two["anchor_bytes"] is None and 0 < two["delta_bytes"] < one["wire_bytes"] / 5, two
    assert two["base_state"] == one["state"] and three["base_state"] == two["state"]
    assert three["state"] == t.good("id", "-q", "run/3").text().strip()
    assert 0 < three["elements_changed"] <= 12 and three["elements_total"] == 3008
    before = t.tree("store")
    value = publish(t, "run/3")
    assert value["already_there"] is True and value["wire_bytes"] == 0 and value["number"] == 3, value
    assert t.tree("store") == before
    for step in (1, 2, 3):
        expect_record(t, step, "run/%d" % step)


@test("--base on an empty store makes version 1 a delta of version 0, the model that the run began with")
def base_of_first(t):
    run_of_deltas(t, 1, 2)
    for version in (1, 2):
        metadata = index_of(t, version)["metadata"]
        assert metadata["base_version"] == "%06d" % (version - 1) and metadata["delta_encoding"] == "xor", metadata
    assert latest(t) == b"store/weight_v000002"
    assert not os.path.exists(t.path(folder_of(1) + "/config.json"))


@test("--run names the run in latest, and a store holds just one run")
def runs(t):
    checkpoints(t, 1, 2)
    publish(t, "run/1", "--run", "run-7.b")
    assert latest(t) == b"run-7.b/weight_v000001"
    refused(t, "run/2", "--run", "store", says="run 'run-7.b'", hint="use another remote")
    publish(t, "run/2")  # without a name it is the one that is there
    assert latest(t) == b"run-7.b/weight_v000002"
    for name in ("a/b", "a b", "a\nb", "r\u00fcn", "x" * 201):
        t.fails(2, "push", "run/2", url(t, "new"), *CANONICAL, "--run", name, says="cannot be the name of a run")
    assert not os.path.exists(t.path("new"))


@test("--encoding overwrite and --checksum adler32 are what the index says, and what a pull gets is the same")
def encodings(t):
    checkpoints(t, 1, 2, 3)
    for step in (1, 2, 3):
        publish(t, "run/%d" % step, *(["--encoding", "overwrite", "--checksum", "adler32"] if step < 3 else []))
    two, three = index_of(t, 2)["metadata"], index_of(t, 3)["metadata"]
    assert (two["delta_encoding"], two["checksum_format"]) == ("overwrite", "adler32"), two
    assert (three["delta_encoding"], three["checksum_format"]) == ("xor", "xxh3-128"), three
    shard = read(t.path(folder_of(2) + "/model-00000-of-00001.safetensors"))
    assert re.search(rb'"embed":"[0-9a-f]{8}"', shard), shard[:200]
    for step in (2, 3):
        expect_record(t, step, "run/%d" % step)


@test("without a base --anchor sends a whole version, and with one it changes nothing")
def anchor(t):
    run_of(t, 1)
    checkpoints(t, 2, 3)
    checkpoint(t, "elsewhere/2", 2)
    checkpoint(t, "elsewhere/3", 3)
    refused(t, "elsewhere/2", says="000001", hint="--anchor")
    value = publish(t, "elsewhere/2", "--anchor")
    assert value["number"] == 2 and value["anchor_bytes"] > 6000, value
    assert index_of(t, 2)["metadata"] == {"version": "000002", "total_size": 0}
    expect_sums(t, 2)
    assert publish(t, "elsewhere/3", "--anchor")["delta_bytes"]
    expect_record(t, 2, "run/2")
    expect_record(t, 3, "run/3")


@test("--anchor-every 3 makes every third version a whole one")
def anchor_every(t):
    checkpoints(t, *range(1, 9))
    whole = [step for step in range(1, 9)
             if publish(t, "run/%d" % step, "--anchor-every", "3")["anchor_bytes"] is not None]
    assert whole == [1, 4, 7], whole
    assert index_of(t, 5)["metadata"]["base_version"] == "000004"
    for step in (3, 4, 8):
        expect_record(t, step, "run/%d" % step)


@test("what does not go with --format canonical, or only with it, is exit 2 and touches nothing")
def usage(t):
    run_of(t, 1)
    checkpoints(t, 2)
    for options in (["--step", "1"], ["--tag", "best"], ["--mirror", "m"], ["--rebase"], ["--level", "3"]):
        t.fails(2, "push", "run/2", url(t), *CANONICAL, *options, says=options[0])
    for options in (["--encoding", "xor"], ["--checksum", "adler32"], ["--run", "seven"]):
        t.fails(2, "push", "run/2", url(t), *options, says="--format canonical")
        t.fails(2, "push", "run/2", url(t), "--format", "wdp", *options, says="--format canonical")
    for options in (["--encoding", "zip"], ["--checksum", "md5"], ["--format", "tar"]):
        t.fails(2, "push", "run/2", url(t), *CANONICAL, *options, says=options[1])
    t.fails(2, "push", "run/2", url(t, revision=1), *CANONICAL)
    t.good("pack", "run/1", "run/2", "-o", "d.wdp")
    publish(t, "run/2")
    for delta in ("d.wdp", folder_of(2)):
        t.fails(2, "push", delta, url(t), *CANONICAL, says="takes a checkpoint")


@test("a kept base that was overwritten where it lay is exit 5, and --anchor goes on with a whole version")
def overwritten_base(t):
    run_of(t, 1, 2)
    checkpoint(t, "run/2", 5)  # the same files, written anew in place
    checkpoints(t, 3, 4)
    error = refused(t, "run/3", says="is not what was pushed as version 000002", hint="--anchor")
    assert error["expected"] != error["found"]
    value = publish(t, "run/3", "--anchor")
    assert value["number"] == 3 and value["anchor_bytes"], value
    assert publish(t, "run/4")["delta_bytes"]
    for step in (3, 4):
        expect_record(t, step, "run/%d" % step)


@test("--keep-base copy outlives a source that is overwritten in place, and off needs --base the next time")
def keeping(t):
    checkpoint(t, "run/now", 1)
    publish(t, "run/now", "--keep-base", "copy")
    assert os.stat(kept_base(t) + "/m-1.safetensors").st_nlink == 1
    checkpoint(t, "run/now", 2)
    assert publish(t, "run/now", "--keep-base", "copy")["delta_bytes"]
    checkpoint(t, "run/3", 3)
    assert publish(t, "run/3", "--keep-base", "off")["delta_bytes"]
    assert not [name for name in os.listdir(home(t)) if name.startswith("base")]
    checkpoint(t, "run/4", 4)
    refused(t, "run/4", says="has kept no base", hint="--base")
    publish(t, "run/4", "--base", "run/3")
    for step, source in ((2, "run/now"), (3, "run/3"), (4, "run/4")):
        expect_record(t, step, source)


@test("after somebody else's version a push is exit 5, and --base goes on from theirs")
def somebody_else(t):
    for who, steps in (("first", (1, 3)), ("second", (2,))):
        for step in steps:
            checkpoint(t, "%s/%d" % (who, step), step)
    publish(t, "first/1")
    publish(t, "second/2", "--base", "first/1")
    error = refused(t, "first/3", says="from another pusher", hint="--base")
    assert (error["expected"], error["found"]) == ("store/weight_v000001", "store/weight_v000002"), error
    assert publish(t, "first/3", "--base", "second/2")["delta_bytes"]
    for step, source in ((2, "second/2"), (3, "first/3")):
        expect_record(t, step, source)


@test("a base that is not the newest version is exit 5, as far as that is known")
def wrong_base(t):
    run_of(t, 1, 2)
    checkpoints(t, 3)
    refused(t, "run/3", "--base", "run/1", says="'run/1' is not what was pushed", hint="newest version")
    publish(t, "run/3", "--base", "run/2")
    expect_record(t, 3, "run/3")


@test("what another push has left of the next version is exit 5, and --single-writer clears it away")
def leftovers_of_others(t):
    run_of(t, 1)
    checkpoints(t, 2)
    tiny.write_file(t.path(folder_of(2) + "/model-00000-of-00009.safetensors"), b"half")
    refused(t, "run/2", says="files of version 000002", hint="--single-writer")
    refused(t, "run/2", says="files of version 000002")  # and does not take them for its own the second time
    publish(t, "run/2", "--single-writer")
    expect_sums(t, 2)
    expect_record(t, 2, "run/2")


def killed_at(t, words, chooses):
    """Kills the push as the chosen one of its calls begins: chooses(calls that name the pointer, all calls)."""
    kills = training.Kills(t, words)
    try:
        kills.reset()  # so that both runs find a store that was copied
        calls = kills.points(10 ** 6)
        moves = [i for i, call in enumerate(calls) if re.search(r'"latest"', call[2])]
        assert moves, calls
        call, number, _ = calls[chooses(moves)]
        kills.reset()
        outcome = training.traced(t, kills.words, "-e", "trace=" + call, "-o", "/dev/null",
                                  "-e", "inject=%s:signal=KILL:when=%d" % (call, number))
        assert outcome.returncode == -9, outcome.stderr.decode()
    finally:
        shutil.rmtree(kills.aside)


@test("what a push left that was killed before the pointer moved is cleared away by the next one, whatever it sends")
def own_leftovers(t):
    run_of(t, 1)
    checkpoints(t, 2, 3, 4)
    killed_at(t, ["push", "run/2", url(t), *CANONICAL], lambda moves: moves[0])
    assert latest(t) == b"store/weight_v000001" and os.path.exists(t.path(folder_of(2) + "/" + INDEX))
    value = publish(t, "run/3", "--keep-base", "off")
    assert value["number"] == 2 and value["delta_bytes"], value
    expect_sums(t, 2)
    expect_record(t, 2, "run/3")
    refused(t, "run/4", says="has kept no base")  # and not the one that the killed push had put aside


@test("a push that was killed after the pointer moved is finished by the next one, which goes on with a delta")
def after_the_pointer(t):
    run_of(t, 1)
    checkpoints(t, 2, 3)
    killed_at(t, ["push", "run/2", url(t), *CANONICAL], lambda moves: moves[-1] + 1)
    assert latest(t) == b"store/weight_v000002"
    value = publish(t, "run/3")
    assert any("interrupted push was finished: version 000002" in note for note in value["notes"]), value["notes"]
    assert value["number"] == 3 and value["delta_bytes"], value
    for step in (2, 3):
        expect_record(t, step, "run/%d" % step)


@test("a push that is killed at any point leaves the old version or the new one, and the next one goes on")
def killed(t):
    run_of(t, 1)
    checkpoints(t, 2, 3)
    for where in training.Kills(t, ["push", "run/2", url(t), *CANONICAL]).each(14):
        expect_record(t, "HEAD", "run/%d" % int(latest(t)[-6:]))
        assert publish(t, "run/2")["number"] == 2, where
        value = publish(t, "run/3")
        assert value["number"] == 3 and value["delta_bytes"], (where, value)
        for step in (2, 3):
            expect_sums(t, step)
            expect_record(t, step, "run/%d" % step)


@test("a source may be overwritten as soon as --released appears, and the next push still sends the right delta")
def released(t):
    for step in (1, 2, 3):
        checkpoint(t, "run/now", step)
        checkpoint(t, "right/%d" % step, step)
        words = ["push", "--json", "run/now", url(t), *CANONICAL, "--ready", "go", "--released", "done"]
        with t.popen(*words) as process:
            tiny.write_file(t.path("go"), b"")
            while not os.path.exists(t.path("done")):
                assert process.poll() in (None, 0), process.stderr.read()
            checkpoint(t, "run/now", 9)  # in place, so that a hard link would see it
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
        os.unlink(t.path("go")), os.unlink(t.path("done"))
    assert "delta_encoding" in index_of(t, 3)["metadata"]
    for step in (1, 2, 3):
        expect_record(t, step, "right/%d" % step)


@test("a native push to versions and versions pushed to a native history are exit 5, and both stay as they are")
def two_kinds(t):
    run_of(t, 1)
    checkpoints(t, 2)
    before = published_files(t)
    error = push(t, "run/2", code=5)["error"]
    assert "versions for other systems" in error["message"] and "--format canonical" in error["hint"], error
    assert published_files(t) == before and not os.path.exists(t.path("store/records"))
    history(t, 1, store="native")
    refused(t, "run/2", store="native", says="holds a history of wdelta", hint="--format canonical")
    assert push(t, "run/2", store="native")["number"] == 2


@test("log of a store of versions is exit 3, and says what is there")
def log(t):
    run_of(t, 1)
    outcome = log_of(t)
    assert outcome.code == 3 and "versions for other systems" in outcome.talk(), outcome.talk()


@test("a pointer that cannot be read is exit 4, and nothing is pushed past it")
def unreadable_pointer(t):
    run_of(t, 1)
    checkpoints(t, 2)
    for text in ("", "\n", "weight_v", "store/weight_vx", "store/weight_v000001/", "a b/weight_v000001"):
        point_at(t, text)
        refused(t, "run/2", code=4, says="names no version")
    point_at(t, " store/weight_v000001\n")
    assert publish(t, "run/2")["number"] == 2
    assert latest(t) == b"store/weight_v000002"


@test("a file whose name no store takes is exit 10 before anything is sent, and --exclude leaves it out")
def odd_names(t):
    checkpoints(t, 1)
    for name in ("chat template.jinja", "caf\u00e9.txt", "a+b.json"):
        tiny.write_file(t.path("run/1/" + name), "x")
        refused(t, "run/1", code=10, says=name, hint="--exclude")
        assert not published_files(t)
        publish(t, "run/1", "--exclude", name, store=name[0])
        os.unlink(t.path("run/1/" + name))
        expect_record(t, 1, "run/1", store=name[0])


@test("pushers that begin a run at the same time do not mix their files: one at most has published, the others are 5")
def many_pushers(t):
    for who in range(4):
        checkpoint(t, "p%d/1" % who, who + 1)
    processes = [t.popen("push", "-q", "p%d/1" % who, url(t), *CANONICAL) for who in range(4)]
    codes = []
    for process in processes:
        with process:
            _, err = process.communicate(timeout=60)
            assert process.returncode in (0, 5), err
            codes.append(process.returncode)
    assert codes.count(0) <= 1, codes
    if 0 not in codes:  # each was in another's way
        publish(t, "p0/1", "--single-writer")
    expect_sums(t, 1)
    expect_record(t, 1, "p%d/1" % (codes.index(0) if 0 in codes else 0))


@test("a source that is missing or is no checkpoint fails, and no store is made")
def no_source(t):
    publish(t, "nothing", code=3)
    tiny.write_file(t.path("run/empty/readme.txt"), "x")
    publish(t, "run/empty", code=3)
    assert not published_files(t)
