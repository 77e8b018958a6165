# SPDX-License-Identifier: Apache-2.0
"""Inputs, results and maps, for programs and pools alike."""

from __future__ import annotations

import collections
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import _boxes, _core, _evaluate, _profile
from ._boxes import Box
from ._core import Array
from ._evaluate import Evaluation
from ._types import Input, Result, Tensor


def _image(image):
    """Open a program image, given as bytes or by the path of its file."""
    if isinstance(image, (str, os.PathLike)):
        with open(image, "rb") as file:
            image = file.read()
    return _core.Image(image if isinstance(image, bytes) else memoryview(image).tobytes())


def _long(shape):
    """A shape without sizes of 1."""
    return tuple(size for size in shape if size != 1)


class _Runner:
    """The common part of programs on a card and pools."""

    runs: int

    def __init__(self, image):
        self._image = image
        self.name: str = image.name
        self.cycles: int = image.cycles
        self.labels: List[str] = image.labels.splitlines()
        self.inputs: Tuple[Tensor, ...] = tuple(Tensor(*t) for t in image.tensors(False))
        self.outputs: Tuple[Tensor, ...] = tuple(Tensor(*t) for t in image.tensors(True))
        # The inputs of each variant
        self.variants: Tuple[Tuple[Tensor, ...], ...] = tuple(
            tuple(Tensor(*t) for t in image.variant(i).tensors(False))
            for i in range(image.variants))

    def _variant_of(self, inputs):
        """The number of the variant for inputs, in the program's order, by their shapes."""
        if self._image.variants == 1:
            return 0
        shapes = [_long(memoryview(_core.buffer(value)).shape) for value in inputs]
        for number, tensors in enumerate(self.variants):
            if shapes == [_long(tensor.shape) for tensor in tensors]:
                return number
        raise ValueError("no variant of the program takes these shapes: it has " + "; ".join(
            ", ".join(f"{t.name} {'x'.join(map(str, t.shape))}" for t in tensors)
            for tensors in self.variants))

    def _ordered(self, inputs):
        """The inputs in the program's order; a dict has them by name."""
        if len(inputs) != 1 or not isinstance(inputs[0], dict):
            return inputs
        given = dict(inputs[0])
        try:
            ordered = tuple(given.pop(tensor.name) for tensor in self.inputs)
        except KeyError as error:
            raise TypeError(f"no input {error} is given") from None
        if given:
            raise TypeError(f"the program has no input {next(iter(given))!r}")
        return ordered

    def report(self) -> Dict[str, Any]:
        """The compiler's report, as vtac report --json prints it: which nodes run on the card and
        which on the CPU, and why; cycles and memory. ValueError if the program has none."""
        return _profile.report(self._image)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the program image (.vtap) to a file."""
        with open(path, "wb") as file:
            file.write(self._image.bytes)

    def map(self, images: Iterable[Input]) -> Iterator[Result]:
        """The results for each of images, in their order, several in flight. An element is
        an input, a dict of inputs by name, or a tuple of them."""
        window = collections.deque()
        try:
            for image in images:
                inputs = image if isinstance(image, tuple) else (image,)
                window.append(self.submit(*inputs))
                if len(window) > 2 * self.runs:
                    yield window.popleft().result()
            while window:
                yield window.popleft().result()
        finally:
            for future in window:
                future.cancel()

    def batch(self, images: Union[Input, List[Input], Tuple[Input, ...]]) -> Array:
        """Results for an array or a list of any number of images, as one array: it is cut into
        the program's batches along its first dimension; the last is filled up with zeros. For
        programs with one input and one output."""
        if len(self.inputs) != 1 or len(self.outputs) != 1:
            raise TypeError("batch() takes programs of one input and one output")
        if isinstance(images, (list, tuple)):
            images = _core.stack(self.inputs[0], tuple(images))
        view = memoryview(_core.buffer(images))
        output, size = self.outputs[0], self.inputs[0].shape[0]
        if not view.ndim or not view.shape[0]:
            raise ValueError("batch() takes an array of one image or more")
        whole = Array(output.format, (view.shape[0], *output.shape[1:]))
        to, at = memoryview(whole).cast("B"), 0
        for result in self.map(_pieces(view, size)):
            values = memoryview(result).cast("B")[:len(to) - at]
            to[at:at + len(values)] = values
            at += len(values)
        return whole

    def evaluate(self, images: Union[str, os.PathLike[str], Iterable[Input]],
                 labels: _evaluate.Labels = None, top: int = 5,
                 progress: Optional[_evaluate.Progress] = None) -> Evaluation:
        """The accuracy of a classifier, whose first output has a value for each class, over a set
        of images.

        images are inputs as for map(), and labels as many classes: numbers, or the program's names.
        Or images is a directory of PNG, JPEG or .npy files, and labels a file of lines FILE CLASS, as
        for vtactl program run --images; None: the directory has a folder for each class. Files are
        read as they are needed. An image counts in right_top if its class is among the first top.
        progress is a function, called with the number of images that are done and that of all, in
        this thread; an exception ends the evaluation.
        """
        return _evaluate.evaluate(self, images, labels, top, progress)

    def boxes(self, picture: Union[str, os.PathLike[str]], min_score: float = 0.3,
              format: Optional[str] = None, draw: Union[str, os.PathLike[str], None] = None,
              ) -> List[Box]:
        """The boxes that a detector finds on a picture (PNG, JPEG), the highest score first: for
        programs that say how a picture becomes their input. format is how outputs describe boxes,
        as for vtactl program run --box-format. draw is a PNG file to write, the picture with them."""
        values, name, *size = _boxes.read_input(self._image.bytes, picture)
        if [tensor.name for tensor in self.inputs] != [name]:
            raise TypeError("boxes() takes programs whose input is a picture, and no other input")
        tensor = self.inputs[0]
        plain = memoryview(values).cast(tensor.format, tensor.shape)
        found = _boxes.take(self, self(plain), tuple(size), min_score, format)
        if draw is not None:
            _boxes.draw(picture, found, draw)
        return found

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied: load its image again")

    def __enter__(self):
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _pieces(view, size):
    """Parts of size images each, the last with zeros behind it."""
    for at in range(0, view.shape[0], size):
        piece = view[at:at + size]
        yield piece if piece.shape[0] == size else _filled(piece, size)


def _filled(piece, size):
    """A copy with zeros behind it, of the same type and rows, which are checked as those of
    whole batches are."""
    format = piece.format.lstrip("@=<")
    if piece.format.startswith((">", "!")) or len(format) != 1:
        raise TypeError(f"batch() takes no values of format {piece.format!r}")
    whole = Array(format, (size, *piece.shape[1:]))
    values = piece.tobytes()
    memoryview(whole).cast("B")[:len(values)] = values
    return whole
