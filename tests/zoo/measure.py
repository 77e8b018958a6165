#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compile and compare the networks that export.py wrote. Prints TAP, and writes a table.

    measure.py NETWORK EXPORTS OUT

OUT/exports.txt names the networks and their keys. A network passes if it compiles for the CPU and
for the card, if the CPU's outputs have at least 90 dB against ONNX Runtime's (25 if these are
of a quantised network), and if the card's
equal the integer interpreter's. refused.list names those that do not pass yet.
"""
import pathlib
import subprocess
import sys

LEAST_DB = 90
# ONNX Runtime computes these with integers, and rounds some values to the next one.
LEAST_DB_OF = {"quantised": 25, "8-bit weights": 25}
SECONDS = 1800
HEAD = """| network | nodes | multiplications, 10^6 | on the card | regions | program, MiB | cycles, 10^3 | compile, s | memory, MiB | CPU, dB | card, dB |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def measure(program, path, device):
    """The figures that network.c prints, by name."""
    if (path / "error").exists():
        return {"error": "export: " + (path / "error").read_text().split("\n")[0]}
    try:
        done = subprocess.run([program, path, device], stdout=subprocess.PIPE, timeout=SECONDS,
                              stderr=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {SECONDS} s"}
    lines = done.stdout.decode(errors="replace").splitlines()
    figures = dict(line.split(" ", 1) for line in lines if " " in line)
    if done.returncode and "error" not in figures:
        figures["error"] = f"{program} ended with {done.returncode}"
    return figures


def refusals():
    """Reasons by network: lines NAME TEXT."""
    lines = pathlib.Path(__file__).with_name("refused.list").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines if line and line[0] != "#")


def row(name, cpu, card):
    mega = 1024 * 1024
    return (f"| {name} | {card['nodes']} | {float(card['multiplications']) / 1e6:.0f} "
            f"| {100 * float(card['share']):.0f} % | {card['regions']} "
            f"| {int(card['bytes']) / mega:.1f} | {int(card['cycles']) / 1000:.0f} "
            f"| {float(card['seconds']):.1f} | {int(card['memory']) / 1024:.0f} "
            f"| {float(cpu['sqnr']):.0f} | {float(card['sqnr']):.1f} |\n")


def problem(cpu, card, group):
    """A sentence, or None."""
    if "error" in cpu:
        return cpu["error"]
    if "error" in card:
        return "card: " + card["error"]
    if float(cpu["sqnr"]) < LEAST_DB_OF.get(group, LEAST_DB):
        return f"the CPU's outputs have {cpu['sqnr']} dB against ONNX Runtime"
    if cpu["differ"] != "0" or card["differ"] != "0":
        return "outputs differ from the interpreter's"
    return None


def main():
    program, exports, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    refused, failed, rows = refusals(), False, []
    networks = [line.split(maxsplit=2) for line in (out / "exports.txt").read_text().splitlines()]
    print("TAP version 13", f"1..{len(networks)}", sep="\n", flush=True)
    for i, (name, key, group) in enumerate(networks, 1):
        path = exports / f"{name}-{key}"
        cpu = measure(program, path, "cpu")
        card = cpu if "error" in cpu else measure(program, path, "card")
        why = problem(cpu, card, group)
        if why and name in refused and refused[name] in why:
            print(f"ok {i} {name} # SKIP {why}", flush=True)
        elif why or name in refused:
            failed = True
            print(f"not ok {i} {name}: {why or 'it passes: refused.list has it'}", flush=True)
        else:
            print(f"ok {i} {name}", flush=True)
        if not why:
            rows.append(row(name, cpu, card))
            print("# " + rows[-1], end="", flush=True)
            (out / "zoo.md").write_text(HEAD + "".join(rows))
    sys.exit(failed)


main()
