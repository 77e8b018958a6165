#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Calls and includes go down, as docs/architecture.md has it. Prints TAP.

    floors.py vta.ko

In the module, each file calls files of lower floors only. The floors are the table of the
section "The module", the highest first. The objects are those that vta.ko was linked from. A
call is a symbol, of a function or of data, that one object needs and another one has; what a
header has inline is no call.

In the house, each room (a folder of sources, or several) includes and calls the rooms that its
row in the table of the section "The house" lists, all of them, and no other. These rooms are
in lower rows. Calls are those of the objects in build/lib and build/tools.

Then calls and arrows are made up that go up, or sideways, and each must be found.
"""

import collections
import itertools
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = "docs/architecture.md"
# The include paths of all parts together.
INCLUDE_PATH = ("card", "compiler", "compiler/api", "contract", "uapi", "tools/cli", "libvtadev", *(
    f"libvtadev/{room}" for room in ("ops", "cpu", "program", "picture", "tvm", "devices")))


def table(section, name):
    """The rows of a section's table with two columns: in each cell the names of that form."""
    text = re.search(rf"^## {section}$.*?(?=^## )", (TOP / DOCUMENT).read_text(), re.S | re.M)
    rows = (line.strip("|").split("|") for line in text[0].splitlines() if line.startswith("|"))
    return [[re.findall(rf"`({name})`", cell) for cell in row] for row in rows if len(row) == 2]


def floors():
    """From above: the names of each floor's files."""
    return [names for _, names in table("The module", r"vta_\w+") if names]


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


class House:
    """The rooms, from above: each a list of folders, with the rooms that it lists."""

    def __init__(self):
        rows = [row for row in table("The house", r"[\w/-]+") if row[0]]
        self.rooms = [folders for folders, _ in rows]
        self.row = {folder: n for n, folders in enumerate(self.rooms) for folder in folders}
        self.listed = {(n, self.row.get(folder, -1)) for n, (_, below) in enumerate(rows)
                       for folder in below}
        names = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.cl"], cwd=TOP, check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split()
        self.files = {name for name in names if not name.startswith(("tests/", "kmod/"))}
        self.homeless = sorted(name for name in self.files if self.room(name) is None)

    def room(self, name):
        """The row of a file's room: that of the nearest folder which is one."""
        for folder in pathlib.PurePath(name).parents:
            if str(folder) in self.row:
                return self.row[str(folder)]
        return None

    def text(self, row):
        return ", ".join(self.rooms[row]) if row >= 0 else "a room that is not in the table"

    def includes(self):
        """Triples: a room, the room that it includes, and where."""
        for name in sorted(self.files):
            here = self.room(name)
            folder = str(pathlib.PurePath(name).parent)
            text = (TOP / name).read_text()
            for header in re.findall(r'^#\s*include [<"]([^>"]+)[>"]', text, re.M):
                found = [self.room(f"{root}/{header}") for root in (folder, *INCLUDE_PATH)
                         if f"{root}/{header}" in self.files]
                if found and found[0] != here:
                    yield here, found[0], f"{name} includes {header}"

    def calls(self):
        """The same of calls between objects."""
        source = {}
        for depends in itertools.chain(*((TOP / "build" / place).rglob("*.d")
                                         for place in ("lib", "tools"))):
            words = depends.read_text().replace("\\\n", " ").split()
            obj = depends.with_suffix(".o")
            if len(words) > 1 and words[1] in self.files and obj.exists():
                source[obj] = words[1]
        owner = collections.defaultdict(set)
        for obj, name in source.items():
            for symbol in symbols(obj, "--defined-only", "--extern-only"):
                owner[symbol].add(name)
        for obj, name in source.items():
            for symbol in symbols(obj, "--undefined-only"):
                rooms = {self.room(other) for other in owner[symbol]}
                if len(rooms) == 1 and self.room(name) not in rooms:
                    yield self.room(name), *rooms, f"{name} calls {symbol}()"

    def wrong(self, arrows):
        """The arrows that do not go down, or are not listed, as texts."""
        for here, there, where in sorted(arrows):
            if there <= here:
                yield f"{where}: {self.text(here)} does not stand above {self.text(there)}"
            elif (here, there) not in self.listed:
                yield f"{where}: {self.text(here)} does not list {self.text(there)}"


def check_house():
    """Returns true if the house is as its table says."""
    house = House()
    for name in house.homeless:
        print(f"# {name} is in no room")
    print(f"{'not ok' if house.homeless else 'ok'} 4 {len(house.files)} sources are in "
          f"{len(house.rooms)} rooms")
    if house.homeless:
        return False

    arrows = set(house.includes()) | set(house.calls())
    bad = list(house.wrong(arrows))
    bad += [f"{house.text(here)} lists {house.text(there)} and does not use it" for here, there in
            sorted(house.listed - {(here, there) for here, there, _ in arrows})]
    print(*(f"# {line}" for line in bad), sep="\n", end="\n" if bad else "")
    print(f"{'not ok' if bad else 'ok'} 5 {len(house.listed)} arrows between rooms go down and "
          "are listed")

    lies = [(n, n - 1, "up by one") for n in range(1, len(house.rooms))]
    lies += [(0, n, "not listed") for n in range(1, len(house.rooms)) if (0, n) not in house.listed]
    missed = [lie for lie in lies if not list(house.wrong({lie}))]
    print(f"{'not ok' if missed else 'ok'} 6 {len(lies)} arrows that are made up are found")
    return not bad and not missed


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
    print("TAP version 13\n1..6")

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
    return not check_house() or not good or bool(missed)


sys.exit(main())
