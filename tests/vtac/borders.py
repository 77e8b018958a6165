#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Integers that a file computes with on the CPU keep its scale and zero point.

    borders.py VTAC VTACTL

MaxPool of int8 runs on the CPU, as its integers are an output, between two convolutions of the
card, whose integers have zero point 0 and another scale than the file's, as a convolution that pads
reads them too.
The card's output is compared with the CPU's. Prints TAP.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"TAP version 13\nok 1 borders # SKIP {error}\n1..1")
    sys.exit(0)

CHANNELS, SIZE = 16, 12


def model():
    """Two QLinearConv with a Relu, a MaxPool of integers between them."""
    rng = np.random.default_rng(3)
    node, constants = helper.make_node, []

    def constant(name, values, kind):
        constants.append(numpy_helper.from_array(np.asarray(values, kind), name))

    for name, scale, zero in (("x", .03, 5), ("a", .02, -128), ("y", .03, -128)):
        constant(f"{name}_s", scale, "f4")
        constant(f"{name}_z", zero, "i1")
    constant("w_s", .001, "f4")
    constant("w_z", 0, "i1")
    for name in ("w1", "w2"):
        constant(name, rng.integers(-127, 128, (CHANNELS, CHANNELS, 3, 3)), "i1")

    def conv(x, scale, w, y, out):
        return node("QLinearConv", [x, f"{scale}_s", f"{scale}_z", w, "w_s", "w_z", f"{out}_s",
                                    f"{out}_z"], [y], pads=[1, 1, 1, 1])

    graph = helper.make_graph(
        [node("QuantizeLinear", ["x", "x_s", "x_z"], ["xq"]), conv("xq", "x", "w1", "aq", "a"),
         node("MaxPool", ["aq"], ["pq"], kernel_shape=[2, 2], strides=[2, 2]),
         conv("pq", "a", "w2", "yq", "y"), conv("aq", "a", "w2", "bq", "y"),
         node("DequantizeLinear", ["bq", "y_s", "y_z"], ["b"]),
         node("DequantizeLinear", ["yq", "y_s", "y_z"], ["y"])],
        "borders", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, SIZE, SIZE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yb"] +
        [helper.make_tensor_value_info("pq", TensorProto.INT8, None)], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
    made.ir_version = 8
    return made


def main():
    """One network both ways."""
    vtac, vtactl = (os.path.abspath(path) for path in sys.argv[1:3])
    top = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    os.environ.update(VTADEV_PLUGINS=f"{top}/build/lib", VTADEV_DEVICE="soft",
                      LD_LIBRARY_PATH=f"{top}/build/lib")
    got = {}
    with tempfile.TemporaryDirectory() as where:
        os.chdir(where)
        onnx.save(model(), "model.onnx")
        samples = np.random.default_rng(4).standard_normal((4, CHANNELS, SIZE, SIZE)).astype("f4")
        np.save("samples.npy", samples)
        np.save("x.npy", samples[:1])
        for how in ("--no-card", "--calibrate=samples.npy"):
            subprocess.run([vtac, "compile", how, "-o", "model.vtap", "model.onnx"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            subprocess.run([vtactl, "program", "run", "model.vtap", "x=x.npy", "y=y.npy",
                            "b=b.npy"],
                           check=True, stdout=subprocess.DEVNULL)
            got[how] = np.load("y.npy").astype("f8")
        os.chdir("/")
    cpu, card = got.values()
    ratio = 10 * np.log10((cpu ** 2).sum() / max(((card - cpu) ** 2).sum(), 1e-30))
    good = (cpu > 0).mean() > .2 and ratio > 20
    print("TAP version 13")
    print(f"# {ratio:.1f} dB")
    print("ok" if good else "not ok", "1 a MaxPool of integers between layers of the card")
    print("1..1")
    return not good


sys.exit(main())
