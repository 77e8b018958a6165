#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compile and compare the networks that export.py wrote. Prints TAP, and writes a table.

    measure.py NETWORK EXPORTS OUT RUNTIME...

OUT/exports.txt names the networks and their keys. A network passes if it compiles for the CPU and
for the card, if the CPU's outputs have at least 90 dB against ONNX Runtime's (25 if these are
of a quantised network), and if the card's equal the integer interpreter's. The command RUNTIME...
NAME-KEY prints the seconds of a run by ONNX Runtime.

Figures are kept in OUT/rows, and a run that was stopped goes on behind them, until the compiler or
a network's recipe changes. OUT/zoo.md is the table with a paragraph of its sums, which page.py puts
into a page, OUT/zoo.json the sums.
"""
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import textwrap

LEAST_DB = 90
# ONNX Runtime computes these with integers, and rounds some values to the next one.
LEAST_DB_OF = {"quantised": 25, "8-bit weights": 25}
SECONDS = 1800
MEMORY = 4 << 30  # free, for each network that is measured at a time
HEAD = """| network | nodes | multiplications, 10^6 | on the card | regions | program, MiB | cycles, 10^3 | compile, s | memory, MiB | CPU, dB | CPU, time | card, dB |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""
MEGA = 1024 * 1024


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


def row(name, cpu, card):
    return (f"| {name} | {card['nodes']} | {float(card['multiplications']) / 1e6:.0f} "
            f"| {100 * float(card['share']):.0f} % | {card['regions']} "
            f"| {int(card['bytes']) / MEGA:.1f} | {int(card['cycles']) / 1000:.0f} "
            f"| {float(card['seconds']):.1f} | {int(card['memory']) / 1024:.0f} "
            f"| {float(cpu['sqnr']):.0f} | {time_of(cpu):.1f} | {float(card['sqnr']):.1f} |\n")


def time_of(cpu):
    """Of a run on the CPU, in runs of ONNX Runtime."""
    return float(cpu["run_seconds"]) / float(cpu["runtime_seconds"])


def sums(passed):
    """Of the figures of both devices of the networks that passed."""
    card = [both["card"] for both in passed]
    times = [time_of(both["cpu"]) for both in passed]
    work = [float(figures["multiplications"]) for figures in card]
    # The weights as floats are those of the program without the card.
    memory = [int(both["card"]["memory"]) * 1024 / (4 * int(both["cpu"]["weight_bytes"]) + 200 * MEGA)
              for both in passed]
    return {
        "networks": len(passed),
        "nodes": sum(int(figures["nodes"]) for figures in card),
        "multiplications": sum(work),
        "on_card": sum(float(figures["share"]) * n for figures, n in zip(card, work)) / sum(work),
        "regions": sum(int(figures["regions"]) for figures in card),
        "program_bytes": sum(int(figures["bytes"]) for figures in card),
        "cycles": sum(int(figures["cycles"]) for figures in card),
        "compile_seconds": sum(float(figures["seconds"]) for figures in card),
        "memory_most": max(memory),
        "cpu_time_mean": math.exp(sum(math.log(time) for time in times) / len(times)),
        "cpu_time_most": max(times),
    }


def paragraph(of, slow):
    """The sums @of as sentences; @slow: names of the networks that take longest on the CPU."""
    text = (f"In all, {of['networks']} networks with {of['nodes']:,} nodes have "
            f"{100 * of['on_card']:.0f} % of their multiplications on the card, and take "
            f"{of['compile_seconds']:.0f} s of a processor to compile, with at most "
            f"{of['memory_most']:.2f} of 4 x weights + 200 MiB of memory. A run on the CPU takes "
            f"{of['cpu_time_mean']:.2f} times as long as by ONNX Runtime in the geometric mean, and "
            f"at most {of['cpu_time_most']:.1f} times ({', '.join(slow)}).")
    return textwrap.fill(text, 104, break_long_words=False, break_on_hyphens=False) + "\n"


def slowest(passed, names):
    """The names of the three networks whose runs take longest in those of ONNX Runtime."""
    times = sorted(((time_of(both["cpu"]), name) for both, name in zip(passed, names)), reverse=True)
    return [f"{name} {time:.1f}" for time, name in times[:3]]


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


def digest(program):
    """Of the program and of the device's plugin, which have the compiler and the library."""
    files = [program, pathlib.Path(os.environ["VTADEV_PLUGINS"], "libvtadev-soft.so")]
    return hashlib.sha256(b"".join(pathlib.Path(f).read_bytes() for f in files)).hexdigest()[:12]


def time_runtime(runtime, path):
    done = subprocess.run([*runtime, path.name], stdout=subprocess.PIPE, timeout=SECONDS,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        return {"error": f"ONNX Runtime ended with {done.returncode}"}
    return {"runtime_seconds": done.stdout.decode().split()[-1]}


def figures_of(program, path, runtime, kept):
    """The figures of both devices; those of the file @kept, if there is one."""
    if kept.exists():
        return json.loads(kept.read_text())
    cpu = measure(program, path, "cpu")
    if "error" not in cpu:
        cpu.update(time_runtime(runtime, path))
    both = {"cpu": cpu, "card": cpu if "error" in cpu else measure(program, path, "card")}
    part = kept.with_suffix(".part")
    part.write_text(json.dumps(both, indent=1))
    part.rename(kept)
    return both


def at_once():
    """Networks that are measured side by side: one for each processor, if the memory is enough."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), free // MEMORY))


def main():
    program, exports, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    failed, rows, passed, names = False, [], [], []
    networks = [line.split(maxsplit=2) for line in (out / "exports.txt").read_text().splitlines()]
    kept = out / "rows" / digest(program)
    kept.mkdir(parents=True, exist_ok=True)
    print("TAP version 13", f"1..{len(networks)}", sep="\n", flush=True)
    with concurrent.futures.ThreadPoolExecutor(at_once()) as pool:
        measured = pool.map(lambda n: figures_of(program, exports / f"{n[0]}-{n[1]}",
                                                 sys.argv[4:], kept / f"{n[0]}-{n[1]}.json"), networks)
        for i, ((name, _key, group), both) in enumerate(zip(networks, measured), 1):
            cpu, card = both["cpu"], both["card"]
            why = problem(cpu, card, group)
            if why:
                failed = True
                print(f"not ok {i} {name}: {why}", flush=True)
            else:
                print(f"ok {i} {name}", flush=True)
                rows.append(row(name, cpu, card))
                passed.append(both)
                names.append(name)
                of = sums(passed)
                print("# " + rows[-1], end="", flush=True)
                (out / "zoo.md").write_text(HEAD + "".join(rows) + "\n" +
                                            paragraph(of, slowest(passed, names)))
                (out / "zoo.json").write_text(json.dumps(of, indent=1))
    sys.exit(failed)


main()
