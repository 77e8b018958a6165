#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Streams with each of GEMM's kernels that this processor has: prints TAP.
#
#   tests/emu/gemm_streams.sh TEST_GEMM COMMAND...
#
# TEST_GEMM is the program of test_gemm.c, which lists kernels. The first of them that can be used
# is the one that COMMAND uses anyway, and is left out.
set -eu

[ $# -ge 2 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
list=$1
shift
tap_log=$(mktemp)
trap 'rm -f "$tap_log"' EXIT

echo "TAP version 13"
used=
for kernel in $("$list" --list); do
	case $kernel in
	\#*)
		skip "$* by ${kernel#\#}" "this processor does not have it"
		continue ;;
	esac
	if [ -z "$used" ]; then
		used=$kernel
		continue
	fi
	status=0
	VTA_CORE_GEMM=$kernel "$@" >"$tap_log" 2>&1 || status=$?
	result "$* by $kernel" "$status"
done
echo "1..$n"
exit "$failed"
