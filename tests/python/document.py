#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the Python blocks of docs/python.md, in their order, as one program.

    document.py DIRECTORY

DIRECTORY has the files that they open: digits.vtap and digit.raw. The first block is
examples/python/digits.py but for the names of these.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs/python.md"
EXAMPLE = ROOT / "examples/python/digits.py"


def main():
    text = DOCUMENT.read_text()
    blocks = [(text[:match.start()].count("\n") + 1, match[1])
              for match in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]
    example = EXAMPLE.read_text().split('"""\n', 1)[1].replace("import sys\n\n", "")
    example = example.replace("sys.argv[1]", '"digits.vtap"')
    example = example.replace("sys.argv[2]", '"digit.raw"')
    assert blocks[0][1] == example, f"{DOCUMENT} does not have {EXAMPLE}"
    os.chdir(sys.argv[1])
    names = {"__name__": "document"}
    for line, block in blocks:
        exec(compile("\n" * line + block, str(DOCUMENT), "exec"), names)


main()
