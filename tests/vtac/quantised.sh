#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A real model whose file has int8 already, by onnxruntime and as the card computes it: both
# classify as many images right, within half a point. Prints TAP.
#
#   tests/vtac/quantised.sh ACCURACY
#
# The files are made of MNIST's float model by models/qdq.py, once with Q and DQ nodes, once
# with QLinearConv: uint8 activations with zero points, int8 weights by channel.
set -euo pipefail

accuracy=$1
here=$(cd "$(dirname "$0")" && pwd)
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
python=/usr/bin/python3		# Debian's, which has Debian's packages
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-quantised.XXXXXX")
trap 'rm -rf "$dir"' EXIT

echo "TAP version 13"
status=0
"$here/models/fetch" mnist onnxruntime >"$dir/log" 2>&1 || status=$?
if [ "$status" -eq 77 ]; then
	echo "ok 1 quantised # SKIP $(tail -n 1 "$dir/log")"
	exit 0
elif [ "$status" -ne 0 ]; then
	cat "$dir/log"
	exit 1
fi

# What the quantised files are made of: ranges of all tensors, by onnxruntime.
{
	"$python" "$here/models/qdq.py" outputs "$cache/mnist.onnx" "$dir/all.onnx" &&
	node "$here/models/ranges.js" "$cache/ort" "$dir/all.onnx" "$cache/mnist-calib.npy" \
		"$dir/ranges.json"
} >"$dir/log" 2>&1 || {
	cat "$dir/log"
	exit 1
}

# right FORM: sets $ort and $vtac to how many of 1,000 images each has right
right() {
	"$python" "$here/models/qdq.py" "$1" "$cache/mnist.onnx" "$dir/ranges.json" "$dir/$1.onnx" &&
	node "$here/models/ort.js" "$cache/ort" "$dir/$1.onnx" "$cache/mnist-test.npy" "$dir/$1.npy" &&
	ort=$("$python" -c 'import sys
import numpy as np
labels = np.loadtxt(sys.argv[2], dtype=int)
print((np.load(sys.argv[1]).argmax(1) == labels).sum())' "$dir/$1.npy" "$cache/mnist-test.labels") &&
	"$accuracy" "$dir/$1.onnx" "$cache/mnist-calib.npy" "$cache/mnist-test.npy" \
		"$cache/mnist-test.labels" --card 2 >"$dir/accuracy" &&
	vtac=$(sed -n 's/.* right \([01]\)[.]\([0-9]*\) .*/\1\2/p' "$dir/accuracy") && [ -n "$vtac" ]
} >"$dir/log" 2>&1

n=0 failed=0
for form in qdq qlinear; do
	n=$((n + 1))
	if right "$form" && off=$((10#$vtac - ort)) && [ "${off#-}" -le 5 ]; then
		echo "# $form: of 1,000 images onnxruntime has $ort right, the card $((10#$vtac))"
		echo "ok $n $form: the card is as accurate as onnxruntime"
	else
		failed=1
		sed 's/^/# /' "$dir/log"
		echo "not ok $n $form: the card is as accurate as onnxruntime"
	fi
done
echo "1..$n"
exit $failed
