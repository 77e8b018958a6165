#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the networks of networks.py as ONNX, and run them by ONNX Runtime; in the zoo's root.

    export.py DIRECTORY LIST [NAME...]

Each network is in DIRECTORY/NAME-KEY, made whole or not at all:
    model.onnx      with seeded random weights, opset 18
    in.I.npy        of each input: five samples, the last of which is that of the outputs
    out.I.npy       of each output, by ONNX Runtime without its optimiser
    error           instead: the reason why it cannot be exported
The key is of the recipe in networks.py and of the functions here that export it. LIST becomes a
file with a line "NAME KEY GROUP" for each network, or for those named.
"""
import hashlib
import importlib
import inspect
import os
import pathlib
import re
import shutil
import sys
import warnings

import networks

SAMPLES = 5
BATCH = 16  # to settle with


def key_of(recipe):
    # Without decorators, which list all networks of a function
    sources = [inspect.getsource(f) for f in (settle, export, recipe.function)]
    text = "".join(source[re.search("^def ", source, re.M).start():] for source in sources)
    text += repr((SAMPLES, BATCH, recipe.arguments))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def settle(torch, model, inputs):
    """Give batch norms the statistics of a batch, so that values stay in range.

    With biases of 1 most values pass activations. Otherwise each random layer would amplify
    differences, and a deep network the rounding of floats beyond measure.
    """
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = None
        norm.bias.data.fill_(1)
        norm.train()
    if norms:
        with torch.no_grad():
            model(*(torch.cat([make() for _ in range(BATCH)]) for make in inputs.values()))
    model.eval()


def export(recipe, path):
    import numpy
    import onnx
    import onnxruntime
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, inputs, *after = recipe.function(*recipe.arguments)
    model = model.eval()
    settle(torch, model, inputs)
    torch.manual_seed(2)
    samples = [tuple(make() for make in inputs.values()) for _ in range(SAMPLES)]
    with torch.no_grad():
        torch.onnx.export(model, samples[-1], path / "model.onnx", opset_version=18,
                          input_names=list(inputs), dynamo=False)
    onnx.checker.check_model(path / "model.onnx")
    for change in after:
        change(path / "model.onnx", [
            {name: value.numpy() for name, value in zip(inputs, s)} for s in samples[:-1]])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path / "model.onnx", options,
                                           providers=["CPUExecutionProvider"])
    given = [i.name for i in session.get_inputs()]
    for i, name in enumerate(given):
        place = list(inputs).index(name)
        numpy.save(path / f"in.{i}.npy", numpy.stack([s[place].numpy() for s in samples]))
    last = {name: value.numpy() for name, value in zip(inputs, samples[-1]) if name in given}
    for i, value in enumerate(session.run(None, last)):
        if value.dtype == bool:
            value = value.astype(numpy.uint8)
        numpy.save(path / f"out.{i}.npy", numpy.ascontiguousarray(value))


def in_child(function, recipe, part):
    """Run the function in a process of its own, as PyTorch may end it; keep its error."""
    child = os.fork()
    if child == 0:
        try:
            function(recipe, part)
        except Exception as error:  # of any kind: each network for itself
            (part / "error").write_text(repr(error)[:2000])
        sys.stdout.flush()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        (part / "error").write_text(f"the process ended with {status}")


def main():
    # Before the children, which have them then. With PyTorch's library first, ONNX's crashes.
    for name in ("onnx", "onnxruntime", "torch", "torchvision", "transformers.modeling_utils"):
        importlib.import_module(name)
    torch = sys.modules["torch"]
    # No operators that are for PyTorch alone.
    torch.backends.mha.set_fastpath_enabled(False)
    directory = pathlib.Path(sys.argv[1])
    wanted = sys.argv[3:]
    lines = []
    warnings.filterwarnings("ignore")
    for recipe in networks.recipes():
        if wanted and recipe.name not in wanted:
            continue
        path = directory / f"{recipe.name}-{key_of(recipe)}"
        if not path.exists():
            print(f"exporting {recipe.name}", file=sys.stderr, flush=True)
            part = directory / f"{recipe.name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            in_child(export, recipe, part)
            for old in directory.glob(f"{recipe.name}-" + "[0-9a-f]" * 12):
                shutil.rmtree(old)
            os.rename(part, path)
        lines.append(f"{recipe.name} {key_of(recipe)} {recipe.group}\n")
    pathlib.Path(sys.argv[2]).write_text("".join(lines), encoding="utf-8")


main()
