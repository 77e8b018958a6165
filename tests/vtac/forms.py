#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each form of a layer that files have, between two convolutions or products: it is in one region of
the card with these, all multiplications too, and what is copied is the input and the output.

    forms.py VTAC ACCURACY

ACCURACY compares the core with the interpreter, bit for bit. Prints TAP. Skipped without Debian's
python3-onnx.
"""
import os
import subprocess
import sys
import tempfile

from functions import PATTERNS, Suite, TensorProto, gelu, helper, np, onnx, silu, sigmoid, squeeze_excite
from channels import Pictures

CHANNELS = (24, 20, 58)
SIDE = 12
TOKENS = 10
LEAST_DB = 18
GREAT_EPSILON_DB = 33.5


class Form(Pictures):
    """A network of any input; `shapes` has the shape of each tensor that a method makes."""

    def __init__(self, *shape):
        super().__init__(11)
        self.shape = [1, *shape]
        self.channels["x"] = shape[0]

    def numbers(self, *shape, least=-1.0, most=1.0):
        return self.constant(self.random.uniform(least, most, shape))

    def layer(self, kind, x, dims, groups=1, **window):
        """A convolution of any window, with weights of [*dims]."""
        out = dims[0] if kind == "Conv" else dims[1] * groups
        taps = np.prod(dims[1:]) if kind == "Conv" else dims[0] // groups * np.prod(dims[2:]) / 2
        w = self.random.randn(*dims) * 1.5 / np.sqrt(taps)
        y = self.add(kind, [x, self.constant(w), self.numbers(out)], group=groups, **window)
        self.channels[y] = out
        return y

    def product(self, x, k, units, images=()):
        w = self.constant(self.random.randn(*images, k, units) * 1.5 / np.sqrt(k))
        return self.add("Add", [self.add("MatMul", [x, w]), self.numbers(units)])

    def save(self, path, y, side=None):
        graph = helper.make_graph(
            self.nodes, "form",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), path)


def picture(middle, channels=24):
    """@middle between two convolutions of a picture."""
    n = Form(channels, SIDE, SIDE)
    x = n.conv("x")
    return n, n.conv(middle(n, x), 16, 3)


def line(middle, channels=24):
    n = Form(channels, 40)
    return n, n.layer("Conv", middle(n, n.layer("Conv", "x", (channels, channels, 1))),
                      (16, channels, 3), pads=[1, 1])


def tokens(middle, width=24):
    """@middle between two products of rows."""
    n = Form(TOKENS, width)
    x = n.product("x", width, width)
    return n, n.product(middle(n, x), width, 20)


# ---- PRelu ----

def prelu(*shape, least=-0.5, most=1.5):
    return lambda n, x: n.add("PRelu", [x, n.numbers(*shape, least=least, most=most)])


def prelu_of_sum(n, x):
    return prelu(24, 1, 1)(n, n.add("Add", [x, n.conv(n.relu(x), k=3)]))


def prelu_of_two(n, x):
    """Its input has another user."""
    return n.add("Add", [x, prelu(24, 1, 1)(n, x)])


# ---- constants ----

def with_constant(kind, left, *shape):
    def middle(n, x):
        k = n.numbers(*shape, least=0.5, most=2)
        return n.add(kind, [k, x] if left else [x, k])
    return middle


def rows_pair(kind):
    """Of what two products of rows compute, the second of the first one's rows."""
    return lambda n, x: n.add(kind, [x, n.relu(n.product(x, 24, 24))])


def rows_gate(n, x):
    """Of two products of the same rows."""
    return n.add("Mul", [n.product(x, 24, 24), n.add("Sigmoid", [n.product(x, 24, 24)])])


def behind(first, middle):
    return lambda n, x: middle(n, first(n, x))


# ---- parts ----

def split(sizes):
    """Parts in another order, one of them changed."""
    def middle(n, x):
        parts = n.split(x, sizes)
        parts[0] = n.relu(n.conv(parts[0]))
        return n.concat(parts[::-1])
    return middle


def slices(n, x):
    c = n.channels[x]
    return n.concat([n.slice(x, 5, c), n.slice(x, 0, c // 2), n.relu(n.slice(x, 1, c, 3))])


def shuffle(n, x):
    return n.shuffle(x, SIDE)


def nhwc(n, x):
    """ConvNeXt's: channels last for products and back."""
    c = n.channels[x]
    y = n.add("Transpose", [x], perm=[0, 2, 3, 1])
    y = n.add("Mul", [n.product(gelu(n, n.product(y, c, 40), str), 40, c), n.numbers(c)])
    y = n.add("Transpose", [y], perm=[0, 3, 1, 2])
    n.channels[y] = c
    return y


def layer_norm(n, x, c, kind="LayerNormalization", scales=(0.5, 1.5), epsilon=1e-5):
    rest = [n.numbers(c)] if kind == "LayerNormalization" else []
    return n.add(kind, [x, n.numbers(c, least=scales[0], most=scales[1])] + rest, axis=-1,
                 epsilon=epsilon)


def turned_norm(n, x):
    """ConvNeXt's, between layers with strides."""
    c = n.channels[x]
    y = layer_norm(n, n.add("Transpose", [n.relu(x)], perm=[0, 2, 3, 1]), c)
    y = n.add("Transpose", [y], perm=[0, 3, 1, 2])
    n.channels[y] = c
    return y


def convnext(n, x):
    """A block of it."""
    c = n.channels[x]
    y = n.add("Transpose", [n.conv(x, k=3, groups=c)], perm=[0, 2, 3, 1])
    y = n.product(gelu(n, n.product(layer_norm(n, y, c), c, 40), str), 40, c)
    y = n.add("Transpose", [y], perm=[0, 3, 1, 2])
    y = n.add("Add", [x, n.add("Mul", [y, n.numbers(c, 1, 1)])])
    n.channels[y] = c
    return y


def transformer_norm(n, x):
    """Behind a residual of rows."""
    return layer_norm(n, n.add("Add", [x, n.relu(n.product(x, 24, 24))]), 24)


def rows_of(width, **how):
    """LayerNormalization of so many values between two products."""
    n = Form(TOKENS, 8)
    return n, n.product(layer_norm(n, n.product("x", 8, width), width, **how), width, 20)


def saturated():
    """A bias of 10^8 steps of the output, and scales that are far less than one."""
    n = Form(8)
    x = n.quantised(n.product(n.quantised("x", 0.03), 8, 24), 0.05)
    y = n.add("LayerNormalization", [x, n.constant(np.full(24, 1e-20)), n.constant(np.eye(24)[0])])
    return n, n.quantised(n.product(n.quantised(y, 1e-8), 24, 20), 1e-8)


# Each with what the report has to say if the CPU computes it.
NORMS = {
    "of one value": (rows_of(1), None),
    "of 17 values": (rows_of(17), None),
    "of 8192 values": (rows_of(8192), None),
    "of 8193 values": (rows_of(8193), "more than 8192 values"),
    "with epsilon 0": (rows_of(24, epsilon=0.0), None),
    "with epsilon 3": (rows_of(24, epsilon=3.0), None),
    "with epsilon 10^9": (rows_of(24, epsilon=1e9), "greater than any variance"),
    "with a saturated bias": (saturated(), "its bias is great"),
    "with scales of 0": (rows_of(24, scales=(0, 0)), None),
    "with scales of 10^30": (rows_of(24, scales=(-1e30, 1e30)), None),
    "with scales of 10^-30": (rows_of(24, scales=(-1e-30, 1e-30)), None),
}


def to_tokens(n, x):
    """ViT's: pixels are rows, and back."""
    c = n.channels[x]
    y = n.add("Reshape", [x, n.integers([1, c, SIDE * SIDE])])
    y = n.product(n.add("Transpose", [y], perm=[0, 2, 1]), c, c)
    y = n.add("Transpose", [y], perm=[0, 2, 1])
    y = n.add("Reshape", [y, n.integers([1, c, SIDE, SIDE])])
    n.channels[y] = c
    return y


# ---- windows ----

def window(kind, dims, groups=1, **attributes):
    return lambda n, x: n.layer(kind, n.relu(x), dims, groups, **attributes)


LINES = {
    "stride 2": window("Conv", (24, 24, 5), strides=[2], pads=[2, 2]),
    "dilation 3": window("Conv", (24, 24, 3), dilations=[3], pads=[3, 3]),
    "4 groups": window("Conv", (24, 6, 3), 4, pads=[1, 1]),
    "by channel, stride 2, dilation 2": window("Conv", (24, 1, 3), 24, strides=[2], dilations=[2],
                                               pads=[2, 1]),
    "pads before alone": window("Conv", (24, 24, 4), pads=[3, 0]),
    "transposed, stride 2": window("ConvTranspose", (24, 24, 4), strides=[2], pads=[1, 1]),
    "MaxPool": lambda n, x: n.add("MaxPool", [x], kernel_shape=[3], strides=[2], pads=[1, 1]),
    "PRelu": prelu(24, 1),
    "a factor by channel": with_constant("Mul", True, 24, 1),
    "SiLU": lambda n, x: silu(n, x, str),
}
PADS = {
    "3 for 1": window("Conv", (24, 24, 1, 1), pads=[3] * 4),
    "3 for 3": window("Conv", (24, 24, 3, 3), pads=[3] * 4),
    "5 for 3, stride 2": window("Conv", (24, 24, 3, 3), pads=[5] * 4, strides=[2, 2]),
    "4 for 3, uneven": window("Conv", (24, 24, 3, 3), pads=[4, 0, 1, 4]),
    "4 for 3, by channel": window("Conv", (24, 1, 3, 3), 24, pads=[4] * 4),
    "6 for 3, dilation 2": window("Conv", (24, 24, 3, 3), pads=[6] * 4, dilations=[2, 2]),
}
TRANSPOSED = {
    "kernel 2, stride 2": window("ConvTranspose", (24, 20, 2, 2), strides=[2, 2]),
    "kernel 4, stride 2, pads 1": window("ConvTranspose", (24, 20, 4, 4), strides=[2, 2],
                                         pads=[1] * 4),
    "output padding": window("ConvTranspose", (24, 20, 3, 3), strides=[2, 2], pads=[1] * 4,
                             output_padding=[1, 1]),
    "uneven pads": window("ConvTranspose", (24, 20, 4, 4), strides=[2, 2], pads=[0, 1, 2, 1]),
    "more pads at the end": window("ConvTranspose", (24, 20, 4, 4), strides=[2, 2],
                                   pads=[0, 0, 3, 2]),
    "more pads before": window("ConvTranspose", (24, 20, 4, 4), strides=[2, 2],
                               pads=[3, 2, 0, 0]),
    "stride 3": window("ConvTranspose", (24, 20, 5, 5), strides=[3, 3], pads=[2, 1, 1, 2]),
    "stride 3, kernel 2": window("ConvTranspose", (24, 20, 2, 2), strides=[3, 3]),
    "strides 3 and 1": window("ConvTranspose", (24, 20, 4, 3), strides=[3, 1], pads=[1] * 4),
    "stride 1": window("ConvTranspose", (24, 20, 3, 3), pads=[1] * 4),
    "pads >= kernel": window("ConvTranspose", (24, 20, 2, 2), strides=[2, 2], pads=[2, 3, 3, 2]),
    "dilation 2": window("ConvTranspose", (24, 20, 3, 3), strides=[2, 2], dilations=[2, 2],
                         pads=[2] * 4, output_padding=[1, 1]),
    "by channel": window("ConvTranspose", (24, 1, 4, 4), 24, strides=[2, 2], pads=[1] * 4),
    "4 groups": window("ConvTranspose", (24, 5, 4, 4), 4, strides=[2, 2], pads=[1] * 4),
}

# ---- functions ----


def function(kind, **attributes):
    return lambda n, x: n.add(kind, [x], **attributes)


def excite(n, x):
    return squeeze_excite(n, silu(n, x, str), lambda n, t, _: n.relu(t), sigmoid, 8)


def excite_left(n, x):
    """The factor first, and a constant for HardSigmoid's output."""
    s = n.add("HardSigmoid", [n.conv(n.add("GlobalAveragePool", [x]))], alpha=1 / 6, beta=0.5)
    return n.add("Mul", [s, n.relu(x)])


def forms():
    """Yields name and network."""
    for name, slopes in (("each channel", (24, 1, 1)), ("all channels", (1,))):
        yield f"PRelu of {name} behind Conv", picture(prelu(*slopes))
    yield "PRelu of small slopes", picture(prelu(24, 1, 1, least=0, most=0.3))
    yield "PRelu of each element", picture(prelu(24, SIDE, SIDE))
    yield "PRelu behind Add", picture(prelu_of_sum)
    yield "PRelu whose input has another user", picture(prelu_of_two)
    yield "PRelu behind MatMul", tokens(prelu(24))
    for kind in ("Mul", "Add", "Sub", "Div"):
        for left in (False, True):
            if kind == "Div" and left:
                continue	# not linear in x
            side = "left" if left else "right"
            for name, first in (("Conv", lambda n, x: x), ("Relu", lambda n, x: n.relu(x)),
                                ("a sum", lambda n, x: n.add("Add", [x, n.relu(x)]))):
                for where, shape in (("all", ()), ("each channel", (24, 1, 1)),
                                     ("each element", (1, 24, SIDE, SIDE)),
                                     ("each pixel", (SIDE, SIDE))):
                    yield (f"{kind} of a constant of {where} on the {side} behind {name}",
                           picture(behind(first, with_constant(kind, left, *shape))))
            for where, shape in (("column", (24,)), ("row", (TOKENS, 1)),
                                 ("element", (TOKENS, 24))):
                yield (f"{kind} of a constant of each {where} on the {side} behind MatMul",
                       tokens(with_constant(kind, left, *shape)))
    for kind in ("Add", "Sub", "Mul", "Max", "Min"):
        yield f"{kind} of two products of rows", tokens(rows_pair(kind))
    yield "a gate of rows", tokens(rows_gate)
    yield "MatMul by one matrix of three dimensions", tokens(
        lambda n, x: n.product(x, 24, 24, (1,)))
    for c in CHANNELS:
        yield f"Split of {c} channels", picture(split([c // 3, c - c // 3 - 7, 7]), c)
        yield f"Slice of {c} channels", picture(slices, c)
        yield f"a shuffle of {c} channels", picture(shuffle, c)
        yield f"channels last and back of {c} channels", picture(nhwc, c)
        yield f"pixels as rows and back of {c} channels", picture(to_tokens, c)
        yield f"LayerNormalization of pixels of {c} channels", picture(turned_norm, c)
        yield f"a block of ConvNeXt of {c} channels", picture(convnext, c)
        yield f"LayerNormalization of rows of {c} values", tokens(
            lambda n, x, c=c: layer_norm(n, x, c), c)
    yield "LayerNormalization behind a residual of rows", tokens(transformer_norm)
    yield "LayerNormalization with scales of either sign", tokens(
        lambda n, x: layer_norm(n, x, 24, scales=(-1, 1)))
    yield "SimplifiedLayerNormalization", tokens(
        lambda n, x: layer_norm(n, x, 24, "SimplifiedLayerNormalization"))
    for name, middle in LINES.items():
        yield f"a line: {name}", line(middle)
    for name, middle in PADS.items():
        yield f"pads of {name}", picture(middle)
    for name, middle in TRANSPOSED.items():
        yield f"transposed: {name}", picture(middle)
    for make in PATTERNS:
        yield f"{make.__name__} behind Conv", picture(lambda n, x, m=make: m(n, x, str))
        yield f"{make.__name__} behind MatMul", tokens(lambda n, x, m=make: m(n, x, str))
    for kind in ("Softplus", "HardSwish", "Elu", "Sigmoid", "Tanh", "Erf", "Abs"):
        yield f"{kind} behind Conv", picture(function(kind))
    yield "squeeze and excite", picture(excite)
    yield "squeeze and excite, the factor first", picture(excite_left)


class Forms(Suite):
    """Compiles a form and runs it."""

    def __init__(self, vtac, accuracy, where):
        super().__init__(vtac, where)
        self.accuracy = accuracy

    def form(self, made):
        n, y = made
        data = os.path.join(self.where, "images.npy")
        np.save(data, np.random.RandomState(5).randn(4, *n.shape[1:]).astype(np.float32))
        try:
            r = self.compile(n, y, images=False, options=[
                "--no-prune", f"--calibrate={data}", f"--measure={data}"])
        except RuntimeError as error:
            return error
        last = [k for k in r["nodes"] if k["device"] == "card"][-1:]
        size = np.prod(n.shape) + (np.prod(last[0]["shape"]) if last else 0)
        cpu = "\n".join(f"{k['operator']} {k['name']}: {k['why']}" for k in r["nodes"]
                        if "why" in k and k["operator"] != "reshape")
        if r["regions"] != 1 or r["copied"] != 2 * size:
            return f"{r['regions']} regions, {r['copied']} values copied, not {2 * size}\n{cpu}"
        if r["multiplications"] != r["multiplications_card"] or cpu:
            return f"{r['multiplications_card']} of {r['multiplications']} multiplications\n{cpu}"
        if r["sqnr"] < LEAST_DB:
            return f"{r['sqnr']} dB"
        return self.differs(data)

    def norm(self, made, why):
        """Is it where it has to be, and what the interpreter computes?"""
        n, y = made
        data = os.path.join(self.where, "images.npy")
        np.save(data, np.random.RandomState(5).randn(4, *n.shape[1:]).astype(np.float32))
        r = self.compile(n, y, images=False, options=["--no-prune", f"--calibrate={data}"])
        node = [k for k in r["nodes"] if k["operator"] == "norm"][0]
        if (why or "") not in node.get("why", "") or (node["device"] == "card") == bool(why):
            return f"{node['device']}: {node.get('why')}"
        return self.differs(data)

    def great_epsilon(self):
        """It leaves values that are far less than their deviation, with as many places."""
        n, y = rows_of(4096, epsilon=100.0, kind="SimplifiedLayerNormalization")
        data = os.path.join(self.where, "images.npy")
        np.save(data, np.random.RandomState(5).randn(4, *n.shape[1:]).astype(np.float32))
        r = self.compile(n, y, images=False, options=[
            "--no-prune", f"--calibrate={data}", f"--measure={data}"])
        node = [k for k in r["nodes"] if k["operator"] == "norm"][0]
        if node["device"] != "card" or node["sqnr"] < GREAT_EPSILON_DB:
            return f"{node['device']}: {node['sqnr']} dB"
        return self.differs(data)

    def differs(self, data):
        run = subprocess.run([self.accuracy, os.path.join(self.where, "model.onnx"), data, data,
                              "--card", "1"], check=False, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        return run.stdout if run.returncode or "bit for bit" not in run.stdout else None


def main():
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        s = Forms(*sys.argv[1:3], where)
        for name, made in forms():
            s.check(f"{name} is one region", s.form(made))
        for name, (made, why) in NORMS.items():
            s.check(f"LayerNormalization {name} is {'the CPU' if why else 'the card'}'s",
                    s.norm(made, why))
        s.check("LayerNormalization with a great epsilon has its steps", s.great_epsilon())
    print(f"1..{s.count}")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
