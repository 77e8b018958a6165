#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Constants of each shape that broadcasts, beside what a layer computes: the program gives numpy's
values. All sizes of a tensor are equal, so that a constant of rows has as many values as one of
columns.

    broadcast.py VTAC VTACTL

Each model runs on the device soft, by the CPU alone and with all nodes that the card has. Prints
TAP. Skipped without Debian's python3-onnx.
"""
import itertools
import os
import subprocess
import sys
import tempfile

from functions import TensorProto, helper, np, onnx
from onnx import numpy_helper

SIZE = 6
IMAGES = 4
LEAST_DB = 20
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None	# each output is synced
CHOSEN = ["--range=max", "--equalise=no", "--split=no", "--residual=sum", "--merge=no",
          "--padding=point"]

random = np.random.RandomState(3)


def conv(x, w):
    """With windows of one pixel."""
    return np.einsum("oi,ni...->no...", w.reshape(SIZE, SIZE), x)


# Name: operator, its function, the input's rank, the weights' shape
LAYERS = {
    "rows of a matrix": ("MatMul", np.matmul, [SIZE] * 2, [SIZE] * 2),
    "rows of an image": ("MatMul", np.matmul, [1, SIZE, SIZE], [SIZE] * 2),
    "rows of several images": ("MatMul", np.matmul, [SIZE] * 3, [SIZE] * 2),
    "rows of images and heads": ("MatMul", np.matmul, [1, SIZE, SIZE, SIZE], [SIZE] * 2),
    "rows of an image, by a matrix of three dimensions": (
        "MatMul", np.matmul, [1, SIZE, SIZE], [1, SIZE, SIZE]),
    "rows of a matrix, by a matrix of four dimensions": (
        "MatMul", np.matmul, [SIZE] * 2, [1, 1, SIZE, SIZE]),
    "lines": ("Conv", conv, [1, SIZE, SIZE], [SIZE, SIZE, 1]),
    "pictures": ("Conv", conv, [1, SIZE, SIZE, SIZE], [SIZE, SIZE, 1, 1]),
}
PAIRS = {
    "Add": lambda y, c: y + c,
    "Sub": lambda y, c: y - c,
    "Mul": lambda y, c: y * c,
    "Div": lambda y, c: y / c,
    "Max": np.maximum,
    "Min": np.minimum,
    "PRelu": lambda y, c: np.where(y < 0, y * c, y),
}


def shapes(of):
    """Those that broadcast to the shape @of."""
    for rank in range(len(of) + 1):
        yield from sorted(set(itertools.product(*((1, n) for n in of[len(of) - rank:]))))


def network(layer):
    """The model, and a function from its input to each output's values."""
    kind, function, shape, weights = layer
    w = (random.randn(*weights) / np.sqrt(SIZE)).astype(np.float32)
    nodes, constants, wanted = [], [numpy_helper.from_array(w, "w")], {}
    of = function(np.zeros(shape, np.float32), w).shape
    pairs = PAIRS if len(of) < 4 else ("Mul", "Sub")
    for i, (pair, dims) in enumerate(itertools.product(pairs, shapes(of))):
        c = random.uniform(0.5, 2, dims).astype(np.float32)
        constants.append(numpy_helper.from_array(c, f"c{i}"))
        nodes.append(helper.make_node(kind, ["x", "w"], [f"l{i}"]))
        name = "_".join([pair, "of", *map(str, dims)])
        nodes.append(helper.make_node(pair, [f"l{i}", f"c{i}"], [name]))
        wanted[name] = lambda x, p=PAIRS[pair], c=c: p(function(x, w), c)
        if pair == "Sub":
            nodes.append(helper.make_node(kind, ["x", "w"], [f"r{i}"]))
            nodes.append(helper.make_node(pair, [f"c{i}", f"r{i}"], [f"{name}_left"]))
            wanted[f"{name}_left"] = lambda x, c=c: c - function(x, w)
    graph = helper.make_graph(
        nodes, "broadcast", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in wanted],
        constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
    made.ir_version = 8
    return made, shape, wanted


def run(*command):
    where = {**os.environ, "VTADEV_PLUGINS": "build/lib", "VTADEV_DEVICE": "soft"}
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, env=where)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")


def noise_db(value, want):
    return 10 * np.log10((want ** 2).sum() / max(((value - want) ** 2).sum(), 1e-30))


def problem(vtac, vtactl, where, layer, options, least):
    """The outputs that are wrong, or ""."""
    made, shape, wanted = network(layer)
    onnx.save(made, f"{where}/m.onnx")
    images = random.randn(IMAGES, *shape).astype(np.float32)
    np.save(f"{where}/images.npy", images)
    np.save(f"{where}/x.npy", images[0])
    try:
        run(vtac, "compile", *options, "-o", f"{where}/m.vtap", f"{where}/m.onnx")
        run(vtactl, "program", "run", f"{where}/m.vtap", f"x={where}/x.npy",
            *(f"{name}={where}/{name}.npy" for name in wanted))
    except RuntimeError as error:
        return str(error)
    wrong = []
    for name, value in wanted.items():
        got, want = np.load(f"{where}/{name}.npy"), value(images[0].astype(np.float64))
        if got.shape != want.shape or noise_db(got, want) < least:
            wrong.append(name)
    return " ".join(wrong)


def main():
    vtac, vtactl = sys.argv[1:3]
    failed, count = False, 0
    print(f"TAP version 13\n1..{2 * len(LAYERS)}")
    for name, layer in LAYERS.items():
        with tempfile.TemporaryDirectory(dir=MEMORY) as where:
            card = ["--no-prune", f"--calibrate={where}/images.npy", *CHOSEN]
            for on, options, least in (("the CPU", ["--no-card"], 100), ("the card", card, LEAST_DB)):
                count += 1
                why = problem(vtac, vtactl, where, layer, options, least)
                failed = failed or why
                print(f"not ok {count} {name} on {on}: {why}" if why else
                      f"ok {count} {name} on {on}", flush=True)
    sys.exit(bool(failed))


main()
