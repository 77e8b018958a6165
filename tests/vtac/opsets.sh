#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each opset from 7 to 22: what the operators compute that it has as they are in
# libonnx-testdata's tests of them, most of which are of opset 13; and what opsets from 18 on
# have added to them. Prints TAP.
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
# shellcheck source=tests/tap.sh
. tests/tap.sh

show() {
	grep -v '^ok' "$dir/log"
}

# try OPSET NAME SCRIPT ARGUMENT...: the tests that SCRIPT makes in a directory, its last argument
try() {
	local opset=$1 name=$2 out=$dir/$1-$2 count
	shift 2
	mkdir "$out"
	if count=$(/usr/bin/python3 "$@" "$out" 2> "$dir/log") && [ "$count" -gt 0 ] &&
			"$nodes" "$out" "$out/list" > "$dir/log" 2>&1; then
		result "opset $opset, $name: $count tests" 0
	else
		result "opset $opset, $name" 1
	fi
}

for opset in {7..22}; do
	try "$opset" same tests/vtac/opsets.py "$data" "$list" "$opset"
	[ "$opset" -lt 18 ] || try "$opset" news tests/vtac/opset_news.py "$opset"
done
echo "1..$n"
exit $failed
