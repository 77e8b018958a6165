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

from __future__ import annotations

import asyncio
import atexit
import collections
import concurrent.futures
import contextlib
import os
import select
import sys
import threading
import warnings
import weakref
from typing import (Any, Dict, Generator, Iterable, Iterator, List, NamedTuple, Optional, Tuple,
                    Union)

from . import _boxes, _compile, _core, _evaluate, _profile
from ._boxes import Box
from ._compile import CompileError
from ._core import Access, Array, Cause, Error, Fate, Fault, Lost, Reason
from ._evaluate import Evaluation
from ._profile import Layer, Profile

__all__ = ["Access", "Array", "Box", "Card", "CardStats", "Cause", "CompileError", "Device", "Error",
           "Evaluation", "Fate", "Fault", "Future", "Layer", "Lost", "Parts", "Pool", "Profile",
           "Program", "Rate", "Reason", "Tensor", "bench", "cards", "compile", "open", "parts"]
__version__ = _core.version

# An input: an object with the buffer protocol or __dlpack__().
Input = Any
Result = Union[Array, Tuple[Array, ...]]
Image = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]

_open = open


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


class Future(concurrent.futures.Future):    # of a Result
    """The result of a run. Also awaitable; cancel() works until the run begins, or the pool has
    it."""

    def __init__(self, engine: Union[_Engine, _PoolEngine]) -> None:
        super().__init__()
        self._condition = _Condition()
        self._engine = engine

    def result(self, timeout: Optional[float] = None) -> Result:
        """The result of the run, or its exception; TimeoutError after timeout seconds."""
        self._served()
        return super().result(_seconds(timeout))

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """The run's exception, or None."""
        self._served()
        return super().exception(_seconds(timeout))

    def _served(self):
        if not self.done():
            self._engine.check_owner()
            self._engine.serve()

    def __await__(self) -> Generator[Any, None, Result]:
        if not self.done():
            self._engine.check_owner()
            self._engine.watch(asyncio.get_running_loop())
        return asyncio.wrap_future(self).__await__()


class _Event:
    """An eventfd, which is closed when nobody has it any more: a thread that polls it may end
    after its program was closed."""

    def __init__(self):
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def fileno(self):
        return self.fd

    def set(self):
        os.eventfd_write(self.fd, 1)

    def clear(self):
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass

    def __del__(self, close=os.close):
        close(self.fd)


# Programs and pools that are ended before the interpreter is.
_engines: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _end():
    for engine in list(_engines):
        engine.close()
        engine.join()


# close() waits so long for a thread that is in code of others.
_CLOSE_SECONDS = 10


def _join(thread, name):
    if not thread or thread is threading.current_thread():
        return
    thread.join(_CLOSE_SECONDS)
    if thread.is_alive():
        warnings.warn(f"{name} is closed, but a callback of a future, an input's __dlpack__() or "
                      f"a step on the CPU has not returned within {_CLOSE_SECONDS} s: its thread "
                      "ends after that", RuntimeWarning, stacklevel=4)


# A doorbell may be lost: runs are polled so often, also without an event.
_POLL_SECONDS = 1


class _Engine:
    """The runs of a program: which are in flight, and which wait for a place.

    A job is (future, inputs, program); each place, a _core.Slot, has the one that it runs.
    The queues of all places signal one eventfd. pump() does all work that is ready; any
    thread may call it, any number of times: an event loop that has the eventfd among its
    readers, or a thread, which starts when a result is waited for without an event loop.
    """

    def __init__(self, device, image, runs, first=(), threads=1):
        self.lock = threading.RLock()   # protects what follows
        self.pending = collections.deque()      # jobs without a place yet
        self.timers = {}                # event loop -> its next _poll_later()
        self.loops = {}                 # event loop -> its descriptor of the eventfd
        self.thread = None
        self.pumper = None              # the thread that is in pump()
        self.wanted = self.closed = False
        self.idle = False               # the thread waits for an event, however long
        self.pid = os.getpid()
        self.event = _Event()           # None when it is closed
        self.places = []
        _engines.add(self)
        try:
            for _ in range(runs):
                # The first has the weights; the others are its twins, also those of variants.
                self.places.append(_core.Slot(device, image, self.event.fd,
                                              *(first or self.places)[:1]))
                if threads != 1:
                    self.places[-1].threads(threads)
        except BaseException:
            self.close()
            raise

    def check_owner(self):
        """Without the lock, which another thread of the parent process may have held."""
        if self.pid != os.getpid():
            raise RuntimeError("the program was loaded before fork(): load it in this process")

    def check(self):
        self.check_owner()
        if self.closed:
            raise ValueError("the program is closed")

    def run(self, program, inputs, timeout):
        """One run in the caller's thread, if there is a place for it."""
        self.check()
        seconds = _seconds(timeout)
        try:
            for place in [] if self.pending else self.places:
                outputs = place.run(inputs, -1 if seconds is None else seconds)
                if outputs is not None:
                    return _one(outputs)
        finally:
            if self.pending:
                self._pump_here_or_there()
        return _result(self.submit(program, inputs), seconds)

    def submit(self, program, inputs):
        future = Future(self)
        self.check_owner()
        with self.lock:
            self.check()
            self.pending.append((future, inputs, program))
        loop = _running_loop()
        if loop:
            self.watch(loop)
        else:
            self.start_thread()
        self._pump_here_or_there()
        return future

    def _pump_here_or_there(self):
        """Call pump(), or have the thread do so: handlers of signals may raise in the main thread,
        anywhere, but not in an event loop, which calls them itself."""
        if threading.current_thread() is not threading.main_thread() or _running_loop():
            self.pump()
            return
        self.start_thread()
        with self.lock:
            if not self.closed:
                self.event.set()

    def pump(self):
        """Take what has finished, and begin what waits; one thread at a time."""
        mine = False
        try:
            with self.lock:
                if self.closed:
                    return
                self.event.clear()
                self.wanted = True
                if self.pumper:
                    return  # it checks again
                mine = True
                self.pumper = threading.get_ident()
            while self._wanted():
                for place in self.places:
                    self._poll(place)
                for place in self.places:
                    while self._begin(place):
                        self._poll(place)
        except BaseException:   # as KeyboardInterrupt: the next one checks again
            with self.lock:
                if mine and self.pumper == threading.get_ident():
                    self.pumper = None
                if not self.closed:
                    self.event.set()
            raise
        self._unwatch()

    def _wanted(self):
        """Returns true if pump() is to check again; if not, the next pump() does."""
        with self.lock:
            again = self.wanted and not self.closed
            self.wanted = False
            if not again:
                self.pumper = None
            return again

    def _poll(self, place):
        """See whether a job is done; if not, this asks for an event."""
        job = place.job
        if not job:
            return
        outputs = error = None
        try:
            try:
                outputs = place.poll()
                if outputs is None:
                    return
            except Exception as exception:  # which is the future's
                error = exception
            _answer(job[0], outputs, error)
        except BaseException as exception:  # of a signal's handler, or a callback
            if place.job is not job:
                _answer(job[0], None, exception)
            raise

    def _begin(self, place):
        """Begin a job; False if there is none, or the place is in use: then an event, or the
        thread that uses it, comes."""
        job = None
        try:
            with self.lock:
                if self.closed or not self.pending:
                    return False
                job = self.pending.popleft()
            future, inputs, _ = job
            stuck = _stuck(future)
            begun = not stuck and future.cancelled() or place.begin(inputs, job)
        except BaseException as exception:
            if job and place.job is not job:
                _settle(_refuse, job[0], exception)
            if not isinstance(exception, Exception):
                raise
            return True
        if begun:
            if not stuck:
                future.set_running_or_notify_cancel()
            if self.closed:     # meanwhile: close() may not have seen this job
                _answer(future, None, ValueError("the program was closed"))
            self._rouse()
            return True
        with self.lock:
            if not self.closed:
                self.pending.appendleft(job)
                return False
        _settle(_cancel, future)
        return False

    def _rouse(self):
        """Have an idle thread poll without an event from now on."""
        with self.lock:
            if self.idle and not self.closed:
                self.idle = False
                self.event.set()

    def watch(self, loop):
        """Have an event loop, of this thread, call pump()."""
        with self.lock:
            for other in [other for other in self.loops if other.is_closed()]:
                os.close(self.loops.pop(other))
                del self.timers[other]
            if self.closed or loop in self.loops:
                return
            self.loops[loop] = os.dup(self.event.fd)
            loop.add_reader(self.loops[loop], self.pump)
            self.timers[loop] = loop.call_later(_POLL_SECONDS, self._poll_later, loop)

    def _poll_later(self, loop):
        """In an event loop, without an event, for as long as it has runs."""
        self.pump()
        with self.lock:
            if loop in self.loops:
                self.timers[loop] = loop.call_later(_POLL_SECONDS, self._poll_later, loop)

    def _unwatch(self):
        """Leave this thread's event loop when there is nothing to wait for."""
        loop = _running_loop()
        with self.lock:
            if loop not in self.loops or self.pending or self._jobs():
                return
            fd = self.loops.pop(loop)
            timer = self.timers.pop(loop)
        _forget(loop, fd, timer)

    def serve(self):
        """Have the thread complete futures: a thread that waits keeps no event loop going."""
        if self.pumper == threading.get_ident():
            raise RuntimeError("a future's callback cannot wait for a run of the same program")
        self.start_thread()

    def start_thread(self):
        with self.lock:
            if self.closed or self.thread:
                return
            thread = threading.Thread(target=self._serve, args=(self.event,), name="vtadev",
                                      daemon=True)
            thread.start()      # a signal's handler may raise before it is, or after
            self.thread = thread

    def _serve(self, event):
        poller = select.poll()
        poller.register(event, select.POLLIN)
        while not self.closed:
            if not poller.poll(1000 * _POLL_SECONDS):
                with self.lock:
                    self.idle = not self._jobs()
                if self.idle:
                    poller.poll()
            _survive(self.pump)

    def close(self):
        """Waits for no other thread, as a garbage collection may call it anywhere: see join()."""
        if self.pid != os.getpid():
            return
        with self.lock:
            if self.closed:
                return
            self.closed = True
            event, self.event = self.event, None
            jobs = self._jobs()
            pending, self.pending = self.pending, collections.deque()
            loops, self.loops = self.loops, {}
        with contextlib.ExitStack() as last:    # calls all, the last one first, if any raises
            for future, _, _ in jobs:
                last.callback(_settle, _give_up, future, "the program was closed")
            for future, _, _ in pending:
                last.callback(_settle, _cancel, future)
            for loop, fd in loops.items():
                last.callback(_leave, loop, fd, self.timers.pop(loop))
            last.callback(event.set)
            for place in self.places:
                last.callback(place.close)

    def join(self):
        """After close(): wait for the thread, but not for ever."""
        if self.pid == os.getpid():
            _join(self.thread, "a program")

    def _jobs(self):
        """Those in flight."""
        return [job for job in (place.job for place in self.places) if job]


def _survive(function, *args):
    """Call it in a thread that serves others, which callbacks of futures must not end: not by
    SystemExit, either."""
    try:
        function(*args)
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(),
                                                       threading.current_thread())))


class _Condition(type(threading.RLock())):
    """threading.Condition of a future whose lock is never left locked: a signal's handler cannot
    raise between the lock and the block that it is for, as this __enter__() is not Python's."""

    def __init__(self):
        self._condition = threading.Condition(self)
        self.wait = self._condition.wait
        self.notify_all = self._condition.notify_all


# A future whose lock is held for longer was left locked: concurrent.futures.wait(), which has the
# locks of all its futures for a moment, leaves them so when a signal's handler raises within it.
_STUCK_SECONDS = 1


def _stuck(future):
    if not future._condition.acquire(timeout=_STUCK_SECONDS):
        return True
    future._condition.release()
    return False


def _settle(function, future, *args):
    """Call function, or have a thread of its own do so that waits for a stuck future's lock: the
    others' thread does not."""
    if _stuck(future):
        threading.Thread(target=_survive, args=(function, future, *args), name="vtadev-stuck",
                         daemon=True).start()
    else:
        function(future, *args)


def _answer(future, outputs, error):
    """Give a future its result, or exception, if it has none yet and was not cancelled."""
    _settle(_set, future, outputs, error)


def _set(future, outputs, error):
    try:
        if error:
            future.set_exception(error)
        else:
            future.set_result(_one(outputs))
    except concurrent.futures.InvalidStateError:
        pass


def _give_up(future, why):
    """Cancel a future, or, if its run has begun, give it an exception."""
    if not future.cancel():
        _set(future, None, ValueError(why))


def _refuse(future, error):
    """The exception for a future whose run does not begin. If the future was cancelled, the
    threads in concurrent.futures.wait() learn of that only here."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error)


def _cancel(future):
    """Cancel a future whose run has not begun."""
    future.cancel()
    future.set_running_or_notify_cancel()


def _image(image):
    """Open a program image, given as bytes or by the path of its file."""
    if isinstance(image, (str, os.PathLike)):
        with _open(image, "rb") as file:
            image = file.read()
    return _core.Image(image if isinstance(image, bytes) else memoryview(image).tobytes())


def _seconds(timeout):
    """A time-out that threads can wait for; None: longer than that."""
    if timeout is None or timeout >= threading.TIMEOUT_MAX:
        return None
    if timeout != timeout:
        raise ValueError("a timeout is a number of seconds, not nan")
    return max(timeout, 0)


def _result(future, timeout):
    """The result, for a caller who has no other use of the future."""
    try:
        return future.result(timeout)
    except BaseException:
        future.cancel()
        raise


def _one(outputs):
    return outputs[0] if len(outputs) == 1 else outputs


def _running_loop():
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _forget(loop, fd, timer):
    """In the event loop's thread."""
    timer.cancel()
    loop.remove_reader(fd)
    os.close(fd)


def _leave(loop, fd, timer):
    """The same from any thread, of a loop that may have ended."""
    try:
        if loop.is_closed():
            os.close(fd)
        elif loop.is_running() and loop is not _running_loop():
            loop.call_soon_threadsafe(_forget, loop, fd, timer)
        else:
            _forget(loop, fd, timer)
    except RuntimeError:    # it has been closed meanwhile
        os.close(fd)


def _close_all(engines):
    """Close the engines of a program, the one with the weights last."""
    for number in sorted(engines, reverse=True):
        engines[number].close()


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
        with _open(path, "wb") as file:
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
    or an iterable of tuples. A quantised model needs none.

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

    CompileError has the sentence of vtac, and in nodes the nodes that stop the model. Other threads
    run meanwhile, as the GIL is released.
    """
    own = not isinstance(device, Device)
    card = Device(device) if own else device
    try:
        program = Program(_compile.image(model, card._core.core(), calibrate, **options), card, runs)
    except BaseException:
        if own:
            card.close()
        raise
    program._own = own      # close() closes the card
    return program


class CardStats(NamedTuple):
    """State and counts of a card of a pool. why is the reason why it is not up."""

    name: str
    up: bool
    why: str
    answers: int
    faults: int
    given_back: int
    losses: int
    joins: int
    in_hand: int
    cycles: int
    cycles_in_hand: int


class _PoolEngine:
    """The requests of a pool, and the thread that reaps them. pending is for those that the
    pool has no room for."""

    def __init__(self, image, cards, depth):
        # Protects what follows. An input's __dlpack__(), or a garbage collection, may call any
        # function of the pool while its thread has the lock.
        self.lock = threading.RLock()
        self.pending = collections.deque()      # (future, inputs)
        self.running = set()            # futures that the pool has
        self.closed = False
        self.pid = os.getpid()
        self.core = _core.Pool(image, cards, depth, _POOL_REQUESTS)
        self.wake = _Event()
        self.thread = threading.Thread(target=self._serve, args=(self.core.fd,),
                                       name="vtadev-pool", daemon=True)
        self.thread.start()
        _engines.add(self)

    def check_owner(self):
        """Without the lock, which another thread of the parent process may have held."""
        if self.pid != os.getpid():
            raise RuntimeError("the pool was opened before fork(): open one in this process")

    def serve(self):
        if threading.current_thread() is self.thread:
            raise RuntimeError("a future's callback cannot wait for a run of the same pool")

    def watch(self, loop):
        """An event loop need not do anything: the thread completes futures."""

    def submit(self, inputs):
        future = Future(self)
        self.check_owner()
        with self.lock:
            if self.closed:
                raise ValueError("the pool is closed")
            if self.pending or not self._give(future, inputs):
                self.pending.append((future, inputs))
        return future

    def _give(self, future, inputs):
        """False if there is no room."""
        self.running.add(future)
        try:
            given = self.core.submit(inputs, future)
        except BaseException:
            self.running.discard(future)
            raise
        if not given or not _stuck(future) and not future.set_running_or_notify_cancel():
            self.running.discard(future)
        return given

    def _refill(self):
        """Give the pool what it has room for now. Callbacks are called without the lock."""
        while True:
            error = None
            with self.lock:
                if self.closed or not self.pending:
                    return
                future, inputs = self.pending[0]
                cancelled = not _stuck(future) and future.cancelled()
                try:
                    if not cancelled and not self._give(future, inputs):
                        return
                except Exception as exception:
                    error = exception
                if self.closed:     # by the input's __dlpack__()
                    return
                self.pending.popleft()
            if cancelled or error:
                _settle(_refuse, future, error)

    def _serve(self, fd):
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.register(self.wake, select.POLLIN)
        while not self.closed:
            poller.poll()
            for future, outputs, error in self._reap():
                with self.lock:
                    self.running.discard(future)
                _survive(_answer, future, outputs, error)
            _survive(self._refill)

    def _reap(self):
        try:
            return self.core.reap()
        except ValueError:      # it was closed
            return []

    def close(self):
        """Waits for no other thread, as a garbage collection may call it anywhere: see join()."""
        if self.pid != os.getpid():
            return
        with self.lock:
            if self.closed:
                return
            self.closed = True
            running, self.running = self.running, set()
            pending, self.pending = self.pending, collections.deque()
        with contextlib.ExitStack() as last:    # calls all, the last one first, if any raises
            for future in running:
                last.callback(_settle, _give_up, future, "the pool was closed")
            for future, _ in pending:
                last.callback(_settle, _cancel, future)
            last.callback(self.core.close)
            last.callback(self.wake.set)

    def join(self):
        """After close(): wait for the thread, but not for ever."""
        if self.pid == os.getpid():
            _join(self.thread, "a pool")


_POOL_REQUESTS = 1024


class Pool(_Runner):
    """A program image (.vtap) on several cards.

    image is a path, or the file's bytes; cards are names as for open(), all cards there are
    without. depth runs are in flight on each. Runs go to the card that will be free first;
    what a card that fails had goes to the others, and a card that comes back is taken in.
    Results come in the order of submission.

    Threads may call it at the same time. Of a program for several shapes, a pool has one variant.
    """

    def __init__(self, image: Image, cards: Optional[Iterable[str]] = None,
                 depth: int = 2, variant: int = 0) -> None:
        if isinstance(cards, str):
            raise TypeError("cards is a list of names; one name is [name]")
        if not 1 <= depth <= _core.POOL_DEPTH_MAX:
            raise ValueError(f"depth is 1 to {_core.POOL_DEPTH_MAX}")
        opened = _image(image).variant(variant)
        super().__init__(opened)
        self._engine = _PoolEngine(opened, None if cards is None else tuple(cards), depth)
        self._finalizer = weakref.finalize(self, self._engine.close)
        self._finalizer.atexit = False      # see _end()
        self.runs = depth * len(self.stats())

    def __call__(self, *inputs: Input, timeout: Optional[float] = None) -> Result:
        """Run once: an Array, or a tuple of them if the program has several outputs.
        After TimeoutError the run continues, and its result is dropped."""
        seconds = _seconds(timeout)
        return _result(self.submit(*inputs), seconds)

    def submit(self, *inputs: Input) -> Future:
        """Begin a run: a future, which can be awaited. Inputs are copied, unless there are so
        many runs that this one has to wait: leave them as they are until it is done."""
        return self._engine.submit(self._ordered(inputs))

    def stats(self) -> List[CardStats]:
        """A CardStats for each card."""
        return [CardStats(*stats) for stats in self._engine.core.stats()]

    def close(self) -> None:
        """Free the pool; runs that are not done are given up, and their futures get a ValueError.
        For callbacks see Program.close()."""
        self._finalizer()
        self._engine.join()

    def __repr__(self) -> str:
        return f"<vtadev.Pool {self.name}>"


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
