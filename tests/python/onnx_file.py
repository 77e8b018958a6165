# SPDX-License-Identifier: GPL-2.0-only
"""Write small ONNX models without python3-onnx: the messages of onnx.proto that they need."""

import struct

FLOAT = 1


def varint(n):
    n &= (1 << 64) - 1
    data = b""
    while n > 127:
        data += bytes([n & 127 | 128])
        n >>= 7
    return data + bytes([n])


def field(number, value):
    """An int, or bytes, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, shape, values):
    return b"".join(field(1, n) for n in shape) + field(2, FLOAT) + field(8, name) + \
        field(9, struct.pack(f"<{len(values)}f", *values))


def value(name, shape):
    """An input or output; a text is a size that the model leaves open."""
    dims = b"".join(field(1, field(1 if isinstance(n, int) else 2, n)) for n in shape)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims)))


def node(op, inputs, outputs, name="", **attributes):
    """Attributes are ints, or lists of them."""
    data = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + \
        field(3, name or outputs[0]) + field(4, op)
    for key, given in attributes.items():
        if isinstance(given, int):
            data += field(5, field(1, key) + field(3, given) + field(20, 2))
        else:
            data += field(5, field(1, key) + b"".join(field(8, i) for i in given) + field(20, 7))
    return data


def model(nodes, constants, inputs, outputs, opset=17):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + \
        b"".join(field(5, c) for c in constants) + b"".join(field(11, i) for i in inputs) + \
        b"".join(field(12, o) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))
