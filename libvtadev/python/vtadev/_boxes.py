# SPDX-License-Identifier: Apache-2.0
"""A detector's boxes on a picture: the part of Program.boxes() that needs no card."""

from __future__ import annotations

import array
import os
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from . import _core
from ._compile import _compiler

Path = Union[str, "os.PathLike[str]"]


class Box(NamedTuple):
    """A box that a detector has found, in pixels of the picture and inside of it."""

    left: float
    top: float
    right: float
    bottom: float
    score: float
    number: int
    """Of the class, from 0."""
    label: str
    """The class's name, "" if the program has none."""


def read_input(image: bytes, picture: Path) -> Tuple[bytes, str, int, int]:
    """The values of the input that a picture becomes, the input's name, and the picture's size."""
    return _compiler().input(_compiler().picture_input(image), picture)


def _floats(values, tensor):
    """The bytes of an output's values as floats, dequantised."""
    view = memoryview(_core.buffer(values))
    flat = view.cast("B").cast(view.format) if view.nbytes else ()
    if view.format == "f":
        return bytes(flat)
    scale = tensor.scale or 1
    return array.array("f", (scale * (v - tensor.zero) for v in flat)).tobytes()


def take(runner: Any, result: Any, size: Tuple[int, int], min_score: float,
         format: Optional[str]) -> List[Box]:
    """The boxes of a result on the picture, whose size is given."""
    image = runner._image.bytes
    names = _compiler().box_outputs(image)
    results = result if isinstance(result, tuple) else (result,)
    by_name = {tensor.name: _floats(values, tensor)
               for tensor, values in zip(runner.outputs, results) if tensor.name in names}
    found = _compiler().boxes(image, *size, *(by_name.get(name) for name in names), format,
                              min_score)
    labels = runner.labels
    return [Box(*box, labels[box[5]] if box[5] < len(labels) else "") for box in found]


def draw(picture: Path, boxes: List[Box], to: Path) -> None:
    """Write the picture with boxes, labels and scores as a PNG file."""
    data = _compiler().draw(picture, [tuple(box[:6]) for box in boxes],
                            [f"{box.label or f'class {box.number}'} {box.score:.2f}" for box in boxes])
    with open(to, "wb") as file:
        file.write(data)
