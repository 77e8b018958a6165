#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Models of operators as files of another opset have them.

    opsets.py DATA LIST OPSET OUT

Of the tests of libonnx-testdata in DATA that LIST names, those whose operators have the same
inputs, outputs, attributes and defaults in OPSET (by the definitions of python3-onnx: most
opsets add types alone) become tests of it in OUT, and OUT/list names them. Prints how many.

python3-onnx may know fewer opsets. newer() has the changes of later ones to the operators in
LIST. Their other additions have defaults with the old meaning.
"""
import os
import sys

import onnx
from onnx import defs, helper


# The latest opset whose definitions python3-onnx has.
KNOWN = defs.onnx_opset_version()


def newer(node, graph, opset):
    """Change @node to what it is in @opset: 18 is the last that changed what is there."""
    if opset < 18:
        return
    names = [a.name for a in node.attribute]
    if node.op_type == "Split" and len(node.input) == 1:
        node.attribute.append(helper.make_attribute("num_outputs", len(node.output)))
    if node.op_type.startswith("Reduce") and "axes" in names:
        axes = node.attribute.pop(names.index("axes"))
        name = f"axes of {node.output[0]}"
        graph.initializer.append(helper.make_tensor(
            name, onnx.TensorProto.INT64, [len(axes.ints)], axes.ints))
        node.input.append(name)


def form(node, opset):
    """Inputs, outputs and attributes with their defaults; None: there is no such operator."""
    try:
        schema = defs.get_schema(node.op_type, opset, node.domain)
    except defs.SchemaError:
        return None
    return ([(v.name, v.option) for v in schema.inputs],
            [(v.name, v.option) for v in schema.outputs],
            {name: (a.type, a.required, a.default_value.SerializeToString())
             for name, a in schema.attributes.items()})


def same(model, opset):
    own = model.opset_import[0].version
    opset = min(opset, 17, KNOWN) if own < 18 else opset
    return len(model.opset_import) == 1 and not model.opset_import[0].domain and all(
        form(node, own) and form(node, own) == form(node, opset) for node in model.graph.node)


def main():
    data, names, opset, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    made = []
    with open(names, encoding="utf-8") as lines:
        tests = [line.strip() for line in lines if line[0] not in "#!\n"]
    # Releases of the data have other tests.
    tests = [test for test in tests if os.path.isdir(os.path.join(data, test))]
    for test in tests:
        model = onnx.load(os.path.join(data, test, "model.onnx"))
        if not same(model, opset):
            continue
        if model.opset_import[0].version < 18:
            for node in model.graph.node:
                newer(node, model.graph, opset)
        model.opset_import[0].version = opset
        os.makedirs(os.path.join(out, test))
        onnx.save(model, os.path.join(out, test, "model.onnx"))
        os.symlink(os.path.join(data, test, "test_data_set_0"),
                   os.path.join(out, test, "test_data_set_0"))
        made.append(test)
    with open(os.path.join(out, "list"), "w", encoding="utf-8") as lines:
        lines.write("".join(test + "\n" for test in made))
    print(len(made))


main()
