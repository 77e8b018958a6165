#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Name a handwritten digit: digits.py PROGRAM IMAGE, of 28 x 28 bytes."""
import sys

import vtadev

with vtadev.open() as card, card.program(sys.argv[1]) as program:
    with open(sys.argv[2], "rb") as image:
        scores = bytes(program(image.read()))
    scores = memoryview(scores).cast("b").tolist()
    print("the digit is", scores.index(max(scores)))
