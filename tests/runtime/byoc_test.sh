#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: examples/byoc is exact and copies where the device changes, which
# the card has counted too. Prints TAP.
set -u

counters=/sys/class/vta/vta0/counters
runs=$(cat $counters/runs)
copies=$(cat $counters/copies)
byoc /share/testset.bin > /tmp/byoc 2>&1
status=$?
sed 's/^/# /' /tmp/byoc

n=0
# check NAME COMMAND...
check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@"; then echo "ok $n $name"; else echo "not ok $n $name"; status=1; fi
}

check "byoc succeeds" [ "$status" -eq 0 ]
check "all scores equal the reference" grep -q '^scores  *exact: 2000 of 2000 ' /tmp/byoc
check "a copy in and one out for each run" grep -q '^copies  *80 in 40 runs ' /tmp/byoc
check "one launch for each run" [ $(($(cat $counters/runs) - runs)) -eq 40 ]
check "the card has counted them, and the upload" [ $(($(cat $counters/copies) - copies)) -eq 81 ]

head -c 5000 /share/testset.bin > /tmp/short
byoc > /tmp/out 2> /tmp/err
check "without arguments it says how to use it" [ $? -eq 2 ]
byoc /tmp/short > /tmp/out 2> /tmp/err
check "a test set that is cut off is refused" grep -q 'byoc: /tmp/short: ' /tmp/err
echo "1..$n"
exit "$status"
