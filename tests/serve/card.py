# SPDX-License-Identifier: GPL-2.0-only
"""vta-serve on the cards vta0 and vta1, of which one is lost: all answers, each once. See guest.sh."""

import concurrent.futures
import os
import sys
import threading

import client

CLIENTS, EACH = 4, 50

digits = client.Digits("/test")
server = client.Server("/digits", program=[sys.executable, "/package/vta-serve"], wait=False)
try:
    server.until_ready()
except AssertionError:
    server.process.kill()
    sys.exit(server.process.stderr.read() + "the server is not ready")
done, lock = [], threading.Lock()


def tell(path):
    """Reset a card, or pull it out."""
    with open(path, "wb", buffering=0) as file:
        file.write(b"1")


def lose(count):
    """After so many answers: the second card is reset, later it is pulled out."""
    if count == CLIENTS * EACH // 4:
        tell("/sys/class/vta/vta1/reset")
    if count == CLIENTS * EACH // 2:
        tell(os.path.realpath("/sys/class/vta/vta1/device") + "/remove")


def ask(number):
    """The answers of one client."""
    one = client.Client(server.port)
    for k in range(EACH):
        status, value, found = one.infer("digits", [digits.tensor(k)])
        assert status == 200, value
        assert list(found.values()) == [digits.answer(k)], (number, k)
        with lock:
            done.append((number, k))
            count = len(done)
        lose(count)
    one.close()


with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
    for answer in [clients.submit(ask, number) for number in range(CLIENTS)]:
        answer.result()
assert len(done) == len(set(done)) == CLIENTS * EACH
assert not os.path.exists("/sys/class/vta/vta1")
assert client.Client(server.port).get("/v2/health/ready")[0] == 200
assert server.stop() == 0, server.lines
print(len(done), "answers")
