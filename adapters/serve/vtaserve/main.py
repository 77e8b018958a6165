# SPDX-License-Identifier: Apache-2.0
"""The program vta-serve, from the first model to the last answer."""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import contextlib
import logging
import os
import signal
import socket
import stat
import sys
from typing import Any, Dict, Set

import vtadev

from .connections import Limits, Server
from .endpoints import Endpoints
from .models import Model, find

_log = logging.getLogger("vta-serve")
_RETRY_SECONDS = 5


def _notify(state):
    """Tell systemd (sd_notify(3)), if it has started the program."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with contextlib.suppress(OSError), \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)


class Program:
    """The server, its models and its sockets."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.models: Dict[str, Model] = {}
        limits = Limits(client_requests=options.client_requests,
                        client_connections=options.client_connections,
                        connections=options.connections, memory=options.memory << 20,
                        client_memory=options.memory << 19, body=options.memory << 18)
        self.endpoints = Endpoints(self.models, limits, options.timeout, vtadev.__version__)
        self.stop = asyncio.Event()
        self.changed = asyncio.Event()
        # One after the other: compiling takes much memory.
        self.loader = concurrent.futures.ThreadPoolExecutor(1, "vta-serve-load")
        self._closing: Set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until a signal comes."""
        loop = asyncio.get_running_loop()
        server = Server(self.endpoints.handle, self.endpoints.limits)
        self.endpoints.server = server
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        loop.add_signal_handler(signal.SIGHUP, self.changed.set)
        sockets = [await self._listen(loop, server, where) for where in self.options.listen]
        tasks = [loop.create_task(server.watch()), loop.create_task(self._keep_models())]
        _notify("READY=1")
        await self.stop.wait()
        _notify("STOPPING=1")
        self.endpoints.leaving = True
        tasks[1].cancel()
        await asyncio.sleep(self.options.linger)
        self.endpoints.stopping = True
        for one in sockets:
            one.close()
        await self._finish()
        await server.shutdown(0.5)
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.loader.shutdown(wait=False, cancel_futures=True)
        for model in self.models.values():
            await asyncio.to_thread(model.close)
        self.endpoints.workers.close()
        for where in self.options.listen:
            if where.startswith("unix:"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(where[5:])

    def _signalled(self):
        """The first signal ends the server when requests are answered, the second at once."""
        if self.stop.is_set():
            _log.warning("stopped by a second signal")
            os._exit(1)
        self.stop.set()

    async def _finish(self):
        """Wait for requests in progress."""
        try:
            async with asyncio.timeout(self.options.stop_timeout):
                while self.endpoints.requests.used:
                    await asyncio.sleep(0.01)
                # Their last bytes may still be on their way to a client.
                await asyncio.sleep(0.05)
        except TimeoutError:
            _log.warning("stopped with %d requests in progress", self.endpoints.requests.used)

    async def _listen(self, loop, server, where):
        if where.startswith("unix:"):
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISSOCK(os.lstat(where[5:]).st_mode):
                    os.unlink(where[5:])
            return await loop.create_unix_server(server, where[5:])
        host, _, port = where.rpartition(":")
        made = await loop.create_server(server, host.strip("[]") or None, int(port), backlog=512)
        for one in made.sockets:
            _log.info("listening on %s port %d", *one.getsockname()[:2])
        return made

    # ---- models ----

    async def _keep_models(self):
        """Load what is in the directory, and what changes there when SIGHUP comes."""
        while True:
            self.changed.clear()
            sources, left_out = find(self.options.directory)
            for why in left_out:
                _log.warning("%s", why)
            for name in [name for name in self.models if name not in sources]:
                _log.info("%s: removed", name)
                self._retire(self.models.pop(name))
            fresh = [Model(name, source, self.options.queue, self.options.rows)
                     for name, source in sources.items()
                     if name not in self.models or self.models[name].retry
                     or self.models[name].source != source]
            for model in fresh:
                self.models.setdefault(model.name, model)
            for model in fresh:
                await self._load(model)
            if not self.models:
                _log.warning("%s has no models: NAME.vtap or NAME.onnx", self.options.directory)
            again = any(model.retry for model in self.models.values())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_RETRY_SECONDS if again else None):
                    await self.changed.wait()

    async def _load(self, model):
        old = self.models[model.name]
        await asyncio.get_running_loop().run_in_executor(
            self.loader, model.load, self.options.cards, self.options.cache)
        if model.pool:
            _log.info("%s: loaded on %s", model.name,
                      ", ".join(card.name for card in model.pool.stats() if card.up))
        else:
            _log.error("%s: %s", model.name, model.why)
        if old is not model and (model.pool or not old.pool):
            self.models[model.name] = model
            self._retire(old)

    def _retire(self, model):
        """Close a model that new requests do not find any more, when it has answered all."""
        async def close():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.options.timeout):
                    while model.waiting or model.running:
                        await asyncio.sleep(0.05)
            await asyncio.to_thread(model.close)
        task = asyncio.get_running_loop().create_task(close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def main(options: argparse.Namespace) -> int:
    """Run the program with options_of(); its exit status."""
    logging.basicConfig(level=logging.INFO, format="vta-serve: %(message)s", stream=sys.stderr)

    async def run() -> Any:
        await Program(options).run()

    try:
        asyncio.run(run())
    except OSError as error:
        print(f"vta-serve: {error}", file=sys.stderr)
        return 1
    return 0
