#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draw handwritten digits above the scores that a network gives them.

    pictures.py PROGRAM TESTSET OUT.png

Takes python3-matplotlib and python3-numpy. Run it as a whole, or cell by cell where an editor
knows the marks # %%.
"""

# %% The program, and digits: 16 bytes of header, then 28 x 28 pixels of each.
import sys

import matplotlib
import numpy as np
import vtadev

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COUNT = 8
program = vtadev.Program(sys.argv[1])
pixels = np.fromfile(sys.argv[2], np.uint8, offset=16)[:COUNT * 28 * 28]
images = (pixels >> 1).astype(np.int8).reshape(COUNT, 1, 28, 28)

# %% All of them at once: several runs are in flight, the results are one array.
scores = np.asarray(program.batch(images)).reshape(COUNT, 10)

# %% Each digit above its ten scores, the highest in another colour.
figure, axes = plt.subplots(2, COUNT, figsize=(2 * COUNT, 4), constrained_layout=True)
for image, score, (above, below) in zip(images, scores, axes.T):
    above.imshow(image[0], cmap="gray_r")
    above.set_title(f"{score.argmax()}")
    above.axis("off")
    below.bar(range(10), score, color=["C1" if i == score.argmax() else "C0" for i in range(10)])
    below.set_xticks(range(10))
axes[1, 0].set_ylabel("score")
figure.suptitle(f"{program.name}: {program.cycles} cycles a digit, on {program.device.info['card'].name}")
figure.savefig(sys.argv[3])
program.close()
