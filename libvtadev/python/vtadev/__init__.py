# SPDX-License-Identifier: Apache-2.0
"""Work with VTA accelerator cards.

    import vtadev

    program = vtadev.compile("resnet50.onnx", calibrate=photographs)
    scores = program(image)

    program.save("resnet50.vtap")           # and later, without a compiler:
    with vtadev.open("vta0") as card, card.program("resnet50.vtap") as program:
        scores = program(image)             # anything with a buffer, or __dlpack__()
        future = program.submit(image)      # future.result(), or await future
        for scores in program.map(images):  # several in flight
            ...

docs/python.md is the manual.
"""

from . import _core
from ._bench import Parts, Rate, bench, parts
from ._boxes import Box
from ._compile import CompileError
from ._core import Access, Array, Cause, Error, Fate, Fault, Lost, Reason
from ._evaluate import Evaluation
from ._future import Future
from ._pool import CardStats, Pool
from ._profile import Layer, Profile
from ._program import Device, Program, compile, open
from ._types import Card, Image, Input, Result, Tensor, cards

__all__ = ["Access", "Array", "Box", "Card", "CardStats", "Cause", "CompileError", "Device", "Error",
           "Evaluation", "Fate", "Fault", "Future", "Layer", "Lost", "Parts", "Pool", "Profile",
           "Program", "Rate", "Reason", "Tensor", "bench", "cards", "compile", "open", "parts"]
__version__ = _core.version
