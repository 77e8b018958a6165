#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
faces2onnx.py MANIFEST.json OUT.onnx

TinyFaceDetector, a Tiny YOLO v2 of face-api.js, as ONNX, opset 13: the network of its weights, the
decoding that docs/models.md describes, and NonMaxSuppression. The input is a picture of 416 x 416 at
the top left, in RGB, (pixel - mean) / 255. Outputs: boxes [N][4], left, top, right and bottom in
pixels of the input; scores [N].

A separable convolution is written as the one convolution that it equals: nothing is between its parts.
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE, CELLS, CELL = 416, 13, 32
ANCHORS = [(1.603231, 2.094468), (6.041143, 7.080126), (2.882459, 3.518061), (4.266906, 5.178857),
           (9.041765, 10.66308)]        # widths and heights, in cells
SCORE, OVERLAP, MOST = 0.2, 0.4, 100    # of NonMaxSuppression


def read_weights(path):
    """All weights by their names, as floats: the file has bytes, a scale and a minimum."""
    with open(path, encoding="utf-8") as f:
        (group,) = json.load(f)
    with open(os.path.join(os.path.dirname(path), *group["paths"]), "rb") as f:
        data = f.read()
    weights, at = {}, 0
    for w in group["weights"]:
        how, count = w["quantization"], int(np.prod(w["shape"]))
        if how["dtype"] != "uint8":
            raise SystemExit(f"{w['name']}: only weights of 8 bits are read")
        values = np.frombuffer(data, np.uint8, count, at) * np.float32(how["scale"])
        weights[w["name"]] = (values + np.float32(how["min"])).reshape(w["shape"])
        at += count
    if at != len(data):
        raise SystemExit(f"weights have {len(data)} bytes; {at} are described")
    return weights


class Writer:
    def __init__(self):
        self.nodes, self.inits = [], []

    def const(self, name, values, kind=np.float32):
        self.inits.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def node(self, op, inputs, name, **attrs):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        return name

    def reshape(self, x, shape, name):
        return self.node("Reshape", [x, self.const(f"{name}_shape", shape, np.int64)], name)


def network(w, weights):
    """From the picture to [1][5 anchors * 5 numbers][13][13]."""
    x = "image"
    for layer in ("conv0", "conv1", "conv2", "conv3", "conv4", "conv5"):
        if f"{layer}/filters" in weights:
            kernel, pads = weights[f"{layer}/filters"].transpose(3, 2, 0, 1), [0] * 4
        else:
            depthwise = weights[f"{layer}/depthwise_filter"][:, :, :, 0].transpose(2, 0, 1)
            pointwise = weights[f"{layer}/pointwise_filter"][0, 0].T
            kernel, pads = pointwise[:, :, None, None] * depthwise[None], [1] * 4
        x = w.node("Conv", [x, w.const(f"{layer}_w", kernel),
                            w.const(f"{layer}_b", weights[f"{layer}/bias"])], layer, pads=pads)
        x = w.node("LeakyRelu", [x], f"{layer}_leaky", alpha=0.1)
        stride = 1 if layer == "conv5" else 2
        x = w.node("MaxPool", [x], f"{layer}_pool", kernel_shape=[2, 2], strides=[stride] * 2,
                   auto_pad="SAME_UPPER")
    kernel = weights["conv8/filters"].transpose(3, 2, 0, 1)
    return w.node("Conv", [x, w.const("conv8_w", kernel), w.const("conv8_b", weights["conv8/bias"])],
                  "conv8")


def decode(w, x):
    """Boxes and scores of all anchors of all cells, and those that NonMaxSuppression leaves."""
    x = w.reshape(x, [5, 5, CELLS * CELLS], "numbers")
    part = [w.node("Slice", [x, w.const(f"from_{i}", [a], np.int64), w.const(f"to_{i}", [b], np.int64),
                             w.const(f"axis_{i}", [1], np.int64)], name)
            for i, (a, b, name) in enumerate(((0, 2, "shift"), (2, 4, "size"), (4, 5, "score")))]
    cells = np.stack(np.meshgrid(np.arange(CELLS), np.arange(CELLS))).reshape(1, 2, -1) * CELL
    centre = w.node("Add", [w.node("Mul", [w.node("Sigmoid", [part[0]], "inside"),
                                           w.const("cell", CELL)], "inside_pixels"),
                            w.const("cells", cells)], "centre")
    halves = np.array(ANCHORS).reshape(5, 2, 1) * CELL / 2
    half = w.node("Mul", [w.node("Exp", [part[1]], "growth"), w.const("anchors", halves)], "half")
    both = w.node("Concat", [w.node("Sub", [centre, half], "first_corner"),
                             w.node("Add", [centre, half], "last_corner")], "corners", axis=1)
    rows = w.reshape(w.node("Transpose", [both], "rows", perm=[0, 2, 1]), [1, -1, 4], "all_boxes")
    scores = w.reshape(w.node("Sigmoid", [part[2]], "all_scores"), [1, 1, -1], "score_rows")
    chosen = w.node("NonMaxSuppression", [
        rows, scores, w.const("most", [MOST], np.int64), w.const("overlap", [OVERLAP]),
        w.const("least", [SCORE])], "chosen")
    # Of NonMaxSuppression: [N][3], the image, the class and the box.
    which = w.node("Gather", [chosen, w.const("column", 2, np.int64)], "which", axis=1)
    w.node("Gather", [w.reshape(rows, [-1, 4], "flat_boxes"), which], "boxes", axis=0)
    w.node("Gather", [w.reshape(scores, [-1], "flat_scores"), which], "scores", axis=0)


def main():
    path, out = sys.argv[1:]
    w = Writer()
    decode(w, network(w, read_weights(path)))
    graph = helper.make_graph(
        w.nodes, "faces",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["n", 4]),
         helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n"])], w.inits)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                             producer_name="faces2onnx")
    made.ir_version = 7
    onnx.checker.check_model(made)
    onnx.save(made, out + ".tmp")
    os.replace(out + ".tmp", out)
    print(f"{out}: {len(made.graph.node)} nodes, {os.path.getsize(out)} bytes")


if __name__ == "__main__":
    main()
