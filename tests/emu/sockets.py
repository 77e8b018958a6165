#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The emulator's sockets and descriptors, and a user's mistakes with them. Prints TAP.

    sockets.py EMULATOR

Waits have a limit that only a failure reaches.
"""

import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

LIMIT = 60
EMULATOR = sys.argv[1]
VERSION = struct.pack("<HHIII", 0, 1, 20, 0, 0) + struct.pack("<HH", 0, 0)


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it does not happen")
        time.sleep(0.02)


def connect(path):
    to = socket.socket(socket.AF_UNIX)
    to.settimeout(LIMIT)
    to.connect(str(path))
    return to


def ask(to, request):
    """A request to the control socket; the answer, or None if it hung up."""
    to.sendall(request.encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        more = to.recv(65536)
        if not more:
            return None
        answer += more
    return json.loads(answer)


class Emulator:
    """A process with its sockets in a directory."""

    def __init__(self, folder, **how):
        self.card, self.control = folder / "card", folder / "control"
        self.process = subprocess.Popen(
            [EMULATOR, f"--socket={self.card}", f"--control={self.control}", "--stay"], **how)
        until(lambda: self.control.exists() or self.process.poll() is not None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LIMIT)

    def serves(self):
        """It answers on both sockets."""
        with connect(self.control) as to, connect(self.card) as client:
            client.sendall(VERSION)
            return ask(to, "counters")["ok"] and len(client.recv(16)) == 16


def empty_paths(folder):
    for options in (["--socket="], [f"--socket={folder}/card", "--control="]):
        ended = subprocess.run([EMULATOR, *options], capture_output=True, text=True, timeout=LIMIT)
        assert ended.returncode == 2 and "wants a path" in ended.stderr, ended


def descriptors_run_out(folder):
    with Emulator(folder, stderr=subprocess.DEVNULL) as emulator:
        pid = emulator.process.pid
        # They have no gaps: a process that has served none.
        used = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, used + 100))
        with connect(emulator.control) as waiting, connect(emulator.card) as client:
            waiting.sendall(b"counters\n")
            client.sendall(VERSION)
            # Neither is accepted: the kernel answers no one.
            waiting.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                assert not waiting.recv(1), "accepted without a descriptor"
            assert emulator.process.poll() is None
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 100, used + 100))
            waiting.settimeout(LIMIT)
            assert waiting.recv(1) == b"{"
            assert client.recv(1)


def closed_streams(folder):
    """The first file that is opened does not take the place of standard error."""
    with Emulator(folder, preexec_fn=lambda: os.closerange(0, 3)) as emulator:
        for stream in range(3):
            place = os.readlink(f"/proc/{emulator.process.pid}/fd/{stream}")
            assert place == "/", f"{stream} is {place}"
        assert emulator.serves()


def successor_keeps_its_sockets(folder):
    with Emulator(folder) as first:
        first.card.unlink()
        first.control.unlink()
        with Emulator(folder) as second:
            first.process.terminate()
            assert first.process.wait(LIMIT) == 0
            assert second.serves()
        assert not second.card.exists() and not second.control.exists()


def silent_client(folder):
    """One that does not negotiate, or not wholly, makes place for the next."""
    for said in (b"", VERSION[:7]):
        with Emulator(folder, stderr=subprocess.DEVNULL) as emulator:
            with connect(emulator.card) as silent, connect(emulator.card) as client:
                silent.sendall(said)
                client.sendall(VERSION)
                assert len(client.recv(16)) == 16
                assert not silent.recv(1)


def idle_clients(folder):
    with Emulator(folder) as emulator, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(emulator.control)) for _ in range(16)]
        for to in idle:
            assert ask(to, "counters")["ok"]
        more = stack.enter_context(connect(emulator.control))
        assert ask(more, "counters")["ok"]
        # The longest idle one has gone, and no other.
        assert not idle[0].recv(1)
        for to in idle[1:]:
            assert ask(to, "counters")["ok"]


def many_at_once(folder):
    with Emulator(folder) as emulator, connect(emulator.control) as to:
        for order in ("irq-spurious 2147483647", "irq-spurious=3 1001", "fatal 1001"):
            answer = ask(to, f"inject {order}")
            assert not answer["ok"] and "1000 times" in answer["error"], answer
        assert ask(to, "inject irq-spurious 1000")["ok"]
        emulator.process.send_signal(signal.SIGTERM)
        assert emulator.process.wait(LIMIT) == 0


TESTS = (
    ("sockets without a name are refused", empty_paths),
    ("no descriptors left: clients wait until there are some", descriptors_run_out),
    ("closed standard streams are reserved", closed_streams),
    ("the end of the first leaves the sockets of the second", successor_keeps_its_sockets),
    ("a silent client makes place for the next", silent_client),
    ("of 16 idle control clients the longest idle makes place", idle_clients),
    ("what is injected at once is bounded", many_at_once),
)


def main():
    failed = False
    print(f"TAP version 13\n1..{len(TESTS)}")
    for number, (name, test) in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
                result = "ok"
            except (AssertionError, OSError, subprocess.SubprocessError, TypeError) as error:
                print(f"# {error!r}")
                result, failed = "not ok", True
        print(f"{result} {number} {name}", flush=True)
    return failed


sys.exit(main())
