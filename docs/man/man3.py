#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the manual pages of section 3 from the library's headers.

    man3.py OUT VERSION DATE HEADER...

A header's first comment and each part of it ("/* ---- Queues --- */") become a
page; every function gets a page that leads there. Comments are in the kernel's
style: "name() - what", "@parameter: ...", paragraphs; lines that are indented by a
tab are shown as they are.
"""

import re
import sys
import textwrap
from pathlib import Path

COMMENT = re.compile(r"/\*(?P<text>.*?)\*/", re.S)
PART = re.compile(r"^\s*-{4} (?P<name>.+?) -+\s*$")
HEAD = re.compile(r"^(?:struct\s+)?(?P<name>\w+)(?:\(\))? - (?P<what>.*)$", re.S)
SECTION = re.compile(r"^([A-Z][A-Z ]+)\. (.*)$")
CALLED = re.compile(r"(\w+)\(")
# Headers of libvtaprog; the others are of libvtadev.
PROGRAMS = "vtadev_bench.h", "vtadev_pool.h", "vtaimage.h", "vtaprog.h"
DECLARED = re.compile(r"^(?:#define\s+|struct\s+|enum\s+)?(\w+)")


def prose(text):
    """A paragraph, each sentence on lines of its own, as mdoc wants them."""
    text = re.sub(r"@(\w+)", r"\1", text)
    sentences = re.split(r"(?<=[A-Za-z0-9)_\]][.?!])\s+(?=[A-Z(])", text)
    lines = [line for s in sentences
             for line in textwrap.wrap(mark(s), 78, break_long_words=False,
                                       break_on_hyphens=False)]
    return guard("\n".join(lines))


def mark(text):
    """Text that mdoc takes as it is, with names of functions in bold."""
    return re.sub(r"(\w+)\(\)", r"\\fB\1\\fP()", quote(text))


def escape(text):
    """Lines that mdoc takes as they are."""
    return guard(quote(text))


def quote(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def guard(text):
    """Lines that begin like a request are text."""
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def strip_stars(text):
    lines = [re.sub(r"^\s*\* ?", "", line) for line in text.strip("*").split("\n")]
    return "\n".join(lines).strip("\n ")


def join_tail(paragraph):
    """One line of a paragraph of several."""
    return " ".join(line.strip() for line in paragraph.split("\n"))


def blocks(text):
    """Yields ('text', ...), ('literal', ...) and ('item', name, ...)."""
    for chunk in re.split(r"\n\s*\n", text):
        kind, lines = None, []
        for line in chunk.split("\n"):
            match = re.match(r"^@(\w+): (.*)$", line)
            if match:
                if lines:
                    yield from flush(kind, lines)
                kind, lines = ("item", match.group(1)), [match.group(2)]
            elif line.startswith("\t"):
                if lines and kind != "literal":
                    yield from flush(kind, lines)
                    lines = []
                kind = "literal"
                lines.append(line[1:])
            else:
                if kind == "literal":
                    yield from flush(kind, lines)
                    lines = []
                kind = kind if isinstance(kind, tuple) else "text"
                lines.append(line)
        yield from flush(kind, lines)


def flush(kind, lines):
    if not lines:
        return
    if isinstance(kind, tuple):
        yield "item", kind[1], join_tail("\n".join(lines))
    elif kind == "literal":
        yield "literal", "\n".join(lines)
    else:
        yield "text", join_tail("\n".join(lines))


def render(text):
    out, in_list, first = [], False, True
    for block in blocks(text):
        if block[0] == "item":
            if not in_list:
                out.append(".Bl -tag -width Ds")
                in_list = True
            out += [f".It Fa {block[1]}", prose(block[2])]
            first = False
            continue
        if in_list:
            out.append(".El")
            in_list = False
        if block[0] == "literal":
            out += [".Bd -literal -offset indent", escape(block[1]), ".Ed"]
        else:
            match = SECTION.match(block[1])
            if match:
                out += [f".Sh {match.group(1)}", prose(match.group(2))]
            else:
                out += ([] if first else [".Pp"]) + [prose(block[1])]
        first = False
    if in_list:
        out.append(".El")
    return out


class Item:
    """A comment and the declaration that follows it."""

    def __init__(self, comment, declaration):
        self.declaration = re.sub(r"^static inline\s+", "", declaration)
        self.function = not re.match(r"#define|struct \w+\s*[;{]|enum ", self.declaration)
        match = HEAD.match(comment)
        if match:
            self.name = match.group("name")
            # The head ends with the paragraph, or where parameters begin.
            head = re.split(r"\n(?=@)|\n\n", match.group("what"), maxsplit=1)
            self.what = join_tail(head[0])
            self.body = match.group("what")[len(head[0]):].strip("\n")
        else:
            declared = CALLED.search(self.declaration) if self.function else \
                DECLARED.match(self.declaration)
            self.name = declared.group(1)
            self.what, self.body = "", comment

    def title(self):
        if self.function:
            return self.name + "()"
        kind = self.declaration.split()[0]
        return self.name if kind == "#define" else f"{kind} {self.name}"


def declaration_after(text, at):
    """The declaration that begins right there; a body is left away."""
    match = re.match(r"\n(?P<lines>(?:[^\n]+\n)+)", text[at:])
    if not match:
        return ""
    lines = match.group("lines")
    if re.match(r"(static inline|struct \w+\s*\{|enum \w+\s*\{)", lines):
        start = at + 1
        brace = text.index("{", start)
        if lines.startswith("static"):
            return text[start:brace].strip() + ";"
        return text[start:text.index("};", brace) + 2]
    return lines.partition("\n/*")[0].rstrip("\n")


def parse(path):
    """Returns the first comment and the parts [(name, items)]."""
    text = Path(path).read_text()
    title, parts = None, []
    for match in COMMENT.finditer(text):
        if match.start() and text[match.start() - 1] != "\n":
            continue        # behind code, or in a function
        comment = strip_stars(match.group("text"))
        part = PART.match(comment)
        if comment.startswith("SPDX"):
            continue
        if title is None:
            title = comment
        elif part:
            parts.append((part.group("name").strip(), []))
        else:
            if not parts:
                parts.append(("Library", []))
            declaration = declaration_after(text, match.end())
            if declaration and not declaration.startswith("#if"):
                parts[-1][1].append(Item(comment, declaration))
    return title, [(name, items) for name, items in parts if items]


def page(name, what, header, names, body, version):
    library = "libvtaprog" if header in PROGRAMS else "libvtadev"
    out = [".\\\" Made from the library's headers by docs/man/man3.py.",
           ".Dd $Mdocdate$", f".Dt {name.upper()} 3", ".Os", ".Sh NAME"]
    out += [f".Nm {n} ," for n in names[:-1]] + [f".Nm {names[-1]}"]
    out += [f".Nd {escape(what)}", ".Sh LIBRARY", f"{library} {version} "
            f"({library}, \\-l{library[3:]})", ".Sh SYNOPSIS", f".In {header}"]
    return out + body


def write(out, name, lines, date):
    text = "\n".join(lines).replace("$Mdocdate$", date) + "\n"
    (out / f"{name}.3").write_text(text)


def part_page(out, prefix, header, part, items, version, date):
    name = f"{prefix}_{part.lower().replace(' ', '_')}"
    functions = [i.name for i in items if i.function]
    body = []
    for item in items:
        if item.function:
            body += [".Bd -literal", escape(item.declaration), ".Ed"]
    body.append(".Sh DESCRIPTION")
    for item in items:
        body.append(f".Ss {item.title()}")
        if item.what:
            body.append(prose(item.what[0].upper() + item.what[1:] + "."))
        if item.body:
            body += ([".Pp"] if item.what and not item.body.startswith("@") else []) + \
                render(item.body)
        if not item.function:
            body += [".Bd -literal -offset indent", escape(item.declaration), ".Ed"]
    body += [".Sh SEE ALSO", ".Xr vtactl 1 ,", f".Xr {prefix} 3 ,", ".Xr vta 4"]
    write(out, name, page(name, f"{part.lower()} of VTA accelerators", header,
                          [name] + functions, body, version), date)
    for function in functions:
        link = out / f"{function}.3"
        link.unlink(missing_ok=True)
        link.symlink_to(f"{name}.3")
    return name


def main():
    out, version, date = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    out.mkdir(parents=True, exist_ok=True)
    for path in sys.argv[4:]:
        header = Path(path).name
        prefix = header[:-2]
        title, parts = parse(path)
        what, _, text = title.partition("\n\n")
        what = what.partition(" - ")[2] or what
        pages = [part_page(out, prefix, header, part, items, version, date)
                 for part, items in parts]
        body = [".Sh DESCRIPTION"] + render(text) + [".Sh SEE ALSO"]
        body += [f".Xr {name} 3 ," for name in sorted(pages)] + [".Xr vta 4"]
        write(out, prefix, page(prefix, what.strip(), header, [prefix], body, version), date)


if __name__ == "__main__":
    main()
