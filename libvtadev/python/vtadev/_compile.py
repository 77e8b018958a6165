# SPDX-License-Identifier: Apache-2.0
"""From a model to a program image: the part of vtadev.compile() that needs no card."""

from __future__ import annotations

import array
import ast
import itertools
import math
import os
import struct
import warnings
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _core


class CompileError(ValueError):
    """A model cannot be compiled, for the reason in the text. nodes is a list of (node, reason): the
    model's nodes that stop it, if it is they."""

    nodes: List[Tuple[str, str]] = []


def _compiler():
    """The extension module: it is large, and programs that only run need none."""
    try:
        from . import _compiler as module
    except ModuleNotFoundError:
        raise RuntimeError("this build of vtadev has no compiler, and reads no pictures: it was built without "
                           "libprotobuf-c-dev, protobuf-c-compiler and libonnx-dev") from None
    return module


_ORDERS = ("rgb", "bgr", "gray")
_FITS = ("stretch", "top-left", "centre", "crop")
_FILTERS = ("nearest", "linear", "cubic")

Precision = Union[int, str, Dict[Optional[str], Union[int, str]]]
Progress = Callable[[str, int, int], Any]
Shape = Tuple[int, ...]
Sizes = Union[Sequence[int], Dict[str, Sequence[int]]]
Shapes = Union[Sizes, List[Sizes], None]


def _number(word, words, what):
    if word not in words:
        raise ValueError(f"{what} is {', '.join(words[:-1])} or {words[-1]}, not {word!r}")
    return words.index(word)


def _three(values, grey):
    """A number for each channel; grey pictures have no second and third."""
    values = tuple(values) if isinstance(values, Iterable) else (values,) * (1 if grey else 3)
    values = tuple(map(float, values))
    if len(values) not in (1, 3):
        raise ValueError("mean and scale are one number, or three")
    if not all(map(math.isfinite, values)):
        raise ValueError("mean and scale are finite numbers")
    return (values[0], 0.0, 0.0) if grey else values * (3 // len(values))


class Pictures:
    """The conversion of pictures to inputs: see compile()."""

    def __init__(self, mean, scale, order, fit, filter, background):
        self.given = (mean, scale, order, fit, filter, background) != (None,) * 6
        order = _number(order or "rgb", _ORDERS, "order")
        grey = _ORDERS[order] == "gray"
        background = 0xffffff if background is None else background
        if not 0 <= background <= 0xffffff:
            raise ValueError("background is a colour, 0xRRGGBB")
        self.how = (order, _number(fit or "stretch", _FITS, "fit"),
                    _number(filter or "linear", _FILTERS, "filter"), background,
                    _three(0 if mean is None else mean, grey),
                    _three(1 if scale is None else scale, grey))

    def read(self, path, shape):
        """The floats of an input of this shape."""
        if len(shape) != 4:
            raise ValueError(f"{path}: the model's input is not a picture")
        return _compiler().picture(path, shape[1:], self.how)


# ---- values ----

_NPY_TYPES = {"f4": "f", "f8": "d", "i1": "b", "u1": "B", "i4": "i", "i8": "q", "b1": "?"}


def _view(values):
    """A view of an array, as floats or what becomes floats."""
    view = memoryview(_core.buffer(values))
    format = view.format.lstrip("@=<")
    if len(format) != 1 or format not in "fdbBhHiIlLqQ?":
        raise TypeError(f"images of format {view.format!r} are no numbers to calibrate with")
    return view, format


def _floats(data, format):
    """Bytes of floats of bytes of another format."""
    if format == "f":
        return bytes(data)
    return array.array("f", memoryview(data).cast("B").cast(format)).tobytes()


def _read_npy(path):
    """(values, format, shape) of an array in a file of numpy's, in C order."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        if data[:6] != b"\x93NUMPY" or data[6] not in (1, 2, 3):
            raise ValueError
        size, at = (struct.unpack_from("<H", data, 8)[0], 10) if data[6] == 1 else \
            (struct.unpack_from("<I", data, 8)[0], 12)
        head = ast.literal_eval(data[at:at + size].decode("latin1"))
        shape, format = tuple(head["shape"]), _NPY_TYPES[head["descr"].lstrip("<|=")]
        count = struct.calcsize(format)
        for n in shape:
            count *= n
        values = memoryview(data)[at + size:]
        if head["fortran_order"] or len(values) != count or not shape:
            raise ValueError
    except (ValueError, KeyError, TypeError, SyntaxError, AttributeError, IndexError, struct.error,
            MemoryError, RecursionError):
        raise ValueError(f"{os.fspath(path)}: no array of numbers of numpy's, in C order") from None
    return values, format, shape


# ---- images of one input ----

class _Images:
    """Images to calibrate with: values(i) has the bytes of image i, as floats."""

    def __init__(self):
        self.shapes: List[Shape] = []
        self._read: List[Callable[[], bytes]] = []
        self._bytes: Dict[int, bytes] = {}
        self.names: List[str] = []

    def add(self, shape, read, name):
        self.shapes.append(tuple(shape))
        self._read.append(read)
        self.names.append(name)

    def __len__(self):
        return len(self.shapes)

    def values(self, i):
        """The compiler reads an image several times."""
        if i not in self._bytes:
            self._bytes[i] = self._read[i]()
        return self._bytes[i]

    def add_array(self, view, format, shape, most, name):
        """An array whose first dimension counts the images."""
        if not shape or not shape[0]:
            raise ValueError(f"{name}: its first dimension does not count images")
        data = view.tobytes() if shape != (0,) else b""
        size = len(data) // shape[0]
        for i in range(min(shape[0], most - len(self))):
            self.add(shape[1:], lambda i=i: _floats(data[i * size:(i + 1) * size], format), name)

    def add_one(self, values, name):
        view, format = _view(values)
        data = view.tobytes()
        self.add(view.shape, lambda: _floats(data, format), name)

    def add_path(self, path, shape, pictures, most):
        """A directory of pictures, or of .npy files; or one .npy file."""
        if not os.path.isdir(path):
            values, format, dims = _read_npy(path)
            self.add_array(values, format, dims, most, os.fspath(path))
            return
        entries = sorted(entry.path for entry in os.scandir(path))
        found = [entry for entry in entries if entry.lower().endswith((".png", ".jpg", ".jpeg"))]
        for entry in found[:most]:
            self.add(shape[1:], lambda entry=entry: pictures.read(entry, shape), entry)
        for entry in [] if found else [entry for entry in entries if entry.endswith(".npy")]:
            values, format, dims = _read_npy(entry)
            self.add_array(values, format, dims, most, entry)
        if not len(self):
            raise ValueError(f"{os.fspath(path)}: no pictures (PNG, JPEG) and no .npy files in it")


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


def _has_buffer(value):
    if hasattr(value, "__dlpack__"):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _images_of(value, name, shape, pictures, most):
    """The images of one input: a path, an array, or an iterable of arrays."""
    images = _Images()
    if _is_path(value):
        images.add_path(value, shape, pictures, most)
    elif _has_buffer(value):
        view, format = _view(value)
        images.add_array(view, format, view.shape, most, f"calibrate for {name}")
    elif isinstance(value, Iterable):
        for image in itertools.islice(value, most):
            images.add_one(image, f"calibrate for {name}")
    else:
        raise TypeError("calibrate is an array, an iterable of arrays, a directory, or a dict of "
                        f"these by input, not {type(value).__name__}")
    return images


def _images_by_input(calibrate, inputs, pictures, most):
    """A dict of _Images by the names of inputs."""
    names = [name for name, _ in inputs]
    shapes = dict(inputs)
    if isinstance(calibrate, dict):
        by_name = calibrate
    elif len(names) == 1:
        by_name = {names[0]: calibrate}
    elif _is_path(calibrate) or _has_buffer(calibrate):
        raise ValueError(f"calibrate is a dict by input: the model has {', '.join(names)}")
    else:
        rows = list(itertools.islice(calibrate, most))
        for row in rows:
            if not isinstance(row, (dict, tuple)) or len(row) != len(names):
                raise ValueError("an image is a tuple, or a dict, with a value for each input: "
                                 f"the model has {', '.join(names)}")
        by_name = {name: [row[name] if isinstance(row, dict) and name in row else
                          row[i] if isinstance(row, tuple) else _missing(name)
                          for row in rows] for i, name in enumerate(names)}
    for name in by_name:
        if name not in shapes:
            raise ValueError(f"the model has no input {name!r}: it has {', '.join(names)}")
    for name in names:
        if name not in by_name:
            _missing(name)
    images = {name: _images_of(by_name[name], name, shapes[name], pictures, most)
              for name in names}
    counts = {name: len(one) for name, one in images.items()}
    if len(set(counts.values())) > 1:
        raise ValueError("inputs have different numbers of images: " +
                         ", ".join(f"{name} {count}" for name, count in counts.items()))
    if not next(iter(counts.values()), 1):
        raise ValueError("calibrate has no images")
    return images


def _missing(name):
    raise ValueError(f"calibrate has no images for input {name!r}")


def _sizes(shape):
    return [n for n in shape if n != 1]


def _same(image, shape):
    """Sizes of 1 do not count; the model leaves those of -1 open."""
    a, b = _sizes(image), _sizes(shape)
    return len(a) == len(b) and all(n in (m, -1) or m == -1 for m, n in zip(a, b))


def _check_shapes(images, inputs):
    """An image is the tensor, or one of the images that the model takes at once."""
    for name, shape in inputs:
        one = images[name]
        for image, place in zip(one.shapes, one.names):
            if not _same(image, shape) and not _same(image, shape[1:]):
                raise ValueError(f"{place}: an image has the shape {image}; input {name} takes "
                                 f"{shape}")


# ---- compile ----

def _shapes_of(shapes, inputs):
    """A tuple of (name, sizes), and the inputs with them: those of the first variant."""
    if isinstance(shapes, list) and shapes and not isinstance(shapes[0], int):
        variants = [_shapes_of(one, inputs) for one in shapes]
        return tuple(pair for given, _ in variants for pair in given), variants[0][1]
    if shapes is None:
        by_name = {}
    elif isinstance(shapes, dict):
        by_name = {name: tuple(sizes) for name, sizes in shapes.items()}
    elif len(inputs) == 1:
        by_name = {inputs[0][0]: tuple(shapes)}
    else:
        raise ValueError("shapes is a dict by input: the model has " +
                         ", ".join(name for name, _ in inputs))
    # An open number of images is 1, as the compiler has it.
    completed = [(name, by_name.get(name, tuple(1 if n < 0 and not i else n
                                                for i, n in enumerate(shape))))
                 for name, shape in inputs]
    return tuple(by_name.items()), completed


_BITS = {8: 8, 16: 16, "8": 8, "16": 16, "auto": 0}


def _bits_by_node(precision):
    """A tuple of (node or None, bits), 0 for auto."""
    by_node = precision if isinstance(precision, dict) else {None: precision}
    for node, bits in by_node.items():
        if bits not in _BITS or (node is not None and bits == "auto"):
            raise ValueError(f"a precision is 8, 16 or \"auto\"; of a node, 8 or 16: {bits!r}")
    return tuple((node, _BITS[bits]) for node, bits in by_node.items())


def _read_model(model):
    """(bytes, directory of its other files, name)"""
    if _is_path(model):
        path = os.fspath(model)
        with open(path, "rb") as file:
            data = file.read()
        name = os.path.basename(path)
        return data, os.path.dirname(path) or ".", name[:-5] if name.endswith(".onnx") else name
    if hasattr(model, "SerializeToString"):     # onnx.ModelProto
        return model.SerializeToString(), None, None
    return model, None, None


def compile(model: Any, core: bytes, calibrate: Any = None, *, name: Optional[str] = None,
            images: int = 64, shapes: Shapes = None,
            labels: Optional[Iterable[str]] = None, cpu: Iterable[str] = (), no_card: bool = False,
            no_prune: bool = False, mean: Union[float, Sequence[float], None] = None,
            scale: Union[float, Sequence[float], None] = None, order: Optional[str] = None,
            fit: Optional[str] = None, filter: Optional[str] = None,
            background: Optional[int] = None, progress: Optional[Progress] = None,
            threads: int = 0, precision: Precision = 8, extra_cycles: int = 25) -> bytes:
    """The bytes of a program image (.vtap): see vtadev.compile()."""
    if images < 1:
        raise ValueError("images is 1 or more")
    if not 0 <= threads <= 64:
        raise ValueError("threads is 0 to 64")
    if not 1 <= extra_cycles <= 1000:
        raise ValueError("extra_cycles is 1 to 1000 percent")
    bits = _bits_by_node(precision)
    pictures = Pictures(mean, scale, order, fit, filter, background)
    data, directory, own_name = _read_model(model)
    net = _compiler().Net(data, directory)
    given, inputs = _shapes_of(shapes, net.inputs())
    read: Dict[str, _Images] = {}
    if calibrate is not None:
        if len(given) > len(dict(given)):
            raise ValueError("calibrate has images for one shape: vtac compile calibrates several, "
                             "with a directory of pictures")
        read = _images_by_input(calibrate, inputs, pictures, images)
        _check_shapes(read, inputs)

    def values(i, input, count):
        one = read[input].values(i)
        # An image of a batch is repeated.
        return one * (count * 4 // len(one)) if 0 < len(one) < count * 4 else one

    def warn(text):
        warnings.warn(text[0].upper() + text[1:] + " Give typical inputs by calibrate.",
                      RuntimeWarning, stacklevel=4)

    text = None if labels is None else "".join(f"{label}\n" for label in labels)
    return net.compile(core, name if name is not None else own_name, no_card, no_prune, tuple(cpu),
                       given, text, pictures.how if pictures.given else None,
                       len(next(iter(read.values()))) if read else 0, values, progress, threads,
                       bits, extra_cycles, warn)
