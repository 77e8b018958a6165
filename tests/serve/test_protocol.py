# SPDX-License-Identifier: GPL-2.0-only
"""Each endpoint by the protocol's text, requests that are refused, and models that come and go."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest

import client
import test_compile
import vtaserve.models

DIR = pathlib.Path(os.environ["SERVE_TEST"])


class Files(unittest.TestCase):
    def test_a_file_takes_the_memory_of_its_size(self):
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        data = vtaserve.models._read(DIR / "models/digits.vtap", vtaserve.models._FILE_MAX)
        self.assertLess(tracemalloc.get_traced_memory()[1], len(data) + (1 << 20))


class Log(unittest.TestCase):
    """The tests' own reading of a server's log."""

    def test_lines_that_come_at_once_are_found(self):
        script = """import os, sys
os.write(2, b"listening on 127.0.0.1 port 1\\nready\\n")
sys.stdin.read()"""
        server = client.Server(DIR, program=[sys.executable, "-c", script], wait=False)
        self.addCleanup(server.stop)
        self.assertEqual(server.line("read(.)")[1], "y")
        server.stop()
        with self.assertRaisesRegex(AssertionError, "the server has ended: .*ready"):
            server.line("absent")


class OnServer(unittest.TestCase):
    """Tests on one server."""

    @classmethod
    def setUpClass(cls):
        cls.digits = client.Digits(DIR)
        cls.server = client.Server(DIR / "models")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.lines
        assert not [line for line in cls.server.lines if "Traceback" in line], cls.server.lines

    def setUp(self):
        self.client = client.Client(self.server.port)
        self.addCleanup(self.client.close)


def request(**more):
    """A request with an image of zeros, changed by more."""
    return {"inputs": [{"name": "image", "shape": [1, 1, 28, 28], "datatype": "INT8",
                        "data": [0] * 784, **more.pop("input", {})}], **more}


class Conformance(OnServer):
    def test_health_and_metadata(self):
        self.assertEqual(self.client.get("/v2/health/live"), (200, {"live": True}))
        self.assertEqual(self.client.get("/v2/health/ready"), (200, {"ready": True}))
        status, server = self.client.get("/v2")
        self.assertEqual((status, server["name"]), (200, "vta-serve"))
        self.assertIn("binary_tensor_data", server["extensions"])
        self.assertTrue(server["version"])
        for path in ("/v2/models/digits", "/v2/models/digits/versions/1"):
            self.assertEqual(self.client.get(path + "/ready"), (200, {"name": "digits", "ready": True}))
            status, model = self.client.get(path)
            self.assertEqual(status, 200)
            self.assertEqual((model["name"], model["versions"]), ("digits", ["1"]))
            self.assertEqual(model["inputs"], [{"name": "image", "datatype": "INT8",
                                                "shape": [-1, 1, 28, 28]}])
            self.assertEqual(model["outputs"], [{"name": "scores", "datatype": "INT8",
                                                 "shape": [-1, 10, 1, 1]}])
        status, index = self.client.post("/v2/repository/index", {})
        self.assertEqual([(one["name"], one["state"]) for one in index],
                         [("batch", "READY"), ("digits", "READY")])

    def test_json_flat_and_nested(self):
        scores = list(struct.unpack("10b", self.digits.answer(3)))
        values = list(struct.unpack("784b", self.digits.images[3]))
        nested = [[[values[at:at + 28] for at in range(0, 784, 28)]]]
        for data in (values, nested):
            status, answer = self.client.post("/v2/models/digits/versions/1/infer",
                                              request(id="ä-7", input={"data": data}))
            self.assertEqual((status, answer["id"]), (200, "ä-7"))
            self.assertEqual((answer["model_name"], answer["model_version"]), ("digits", "1"))
            self.assertEqual(answer["outputs"], [{"name": "scores", "datatype": "INT8",
                                                  "shape": [1, 10, 1, 1], "data": scores}])

    def test_binary_in_any_mix(self):
        status, answer, found = self.client.infer("digits", [self.digits.tensor(5)])
        self.assertEqual((status, found["scores"]), (200, self.digits.answer(5)))
        status, answer, found = self.client.infer(
            "digits", [self.digits.tensor(5)],
            [{"name": "scores", "parameters": {"binary_data": False}}])
        self.assertEqual((status, found), (200, {}))
        self.assertEqual(bytes(value & 255 for value in answer["outputs"][0]["data"]),
                         self.digits.answer(5))

    def test_rows_are_split_and_joined(self):
        for model in ("digits", "batch"):
            for first, count in ((0, 1), (7, 3), (20, 8), (40, 21), (100, 64)):
                status, answer, found = self.client.infer(model, [self.digits.tensor(first, count)])
                self.assertEqual((status, found.get("scores")),
                                 (200, self.digits.answer(first, count)), (model, count, answer))
                self.assertEqual(answer["outputs"][0]["shape"], [count, 10, 1, 1])

    def test_rows_of_several_clients_share_runs(self):
        before, threads, wrong = self.server.metric("vta_serve_runs_total"), [], []

        def ask(first):
            one = client.Client(self.server.port)
            for i in range(first, first + 10):
                if one.infer("batch", [self.digits.tensor(i)])[2].get("scores") != \
                        self.digits.answer(i):
                    wrong.append(i)
            one.close()

        for first in range(0, 320, 10):
            threads.append(threading.Thread(target=ask, args=(first,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLess(self.server.metric("vta_serve_runs_total") - before, 320)

    def test_large_json_by_other_processes(self):
        values = list(struct.unpack(f"{40 * 784}b", b"".join(self.digits.images[:40])))
        body = request(input={"shape": [40, 1, 28, 28], "data": values})
        status, answer = self.client.post("/v2/models/digits/infer", body)
        self.assertEqual(status, 200, answer)
        self.assertEqual(bytes(value & 255 for value in answer["outputs"][0]["data"]),
                         self.digits.answer(0, 40))
        status, answer = self.client.post("/v2/models/digits/infer",
                                          json.dumps(body).encode()[:-9])
        self.assertEqual(status, 400, answer)

    def test_compressed_bodies(self):
        body = json.dumps(request()).encode()
        status, _, _ = self.client.call("POST", "/v2/models/digits/infer", gzip.compress(body),
                                        {"Content-Encoding": "gzip"})
        self.assertEqual(status, 200)
        for data, wanted in ((b"no gzip", 400), (gzip.compress(body)[:-4], 400),
                             (gzip.compress(bytes(1 << 28)), 413)):
            status, _, _ = self.client.call("POST", "/v2/models/digits/infer", data,
                                            {"Content-Encoding": "gzip"})
            self.assertEqual(status, wanted)

    def test_curl(self):
        path = DIR / "request.json"
        path.write_text(json.dumps(request(input={"data": list(self.digits.images[0])})))
        answer = subprocess.run(
            ["curl", "-sS", "--fail", "-H", "Expect: 100-continue", "--data-binary", f"@{path}",
             f"http://127.0.0.1:{self.server.port}/v2/models/digits/infer"],
            check=True, capture_output=True, timeout=client.SECONDS)
        self.assertEqual(bytes(value & 255 for value in
                               json.loads(answer.stdout)["outputs"][0]["data"]),
                         self.digits.answer(0))

    def test_metrics(self):
        before = self.server.metric('vta_serve_requests_total{code="404",model=""}')
        self.assertEqual(self.client.get("/v2/models/nosuch")[0], 404)
        self.assertEqual(self.server.metric('vta_serve_requests_total{code="404",model=""}'),
                         before + 1)
        self.assertEqual(self.server.metric("vta_serve_model_ready"), 2)
        self.assertGreater(self.server.metric("vta_serve_card_up"), 0)


class Refused(OnServer):
    def test_requests(self):
        """Each is refused by a sentence, and the server and connection go on."""
        cases = [
            (b"", "no JSON"), (b"[]", "an object"), (b"{", "no JSON"), (b"\xff", "no JSON"),
            (b"[" * 100000, "nested"), (b'{"inputs": ' + b'[' * 12000 + b']' * 12000 + b"}", "nested"),
            (b'{"a": 1, "a": 2}', "twice"), (b'{"id": NaN}', "no number"),
            (b'{"id": ' + b"9" * 5000 + b"}", "no JSON"),
            ({}, "inputs"), ({"inputs": []}, "inputs"), ({"inputs": [1]}, "objects"),
            ({"inputs": [{}] * 65}, "inputs"), (request(id=7), "id"), (request(id="x" * 300), "id"),
            (request(parameters=[]), "object"), (request(parameters={"sequence_id": 1}), "state"),
            (request(parameters={"binary_data_output": 1}), "true or false"),
            (request(input={"name": ""}), "name"), (request(input={"name": "nosuch"}), "no input"),
            (request(input={"datatype": "FP64"}), "datatype"),
            (request(input={"datatype": ["INT8"]}), "datatype"),
            (request(input={"datatype": "INT32"}), "is INT8"),
            (request(input={"datatype": "FP32"}), "is INT8"),
            (request(input={"shape": []}), "shape"), (request(input={"shape": [1] * 9}), "shape"),
            (request(input={"shape": [-1, 1, 28, 28]}), "shape"),
            (request(input={"shape": [True, 1, 28, 28]}), "shape"),
            (request(input={"shape": [2 ** 31, 1, 28, 28]}), "shape"),
            (request(input={"shape": [2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30]}), "values"),
            (request(input={"shape": [28, 28], "data": [0] * 784}), "takes [-1, 1, 28, 28]"),
            (request(input={"shape": [0, 1, 28, 28], "data": []}), "1 to 64 rows"),
            (request(input={"shape": [65, 1, 1, 1], "data": [0] * 65}), "takes"),
            (request(input={"data": [0] * 783}), "783 values"),
            (request(input={"data": 0}), "array"), (request(input={"data": {}}), "array"),
            (request(input={"data": [[0] * 784]}), "nested"),
            (request(input={"data": [[[[0] * 28] * 27 + [[0] * 27]]]}), "nested"),
            (request(input={"data": [128] * 784}), "no INT8"),
            (request(input={"data": [0.5] * 784}), "no INT8"),
            (request(input={"data": ["0"] * 784}), "no INT8"),
            (request(input={"data": [True] * 784}), "true or false"),
            (request(input={"data": [None] * 784}), "no INT8"),
            (request(input={"parameters": {"binary_data_size": 784}}), "both"),
            (request(input={"parameters": {"shared_memory_region": "r"}}), "shared memory"),
            ({"inputs": request()["inputs"] * 2}, "twice"),
            (request(outputs=[{"name": "nosuch"}]), "no output"),
            (request(outputs=[{"name": "scores"}] * 2), "twice"),
            (request(outputs=[{"name": "scores", "parameters": {"classification": 3}}]),
             "classification"),
            (request(outputs={"name": "scores"}), "outputs"),
        ]
        for body, text in cases:
            with self.subTest(body=str(body)[:80]):
                status, answer = self.client.post("/v2/models/digits/infer", body)
                self.assertEqual(status, 400, answer)
                self.assertIn(text, answer["error"])
        self.assertEqual(self.client.post("/v2/models/digits/infer", request())[0], 200)

    def test_binary_sizes(self):
        text = json.dumps({"inputs": [{"name": "image", "shape": [1, 1, 28, 28], "datatype": "INT8",
                                       "parameters": {"binary_data_size": 784}}]}).encode()
        wrong = text.replace(b"784", b"785")
        for body, size, status in ((text + bytes(784), len(text), 200),
                                   (text + bytes(783), len(text), 400),
                                   (text + bytes(785), len(text), 400),
                                   (wrong + bytes(785), len(wrong), 400),
                                   (text, len(text) + 1, 400), (text, "-1", 400), (text, "1e3", 400),
                                   (text, "9" * 11, 400), (text, "9" * 10, 413)):
            got, _, _ = self.client.call("POST", "/v2/models/digits/infer", body,
                                         {"Inference-Header-Content-Length": str(size)})
            self.assertEqual(got, status, (size, len(body)))

    def test_paths_and_methods(self):
        for path in ("/", "/v2/models", "/v2/models/", "/v2/models/nosuch", "/v2/models/digits.vtap",
                     "/v2/models/..", "/v2/models/../../etc/passwd", "/v2/models/%2e%2e%2fmodels",
                     "/v2/models/digits%00", "/v2/models/digits/versions/2",
                     "/v2/models/digits/../digits", "/etc/passwd", "/v2/models/%ff%fe"):
            self.assertEqual(self.client.get(path)[0], 404, path)
        self.assertEqual(self.client.call("POST", "/v2/health/live", b"")[0], 405)
        self.assertEqual(self.client.call("GET", "/v2/models/digits/infer")[0], 405)
        self.assertEqual(self.client.call("DELETE", "/v2/models/digits")[0], 405)

    def test_bodies_are_bounded_before_they_are_read(self):
        for length, status in ((10 ** 12, 413), (1 << 25, 413)):
            bare = self.server.connect()
            bare.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\n"
                         b"Content-Length: %d\r\n\r\n" % length)
            self.assertIn(b" %d " % status, bare.recv(100))
            bare.close()
        bare = self.server.connect()
        bare.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        self.assertIn(b" 411 ", bare.recv(100))
        bare.close()


class Models(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(dir=DIR))
        self.addCleanup(shutil.rmtree, self.dir)
        self.digits = client.Digits(DIR)

    def serve(self, *options, **more):
        server = client.Server(self.dir, *options, **more)
        self.addCleanup(lambda: self.assertEqual(server.stop(), 0, server.lines))
        return server, client.Client(server.port)

    def test_nothing_outside_of_the_directory(self):
        models = DIR / "models"
        shutil.copy(models / "digits.vtap", self.dir / "good.vtap")
        (self.dir / "link.vtap").symlink_to(models / "digits.vtap")
        (self.dir / "bad name.vtap").write_bytes(b"x")
        (self.dir / "broken.vtap").write_bytes(b"x" * 100)
        (self.dir / "directory.vtap").mkdir()
        os.mkfifo(self.dir / "pipe.vtap")
        (self.dir / "options.vtap").write_bytes((models / "digits.vtap").read_bytes())
        (self.dir / "options.json").symlink_to("/etc/passwd")
        (self.dir / "model.onnx").write_bytes(test_compile.network())
        (self.dir / "model.calibration").mkdir()
        (self.dir / "model.calibration" / "a.png").symlink_to("/etc/passwd")
        server, one = self.serve(wait=False)
        server.until(lambda other: other.get("/v2/models/options/ready")[1].get("error", "")
                     .find("loaded") < 0)
        _, index = one.post("/v2/repository/index", {})
        self.assertEqual({model["name"]: model["state"] for model in index},
                         {"broken": "UNAVAILABLE", "good": "READY", "model": "UNAVAILABLE",
                          "options": "UNAVAILABLE"})
        self.assertEqual(one.get("/v2/health/ready")[0], 503)
        self.assertEqual(one.infer("good", [self.digits.tensor(1)])[2]["scores"],
                         self.digits.answer(1))
        status, answer, _ = one.infer("broken", [self.digits.tensor(1)])
        self.assertEqual(status, 503)
        self.assertNotIn("passwd", json.dumps(index).replace("model.calibration", ""))

    @unittest.skipUnless(test_compile.HAVE, "there is no compiler")
    def test_onnx_with_its_calibration_and_options(self):
        (self.dir / "net.onnx").write_bytes(test_compile.network())
        images = self.dir / "net.calibration"
        images.mkdir()
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 3, 16, 16), }"
        head += " " * (63 - (10 + len(head)) % 64) + "\n"
        (images / "six.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
                                         head.encode() + test_compile.VALUES.tobytes())
        (self.dir / "net.json").write_text(
            json.dumps({"labels": [str(i) for i in range(10)], "depth": 3}))
        cache = self.dir / "cache"
        cache.mkdir()
        for _ in range(2):
            server, one = self.serve("--cache", str(cache))
            status, answer = one.post("/v2/models/net/infer", {"inputs": [
                {"name": "x", "datatype": "FP32", "shape": [1, 3, 16, 16], "data": [0.25] * 768}]})
            self.assertEqual(status, 200, answer)
            self.assertEqual((answer["outputs"][0]["datatype"], answer["outputs"][0]["shape"]),
                             ("FP32", [1, 10]))
            self.assertEqual(len(list(cache.iterdir())), 1)
            self.assertEqual(server.stop(), 0)

    def test_models_come_change_and_go(self):
        shutil.copy(DIR / "models" / "digits.vtap", self.dir / "first.vtap")
        server, one = self.serve()
        shutil.copy(DIR / "models" / "digits.vtap", self.dir / "second.vtap")
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda other: other.get("/v2/models/second/ready")[0] == 200)
        shutil.copy(DIR / "models" / "batch.vtap", self.dir / "new")
        os.replace(self.dir / "new", self.dir / "second.vtap")
        os.unlink(self.dir / "first.vtap")
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda other: other.get("/v2/models/first")[0] == 404 and
                     other.get("/v2/models/second")[1]["inputs"][0]["shape"][0] == 8)
        status, _, found = one.infer("second", [self.digits.tensor(0, 8)])
        self.assertEqual((status, found["scores"]), (200, self.digits.answer(0, 8)))
        self.assertEqual(one.infer("second", [self.digits.tensor(0, 3)])[0], 400)
