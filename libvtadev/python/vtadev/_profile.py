# SPDX-License-Identifier: Apache-2.0
"""The time of each layer of a program, by the card's stamps."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _core


class Layer(NamedTuple):
    """A part of a run: a layer, or a copy. device is "card", "cpu" or "copy"; begin, from the first
    part's on, and seconds are by the card's stamps if they are the card's; cycles is 0 for the
    others."""

    name: str
    operator: str
    device: str
    begin: float
    seconds: float
    cycles: int


class Profile(NamedTuple):
    """The run with the median time of several: times are in seconds. total is without the record,
    which stamps each layer, and recorded with it; clocks of card and host differ by error at
    most."""

    runs: int
    total: float
    recorded: float
    error: float
    layers: List[Layer]


def report(image: Any) -> Dict[str, Any]:
    """The compiler's report, as it wrote it into the image."""
    text = image.report
    if not text:
        raise ValueError("the program has no report: it was not made by vtac")
    try:
        value = json.loads(text)
    except RecursionError:
        value = None
    if not isinstance(value, dict):
        raise ValueError("the program's report is not a JSON object")
    return value


def _names(entry) -> Tuple[str, str]:
    """Anybody may have written the report: other values are left out."""
    name, operator = (entry.get("name"), entry.get("operator")) if isinstance(entry, dict) else \
        (None, None)
    return (name if isinstance(name, str) else "", operator if isinstance(operator, str) else "")


def _list(entry, key) -> List[Any]:
    value = entry.get(key) if isinstance(entry, dict) else None
    return value if isinstance(value, list) else []


def _stream_layers(layers, count):
    """(first instruction, names) of the layers of a stream, of which the first begins with it."""
    found = [(0, _names(layers[0]) if layers else ("", ""))]
    for layer in layers[1:]:
        insn = layer.get("insn") if isinstance(layer, dict) else None
        # The last instruction, FINISH, is no layer's.
        if not isinstance(insn, int) or not found[-1][0] <= insn < count - 1:
            continue
        if insn == found[-1][0]:    # no instructions: another name of what it reads
            found.pop()
        found.append((insn, _names(layer)))
    return found


def profile(image: Any, device: Any, runs: int, inputs: Optional[Tuple[Any, ...]]) -> Profile:
    """See Program.profile()."""
    steps = image.steps()
    try:
        described = _list(report(image), "steps")
    except ValueError:
        described = []
    described += [None] * (len(steps) - len(described))
    layers: Dict[Tuple[int, int], Tuple[str, str]] = {}
    streams = set()
    for (kind, stream, count), entry in zip(steps, described):
        if kind == "card" and stream not in streams:
            streams.add(stream)
            for insn, names in _stream_layers(_list(entry, "layers"), count):
                layers[stream, insn] = names
    cuts = sorted(place for place in layers if place[1])
    total, recorded, error, parts = _core.profile(image, device, cuts, runs, inputs)
    rows = []
    for step, insn, begin, end, cycles in parts:
        kind, stream, _ = steps[step]
        names = layers.get((stream, insn)) if kind == "card" else None
        name, operator = names or _names(described[step])
        rows.append(Layer(name or kind, operator, kind, (begin - parts[0][2]) / 1e9,
                          (end - begin) / 1e9, cycles))
    return Profile(runs, total / 1e9, recorded / 1e9, error / 1e9, rows)
