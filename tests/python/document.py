#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the Python blocks of docs/python.md, in their order, as one program.

    document.py DIRECTORY

DIRECTORY has the files that they open: model.onnx and photographs/, which are made here,
digits.vtap and digit.raw. One block is examples/python/digits.py but for the names of these. Without
the compiler, blocks that compile are left out.
"""

import os
import re
import sys
from pathlib import Path

import test_compile

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
    assert example in [block for _, block in blocks], f"{DOCUMENT} does not have {EXAMPLE}"
    os.chdir(sys.argv[1])
    Path("model.onnx").write_bytes(test_compile.network())
    Path("photographs").mkdir()
    for i in range(3):
        Path(f"photographs/{i}.png").write_bytes(test_compile.png(bytes(range(256)) * 3, 16, 16))
    names = {"__name__": "document", "image": test_compile.ONE}
    for line, block in blocks:
        if "vtadev.compile(" in block and not test_compile.HAVE:
            continue
        exec(compile("\n" * line + block, str(DOCUMENT), "exec"), names)


main()
