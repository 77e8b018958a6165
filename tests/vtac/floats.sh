#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A real model in float, by onnxruntime and by the compiler's interpreter. Prints TAP.
#
#   tests/vtac/floats.sh FLOATS MODEL [IMAGES]
set -eu

floats=$1 model=$2 images=${3:-4}
here=$(cd "$(dirname "$0")" && pwd)
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

status=0
"$here/models/fetch" "$model" onnxruntime > "$dir/log" 2>&1 || status=$?
if [ "$status" -eq 77 ]; then
	echo "TAP version 13"
	echo "ok 1 floats # SKIP $(tail -n 1 "$dir/log")"
	echo "1..1"
	exit 0
elif [ "$status" -ne 0 ]; then
	cat "$dir/log"
	exit 1
fi
node "$here/models/ort.js" "$cache/ort" "$cache/$model.onnx" "$cache/$model-test.npy" \
	"$dir/want.npy" "$images" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
"$floats" "$cache/$model.onnx" "$cache/$model-test.npy" "$dir/want.npy" "$images"
