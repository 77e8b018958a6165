# SPDX-License-Identifier: Apache-2.0
"""Cards, tensors, and what functions take."""

from __future__ import annotations

import os
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from . import _core
from ._core import Array

# An input: an object with the buffer protocol or __dlpack__().
Input = Any
Result = Union[Array, Tuple[Array, ...]]
Image = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]


class Card(NamedTuple):
    """The place of a card. Devices in the process have no index and no PCI address."""

    index: Optional[int]
    node: str
    pci: Optional[str]

    @property
    def name(self) -> str:
        """The name for open()."""
        return self.node if self.index is None else f"vta{self.index}"


class Tensor(NamedTuple):
    """An input or output of a program. A value is scale * (value - zero)."""

    name: str
    format: str
    shape: Tuple[int, ...]
    scale: float
    zero: int

    def quantise(self, values: Input) -> Array:
        """The integers that stand for values, of float32 or float64 and in any shape: value /
        scale, rounded half to even, plus zero; what exceeds the type becomes its least or most."""
        if self.format not in ("b", "B"):
            raise TypeError(f"{self.name} is of {self.format!r}: only 'b' and 'B' are quantised")
        if not self.scale:
            raise ValueError(f"the program does not say the scale of {self.name}")
        return _core.quantise(values, self.format, self.scale, self.zero)


def cards(all: bool = False) -> List[Card]:
    """The cards that have a driver; with all, also devices in the process, as "soft"."""
    return [Card(*card) for card in _core.cards(all)]
