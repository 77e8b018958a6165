#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each operator that the compiler reads is in a model that the fuzzer of models starts from.

    operators.py SEEDS...

SEEDS are directories with models, and programs that write models to a directory, by -w. Prints
TAP.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]


def operators():
    """The names in the tables of compiler/onnx."""
    names = set()
    for source in (TOP / "compiler/onnx").glob("*.c"):
        for table in re.findall(r"^const struct onnx_op \w+\[\] = \{\n(.*?)^\};",
                                source.read_text(), re.M | re.S):
            names.update(re.findall(r'[({] ?"(\w+)"', table))
    return names


def named(path, names):
    """Those of the names that a model's nodes may have: field 4 is the operator."""
    data = path.read_bytes()
    return {name for name in names if b"\x22" + bytes([len(name)]) + name.encode() in data}


def main(seeds):
    absent = [seed for seed in seeds if not os.path.exists(seed)]
    if absent or not importlib.util.find_spec("onnx"):
        why = " ".join(absent) or "python3-onnx"
        print(f"TAP version 13\nok 1 operators # SKIP no {why}\n1..1")
        return 0
    missing = operators()
    count = len(missing)
    with tempfile.TemporaryDirectory() as made:
        for seed in seeds:
            if not os.path.isdir(seed):
                subprocess.run([seed, "-w", made], check=True, cwd=TOP)
        for directory in [*filter(os.path.isdir, seeds), made]:
            for path in pathlib.Path(directory).rglob("*.onnx"):
                missing -= named(path, missing)
    good = count > 150 and not missing
    print("TAP version 13\n1..1")
    print("ok" if good else "not ok", f"1 {count} operators in models to start from")
    if missing:
        print("# none has", ", ".join(sorted(missing)))
    return not good


sys.exit(main(sys.argv[1:]))
