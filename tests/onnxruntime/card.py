#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The execution provider in ONNX Runtime on the cards vta0 and vta1, which are lost at the end: prints
TAP. See guest.sh."""

import concurrent.futures
import gc
import os
import sys
import threading

import numpy

import provider
from provider import SHAPE, answer, devices, session

CALLERS, EACH = 4, 25


def cards(*names):
    return [d for name in names for d in devices(name)]


def number(card, name):
    with open(f"/sys/class/vta/{card}/{name}", encoding="ascii") as file:
        return int(file.read())


def write_one(path):
    with open(path, "wb", buffering=0) as file:
        file.write(b"1")


def pull_out(card):
    write_one(os.path.realpath(f"/sys/class/vta/{card}/device") + "/remove")


def inputs():
    return numpy.fromfile("qdq.in", numpy.float32).reshape(-1, *SHAPE)


def outputs(name):
    return numpy.fromfile(f"{name}.out", numpy.float32).reshape(-1, 1, 10)


def assert_exact(made, name, card):
    """The answers are those of vtactl, and the card has computed each."""
    before = number(card, "counters/runs")
    for x, y in zip(inputs(), outputs(name)):
        assert answer(made, x).tobytes() == y.tobytes()
    assert number(card, "counters/runs") >= before + len(inputs()) > before


def test_cards_are_listed_as_devices():
    assert len(cards("vta0", "vta1")) == 2
    assert all(d.ep_name == provider.NAME for d in cards("vta0", "vta1"))


def test_quantised_model_equals_vtactl_program_run_bit_for_bit():
    assert_exact(session("qdq", cards=cards("vta0")), "qdq", "vta0")


def test_program_in_a_model_runs_without_compiling():
    assert_exact(session("program", cards=cards("vta1")), "float", "vta1")


def test_first_runs_calibrate_as_vtac_compile_does():
    made = session("blocks", {"calibration_runs": str(len(inputs()))}, cards=cards("vta0"))
    exact = [answer(made, x) for x in inputs()]
    provider.until_calibrated(made, inputs()[0], exact[0])
    assert_exact(made, "blocks", "vta0")


def test_no_run_is_lost_while_a_card_is_reset_and_pulled_out():
    made, lock, done = session("qdq", cards=cards("vta0", "vta1")), threading.Lock(), []
    values, wanted = inputs(), outputs("qdq")

    def call(caller):
        for k in range(EACH):
            i = (caller + k) % len(values)
            assert answer(made, values[i]).tobytes() == wanted[i].tobytes(), (caller, k)
            with lock:
                done.append((caller, k))
                count = len(done)
            if count == CALLERS * EACH // 4:
                write_one("/sys/class/vta/vta1/reset")
            if count == CALLERS * EACH // 2:
                pull_out("vta1")

    with concurrent.futures.ThreadPoolExecutor(CALLERS) as callers:
        for result in [callers.submit(call, caller) for caller in range(CALLERS)]:
            result.result()
    assert len(done) == CALLERS * EACH and not os.path.exists("/sys/class/vta/vta1")


def test_sessions_leave_no_context():
    gc.collect()
    assert number("vta0", "contexts_used") == 0


def test_last_card_that_goes_is_named_and_a_fallback_computes():
    alone, helped = (session("qdq", options, cards=cards("vta0")) for options in
                     (None, {"fallback": "soft"}))
    x, y = inputs()[0], outputs("qdq")[0]
    assert answer(alone, x).tobytes() == answer(helped, x).tobytes() == y.tobytes()
    pull_out("vta0")
    assert answer(helped, x).tobytes() == y.tobytes()
    try:
        answer(alone, x)
    except Exception as error:
        assert "no card is up: vta0: there is no such card" in str(error), error
    else:
        raise AssertionError("a card that is gone has computed")


if __name__ == "__main__":
    os.chdir(provider.HERE)
    sys.exit(provider.main(globals()))
