#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""vtac report: times and limits, and the page, which Chromium opens.

    report.py VTAC

Prints TAP. The page's test is skipped without chromium, the others without Debian's python3-onnx.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"1..0 # SKIP {error}")
    sys.exit(0)

VTAC = os.path.abspath(sys.argv[1])
LAYERS = 300
# A name that would end the page's script, if it were not escaped.
EVIL = "stage0/</script><b>"
results = []


def check(name, test):
    """Counts a test; test returns True, or something to print."""
    try:
        what = test()
    except Exception as error:      # pylint: disable=broad-except
        what = repr(error)
    results.append(what is True)
    print(f"{'ok' if what is True else 'not ok'} {len(results)} {name}")
    if what is not True:
        print("\n".join(f"# {line}" for line in str(what)[:4000].splitlines()))


def make_model(path):
    """A long row of convolutions in blocks, and one operator of the CPU."""
    random = np.random.RandomState(0)
    nodes, weights, last = [], [], "image"
    for i in range(LAYERS):
        weights.append(numpy_helper.from_array(
            (random.randn(16, 16, 1, 1) * 0.2).astype(np.float32), f"w{i}"))
        name = EVIL if i == 1 else f"stage{i // 30}/layer{i // 3}/conv{i}"
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], name=name))
        last = f"c{i}"
        if i == LAYERS // 2:
            nodes.append(helper.make_node("Sin", [last], ["e"], name="sin"))
            last = "e"
    nodes.append(helper.make_node("Relu", [last], ["y"], name="relu"))
    graph = helper.make_graph(
        nodes, "long", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 16, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 8, 8])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(path))


def vtac(*args, status=0):
    done = subprocess.run([VTAC, *map(str, args)], capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise AssertionError(f"{args}: status {done.returncode}: {done.stderr}")
    return done.stdout


def json_report():
    nodes = report["nodes"]
    for i, node in enumerate(nodes):
        if any(not 0 <= source < i for source in node["inputs"]):
            return node
        if node["device"] == "card" and node["cycles"] and not (
                0 < node["least_cycles"] <= node["cycles"] and node["load_bytes"] > 0 and
                node["limit"] in ("compute", "memory", "latency")):
            return node
    card = sum(node["cycles"] for node in nodes)
    # FINISH at the end of each stream is no node's.
    return 0 <= report["cycles"] - card <= 2 * report["regions"] or (report["cycles"], card)


def arena():
    """Blocks that are there at one time have places of their own, within the arena."""
    blocks = report["arena"]
    for i, a in enumerate(blocks):
        if a["offset"] + a["bytes"] > report["card_bytes"] or a["first"] > a["last"]:
            return a
        for b in blocks[:i]:
            if a["first"] <= b["last"] and b["first"] <= a["last"] and \
                    a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]:
                return a, b
    return len(blocks) > LAYERS / 2 or len(blocks)


def clock():
    text = vtac("compile", f"--calibrate={calib}", "--clock=250", "-o", directory / "fast.vtap",
                directory / "long.onnx")
    time = re.search(r"^time of the card +([0-9.]+) ms at 250 MHz: at most ([0-9.]+) runs", text, re.M)
    return bool(time) and abs(float(time[1]) - report["cycles"] / 250e3) < 0.001 or text[-800:]


def page():
    """Chromium's result of the page: the totals, folded blocks, no element of a name's."""
    path = directory / "page.html"
    vtac("report", "--html", "-o", path, program)
    source = path.read_text()
    if re.search(r"""(src|href)\s*=|@import|url\(""", source) or EVIL in source:
        return "the page is not self-contained"
    if not shutil.which("chromium"):
        return None

    def dom(fragment):
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={directory}/chromium", "--virtual-time-budget=5000", "--dump-dom",
             f"file://{path}#{fragment}"],
            capture_output=True, text=True, timeout=300, check=True)
        return done.stdout

    folded, unfolded, found = dom("clock=200"), dom("unfold=1"), dom("search=sin")
    count = [text.count('class="node"') for text in (folded, unfolded, found)]
    layers = len(report["nodes"])
    time = f"{report['cycles'] / 200e3:.3f} ms at 200 MHz"
    shown = [text.count('class="found"') for text in (folded, found)]
    return time in folded and folded.count('class="block"') == 10 and count[0] < 60 and \
        count[1] == layers and count[0] <= count[2] < layers and shown == [0, 1] and \
        "<b>" not in folded.split("<script")[0] or (time, count, shown, folded[:2000])


with tempfile.TemporaryDirectory() as name:
    directory = Path(name)
    program, calib = directory / "long.vtap", directory / "calib.npy"
    make_model(directory / "long.onnx")
    np.save(calib, np.random.RandomState(1).randn(2, 16, 8, 8).astype(np.float32))
    vtac("compile", "-q", "-o", program, f"--calibrate={calib}", directory / "long.onnx")
    report = json.loads(vtac("report", "-j", program))
    print("TAP version 13")
    check("nodes have inputs, work and limits", json_report)
    check("blocks of the arena do not overlap", arena)
    check("times are at the clock that is given", clock)
    opened = page()
    if opened is None:
        results.append(True)
        print(f"ok {len(results)} the page, in Chromium # SKIP chromium is not installed")
    else:
        check("the page, in Chromium", lambda: opened)
    print(f"1..{len(results)}")
sys.exit(not all(results))
