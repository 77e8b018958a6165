# SPDX-License-Identifier: GPL-2.0-only
"""vtadev.compile() on the device that VTADEV_DEVICE names, "soft"."""

import array
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import threading
import unittest
import warnings
import zlib

import images
import onnx_file
import vtadev

SHAPE = (1, 3, 16, 16)
VTAC = pathlib.Path("build/tools/vtac").absolute()
HAVE = VTAC.exists()


def floats(count, seed, scale=1.0):
    rng = random.Random(seed)
    return array.array("f", [rng.gauss(0, scale) for _ in range(count)])


def view(values, shape):
    return memoryview(values).cast("B").cast("f", shape)


def network(shape=SHAPE, more=(), w1=None):
    """Two convolutions, a mean and a dense layer: enough for a card."""
    node, w = onnx_file.node, onnx_file.tensor
    nodes = [node("Conv", ["x", "w1"], ["a"], "first", pads=[1] * 4), node("Relu", ["a"], ["b"]),
             node("Conv", ["b", "w2"], ["c"], "second", pads=[1] * 4), node("Relu", ["c"], ["d"]),
             *more, node("GlobalAveragePool", ["d"], ["e"]), node("Flatten", ["e"], ["f"]),
             node("Gemm", ["f", "w3"], ["y"], "dense", transB=1)]
    constants = [w1 or w("w1", (16, 3, 3, 3), floats(432, 1, 0.3)),
                 w("w2", (16, 16, 3, 3), floats(2304, 2, 0.3)), w("w3", (10, 16), floats(160, 3))]
    return onnx_file.model(nodes, constants, [onnx_file.value("x", shape)],
                           [onnx_file.value("y", (shape[0], 10))])


def sum_of_two():
    """A network of two inputs."""
    node, w = onnx_file.node, onnx_file.tensor
    nodes = [node("Conv", ["x", "w1"], ["a"], pads=[1] * 4), node("Conv", ["a", "w2"], ["b"]),
             node("Conv", ["z", "w1"], ["c"], pads=[1] * 4), node("Conv", ["c", "w2"], ["d"]),
             node("Add", ["b", "d"], ["y"])]
    return onnx_file.model(
        nodes, [w("w1", (16, 3, 3, 3), floats(432, 1)), w("w2", (16, 16, 3, 3), floats(2304, 2))],
        [onnx_file.value("x", SHAPE), onnx_file.value("z", SHAPE)],
        [onnx_file.value("y", (1, 16, 14, 14))])


def npy(values, shape):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}"
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + bytes(values)


def png(pixels, width, height):
    """A picture of RGB bytes."""
    rows = b"".join(b"\0" + pixels[i * width * 3:(i + 1) * width * 3] for i in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + \
            struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


COUNT = 6
VALUES = floats(COUNT * 768, 7)
IMAGES = view(VALUES, (COUNT, 3, 16, 16))
ROWS = [view(VALUES[i * 768:(i + 1) * 768], SHAPE) for i in range(COUNT)]
ONE = ROWS[0]


@unittest.skipUnless(HAVE, "the compiler is not built: it takes libprotobuf-c-dev and libonnx-dev")
class Compile(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def compiled(self, *args, **options):
        program = vtadev.compile(*args, **options)
        self.addCleanup(program.close)
        return program

    def test_a_file_is_compiled_and_runs_as_by_the_commands(self):
        (self.directory / "net.onnx").write_bytes(network())
        (self.directory / "images.npy").write_bytes(npy(VALUES, (COUNT, 3, 16, 16)))
        program = self.compiled(self.directory / "net.onnx", calibrate=IMAGES)
        subprocess.run([VTAC, "compile", "-q", "--calibrate", self.directory / "images.npy",
                        self.directory / "net.onnx", "-o", self.directory / "net.vtap"], check=True)
        with vtadev.Program(self.directory / "net.vtap") as other:
            self.assertEqual((program.name, program.cycles), ("net", other.cycles))
            self.assertGreater(len({bytes(program(image)) for image in ROWS}), 3)
            self.assertEqual(program(ONE), other(ONE))

    def test_calibrate_takes_all_its_forms(self):
        rows = [view(VALUES[i * 768:(i + 1) * 768], (3, 16, 16)) for i in range(COUNT)]
        (self.directory / "all.npy").write_bytes(npy(VALUES, (COUNT, 3, 16, 16)))
        split = self.directory / "split"
        split.mkdir()
        (split / "a.npy").write_bytes(npy(VALUES[:768 * 2], (2, 3, 16, 16)))
        (split / "b.npy").write_bytes(npy(VALUES[768 * 2:], (COUNT - 2, 3, 16, 16)))
        first = self.compiled(network(), IMAGES)(ONE)
        for form in (rows, (row for row in rows), {"x": IMAGES}, {"x": iter(rows)},
                     memoryview(array.array("d", VALUES)).cast("B").cast("d", (COUNT, 3, 16, 16)),
                     self.directory / "all.npy", str(split)):
            self.assertEqual(self.compiled(network(), form)(ONE), first)
        self.assertNotEqual(self.compiled(network(), rows[:1])(ONE), first)
        self.assertEqual(self.compiled(network(), IMAGES, images=1)(ONE),
                         self.compiled(network(), rows[:1])(ONE))

    def test_pictures_are_calibrated_with_as_their_values(self):
        rng, values = random.Random(5), array.array("f")
        for i in range(4):
            pixels = bytes(rng.randrange(256) for _ in range(768))
            (self.directory / f"{i}.png").write_bytes(png(pixels, 16, 16))
            values.extend((pixels[3 * k + c] - 128.0) * 0.0625
                          for c in range(3) for k in range(256))
        by_values = self.compiled(network(), view(values, (4, 3, 16, 16)))
        by_pictures = self.compiled(network(), self.directory, mean=128, scale=[0.0625] * 3)
        self.assertEqual(by_pictures(ONE), by_values(ONE))

    def test_each_of_several_inputs_has_images(self):
        rows = ROWS
        first = self.compiled(sum_of_two(), {"x": rows, "z": rows[::-1]})
        for form in ([(a, b) for a, b in zip(rows, rows[::-1])],
                     ({"z": b, "x": a} for a, b in zip(rows, rows[::-1]))):
            self.assertEqual(self.compiled(sum_of_two(), form)(rows[0], rows[1]),
                             first(rows[0], rows[1]))
        for wrong, text in (({"x": rows}, "no images for input 'z'"), (rows, "a tuple, or a dict"),
                            (IMAGES, "a dict by input: the model has x, z"),
                            ({"x": rows, "z": rows[:2]}, "x 6, z 2"),
                            ({"x": rows, "z": rows, "q": rows}, "no input 'q'")):
            with self.assertRaisesRegex(ValueError, text):
                vtadev.compile(sum_of_two(), wrong)

    def test_open_sizes_are_given(self):
        open_model = network(("n", 3, "h", "w"))
        with self.assertRaisesRegex(vtadev.CompileError, "leaves dimension 2 of input x open"):
            vtadev.compile(open_model, no_card=True)
        program = self.compiled(open_model, IMAGES, shapes=(2, 3, 16, 16))
        self.assertEqual(program.inputs[0].shape, (2, 3, 16, 16))
        self.assertEqual(self.compiled(network(("n", *SHAPE[1:])), IMAGES).inputs[0].shape, SHAPE)
        with self.assertRaisesRegex(vtadev.CompileError, "no input q to give a shape to"):
            vtadev.compile(open_model, shapes={"q": SHAPE}, no_card=True)

    def test_without_a_card_floats_are_exact(self):
        class Model:
            """As onnx.ModelProto."""
            SerializeToString = staticmethod(network)

        program = self.compiled(Model(), no_card=True)
        self.assertEqual({node["device"] for node in program.report()["nodes"]}, {"cpu"})
        card = self.compiled(network(), IMAGES)
        for exact, near in zip(program(ONE).tolist()[0], card(ONE).tolist()[0]):
            self.assertAlmostEqual(exact, near, delta=0.1)

    def test_report_tells_what_runs_where(self):
        names = [f"class {i}" for i in range(10)]
        program = self.compiled(network(), IMAGES, cpu=["second"], no_prune=True, labels=names)
        devices = {node["name"]: node["device"] for node in program.report()["nodes"]}
        self.assertEqual((devices["first"], devices["second"]), ("card", "cpu"))
        self.assertEqual(program.labels, names)
        with self.assertRaisesRegex(vtadev.CompileError, "labels have 9 lines, but output y has 10"):
            vtadev.compile(network(), labels=names[1:])
        with vtadev.Program(images.echo([("x", "b", (4,))])) as other:
            with self.assertRaisesRegex(ValueError, "it was not made by vtac"):
                other.report()

    def test_results_of_16_bits_are_nearer(self):
        exact = vtadev.compile(network(), no_card=True)(ONE).tolist()[0]

        def off(**options):
            program = self.compiled(network(), IMAGES, no_prune=True, **options)
            return (program.report()["precise"], sum((a - b) ** 2 for a, b in
                                                     zip(program(ONE).tolist()[0], exact)))
        count, coarse = off()
        self.assertEqual(count, 0)
        for precision, results in ((16, 2), ("16", 2), ({"dense": 16}, 1),
                                   ({None: 16, "first": 8}, 1)):
            count, fine = off(precision=precision)
            self.assertEqual(count, results)
            self.assertLess(fine, coarse)
        self.assertLessEqual(off(precision="auto", extra_cycles=1000)[1], coarse)
        for wrong in (12, "fine", {"second": "auto"}):
            with self.assertRaisesRegex(ValueError, "a precision is 8, 16"):
                vtadev.compile(network(), IMAGES, precision=wrong)
        for wrong in (0, 1001):
            with self.assertRaisesRegex(ValueError, "extra_cycles is 1 to 1000"):
                vtadev.compile(network(), IMAGES, extra_cycles=wrong)
        for how in {}, {"no_card": True}:
            with self.assertRaisesRegex(vtadev.CompileError, "no node nothing"):
                vtadev.compile(network(), IMAGES, precision={"nothing": 16}, **how)
        with self.assertRaisesRegex(vtadev.CompileError, "stays at 8 bits"):
            vtadev.compile(network(), IMAGES, no_prune=True, precision={"second": 16})

    def test_threads_change_no_bit(self):
        outputs = [bytes(self.compiled(network(), IMAGES, threads=n)(ONE)) for n in (0, 1, 3)]
        self.assertEqual(outputs, outputs[:1] * 3)
        for wrong in (-1, 65):
            with self.assertRaisesRegex(ValueError, "threads is 0 to 64"):
                vtadev.compile(network(), IMAGES, threads=wrong)

    def test_profile_has_each_layer(self):
        program = self.compiled(network(), IMAGES, no_prune=True)
        profile = program.profile(ONE, runs=3)
        layers = {layer.name: layer for layer in profile.layers}
        for name in ("first", "second", "dense"):
            self.assertEqual(layers[name].device, "card")
            self.assertGreater(layers[name].cycles, 0)
        self.assertEqual(profile.runs, 3)
        self.assertGreater(profile.recorded, max(layer.seconds for layer in profile.layers))
        begins = [layer.begin for layer in profile.layers]
        self.assertEqual((begins[0], begins), (0, sorted(begins)))
        self.assertEqual(len(program.profile(runs=1).layers), len(profile.layers))
        with self.assertRaises(ValueError):
            program.profile(runs=0)
        with self.assertRaises(TypeError):
            program.profile(ONE, ONE)
        with vtadev.Program(images.echo([("x", "b", (4,))])) as other:
            self.assertEqual([layer.device for layer in other.profile().layers],
                             ["copy", "card", "copy"])
        program.close()
        with self.assertRaises(ValueError):
            program.profile(ONE)

    def test_saved_program_is_the_same(self):
        program = self.compiled(network(), IMAGES)
        program.save(self.directory / "net.vtap")
        with vtadev.Program(self.directory / "net.vtap") as other:
            self.assertEqual(other(ONE), program(ONE))
            self.assertEqual(other.report(), program.report())

    def test_device_of_the_caller_stays_open(self):
        with vtadev.open() as card:
            self.compiled(network(), IMAGES, card).close()
            self.assertGreater(card.mem_free(), 0)
            with self.assertRaises(vtadev.CompileError):
                vtadev.compile(b"", device=card)
            self.assertGreater(card.mem_free(), 0)

    def test_errors_are_sentences(self):
        unknown = network(more=[onnx_file.node("Unheard", ["d"], ["q"], "strange")])
        short = view(VALUES[:512], (1, 2, 16, 16))
        (self.directory / "bad.npy").write_bytes(npy(VALUES, (COUNT, 3, 16, 15)))
        (self.directory / "bad.png").write_bytes(b"no picture")
        for error, text, call in (
                (vtadev.CompileError, "not an ONNX model", lambda: vtadev.compile(b"no model")),
                (vtadev.CompileError, "strange", lambda: vtadev.compile(unknown, IMAGES)),
                (FileNotFoundError, "nosuch", lambda: vtadev.compile("nosuch.onnx")),
                (FileNotFoundError, "nosuch", lambda: vtadev.compile(network(), "nosuch")),
                (ValueError, r"\(2, 16, 16\); input x takes \(1, 3, 16, 16\)",
                 lambda: vtadev.compile(network(), short)),
                (ValueError, "no images", lambda: vtadev.compile(network(), [])),
                (ValueError, "bad.npy: no array",
                 lambda: vtadev.compile(network(), self.directory / "bad.npy")),
                (ValueError, "bad.png: ", lambda: vtadev.compile(network(), self.directory)),
                (ValueError, "order is rgb, bgr or gray",
                 lambda: vtadev.compile(network(), order="cmyk")),
                (ValueError, "mean and scale are finite",
                 lambda: vtadev.compile(network(), scale=float("nan"))),
                (TypeError, "not int", lambda: vtadev.compile(network(), 5)),
                (TypeError, r"^compile\(\) .*nosuch", lambda: vtadev.compile(network(), nosuch=1)),
                (ValueError, "images is 1 or more",
                 lambda: vtadev.compile(network(), IMAGES, images=0))):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()
        try:
            vtadev.compile(unknown, IMAGES)
        except vtadev.CompileError as refusal:
            self.assertEqual([node for node, _ in refusal.nodes], ["strange"])

    def test_random_inputs_are_warned_of(self):
        with self.assertWarnsRegex(RuntimeWarning, "There are no images.* of 8 random") as caught:
            program = self.compiled(network())
        self.assertEqual(caught.filename, __file__)
        self.assertIn("of 8 random inputs: accuracy not known", program.report()["integers"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(RuntimeWarning):
                vtadev.compile(network())
            self.compiled(network(), IMAGES)
            self.compiled(network(), no_card=True)

    def test_progress_is_reported_and_may_end_it(self):
        steps = []
        self.compiled(network(), IMAGES, progress=lambda *step: steps.append(step))
        # Of images that the choice of ranges has run, the values are kept.
        done, total = [step[1:] for step in steps if step[0] == "calibrating"][-1]
        self.assertEqual(done, total)
        self.assertIn(total, range(1, COUNT + 1))
        self.assertEqual(steps[0], ("shape", 0, 1))
        self.assertEqual(steps[-1][0], "lowering")
        calls = []

        def fail(*step):
            calls.append(step)
            raise KeyError(step)

        with self.assertRaises(KeyError):
            vtadev.compile(network(), IMAGES, progress=fail)
        self.assertEqual(len(calls), 1)

    def test_signals_end_it(self):
        class Interrupted(Exception):
            pass

        def interrupt(*_):
            raise Interrupted

        before = signal.signal(signal.SIGUSR1, interrupt)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        steps = []

        def send(*step):
            steps.append(step)
            if len(steps) == 3:
                os.kill(os.getpid(), signal.SIGUSR1)

        with self.assertRaises(Interrupted):
            vtadev.compile(network(), IMAGES, progress=send)
        self.assertEqual(len(steps), 3)

    def test_threads_compile_at_once(self):
        results = []

        def work():
            results.append(bytes(self.compiled(network(), IMAGES)(ONE)))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 3)
        self.assertEqual(len(set(results)), 1)

    def test_other_files_of_the_model_are_below_its_directory(self):
        """A constant in another file, as large models have them."""
        field = onnx_file.field
        outside = b"".join(field(1, n) for n in (16, 3, 3, 3)) + field(2, 1) + field(8, "w1") + \
            field(14, 1) + field(13, field(1, "location") + field(2, "w1.bin"))
        data = network(w1=outside)
        (self.directory / "net.onnx").write_bytes(data)
        (self.directory / "w1.bin").write_bytes(bytes(floats(432, 1, 0.3)))
        self.assertEqual(self.compiled(self.directory / "net.onnx", IMAGES)(ONE),
                         self.compiled(network(), IMAGES)(ONE))
        with self.assertRaises(vtadev.CompileError):
            vtadev.compile(data, IMAGES)


if __name__ == "__main__":
    unittest.main()
