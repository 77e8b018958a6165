# SPDX-License-Identifier: Apache-2.0
"""A program on several cards."""

from __future__ import annotations

import collections
import os
import select
import threading
import weakref
from typing import Iterable, List, NamedTuple, Optional

from . import _core
from ._future import (_answer, _ending, _engines, _Event, Future, _join, _refuse, _result, _seconds,
                      _settle, _stuck, _survive)
from ._runner import _image, _Runner
from ._types import Image, Input, Result


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
        with _ending(running, [future for future, _ in pending], "pool") as last:
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
