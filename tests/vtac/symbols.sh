#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# symbols.sh LIBVTAC_A: the library exports the calls of libvtac.h, these, and no others. Prints TAP.
set -eu

header=$(dirname "$0")/../../compiler/api/libvtac.h
want=$(printf 'vtac_net_%s\n' binary clip compile concat const conv2d dense dequantize emit_c error \
	flatten free global_mean input input_at new output place pool quantize read_onnx refused)
n=0 failed=0
# same NAME SYMBOLS
same() {
	n=$((n + 1))
	if [ "$2" = "$want" ]; then
		echo "ok $n - $1"
	else
		failed=1
		echo "not ok $n - $1"
		diff <(echo "$want") <(echo "$2") | sed 's/^/# /' || :
	fi
}

echo "TAP version 13"
same "the library exports these calls" \
	"$(nm -g --defined-only --format=posix "$1" | sed -n 's/^\([^ ]*\) [A-Z].*/\1/p' | LC_ALL=C sort)"
same "the header declares them" \
	"$(grep -v '^ \*' "$header" | grep -o 'vtac_net_[a-z0-9_]*(' | tr -d '(' | LC_ALL=C sort -u)"
echo "1..$n"
exit $failed
