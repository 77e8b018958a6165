#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What tests have executed of the module: report.py BUILD DIR [LEAST_LINES LEAST_BRANCHES]

BUILD is where the module was built (*.gcno); DIR has a directory for each boot with
gcov/*.gcda of it. Prints TAP: per file the lines and branches that were executed, the
lines that never were, and whether the shares (in percent) are reached.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

KMOD = "kmod/"


class Source:
    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()
        self.functions = {}


def gcov(build, boot):
    """The answers of gcov for one boot, which wants notes and data side by side."""
    with tempfile.TemporaryDirectory() as tmp:
        names = [name for name in os.listdir(boot) if name.endswith(".gcda")]
        for name in names:
            shutil.copy(os.path.join(boot, name), tmp)
            shutil.copy(os.path.join(build, KMOD, name[:-5] + ".gcno"), tmp)
        for name in names:
            done = subprocess.run(["gcov", "-b", "-j", "-t", name], cwd=tmp, check=True,
                                  capture_output=True, text=True)
            yield json.loads(done.stdout)


def add(sources, answer):
    for entry in answer["files"]:
        # Headers of the kernel are not ours, nor what its macros make of tracepoints.
        if KMOD not in entry["file"] or entry["file"].endswith("vta_trace.h"):
            continue
        source = sources[KMOD + entry["file"].rsplit(KMOD, 1)[1]]
        for line in entry["lines"]:
            number = line["line_number"]
            source.lines[number] += line["count"]
            for i, branch in enumerate(line["branches"]):
                source.branches[number, i] += branch["count"]


def share(counts):
    hit = sum(1 for count in counts.values() if count)
    return hit, len(counts), 100 * hit / len(counts) if counts else 100


def ranges(numbers):
    """[1, 2, 3, 7] is "1-3 7"."""
    out = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in out)


def main():
    build, top = sys.argv[1:3]
    least = [float(arg) for arg in sys.argv[3:5]] or [0, 0]
    sources = collections.defaultdict(Source)
    boots = 0
    for boot in sorted(os.listdir(top)):
        path = os.path.join(top, boot, "gcov")
        if os.path.isdir(path):
            boots += 1
            for answer in gcov(build, path):
                add(sources, answer)

    lines, branches = collections.Counter(), collections.Counter()
    print("TAP version 13\n1..2")
    for name, source in sorted(sources.items()):
        missed = sorted(number for number, count in source.lines.items() if not count)
        print(f"# {name:24} {share(source.lines)[2]:5.1f} % of {len(source.lines):4} lines"
              f" {share(source.branches)[2]:5.1f} % of {len(source.branches):4} branches"
              f"  missed: {ranges(missed) or 'nothing'}")
        lines.update({(name, key): count for key, count in source.lines.items()})
        branches.update({(name, key): count for key, count in source.branches.items()})
    failed = False
    for number, (what, counts) in enumerate((("lines", lines), ("branches", branches)), 1):
        hit, total, percent = share(counts)
        good = total and percent >= least[number - 1]
        failed |= not good
        print(f"{'' if good else 'not '}ok {number} {what}: {hit} of {total} ({percent:.1f} %)"
              f" in {boots} boots, at least {least[number - 1]:g} %")
    sys.exit(failed)


if __name__ == "__main__":
    main()
