# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests in shell, to be sourced: KTAP results, counted.

ktap_number=0
ktap_failed=0

# ktap_plan N
ktap_plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# ktap_result NAME COMMAND...: passed if the command succeeds
ktap_result() {
	ktap_name=$1
	shift
	ktap_number=$((ktap_number + 1))
	if "$@"; then
		echo "ok $ktap_number $ktap_name"
	else
		ktap_failed=1
		echo "not ok $ktap_number $ktap_name"
	fi
}

ktap_exit() {
	exit "$ktap_failed"
}
