#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The execution provider in ONNX Runtime of Debian's testing release, on the device soft: prints
# TAP. The provider is built with the root's headers by this machine's compiler.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/onnxruntime/root.sh
. "$top/tests/onnxruntime/root.sh"
cd "$top"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-onnxruntime.XXXXXX")
trap 'rm -rf "$dir"' EXIT

if ! (ort_root) 2>"$dir/log"; then
	echo "TAP version 13"
	echo "ok 1 provider # SKIP no root of Debian testing: $(grep -m 1 'mmdebstrap: ' "$dir/log" ||
		tail -n 1 "$dir/log")"
	echo "1..1"
	exit 0
fi
env -u MAKEFLAGS -u MFLAGS make -s build/lib/libvtadev-onnxruntime.so \
	ORT_INCLUDE="$ort/root/usr/include/onnxruntime" >&2
cp build/lib/libvtadev-onnxruntime.so build/lib/libvtadev-soft.so tests/onnxruntime/provider.py "$dir/"
# A device that is lost when it shall compute
cc -shared -fPIC -Iuapi -Ilibvtadev -o "$dir/libvtadev-frail.so" tests/devices/frail.c
VTADEV_PLUGINS=$top/build/lib /usr/bin/python3 tests/onnxruntime/models.py "$dir"
ort_run "$dir" env VTADEV_PLUGINS=/mnt HOME=/mnt python3 provider.py
