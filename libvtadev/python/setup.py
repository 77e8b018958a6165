# SPDX-License-Identifier: Apache-2.0
"""A wheel of vtadev with the libraries, the compiler and the device soft inside: make builds it."""

import re
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

TOP = Path(__file__).resolve().parents[2]
OUT = TOP / "build/wheel"


class BuildByMake(build_ext):
    """Extension modules, plugins and the libraries that they need, as make wheel-parts places them."""

    def run(self):
        package = Path(self.build_lib).resolve() / "vtadev"
        subprocess.run(["make", "-s", "-C", TOP, "wheel-parts", f"WHEEL_PACKAGE={package}"], check=True)

    def get_outputs(self):
        return [str(path) for path in (Path(self.build_lib) / "vtadev").glob("*.so*")]


OUT.mkdir(parents=True, exist_ok=True)
setup(
    version=re.search(r'VTA_VERSION\s+"(.*)"', (TOP / "uapi/vta.h").read_text())[1],
    # No sources: the name makes the wheel one of this machine and of the stable ABI.
    ext_modules=[Extension("vtadev._core", [], py_limited_api=True)],
    cmdclass={"build_ext": BuildByMake},
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build": {"build_base": str(OUT)},
             "egg_info": {"egg_base": str(OUT)}})
