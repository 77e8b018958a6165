#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The table of operators in docs/models.md is the one that ONNX's tests make. Prints TAP.
#
#	tests/vtac/table.sh ONNX_NODES DATA LIST
set -eu
page=$(dirname "$0")/../../docs/models.md
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

echo "TAP version 13"
echo "1..1"
if ! version=$(dpkg-query -W -f '${Version}' libonnx-testdata 2> /dev/null) || [ ! -d "$2" ]; then
	echo "ok 1 table # SKIP no libonnx-testdata"
	exit 0
fi
# Other releases have tests of more operators.
if [ "${version%%-*}" != 1.12.0 ]; then
	echo "ok 1 table # SKIP made with libonnx-testdata 1.12.0, not $version"
	exit 0
fi
"$1" "$2" "$3" table > "$dir/table"
if [ -s "$dir/table" ] && [ "$(grep -cFxf "$dir/table" "$page")" = "$(wc -l < "$dir/table")" ]; then
	echo "ok 1 the page has the table of operators"
else
	grep -vFxf "$page" "$dir/table" | sed 's/^/# /'
	echo "not ok 1 the page has the table of operators"
	exit 1
fi
