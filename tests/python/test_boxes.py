# SPDX-License-Identifier: GPL-2.0-only
"""Program.boxes(): a detector's outputs become boxes on its picture."""

import array
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import onnx_file
import test_compile
import vtadev
from vtadev import _compile

VTACTL = pathlib.Path("build/tools/vtactl").absolute()
SIDE = 16


def detector(boxes, scores, classes=None, columns=4):
    """A network whose outputs on a black picture are these numbers: biases of dense layers. A single
    row, which looks like the classes of a picture, gets a second one with a score of 0."""
    if len(boxes) == columns:
        boxes = [*boxes, *[0] * columns]
        scores, classes = scores and [*scores, 0], classes and [*classes, 0]
    node, w = onnx_file.node, onnx_file.tensor
    nodes = [node("GlobalAveragePool", ["x"], ["mean"]), node("Flatten", ["mean"], ["flat"])]
    constants, outputs = [], []
    for name, values, shape in (("boxes", boxes, (len(boxes) // columns, columns)),
                                ("scores", scores, (len(scores or ()),)),
                                ("class_ids", classes, (len(classes or ()),))):
        if values is None:
            continue
        size = len(values)
        constants += [w(f"{name}_w", (size, 3), [0.001] * (3 * size)), w(f"{name}_b", (size,), values),
                      onnx_file.field(1, len(shape)) + onnx_file.field(2, 7) +
                      onnx_file.field(8, f"{name}_s") +
                      onnx_file.field(9, struct.pack(f"<{len(shape)}q", *shape))]
        nodes += [node("Gemm", ["flat", f"{name}_w", f"{name}_b"], [f"{name}_d"], transB=1),
                  node("Reshape", [f"{name}_d", f"{name}_s"], [name])]
        outputs.append(onnx_file.value(name, shape))
    return onnx_file.model(nodes, constants, [onnx_file.value("x", (1, 3, SIDE, SIDE))], outputs)


@unittest.skipUnless(test_compile.HAVE, "there is no compiler")
class Boxes(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.picture = os.path.join(self.dir.name, "wide.png")
        pathlib.Path(self.picture).write_bytes(test_compile.png(bytes(3 * 32 * 16), 32, 16))

    def program(self, *detector_of, fit="centre", labels=("cat", "dog"), **options):
        program = vtadev.compile(detector(*detector_of, **options), no_card=True, fit=fit,
                                 labels=labels, background=0)
        self.addCleanup(program.close)
        return program

    def near(self, box, wanted):
        for got, number in zip(box, wanted):
            self.assertAlmostEqual(got, number, places=3)

    def test_rows_of_three_outputs_are_sorted_and_named(self):
        program = self.program([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 5])
        first, second = program.boxes(self.picture)
        # The picture is half as large in the input, with 4 rows above and below.
        self.near(first, (8, 4, 16, 12, 0.9, 5))
        self.near(second, (0, 0, 32, 16, 0.5, 1))
        self.assertEqual((first.label, second.label), ("", "dog"))

    def test_small_scores_are_left_out(self):
        program = self.program([0, 4, 16, 12, 4, 6, 8, 10], [0.2, 0.9], [1, 0])
        self.assertEqual(len(program.boxes(self.picture)), 1)
        self.assertEqual(len(program.boxes(self.picture, min_score=0.1)), 2)

    def test_one_output_has_scores_and_classes(self):
        program = self.program([0, 4, 16, 12, 0.75, 1], None, columns=6)
        (box,) = program.boxes(self.picture)
        self.near(box, (0, 0, 32, 16, 0.75, 1))

    def test_every_format_describes_the_same_box(self):
        for format, numbers in (("xyxy,pixels", (4, 6, 8, 10)), ("yxyx", (6, 4, 10, 8)),
                                ("xywh", (4, 6, 4, 4)), ("cxcywh", (6, 8, 4, 4)),
                                ("normalised", (0.25, 0.375, 0.5, 0.625)),
                                ("cxcywh,normalised", (0.375, 0.5, 0.25, 0.25))):
            (box,) = self.program(list(numbers), [0.9]).boxes(self.picture, format=format)
            self.near(box, (8, 4, 16, 12, 0.9, 0))

    def test_every_fit_is_mapped_back(self):
        for fit, wanted in (("stretch", (8, 6, 16, 10)), ("top-left", (8, 12, 16, 16)),
                            ("centre", (8, 4, 16, 12)), ("crop", (12, 6, 16, 10))):
            (box,) = self.program([4, 6, 8, 10], [0.9], fit=fit).boxes(self.picture)
            self.near(box, (*wanted, 0.9))

    def test_unknown_formats_are_refused(self):
        program = self.program([4, 6, 8, 10], [0.9])
        for wrong in ("", "xy", "xyxy,", "pixel"):
            with self.assertRaisesRegex(ValueError, "format is xyxy"):
                program.boxes(self.picture, format=wrong)

    def test_a_classifier_has_no_boxes(self):
        for outputs in (([1, 2, 3], [0.5]), ([4, 6, 8, 10], None)):
            program = self.program(*outputs, columns=len(outputs[0]))
            with self.assertRaisesRegex(ValueError, "no output"):
                program.boxes(self.picture)

    def test_a_program_without_pictures_says_so(self):
        with vtadev.compile(detector([4, 6, 8, 10], [0.9]), no_card=True) as program:
            with self.assertRaisesRegex(ValueError, "how a picture becomes"):
                program.boxes(self.picture)

    def test_hostile_numbers_are_no_boxes(self):
        image = self.program([4, 6, 8, 10], [0.9])._image.bytes
        nan, inf = math.nan, math.inf
        wrong = [(nan, 0, 1, 1), (0, inf, 1, 1), (-inf, -inf, inf, inf), (8, 8, 4, 4), (8, 8, 8, 9),
                 (40, 4, 50, 8), (-9, -9, -1, -1)]
        for row in wrong:
            self.assertEqual(self.take(image, row, 0.9, 0), [], row)
        for score, number in ((nan, 0), (inf, 0), (-inf, 0), (0.9, nan), (0.9, -1), (0.9, 0.5),
                              (0.9, 1e30), (0.9, inf)):
            self.assertEqual(self.take(image, (4, 6, 8, 10), score, number), [], (score, number))
        # Beyond the picture, a box is cut.
        for far in (100, 1e9, 3e38):
            self.assertEqual(self.take(image, (-far, -far, far, far), 0.9, 2),
                             [(0, 0, 32, 16, struct.unpack("f", struct.pack("f", 0.9))[0], 2)])

    def take(self, image, row, score, number):
        floats = [array.array("f", values).tobytes() for values in (row, [score], [number])]
        return _compile._compiler().boxes(image, 32, 16, *floats, None, 0.3)

    def test_unequal_outputs_are_refused(self):
        image = self.program([4, 6, 8, 10], [0.9])._image.bytes
        four, one = bytes(16), bytes(4)
        for boxes, scores, classes in ((four, bytes(8), one), (four, one, b""), (bytes(12), one, one),
                                       (bytes(20), None, None)):
            with self.assertRaises(ValueError):
                _compile._compiler().boxes(image, 32, 16, boxes, scores, classes, None, 0.3)

    def test_boxes_are_drawn(self):
        to = os.path.join(self.dir.name, "drawn.png")
        pathlib.Path(self.picture).write_bytes(test_compile.png(bytes(3 * 64 * 64), 64, 64))
        program = self.program([4, 8, 12, 14], [0.9], [1])
        program.boxes(self.picture, draw=to)    # from 16, 32 to 48, 56
        drawn = self.read(to, 64, 64)
        for at, seen in (((20, 55), True), ((16, 40), True), ((47, 40), True), ((20, 30), True),
                         ((30, 45), False), ((15, 55), False), ((20, 56), False), ((63, 0), False)):
            self.assertEqual(any(drawn[c][at[1]][at[0]] for c in range(3)), seen, at)

    def read(self, path, width, height):
        """A picture's bytes: [channel][row][column]."""
        values = _compile.Pictures(None, None, None, None, "nearest", None).read(
            path, (1, 3, height, width))
        return memoryview(values).cast("f", (3, height, width)).tolist()

    def test_any_text_and_box_can_be_drawn(self):
        draw = _compile._compiler().draw
        texts = ["", "é—漢字 %$#", "long " * 100, "\x00", "ok"]
        boxes = [(0, 0, 32, 16, 0.5, n) for n in (0, 7, 1 << 20)] + [(31, 15, 32, 16, 1, 1),
                                                                    (0.25, 0.25, 0.5, 0.5, 1, 1)]
        self.assertEqual(draw(self.picture, boxes, texts)[:4], b"\x89PNG")
        for wrong in ((-1, 0, 5, 5), (0, 0, 33, 5), (5, 0, 4, 5), (math.nan, 0, 1, 1),
                      (0, 0, math.inf, 1)):
            with self.assertRaises(ValueError):
                draw(self.picture, [(*wrong, 0.5, 0)], ["x"])
        with self.assertRaises(ValueError):
            draw(self.picture, boxes, texts[:2])

    def vtactl(self, program, *options, status=0):
        path = os.path.join(self.dir.name, "detector.vtap")
        program.save(path)
        done = subprocess.run([VTACTL, "program", "run", path, "--image", self.picture, *options],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_vtactl_finds_and_draws_the_same(self):
        program = self.program([0, 4, 16, 12, 4, 6, 8, 10, 9, 9, 1, 1], [0.5, 0.9, 0.8], [1, 0, 0])
        ours, theirs = (os.path.join(self.dir.name, name) for name in ("a.png", "b.png"))
        boxes = program.boxes(self.picture, draw=ours)
        done = self.vtactl(program, "--boxes", "--json", "--draw", theirs)
        (run,) = json.loads(done.stdout)["runs"]
        self.assertEqual([(*b["box"], b["score"], b["class"], b["name"]) for b in run["boxes"]],
                         [tuple(b) for b in boxes])
        self.assertIn("1 of the program's boxes are left out", done.stderr)
        with open(ours, "rb") as a, open(theirs, "rb") as b:
            self.assertEqual(a.read(), b.read())
        text = self.vtactl(program, "--boxes", "--min-score=0.6").stdout
        self.assertRegex(text, r"^ 1  0\.9000 +8,4 +to +16,12 +cat\n$")
        self.assertEqual(self.vtactl(program, "--boxes", "--min-score=1").stdout, "no boxes\n")

    def test_vtactl_refuses_wrong_usage(self):
        program = self.program([4, 6, 8, 10], [0.9])
        for options in (("--draw=x.png",), ("--boxes", "--top=3"), ("--boxes", "--cards=all"),
                        ("--boxes", "--min-score=2"), ("--boxes", "--box-format=corners")):
            self.vtactl(program, *options, status=2)
        done = self.vtactl(self.program([1, 2, 3], [0.5], columns=3), "--boxes", status=1)
        self.assertIn("no output is boxes", done.stderr)
        nowhere = os.path.join(self.dir.name, "none", "x.png")
        self.assertIn(nowhere, self.vtactl(program, "--boxes", "--draw", nowhere, status=1).stderr)


if __name__ == "__main__":
    unittest.main()
