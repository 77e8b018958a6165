#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
train.py FOLDER OUT.onnx

A small network for Fashion-MNIST, since no package has one: trained by numpy with the first
images of each class in FOLDER (the package fashion-mnist's src/clothes), which no other set
has. Two convolutions with pooling and a dense layer; two to three minutes of a processor. The
weights depend on numpy's way to add, and so on the machine: nothing compares their bytes.
"""
import sys

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper

import sets

EPOCHS, BATCH, RATE = 4, 50, 0.002


def windows(x):
    """Rows of 3 x 3 windows with a border of zeros: [N * H * W][C * 9]"""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    w = sliding_window_view(x, (3, 3), axis=(2, 3)).transpose(0, 2, 3, 1, 4, 5)
    return w.reshape(-1, x.shape[1] * 9)


def rows(x):
    return x.transpose(0, 2, 3, 1).reshape(-1, x.shape[1])


class Conv:
    """3 x 3, ReLU, and the maximum of 2 x 2."""

    def __init__(self, rng, inputs, outputs):
        w = rng.normal(0, (2 / (9 * inputs)) ** .5, (outputs, inputs, 3, 3))
        self.params = [w.astype(np.float32), np.zeros(outputs, np.float32)]

    def forward(self, x):
        w, b = self.params
        n, _, height, width = x.shape
        self.x, self.cols = x, windows(x)
        y = self.cols @ w.reshape(len(b), -1).T + b
        y = y.reshape(n, height // 2, 2, width // 2, 2, len(b)).transpose(0, 5, 1, 3, 2, 4)
        y = np.maximum(y.reshape(*y.shape[:4], 4), 0)
        self.at = y.argmax(-1)
        self.y = y.max(-1)
        return self.y

    def backward(self, grad):
        w, b = self.params
        n, _, height, width = self.x.shape
        spread = np.zeros((*self.at.shape, 4), np.float32)
        np.put_along_axis(spread, self.at[..., None], (grad * (self.y > 0))[..., None], -1)
        spread = spread.reshape(*self.at.shape, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        spread = spread.reshape(n, len(b), height, width)
        flat = rows(spread)
        self.grads = [(flat.T @ self.cols).reshape(w.shape), flat.sum(0)]
        turned = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        back = windows(spread) @ turned.reshape(w.shape[1], -1).T
        return back.reshape(n, height, width, -1).transpose(0, 3, 1, 2)


class Dense:
    def __init__(self, rng, inputs, outputs):
        self.params = [rng.normal(0, inputs ** -.5, (outputs, inputs)).astype(np.float32),
                       np.zeros(outputs, np.float32)]

    def forward(self, x):
        self.x = x
        return x.reshape(len(x), -1) @ self.params[0].T + self.params[1]

    def backward(self, grad):
        self.grads = [grad.T @ self.x.reshape(len(self.x), -1), grad.sum(0)]
        return (grad @ self.params[0]).reshape(self.x.shape)


class Adam:
    def __init__(self, layers):
        self.layers, self.step = layers, 0
        self.mean = [[np.zeros_like(p) for p in layer.params] for layer in layers]
        self.square = [[np.zeros_like(p) for p in layer.params] for layer in layers]

    def update(self, rate):
        self.step += 1
        by = rate * (1 - .999 ** self.step) ** .5 / (1 - .9 ** self.step)
        for layer, mean, square in zip(self.layers, self.mean, self.square):
            for p, g, m, s in zip(layer.params, layer.grads, mean, square):
                m += .1 * (g - m)
                s += .001 * (g * g - s)
                p -= by * m / (s ** .5 + 1e-8)


def train(images, labels):
    rng = np.random.default_rng(14)
    layers = [Conv(rng, 1, 16), Conv(rng, 16, 32), Dense(rng, 32 * 7 * 7, 10)]
    adam = Adam(layers)
    for epoch in range(EPOCHS):
        order, right = rng.permutation(len(images)), 0
        for at in range(0, len(order), BATCH):
            pick = order[at:at + BATCH]
            x = images[pick]
            for layer in layers:
                x = layer.forward(x)
            right += (x.argmax(1) == labels[pick]).sum()
            grad = np.exp(x - x.max(1, keepdims=True))
            grad /= grad.sum(1, keepdims=True)
            grad[np.arange(len(pick)), labels[pick]] -= 1
            grad /= len(pick)
            for layer in reversed(layers):
                grad = layer.backward(grad.astype(np.float32))
            adam.update(RATE * (1 - epoch / EPOCHS))
        print(f"models: fashion: epoch {epoch + 1} of {EPOCHS}: {right / len(order):.3f} right")
    return layers


def save(layers, path):
    names = [f"{kind}{what}" for kind in ("conv1_", "conv2_", "dense_") for what in "wb"]
    inits = [numpy_helper.from_array(p.astype(np.float32), name) for name, p in
             zip(names, [p for layer in layers for p in layer.params])]
    nodes, x = [], "input"
    for i in (1, 2):
        nodes.append(helper.make_node("Conv", [x, f"conv{i}_w", f"conv{i}_b"], [f"conv{i}"],
                                      name=f"conv{i}", pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"conv{i}"], [f"relu{i}"], name=f"relu{i}"))
        nodes.append(helper.make_node("MaxPool", [f"relu{i}"], [f"pool{i}"], name=f"pool{i}",
                                      kernel_shape=[2, 2], strides=[2, 2]))
        x = f"pool{i}"
    nodes.append(helper.make_node("Flatten", [x], ["flat"], name="flat"))
    nodes.append(helper.make_node("Gemm", ["flat", "dense_w", "dense_b"], ["scores"],
                                  name="scores", transB=1))
    graph = helper.make_graph(
        nodes, "fashion",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", 1, 28, 28])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])], inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


def main():
    images, labels = sets.clothes(sys.argv[1], 0, 1200)
    save(train(images, np.array(labels)), sys.argv[2])


main()
