#!/bin/bash
# shellcheck disable=SC2154 # variables of the root
# SPDX-License-Identifier: GPL-2.0-only
#
# files.sh DIR - write what guest.sh needs to DIR: tree.tar, a root with Python and ONNX Runtime of
# Debian's testing release, and at /mnt in it the provider, models and tests. Prints a skipped result
# instead if the root cannot be made.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/onnxruntime/root.sh
. "$top/tests/onnxruntime/root.sh"
cd "$top"
ort_or_skip "$1"
ort_files "$1"
cp build/lib/libvtadev-soft.so tests/onnxruntime/card.py tests/python/tree.py "$1"
modules=(card numpy.random concurrent.futures.thread encodings.ascii encodings.latin_1)
files=(libvtadev-onnxruntime.so libvtadev-soft.so {qdq,blocks,program}.onnx {qdq.in,qdq.out,float.out,blocks.out})
ort_run "$1" env PYTHONPATH=/mnt PYTHONDONTWRITEBYTECODE=1 python3 tree.py tree.tar "${modules[@]}" \
	"${files[@]/#//mnt/}" >&2
