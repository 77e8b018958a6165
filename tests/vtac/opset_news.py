#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Models of what opsets 18 to 22 add to operators, with values computed by numpy.

    opset_news.py OPSET OUT     write tests
    opset_news.py -w DIRECTORY  write the models alone: a fuzzer starts from them

Write tests of the additions of opsets up to OPSET to OUT, as libonnx-testdata has its own:
a directory with model.onnx and test_data_set_0 for each, and OUT/list with their names. Prints
how many. Debian's python3-onnx may be older than OPSET, so its checker is not asked.

Older operators of which libonnx-testdata has no tests are here as well.
"""
import math
import os
import sys

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"opset_news.py: {error}", file=sys.stderr)
    sys.exit(sys.argv[1] != "-w")   # a fuzzer does without

PICTURE = np.arange(2 * 3 * 5 * 4, dtype=np.float32).reshape(2, 3, 5, 4) % 17 - 5
INT64 = np.int64


def pool(x, kernel, dilation):
    """Means of a window without pads, with a stride of 1."""
    reach = (kernel - 1) * dilation
    parts = [x[:, :, i:x.shape[2] - reach + i, j:x.shape[3] - reach + j]
             for i in range(0, reach + 1, dilation) for j in range(0, reach + 1, dilation)]
    return np.mean(parts, axis=0, dtype=np.float32)


def nearest(x, axis, size, scale):
    """Half pixels, rounded down where two are as near."""
    at = [math.ceil((i + .5) / scale - 1) for i in range(size)]
    return np.take(x, np.clip(at, 0, x.shape[axis] - 1), axis)


def linear_symmetric(x, axis, scale):
    """Half pixels of an output that lies in the middle of the whole one."""
    n = x.shape[axis]
    size = math.floor(n * scale)
    parts = []
    for i in range(size):
        at = n / 2 * (1 - size / (n * scale)) + (i + .5) / scale - .5
        at = min(max(at, 0), n - 1)
        low = min(math.floor(at), n - 2)
        parts.append(np.take(x, low, axis) * (low + 1 - at) + np.take(x, low + 1, axis) *
                     (at - low))
    return np.stack(parts, axis).astype(np.float32)


def quantized(x, scale, low, high, zero):
    return np.clip(np.rint(x / scale) + zero, low, high)


def group_norm(x, groups, scale, bias, epsilon):
    """Each group of channels of an image, then a scale and a bias of each channel."""
    parts = x.reshape(x.shape[0], groups, -1)
    mean = parts.mean(-1, keepdims=True)
    parts = (parts - mean) / np.sqrt(parts.var(-1, keepdims=True) + epsilon)
    per_channel = (1, -1, 1, 1)
    return (parts.reshape(x.shape) * scale.reshape(per_channel) +
            bias.reshape(per_channel)).astype(np.float32)


def lstm(x, w, r, lengths):
    """Both directions, without biases: states, and the last states and cells of each."""
    steps, batch, hidden = x.shape[0], x.shape[1], r.shape[2]
    states = np.zeros((steps, 2, batch, hidden), np.float32)
    last, cells = np.zeros((2, batch, hidden), np.float32), np.zeros((2, batch, hidden), np.float32)
    for d in range(2):
        for image, length in enumerate(lengths):
            for t in range(length)[::-1 if d else 1]:
                gates = w[d] @ x[t, image] + r[d] @ last[d, image]
                i, o, f = 1 / (1 + np.exp(-gates.reshape(4, hidden)[:3]))
                cells[d, image] = f * cells[d, image] + i * np.tanh(gates[3 * hidden:])
                last[d, image] = states[t, d, image] = o * np.tanh(cells[d, image])
    return [states, last, cells]


def cubic_border(x, grid):
    """Cubic samples whose values beyond a border are those of the border."""
    def weights(part):
        far = abs(part - np.arange(-1, 3))
        return np.where(far <= 1, (1.25 * far - 2.25) * far * far + 1,
                        ((-.75 * far + 3.75) * far - 6) * far + 3)
    y = np.zeros(x.shape[:2] + grid.shape[1:3], np.float32)
    for n, row, col in np.ndindex(grid.shape[:3]):
        at = ((grid[n, row, col] + 1) * [x.shape[3], x.shape[2]] - 1) / 2
        low = np.floor(at).astype(int)
        cols = np.clip(low[0] + np.arange(-1, 3), 0, x.shape[3] - 1)
        rows = np.clip(low[1] + np.arange(-1, 3), 0, x.shape[2] - 1)
        y[n, :, row, col] = (x[n][:, rows][:, :, cols] * weights(at[0] - low[0])).sum(-1) @ \
            weights(at[1] - low[1])
    return y


def between(x, row, col):
    """Linear between the values of a picture, and zeros around it."""
    x = np.pad(x, 2)
    row, col = np.clip(row + 2, 0, x.shape[0] - 1.001), np.clip(col + 2, 0, x.shape[1] - 1.001)
    i, j = math.floor(row), math.floor(col)
    row, col = row - i, col - j
    return (x[i, j] * (1 - row) + x[i + 1, j] * row) * (1 - col) + \
        (x[i, j + 1] * (1 - row) + x[i + 1, j + 1] * row) * col


def deformed(x, w, offsets, bias, mask, groups):
    """A convolution without pads, with strides of 1, whose places have offsets."""
    kernel = w.shape[2] * w.shape[3]
    at = offsets.reshape(x.shape[0], groups, kernel, 2, *offsets.shape[2:])
    by = mask.reshape(x.shape[0], groups, kernel, *offsets.shape[2:])
    y = np.zeros((x.shape[0], w.shape[0]) + offsets.shape[2:], np.float32) + \
        bias.reshape(1, -1, 1, 1)
    for n, c, k, row, col in np.ndindex(*x.shape[:2], kernel, *offsets.shape[2:]):
        g = c * groups // x.shape[1]
        down, right = divmod(k, w.shape[3])
        y[n, :, row, col] += w[:, c, down, right] * by[n, g, k, row, col] * between(
            x[n, c], row + down + at[n, g, k, 0, row, col], col + right + at[n, g, k, 1, row, col])
    return y


def blocks_added(x, image, kernel, stride):
    """Blocks of a line of pictures at their places."""
    y = np.zeros((x.shape[0], x.shape[1] // math.prod(kernel)) + image, np.float32)
    blocks = x.reshape(*y.shape[:2], *kernel, -1)
    for i in range(blocks.shape[4]):
        row, col = np.multiply(divmod(i, (image[1] - kernel[1]) // stride + 1), stride)
        y[:, :, row:row + kernel[0], col:col + kernel[1]] += blocks[..., i]
    return y


def news():
    """(opset, name, operator, attributes, inputs, outputs): None is an input left out."""
    x = PICTURE
    ints = lambda *v: np.array(v, dtype=INT64)
    yield 18, "split_num_outputs", "Split", {"axis": 2, "num_outputs": 3}, [x], \
        np.split(x, [2, 4], axis=2)
    yield 18, "reduce_mean_axes", "ReduceMean", {"keepdims": 0}, [x, ints(-1, 1)], \
        [x.mean(axis=(1, 3))]
    yield 18, "reduce_mean_all", "ReduceMean", {}, [x], [x.mean(keepdims=True)]
    yield 18, "reduce_mean_noop", "ReduceMean", {"noop_with_empty_axes": 1}, [x], [x]
    yield 18, "pad_axes", "Pad", {}, [x, ints(1, 2, 3, 0), np.float32(2.5), ints(3, -2)], \
        [np.pad(x, ((0, 0), (0, 0), (2, 0), (1, 3)), constant_values=2.5)]
    yield 19, "pad_wrap", "Pad", {"mode": "wrap"}, [x, ints(0, 0, 6, 1, 0, 0, 2, 3)], \
        [np.take(np.take(x, np.arange(-6, 7) % 5, 2), np.arange(-1, 7) % 4, 3)]
    yield 18, "resize_axes", "Resize", {"mode": "nearest", "axes": [3, 2]}, \
        [x, None, np.float32([2, 1.5])], [nearest(nearest(x, 3, 8, 2), 2, 7, 1.5)]
    yield 18, "resize_not_larger", "Resize", \
        {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, \
        [x, None, None, ints(7, 7)], [nearest(nearest(x, 2, 7, 1.4), 3, 6, 1.4)]
    yield 18, "resize_not_smaller", "Resize", \
        {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}, \
        [x, None, None, ints(7, 7)], [nearest(nearest(x, 2, 9, 1.75), 3, 7, 1.75)]
    yield 19, "resize_symmetric", "Resize", \
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}, \
        [x, None, np.float32([1, 1, 2.5, .7])], \
        [linear_symmetric(linear_symmetric(x, 2, 2.5), 3, .7)]
    yield 19, "average_pool_dilations", "AveragePool", \
        {"kernel_shape": [2, 2], "dilations": [2, 2]}, [x], [pool(x, 2, 2)]
    yield 19, "cast_saturate", "Cast", {"to": TensorProto.INT32, "saturate": 1}, [x], \
        [x.astype(np.int32)]
    yield 19, "quantize_saturate", "QuantizeLinear", {"saturate": 1}, \
        [x, np.float32(.04), np.uint8(100)], [quantized(x, .04, 0, 255, 100).astype(np.uint8)]
    # A pool of 2 x 3 x 5 x 4 with these windows keeps 24 values.
    places = np.random.default_rng(1).permutation(x.size)[:24].reshape(2, 3, 2, 2)
    unpooled = np.zeros(x.size, dtype=np.float32)
    unpooled[places.ravel()] = np.arange(1, 25)
    yield 22, "max_unpool", "MaxUnpool", \
        {"kernel_shape": [3, 2], "strides": [3, 2], "pads": [1, 0, 0, 0]}, \
        [np.arange(1, 25, dtype=np.float32).reshape(2, 3, 2, 2), places.astype(INT64)], \
        [unpooled.reshape(x.shape)]
    yield 21, "quantize_output_dtype", "QuantizeLinear", \
        {"axis": 1, "output_dtype": TensorProto.INT8, "block_size": 0}, \
        [x, np.float32([.05, .5, 2])], \
        [quantized(x, np.float32([.05, .5, 2]).reshape(3, 1, 1), -128, 127, 0).astype(np.int8)]
    scale, bias = np.float32([2, -1, .5, 3]), np.float32([0, 1, -2, .25])
    groups = np.arange(2 * 4 * 3 * 5, dtype=np.float32).reshape(2, 4, 3, 5) % 13
    yield 21, "group_norm", "GroupNormalization", {"num_groups": 2, "epsilon": .01}, \
        [groups, scale, bias], [group_norm(groups, 2, scale, bias, .01)]
    yield 18, "group_norm_of_groups", "GroupNormalization", {"num_groups": 2, "epsilon": .01}, \
        [groups, scale[:2], bias[:2]], \
        [group_norm(groups, 2, np.repeat(scale[:2], 2), np.repeat(bias[:2], 2), .01)]
    wide = np.float32([[2], [-1], [.5]])
    yield 18, "layer_norm_spread", "LayerNormalization", {"axis": 2, "epsilon": .01}, \
        [groups, wide, np.float32([1, 2, 3, 4, 5])], \
        [(groups - groups.mean((2, 3), keepdims=True)) / np.sqrt(
            groups.var((2, 3), keepdims=True) + .01) * wide + np.float32([1, 2, 3, 4, 5])]
    rng = np.random.default_rng(2)
    floats = lambda *shape: rng.normal(0, .5, shape).astype(np.float32)
    layer = [floats(5, 3, 4), floats(2, 24, 4), floats(2, 24, 6)]
    lengths = np.int32([5, 2, 0])
    yield 18, "lstm_lengths", "LSTM", {"hidden_size": 6, "direction": "bidirectional"}, \
        [*layer, None, lengths], lstm(*layer, lengths)
    yield 18, "global_lp_pool_3", "GlobalLpPool", {"p": 3}, [x], \
        [np.cbrt((abs(x) ** 3).sum(axis=(2, 3), keepdims=True))]
    grid = rng.uniform(-1.5, 1.5, (2, 3, 4, 2)).astype(np.float32)
    yield 20, "grid_sample_cubic_border", "GridSample", \
        {"mode": "cubic", "padding_mode": "border"}, [x, grid], [cubic_border(x, grid)]
    theta = floats(2, 2, 3)
    row, col = np.meshgrid(np.arange(.25, 2, .5) - 1, np.arange(.2, 2, .4) - 1, indexing="ij")
    yield 20, "affine_grid", "AffineGrid", {}, [theta, ints(2, 3, 4, 5)], \
        [np.einsum("nak,hwk->nhwa", theta, np.stack([col, row, np.ones_like(col)], -1))
         .astype(np.float32)]
    places = [np.linspace(-1, 1, size) for size in (2, 3, 4)]
    places = np.stack([*np.meshgrid(*places, indexing="ij")[::-1], np.ones((2, 3, 4))], -1)
    theta = floats(2, 3, 4)
    yield 20, "affine_grid_3d", "AffineGrid", {"align_corners": 1}, \
        [theta, ints(2, 1, 2, 3, 4)], \
        [np.einsum("nak,dhwk->ndhwa", theta, places).astype(np.float32)]
    yield 18, "center_crop_pad", "CenterCropPad", {"axes": [-1, 2]}, [x, ints(7, 2)], \
        [np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 2)))[:, :, 1:3]]
    yield 18, "center_crop_pad_all", "CenterCropPad", {}, [x, ints(1, 6, 5, 3)], \
        [np.pad(x, ((0, 0), (1, 2), (0, 0), (0, 0)))[:1, :, :, :3]]
    blocks = floats(2, 12, 6)
    yield 18, "col_2_im", "Col2Im", {"strides": [2, 2]}, [blocks, ints(5, 6), ints(2, 2)], \
        [blocks_added(blocks, (5, 6), (2, 2), 2)]
    deform = [floats(2, 4, 4, 5), floats(3, 4, 2, 3), floats(2, 24, 3, 3) * 3, floats(3),
              floats(2, 12, 3, 3)]
    yield 19, "deform_conv", "DeformConv", {"offset_group": 2}, deform, [deformed(*deform, 2)]
    yield 18, "simplified_layer_norm", "SimplifiedLayerNormalization", \
        {"axis": -1, "epsilon": .01}, [groups, np.float32([1, 2, 3, 4, 5])], \
        [groups / np.sqrt((groups ** 2).mean(-1, keepdims=True) + .01) *
         np.float32([1, 2, 3, 4, 5])]
    yield 18, "mish", "Mish", {}, [x], [(x * np.tanh(np.log1p(np.exp(x)))).astype(np.float32)]
    bits, others = np.int32([[5, -7, 0], [1 << 30, -1, 12]]), np.int32([3, 6, -1])
    yield 18, "bitwise_and", "BitwiseAnd", {}, [bits, others], [bits & others]
    yield 18, "bitwise_or", "BitwiseOr", {}, [bits, others], [bits | others]
    yield 18, "bitwise_xor", "BitwiseXor", {}, [bits, others], [bits ^ others]
    yield 18, "bitwise_not", "BitwiseNot", {}, [bits], [~bits]
    yield 18, "bitwise_not_bytes", "BitwiseNot", {}, [np.uint8([0, 5, 255])], \
        [np.uint8([255, 250, 0])]
    yield 18, "lp_pool", "LpPool", {"kernel_shape": [2, 2], "p": 1, "dilations": [2, 1]}, [x], \
        [sum(abs(x[:, :, i:x.shape[2] - 2 + i, j:x.shape[3] - 1 + j]) for i in (0, 2)
             for j in (0, 1))]
    yield 18, "lp_pool_pads", "LpPool", {"kernel_shape": [3, 2], "strides": [2, 2],
                                         "pads": [1, 0, 1, 0]}, [x], \
        [np.sqrt(np.square(np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0))))[:, :, [
            [0, 1, 2], [2, 3, 4], [4, 5, 6]]].sum(3).reshape(2, 3, 3, 2, 2).sum(4))]
    yield 18, "global_lp_pool", "GlobalLpPool", {"p": 1}, [x], \
        [abs(x).sum(axis=(2, 3), keepdims=True)]
    yield 18, "global_lp_pool_2", "GlobalLpPool", {}, [x], \
        [np.sqrt(np.square(x).sum(axis=(2, 3), keepdims=True))]
    for to, number in (np.uint16, TensorProto.UINT16), (np.int16, TensorProto.INT16), \
            (np.uint32, TensorProto.UINT32):
        wide = ints(-300, -1, 0, 32768, 70000, (1 << 32) + 5)
        yield 13, f"cast_{to.__name__}", "Cast", {"to": number}, [wide], [wide.astype(to)]
    few = ints(-1 << 40, -4, -3, 0, 3, 4, 1 << 40)
    yield 13, "sign_int64", "Sign", {}, [few], [np.sign(few)]
    yield 13, "sign_uint8", "Sign", {}, [np.uint8([0, 1, 255])], [np.uint8([0, 1, 1])]
    yield 9, "shrink_int32", "Shrink", {"lambd": 3., "bias": 1.5}, [np.int32([-9, -3, 0, 3, 4])], \
        [np.int32([-7, 0, 0, 0, 2])]
    corners = np.float32([[[0, 0, 1, 1], [0, 0, 2, 2], [3, 3, 4, 4]]])
    none = np.zeros((0, 3), INT64)
    for name, most in ("nms_no_most", None), ("nms_most_0", ints(0)):
        yield 11, name, "NonMaxSuppression", {}, \
            [corners, np.float32([[[.5, .9, .1]]]), most, np.float32([.5])], [none]
    # Over no axes a reduction leaves x, but a square and a logarithm are made of each value.
    some = abs(x) + 1
    for reduction, each in ("ReduceSum", some), ("ReduceSumSquare", some * some), \
            ("ReduceL2", some), ("ReduceLogSum", np.log(some)):
        yield 18, f"{reduction.lower()}_no_axes", reduction, {"noop_with_empty_axes": 1}, \
            [some, ints()], [each]
    yield 18, "lp_norm", "LpNormalization", {"axis": 1, "p": 1}, [x], \
        [x / abs(x).sum(axis=1, keepdims=True)]
    yield 18, "lp_norm_2", "LpNormalization", {}, [x], \
        [x / np.sqrt(np.square(x).sum(axis=-1, keepdims=True))]


def save_tensor(path, value):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(np.asarray(value)).SerializeToString())


def info(name, value):
    tensor = numpy_helper.from_array(np.asarray(value))
    return helper.make_tensor_value_info(name, tensor.data_type, tensor.dims)


def file_of(opset, operator, attributes, inputs, outputs):
    """The model's bytes: all inputs but the first are constants."""
    given = [(f"input_{i}", v) for i, v in enumerate(inputs) if v is not None]
    made = [(f"output_{i}", v) for i, v in enumerate(outputs)]
    node = helper.make_node(operator, ["" if v is None else f"input_{i}"
                                       for i, v in enumerate(inputs)],
                            [name for name, _ in made], **attributes)
    graph = helper.make_graph([node], "news", [info(*given[0])], [info(*v) for v in made],
                              [numpy_helper.from_array(np.asarray(v), name)
                               for name, v in given[1:]])
    return helper.make_model(graph,
                             opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()


def save(path, opset, operator, attributes, inputs, outputs):
    data = os.path.join(path, "test_data_set_0")
    os.makedirs(data)
    with open(os.path.join(path, "model.onnx"), "wb") as f:
        f.write(file_of(opset, operator, attributes, inputs, outputs))
    save_tensor(os.path.join(data, "input_0.pb"), inputs[0])
    for i, value in enumerate(outputs):
        save_tensor(os.path.join(data, f"output_{i}.pb"), value)


def write(directory):
    """A file for each."""
    for since, name, *rest in news():
        with open(os.path.join(directory, f"news-{name}.onnx"), "wb") as f:
            f.write(file_of(since, *rest))


def main():
    opset, out = int(sys.argv[1]), sys.argv[2]
    made = []
    for since, name, *rest in news():
        if since > opset:
            continue
        made.append("test_" + name)
        save(os.path.join(out, made[-1]), opset, *rest)
    with open(os.path.join(out, "list"), "w", encoding="utf-8") as lines:
        lines.write("".join(name + "\n" for name in made))
    print(len(made))


if sys.argv[1] == "-w":
    write(sys.argv[2])
else:
    main()
