# SPDX-License-Identifier: Apache-2.0
"""Processes that read and write large JSON, so that other requests do not wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import concurrent.futures.process
import multiprocessing
import resource
import signal
from typing import Any, Callable

# Smaller ones take less than a millisecond.
SMALL = 16 << 10
_MEMORY = 4 << 30


def _begin():
    """In a worker: the server ends it, not a signal to the whole group, and it cannot take all
    memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


class Workers:
    """Call functions in one of a few processes, which start when they are first needed."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: Any = None

    async def call(self, size: int, function: Callable[..., Any], *args: Any) -> Any:
        """The function's result, computed here if size is small. RuntimeError if its process
        died; other calls in progress share this fate, later ones get another process."""
        if size <= SMALL:
            return function(*args)
        if not self._pool:
            self._pool = concurrent.futures.ProcessPoolExecutor(
                self.count, multiprocessing.get_context("spawn"), _begin)
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, function, *args)
        except concurrent.futures.process.BrokenProcessPool:
            if self._pool is pool:
                self._pool = None
            pool.shutdown(wait=False)
            raise RuntimeError("a process that reads JSON has died") from None

    def close(self) -> None:
        """Drop calls that have not begun, and wait for the others."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
