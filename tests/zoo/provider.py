#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The execution provider in ONNX Runtime with networks of the zoo: prints TAP.

    provider.py NAME...

In the zoo's root, in the directory that provider_models.py wrote, with the provider, the device soft
and the Python package. Each network, with its program within the model, computes what vtactl program
run does, bit for bit; so does the first one as a float model, calibrated by the same images, as files
and as first runs. The provider's cost beside the program alone is counted in processor time of
one process, which runs them by turns.
"""
import os
import sys
import time

import numpy
import onnxruntime

import vtadev

LEAST_TURNS, MOST_TURNS = 12, 120
OVERHEAD = 1.05


class Tap:
    number = failed = 0

    def result(self, name, why):
        """@why: the failure, or nothing."""
        self.number += 1
        self.failed |= bool(why)
        print(f"{'not ok' if why else 'ok'} {self.number} {name}", flush=True)
        if why:
            print(f"# {why}")


def session(path, options=None):
    how = onnxruntime.SessionOptions()
    how.log_severity_level = 4
    soft = [d for d in onnxruntime.get_ep_devices() if d.ep_metadata.get("device") == "soft"]
    how.add_provider_for_devices(soft, options or {})
    made = onnxruntime.InferenceSession(path, sess_options=how)
    assert "VtaExecutionProvider" in made.get_providers(), made.get_providers()
    return made


def sample(made, name):
    """The inputs of a session."""
    return {value.name: numpy.load(f"{name}/last.{i}.npy") for i, value in enumerate(made.get_inputs())}


def difference(name, outputs):
    """From what vtactl computed. A file has all rows that there may be."""
    for i, values in enumerate(outputs):
        with open(f"{name}/got.{i}", "rb") as file:
            want = file.read()
        if not values.size or values.tobytes() != want[:values.nbytes]:
            return f"output {i}, of shape {values.shape}, differs"
    return None


def calibrated_by_files(name):
    made = session(f"{name}/model.onnx", {"calibration": name})
    return difference(name, made.run(None, sample(made, name)))


def calibrated_by_runs(name):
    """Until the answers are no longer those of floats."""
    shown = [numpy.load(f"{name}/{value.name}.npy") for value in
             session(f"{name}/context.onnx").get_inputs()]
    made = session(f"{name}/model.onnx", {"calibration_runs": str(len(shown[0]))})
    names = [value.name for value in made.get_inputs()]
    for values in zip(*shown):
        made.run(None, dict(zip(names, values)))
    inputs, end = sample(made, name), time.monotonic() + 600
    exact = made.run(None, inputs)
    while time.monotonic() < end:
        outputs = made.run(None, inputs)
        if any(y.tobytes() != z.tobytes() for y, z in zip(outputs, exact)):
            return difference(name, outputs)
        time.sleep(0.2)
    return "the program for the card was never used"


def cost(name):
    """Processor time of the provider's run in that of the program's: the least of each, in turns until
    the ratio holds or no turn is left."""
    made = session(f"{name}/context.onnx")
    inputs = sample(made, name)
    program = vtadev.Program(f"{name}/program.vtap", "soft", runs=1)
    values = list(inputs.values())

    def spent(function, *args):
        begin = time.process_time()
        function(*args)
        return time.process_time() - begin

    provider, alone = [], []
    for turn in range(MOST_TURNS):
        provider.append(spent(made.run, None, inputs))
        alone.append(spent(program, *values))
        ratio = min(provider) / min(alone)
        if turn >= LEAST_TURNS and ratio <= OVERHEAD:
            break
    print(f"# {name}: {min(provider) * 1e3:.2f} ms of processor time by the provider, "
          f"{min(alone) * 1e3:.2f} ms by the program: {ratio:.3f}, {len(alone)} turns")
    return f"{ratio:.3f} is more than {OVERHEAD}" if ratio > OVERHEAD else None


def main():
    names, tap = sys.argv[1:], Tap()
    onnxruntime.register_execution_provider_library(
        "vta", os.path.join(os.getcwd(), "libvtadev-onnxruntime.so"))
    print("TAP version 13")
    for name in names:
        made = session(f"{name}/context.onnx")
        tap.result(f"{name} equals vtactl program run",
                   difference(name, made.run(None, sample(made, name))))
    for name in names:
        for calibrated in (calibrated_by_files, calibrated_by_runs):
            tap.result(f"{name}, {calibrated.__name__.replace('_', ' ')}, equals it too", calibrated(name))
    tap.result(f"{names[0]} costs at most {OVERHEAD} of the program alone", cost(names[0]))
    print(f"1..{tap.number}")
    return tap.failed


if __name__ == "__main__":
    sys.exit(main())
