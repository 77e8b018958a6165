#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Finish a page of section 1 that help2man has made.

    man1.py PAGE DATE OUT

The help of each verb becomes a subsection with its synopsis, the list of verbs gets sentences, and
long lines of text are folded.
"""

import re
import sys
import textwrap
from pathlib import Path

WIDTH = 78
# "vtactl list:" and its usage, as help2man shows help texts behind the first
VERB = re.compile(r"\.PP\n(?P<verb>\w+ \w+):\nUsage: (?P<usage>.*)\n"
                  r"(?P<more>(?:\.IP\n\[.*\n|\.TP\nor:\n.*\n)*)")
LISTED = re.compile(r'(?<=\.SS "Verbs:"\n)(?:\.TP\n\S+\n(?:[^.].*\n)+)+')


def bold(usage, verb):
    """The synopsis of a verb, its name in bold."""
    name = r"\fB" + verb + r"\fR"
    return usage.replace(verb, name, 1)


def subsection(match):
    verb = match["verb"]
    lines = [f'.SS "{verb}"', ".HP", bold(match["usage"], verb)]
    for line in match["more"].splitlines():
        if line.startswith("["):
            lines.append(line)
        elif not line.startswith((".", "or:")):
            lines += [".HP", bold(line, verb)]
    return "\n".join(lines) + "\n"


def sentences(match):
    """Each verb's words as a sentence."""
    return re.sub(r"(?m)^(\.TP\n\S+\n)((?:[^.].*\n)+)",
                  lambda m: m[1] + m[2][0].upper() + m[2][1:].rstrip("\n.") + ".\n", match[0])


def fold(text):
    """Folds lines of text, but not tags, which are one line, nor what is shown as it is."""
    out, filled, tag = [], True, False
    for line in text.split("\n"):
        if line in (".nf", ".EX") or line.startswith(".nf "):
            filled = False
        elif line in (".fi", ".EE"):
            filled = True
        if line.startswith(".") or not filled or tag or len(line) <= 80:
            out.append(line)
        else:
            out += textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
        tag = line.startswith(".TP")
    return "\n".join(out)


def main():
    page, date, out = sys.argv[1:]
    text = Path(page).read_text(encoding="utf-8")
    text = re.sub(r'^(\.TH .*?)"[A-Z][a-z]* \d{4}"', rf'\1"{date}"', text, flags=re.M)
    text = VERB.sub(subsection, text)
    text = LISTED.sub(sentences, text)
    text = re.sub(r'(?m)^(\.SS ".*):"$', r'\1"', text)
    text = re.sub(r"(?<![\w\\])([a-z]\w+)\(\)", r"\\fB\1\\fR()", text)
    Path(out).write_text(fold(text), encoding="utf-8")


main()
