# SPDX-License-Identifier: Apache-2.0
"""The server vta-serve, and vta-frigate, above the pools of vtadev: docs/serving.md."""
