# SPDX-License-Identifier: Apache-2.0
"""Models of a directory: found, compiled, loaded into pools, and run in batches.

Nothing is read by a path that a client chose: names of models are looked up among those that were
found. All but load() is called in the event loop's thread.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple

import vtadev

from .wire import DATATYPES, BadRequest, Input

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_FILE_MAX = 4 << 30
_OPTIONS_MAX = 1 << 20
# Those of vtadev.compile(), and the server's.
_COMPILE = {"name", "images", "shapes", "labels", "cpu", "no_card", "no_prune", "mean", "scale",
            "order", "fit", "filter", "background", "precision", "extra_cycles"}
_SERVE = {"batch", "depth"}


class Busy(Exception):
    """The model's queue is full."""


class Away(Exception):
    """No card can run the model now, for the reason in the text."""


# ---- files ----

def _read(path, most):
    """A regular file's bytes. A symbolic link would lead out of the directory."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is no regular file")
        if status.st_size > most:
            raise ValueError(f"{path} is larger than {most} bytes")
        # Python has memory for all that it is asked to read.
        data = file.read(status.st_size + 1)
        if len(data) > status.st_size:
            raise ValueError(f"{path} grows while it is read")
        return data


def _signature(path):
    """A value that changes with a file, or the files of a directory; None if there is none."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    own = (status.st_ino, status.st_size, status.st_mtime_ns)
    if stat.S_ISDIR(status.st_mode):
        return own, tuple((name, _signature(os.path.join(path, name)))
                          for name in sorted(os.listdir(path)))
    return own


class Source(NamedTuple):
    """The files of a model. Two that are equal have the same contents."""

    path: str
    signature: Any

    @property
    def stem(self) -> str:
        """The path without .vtap or .onnx."""
        return self.path.rpartition(".")[0]


def find(directory: str) -> Tuple[Dict[str, Source], List[str]]:
    """The models of a directory by name, and sentences about what is left out."""
    sources: Dict[str, Source] = {}
    left_out = []
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name, reverse=True):
        name, _, kind = entry.name.rpartition(".")
        if kind not in ("vtap", "onnx"):
            continue
        if not _NAME.match(name):
            left_out.append(f"{entry.name!r}: a name has 1 to 128 letters, digits, '.', '_', '-'")
        elif not entry.is_file(follow_symlinks=False):
            left_out.append(f"{entry.name}: no regular file; symbolic links are not followed")
        elif name in sources:
            left_out.append(f"{entry.name}: {name}.vtap is there, too, and is taken")
        else:
            stem = os.path.join(directory, name)
            sources[name] = Source(entry.path, tuple(map(_signature, (
                entry.path, f"{stem}.json", f"{stem}.calibration", f"{stem}.calibration.npy"))))
    return dict(sorted(sources.items())), left_out


def _options(stem):
    """The options in NAME.json, as (those of compile(), the server's)."""
    try:
        text = _read(f"{stem}.json", _OPTIONS_MAX)
    except FileNotFoundError:
        return {}, {}
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{stem}.json: no JSON: {error}") from None
    if not isinstance(whole, dict):
        raise ValueError(f"{stem}.json: no JSON object")
    unknown = sorted(set(whole) - _COMPILE - _SERVE)
    if unknown:
        raise ValueError(f"{stem}.json: unknown option {unknown[0]!r}")
    if not isinstance(whole.get("batch", False), bool):
        raise ValueError(f"{stem}.json: batch is true or false")
    if type(whole.get("depth", 1)) is not int:
        raise ValueError(f"{stem}.json: depth is a number")
    return ({key: value for key, value in whole.items() if key in _COMPILE},
            {key: value for key, value in whole.items() if key in _SERVE})


def _calibration(stem):
    """The images that a model is calibrated with: (the argument of compile(), all files)."""
    array, directory = f"{stem}.calibration.npy", f"{stem}.calibration"
    if os.path.lexists(array):
        return array, _plain([array])
    if not os.path.lexists(directory):
        return None, []
    if not stat.S_ISDIR(os.lstat(directory).st_mode):
        raise ValueError(f"{directory} is no directory")
    files, inputs = [], {}
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            inputs[entry.name] = entry.path
            files += sorted(inner.path for inner in os.scandir(entry.path))
        else:
            files.append(entry.path)
    return inputs or directory, _plain(files)


def _plain(paths):
    for path in paths:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise ValueError(f"{path} is no regular file; symbolic links are not followed")
    return paths


def _compiled(source, options, cards, cache):
    """The bytes of the program of an ONNX file, from the cache if it is there."""
    model = _read(source.path, _FILE_MAX)
    calibrate, files = _calibration(source.stem)
    options.setdefault("name", os.path.basename(source.stem))
    with vtadev.open(cards[0] if cards else None) as card:
        kept = None
        if cache:
            digest = hashlib.sha256(repr((vtadev.__version__, sorted(options.items()),
                                          card.info["block"], card._core.core())).encode())
            for data in (model, *(_read(path, _FILE_MAX) for path in files)):
                digest.update(len(data).to_bytes(8, "little") + data)
            kept = os.path.join(cache, f"{digest.hexdigest()}.vtap")
            with contextlib.suppress(FileNotFoundError):
                return _read(kept, _FILE_MAX)
        try:
            with vtadev.compile(model, calibrate, card, **options) as program:
                data = program._image.bytes
        except TypeError as error:      # of an option's value
            raise ValueError(f"{source.stem}.json: {error}") from None
        if kept:
            with tempfile.NamedTemporaryFile(dir=cache, delete=False) as file:
                file.write(data)
            os.replace(file.name, kept)
        return data


# ---- models ----

class Result(NamedTuple):
    """An output's values, row-major."""

    name: str
    format: str
    shape: Tuple[int, ...]
    values: bytes


class _Row:
    """A part of a request: a row of each input, or whole inputs."""

    def __init__(self, inputs, future):
        self.inputs = inputs
        self.future = future


class Model:
    """A model that is loaded, or that cannot be for the reason in why. queue is the most rows that
    wait for a card, rows the most of a request."""

    def __init__(self, name: str, source: Source, queue: int, rows: int) -> None:
        self.name, self.source, self.queue, self.rows = name, source, queue, rows
        self.pool: Optional[vtadev.Pool] = None
        self.batch = 1              # rows of a run
        self.many = False           # the first dimension of all tensors counts rows
        self.why = "it is being loaded"
        self.retry = False          # loading may succeed later
        self.waiting: Deque[_Row] = collections.deque()
        self.running = 0
        self.runs = 0               # that were begun
        self._loop: Any = None

    def load(self, cards: Optional[Sequence[str]], cache: Optional[str]) -> None:
        """Compile and load the model, in any thread. Afterwards there is a pool, or why says why
        not."""
        try:
            compile_options, options = _options(self.source.stem)
            if self.source.path.endswith(".onnx"):
                data = _compiled(self.source, compile_options, cards, cache)
            else:
                data = _read(self.source.path, _FILE_MAX)
            pool = vtadev.Pool(data, cards, options.get("depth", 2))
        except (ValueError, RuntimeError, MemoryError) as error:
            self.why = str(error) or "there is not enough memory"
            return
        except OSError as error:
            self.why, self.retry = str(error), True
            return
        first = {tensor.shape[0] for tensor in (*pool.inputs, *pool.outputs)}
        if options.get("batch") and len(first) != 1:
            pool.close()
            self.why = "batch: the first dimensions of its inputs and outputs differ"
            return
        self.many = len(first) == 1 and (first == {1} or bool(options.get("batch")))
        self.batch = first.pop() if self.many else 1
        self.pool, self.why = pool, ""

    def unready(self) -> str:
        """The reason why the model takes no requests now, or ''."""
        if not self.pool:
            return self.why
        cards = self.pool.stats()
        return "" if any(card.up for card in cards) else f"{cards[0].name}: {cards[0].why}"

    @property
    def input_bytes(self) -> int:
        """Bytes of the values of a request, at most."""
        return sum(_bytes(tensor) for tensor in self.pool.inputs) * self._most

    @property
    def output_bytes(self) -> int:
        """Bytes of the values of a response, at most."""
        return sum(_bytes(tensor) for tensor in self.pool.outputs) * self._most

    @property
    def _most(self):
        return -(-self.rows // self.batch) if self.many else 1

    def metadata(self) -> Dict[str, Any]:
        """The protocol's description of the model."""
        def tensors(these):
            for tensor in these:
                one = {"name": tensor.name, "datatype": DATATYPES[tensor.format],
                       "shape": [-1 if self.many else tensor.shape[0], *tensor.shape[1:]]}
                if tensor.scale:
                    one["parameters"] = {"scale": tensor.scale, "zero_point": tensor.zero}
                yield one
        return {"name": self.name, "versions": ["1"], "platform": "vta",
                "inputs": list(tensors(self.pool.inputs)),
                "outputs": list(tensors(self.pool.outputs))}

    def _values(self, tensor, given):
        """The number of rows of an input, and its values."""
        shape = tensor.shape[1:] if self.many else tensor.shape
        mine = given.shape[1:] if self.many else given.shape
        if mine != shape:
            text = ["-1" if self.many else str(tensor.shape[0]), *map(str, tensor.shape[1:])]
            raise BadRequest(f"{tensor.name} has the shape {list(given.shape)}, and the model "
                             f"takes [{', '.join(text)}]")
        rows = given.shape[0] if self.many else 1
        if not 1 <= rows <= self.rows:
            raise BadRequest(f"a request has 1 to {self.rows} rows")
        values = given.values
        if given.datatype == "FP32" and tensor.format in "bB" and tensor.scale:
            try:
                values = bytes(memoryview(tensor.quantise(memoryview(values).cast("f"))).cast("B"))
            except ValueError as error:
                raise BadRequest(f"{tensor.name}: {error}") from None
        elif given.datatype != DATATYPES[tensor.format]:
            raise BadRequest(f"{tensor.name} is {DATATYPES[tensor.format]}, not {given.datatype}")
        return rows, values

    def rows_of(self, inputs: Sequence[Input]) -> List[Tuple[memoryview, ...]]:
        """The inputs' values in the program's order, in rows. BadRequest if they do not fit."""
        given = {one.name: one for one in inputs}
        if len(given) != len(inputs):
            raise BadRequest("an input is given twice")
        counts, columns = set(), []
        for tensor in self.pool.inputs:
            if tensor.name not in given:
                raise BadRequest(f"no input {tensor.name!r} is given")
            count, values = self._values(tensor, given.pop(tensor.name))
            counts.add(count)
            size = len(values) // count
            view = memoryview(values)
            columns.append([view[i * size:(i + 1) * size] for i in range(count)])
        if given:
            raise BadRequest(f"the model has no input {next(iter(given))[:128]!r}")
        if len(counts) != 1:
            raise BadRequest("inputs have different numbers of rows")
        return list(zip(*columns))

    def full(self, rows: int = 1) -> bool:
        """Returns true if so many rows have no place in the queue."""
        return len(self.waiting) + rows > self.queue

    async def run(self, rows: List[Tuple[memoryview, ...]]) -> List[Result]:
        """The outputs for rows_of(). Busy if they have no place in the queue; Away; a vtadev.Fault.
        If this is cancelled, rows that wait are dropped."""
        if self.full(len(rows)):
            raise Busy
        self._loop = asyncio.get_running_loop()
        mine = [_Row(row, self._loop.create_future()) for row in rows]
        self.waiting.extend(mine)
        self._begin()
        answers = asyncio.gather(*(row.future for row in mine))
        return _joined(self.pool.outputs, await answers)

    def _begin(self):
        """Begin runs while cards have places for them: rows that come meanwhile share the next."""
        while self.waiting and self.running < self.pool.runs:
            rows: List[_Row] = []
            while self.waiting and len(rows) < self.batch:
                row = self.waiting.popleft()
                if not row.future.done():   # by cancellation
                    rows.append(row)
            if not rows:
                return
            inputs = [column[0] if self.batch == 1 else
                      b"".join([*column, bytes(len(column[0]) * (self.batch - len(rows)))])
                      for column in zip(*(row.inputs for row in rows))]
            try:
                future = self.pool.submit(*inputs)
            except Exception as error:
                _settle(rows, None, error)
                continue
            self.running += 1
            self.runs += 1
            future.add_done_callback(lambda future, rows=rows: self._loop.call_soon_threadsafe(
                self._done, rows, future))

    def _done(self, rows, future):
        self.running -= 1
        try:
            result = future.result()
            result = result if isinstance(result, tuple) else (result,)
            answers = [[] for _ in rows]
            for array in result:
                values = memoryview(array).cast("B") if array.nbytes else memoryview(b"")
                if self.batch == 1:
                    answers[0].append((array.shape, bytes(values)))
                    continue
                if array.shape[0] != self.batch:
                    raise BadRequest("data decides the number of rows: set batch to false")
                size = len(values) // self.batch
                for i, answer in enumerate(answers):
                    answer.append(((1, *array.shape[1:]), bytes(values[i * size:(i + 1) * size])))
            _settle(rows, answers, None)
        except Exception as error:
            _settle(rows, None, error)
        self._begin()

    def close(self) -> None:
        """Give up what runs, in any thread."""
        if self.pool:
            self.pool.close()


def _bytes(tensor):
    size = {"b": 1, "B": 1, "?": 1, "q": 8}.get(tensor.format, 4)
    for n in tensor.shape:
        size *= n
    return size


def _settle(rows, answers, error):
    """Give each row its answer, or all the error."""
    if isinstance(error, vtadev.Error) and not isinstance(error, vtadev.Fault):
        error = Away(str(error))
    elif error and not isinstance(error, (vtadev.Fault, BadRequest)):
        error = Away(f"the run was given up: {error}")
    for i, row in enumerate(rows):
        if row.future.done():
            continue
        if error:
            row.future.set_exception(error)
        else:
            row.future.set_result(answers[i])


def _joined(outputs, answers):
    """The outputs of all rows, one after the other."""
    results = []
    for i, tensor in enumerate(outputs):
        shapes = {answer[i][0] for answer in answers}
        if len(shapes) > 1:
            raise BadRequest(f"{tensor.name} has another size for each row: send rows one by one")
        shape = shapes.pop()
        results.append(Result(tensor.name, tensor.format, (shape[0] * len(answers), *shape[1:])
                              if len(answers) > 1 else shape,
                              b"".join(answer[i][1] for answer in answers)))
    return results
