# SPDX-License-Identifier: Apache-2.0
"""Requests and responses of the Open Inference Protocol, version 2, as bytes.

The source of the formats is the protocol's text (kserve/open-inference-protocol,
specification/protocol/inference_rest.md) and that of its extension for binary tensors
(triton-inference-server/server, docs/protocol/extension_binary_data.md). Nothing here needs a card:
large JSON is read and written by other processes, which import this file alone.
"""

from __future__ import annotations

import array
import json
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

# The protocol's name of each format of the module struct.
DATATYPES = {"f": "FP32", "b": "INT8", "B": "UINT8", "i": "INT32", "q": "INT64", "?": "BOOL"}
FORMATS = {datatype: format for format, datatype in DATATYPES.items()}
SIZES = {format: array.array("B" if format == "?" else format).itemsize for format in DATATYPES}

NAME_MAX = 256
RANK_MAX = 8
TENSORS_MAX = 64


class BadRequest(ValueError):
    """The request is refused, for the reason in the text, which the client gets."""


class Input(NamedTuple):
    """An input of a request: values are of the datatype, row-major, in the machine's order."""

    name: str
    datatype: str
    shape: Tuple[int, ...]
    values: bytes


class Output(NamedTuple):
    """An output that a request asks for."""

    name: str
    binary: bool


class Request(NamedTuple):
    """outputs is None if the request names none: all of them, binary if binary is set."""

    id: Optional[str]
    inputs: List[Input]
    outputs: Optional[List[Output]]
    binary: bool


def _check(condition, why):
    if not condition:
        raise BadRequest(why)


def _object(pairs):
    """A dict of JSON's object: a name that is given twice means one thing to one reader, and
    another to the next."""
    whole = dict(pairs)
    _check(len(whole) == len(pairs), "an object of the JSON has a name twice")
    return whole


def _no_constant(text):
    raise BadRequest(f"{text} is no number of JSON: send it as binary data")


def _json(text):
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except BadRequest:
        raise
    except RecursionError:
        raise BadRequest("the JSON is nested too deeply") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise BadRequest(f"the request is no JSON: {str(error)[:200]}") from None


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _name(value, what):
    _check(isinstance(value, str) and 0 < len(value) <= NAME_MAX,
           f"{what} is a string of 1 to {NAME_MAX} characters")
    return value


def _parameters(owner, what):
    value = owner.get("parameters", {})
    _check(isinstance(value, dict), f"the parameters of {what} are an object")
    for name in value:
        _check(not name.startswith("shared_memory"), "shared memory is not supported")
        _check(not name.startswith("sequence_"), "models have no state: there are no sequences")
        _check(name != "classification", "the classification extension is not supported")
    return value


def _flag(parameters, name):
    value = parameters.get(name, False)
    _check(isinstance(value, bool), f"{name} is true or false")
    return value


def _list(value, what, least):
    _check(isinstance(value, list) and least <= len(value) <= TENSORS_MAX,
           f"{what} is an array of {least} to {TENSORS_MAX} objects")
    for item in value:
        _check(isinstance(item, dict), f"{what} is an array of objects")
    return value


def _shape(value, name):
    _check(isinstance(value, list) and 0 < len(value) <= RANK_MAX,
           f"the shape of {name} is an array of 1 to {RANK_MAX} integers")
    for n in value:
        _check(_is_int(n) and 0 <= n < 2 ** 31, f"the shape of {name} has integers from 0 on")
    return tuple(value)


def _flatten(data, shape, name, into):
    _check(isinstance(data, list) and len(data) == shape[0],
           f"the data of {name} is not nested as its shape")
    if len(shape) == 1:
        into += data
        return
    for row in data:
        _flatten(row, shape[1:], name, into)


def _flat(data, shape, name):
    """The values of an array, which is flat or nested as the shape."""
    _check(isinstance(data, list), f"the data of {name} is an array")
    if len(shape) > 1 and data and isinstance(data[0], list):
        nested, data = data, []
        _flatten(nested, shape, name, data)
    _check(len(data) == math.prod(shape),
           f"{name} has {len(data)} values, and its shape {math.prod(shape)}")
    return data


def _numbers(data, datatype, name):
    """Bytes of a flat array."""
    try:
        if datatype == "BOOL":
            _check(all(isinstance(value, bool) for value in data),
                   f"the values of {name} are true or false")
            return bytes(data)
        _check(not any(value is True or value is False for value in data), f"{name} has true or false as a number")
        return array.array(FORMATS[datatype], data).tobytes()
    except (TypeError, OverflowError):
        raise BadRequest(f"{name} has a value that is no {datatype}") from None


def _input(item, tail):
    """An input, and the rest of tail: the binary data that comes behind the JSON."""
    name = _name(item.get("name"), "the name of an input")
    parameters = _parameters(item, name)
    datatype = item.get("datatype")
    _check(isinstance(datatype, str) and datatype in FORMATS,
           f"the datatype of {name} is one of {', '.join(FORMATS)}")
    shape = _shape(item.get("shape"), name)
    size = parameters.get("binary_data_size")
    if size is None:
        return Input(name, datatype, shape, _numbers(_flat(item.get("data"), shape, name),
                                                     datatype, name)), tail
    _check("data" not in item, f"{name} has both data and binary_data_size")
    _check(_is_int(size) and size == math.prod(shape) * SIZES[FORMATS[datatype]],
           f"binary_data_size of {name} is not that of its shape and datatype")
    _check(size <= len(tail), f"the request ends within the binary data of {name}")
    values = bytes(tail[:size])
    _check(datatype != "BOOL" or not values.strip(b"\0\1"), f"a value of {name} is not 0 or 1")
    return Input(name, datatype, shape, values), tail[size:]


def read_request(body: bytes, json_bytes: Optional[int]) -> Request:
    """The request of a body whose first json_bytes are JSON, all of it if None."""
    view = memoryview(body)
    if json_bytes is not None:
        _check(json_bytes <= len(view), "the request is shorter than its JSON")
    tail = view[len(view) if json_bytes is None else json_bytes:]
    whole = _json(bytes(view[:json_bytes]))
    _check(isinstance(whole, dict), "the request is an object")
    id = whole.get("id")
    if id is not None:
        _check(isinstance(id, str) and len(id) <= NAME_MAX,
               f"id is a string of at most {NAME_MAX} characters")
    inputs = []
    for item in _list(whole.get("inputs"), "inputs", 1):
        one, tail = _input(item, tail)
        inputs.append(one)
    _check(not tail, f"{len(tail)} bytes behind the inputs belong to none")
    binary = _flag(_parameters(whole, "the request"), "binary_data_output")
    outputs = None
    if whole.get("outputs"):
        outputs = []
        for item in _list(whole["outputs"], "outputs", 1):
            name = _name(item.get("name"), "the name of an output")
            parameters = _parameters(item, name)
            outputs.append(Output(name, _flag(parameters, "binary_data")
                                  if "binary_data" in parameters else binary))
    return Request(id, inputs, outputs, binary)


def write_response(head: Dict[str, Any], tensors: List[Tuple[str, str, Tuple[int, ...], bytes, bool]]
                   ) -> Tuple[bytes, Optional[int]]:
    """The body of a response, and the bytes of its JSON if others follow. tensors are (name,
    format, shape, values, binary)."""
    outputs, tail = [], []
    for name, format, shape, values, binary in tensors:
        one = {"name": name, "shape": list(shape), "datatype": DATATYPES[format]}
        if binary:
            one["parameters"] = {"binary_data_size": len(values)}
            tail.append(values)
        else:
            one["data"] = memoryview(values).cast(format).tolist()
        outputs.append(one)
    try:
        text = json.dumps({**head, "outputs": outputs}, allow_nan=False).encode()
    except ValueError:
        raise BadRequest("an output has infinities or NaN, which JSON cannot express: ask for "
                         "binary data") from None
    return b"".join([text, *tail]), len(text) if tail else None
