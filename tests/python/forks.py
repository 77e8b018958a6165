#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Children that end as programs do, with what their parent has in flight: the parent goes on."""

import os
import sys

import images
import vtadev

ECHO = images.echo([("x", "b", (4,))])
card = vtadev.open()
program = card.program(ECHO)
pool = vtadev.Pool(ECHO, [os.environ.get("VTADEV_DEVICE", "vta0")])


def refused(function):
    try:
        function()
    except RuntimeError as error:
        return "fork" in str(error)


def drop():
    global card, program, pool
    del card, program, pool
    return True


def close():
    pool.close()
    program.close()
    card.close()
    return True


def run():
    return all(map(refused, (lambda: program(b"abcd"), lambda: pool(b"abcd"),
                             lambda: program.submit(b"abcd"), lambda: pool.submit(b"abcd"),
                             lambda: card.program(ECHO), card.mem_free, pool.stats)))


for function in (lambda: True, drop, close, run):
    for runner in (program, pool):
        assert bytes(runner.submit(b"abcd").result()) == b"abcd"
    futures = [program.submit(b"abcd"), pool.submit(b"abcd")]
    pid = os.fork()
    if not pid:
        sys.exit(0 if function() else 1)        # unlike os._exit(), with finalizers
    assert os.waitpid(pid, 0)[1] == 0
    for future in futures:
        assert bytes(future.result()) == b"abcd"
print("the parent goes on")
