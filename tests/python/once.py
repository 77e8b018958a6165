#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each kind of call once, for valgrind."""

import test_vtadev

leaks = test_vtadev.Leaks()
leaks.setUp()
leaks.round()
leaks.doCleanups()
