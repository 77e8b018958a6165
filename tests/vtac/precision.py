#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Results of 16 bits: how near they are to float, what they cost, and which nodes can have them. Ranges
that `vtac` chooses are no worse than whole ones.

    precision.py VTAC VTACTL

Prints TAP. Skipped without Debian's python3-onnx.
"""
import json
import os
import subprocess
import sys
import tempfile

from functions import Net, Suite, np, silu

CHANNELS, SIDE = 16, 12
PLAIN = ["--range=max", "--residual=sum", "--equalise=no", "--split=no", "--merge=no",
         "--functions=fast", "--padding=zero", "--no-prune"]
MOST_OFF = 0.2		# steps of 8 bits
SIZES = (1, 2, 3, 4, 8, 16, 32, 64)	# of calibration
MOST_LOST = 0.3		# dB, by a single choice of a range


class Ones(Net):
    """Weights are 1 and -1, and inputs integers: the result alone is rounded."""

    def __init__(self):
        super().__init__(7)
        self.channels["x"] = CHANNELS

    def ones(self, *shape):
        return self.constant(self.random.randint(0, 2, shape) * 2 - 1)

    def conv(self, x, out=None, k=1, groups=1, stride=1):
        out = out or self.channels[x]
        y = self.add("Conv", [x, self.ones(out, self.channels[x] // groups, k, k),
                              self.constant(self.random.randn(out) * 9)],
                     pads=[k // 2] * 4, strides=[stride] * 2, group=groups)
        self.channels[y] = out
        return y


def layer(act, k=3, groups=1):
    """One layer."""
    n = Ones()
    return n, act(n, n.conv("x", 24 if groups == 1 else None, k, groups))


def gemm():
    n = Ones()
    return n, n.add("Gemm", [n.add("Flatten", ["x"], axis=1), n.ones(10, CHANNELS * SIDE * SIDE),
                             n.constant(n.random.randn(10) * 9)], transB=1)


def deep(last):
    """Layers whose inputs and weights are rounded, too."""
    n = Net(3)
    n.channels["x"] = CHANNELS
    x = "x"
    for i in range(4):
        x = n.add("Relu", [n.conv(x, 64, 3 if i % 2 else 1)])
    return n, last(n, n.conv(x, 24))


def skips():
    """Layers of 1x1, each of which adds a little to what the one before it made."""
    n = Net(5)
    n.channels["x"] = CHANNELS
    x = n.add("Relu", [n.conv("x", 32, 3)])
    for _ in range(8):
        y = n.add("Relu", [n.conv(x, 32, 1)])
        w = n.constant(n.random.randn(32, 32, 1, 1) / 16)
        n.channels[y] = 32
        x = n.add("Relu", [n.add("Add", [x, n.add("Conv", [y, w])])])
        n.channels[x] = 32
    return n, x


def beyond():
    """Sums of the first layer do not fit its accumulators, and a skip connection adds its result."""
    n = Net(6)
    n.channels["x"] = CHANNELS
    w = n.constant(n.random.randn(CHANNELS, CHANNELS, 1, 1))
    x = n.add("Relu", [n.add("Conv", ["x", w, n.constant(np.full(CHANNELS, -1e9))])])
    n.channels[x] = CHANNELS
    return n, n.add("Relu", [n.add("Add", [n.conv(x, CHANNELS, 1), x])])


def not_numbers():
    """The CPU makes no number of half of the card's values."""
    n = Net(9)
    n.channels["x"] = CHANNELS
    x = n.add("Relu", [n.conv("x", 32, 3)])
    n.channels[x] = 32
    return n, n.add("Log", [n.conv(x, CHANNELS, 3)])


def chain():
    n = Net(10)
    n.channels["x"] = CHANNELS
    x = "x"
    for _ in range(12):
        x = n.add("Relu", [n.conv(x, CHANNELS, 3)])
        n.channels[x] = CHANNELS
    return n, x


def none(_, x):
    return x


def relu(n, x):
    return n.add("Relu", [x])


def limited(n, x):
    """Clips a third of the values."""
    return n.add("Clip", [x, n.constant(-1500), n.constant(1500)])


class Precision(Suite):
    def images(self, name, seed):
        path = os.path.join(self.where, name)
        values = np.random.RandomState(seed).randint(-127, 128, (9, CHANNELS, SIDE, SIDE))
        values[:, 0, 0, 0] = 127
        np.save(path, values.astype(np.float32))
        return path

    def run(self, made, options):
        n, y = made
        path = os.path.join(self.where, "model.onnx")
        save(n, path, y)
        options = [*PLAIN, f"--calibrate={self.images('images.npy', 5)}",
                   f"--measure={self.images('held.npy', 6)}", *options]
        return subprocess.run([self.vtac, "compile", "-j", *options, path], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def report(self, made, *options):
        run = self.run(made, options)
        if run.returncode:
            raise RuntimeError(run.stderr)
        return json.loads(run.stdout)

    def result(self, made, precision, options=()):
        """The result of the first held-back image."""
        program = os.path.join(self.where, "model.vtap")
        run = self.run(made, [f"--precision={precision}", f"--output={program}", *options])
        if run.returncode:
            raise RuntimeError(run.stderr)
        x, y = (os.path.join(self.where, name) for name in ("x.npy", "y.npy"))
        np.save(x, np.load(os.path.join(self.where, "held.npy"))[:1])
        subprocess.run([self.vtactl, "program", "run", program, f"x={x}", f"{made[1]}={y}"],
                       check=True, stdout=subprocess.DEVNULL)
        return np.load(y)

    def fine(self, made, least):
        """
        Results of 16 bits differ where those of 8 bits are one. But for a factor of each channel,
        by which its rounded weights are off, they are at most so many steps of 8 bits from float.
        """
        coarse, y = self.result(made, 8), self.result(made, 16)
        exact = self.result(made, 8, ["--no-card"])
        worst = 0
        for c in range(y.shape[1]):
            a, b = y[:, c].ravel().astype(float), exact[:, c].ravel().astype(float)
            if a.size > 1:
                a *= (a @ b) / max(a @ a, 1e-9)
            worst = max(worst, np.abs(a - b).max())
        step = np.diff(np.unique(coarse)).min()
        print(f"# {np.unique(coarse).size} values with 8 bits, {np.unique(y).size} with 16; at "
              f"most {worst / step:.3f} steps of 8 bits from float")
        if np.unique(y).size < least * np.unique(coarse).size or worst > step * MOST_OFF:
            return f"{np.unique(y).size} values, {worst / step} steps"
        return None

    def better(self, made, most_cycles, more_db, *options):
        """Held-back images are nearer to float, for at most so many times the cycles."""
        coarse, fine = self.report(made, options[0]), self.report(made, *options[1:])
        cycles = fine["cycles"] / coarse["cycles"]
        print(f"# {coarse['sqnr']:.1f} dB before, {fine['sqnr']:.1f} after, {fine['precise']} "
              f"results of 16 bits, {cycles:.2f} times the cycles")
        if fine["sqnr"] < coarse["sqnr"] + more_db or cycles > most_cycles:
            return f"{fine['sqnr'] - coarse['sqnr']} dB, {cycles} times the cycles"
        return None

    def ranges(self):
        """
        A product of normal values has no outliers: however few images there are, its range is
        about the whole one, and held-back images lose nothing by the choice.
        """
        rows, width = 16, 256
        n = Net(8)
        y = n.add("MatMul", ["x", n.constant(n.random.randn(width, 64) / 16)])
        path, held = (os.path.join(self.where, name) for name in ("model.onnx", "held.npy"))
        save(n, path, y, [rows, width])
        np.save(held, n.random.randn(48, rows, width).astype(np.float32))
        gains = []
        for count in SIZES:
            images = os.path.join(self.where, "images.npy")
            np.save(images, n.random.randn(count, rows, width).astype(np.float32))
            db = [json.loads(subprocess.run(
                [self.vtac, "compile", "-j", "--no-prune", f"--calibrate={images}",
                 f"--measure={held}", f"--range={name}", path], check=True, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)["sqnr"]
                  for name in ("auto", "max")]
            print(f"# {count} images: {db[0]:.2f} dB, with the whole range {db[1]:.2f}")
            gains.append(db[0] - db[1])
        if min(gains) < -MOST_LOST or np.mean(gains) < 0:
            return f"{np.round(gains, 2)} dB gained"
        return None

    def left(self, made, why):
        """Results that have to stay at 8 bits, with the reason."""
        r = self.report(made, "--precision=16")
        found = [k["name"] for k in r["nodes"] if why in k.get("coarse", "")]
        return None if found else json.dumps(r["nodes"], indent=1)

    def beyond_card(self, made, why):
        """A node that is on the CPU as it would be with 8 bits, with the reason."""
        r = self.report(made, "--precision=16")
        found = [k["name"] for k in r["nodes"] if why in k.get("why", "")]
        return None if found else json.dumps(r["nodes"], indent=1)

    def memory(self, made, tensors):
        """The card's memory has room for so many tensors of the input's size at a time."""
        r = self.report(made, "--precision=8")
        most = tensors * CHANNELS * SIDE * SIDE
        return None if r["card_bytes"] <= most else f"{r['card_bytes']} bytes, {most} are enough"

    def searches(self, made):
        """Noise of options is a number."""
        found = self.report(made, "--equalise=auto", "--padding=auto", "--no-prune")["integers"]
        return None if "dB of noise" in found and "nan" not in found else found

    def refused(self, made, options, why):
        run = self.run(made, options)
        return None if run.returncode and why in run.stderr else f"{run.returncode} {run.stderr}"


def save(n, path, y, shape=(1, CHANNELS, SIDE, SIDE)):
    from functions import TensorProto, helper, onnx
    graph = helper.make_graph(
        n.nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], n.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), path)


def with_function():
    n = Net(4)
    n.channels["x"] = CHANNELS
    return n, n.conv(silu(n, n.conv("x", 32), str))


def main():
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        os.environ.update(VTADEV_PLUGINS=os.path.abspath("build/lib"), VTADEV_DEVICE="soft")
        s = Precision(sys.argv[1], where)
        s.vtactl = os.path.abspath(sys.argv[2])
        s.check("a convolution's result has 16 bits", s.fine(layer(none), 8))
        s.check("with groups too", s.fine(layer(none, 3, CHANNELS), 8))
        s.check("behind a Relu too", s.fine(layer(relu, 3, CHANNELS), 4))
        s.check("behind a Clip too", s.fine(layer(limited), 8))
        s.check("a product's result has 16 bits", s.better(gemm(), 2, 5, "--range=mse", "--range=mse", "--precision=16"))
        s.check("layers of 16 bits are nearer to float",
                s.better(deep(none), 5, 4, "-j", "--precision=16"))
        s.check("sums along a skip connection too",
                s.better(skips(), 2, 2, "-j", "--precision=16"))
        s.check("as --precision=auto finds", s.better(skips(), 1.5, 1.5, "-j", "--precision=auto", "--extra-cycles=50%"))
        s.check("--precision=auto takes no more cycles than allowed",
                s.better(deep(relu), 3.5, 2, "-j", "--precision=auto", "--extra-cycles=240%"))
        s.check("a function reads 8 bits, and the report says why",
                s.left(with_function(), "other operators"))
        s.check("--precision=auto compiles a network with functions",
                None if s.report(with_function(), "--precision=auto")["cycles"] else "no cycles")
        s.check("a node that cannot be precise is refused by its name",
                s.refused(with_function(), ["--precision=t0=16"], "stays at 8 bits"))
        s.check("a node that is not there is refused",
                s.refused(with_function(), ["--precision=nothing=16"], "no node nothing"))
        s.check("ranges are no worse than whole ones, for any number of images", s.ranges())
        s.check("a skip connection of 16 bits whose sums do not fit goes to the CPU",
                s.beyond_card(beyond(), "do not fit 32 bits"))
        s.check("and is refused by its name",
                s.refused(beyond(), ["--precision=t0=16"], "its sums leave no room for it"))
        s.check("options are searched where outputs are no numbers", s.searches(not_numbers()))
        s.check("tensors of a chain share two places", s.memory(chain(), 2))
        s.check("a number of bits that there is not is refused",
                s.refused(with_function(), ["--precision=12"], "8, 16 or auto"))
    print(f"1..{s.count}")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
