#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Digits on a device with several cores, many runs in flight: the scores are those of the CPU.

    side_by_side.py RUNS DEVICE...

Prints TAP."""

import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "build/python"))
import vtadev  # noqa: E402  of this tree

DIGITS = 300

def main():
    failed = 0
    runs, devices = int(sys.argv[1]), sys.argv[2:]
    print(f"TAP version 13\n1..{len(devices)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([TOP / "build/examples/digits/digits-compile", "-b", "1",
                        folder / "digits.vtap"], check=True)
        subprocess.run([TOP / "build/tests/ops/digits_raw", TOP / "examples/digits/testset.bin",
                        str(DIGITS), folder / "images", folder / "scores"], check=True)
        images = (folder / "images").read_bytes()
        scores = (folder / "scores").read_bytes()
        size = len(images) // DIGITS
        for n, device in enumerate(devices, 1):
            with vtadev.Pool(folder / "digits.vtap", [device], depth=runs) as pool:
                found = b"".join(bytes(answer) for answer in pool.map(
                    images[i * size:(i + 1) * size] for i in range(DIGITS)))
            failed |= found != scores
            print(f"{'ok' if found == scores else 'not ok'} {n} {device}: {runs} runs in flight")
    return failed


if __name__ == "__main__":
    sys.exit(main())
