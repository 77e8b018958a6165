# SPDX-License-Identifier: Apache-2.0
"""Rate, latencies and parts of a program's run."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Optional

from . import _core
from ._runner import _image, _Runner
from ._types import Image, Input


class Rate(NamedTuple):
    """Rate and latencies of a program: times are in seconds. lost is how often a run was lost with
    its card, and made again; wall is from the first submission to the last completion."""

    cards: int
    runs: int
    lost: int
    load: float
    first: float
    wall: float
    min: float
    mean: float
    p50: float
    p90: float
    p99: float
    max: float

    @property
    def per_second(self) -> float:
        """Runs a second."""
        return self.runs / self.wall


class Parts(NamedTuple):
    """Parts of the run with the median time of several: times are in seconds, by the card's stamps
    if they are the card's. The rest of total is launches, waits and gaps."""

    runs: int
    clock_khz: int
    total: float
    compute: float
    copy: float
    cpu: float
    cycles: int
    to_card: int
    from_card: int


def _measured(opened, inputs):
    """Inputs as _core takes them."""
    return _Runner(opened)._ordered(inputs) if inputs else None


def _variant_for(opened, inputs):
    """The image of the variant for inputs in their order, or of the first without."""
    return opened.variant(_Runner(opened)._variant_of(inputs) if inputs else 0)


def bench(image: Image, *inputs: Input, cards: Optional[Iterable[str]] = None, depth: int = 2,
          warmup: int = 3, runs: Optional[int] = None, seconds: float = 1.0) -> Rate:
    """Measure the rate and the latencies of a program, with depth runs in flight on each of cards.

    image and cards are as for Pool; inputs as for a call, or random values without. After the
    first run and warmup more, runs are measured, or as many as begin within seconds.
    """
    if isinstance(cards, str):
        raise TypeError("cards is a list of names; one name is [name]")
    if not 1 <= depth <= _core.POOL_DEPTH_MAX:
        raise ValueError(f"depth is 1 to {_core.POOL_DEPTH_MAX}")
    if warmup < 0 or runs is not None and runs < 1 or not 0 < seconds <= 86400:
        raise ValueError("warmup is 0 or more, runs 1 or more, and seconds at most 86400")
    opened = _image(image)
    given = _measured(opened, inputs)
    result = _core.bench(_variant_for(opened, given), None if cards is None else tuple(cards),
                         depth, warmup, runs or 0, int(seconds * 1e9), given)
    return Rate(*result[:3], *(ns / 1e9 for ns in result[3:]))


def parts(image: Image, *inputs: Input, card: Optional[str] = None, runs: int = 15) -> Parts:
    """Measure the parts of a program's run on one card, one run at a time."""
    if runs < 1:
        raise ValueError("runs is 1 or more")
    opened = _image(image)
    given = _measured(opened, inputs)
    result = _core.bench_parts(_variant_for(opened, given), card, runs, given)
    return Parts(*result[:2], *(ns / 1e9 for ns in result[2:6]), *result[6:])
