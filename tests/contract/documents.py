#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The contract's documents against the headers that follow them, row by row. Prints TAP.

A fact is a name of some kind with a number: a register and its offset, a field and its
mask, a counter and its index. facts_of_documents() reads them from the tables of
docs/hardware.md and docs/isa.md, facts_of_headers() from contract/ and uapi/vta.h by the
compiler. Both must have the same facts: what one of them lacks is a difference, too.

Then both are changed, one fact of each kind at a time, and each change must be found.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
HARDWARE, ISA, SYSFS = "docs/hardware.md", "docs/isa.md", "docs/sysfs-abi.md"
REGS, HEADER, UAPI = "contract/vta_regs.h", "contract/vta_isa.h", "uapi/vta.h"
COUNTERS, FAULTS = "contract/vta_counters.h", "contract/vta_faults.h"
DESC = "contract/vta_desc.h"
# Numbers of software's, derived from fields: no row has them.
DERIVED = {"EVENT_ALL", "ENGINE_MOVES_MAX", "MAGIC_VALUE"}
RECORDS = {"vta_desc": "descriptor", "vta_status": "status", "vta_fault": "fault",
           "vta_stamp": "stamp"}
# Faults that no record of the card's has.
NOT_OF_THE_CARD = {"NONE", "CARD", "HANG", "SLEEP"}


# ---- Documents ----

def rows(text):
    """The cells of each row of its tables."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip()[1:-1].split("|")]


def section(text, title):
    """From a heading to the next one of the same depth, or a higher one."""
    depth = len(title) - len(title.lstrip("#"))
    found = re.search(rf"^{re.escape(title)}.*?(?=^#{{2,{depth}}} |\Z)", text, re.S | re.M)
    if not found:
        sys.exit(f"no section {title}")
    return found[0]


def mask(high, low):
    return (1 << int(high) + 1) - (1 << int(low))


def fields(register, text):
    """Named bits: "bit 0 ENABLE", "bits 9:8 PRIORITY", "3:0 LOG_INP_WIDTH"."""
    for high, low, name in re.findall(r"(?:[Bb]its? )?\b(\d+):(\d+) ([A-Z][A-Z0-9_]+)\b", text):
        yield "field", f"{register}_{name}", mask(high, low)
    for bit, name in re.findall(r"[Bb]it (\d+) ([A-Z][A-Z0-9_]+)\b", text):
        yield "field", f"{register}_{name}", mask(bit, bit)


def registers(text):
    """Rows with offsets "0x018, 0x01c", "0x1000 + 16n" and, in an array, "+0x0c"."""
    array = None
    for line in text.splitlines():
        at = re.search(r"at 0x([0-9a-f]+) \+ (\d+)[a-z]\b", line)
        if at:
            array = int(at[1], 16), int(at[2])
        row = next(rows(line), [])
        if len(row) < 3 or not re.fullmatch(r"[A-Z][A-Z0-9_]+", row[1]):
            continue
        offsets = re.findall(r"(\+?)0x([0-9a-f]+)(?: \+ (\d+)[a-z])?", row[0])
        for (relative, offset, stride), half in zip(offsets, ["_LO", "_HI"]):
            name = row[1] + (half if len(offsets) == 2 else "")
            if relative:
                owner = {0x200: "ENGINE", 0x8000: "QUEUE"}[array[0]]
                yield "register", f"{owner}_{name}", (array[0] + int(offset, 16), array[1])
            elif offsets:
                yield "register", name, (int(offset, 16), int(stride or 0))
        if offsets:
            owner = f"{owner}_" if offsets[0][0] else ""
            yield from fields(owner + re.sub("_LO$", "", row[1]), row[-1])


def page_table(text):
    for row in rows(text):
        if re.fullmatch(r"\d+(:\d+)?", row[0]) and re.fullmatch("[A-Z]+", row[1]):
            high, _, low = row[0].partition(":")
            yield "entry", row[1].replace("ADDRESS", "ADDR"), mask(high, low or high)


def records(text):
    """Tables "offset | bytes | name" by section, the operations' fields, and the stamp."""
    owner = None
    for line in text.splitlines():
        for title, name in (("### Status page", "status"), ("## 7.", "descriptor"),
                            ("**Fault record**", "fault")):
            owner = name if line.startswith(title) else owner
        row = next(rows(line), [])
        if len(row) > 2 and re.fullmatch("0x[0-9a-f]{2}", row[0]) and row[2].isidentifier():
            yield "record", f"{owner}.{row[2]}", (int(row[0], 16), int(row[1]))
        if len(row) == 3 and row[1].isdigit() and "0x10:" in row[2]:
            part = {"SIGNAL": "sync", "WAIT": "sync"}.get(row[0], row[0].lower())
            for offset, size, name in re.findall(r"(0x\w\w)(?: \((\d) bytes\))?: (\w+)", row[2]):
                yield "record", f"descriptor.{part}.{name}", (int(offset, 16), int(size or 4))
    stamp = re.search(r"\*\*Stamp record\*\*.*?\n\n", text, re.S)[0]
    for offset, name in re.findall(r"(0x\w\w)\s+`(\w+)`", stamp):
        yield "record", f"stamp.{name}", (int(offset, 16), 8)


def rules(text):
    """Rules of descriptors: words of operands, alignment of addresses, bytes of a copy."""
    for row in rows(text):
        if len(row) == 3 and row[1].isdigit():
            words = 0
            for offset, size in re.findall(r"(0x\w\w)(?: \((\d) bytes\))?: \w", row[2]):
                words |= mask(int(size or 4) // 4 - 1, 0) << (int(offset, 16) - 0x10) // 4
            yield "operands", row[0], words
    text = re.sub(r"\s+", " ", text)
    yield "alignment", "STAMP", int(re.search(r"stamp record, a multiple of (\d+)", text)[1])
    for sentence in text.split("* **")[1:]:
        align = re.search(r"addr`? \(a multiple of (\d+), else fault ALIGN\)", sentence)
        yield "alignment", sentence.split("*")[0], int(align[1] if align else 1)
    yield "alignment", "NOP", 1
    yield "copy", "LOG_MAX", int(re.search(r"width·rows above 2\^(\d+) is a fault DESC", text)[1])


def codes(kind, text, names, values):
    """Rows with names in one column and numbers in another, perhaps several of both."""
    for row in rows(text):
        if len(row) <= max(names, values) or not re.fullmatch(r"[\d, ]+", row[values]):
            continue
        for name, value in zip(re.findall(r"\b[A-Z][A-Z0-9_]+\b", row[names]),
                               re.findall(r"\d+", row[values])):
            yield kind, name, int(value)


def listed(kind, text, pattern):
    """A sentence with "NAME number" after @pattern, up to a stop or semicolon."""
    found = re.search(pattern + r"([^.;]*)", text)
    for name, value in re.findall(r"\b([A-Z][A-Z0-9_]*)\s+(\d+)", found[1]):
        yield kind, name, int(value)


def insn_fields(kind, text):
    """Tables "word | from bit | fields (bits)": their fields in order, with widths."""
    order = collections.Counter()
    for row in rows(text):
        if len(row) != 3 or not row[0].isdigit():
            continue
        cell = row[2].replace("as GEMM; reset is not used",
                              "reset 1, uop_bgn LOG_UOP_DEPTH, uop_end LOG_UOP_DEPTH + 1, "
                              "iter_out 14, iter_in 14")
        # "a, b (LOG_X each)": all of these have the width.
        cell = re.sub(r"((?:\w+, )*\w+) \((LOG_\w+) each\)",
                      lambda each: re.sub(r"\b(?=,|$)", f" {each[2]}", each[1]), cell)
        for name, width in re.findall(r"([a-z]\w*) (\d+|LOG_\w+(?: \+ 1)?)", cell):
            order[row[0]] += 1
            yield kind, f"{row[0]}.{name}", (order[row[0]], width)


def configuration(text):
    for row in rows(section(text, "## 1.")):
        if not row[0].startswith("LOG_"):
            continue
        least, _, most = row[2].split(",")[0].partition(" to ")
        for name in row[0].split(", "):
            yield "configuration", name, (int(least), int(most or least))


def identity(text):
    """Section 1's first table: "vendor:device | 1234:5654"."""
    names = {"vendor:device": ("VENDOR", "DEVICE"), "subsystem": ("VENDOR", "SUBDEVICE"),
             "class": ("CLASS",), "revision": ("REVISION",)}
    for row in rows(text):
        numbers = re.match("[0-9a-fx:]*", row[1])[0].split(":")
        for name, number in zip(names.get(row[0], ()), numbers):
            yield "identity", name, int(number, 16)


def cycles(hardware, isa):
    """The numbers of the formulas."""
    move = re.search(r"LOAD, STORE \| (\d+) \+ rows · \((\d+) \+ ⌈bytes .*? / (\d+)⌉\)", isa)
    copy = re.search(r"(\d+) cycles and for each row (\d+) \+ ⌈width / (\d+)⌉",
                     re.sub(r"\s+", " ", hardware))
    for prefix, found in (("ISA_MEM", move), ("COPY", copy)):
        for name, value in zip(("LATENCY", "ROW", "PORT"), found.groups()):
            yield "cycles", f"{prefix}_{name}", int(value)
    for value in re.findall(r"^\| (?:GEMM|ALU) \| (\d+) \+ micro-ops", isa, re.M):
        yield "cycles", "ISA_LOOP_LATENCY", int(value)


def facts_of_documents(texts):
    hardware, isa = texts[HARDWARE], texts[ISA]
    yield from identity(section(hardware, "## 1."))
    yield from cycles(hardware, isa)
    yield from registers(hardware)
    yield from page_table(section(hardware, "## 5."))
    yield from records(section(hardware, "## 6.") + section(hardware, "## 7.") +
                       section(hardware, "## 8."))
    yield from codes("operation", section(hardware, "## 7."), 0, 1)
    yield from rules(section(hardware, "## 7.").split("**Stamp record**")[0])
    faults = section(hardware, "## 8.").split("| access | code |", 1)
    yield from codes("fault", faults[0].split("| reason | code |")[1], 0, 1)
    for row in rows(faults[1]):
        for name, value in zip(row[::3], row[1::3]):
            if value.isdigit():
                yield "access", name.split(",")[0].split(" ")[0], int(value)
    hand = section(hardware, "## 6.").split("| HAND | | |")[1].split("\n\n")[0]
    yield from codes("hand", hand, 1, 0)
    state = re.search(r"bits 3:0 STATE: (.*?)\.", hardware)[1]
    for value, name in re.findall(r"(\d) ([A-Z]+)", state):
        yield "state", name, int(value)
    yield from codes("counter", section(hardware, "## 12."), 1, 0)
    for name in re.findall(r"vtaN/counters/(\w+)", texts[SYSFS]):
        yield "counter's file", name, 0
    yield from configuration(isa)
    yield from listed("opcode", isa, r"opcode: ")
    for row in rows(section(isa, "## 2.")):
        if row[0].isdigit():
            yield "flag", row[1].upper(), 1 << int(row[0])
    yield from listed("memory type", isa, r"memory_type: ")
    yield from listed("ALU opcode", isa, r"value by value\. ")
    yield from insn_fields("field of LOAD and STORE", section(isa, "## 4."))
    yield from insn_fields("field of GEMM", section(isa, "## 5."))
    yield from insn_fields("field of ALU", section(isa, "## 6."))
    uop = re.search(r"32 bits: (.*?)\.", section(isa, "## 7."))[1]
    for n, (name, width) in enumerate(re.findall(r"(\w+) (max\(.*?\)|LOG_\w+)", uop), 1):
        yield "field of a micro-op", f"0.{name}", (n, width)


# ---- Headers ----

def macros(tree):
    """Names of the headers' own macros that state facts, with "(" or not."""
    text = "".join((tree / name).read_text() for name in (REGS, HEADER, DESC))
    return re.findall(r"^#define (REG_\w+|VTA_PTE_\w+|VTA_PCI_\w+|VTA_\w+_(?:LATENCY|ROW|PORT)\b)"
                      r"(\(?)", text, re.M)


def structure(tree, name):
    """Its members, as C names them."""
    body = re.search(rf"^struct {name} {{\n(.*?)^}};", (tree / UAPI).read_text(), re.S | re.M)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for part, owner in re.findall(r"struct {(.*?)}\s*(\w+);", body, re.S):
        for member in re.findall(r"__le\d+ (\w+)", part):
            yield f"{owner}.{member}"
    for member in re.findall(r"__le\d+ (\w+)", re.sub(r"union {.*};", "", body, flags=re.S)):
        yield member


def program(tree):
    """C that prints each fact of the headers as kind, name, value, tab by tab."""
    out = ["#include <stddef.h>", "#include <stdio.h>", '#include "vta.h"',
           '#include "vta_regs.h"', '#include "vta_isa.h"', '#include "vta_faults.h"',
           '#include "vta_desc.h"']

    def fact(kind, name, *values):
        out.append(f'printf("{kind}\\t{name}' + "\\t%llu" * len(values) + '\\n", ' +
                   ", ".join(f"(unsigned long long)({value})" for value in values) + ");")

    def each(kind, macro, prefix, body=None):
        body = body or f"{prefix}##name"
        out.extend([f'#define X(name, ...) printf("{kind}\\t" #name "\\t%llu\\n", '
                    f"(unsigned long long)({body}));", macro, "#undef X"])

    out.append("int main(void) {")
    for name, function in macros(tree):
        if name.startswith("VTA_PTE_") and name != "VTA_PTE_BLOCK_ADDR":
            fact("entry", name[8:], name)
        elif name.startswith("VTA_PCI_"):
            fact("identity", name[8:], name)
        elif name.startswith("VTA_") and name != "VTA_PTE_BLOCK_ADDR":
            fact("cycles", name[4:], name)
        elif function:
            fact("function", name[4:], f"{name}(0)", f"{name}(1) - {name}(0)")
        elif name.startswith("REG_"):
            fact("plain", name[4:], name)
    for struct, owner in RECORDS.items():
        for member in structure(tree, struct):
            place = f"offsetof(struct {struct}, {member})"
            fact("record", f"{owner}.{member}", place,
                 f"sizeof(((struct {struct} *)0)->{member})")
    for kind, enum, prefix in (("operation", "vta_op", "VTA_OP_"),
                               ("state", "vta_queue_state", "VTA_QUEUE_"),
                               ("hand", "vta_hand", "VTA_HAND_"),
                               ("fault", "vta_fault_reason", "VTA_FAULT_"),
                               ("access", "vta_access", "VTA_ACCESS_")):
        text = (tree / UAPI).read_text() + (tree / REGS).read_text()
        body = re.search(rf"^enum {enum} {{(.*?)^}};", text, re.S | re.M)[1]
        for name in re.findall(rf"^\t{prefix}(\w+)", body, re.M):
            fact(kind, name, prefix + name)
    for kind, member in (("operands", "words"), ("alignment", "align")):
        each(kind, "VTA_DESC_OPS(X)", "", f"vta_desc_rule(VTA_OP_##name)->{member}")
    fact("alignment", "STAMP", "VTA_DESC_STAMP_ALIGN")
    fact("copy", "LOG_MAX", "VTA_DESC_LOG_COPY_MAX")
    each("counter", "VTA_COUNTER_LIST(X)", "VTA_COUNTER_")
    out.extend(['#define X(NAME, name) printf("counter\'s file\\t" #name "\\t0\\n");',
                "VTA_COUNTER_LIST(X)", "#undef X"])
    each("word of fault", "VTA_CARD_FAULTS(X) VTA_DRIVER_FAULTS(X)", "VTA_FAULT_")
    each("word of access", "VTA_ACCESSES(X)", "VTA_ACCESS_")
    each("opcode", "VTA_ISA_OPCODES(X)", "VTA_ISA_")
    each("memory type", "VTA_ISA_MEMORIES(X)", "VTA_ISA_")
    each("ALU opcode", "VTA_ISA_ALU_OPCODES(X)", "VTA_ISA_")
    for flag in ("POP_PREV", "POP_NEXT", "PUSH_PREV", "PUSH_NEXT"):
        fact("flag", flag, f"VTA_ISA_{flag}")
    out.extend(['#define X(name, field, least, most) printf("configuration\\t" #name '
                '"\\t%d\\t%d\\n", least, most);', "VTA_ISA_CONFIG(X)", "#undef X",
                '#define X(word, field, bits) printf("%s\\t%d." #field "\\t%s\\n", kind, word, '
                "#bits);", "const char *kind;"])
    for kind, lists in (("field of LOAD and STORE", "VTA_ISA_MOVE_FIELDS(X)"),
                        ("field of GEMM", "VTA_ISA_LOOP_FIELDS(X, s) VTA_ISA_GEMM_FIELDS(X, s)"),
                        ("field of ALU", "VTA_ISA_LOOP_FIELDS(X, s) VTA_ISA_ALU_FIELDS(X, s)"),
                        ("field of a micro-op", "VTA_ISA_UOP_FIELDS(X, s)")):
        out.append(f'kind = "{kind}"; {lists}')
    return "\n".join(out + ["return 0; }"])


def width(text):
    """A width as the document has it: of (s)->uop, LOG_UOP_DEPTH."""
    if text == "vta_isa_src_bits(s)":
        return "max(LOG_ACC_DEPTH, LOG_INP_DEPTH)"
    return re.sub(r"\(s\)->(\w+)", lambda depth: f"LOG_{depth[1].upper()}_DEPTH", text)


def printed(tree):
    with tempfile.TemporaryDirectory() as tmp:
        source = pathlib.Path(tmp, "facts.c")
        source.write_text(program(tree))
        subprocess.run(["cc", f"-I{tree}/uapi", f"-I{tree}/contract", "-w", "-o", f"{tmp}/facts",
                        source], check=True)
        return subprocess.run([f"{tmp}/facts"], check=True, capture_output=True,
                              text=True).stdout


def facts_of_headers(tree):
    lines = [line.split("\t") for line in printed(tree).splitlines()]
    registers_of = {name for kind, name, *_ in lines if kind == "function"}
    documented = {name for kind, name, _ in facts_of_documents(texts_of(TOP))
                  if kind == "register"}
    bases = registers_of | {re.sub("_(LO|HI)$", "", name) for name in documented}
    order = collections.Counter()
    for kind, name, *values in lines:
        if kind.startswith("field of"):
            order[kind, name[0]] += 1
            yield kind, name, (order[kind, name[0]], width(values[0]))
        elif kind == "function" and name not in ("ENGINE", "QUEUE", "CONTEXT"):
            yield "register", name, (int(values[0]), int(values[1]))
        elif kind == "plain" and name not in DERIVED:
            # REG_EVENT_ENABLE is a register, REG_EVENT_FAULT a field of REG_EVENT.
            owned = any(name.startswith(base + "_") and base != re.sub("_(LO|HI)$", "", name)
                        for base in bases)
            if owned and name not in documented:
                yield "field", name, int(values[0])
            else:
                yield "register", name, (int(values[0]), 0)
        elif kind == "record":
            if name.split(".")[-1] not in ("reserved", "words"):
                yield kind, name, (int(values[0]), int(values[1]))
        elif kind not in ("function", "plain"):
            yield kind, name, tuple(map(int, values)) if len(values) > 1 else int(values[0])


# ---- Both ----

def texts_of(tree):
    return {name: (tree / name).read_text() for name in (HARDWARE, ISA, SYSFS)}


def differences(texts, tree):
    """Lines that say what one side has and the other has not, or has otherwise."""
    document, header = set(facts_of_documents(texts)), set(facts_of_headers(tree))
    # Each number has a word; those that are not the card's are not in the document.
    document |= {(f"word of {kind}", name, value) for kind, name, value in header
                 if kind in ("fault", "access")}
    header -= {fact for fact in header if fact[0] == "fault" and fact[1] in NOT_OF_THE_CARD}
    wrong = [f"{kind} {name}: {value} in the document alone"
            for kind, name, value in sorted(document - header, key=str)]
    wrong += [f"{kind} {name}: {value} in the header alone"
             for kind, name, value in sorted(header - document, key=str)]
    return wrong, collections.Counter(kind for kind, *_ in header)


def tree_with(name, old, new, tmp):
    for part in ("contract", "uapi"):
        (tmp / part).mkdir(exist_ok=True)
        for file in (TOP / part).glob("*.h"):
            text = file.read_text()
            if f"{part}/{file.name}" == name:
                assert old in text, (name, old)
                text = text.replace(old, new, 1)
            (tmp / part / file.name).write_text(text)
    return tmp


# Changes of a file, and the difference that must be found.
CHANGES = (
    (HARDWARE, "| 0x010 | QUEUES |", "| 0x060 | QUEUES |", "register QUEUES"),
    (HARDWARE, "| +0x48 | GROUP |", "| +0x4c | GROUP |", "register QUEUE_GROUP"),
    (HARDWARE, "| 0x108 | HEARTBEAT |", "| 0x108 | PULSE |", "register HEARTBEAT"),
    (HARDWARE, "bit 1 ABORT (W)", "bit 3 ABORT (W)", "field QUEUE_CTRL_ABORT"),
    (HARDWARE, "| 0x0c | 4 | fault_reason |", "| 0x0c | 8 | fault_reason |",
     "record status.fault_reason"),
    (HARDWARE, "0x1c: rows, 0x20: dst_pitch, 0x24", "0x1c: rows, 0x28: dst_pitch, 0x24",
     "record descriptor.copy.dst_pitch"),
    (HARDWARE, "| FILL | 3 |", "| FILL | 6 |", "operation FILL"),
    (HARDWARE, "| TIME | 12 |", "| TIME | 13 |", "fault TIME"),
    (HARDWARE, "| 24 | FAULTS |", "| 24 | FAILURES |", "counter FAULTS"),
    (HARDWARE, "| 3 | BLOCK |", "| 4 | BLOCK |", "entry BLOCK"),
    (HARDWARE, "| 6 | HELD |", "| 7 | HELD |", "hand HELD"),
    (HARDWARE, "| 1234:0001 |", "| 1235:0001 |", "identity VENDOR"),
    (HARDWARE, "row 1 + ⌈width / 16⌉", "row 1 + ⌈width / 32⌉", "cycles COPY_PORT"),
    (ISA, "| ALU | 8 + micro-ops", "| ALU | 9 + micro-ops", "cycles ISA_LOOP_LATENCY"),
    (ISA, "FINISH 3, ALU 4", "FINISH 4, ALU 3", "opcode ALU"),
    (ISA, "0 to 24, and see", "0 to 30, and see", "configuration LOG_WGT_BUFF_SIZE"),
    (ISA, "y_pad_0 4, y_pad_1 4", "y_pad_1 4, y_pad_0 4", "field of LOAD and STORE 1.y_pad_0"),
    (ISA, "alu_opcode 3, use_imm 1", "alu_opcode 4, use_imm 1", "field of ALU 1.alu_opcode"),
    (SYSFS, "vtaN/counters/arms", "vtaN/counters/arm", "counter's file arms"),
    (REGS, "#define REG_QUEUES\t\t\t0x010", "#define REG_QUEUES\t\t\t0x060", "register QUEUES"),
    (REGS, "#define VTA_PCI_REVISION\t\t1", "#define VTA_PCI_REVISION\t\t2", "identity REVISION"),
    (HEADER, "#define VTA_ISA_MEM_ROW\t\t2", "#define VTA_ISA_MEM_ROW\t\t3",
     "cycles ISA_MEM_ROW"),
    (REGS, "#define REG_POWER", "#define REG_CURRENT 0x158\n#define REG_POWER",
     "register CURRENT"),
    (REGS, "#define REG_STATUS_BUSY", "#define REG_STATUS_LATE 0x8\n#define REG_STATUS_BUSY",
     "field STATUS_LATE"),
    (HEADER, "X(SHR, 3)", "X(SHR, 5)", "ALU opcode SHR"),
    (HEADER, "log_acc_buff_size, 0, 24", "log_acc_buff_size, 0, 30",
     "configuration LOG_ACC_BUFF_SIZE"),
    (HARDWARE, "0x10: addr, 0x18 (8 bytes): value |\n| WAIT", "0x14: addr |\n| WAIT",
     "operands SIGNAL"),
    (HARDWARE, "insn_addr (a multiple of 16", "insn_addr (a multiple of 8", "alignment RUN"),
    (DESC, "X(FILL, COPY, 0x01f", "X(FILL, COPY, 0x03f", "operands FILL"),
    (DESC, "LOG_COPY_MAX\t32", "LOG_COPY_MAX\t31", "copy LOG_MAX"),
    (COUNTERS, "X(ARMS, arms)", "X(ARMS, arms) X(MORE, more)", "counter MORE"),
    (FAULTS, 'X(TIME, "time", "time limit reached")', "", "word of fault TIME"),
    (UAPI, "VTA_FAULT_ALIGN\t\t= 6", "VTA_FAULT_ALIGN\t\t= 16", "fault ALIGN"),
    (UAPI, "\t__le64 runs;", "\t__le64 more;\n\t__le64 runs;", "record status.more"),
)


def found(name, old, new, want):
    texts = texts_of(TOP)
    with tempfile.TemporaryDirectory() as tmp:
        tree = TOP
        if name in texts:
            assert old in texts[name], (name, old)
            texts[name] = texts[name].replace(old, new, 1)
        else:
            tree = tree_with(name, old, new, pathlib.Path(tmp))
        wrong, _ = differences(texts, tree)
    return any(line.startswith(want + ":") for line in wrong)


def main():
    wrong, counts = differences(texts_of(TOP), TOP)
    print(f"TAP version 13\n1..{1 + len(CHANGES)}")
    for line in wrong:
        print(f"# {line}")
    print(f"{'not ok' if wrong else 'ok'} 1 documents and headers have the same facts:",
          ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))
    failed = bool(wrong)
    for n, change in enumerate(CHANGES, 2):
        ok = found(*change)
        failed = failed or not ok
        print(f"{'ok' if ok else 'not ok'} {n} a change is found: {change[0]}, {change[3]}")
    return failed


sys.exit(main())
