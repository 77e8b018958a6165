#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The progress of long commands: on terminals of any width one bar that never goes back, elsewhere
lines. The clock of the progress advances with each reading (clock.c), so no test depends on times.

    progress.py VTAC VTACTL PLUGINS CLOCK

Prints TAP. SKIP without Debian's python3-onnx, which makes the model.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"1..0 # SKIP {error}")
    sys.exit(0)

VTAC, VTACTL, PLUGINS, CLOCK = (os.path.abspath(path) for path in sys.argv[1:5])
ENV = dict(os.environ, VTADEV_PLUGINS=PLUGINS, VTADEV_DEVICE="soft", LD_PRELOAD=CLOCK,
           CLOCK_STEP_MS="30", TERM="xterm", LC_ALL="C")
COUNT = 24
# Bars that erase themselves; the cursor goes to the line's begin for each.
DRAWN = re.compile(r"\r([^\r\n]*?) *(\d+)%([^\r\n]*)\x1b\[K")
ERASE = "\r\x1b[K"
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
        print("\n".join(f"# {line}" for line in repr(what)[:4000].splitlines()))


def on_terminal(*args, columns=100, status=0, later=None, **env):
    """Runs a command on a terminal; returns all that it printed. With later, the terminal has that
    many columns after the first bar."""
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(args[0], [str(a) for a in args], dict(ENV, **env))
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
        if later and b"%" in seen:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, later, 0, 0))
            later = None
    os.close(terminal)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if ended != status:
        raise AssertionError(f"{args}: status {ended}: {seen!r}")
    return seen.decode()


def redirected(*args, **env):
    """Runs a command without a terminal; returns stdout and stderr."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False,
                          env=dict(ENV, **env))
    if done.returncode:
        raise AssertionError(f"{args}: status {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def make_model(path):
    random = np.random.RandomState(0)
    nodes, weights, last = [], [], "image"
    for i in range(8):
        weights.append(numpy_helper.from_array(
            (random.randn(16, 16, 3, 3) * 0.1).astype(np.float32), f"w{i}"))
        nodes += [helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1] * 4),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        last = f"r{i}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "tiny", [value("image", TensorProto.FLOAT, [1, 16, 8, 8])],
                              [value(last, TensorProto.FLOAT, [1, 16, 8, 8])], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    onnx.save(made, str(path))
    np.save(path.with_suffix(".npy"), random.randn(COUNT, 16, 8, 8).astype(np.float32))


def is_one_bar(text):
    """Percentages that never go back, and nothing of the bars at the end."""
    shown = [int(m[2]) for m in DRAWN.finditer(text)]
    if len(set(shown)) < 4 or shown != sorted(shown) or not 0 <= shown[0] <= shown[-1] <= 100:
        return shown
    rest = text[[m.end() for m in DRAWN.finditer(text)][-1]:]
    return rest.startswith(ERASE) or rest


def has_lines(stderr, command):
    """Lines with percentages that never go back, and no bar."""
    lines = re.findall(rf"^{command}: [a-z0-9_ ]+: (\d+) %(?:, about \d+ (?:s|min|h) left)?$", stderr,
                       re.M)
    shown = [int(n) for n in lines]
    return len(shown) > 1 and shown == sorted(shown) and "\r" not in stderr or stderr


def widths(text):
    return [len(m[1]) + len(re.match(r" *", m[0][1 + len(m[1]):])[0]) + len(m[2]) + 1 + len(m[3])
            for m in DRAWN.finditer(text)]


def narrow(columns):
    bars = widths(on_terminal(*COMPILE, columns=columns))
    return len(bars) > 3 and max(bars) < columns or bars


def resized():
    bars = widths(on_terminal(*COMPILE, columns=100, later=30))
    return bars[0] > 30 and bars[-1] < 30 or bars


def time_left():
    text = on_terminal(*COMPILE)
    return bool(re.search(r"%, about \d+ s left", text)) or text


def unlike_a_terminal():
    text = on_terminal(*COMPILE, TERM="dumb", CLOCK_STEP_MS="400")
    return has_lines(text.replace("\r\n", "\n"), "vtac: compile")


def sooner():
    error = redirected(*COMPILE, CLOCK_STEP_MS="0")[1]
    return "%" not in error or error


def quiet():
    terminal, (out, error) = on_terminal(*COMPILE, "-q"), redirected(*COMPILE, "-q")
    return not terminal and not out and not error or (terminal, out, error)


def output_alone():
    """A command prints the same on stdout with and without progress."""
    with_lines, error = redirected(*COMPILE, CLOCK_STEP_MS="400")
    without = redirected(*COMPILE, CLOCK_STEP_MS="0")[0]
    return "%" in error and with_lines == without or (with_lines, error)


def after_an_error():
    """A message begins at the begin of an empty line."""
    text = on_terminal(VTAC, "compile", "--calibrate", model.with_suffix(".npy"), "-o",
                       "/dev/full", model, status=1)
    return is_one_bar(text) is True and "\r\x1b[Kvtac: /dev/full: " in text or text


def table():
    """Rows of a table are not behind a bar."""
    text = on_terminal(VTACTL, "program", "bench", program, "-n", "40", "-f", "4")
    rows = re.findall(r"(?:^|\n|\x1b\[K)    1 +([124]) ", text)
    return is_one_bar(text) is True and rows == ["1", "2", "4"] or text


with tempfile.TemporaryDirectory(prefix="vta-progress.") as work:
    model = Path(work) / "tiny.onnx"
    make_model(model)
    program = model.with_suffix(".vtap")
    raw = Path(work) / "in"
    raw.write_bytes(b"\0" * (4 * 16 * 8 * 8 * 300))
    COMPILE = [VTAC, "compile", "--calibrate", model.with_suffix(".npy"), "--measure",
               model.with_suffix(".npy"), "-o", program, model]
    print("TAP version 13")
    check("vtac compile on a terminal: one bar that never goes back",
          lambda: is_one_bar(on_terminal(*COMPILE)))
    check("the bar says the time that is left", time_left)
    for width in (70, 40, 24, 12):
        check(f"in {width} columns it keeps to its line", lambda: narrow(width))
    check("it follows the terminal's width", resized)
    check("without a terminal: lines",
          lambda: has_lines(redirected(*COMPILE, CLOCK_STEP_MS="400")[1], "vtac: compile"))
    check("on a terminal that cannot erase: lines", unlike_a_terminal)
    check("a command of less than ten seconds prints none", sooner)
    check("--quiet prints none", quiet)
    check("standard output is the same", output_alone)
    check("an error erases the bar", after_an_error)
    check("vtactl program bench: one bar, and its table", table)
    RUN = [VTACTL, "program", "run", "-c", "soft", program, f"image={raw}", "r7=/dev/null"]
    PROFILE = [VTACTL, "program", "profile", "-n", "40", program]
    for verb, command in (("program run", RUN), ("program profile", PROFILE),
                          ("test", [VTACTL, "test", "soft"]), ("bench", [VTACTL, "bench", "soft"])):
        check(f"vtactl {verb}: one bar", lambda: is_one_bar(on_terminal(*command)))
        check(f"vtactl {verb}: lines", lambda: has_lines(
            redirected(*command, CLOCK_STEP_MS="1000")[1], f"vtactl: {verb.split()[0]}"))
print(f"1..{len(results)}")
sys.exit(not all(results))
