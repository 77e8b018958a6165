# SPDX-License-Identifier: GPL-2.0-only
"""Load while cards are reset and pulled out, stopping, and two servers behind a balancer."""

import collections
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import client

DIR = pathlib.Path(os.environ["SERVE_TEST"])
FLAKY = [sys.executable, "tests/serve/flaky_server.py"]
CLIENTS, REQUESTS, MISFORTUNES, CARDS = 64, 10000, 24, 3


class Load:
    """Clients that ask until all requests are answered. A request that is refused for now (429,
    503), or whose connection ends, is sent again."""

    def __init__(self, ports, digits, requests, clients=CLIENTS):
        self.ports, self.digits = ports, digits
        self.left = collections.deque(range(requests))
        self.answered, self.again = collections.Counter(), collections.Counter()
        self.wrong, self.seconds = [], []
        self.threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def _ask(self, number):
        one = client.Client(self.ports[number % len(self.ports)])
        while True:
            try:
                request = self.left.popleft()
            except IndexError:
                one.close()
                return
            try:
                self._ask_once(one, request)
            except (OSError, http.client.HTTPException) as error:
                self.again[type(error).__name__] += 1
                self.left.append(request)
                one.close()
            except Exception as error:
                self.wrong.append((request, repr(error)))

    def _ask_once(self, one, request):
        image = request * 7 % len(self.digits.images)
        begun = time.monotonic()
        status, answer, found = one.infer("digits", [self.digits.tensor(image)], id=str(request))
        self.seconds.append(time.monotonic() - begun)
        if status in (429, 503):
            self.again[status] += 1
            self.left.append(request)
            time.sleep(0.05)
        elif (status, answer.get("id"), found.get("scores")) != \
                (200, str(request), self.digits.answer(image)):
            self.wrong.append((request, status, answer))
        else:
            self.answered[request] += 1

    def wait(self):
        """Wait until all are answered; how long the slowest hundredth took, at least."""
        for thread in self.threads:
            thread.join()
        return sorted(self.seconds)[len(self.seconds) * 99 // 100]


def refuses(port):
    """Returns true if nothing listens there."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


class Cards(unittest.TestCase):
    def serve(self, *options):
        models = pathlib.Path(tempfile.mkdtemp(dir=DIR))
        self.addCleanup(shutil.rmtree, models)
        shutil.copy(DIR / "models" / "digits.vtap", models)
        server = client.Server(models, *options, program=FLAKY)
        self.addCleanup(server.stop)
        return server

    def test_cards_reset_and_pulled_out_under_load(self):
        rng = random.Random(int(os.environ.get("VTA_SEED", "1")))
        server = self.serve("--cards", ",".join(f"flaky:{i}" for i in range(CARDS)))
        begun = time.monotonic()
        load = Load([server.port], client.Digits(DIR), REQUESTS)
        out = None
        for misfortune in range(MISFORTUNES):
            client.until(lambda: len(load.answered) >= misfortune * REQUESTS // MISFORTUNES)
            if out is not None:
                server.tell(f"refuse {out} 0")
            out = rng.randrange(CARDS) if misfortune % 2 else None
            card = rng.randrange(CARDS) if out is None else out
            if out is not None:
                server.tell(f"refuse {out} 19")
            server.tell(f"lose {card} {rng.randrange(1, 4)}")
        p99 = load.wait()
        wall = time.monotonic() - begun
        losses = server.metric("vta_serve_card_losses_total")
        print(f"# {REQUESTS} requests of {CLIENTS} clients in {wall:.1f} s, cards lost {losses:.0f} "
              f"times: half within {sorted(load.seconds)[len(load.seconds) // 2] * 1e3:.0f} ms, p99 "
              f"{p99 * 1e3:.0f} ms, the slowest {max(load.seconds) * 1e3:.0f} ms; sent again "
              f"{dict(load.again)}")
        self.assertEqual(load.wrong, [])
        self.assertEqual(sorted(load.answered), list(range(REQUESTS)))
        self.assertEqual(set(load.answered.values()), {1})
        self.assertGreaterEqual(losses, MISFORTUNES // 3)
        # No request ran twice to its end.
        self.assertEqual(server.metric("vta_serve_card_answers_total"), REQUESTS)
        self.assertEqual(server.metric("vta_serve_requests_in_progress"), 1)
        self.assertEqual(server.metric("vta_serve_request_bytes"), 0)
        self.assertEqual(server.stop(), 0)

    def test_full_queue_is_429_and_readiness_follows_the_card(self):
        server = self.serve("--cards", "flaky:0", "--queue", "4", "--client-requests", "20")
        digits = client.Digits(DIR)
        server.tell("hold 0 1")
        answers, threads = [], []

        def ask(i):
            one = client.Client(server.port)
            answers.append((one.infer("digits", [digits.tensor(i)]), i))

        # Two runs in the card's hands and four that wait.
        for i in range(6):
            threads.append(threading.Thread(target=ask, args=(i,)))
            threads[-1].start()
        server.until(lambda _: server.metric("vta_serve_waiting_rows") == 4)
        one = client.Client(server.port)
        status, headers, body = one.call("POST", "/v2/models/digits/infer", json.dumps({}).encode())
        self.assertEqual((status, headers["Retry-After"]), (429, "1"), body)
        self.assertEqual(one.get("/v2/health/live")[0], 200)
        server.tell("hold 0 0")
        for thread in threads:
            thread.join()
        for (status, _, found), i in answers:
            self.assertEqual((status, found["scores"]), (200, digits.answer(i)))
        server.tell("refuse 0 19")
        server.tell("lose 0 1")
        lost = threading.Thread(target=ask, args=(9,))
        lost.start()
        server.until_ready(False)
        self.assertEqual(one.get("/v2/health/live")[0], 200)
        self.assertEqual(one.get("/v2/models/digits/ready")[0], 503)
        server.tell("refuse 0 0")
        server.until_ready()
        lost.join()
        self.assertEqual((answers[-1][0][0], answers[-1][0][2]["scores"]), (200, digits.answer(9)))

    def test_limit_of_a_client(self):
        server = self.serve("--cards", "flaky:0", "--client-requests", "3", "--queue", "100")
        digits, answers = client.Digits(DIR), []
        server.tell("hold 0 1")
        threads = [threading.Thread(target=lambda: answers.append(
            client.Client(server.port).infer("digits", [digits.tensor(0)])[0])) for _ in range(5)]
        for thread in threads:
            thread.start()
        client.until(lambda: answers == [429, 429])
        server.tell("hold 0 0")
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [200] * 3 + [429] * 2)

    def test_stop_answers_what_is_in_flight(self):
        linger = 1.5
        server = self.serve("--cards", "flaky:0", "--linger", str(linger))
        digits, answers = client.Digits(DIR), []
        server.tell("hold 0 1")
        threads = [threading.Thread(target=lambda i=i: answers.append(
            (i, client.Client(server.port).infer("digits", [digits.tensor(i)])))) for i in range(20)]
        idle, last = client.Client(server.port), client.Client(server.port)
        self.assertEqual(idle.get("/v2/health/ready")[0], 200)
        self.assertEqual(last.get("/v2/health/ready")[0], 200)
        for thread in threads:
            thread.start()
        server.until(lambda _: server.metric("vta_serve_requests_in_progress") == 21)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        try:
            server.until_ready(False)
            self.assertEqual(idle.get("/v2/health/live")[0], 200)
        except OSError:     # this process was paused for as long as the server lingers
            self.assertGreater(time.monotonic() - begun, linger)
        client.until(lambda: refuses(server.port))
        self.assertEqual(answers, [])
        status, headers, _ = last.call("GET", "/v2/models/digits")
        self.assertEqual((status, headers["Connection"]), (503, "close"))
        server.tell("hold 0 0")
        for thread in threads:
            thread.join()
        self.assertEqual(sorted((i, status, found["scores"]) for i, (status, _, found) in answers),
                         [(i, 200, digits.answer(i)) for i in range(20)])
        self.assertEqual(server.process.wait(client.SECONDS), 0)

    def test_run_that_does_not_end_is_504(self):
        server = self.serve("--cards", "flaky:0", "--timeout", "0.2")
        digits = client.Digits(DIR)
        server.tell("hold 0 1")
        self.assertEqual(client.Client(server.port).infer("digits", [digits.tensor(0)])[0], 504)
        server.tell("hold 0 0")
        server.until(lambda one: one.infer("digits", [digits.tensor(0)])[0] == 200)

    @unittest.skipUnless(shutil.which("haproxy"), "there is no haproxy")
    def test_two_behind_a_balancer_of_which_one_loses_its_card(self):
        servers = [self.serve("--cards", f"flaky:{i}") for i in range(2)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = (pathlib.Path("examples/serve/haproxy.cfg").read_text()
                  .replace("127.0.0.1:8080", f"127.0.0.1:{port}")
                  .replace("10.0.0.1:8000", f"127.0.0.1:{servers[0].port}")
                  .replace("10.0.0.2:8000", f"127.0.0.1:{servers[1].port}"))
        path = DIR / "haproxy.cfg"
        path.write_text(config)
        balancer = subprocess.Popen(["haproxy", "-db", "-f", path])
        self.addCleanup(balancer.wait)
        self.addCleanup(balancer.terminate)
        for server in servers:
            server.until(lambda _, server=server: server.metric(
                'vta_serve_requests_total{code="200",model=""}') > 2)
        client.until(lambda: not refuses(port))
        load = Load([port], client.Digits(DIR), 2000, 16)
        client.until(lambda: len(load.answered) >= 500)
        servers[0].tell("refuse 0 19")
        servers[0].tell("lose 0 1")
        servers[0].until_ready(False)
        load.wait()
        self.assertEqual(load.wrong, [])
        self.assertEqual(sorted(load.answered), list(range(2000)))
        self.assertEqual(set(load.answered.values()), {1})
        servers[0].tell("refuse 0 0")
        servers[0].until_ready()
        before = servers[0].metric("vta_serve_card_answers_total")
        load = Load([port], client.Digits(DIR), 500, 8)
        load.wait()
        servers[0].until(lambda one: servers[0].metric("vta_serve_card_answers_total") > before)
        self.assertEqual(load.wrong, [])
