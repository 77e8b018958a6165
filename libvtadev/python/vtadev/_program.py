# SPDX-License-Identifier: Apache-2.0
"""Devices, and programs on one of them."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Dict, Optional, Union

from . import _compile, _core, _profile
from ._engine import _Engine
from ._future import Future
from ._profile import Profile
from ._runner import _image, _Runner
from ._types import Card, Image, Input, Result


class Device:
    """An open card, or a device in the process: open() makes one."""

    def __init__(self, which: Optional[str] = None) -> None:
        self._core = _core.Device(which)
        self._programs: weakref.WeakSet[Program] = weakref.WeakSet()

    @property
    def info(self) -> Dict[str, Any]:
        """Memory, clock and configuration of the card, as a dict."""
        info = self._core.info()
        info["card"] = Card(*info["card"])
        return info

    def mem_free(self) -> int:
        """Bytes of card memory that are free now."""
        return self._core.mem_free()

    def program(self, image: Image, runs: int = 2) -> Program:
        """Load a program: see Program."""
        return Program(image, self, runs)

    def close(self) -> None:
        """Close the card and the programs that were loaded on it."""
        for program in list(self._programs):
            program.close()
        self._core.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open(which: Optional[str] = None) -> Device:
    """Open a card: "vta0", an index as "0", a path, a PCI address, or a device as "soft".

    None is the device that VTADEV_DEVICE in the environment names, or the first card.
    """
    return Device(which)


def _close_all(engines):
    """Close the engines of a program, the one with the weights last."""
    for number in sorted(engines, reverse=True):
        engines[number].close()


class Program(_Runner):
    """A program image (.vtap) on a card.

    image is a path, or the file's bytes; device a Device, or the argument of open(): then
    the program opens the card, and close() closes it. Up to runs runs are in flight at a time;
    all of them share the weights. For each of them, threads compute a large convolution or matrix
    product of the CPU; 0 is for all processors.

    Threads may call it at the same time, so one for each model is enough: each Program has
    weights of its own on the card.

    A program for several shapes of its inputs has variants, which share the weights: a run takes
    the one for the shapes of its inputs. A variant is loaded when it is first used; inputs and
    outputs are those of the first.
    """

    def __init__(self, image: Image, device: Union[Device, str, None] = None,
                 runs: int = 2, threads: int = 1) -> None:
        if runs < 1:
            raise ValueError("runs is at least 1")
        if not 0 <= threads <= 64:
            raise ValueError("threads is 0 to 64")
        opened = _image(image)
        super().__init__(opened)
        self.device = device if isinstance(device, Device) else Device(device)
        self.runs = runs
        try:
            self._engine = _Engine(self.device._core, opened, runs, threads=threads)
            self._threads = threads
        except BaseException:
            if self.device is not device:
                self.device.close()
            raise
        self._lock = threading.Lock()   # protects what follows
        self._engines = {0: self._engine}       # of each variant in use
        self._own = self.device is not device
        self._finalizer = weakref.finalize(self, _close_all, self._engines)
        self._finalizer.atexit = False      # see _end()
        self.device._programs.add(self)

    def __call__(self, *inputs: Input, timeout: Optional[float] = None) -> Result:
        """Run once: an Array, or a tuple of them if the program has several outputs.

        Inputs are objects with the buffer protocol or __dlpack__(), in the program's order, or
        one dict by name. After TimeoutError and KeyboardInterrupt the run continues, and has
        its place until it ends; its result is dropped.
        """
        inputs = self._ordered(inputs)
        return self._engine_for(inputs).run(self, inputs, timeout)

    def submit(self, *inputs: Input) -> Future:
        """Begin a run, or have it wait for a place: a Future. Leave inputs as they are
        until it is done."""
        inputs = self._ordered(inputs)
        return self._engine_for(inputs).submit(self, inputs)

    def _engine_for(self, inputs):
        """The engine of the variant for inputs, which is made if it is not there."""
        number = self._variant_of(inputs)
        engine = self._engines.get(number)
        if engine:
            return engine
        self._engine.check_owner()      # before the lock
        with self._lock:
            self._engine.check()
            if number not in self._engines:
                self._engines[number] = _Engine(self.device._core, self._image.variant(number),
                                                self.runs, self._engine.places,
                                                self._threads)
            return self._engines[number]

    def profile(self, *inputs: Input, runs: int = 15) -> Profile:
        """Measure the time of each layer on this program's card, one run at a time: a Profile. Inputs
        are as for a call; without any, they are zeros."""
        if not 1 <= runs <= 10000:
            raise ValueError("runs is 1 to 10000")
        self._engine.check()
        ordered = self._ordered(inputs) if inputs else None
        image = self._image.variant(self._variant_of(ordered) if ordered else 0)
        return _profile.profile(image, self.device._core, runs, ordered)

    def close(self) -> None:
        """Free the program; runs in flight are given up, and their futures get a ValueError. A
        RuntimeWarning tells of a callback, or an input's __dlpack__(), that runs on: close()
        waits ten seconds for it."""
        self._finalizer()
        self.device._programs.discard(self)
        if self._own:
            self.device.close()
        for engine in list(self._engines.values()):
            engine.join()

    def __repr__(self) -> str:
        return f"<vtadev.Program {self.name}>"


def compile(model: Any, calibrate: Any = None, device: Union[Device, str, None] = None,
            runs: int = 2, **options: Any) -> Program:
    """Compile a trained network and load it on a card, as vtac compile and Program() do.

    model is an ONNX model: a path, bytes, or an onnx.ModelProto. device is as for Program(): the
    program is compiled for this card's configuration. A network in floats is calibrated with images
    as the model takes them: an array whose first dimension counts them, an iterable of arrays, or a
    directory of pictures or .npy files; a dict of these by input if the model has several inputs,
    or an iterable of tuples. A quantised model needs none; one in floats without images is compiled by
    random inputs, with a RuntimeWarning, as its results are not accurate.

    Options, most of them those of vtac compile:

    name        of the program; the file's without one
    images      use at most so many of calibrate (64)
    shapes      of an input whose sizes the model leaves open: a tuple, or a dict by input; a list of
                these for a program that takes each of them
    labels      names of the classes
    cpu         names of nodes that stay on the CPU
    no_card     everything stays there, in floats if the model has floats
    no_prune    also nodes run on the card that gain less there than their copies cost
    mean, scale, order, fit, filter, background
                how pictures become the input; kept in the program for vtactl program run --image.
                background is a number, 0xRRGGBB
    progress    a function, called with the name of a step, and done and total (0: not known) parts
                of it, in this thread; an exception ends the compilation
    precision   bits of results: 8, 16, or "auto" where 16 gain most; a dict of these by node, None for
                all others
    extra_cycles
                most cycles that "auto" adds, in percent (25)
    threads     that compute (0: as many as there are processors); the program is the same

    CompileError has the sentence of vtac, and in nodes the nodes that stop the model. Other threads
    run meanwhile, as the GIL is released.
    """
    own = not isinstance(device, Device)
    card = Device(device) if own else device
    try:
        program = Program(_compile.compile(model, card._core.core(), calibrate, **options), card,
                          runs)
    except BaseException:
        if own:
            card.close()
        raise
    program._own = own      # close() closes the card
    return program
