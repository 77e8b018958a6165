#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# devices.sh - vtactl list, status, test, bench and doctor for devices in the process
#
#   tests/vtactl/devices.sh VTACTL PLUGINS
#
# Prints TAP. A device that is not there is skipped.
# shellcheck disable=SC2317 # functions that check calls
set -u

vtactl=$(realpath "$1")
VTADEV_PLUGINS=$(realpath "$2")
export VTADEV_PLUGINS
top=$(dirname "$(realpath "$0")")/../..
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tap_log=$dir/log

# json EXPRESSION ARGUMENT...: vtactl prints an object a for which it is true, in Python
json() {
	local expression=$1

	shift
	"$vtactl" "$@" > "$dir/out" && cat "$dir/out" && python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$dir/out" "$expression"
}
# prints PATTERN ARGUMENT...: vtactl succeeds, and prints such a line
prints() {
	local pattern=$1

	shift
	"$vtactl" "$@" > "$dir/out" && cat "$dir/out" && grep -qE "$pattern" "$dir/out"
}
# refused STATUS PATTERN ARGUMENT...
refused() {
	local status=$1 pattern=$2 got=0

	shift 2
	"$vtactl" "$@" > "$dir/out" 2> "$dir/err" || got=$?
	cat "$dir/err"
	[ "$got" -eq "$status" ] && [ ! -s "$dir/out" ] && grep -qE "$pattern" "$dir/err"
}

echo "TAP version 13"
for device in soft opencl; do
	if ! "$vtactl" status "$device" > /dev/null 2>&1; then
		skip "$device" "there is no device $device"
		continue
	fi
	export VTADEV_DEVICE=$device
	check "$device: list has it" prints "^$device  -  -$" list
	check "$device: list --json" json "{'index': None, 'node': '$device', 'pci': None} in a" \
		list --json
	check "$device: status shows it" prints "^$device$" status
	check "$device: status --all: its configuration" prints '^    LOG_BLOCK +4$' status --all
	check "$device: status --json: the card's fields, null where there is nothing" json \
		"a[-1]['node'] == '$device' and a[-1]['index'] is None and a[-1]['holders'] is None and
		a[-1]['memory']['size'] >= a[-1]['memory']['free'] > 0 and a[-1]['config']['LOG_BLOCK'] == 4" \
		status --json
	check "$device: test: it works" prints "^$device works$" test
	check "$device: test --json" json "a['ok'] and len(a['parts']) == 7" test --json "$device"
	check "$device: bench measures seven things" json "a['card'] == '$device' and
		len(a['results']) == 7 and all(r['best'] > 0 for r in a['results'])" bench --json
	check "$device: doctor finds it" prints "^ok +$device +$device" doctor
	check "$device: is no card to reset" refused 2 'a device in a program' reset "$device"
done
export VTADEV_DEVICE=nosuch
check "status: a device that is not there is named" refused 2 'VTADEV_DEVICE=nosuch: ' status
check "list: a device that is not there is named" refused 2 'VTADEV_DEVICE=nosuch: ' list
unset VTADEV_DEVICE
check "a configuration" prints '^    LOG_BLOCK +7$' status --all "soft:$top/tests/runtime/large.json"
check "its queues of the core" json "[a[-1]['config'][n] for n in ('LOG_TOKENS', 'LOG_WAITING')] == [8, 9]" \
	status --json "soft:$top/tests/rtl/configs/shallow.json"
check "a configuration that is not there" refused 2 'no/such' status "soft:$dir/no/such"
check "the nearest word" refused 2 'did you mean bench' program benhc x
check "the nearest word, without a file" refused 2 'did you mean run' program rnu
echo "1..$n"
exit "$failed"
