# SPDX-License-Identifier: GPL-2.0-only
"""A client of the Open Inference Protocol, written from its text, and servers to talk to. It shares
no code with the server."""

import contextlib
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

FORMATS = {"INT8": "b", "UINT8": "B", "INT32": "i", "INT64": "q", "FP32": "f", "BOOL": "?"}
SECONDS = 120       # for whatever a busy machine takes


def raw(datatype, values):
    """Values as the extension for binary tensors has them: little-endian, without gaps."""
    return struct.pack(f"<{len(values)}{FORMATS[datatype]}", *values)


def until(condition):
    """Wait until a condition is true."""
    limit = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < limit, "the condition has not come true"
        time.sleep(0.02)


class Client:
    """One connection that stays open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def call(self, method, path, body=None, headers=None):
        """(status, headers, body)"""
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def get(self, path):
        """(status, the JSON's value)"""
        status, _, body = self.call("GET", path)
        return status, json.loads(body)

    def post(self, path, value):
        """(status, the JSON's value)"""
        status, _, body = self.call("POST", path, value if isinstance(value, bytes) else
                                    json.dumps(value).encode())
        return status, json.loads(body)

    def infer(self, model, tensors, outputs=None, **more):
        """Binary tensors, (name, datatype, shape, bytes) each, for binary outputs: (status, the
        JSON's value, a dict of bytes)."""
        request = {"inputs": [{"name": name, "datatype": datatype, "shape": list(shape),
                               "parameters": {"binary_data_size": len(data)}}
                              for name, datatype, shape, data in tensors],
                   "parameters": {"binary_data_output": True}, **more}
        if outputs:
            request["outputs"] = outputs
        text = json.dumps(request).encode()
        status, headers, body = self.call(
            "POST", f"/v2/models/{urllib.parse.quote(model)}/infer",
            b"".join([text, *(tensor[3] for tensor in tensors)]),
            {"Inference-Header-Content-Length": str(len(text)),
             "Content-Type": "application/octet-stream"})
        size = int(headers.get("Inference-Header-Content-Length", len(body)))
        value, tail, found = json.loads(body[:size]), body[size:], {}
        for output in value.get("outputs", []):
            count = output.get("parameters", {}).get("binary_data_size")
            if count is not None:
                found[output["name"]], tail = tail[:count], tail[count:]
        assert not tail, "bytes that belong to no output"
        return status, value, found

    def close(self):
        """Close the connection."""
        self.connection.close()


class Server:
    """vta-serve in a process of its own; commands go to its standard input (flaky_server.py)."""

    def __init__(self, directory, *options, program=None, wait=True):
        program = program or [sys.executable, "adapters/serve/vta-serve"]
        self.process = subprocess.Popen(
            [*program, str(directory), "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # A thread reads the log, so that the server never waits for it to be read.
        self.lines, self.news, self.ended = [], threading.Condition(), False
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        self.port = int(self.line(r"listening on 127.0.0.1 port (\d+)")[1])
        if wait:
            self.until_ready()

    def read_log(self):
        """All lines of the server's log, until it ends."""
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def line(self, pattern):
        """The first line of the server's log that has pattern, now or later."""
        def found():
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)

        with self.news:
            self.news.wait_for(lambda: found() or self.ended, SECONDS)
            assert found(), f"{'the server has ended' if self.ended else 'no ' + pattern}: " \
                f"{self.lines}"
            return found()

    def until_ready(self, ready=True):
        """Wait until the server is ready, or is not."""
        self.until(lambda client: (client.get("/v2/health/ready")[0] == 200) == ready)

    def until(self, condition):
        """Wait until a condition of a client is true."""
        client = Client(self.port)
        until(lambda: condition(client))
        client.close()

    def metric(self, name):
        """The sum of all series of a metric."""
        client = Client(self.port)
        text = client.call("GET", "/metrics")[2].decode()
        client.close()
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
                   if re.match(rf"{name}[{{ ]", line))

    def tell(self, command):
        """A command for flaky_server.py, which holds when this returns."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n", self.lines

    def connect(self):
        """A bare socket."""
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def stop(self):
        """End the server, if it has not ended; its exit status."""
        if self.process.stderr.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.reader.join()
        self.process.stderr.close()
        self.process.stdout.close()
        return self.process.wait(SECONDS)


def resident(pid):
    """Resident bytes of a process, at most since it began."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) << 10


class Digits:
    """Images for the models, and the scores that the CPU computes for them (digits_raw.c)."""

    def __init__(self, directory):
        with open(f"{directory}/images", "rb") as file:
            data = file.read()
        with open(f"{directory}/scores", "rb") as file:
            scores = file.read()
        self.images = [data[at:at + 784] for at in range(0, len(data), 784)]
        self.scores = [scores[at:at + 10] for at in range(0, len(scores), 10)]

    def tensor(self, first, count=1):
        """Images as an input of a request."""
        return ("image", "INT8", (count, 1, 28, 28), b"".join(self.images[first:first + count]))

    def answer(self, first, count=1):
        """The scores of these images."""
        return b"".join(self.scores[first:first + count])
