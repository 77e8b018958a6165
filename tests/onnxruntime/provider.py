#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The execution provider in ONNX Runtime, with the models of models.py: prints TAP.

    provider.py [WORD...]

All tests, or those with a WORD in their names. In the root's ONNX Runtime, in the directory of the models, the provider and the device soft.
"""
import concurrent.futures
import contextlib
import inspect
import io
import json
import os
import pathlib
import sys
import time
import traceback
import warnings

import numpy
import onnxruntime

SHAPE = (1, 3, 16, 16)
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "libvtadev-onnxruntime.so")
NAME = "VtaExecutionProvider"


def devices(device="soft"):
    return [d for d in onnxruntime.get_ep_devices() if d.ep_metadata.get("device") == device]


def session(name, options=None, sizes=None, cards=None):
    how = onnxruntime.SessionOptions()
    how.log_severity_level = 4
    for size, value in (sizes or {}).items():
        how.add_free_dimension_override_by_name(size, value)
    how.add_provider_for_devices(cards or devices(), options or {})
    made = onnxruntime.InferenceSession(f"{name}.onnx", sess_options=how)
    # Python goes on without providers that cannot be made.
    assert NAME in made.get_providers(), made.get_providers()
    return made


def reference(name):
    return onnxruntime.InferenceSession(f"{name}.onnx", providers=["CPUExecutionProvider"])


def pictures(n, seed=1):
    return numpy.random.default_rng(seed).normal(0, 1, (n, *SHAPE)).astype(numpy.float32)


def answer(s, x):
    return s.run(None, {"x": x})[0]


def nodes_of(name, x):
    """Count the nodes that each provider computed in one run, by ONNX Runtime's profile."""
    how = onnxruntime.SessionOptions()
    how.log_severity_level = 4
    how.enable_profiling = True
    how.profile_file_prefix = "profile"
    how.add_provider_for_devices(devices(), {})
    made = onnxruntime.InferenceSession(f"{name}.onnx", sess_options=how)
    answer(made, x)
    return count_nodes(made.end_profiling())


def count_nodes(profile):
    with open(profile, encoding="ascii") as f:
        events = json.load(f)
    os.remove(profile)
    count = {}
    for event in events:
        provider = event.get("args", {}).get("provider")
        if provider and event["name"].endswith("_kernel_time"):
            count[provider] = count.get(provider, 0) + 1
    return count


def until_calibrated(s, x, exact):
    """Run until the answer is no longer that of floats: the card's has coarser steps."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        y = answer(s, x)
        if not numpy.allclose(y, exact, rtol=0, atol=1e-5):
            return y
        time.sleep(0.05)
    raise AssertionError("the program for the card was never used")


def test_cards_are_listed_as_devices():
    (soft,) = devices()
    assert soft.ep_name == NAME and soft.device.type == onnxruntime.OrtHardwareDeviceType.CPU


def test_the_part_of_a_plain_network_is_all_of_it():
    assert nodes_of("float", pictures(1)[0]) == {NAME: 1}


def test_quantised_model_equals_vtactl_program_run_bit_for_bit():
    s = session("qdq")
    inputs = numpy.fromfile("qdq.in", numpy.float32).reshape(-1, *SHAPE)
    outputs = numpy.fromfile("qdq.out", numpy.float32).reshape(-1, 1, 10)
    assert len(inputs) == 5 and len(numpy.unique(outputs)) > 10
    for x, y in zip(inputs, outputs):
        assert answer(s, x).tobytes() == y.tobytes()


def test_float_model_is_observed_and_then_runs_on_the_card():
    s, exact = session("float", {"calibration_runs": "8"}), reference("float")
    for x in pictures(8):
        assert numpy.allclose(answer(s, x), answer(exact, x), rtol=0, atol=1e-5)
    x = pictures(1, seed=2)[0]
    y = until_calibrated(s, x, answer(exact, x))
    assert numpy.abs(y - answer(exact, x)).max() < 0.05
    for x in pictures(20, seed=3):
        assert numpy.abs(answer(s, x) - answer(exact, x)).max() < 0.05


def test_operators_that_the_compiler_lacks_stay_with_onnx_runtime():
    counts = nodes_of("split", pictures(1)[0])
    assert counts[NAME] == 2 and counts["CPUExecutionProvider"] >= 1, counts
    s, exact = session("split"), reference("split")
    for x in pictures(3):
        assert numpy.allclose(answer(s, x), answer(exact, x), rtol=0, atol=1e-5)


def test_graphs_without_a_node_for_cards_are_left_alone():
    assert NAME not in nodes_of("nothing", pictures(1)[0])


def test_free_sizes_stay_with_onnx_runtime_until_they_are_fixed():
    x = numpy.concatenate(pictures(3))
    assert numpy.allclose(answer(session("open"), x), answer(reference("open"), x), rtol=0, atol=1e-5)
    s = session("open", sizes={"N": 3})
    assert numpy.allclose(answer(s, x), answer(reference("open"), x), rtol=0, atol=1e-5)
    y = [answer(s, x) for _ in range(40)] and until_calibrated(s, x, answer(reference("open"), x))
    assert y.shape == (3, 10)


def test_sizes_that_data_decides_are_those_of_onnx_runtime():
    assert nodes_of("sizes", pictures(1)[0]) == {NAME: 1}
    s, exact = session("sizes"), reference("sizes")
    counts = set()
    for x in (*pictures(6), pictures(1)[0] * 0):
        for y, z in zip(s.run(None, {"x": x}), exact.run(None, {"x": x})):
            assert y.shape == z.shape, (y.shape, z.shape)
            assert numpy.allclose(y, z, rtol=1e-5, atol=1e-5)
        counts.add(y.shape[0])
    assert len(counts) > 3 and 0 in counts, counts


def test_program_in_a_model_runs_without_compiling():
    s = session("program")
    assert [(i.name, i.shape, i.type) for i in s.get_inputs()] == [("x", list(SHAPE), "tensor(float)")]
    inputs = numpy.fromfile("qdq.in", numpy.float32).reshape(-1, *SHAPE)
    outputs = numpy.fromfile("float.out", numpy.float32).reshape(-1, 1, 10)
    for x, y in zip(inputs, outputs):
        assert answer(s, x).tobytes() == y.tobytes()
    s, exact = session("sizes_ctx"), reference("sizes")
    for x in (*pictures(3), pictures(1)[0] * 0):
        for y, z in zip(s.run(None, {"x": x}), exact.run(None, {"x": x})):
            assert y.shape == z.shape and numpy.allclose(y, z, rtol=1e-5, atol=1e-5)


def calibration(name, values=None):
    """A directory with the array of x, or without."""
    os.makedirs(name, exist_ok=True)
    if values is not None:
        numpy.save(f"{name}/x.npy", values)
    return {"calibration": name}


def test_float_model_is_calibrated_by_files():
    inputs = numpy.fromfile("qdq.in", numpy.float32).reshape(-1, *SHAPE)
    outputs = numpy.fromfile("float.out", numpy.float32).reshape(-1, 1, 10)
    options = calibration("images", inputs)
    s = session("float", options)
    for x, y in zip(inputs, outputs):
        assert answer(s, x).tobytes() == y.tobytes()
    how = onnxruntime.SessionOptions()
    how.log_severity_level = 4
    how.add_session_config_entry("ep.context_enable", "1")
    how.add_session_config_entry("ep.context_file_path", "calibrated.onnx")
    pathlib.Path("calibrated.onnx").unlink(missing_ok=True)
    how.add_provider_for_devices(devices(), options)
    onnxruntime.InferenceSession("float.onnx", sess_options=how)
    assert answer(session("calibrated"), inputs[0]).tobytes() == outputs[0].tobytes()


def test_runs_and_files_calibrate_as_vtac_compile_does():
    inputs = numpy.fromfile("qdq.in", numpy.float32).reshape(-1, *SHAPE)
    outputs = numpy.fromfile("blocks.out", numpy.float32).reshape(-1, 1, 10)
    by_files = session("blocks", calibration("blocks_images", inputs))
    by_runs = session("blocks", {"calibration_runs": str(len(inputs))})
    exact = [answer(by_runs, x) for x in inputs]
    until_calibrated(by_runs, inputs[0], exact[0])
    for s in (by_files, by_runs):
        for x, y in zip(inputs, outputs):
            assert answer(s, x).tobytes() == y.tobytes()


def test_part_without_its_file_is_calibrated_by_its_runs():
    s, exact = session("float", {**calibration("empty"), "calibration_runs": "2"}), reference("float")
    for x in pictures(2):
        assert numpy.allclose(answer(s, x), answer(exact, x), rtol=0, atol=1e-5)
    until_calibrated(s, x, answer(exact, x))


def test_files_that_cannot_calibrate_are_named():
    for name, values, text in (("wide", numpy.zeros((2, 3, 16, 17), numpy.float32), "x.npy: its 2 images"),
                               ("flat", numpy.zeros(3, numpy.float32), "does not count images")):
        try:
            session("float", calibration(name, values))
        except Exception as error:
            assert f"{name}/x.npy" in str(error) and text in str(error), error
        else:
            raise AssertionError(f"{name} has calibrated")


def test_session_writes_a_model_with_its_program():
    how = onnxruntime.SessionOptions()
    how.log_severity_level = 4
    how.add_session_config_entry("ep.context_enable", "1")
    how.add_session_config_entry("ep.context_file_path", "written.onnx")
    pathlib.Path("written.onnx").unlink(missing_ok=True)
    how.add_provider_for_devices(devices(), {})
    x = pictures(1)[0]
    y = answer(onnxruntime.InferenceSession("qdq.onnx", sess_options=how), x)
    with open("written.onnx", "rb") as file:
        assert b"EPContext" in file.read()
    assert nodes_of("written", x) == {NAME: 1}
    assert answer(session("written"), x).tobytes() == y.tobytes()
    how.add_session_config_entry("ep.context_file_path", "unwritten.onnx")
    try:
        onnxruntime.InferenceSession("float.onnx", sess_options=how)
    except Exception as error:
        assert "the option calibration, writes it with its program" in str(error), error
    else:
        raise AssertionError("a model without scales has a program")


def test_wrong_programs_in_models_are_refused_in_a_sentence():
    with open("program.onnx", "rb") as file:
        good = file.read()
    at = good.index(b"VTAP") if b"VTAP" in good else good.index(b"ep_cache_context") + 40
    for name, data, text in (
            ("damaged", good[:at] + bytes(64) + good[at + 64:], ""),
            ("mode", good.replace(b"embed_mode\x18\x01", b"embed_mode\x18\x00"), "not in the model"),
            ("type", good.replace(b"\x08\x01\x12", b"\x08\x06\x12", 1), "another type")):
        assert data != good
        with open(f"{name}.onnx", "wb") as file:
            file.write(data)
        try:
            session(name)
        except Exception as error:
            assert "vta: " in str(error) and text in str(error), (name, error)
        else:
            raise AssertionError(f"{name} was loaded")


def test_ranks_are_those_of_onnx_runtime():
    s, exact = session("ranks"), reference("ranks")
    x, u = pictures(2)
    for y, z in zip(s.run(None, {"x": x, "u": u}), exact.run(None, {"x": x, "u": u})):
        assert y.shape == z.shape, (y.shape, z.shape)
        assert numpy.allclose(y, z, rtol=0, atol=1e-5)


def test_texts_keep_their_own_nodes_alone_off_the_card():
    x = pictures(1)[0]
    assert nodes_of("texts", x) == {NAME: 1, "CPUExecutionProvider": 1}
    y, h = session("texts").run(None, {"x": x})
    z, k = reference("texts").run(None, {"x": x})
    assert y.tolist() == z.tolist() and y[0] in ("cat", "dog", "none")
    assert numpy.allclose(h, k, rtol=0, atol=1e-5)


def test_operators_of_onnx_runtime_that_the_compiler_reads_are_taken():
    x = pictures(1)[0]
    assert nodes_of("fused", x) == {NAME: 1}
    assert numpy.allclose(answer(session("fused"), x), answer(reference("fused"), x),
                          rtol=0, atol=1e-3)


def test_branches_compute_as_without_the_provider():
    s, exact = session("branch"), reference("branch")
    for x in (pictures(1)[0], -pictures(1)[0]):
        assert numpy.allclose(answer(s, x), answer(exact, x), rtol=0, atol=1e-4)


def test_threads_get_their_own_answers():
    s = session("qdq")
    inputs = pictures(16, seed=4)
    alone = [answer(s, x) for x in inputs]
    assert len({y.tobytes() for y in alone}) == 16
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            for y, z in zip(alone, threads.map(lambda x: answer(s, x), inputs)):
                assert y.tobytes() == z.tobytes()


def test_threads_may_run_while_the_program_changes():
    s, exact = session("float", {"calibration_runs": "32"}), reference("float")
    inputs = pictures(64, seed=5)
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        for x, y in zip(inputs, threads.map(lambda x: answer(s, x), inputs)):
            assert numpy.abs(y - answer(exact, x)).max() < 0.05


def test_session_ends_while_the_program_is_compiled():
    for _ in range(3):
        s = session("float", {"calibration_runs": "2"})
        for x in pictures(2):
            answer(s, x)
        del s


def test_sessions_share_a_device():
    one, two = session("qdq"), session("float")
    x = pictures(1, seed=6)[0]
    assert answer(one, x).tobytes() == answer(session("qdq"), x).tobytes()
    assert numpy.allclose(answer(two, x), answer(reference("float"), x), rtol=0, atol=1e-5)


def test_lost_device_is_named_and_the_session_lives_on():
    s = session("qdq", {"device": "frail"})
    for _ in range(2):
        try:
            answer(s, pictures(1)[0])
        except Exception as error:
            assert "frail: " in str(error), error
        else:
            raise AssertionError("a device that is lost has computed")


def same_values(y, z):
    """Integers may differ by one step: the compiler rounds halves up."""
    if z.dtype.kind in "iu" and z.dtype.itemsize == 1:
        return numpy.abs(y.astype(int) - z.astype(int)).max(initial=0) <= 1
    if z.dtype.kind != "f":
        return numpy.array_equal(y, z)
    size = numpy.abs(z[numpy.isfinite(z)]).max(initial=1)
    return numpy.allclose(y, z, rtol=1e-3, atol=1e-5 * size + 1e-4, equal_nan=True)


def run_node(path, inputs, options=None):
    """(outputs, nodes of the provider), or None if ONNX Runtime does not compute it."""
    how = onnxruntime.SessionOptions()
    how.log_severity_level = 4
    if options is None:
        made = onnxruntime.InferenceSession(path, how, providers=["CPUExecutionProvider"])
    else:
        how.enable_profiling = True
        how.profile_file_prefix = "node"
        how.add_provider_for_devices(devices(), options)
        made = onnxruntime.InferenceSession(path, sess_options=how)
    outputs = made.run(None, {i.name: x for i, x in zip(made.get_inputs(), inputs)})
    if options is None:
        return outputs, 0
    return outputs, count_nodes(made.end_profiling()).get(NAME, 0)


def test_nodes_of_onnx_compute_as_without_the_provider():
    taken, wrong = 0, []
    names = sorted(os.listdir("nodes")) if os.path.isdir("nodes") else []
    for name in names:
        path = f"nodes/{name}/model.onnx"
        with numpy.load(f"nodes/{name}/inputs.npz") as file:
            inputs = [file[f"arr_{i}"] for i in range(len(file.files))]
        try:
            want, _ = run_node(path, inputs)
        except Exception:
            continue
        try:
            got, count = run_node(path, inputs, {"all": "1"})
        except Exception as error:
            wrong.append((name, str(error)))
            continue
        taken += count > 0
        if not random_outputs(name) and not all(
                y.shape == z.shape and same_values(y, z) if isinstance(z, numpy.ndarray) else True
                for y, z in zip(got, want)):
            wrong.append((name, "other values", got, want))
    print(f"# {taken} of {len(names)} models have nodes of the provider")
    assert not wrong, wrong
    assert taken > 500 or not names, taken


def random_outputs(name):
    """Nodes that draw numbers."""
    return any(word in name for word in ("random", "bernoulli", "dropout", "multinomial"))


def test_fallback_computes_while_no_card_is_left():
    with open("frail.json", "w", encoding="ascii") as file:
        json.dump({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5, "LOG_BATCH": 0,
                   "LOG_BLOCK": 4, "LOG_UOP_BUFF_SIZE": 12, "LOG_INP_BUFF_SIZE": 12,
                   "LOG_WGT_BUFF_SIZE": 14, "LOG_ACC_BUFF_SIZE": 12}, file)
    s = session("qdq", {"device": "frail", "fallback": "soft:frail.json"})
    same = session("qdq", {"device": "soft:frail.json"})
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        inputs = pictures(12, seed=9)
        for x, y in zip(inputs, threads.map(lambda x: answer(s, x), inputs)):
            assert answer(same, x).tobytes() == y.tobytes()


def refused(text, options, capture):
    """Python's session goes on without providers: the sentence is what it prints before."""
    with capture() as printed:
        try:
            session("qdq", options)
        except AssertionError:
            pass
    assert text in printed.getvalue(), printed.getvalue()


def test_wrong_options_are_refused_in_a_sentence():
    def capture():
        return contextlib.redirect_stdout(io.StringIO())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wrong in ("0", "-1", "many", "1025"):
            refused(f'option calibration_runs is "{wrong}", not a number from 1 to 1024',
                    {"calibration_runs": wrong}, capture)
        refused("nosuch: ", {"device": "nosuch"}, capture)
        refused("soft has another configuration than frail", {"device": "frail,soft"}, capture)
        refused("soft has another configuration than frail", {"device": "frail", "fallback": "soft"},
                capture)
        refused("nosuch: ", {"fallback": "nosuch"}, capture)
        refused('option all is "yes", not 0 or 1', {"all": "yes"}, capture)
        refused("option calibration: nowhere: No such file", {"calibration": "nowhere"}, capture)
        refused("option calibration: qdq.onnx is no directory", {"calibration": "qdq.onnx"}, capture)


def main(functions, words=()):
    onnxruntime.register_execution_provider_library("vta", LIBRARY)
    tests = [(name[5:].replace("_", " "), f) for name, f in functions.items()
             if name.startswith("test_") and inspect.isfunction(f)]
    if words:
        tests = [(name, f) for name, f in tests if any(word in name.split() for word in words)]
    print(f"TAP version 13\n1..{len(tests)}")
    failed = 0
    for n, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {n} {name}", flush=True)
        except Exception:
            failed = 1
            print(f"not ok {n} {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(globals(), sys.argv[1:]))
