#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The execution provider in ONNX Runtime of Debian's testing release, on the device soft: prints
# TAP.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/onnxruntime/root.sh
. "$top/tests/onnxruntime/root.sh"
cd "$top"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-onnxruntime.XXXXXX")
trap 'rm -rf "$dir"' EXIT

ort_or_skip "$dir"
ort_files "$dir"
cp build/lib/libvtadev-soft.so "$dir/"
# A device that is lost when it shall compute
cc -shared -fPIC -Iuapi -Ilibvtadev -o "$dir/libvtadev-frail.so" tests/devices/frail.c
/usr/bin/python3 tests/onnxruntime/nodes.py "$dir/nodes"
ort_run "$dir" env VTADEV_PLUGINS=/mnt HOME=/mnt python3 provider.py
