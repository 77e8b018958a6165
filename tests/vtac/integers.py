#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""MatMulInteger and ConvInteger whose sums are greater than floats count.

    integers.py VTAC VTACTL

Each model is compiled without the card, runs on the device soft, and must give the integers that
numpy computes with 64 bits. (ONNX Runtime's are saturated on some processors.) Prints TAP.
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


def matmul(a, b, a_zero=None, b_zero=None):
    """A list of zero points is of the first one's rows, or of the second one's columns."""
    return wide(a, None if a_zero is None else a_zero.reshape(-1, 1)) @ wide(b, b_zero)


def conv(x, w, x_zero=None, w_zero=None, pad=0, groups=1):
    """Of square pictures and windows, with a stride of 1."""
    x, w = wide(x, x_zero), wide(w, None if w_zero is None else w_zero.reshape(-1, 1, 1, 1))
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    outputs = w.shape[0] // groups
    parts = [np.einsum("nchwij,ocij->nohw", windows[:, g * w.shape[1]:(g + 1) * w.shape[1]],
                       w[g * outputs:(g + 1) * outputs]) for g in range(groups)]
    return np.concatenate(parts, axis=1)


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
}


def model(function, inputs, constants, options):
    """As ONNX: the inputs are x0, x1, ..."""
    names = [f"x{i}" for i in range(len(inputs))]
    pad = options.get("pad", 0)
    if function is matmul:
        node = helper.make_node("MatMulInteger", names, ["y"])
    else:
        node = helper.make_node("ConvInteger", names, ["y"], pads=[pad] * 4,
                                group=options.get("groups", 1))
    given = len(inputs) - constants
    infos = [helper.make_tensor_value_info(name, numpy_helper.from_array(x).data_type, x.shape)
             for name, x in zip(names[:given], inputs)]
    made = helper.make_model(
        helper.make_graph([node], "integers", infos,
                          [helper.make_tensor_value_info("y", onnx.TensorProto.INT32, None)],
                          [numpy_helper.from_array(x, name)
                           for name, x in zip(names[given:], inputs[given:])]),
        opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made, given


def run(vtac, vtactl, directory, function, inputs, constants, options):
    """The program's integers."""
    made, given = model(function, inputs, constants, options)
    onnx.save(made, f"{directory}/m.onnx")
    subprocess.run([vtac, "compile", "--no-card", "-o", f"{directory}/m.vtap",
                    f"{directory}/m.onnx"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    for i in range(given):
        np.save(f"{directory}/x{i}.npy", inputs[i])
    subprocess.run([vtactl, "program", "run", f"{directory}/m.vtap", f"y={directory}/y.npy"] +
                   [f"x{i}={directory}/x{i}.npy" for i in range(given)], check=True,
                   stdout=subprocess.DEVNULL,
                   env={**os.environ, "VTADEV_PLUGINS": "build/lib", "VTADEV_DEVICE": "soft"})
    return np.load(f"{directory}/y.npy")


def main():
    vtac, vtactl = sys.argv[1:3]
    failed = False
    print(f"TAP version 13\n1..{len(TESTS)}")
    for i, (name, (function, inputs, constants, options)) in enumerate(TESTS.items(), 1):
        want = function(*inputs, **options)
        assert abs(want).max() < 1 << 31
        assert (abs(want).max() > EXACT) == (name != "sums below the limit")
        with tempfile.TemporaryDirectory() as directory:
            try:
                got = run(vtac, vtactl, directory, function, inputs, constants, options)
                differ = int((got.reshape(want.shape) != want).sum())
                why = f"{differ} of {want.size} differ" if differ else ""
            except subprocess.CalledProcessError as error:
                why = f"{' '.join(error.cmd[:2])} ended with {error.returncode}"
        failed = failed or why
        print(f"not ok {i} {name}: {why}" if why else f"ok {i} {name}")
    sys.exit(bool(failed))


main()
