# SPDX-License-Identifier: GPL-2.0-only
"""Program images for the tests (docs/program-image.md), for the default core."""

import struct
import zlib

CONFIG = bytes([3, 3, 5, 0, 4, 15, 15, 18, 17])
FRAIL = bytes([3, 3, 5, 0, 4, 12, 12, 14, 12])     # of tests/devices/frail.c
HEADER = 0xd0
INPUT, OUTPUT = 1, 2
ARENA, HOST = 1, 2
PLAIN = 1
TYPES = {"f": (1, 4), "b": (2, 1), "B": (3, 1), "i": (4, 4), "q": (5, 8), "?": (6, 1)}

FINISH = (3, 0)
# Waits for a token that no other module sends.
DEADLOCK = (3 | 1 << 3, 0)
# One micro-op, 16,383 x 16,383 times: longer than any test waits for.
ENDLESS = (2 | 1 << 21 | 16383 << 35 | 16383 << 49, 0)


def size_of(format, shape):
    size = TYPES[format][1]
    for n in shape:
        size *= n
    return size


def tensor(name, role, format, shape, offset, scale=0.0, zero=0):
    dims = [*shape, *[0] * (8 - len(shape))]
    return struct.pack("<64s5I8IIIfi12x", name.encode(), role, HOST, PLAIN, TYPES[format][0],
                       len(shape), *dims, offset, size_of(format, shape), scale, zero)


def copy(dst, src, size):
    return struct.pack("<8I", 1, *dst, *src, size, 0, 0)


def parts_after(header, parts):
    """The parts' bytes at multiples of 16, and (where, count) of each."""
    body, places = b"", []
    for data, unit in parts:
        body += bytes(-len(body) % 16)
        places.append((header + len(body), len(data) // unit))
        body += data
    return body, places


def echo(tensors, insns=(FINISH,), labels="", config=CONFIG, weights=0):
    """Each (name, format, shape) is an input, copied by the card to an output name.out;
    the card executes insns before that. It has so many bytes of weights, which nothing reads."""
    table, to_card, from_card, at = b"", b"", b"", 0
    outputs = b""
    for name, format, shape in tensors:
        size = size_of(format, shape)
        step = (size + 63) // 64 * 64
        table += tensor(name, INPUT, format, shape, at, 0.5, 3)
        outputs += tensor(name + ".out", OUTPUT, format, shape, at + step, 0.5, 3)
        to_card += copy((ARENA, at), (HOST, at), size)
        from_card += copy((HOST, at + step), (ARENA, at), size)
        at += 2 * step
    model = b"".join(struct.pack("<QQ", *insn) for insn in insns) + bytes(weights)
    steps = to_card + struct.pack("<8I", 2, 0, 0, 0, 0, 0, 0, 0) + from_card
    body, places = parts_after(HEADER, [
        (struct.pack("<IIQ", 0, len(insns), 0), 16), (b"", 4), (table + outputs, 144),
        (steps, 32), (b"", 4), (b"", 1), (labels.encode(), 1), (b"", 1), (b"", 1), (b"", 1),
        (model, 1)])
    image = bytearray(struct.pack("<8sIIQ9s3xIII", b"\0VTAPROG", 2, 0, HEADER + len(body), config,
                                  256, at, at))
    for place in places:
        image += struct.pack("<II", *place)
    image += struct.pack("<64s8x", b"echo") + body
    image[12:16] = struct.pack("<I", zlib.crc32(image))
    return bytes(image)
