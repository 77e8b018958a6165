# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# shellcheck disable=SC2034	# the script that sources this uses n and failed
#
# tap.sh - results in TAP, for scripts that source it; in a guest it is /lib/tap.sh
#
# $n is the number of results so far, $failed the exit status. $tap_prefix comes before each name.
# If a script sets tap_log, check writes the output of its command to that file, and a failed
# result shows it. A script may define show() instead, which prints the lines that explain a
# failure.

n=0
failed=0
tap_log=
tap_prefix=

show() {
	if [ -s "$tap_log" ]; then
		tail -n 60 "$tap_log" | tr -d '\r'
	fi
}

# result NAME STATUS: one result
result() {
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n $tap_prefix$1"
	else
		failed=1
		echo "not ok $n $tap_prefix$1"
		show | sed 's/^/# /'
	fi
}

# skip NAME WHY: one result
skip() {
	n=$((n + 1))
	echo "ok $n $tap_prefix$1 # SKIP $2"
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
	tap_status=0
	shift
	tap_run "$@" || tap_status=$?
	result "$tap_name" "$tap_status"
}
