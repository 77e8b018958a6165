# SPDX-License-Identifier: Apache-2.0
"""The accuracy of a classifier over a set of images: Program.evaluate() and Pool.evaluate()."""

from __future__ import annotations

import math
import operator
import os
import zlib
from typing import (Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence,
                    Tuple, Union)

from . import _core
from ._compile import _compiler, _is_path, _read_npy

Progress = Callable[[int, int], Any]
Label = Union[int, str]
Labels = Union[None, str, "os.PathLike[str]", Iterable[Label]]

_IMAGES = (".png", ".jpg", ".jpeg", ".npy")


class Evaluation(NamedTuple):
    """Accuracy of a classifier. right_top counts images whose class is among the first k."""

    images: int
    right: int
    right_top: int
    k: int
    outputs_crc32: int
    """CRC-32 of the first outputs' values, in the order of the images: equal on all devices."""
    of: List[int]
    """Images of each class."""
    wrong: Dict[Tuple[int, Optional[int]], int]
    """Images by class and the class that they were taken for (None: all values were NaN), the
    most first."""

    @property
    def top1(self) -> float:
        """Share of the images whose class came first."""
        return self.right / self.images

    @property
    def topk(self) -> float:
        """Share of the images whose class was among the first k."""
        return self.right_top / self.images


class _Classes:
    """The program's classes, by name and number."""

    def __init__(self, runner):
        self.count = math.prod(runner.outputs[0].shape)
        if self.count < 2:
            raise TypeError("evaluate() takes programs whose first output has a value for each class")
        self.by_name: Dict[str, int] = {}
        for number, name in enumerate(runner.labels[:self.count]):
            if name:
                self.by_name.setdefault(name, number)

    def number(self, label, where):
        """The number of a class that is named by a text, or by a number."""
        if isinstance(label, str):
            number = self.by_name.get(label)
            if number is None and label.isascii() and label.isdigit():
                number = int(label)
        else:
            number = operator.index(label)
        if number is None or not 0 <= number < self.count:
            raise ValueError(f"{where}: {label!r} is no name of a class of the program, and no number "
                             f"from 0 to {self.count - 1}")
        return number


# ---- Sets of images ----

def _listed(directory, path, classes):
    """(file, class) of each line FILE CLASS."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    found: Dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        line = line.strip(" \t\r")
        if not line:
            continue
        where = f"{os.fspath(path)}: line {number}"
        name, blank, label = line.partition("\t" if "\t" in line else " ")
        if not blank:
            raise ValueError(f"{where}: no class behind the image's name")
        image = os.path.join(directory, name.strip(" \t"))
        if image in found:
            raise ValueError(f"{where}: names {image} twice")
        found[image] = classes.number(label.strip(" \t"), where)
    if not found:
        raise ValueError(f"{os.fspath(path)}: names no image")
    return list(found.items())


def _in_folders(directory, classes):
    """(file, class) of all images in folders that are named by classes."""
    found = []
    for folder in sorted(entry.path for entry in os.scandir(directory)
                         if entry.is_dir() and not entry.name.startswith(".")):
        label = classes.number(os.path.basename(folder), folder)
        found += [(path, label) for path in sorted(
            entry.path for entry in os.scandir(folder)
            if not entry.name.startswith(".") and entry.name.lower().endswith(_IMAGES))]
    if not found:
        raise ValueError(f"{os.fspath(directory)}: no images in folders that are named by classes; or "
                         "name a file of classes")
    return found


def _reader(runner):
    """A function that reads a file as values of the input."""
    tensor = runner.inputs[0]
    how = None

    def read(path):
        nonlocal how
        if path.endswith(".npy"):
            values, format, shape = _read_npy(path)
            return memoryview(bytes(values)).cast(format, shape)
        how = how or _compiler().picture_input(runner._image.bytes)
        return memoryview(_compiler().input(how, path)[0]).cast(tensor.format, tensor.shape)
    return read


def _labelled(runner, images, labels, classes) -> Tuple[Iterable[Any], Sequence[int]]:
    """The images, read as they are needed, and their classes."""
    if not _is_path(images):
        if labels is None or _is_path(labels):
            raise TypeError("labels is a class for each of images")
        numbers = [classes.number(label, f"label {i}") for i, label in enumerate(labels)]
        if hasattr(images, "__len__") and len(images) != len(numbers):
            raise ValueError(f"{len(images)} images have {len(numbers)} labels")
        return images, numbers
    if labels is not None and not _is_path(labels):
        raise TypeError("labels of a directory are a file, or None for folders that are named by "
                        "classes")
    files = _in_folders(images, classes) if labels is None else _listed(images, labels, classes)
    for path, _ in files:
        with open(path, "rb"):
            pass
    read = _reader(runner)
    read(files[0][0])       # what no image can become ends it here
    return (read(path) for path, _ in files), [label for _, label in files]


# ---- Counting ----

def _numbers(values, scale, zero) -> Sequence[float]:
    view = memoryview(values).cast("B").cast(memoryview(values).format)
    return [scale * (v - zero) for v in view] if scale else view.tolist()


def _ranked(values: Sequence[float], label: int) -> Tuple[Optional[int], int]:
    """The class that comes first, None if all are NaN; and how many come before label. Of equal
    values the first comes first, NaN after all numbers."""
    first = None
    for i, value in enumerate(values):
        if value == value and (first is None or value > values[first]):
            first = i
    own = values[label]
    if own != own:
        return first, len(values)
    return first, sum(v > own or v == own and i < label for i, v in enumerate(values))


def _results(runner, images, labels) -> Iterator[Any]:
    """The first output of each image."""
    done = 0
    for result in runner.map(images):
        done += 1
        if done > len(labels):
            raise ValueError(f"there are more images than {len(labels)} labels")
        yield result[0] if isinstance(result, tuple) else result
    if done < len(labels):
        raise ValueError(f"{done} images have {len(labels)} labels")


def evaluate(runner: Any, images: Any, labels: Labels, top: int,
             progress: Optional[Progress]) -> Evaluation:
    """See Program.evaluate()."""
    if len(runner.inputs) != 1:
        raise TypeError("evaluate() takes programs of one input")
    classes = _Classes(runner)
    if top < 1:
        raise ValueError("top is 1 or more")
    k = top if top < classes.count else 1
    read, numbers = _labelled(runner, images, labels, classes)
    if not numbers:
        raise ValueError("evaluate() takes one image or more")
    output = runner.outputs[0]
    right = right_top = crc = 0
    of = [0] * classes.count
    wrong: Dict[Tuple[int, Optional[int]], int] = {}
    for done, values in enumerate(_results(runner, read, numbers)):
        label = numbers[done]
        first, before = _ranked(_numbers(values, output.scale, output.zero), label)
        crc = zlib.crc32(memoryview(_core.buffer(values)).cast("B"), crc)
        of[label] += 1
        right += first == label
        right_top += before < k
        if first != label:
            wrong[label, first] = wrong.get((label, first), 0) + 1
        if progress:
            progress(done + 1, len(numbers))
    most = sorted(wrong.items(), key=lambda pair: (
        -pair[1], pair[0][0], classes.count if pair[0][1] is None else pair[0][1]))
    return Evaluation(len(numbers), right, right_top, k, crc, of, dict(most))
