#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# GEMM's kernel for Arm, built by a cross compiler and run by QEMU's user emulation: prints TAP.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
cc=aarch64-linux-gnu-gcc
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tap_log=$dir/log

echo "TAP version 13"
if ! command -v $cc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
	skip "neon-dotprod computes the sums" "it takes $cc and qemu-aarch64"
	echo "1..$n"
	exit
fi
status=0
{
	$cc -static -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror -I"$top/card" \
		-o "$dir/gemm" "$top/tests/emu/gemm_cross.c" "$top/card/core/core_gemm_arm.c" &&
	qemu-aarch64 "$dir/gemm"
} >"$tap_log" 2>&1 || status=$?
result "neon-dotprod computes the sums" "$status"
echo "1..$n"
exit "$failed"
