#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The fault matrix in a VM: every kind of fault of the card in every state of the
# driver. Prints KTAP, and leaves the table in OUT as matrix.txt and matrix.html.
#
#   tests/matrix/run.sh VTA.KO OUT [ARGUMENTS OF MATRIX]
#
# VM_KERNEL says which kernel, as tools/vm/vm --kernel; COVERAGE=DIR is as in
# tests/selftests/run.sh. Parts of it, by -e and -o, want an OUT each, and
# report.py makes one table of their logs.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
if [ $# -lt 2 ] || [ ! -f "$1" ]; then
	sed -n '4,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$(realpath "$1")
out=$2
shift 2

mkdir -p "$out"
options=()
[ -z "${COVERAGE-}" ] || options+=(--out "$COVERAGE/matrix-${out##*/}")
status=0
"$top/tools/vm/vm" run --kernel "${VM_KERNEL:-host}" --emu "$top/build/asan/vta-emu" \
	"${options[@]}" --emu-arg --mem=16M --append suspend.pm_test_delay=0 --timeout 1800 \
	--file "$module:/lib/vta.ko" \
	--file "$top/build/tests/matrix/matrix:/root/matrix" \
	-- sh -c 'insmod /lib/vta.ko && ./matrix "$@" && rmmod vta' matrix "$@" |
	tee "$out/matrix.log" || status=1
"$here/report.py" "$out" "$out/matrix.log"
exit "$status"
