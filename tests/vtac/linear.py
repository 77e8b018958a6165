#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The instructions that vtac executes are linear in a model's nodes, by valgrind's count.

    linear.py VTAC

A model with FACTOR times as many nodes may take MOST times as many instructions. Prints TAP.
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


def instructions(vtac, make, n, where):
    path = os.path.join(where, "model.onnx")
    save(make, n, path)
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", vtac, "compile", "-q",
         "-o", os.path.join(where, "program"), path],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    count = re.search(r"Collected : (\d+)", run.stdout)
    if run.returncode or not count:
        raise RuntimeError(run.stdout)
    return int(count[1])


def main():
    kinds = [chain, fan, ladder]
    failed = False
    print(f"TAP version 13\n1..{len(kinds)}")
    for number, make in enumerate(kinds, 1):
        name = f"{make.__name__}: {FACTOR} times the nodes take at most {MOST} times the work"
        if not shutil.which("valgrind"):
            print(f"ok {number} {name} # SKIP there is no valgrind")
            continue
        with tempfile.TemporaryDirectory() as where:
            few = instructions(sys.argv[1], make, NODES, where)
            many = instructions(sys.argv[1], make, NODES * FACTOR, where)
        print(f"# {few} instructions of {NODES} nodes, {many} of {NODES * FACTOR}: "
              f"{many / few:.2f}")
        bad = many > MOST * few
        failed = failed or bad
        print(f"{'not ok' if bad else 'ok'} {number} {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
