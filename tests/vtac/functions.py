#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Functions of one tensor in files: the patterns that are one node, and networks in one region.

    functions.py VTAC

Prints TAP. Skipped without Debian's python3-onnx.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"TAP version 13\n1..0 # SKIP {error}")
    sys.exit(0)

node = helper.make_node
C, SIDE = 32, 14


class Net:
    """A network in the making; each method returns the name of a tensor."""

    def __init__(self, seed=0):
        self.random = np.random.RandomState(seed)
        self.nodes, self.constants, self.channels = [], [], {"x": C}

    def constant(self, values):
        name = f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def add(self, kind, inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(node(kind, inputs, [name], name=name, **attributes))
        self.channels[name] = next(self.channels[i] for i in inputs if i in self.channels)
        return name

    def conv(self, x, out=None, k=1, groups=1, stride=1):
        out = out or self.channels[x]
        width = self.channels[x] // groups
        w = self.random.randn(out, width, k, k) * 1.5 / np.sqrt(width * k * k)
        y = self.add("Conv", [x, self.constant(w), self.constant(self.random.randn(out) / 4)],
                     pads=[k // 2] * 4, strides=[stride] * 2, group=groups)
        self.channels[y] = out
        return y

    def quantised(self, x, scale, zero=0):
        """As int8 and back."""
        points = [self.constant(scale), f"z{len(self.constants)}"]
        self.constants.append(numpy_helper.from_array(np.array(zero, np.int8), points[1]))
        return self.add("DequantizeLinear", [self.add("QuantizeLinear", [x] + points)] + points)

    def save(self, path, y, side=SIDE, kind=TensorProto.FLOAT):
        graph = helper.make_graph(
            self.nodes, "net",
            [helper.make_tensor_value_info("x", kind, [1, C, side, side])],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), path)


# ---- patterns: a function of x, each step through around() ----

def silu(n, x, around):
    return n.add("Mul", [x, around(n.add("Sigmoid", [x]))])


def quick_gelu(n, x, around):
    inner = around(n.add("Mul", [n.constant(1.702), x]))
    return n.add("Mul", [around(n.add("Sigmoid", [inner])), x])


def mish(n, x, around):
    return n.add("Mul", [x, around(n.add("Tanh", [around(n.add("Softplus", [x]))]))])


def gelu(n, x, around):
    inner = around(n.add("Div", [x, n.constant(np.sqrt(2))]))
    one = around(n.add("Add", [around(n.add("Erf", [inner])), n.constant(1)]))
    return n.add("Mul", [around(n.add("Mul", [x, one])), n.constant(0.5)])


def gelu_halved(n, x, around):
    inner = around(n.add("Mul", [x, n.constant(np.sqrt(0.5))]))
    one = around(n.add("Add", [n.constant(1), around(n.add("Erf", [inner]))]))
    return n.add("Mul", [around(n.add("Mul", [n.constant(0.5), x])), one])


def gelu_tanh(n, x, around):
    cube = around(n.add("Pow", [x, n.constant(3)]))
    inner = around(n.add("Add", [x, around(n.add("Mul", [n.constant(0.044715), cube]))]))
    inner = around(n.add("Mul", [n.constant(np.sqrt(2 / np.pi)), inner]))
    one = around(n.add("Add", [n.constant(1), around(n.add("Tanh", [inner]))]))
    return n.add("Mul", [around(n.add("Mul", [n.constant(0.5), x])), one])


PATTERNS = [silu, quick_gelu, mish, gelu, gelu_halved, gelu_tanh]


def hard_swish(n, x, _):
    return n.add("HardSwish", [x])


# ---- networks ----

def squeeze_excite(n, x, act, gate, few):
    s = n.conv(n.add("GlobalAveragePool", [x]), few)
    s = gate(n, n.conv(act(n, s, str), n.channels[x]))
    return n.add("Mul", [x, s])


def inverted_residual(n, x, act, gate, stride=1):
    """Of EfficientNet and MobileNetV3: wider, by channel, squeeze and excite, narrow again."""
    y = act(n, n.conv(x, 4 * n.channels[x]), str)
    y = act(n, n.conv(y, k=3, groups=n.channels[y], stride=stride), str)
    y = n.conv(squeeze_excite(n, y, act, gate, 8), n.channels[x])
    return y if stride > 1 else n.add("Add", [x, y])


def mobile(act, gate, head):
    n = Net(1)
    x = act(n, n.conv("x", 64, 3, stride=2), str)
    for stride in (1, 2, 1):
        x = inverted_residual(n, x, act, gate, stride)
    x = act(n, n.conv(x, 256), str)
    x = n.add("Flatten", [n.add("GlobalAveragePool", [x])], axis=1)
    w = n.constant(n.random.randn(head, 256) / 16)
    return n, n.add("Gemm", [x, w, n.constant(np.zeros(head))], transB=1)


def sigmoid(n, x):
    return n.add("Sigmoid", [x])


def hard_sigmoid(n, x):
    return n.add("HardSigmoid", [x], alpha=1 / 6, beta=0.5)


class Suite:
    def __init__(self, vtac, where):
        self.vtac, self.where, self.count, self.failed = vtac, where, 0, 0

    def check(self, name, why):
        self.count += 1
        self.failed += bool(why)
        print(f"{'not ok' if why else 'ok'} {self.count} {name}", flush=True)
        if why:
            print("\n".join(f"# {line}" for line in str(why).splitlines()))

    def compile(self, net, y, side=SIDE, images=True, options=(), **kind):
        path = os.path.join(self.where, "model.onnx")
        net.save(path, y, side, **kind)
        options = list(options)
        if images:
            data = os.path.join(self.where, "images.npy")
            np.save(data, np.random.RandomState(5).randn(4, C, side, side).astype(np.float32))
            options += [f"--calibrate={data}", f"--measure={data}"]
        run = subprocess.run([self.vtac, "compile", "-j", *options, path], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr)
        return json.loads(run.stdout)

    def pattern(self, make, quantised):
        """Between two convolutions it is one node, on the card."""
        n = Net()
        scale = 0.05

        def around(t):
            return n.quantised(t, scale) if quantised else t

        x = around(n.conv(around("x"), k=3))
        y = n.conv(around(make(n, x, around)))
        r = self.compile(n, around(y), images=not quantised, options=["--no-prune"])
        nodes = [k for k in r["nodes"] if "function" in k]
        if len(nodes) != 1 or r["regions"] != 1 or nodes[0]["function"]["worst"] > 1:
            return json.dumps(r["nodes"], indent=1)
        if not quantised and nodes[0]["sqnr"] < 28:
            return f"{nodes[0]['sqnr']} dB"
        return None

    def network(self, act, gate):
        """One region, and what is copied is the input and the output, packed and not."""
        n, y = mobile(act, gate, 10)
        r = self.compile(n, y, 56)
        if r["regions"] != 1 or r["copied"] != 2 * (C * 56 * 56 + 10):
            return (f"{r['regions']} regions, {r['copied']} values copied\n" +
                    "\n".join(f"{k['name']}: {k.get('why')}" for k in r["nodes"] if "why" in k))
        return None

    def limit(self, kind, left):
        """The greater or lesser of a number has the scale of its input, as Clip has."""
        n = Net()
        x = n.quantised(n.conv(n.quantised("x", 0.05), k=3), 0.05)
        x = n.add(kind, [n.constant(0.3), x] if left else [x, n.constant([0.3])])
        y = n.quantised(n.conv(x), 0.05)
        r = self.compile(n, y, images=False, options=["--no-prune"])
        cpu = [k for k in r["nodes"] if k["device"] == "cpu"]
        return json.dumps(r["nodes"], indent=1) if cpu or r["regions"] != 1 else None

    def of_bytes(self, kind):
        """Without images, a picture of bytes has all of them, so that no result is clipped."""
        n = Net()
        y = n.conv(n.add("Cast", ["x"], to=TensorProto.FLOAT), k=3)
        data = os.path.join(self.where, "bytes.npy")
        limits = np.iinfo(np.uint8 if kind == TensorProto.UINT8 else np.int8)
        np.save(data, np.random.RandomState(5).randint(
            limits.min, limits.max + 1, (4, C, SIDE, SIDE)).astype(limits.dtype))
        r = self.compile(n, y, images=False, options=["--no-prune", f"--measure={data}"], kind=kind)
        return None if r["sqnr"] > 25 else f"{r['sqnr']} dB"

    def costly(self):
        """At the edge of a region the CPU computes it: the copy is of the same size."""
        n = Net()
        r = self.compile(n, n.add("Sigmoid", [n.conv("x", k=3)]), 28)
        last = r["nodes"][-1]
        return None if last["device"] == "cpu" and "copying" in last["why"] else str(last)

    def infinite(self):
        """A function without limits is left to the CPU, with the reason."""
        n = Net()
        x = n.add("Relu", [n.conv("x")])
        r = self.compile(n, n.conv(n.add("Exp", [n.add("Reciprocal", [n.add("Add", [
            x, n.constant(np.full((1, C, SIDE, SIDE), 1))])])])), options=["--no-prune"])
        why = [k.get("why", "") for k in r["nodes"] if "infinite" in k.get("why", "")]
        return None if len(why) == 1 else json.dumps(r["nodes"], indent=1)

    def lossy(self):
        """A power that loses small values as an integer is left to the CPU, what follows is not."""
        n = Net()
        x = n.add("Pow", [n.conv("x", k=3), n.constant(4)])
        x = n.add("Sqrt", [n.add("Sqrt", [x])])
        y = n.add("Relu", [n.conv(n.add("Tanh", [n.conv(x, k=3)]))])
        fixed = self.compile(n, y, options=["--no-prune", "--functions=fast"])
        r = self.compile(n, y, options=["--no-prune"])
        cpu = [k for k in r["nodes"] if "raise the noise" in k.get("why", "")]
        if fixed["regions"] != 1 or not cpu or r["sqnr"] < fixed["sqnr"] + 3 or \
           "t1" not in [k["name"] for k in cpu] or "t5" in [k["name"] for k in cpu]:
            return json.dumps([fixed["regions"], fixed["sqnr"], r["sqnr"], r["nodes"]], indent=1)
        return None

    def exact(self):
        """Exact formulas have hardly more error than rounding, and take more cycles."""
        n, y = mobile(silu, sigmoid, 10)
        mean, cycles = {}, {}
        for how in "fast", "exact":
            r = self.compile(n, y, 56, options=[f"--functions={how}"])
            mean[how] = [k["function"]["rms"] for k in r["nodes"] if "function" in k]
            cycles[how] = r["cycles"]
            if ("functions exact" in r["integers"]) != (how == "exact"):
                return r["integers"]
        if max(mean["exact"]) > 0.33 or max(mean["fast"]) < 0.35 or \
           cycles["exact"] <= cycles["fast"]:
            return f"{mean}, {cycles}"
        return None


def main():
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        s = Suite(sys.argv[1], where)
        for make in PATTERNS:
            s.check(f"{make.__name__} is one node", s.pattern(make, False))
            s.check(f"{make.__name__} with scales at each step is one node",
                    s.pattern(make, True))
        for kind in ("Max", "Min"):
            for left in (False, True):
                s.check(f"{kind} of a number on the {'left' if left else 'right'} needs no scale",
                        s.limit(kind, left))
        for name, kind in (("uint8", TensorProto.UINT8), ("int8", TensorProto.INT8)):
            s.check(f"pictures of {name} need no images", s.of_bytes(kind))
        s.check("a network like EfficientNet is one region", s.network(silu, sigmoid))
        s.check("a network like MobileNetV3 is one region", s.network(hard_swish, hard_sigmoid))
        s.check("a network with GELU is one region", s.network(gelu, sigmoid))
        s.check("the CPU computes a function at the end", s.costly())
        s.check("the CPU computes a function that would cost the outputs' accuracy", s.lossy())
        s.check("exact formulas are nearly as good as rounding", s.exact())
        s.check("the CPU computes a function without limits", s.infinite())
    print(f"1..{s.count}")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
