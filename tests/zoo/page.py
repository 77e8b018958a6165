#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Put the table that make check-zoo wrote into a page.

    page.py ZOO.md PAGE.md

Rows of networks that the page has are replaced, new ones follow its last row. The paragraph of sums
behind the table is replaced if ZOO.md has all networks of the page; else the page keeps its own.
"""
import pathlib
import sys

RULE = "| --- |"


def name_of(row):
    return row.split("|")[1].strip()


def split(text):
    """The lines before a table of networks, its rows by name, and the lines behind it."""
    lines = text.split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("| network | nodes |")) + 2
    if not lines[begin - 1].startswith(RULE):
        raise ValueError("the table has no rule below its head")
    end = next(i for i in range(begin, len(lines)) if not lines[i].startswith("|"))
    return lines[:begin], {name_of(line): line for line in lines[begin:end]}, lines[end:]


def replace_sums(rest, sums):
    """The first paragraph that begins with "In all, " becomes @sums."""
    begin = next(i for i, line in enumerate(rest) if line.startswith("In all, "))
    end = next((i for i in range(begin, len(rest)) if not rest[i]), len(rest))
    return rest[:begin] + sums + rest[end:]


def main():
    measured, page = map(pathlib.Path, sys.argv[1:3])
    head, new, behind = split(measured.read_text())
    before, rows, rest = split(page.read_text())
    if head[-2] != before[-2]:
        sys.exit(f"{page}: its table has other columns than {measured}")
    if set(rows) <= set(new):
        rest = replace_sums(rest, [line for line in behind if line])
    rows.update(new)
    page.write_text("\n".join(before + list(rows.values()) + rest))


main()
