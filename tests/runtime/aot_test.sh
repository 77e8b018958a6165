#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/aot is exact, allocates nothing after its start, and launches once for each image,
# by the counters of a card. In the guest, or on a device in the process. Prints TAP.
#
#   aot_test [SHARE]: the directory of testset.bin and scores.bin
set -u

tap=/lib/tap.sh
[ -e $tap ] || tap=$(dirname "$0")/../tap.sh
# shellcheck source=tests/tap.sh
. "$tap"
share=${1:-/share}
cd "${TMPDIR:-/tmp}" || exit 1
images=200
counters=/sys/class/vta/vta0/counters
# counter NAME
counter() { cat "$counters/$1" 2> /dev/null || echo 0; }
runs=$(counter runs)
doorbells=$(counter doorbells)
aot "$share/testset.bin" "$share/scores.bin" $images > aot.log 2>&1
status=$?
sed 's/^/# /' aot.log

# counted NAME COMMAND...: a check of counters in sysfs
counted() {
	if [ -d $counters ]; then
		check "$@"
	else
		skip "$1" "a device in the process is not in sysfs"
	fi
}

check "aot succeeds" [ "$status" -eq 0 ]
check "all scores are those of the training script" \
	grep -q "^scores  *exact: $images of $images " aot.log
check "nothing is allocated after the start" grep -q '^allocations  *0 ' aot.log
check "98 of 100 are right" \
	[ "$(sed -n 's/^accuracy .*(\([0-9]*\) of .*/\1/p' aot.log)" -ge $((images * 98 / 100)) ]
counted "a launch for each image" [ $(($(counter runs) - runs)) -eq $images ]
# The upload of the model rings it a few times.
counted "a doorbell for each image" [ $(($(counter doorbells) - doorbells)) -le $((images + 4)) ]

# refused STATUS TEXT ARGUMENT...: aot prints TEXT and ends with STATUS
refused() {
	expected=$1
	text=$2
	shift 2
	aot "$@" > out 2> err
	check "ends with $expected: $text" [ $? -eq "$expected" ]
	check "and says so" grep -q "$text" err
}
head -c 1000 "$share/scores.bin" > short
refused 2 "usage: aot" "$share/testset.bin"
refused 1 "No such file" none "$share/scores.bin"
refused 1 "Invalid argument" "$share/scores.bin" "$share/scores.bin"
refused 1 "not the scores of 2000 images" "$share/testset.bin" short
refused 1 "2001: not a number from 1 to 2000" "$share/testset.bin" "$share/scores.bin" 2001
refused 1 "10x: not a number" "$share/testset.bin" "$share/scores.bin" 10x
echo "1..$n"
exit "$failed"
