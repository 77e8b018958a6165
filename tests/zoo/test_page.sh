#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# page.py: rows that were measured go into a page, and sums of all of them. Prints TAP.
set -euo pipefail

page=$(realpath "$(dirname "$0")/page.py")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0 count=0

# ok TEXT COMMAND...
ok() {
	local text=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count $text"
	else
		echo "not ok $count $text"
		failed=1
	fi
}

# table ROW...: a table, and its sums
table() {
	printf '%s\n' '| network | nodes |' '| --- | ---: |' "$@" '' 'In all, new sums' 'of two lines.'
}

old() {
	printf '%s\n' before '' '| network | nodes |' '| --- | ---: |' '| a | 1 |' '| b | 2 |' '' \
		'A machine.' '' 'In all, old sums.' 'And more.' '' behind
}

echo "TAP version 13"
old >page.md
table '| b | 3 |' >zoo.md
"$page" zoo.md page.md
ok "some rows are replaced, and the sums stay" \
	cmp -s page.md <(old | sed 's/^| b | 2 |/| b | 3 |/')
table '| b | 4 |' '| a | 5 |' '| c | 6 |' >zoo.md
"$page" zoo.md page.md
ok "all rows and the sums are replaced, and a new row is the last" cmp -s page.md <(
	printf '%s\n' before '' '| network | nodes |' '| --- | ---: |' '| a | 5 |' '| b | 4 |' \
		'| c | 6 |' '' 'A machine.' '' 'In all, new sums' 'of two lines.' '' behind)
old >page.md
table '| a | 7 |' | sed 's/nodes/knots/' >zoo.md
status=0
"$page" zoo.md page.md 2>/dev/null || status=$?
ok "a table of other columns is refused" test "$status" -ne 0
ok "and the page stays" cmp -s page.md <(old)
echo "1..$count"
exit "$failed"
