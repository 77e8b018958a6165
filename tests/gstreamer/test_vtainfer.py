# SPDX-License-Identifier: GPL-2.0-only
"""The element vtainfer: what it finds, draws, attaches and refuses."""

import pathlib
import re
import struct
import subprocess
import tempfile
import unittest
import zlib

import test_boxes
import test_compile
import vtadev

WIDTH, HEIGHT = 63, 48
FRAMES = pathlib.Path("build/tests/gstreamer/frames").absolute()


def pixels_of_png(data):
    """RGB rows of a PNG that vtactl wrote: 8 bits, RGB or RGBA, filters undone."""
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">2I2B", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    step = {2: 3, 6: 4}[colour]
    raw, before, out = zlib.decompress(packed), bytes(width * step), b""
    for y in range(height):
        kind, *row = raw[y * (width * step + 1):(y + 1) * (width * step + 1)]
        for i in range(len(row)):
            left, up = row[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        before = bytes(row)
        out += b"".join(before[i:i + 3] for i in range(0, len(before), step))
    return out


class Infer(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def save(self, model, name="model.vtap", **options):
        with vtadev.compile(model, no_card=options.pop("no_card", True), **options) as program:
            program.save(self.dir / name)
        return self.dir / name

    def detector(self, *numbers, **options):
        options.setdefault("labels", ("cat", "dog"))
        return self.save(test_boxes.detector(*numbers), fit="centre", **options)

    def launch(self, infer, frames=1, sink="fakesink"):
        """Output of gst-launch of a black video of this size."""
        return subprocess.run(
            ["gst-launch-1.0", "-m", "videotestsrc", "pattern=black", f"num-buffers={frames}", "!",
             f"video/x-raw,format=RGBA,width={WIDTH},height={HEIGHT}", "!", *infer, "!", *sink.split()],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300)

    def messages(self, infer, **options):
        run = self.launch(["vtainfer", *infer], **options)
        self.assertEqual(run.returncode, 0, run.stdout)
        return [line.replace("\\", "") for line in run.stdout.splitlines() if "vtainfer, timestamp" in line]

    def refused(self, *infer):
        run = self.launch(["vtainfer", *infer])
        self.assertNotEqual(run.returncode, 0)
        return run.stdout

    def black(self):
        (self.dir / "black.png").write_bytes(test_compile.png(bytes(3 * WIDTH * HEIGHT), WIDTH, HEIGHT))
        (self.dir / "black.rgba").write_bytes(b"\0\0\0\xff" * (WIDTH * HEIGHT))

    def regions(self, model, gap=0):
        self.black()
        run = subprocess.run([FRAMES, model, str(WIDTH), str(HEIGHT), str(gap), self.dir / "black.rgba",
                              self.dir / "out.rgba"], stdout=subprocess.PIPE, check=True, text=True,
                             timeout=300)
        return [line.split() for line in run.stdout.splitlines()]

    def test_each_frame_has_a_message_with_its_boxes(self):
        model = self.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 5])
        lines = self.messages([f"model={model}"], frames=3)
        self.assertEqual(len(lines), 3)
        for line in lines:
            scores = [float(s) for s in re.findall(r"score=\(double\)([\d.]+)", line)]
            self.assertEqual([round(s, 3) for s in scores], [0.9, 0.5], line)
            self.assertRegex(line, '"class 5".*dog')
        self.assertEqual(len(re.findall("score=", self.messages(
            [f"model={model}", "min-score=0.6"])[0])), 1)

    def test_regions_of_interest_are_the_boxes(self):
        model = self.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 0])
        self.black()
        with vtadev.Program(str(model)) as program:
            boxes = program.boxes(str(self.dir / "black.png"))
        regions = self.regions(model)
        self.assertEqual(len(regions), 2)
        for region, box in zip(regions, boxes):
            left, top, width, height = map(int, region[1:5])
            self.assertEqual((region[0], region[5], int(region[6])),
                             (box.label, f"{box.score:.4f}", box.number))
            self.assertLessEqual(abs(left - box.left), 1)
            self.assertLessEqual(abs(top - box.top), 1)
            self.assertLessEqual(abs(left + width - box.right), 1)
            self.assertLessEqual(abs(top + height - box.bottom), 1)

    def test_draws_as_vtactl_does(self):
        model = self.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 0])
        self.regions(model)
        subprocess.run([test_boxes.VTACTL, "program", "run", model, "--image", self.dir / "black.png",
                        "--boxes", f"--draw={self.dir / 'drawn.png'}"], check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
        out = (self.dir / "out.rgba").read_bytes()
        ours = b"".join(out[i:i + 3] for i in range(0, len(out), 4))
        self.assertEqual(ours, pixels_of_png((self.dir / "drawn.png").read_bytes()))
        self.assertNotEqual(ours, bytes(len(ours)))

    def test_rows_with_gaps(self):
        model = self.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 0])
        regions = self.regions(model)
        out = (self.dir / "out.rgba").read_bytes()
        self.assertEqual(self.regions(model, gap=20), regions)
        self.assertEqual((self.dir / "out.rgba").read_bytes(), out)

    def test_draw_false_leaves_the_frame(self):
        model = self.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 0])
        run = self.launch(["vtainfer", f"model={model}", "draw=false"],
                          sink=f"filesink location={self.dir / 'plain'}")
        self.assertEqual(run.returncode, 0, run.stdout)
        pixels = (self.dir / "plain").read_bytes()
        self.assertEqual(len(pixels), WIDTH * HEIGHT * 4)
        self.assertEqual(len({pixels[i:i + 4] for i in range(0, len(pixels), 4)}), 1)

    def test_a_classifier_names_the_frame(self):
        model = self.save(test_compile.network(), calibrate=test_compile.IMAGES, images=2, no_card=False,
                          fit="centre", labels=[f"kind{i}" for i in range(10)])
        self.black()
        run = subprocess.run([test_boxes.VTACTL, "program", "run", model, "--image", self.dir / "black.png",
                              "--top=1"], stdout=subprocess.PIPE, check=True, text=True, timeout=300)
        best = re.search(r"kind\d", run.stdout)[0]
        lines = self.messages([f"model={model}", "min-score=-1000"])
        self.assertEqual(re.findall(r"kind\d", lines[0]), [best])
        self.assertIn(f"right=(double){WIDTH}, bottom=(double){HEIGHT}", lines[0])
        self.assertNotIn("kind", self.messages([f"model={model}", "min-score=1000"])[0])

    def test_a_lost_card_loses_no_frame(self):
        model = self.save(test_compile.network(), calibrate=test_compile.IMAGES, images=2, no_card=False,
                          fit="centre")
        lines = self.messages([f"model={model}", "cards=frail,soft", "min-score=-1000"], frames=5)
        self.assertEqual(len(lines), 5)

    def test_wrong_properties_are_sentences(self):
        model = self.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9], [1, 0])
        (self.dir / "text").write_text("no program")
        two = self.save(test_compile.sum_of_two(), "two.vtap")
        for infer, said in (
                ([], 'set the property "model"'), ([f"model={self.dir}/none"], "No such file"),
                ([f"model={self.dir}/text"], "text: "), ([f"model={two}"], "has 2 inputs"),
                ([f"model={model}", "cards=nosuch"], "nosuch"),
                ([f"model={model}", "box-format=corners"], "no format of boxes: corners")):
            with self.subTest(said):
                self.assertIn(said, self.refused(*infer))
