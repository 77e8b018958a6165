#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
coverage.py - lines and toggles of the core's RTL that the tests reach, by Verilator

    coverage.py [--least 95] FILE.dat...

A point is a line, a branch, or one bit of a signal of a module that has changed. It is reached if it
was in any instance. Those that are not are listed. The status is 1 if a lower share than --least
(percent) is reached.
"""

import argparse
import os
import re
import sys

CORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../card/rtl/core")
POINT = re.compile(r"C '(.*)' (\d+)$", re.S)
KINDS = {"line": "lines and branches", "branch": "lines and branches", "toggle": "toggles"}


def read_points(paths):
    """Counts by kind, then by the place: a module with a signal's bit, or with a line's text."""
    points, texts = {}, {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = POINT.match(line.rstrip("\n"))
                if not m:
                    continue
                field = dict(x.split("\x02", 1) for x in m.group(1).split("\x01") if x)
                kind = field["page"].split("/")[0][2:]
                module = os.path.basename(field["f"])
                if module not in texts:
                    with open(os.path.join(CORE, module), encoding="utf-8") as source:
                        texts[module] = source.read().split("\n")
                number = int(field["l"])
                name = field["o"] if kind == "toggle" else \
                    f"{texts[module][number - 1].strip()} ({field['o']})"
                place = f"{module}:{number}: {name}"
                counts = points.setdefault(KINDS[kind], {})
                counts[place] = counts.get(place, 0) + int(m.group(2))
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--least", type=float, default=95)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()

    points = read_points(args.files)
    failed = not points
    for kind, counts in points.items():
        missed = sorted(place for place, count in counts.items() if not count)
        share = 100.0 * (len(counts) - len(missed)) / len(counts)
        for place in missed:
            print(f"# not reached: {place}")
        print(f"{'ok' if share >= args.least else 'not ok'} {share:.1f} % of {len(counts)} {kind}")
        failed |= share < args.least
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
