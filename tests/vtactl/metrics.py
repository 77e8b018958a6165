#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The metrics that vtactl export prints are as Prometheus' text format and conventions want
them, docs/operating.md lists the same, and the dashboard and the rules use no others.

    metrics.py EXPORTED...

Each EXPORTED is what vtactl export has printed on some machine. Prints TAP.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs/operating.md"
RULES = ROOT / "examples/monitoring/vta-rules.yml"
DASHBOARD = ROOT / "examples/monitoring/vta-dashboard.json"

NAME = r"[a-z][a-z0-9_]*"
LABEL = rf'({NAME})="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?\d+(?:\.\d+)?)")
# Base units, as the last word of a name or the one before "total".
UNITS = {"bytes", "seconds", "celsius", "watts", "hertz"}
NOT_BASE = {"ms", "ns", "milliseconds", "nanoseconds", "kilobytes", "mib", "khz", "percent"}


class Wrong(Exception):
    """A line that is not as it must be."""


def parse(text):
    """Types by name, and samples: pairs of a name and a set of labels. Metrics are in groups."""
    types, samples, current, helped = {}, [], None, None
    for line in text.splitlines():
        if match := re.fullmatch(rf"# HELP ({NAME}) \S.*\.", line):
            helped = match[1]
        elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge)", line):
            if match[1] != helped or match[1] in types:
                raise Wrong(f"TYPE without HELP, or twice: {line}")
            current = match[1]
            types[current] = match[2]
        elif match := SAMPLE.fullmatch(line):
            if match[1] != current:
                raise Wrong(f"a sample outside of its group: {line}")
            labels = tuple(re.findall(LABEL, match[2] or ""))
            if len(dict(labels)) != len(labels):
                raise Wrong(f"a label twice: {line}")
            samples.append((match[1], frozenset(labels)))
        else:
            raise Wrong(f"no line of the format: {line}")
    if not text.endswith("\n"):
        raise Wrong("the last line has no end")
    if len(set(samples)) != len(samples):
        raise Wrong("two samples of one name have the same labels")
    return types, samples


def is_conventional(name, kind):
    words = name.split("_")
    return (words[0] == "vta" and (words[-1] == "total") == (kind == "counter")
            and not NOT_BASE & set(words) and "total" not in words[:-1]
            and not UNITS & set(words[1:-2]))


def documented():
    return dict(re.findall(r"^\| `(vta_\w+)` \| (\w+) \|", DOCUMENT.read_text(), re.M))


def expressions(value):
    """All PromQL of the dashboard: of its panels and of its variables."""
    if isinstance(value, list):
        return [e for v in value for e in expressions(v)]
    if not isinstance(value, dict):
        return []
    own = [value[key] for key in ("expr", "query") if isinstance(value.get(key), str)]
    return own + expressions(list(value.values()))


def used(text):
    """Names of metrics; those with a colon are made by rules."""
    return set(re.findall(r"(?<![:\w.])vta_\w+(?![:\w])(?!\.)", text))


def main():
    results = []

    def result(good, name):
        results.append((good, name))

    types = {}
    for path in sys.argv[1:]:
        try:
            found, _ = parse(Path(path).read_text())
            problem = ""
        except Wrong as wrong:
            found, problem = {}, str(wrong)
        result(not problem, f"{Path(path).name}: is Prometheus' text format {problem}".strip())
        types |= found
    for name, kind in types.items():
        result(is_conventional(name, kind), f"{name}: a {kind} by Prometheus' conventions")
    result(types == documented(), f"docs/operating.md lists them, with their types: "
           f"{sorted(set(types.items()) ^ set(documented().items()))}")

    rules = RULES.read_text()
    result(bool(used(rules)) and used(rules) <= set(types),
           f"rules: no metric that is not there: {sorted(used(rules) - set(types))}")
    alerts = re.findall(r"alert: (\w+)\n", rules)
    listed = re.findall(r"^\| `(Vta\w+)` \|", DOCUMENT.read_text(), re.M)
    result(sorted(alerts) == sorted(listed), "rules: docs/operating.md lists the alerts")

    board = json.loads(DASHBOARD.read_text())
    names = used("\n".join(expressions(board)))
    result(bool(names) and names <= set(types),
           f"dashboard: no metric that is not there: {sorted(names - set(types))}")
    panels = board["panels"]
    result(len({p["id"] for p in panels}) == len(panels) > 0 and
           all(t["expr"] for p in panels for t in p["targets"]),
           "dashboard: panels have numbers of their own, and expressions")

    print("TAP version 13")
    for n, (good, name) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {n} {name.replace('#', 'No ')}")
    print(f"1..{len(results)}")
    sys.exit(any(not good for good, _ in results))


main()
