# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# shellcheck disable=SC2034	# the script that sources this uses n and failed
#
# tap.sh - results in TAP, for scripts that source it; in a guest it is /lib/tap.sh
#
# $n is the number of results so far, $failed the exit status. If a script sets tap_log, check
# writes the output of its command to that file, and shows it after a failure. A script may define
# show() instead, which prints the lines that explain a failure.

n=0
failed=0
tap_log=

show() {
	if [ -n "$tap_log" ]; then
		tail -n 40 "$tap_log"
	fi
}

tap_run() {
	if [ -n "$tap_log" ]; then
		"$@" >"$tap_log" 2>&1 </dev/null
	else
		"$@"
	fi
}

# check NAME COMMAND...: one result, by the command's status
check() {
	tap_name=$1
	shift
	n=$((n + 1))
	if tap_run "$@"; then
		echo "ok $n $tap_name"
	else
		failed=1
		echo "not ok $n $tap_name"
		show | sed 's/^/# /'
	fi
}
