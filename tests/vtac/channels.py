#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Splits, slices, joins and shuffles of channels in files stay on the card, in one region.

    channels.py VTAC

Prints TAP. Skipped without Debian's python3-onnx.
"""
import json
import sys
import tempfile

from functions import C, SIDE, Net, Suite, np, numpy_helper, silu

SIDE_LARGE = 28
LEAST_DB = 15


class Pictures(Net):
    """A network with channels that move."""

    def integers(self, values):
        name = f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def relu(self, x):
        return self.add("Relu", [x])

    def slice(self, x, start, end, step=1):
        y = self.add("Slice", [x] + [self.integers([v]) for v in (start, end, 1, step)])
        self.channels[y] = len(range(self.channels[x])[start:end:step])
        return y

    def split(self, x, sizes):
        parts = [f"{x}_{i}" for i in range(len(sizes))]
        self.nodes.append(self.node("Split", [x, self.integers(sizes)], parts, axis=1))
        self.channels.update(zip(parts, sizes))
        return parts

    def gather(self, x, channels):
        y = self.add("Gather", [x, self.integers(channels)], axis=1)
        self.channels[y] = len(channels)
        return y

    def concat(self, parts):
        y = self.add("Concat", parts, axis=1)
        self.channels[y] = sum(self.channels[p] for p in parts)
        return y

    def shuffle(self, x, side, groups=2):
        c = self.channels[x]
        y = self.add("Reshape", [x, self.integers([1, groups, c // groups, side, side])])
        y = self.add("Transpose", [y], perm=[0, 2, 1, 3, 4])
        return self.add("Reshape", [y, self.integers([1, c, side, side])])

    @staticmethod
    def node(*args, **kinds):
        from functions import node
        return node(*args, **kinds)


def shuffle_unit(n, x, side, sliced):
    """A unit of ShuffleNetV2: half of the channels pass."""
    c = n.channels[x]
    if sliced:
        a, b = n.slice(x, 0, c // 2), n.slice(x, c // 2, c)
    else:
        a, b = n.split(x, [c // 2, c // 2])
    b = n.relu(n.conv(b))
    b = n.relu(n.conv(n.conv(b, k=3, groups=c // 2)))
    return n.shuffle(n.concat([a, b]), side)


def shufflenet(sliced):
    n = Pictures(2)
    x = n.relu(n.conv("x", 24, 3, stride=2))
    side = SIDE_LARGE // 2
    a = n.relu(n.conv(n.conv(x, k=3, groups=24, stride=2), 58))
    b = n.relu(n.conv(n.conv(n.relu(n.conv(x, 58)), k=3, groups=58, stride=2), 58))
    side //= 2
    x = n.shuffle(n.concat([a, b]), side)
    for _ in range(3):
        x = shuffle_unit(n, x, side, sliced)
    return n, n.relu(n.conv(x, 64))


def yolo():
    """C2f, SPPF, and a join with what is scaled up."""
    n = Pictures(3)

    def conv(x, *args, **kinds):
        return silu(n, n.conv(x, *args, **kinds), str)

    def c2f(x, out, times):
        parts = n.split(conv(x, 2 * out), [out, out])
        for _ in range(times):
            parts.append(n.add("Add", [parts[-1], conv(conv(parts[-1], k=3), k=3)]))
        return conv(n.concat(parts), 2 * out)

    def sppf(x):
        parts = [conv(x, 32)]
        for _ in range(3):
            parts.append(n.add("MaxPool", [parts[-1]], kernel_shape=[5, 5], pads=[2] * 4,
                               strides=[1, 1]))
        return conv(n.concat(parts), 64)

    fine = c2f(conv("x", 32, 3, stride=2), 16, 2)
    coarse = sppf(c2f(conv(fine, 64, 3, stride=2), 32, 1))
    up = n.add("Resize", [coarse, "", n.constant([1, 1, 2, 2])], mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return n, n.conv(c2f(n.concat([up, fine]), 16, 1), 24)


def pieces():
    """Parts of any size, in another order, some twice, and every third channel."""
    n = Pictures(4)
    x = n.relu(n.conv("x", 40, 3))
    a, b, c = n.split(x, [7, 20, 13])
    y = n.concat([c, n.relu(n.conv(b, 9)), a, b, a])
    y = n.add("Add", [n.slice(y, 1, 31, 3), n.gather(x, [3, 1, 39, 38, 17, 17, 0, 5, -1, 9])])
    return n, n.conv(n.relu(y), 16, 3)


def aligned():
    """Whole blocks: names of parts of memory, without a cycle."""
    n = Pictures(5)
    x = n.relu(n.conv("x", 64, 3))
    a, b = n.split(x, [48, 16])
    y = n.concat([n.relu(n.conv(a, 32)), b, n.slice(x, 16, 48)])
    return n, n.conv(y, 16)


def integers():
    """A file that moves int8: MaxPool, Concat, shuffle and Split between Q and DQ."""
    n = Pictures(6)
    points = [n.constant(0.05), "zero"]
    n.constants.append(numpy_helper.from_array(np.array(-3, np.int8), "zero"))

    def q(x):
        return n.add("QuantizeLinear", [x] + points)

    def dq(x):
        return n.add("DequantizeLinear", [x] + points)

    x = dq(q(n.relu(n.conv("x", 24, 3))))
    x = n.add("MaxPool", [q(x)], kernel_shape=[2, 2], strides=[2, 2])
    y = n.concat([x, q(n.relu(n.conv(dq(x), 20, 3)))])
    a, b = n.split(n.shuffle(y, SIDE // 2), [11, 33])
    y = dq(q(n.add("Add", [n.conv(dq(a), 32, 3), n.relu(n.conv(dq(b), 32))])))
    return n, n.conv(y, 16)


class Channels(Suite):
    cycles = {}

    def network(self, made, out, side):
        """One region, and what is copied is the input and the output, packed and not."""
        n, y = made
        r = self.compile(n, y, side, options=["--no-prune"])
        if r["regions"] != 1 or r["copied"] != 2 * (C * side * side + out):
            return (f"{r['regions']} regions, {r['copied']} values copied\n" +
                    "\n".join(f"{k['name']}: {k.get('why')}" for k in r["nodes"] if "why" in k))
        last = [k["sqnr"] for k in r["nodes"] if "sqnr" in k][-1]
        self.cycles = {k["operator"]: k.get("cycles", 0) for k in r["nodes"]}
        return None if last > LEAST_DB else f"{last} dB"


def main():
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        s = Channels(sys.argv[1], where)
        for sliced in (False, True):
            s.check(f"a network like ShuffleNet with {'Slice' if sliced else 'Split'} is one region",
                    s.network(shufflenet(sliced), 64 * (SIDE_LARGE // 4) ** 2, SIDE_LARGE))
        s.check("a network like YOLO is one region", s.network(yolo(), 24 * 14 * 14, SIDE_LARGE))
        s.check("parts of any size are one region", s.network(pieces(), 16 * SIDE ** 2, SIDE))
        s.check("parts of whole blocks are one region", s.network(aligned(), 16 * SIDE ** 2, SIDE))
        kinds = set(s.cycles)
        s.check("parts of whole blocks are moved by no operator",
                json.dumps(s.cycles) if "channels" in kinds or s.cycles.get("slice") else None)
        s.check("integers that are moved are one region",
                s.network(integers(), 16 * (SIDE // 2) ** 2, SIDE))
    print(f"1..{s.count}")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
