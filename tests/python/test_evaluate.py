# SPDX-License-Identifier: GPL-2.0-only
"""Program.evaluate() and Pool.evaluate(): figures of a set, those of vtactl program run --images."""

import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import images
import test_compile
import vtadev
from vtadev import _evaluate

VTACTL = pathlib.Path("build/tools/vtactl").absolute()
COUNT = 24


@unittest.skipUnless(test_compile.HAVE, "there is no compiler")
class Evaluate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.set = pathlib.Path(cls.dir.name, "set")
        cls.set.mkdir()
        rng = random.Random(5)
        for i in range(COUNT):
            most = rng.randint(1, 256)
            pixels = bytes(rng.randrange(most) for _ in range(3 * 16 * 16))
            (cls.set / f"{i:02}.png").write_bytes(test_compile.png(pixels, 16, 16))
        cls.program = vtadev.compile(test_compile.network(), calibrate=str(cls.set), scale=1,
                                     labels=[f"thing {i}" for i in range(10)])
        cls.addClassCleanup(cls.program.close)
        # Of rank i % 3, so that figures are neither all nor none.
        read, _ = _evaluate._labelled(cls.program, str(cls.set), cls.file([0] * COUNT),
                                      _evaluate._Classes(cls.program))
        cls.images = list(read)
        scores = [memoryview(cls.program(image)).cast("B").cast("f").tolist() for image in cls.images]
        cls.labels = [sorted(range(10), key=lambda c, s=s: (-s[c], c))[i % 3]
                      for i, s in enumerate(scores)]

    @classmethod
    def file(cls, labels):
        path = pathlib.Path(cls.dir.name, "labels.txt")
        path.write_text("".join(f"{i:02}.png\tthing {label}\n" for i, label in enumerate(labels)))
        return path

    def test_figures_are_those_of_the_command(self):
        path = self.file(self.labels)
        self.program.save(f"{self.dir.name}/net.vtap")
        out = json.loads(subprocess.run(
            [VTACTL, "program", "run", f"{self.dir.name}/net.vtap", "--images", self.set, "--labels",
             path, "--top=2", "--json"], check=True, capture_output=True).stdout)
        wrong = {(w["class"], w["taken_for"]): w["images"] for w in out["wrong"]}
        self.assertGreater(len(wrong), 1)
        with vtadev.Pool(self.program._image.bytes, ["soft", "soft"]) as pool:
            for runner in (self.program, pool):
                e = runner.evaluate(self.set, path, top=2)
                self.assertEqual((e.images, e.right, e.right_top, e.k),
                                 (COUNT, out["top1"], out["topk"], 2))
                self.assertEqual((e.images, e.right, e.right_top), (COUNT, 8, 16))
                self.assertEqual(f"{e.outputs_crc32:08x}", out["outputs_crc32"])
                self.assertEqual(list(e.wrong.items()), list(wrong.items()))
                self.assertEqual({i: n for i, n in enumerate(e.of) if n},
                                 {c["class"]: c["images"] for c in out["classes"]})
                self.assertEqual((e.top1, e.topk), (8 / 24, 16 / 24))

    def test_arrays_have_as_many_labels(self):
        e = self.program.evaluate(self.images, self.labels)
        self.assertEqual(e, self.program.evaluate(iter(self.images), map(str, self.labels)))
        self.assertEqual(e.right, 8)
        for given in (self.labels[1:], [*self.labels, 0]):
            for value in (self.images, iter(self.images)):
                with self.assertRaisesRegex(ValueError, "images"):
                    self.program.evaluate(value, given)

    def test_folders_are_classes(self):
        folders = pathlib.Path(self.dir.name, "folders")
        for i, label in enumerate(self.labels):
            (folders / f"thing {label}").mkdir(parents=True, exist_ok=True)
            os.link(self.set / f"{i:02}.png", folders / f"thing {label}/{i:02}.png")
        e = self.program.evaluate(folders)
        self.assertEqual((e.images, e.right), (COUNT, 8))
        (folders / "horse").mkdir()
        with self.assertRaisesRegex(ValueError, "horse: 'horse' is no name of a class"):
            self.program.evaluate(folders)

    def test_progress_is_told_and_ends_it(self):
        told = []
        self.program.evaluate(self.images, self.labels, progress=lambda *done: told.append(done))
        self.assertEqual(told, [(i + 1, COUNT) for i in range(COUNT)])

        def stop(done, _):
            if done == 3:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.program.evaluate(self.images, self.labels, progress=stop)

    def test_bad_sets_are_refused_before_they_run(self):
        path = pathlib.Path(self.dir.name, "bad.txt")
        for text, sentence in (
                ("", "names no image"), ("00.png\n", "line 1: no class behind"),
                ("00.png 10\n", "'10' is no name of a class of the program, and no number from 0 to 9"),
                ("00.png 1\n00.png 2\n", "line 2: names .*00.png twice")):
            path.write_text(text)
            with self.assertRaisesRegex(ValueError, sentence):
                self.program.evaluate(self.set, path)
        path.write_text("00.png 1\nnosuch.png 2\n")
        with self.assertRaisesRegex(FileNotFoundError, "nosuch.png"):
            self.program.evaluate(self.set, path)
        for args in (([], []), (self.images, [10] * COUNT), (self.images, ["horse"] * COUNT)):
            with self.assertRaises(ValueError):
                self.program.evaluate(*args)
        for args in ((self.images,), (self.images, path), (self.images, [0.5] * COUNT),
                     (self.set, [1] * COUNT)):
            with self.assertRaises(TypeError):
                self.program.evaluate(*args)
        with self.assertRaises(ValueError):
            self.program.evaluate(self.images, self.labels, top=0)

    def test_other_programs_are_refused(self):
        for tensors in ([("x", "b", (1,))], [("x", "b", (4,)), ("y", "b", (4,))]):
            with vtadev.Program(images.echo(tensors)) as program:
                with self.assertRaisesRegex(TypeError, "evaluate"):
                    program.evaluate([b"\0"], [0])


class Ranks(unittest.TestCase):
    def test_equal_values_and_nan(self):
        nan = math.nan
        for values, label, wanted in (([1, 2, 2], 1, (1, 0)), ([1, 2, 2], 2, (1, 1)),
                                      ([nan, 1, 0], 1, (1, 0)), ([nan, 1, 0], 2, (1, 1)),
                                      ([nan, 1, 0], 0, (1, 3)), ([nan, nan], 1, (None, 2)),
                                      ([-math.inf, nan], 0, (0, 0))):
            self.assertEqual(_evaluate._ranked(values, label), wanted)
