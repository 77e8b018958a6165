#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write a test of each operator of com.microsoft, with ONNX Runtime's results, and of a layer as its
quantiser writes it.

    microsoft.py DIRECTORY

in the form of ONNX's own tests of operators: DIRECTORY/test_NAME has model.onnx with one node, and
in test_data_set_0 its first input and its outputs. Other inputs are constants of the model.
ONNX Runtime 1.23 of the root of make check-zoo made tests/vtac/microsoft.
"""
import pathlib
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(1)
FLOAT, UINT8, INT8, INT32 = np.float32, np.uint8, np.int8, np.int32


def real(*shape):
    return random.normal(size=shape).astype(FLOAT)


def byte(*shape):
    return random.integers(0, 256, shape).astype(UINT8)


def small(*shape):
    """Half of the range: without VNNI, sums of two products must fit into 16 bits."""
    return random.integers(-63, 64, shape).astype(INT8)


def f(value):
    return np.array(value, FLOAT)


def u8(value):
    return np.array(value, UINT8)


def i8(value):
    return np.array(value, INT8)


MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], INT32)
HEADS = {"num_heads": 2}
CONV = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}

# Name: operator, inputs (None: left out), outputs to compare of how many, attributes
TESTS = {
    "qlinear_add": ("QLinearAdd", [byte(2, 3), f(.02), u8(128), byte(2, 3), f(.03), u8(100),
                                   f(.04), u8(120)], [0], {}),
    "qlinear_add_broadcast": ("QLinearAdd", [small(2, 3), f(.021), i8(1), small(3), f(.034), i8(-2),
                                             f(.043), i8(3)], [0], {}),
    "qlinear_mul": ("QLinearMul", [byte(2, 3), f(.02), u8(128), byte(2, 3), f(.03), u8(100),
                                   f(.1), u8(120)], [0], {}),
    "qlinear_concat": ("QLinearConcat", [f(.04), u8(120), byte(1, 2, 2), f(.02), u8(128),
                                         byte(1, 3, 2), f(.04), u8(120)], [0], {"axis": 1}),
    "qlinear_average_pool": ("QLinearAveragePool", [byte(1, 2, 4, 4), f(.02), u8(128), f(.017),
                                                    u8(128)], [0],
                             {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "qlinear_global_average_pool": ("QLinearGlobalAveragePool", [byte(1, 2, 4, 4), f(.02),
                                                                 u8(128), f(.01), u8(120)], [0],
                                    {}),
    "qlinear_sigmoid": ("QLinearSigmoid", [byte(2, 3), f(.05), u8(128), f(1 / 256), u8(0)], [0],
                        {}),
    "qlinear_leaky_relu": ("QLinearLeakyRelu", [byte(2, 3), f(.05), u8(128), f(.05), u8(100)], [0],
                           {"alpha": 0.1}),
    "qgemm": ("QGemm", [byte(2, 4), f(.02), u8(128), small(4, 3), f(.01), i8(0),
                        np.array([500, -300, 10], INT32), f(.02), u8(128)], [0], {}),
    "qgemm_transposed": ("QGemm", [byte(2, 4), f(.02), u8(128), small(3, 4),
                                   np.array([.01, .02, .03], FLOAT), np.zeros(3, INT8),
                                   np.array([500, -300, 10], INT32), f(.02), u8(128)], [0],
                         {"transB": 1}),
    "qgemm_float": ("QGemm", [byte(2, 4), f(.02), u8(128), small(4, 3), f(.01), i8(0)], [0], {}),
    "fused_conv_relu": ("FusedConv", [real(1, 2, 5, 5), real(3, 2, 3, 3), real(3)], [0],
                        {**CONV, "activation": "Relu"}),
    "fused_conv_clip": ("FusedConv", [real(1, 2, 5, 5), real(3, 2, 3, 3), real(3)], [0],
                        {**CONV, "activation": "Clip", "activation_params": [-1.0, 2.0]}),
    "fused_conv_leaky": ("FusedConv", [real(1, 2, 5, 5), real(3, 2, 3, 3)], [0],
                         {**CONV, "activation": "LeakyRelu", "activation_params": [0.2]}),
    "fused_conv_sum": ("FusedConv", [real(1, 2, 5, 5), real(3, 2, 3, 3), real(3),
                                     real(1, 3, 5, 5)], [0], {**CONV, "activation": "Relu"}),
    "fused_gemm": ("FusedGemm", [real(2, 4), real(3, 4), real(3)], [0],
                   {"transB": 1, "activation": "Relu"}),
    "fused_matmul": ("FusedMatMul", [real(2, 4, 3), real(2, 4, 5)], [0],
                     {"transA": 1, "alpha": 0.5}),
    "fused_matmul_right": ("FusedMatMul", [real(2, 4, 3), real(2, 5, 3)], [0], {"transB": 1}),
    "gelu": ("Gelu", [real(2, 5)], [0], {}),
    "bias_gelu": ("BiasGelu", [real(2, 5), real(5)], [0], {}),
    "fast_gelu": ("FastGelu", [real(2, 5)], [0], {}),
    "fast_gelu_bias": ("FastGelu", [real(2, 5), real(5)], [0], {}),
    "quick_gelu": ("QuickGelu", [real(2, 5)], [0], {"alpha": 1.5}),
    "skip_layer_norm": ("SkipLayerNormalization", [real(2, 3, 8), real(2, 3, 8), real(8), real(8),
                                                   real(8)], [0, 3], {"epsilon": 1e-5}),
    "skip_layer_norm_no_beta": ("SkipLayerNormalization", [real(2, 3, 8), real(2, 3, 8), real(8)],
                                [0], {"epsilon": 1e-5}),
    "skip_simplified_layer_norm": ("SkipSimplifiedLayerNormalization",
                                   [real(2, 3, 8), real(2, 3, 8), real(8)], [0, 3],
                                   {"epsilon": 1e-5}),
    "embed_layer_norm": ("EmbedLayerNormalization", [
        np.array([[1, 2, 3, 4], [5, 6, 0, 0]], INT32), np.array([[0, 0, 1, 1], [1, 0, 1, 0]],
                                                                INT32),
        real(8, 6), real(5, 6), real(2, 6), real(6), real(6), MASK], [0, 1],
        {"epsilon": 1e-5}),
    "embed_layer_norm_words": ("EmbedLayerNormalization", [
        np.array([[1, 2, 3, 4], [5, 6, 0, 0]], INT32), None, real(8, 6), real(5, 6), None, real(6),
        real(6)], [0, 1], {"epsilon": 1e-5}),
    "attention": ("Attention", [real(2, 4, 6), real(6, 24), real(24)], [0], HEADS),
    "attention_mask": ("Attention", [real(2, 4, 6), real(6, 24), real(24), MASK], [0], HEADS),
    "attention_lengths": ("Attention", [real(2, 4, 6), real(6, 24), real(24),
                                        np.array([3, 2], INT32)], [0], HEADS),
    "attention_causal": ("Attention", [real(2, 4, 6), real(6, 24), real(24)], [0],
                         {**HEADS, "unidirectional": 1}),
    "attention_scale": ("Attention", [real(2, 4, 6), real(6, 24), real(24)], [0],
                        {**HEADS, "scale": 0.3}),
    "multi_head_attention": ("MultiHeadAttention", [real(2, 4, 8), real(2, 3, 8), real(2, 3, 8)],
                             [0], HEADS),
    "multi_head_attention_bias": ("MultiHeadAttention", [real(2, 4, 8), real(2, 3, 8),
                                                         real(2, 3, 8), real(24)], [0], HEADS),
    "multi_head_attention_mask": ("MultiHeadAttention", [
        real(2, 4, 8), real(2, 4, 8), real(2, 4, 8), None, MASK], [0], HEADS),
    "multi_head_attention_added": ("MultiHeadAttention", [
        real(2, 4, 8), real(2, 3, 8), real(2, 3, 8), None, None, real(1, 2, 4, 3)], [0], HEADS),
    "dynamic_quantize_matmul": ("DynamicQuantizeMatMul", [real(2, 4), small(4, 3), f(.01), i8(0),
                                                          real(3)], [0], {}),
    "dynamic_quantize_matmul_columns": ("DynamicQuantizeMatMul", [
        real(2, 4), small(4, 3), np.array([.01, .02, .03], FLOAT)], [0], {}),
    "matmul_integer_to_float": ("MatMulIntegerToFloat", [byte(2, 4), small(4, 3), f(.02), f(.01),
                                                         u8(128), i8(0), real(3)], [0], {}),
}


def write(path, tensor, value):
    path.write_bytes(numpy_helper.from_array(value, tensor).SerializeToString())


def make(directory, name, op, inputs, outputs, attributes):
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    results = [f"y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    first = inputs[0]
    constants = [numpy_helper.from_array(value, n) for n, value in zip(names, inputs)
                 if n and n != "x0"]
    given = [helper.make_tensor_value_info(
        "x0", helper.np_dtype_to_tensor_dtype(first.dtype), first.shape)]

    def model(types):
        made = helper.make_model(
            helper.make_graph([node], name, given, [
                helper.make_tensor_value_info(r, types.get(r, TensorProto.FLOAT), None)
                for r in results if r], constants),
            opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
        made.ir_version = 8
        return made
    types = {}
    if op.startswith("Q") and name != "qgemm_float" and op != "QuickGelu":
        like = inputs[1] if op == "QLinearConcat" else inputs[-1]
        types["y0"] = helper.np_dtype_to_tensor_dtype(like.dtype)
    if op == "EmbedLayerNormalization":
        types["y1"] = TensorProto.INT32
    run(directory, name, model(types), first)


def run(directory, name, made, first, reference=None):
    """Write the model, its first input, and the outputs of ONNX Runtime without its optimiser, for
    the model or for one that computes what it should."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession((reference or made).SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    values = session.run(None, {"x0": first})
    data = directory / f"test_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(made.SerializeToString())
    write(data / "input_0.pb", "x0", first)
    for i, value in enumerate(values):
        write(data / f"output_{i}.pb", f"y{i}", value)


def make_dynamic(directory):
    """A layer of quantize_dynamic(): the zero point of its input is computed."""
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x0"], ["q", "scale", "zero"]),
             helper.make_node("MatMulInteger", ["q", "w", "zero", "w_zero"], ["sums"]),
             helper.make_node("Cast", ["sums"], ["floats"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["scale", "w_scale"], ["scales"]),
             helper.make_node("Mul", ["floats", "scales"], ["y0"])]
    constants = {"w": small(4, 3), "w_zero": i8(3), "w_scale": f(.01)}
    made = helper.make_model(
        helper.make_graph(nodes, "dynamic",
                          [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [2, 4])],
                          [helper.make_tensor_value_info("y0", TensorProto.FLOAT, [2, 3])],
                          [numpy_helper.from_array(v, n) for n, v in constants.items()]),
        opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    run(directory, "dynamic_layer", made, real(2, 4))


def make_lstm(directory, name, scale_shape):
    """An LSTM of two directions with integer weights, against one with these weights as floats and
    x rounded to bytes: ONNX Runtime rounds its states, too, at each step."""
    weights = [small(2, 5, 12), small(2, 3, 12)]
    scales = [random.uniform(.005, .02, scale_shape).astype(FLOAT) for _ in weights]
    zeros = [random.integers(-5, 6, scale_shape).astype(INT8) for _ in weights]
    bias = real(2, 24)
    floats = [((w.astype(FLOAT) - z.reshape(2, 1, -1)) * s.reshape(2, 1, -1)).transpose(0, 2, 1)
              for w, s, z in zip(weights, scales, zeros)]

    rounding = [helper.make_node("DynamicQuantizeLinear", ["x0"], ["bytes", "step", "zero"]),
                helper.make_node("DequantizeLinear", ["bytes", "step", "zero"], ["x"])]

    def model(op, domain, before, names, constants):
        node = helper.make_node(op, names, ["y0", "y1", "y2"], domain=domain, hidden_size=3,
                                direction="bidirectional")
        made = helper.make_model(
            helper.make_graph([*before, node], name, [helper.make_tensor_value_info(
                "x0", TensorProto.FLOAT, [4, 1, 5])], [helper.make_tensor_value_info(
                    f"y{i}", TensorProto.FLOAT, None) for i in range(3)],
                [numpy_helper.from_array(v, n) for n, v in constants.items()]),
            opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
        made.ir_version = 8
        return made
    run(directory, name, model(
        "DynamicQuantizeLSTM", "com.microsoft", [],
        ["x0", "w", "r", "b", "", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"],
        {"w": weights[0], "r": weights[1], "b": bias, "w_scale": scales[0], "r_scale": scales[1],
         "w_zero": zeros[0], "r_zero": zeros[1]}), real(4, 1, 5),
        model("LSTM", "", rounding, ["x", "w", "r", "b"],
              {"w": np.ascontiguousarray(floats[0]), "r": np.ascontiguousarray(floats[1]),
               "b": bias}))


def main():
    for name, (op, inputs, outputs, attributes) in TESTS.items():
        try:
            make(pathlib.Path(sys.argv[1]), name, op, inputs, outputs, attributes)
        except Exception as error:  # the next ones may do
            print(f"{name}: {error}", file=sys.stderr)
    make_dynamic(pathlib.Path(sys.argv[1]))
    make_lstm(pathlib.Path(sys.argv[1]), "dynamic_quantize_lstm", [2])
    make_lstm(pathlib.Path(sys.argv[1]), "dynamic_quantize_lstm_gates", [2, 12])


main()
