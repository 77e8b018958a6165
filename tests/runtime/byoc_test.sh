#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/byoc is exact and copies only between CPU and card, by the counters of a card too. In
# the guest, or on a device in the process. Prints TAP.
#
#   byoc_test [SHARE]: the directory of testset.bin
set -u

tap=/lib/tap.sh
[ -e $tap ] || tap=$(dirname "$0")/../tap.sh
# shellcheck source=tests/tap.sh
. "$tap"
share=${1:-/share}
cd "${TMPDIR:-/tmp}" || exit 1
counters=/sys/class/vta/vta0/counters
# counter NAME
counter() { cat "$counters/$1" 2> /dev/null || echo 0; }
runs=$(counter runs)
copies=$(counter copies)
byoc "$share/testset.bin" > byoc.log 2>&1
status=$?
sed 's/^/# /' byoc.log

# counted NAME COMMAND...: a check of counters in sysfs
counted() {
	if [ -d $counters ]; then
		check "$@"
	else
		skip "$1" "a device in the process is not in sysfs"
	fi
}

check "byoc succeeds" [ "$status" -eq 0 ]
check "all scores equal the reference" grep -q '^scores  *exact: 2000 of 2000 ' byoc.log
check "a copy in and one out for each run" grep -q '^copies  *80 in 40 runs ' byoc.log
counted "one launch for each run" [ $(($(counter runs) - runs)) -eq 40 ]
counted "the card has counted them, and the upload" [ $(($(counter copies) - copies)) -eq 81 ]

head -c 5000 "$share/testset.bin" > short
byoc > out 2> err
check "without arguments it says how to use it" [ $? -eq 2 ]
byoc short > out 2> err
check "a test set that is cut off is refused" grep -q 'byoc: short: ' err
echo "1..$n"
exit "$failed"
