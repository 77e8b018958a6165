#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each file of kmod/ calls files of lower floors only, as the symbols of its object say.

    floors.py vta.ko

The floors are the table of docs/architecture.md, "The module", the highest first. The
objects are those that vta.ko was linked from. A call is a symbol, of a function or of data,
that one object needs and another one has; what a header has inline is no call. Prints TAP.

Then calls are made up that go up, or sideways, and each must be found.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = "docs/architecture.md"


def floors():
    """From above: the names of each floor's files."""
    module = re.search(r"^## The module$.*?(?=^## )", (TOP / DOCUMENT).read_text(), re.S | re.M)
    found = []
    for line in module[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = re.findall(r"`(vta_\w+)`", cells[1]) if len(cells) == 2 else []
        if names:
            found.append(names)
    return found


def symbols(obj, *options):
    out = subprocess.run(["nm", "--format=posix", *options, obj], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[0] for line in out.splitlines()}


def calls_of(objects):
    """Triples: a file, the file that it calls, and the symbol."""
    owner = {symbol: obj.stem for obj in objects
             for symbol in symbols(obj, "--defined-only", "--extern-only")}
    return {(obj.stem, owner[symbol], symbol) for obj in objects
            for symbol in symbols(obj, "--undefined-only") if symbol in owner}


def wrong(calls, house):
    """The calls that do not go down."""
    floor = {name: n for n, names in enumerate(house) for name in names}
    return sorted(call for call in calls if floor[call[0]] >= floor[call[1]])


def made_up(house):
    """Calls that go up by one floor and by all, and to a neighbour."""
    yield house[-1][0], house[0][0], "from the lowest floor to the highest"
    for lower, upper in zip(house[1:], house):
        yield lower[0], upper[-1], "up by one floor"
    for files in house:
        if len(files) > 1:
            yield files[0], files[1], "to a neighbour"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: floors.py vta.ko")
    module = pathlib.Path(sys.argv[1])
    # A build directory can have objects of sources that have gone.
    objects = sorted(module.parent / "kmod" / name for name in
                     set(re.findall(r"\bvta_\w+\.o\b", module.with_suffix(".mod").read_text())))
    house = floors()
    listed = sorted(name for names in house for name in names)
    sources = sorted(path.stem for path in (TOP / "kmod").glob("*.c"))
    print("TAP version 13\n1..3")

    known = listed == sources == [obj.stem for obj in objects]
    if not known:
        print(f"# in the table: {listed}\n# in kmod/: {sources}\n"
              f"# objects: {[obj.stem for obj in objects]}")
    print(f"{'ok' if known else 'not ok'} 1 {len(sources)} files of kmod/ are in the table, once")
    if not known:
        return 1

    calls = calls_of(objects)
    bad = wrong(calls, house)
    for caller, callee, symbol in bad:
        print(f"# {caller} calls {callee}: {symbol}()")
    good = calls and not bad
    print(f"{'ok' if good else 'not ok'} 2 {len(calls)} calls go down {len(house)} floors")

    lies = list(made_up(house))
    missed = [lie for lie in lies if lie not in wrong(calls | {lie}, house)]
    for caller, callee, what in missed:
        print(f"# not found: {caller} calls {callee}, {what}")
    print(f"{'not ok' if missed else 'ok'} 3 {len(lies)} calls that are made up are found")
    return not good or bool(missed)


sys.exit(main())
