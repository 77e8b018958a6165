#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the processor time of a network's run by ONNX Runtime, in seconds; in the zoo's root.

    time_onnxruntime.py DIRECTORY

DIRECTORY is what export.py wrote. All optimisations, one thread, the last sample; of the runs of a
second, 3 at least, the least.
"""
import pathlib
import sys
import time

import numpy
import onnxruntime

path = pathlib.Path(sys.argv[1])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(path / "model.onnx", options,
                                       providers=["CPUExecutionProvider"])
inputs = {given.name: numpy.load(path / f"in.{i}.npy")[-1]
          for i, given in enumerate(session.get_inputs())}
times = []
while len(times) < 4 or sum(times) < 1:
    begin = time.process_time()
    session.run(None, inputs)
    times.append(time.process_time() - begin)
print(f"{min(times[1:]):.6f}")
