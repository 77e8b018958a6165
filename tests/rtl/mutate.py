#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
mutate.py - change one operator of the core's RTL at a time, and count the changes that tests find

All mutants are in one copy of the RTL: an expression E with the mutants M7 and M9 becomes
(number == 7 ? M7 : number == 9 ? M9 : E), and the environment's VTA_RTL_MUTANT is the number. So a
configuration has one model, which Verilator compiles once. Mutants are drawn by a seed; each runs
the random streams of a configuration, or another test, until one fails, and those that pass run on
the next configuration. A command that takes CLOCKS hangs, which ends the run; so do SECONDS of a
processor.

--list prints the mutants. Those that pass are printed, to be looked at: the change has no effect, or
only on the clocks that a run takes, or a test is missing. Those of mutants.txt are known to be of
the first two kinds, and do not count. The status is 1 if fewer than --least percent of the others are found.

--check has Verilator read the RTL with all mutants that there are, so that any can be drawn.
"""

import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
CORE = os.path.join(TOP, "card/rtl/core")
EQUIVALENT = os.path.join(TOP, "tests/rtl/mutants.txt")
# Configurations with numbers of streams, or the name of another test, in this order
STAGES = [("tiny", 18), ("block4_wide_src", 18), ("batch2", 18), ("tiny", 240),
          ("default", "isa_streams"), ("deep", 3), ("board", 18), ("least", "depths")]
CLOCKS = {"streams": "400000", "isa_streams": "4000000", "depths": "400000"}
SECONDS = 60

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|`ifdef\ FORMAL.*?`endif)
  | (?P<sized>\d*'s?[bdh][0-9a-fA-F_xz]+)
  | (?P<fill>'[01x])
  | (?P<number>\d+)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*(?:::[A-Za-z_0-9]+)?)
  | (?P<mark><<<|>>>|===|!==|<<|>>|<=|>=|==|!=|&&|\|\||\+:|-:|~\||~&|\+\+|--|'\(|[-+*/%<>=!&|~^?:;,.(){}\[\]\#@'"`])
""", re.X | re.S)
OPEN, CLOSE = {"(", "[", "{", "'("}, {")", "]", "}"}
BINARY = {"+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
          "&": "|", "|": "&", "<<": ">>", ">>": "<<", ">>>": ">>", "*": "+"}
UNARY = {"~": "", "-": "", "&": "|", "|": "&", "~|": "~&", "~&": "~|", "!": ""}


class Source:
    """One file, as tokens with their places."""

    def __init__(self, path):
        self.name = os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.tokens = []
        at = 0
        while at < len(self.text):
            m = TOKEN.match(self.text, at)
            if m is None and self.text[at] == '"':
                at = self.text.index('"', at + 1) + 1
                continue
            if m is None:
                raise SystemExit(f"{path}: cannot read {self.text[at:at + 20]!r}")
            if m.lastgroup != "space":
                self.tokens.append((m.lastgroup, m.group(), at))
            at = m.end()
        self.match_brackets()
        self.states = [t[1] for i, t in enumerate(self.tokens)
                       if self.is_state(i)]

    def match_brackets(self):
        """partner[i]: the token that closes or opens bracket i; depth[i]: brackets around it."""
        self.partner, self.depth, stack = {}, [], []
        for i, (_, text, _) in enumerate(self.tokens):
            if text in CLOSE:
                o = stack.pop()
                self.partner[o], self.partner[i] = i, o
            self.depth.append(len(stack))
            if text in OPEN:
                stack.append(i)

    def is_state(self, i):
        """Returns true for the name of a state: localparam logic [..] Name = N'dM."""
        t = self.tokens
        return t[i][0] == "word" and t[i][1][0].isupper() and i + 2 < len(t) and \
            t[i + 1][1] == "=" and t[i + 2][0] == "sized" and t[i - 1][1] == "]" and \
            t[self.partner[i - 1] - 1][1] == "logic" and \
            t[self.partner[i - 1] - 2][1] == "localparam"

    def text_of(self, first, last):
        """The source from token first up to token last, which is not in it."""
        return self.text[self.tokens[first][2]:self.end(last - 1)]

    def end(self, i):
        return self.tokens[i][2] + len(self.tokens[i][1])

    def expressions(self):
        """Spans of tokens that are values at run time: right sides, conditions, inputs of modules."""
        t, i = self.tokens, 0
        start = 0                       # of the statement
        while i < len(t):
            text = t[i][1]
            if text in ("begin", "end", "else", ";", "endcase", "always_comb", "generate"):
                start = i + 1
            elif text == "if" and t[i + 1][1] == "(":
                close = self.partner[i + 1]
                if not (t[close + 1][1] == "begin" and t[close + 2][1] == ":"):
                    yield i + 2, close, "condition"
                i = start = close
            elif text in ("=", "<=") and self.depth[i] == 0:
                last = i
                while t[last][1] != ";":
                    last += 1
                words = {x[1] for x in t[start:i]}
                if not words & {"localparam", "parameter", "genvar", "for", "unused"}:
                    yield i + 1, last, "value"
                i = start = last
            elif text == "." and t[i + 2][1] == "(" and t[i + 1][1].islower():
                close = self.partner[i + 2]
                if any(x[1] in BINARY or x[1] in UNARY or x[1] == "?" for j, x in
                       enumerate(t[i + 3:close], i + 3) if self.depth[j] == self.depth[i + 3]):
                    yield i + 3, close, "value"
                i = close
            i += 1

    def fixed(self, i, first):
        """Returns true if token i is part of a width, a range, a count or a block's index."""
        t, j = self.tokens, i
        if t[i + 1][1] in ("{", "'("):
            return True
        for j in range(i, first - 1, -1):
            if t[j][1] in OPEN and self.partner[j] > i:
                close = self.partner[j]
                if t[close + 1][1] in ("'(", "."):
                    return True
                if t[j][1] == "[":
                    inside = [k for k in range(j, close) if t[k][1] in (":", "+:", "-:") and
                              self.depth[k] == self.depth[j] + 1]
                    if inside and (t[inside[0]][1] == ":" or i > inside[0]):
                        return True
        return False

    def is_unary(self, i, first):
        return i == first or self.tokens[i - 1][1] in OPEN or \
            (self.tokens[i - 1][0] == "mark" and self.tokens[i - 1][1] not in CLOSE)

    def changes(self, i, first, last):
        """Replacements of token i within an expression."""
        kind, text, _ = self.tokens[i]
        if kind == "mark" and text in UNARY and self.is_unary(i, first):
            yield UNARY[text]
        elif kind == "mark" and text in BINARY and not self.is_unary(i, first):
            yield BINARY[text]
        elif kind == "fill" and text != "'x":
            yield "'1" if text == "'0" else "'0"
        elif kind == "sized" and "'d" in text:
            width, value = text.split("'d")
            bits = (1 << int(width or 32)) - 1
            yield f"{width}'d{(int(value) + 1) & bits}"
            if bits > 1:
                yield f"{width}'d{(int(value) - 1) & bits}"
        elif text in ("1'b0", "1'b1"):
            yield "1'b1" if text == "1'b0" else "1'b0"
        elif kind == "number":
            yield str(int(text) + 1)
            if int(text):
                yield str(int(text) - 1)
        elif kind == "word" and text in self.states:
            at = self.states.index(text)
            yield self.states[(at + 1) % len(self.states)]
        elif kind == "word" and i + 1 < last and self.tokens[i + 1][1] == "?" and \
                (i == first or self.tokens[i - 1][1] in ("(", ":", "?", ",", "{")):
            yield "~" + text

    def mutants(self):
        """Yields (first, last, place, the expression's text with the change, description)."""
        for first, last, what in self.expressions():
            whole = self.text_of(first, last)
            base = self.tokens[first][2]
            found = []
            for i in range(first, last):
                if not self.fixed(i, first):
                    found += [(i, c) for c in self.changes(i, first, last)]
            for i, change in found:
                at = self.tokens[i][2] - base
                old = self.tokens[i][1]
                yield (first, last, self.tokens[i][2],
                       whole[:at] + change + whole[at + len(old):], f"{old} -> {change or 'none'}")
            if what == "condition":
                yield first, last, base, f"!({whole})", "negated"


def describe(source, mutant):
    line = source.text.count("\n", 0, mutant[2]) + 1
    begin = source.text.rfind("\n", 0, mutant[2]) + 1
    text = source.text[begin:source.text.find("\n", begin)].strip()
    return f"{source.name}:{line}: {mutant[4]}: {text}"


def draw(sources, count, seed):
    """Mutants by number, 1 to count: (source, mutant)."""
    every = [(s, m) for s in sources for m in s.mutants()]
    picked = random.Random(seed).sample(range(len(every)), min(count, len(every)))
    return len(every), {n: every[p] for n, p in enumerate(sorted(picked), 1)}


def write_copy(sources, drawn, folder):
    """The RTL with all mutants."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    with open(os.path.join(CORE, "vta_isa_pkg.sv"), encoding="utf-8") as f:
        package = f.read()
    with open(os.path.join(folder, "vta_isa_pkg.sv"), "w", encoding="utf-8") as f:
        f.write(package + "package vta_mutant_pkg;\n\timport \"DPI-C\" function int vta_mutant();\n"
                "\tint number = vta_mutant();\nendpackage\n")
    with open(os.path.join(folder, "mutant.cpp"), "w", encoding="utf-8") as f:
        f.write('#include <cstdlib>\n\nextern "C" int vta_mutant()\n{\n'
                '\tconst char *number = getenv("VTA_RTL_MUTANT");\n\n'
                '\treturn number ? atoi(number) : 0;\n}\n')
    for source in sources:
        spans = {}
        for n, (s, m) in drawn.items():
            if s is source:
                spans.setdefault((m[0], m[1]), []).append((n, m[3]))
        text = source.text
        for first, last in sorted(spans, reverse=True):
            value = f"({source.text_of(first, last)})"
            for n, change in spans[first, last]:
                value = f"(vta_mutant_pkg::number == {n} ? ({change}) : {value})"
            text = text[:source.tokens[first][2]] + value + text[source.end(last - 1):]
        with open(os.path.join(folder, source.name + ".sv"), "w", encoding="utf-8") as f:
            f.write(text)


def path_of(config):
    """The file of a configuration."""
    paths = [os.path.join(TOP, f"tests/{d}/configs/{config}.json") for d in ("emu", "rtl")]
    return next(p for p in paths if os.path.exists(p))


def build(folder, config):
    env = dict(os.environ, RTL_CORE=folder, RTL_EXTRA=os.path.join(folder, "mutant.cpp"))
    subprocess.run([os.path.join(TOP, "card/rtl/model.sh"), path_of(config), folder],
                   env=env, check=True, stdout=subprocess.DEVNULL)


def check(sources):
    """Has Verilator read all mutants: prints TAP, and returns the status."""
    total, every = draw(sources, sys.maxsize, 0)
    with tempfile.TemporaryDirectory() as folder:
        write_copy(sources, every, folder)
        files = [os.path.join(folder, s + ".sv") for s in
                 ["vta_isa_pkg"] + [source.name for source in sources]]
        lint = subprocess.run(["verilator", "--lint-only", "-Wno-fatal", "-Wno-lint", "--top-module",
                               "vta_core", *files], capture_output=True, text=True, check=False)
    for line in lint.stderr.splitlines():
        if line.startswith("%Error"):
            print(f"# {line}")
    status = int(lint.returncode != 0 or total < 1000)
    print(f"{'not ok' if status else 'ok'} 1 Verilator reads all {total} mutants")
    return status


def passes(number, folder, config, streams, programs):
    """Returns true if so many streams of a configuration, or another test, pass with a mutant."""
    test = streams if isinstance(streams, str) else "streams"
    program = os.path.join(programs, f"test_rtl_{test}")
    env = dict(os.environ, VTA_RTL_MUTANT=str(number), VTA_RTL_DIR=folder, VTA_RTL_ONLY=config,
               VTA_CONFIGS=path_of(config), VTA_STREAMS=str(streams), VTA_RTL_CLOCKS=CLOCKS[test],
               CMOCKA_TEST_ABORT="1", ASAN_OPTIONS="detect_leaks=0")

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run([program], env=env, preexec_fn=limit, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def read_equivalent():
    """Mutants without effect, as described but without the line's number."""
    with open(EQUIVALENT, encoding="utf-8") as f:
        return {x.rstrip("\n") for x in f if x.strip() and x[0] not in "#\t"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=95, help="percent that must be found")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", default=os.path.join(TOP, "build/rtl-mutants"))
    parser.add_argument("--programs", default=os.path.join(TOP, "build/tests/rtl"))
    args = parser.parse_args()

    sources = [Source(os.path.join(CORE, n)) for n in sorted(os.listdir(CORE))
               if n.endswith(".sv") and n != "vta_isa_pkg.sv"]
    if args.check:
        return check(sources)
    total, drawn = draw(sources, args.count, args.seed)
    if args.list:
        for n, (s, m) in drawn.items():
            print(n, describe(s, m))
        print(f"{len(drawn)} of {total}")
        return 0

    write_copy(sources, drawn, args.folder)
    alive = list(drawn)
    for config, streams in STAGES:
        if not alive:
            break
        build(args.folder, config)
        if not passes(0, args.folder, config, streams, args.programs):
            print(f"Bail out! {config} fails without a mutant")
            return 1
        with ThreadPoolExecutor(args.jobs) as pool:
            passed = list(pool.map(
                lambda n: passes(n, args.folder, config, streams, args.programs), alive))
        alive = [n for n, p in zip(alive, passed) if p]
        what = streams if isinstance(streams, str) else f"{streams} streams"
        print(f"# {config}, {what}: {len(drawn) - len(alive)} of {len(drawn)} found", flush=True)

    equivalent = read_equivalent()
    same = 0
    for n in alive:
        text = describe(*drawn[n])
        known = re.sub(r":\d+:", ":", text, count=1) in equivalent
        same += known
        print(f"# {n} {'has no effect' if known else 'passes'}: {text}")
    count = len(drawn) - same
    found = len(drawn) - len(alive)
    ok = 100 * found >= args.least * count
    print(f"{'ok' if ok else 'not ok'} 1 mutation: {found} of {count} changes are found, {same} have "
          f"no effect (seed {args.seed}, drawn of {total})")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
