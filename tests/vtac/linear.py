#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The instructions that vtac executes are linear in a model's nodes and in its pixels, by valgrind's
count, and so is its memory in pixels.

    linear.py VTAC

A model with FACTOR times as many nodes or pixels may take MOST times as many instructions, and
TENSORS times the bytes that its tensors have more. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NODES = 1500
FACTOR = 4
MOST = 6
SHAPE = [1, 16, 2, 2]
TENSORS = 4
SIDE = 64


def chain(n):
    """Nodes one after the other, each second one with a constant of its own."""
    nodes, constants, x = [], [], "x"
    for i in range(n // 2):
        constants.append(numpy_helper.from_array(np.full(SHAPE, i / n, "f4"), f"c{i}"))
        nodes.append(helper.make_node("Add", [x, f"c{i}"], [f"a{i}"]))
        nodes.append(helper.make_node("Erf", [f"a{i}"], [f"b{i}"]))
        x = f"b{i}"
    return nodes, constants, x


def fan(n):
    """Nodes that all read one tensor, and one that reads all of theirs."""
    nodes = [helper.make_node("Erf", ["x"], [f"a{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"a{i}" for i in range(n)], ["y"], axis=1))
    return nodes, [], "y"


def ladder(n):
    """Tensors that live from the first half of the model to the second."""
    nodes, x = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Erf", [x], [f"a{i}"]))
        x = f"a{i}"
    for i in reversed(range(n // 2 - 1)):
        nodes.append(helper.make_node("Add", [x, f"a{i}"], [f"b{i}"]))
        x = f"b{i}"
    return nodes, [], x


def save(make, n, path):
    nodes, constants, y = make(n)
    graph = helper.make_graph(
        nodes, "linear", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def save_pictures(side, where):
    """Two convolutions of a picture and two images of it: the options of vtac."""
    random = np.random.RandomState(0)
    shape, model = [1, 3, side, side], os.path.join(where, "model.onnx")
    constants = [numpy_helper.from_array(random.randn(16, n, 3, 3).astype("f4"), f"w{n}")
                 for n in (3, 16)]
    nodes = [helper.make_node("Conv", ["x", "w3"], ["a"], pads=[1] * 4),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w16"], ["y"], pads=[1] * 4)]
    graph = helper.make_graph(
        nodes, "pictures", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), model)
    np.save(os.path.join(where, "images.npy"), random.rand(2, *shape[1:]).astype("f4"))
    return [f"--calibrate={where}/images.npy", model]


def memory(vtac, side, where):
    """The most bytes in use, by the kernel's count."""
    pid = os.spawnvp(os.P_NOWAIT, vtac, [vtac, "compile", "-q", f"--output={where}/program",
                                         *save_pictures(side, where)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"vtac: status {status}")
    return usage.ru_maxrss * 1024


def check_memory(vtac):
    """Floats of 3, 16 and 16 channels a pixel."""
    with tempfile.TemporaryDirectory() as where:
        few, many = memory(vtac, 2 * SIDE, where), memory(vtac, 4 * SIDE, where)
    times = (many - few) / (35 * 4 * (16 - 4) * SIDE * SIDE)
    print(f"# {few} bytes for {2 * SIDE} x {2 * SIDE} pixels, {many} for {4 * SIDE} x {4 * SIDE}: "
          f"{times:.2f} times the tensors")
    return times <= TENSORS


def instructions(vtac, options, where):
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", vtac, "compile", "-q",
         "-o", os.path.join(where, "program"), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    count = re.search(r"Collected : (\d+)", run.stdout)
    if run.returncode or not count:
        raise RuntimeError(run.stdout)
    return int(count[1])


def check_nodes(vtac, make):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "model.onnx")
        save(make, NODES, path)
        few = instructions(vtac, [path], where)
        save(make, NODES * FACTOR, path)
        many = instructions(vtac, [path], where)
    print(f"# {few} instructions of {NODES} nodes, {many} of {NODES * FACTOR}: {many / few:.2f}")
    return many <= MOST * few


def check_pixels(vtac):
    with tempfile.TemporaryDirectory() as where:
        few = instructions(vtac, save_pictures(SIDE, where), where)
        many = instructions(vtac, save_pictures(2 * SIDE, where), where)
    print(f"# {few} instructions for {SIDE} x {SIDE} pixels, {many} for {2 * SIDE} x {2 * SIDE}: "
          f"{many / few:.2f}")
    return many <= MOST * few


def main():
    vtac = sys.argv[1]
    checks = [(f"{make.__name__}: {FACTOR} times the nodes take at most {MOST} times the work",
               lambda make=make: check_nodes(vtac, make)) for make in (chain, fan, ladder)]
    checks.append((f"pictures: {FACTOR} times the pixels take at most {MOST} times the work",
                   lambda: check_pixels(vtac)))
    failed = False
    print(f"TAP version 13\n1..{len(checks) + 1}")
    for number, (name, check) in enumerate(checks, 1):
        if not shutil.which("valgrind"):
            print(f"ok {number} {name} # SKIP there is no valgrind")
            continue
        bad = not check()
        failed = failed or bad
        print(f"{'not ok' if bad else 'ok'} {number} {name}", flush=True)
    bad = not check_memory(vtac)
    print(f"{'not ok' if bad else 'ok'} {len(checks) + 1} pictures: memory for {FACTOR} times the "
          f"pixels grows by at most {TENSORS} times that of tensors")
    return failed or bad


if __name__ == "__main__":
    sys.exit(main())
