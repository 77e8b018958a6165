#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# quantised.sh - real models whose files have int8 already, by onnxruntime and as the card computes
# them: both classify as many images right, within half a point. Prints TAP.
#
#   tests/vtac/quantised.sh ACCURACY
#
# MNIST is quantised by models/qdq.py, once with Q and DQ nodes, once with QLinearConv: uint8
# activations with zero points, int8 weights by channel. MNIST and PP-OCR are quantised by
# onnxruntime's own quantiser, which leaves out activations that a scale replaces, and
# gives each step of a hard swish a scale.
# shellcheck disable=SC2317 # functions that compare calls
set -euo pipefail

accuracy=$1
here=$(cd "$(dirname "$0")" && pwd)
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
python=/usr/bin/python3		# Debian's, which has Debian's packages
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-quantised.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
tap_log=$dir/log

# skip_or_fail STATUS NAME: the result of a preparation that failed
skip_or_fail() {
	if [ "$1" -eq 77 ]; then
		skip "$2" "$(tail -n 1 "$dir/log")"
	else
		result "$2" "$1"
	fi
}

# quantise FORM: MNIST as $dir/FORM.onnx, and onnxruntime's outputs as $dir/FORM.npy
quantise() {
	"$python" "$here/models/qdq.py" "$1" "$cache/mnist.onnx" "$dir/ranges.json" "$dir/$1.onnx" &&
	node "$here/models/ort.js" "$cache/ort" "$dir/$1.onnx" "$cache/mnist-test.npy" "$dir/$1.npy"
}

# peer MODEL ACTIVATIONS WEIGHTS NAME: likewise, by onnxruntime's quantiser
peer() {
	cp "$cache/$1.onnx" "$cache/$1-calib.npy" "$cache/$1-test.npy" "$dir" &&
	"$here/models/peer.sh" "$dir" "$1.onnx" "$1-calib.npy" "$1-test.npy" "$2" "$3" "$4"
}

# right MODEL NAME: sets $ort and $vtac to how many images of a thousand each has right
right() {
	ort=$("$python" -c 'import sys
import numpy as np
labels = np.loadtxt(sys.argv[2], dtype=int)
print(round((np.load(sys.argv[1]).argmax(1) == labels).mean() * 1000))' "$dir/$2.npy" \
		"$cache/$1-test.labels") &&
	"$accuracy" "$dir/$2.onnx" "$cache/$1-calib.npy" "$cache/$1-test.npy" \
		"$cache/$1-test.labels" --card 2 >"$dir/accuracy" &&
	vtac=$(sed -n 's/.* right \([01]\)[.]\([0-9]*\) .*/\1\2/p' "$dir/accuracy") && [ -n "$vtac" ]
}

# compare MODEL NAME COMMAND...: the command makes the files
compare() {
	local model=$1 name=$2 ort='?' vtac='?' off status=1
	shift 2
	if { "$@" && right "$model" "$name"; } >"$dir/log" 2>&1 &&
	   off=$((10#$vtac - ort)) && [ "${off#-}" -le 5 ]; then
		status=0
	fi
	echo "# $name: of a thousand images onnxruntime has $ort right, the card $vtac"
	result "$name: the card is as accurate as onnxruntime" "$status"
}

echo "TAP version 13"
status=0
"$here/models/fetch" mnist onnxruntime >"$dir/log" 2>&1 || status=$?
# The quantised files are made by the ranges of all tensors, from onnxruntime.
if [ "$status" -eq 0 ]; then
	{
		"$python" "$here/models/qdq.py" outputs "$cache/mnist.onnx" "$dir/all.onnx" &&
		node "$here/models/ranges.js" "$cache/ort" "$dir/all.onnx" \
			"$cache/mnist-calib.npy" "$dir/ranges.json"
	} >"$dir/log" 2>&1 || status=$?
fi
if [ "$status" -eq 0 ]; then
	compare mnist qdq quantise qdq
	compare mnist qlinear quantise qlinear
else
	skip_or_fail "$status" "MNIST, quantised"
fi
for model in mnist ppocr; do
	status=0
	"$here/models/fetch" "$model" >"$dir/log" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		compare "$model" "$model-uint8" peer "$model" QUInt8 QInt8 "$model-uint8"
		compare "$model" "$model-int8" peer "$model" QInt8 QInt8 "$model-int8"
	else
		skip_or_fail "$status" "$model by onnxruntime's quantiser"
	fi
done
echo "1..$n"
exit $failed
