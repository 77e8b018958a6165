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
check "98 of 100 are right" [ "$(sed -n 's/^accuracy .*(\([0-9]*\) of .*/\1/p' /tmp/aot)" -ge $((images * 98 / 100)) ]
# The upload of the model is no more than a few.
check "a doorbell for each image" [ $(($(cat $counters/doorbells) - doorbells)) -le $((images + 4)) ]

# refused STATUS TEXT ARGUMENT...: it ends with STATUS, and TEXT in what it says
refused() {
	expected=$1
	text=$2
	shift 2
	aot "$@" > /tmp/out 2> /tmp/err
	check "ends with $expected: $text" [ $? -eq "$expected" ]
	check "and says so" grep -q "$text" /tmp/err
}
head -c 1000 /share/scores.bin > /tmp/short
refused 2 "usage: aot" /share/testset.bin
refused 1 "No such file" /tmp/none /share/scores.bin
refused 1 "Invalid argument" /share/scores.bin /share/scores.bin
refused 1 "not the scores of 2000 images" /share/testset.bin /tmp/short
refused 1 "2001: not a number from 1 to 2000" /share/testset.bin /share/scores.bin 2001
refused 1 "10x: not a number" /share/testset.bin /share/scores.bin 10x
echo "1..$n"
exit "$status"
