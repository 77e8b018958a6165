# SPDX-License-Identifier: GPL-2.0-only
"""vta-frigate, asked as Frigate's zmq_ipc.py asks: a socket REQ, a JSON header and a tensor, 20 rows of
6 floats back."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import unittest

import client
import onnx_file
import test_compile
import vtadev
import zmq

DIR = pathlib.Path(os.environ["SERVE_TEST"])
ROWS = 4


def detector(columns, path):
    """A network with outputs of ROWS rows, one for each number of columns, compiled to path."""
    node, w = onnx_file.node, onnx_file.tensor
    nodes = [node("Conv", ["x", "w1"], ["a"], pads=[1] * 4), node("Relu", ["a"], ["b"]),
             node("GlobalAveragePool", ["b"], ["e"]), node("Flatten", ["e"], ["f"])]
    constants = [w("w1", (16, 3, 3, 3), test_compile.floats(432, 1, 0.3))]
    outputs = []
    for i, count in enumerate(columns):
        name = f"y{i}"
        constants.append(w(f"v{i}", (ROWS * count, 16), test_compile.floats(ROWS * count * 16, i + 5)))
        nodes += [node("Gemm", ["f", f"v{i}"], [f"g{i}"], transB=1),
                  node("Reshape", [f"g{i}", f"s{i}"], [name])]
        constants.append(onnx_file.field(1, 3) + onnx_file.field(2, 7) + onnx_file.field(8, f"s{i}") +
                         onnx_file.field(9, struct.pack("<3q", 1, ROWS, count)))
        outputs.append(onnx_file.value(name, (1, ROWS, count)))
    model = onnx_file.model(nodes, constants, [onnx_file.value("x", test_compile.SHAPE)], outputs)
    vtadev.compile(model, test_compile.IMAGES, name="detector").save(path)


class Frigate:
    """The part of Frigate's detector that talks."""

    def __init__(self, endpoint):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.REQ)
        self.socket.setsockopt(zmq.RCVTIMEO, client.SECONDS * 1000)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(endpoint)

    def ask(self, header, *tensor):
        """The frames of the answer."""
        self.socket.send_multipart([header if isinstance(header, bytes) else
                                    json.dumps(header).encode(), *tensor])
        return self.socket.recv_multipart()

    def detect(self, values, **more):
        """20 rows of 6 numbers."""
        frame, = self.ask({"shape": list(test_compile.SHAPE), "dtype": "float32",
                           "model_type": "yologeneric", **more}, bytes(values))
        assert len(frame) == 20 * 6 * 4
        return list(struct.iter_unpack("<6f", frame))

    def close(self):
        """Close the socket."""
        self.context.destroy(0)


@unittest.skipUnless(test_compile.HAVE, "there is no compiler")
class Detect(unittest.TestCase):
    def serve(self, columns, *options):
        path = DIR / "detector.vtap"
        detector(columns, path)
        self.endpoint = f"ipc://{DIR}/detector.ipc"
        self.process = subprocess.Popen(
            [sys.executable, "adapters/serve/vta-frigate", str(path), "--bind", self.endpoint, *options],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stderr.close)
        self.assertIn(self.endpoint, self.process.stderr.readline())
        frigate = Frigate(self.endpoint)
        self.addCleanup(self.stop)
        self.addCleanup(frigate.close)
        return frigate, vtadev.Program(str(path))

    def stop(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(client.SECONDS), 0)

    def assert_rows(self, rows, wanted):
        """The rows with the highest scores, and zeros behind them."""
        wanted = sorted((row for row in wanted if row[1] > 0 and row[0] >= 0), key=lambda row: -row[1])
        self.assertGreater(len(wanted), 0)
        for row, other in zip(rows, wanted + [(0,) * 6] * 20):
            for value, expected in zip(row, other):
                self.assertAlmostEqual(value, expected, 5)

    def test_boxes_and_scores_of_classes(self):
        frigate, program = self.serve((4, 3), "--fields", "x1,y1,x2,y2,scores")
        self.assertEqual(json.loads(frigate.ask({"model_request": True, "model_name": "m.onnx"})[0]),
                         {"model_available": True, "model_loaded": True})
        for image in test_compile.ROWS:
            boxes, scores = (array.tolist()[0] for array in program(image))
            self.assert_rows(frigate.detect(image), [
                (row.index(max(row)), max(row), y1 / 16, x1 / 16, y2 / 16, x2 / 16)
                for (x1, y1, x2, y2), row in zip(boxes, scores)])

    def test_rows_of_seven(self):
        frigate, program = self.serve((7,), "--relative")
        for image in test_compile.ROWS:
            rows = program(image).tolist()[0]
            wanted = [(label, score, y1, x1, y2, x2) for _, x1, y1, x2, y2, score, label in rows]
            if any(row[0] >= 0 and row[1] > 0 for row in wanted):
                self.assert_rows(frigate.detect(image), wanted)

    def test_wrong_requests_get_zeros(self):
        frigate, program = self.serve((6,))
        image = test_compile.ROWS[0]
        good = frigate.detect(image)
        zeros = bytes(480)
        for frames in ((b"",), (b"{",), (b"[]",), (b"[" * 4000,), (b"7", b""), ({}, bytes(image)),
                       ({"shape": [1, 16, 16, 3], "dtype": "float32"}, bytes(image)),
                       ({"shape": [1, 3, 16, 16], "dtype": "uint8"}, bytes(image)[:768]),
                       ({"shape": 3, "dtype": ["float32"]}, bytes(image)),
                       ({"shape": [1, 3, 16, 16], "dtype": "float32"}, bytes(image)[:-1]),
                       ({"shape": [1, 3, 16, 16], "dtype": "float32"}, bytes(image), b"more")):
            self.assertEqual(frigate.ask(*frames), [zeros], frames)
        self.assertEqual(json.loads(frigate.ask({"model_data": True}, b"model")[0]),
                         {"model_available": False, "model_loaded": False})
        large = Frigate(self.endpoint)
        large.socket.send_multipart([b"{}", bytes(1 << 24)])    # ends this connection
        self.assertEqual(frigate.detect(image), good)
        large.close()
        program.close()
