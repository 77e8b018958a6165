#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The fault matrix as a table: report.py OUT LOG... writes OUT/matrix.txt and .html."""

import html
import os
import sys


def read(path, names, table):
    """Adds to {state: {kind: cell}}, and to names what the log lists as states and kinds."""
    cell, why = None, ""
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if line.startswith(("# states ", "# kinds ")):
                what, *listed = line.split()[1:]
                names[what] = listed
            elif line.startswith("# cell "):
                cell = line.split()[2:]
                why = ""
            elif cell and line.startswith("# "):
                why = line[2:].strip()
            elif cell and line.startswith(("ok ", "not ok ")):
                state, kind, back, result, ms = cell
                table.setdefault(state, {})[kind] = {
                    "ok": line.startswith("ok "), "back": back, "result": result,
                    "ms": int(ms), "why": why,
                }
                cell = None


SIGNS = {"works": "+", "rebind": "b", "replug": "p"}


def summary(table):
    cells = [cell for row in table.values() for cell in row.values()]
    kinds = {kind for row in table.values() for kind in row}
    good = sum(cell["ok"] for cell in cells)
    return (f"{len(kinds)} kinds of fault x {len(table)} states: "
            f"{len(cells)} cells, {good} passed, {len(cells) - good} failed")


LEGEND = ("+ the card works afterwards, b once the driver is bound again, "
          "p once the card is put in again, F failed, . no such cell")


def sign(cell):
    if not cell:
        return "."
    return SIGNS.get(cell["back"], "?") if cell["ok"] else "F"


def write_text(table, kinds, path):
    width = max(map(len, kinds), default=0)
    with open(path, "w", encoding="utf-8") as out:
        for at, state in enumerate(table):
            print(" " * width, " |" * at, "", state, file=out)
        for kind in kinds:
            signs = [sign(row.get(kind)) for row in table.values()]
            print(kind.ljust(width), " " + " ".join(signs), file=out)
        print(f"\n{LEGEND}\n{summary(table)}", file=out)
        for state, row in table.items():
            for kind, cell in row.items():
                if not cell["ok"]:
                    print(f"FAILED {state}.{kind}: {cell['why']}", file=out)


STYLE = """body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}
td,th{border:1px solid #ccc;padding:2px 6px;text-align:center}
th.kind{text-align:left;font-weight:normal}td.ok{background:#d9f2d9}
td.b,td.p{background:#fff2cc}td.bad{background:#f4b6b6}td.none{background:#eee}"""


def write_html(table, kinds, path):
    def td(cell):
        if not cell:
            return '<td class="none"></td>'
        style = {"works": "ok", "rebind": "b", "replug": "p"}.get(cell["back"], "bad")
        title = html.escape(f"{cell['result']} ({cell['ms']} ms) {cell['why']}".strip())
        return (f'<td class="{style if cell["ok"] else "bad"}" title="{title}">'
                f"{sign(cell)}</td>")

    with open(path, "w", encoding="utf-8") as out:
        print(f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Fault matrix'
              f"</title><style>{STYLE}</style><h1>Fault matrix</h1>"
              f"<p>{summary(table)}<p>{html.escape(LEGEND)}", file=out)
        heads = "".join(f"<th>{html.escape(state)}</th>" for state in table)
        print(f"<table><tr><th></th>{heads}</tr>", file=out)
        for kind in kinds:
            cells = "".join(td(row.get(kind)) for row in table.values())
            print(f'<tr><th class="kind">{html.escape(kind)}</th>{cells}</tr>', file=out)
        print("</table></html>", file=out)


def main():
    names, found = {"states": [], "kinds": []}, {}
    for path in sys.argv[2:]:
        read(path, names, found)
    table = {state: found[state] for state in names["states"] if state in found}
    kinds = [kind for kind in names["kinds"] if any(kind in row for row in table.values())]
    write_text(table, kinds, os.path.join(sys.argv[1], "matrix.txt"))
    write_html(table, kinds, os.path.join(sys.argv[1], "matrix.html"))
    print("# " + summary(table))


if __name__ == "__main__":
    main()
