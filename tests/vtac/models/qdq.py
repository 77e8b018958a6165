#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A float model with int8, as a file says it: Q and DQ nodes, or QLinearConv.

qdq.py outputs MODEL.onnx OUT.onnx        every tensor in between is an output, too
qdq.py FORM MODEL.onnx RANGES.json OUT.onnx

RANGES.json has the least and the greatest value of each tensor, from those outputs
(ranges.js). FORM is qdq or qlinear: activations as uint8 with a zero point, weights as int8
by output channel, biases as int32, around each Conv and Gemm; with qlinear, each Conv is a
QLinearConv. This is what quantisers commonly write; the scales are the plain minimum and
maximum.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def outputs(model):
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name not in known:
                model.graph.output.append(
                    helper.make_tensor_value_info(name, TensorProto.FLOAT, None))


class Writer:
    """Copies a model's nodes, those that it can with integers."""

    def __init__(self, model, ranges, form):
        self.graph, self.form = model.graph, form
        self.ranges = ranges
        self.consts = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        self.users = {}
        for node in self.graph.node:
            for name in node.input:
                self.users.setdefault(name, []).append(node)
        self.nodes, self.new = [], {}
        self.codes = {}                 # of a tensor: its uint8, scale and zero point
        self.floats = {}                # of a tensor: what has its values after rounding

    def const(self, name, value):
        self.new[name] = value
        return name

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output

    def scale(self, name):
        low, high = self.ranges[name]
        low, high = min(low, 0.0), max(high, 0.0)
        scale = np.float32((high - low) / 255 or 1)
        return (self.const(name + '/scale', scale),
                self.const(name + '/zero', np.uint8(np.clip(round(-low / scale), 0, 255))))

    def quantised(self, name):
        if name not in self.codes:
            scale, zero = self.scale(name)
            self.codes[name] = (self.add('QuantizeLinear', [name, scale, zero], name + '/q'),
                                scale, zero)
        return self.codes[name]

    def rounded(self, name):
        if name not in self.floats:
            self.floats[name] = self.add('DequantizeLinear', self.quantised(name), name + '/dq')
        return self.floats[name]

    def weights(self, name, axis):
        w = self.consts[name]
        most = np.abs(w).max(axis=tuple(i for i in range(w.ndim) if i != axis))
        scale = (np.maximum(most, 1e-8) / 127).astype(np.float32)
        shape = [-1 if i == axis else 1 for i in range(w.ndim)]
        codes = np.clip(np.rint(w / scale.reshape(shape)), -127, 127).astype(np.int8)
        return (self.const(name + '/q', codes), self.const(name + '/scale', scale),
                self.const(name + '/zero', np.zeros(scale.shape, np.int8)))

    def bias(self, name, scales):
        codes = np.rint(self.consts[name] / scales)
        return (self.const(name + '/q', codes.astype(np.int32)),
                self.const(name + '/scale', scales.astype(np.float32)),
                self.const(name + '/zero', np.zeros(scales.shape, np.int32)))

    def result(self, node):
        """The node's output, or that of the Relu that follows it alone."""
        users = self.users.get(node.output[0], [])
        if len(users) == 1 and users[0].op_type == 'Relu':
            return users[0].output[0]
        return node.output[0]

    def layer(self, node):
        axis = 0 if node.op_type == 'Conv' else 1 - sum(
            a.i for a in node.attribute if a.name == 'transB')
        w = self.weights(node.input[1], axis)
        scales = self.new[self.quantised(node.input[0])[1]] * self.new[w[1]]
        b = self.bias(node.input[2], scales)
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if self.form == 'qlinear' and node.op_type == 'Conv':
            y = self.result(node)       # Relu is in the range, which begins at 0
            scale, zero = self.scale(y)
            self.add('QLinearConv', [*self.quantised(node.input[0]), *w, scale, zero, b[0]],
                     y + '/q', **attributes)
            self.codes[y] = (y + '/q', scale, zero)
            self.add('DequantizeLinear', self.codes[y], y)
            self.floats[y] = y
            return y != node.output[0]
        inputs = [self.rounded(node.input[0]),
                  self.add('DequantizeLinear', w, node.input[1] + '/dq', axis=axis),
                  self.add('DequantizeLinear', b, node.input[2] + '/dq', axis=0)]
        self.add(node.op_type, inputs, node.output[0], **attributes)
        return False

    def write(self):
        done = set()
        for node in self.graph.node:
            if node.output[0] in done:
                continue
            if node.op_type in ('Conv', 'Gemm'):
                if self.layer(node):
                    done.add(self.result(node))
                continue
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            # Operators that move values have the integers' values, as their neighbours have.
            if node.op_type in ('MaxPool', 'Flatten'):
                copy.input[0] = self.rounded(node.input[0])
            self.nodes.append(copy)
        graph = helper.make_graph(
            self.nodes, self.graph.name, self.graph.input, self.graph.output,
            [numpy_helper.from_array(np.asarray(v), k) for k, v in self.new.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7)


def main():
    if sys.argv[1] == 'outputs':
        model = onnx.load(sys.argv[2])
        outputs(model)
        onnx.save(model, sys.argv[3])
        return
    form, path, ranges, out = sys.argv[1:]
    with open(ranges, encoding='utf-8') as f:
        model = Writer(onnx.load(path), json.load(f), form).write()
    onnx.checker.check_model(model)
    onnx.save(model, out)


if __name__ == '__main__':
    main()
