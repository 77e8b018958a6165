#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Scales of files that leave the card no integers: the CPU computes that node, the report says why,
and the rest of the model stays on the card.

    scales.py VTAC ACCURACY

Prints TAP. Skipped without Debian's python3-onnx.
"""
import json
import os
import subprocess
import sys
import tempfile

from channels import Pictures
from functions import SIDE, Suite, gelu, np, sigmoid, silu

FAR = [1e-9, 1e-2, 1e6]


class Far(Pictures):
    """A model whose middle has scales of any size."""

    def around(self, x, scale):
        return self.quantised(x, scale)


def model(middle, scales):
    """@middle between two convolutions, its input and output with these scales."""
    n = Far(8)
    x = n.around(n.conv(n.around("x", 0.03), k=3), scales[0])
    y = n.around(middle(n, x, scales), scales[1])
    return n, n.around(n.conv(y, 16), 0.03)


def pair(kind):
    def middle(n, x, scales):
        other = n.around(n.conv(x, k=3), scales[1])
        return n.add(kind, [x, other])
    return middle


def product(n, x, scales):
    c = n.channels[x]
    rows = [n.add("Reshape", [t, n.integers([1, c, SIDE * SIDE])])
            for t in (x, n.around(n.conv(x), scales[1]))]
    t = n.add("Transpose", [rows[1]], perm=[0, 2, 1])
    t = n.add("MatMul", [n.around(n.add("MatMul", [rows[0], t]), scales[1]), rows[0]])
    y = n.add("Reshape", [n.around(t, scales[0]), n.integers([1, c, SIDE, SIDE])])
    n.channels[y] = c
    return y


def residual(n, x, _):
    return n.add("Add", [n.conv(x, k=3), x])


def excite(n, x, scales):
    s = n.add("GlobalAveragePool", [x])
    return n.add("Mul", [x, n.around(sigmoid(n, n.around(s, scales[0])), 1 / 256)])


MIDDLES = {
    "Conv": lambda n, x, _: n.conv(x, k=3),
    "a convolution by channel": lambda n, x, _: n.conv(x, k=3, groups=n.channels[x]),
    "a residual": residual,
    "Add": pair("Add"), "Sub": pair("Sub"), "Mul": pair("Mul"), "Max": pair("Max"),
    "products of computed matrices": product,
    "AveragePool": lambda n, x, _: n.add("AveragePool", [x], kernel_shape=[2, 2]),
    "MaxPool": lambda n, x, _: n.add("MaxPool", [x], kernel_shape=[2, 2]),
    "Relu": lambda n, x, _: n.relu(x),
    "a factor": lambda n, x, _: n.add("Mul", [x, n.constant(0.3)]),
    "PRelu": lambda n, x, _: n.add("PRelu", [x, n.constant(
        n.random.uniform(-1, 2, (n.channels[x], 1, 1)))]),
    "PRelu of small slopes": lambda n, x, _: n.add("PRelu", [x, n.constant(
        n.random.uniform(0, 1, (n.channels[x], 1, 1)))]),
    "a constant of each value": lambda n, x, _: n.add("Sub", [n.constant(
        n.random.randn(n.channels[x], SIDE, SIDE)), x]),
    "Concat": lambda n, x, _: n.concat([x, x]),
    "HardSwish": lambda n, x, _: n.add("HardSwish", [x]),
    "SiLU": lambda n, x, _: silu(n, x, str),
    "GELU": lambda n, x, _: gelu(n, x, str),
    "Exp": lambda n, x, _: n.add("Exp", [x]),
    "squeeze and excite": excite,
}


class Scales(Suite):
    """Compiles models with scales far from each other."""

    def __init__(self, vtac, accuracy, where):
        super().__init__(vtac, where)
        self.accuracy, self.left = accuracy, {}

    def run(self):
        data = os.path.join(self.where, "images.npy")
        run = subprocess.run([self.accuracy, os.path.join(self.where, "model.onnx"), data, data,
                              "--card", "1"], check=False, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        return None if "bit for bit" in run.stdout else run.stdout

    def all_scales(self, middle, images):
        """All pairs of scales compile; counts the nodes that are left to the CPU."""
        np.save(os.path.join(self.where, "images.npy"),
                np.random.RandomState(5).randn(2, 32, SIDE, SIDE).astype(np.float32))
        left = set()
        for a in FAR:
            for b in FAR:
                n, y = model(middle, (a, b))
                try:
                    r = self.compile(n, y, images=images, options=["--no-prune"])
                except RuntimeError as error:
                    return f"{a} and {b}: {error}"
                left |= {k["why"] for k in r["nodes"] if "why" in k and k["device"] == "cpu"}
                if not any(k["device"] == "card" for k in r["nodes"]):
                    return f"{a} and {b}: " + json.dumps(r["nodes"], indent=1)
                why = self.run() if images else None
                if why:
                    return f"{a} and {b}: {why}"
        print("\n".join(f"# {why}" for why in sorted(left)))
        return None


def main():
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        s = Scales(*sys.argv[1:3], where)
        for name, middle in MIDDLES.items():
            for images in (False, True):
                s.check(f"{name}, {'with' if images else 'without'} images, of any scales",
                        s.all_scales(middle, images))
    print(f"1..{s.count}")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
