#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A real detector from pictures to boxes, on the device "soft", against onnxruntime in float. Prints
# TAP.
set -eu
cd "$(dirname "$0")/../.."
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-detector.XXXXXX")
trap 'rm -rf "$dir"' EXIT

skip() {
	printf 'TAP version 13\nok 1 detector # SKIP %s\n1..1\n' "$*"
	exit 0
}
[ -e build/python/vtadev/_compiler.abi3.so ] || skip "no Python package with the compiler"
status=0
tests/vtac/models/fetch faces onnxruntime > "$dir/log" 2>&1 || status=$?
[ "$status" -ne 77 ] || skip "$(tail -n 1 "$dir/log")"
[ "$status" -eq 0 ] || { cat "$dir/log"; exit 1; }

export PYTHONPATH=$PWD/build/python LD_LIBRARY_PATH=$PWD/build/lib PYTHONDONTWRITEBYTECODE=1
export VTADEV_PLUGINS=$PWD/build/lib VTADEV_DEVICE=soft
python=/usr/bin/python3 program=$dir/faces.vtap
build/tools/vtac compile -q "$cache/faces.onnx" --calibrate "$cache/faces-calib" --fit=top-left \
	--background=000000 --mean=117.001,114.697,97.404 --scale=0.00392157 --cpu=conv8 \
	--labels "$cache/faces-labels.txt" -o "$program"
"$python" tests/vtac/detector.py inputs "$program" "$cache/faces-pictures" "$dir/inputs.npy"
node tests/vtac/models/detect.js "$cache/ort" "$cache/faces.onnx" "$dir/inputs.npy" > "$dir/float"
echo "TAP version 13"
"$python" tests/vtac/detector.py compare "$program" "$cache/faces-pictures" "$dir/float" > "$dir/tap"
cat "$dir/tap"
echo "1..$(grep -cE '^(not )?ok ' "$dir/tap")"
! grep -q '^not ok' "$dir/tap"
