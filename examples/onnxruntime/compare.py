#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A classifier by ONNX Runtime, on the CPU and on a card: how often both find the same class.

    compare.py PROVIDER MODEL.onnx CALIBRATION.npy IMAGES.npy

PROVIDER is libvtadev-onnxruntime.so. The model has one input for one image; the first dimension of
the arrays counts images.
"""
import pathlib
import sys
import tempfile

import numpy
import onnxruntime


def classes(session, images):
    """The most likely class of each image."""
    name = session.get_inputs()[0].name
    return [int(session.run(None, {name: image[None]})[0].argmax()) for image in images]


def main(provider, model, calibration, images):
    images = numpy.load(images)
    cpu = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    onnxruntime.register_execution_provider_library("vta", provider)
    cards = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "VtaExecutionProvider"]
    if not cards:
        sys.exit("there is no card, and no device of a plugin: see vtactl list --all")
    options = onnxruntime.SessionOptions()
    with tempfile.TemporaryDirectory() as directory:
        name = cpu.get_inputs()[0].name
        numpy.save(pathlib.Path(directory) / f"{name}.npy", numpy.load(calibration))
        options.add_provider_for_devices(cards[:1], {"calibration": directory})
        card = onnxruntime.InferenceSession(model, sess_options=options)

    same = sum(a == b for a, b in zip(classes(cpu, images), classes(card, images)))
    print(f"{cards[0].ep_metadata['device']}: {same} of {len(images)} images have the class that "
          "the CPU finds")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
