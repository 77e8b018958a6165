#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every message of the module, of vtactl and of vtadev_open_text() is in
docs/troubleshooting.md, and every message there is one of theirs or of the compiler.

    messages.py

In the document a message is the first cell of a table's row, as code, with … for
variable parts. Prints TAP.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = "docs/troubleshooting.md"

LITERAL = r'"(?:[^"\\]|\\.)*"'
# Literals that follow each other are one; comments and macros are not read.
LITERALS = rf"({LITERAL}(?:\s*(?:PRI\w+\s*)?{LITERAL})*)"
CONVERSION = re.compile(r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z)?[a-zA-Z]")

KERNEL = [
    (re.compile(rf"\bdev_(?:err|warn)(?:_ratelimited)?\(\s*[^\",]+,\s*{LITERALS}"), "{}"),
    (re.compile(rf"\bvta_card_(?:request_reset|fail)\([^\";{{]+,\s*{LITERALS}"),
     "{}: resetting the card"),
]
VTACTL = [
    (re.compile(rf"\b(?:ctl_fail|fail|test_says|test_note)\([^;]*?,\s*{LITERALS}\s*[,)]"), "{}"),
    (re.compile(rf"\bfprintf\(stderr,\s*{LITERALS}"), "{}"),
]
COMPILER = [(re.compile(rf"\b(?:vtac_fail|cli_usage)\([^;\"]*?{LITERALS}"), "{}")]
OPEN_TEXT = [(re.compile(rf"\bsnprintf\(text, size,\s*{LITERALS}"), "{}")]


def text_of(literals):
    words = re.findall(LITERAL, re.sub(r'%"\s*PRI\w+\s*"', "…", literals))
    text = "".join(word[1:-1] for word in words)
    text = text.replace('\\"', '"').replace("\\n", "")
    return CONVERSION.sub("…", text)


def messages(files, patterns):
    found = {}
    for path in files:
        source = path.read_text()
        for pattern, form in patterns:
            for match in pattern.finditer(source):
                text = form.format(text_of(match[1]))
                # Formats without words of their own are built elsewhere.
                if re.sub(r"[….\s:;]|vtactl|VTADEV_DEVICE=|trace|try|--help", "", text):
                    found.setdefault(text, path.relative_to(ROOT))
    return found


def main():
    document = (ROOT / DOCUMENT).read_text()
    documented = set(re.findall(r"^\| `(.+?)` \|", document, re.M))
    real = messages(sorted((ROOT / "kmod").glob("*.c")), KERNEL)
    real |= messages(sorted((ROOT / "tools/vtactl").glob("*.c")), VTACTL)
    real |= messages([ROOT / "libvtadev/open_text.c"], OPEN_TEXT)
    compiler = messages(sorted((ROOT / "compiler").glob("*/*.c")), COMPILER)
    results = [(text in documented, f"{where}: {text}") for text, where in real.items()]
    results += [(False, f"{DOCUMENT}: not in the sources: {text}")
                for text in sorted(documented - set(real) - set(compiler))]
    print("TAP version 13")
    for n, (ok, name) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {n} {name.replace('#', 'No ')}")
    print(f"1..{len(results)}")
    sys.exit(any(not ok for ok, _ in results))


main()
