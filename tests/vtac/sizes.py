#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A detector whose outputs have as many rows as its scores decide.

    sizes.py VTAC VTACTL

Boxes and scores go through NonMaxSuppression, gathers, a TopK of min(8, boxes) and a Concat of two
such lists; every size is computed by the file, as PyTorch exports it. The program runs on the device
soft, by vtactl, by the Python package, and as C, and is compared with numpy. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

BOXES, CLASSES, MOST, TOP = 50, 3, 10, 8


def skip(why):
    print(f"TAP version 13\nok 1 sizes # SKIP {why}\n1..1")
    sys.exit(0)


try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skip(error)

BYTES = np.arange(1, 13, dtype=np.int8).reshape(4, 3)
WEIGHTS = np.arange(1, CLASSES + 1, dtype=np.float32)


def model():
    """The network as ONNX."""
    def constant(name, values):
        return numpy_helper.from_array(np.asarray(values), name)

    node = helper.make_node
    nodes = [
        node("Transpose", ["raw"], ["scores"], perm=[0, 2, 1]),
        node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["chosen"]),
        node("Gather", ["chosen", "two"], ["box"], axis=1),
        node("Squeeze", ["box", "one"], ["box_row"]),
        node("Gather", ["chosen", "one"], ["class"], axis=1),
        node("Squeeze", ["class", "one"], ["labels"]),
        node("Squeeze", ["boxes", "zero"], ["all_boxes"]),
        node("Gather", ["all_boxes", "box_row"], ["picked"], axis=0),
        node("Squeeze", ["scores", "zero"], ["all_scores"]),
        node("Concat", ["class", "box"], ["pairs"], axis=1),
        node("GatherND", ["all_scores", "pairs"], ["picked_scores"]),
        node("Shape", ["picked_scores"], ["count"]),
        node("Concat", ["count", "top"], ["counts"], axis=0),
        node("ReduceMin", ["counts"], ["k"], keepdims=0),
        node("Reshape", ["k", "all"], ["k1"]),
        node("TopK", ["picked_scores", "k1"], ["top_scores", "order"], axis=0),
        node("Gather", ["picked", "order"], ["top_boxes"], axis=0),
        node("Gather", ["labels", "order"], ["top_labels"], axis=0),
        node("Concat", ["top_boxes", "picked"], ["both"], axis=0),
        node("ReduceSum", ["picked_scores", "zero"], ["total"], keepdims=0),
        node("ReduceMax", ["both"], ["greatest"], axes=[0], keepdims=1),
        node("Slice", ["labels", "one", "five", "zero"], ["some"]),
        node("NonZero", ["labels"], ["not_zero"]),
        node("OneHot", ["labels", "classes", "off_on"], ["one_hot"]),
        node("Transpose", ["one_hot"], ["columns"], perm=[1, 0]),
        node("MatMul", ["weights", "columns"], ["weighted"]),
        node("Sub", ["count", "five"], ["less"]),
        node("Slice", ["labels", "zero", "less", "zero"], ["front"]),
        node("Concat", ["count", "all"], ["rows_first"], axis=0),
        node("Reshape", ["picked", "rows_first"], ["rows"]),
        node("Mul", ["count", "two"], ["twice"]),
        node("Concat", ["twice", "all"], ["twice_first"], axis=0),
        node("Reshape", ["picked", "twice_first"], ["halves"]),
        node("Reshape", ["halves", "copy_first"], ["copied"]),
        node("Reshape", ["copied", "all"], ["line"]),
        node("Reshape", ["line", "in_fours"], ["fours"]),
        node("DynamicQuantizeMatMul", ["picked", "bytes", "byte_scale"], ["product"],
             domain="com.microsoft"),
    ]
    value = helper.make_tensor_value_info
    outputs = [value(name, kind, shape) for name, kind, shape in [
        ("top_boxes", TensorProto.FLOAT, ["k", 4]), ("top_scores", TensorProto.FLOAT, ["k"]),
        ("top_labels", TensorProto.INT64, ["k"]), ("both", TensorProto.FLOAT, ["n", 4]),
        ("total", TensorProto.FLOAT, []), ("greatest", TensorProto.FLOAT, [1, 4]),
        ("some", TensorProto.INT64, ["m"]), ("not_zero", TensorProto.INT64, [1, "l"]),
        ("one_hot", TensorProto.FLOAT, ["n", CLASSES]), ("weighted", TensorProto.FLOAT, ["n"]),
        ("front", TensorProto.INT64, ["f"]), ("rows", TensorProto.FLOAT, ["n", 4]),
        ("halves", TensorProto.FLOAT, ["h", 2]), ("copied", TensorProto.FLOAT, ["h", 2]),
        ("line", TensorProto.FLOAT, ["v"]), ("fours", TensorProto.FLOAT, ["n", 2, 2]),
        ("product", TensorProto.FLOAT, ["n", 3])]]
    graph = helper.make_graph(
        nodes, "detector",
        [value("boxes", TensorProto.FLOAT, [1, BOXES, 4]),
         value("raw", TensorProto.FLOAT, [1, BOXES, CLASSES])], outputs,
        [constant("most", np.int64([MOST])), constant("iou", np.float32([0.5])),
         constant("least", np.float32([0.4])), constant("zero", np.int64([0])),
         constant("one", np.int64([1])), constant("two", np.int64([2])),
         constant("five", np.int64([5])), constant("top", np.int64([TOP])),
         constant("all", np.int64([-1])), constant("classes", np.int64(CLASSES)),
         constant("copy_first", np.int64([0, -1])), constant("in_fours", np.int64([-1, 2, 2])),
         constant("bytes", BYTES), constant("byte_scale", np.float32(0.5)),
         constant("off_on", np.float32([0, 1])), constant("weights", WEIGHTS)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                 helper.make_opsetid("com.microsoft", 1)])
    made.ir_version = 8
    return made


def overlap(a, b):
    """Intersection over union."""
    top, left = max(a[0], b[0]), max(a[1], b[1])
    bottom, right = min(a[2], b[2]), min(a[3], b[3])
    if bottom <= top or right <= left:
        return 0
    common = (bottom - top) * (right - left)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def inputs(number):
    """Boxes and scores, of which fewer exceed the least in each next run, and none in the last."""
    rng = np.random.default_rng(number)
    corners = rng.random((BOXES, 2, 2), dtype=np.float32)
    boxes = np.concatenate([corners.min(1), corners.max(1)], 1)[None]
    raw = (rng.random((1, BOXES, CLASSES)) ** (1 + number ** 3)).astype(np.float32)
    return boxes, raw if number < 5 else raw * 0


def rounded(values):
    """Values in 256 steps of their range and 0, alone of those in use."""
    least, most = min(values.min(initial=0), 0), max(values.max(initial=0), 0)
    step = np.float32(most - least) / np.float32(255)
    zero = np.rint(-least / step) if step else 0
    return (np.clip(np.rint(values / step) + zero, 0, 255) - zero) * step


def expected(boxes, raw):
    """The outputs, by loops."""
    boxes, scores, rows = boxes[0], raw[0].T, []
    for label in range(CLASSES):
        kept = []
        for i in np.argsort(-scores[label], kind="stable"):
            if scores[label][i] > 0.4 and len(kept) < MOST and \
                    all(overlap(boxes[i], boxes[k]) <= 0.5 for k in kept):
                kept.append(i)
        rows += [(label, i) for i in kept]
    score = np.array([scores[row] for row in rows], np.float32)
    label = np.array([row[0] for row in rows], np.int64)
    picked = np.array([boxes[row[1]] for row in rows], np.float32).reshape(-1, 4)
    top = np.argsort(-score, kind="stable")[:TOP]
    both = np.concatenate([picked[top], picked])
    greatest = both.max(0, keepdims=True) if rows else np.full((1, 4), -np.inf, np.float32)
    return {"top_boxes": picked[top], "top_scores": score[top], "top_labels": label[top],
            "both": both, "total": score.sum(), "greatest": greatest, "some": label[1:5],
            "not_zero": np.array(np.nonzero(label)), "one_hot": np.eye(CLASSES)[label],
            "weighted": WEIGHTS[label], "front": label[:len(label) - 5],
            "rows": picked, "halves": picked.reshape(-1, 2), "copied": picked.reshape(-1, 2),
            "line": picked.reshape(-1), "fours": picked.reshape(-1, 2, 2),
            "product": rounded(picked) @ (BYTES * np.float32(0.5))}


def same(got, want):
    """Equal shapes, and values to a float's precision."""
    got = np.asarray(got)
    got = got.reshape(()) if np.ndim(want) == 0 and got.size == 1 else got
    return got.shape == np.shape(want) and np.allclose(got, want, rtol=1e-5)


class Tap:
    """Results in order."""
    n, failed = 0, False

    def result(self, name, good):
        """Print one."""
        self.n += 1
        self.failed = self.failed or not good
        print("ok" if good else "not ok", self.n, name)


def run(*command):
    """Run a command, which prints its errors itself: the output."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def by_vtactl(vtactl, tap, number):
    """Each output in a file of its size."""
    boxes, raw = inputs(number)
    np.save("boxes.npy", boxes)
    np.save("raw.npy", raw)
    want = expected(boxes, raw)
    text = run(vtactl, "program", "run", "detector.vtap", "boxes=boxes.npy", "raw=raw.npy",
               *(f"{name}={name}.npy" for name in want))
    good = f"both: {len(want['both'])} of at most {TOP + MOST * CLASSES}\n" in text
    for name, value in want.items():
        good = good and same(np.load(f"{name}.npy"), value)
    tap.result(f"vtactl: {len(want['both'])} rows", good)


def by_python(tap):
    """Arrays of the size that they have in this run."""
    import vtadev

    with vtadev.open("soft") as device, device.program("detector.vtap") as program:
        for number in range(6):
            want = expected(*inputs(number))
            names = [tensor.name for tensor in program.outputs]
            got = program(*inputs(number))
            tap.result(f"Python: {len(want['both'])} rows", names == list(want) and
                       all(same(array, want[name]) for name, array in zip(names, got)))
    with vtadev.Pool("detector.vtap", ["soft"]) as pool:
        want = expected(*inputs(2))
        got = pool(*inputs(2))
        tap.result("Python's pool", all(same(array, want[name]) for name, array in
                                        zip(want, got)))


def by_c(vtac, tap):
    """Buffers of the most, and the number in use behind each."""
    run(vtac, "compile", "--no-card", "--emit=c", "-o", "c", "detector.onnx")
    tree = os.environ["TREE"]
    includes = " ".join(f"-I{tree}/{d}" for d in ["uapi", "libvtadev", "libvtadev/cpu"])
    run("make", "-s", "-C", "c", f"INCLUDES={includes}",
        f"LIBS=-L{tree}/build/lib -lvtaprog -lvtadev -Wl,-rpath,{tree}/build/lib")
    boxes, raw = inputs(3)
    want = expected(boxes, raw)
    boxes.tofile("boxes")
    raw.tofile("raw")
    files = []
    for name in want:
        files.append(f"out_{name}")
        if name not in ("total", "greatest"):
            files.append(f"out_{name}.size")
    run("c/main", "boxes", "raw", *files)
    n = np.fromfile("out_both.size", np.int64)
    both = np.fromfile("out_both", np.float32).reshape(-1, 4)
    tap.result("C: values and their number", n.size == 1 and len(both) == TOP + MOST * CLASSES and
               same(both[:n[0]], want["both"]))


def main():
    """All ways."""
    if not os.path.exists(f"{os.environ['TREE']}/build/python/vtadev/_core.abi3.so"):
        skip("the Python package is not built")
    vtac, vtactl = (os.path.abspath(path) for path in sys.argv[1:3])
    sys.path.insert(0, f"{os.environ['TREE']}/build/python")
    os.environ["VTADEV_PLUGINS"] = f"{os.environ['TREE']}/build/lib"
    os.environ["VTADEV_DEVICE"] = "soft"
    tap = Tap()
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        os.chdir(where)
        onnx.save(model(), "detector.onnx")
        run(vtac, "compile", "--no-card", "-o", "detector.vtap", "detector.onnx")
        info = json.loads(run(vtactl, "program", "info", "--json", "detector.vtap"))
        sizes = [t["name"] for t in info["tensors"] if t["role"] == "size"]
        tap.result("vtactl lists outputs and their sizes", len(sizes) == 15 and
                   "top_boxes.size" in sizes and "output     not_zero int64 [1][<=30]" in
                   run(vtactl, "program", "info", "detector.vtap"))
        for number in range(6):
            by_vtactl(vtactl, tap, number)
        by_python(tap)
        by_c(vtac, tap)
        os.chdir("/")
    print(f"1..{tap.n}")
    return tap.failed


if "TREE" not in os.environ:
    # The package's extension finds its libraries by a variable of the process's start.
    TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    os.environ.update(TREE=TREE, LD_LIBRARY_PATH=f"{TREE}/build/lib")
    os.execv(sys.executable, [sys.executable, *sys.argv])
sys.exit(main())
