#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Copy ONNX's own tests of single nodes, of tensors alone, with their inputs as arrays.

    nodes.py DIRECTORY
"""
import pathlib
import sys

import numpy
import onnx
from onnx import numpy_helper

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")


def inputs_of(model):
    """The arrays, or None: a sequence, an optional or a text is no array."""
    files = sorted((model.parent / "test_data_set_0").glob("input_*.pb"),
                   key=lambda path: int(path.stem.split("_")[1]))
    try:
        arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
                  for path in files]
    except Exception:   # of protobuf or numpy
        return None
    return None if any(a.dtype.kind not in "fiub" for a in arrays) else arrays


def main():
    where = pathlib.Path(sys.argv[1])
    for model in sorted(DATA.glob("node/*/model.onnx")) + sorted(DATA.glob("pytorch-*/*/model.onnx")):
        arrays = inputs_of(model)
        if arrays is None:
            continue
        to = where / model.parent.name
        to.mkdir(parents=True)
        made = onnx.load(model)
        # The files of PyTorch are of opset 6, which the compiler does not read.
        for opset in made.opset_import:
            opset.version = max(opset.version, 7 if not opset.domain else 1)
        (to / "model.onnx").write_bytes(made.SerializeToString())
        numpy.savez(to / "inputs.npz", *arrays)


if __name__ == "__main__":
    main()
