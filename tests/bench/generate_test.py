#!/usr/bin/env python3
"""generate_test.py GENERATOR: what the bench relies on when it believes the checkpoints that the generator made."""
import array
import collections
import filecmp
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

GENERATOR = ""
SMALL = ("--tensors", 4, "--rows", 256, "--columns", 1024)


def generate(*words):
    done = subprocess.run([GENERATOR, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def tensors_of(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__")
    body = memoryview(content)[8 + length :]
    end = max(entry["data_offsets"][1] for entry in header.values())
    assert end == len(body), f"data end at {end}, file at {len(body)}"
    return {name: array.array("H", body[slice(*entry["data_offsets"])].tobytes()) for name, entry in header.items()}


class GeneratorTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def pair(self, *words):
        base, new = self.folder / "base.safetensors", self.folder / "new.safetensors"
        return generate("--out-base", base, "--out-new", new, *words), base, new

    def test_the_bytes_do_not_depend_on_the_number_of_threads(self):
        for threads in (1, 5):
            generate("--scale", 0.02, "--threads", threads, "--config", "--shards", 3, "--out-base",
                     self.folder / f"{threads}/base", "--out-new", self.folder / f"{threads}/new")
        for side in ("base", "new"):
            compared = filecmp.dircmp(self.folder / "1" / side, self.folder / "5" / side)
            self.assertEqual(len(compared.same_files), 3 + 1 + 4)
            self.assertEqual(compared.diff_files + compared.left_only + compared.right_only, [])

    def test_another_seed_gives_other_weights(self):
        generate("--scale", 0.02, "--out-base", self.folder / "a.safetensors")
        generate("--scale", 0.02, "--seed", 2, "--out-base", self.folder / "b.safetensors")
        self.assertNotEqual((self.folder / "a.safetensors").read_bytes(), (self.folder / "b.safetensors").read_bytes())

    def test_as_many_weights_change_as_it_says_and_as_was_asked_for(self):
        for density in (0.003, 0.03, 0.5):
            made, base, new = self.pair(*SMALL, "--density", density)
            before, after = tensors_of(base), tensors_of(new)
            changed = sum(x != y for name in before for x, y in zip(before[name], after[name]))
            self.assertEqual(changed, made["changed"])
            self.assertEqual(sum(map(len, before.values())), made["elements"])
            self.assertAlmostEqual(changed / made["elements"], density, delta=0.15 * density)

    def test_all_weights_change_when_all_are_asked_for(self):
        made, _, _ = self.pair("--scale", 0.02, "--density", 1)
        self.assertEqual(made["changed"], made["elements"])

    def test_the_chance_of_change_halves_with_each_octave(self):
        _, base, new = self.pair(*SMALL, "--density", 0.05)
        seen, moved = collections.Counter(), collections.Counter()
        before, after = tensors_of(base), tensors_of(new)
        for name in before:
            for x, y in zip(before[name], after[name]):
                seen[x >> 7 & 0xFF] += 1
                moved[x >> 7 & 0xFF] += x != y
        for exponent in range(127 - 10, 127 - 6):
            ratio = moved[exponent + 1] / seen[exponent + 1] / (moved[exponent] / seen[exponent])
            self.assertAlmostEqual(ratio, 0.5, delta=0.08)

    def test_nine_of_ten_changes_are_one_step_and_the_sign_stays(self):
        made, base, new = self.pair(*SMALL, "--density", 0.05)
        before, after = tensors_of(base), tensors_of(new)
        moves = [(x, y) for name in before for x, y in zip(before[name], after[name]) if x != y]
        self.assertTrue(all(x >> 15 == y >> 15 for x, y in moves))
        self.assertAlmostEqual(sum(abs(x - y) == 1 for x, y in moves) / made["changed"], 0.9, delta=0.01)

    def test_most_rows_of_the_embedding_are_idle(self):
        _, base, new = self.pair("--scale", 0.02)
        before, after = (tensors_of(path)["model.embed_tokens.weight"] for path in (base, new))
        rows = [before[at : at + 1024] != after[at : at + 1024] for at in range(0, len(before), 1024)]
        self.assertAlmostEqual(sum(rows) / len(rows), 0.03, delta=0.01)

    def test_a_twin_is_the_same_file_and_another_model_shares_next_to_nothing(self):
        made, base, new = self.pair("--scale", 0.02, "--same")
        self.assertEqual((base.read_bytes(), made["changed"]), (new.read_bytes(), 0))
        made, _, _ = self.pair("--scale", 0.02, "--dense")
        self.assertGreater(made["density"], 0.99)

    def test_a_pair_of_holes_has_its_size_but_takes_no_room(self):
        made, base, new = self.pair("--sparse-file", 5 * 2**30)
        self.assertGreater(made["changed"], 0)
        for path in (base, new):
            self.assertGreaterEqual(path.stat().st_size, 5 * 2**30)
            self.assertLess(512 * path.stat().st_blocks, 2**22)

    def test_every_tensor_is_in_the_shard_that_the_index_names(self):
        made = generate("--tensors", 90, "--shards", 30, "--out-base", self.folder / "many")
        index = json.loads((self.folder / "many/model.safetensors.index.json").read_text())["weight_map"]
        self.assertEqual((made["shards"], len(index), len(set(index.values()))), (30, 90, 30))
        for shard in set(index.values()):
            inside = tensors_of(self.folder / "many" / shard)
            self.assertEqual(set(inside), {name for name, place in index.items() if place == shard})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    GENERATOR = sys.argv.pop(1)
    unittest.main()
