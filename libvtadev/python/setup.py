# SPDX-License-Identifier: Apache-2.0
"""The extension: against libvtaprog and libvtadev as pkg-config finds them."""

import subprocess
from glob import glob

from setuptools import Extension, setup


def vtaprog(*what):
    # pkg-config reports on stderr what is missing.
    return subprocess.run(["pkg-config", *what, "vtaprog"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.split()


setup(
    version=vtaprog("--modversion")[0],
    ext_modules=[Extension(
        "vtadev._core", sorted(glob("*.c")), depends=["core.h"], py_limited_api=True,
        define_macros=[("_GNU_SOURCE", None)],
        extra_compile_args=["-std=gnu11", "-I..", "-I../../contract", "-fvisibility=hidden", *vtaprog("--cflags")],
        extra_link_args=vtaprog("--libs"))],
    options={"bdist_wheel": {"py_limited_api": "cp311"}})
