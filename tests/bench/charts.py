#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the chart of a part of the benchmarks.

    charts.py PART DATA OUT RUN

DATA is what the part has written as OUT/PART.dat: columns by white space, a row for each point or
name; RUN describes the machine. Of a part without a chart nothing is drawn.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/pictures"))
import chart  # pylint: disable=wrong-import-position

# Bars: a name, then a column for each series. Lines: x, then columns, of which "columns" has the
# name, the number, the colour and whether the line is dashed.
CHARTS = {
    "busy": {"title": "How busy the card is, in modelled time", "x": "a job, us",
             "y": "share of time", "log": (10, None), "within": (0, 1.05),
             "columns": [("one job at a time", 1, 0, False), ("2 under way", 2, 1, False),
                         ("8 under way", 3, 2, False)], "limits": [(0.99, "0.99")]},
    "conv": {"title": "Layers of ResNet-18: share of the roofline", "y": "share of the roofline",
             "subject": "cycles by the card's formula, the same on every machine",
             "bars": ["share"], "limits": [(0.7, "target of 3x3 layers: 0.7")], "most": 1.05},
    "emulator": {"title": "GEMM of the emulated core", "y": "millions of micro-ops a second",
                 "bars": ["plain loops", "emulated core"]},
    "floor": {"title": "A launch and its end, without the descriptor's own time",
              "y": "us, median", "bars": ["time"]},
    "memory": {"title": "Copies on the emulated card", "x": "bytes",
               "y": "speed / memcpy by the emulator", "log": (2, 10), "within": (0.001, 3),
               "columns": [("host to card, coherent", 1, 0, False), ("host to card, pinned", 2, 1, False),
                           ("host to card, pinned, scattered", 3, 2, False),
                           ("host to card, library", 5, 3, False),
                           ("card to host, coherent", 6, 0, True), ("card to host, pinned", 7, 1, True),
                           ("card to host, pinned, scattered", 8, 2, True),
                           ("card to host, library", 10, 3, True),
                           ("card to card", 11, 4, False)],
               "limits": [(0.95, "0.95")]},
    "model": {"title": "Real networks: share of the roofline", "y": "share of the roofline",
              "subject": "cycles by the card's formula, the same on every machine",
              "bars": ["share"], "limits": [(0.7, "0.7")], "most": 1.05},
    "polling": {"title": "A layer of a network of eight: rows x inputs x outputs",
                "y": "us, median", "bars": ["launch, poll a register, next",
                                            "launch, wait, next", "all by one doorbell"]},
    "pool": {"title": "One program on several cards, in modelled time", "x": "cards",
             "y": "runs in a second of the cards' time",
             "columns": [("measured", 1, 0, False), ("cards / time of a run", 2, 1, True)]},
    "scaling": {"title": "Digits by MPI on 1 to 8 cards", "x": "cards",
                "y": "times as fast as one card",
                "columns": [("digits, card time", 1, 0, False), ("linear", 2, 1, True)]},
    "scale": {"title": "Processes on one card, in modelled time", "x": "processes", "y": "ratio",
              "log": (2, None), "within": (0.9, 1.2),
              "columns": [("all together / one alone", 1, 0, False),
                          ("most / least of one process", 2, 1, False)],
              "limits": [(0.98, "0.98"), (1.1, "1.1")]},
}


def read(path):
    """Rows of words; the first may be a heading."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row and not row[0].startswith(("#", "bytes"))]


def points(rows, column):
    return [(float(row[0]), float(row[column])) for row in rows if row[column] != "NaN"]


def draw(part, path, run):
    """The chart as text, or None."""
    how = CHARTS.get(part)
    rows = read(path) if how and path.exists() else []
    if not rows:
        return None
    note = [how["subject"], run] if "subject" in how else run
    limits = how.get("limits", ())
    if "bars" in how:
        series = [(name, [float(row[n + 1]) for row in rows]) for n, name in enumerate(how["bars"])]
        return chart.bars(how["title"], note, how["y"], [row[0] for row in rows], series, limits,
                          how.get("most"))
    series = [(name, points(rows, column), colour, dashed)
              for name, column, colour, dashed in how["columns"]]
    return chart.lines(how["title"], note, how["x"], how["y"], series, limits,
                       how.get("log", (None, None)), how.get("within"))


if __name__ == "__main__":
    PART, DATA, OUT, RUN = sys.argv[1:]
    TEXT = draw(PART, Path(DATA), RUN)
    if TEXT:
        Path(OUT + ".tmp").write_text(TEXT, encoding="utf-8")
        os.rename(OUT + ".tmp", OUT)
