#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The subjects of commits since tools/hooks/commit-msg is there, by that hook: prints TAP.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/.."
hook=tools/hooks/commit-msg
message=$(mktemp)
trap 'rm -f "$message"' EXIT

echo 'TAP version 13'
echo '1..2'

failed=0 count=0
added=$(git log --diff-filter=A --format=%H -- "$hook" 2>/dev/null | tail -n 1) || added=
if [ -z "$added" ]; then
	echo 'ok 1 subjects of commits # SKIP no history'
else
	while read -r commit; do
		git log -1 --format=%B "$commit" > "$message"
		"$hook" "$message" 2>&1 | sed "s/^/# ${commit:0:12}: /" || failed=1
		count=$((count + 1))
	done < <(git rev-list --no-merges "$added..HEAD")
	[ "$failed" -eq 0 ] || printf 'not '
	echo "ok 1 subjects of $count commits"
fi

judged=0
# judge STATUS SUBJECT: the hook exits with STATUS
judge() {
	local status=0
	echo "$2" > "$message"
	"$hook" "$message" 2>/dev/null || status=$?
	[ "$status" -eq "$1" ] || { judged=1; echo "# judged wrongly: $2"; }
}
judge 0 'kmod: queue: pass the reason to waiters'
judge 0 'CHANGELOG, README: name the new library'
judge 0 'tests, tools/vm: keep the kernel log when a fuzz guest dies'
judge 0 'Revert "kmod: queue: pass the reason to waiters"'
judge 1 'kmod: the watchdog measures by ktime'
judge 1 'kmod: counts an abort before it is made'
judge 1 'kmod: added a counter'
judge 1 'emulator: idle time passes by one comparison; a comment'
judge 1 'Keep the kernel log'
judge 1 "kmod: keep $(printf 'x%.0s' {1..70})"
[ "$judged" -eq 0 ] || printf 'not '
echo 'ok 2 subjects that are made up are judged rightly'
exit $((failed | judged))
