# SPDX-License-Identifier: Apache-2.0
"""PyTorch on cards: torch.compile(model, backend="vta"), and compile(module, example).

    import torch
    import vtadev.torch

    fast = torch.compile(model.eval(), backend="vta", options={"calibrate": 16})
    compiled = vtadev.torch.compile(model.eval(), example, calibrate=images)

Modules are exported to ONNX, and compiled by vtadev.compile(). docs/python.md is the manual.
"""

from __future__ import annotations

import contextlib
import copy
import io
import threading
import warnings
from typing import Any, Callable, Iterable, List, Optional, Tuple, Union

try:
    import torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("vtadev.torch needs PyTorch, Debian's python3-torch: there is no module "
                              f"{error.name!r}", name=error.name) from None

from . import CompileError, Device, Program
from . import compile as _compile_model

__all__ = ["Compiled", "backend", "compile"]

CALIBRATE = 8       # calls that backend "vta" computes in PyTorch and calibrates with
OPSET = 17


class Refused(CompileError):
    """A module that PyTorch cannot export, or that has no meaning on a card."""


def _training_nodes(module):
    """The first part of a module that is in training mode and then computes something else."""
    kinds = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
    return next((name for name, part in module.named_modules()
                 if part.training and isinstance(part, kinds)), None)


@contextlib.contextmanager
def _no_fused_attention():
    """Modules compute attention by operators that PyTorch exports: 2.6 has others for evaluation."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _export(module, inputs):
    """The bytes of an ONNX model, and the names of its inputs."""
    names = [f"input_{i}" for i in range(len(inputs))]
    file = io.BytesIO()
    try:
        # The exporter warns of its own age.
        with torch.no_grad(), _no_fused_attention(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, tuple(inputs), file, opset_version=OPSET, input_names=names,
                              dynamo=False)
    except Exception as error:      # the exporter raises of all kinds
        first = str(error).strip().partition("\n")[0]
        raise Refused(f"PyTorch cannot export the module to ONNX: {first}") from error
    return file.getvalue(), names


def _plain(value):
    """A tensor as Program() takes it: in host memory, without a gradient, without gaps."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"an input is a tensor, not {type(value).__name__}")
    return value.detach().cpu().contiguous()


def _tensors(result):
    results = result if isinstance(result, tuple) else (result,)
    return [torch.from_dlpack(values) for values in results]


def _image(inputs, names):
    """One image to calibrate with: of one input, or by input."""
    plain = [_plain(value) for value in inputs]
    return plain[0] if len(plain) == 1 else dict(zip(names, plain))


def _load(module, example, images, device, options):
    model, names = _export(module, example)
    calibrate = [tuple(_image(i, names).values()) if len(names) > 1 else _image(i, names)
                 for i in images]
    return _compile_model(model, calibrate, device, **options)


class Compiled(torch.nn.Module):
    """A module that runs on a card; program is its vtadev.Program. Inputs have the example's shapes;
    outputs have no gradient."""

    def __init__(self, program: Program, single: bool) -> None:
        super().__init__()
        self.program = program
        self._single = single
        self.training = False

    def train(self, mode: bool = True) -> Compiled:
        if mode:
            raise Refused("a compiled module has constant weights, so it cannot be trained; train the "
                          "module that it was made of")
        return super().train(mode)

    def forward(self, *inputs: torch.Tensor) -> Any:
        results = _tensors(self.program(*(_plain(value) for value in inputs)))
        return results[0] if self._single else tuple(results)


def compile(module: torch.nn.Module, example: Union[torch.Tensor, Tuple[torch.Tensor, ...]],
            calibrate: Optional[Iterable[Any]] = None, device: Union[Device, str, None] = None,
            **options: Any) -> Compiled:
    """Compile a module in evaluation mode for a card.

    example is an input, or a tuple of them, of the shapes that there will be. calibrate is an iterable
    of such inputs, or of tuples of them, to find ranges of values with: without it, the example alone
    is taken. device and options are those of vtadev.compile(). CompileError says what is not taken.
    """
    part = _training_nodes(module)
    if part is not None:
        raise Refused(f"{part or type(module).__name__} is in training mode: call eval() first, as a card "
                      "computes with constant weights")
    example = example if isinstance(example, tuple) else (example,)
    images = [i if isinstance(i, tuple) else (i,) for i in calibrate] if calibrate is not None \
        else [example]
    with torch.no_grad():
        single = isinstance(module(*example), torch.Tensor)
    return Compiled(_load(module, example, images, device, options), single)


# ---- torch.compile() ----

_F = torch.nn.functional


def _attention(query, key, value, size, heads, in_weight, in_bias, out_weight, out_bias, mask=None,
               need_weights=True, average=True, mask_type=None):
    """torch._native_multi_head_attention() by operators that can be exported. mask_type is 0 for a
    mask of queries and keys, 1 for one of keys by image, 2 for one of both, by image and head."""
    of_pairs = mask if mask_type == 0 else mask.flatten(0, 1) if mask_type == 2 else None
    y, weights = _F.multi_head_attention_forward(
        *(x.transpose(0, 1) for x in (query, key, value)), size, heads, in_weight, in_bias, None, None,
        False, 0.0, out_weight, out_bias, training=False, need_weights=need_weights,
        key_padding_mask=mask if mask_type == 1 else None, attn_mask=of_pairs,
        average_attn_weights=average)
    return y.transpose(0, 1), weights


def _encoder_layer(x, size, heads, in_weight, in_bias, out_weight, out_bias, gelu, norm_first, eps,
                   norm1_weight, norm1_bias, norm2_weight, norm2_bias, weight1, bias1, weight2, bias2,
                   mask=None, mask_type=None):
    """torch._transformer_encoder_layer_fwd() likewise."""
    def attend(y):
        return _attention(y, y, y, size, heads, in_weight, in_bias, out_weight, out_bias, mask, False,
                          True, mask_type)[0]

    def feed(y):
        y = _F.linear(y, weight1, bias1)
        return _F.linear(_F.gelu(y) if gelu else _F.relu(y), weight2, bias2)

    def norm1(y):
        return _F.layer_norm(y, (size,), norm1_weight, norm1_bias, eps)

    def norm2(y):
        return _F.layer_norm(y, (size,), norm2_weight, norm2_bias, eps)

    if norm_first:
        x = x + attend(norm1(x))
        return x + feed(norm2(x))
    x = norm1(x + attend(x))
    return norm2(x + feed(x))


# Operators that PyTorch 2.6 puts into graphs, and cannot export.
_FUSED = {torch._native_multi_head_attention: _attention,
          torch._transformer_encoder_layer_fwd: _encoder_layer}


def _without_fused(graph):
    """A graph module with the same weights, whose operators can be exported."""
    plain = copy.copy(graph.graph)
    for node in plain.nodes:
        if node.op == "call_function":
            node.target = _FUSED.get(node.target, node.target)
    return torch.fx.GraphModule(graph, plain)


class _Bound(torch.nn.Module):
    """A graph of which weights and buffers, which dynamo passes as inputs, are constant."""

    def __init__(self, graph, constants, count):
        super().__init__()
        self.graph, self.constants, self.count = graph, constants, count

    def forward(self, *inputs):
        given = iter(inputs)
        return self.graph(*(self.constants[i] if i in self.constants else next(given)
                            for i in range(self.count)))


def _is_static(node, value):
    return isinstance(value, torch.nn.Parameter) or \
        "_dynamo_static_input_type" in (node.meta.get("tensor_dict") or {})


def _trains(node):
    """True if a call of a graph computes as in training: of a dropout, or batch norm."""
    name = getattr(node.target, "__name__", "")
    if node.op != "call_function" or not ("dropout" in name or name == "batch_norm"):
        return False
    place = {"batch_norm": 5}.get(name, 2)
    training = node.kwargs.get("training", node.args[place] if len(node.args) > place else False)
    return training is True and node.kwargs.get("p", 1) != 0


class _Graph:
    """A graph of dynamo's: its first calls are computed by PyTorch and calibrate, then it is compiled;
    one that is not taken stays in PyTorch."""

    def __init__(self, graph, examples, options):
        options = dict(options or {})
        self.graph = graph
        self.wanted = options.pop("calibrate", CALIBRATE)
        if not isinstance(self.wanted, int) or self.wanted < 1:
            raise ValueError("options: calibrate is a number of calls, at least 1")
        self.device = options.pop("device", None)
        self.options = options
        places = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.dynamic = [i for i, (node, value) in enumerate(zip(places, examples))
                        if not _is_static(node, value)]
        self.seen: List[Any] = []
        self.program: Optional[Program] = None
        self.why = self._refusal(examples)
        self.lock = threading.Lock()
        if self.why:
            self._warn()

    def _refusal(self, examples):
        if any(_trains(node) for node in self.graph.graph.nodes):
            return "the model is in training mode; call eval() first"
        if not self.dynamic or not all(isinstance(examples[i], torch.Tensor) for i in self.dynamic):
            return "sizes are not constant (pass dynamic=False), or nothing is computed of an input"
        return None

    def _warn(self):
        warnings.warn(f"vta: a part of the model stays in PyTorch: {self.why}", stacklevel=2)

    def __call__(self, *values):
        inputs = [values[i] for i in self.dynamic]
        if self.program is None and self.why is None:
            with self.lock:
                if self.program is None and self.why is None:
                    self._see(values, inputs)
        trains = torch.is_grad_enabled() and any(
            isinstance(v, torch.Tensor) and v.requires_grad for v in inputs)
        if self.program is None or trains:
            return self.graph(*values)
        return _tensors(self.program(*(_plain(value) for value in inputs)))

    def _see(self, values, inputs):
        """Keep a call's inputs; when there are enough, compile."""
        self.seen.append(tuple(value.detach().clone() for value in inputs))
        if len(self.seen) < self.wanted:
            return
        constants = {i: value.detach() if isinstance(value, torch.Tensor) else value
                     for i, value in enumerate(values) if i not in self.dynamic}
        bound = _Bound(_without_fused(self.graph), constants, len(values)).eval()
        try:
            self.program = _load(bound, self.seen[-1], self.seen, self.device, self.options)
        except CompileError as error:
            self.why = str(error)
            self._warn()
        self.seen = []


def backend(graph: Any, examples: List[Any], options: Any = None, **_: Any) -> Callable[..., Any]:
    """The backend "vta" of torch.compile(). options: calibrate (the first calls to calibrate with, 8),
    device, and those of vtadev.compile()."""
    return _Graph(graph, examples, options)


torch._dynamo.register_backend(backend, name="vta")
