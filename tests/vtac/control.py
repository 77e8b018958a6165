#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""If, Loop and Scan: programs against numpy, and sub-graphs that are wrong.

    control.py VTAC VTACTL
    control.py -w DIRECTORY     write the models: a fuzzer starts from them

Each program runs on the device soft with several inputs, which decide conditions and counts.
Prints TAP.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"TAP version 13\nok 1 control # SKIP {error}\n1..1")
    sys.exit(0)

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
KINDS = {np.dtype("f4"): FLOAT, np.dtype("i8"): INT64, np.dtype("?"): BOOL}


def constant(name, values, kind=None):
    return numpy_helper.from_array(np.asarray(values, kind), name)


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, outputs, inputs=(), constants=()):
    """A sub-graph. Inputs are names with types."""
    return helper.make_graph(nodes, "sub", [value(*i) for i in inputs],
                             [value(name) for name in outputs], list(constants))


def model(nodes, inputs, outputs, constants=(), opset=16):
    """Inputs are arrays by name, outputs names."""
    made = helper.make_graph(
        nodes, "control", [value(name, KINDS[a.dtype], a.shape) for name, a in inputs.items()],
        [value(name) for name in outputs], list(constants))
    made = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def floats(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")


CASES = []


def case(function):
    CASES.append(function)
    return function


# Each returns a model, and pairs of its inputs with what it computes of them.

@case
def condition_on_a_shape_chooses_a_branch():
    then = graph([node("Mul", ["x", "x"], ["r"])], ["r"])
    other = graph([node("NotAnOperator", ["x"], ["r"])], ["r"])
    other.node[0].op_type = "Neg"
    x = floats(2, 3)
    return model([node("Size", ["x"], ["n"]), node("Greater", ["n", "five"], ["c"]),
                  node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                 {"x": x}, ["y"], [constant("five", 5)]), [({"x": x}, {"y": x * x})]


@case
def condition_of_data_selects():
    then = graph([node("Mul", ["x", "two"], ["r"])], ["r", "x"], constants=[
        constant("two", 2, "f4")])
    other = graph([node("Neg", ["x"], ["r"]), node("Add", ["r", "r"], ["s"])], ["r", "s"])
    x = floats(4)
    return model([node("ReduceMax", ["x"], ["most"], keepdims=1),
                  node("Greater", ["most", "zero"], ["c"]),
                  node("If", ["c"], ["y", "z"], then_branch=then, else_branch=other)],
                 {"x": x}, ["y", "z"], [constant("zero", [0], "f4")]), [
        ({"x": v}, {"y": 2 * v if v.max() > 0 else -v, "z": v if v.max() > 0 else -2 * v})
        for v in (np.abs(x), -np.abs(x))]


@case
def branches_of_different_lengths():
    then = graph([node("Concat", ["x", "x"], ["r"], axis=0)], ["r"])
    other = graph([node("Identity", ["none"], ["r"])], ["r"], constants=[
        constant("none", np.zeros((0, 2)), "f4")])
    x = floats(3, 2)
    return model([node("If", ["c"], ["y"], then_branch=then, else_branch=other),
                  node("ReduceSum", ["y", "axis"], ["sum"], keepdims=0)],
                 {"x": x, "c": np.array(True)}, ["y", "sum"], [constant("axis", [0])]), [
        ({"x": x, "c": np.array(c)}, {"y": y, "sum": y.sum(0)})
        for c, y in ((True, np.concatenate([x, x])), (False, x[:0]))]


@case
def nested_branches_capture_through_each_other():
    inner = [graph([node("Add", ["x", "k"], ["r"])], ["r"]),
             graph([node("Sub", ["x", "k"], ["r"])], ["r"])]
    outer = graph([node("Mul", ["w", "w"], ["k"]),
                   node("If", ["b"], ["r"], then_branch=inner[0], else_branch=inner[1])], ["r"])
    x, w = floats(3), floats(3) + 1
    return model([node("If", ["a"], ["y"], then_branch=outer,
                       else_branch=graph([node("Identity", ["w"], ["k"])], ["k"]))],
                 {"x": x, "w": w, "a": np.array(True), "b": np.array(True)}, ["y"]), [
        ({"x": x, "w": w, "a": np.array(a), "b": np.array(b)},
         {"y": w if not a else x + w * w if b else x - w * w})
        for a, b in ((True, True), (True, False), (False, True))]


@case
def names_of_a_sub_graph_are_its_own():
    # x in the branches is another x than the model's, and k another k afterwards.
    then = graph([node("Add", ["y", "y"], ["x"]), node("Neg", ["x"], ["k"])], ["k"])
    other = graph([node("Sub", ["y", "y"], ["x"]), node("Exp", ["x"], ["k"])], ["k"])
    x, y = floats(2), floats(2) + 1
    return model([node("Neg", ["x0"], ["x"]), node("Neg", ["y0"], ["y"]),
                  node("If", ["c"], ["r"], then_branch=then, else_branch=other),
                  node("Add", ["r", "x"], ["k"])],
                 {"x0": x, "y0": y, "c": np.array(True)}, ["k"]), [
        ({"x0": x, "y0": y, "c": np.array(c)}, {"k": (2 * y if c else np.ones(2, "f4")) - x})
        for c in (True, False)]


BODY_INPUTS = [("i", INT64), ("go", BOOL), ("a", FLOAT)]


@case
def loop_of_a_known_count():
    body = graph([node("Identity", ["go"], ["on"]), node("Mul", ["a", "x"], ["b"]),
                  node("Gather", ["table", "i"], ["t"]), node("Add", ["b", "t"], ["c"])],
                 ["on", "b", "c"], BODY_INPUTS)
    x, table = floats(2), np.arange(8, dtype="f4")
    want, entries = np.ones(2, "f4"), []
    for i in range(5):
        want = want * x
        entries.append(want + table[i])
    return model([node("Loop", ["n", "", "one"], ["y", "l"], body=body)], {"x": x}, ["y", "l"],
                 [constant("n", 5), constant("one", [1, 1], "f4"), constant("table", table)]), [
        ({"x": x}, {"y": want, "l": np.stack(entries)})]


@case
def loop_that_never_runs():
    body = graph([node("Add", ["a", "x"], ["b"])], ["go", "b", "b"], BODY_INPUTS)
    x = floats(2, 3)
    return model([node("Loop", ["n", "yes", "x"], ["y", "l"], body=body),
                  node("Concat", ["l", "some"], ["z"], axis=0)], {"x": x}, ["y", "z"],
                 [constant("n", 0), constant("yes", True), constant("some", x[None])]), [
        ({"x": x}, {"y": x, "z": x[None]})]


@case
def loop_whose_values_grow():
    body = graph([node("Concat", ["a", "x"], ["b"], axis=0)], ["go", "b"], BODY_INPUTS)
    x = floats(2, 3)
    return model([node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": x}, ["y"],
                 [constant("n", 3)]), [({"x": x}, {"y": np.concatenate([x] * 4)})]


@case
def loop_that_data_ends():
    body = graph([node("Add", ["a", "x"], ["b"]), node("Less", ["b", "most"], ["on"])],
                 ["on", "b", "a"], BODY_INPUTS)

    def want(x):
        a, entries = np.float32(0), []
        for _ in range(7):
            entries.append(a)
            a = a + x
            if a >= 5:
                break
        return {"y": a, "l": np.array(entries, "f4")}

    return model([node("Loop", ["n", "", "zero"], ["y", "l"], body=body)],
                 {"x": np.array(1, "f4")}, ["y", "l"],
                 [constant("n", 7), constant("zero", 0, "f4"), constant("most", 5, "f4")]), [
        ({"x": np.array(x, "f4")}, want(np.float32(x))) for x in (0.5, 1, 2.5, 9)]


@case
def loop_of_as_many_as_data_decides():
    # As often as values are positive; a condition that is false at first, too.
    body = graph([node("Add", ["a", "step"], ["b"]), node("Identity", ["go"], ["on"])],
                 ["on", "b", "b"], BODY_INPUTS)
    x = floats(5)
    pairs = []
    for v in (np.abs(x), -np.abs(x), np.float32([1, -1, 1, -1, 1])):
        for go in (True, False):
            n = int((v > 0).sum()) if go else 0
            pairs.append(({"x": v, "c": np.array(go)},
                          {"y": np.float32(n), "l": np.arange(1, n + 1, dtype="f4")}))
    return model([node("Greater", ["x", "zero"], ["p"]), node("NonZero", ["p"], ["at"]),
                  node("Shape", ["at"], ["s"]), node("Gather", ["s", "one"], ["n"]),
                  node("Loop", ["n", "c", "zero"], ["y", "l"], body=body)],
                 {"x": x, "c": np.array(True)}, ["y", "l"],
                 [constant("zero", 0, "f4"), constant("one", 1), constant("step", 1, "f4")]), pairs


@case
def loop_whose_list_data_lengthens():
    # The carried list gets an entry in each iteration that runs.
    body = graph([node("Unsqueeze", ["i", "axis"], ["e"]), node("Concat", ["a", "e"], ["b"], axis=0),
                  node("Gather", ["more", "i"], ["on"])], ["on", "b"],
                 [("i", INT64), ("go", BOOL), ("a", INT64)])
    return model([node("Loop", ["n", "", "none"], ["y"], body=body)],
                 {"more": np.ones(4, bool)}, ["y"],
                 [constant("n", 4), constant("none", np.zeros(0), "i8"), constant("axis", [0])]), [
        ({"more": np.array(more, bool)}, {"y": np.arange(n)})
        for more, n in (([1, 1, 1, 1], 4), ([1, 1, 0, 1], 3), ([0, 1, 1, 1], 1))]


@case
def loop_that_its_own_values_end():
    # Neither a count, nor data: 1, 2, 4, ... below 100
    body = graph([node("Add", ["a", "a"], ["b"]), node("Less", ["b", "most"], ["on"]),
                  node("Mul", ["x", "a"], ["e"])], ["on", "b", "e"], BODY_INPUTS)
    x = floats(2)
    return model([node("Loop", ["", "yes", "one"], ["y", "l"], body=body)], {"x": x}, ["l"],
                 [constant("yes", True), constant("one", 1, "f4"), constant("most", 100, "f4")]), [
        ({"x": x}, {"l": np.stack([x * 2 ** i for i in range(7)])})]


@case
def loop_in_a_loop_of_a_branch():
    inner = graph([node("Add", ["a", "x"], ["b"])], ["go", "b"], BODY_INPUTS)
    outer = graph([node("Loop", ["i", "", "a"], ["b"], body=inner)], ["go", "b"], BODY_INPUTS)
    then = graph([node("Loop", ["n", "", "x"], ["r"], body=outer)], ["r"])
    x = floats(3)
    return model([node("If", ["c"], ["y"], then_branch=then,
                       else_branch=graph([node("Neg", ["x"], ["r"])], ["r"]))],
                 {"x": x, "c": np.array(True)}, ["y"], [constant("n", 4)]), [
        ({"x": x, "c": np.array(c)}, {"y": 7 * x if c else -x}) for c in (True, False)]


@case
def scan_in_both_directions():
    body = graph([node("Add", ["a", "u"], ["b"]), node("Mul", ["b", "v"], ["e"])],
                 ["b", "e", "a"], [("a", FLOAT), ("u", FLOAT), ("v", FLOAT)])
    u, v = floats(4, 2), floats(2, 4)
    a, entries, before = np.zeros(2, "f4"), [], []
    for i in range(4):
        before.append(a)
        a = a + u[i]
        entries.append(a * v[:, 3 - i])
    return model([node("Scan", ["zero", "u", "v"], ["y", "e", "b"], body=body, num_scan_inputs=2,
                       scan_input_axes=[0, -1], scan_input_directions=[0, 1],
                       scan_output_axes=[1, 0], scan_output_directions=[0, 1])],
                 {"u": u, "v": v}, ["y", "e", "b"], [constant("zero", [0, 0], "f4")]), [
        ({"u": u, "v": v}, {"y": a, "e": np.stack(entries, 1), "b": np.stack(before[::-1])})]


def scan_of_a_batch(*lengths):
    """Of opset 8, with a capture."""
    body = graph([node("Add", ["a", "u"], ["b"]), node("Mul", ["b", "x"], ["c"]),
                  node("Sub", ["c", "v"], ["e"])],
                 ["b", "e"], [("a", FLOAT), ("u", FLOAT), ("v", FLOAT)])
    return node("Scan", [*lengths, "a0", "u", "v"], ["y", "l"], body=body, num_scan_inputs=2,
                directions=[0, 1])


@case
def scan_of_each_image_of_a_batch():
    inputs = {"x": floats(2), "a0": floats(3, 2), "u": floats(3, 4, 2), "v": 2 * floats(3, 4, 2)}
    totals = inputs["a0"][:, None] + np.cumsum(inputs["u"], 1)
    return model([scan_of_a_batch("")], inputs, ["y", "l"], opset=8), [
        (inputs, {"y": totals[:, -1], "l": totals * inputs["x"] - inputs["v"][:, ::-1]})]


@case
def scan_of_as_many_as_data_decides():
    body = graph([node("Add", ["a", "u"], ["b"])], ["b", "b"], [("a", FLOAT), ("u", FLOAT)])
    x = floats(6)
    pairs = []
    for x in (x, np.abs(x), -np.abs(x)):
        list_ = x[x > 0]
        pairs.append(({"x": x}, {"y": np.float32(list_.sum()), "l": np.cumsum(list_)}))
    return model([node("Greater", ["x", "zero"], ["p"]), node("Compress", ["x", "p"], ["u"], axis=0),
                  node("Scan", ["zero", "u"], ["y", "l"], body=body, num_scan_inputs=1)],
                 {"x": x}, ["y", "l"], [constant("zero", 0, "f4")]), pairs


# ---- sub-graphs that are wrong: a part of the error ----

def refused(nodes, constants=(), outputs=("y",)):
    x = floats(2)
    return model(nodes, {"x": x, "c": np.array(True), "n": np.array(1)}, list(outputs), constants)


def branch(*nodes, output="r"):
    return graph(list(nodes), [output])


def choose(then, other=None, **more):
    other = other or branch(node("Neg", ["x"], ["r"]))
    return node("If", ["c"], ["y"], then_branch=then, else_branch=other, **more)


def repeat(body, count="n", condition=""):
    return node("Loop", [count, condition, "x"], ["y"], body=body)


def nested(depth):
    inner = branch(node("Neg", ["x"], ["r"]))
    for _ in range(depth):
        inner = branch(node("If", ["c"], ["r"], then_branch=inner, else_branch=inner))
    return inner


ADD = node("Add", ["a", "x"], ["b"])
WRONG = {
    "branch_that_is_missing": ("It has no sub-graph else_branch.", lambda: refused(
        [node("If", ["c"], ["y"], then_branch=branch(node("Neg", ["x"], ["r"])))])),
    "branch_with_inputs": ("Its then_branch has 1 inputs and 1 outputs, for 0 and 1.", lambda: refused(
        [choose(graph([node("Neg", ["q"], ["r"])], ["r"], [("q", FLOAT)]))])),
    "branch_with_too_few_outputs": ("Its then_branch has 0 inputs and 0 outputs", lambda: refused(
        [choose(graph([node("Neg", ["x"], ["r"])], []))])),
    "output_that_nothing_computes": ("A sub-graph uses q, which nothing computes before it.",
                                     lambda: refused([choose(branch(output="q"))])),
    "value_that_comes_later": ("A sub-graph uses late, which nothing computes before it.",
                               lambda: refused([choose(branch(node("Neg", ["late"], ["r"]))),
                                                node("Neg", ["x"], ["late"])])),
    "values_in_a_circle": ("Nothing before it computes its input r.", lambda: refused(
        [choose(branch(node("Neg", ["r"], ["q"]), node("Neg", ["q"], ["r"])))])),
    "branch_that_uses_its_own_result": ("depends on its own output", lambda: refused(
        [choose(branch(node("Neg", ["y"], ["r"])))])),
    "two_values_of_a_name": ("Two values of its then_branch have the name r.", lambda: refused(
        [choose(branch(node("Neg", ["x"], ["r"]), node("Exp", ["x"], ["r"])))])),
    "node_that_is_not_supported": ("(Nonsense): The operator is not supported.", lambda: refused(
        [choose(branch(node("Nonsense", ["x"], ["r"])))])),
    "all_nodes_that_are_not_supported": ("2 nodes cannot be compiled", lambda: refused(
        [choose(branch(node("Nonsense", ["x"], ["r"])), branch(node("Folly", ["x"], ["r"])))])),
    "shapes_in_a_branch": ("(MatMul)", lambda: refused(
        [choose(branch(node("MatMul", ["x", "w"], ["r"])))], [constant("w", floats(3, 3))])),
    "branches_of_different_types": ("a result is i64 of 2 or f32 of 2", lambda: refused(
        [choose(branch(node("Cast", ["x"], ["r"], to=INT64)))])),
    "branches_of_different_shapes": ("a result is f32 of 1x2 or f32 of 2", lambda: refused(
        [choose(branch(node("Unsqueeze", ["x", "axis"], ["r"])))], [constant("axis", [0])])),
    "condition_that_is_no_truth_value": ("Its condition x is not one truth value.", lambda: refused(
        [node("If", ["x"], ["y"], then_branch=branch(node("Neg", ["x"], ["r"])),
              else_branch=branch(node("Neg", ["x"], ["r"])))])),
    "sub_graphs_too_deep": ("too deep", lambda: refused([choose(nested(12))])),
    "branches_that_multiply": ("Its sub-graph is repeated until the model has more than 65536",
                               lambda: refused([repeat(graph([
                                   node("Loop", ["many", "", "a"], ["b"], body=graph(
                                       [node("Add", ["q", "x"], ["r"])], ["g", "r"],
                                       [("j", INT64), ("g", BOOL), ("q", FLOAT)]))], ["go", "b"],
                                   BODY_INPUTS), "many")], [constant("many", 1 << 40)])),
    "empty_loop_without_end": ("Its sub-graph is repeated until the model has more than 65536",
                               lambda: refused([repeat(graph([], ["go", "a"], BODY_INPUTS), "")])),
    "count_that_nothing_bounds": ("Data decides how often it is repeated, and nothing says how",
                                  lambda: refused([repeat(graph([ADD], ["go", "b"], BODY_INPUTS))])),
    "condition_that_nothing_bounds": ("Data decides how often it is repeated", lambda: refused(
        [repeat(graph([ADD], ["go", "b"], BODY_INPUTS), "", "c")])),
    "count_that_is_no_integer": ("Its count x is not one int64.", lambda: refused(
        [repeat(graph([ADD], ["go", "b"], BODY_INPUTS), "x")])),
    "body_with_too_few_inputs": ("Its body has 2 inputs and 2 outputs, for 3 and 2.", lambda: refused(
        [repeat(graph([node("Neg", ["x"], ["b"])], ["go", "b"], BODY_INPUTS[:2]))])),
    "loop_with_too_few_outputs": ("It has 4 inputs and 1 outputs.", lambda: refused(
        [node("Loop", ["n", "", "x", "x"], ["y"], body=graph([ADD], ["go", "b"], BODY_INPUTS))])),
    "scan_without_lists": ("It has 1 inputs, 2 of them lists", lambda: refused(
        [node("Scan", ["x"], ["y"], num_scan_inputs=2,
              body=graph([node("Neg", ["a"], ["b"])], ["b"], [("a", FLOAT)]))])),
    "scan_of_sequences_of_several_lengths": (
        "Sequences of several lengths are not supported.", lambda: model(
            [scan_of_a_batch("n")], {"x": floats(2), "a0": floats(3, 2), "u": floats(3, 4, 2),
                                     "v": floats(3, 4, 2), "n": np.full(3, 4)}, ["y", "l"],
            opset=8)),
    "scan_of_batches_of_two_sizes": ("Its lists have 3 and 2 entries.", lambda: model(
        [scan_of_a_batch("")], {"x": floats(2), "a0": floats(3, 2), "u": floats(2, 4, 2),
                                "v": floats(3, 4, 2)}, ["y", "l"], opset=8)),
    "scan_of_an_axis_that_is_none": ("Its list x has no axis 1.", lambda: refused(
        [node("Scan", ["x"], ["y"], num_scan_inputs=1, scan_input_axes=[1],
              body=graph([node("Neg", ["a"], ["b"])], ["b"], [("a", FLOAT)]))])),
    "scan_of_lists_of_two_lengths": ("Its lists have 2 and 3 entries.", lambda: refused(
        [node("Scan", ["x", "w"], ["y"], num_scan_inputs=2,
              body=graph([node("Add", ["a", "b"], ["r"])], ["r"], [("a", FLOAT), ("b", FLOAT)]))],
        [constant("w", floats(3))])),
}


class Tap:
    """Results in order."""
    n, failed = 0, False

    def result(self, name, good):
        """Print one."""
        self.n += 1
        self.failed = self.failed or not good
        print("ok" if good else "not ok", self.n, name, flush=True)


def same(got, want):
    """Equal shapes, and values to a float's precision."""
    got = got.reshape(()) if np.ndim(want) == 0 and got.size == 1 else got
    return got.shape == np.shape(want) and np.allclose(got, want, rtol=1e-5, atol=1e-6)


def compile_model(vtac, made):
    """The error, or nothing."""
    onnx.save(made, "model.onnx")
    done = subprocess.run([vtac, "compile", "--no-card", "-o", "model.vtap", "model.onnx"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.stderr if done.returncode else ""


def run_pair(vtactl, given, want):
    """One run of model.vtap."""
    for name, array in given.items():
        np.save(f"{name}.npy", array)
    subprocess.run([vtactl, "program", "run", "model.vtap",
                    *(f"{name}={name}.npy" for name in given),
                    *(f"{name}=out_{name}.npy" for name in want)], check=True,
                   stdout=subprocess.DEVNULL)
    return all(same(np.load(f"out_{name}.npy"), array) for name, array in want.items())


def write(where):
    """Each model as a file."""
    for function in CASES:
        onnx.save(function()[0], os.path.join(where, f"{function.__name__}.onnx"))
    for name, (_, make) in WRONG.items():
        onnx.save(make(), os.path.join(where, f"{name}.onnx"))


def main():
    """All cases."""
    vtac, vtactl = (os.path.abspath(path) for path in sys.argv[1:3])
    top = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    os.environ.update(VTADEV_PLUGINS=f"{top}/build/lib", VTADEV_DEVICE="soft",
                      LD_LIBRARY_PATH=f"{top}/build/lib")
    tap = Tap()
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as where:
        os.chdir(where)
        for function in CASES:
            made, pairs = function()
            error = compile_model(vtac, made)
            if error:
                print("#", error.strip())
            tap.result(function.__name__, not error and
                       all([run_pair(vtactl, *pair) for pair in pairs]))
        for name, (why, make) in WRONG.items():
            error = compile_model(vtac, make())
            if why not in error:
                print("#", error.strip())
            tap.result(name, why in error)
        os.chdir("/")
    print(f"1..{tap.n}")
    return tap.failed


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "-w":
        write(sys.argv[2])
    else:
        sys.exit(main())
