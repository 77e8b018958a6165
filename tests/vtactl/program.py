#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""vtactl program bench and profile, on the devices in the process: counts, order, names, the
trace's schema, forged reports, wrong usage.

    program.py VTAC VTACTL PLUGINS

Prints TAP. SKIP without Debian's python3-onnx, which makes the model.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"1..0 # SKIP {error}")
    sys.exit(0)

VTAC, VTACTL = (os.path.abspath(path) for path in sys.argv[1:3])
ENV = dict(os.environ, VTADEV_PLUGINS=os.path.abspath(sys.argv[3]), VTADEV_DEVICE="soft")
CARD_LAYERS = ["conv0", "conv1", "conv2", "gap", "fc"]
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
        print("\n".join(f"# {line}" for line in str(what).splitlines()))


def ctl(*args, status=0, device="soft"):
    """Runs vtactl program; returns stdout, and stderr."""
    done = subprocess.run([VTACTL, "program", *map(str, args)], capture_output=True, text=True,
                          env=dict(ENV, VTADEV_DEVICE=device), check=False)
    if done.returncode != status:
        raise AssertionError(f"{args}: status {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def make_model(path):
    """Convolutions on the card, around an operator of the CPU."""
    random = np.random.RandomState(0)
    nodes, weights, last = [], [], "image"

    def weight(name, *shape):
        weights.append(numpy_helper.from_array(
            (random.randn(*shape) * 0.2).astype(np.float32), name))
        return name

    channels = 3
    for i, units in enumerate((16, 32, 32)):
        nodes.append(helper.make_node(
            "Conv", [last, weight(f"w{i}", units, channels, 3, 3), weight(f"b{i}", units)],
            [f"c{i}"], name=f"conv{i}", pads=[1] * 4, strides=[2, 2]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"relu{i}"))
        last, channels = f"r{i}", units
        if i == 1:
            nodes.append(helper.make_node("Sin", [last], ["e"], name="sin"))
            last = "e"
    nodes += [helper.make_node("GlobalAveragePool", [last], ["g"], name="gap"),
              helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
              helper.make_node("Gemm", ["f", weight("wf", 32, 10), weight("bf", 10)],
                               ["scores"], name="fc")]
    graph = helper.make_graph(
        nodes, "tiny",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(path))


def forge(program, target, *changes):
    """A program whose report has other words of the same length, and a right checksum."""
    data = program.read_bytes()
    for old, new in changes:
        assert len(old) == len(new) and old in data, old
        data = data.replace(old, new)
    data = data[:12] + bytes(4) + data[16:]
    target.write_bytes(data[:12] + struct.pack("<I", zlib.crc32(data)) + data[16:])
    return target


# ---- bench ----

def bench_counts():
    r = json.loads(ctl("bench", tiny, "-n", 6, "-f", 3, "-w", 1, "-c", "soft,soft", "--json")[0])
    rows = [(row["cards"], row["in_flight"]) for row in r["results"]]
    if rows != [(cards, n) for cards in (1, 2) for n in (1, 2, 3)]:
        return rows
    for row in r["results"]:
        times = [row[f"{key}_ms"] for key in ("min", "p50", "p90", "p99", "max")]
        if row["runs"] != 6 or times != sorted(times) or not 0 < times[0] <= row["mean_ms"]:
            return row
        if row["images_per_second"] <= 0 or row["lost_runs"]:
            return row
    one = r["one_at_a_time"]
    parts = one["compute_ms"] + one["copy_ms"] + one["cpu_ms"]
    return (one["runs"], one["cycles"]) == (6, one["formula_cycles"]) and \
        0 < parts <= one["total_ms"] and one["to_card_bytes"] > 0 < one["from_card_bytes"] or one


def bench_text():
    out = ctl("bench", tiny, "-d", "0.1", "-f", 1)[0]
    return bool(re.search(r"^cards in flight +images/s", out, re.M) and
                re.search(r"^    1 +1 +[0-9.]+ ", out, re.M) and
                re.search(r"^  cycles +[0-9]+ by the formula, [0-9]+ measured$", out, re.M)) or out


def bench_rate():
    ctl("bench", tiny, "-n", 2, "-f", 1, "--min-rate", "0.001")
    error = ctl("bench", tiny, "-n", 2, "-f", 1, "--min-rate", "1e9", "--json", status=1)[1]
    return "less than --min-rate=1e+09" in error or error


def bench_inputs():
    np.save(directory / "one.npy", np.ones((1, 3, 32, 32), np.float32))
    ctl("bench", tiny, "-n", 1, "-f", 1, f"image={directory}/one.npy")
    error = ctl("bench", tiny, "-n", 1, f"nosuch={directory}/one.npy", status=1)[1]
    return "not NAME=FILE" in error or error


def wrong_usage():
    for args in (["bench", tiny, "--output=x"], ["profile", tiny, "--cards=soft"],
                 ["run", tiny, "--in-flight=2"], ["bench", tiny, "--min-rate=x"],
                 ["bench", tiny, "--top=3"], ["bench"], ["frob", tiny], ["info", tiny, "-n", 3],
                 ["bench", tiny, "-f", 257], ["profile", tiny, "-n", 0]):
        out, error = ctl(*args, status=2)
        if out or "try vtactl program --help" not in error:
            return f"{args}: {out}{error}"
    return True


def wrong_files():
    """A tensor has one file, which is no directory."""
    for args, message in ((["image=" + str(directory)], "Is a directory"),
                          (["image=a", "image=b"], "image=b: another file is given for it"),
                          (["image=a", "@0=b"], "@0=b: another file is given for it"),
                          (["--image", directory], "Is a directory")):
        error = ctl("run", tiny, *args, status=1)[1]
        if message not in error:
            return f"{args}: {error}"
    return True


def outputs_are_no_inputs():
    np.zeros((1, 3, 32, 32), np.float32).tofile(directory / "image")
    alias = directory / "alias"
    alias.symlink_to(tiny)
    before = tiny.read_bytes()
    for verb, *args in (["run", f"scores={alias}", f"image={directory}/image"],
                        ["run", f"scores={directory}/image", f"image={directory}/image"],
                        ["profile", "-n", 1, "-o", tiny]):
        error = ctl(verb, tiny, *args, status=1)[1]
        if "would replace what is read" not in error:
            return f"{args}: {error}"
    return tiny.read_bytes() == before and (directory / "image").stat().st_size == 12288


def no_card():
    error = ctl("bench", tiny, status=2, device="nosuch")[1] + \
        ctl("profile", tiny, status=2, device="nosuch")[1]
    return error.count("nosuch") == 2 or error


# ---- profile ----

def profile(program, *args, device="soft"):
    return json.loads(ctl("profile", program, "-n", 3, "--json", *args, device=device)[0])


def profile_layers(device):
    r = profile(tiny, device=device)
    rows = r["layers"]
    card = [row for row in rows if row["device"] == "card"]
    if [row["name"] for row in card] != CARD_LAYERS or r["card"] != device:
        return r
    if "sin" not in [row["name"] for row in rows if row["device"] == "CPU"]:
        return r
    for row in card:
        formula = row["formula"]
        # The last instructions of a layer may end after the next one has begun. Loads of that
        # one's first weights, which do not keep it waiting, are measured to their end.
        early = 0 if row is card[-1] else formula["load_bytes"] // 16
        if not 0 <= row["cycles"] - formula["cycles"] <= 16 + early or row["bytes"] <= 0 or \
                formula["limit"] not in ("compute", "memory", "latency") or \
                not 0 < formula["least_cycles"] <= formula["cycles"]:
            return row
    begins = [row["begin_us"] for row in rows]
    least = -2 * r["clock_error_us"]
    return all(b - a >= least for a, b in zip(begins, begins[1:])) and r["runs"] == 3 or r


def profile_text():
    out = ctl("profile", tiny, "-n", 2)[0]
    missing = [name for name in CARD_LAYERS if not re.search(
        rf"^{name} +card +[-0-9.]+ +[0-9.]+ +[0-9.]+ +\d+ +\d+ +\d+ "
        r"(compute|memory|latency) +[0-9.]+$", out, re.M)]
    return (not missing and "median of 2 runs" in out and "it costs" in out) or (missing, out)


def overwritten_input():
    """Each run has the inputs, though the memory plan gives their place to later tensors; the
    outputs of all runs are compared. Seven runs are one and two at a turn."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node(op, [f"t{i}"], [f"t{i + 1}"])
             for i, op in enumerate(("Sin", "Exp", "Cos", "Exp"))]
    graph = helper.make_graph(nodes, "row", [value("t0", TensorProto.FLOAT, [1, 64])],
                              [value("t4", TensorProto.FLOAT, [1, 64])])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    onnx.save(made, str(directory / "row.onnx"))
    subprocess.run([VTAC, "compile", "-q", "--no-card", "-o", directory / "row.vtap",
                    directory / "row.onnx"], check=True)
    return ctl("profile", directory / "row.vtap", "-n", 7)[0].startswith("row ")


def without_a_report():
    """A program that no compiler described: each stream is a layer."""
    r = profile(digits)
    card = [row for row in r["layers"] if row["device"] == "card"]
    return len(card) == 1 and card[0]["formula"]["cycles"] == card[0]["cycles"] or r


def forged_reports():
    """Places that are none are left out; what is no JSON has no names."""
    first = profile(forge(tiny, directory / "a.vtap", (b'"insn": ', b'"insn":-')))
    names = [row["name"] for row in first["layers"] if row["device"] == "card"]
    second = profile(forge(tiny, directory / "b.vtap", (b'"steps": [', b'"steps": {')))
    kinds = [row["device"] for row in second["layers"]]
    third = profile(forge(tiny, directory / "c.vtap", (b'"layers": [', b'"layers":3[')))
    return names == ["conv0", "conv2"] and kinds.count("card") == 2 and \
        len(third["layers"]) == len(kinds) or (names, kinds)


def trace_schema():
    """The Trace Event Format: spans of a track follow each other, each track has a name."""
    path = directory / "trace.json"
    ctl("profile", tiny, "-n", 2, "-o", path)
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X"]
    for event in events:
        if event["ph"] not in "MX" or not isinstance(event["name"], str) or event["pid"] != 1 or \
                event["tid"] not in (0, *names):
            return event
    if sorted(names.values()) != ["CPU", "run", "soft compute", "soft copy", "soft queue"]:
        return names
    for tid, name in names.items():
        track = [e for e in spans if e["tid"] == tid]
        if not track:
            return f"nothing on {name}"
        if any(not isinstance(e["ts"], float) or e["dur"] < 0 for e in track):
            return track
        for a, b in zip(track, track[1:]):
            if b["ts"] < a["ts"] + a["dur"] - 0.002:
                return a, b
    compute = [e["name"] for e in spans if names[e["tid"]] == "soft compute"]
    run = [e for e in spans if names[e["tid"]] == "run"]
    return compute == CARD_LAYERS and len(run) == 1 and \
        trace["otherData"]["card"] == "soft" or compute


def trace_that_cannot_be_written():
    error = ctl("profile", tiny, "-o", directory / "no/such", status=1)[1]
    return "No such file" in error and not ctl(
        "profile", tiny, "-n", 1, "-o", "/dev/full", status=1)[0] or error


with tempfile.TemporaryDirectory() as name:
    directory = Path(name)
    tiny, digits = directory / "tiny.vtap", Path("build/examples/digits/digits.vtap").absolute()
    make_model(directory / "tiny.onnx")
    np.save(directory / "calib.npy",
            np.random.RandomState(1).randn(4, 3, 32, 32).astype(np.float32))
    subprocess.run([VTAC, "compile", "-q", "--scale=0.02", "-o", tiny,
                    f"--calibrate={directory}/calib.npy", directory / "tiny.onnx"], check=True)
    devices = subprocess.run([VTACTL, "list", "--all"], env=ENV, capture_output=True, text=True,
                             check=True).stdout.split()
    print("TAP version 13")
    check("bench: as many runs as asked for, on 1 and 2 devices", bench_counts)
    check("bench: text", bench_text)
    check("bench --min-rate: exit status", bench_rate)
    check("bench: inputs of files", bench_inputs)
    check("wrong usage exits 2, and names the help", wrong_usage)
    check("run: directories for files, and two files for one input", wrong_files)
    check("run, profile: outputs in place of what is read", outputs_are_no_inputs)
    check("bench, profile: a device that is none", no_card)
    check("profile: each layer, in order, with its cycles",
          lambda: profile_layers("soft"))
    if "opencl:0.0" in devices:
        check("profile: the same on OpenCL", lambda: profile_layers("opencl:0.0"))
    else:
        results.append(True)
        print(f"ok {len(results)} profile: the same on OpenCL # SKIP there is no OpenCL device")
    check("profile: text", profile_text)
    check("profile: a run that overwrites its input does not change the next", overwritten_input)
    check("profile: a program without a report", without_a_report)
    check("profile: forged reports", forged_reports)
    check("profile --output: the trace's schema", trace_schema)
    check("profile --output: a file that cannot be written", trace_that_cannot_be_written)
    print(f"1..{len(results)}")
sys.exit(not all(results))
