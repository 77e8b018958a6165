#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""vtactl program run --images: figures of a set against those of its outputs, on the devices in the
process; forms of labels; bad sets are refused before they run.

    evaluate.py VTAC VTACTL PLUGINS SANITIZED

SANITIZED is vtactl for AddressSanitizer and UBSan. Prints TAP. SKIP without Debian's python3-onnx, which makes the model.
"""

import collections
import json
import os
import shutil
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
SANITIZED = os.path.abspath(sys.argv[4])
ENV = dict(os.environ, VTADEV_PLUGINS=os.path.abspath(sys.argv[3]), VTADEV_DEVICE="soft")
CLASSES = ["cat", "dog", "sea gull", "3", "", "car"]
COUNT, SIDE = 60, 12
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


def ctl(*args, status=0, device="soft", command=VTACTL):
    """Runs vtactl program run; returns stdout, and stderr."""
    done = subprocess.run([command, "program", "run", *map(str, args)], capture_output=True,
                          text=True, env=dict(ENV, VTADEV_DEVICE=device), check=False)
    if done.returncode != status:
        raise AssertionError(f"{args}: status {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def png(pixels):
    """A picture of RGB bytes, as an array of rows."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(
        b"IHDR", struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def compile_network(path, *options, classes=len(CLASSES)):
    random = np.random.RandomState(3)

    def constant(name, *shape):
        return numpy_helper.from_array(random.randn(*shape).astype(np.float32), name)

    nodes = [helper.make_node("Conv", ["image", "w"], ["c"], pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["g"]),
             helper.make_node("Flatten", ["g"], ["f"]),
             helper.make_node("Gemm", ["f", "d"], ["scores"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "tiny", [value("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [value("scores", TensorProto.FLOAT, [1, classes])],
        [constant("w", 16, 3, 3, 3), constant("d", 16, classes)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(directory / "net.onnx"))
    subprocess.run([VTAC, "compile", "-q", f"--calibrate={directory}/calib.npy", "--no-prune", *options,
                    "-o", path, directory / "net.onnx"], check=True)
    return path


def make_set():
    """Pictures, values of the same, and a class for each: that of rank NUMBER % 3 by its scores."""
    (directory / "set").mkdir()
    pixels = np.random.RandomState(1).randint(0, 256, (COUNT, SIDE, SIDE, 3), np.uint8)
    # Means differ, so that the classes do.
    pixels = (pixels * np.random.RandomState(2).rand(COUNT, 1, 1, 3)).astype(np.uint8)
    values = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), np.float32)
    np.save(directory / "calib.npy", values[:16])
    for i in range(COUNT):
        (directory / f"set/{i:02}.png").write_bytes(png(pixels[i]))
        np.save(directory / f"set/{i:02}.npy", values[i:i + 1])
    (directory / "labels.txt").write_text("".join(f"{name}\n" for name in CLASSES))
    compile_network(program, "--scale=1", f"--labels={directory}/labels.txt")
    values.tofile(directory / "all.raw")
    ctl(program, "--cards=soft", f"image={directory}/all.raw", f"scores={directory}/scores.raw")
    scores = np.fromfile(directory / "scores.raw", "<f4").reshape(COUNT, len(CLASSES))
    order = np.argsort(-scores, axis=1, kind="stable")
    return scores, order, [int(order[i, i % 3]) for i in range(COUNT)]


def lines(suffix=".png", name=str, blank=" "):
    """A file of labels."""
    path = directory / "set.txt"
    path.write_text("".join(f"{i:02}{suffix}{blank}{name(label)}\n"
                            for i, label in enumerate(labels)))
    return path


def evaluated(*args, **how):
    return json.loads(ctl(program, f"--images={directory}/set", "--json", *args, **how)[0])


def wanted(top):
    """Figures by numpy and zlib, of the outputs that another command has written."""
    wrong = collections.Counter((labels[i], int(order[i, 0])) for i in range(COUNT)
                                if labels[i] != order[i, 0])
    of = collections.Counter(labels)
    return {
        "images": COUNT, "failed": 0, "k": top,
        "top1": sum(labels[i] == order[i, 0] for i in range(COUNT)),
        "topk": sum(labels[i] in order[i, :top] for i in range(COUNT)),
        "outputs_crc32": f"{zlib.crc32((directory / 'scores.raw').read_bytes()):08x}",
        "wrong": [(*pair, n) for pair, n in sorted(wrong.items(), key=lambda w: (-w[1], w[0]))],
        "classes": [(i, CLASSES[i] or None, of[i], of[i] - sum(
            n for pair, n in wrong.items() if pair[0] == i)) for i in sorted(of)]}


def same(got, top=2):
    got = dict(got)
    got["wrong"] = [(w["class"], w["taken_for"], w["images"]) for w in got["wrong"]]
    got["classes"] = [(c["class"], c["name"], c["images"], c["right"]) for c in got["classes"]]
    if sum(card["answers"] for card in got.pop("cards")) != COUNT or got.pop("seconds") <= 0:
        return "answers or seconds"
    return got == wanted(top) or (got, wanted(top))


def every_form_of_labels():
    for path in (lines(), lines(".npy"), lines(name=lambda i: CLASSES[i] or i),
                 lines(name=lambda i: CLASSES[i] or i, blank=" \t "), lines(blank="   ")):
        what = same(evaluated(f"--labels={path}", "--top=2"))
        if what is not True:
            return path.read_text(), what
    return True


def names_with_blanks():
    shutil.copytree(directory / "set", directory / "my set")
    os.rename(directory / "my set/00.png", directory / "my set/a b.png")
    path = lines(blank="\t")
    path.write_text(path.read_text().replace("00.png\t", "a b.png\t") + "\r\n\n")
    r = json.loads(ctl(program, f"--images={directory}/my set", f"--labels={path}", "--top=2",
                       "--json")[0])
    return same(r)


def folders():
    """The order is that of folders; so only the CRC of the outputs differs."""
    for i, label in enumerate(labels):
        folder = directory / "folders" / (CLASSES[label] or str(label))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(directory / f"set/{i:02}.png", folder)
    (directory / "folders/.hidden").mkdir()
    (directory / "folders/README").write_text("not an image")
    r = json.loads(ctl(program, f"--images={directory}/folders", "--top=2", "--json")[0])
    r["outputs_crc32"] = wanted(2)["outputs_crc32"]
    return same(r)


def every_device(cards):
    return same(evaluated(f"--labels={lines()}", "--top=2", f"--cards={cards}"))


def text():
    out = ctl(program, f"--images={directory}/set", f"--labels={lines()}")[0]
    w = wanted(5)
    for line in (f"top-1   {100 * w['top1'] / COUNT:6.2f} %  {w['top1']} of {COUNT} images",
                 f"top-5   {100 * w['topk'] / COUNT:6.2f} %  {w['topk']}",
                 f"outputs  {w['outputs_crc32']}  CRC-32 of all"):
        if line not in out.splitlines():
            return line, out
    worst = min(w["classes"], key=lambda c: (c[3] / c[2], c[0]))
    row = next(line for line in out.splitlines()[5:] if line)
    return row.startswith(f"{100 * worst[3] / worst[2]:6.2f} % {worst[2]:8}   "
                          f"{worst[1] or f'class {worst[0]}'} as ") or (worst, out)


def unreadable_picture():
    """A picture that breaks off is found when it is read: the others count."""
    shutil.copytree(directory / "set", directory / "broken")
    data = (directory / "broken/05.png").read_bytes()
    (directory / "broken/05.png").write_bytes(data[:60])
    out, error = ctl(program, f"--images={directory}/broken", f"--labels={lines()}", "--json",
                     status=1)
    r = json.loads(out)
    return (r["images"], r["failed"]) == (COUNT - 1, 1) and "broken/05.png: " in error and \
        f"1 of {COUNT} images have no result, and are not counted" in error or (r, error)


def bad_sets():
    """Each is refused with its sentence, and nothing is printed to stdout."""
    (directory / "empty").mkdir()
    (directory / "unknown/horse").mkdir(parents=True)
    (directory / "texts").mkdir()
    (directory / "texts/x.png").write_text("no picture")
    np.save(directory / "texts/x.npy", np.zeros((1, 3, 5, 5), np.float32))
    (directory / "texts/d.png").mkdir()
    for directory_, labels_, sentence in (
            ("nosuch", None, "nosuch: No such file"),
            ("empty", None, "no images in folders that are named by classes"),
            ("unknown", None, "unknown/horse: the folder's name is no name of a class"),
            ("set", "nosuch", "nosuch: No such file"),
            ("set", "\n \n", "names no image"),
            ("set", "00.png cat\n01.png\n", "line 2: no class behind the image's name"),
            ("set", "00.png horse\n", "line 1: 'horse' is no name of a class of the program, and "
                                      "no number from 0 to 5"),
            ("set", "00.png 6\n", "line 1: '6' is no name"),
            ("set", "00.png -1\n", "line 1: '-1' is no name"),
            ("set", "60.png cat\n", "60.png: No such file"),
            ("set", "00.png cat\n01.png cat\n00.png dog\n", "00.png twice"),
            ("set", "00.png\0cat\n", "not a text of lines"),
            ("texts", "x.png cat\n", "x.png: neither a PNG nor a JPEG file"),
            ("texts", "x.npy cat\n", "x.npy: its shape is not the tensor's"),
            ("texts", "d.png cat\n", "d.png: not a file")):
        args = [program, f"--images={directory}/{directory_}"]
        if labels_ is not None:
            (directory / "bad.txt").write_text(labels_)
            args.append(f"--labels={directory}/" + ("nosuch" if labels_ == "nosuch" else "bad.txt"))
        out, error = ctl(*args, status=1)
        if out or sentence not in error:
            return directory_, labels_, out, error
    return True


def programs_that_are_no_classifiers():
    one = compile_network(directory / "one.vtap", "--scale=1", classes=1)
    plain = compile_network(directory / "plain.vtap")
    for path, sentence in ((one, "this output has one value"),
                           (plain, "does not say how a picture becomes an input")):
        error = ctl(path, f"--images={directory}/set", f"--labels={zeros}", status=1)[1]
        if sentence not in error:
            return path, error
    return True


def wrong_usage():
    for args in (["--image=x.png"], ["image=x"], ["--boxes"], ["--threads=2"], ["--top=0"]):
        out, error = ctl(program, "--images=x", *args, status=2)
        if out or "try vtactl program --help" not in error:
            return args, out, error
    return "nosuch" in ctl(program, f"--images={directory}/set", f"--labels={zeros}", status=2,
                           device="nosuch")[1]


def odd_bytes():
    """Outputs behind an input of 363 bytes are aligned all the same."""
    nodes = [helper.make_node("Cast", ["image"], ["x"], to=TensorProto.FLOAT),
             helper.make_node("ReduceMean", ["x"], ["scores"], axes=[2, 3], keepdims=0)]
    value = helper.make_tensor_value_info
    model = helper.make_model(helper.make_graph(
        nodes, "odd", [value("image", TensorProto.UINT8, [1, 3, 11, 11])],
        [value("scores", TensorProto.FLOAT, [1, 3])]), opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(directory / "odd.onnx"))
    subprocess.run([VTAC, "compile", "-q", "--no-card", "-o", directory / "odd.vtap",
                    directory / "odd.onnx"], check=True)
    for folder in "012":
        (directory / "odd" / folder).mkdir(parents=True)
        values = np.zeros((1, 3, 11, 11), np.uint8)
        values[0, int(folder)] = 9
        np.save(directory / "odd" / folder / "a.npy", values)
    got = json.loads(ctl(directory / "odd.vtap", f"--images={directory}/odd", "--json",
                         command=SANITIZED)[0])
    return got["top1"] == 3 or got


def named_cards_are_wanted():
    """A pool would go on without one of its cards."""
    files = [f"image={directory}/all.raw", f"scores={directory}/none.raw"]
    for cards in ("nosuch,soft", "soft,nosuch"):
        for args in (files, [f"--images={directory}/set", f"--labels={zeros}"]):
            out, error = ctl(program, f"--cards={cards}", *args, status=2)
            if out or "--cards: nosuch: " not in error:
                return cards, args, out, error
    return not (directory / "none.raw").exists()


with tempfile.TemporaryDirectory() as name:
    directory = Path(name)
    program, zeros = directory / "net.vtap", directory / "zeros.txt"
    zeros.write_text("00.png 0\n")
    scores, order, labels = make_set()
    devices = subprocess.run([VTACTL, "list", "--all"], env=ENV, capture_output=True, text=True,
                             check=True).stdout.split()
    print("TAP version 13")
    check("the set has several classes, of which some are taken for others",
          lambda: len(set(labels)) > 3 and len(wanted(2)["wrong"]) > 3 or labels)
    check("figures of files with numbers, names, blanks and tabs; of pictures and arrays",
          every_form_of_labels)
    check("files whose names have blanks", names_with_blanks)
    check("folders that are named by classes", folders)
    check("the same figures on a device of one core", lambda: every_device("soft:cores=1"))
    check("the same figures on a pool of two", lambda: every_device("soft,soft:cores=3"))
    if "opencl:0.0" in devices:
        check("the same figures on OpenCL", lambda: every_device("opencl:0.0"))
    else:
        results.append(True)
        print(f"ok {len(results)} the same figures on OpenCL # SKIP there is no OpenCL device")
    check("text: shares, and the worst class first", text)
    check("a picture that cannot be read is named, and not counted", unreadable_picture)
    check("bad sets are refused before they run", bad_sets)
    check("programs that are no classifiers are refused", programs_that_are_no_classifiers)
    check("an input of an odd number of bytes", odd_bytes)
    check("a card that is named and not there is an error", named_cards_are_wanted)
    check("wrong usage exits 2", wrong_usage)
    print(f"1..{len(results)}")
sys.exit(not all(results))
