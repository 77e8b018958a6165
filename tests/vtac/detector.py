#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
detector.py inputs PROGRAM.vtap PICTURES OUT.npy
detector.py compare PROGRAM.vtap PICTURES FLOAT.jsonl

inputs writes what the program's input becomes of each picture. compare runs the program on them
through vtadev, and compares its boxes with those of FLOAT.jsonl (detect.js), which lie at the top left
of the input: the overlap of likely boxes, and the average precision if those are the truth. Prints
TAP.
"""
import json
import os
import struct
import sys

import numpy as np

import vtadev
from vtadev import _boxes

LIKELY = 0.5        # score of boxes that shall be found
LEAST = 0.2         # of boxes that are found at all: that of the model's NonMaxSuppression


def names(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith(".png"))


def size_of(path):
    with open(path, "rb") as file:
        return struct.unpack_from(">2I", file.read(24), 16)


def overlap(a, b):
    """Intersection over union of two boxes."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    areas = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return common / (areas - common) if areas > common else 0


def average_precision(found, truth):
    """The area below the curve of precision by recall. A box that is near a box of the truth that need
    not be found counts as neither right nor wrong."""
    rows = sorted(((box[4], name, box) for name, boxes in found.items() for box in boxes),
                  key=lambda row: -row[0])
    left = {name: [b for b in boxes if b[4] >= LIKELY] for name, boxes in truth.items()}
    total, hits = sum(map(len, left.values())), []
    for _, name, box in rows:
        best = max(left[name], key=lambda b: overlap(b, box), default=None)
        hit = best is not None and overlap(best, box) >= 0.5
        if hit:
            left[name].remove(best)
        elif any(overlap(b, box) >= 0.5 and b[4] < LIKELY for b in truth[name]):
            continue
        hits.append(hit)
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return 100 * precision[np.array(hits, bool)].sum() / total


def write_inputs(program, folder, out):
    with open(program, "rb") as file:
        image = file.read()
    shape = vtadev.Program(image).inputs[0].shape
    rows = [np.frombuffer(_boxes.read_input(image, os.path.join(folder, n))[0],
                          np.float32).reshape(shape[1:]) for n in names(folder)]
    np.save(out, np.stack(rows))


def compare(path, folder, float_path):
    program, ours, theirs = vtadev.Program(path), {}, {}
    side = program.inputs[0].shape[2]
    with open(float_path, encoding="ascii") as file:
        for name, line in zip(names(folder), file):
            picture = os.path.join(folder, name)
            ours[name] = program.boxes(picture, LEAST)
            size = size_of(picture)
            theirs[name] = [(*np.clip(np.array(b[:4]) * max(size) / side, 0, np.tile(size, 2)), b[4])
                            for b in json.loads(line)]
    met = [max((overlap(box, b) for b in ours[name]), default=0)
           for name, boxes in theirs.items() for box in boxes if box[4] >= LIKELY]
    good = [m for m in met if m >= 0.5]
    precision = average_precision(ours, theirs)
    print(f"# {len(ours)} pictures: {len(good)} of {len(met)} boxes of the float model are found, with a "
          f"mean overlap of {np.mean(good):.3f}; average precision {precision:.1f}")
    for condition, what in ((len(ours) == 50 and len(met) >= 100, "50 pictures show 100 faces"),
                            (len(good) >= 0.99 * len(met), "99 of 100 boxes are found"),
                            (precision >= 99, "the average precision is within a point"),
                            (np.mean(good) > 0.9, "boxes overlap by 0.9")):
        print(f"{'ok' if condition else 'not ok'} - {what}")


if sys.argv[1] == "inputs":
    write_inputs(*sys.argv[2:])
else:
    compare(*sys.argv[2:])
