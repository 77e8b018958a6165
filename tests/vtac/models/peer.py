#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A float model quantised by onnxruntime, and what onnxruntime computes with it.

peer.py MODEL.onnx CALIB.npy TEST.npy ACTIVATIONS WEIGHTS OUT

Writes OUT.onnx, with Q and DQ nodes, and OUT.npy, its first output for each image of TEST.npy.
ACTIVATIONS and WEIGHTS are QUInt8 or QInt8; weights of QInt8 have scales by channel.
"""
import sys

import numpy as np
# Before onnxruntime: Debian's two share a registry of operators, which onnx.reference expects to
# be its own.
import onnx.reference  # pylint: disable=unused-import
import onnx
import onnx.version_converter
import onnxruntime as ort
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process


class Images(quantization.CalibrationDataReader):
    def __init__(self, name, images):
        self.rows = ({name: image[None]} for image in images)

    def get_next(self):
        return next(self.rows, None)


def main(model, calib, test, activations, weights, out):
    graph = onnx.load(model)
    if graph.opset_import[0].version < 13:      # scales by channel
        graph = onnx.version_converter.convert_version(graph, 13)
    onnx.save(graph, out + '.float.onnx')
    quant_pre_process(out + '.float.onnx', out + '.float.onnx', skip_symbolic_shape=True)
    model_input = ort.InferenceSession(out + '.float.onnx').get_inputs()[0]

    def images(path):
        array = np.load(path).astype(np.float32)
        return array.reshape([len(array)] + model_input.shape[1:])

    quantization.quantize_static(
        out + '.float.onnx', out + '.onnx', Images(model_input.name, images(calib)),
        quant_format=quantization.QuantFormat.QDQ, per_channel=weights == 'QInt8',
        activation_type=getattr(quantization.QuantType, activations),
        weight_type=getattr(quantization.QuantType, weights))
    session = ort.InferenceSession(out + '.onnx')
    np.save(out + '.npy', [session.run(None, {model_input.name: image[None]})[0].ravel()
                           for image in images(test)])


main(*sys.argv[1:])
