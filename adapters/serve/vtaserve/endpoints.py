# SPDX-License-Identifier: Apache-2.0
"""The endpoints of the Open Inference Protocol, version 2, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import time
import zlib
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import unquote

import vtadev
from aiohttp import web

from . import metrics, wire, workers
from .connections import Limits, Share
from .models import Away, Busy, Model

_log = logging.getLogger("vta-serve")

# More of JSON than this is refused: binary data has no such limit.
JSON_MAX = 16 << 20
_JSON_HEAD_MAX = 1 << 20
_HEAD_LENGTH = "Inference-Header-Content-Length"


class Refused(Exception):
    """The answer is an error. retry is the header Retry-After, in seconds."""

    def __init__(self, status: int, why: str, retry: Optional[int] = None, close: bool = False):
        super().__init__(why)
        self.status, self.why, self.retry, self.close = status, why, retry, close


def _inflated(body, most):
    """A body that was compressed by gzip or deflate; at most so many bytes of it."""
    try:
        inflate = zlib.decompressobj(wbits=47)
        data = inflate.decompress(body, most + 1)
    except zlib.error:
        raise Refused(400, "the body is not compressed as Content-Encoding says") from None
    if len(data) > most:
        raise Refused(413, f"the body has more than {most} bytes")
    if not inflate.eof or inflate.unused_data:
        raise Refused(400, "the compressed body does not end where it should")
    return data


class Endpoints:
    """Answers requests, by the models of the dict, which may change."""

    def __init__(self, models: Dict[str, Model], limits: Limits, seconds: float,
                 version: str) -> None:
        self.models, self.limits, self.seconds, self.version = models, limits, seconds, version
        self.leaving = False        # not ready, but requests are answered
        self.stopping = False       # requests are refused
        self.requests = Share(2 ** 31, limits.client_requests)
        self.memory = Share(limits.memory, limits.client_memory)
        self.workers = workers.Workers(2)
        self.metrics = metrics.Metrics(self)
        self.server: Any = None
        self._locks: Dict[str, Tuple[asyncio.Lock, int]] = {}
        model = r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?"
        self._routes: List[Tuple[Any, str, Callable[..., Any]]] = [
            (re.compile(pattern + r"/?\Z"), method, function) for pattern, method, function in (
                (r"/v2", "GET", self._server_metadata), (r"/v2/health/live", "GET", self._live),
                (r"/v2/health/ready", "GET", self._ready), (model, "GET", self._metadata),
                (model + "/ready", "GET", self._model_ready), (model + "/infer", "POST", self._infer),
                (r"/v2/repository/index", "POST", self._index), (r"/metrics", "GET", self._metrics))]

    # ---- any request ----

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request, whatever it is."""
        connection = request.protocol
        length = request.content_length or 0
        connection.head_read(min(length, self.limits.body))
        client, begun = connection.client, time.monotonic()
        refused = None
        if self.requests.take(client, 1):
            try:
                response = await self._answer(request)
            except Refused as error:
                refused = error
            except Exception:
                _log.exception("an error of the server itself")
                refused = Refused(500, "an error of the server; its log has more")
            finally:
                self.requests.give(client, 1)
        else:
            refused = Refused(429, "too many requests of this client at a time", 1)
        if refused:
            response = web.json_response({"error": refused.why}, status=refused.status)
            if refused.retry is not None:
                response.headers["Retry-After"] = str(refused.retry)
            if refused.close:
                response.force_close()
        if self.stopping or not request.content.is_eof() or request.method not in ("GET", "POST"):
            response.force_close()
        self.metrics.answered(request.get("model"), response.status, time.monotonic() - begun)
        try:
            async with asyncio.timeout(self.limits.write_seconds):
                await response.prepare(request)
                await response.write_eof()
        except (TimeoutError, OSError):
            if request.transport:
                request.transport.abort()
        connection.answered(self.limits.idle_seconds)
        return response

    async def _answer(self, request):
        methods = []
        for pattern, method, function in self._routes:
            match = pattern.match(request.rel_url.raw_path)
            if match and request.method == method:
                return await function(request, **match.groupdict())
            methods += [method] if match else []
        if methods:
            raise Refused(405, f"the method is {methods[0]}")
        raise Refused(404, "there is no such resource: docs/serving.md has them")

    # ---- the server ----

    async def _server_metadata(self, _):
        return web.json_response({"name": "vta-serve", "version": self.version,
                                  "extensions": ["binary_tensor_data", "model_repository"]})

    async def _live(self, _):
        return web.json_response({"live": True})

    def unready(self) -> str:
        """The reason why not all models take requests, or ''."""
        if self.leaving:
            return "the server is stopping"
        if not self.models:
            return "there are no models"
        for model in self.models.values():
            why = model.unready()
            if why:
                return f"{model.name}: {why}"
        return ""

    async def _ready(self, _):
        why = self.unready()
        return web.json_response({"ready": not why, **({"error": why} if why else {})},
                                 status=503 if why else 200)

    async def _index(self, request):
        await self._body(request, 4096)
        states = []
        for model in self.models.values():
            why = model.unready()
            states.append({"name": model.name, "version": "1", "reason": why,
                           "state": "UNAVAILABLE" if why else "READY"})
        return web.json_response(states)

    async def _metrics(self, _):
        return web.Response(body=self.metrics.text(),
                            headers={"Content-Type": self.metrics.content_type})

    # ---- a model ----

    def _model(self, request, name, version, ready=True):
        model = self.models.get(unquote(name))
        if not model or version not in (None, "1"):
            raise Refused(404, "there is no such model" if not model else
                          "the model has the version 1 alone")
        request["model"] = model.name
        if ready and (self.stopping or not model.pool):
            raise Refused(503, f"{model.name}: {model.why or 'the server is stopping'}", 1)
        return model

    async def _model_ready(self, request, name, version):
        model = self._model(request, name, version, False)
        why = "the server is stopping" if self.leaving else model.unready()
        return web.json_response({"name": model.name, "ready": not why,
                                  **({"error": why} if why else {})}, status=503 if why else 200)

    async def _metadata(self, request, name, version):
        return web.json_response(self._model(request, name, version).metadata())

    async def _infer(self, request, name, version):
        model = self._model(request, name, version)
        text = request.headers.get(_HEAD_LENGTH)
        if text is not None and not re.fullmatch(r"[0-9]{1,10}", text):
            raise Refused(400, f"{_HEAD_LENGTH} is a number of bytes")
        json_bytes = None if text is None else int(text)
        # A number of a row takes up to 32 characters, as in JSON with all digits of a double.
        most = min(self.limits.body, JSON_MAX if text is None else
                   model.input_bytes * 4 + _JSON_HEAD_MAX)
        if json_bytes is not None and json_bytes > JSON_MAX:
            raise Refused(413, f"the JSON has more than {JSON_MAX} bytes: send binary data")
        if model.full():
            raise Refused(429, f"{model.name} has too many requests", 1)
        memory = (request.content_length or 0) * 2 + model.output_bytes
        compressed = request.headers.get("Content-Encoding", "identity") != "identity"
        if compressed:
            memory += most
        client = request.protocol.client
        if memory > min(self.limits.memory, self.limits.client_memory):
            raise Refused(413, "the request takes more memory than a client may have")
        if not self.memory.take(client, memory):
            raise Refused(429, "requests in progress take too much memory", 1)
        try:
            body = await self._body(request, most)
            return await self._infer_body(model, client, body, json_bytes)
        finally:
            self.memory.give(client, memory)

    async def _infer_body(self, model, client, body, json_bytes):
        try:
            asked = await self._convert(client, len(body) if json_bytes is None else json_bytes,
                                        wire.read_request, body, json_bytes)
            rows = model.rows_of(asked.inputs)
            wanted = self._wanted(model, asked)
            async with asyncio.timeout(self.seconds):
                results = {one.name: one for one in await model.run(rows)}
            tensors = [(name, results[name].format, results[name].shape, results[name].values,
                        binary) for name, binary in wanted]
            head = {"model_name": model.name, "model_version": "1",
                    **({} if asked.id is None else {"id": asked.id})}
            text = sum(len(one[3]) for one in tensors if not one[4])
            data, json_bytes = await self._convert(client, text, wire.write_response, head, tensors)
        except wire.BadRequest as error:
            raise Refused(400, str(error)) from None
        except Busy:
            raise Refused(429, f"{model.name} has too many requests", 1) from None
        except Away as error:
            raise Refused(503, f"{model.name}: {error}", 1) from None
        except TimeoutError:
            raise Refused(504, f"{model.name} has not answered in {self.seconds:g} s") from None
        except vtadev.Fault as error:
            raise Refused(500, f"{model.name}: {error}") from None
        response = web.Response(body=data, content_type="application/json" if json_bytes is None
                                else "application/octet-stream")
        if json_bytes is not None:
            response.headers[_HEAD_LENGTH] = str(json_bytes)
        return response

    def _wanted(self, model, asked):
        """(name, binary) for each output of the response."""
        names = [tensor.name for tensor in model.pool.outputs]
        if asked.outputs is None:
            return [(name, asked.binary) for name in names]
        for output in asked.outputs:
            if output.name not in names:
                raise wire.BadRequest(f"the model has no output {output.name[:128]!r}")
        if len({output.name for output in asked.outputs}) != len(asked.outputs):
            raise wire.BadRequest("an output is asked for twice")
        return [(output.name, output.binary) for output in asked.outputs]

    async def _convert(self, client, size, function, *args):
        """Call a function of wire.py; if its JSON is large, one at a time for each client."""
        async with self._turn(client) if size > workers.SMALL else contextlib.nullcontext():
            try:
                return await self.workers.call(size, function, *args)
            except MemoryError:
                raise Refused(413, "the JSON takes too much memory: send binary data") from None

    @contextlib.asynccontextmanager
    async def _turn(self, client):
        lock, users = self._locks.get(client, (asyncio.Lock(), 0))
        self._locks[client] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            users = self._locks[client][1] - 1
            if users:
                self._locks[client] = lock, users
            else:
                del self._locks[client]

    async def _body(self, request, most):
        """The body of a request, of at most so many bytes."""
        length = request.content_length
        if length is None or "Transfer-Encoding" in request.headers:
            raise Refused(411, "a request has a Content-Length", close=True)
        if length > most:
            raise Refused(413, f"the body has more than {most} bytes", close=True)
        coding = request.headers.get("Content-Encoding", "identity")
        if coding not in ("identity", "gzip", "deflate"):
            raise Refused(415, "Content-Encoding is gzip or deflate")
        body = bytearray()
        try:
            if request.headers.get("Expect", "").lower() == "100-continue":
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                request.writer.output_size = 0
            async with asyncio.timeout(self.limits.body_seconds + length / (64 << 10)):
                while data := await request.content.readany():
                    body += data
        except TimeoutError:
            raise Refused(408, "the body did not come in time", close=True) from None
        except (web.RequestPayloadError, OSError):
            raise Refused(400, "the body ends too early", close=True) from None
        if coding != "identity":
            return await asyncio.to_thread(_inflated, bytes(body), most)
        return bytes(body)
