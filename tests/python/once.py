#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each kind of call once, for valgrind."""

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
