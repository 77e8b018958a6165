# SPDX-License-Identifier: GPL-2.0-only
"""Slow and hostile clients, from an address of their own, beside one that asks as usual."""

import json
import os
import random
import socket
import threading
import time
import unittest

import client
import test_protocol

HOSTILE = "127.0.0.2"
INFER = b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\n"
# The server may take so much more memory than at rest.
MEMORY = 256 << 20


class Hostile(unittest.TestCase):
    def setUp(self):
        self.digits = client.Digits(test_protocol.DIR)
        self.server = client.Server(test_protocol.DIR / "models", "--client-connections", "100",
                                    "--memory", "64")
        self.sockets = []
        self.first = client.resident(self.server.process.pid)

    def tearDown(self):
        for one in self.sockets:
            one.close()
        self.assertLess(client.resident(self.server.process.pid), self.first + MEMORY)
        self.server.until(lambda _: self.server.metric("vta_serve_request_bytes") == 0)
        self.assertEqual(self.server.stop(), 0, self.server.lines)
        self.assertEqual([line for line in self.server.lines if "Traceback" in line], [],
                         "".join(self.server.lines)[:4000])

    def connect(self):
        """A connection of the hostile client."""
        one = socket.create_connection(("127.0.0.1", self.server.port), client.SECONDS,
                                       (HOSTILE, 0))
        self.sockets.append(one)
        return one

    def good_is_served(self, what, count=200):
        """Another client's requests are all answered at once, none is refused."""
        one, seconds = client.Client(self.server.port), []
        for i in range(count):
            begun = time.monotonic()
            status, _, found = one.infer("digits", [self.digits.tensor(i)])
            seconds.append(time.monotonic() - begun)
            self.assertEqual((status, found["scores"]), (200, self.digits.answer(i)))
        one.close()
        print(f"# beside {what}: {count} requests, half within {sorted(seconds)[count // 2] * 1e3:.1f}"
              f" ms, the slowest {max(seconds) * 1e3:.1f} ms")

    def closed(self, reason):
        """Connections that were closed for a reason."""
        return self.server.metric(f'vta_serve_connections_closed_total{{reason="{reason}"}}')

    def test_slow_heads_and_bodies(self):
        heads = [self.connect() for _ in range(50)]
        for one in heads:
            one.sendall(INFER[:-10])
        bodies = [self.connect() for _ in range(20)]
        for one in bodies:
            one.sendall(INFER + b"Content-Length: 1000\r\n\r\n{")
        idle = [self.connect() for _ in range(10)]
        self.good_is_served("70 slow clients")
        self.server.until(lambda _: self.closed("slow") == 50)
        for one in bodies:
            self.assertIn(b" 408 ", one.recv(1000))
        for one in heads + idle:
            with self.subTest():
                try:
                    self.assertEqual(one.recv(1), b"")
                except ConnectionResetError:
                    pass

    def test_too_many_connections(self):
        for _ in range(150):
            self.connect()
        self.server.until(lambda _: self.closed("many") == 50)
        self.good_is_served("150 connections")

    def test_heads_without_end(self):
        def flood(first, more):
            one = self.connect()
            try:
                one.sendall(first)
                while True:
                    one.sendall(more * 1000)
            except OSError:
                pass

        for first, more in ((INFER, b"A: b\r\n"), (INFER, b"x" * 60), (b"GET /", b"a" * 60),
                            (b"GET /v2 HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                             b"x" * 60),
                            (b"CONNECT x:1 HTTP/1.1\r\n\r\n", b"x" * 60),
                            (INFER + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n")):
            flood(first, more)      # returns when the server has closed the connection
        self.good_is_served("heads without end")

    def test_answers_that_nobody_reads(self):
        for _ in range(8):
            one = self.connect()
            one.settimeout(0.2)
            try:
                while True:
                    one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            except OSError:     # the server reads no more, or has closed the connection
                pass
        self.good_is_served("clients that do not read")

    def test_large_json_of_one_client(self):
        rows = b",".join([b"1"] * (4 << 20))
        body = b'{"inputs": [{"name": "image", "shape": [64, 1, 28, 28], "datatype": "INT8", "data": [' \
            + rows + b"]}]}"
        for _ in range(6):
            one = self.connect()
            threading.Thread(target=self._send, args=(
                one, INFER + b"Content-Length: %d\r\n\r\n" % len(body) + body)).start()
        self.good_is_served("large JSON", 500)
        for one in self.sockets:
            self.assertRegex(one.recv(1000), rb"HTTP/1.1 (400|413|429) ")

    @staticmethod
    def _send(one, data):
        try:
            one.sendall(data)
        except OSError:
            pass

    def test_changed_requests(self):
        """Random changes of whole requests: each connection gets answers of HTTP or is closed."""
        rng = random.Random(int(os.environ.get("VTA_SEED", "1")))
        text = json.dumps(test_protocol.request(id="7", outputs=[{"name": "scores"}])).encode()
        binary = json.dumps({"inputs": [{"name": "image", "shape": [1, 1, 28, 28], "datatype": "INT8",
                                         "parameters": {"binary_data_size": 784}}]}).encode()
        seeds = [INFER + b"Content-Length: %d\r\n\r\n" % len(text) + text,
                 INFER + b"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n"
                 % (len(binary), len(binary) + 784) + binary + bytes(784),
                 b"GET /v2/models/digits/versions/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]
        words = [b"\r\n", b"\0", b"-1", b"99999999999999999999", b'"', b"[", b"{", b"}", b"]", b"\xff",
                 b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"Expect: 100-continue"
                 b"\r\n", b"Content-Length: 0\r\n", b"1e999", b"null", b"true", b"/../", b"%00", b":"]
        answers, patience = 0, 0.05
        for i in range(1000):
            if i % 100 == 99 and answers < i // 3:      # on a slow machine answers take longer
                patience *= 2
            data = bytearray(rng.choice(seeds))
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(min(len(data), 400))
                if rng.random() < 0.6:
                    data[at:at + rng.choice((0, 0, 1, 4))] = rng.choice(words)
                else:
                    data[at] = rng.randrange(256)
            with socket.create_connection(("127.0.0.1", self.server.port), client.SECONDS,
                                          (HOSTILE, 0)) as one:
                one.settimeout(patience)    # a request may be incomplete now
                try:
                    one.sendall(data)
                    if rng.random() < 0.3:
                        one.shutdown(socket.SHUT_WR)
                    answer = one.recv(100)
                except OSError:
                    continue
                if answer:
                    self.assertRegex(answer, rb"\AHTTP/[0-9.]+ [1-5][0-9][0-9] ", bytes(data))
                    answers += 1
        self.assertGreater(answers, 300)
        self.assertEqual(self.server.metric('vta_serve_requests_total{code="500",model="digits"}'), 0)
        self.good_is_served("changed requests", 50)
