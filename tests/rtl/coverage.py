#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
coverage.py - lines and toggles of the core's RTL that the tests reach, by Verilator

    coverage.py [--least 95] FILE.dat...

A point is a line, a branch, or one bit of a signal of a module that has changed. It is reached if it
was in any instance, in any configuration. Points that are not are listed. tests/rtl/coverage.txt has
those that do not count: each line is a module, regular expressions of signals' bits, and the reason.
The status is 1 if a lower share than --least (percent) is reached, or if an exclusion has no point that
is not reached.
"""

import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CORE = os.path.join(HERE, "../../card/rtl/core")
EXCLUSIONS = os.path.join(HERE, "coverage.txt")
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
                module = os.path.basename(field["f"])[:-len(".sv")]
                if module not in texts:
                    with open(os.path.join(CORE, module + ".sv"), encoding="utf-8") as source:
                        texts[module] = source.read().split("\n")
                number = int(field["l"])
                name = field["o"] if kind == "toggle" else \
                    f"{number}: {texts[module][number - 1].strip()} ({field['o']})"
                counts = points.setdefault(KINDS[kind], {})
                counts[module, name] = counts.get((module, name), 0) + int(m.group(2))
    return points


def read_exclusions():
    """Of each line: its number, a module or *, and a pattern of signals' bits."""
    with open(EXCLUSIONS, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            words, _, reason = line.strip().partition("  # ")
            if not words or words.startswith("#"):
                continue
            module, *names = words.split()
            if not names or not reason:
                raise SystemExit(f"{EXCLUSIONS}:{number}: no signals, or no reason")
            yield number, module, re.compile("|".join(names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--least", type=float, default=95)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()

    points = read_points(args.files)
    failed = not points
    excluded = set()
    for number, module, names in read_exclusions():
        if "toggles" not in points:
            break
        matched = {p: count for p, count in points["toggles"].items()
                   if module in ("*", p[0]) and names.fullmatch(p[1])}
        excluded |= set(matched)
        if all(matched.values()):
            print(f"not ok coverage.txt:{number} excludes nothing that is not reached")
            failed = True
    for kind, counts in points.items():
        counted = {p: count for p, count in counts.items() if p not in excluded}
        missed = sorted(p for p, count in counted.items() if not count)
        share = 100.0 * (len(counted) - len(missed)) / max(len(counted), 1)
        for module, name in missed:
            print(f"# not reached: {module} {name}")
        print(f"{'ok' if share >= args.least else 'not ok'} {share:.1f} % of {len(counted)} {kind}, "
              f"{len(counts) - len(counted)} excluded")
        failed |= share < args.least
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
