#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each opset from 7 to 17: what the operators compute that are said in it as they are in
# libonnx-testdata's tests of them, most of which are of opset 13. Prints TAP.
#
#   tests/vtac/opsets.sh ONNX_NODES DATA LIST
set -eu
nodes=$1
data=$2
list=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

echo "TAP version 13"
if ! /usr/bin/python3 -c 'import onnx.defs' 2> "$dir/log"; then
	echo "ok 1 opsets # SKIP no python3-onnx"
	echo "1..1"
	exit 0
fi
n=0
failed=0
for opset in {7..17}; do
	n=$((n + 1))
	mkdir "$dir/$opset"
	if count=$(/usr/bin/python3 tests/vtac/opsets.py "$data" "$list" "$opset" "$dir/$opset" \
			2> "$dir/log") && [ "$count" -gt 0 ] &&
			"$nodes" "$dir/$opset" "$dir/$opset/list" > "$dir/log" 2>&1; then
		echo "ok $n opset $opset: $count tests"
	else
		failed=1
		echo "not ok $n opset $opset"
		grep -v '^ok' "$dir/log" | sed 's/^/# /'
	fi
done
echo "1..$n"
exit $failed
