#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Well-known architectures with random weights, as ONNX files.

    networks.py NAME FILE

The layers are those of the papers, without batch norms (which a compiler merges into weights).
Pictures have 96 x 96 pixels, where nothing else is said.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vtac"))

# pylint: disable=wrong-import-position
from attention import Transformer, bert, vit  # noqa: E402
from channels import Pictures  # noqa: E402
from functions import TensorProto, helper, np, onnx, hard_sigmoid, hard_swish, sigmoid, silu  # noqa: E402

SIDE = 96


class Network(Pictures):
    """A network of pictures of three channels."""

    def __init__(self, seed, side=SIDE):
        super().__init__(seed)
        self.side = side
        self.channels["x"] = 3

    def pool(self, x, k, stride):
        return self.add("MaxPool", [x], kernel_shape=[k] * 2, pads=[k // 2 if k % 2 else 0] * 4,
                        strides=[stride] * 2)

    def classes(self, x, out=1000):
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])], axis=1)
        c = self.channels[x]
        w = self.constant(self.random.randn(out, c) / np.sqrt(c))
        return self.add("Gemm", [x, w, self.constant(np.zeros(out))], transB=1)

    def excite(self, x, few, act, gate):
        s = act(self, self.conv(self.add("GlobalAveragePool", [x]), few), str)
        return self.add("Mul", [x, gate(self, self.conv(s, self.channels[x]))])

    def write(self, path, y):
        graph = helper.make_graph(
            self.nodes, "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, self.side, self.side])],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def relu(n, x, _):
    return n.relu(x)


def inverted(n, x, out, wide, k, stride, act, squeeze=None):
    """A wide convolution by channel between two narrow ones; squeeze: (channels, act, gate)."""
    y = act(n, n.conv(x, wide), str) if wide != n.channels[x] else x
    y = act(n, n.conv(y, k=k, groups=wide, stride=stride), str)
    y = n.conv(n.excite(y, *squeeze) if squeeze else y, out)
    return n.add("Add", [x, y]) if stride == 1 and out == n.channels[x] else y


def efficientnet_b0():
    n = Network(1)
    x = silu(n, n.conv("x", 32, 3, stride=2), str)
    for by, k, first, out, times in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2),
                                     (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
                                     (6, 3, 1, 320, 1)):
        for i in range(times):
            c = n.channels[x]
            x = inverted(n, x, out, by * c, k, 1 if i else first, silu, (c // 4, silu, sigmoid))
    return n, n.classes(silu(n, n.conv(x, 1280), str))


def mobilenet_v3():
    """Large."""
    n = Network(2)
    x = hard_swish(n, n.conv("x", 16, 3, stride=2), str)
    for k, wide, out, squeezed, swish, stride in (
            (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2),
            (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2),
            (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
            (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2),
            (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)):
        x = inverted(n, x, out, wide, k, stride, hard_swish if swish else relu,
                     (-(-wide // 32) * 8, relu, hard_sigmoid) if squeezed else None)
    return n, n.classes(hard_swish(n, n.conv(x, 960), str))


def shufflenet_v2():
    n = Network(3)
    x = n.pool(n.relu(n.conv("x", 24, 3, stride=2)), 3, 2)
    side = SIDE // 4
    for out, times in ((116, 4), (232, 8), (464, 4)):
        half = out // 2
        side //= 2
        for i in range(times):
            a, b = n.split(x, [half] * 2) if i else (x, x)
            stride = 1 if i else 2
            if not i:
                a = n.relu(n.conv(n.conv(a, k=3, groups=n.channels[a], stride=2), half))
            b = n.relu(n.conv(b, half))
            b = n.relu(n.conv(n.conv(b, k=3, groups=half, stride=stride), half))
            x = n.shuffle(n.concat([a, b]), side)
    return n, n.classes(n.relu(n.conv(x, 1024)))


def regnet_y():
    """400 million multiplications for 224 x 224 pixels."""
    n = Network(4)
    x = n.relu(n.conv("x", 32, 3, stride=2))
    for out, times in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for i in range(times):
            c, stride = n.channels[x], 1 if i else 2
            y = n.relu(n.conv(x, out))
            y = n.relu(n.conv(y, k=3, groups=out // 8, stride=stride))
            y = n.conv(n.excite(y, c // 4, relu, sigmoid), out)
            x = n.relu(n.add("Add", [y, x if i else n.conv(x, out, stride=2)]))
    return n, n.classes(x)


def unet():
    n = Network(5)

    def twice(x, out):
        return n.relu(n.conv(n.relu(n.conv(x, out, 3)), out, 3))

    x, passed = twice("x", 32), []
    for out in (64, 128, 256):
        passed.append(x)
        x = twice(n.pool(x, 2, 2), out)
    for y in reversed(passed):
        out = n.channels[y]
        w = n.random.randn(n.channels[x], out, 2, 2) / np.sqrt(n.channels[x])
        x = n.add("ConvTranspose", [x, n.constant(w), n.constant(np.zeros(out))],
                  kernel_shape=[2, 2], strides=[2, 2])
        n.channels[x] = out
        x = twice(n.concat([y, x]), out)
    return n, n.conv(x, 2)


def convnext():
    """Tiny; a block of each of the four stages."""
    n = Network(6)

    def norm(x):
        c = n.channels[x]
        return n.add("LayerNormalization", [x, n.constant(1 + n.random.randn(c) / 8),
                                            n.constant(n.random.randn(c) / 8)], axis=-1)

    def turned(x, perm):
        return n.add("Transpose", [x], perm=perm)

    def linear(x, out):
        w = n.random.randn(n.channels[x], out) / np.sqrt(n.channels[x])
        y = n.add("MatMul", [x, n.constant(w)])
        y = n.add("Add", [y, n.constant(n.random.randn(out) / 8)])
        n.channels[y] = out
        return y

    def gelu(x):
        one = n.add("Add", [n.add("Erf", [n.add("Div", [x, n.constant(np.sqrt(2))])]),
                            n.constant(1)])
        return n.add("Mul", [n.add("Mul", [x, one]), n.constant(0.5)])

    def outside(x, inner):
        return turned(inner(turned(x, [0, 2, 3, 1])), [0, 3, 1, 2])

    def patches(x, out, k):
        c = n.channels[x]
        w = n.random.randn(out, c, k, k) / np.sqrt(c * k * k)
        y = n.add("Conv", [x, n.constant(w), n.constant(np.zeros(out))], strides=[k] * 2)
        n.channels[y] = out
        return y

    x = outside(patches("x", 96, 4), norm)
    for out in (96, 192, 384, 768):
        if out > 96:
            x = patches(outside(x, norm), out, 2)
        y = n.conv(x, k=7, groups=out)
        y = outside(y, lambda t: linear(gelu(linear(norm(t), 4 * n.channels[t])), n.channels[t]))
        y = n.add("Mul", [y, n.constant(n.random.randn(out, 1, 1))])
        x = n.add("Add", [x, y])
    return n, n.classes(x)


def yolo():
    """YOLOv8n up to the decoding of its boxes, 160 x 160 pixels."""
    n = Network(7, 160)

    def conv(x, *args, **kinds):
        return silu(n, n.conv(x, *args, **kinds), str)

    def c2f(x, out, times, passes=True):
        parts = n.split(conv(x, out), [out // 2] * 2)
        for _ in range(times):
            y = conv(conv(parts[-1], k=3), k=3)
            parts.append(n.add("Add", [parts[-1], y]) if passes else y)
        return conv(n.concat(parts), out)

    def larger(x):
        return n.add("Resize", [x, "", n.constant([1, 1, 2, 2])], mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def head(x):
        box = n.conv(conv(conv(x, 64, 3), k=3), 64)
        kind = n.conv(conv(conv(x, 80, 3), k=3), 80)
        return n.add("Reshape", [n.concat([box, kind]), n.integers([1, 144, -1])])

    x, scales = conv("x", 16, 3, stride=2), []
    for out, times in ((32, 1), (64, 2), (128, 2), (256, 1)):
        x = c2f(conv(x, out, 3, stride=2), out, times)
        scales.append(x)
    parts = [conv(x, 128)]
    for _ in range(3):
        parts.append(n.pool(parts[-1], 5, 1))
    x = conv(n.concat(parts), 256)
    middle = c2f(n.concat([larger(x), scales[2]]), 128, 1, False)
    fine = c2f(n.concat([larger(middle), scales[1]]), 64, 1, False)
    middle = c2f(n.concat([conv(fine, 64, 3, stride=2), middle]), 128, 1, False)
    coarse = c2f(n.concat([conv(middle, 128, 3, stride=2), x]), 256, 1, False)
    return n, n.add("Concat", [head(fine), head(middle), head(coarse)], axis=2)


def resnet50():
    """64 x 64 pixels."""
    n = Network(8, 64)
    x = n.pool(n.relu(n.conv("x", 64, 7, stride=2)), 3, 2)
    for width, times in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(times):
            stride = 1 if i or width == 64 else 2
            y = n.relu(n.conv(n.relu(n.conv(x, width)), width, 3, stride=stride))
            y = n.conv(y, 4 * width)
            x = n.relu(n.add("Add", [y, x if i else n.conv(x, 4 * width, stride=stride)]))
    return n, n.classes(x)


def transformer(made):
    n, y, shape = made
    n.write = lambda path, out: Transformer.write(n, path, out, shape)
    return n, y


def vit_b():
    """224 x 224 pixels, 2 of 12 layers."""
    return transformer(vit(2, 224, 16, 768, 12))


def bert_base():
    """128 tokens, 2 of 12 layers."""
    return transformer(bert(2, 128, 768, 12))


NETWORKS = {make.__name__: make for make in (
    efficientnet_b0, mobilenet_v3, shufflenet_v2, regnet_y, unet, convnext, yolo, vit_b, bert_base,
    resnet50)}


def main():
    net, y = NETWORKS[sys.argv[1]]()
    net.write(sys.argv[2], y)


if __name__ == "__main__":
    main()
