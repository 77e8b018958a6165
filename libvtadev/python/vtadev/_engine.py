# SPDX-License-Identifier: Apache-2.0
"""The runs of a program on one card: which are in flight, and which wait."""

from __future__ import annotations

import collections
import os
import select
import threading

from . import _core
from ._future import (_answer, _cancel, _ending, _engines, _Event, Future, _join, _one, _refuse,
                      _result, _running_loop, _seconds, _settle, _stuck, _survive)

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
        with _ending([job[0] for job in jobs], [job[0] for job in pending], "program") as last:
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
