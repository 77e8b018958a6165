#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train a residual network of eight layers on handwritten digits, quantise it for
the card, and write its weights as C and the scores it must give.

Data, layers, optimiser and rounding are those of ../digits/train.py. What is new
is the residual: an earlier tensor, shifted left into the accumulator's scale, with
which a layer's sums begin (res and res_shift of vtaops.h).
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "digits"))
import train as digits  # noqa: E402  (sets up numpy's environment)

import numpy as np  # noqa: E402

IMAGE = -1

# name, input, residual, channels, kernel, stride, pad, relu; tensors by the index of
# the layer that makes them.
NETWORK = (
    ("stem", IMAGE, None, 16, 3, 1, 1, True),
    ("b1_conv1", 0, None, 16, 3, 1, 1, True),
    ("b1_conv2", 1, 0, 16, 3, 1, 1, True),
    ("b2_skip", 2, None, 32, 1, 2, 0, False),
    ("b2_conv1", 2, None, 32, 3, 2, 1, True),
    ("b2_conv2", 4, 3, 32, 3, 1, 1, True),
    ("b3_skip", 5, None, 64, 1, 2, 0, False),
    ("b3_conv1", 5, None, 64, 3, 2, 1, True),
    ("b3_conv2", 7, 6, 64, 3, 1, 1, True),
    ("dense", 8, None, digits.CLASSES, 7, 1, 0, False),
)


class Layer(digits.Layer):
    """A layer of digits' that may begin with a residual."""

    def __init__(self, name, source, res, in_shape, *shape, rng):
        super().__init__(name, in_shape, *shape, rng)
        self.source, self.res = source, res
        self.residual = None
        if res is not None:
            self.w *= np.float32(0.1)   # so that blocks begin as little more than their skips
        self.res_exp = None

    @property
    def res_shift(self):
        return self.in_exp + self.w_exp - self.res_exp

    def sums(self, cols):
        z = super().sums(cols)
        return z if self.residual is None else z + self.residual.reshape(z.shape)

    def backward(self, grad, first=False):
        self.res_grad = np.where(self.live, grad.reshape(self.live.shape), np.float32(0))
        return super().backward(grad, first)


def build(rng):
    layers = []
    for name, source, res, *shape in NETWORK:
        in_shape = (digits.SIDE, digits.SIDE, 1) if source == IMAGE else layers[source].out_shape
        layers.append(Layer(name, source, res, in_shape, *shape, rng=rng))
    return layers


def run(layers, x):
    made = []
    for layer in layers:
        layer.residual = None if layer.res is None else made[layer.res]
        made.append(layer.forward(x if layer.source == IMAGE else made[layer.source]))
    return made[-1].reshape(len(x), digits.CLASSES)


def run_back(layers, grad):
    grads = [None] * len(layers)
    grads[-1] = grad

    def add(index, what):
        shaped = what.reshape(-1, *layers[index].out_shape)
        grads[index] = shaped if grads[index] is None else grads[index] + shaped

    for index in reversed(range(len(layers))):
        layer = layers[index]
        back = layer.backward(grads[index], first=layer.source == IMAGE)
        if layer.source != IMAGE:
            add(layer.source, back)
        if layer.res is not None:
            add(layer.res, layer.res_grad)


def scores_of(layers, images):
    return np.concatenate([run(layers, digits.as_input(images[i:i + 200]))
                           for i in range(0, len(images), 200)])


def accuracy(layers, images, labels):
    return float((scores_of(layers, images).argmax(axis=1) == labels).mean())


def train(layers, images, labels, epochs, peak, rng, title, batch=100):
    optimiser = digits.Adam(layers, decay=0.02)
    steps = epochs * (len(images) // batch)
    done, start = 0, time.monotonic()
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        right = 0
        for first in range(0, len(images) - batch + 1, batch):
            pick = order[first:first + batch]
            logits = run(layers, digits.as_input(digits.augment(images[pick], rng)))
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            odds /= odds.sum(axis=1, keepdims=True)
            truth = np.zeros_like(odds)
            truth[np.arange(batch), labels[pick]] = 1
            right += int((odds.argmax(axis=1) == labels[pick]).sum())
            run_back(layers, (odds - truth) / np.float32(batch))
            rate = peak * min(1, (done + 1) / 100) * (1 + np.cos(np.pi * done / steps)) / 2
            optimiser.step(rate)
            done += 1
        count = len(images) // batch * batch
        digits.report(f"{title} {epoch + 1:2}/{epochs}: training accuracy "
                      f"{100 * right / count:.2f} %, {time.monotonic() - start:.0f} s")


def quantise(layers, images):
    """As digits.quantise(), along the graph."""
    made = []
    for layer in layers:
        first = layer.source == IMAGE
        x = digits.as_input(images) if first else made[layer.source]
        layer.residual = None if layer.res is None else made[layer.res]
        z = layer.sums(layer.columns(x))
        layer.in_exp = digits.INPUT_EXPONENT if first else layers[layer.source].out_exp
        layer.w_exp = digits.best_exponent(layer.w, -digits.INT8_MAX, range(0, 15))
        if layer.relu:
            layer.out_exp = digits.best_exponent(np.maximum(z, 0), 0, range(-2, 12))
        elif layer is layers[-1]:
            layer.out_exp = int(np.floor(np.log2(digits.INT8_MAX / np.abs(z).max())))
        else:
            layer.out_exp = digits.best_exponent(z, digits.INT8_MIN, range(-2, 12))
        if layer.res is not None:
            layer.res_exp = layers[layer.res].out_exp
            if not 0 <= layer.res_shift <= 31:
                raise SystemExit(f"{layer.name}: no left shift fits ({layer.res_shift})")
        if not 1 <= layer.shift <= 31:
            raise SystemExit(f"{layer.name}: no right shift fits ({layer.shift})")
        made.append(layer.forward(x))
        digits.report(f"{layer.name}: weights * 2^{layer.w_exp}, outputs * 2^{layer.out_exp}, "
                      f"shift {layer.shift}")


def check_integers(layers, images):
    """Scores by 32-bit integers alone; they must equal those of the float32 path."""
    scores = []
    for first in range(0, len(images), 200):
        image = images[first:first + 200].astype(np.int32) >> 1
        made = []
        for layer in layers:
            x = (image.reshape(-1, digits.SIDE, digits.SIDE, 1) if layer.source == IMAGE
                 else made[layer.source])
            weights = layer.int_weights().astype(np.int32)
            bias = layer.int_bias().astype(np.int32) + (1 << (layer.shift - 1))
            bound = digits.INT8_MAX * np.abs(weights).sum(axis=0) + np.abs(bias)
            acc = layer.columns(x) @ weights + bias
            if layer.res is not None:
                acc += made[layer.res].reshape(acc.shape) << layer.res_shift
                bound += 128 << layer.res_shift
            if bound.max() >= 1 << 24:
                raise SystemExit(f"{layer.name}: accumulators can leave float32's exact range")
            made.append(np.clip(acc >> layer.shift, layer.low, digits.INT8_MAX)
                        .reshape(-1, *layer.out_shape))
        scores.append(made[-1].reshape(-1, digits.CLASSES))
    scores = np.concatenate(scores)
    if not np.array_equal(scores, scores_of(layers, images) * 2.0 ** layers[-1].out_exp):
        raise SystemExit("integer and float32 scores differ")
    return scores


def table(layers, about):
    lines = [f'#include "weights/{layer.name}.h"\n' for layer in layers]
    lines.append('#include "resnet.h"\n\n')
    lines.append("const struct resnet_layer resnet_layers[RESNET_LAYERS] = {\n")
    for layer in layers:
        fields = {"name": f'"{layer.name}"', "weights": f"{layer.name}_w",
                  "bias": f"{layer.name}_bias", "source": layer.source,
                  "res": "RESNET_NONE" if layer.res is None else layer.res,
                  "in_channels": layer.in_shape[2], "in_side": layer.in_shape[0],
                  "out_channels": layer.out_shape[2], "out_side": layer.out_shape[0],
                  "kernel": layer.kernel, "stride": layer.stride, "pad": layer.pad,
                  "res_shift": 0 if layer.res is None else layer.res_shift,
                  "shift": layer.shift, "relu": str(layer.relu).lower()}
        lines.append("\t{\n")
        lines += [f"\t\t.{key} = {value},\n" for key, value in fields.items()]
        lines.append("\t},\n")
    lines.append("};\n")
    text = digits.c_header(about, "".join(lines)).replace("#pragma once\n\n", "")
    return text.replace("/* SPDX-License-Identifier: Apache-2.0 */",
                        "// SPDX-License-Identifier: Apache-2.0")


def write(out, layers, scores, about):
    (out / "weights").mkdir(parents=True, exist_ok=True)
    (out / "weights.c").write_text(table(layers, about))
    for layer in layers:
        text = digits.layer_header(layer).replace("train.py", "train_resnet.py")
        (out / "weights" / f"{layer.name}.h").write_text(text)
    (out / "scores.bin").write_bytes(scores.astype(np.int8).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent,
                        help="where to write weights and scores (default: beside this script)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=8, help="in floating point")
    parser.add_argument("--tune-epochs", type=int, default=2, help="after quantising")
    args = parser.parse_args()

    training, test = digits.split(*digits.read_digits(digits.fetch_package()), 1)
    rng = np.random.default_rng(args.seed + 1)
    layers = build(rng)
    train(layers, *training, args.epochs, 2e-3, rng, "float")
    float_accuracy = accuracy(layers, *test)
    quantise(layers, training[0][:300])
    plain_accuracy = accuracy(layers, *test)
    train(layers, *training, args.tune_epochs, 3e-4, rng, "int8")
    scores = check_integers(layers, test[0])
    int8_accuracy = float((scores.argmax(axis=1) == test[1]).mean())
    figures = (f"{100 * float_accuracy:.2f} % in floating point, "
               f"{100 * plain_accuracy:.2f} % quantised, "
               f"{100 * int8_accuracy:.2f} % after fine-tuning in int8")
    digits.report(f"{len(test[0])} images never trained on: {figures}")
    write(args.out, layers, scores,
          f"Written by train_resnet.py (seed {args.seed}, {args.epochs} + {args.tune_epochs} "
          f"epochs, numpy {np.__version__}) from {len(training[0])} digits of the npm package "
          f"{digits.PACKAGE}. On the {len(test[0])} images of ../digits/testset.bin, which were "
          f"not trained on: {figures}.")
    digits.report(f"written to {args.out}")


if __name__ == "__main__":
    main()
