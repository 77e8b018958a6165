#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The card is taken away and brought back while processes compute. Prints TAP.
#
#   tests/storm/run.sh VTA.KO [ARGUMENTS OF STORM]
#
# VM_KERNEL says which kernel, as tools/vm/vm --kernel; STORM_TIMEOUT how many seconds
# it may take in all; COVERAGE=DIR is as in tests/selftests/run.sh.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
if [ $# -lt 1 ] || [ ! -f "$1" ]; then
	sed -n '4,9s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$(realpath "$1")
shift

options=()
[ -z "${COVERAGE-}" ] || options+=(--out "$COVERAGE/storm")
exec "$top/tools/vm/vm" run --kernel "${VM_KERNEL:-host}" --emu "$top/build/asan/vta-emu" \
	"${options[@]}" --emu-arg --mem=16M --append suspend.pm_test_delay=0 \
	--timeout "${STORM_TIMEOUT:-300}" \
	--file "$module:/lib/vta.ko" --file "$top/build/tests/storm/storm:/root/storm" \
	-- sh -c 'insmod /lib/vta.ko max_resets=0 && ./storm "$@" && rmmod vta' storm "$@"
