#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the pictures of the documents from the data beside this file (record.sh).

    make.py [DIRECTORY]

Writes *.svg to DIRECTORY (that of this file). tests/docs/pictures.py compares them with those that
the documents show.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests/bench")]
import chart    # pylint: disable=wrong-import-position
import charts   # pylint: disable=wrong-import-position

CPU, COPY, CARD = 1, 2, 0


def machine():
    return (HERE / "machine.txt").read_text(encoding="utf-8").strip()


def parts():
    """Programs, the driver and a card."""
    svg = chart.Svg(860, 452, "How programs reach the card", (), [
        ("each launch: writes to mapped memory, no system call", 0, False),
        ("set-up, sleeping waits, faults: system calls", 1, False),
        ("registers, page tables, interrupts", 2, False)])

    def box(x, y, width, height, lines, colour):
        svg.path(f"M{x},{y}h{width}v{height}h{-width}z", f"w l{colour}")
        for n, line in enumerate(lines):
            svg.text(x + width / 2, y + 20 + 17 * n, line, "s" if n else "i", "middle")

    def down(x, y, stop, colour):
        """An arrow with a head at each end."""
        svg.path(f"M{x},{y}V{stop}M{x - 5},{stop - 6}L{x},{stop}L{x + 5},{stop - 6}"
                 f"M{x - 5},{y + 6}L{x},{y}L{x + 5},{y + 6}", f"w l{colour}")

    def down_right(x, y, stop, right, colour):
        svg.path(f"M{x},{y}V{stop}H{right}M{right - 6},{stop - 5}L{right},{stop}"
                 f"L{right - 6},{stop + 5}M{x - 5},{y + 6}L{x},{y}L{x + 5},{y + 6}", f"w l{colour}")

    for y, name in ((110, "user"), (236, "kernel"), (340, "PCIe card")):
        svg.text(16, y, name, "s")
    for y in (196, 304):
        svg.path(f"M16,{y}H830", "g d")
    for x, name in ((84, "program A"), (322, "program B")):
        box(x, 88, 222, 88, [name, "libvtaprog: networks, operators", "libvtadev: buffers, rings,",
                             "doorbells, status pages"], 0)
    box(580, 88, 250, 88, ["vtactl", "status, top, trace, export,", "doctor, program bench"], 1)
    box(580, 212, 250, 76, ["vta.ko", "contexts, page tables, queues;", "limits, watchdog, reset"], 2)
    down_right(240, 176, 236, 578, 1)
    down_right(480, 176, 260, 578, 1)
    down(705, 176, 210, 1)
    down(136, 176, 346, 0)
    down(374, 176, 346, 0)
    down(705, 288, 318, 2)
    box(84, 320, 746, 112, [], 4)
    box(100, 348, 190, 34, ["queues of A"], 0)
    box(322, 348, 190, 34, ["queues of B"], 0)
    box(570, 348, 244, 34, ["compute and copy engine"], 4)
    svg.path("M290,365H322M512,365H568M562,360L568,365L562,370", "w l4")
    svg.text(457, 412, "each queue's accesses go through the page table of its context; "
             "queues share the engines by weight", "s", "middle")
    svg.text(612, 338, "a card that follows docs/hardware.md, or the emulated one", "s", "middle")
    return str(svg)


def models():
    """The report of MNIST's program."""
    report = json.loads((HERE / "mnist.json").read_text(encoding="utf-8"))
    khz = report["clock_khz"]
    entries = []
    for node in report["nodes"]:
        if node["device"] != "card" or not node["cycles"]:
            continue
        ms = node["cycles"] / khz
        entries.append((node["name"], ms, f"{ms:.3f} ms, {100 * node['cycles'] / report['cycles']:.1f} %",
                        CARD, node["limit"], f"{node['sqnr']:.1f} dB"))
    total = report["cycles"] / khz
    return chart.rows(
        "MNIST's layers on the card, as vtac reports them",
        [f"{report['cycles']:,} cycles by the card's formula: {total:.3f} ms at {khz / 1000:g} MHz, "
         f"at most {1000 / total:.0f} images a second;",
         "the default core of TVM; SQNR against floats on 16 images. The same on every machine"],
        ["layer", "time", "limit", "SQNR"], entries)


def tracing():
    """The profile of a run of MNIST's program, as Perfetto shows it."""
    trace = json.loads((HERE / "mnist-trace.json").read_text(encoding="utf-8"))
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"]
             if e["name"] == "thread_name"}
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    begin = min(e["ts"] for e in events)
    colours = {"cpu": CPU, "copy": COPY, "compute": CARD}
    lanes = [(name, [(e["ts"] - begin, e["ts"] - begin + e["dur"], e["name"],
                      colours.get(e["cat"], 4)) for e in events if e["tid"] == tid])
             for tid, name in sorted(names.items())]
    return chart.spans(
        "One run of MNIST: vtactl program profile --output=mnist-trace.json",
        f"device soft (the card's core in the process) on {machine()}", "us", lanes,
        [("card computes", CARD), ("card copies", COPY), ("CPU computes", CPU)])


def user_rates(text):
    """Of samples of vtactl export: seconds, and the share of the time that each user's files had."""
    samples, marks = [], []
    for line in text.splitlines():
        if found := re.match(r"# at ([0-9.]+)$", line):
            samples.append((float(found[1]), {}))
        elif found := re.match(r"# (.*) at ([0-9.]+)$", line):
            marks.append((float(found[2]), found[1]))
        elif found := re.match(r'vta_client_busy_seconds_total\{.*client="(\d+)".*uid="(\d+)".*\} '
                               r"([0-9.e+-]+)$", line):
            samples[-1][1][found[1], found[2]] = float(found[3])
    rates = {}
    for (before, then), (at, now) in zip(samples, samples[1:]):
        for user in sorted({user for _, s in samples for _, user in s}):
            busy = sum(value - then.get(key, 0) for key, value in now.items() if key[1] == user)
            rates.setdefault(user, []).append((at, busy / (at - before)))
    return rates, marks


def monitoring():
    """Two users of a card, by the metrics of vtactl export."""
    rates, marks = user_rates((HERE / "users.prom").read_text(encoding="utf-8"))
    return chart.lines(
        "Two users share a card: rate(vta_client_busy_seconds_total), by user",
        ["sampled every 2 s by vtactl export; each user keeps runs of MNIST in flight; an emulated card",
         f"in modelled time, at 2 MHz, in the VM on {machine()}"],
        "seconds", "share of the compute engine's time",
        [(f"user {user}", points, n, False) for n, (user, points) in enumerate(rates.items())],
        within=(0, 1.05), marks=[(at, text) for at, text in marks], dots=False)


def bench():
    """The part conv."""
    return charts.draw("conv", HERE / "conv.dat", f"made on {machine()}")


PICTURES = {"parts": parts, "models": models, "tracing": tracing, "monitoring": monitoring,
            "bench": bench}

if __name__ == "__main__":
    OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for NAME, DRAW in PICTURES.items():
        (OUT / f"{NAME}.svg").write_text(DRAW(), encoding="utf-8")
