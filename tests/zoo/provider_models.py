#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compile networks of the zoo for the tests in provider.py, and write what vtactl computes.

    provider_models.py EXPORTS DIRECTORY NAME...

DIRECTORY/NAME gets model.onnx, its samples, context.onnx, which has a program within, calibrated by
all samples but the last, program.vtap, which is that program, and got.I: the outputs for the last
sample.
"""
import pathlib
import shutil
import subprocess
import sys

import numpy
import onnx


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def prepare(source, to):
    to.mkdir()
    shutil.copy(source / "model.onnx", to)
    graph = onnx.load(source / "model.onnx").graph
    constants = {c.name for c in graph.initializer}
    given, calibrate = [], []
    for i, value in enumerate(v for v in graph.input if v.name not in constants):
        samples = numpy.load(source / f"in.{i}.npy")
        numpy.save(to / f"{value.name}.npy", samples[:-1])
        samples[-1].tofile(to / f"in.{i}")
        numpy.save(to / f"last.{i}.npy", samples[-1])
        given.append(f"{value.name}={to}/in.{i}")
        calibrate.append(f"--calibrate={value.name}={to}/{value.name}.npy")
    run("build/tools/vtac", "compile", to / "model.onnx", *calibrate, "--emit=onnx",
        "-o", to / "context.onnx")
    (node,) = onnx.load(to / "context.onnx").graph.node
    (program,) = (a.s for a in node.attribute if a.name == "ep_cache_context")
    (to / "program.vtap").write_bytes(program)
    outputs = [f"{value.name}={to}/got.{i}" for i, value in enumerate(graph.output)]
    run("build/tools/vtactl", "program", "run", "--cards", "soft", to / "program.vtap", *given,
        *outputs)


def main():
    exports, to, *names = sys.argv[1:]
    keys = dict(line.split()[:2] for line in (pathlib.Path(to) / "exports.txt").read_text().splitlines())
    for name in names:
        prepare(pathlib.Path(exports) / f"{name}-{keys[name]}", pathlib.Path(to) / name)


if __name__ == "__main__":
    main()
