# SPDX-License-Identifier: Apache-2.0
"""Connections of the server, and their limits: aiohttp parses HTTP, and leaves these to us.

A connection is closed if a request's head does not come in time, if it sends more than a request
may have, or if there are too many of the same client, which is an address (for IPv6: of a network
of 64 bits).
"""

from __future__ import annotations

import asyncio
import collections
import ipaddress
import logging
import time
from typing import Any, Counter, Dict, NamedTuple

from aiohttp import web

# Most bytes before a head is complete: aiohttp limits lines, but not their number. A read has up
# to 256 KiB, with the beginning of a body.
_HEAD_MAX = (64 << 10) + (256 << 10)
# Most bytes behind a request that is not answered yet.
_AHEAD_MAX = 64 << 10

# aiohttp would log each request that is no HTTP.
_quiet = logging.getLogger("vtaserve.http")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class Limits(NamedTuple):
    """Limits that hold for each client, or for all. Times are in seconds, memory is in bytes."""

    connections: int = 1024
    client_connections: int = 256
    client_requests: int = 128
    client_memory: int = 512 << 20
    memory: int = 1 << 30
    body: int = 256 << 20
    head_seconds: float = 10
    body_seconds: float = 10        # and one more for each 64 KiB
    write_seconds: float = 30
    idle_seconds: float = 75


def client_of(transport: Any) -> str:
    """The client that a connection counts for."""
    peer = transport.get_extra_info("peername") if transport else None
    if not isinstance(peer, tuple):
        return "local"
    address = ipaddress.ip_address(peer[0].partition("%")[0])
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class Connection(web.RequestHandler):
    """A connection, with the time until which it may do what it does."""

    __slots__ = ("client", "deadline", "received", "allowed")

    def connection_made(self, transport: Any) -> None:
        """Count it, and close it at once if there are too many."""
        super().connection_made(transport)
        self.client = client_of(transport)
        self.received, self.allowed = 0, _HEAD_MAX
        self.deadline = time.monotonic() + self._manager.limits.head_seconds
        if not self._manager.admit(self):
            self.deadline = 0.0
            transport.abort()

    def connection_lost(self, exc: Any) -> None:
        """Count it no more."""
        if self._manager:
            self._manager.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Have the parser read it, unless there is more than a request has."""
        self.received += len(data)
        if self.received > self.allowed and self.transport:
            self._manager.counts["flood"] += 1
            self.transport.abort()
            return
        super().data_received(data)

    def head_read(self, body: int) -> None:
        """A request has begun, with so many bytes of a body: its handler has deadlines of its
        own."""
        self.deadline = float("inf")
        self.allowed = self.received + body + _AHEAD_MAX

    def answered(self, seconds: float) -> None:
        """The connection is idle for at most so long."""
        self.deadline = time.monotonic() + seconds
        self.received, self.allowed = 0, _HEAD_MAX


class Server(web.Server):
    """Makes a Connection of each connection. counts has connections that were closed, by reason."""

    def __init__(self, handler: Any, limits: Limits) -> None:
        super().__init__(handler, access_log=None, logger=_quiet, auto_decompress=False,
                         keepalive_timeout=limits.idle_seconds, lingering_time=2)
        self.limits = limits
        self.open: Dict[Connection, None] = {}
        self.clients: Counter[str] = collections.Counter()
        self.counts: Dict[str, int] = {"flood": 0, "slow": 0, "many": 0}

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, **self._kwargs)

    def admit(self, connection: Connection) -> bool:
        """False if there are too many."""
        self.open[connection] = None
        self.clients[connection.client] += 1
        if len(self.open) <= self.limits.connections and \
                self.clients[connection.client] <= self.limits.client_connections:
            return True
        self.counts["many"] += 1
        return False

    def leave(self, connection: Connection) -> None:
        """The connection has ended."""
        if connection in self.open:
            del self.open[connection]
            self.clients[connection.client] -= 1
            if not self.clients[connection.client]:
                del self.clients[connection.client]

    async def watch(self) -> None:
        """Close connections that are late, for ever."""
        while True:
            await asyncio.sleep(min(1, self.limits.head_seconds / 4))
            now = time.monotonic()
            for connection in [one for one in self.open if one.deadline <= now]:
                if connection.transport:
                    self.counts["slow"] += bool(connection.received)
                    connection.transport.abort()


class Share:
    """Shares that requests have of a limited resource, for all and for each client."""

    def __init__(self, most: int, client_most: int) -> None:
        self.most, self.client_most, self.used = most, client_most, 0
        self.clients: Counter[str] = collections.Counter()

    def take(self, client: str, amount: int) -> bool:
        """False, and nothing is taken, if it is too much."""
        if self.used + amount > self.most or self.clients[client] + amount > self.client_most:
            return False
        self.used += amount
        self.clients[client] += amount
        return True

    def give(self, client: str, amount: int) -> None:
        """Give back what was taken."""
        self.used -= amount
        self.clients[client] -= amount
        if not self.clients[client]:
            del self.clients[client]
