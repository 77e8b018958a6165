#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: examples/aot is exact, allocates nothing after its start, and
# launches once for each image. Prints TAP.
set -u

images=200
counters=/sys/class/vta/vta0/counters
runs=$(cat $counters/runs)
doorbells=$(cat $counters/doorbells)
aot /share/testset.bin /share/scores.bin $images > /tmp/aot 2>&1
status=$?
sed 's/^/# /' /tmp/aot

n=0
# check NAME COMMAND...
check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@"; then echo "ok $n $name"; else echo "not ok $n $name"; status=1; fi
}

check "aot succeeds" [ "$status" -eq 0 ]
check "all scores are those of the training script" \
	grep -q "^scores  *exact: $images of $images " /tmp/aot
check "nothing is allocated after the start" grep -q '^allocations  *0 ' /tmp/aot
check "a launch for each image" [ $(($(cat $counters/runs) - runs)) -eq $images ]
# The upload of the model is no more than a few.
check "a doorbell for each image" [ $(($(cat $counters/doorbells) - doorbells)) -le $((images + 4)) ]
echo "1..$n"
exit "$status"
