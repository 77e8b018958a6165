#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""One program for several shapes of its inputs.

    variants.py VTAC VTACTL

A small network whose picture has open sizes is compiled for two shapes at once, for the CPU and
from a quantised file for the card. Runs on the device soft, by vtactl and by the Python package,
give bit for bit the outputs of a program for one shape. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile


def skip(why):
    print(f"TAP version 13\nok 1 variants # SKIP {why}\n1..1")
    sys.exit(0)


try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skip(error)

SHAPES = [(1, 3, 16, 16), (1, 3, 32, 24)]
random = np.random.RandomState(1)


def floats(name, *shape):
    return numpy_helper.from_array((0.2 * random.randn(*shape)).astype(np.float32), name)


def model(quantised):
    node, constants, nodes = helper.make_node, [], []

    def quantise(source, scale):
        """The name of the tensor behind integers of this scale."""
        constants.append(numpy_helper.from_array(np.float32(scale), source + ".scale"))
        constants.append(numpy_helper.from_array(np.int8(0), source + ".zero"))
        nodes.append(node("QuantizeLinear", [source, source + ".scale", source + ".zero"],
                          [source + ".q"]))
        nodes.append(node("DequantizeLinear",
                          [source + ".q", source + ".scale", source + ".zero"], [source + ".d"]))
        return source + ".d"

    def conv(source, name, inputs, outputs, scale):
        weight = floats(name + ".w", outputs, inputs, 3, 3)
        constants.append(weight)
        given = [source, name + ".w"]
        if quantised:
            given = [source, quantise(name + ".w", 0.008)]
        nodes.append(node("Conv", given, [name], name=name, pads=[1, 1, 1, 1]))
        nodes.append(node("Relu", [name], [name + ".relu"]))
        return quantise(name + ".relu", scale) if quantised else name + ".relu"

    x = quantise("x", 0.03) if quantised else "x"
    x = conv(conv(x, "first", 3, 32, 0.02), "second", 32, 64, 0.02)
    nodes.append(node("GlobalAveragePool", [x], ["mean"]))
    nodes.append(node("Flatten", ["mean"], ["y"]))
    graph = helper.make_graph(
        nodes, "open",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, name, why=""):
        self.count += 1
        self.failed += not good
        print("ok" if good else "not ok", self.count, name)
        if not good and why:
            print("# " + str(why).replace("\n", "\n# "))


class Directory:
    """Commands in a directory, and what they print."""

    def __init__(self, path, vtac, vtactl):
        self.path, self.vtac, self.vtactl = path, vtac, vtactl

    def do(self, *command):
        return subprocess.run(command, cwd=self.path, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", check=False)

    def compile(self, output, model_file, shapes, *options):
        given = [f"--shape=x={','.join(map(str, shape))}" for shape in shapes]
        return self.do(self.vtac, "compile", model_file, *given, *options, "-q", "-o", output)

    def run(self, program, *given):
        return self.do(self.vtactl, "program", "run", program, *given)

    def size(self, name):
        return os.path.getsize(os.path.join(self.path, name))


def check_runs(tap, d, kind, options):
    """Outputs and sizes of a program of two variants against those of two programs."""
    done = d.compile(f"{kind}.vtap", f"{kind}.onnx", SHAPES, *options)
    tap.check(not done.returncode, f"{kind}: compiled for two shapes", done.stderr)
    for i, shape in enumerate(SHAPES):
        np.save(os.path.join(d.path, f"x{i}.npy"), random.randn(*shape).astype(np.float32))
        d.compile(f"{kind}{i}.vtap", f"{kind}.onnx", [shape], *options)
        d.run(f"{kind}{i}.vtap", f"x=x{i}.npy", "y=alone.npy")
        done = d.run(f"{kind}.vtap", f"x=x{i}.npy", "y=y.npy")
        same = not done.returncode and np.array_equal(
            np.load(os.path.join(d.path, "alone.npy")), np.load(os.path.join(d.path, "y.npy")))
        tap.check(same, f"{kind}: a file of shape {i} takes its variant", done.stderr)
    weights = 32 * 64 * 9 * (4 if kind == "float" else 1)
    tap.check(d.size(f"{kind}.vtap") < d.size(f"{kind}0.vtap") + d.size(f"{kind}1.vtap") - weights,
              f"{kind}: the weights are in the program once")


def check_refusals(tap, d):
    np.save(os.path.join(d.path, "other.npy"), np.zeros((1, 3, 8, 8), np.float32))
    np.save(os.path.join(d.path, "doubles.npy"), np.zeros(SHAPES[0]))
    cases = [
        (d.run("float.vtap", "--variant=0", "x=doubles.npy"), "its values are not float32"),
        (d.run("float.vtap", "x=other.npy"), "no variant of the program has inputs of these sizes"),
        (d.run("float.vtap", "--variant=2", "x=x0.npy"), "the program has variants 0 to 1"),
        (d.run("float.vtap", "--variant=1", "x=x0.npy"), "its shape is not the tensor's"),
        (d.compile("c", "float.onnx", SHAPES, "--emit=c"), "--emit takes one shape"),
        (d.compile("same.vtap", "float.onnx", SHAPES[:1] * 2), "Two variants have the same shapes"),
        (d.compile("many.vtap", "float.onnx", [(1, 3, n, n) for n in range(8, 73)]),
         "A program is for at most 64 shapes"),
        (d.do(d.vtac, "compile", "float.onnx", "--shape=x=1,3,8,8", "--shape=x=1,3,9,9",
              "--shape=x=1,3,7,7", "--shape=w=1", "--shape=w=2"), "Input w has 2 shapes"),
    ]
    for done, why in cases:
        tap.check(done.returncode and why in done.stderr, f"refused: {why}", done.stderr)
    tap.check(not os.path.exists(os.path.join(d.path, "same.vtap")), "a refusal writes nothing")


def check_reports(tap, d):
    info = json.loads(d.do(d.vtactl, "program", "info", "float.vtap", "--json").stdout)
    shapes = [v["tensors"][0]["shape"] for v in info["variants"]]
    tap.check(shapes == [list(s) for s in SHAPES], "info lists the variants", shapes)
    report = json.loads(d.do(d.vtac, "report", "--json", "float.vtap").stdout)
    shapes = [v["inputs"][0]["shape"] for v in report]
    tap.check(shapes == [list(s) for s in SHAPES], "the report has each variant", shapes)
    text = d.do(d.vtac, "report", "float.vtap").stdout
    tap.check("variant 0: x 1x3x16x16" in text and "variant 1: x 1x3x32x24" in text,
              "the report as text names the inputs of each", text)


def check_python(tap, d):
    try:
        import vtadev
    except ImportError as error:
        tap.check(True, f"python # SKIP {error}")
        return
    path = os.path.join(d.path, "quantised.vtap")
    with vtadev.Program(path) as program:
        tap.check([v[0].shape for v in program.variants] == SHAPES, "python: lists the variants")
        for i in (0, 1, 0):
            x = np.load(os.path.join(d.path, f"x{i}.npy"))
            with vtadev.Program(os.path.join(d.path, f"quantised{i}.vtap")) as alone:
                want = np.asarray(alone(x))
            got = [np.asarray(program(x)), np.asarray(program.submit(x).result())]
            tap.check(all(np.array_equal(y, want) for y in got), f"python: an array of shape {i}")
        try:
            program(np.zeros((1, 3, 8, 8), np.float32))
            tap.check(False, "python: refuses another shape")
        except ValueError as error:
            tap.check("1x3x16x16" in str(error), "python: refuses another shape", error)
    with vtadev.compile(os.path.join(d.path, "float.onnx"), no_card=True,
                        shapes=list(SHAPES)) as program:
        x = np.load(os.path.join(d.path, "x1.npy"))
        y = np.asarray(program(x))
        tap.check(len(program.variants) == 2 and y.shape == (1, 64), "python: compiles both")
    with vtadev.Program(os.path.join(d.path, "float.vtap"), threads=3) as program:
        tap.check(np.array_equal(np.asarray(program(x)), y), "python: three threads, same bits")
    done = d.run("float.vtap", "--threads=0", "x=x1.npy", "y=threads.npy")
    tap.check(not done.returncode and np.array_equal(np.load(os.path.join(d.path, "threads.npy")), y),
              "vtactl: all processors, same bits", done.stderr)


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if "TREE" not in os.environ:    # The libraries are found when a process begins.
        os.environ.update(TREE=top, LD_LIBRARY_PATH=f"{top}/build/lib", VTADEV_DEVICE="soft",
                          VTADEV_PLUGINS=f"{top}/build/lib")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.path.insert(0, f"{top}/build/python")
    vtac, vtactl = (os.path.abspath(path) for path in sys.argv[1:3])
    tap = Tap()
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as path:
        d = Directory(path, vtac, vtactl)
        onnx.save(model(False), os.path.join(path, "float.onnx"))
        onnx.save(model(True), os.path.join(path, "quantised.onnx"))
        check_runs(tap, d, "float", ["--no-card"])
        check_runs(tap, d, "quantised", ["--no-prune"])
        check_refusals(tap, d)
        check_reports(tap, d)
        check_python(tap, d)
    print(f"1..{tap.count}")
    sys.exit(tap.failed > 0)


main()
