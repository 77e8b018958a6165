#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Attention in files: its products are on the card, near the float graph, in transformers too.

    attention.py VTAC

Prints TAP. Skipped without Debian's python3-onnx.
"""
import json
import os
import subprocess
import sys
import tempfile

from functions import Net, Suite, gelu, np, numpy_helper, onnx, TensorProto, helper

SHARE = 0.99		# of the multiplications, on the card
LEAST_DB = 25		# of attention alone, against float


class Transformer(Net):
    """Tokens are rows: [1][tokens][width]."""

    def __init__(self, seed, tokens, width, heads):
        super().__init__(seed)
        self.tokens, self.width, self.heads = tokens, width, heads
        self.around = lambda t, scale=1: t
        self.sign = 1

    def integers(self, values):
        name = f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def add(self, kind, inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def reshape(self, x, *shape):
        return self.add("Reshape", [x, self.integers(shape)])

    def linear(self, x, inputs, outputs, scale=1 / 24):
        w = self.random.randn(inputs, outputs) / np.sqrt(inputs)
        y = self.add("MatMul", [x, self.constant(w)])
        return self.around(self.add("Add", [y, self.constant(self.random.randn(outputs) / 8)]),
                           scale)

    def norm(self, x):
        scale = self.constant(1 + self.random.randn(self.width) / 8)
        shift = self.constant(self.random.randn(self.width) / 8)
        return self.add("LayerNormalization", [x, scale, shift], axis=-1, epsilon=1e-5)

    def split_heads(self, x, perm):
        return self.add("Transpose", [self.reshape(x, 1, self.tokens, self.heads, -1)], perm=perm)

    def parts(self, x):
        """As BERT: three products, and keys that are transposed with their heads."""
        q, k, v = (self.linear(x, self.width, self.width) for _ in range(3))
        return (self.split_heads(q, [0, 2, 1, 3]), self.split_heads(k, [0, 2, 3, 1]),
                self.split_heads(v, [0, 2, 1, 3]))

    def joined_parts(self, x):
        """As ViT: one product for queries, keys and values."""
        qkv = self.reshape(self.linear(x, self.width, 3 * self.width), 1, self.tokens, 3,
                           self.heads, -1)
        qkv = self.add("Transpose", [qkv], perm=[2, 0, 3, 1, 4])
        index = [f"i{len(self.constants)}_{i}" for i in range(3)]
        self.constants += [numpy_helper.from_array(np.array(i, np.int64), name)
                           for i, name in enumerate(index)]
        q, k, v = (self.add("Gather", [qkv, i], axis=0) for i in index)
        return q, self.add("Transpose", [k], perm=[0, 1, 3, 2]), v

    def attend(self, q, k, v, after):
        """The product of queries and keys is divided, or the queries are before it."""
        root = self.constant(self.sign * np.sqrt(self.width / self.heads))
        if not after:
            q = self.add("Div", [q, root])
        s = self.around(self.add("MatMul", [q, k]), 1 / 4)
        s = self.add("Div", [s, root]) if after else s
        p = self.around(self.add("Softmax", [s], axis=-1), 1 / 127)
        y = self.add("Transpose", [self.around(self.add("MatMul", [p, v]), 1 / 96)], perm=[0, 2, 1, 3])
        return self.reshape(y, 1, self.tokens, self.width)

    def attention(self, x, joined):
        y = self.attend(*(self.joined_parts(x) if joined else self.parts(x)), not joined)
        return self.linear(y, self.width, self.width, 1 / 96)

    def feed_forward(self, x):
        y = gelu(self, self.linear(x, self.width, 4 * self.width), str)
        return self.linear(y, 4 * self.width, self.width)

    def layer(self, x, joined):
        if joined:
            x = self.add("Add", [x, self.attention(self.norm(x), joined)])
            return self.add("Add", [x, self.feed_forward(self.norm(x))])
        x = self.norm(self.add("Add", [x, self.attention(x, joined)]))
        return self.norm(self.add("Add", [x, self.feed_forward(x)]))

    def write(self, path, y, shape):
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def vit(layers, side, patch, width, heads):
    """A picture in patches, and a token for the class."""
    tokens = (side // patch) ** 2
    n = Transformer(1, tokens + 1, width, heads)
    w = n.random.randn(width, 3, patch, patch) / np.sqrt(3 * patch * patch)
    x = n.add("Conv", ["x", n.constant(w), n.constant(np.zeros(width))], strides=[patch] * 2)
    x = n.add("Transpose", [n.reshape(x, 1, width, tokens)], perm=[0, 2, 1])
    x = n.add("Concat", [n.constant(n.random.randn(1, 1, width)), x], axis=1)
    x = n.add("Add", [x, n.constant(n.random.randn(1, tokens + 1, width) / 4)])
    for _ in range(layers):
        x = n.layer(x, True)
    x = n.add("Gather", [n.norm(x), n.integers(0)], axis=1)
    return n, n.add("Gemm", [x, n.constant(n.random.randn(100, width) / np.sqrt(width)),
                             n.constant(np.zeros(100))], transB=1), [1, 3, side, side]


def bert(layers, tokens, width, heads):
    n = Transformer(2, tokens, width, heads)
    x = "x"
    for _ in range(layers):
        x = n.layer(x, False)
    return n, x, [1, tokens, width]


def alone(tokens, width, heads, joined, quantised):
    """Attention of one layer."""
    n = Transformer(3, tokens, width, heads)
    if quantised:
        n.around = lambda t, scale=1 / 24: n.quantised(t, scale)
    x = n.around("x") if quantised else "x"
    return n, n.attention(x, joined), [1, tokens, width]


def long_rows():
    """Sums of more products than 32 bits hold with a scale."""
    n = Transformer(5, 4, 5000, 1)
    x = n.add("Relu", ["x"])
    y = n.add("MatMul", [x, n.add("Transpose", [x], perm=[0, 2, 1])])
    return n, n.linear(y, 4, 4), [1, 4, 5000]


class Attention(Suite):
    def report(self, made, options=(), images=True):
        n, y, shape = made
        path = os.path.join(self.where, "model.onnx")
        n.write(path, y, shape)
        options = list(options)
        data = os.path.join(self.where, "images.npy")
        np.save(data, np.random.RandomState(5).randn(8, *shape[1:]).astype(np.float32))
        options += [f"--measure={data}"] + ([f"--calibrate={data}"] if images else [])
        run = subprocess.run([self.vtac, "compile", "-j", *options, path], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr)
        return json.loads(run.stdout)

    @staticmethod
    def products(r, count):
        """As many products of two computed tensors as there are, all on the card."""
        found = [k for k in r["nodes"] if k["operator"] in ("batch_gemm", "matmul")]
        if len(found) != count or any(k["device"] != "card" for k in found):
            return json.dumps(found, indent=1)
        return None

    def attention(self, made, images=True):
        r = self.report(made, ["--no-prune"], images)
        moved = [k["name"] for k in r["nodes"] if k["operator"] == "transpose"]
        sqnr = r["sqnr"]
        print(f"# {r['cycles']} cycles, {r['regions']} regions, {r['copied']} values copied, "
              f"{sqnr:.1f} dB")
        if sqnr < LEAST_DB:
            return f"{sqnr} dB"
        return self.products(r, 2) or (moved and f"moved by {moved}")

    def left_to_cpu(self, made, why):
        """A product that the card cannot compute, and why; the rest is compiled."""
        nodes = self.report(made, ["--no-prune"])["nodes"]
        found = [k for k in nodes if k["operator"] in ("batch_gemm", "matmul")]
        left = [k for k in found if k["device"] == "cpu" and why in k["why"]]
        return None if len(left) == 1 else json.dumps(found, indent=1)

    def network(self, made, layers):
        r = self.report(made)
        share = r["multiplications_card"] / r["multiplications"]
        print(f"# {share:.4%} of {r['multiplications'] / 1e6:.0f} M multiplications on the card, "
              f"{r['regions']} regions, {r['cycles']} cycles, {r['copied']} values copied, "
              f"{r['sqnr']:.1f} dB")
        return self.products(r, 2 * layers) or (share < SHARE and f"a share of {share}")


SIZES = [(16, 64, 4), (50, 128, 2), (197, 192, 3)]


def main():
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        s = Attention(sys.argv[1], where)
        for size in SIZES:
            for joined in (False, True):
                name = "%d tokens of %d values, %d heads" % size
                s.check(f"attention of {name}{' by one product' if joined else ''} is near float",
                        s.attention(alone(*size, joined, False)))
        s.check("attention of a file with scales needs no images",
                s.attention(alone(*SIZES[1], False, True), False))
        turned = Transformer(4, 16, 64, 1)
        turned.sign = -1
        s.check("a product with a negative factor is the CPU's",
                s.left_to_cpu((turned, turned.attention("x", True), [1, 16, 64]), "no operator"))
        s.check("a product of more than 4096 values is the CPU's",
                s.left_to_cpu(long_rows(), "4096"))
        s.check(f"a network like ViT has {SHARE:.0%} of its multiplications on the card",
                s.network(vit(2, 112, 16, 192, 3), 2))
        s.check(f"a network like BERT has {SHARE:.0%} of its multiplications on the card",
                s.network(bert(2, 64, 128, 2), 2))
    print(f"1..{s.count}")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
