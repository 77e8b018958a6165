# SPDX-License-Identifier: GPL-2.0-only
"""vtadev.torch: networks of PyTorch on the device that VTADEV_DEVICE names, in the zoo's root."""

import unittest
import warnings

import torch
import torchvision

import vtadev
import vtadev.torch


class UNet(torch.nn.Module):
    """Two levels, with a skip connection."""

    def __init__(self):
        super().__init__()

        def block(cin, cout):
            return torch.nn.Sequential(torch.nn.Conv2d(cin, cout, 3, padding=1),
                                       torch.nn.BatchNorm2d(cout), torch.nn.ReLU())
        self.first, self.second, self.last = block(3, 16), block(16, 32), block(48, 16)
        self.head = torch.nn.Conv2d(16, 3, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.second(torch.nn.functional.max_pool2d(a, 2))
        b = torch.nn.functional.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(self.last(torch.cat([a, b], 1)))


def images(count, size=64):
    torch.manual_seed(1)
    return [torch.nn.functional.interpolate(torch.randn(1, 3, 8, 8), (size, size), mode="bilinear")
            for _ in range(count)]


def vit():
    model = torchvision.models.VisionTransformer(image_size=64, patch_size=16, num_layers=2,
                                                 num_heads=4, hidden_dim=64, mlp_dim=128,
                                                 num_classes=10)
    torch.nn.init.normal_(model.heads.head.weight)      # zeros, as it is made
    return model


def made(make):
    torch.manual_seed(0)
    return make().eval()


class Torch(unittest.TestCase):
    def near(self, got, wanted, least):
        noise = (got - wanted).square().sum()
        ratio = 10 * torch.log10(wanted.square().sum() / noise).item()
        self.assertEqual(got.shape, wanted.shape)
        self.assertGreater(ratio, least)
        self.assertLess(ratio, 80, "it was computed by PyTorch, in floats")

    def switched(self, make, least):
        model = made(make)
        fast = torch.compile(model, backend="vta", options={"calibrate": 3})
        seen = images(5)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            for image in seen[:2]:
                self.assertTrue(torch.allclose(fast(image), model(image), 1e-4, 1e-5))
            fast(seen[2])
            self.near(fast(seen[3]), model(seen[3]), least)
            self.near(fast(seen[4]), model(seen[4]), least)

    def test_resnet18_switches_after_its_first_calls(self):
        self.switched(lambda: torchvision.models.resnet18(num_classes=10), 20)

    def test_vit_switches_after_its_first_calls(self):
        self.switched(vit, 15)

    def test_unet_switches_after_its_first_calls(self):
        self.switched(UNet, 20)

    def test_a_module_is_compiled_with_its_images(self):
        model, seen = made(UNet), images(4)
        compiled = vtadev.torch.compile(model, seen[0], calibrate=seen[:3])
        self.addCleanup(compiled.program.close)
        with torch.no_grad():
            self.near(compiled(seen[3]), model(seen[3]), 20)
        self.assertTrue(any(n["device"] == "card" for n in compiled.program.report()["nodes"]))
        with self.assertRaisesRegex(vtadev.CompileError, "cannot be trained"):
            compiled.train()

    def test_several_inputs_and_outputs(self):
        class Two(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = (torch.nn.Conv2d(3, 16, 3, padding=1) for _ in range(2))

            def forward(self, x, y):
                a, b = self.a(x), self.b(y)
                return a + b, a - b

        model, seen = made(Two), images(3)
        compiled = vtadev.torch.compile(model, (seen[0], seen[1]), calibrate=[(seen[0], seen[1])])
        self.addCleanup(compiled.program.close)
        with torch.no_grad():
            for got, wanted in zip(compiled(seen[1], seen[2]), model(seen[1], seen[2])):
                self.near(got, wanted, 20)

    def test_training_mode_is_refused(self):
        model = made(UNet).train()
        with self.assertRaisesRegex(vtadev.CompileError, r"first\.1 is in training mode: call eval"):
            vtadev.torch.compile(model, images(1)[0])
        fast = torch.compile(model, backend="vta", options={"calibrate": 1})
        with self.assertWarnsRegex(UserWarning, "stays in PyTorch: the model is in training mode"):
            fast(images(1)[0])

    def test_what_is_not_taken_stays_in_pytorch(self):
        class Odd(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.eigvals(x[0, 0])

        model, (image,) = made(Odd), images(1)
        fast = torch.compile(model, backend="vta", options={"calibrate": 1})
        with torch.no_grad(), self.assertWarnsRegex(UserWarning, "stays in PyTorch: PyTorch cannot export"):
            first = fast(image)
        self.assertTrue(torch.allclose(first, model(image)))
        with self.assertRaisesRegex(vtadev.CompileError, "cannot export"):
            vtadev.torch.compile(model, image)

    def test_a_gradient_of_an_input_is_computed_by_pytorch(self):
        model, seen = made(UNet), images(2)
        fast = torch.compile(model, backend="vta", options={"calibrate": 1})
        with torch.no_grad():
            fast(seen[0])
        image = seen[1].requires_grad_()
        fast(image).sum().backward()
        self.assertIsNotNone(image.grad)

    def test_wrong_options_are_refused(self):
        fast = torch.compile(made(UNet), backend="vta", options={"calibrate": 0})
        with self.assertRaisesRegex(Exception, "calibrate is a number of calls"):
            fast(images(1)[0])


if __name__ == "__main__":
    unittest.main()
