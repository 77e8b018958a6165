#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Classify a test set of digits on the cards of many machines: digits.py SCHEDULER PROGRAM TESTSET.

Each card is a worker of Dask with one unit of the resource "vta" (workers.sh), and PROGRAM is there on
each machine. Prints the number of tasks of each worker, and the accuracy.
"""

import collections
import os
import struct
import sys

import distributed
import vtadev

PIECE = 50      # images of a task


def classify(pixels, program):
    """In a worker: its name, and the scores of images. A card that is lost is waited for; if it does
    not come back, the task fails, and runs again on another."""
    worker = distributed.get_worker()
    pool = getattr(worker, "vta_pool", None)
    if not pool:
        # It keeps its card for later tasks.
        pool = worker.vta_pool = vtadev.Pool(program, [worker.name.rpartition("/")[2]])
    rows = [pixels[at:at + 784] for at in range(0, len(pixels), 784)]
    return worker.name, b"".join(bytes(scores) for scores in pool.map(rows))


def begin(client, program, pixels):
    """Futures of classify() for all images, PIECE at a time, in their order."""
    pieces = [pixels[at:at + 784 * PIECE] for at in range(0, len(pixels), 784 * PIECE)]
    return client.map(classify, pieces, program=program, resources={"vta": 1}, retries=3, pure=False)


def main():
    """Classify all images of the test set."""
    scheduler, program, testset = sys.argv[1:]
    with open(testset, "rb") as file:
        count, height, width = struct.unpack("<4x3I", file.read(16))
        pixels = bytes(pixel >> 1 for pixel in file.read(count * height * width))
        labels = file.read(count)
    with distributed.Client(scheduler) as client:
        results = client.gather(begin(client, os.path.abspath(program), pixels))
    scores = memoryview(b"".join(values for _, values in results)).cast("b").tolist()
    digits = [max(range(10), key=scores[at:at + 10].__getitem__) for at in range(0, len(scores), 10)]
    for name, tasks in sorted(collections.Counter(name for name, _ in results).items()):
        print(f"{name}: {tasks} tasks")
    right = sum(map(int.__eq__, digits, labels))
    print(f"{right} of {count} digits are right")


if __name__ == "__main__":
    main()
