#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Models that a stranger could write: each is compiled, or refused by a sentence, in a short time.

    hostile.py VTAC             compile each model: prints TAP
    hostile.py -w DIRECTORY     write the models: a fuzzer starts from them

The files are written byte by byte, without onnx's package, which would check them.
"""
import os
import struct
import subprocess
import sys
import tempfile

FLOAT, UINT8, INT8, INT32, INT64, BOOL = 1, 2, 3, 6, 7, 9
MICROSOFT = "com.microsoft"
LEAST, MOST = -(1 << 63), (1 << 63) - 1
REFUSED = 4     # the exit status
LIMIT_S = 300   # a run that does not end


# ---- the schema's bytes ----

def varint(value):
    """An integer of up to 64 bits."""
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a message: an integer, a float, text, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    """An attribute of a node: an integer, a float, text, or a list of integers."""
    body = field(1, name)
    if isinstance(value, int):
        body += field(3, value) + field(20, 2)
    elif isinstance(value, float):
        body += field(2, value) + field(20, 1)
    elif isinstance(value, str):
        body += field(4, value) + field(20, 3)
    else:
        body += b"".join(field(8, v) for v in value) + field(20, 7)
    return field(5, body)


def node(kind, inputs, outputs, domain="", **attributes):
    """A node; inputs and outputs are names between spaces, - for one that is left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    body = b"".join(field(1, name) for name in names)
    body += b"".join(field(2, name) for name in outputs.split()) + field(4, kind)
    body += b"".join(attribute(*pair) for pair in attributes.items())
    return field(1, body + (field(7, domain) if domain else b""))


def constant(name, kind, dims, values):
    """A constant tensor of a graph."""
    code = {FLOAT: "f", UINT8: "B", INT8: "b", INT32: "i", INT64: "q", BOOL: "?"}[kind]
    data = struct.pack(f"<{len(values)}{code}", *values)
    return field(5, b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) +
                 field(9, data))


def integers(name, *values):
    """A list of int64."""
    return constant(name, INT64, [len(values)], values)


def floats(name, dims, value=0.0):
    """Equal floats."""
    count = 1
    for dim in dims:
        count *= dim
    return constant(name, FLOAT, dims, [value] * count)


def value_info(number, name, kind, dims):
    """An input (11) or an output (12) of a graph."""
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(number, field(1, name) + field(2, field(1, field(1, kind) + field(2, shape))))


def graph_input(name, kind, *dims):
    """An input of a graph."""
    return value_info(11, name, kind, dims)


def graph_output(name, kind=FLOAT):
    """An output, of a shape that the file does not tell."""
    return field(12, field(1, name) + field(2, field(1, field(1, kind))))


def model(*parts, opset=17):
    """The file."""
    return (field(1, 8) + field(8, field(2, opset)) +
            field(8, field(1, MICROSOFT) + field(2, 1)) + field(7, field(2, "g") + b"".join(parts)))


# ---- the models, each with a part of the message that refuses it, or None if it compiles ----

X4 = graph_input("x", FLOAT, 4)
BYTES = graph_input("u", UINT8, 3, 4)
SCALE = constant("s", FLOAT, [], [0.1]) + constant("z", UINT8, [], [0])
LIST = node("NonZero", "x", "list") + X4        # as many as data decides
Y = graph_output("y")
INTEGERS = graph_output("y", INT64)


def pictures(kind, *dims):
    """A constant picture c."""
    count = 1
    for dim in dims:
        count *= dim
    return constant("c", kind, dims, [0] * count)


def microsoft():
    """Operators whose inputs are left out or name each other."""
    sentence = graph_input("x", FLOAT, 1, 4, 8)
    ids = graph_input("ids", INT32, 1, 4)
    table = floats("t", [4, 8]) + floats("b", [8])
    missing = "One of its inputs is missing"

    def one(kind, inputs, *parts, output=Y, **attributes):
        return model(node(kind, inputs, "y", MICROSOFT, **attributes), *parts, output)

    return {
        "a cycle through the mask of Attention": (model(
            node("Identity", "q", "p"), node("Identity", "p", "q"),
            node("Attention", "x w - q", "y", MICROSOFT, num_heads=2), floats("w", [8, 24]),
            sentence, Y), "depends on its own output"),
        "a QLinearConcat of parts that are left out": (
            one("QLinearConcat", "s z u s z - - -", SCALE, BYTES, axis=1), missing),
        "a QLinearConcat of one input": (
            one("QLinearConcat", "s", SCALE, X4, axis=1), "It has 1 inputs"),
        "a QLinearConcat of nothing to join": (
            one("QLinearConcat", "s z", SCALE, X4, axis=1), "It has 2 inputs"),
        "a QGemm of one matrix": (one("QGemm", "u s z - s z", SCALE, BYTES), missing),
        "a QGemm without a scale": (one("QGemm", "u s z u - z u", SCALE, BYTES), missing),
        "a QLinearAdd of one operand": (one("QLinearAdd", "u", BYTES), missing),
        "a QLinearMul without a scale of its output": (
            one("QLinearMul", "u s z u s z - z", SCALE, BYTES), missing),
        "a QLinearAdd without zero points": (
            one("QLinearAdd", "u s - u s - s -", SCALE, BYTES, output=graph_output("y", UINT8)),
            None),
        "a QLinearSigmoid of nothing": (one("QLinearSigmoid", "- s z s z", SCALE, BYTES),
                                          "Its input 0 is missing"),
        "a QLinearAveragePool without a scale": (
            one("QLinearAveragePool", "u - z s z", SCALE, graph_input("u", UINT8, 1, 1, 4, 4),
                kernel_shape=[2, 2]), missing),
        "a MatMulIntegerToFloat of one matrix": (one("MatMulIntegerToFloat", "u", BYTES), missing),
        "a DynamicQuantizeMatMul of one matrix": (one("DynamicQuantizeMatMul", "x", X4), missing),
        "an EmbedLayerNormalization without positions": (
            one("EmbedLayerNormalization", "ids - t - - b b", table, ids), "input 3 is missing"),
        "an EmbedLayerNormalization without a scale": (
            one("EmbedLayerNormalization", "ids - t t - - b", table, ids), "input 5 is missing"),
        "an EmbedLayerNormalization of segments without a table": (
            one("EmbedLayerNormalization", "ids ids t t - b b", table, ids),
            "input 4 is missing"),
        "an EmbedLayerNormalization": (
            one("EmbedLayerNormalization", "ids - t t - b b", table, ids), None),
        "an Attention of 2^62 heads": (
            one("Attention", "x w - m", floats("w", [8, 24]), constant("m", INT32, [1], [1]),
                sentence, num_heads=1 << 62), "Its shape is impossible"),
    }


def types():
    """Constants of types that their kernels do not take."""
    return {
        "a RoiAlign of bytes": (model(
            node("RoiAlign", "u r i", "y"), floats("r", [1, 4]), integers("i", 0),
            graph_input("u", UINT8, 1, 1, 4, 4), graph_output("y", UINT8)), "do not fit its input"),
        "a RoiAlign of constant bytes": (model(
            node("RoiAlign", "c r i", "v", output_height=64, output_width=64),
            node("Cast", "v", "y", to=FLOAT), floats("r", [1, 4]), integers("i", 0),
            pictures(UINT8, 1, 1, 4, 4), X4, Y), "do not fit its input"),
        "a GridSample at integers": (model(
            node("GridSample", "x g", "y"), constant("g", INT64, [1, 2, 2, 2], [0] * 8),
            graph_input("x", FLOAT, 1, 1, 4, 4), Y), "only floats"),
        "an STFT by integers": (model(
            node("STFT", "x t w", "y", onesided=1), constant("t", INT64, [], [4]),
            integers("w", *[1] * 8), graph_input("x", FLOAT, 1, 16, 1), Y), "only floats"),
        "a DFT whose axis is an empty list": (model(
            node("DFT", "x - a", "y"), integers("a"), graph_input("x", FLOAT, 1, 16, 1), Y,
            opset=20), "Its axis is not one constant"),
    }


def numbers():
    """Numbers at the ends of 64 bits."""
    volume = graph_input("x", FLOAT, 1, 3, 2, 2, 2) + floats("k", [1, 3, 1, 1, 1])
    mel = constant("n", INT64, [], [8]) + constant("l", INT64, [], [64]) + \
        constant("r", INT64, [], [1])
    return {
        "a Conv of 2^63 - 1 groups": (
            model(node("Conv", "x k", "y", group=MOST), volume, Y), "groups"),
        "a ConvTranspose of much padding": (
            model(node("ConvTranspose", "x k", "y", output_padding=[MOST, 0, 0]),
                  graph_input("x", FLOAT, 1, 1, 2, 2, 2), floats("k", [1, 3, 1, 1, 1]), Y),
            "out of range"),
        "a Col2Im of much padding": (
            model(node("Col2Im", "x i k", "y", pads=[MOST, 0, 0, 0]), integers("i", 2, 2),
                  integers("k", 1, 1), graph_input("x", FLOAT, 1, 1, 4), Y, opset=18),
            "out of range"),
        "an EyeLike far from the diagonal": (
            model(node("EyeLike", "c", "e", k=MOST), node("Add", "x e", "y"), floats("c", [4, 4]),
                  X4, Y), None),
        "a MelWeightMatrix of endless edges": (
            model(node("MelWeightMatrix", "n l r a b", "m"), node("ReduceMax", "m", "v"),
                  node("Add", "x v", "y"), mel, constant("a", FLOAT, [], [-1e30]),
                  constant("b", FLOAT, [], [3e38]), X4, Y), None),
        "a MelWeightMatrix of edges that are no numbers": (
            model(node("MelWeightMatrix", "n l r a b", "m"), node("ReduceMax", "m", "v"),
                  node("Add", "x v", "y"), mel, constant("a", FLOAT, [], [float("nan")]),
                  constant("b", FLOAT, [], [float("inf")]), X4, Y), None),
        "a MatMul of two numbers out of lists": (
            model(node("Gather", "x i", "p"), node("Reshape", "p h", "a"), node("Gather", "w i", "q"),
                  node("Reshape", "q h", "b"), node("MatMul", "a b", "y"), integers("h", 1, 1),
                  constant("i", INT64, [], [2]), X4, graph_input("w", FLOAT, 4), Y), None),
        "a Slice of a list that ends at -2^63": (
            model(LIST, node("Slice", "list a b c", "y"), integers("a", 0), integers("b", LEAST),
                  integers("c", 1), INTEGERS), "is 0"),
        "a Slice that cuts an axis twice": (
            model(node("Slice", "x a b c", "y"), integers("a", 0, 1), integers("b", 2, 3),
                  integers("c", 0, -1), X4, Y), "given twice"),
    }


def sizes():
    """Lists whose size data decides, where that would be lost or counted wrongly."""
    number = constant("one", INT64, [], [1])
    return {
        "a list of no values in another shape": (model(
            node("Slice", "x z z", "e"), node("NonZero", "e", "list"),
            node("Reshape", "list h", "y", allowzero=1), integers("z", 0), integers("h", 5, 0),
            X4, INTEGERS), "mixes a dimension"),
        "a list in two rows": (
            model(LIST, node("Reshape", "list h", "y"), integers("h", 2, -1), INTEGERS),
            "mixes a dimension"),
        "a list in as many rows as another size has": (
            model(LIST, node("Shape", "list", "n", start=1), node("Sub", "n three", "m"),
                  node("Concat", "m all", "h", axis=0), node("Transpose", "list", "t", perm=[1, 0]),
                  node("Reshape", "t h", "y"), integers("three", 3), integers("all", -1),
                  INTEGERS), "mixes a dimension"),
        "a list in halves, each as long as the list": (
            model(LIST, node("Transpose", "list", "t", perm=[1, 0]),
                  node("Reshape", "t h", "u"), node("Concat", "u u", "v", axis=2),
                  node("Reshape", "v k", "y"), integers("h", 1, -1, 1), integers("k", 2, 0),
                  INTEGERS), "mixes a dimension"),
        "a MatMulInteger of a list's rows": (
            model(LIST, node("Transpose", "list", "t", perm=[1, 0]),
                  node("Cast", "t", "u", to=UINT8), node("MatMulInteger", "u w z", "y"),
                  constant("w", UINT8, [1, 2], [1, 2]), graph_input("z", UINT8, 1),
                  graph_output("y", INT32)), None),
        "a MatMulInteger of a list's rows, with zero points of more": (
            model(LIST, node("Transpose", "list", "t", perm=[1, 0]),
                  node("Cast", "t", "u", to=UINT8), node("MatMulInteger", "u w z", "y"),
                  constant("w", UINT8, [1, 2], [1, 2]), graph_input("z", UINT8, 5),
                  graph_output("y", INT32)), "has 5 scales or zero points"),
        "a MatMulInteger with a list of zero points": (
            model(LIST, node("Cast", "list", "z", to=UINT8), node("MatMulInteger", "u w - z", "y"),
                  constant("w", UINT8, [4, 4], [1] * 16), BYTES, graph_output("y", INT32)),
            "as many scales or zero points as data decides"),
        "a MatMulInteger of a list's rows, each with a zero point": (
            model(LIST, node("Transpose", "list", "t", perm=[1, 0]),
                  node("Cast", "t", "u", to=UINT8), node("Reshape", "u l", "z"),
                  node("MatMulInteger", "u w z", "y"), integers("l", -1),
                  constant("w", UINT8, [1, 2], [1, 2]), graph_output("y", INT32)), None),
        "a OneHot of a list": (
            model(LIST, node("OneHot", "list d v", "y"), constant("d", INT64, [], [4]),
                  constant("v", FLOAT, [2], [0, 1]), Y), None),
        "a Range of floats to a count": (
            model(LIST, node("Shape", "list", "n", start=1), node("Squeeze", "n", "k"),
                  node("Range", "f k g", "y"), number, constant("f", INT32, [], [0]),
                  constant("g", INT32, [], [1]), INTEGERS), "not supported"),
        "10 less what is less than a count": (
            model(LIST, node("Shape", "list", "n", start=1), node("Sub", "n three", "m"),
                  node("Sub", "ten m", "k"), node("Expand", "one k", "y"), number,
                  integers("three", 3), integers("ten", 10), INTEGERS), None),
        "a Resize of as many pictures": (
            model(LIST, node("Transpose", "list", "t", perm=[1, 0]),
                  node("Cast", "t", "f", to=FLOAT), node("Reshape", "f h", "p"),
                  node("Resize", "p - w", "y"), integers("h", -1, 1, 1, 1),
                  constant("w", FLOAT, [4], [2, 1, 1, 1]), Y), "which it does not support"),
    }


def work():
    """A few bytes that ask for years."""
    return {
        "a pool of windows of 2^30": (model(
            node("MaxPool", "x", "y", kernel_shape=[1024, 1024, 1024],
                 pads=[512, 512, 512, 511, 511, 511]),
            graph_input("x", FLOAT, 1, 1, 1, 1, 1 << 20), Y), "more than 2^40 multiplications"),
        "constant regions of all pixels": (model(
            node("RoiAlign", "c r i", "v", output_height=1000, output_width=1000,
                 sampling_ratio=64), node("ReduceMean", "v", "m"), node("Add", "x m", "y"),
            constant("r", FLOAT, [1, 4], [0, 0, 4, 4]), integers("i", 0),
            pictures(FLOAT, 1, 1, 4, 4), X4, Y), None),
    }


def models():
    """All of them by name."""
    return {**microsoft(), **types(), **numbers(), **sizes(), **work()}


def write(directory):
    """A file for each, named by its number."""
    for i, (data, _) in enumerate(models().values()):
        with open(os.path.join(directory, f"hostile-{i}.onnx"), "wb") as file:
            file.write(data)


def compiled(vtac, data, text):
    """Why it is not as it should be, or None."""
    with open("model.onnx", "wb") as file:
        file.write(data)
    try:
        done = subprocess.run([vtac, "compile", "-q", "-o", "model.vtap", "model.onnx"],
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return "it takes too long"
    good = done.returncode == 0 if text is None else \
        done.returncode == REFUSED and text in done.stderr and "Internal" not in done.stderr
    return None if good else f"status {done.returncode}: {done.stderr}"


def main(vtac):
    """Prints TAP."""
    failed = False
    print(f"TAP version 13\n1..{len(models())}")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for i, (name, (data, text)) in enumerate(models().items()):
            why = compiled(vtac, data, text)
            failed = failed or why is not None
            print("not ok" if why else "ok", i + 1, name, flush=True)
            if why:
                print("# " + why.replace("\n", "\n# "), flush=True)
        os.chdir("/")
    return failed


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "-w":
        write(sys.argv[2])
    else:
        sys.exit(main(os.path.abspath(sys.argv[1])))
