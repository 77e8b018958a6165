#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
tfjs2onnx.py MODEL.json OUT.onnx [--size HxW] [--name NAME]

A layers model of TensorFlow.js (Keras' layers as JSON, weights in shards) as ONNX, opset
11, NCHW. Weights are transposed, nothing is folded: that is the compiler's work.
--size is for models that take images of any size.
"""
import argparse
import json
import os
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def read_weights(path, manifest):
    """All weights by their names. Shards are joined in the manifest's order."""
    folder = os.path.dirname(path)
    weights = {}
    for group in manifest:
        data = b"".join(open(os.path.join(folder, p), "rb").read() for p in group["paths"])
        at = 0
        for w in group["weights"]:
            if w["dtype"] != "float32" or "quantization" in w:
                raise SystemExit(f"{w['name']}: only float32 weights are read")
            count = int(np.prod(w["shape"]))
            weights[w["name"]] = np.frombuffer(data, "<f4", count, at).reshape(w["shape"])
            at += 4 * count
        if at != len(data):
            raise SystemExit(f"weights have {len(data)} bytes; {at} are described")
    return weights


class Writer:
    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.inits = []
        self.shapes = {}    # of what flattens: (c, h, w) before it

    def const(self, name, array):
        self.inits.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, name, **attrs):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        return name

    def weight(self, layer, what):
        for key in (f"{layer}/{what}", f"{layer}/{layer}/{what}"):
            if key in self.weights:
                return self.weights[key].astype(np.float32)
        raise SystemExit(f"no weights {layer}/{what}")

    def activation(self, kind, x, name):
        if kind in (None, "linear"):
            return x
        ops = {"relu": "Relu", "softmax": "Softmax", "sigmoid": "Sigmoid", "tanh": "Tanh"}
        if kind not in ops:
            raise SystemExit(f"{name}: activation {kind} is not known")
        return self.node(ops[kind], [x], f"{name}/{kind}",
                         **({"axis": 1} if kind == "softmax" else {}))


def pads_of(cfg, kernel, strides, dilation, name):
    """ONNX pads, or {"auto_pad": ...} where they depend on the input's size."""
    if cfg["padding"] == "valid":
        return {"pads": [0, 0, 0, 0]}
    if list(strides) != [1, 1]:
        return {"auto_pad": "SAME_UPPER"}
    total = [(k - 1) * d for k, d in zip(kernel, dilation)]
    begin = [t // 2 for t in total]
    return {"pads": begin + [t - b for t, b in zip(total, begin)]}


def conv(w, layer, cfg, x):
    name = cfg["name"]
    depthwise = layer == "DepthwiseConv2D"
    kernel = w.weight(name, "depthwise_kernel" if depthwise else "kernel")
    kh, kw, cin, cout = kernel.shape
    if depthwise:
        kernel = kernel.transpose(2, 3, 0, 1).reshape(cin * cout, 1, kh, kw)
        groups = cin
    else:
        kernel = kernel.transpose(3, 2, 0, 1)
        groups = cfg.get("groups", 1)
    inputs = [x, w.const(name + "/kernel", kernel)]
    if cfg["use_bias"]:
        inputs.append(w.const(name + "/bias", w.weight(name, "bias")))
    dil = cfg.get("dilation_rate", [1, 1])
    y = w.node("Conv", inputs, name, kernel_shape=[kh, kw], strides=cfg["strides"],
               dilations=dil, group=groups, **pads_of(cfg, (kh, kw), cfg["strides"], dil, name))
    return w.activation(cfg.get("activation"), y, name)


def dense(w, cfg, x, before):
    name = cfg["name"]
    kernel = w.weight(name, "kernel")
    if before is not None:      # rows in the order H, W, C: make it C, H, W
        c, h, wd = before
        kernel = kernel.reshape(h, wd, c, -1).transpose(2, 0, 1, 3).reshape(c * h * wd, -1)
    inputs = [x, w.const(name + "/kernel", kernel)]
    if cfg["use_bias"]:
        inputs.append(w.const(name + "/bias", w.weight(name, "bias")))
    return w.activation(cfg.get("activation"), w.node("Gemm", inputs, name), name)


def batch_norm(w, cfg, x):
    name = cfg["name"]
    mean, var = w.weight(name, "moving_mean"), w.weight(name, "moving_variance")
    gamma = w.weight(name, "gamma") if cfg["scale"] else np.ones_like(mean)
    beta = w.weight(name, "beta") if cfg["center"] else np.zeros_like(mean)
    inputs = [x] + [w.const(f"{name}/{what}", value) for what, value in
                    (("gamma", gamma), ("beta", beta), ("mean", mean), ("var", var))]
    return w.node("BatchNormalization", inputs, name, epsilon=cfg["epsilon"])


def pool(w, kind, cfg, x):
    return w.node(kind, [x], cfg["name"], kernel_shape=cfg["pool_size"],
                  strides=cfg["strides"],
                  **pads_of(cfg, cfg["pool_size"], cfg["strides"], (1, 1), cfg["name"]))


def relu(w, cfg, x):
    name, top = cfg["name"], cfg.get("max_value")
    if cfg.get("threshold", 0) or cfg.get("negative_slope", 0):
        raise SystemExit(f"{name}: a ReLU with a threshold or a slope is not known")
    if top is None:
        return w.node("Relu", [x], name)
    return w.node("Clip", [x, w.const(name + "/min", np.float32(0)),
                           w.const(name + "/max", np.float32(top))], name)


def simple(w, layer, cfg, xs, before):
    """One layer; returns the name of its output."""
    name, x = cfg["name"], xs[0]
    if layer in ("Conv2D", "DepthwiseConv2D"):
        return conv(w, layer, cfg, x)
    if layer == "Dense":
        return dense(w, cfg, x, before)
    if layer == "BatchNormalization":
        return batch_norm(w, cfg, x)
    if layer == "MaxPooling2D":
        return pool(w, "MaxPool", cfg, x)
    if layer == "AveragePooling2D":
        return pool(w, "AveragePool", cfg, x)
    if layer == "ReLU":
        return relu(w, cfg, x)
    if layer == "Activation":
        return w.activation(cfg["activation"], x, name)
    if layer == "Add":
        for i, other in enumerate(xs[1:]):
            x = w.node("Add", [x, other], name + (f"/{i}" if i else ""))
        return x
    if layer == "Concatenate":
        return w.node("Concat", xs, name, axis=1)
    if layer == "ZeroPadding2D":
        (top, bottom), (left, right) = cfg["padding"]
        pads = np.array([0, 0, top, left, 0, 0, bottom, right], np.int64)
        return w.node("Pad", [x, w.const(name + "/pads", pads)], name, mode="constant")
    if layer == "UpSampling2D" and cfg.get("interpolation", "nearest") == "nearest":
        scales = np.array([1, 1] + cfg["size"], np.float32)
        roi = w.const(name + "/roi", np.zeros(0, np.float32))
        return w.node("Resize", [x, roi, w.const(name + "/scales", scales)], name,
                      mode="nearest", coordinate_transformation_mode="asymmetric",
                      nearest_mode="floor")
    if layer == "GlobalAveragePooling2D":
        return w.node("Flatten", [w.node("GlobalAveragePool", [x], name)], name + "/flat")
    if layer == "Flatten":
        return w.node("Flatten", [x], name)
    if layer == "Dropout":
        return x
    raise SystemExit(f"{name}: layer {layer} is not known")


def flat_shape(w, shape, x):
    """(c, h, w) of tensor @x, by ONNX' own inference over what is there so far."""
    graph = helper.make_graph(w.nodes, "part", [helper.make_tensor_value_info(
        "input", TensorProto.FLOAT, shape)], [helper.make_empty_tensor_value_info(x)], w.inits)
    part = onnx.shape_inference.infer_shapes(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 11)]))
    dims = part.graph.output[0].type.tensor_type.shape.dim
    return tuple(d.dim_value for d in dims[1:])


def convert(path, size, title):
    with open(path, encoding="utf-8") as f:
        model = json.load(f)
    topology = model["modelTopology"].get("model_config", model["modelTopology"])
    layers = topology["config"]
    layers = layers if isinstance(layers, list) else layers["layers"]
    w = Writer(read_weights(path, model["weightsManifest"]))
    outputs, flat, last = {}, {}, None
    shape = next(l["config"]["batch_input_shape"] for l in layers
                 if "batch_input_shape" in l["config"])
    h, wd = size or shape[1:3]
    if not h or not wd:
        raise SystemExit("images of any size: say --size HxW")
    shape = [1, shape[3], h, wd]
    for layer in layers:
        cfg, kind = layer["config"], layer["class_name"]
        name = cfg["name"]
        if kind == "InputLayer":
            outputs[name] = "input"
            last = name
            continue
        inbound = layer.get("inbound_nodes")
        froms = [n[0] for n in inbound[0]] if inbound else [last]
        xs = [outputs.get(f, "input") for f in froms]
        before = flat.get(froms[0])
        outputs[name] = simple(w, kind, cfg, xs, before)
        if kind == "Flatten":
            flat[name] = flat_shape(w, shape, xs[0])
        elif kind == "Dropout" and before:
            flat[name] = before
        last = name
    result = outputs[last]
    graph = helper.make_graph(
        w.nodes, title, [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_empty_tensor_value_info(result)], w.inits)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)],
                             producer_name="tfjs2onnx")
    made.ir_version = 7
    made = onnx.shape_inference.infer_shapes(made)
    onnx.checker.check_model(made)
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--size", type=lambda s: tuple(map(int, re.split("x", s))))
    parser.add_argument("--name", default="model")
    args = parser.parse_args()
    made = convert(args.model, args.size, args.name)
    temporary = args.out + ".tmp"
    onnx.save(made, temporary)
    os.replace(temporary, args.out)
    out = made.graph.output[0].type.tensor_type.shape.dim
    print(f"{args.out}: {len(made.graph.node)} nodes, {os.path.getsize(args.out)} bytes, output",
          "x".join(str(d.dim_value) for d in out))


if __name__ == "__main__":
    main()
