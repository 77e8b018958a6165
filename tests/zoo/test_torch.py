# SPDX-License-Identifier: GPL-2.0-only
"""vtadev.torch: networks of PyTorch on the device that VTADEV_DEVICE names, in a root of torch.sh."""

import unittest
import warnings

import torch
import torchvision

import networks
import vtadev
import vtadev.torch


def unet():
    return networks.unet()[0]


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


class Fused(unittest.TestCase):
    """PyTorch's own fused attention, and the operators that are exported in its place."""

    def check(self, fused, *args):
        got, wanted = vtadev.torch._FUSED[fused](*args), fused(*args)
        for y, z in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, wanted))):
            self.assertTrue(torch.allclose(y, z, 1e-4, 1e-5))

    def test_attention(self):
        torch.manual_seed(2)
        x, weights = torch.randn(2, 5, 8), [torch.randn(*s) for s in ((24, 8), (24,), (8, 8), (8,))]
        pairs = torch.ones(5, 5).triu(1).bool()
        keys = torch.tensor([[False] * 4 + [True], [False] * 5])
        with torch.no_grad():
            for mask, kind in ((None, None), (pairs, 0), (keys, 1),
                               ((pairs | keys[:, None]).unsqueeze(1).expand(2, 4, 5, 5).contiguous(), 2)):
                for average in (True, False):
                    self.check(torch._native_multi_head_attention, x, x, x, 8, 4, *weights, mask, True,
                               average, kind)

    def test_encoder_layer(self):
        torch.manual_seed(3)
        for gelu in (False, True):
            for first in (False, True):
                with torch.no_grad():
                    self.check(torch._transformer_encoder_layer_fwd, torch.randn(2, 5, 8), 8, 4,
                               *(torch.randn(*s) for s in ((24, 8), (24,), (8, 8), (8,))), gelu, first,
                               1e-5, *(torch.randn(8) for _ in range(4)), torch.randn(12, 8),
                               torch.randn(12), torch.randn(8, 12), torch.randn(8))


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

    def test_encoder_of_pytorch_switches_after_its_first_calls(self):
        class Classifier(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.patches = torch.nn.Conv2d(3, 64, 8, 8)
                layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
                self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
                self.head = torch.nn.Linear(64, 10)

            def forward(self, x):
                return self.head(self.encoder(self.patches(x).flatten(2).transpose(1, 2)).mean(1))

        self.switched(Classifier, 15)

    def test_vit_is_compiled_with_its_images(self):
        model, seen = made(vit), images(4)
        compiled = vtadev.torch.compile(model, seen[0], calibrate=seen[:3])
        self.addCleanup(compiled.program.close)
        self.assertTrue(torch.backends.mha.get_fastpath_enabled())
        with torch.no_grad():
            self.near(compiled(seen[3]), model(seen[3]), 15)

    def test_unet_switches_after_its_first_calls(self):
        self.switched(unet, 20)

    def test_a_module_is_compiled_with_its_images(self):
        model, seen = made(unet), images(4)
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
        model = made(unet).train()
        with self.assertRaisesRegex(vtadev.CompileError, r"down\.0\.1 is in training mode: call eval"):
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
        model, seen = made(unet), images(2)
        fast = torch.compile(model, backend="vta", options={"calibrate": 1})
        with torch.no_grad():
            fast(seen[0])
        image = seen[1].requires_grad_()
        fast(image).sum().backward()
        self.assertIsNotNone(image.grad)

    def test_wrong_options_are_refused(self):
        fast = torch.compile(made(unet), backend="vta", options={"calibrate": 0})
        with self.assertRaisesRegex(Exception, "calibrate is a number of calls"):
            fast(images(1)[0])


if __name__ == "__main__":
    unittest.main()
