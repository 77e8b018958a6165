#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Copy the modules of Python's own library that the package needs, for the VM.

    standard.py DIRECTORY
"""

import encodings.ascii
import pathlib
import shutil
import sys
import sysconfig

import vtadev  # noqa: F401

standard = pathlib.Path(sysconfig.get_path("stdlib"))
for module in list(sys.modules.values()):
    path = pathlib.Path(getattr(module, "__file__", None) or "/")
    if path.is_relative_to(standard):
        to = pathlib.Path(sys.argv[1], path.relative_to(standard))
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
