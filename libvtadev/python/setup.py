# SPDX-License-Identifier: Apache-2.0
"""The extension: against libvtadev as pkg-config finds it, with the libraries of operators
and programs, which are static, beside it."""

import subprocess
from glob import glob

from setuptools import Extension, setup


def vtadev(*what):
    # What pkg-config says on stderr tells the user what is missing.
    return subprocess.run(["pkg-config", *what, "vtadev"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.split()


setup(
    version=vtadev("--modversion")[0],
    ext_modules=[Extension(
        "vtadev._core", sorted(glob("*.c")), depends=["core.h"], py_limited_api=True,
        define_macros=[("_GNU_SOURCE", None)],
        extra_compile_args=["-std=gnu11", "-I../../contract", "-fvisibility=hidden", *vtadev("--cflags")],
        extra_link_args=[*vtadev("--libs-only-L"), "-lvtaprog", "-lvtaops", "-lvtadev",
                         "-Wl,--exclude-libs,ALL"])],
    options={"bdist_wheel": {"py_limited_api": "cp311"}})
