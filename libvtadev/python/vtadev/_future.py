# SPDX-License-Identifier: Apache-2.0
"""Futures of runs, and how they are settled from any thread."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import sys
import threading
import warnings
import weakref
from typing import Any, Generator, Optional

from ._types import Result


class Future(concurrent.futures.Future):    # of a Result
    """The result of a run. Also awaitable; cancel() works until the run begins, or the pool has
    it."""

    def __init__(self, engine: Any) -> None:
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
    """An eventfd, which is closed with its last reference: a thread that polls it may end
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


def _ending(running, waiting, what):
    """A stack that ends the futures of what is closed, when it is left: all of them, the last one
    first, also if a callback or a signal's handler raises. What it is given later goes first."""
    last = contextlib.ExitStack()
    for future in running:
        last.callback(_settle, _give_up, future, f"the {what} was closed")
    for future in waiting:
        last.callback(_settle, _cancel, future)
    return last


def _refuse(future, error):
    """The exception for a future whose run does not begin. If the future was cancelled, the
    threads in concurrent.futures.wait() learn of that only here."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error)


def _cancel(future):
    """Cancel a future whose run has not begun."""
    future.cancel()
    future.set_running_or_notify_cancel()


def _seconds(timeout):
    """A time-out that threads can wait for; None: longer than that."""
    if timeout is None or timeout >= threading.TIMEOUT_MAX:
        return None
    if timeout != timeout:
        raise ValueError("a timeout is a number of seconds, not nan")
    return max(timeout, 0)


def _result(future, timeout):
    """The result. The caller has no other use of the future."""
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
