#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The numbers of the RTL against the headers that define them. Prints TAP.

vta_isa_pkg.sv repeats opcodes, memories, flags and cycles of contract/vta_isa.h, and reasons and
accesses of uapi/vta.h; vta_card_pkg.sv these, operations of descriptors, and page-table entries of
contract/vta_regs.h. Each of the packages' numbers must have its name there with its value, and each
opcode, memory and ALU opcode of the header must be in the core's package. Then each number is
changed, and each change must be found. docs/rtl.md must name each port and parameter of vta_core,
and the registers and counters that it says they are must be in docs/hardware.md or docs/isa.md.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "card/rtl/core/vta_isa_pkg.sv"
CARD_PACKAGE = "card/rtl/card/vta_card_pkg.sv"
HEADERS = ("contract/vta_desc.h", "contract/vta_isa.h", "contract/vta_regs.h", "uapi/vta.h")
# Name in the package: name in a header
PREFIXES = {"OPCODE_": "VTA_ISA_", "MEMORY_": "VTA_ISA_", "ALU_": "VTA_ISA_",
            "FAULT_": "VTA_FAULT_", "ACCESS_": "VTA_ACCESS_", "OP_": "VTA_OP_"}
NAMES = {"HEAD_BITS": "VTA_ISA_HEAD_BITS", "MEM_LATENCY": "VTA_ISA_MEM_LATENCY",
         "MEM_ROW": "VTA_ISA_MEM_ROW", "MEM_PORT": "VTA_ISA_MEM_PORT",
         "LOOP_LATENCY": "VTA_ISA_LOOP_LATENCY", "NO_INSN": "VTA_FAULT_NO_INSN",
         "COPY_LATENCY": "VTA_COPY_LATENCY"}
OWN = ("COMMAND_", "ARBITER_", "UNIT_", "CHANGE_")
LISTS = {"VTA_ISA_OPCODES": "OPCODE_", "VTA_ISA_MEMORIES": "MEMORY_",
         "VTA_ISA_ALU_OPCODES": "ALU_"}


def number(text):
    """A literal of C or of SystemVerilog, or a shift of two of C."""
    if "<<" in text:
        left, right = text.split("<<")
        return number(left) << number(right)
    sized = re.fullmatch(r"\d+'([hdb])([0-9a-fA-F_]+)", text.strip())
    if sized:
        return int(sized[2].replace("_", ""), {"h": 16, "d": 10, "b": 2}[sized[1]])
    return int(text.strip().rstrip("ul"), 0)


def headers():
    """Names of C with their numbers, and the names that the package must have."""
    text = "".join((TOP / name).read_text() for name in HEADERS)
    numbers = {name: number(value) for name, value in re.findall(
        r"\b(VTA_\w+)\s*=\s*(\d+(?: << \d+)?)", text)}
    numbers.update({name: number(value) for name, value in re.findall(
        r"^#define (VTA_\w+)\t+(\d\w*)", text, re.M)})
    wanted = set()
    for macro, prefix in LISTS.items():
        entries = re.search(rf"^#define {macro}\(X\)(.*?)\n\n", text, re.S | re.M)[1]
        for name, value in re.findall(r"X\((\w+), (\d+)\)", entries):
            numbers[f"VTA_ISA_{name}"] = int(value)
            wanted.add(prefix + name)
    return numbers, wanted


def package(path):
    """Names of a package with their numbers, but for those of ports within the RTL."""
    text = (TOP / path).read_text()
    found = re.findall(r"localparam [^;=]*?(\w+) = ([^;]+);", text)
    return {name: number(value) for name, value in found if not name.startswith(OWN)}


def namesake(name):
    """A name of the package in C, and what to do to C's number."""
    if name.startswith("BIT_"):
        return "VTA_ISA_" + name[len("BIT_"):], lambda mask: mask.bit_length() - 1
    if name.startswith(("PTE_", "DESC_")):
        return "VTA_" + name, lambda mask: mask.bit_length() - 1
    for prefix, of_c in PREFIXES.items():
        if name.startswith(prefix):
            return of_c + name[len(prefix):], int
    return NAMES.get(name, name), int


def differences(rtl, numbers, wanted):
    for name in sorted(wanted - set(rtl)):
        yield f"{PACKAGE} lacks {name}"
    for name, value in rtl.items():
        of_c, change = namesake(name)
        if of_c not in numbers:
            yield f"{name}: no header has {of_c}"
        elif change(numbers[of_c]) != value:
            yield f"{name} is {value}, but {of_c} is {numbers[of_c]}"


def unnamed():
    """Ports and parameters of the core that docs/rtl.md does not name; and how many there are."""
    text = (TOP / "card/rtl/core/vta_core.sv").read_text()
    head = text[:text.index("\n);\n")]
    names = re.findall(r"^\t(?:parameter int|(?:input|output) logic(?: \[[^]]*\])?) (\w+)", head, re.M)
    document = (TOP / "docs/rtl.md").read_text()
    return [name for name in names if not re.search(rf"\b{name}\b", document)], len(names)


def unknown():
    """Names in the table of ports that neither document has, and how many names there are."""
    document = (TOP / "docs/rtl.md").read_text()
    rows = re.search(r"^\| signal or parameter \|(.*?)\n\n", document, re.M | re.S)[1]
    names = set(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", rows))
    documents = "".join((TOP / f"docs/{name}.md").read_text() for name in ("hardware", "isa"))
    return sorted(name for name in names if not re.search(rf"\b{name}\b", documents)), len(names)


def main():
    rtl, card, (numbers, wanted) = package(PACKAGE), package(CARD_PACKAGE), headers()
    wrong = list(differences(rtl, numbers, wanted)) + list(differences(card, numbers, set()))
    for line in wrong:
        print(f"# {line}")
    print(f"{'not ok' if wrong else 'ok'} 1 {len(rtl) + len(card)} numbers of the RTL are the headers'")

    unseen = [name for part in (rtl, card) for name in part
              if not list(differences({name: part[name] + 1}, numbers, set()))]
    for name in unseen:
        print(f"# a change of {name} is not found")
    print(f"{'not ok' if unseen or len(rtl) < 30 else 'ok'} 2 each change is found")

    missing, count = unnamed()
    for name in missing:
        print(f"# docs/rtl.md does not name {name}")
    print(f"{'not ok' if missing or count < 40 else 'ok'} 3 docs/rtl.md names {count} ports and parameters")

    undefined, registers = unknown()
    for name in undefined:
        print(f"# docs/rtl.md has {name}, which is in neither hardware.md nor isa.md")
    print(f"{'not ok' if undefined or registers < 20 else 'ok'} 4 {registers} registers are defined")
    return 1 if wrong or unseen or missing or count < 40 or undefined or registers < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
