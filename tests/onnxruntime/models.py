#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the models of provider.py, and what the compiler's own program computes for one of them.

    models.py DIRECTORY

    float.onnx    convolutions, a pool, a dense layer and a Softmax, in floats
    qdq.onnx      the same with scales for everything; qdq.in and qdq.out: five inputs and outputs
                  of vtactl
    split.onnx    float.onnx with an operator in its middle that the compiler does not read
    open.onnx     float.onnx with a free batch size
    branch.onnx   a convolution, and an If whose branches have another one
    nothing.onnx  no node that a card computes
    sizes.onnx    a convolution whose values above 8 are found: data decides the sizes
    ranks.onnx    a part's output that is a scalar, and one of size 1, and an input of unknown rank
    texts.onnx    a convolution, and labels by a constant and an attribute of texts, and an LSTM-like
                  attribute that lists texts
    program.onnx  float.onnx with its program, calibrated, by vtac compile --emit=onnx; sizes_ctx.onnx
                  is sizes.onnx likewise; float.out: outputs of vtactl for the inputs of qdq.in
    blocks.onnx   residual blocks, whose shortcuts are behind the rest in the file; blocks.out: outputs
                  of vtactl, calibrated by the inputs of qdq.in
    fused.onnx    operators of the domain com.microsoft that the compiler reads
"""
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

RUNS = 5
SHAPE = [1, 3, 16, 16]


def weights(rng, name, *shape):
    return numpy_helper.from_array(rng.normal(0, 0.3, shape).astype(numpy.float32), name)


def constants():
    rng = numpy.random.default_rng(1)
    return [weights(rng, "w1", 16, 3, 3, 3), weights(rng, "b1", 16), weights(rng, "w2", 16, 16, 3, 3),
            weights(rng, "w3", 10, 16)]


def nodes(middle=None):
    """With @middle, it is between two times the second convolution."""
    node = helper.make_node
    again = [node(middle or "", ["e"], ["m"], domain="com.microsoft"),
             node("Conv", ["m", "w2"], ["n"], pads=[1] * 4), node("Relu", ["n"], ["o"])]
    return [node("Conv", ["x", "w1", "b1"], ["a"], pads=[1] * 4), node("Relu", ["a"], ["b"]),
            node("Conv", ["b", "w2"], ["d"], pads=[1] * 4), node("Relu", ["d"], ["e"]),
            *(again if middle else []), node("GlobalAveragePool", ["o" if middle else "e"], ["f"]),
            node("Flatten", ["f"], ["g"]), node("Gemm", ["g", "w3"], ["h"], transB=1),
            node("Softmax", ["h"], ["y"])]


def model(nodes, constants, shape=SHAPE, out=(1, 10)):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)], constants)
    return finish(graph)


def finish(graph, *opsets):
    made = helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1), *opsets])
    made.ir_version = 8
    return made.SerializeToString()


def quantised():
    """Scales are powers of two: each tensor goes through QuantizeLinear and DequantizeLinear."""
    made, scales = [], [numpy_helper.from_array(numpy.int8(0), "zero")]

    def pair(name, scale):
        scales.append(numpy_helper.from_array(numpy.float32(scale), f"{name}_s"))
        made.append(helper.make_node("QuantizeLinear", [name, f"{name}_s", "zero"], [f"{name}_q"]))
        made.append(helper.make_node("DequantizeLinear", [f"{name}_q", f"{name}_s", "zero"],
                                     [f"{name}_d"]))
        return f"{name}_d"

    w = {c.name: c for c in constants()}
    for name in ("w1", "w2", "w3"):
        values = numpy_helper.to_array(w[name])
        integers = numpy.clip(numpy.round(values * 64), -127, 127).astype(numpy.int8)
        scales += [numpy_helper.from_array(integers, f"{name}_q"),
                   numpy_helper.from_array(numpy.float32(1 / 64), f"{name}_s")]
        made.append(helper.make_node("DequantizeLinear", [f"{name}_q", f"{name}_s", "zero"],
                                     [f"{name}_d"]))
    x = pair("x", 1 / 32)
    made.append(helper.make_node("Conv", [x, "w1_d"], ["a"], pads=[1] * 4))
    made.append(helper.make_node("Relu", ["a"], ["b"]))
    b = pair("b", 1 / 16)
    made.append(helper.make_node("Conv", [b, "w2_d"], ["d"], pads=[1] * 4))
    made.append(helper.make_node("Relu", ["d"], ["e"]))
    e = pair("e", 1 / 8)
    made.append(helper.make_node("GlobalAveragePool", [e], ["f"]))
    f = pair("f", 1 / 16)
    made.append(helper.make_node("Flatten", [f], ["g"]))
    made.append(helper.make_node("Gemm", ["g", "w3_d"], ["h"], transB=1))
    h = pair("h", 1 / 16)
    made.append(helper.make_node("Softmax", [h], ["y"]))
    return model(made, scales)


def branch():
    """The If's condition is of data; its branches use the outer x."""
    def body(name, weight):
        graph = helper.make_graph(
            [helper.make_node("Conv", ["a", weight], [name], pads=[1] * 4)], name, [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16, 16, 16])])
        return graph

    made = [helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1] * 4),
            helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
            helper.make_node("Greater", ["s", "nought"], ["yes"]),
            helper.make_node("If", ["yes"], ["y"], then_branch=body("t", "w2"),
                             else_branch=body("f", "w4"))]
    rng = numpy.random.default_rng(2)
    return model(made, [*constants()[:3:2], weights(rng, "w4", 16, 16, 3, 3),
                        numpy_helper.from_array(numpy.float32(0), "nought")], out=(1, 16, 16, 16))


def body_of_network():
    """Two convolutions, "a": enough for a card."""
    return [helper.make_node("Conv", ["x", "w1", "b1"], ["a1"], pads=[1] * 4),
            helper.make_node("Relu", ["a1"], ["a2"]),
            helper.make_node("Conv", ["a2", "w2"], ["a"], pads=[1] * 4)]


def sizes():
    """Positions [4][n] are cut in dimension 1, rows [n][4] in dimension 0."""
    node = helper.make_node
    made = [*body_of_network(),
            node("Greater", ["a", "least"], ["many"]), node("NonZero", ["many"], ["at"]),
            node("Transpose", ["at"], ["rows"], perm=[1, 0]),
            node("GatherND", ["a", "rows"], ["y"])]
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (
            ("y", TensorProto.FLOAT, ["n"]), ("at", TensorProto.INT64, [4, "n"]),
            ("rows", TensorProto.INT64, ["n", 4]))],
        [*constants()[:3], numpy_helper.from_array(numpy.float32(8), "least")])
    return finish(graph)


def ranks():
    """The file has no shapes but the input's; "u" has not even a rank."""
    node = helper.make_node
    made = [*body_of_network(),
            node("ReduceMean", ["a"], ["scalar"], keepdims=0),
            node("ReduceMean", ["a"], ["four"], keepdims=1),
            node("Conv", ["u", "w1"], ["c"], pads=[1] * 4), node("ReduceMax", ["c"], ["last"])]
    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)

    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE), value("u")],
        [value(name) for name in ("scalar", "four", "last")], constants()[:3])
    return finish(graph)


def texts():
    """The nodes with texts are computed on the CPU; the convolution is not lost by them."""
    node = helper.make_node
    label = node("LabelEncoder", ["best"], ["y"], domain="ai.onnx.ml", keys_int64s=[0, 1],
                 values_strings=["cat", "dog"], default_string="none")
    rng = numpy.random.default_rng(5)
    made = [*body_of_network(),
            node("GlobalAveragePool", ["a"], ["f"]), node("Flatten", ["f"], ["g"]),
            node("ArgMax", ["g"], ["best"], axis=1, keepdims=0), label,
            node("Unsqueeze", ["g", "first"], ["t"]),
            node("LSTM", ["t", "lw", "lr"], ["", "h"], hidden_size=8,
                 activations=["Sigmoid", "Tanh", "Tanh"])]
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [1]),
         helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, 8])],
        [*constants()[:3], weights(rng, "lw", 1, 32, 16), weights(rng, "lr", 1, 32, 8),
         numpy_helper.from_array(numpy.int64([0]), "first")])
    return finish(graph, helper.make_opsetid("ai.onnx.ml", 3))


def fused():
    """FusedConv has its activation within, FastGelu is behind it."""
    made = [helper.make_node("FusedConv", ["x", "w1", "b1"], ["a"], domain="com.microsoft",
                             activation="Relu", pads=[1] * 4),
            helper.make_node("FusedConv", ["a", "w2"], ["b"], domain="com.microsoft",
                             activation="Relu", pads=[1] * 4),
            helper.make_node("FastGelu", ["b"], ["y"], domain="com.microsoft")]
    return model(made, constants()[:3], out=(1, 16, 16, 16))


def blocks():
    """Residual blocks as PyTorch exports them: the shortcut's convolution comes last."""
    node, rng = helper.make_node, numpy.random.default_rng(6)
    made, values = [node("Conv", ["x", "w1", "b1"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["r"])], []
    x, inputs = "r", 16
    for block, outputs in enumerate((32, 48, 32)):
        first, second, short, both = (f"{name}{block}" for name in ("first", "second", "short", "both"))
        values += [weights(rng, f"{name}_w", outputs, channels, size, size) for name, channels, size in
                   ((first, inputs, 3), (second, outputs, 3), (short, inputs, 1))]
        made += [node("Conv", [x, f"{first}_w"], [first], pads=[1] * 4, strides=[2, 2]),
                 node("Relu", [first], [f"{first}_r"]),
                 node("Conv", [f"{first}_r", f"{second}_w"], [second], pads=[1] * 4),
                 node("Conv", [x, f"{short}_w"], [short], strides=[2, 2]),
                 node("Add", [second, short], [both]), node("Relu", [both], [f"{both}_r"])]
        x, inputs = f"{both}_r", outputs
    made += [node("GlobalAveragePool", [x], ["f"]), node("Flatten", ["f"], ["g"]),
             node("Gemm", ["g", "w"], ["y"], transB=1)]
    return model(made, [*constants()[:2], *values, weights(rng, "w", 10, inputs)])


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    where = pathlib.Path(sys.argv[1])
    for name, data in (
            ("float", model(nodes(), constants())),
            ("qdq", quantised()),
            ("split", model(nodes("Trilu"), constants())),
            ("open", model(nodes(), constants(), ["N", *SHAPE[1:]], ("N", 10))),
            ("branch", branch()),
            ("sizes", sizes()), ("ranks", ranks()), ("texts", texts()), ("fused", fused()),
            ("blocks", blocks()),
            ("nothing", model([helper.make_node("Exp", ["x"], ["y"])], [], out=SHAPE))):
        (where / f"{name}.onnx").write_bytes(data)
    inputs = numpy.random.default_rng(3).normal(0, 1, (RUNS, *SHAPE)).astype(numpy.float32)
    inputs.tofile(where / "qdq.in")
    numpy.save(where / "images.npy", inputs)
    vtac("qdq.onnx", where, "qdq.vtap")
    vtac("float.onnx", where, "float.vtap", "--calibrate", where / "images.npy")
    vtac("float.onnx", where, "program.onnx", "--calibrate", where / "images.npy", "--emit=onnx")
    vtac("blocks.onnx", where, "blocks.vtap", "--calibrate", where / "images.npy")
    vtac("sizes.onnx", where, "sizes_ctx.onnx", "--no-card", "--emit=onnx")
    for name in ("qdq", "float", "blocks"):
        compute(where, name, inputs)


def vtac(model, where, output, *options):
    run("build/tools/vtac", "compile", where / model, "-o", where / output, *options)


def compute(where, name, inputs):
    """Write what vtactl computes."""
    outputs = []
    for values in inputs:
        values.tofile(where / "x")
        run("build/tools/vtactl", "program", "run", "--cards", "soft", where / f"{name}.vtap",
            f"x={where / 'x'}", f"y={where / 'y'}")
        outputs.append((where / "y").read_bytes())
    (where / f"{name}.out").write_bytes(b"".join(outputs))


if __name__ == "__main__":
    main()
