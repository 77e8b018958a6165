# SPDX-License-Identifier: GPL-2.0-only
"""vtadev.torch without PyTorch; tests/zoo/test_torch.py has the tests with it."""

import importlib.util
import unittest


class Absent(unittest.TestCase):
    @unittest.skipIf(importlib.util.find_spec("torch"), "PyTorch is there")
    def test_the_module_says_what_it_needs(self):
        with self.assertRaisesRegex(ModuleNotFoundError, "vtadev.torch needs PyTorch"):
            import vtadev.torch     # noqa: F401


if __name__ == "__main__":
    unittest.main()
