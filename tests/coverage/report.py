#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Report the coverage of the module by tests.

    report.py BUILD PLAIN DIR [LEAST_LINES LEAST_BRANCHES]

BUILD is where the module was built (*.gcno); DIR has a directory for each boot with
gcov/*.gcda of it. PLAIN is where it was built once more, without UBSAN. Prints TAP: per
file the lines and branches that were executed, the lines that never were and those whose
conditions have never come out both ways, and whether the shares (in percent) are reached.

Branches that count are those of conditions in the module's source. Others are in it, too:

* Macros and inline functions of the kernel (lockdep, rate limits, polling) bring theirs
  to the lines where they are used. So statements count that have a condition (if, while,
  for, switch, for_each, &&, ||, ?), and all others do not.
* UBSAN checks each bool and shift, and its reports must never be executed: they fail the
  boot. The build without it has the number of branches of the line itself. For each check
  of UBSAN on top of those, one arm is left out that was not executed, and one that was.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

KMOD = "kmod/"
CONDITION = re.compile(r"\b(?:if|while|for|switch)\b|&&|\|\||\?|for_each")
# Comments, strings, characters and preprocessor lines: what has no conditions.
ASIDE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
                   r'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)


def conditions(path):
    """The numbers of the lines whose statements have a condition."""
    with open(path, encoding="utf-8") as file:
        text = ASIDE.sub(lambda aside: re.sub(r"[^\n]", " ", aside[0]), file.read())
    found, start, depth = set(), 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char in ";{}" and not depth:
            statement = text[start:at].lstrip()
            if CONDITION.search(statement):
                last = text.count("\n", 0, at) + 1
                found.update(range(last - statement.count("\n"), last + 1))
            start = at + 1
    return found


class Source:
    def __init__(self, path):
        self.lines = collections.Counter()
        self.branches = collections.defaultdict(collections.Counter)
        self.conditions = conditions(path)

    def counted(self, plain):
        """For each line: how many of its branches were executed, and how many there are."""
        for number, branches in sorted(self.branches.items()):
            there = plain[number]
            if number in self.conditions and there:
                hit = sum(1 for count in branches.values() if count)
                watched = max(0, len(branches) - there) // 2
                yield number, max(0, min(hit - watched, there)), there


def gcov(build, boot=None):
    """The answers of gcov for one boot or none, which wants notes and data side by side."""
    with tempfile.TemporaryDirectory() as tmp:
        suffix = ".gcda" if boot else ".gcno"
        names = [name[:-5] for name in os.listdir(boot or build) if name.endswith(suffix)]
        for name in names:
            shutil.copy(os.path.join(build, name + ".gcno"), tmp)
            if boot:
                shutil.copy(os.path.join(boot, name + ".gcda"), tmp)
        for name in names:
            done = subprocess.run(["gcov", "-b", "-j", "-t", name + suffix], cwd=tmp, check=True,
                                  capture_output=True, text=True)
            for entry in json.loads(done.stdout)["files"]:
                # Headers of the kernel are not ours, nor what its macros make of tracepoints.
                if KMOD in entry["file"] and not entry["file"].endswith("vta_trace.h"):
                    yield entry["file"].rsplit(KMOD, 1)[1], entry["lines"]


def plain_branches(build):
    """Count the branches of each line of a file without UBSAN."""
    plain = collections.defaultdict(collections.Counter)
    for name, lines in gcov(build):
        for line in lines:
            number = line["line_number"]
            plain[name][number] = max(plain[name][number], len(line["branches"]))
    return plain


def add(source, lines):
    for line in lines:
        number = line["line_number"]
        source.lines[number] += line["count"]
        for i, branch in enumerate(line["branches"]):
            source.branches[number][i] += branch["count"]


def ranges(numbers):
    """[1, 2, 3, 7] is "1-3 7"."""
    out = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in out)


def percent(part):
    return 100 * part[0] / part[1] if part[1] else 100


def report(name, source, plain):
    """Prints what is missed of a file; returns executed and all lines, and branches."""
    missed = [number for number, count in sorted(source.lines.items()) if not count]
    lines = len(source.lines) - len(missed), len(source.lines)
    counted = list(source.counted(plain))
    branches = sum(hit for _, hit, _ in counted), sum(there for _, _, there in counted)
    one_way = [number for number, hit, there in counted
               if hit < there and source.lines[number]]
    print(f"# {KMOD + name:24} {percent(lines):5.1f} % of {lines[1]:4} lines"
          f" {percent(branches):5.1f} % of {branches[1]:4} branches")
    for what, numbers in ("lines", missed), ("conditions", one_way):
        if numbers:
            print(f"#   {what} missed: {ranges(numbers)}")
    return lines, branches


def main():
    build, plain, top = sys.argv[1:4]
    least = [float(arg) for arg in sys.argv[4:6]] or [0, 0]
    build = os.path.join(build, KMOD)
    sources = {}
    boots = 0
    for boot in sorted(os.listdir(top)):
        path = os.path.join(top, boot, "gcov")
        if os.path.isdir(path):
            boots += 1
            for name, lines in gcov(build, path):
                if name not in sources:
                    sources[name] = Source(os.path.join(build, name))
                add(sources[name], lines)

    plain = plain_branches(os.path.join(plain, KMOD))
    print("TAP version 13\n1..2")
    parts = [report(name, source, plain[name]) for name, source in sorted(sources.items())]
    failed = False
    for number, what in enumerate(("lines", "branches")):
        whole = [sum(part[number][i] for part in parts) for i in (0, 1)]
        good = whole[1] and percent(whole) >= least[number]
        failed |= not good
        print(f"{'' if good else 'not '}ok {number + 1} {what}: {whole[0]} of {whole[1]}"
              f" ({percent(whole):.1f} %) in {boots} boots, at least {least[number]:g} %")
    sys.exit(failed)


if __name__ == "__main__":
    main()
