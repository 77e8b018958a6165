#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Operators on integers: sums greater than floats count, and scales and zero points along axes.

    integers.py VTAC VTACTL

Each model is compiled without the card, runs on the device soft, and must give the values that
numpy computes with 64 bits. (ONNX Runtime's are saturated on some processors.) Those whose scales
or zero points do not fit must be refused. Prints TAP.
"""
import os
import subprocess
import sys
import tempfile


def skip(why):
    print(f"TAP version 13\nok 1 integers # SKIP {why}\n1..1")
    sys.exit(0)


try:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
except ImportError as error:
    skip(error)

random = np.random.default_rng(1)
EXACT = 1 << 24  # greater floats are even


def extreme(dtype, *shape):
    """The greatest values, with some of all kinds among them."""
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype, True)
    return np.where(random.random(shape) < .97, dtype(limits.max), values)


def any_of(dtype, *shape):
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, True)


def scalar(dtype, value):
    return np.array(value, dtype)


def wide(x, zero):
    return x.astype(np.int64) - (0 if zero is None else zero.astype(np.int64))


def rows(values):
    """A list, of rows, as a column; others as they are."""
    return values.reshape(-1, 1) if values is not None and values.ndim == 1 else values


def matmul(a, b, a_zero=None, b_zero=None):
    """A list of zero points is of the first one's rows, or of the second one's columns."""
    return wide(a, rows(a_zero)) @ wide(b, b_zero)


def conv(x, w, x_zero=None, w_zero=None, pad=0, groups=1):
    """Of square pictures and windows, with a stride of 1."""
    x, w = wide(x, x_zero), wide(w, None if w_zero is None else w_zero.reshape(-1, 1, 1, 1))
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    outputs = w.shape[0] // groups
    parts = [np.einsum("nchwij,ocij->nohw", windows[:, g * w.shape[1]:(g + 1) * w.shape[1]],
                       w[g * outputs:(g + 1) * outputs]) for g in range(groups)]
    return np.concatenate(parts, axis=1)


def qlinear_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    y = wide(a, rows(a_zero)) * rows(a_scale) @ (wide(b, b_zero) * b_scale) / y_scale
    return np.clip(np.rint(y) + y_zero, 0, 255)


def matmul_to_float(a, b, a_scale, b_scale, a_zero, b_zero):
    """All lists are of columns, by ContribOperators.md."""
    return (wide(a, a_zero) * a_scale) @ (wide(b, b_zero) * b_scale)


def qgemm(a, a_scale, a_zero, b, b_scale, b_zero):
    """With a transposed second matrix."""
    return (wide(a, a_zero) * a_scale) @ (wide(b, rows(b_zero)) * rows(b_scale)).T


def powers(*exponents):
    """Scales whose products with integers are exact."""
    return np.float32(2) ** np.array(exponents, np.float32)


U8, I8 = np.uint8, np.int8
# Name: function, its inputs, how many of them are constants of the model, attributes
TESTS = {
    "a constant matrix": (matmul, [extreme(U8, 3, 2000), extreme(U8, 2000, 5)], 1, {}),
    "sums below the limit": (matmul, [any_of(U8, 3, 200), any_of(I8, 200, 5)], 1, {}),
    "computed matrices": (matmul, [extreme(U8, 2, 3, 900), extreme(I8, 2, 900, 5)], 0, {}),
    "zero points that are given": (matmul, [extreme(U8, 4, 1500), extreme(U8, 1500, 3),
                                            scalar(U8, 3), scalar(U8, 7)], 0, {}),
    "zero points of columns": (matmul, [extreme(I8, 4, 3000), extreme(I8, 3000, 3),
                                        scalar(I8, -128), np.array([-128, -1, 5], I8)], 3, {}),
    "zero points of rows": (matmul, [extreme(U8, 3, 1000), extreme(U8, 1000, 4),
                                     np.array([0, 200, 7], U8)], 2, {}),
    "zero points of filters": (conv, [extreme(U8, 1, 64, 5, 5), extreme(I8, 4, 64, 3, 3),
                                      scalar(U8, 1), np.array([-128, 0, -7, -90], I8)], 3, {}),
    "digits of two bits": (matmul, [extreme(U8, 2, 9000), extreme(U8, 9000, 4)], 1, {}),
    "digits of one bit": (matmul, [extreme(U8, 2, 30000), extreme(U8, 30000, 4)], 1, {}),
    "a convolution": (conv, [extreme(U8, 1, 64, 6, 6), extreme(U8, 7, 64, 3, 3)], 1, {"pad": 1}),
    "pads and zero points": (conv, [extreme(U8, 2, 80, 5, 5), extreme(I8, 4, 80, 3, 3),
                                    scalar(U8, 9), scalar(I8, -100)], 3, {"pad": 1}),
    "groups": (conv, [extreme(U8, 1, 128, 5, 5), extreme(U8, 6, 64, 3, 3)], 1, {"groups": 2}),
    "computed zero points of as many rows as columns": (
        matmul, [extreme(U8, 400, 400), extreme(U8, 400, 3), any_of(U8, 400) // 32], 0, {}),
    "zero points of the rows of matrices": (
        matmul, [extreme(U8, 2, 3, 900), extreme(U8, 900, 5), any_of(U8, 2, 3, 1) // 32], 1, {}),
    "computed zero points of the rows of matrices": (
        matmul, [extreme(U8, 2, 3, 900), extreme(U8, 900, 5), any_of(U8, 2, 3, 1) // 32], 0, {}),
    "zero points of the columns of matrices": (
        matmul, [extreme(U8, 2, 3, 900), extreme(U8, 2, 900, 5), scalar(U8, 1),
                 any_of(U8, 2, 1, 5) // 32], 1, {}),
    "a computed zero point of a vector": (
        matmul, [extreme(U8, 900), extreme(U8, 900, 5), np.array([3], U8)], 0, {}),
    "computed zero points of as many filters as columns": (
        conv, [extreme(U8, 1, 64, 5, 5), extreme(I8, 3, 64, 3, 3), scalar(U8, 1),
               np.array([-128, 0, -7], I8)], 0, {}),
}
SCALES = {
    "scales of rows and columns": (
        qlinear_matmul, [any_of(U8, 4, 4), powers(-9, -10, -8, -7), any_of(U8, 4), any_of(U8, 4, 4),
                         powers(-3, -2, -4, -1), any_of(U8, 4), powers(0), scalar(U8, 99)], 7, {}),
    "computed scales of rows and columns": (
        qlinear_matmul, [any_of(U8, 4, 4), powers(-9, -10, -8, -7), any_of(U8, 4), any_of(U8, 4, 4),
                         powers(-3, -2, -4, -1), any_of(U8, 4), powers(0), scalar(U8, 99)], 2, {}),
    "scales of the rows and columns of matrices": (
        qlinear_matmul, [any_of(U8, 2, 2, 4), powers([[-9], [-10]], [[-8], [-7]]),
                         any_of(U8, 2, 2, 1), any_of(U8, 2, 4, 2), powers([[-3, -1]], [[-2, -4]]),
                         any_of(U8, 2, 1, 2), powers(0), scalar(U8, 99)], 7, {}),
    "scales of columns": (
        matmul_to_float, [any_of(U8, 4, 4), any_of(U8, 4, 4), powers(-9, -10, -8, -7),
                          powers(-3, -2, -4, -1), any_of(U8, 4), any_of(U8, 4)], 5, {}),
    "computed scales of columns": (
        matmul_to_float, [any_of(U8, 4, 4), any_of(U8, 4, 4), powers(-9, -10, -8, -7),
                          powers(-3, -2, -4, -1), any_of(U8, 4), any_of(U8, 4)], 0, {}),
    "scales of columns that are rows": (
        qgemm, [any_of(U8, 4, 4), powers(-9)[0], scalar(U8, 5), any_of(U8, 4, 4),
                powers(-3, -2, -4, -1), any_of(U8, 4)], 3, {}),
    "computed scales of columns that are rows": (
        qgemm, [any_of(U8, 4, 4), powers(-9)[0], scalar(U8, 5), any_of(U8, 4, 4),
                powers(-3, -2, -4, -1), any_of(U8, 4)], 0, {}),
}
# Name: likewise, with a part of the message
REFUSED = {
    "zero points of more rows": (matmul, [any_of(U8, 1, 5), any_of(U8, 5, 2), any_of(U8, 5)], 0, {},
                                 "has 5 scales or zero points along a dimension of 1 values"),
    "zero points of fewer columns": (matmul, [any_of(U8, 2, 5), any_of(U8, 5, 4), scalar(U8, 0),
                                              any_of(U8, 3)], 0, {},
                                     "has 3 scales or zero points along a dimension of 4 values"),
    "zero points of more dimensions": (matmul, [any_of(U8, 3, 5), any_of(U8, 5, 4),
                                                any_of(U8, 2, 3, 1)], 1, {},
                                       "has 2 scales or zero points along a dimension of 1 values"),
    "zero points of the columns of a picture": (
        conv, [any_of(U8, 1, 5, 5, 5), any_of(U8, 2, 5, 3, 3), any_of(U8, 5)], 0, {},
        "has 5 scales or zero points of a tensor; one is supported"),
    "constant zero points of the rows of a picture": (
        conv, [any_of(U8, 1, 5, 5, 5), any_of(U8, 2, 5, 3, 3), any_of(U8, 5)], 1, {},
        "has 5 scales or zero points of a tensor; one is supported"),
}


MICROSOFT = "com.microsoft"
TYPES = {matmul: onnx.TensorProto.INT32, conv: onnx.TensorProto.INT32,
         qlinear_matmul: onnx.TensorProto.UINT8, matmul_to_float: onnx.TensorProto.FLOAT,
         qgemm: onnx.TensorProto.FLOAT}


def model(function, inputs, constants, options):
    """As ONNX: the inputs are x0, x1, ..."""
    names = [f"x{i}" for i in range(len(inputs))]
    pad = options.get("pad", 0)
    if function is conv:
        node = helper.make_node("ConvInteger", names, ["y"], pads=[pad] * 4,
                                group=options.get("groups", 1))
    elif function is qgemm:
        node = helper.make_node("QGemm", names, ["y"], domain=MICROSOFT, transB=1)
    elif function is matmul_to_float:
        node = helper.make_node("MatMulIntegerToFloat", names, ["y"], domain=MICROSOFT)
    elif function is qlinear_matmul:
        node = helper.make_node("QLinearMatMul", names, ["y"])
    else:
        node = helper.make_node("MatMulInteger", names, ["y"])
    given = len(inputs) - constants
    infos = [helper.make_tensor_value_info(name, numpy_helper.from_array(x).data_type, x.shape)
             for name, x in zip(names[:given], inputs)]
    made = helper.make_model(
        helper.make_graph([node], "integers", infos,
                          [helper.make_tensor_value_info("y", TYPES[function], None)],
                          [numpy_helper.from_array(x, name)
                           for name, x in zip(names[given:], inputs[given:])]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    made.ir_version = 8
    return made, given


def compiled(vtac, directory, function, inputs, constants, options):
    """The process of vtac, and how many inputs the program has."""
    made, given = model(function, inputs, constants, options)
    onnx.save(made, f"{directory}/m.onnx")
    return subprocess.run([vtac, "compile", "--no-card", "-o", f"{directory}/m.vtap",
                           f"{directory}/m.onnx"], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True), given


def problem(vtac, vtactl, directory, test):
    """Of a model that computes: a sentence, or "" if its values are numpy's."""
    function, inputs, constants, options = test
    want = function(*inputs, **options)
    done, given = compiled(vtac, directory, *test)
    if done.returncode:
        return f"vtac ended with {done.returncode}: {done.stderr.strip()}"
    for i in range(given):
        np.save(f"{directory}/x{i}.npy", inputs[i])
    files = [f"y={directory}/y.npy"] + [f"x{i}={directory}/x{i}.npy" for i in range(given)]
    where = {**os.environ, "VTADEV_PLUGINS": "build/lib", "VTADEV_DEVICE": "soft"}
    done = subprocess.run([vtactl, "program", "run", f"{directory}/m.vtap", *files], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=where)
    if done.returncode:
        return f"vtactl ended with {done.returncode}: {done.stderr.strip()}"
    differ = int((np.load(f"{directory}/y.npy").reshape(want.shape) != want).sum())
    return f"{differ} of {want.size} differ" if differ else ""


def problem_refused(vtac, _vtactl, directory, test):
    """Of a model that must be refused."""
    done, _given = compiled(vtac, directory, *test[:4])
    if done.returncode == 4 and test[4] in done.stderr:
        return ""
    return f"vtac ended with {done.returncode}: {done.stderr.strip()}"


def main():
    vtac, vtactl = sys.argv[1:3]
    failed = False
    tests = ([(name, problem, test) for name, test in {**TESTS, **SCALES}.items()] +
             [(name, problem_refused, test) for name, test in REFUSED.items()])
    for name, (function, inputs, _constants, options) in TESTS.items():
        most = abs(function(*inputs, **options)).max()
        assert most < 1 << 31
        assert (most > EXACT) == (name != "sums below the limit")
    print(f"TAP version 13\n1..{len(tests)}")
    for i, (name, of, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as directory:
            why = of(vtac, vtactl, directory, test)
        failed = failed or why
        print(f"not ok {i} {name}: {why}" if why else f"ok {i} {name}")
    sys.exit(bool(failed))


main()
