#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each kind of call once, for valgrind."""

import os
import tempfile

import test_boxes
import test_compile
import test_vtadev
import vtadev

leaks = test_vtadev.Leaks()
leaks.setUp()
leaks.round()
leaks.doCleanups()

if test_compile.HAVE:
    with vtadev.compile(test_compile.network(), test_compile.IMAGES[:1], images=1) as program:
        program.report()
        program.profile(test_compile.ONE, runs=1)
    for wrong in (b"no model", test_compile.network()):
        try:
            vtadev.compile(wrong)
        except vtadev.CompileError:
            pass
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "picture.png")
        with open(picture, "wb") as file:
            file.write(test_compile.png(bytes(3 * 32 * 16), 32, 16))
        model = test_boxes.detector([0, 4, 16, 12, 4, 6, 8, 10], [0.5, 0.9])
        with vtadev.compile(model, no_card=True, fit="centre") as program:
            program.boxes(picture, draw=os.path.join(folder, "drawn.png"))
