#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vtactl export (sanitized) against a made-up sysfs, and what Prometheus makes of it. Prints
# TAP.
#
# The program is the one beside it, build/tests/lib/vtactl, in the source tree's build
# directory. test_metrics tests the metrics of users.
set -u

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../../..")
if ! command -v umockdev-run > /dev/null; then
	echo "1..0 # SKIP umockdev is not installed"
	exit 0
fi
# shellcheck source-path=SCRIPTDIR source=mock.sh
. "$here/mock.sh"
cp "$here/vtactl" "$tmp/vtactl"

now=$(cut -d ' ' -f 1 /proc/uptime)
: > "$tmp/none"
card 0 0000:00:05.0 "$(config_space)" 'state=working\n' 'host_bytes=4096\n' 'pinned_bytes=0\n' \
	'page_table_bytes=8192\n' 'throttled=3\n' 'usage/run_ns=12000000034\n' \
	'usage/copy_ns=18446744073709551615\n' 'usage/runs=7\n' 'recovery/given_up=0\n' \
	'counters/faults=2\n' "fault_log=time=1.5 queue=1 reason=page access=insn comm=x\\ntime=$now queue=1 reason=insn\\ntime=$now queue=2 reason=page\\n" \
	"reset_log=time=$now result=reset error=0 generation=1 why=an administrator asked\\n" \
	> "$tmp/full"
card 0 0000:00:05.0 "$(config_space)" 'state=asleep\n' | sed '/counters/d' > "$tmp/asleep"
{
	card 10 0000:00:07.0 "$(config_space)" 'state=given up\n'
	card 2 0000:00:06.0 "$(config_space)" 'state=working\n'
} > "$tmp/two"
card 0 0000:00:05.0 "$(config_space)" |
	sed -e 's/^A: contract=.*/A: contract=a"b\\\\c\\n/' -e 's/^A: mem_size=.*/A: mem_size=lots\\n/' \
	> "$tmp/bad"

# line TEXT: a whole one of what was printed
line() { grep -qxF -- "$1" "$tmp/out"; }
sample() { grep -q "^$1[ {]" "$tmp/out"; }

echo "TAP version 13"

with none "$tmp/vtactl" export
[ $status -eq 0 ] && line 'vta_cards 0' && [ "$(grep -vc '^#' "$tmp/out")" -eq 1 ] && [ ! -s "$tmp/err" ]
result "no card: says so, and is no error" $?
cp "$tmp/out" "$tmp/none.prom"

with two "$tmp/vtactl" export
[ $status -eq 0 ] && line 'vta_cards 2' && line 'vta_queues{card="vta2"} 64' &&
	line 'vta_card_state{card="vta10",state="given up"} 1' &&
	line 'vta_card_state{card="vta10",state="working"} 0'
result "two cards, one given up" $?
cp "$tmp/out" "$tmp/two.prom"

with full "$tmp/vtactl" export
[ $status -eq 0 ] &&
	line 'vta_card_info{card="vta0",pci="0000:00:05.0",serial="0123456789abcdef",contract="1.0",hw_version="0.0.1"} 1' &&
	line 'vta_clock_hertz{card="vta0"} 100000000' && line 'vta_memory_size_bytes{card="vta0"} 67108864' &&
	line 'vta_faults_total{card="vta0"} 2' && line 'vta_throttled_calls_total{card="vta0"} 3' &&
	line 'vta_resets_total{card="vta0"} 3' && line 'vta_given_up_total{card="vta0"} 0'
result "numbers as in sysfs, in base units" $?
line 'vta_engine_busy_seconds_total{card="vta0",engine="compute"} 12.000000034' &&
	line 'vta_engine_busy_seconds_total{card="vta0",engine="copy"} 18446744073.709551615'
result "nanoseconds are seconds, exactly" $?
# seconds METRIC-AND-LABELS: how long ago
ago() { echo $(($(date +%s) - $(grep -F "$1" "$tmp/out" | cut -d ' ' -f 2))); }
age=$(ago 'vta_last_fault_timestamp_seconds{card="vta0",reason="page"}')
[ "$age" -ge 0 ] && [ "$age" -lt 600 ] && [ "$(grep -c '^vta_last_fault' "$tmp/out")" -eq 2 ]
result "the last fault for each reason, by the clock" $?
age=$(ago 'vta_last_reset_timestamp_seconds{card="vta0"}')
[ "$age" -ge 0 ] && [ "$age" -lt 600 ]
result "the last reset, by the clock" $?
cp "$tmp/out" "$tmp/full.prom"

with asleep "$tmp/vtactl" export
[ $status -eq 0 ] && line 'vta_card_state{card="vta0",state="asleep"} 1' &&
	! sample vta_faults_total && ! sample vta_temperature_celsius && sample vta_queues
result "a card that sleeps: what needs no registers" $?

with bad "$tmp/vtactl" export
# shellcheck disable=SC1003
[ $status -eq 0 ] && grep -qF 'contract="a\"b\\c"' "$tmp/out" && ! sample vta_memory_size_bytes
result "labels are escaped, and what is no number is left out" $?
cp "$tmp/out" "$tmp/bad.prom"

with full "$tmp/vtactl" export --anonymous
[ $status -eq 0 ] && sample vta_queues && ! grep -qE 'vta_(user|client)_' "$tmp/out"
result "--anonymous: no metrics of users" $?

# ---- Files ----

mkdir "$tmp/dir"
echo old > "$tmp/dir/vta.prom"
with two "$tmp/vtactl" export -o "$tmp/dir/vta.prom"
[ $status -eq 0 ] && [ ! -s "$tmp/out" ] && cmp "$tmp/dir/vta.prom" "$tmp/two.prom" &&
	[ "$(stat -c %a "$tmp/dir/vta.prom")" = 644 ] && [ "$(ls -A "$tmp/dir")" = vta.prom ]
result "--output: the file and nothing beside it, readable" $?

# shellcheck disable=SC2016
with none bash -c 'trap "" XFSZ; ulimit -f 1; exec "$1" export -o "$2"' sh "$tmp/vtactl" "$tmp/dir/vta.prom"
[ $status -eq 1 ] && says 'vta.prom: File too large' err && cmp "$tmp/dir/vta.prom" "$tmp/two.prom" &&
	[ "$(ls -A "$tmp/dir")" = vta.prom ]
result "--output: a write that fails leaves the old file" $?

with none "$tmp/vtactl" export -o "$tmp/no/vta.prom"
[ $status -eq 1 ] && says 'No such file or directory' err
result "--output: a directory that is not there" $?

# The lock is beside the target, where other writers look for it.
ln -s dir/vta.prom "$tmp/link"
with none "$tmp/vtactl" export -o "$tmp/link"
[ $status -eq 0 ] && [ -L "$tmp/link" ] && cmp "$tmp/dir/vta.prom" "$tmp/none.prom" &&
	[ "$(ls -A "$tmp/dir")" = vta.prom ]
result "--output: a link's target is replaced" $?

# The cards are listed when it is this writer's turn: one that has gone meanwhile is left out.
# The process that took the lock lives as long as the lock: in a PID namespace /proc/locks leaves
# out locks of processes that have ended, with all that wait for them.
# shellcheck disable=SC2016
with two bash -c '
	coproc holder { exec flock --no-fork "$2.new" bash -c "echo; read -r"; }
	read -r <&"${holder[0]}"
	"$1" export -o "$2" &
	until grep -qE -- "-> FLOCK .* $! " /proc/locks; do
		kill -0 $! || exit 1
		sleep 0.05
	done
	rm "$UMOCKDEV_DIR/sys/class/vta/vta10"
	echo >&"${holder[1]}"
	wait $!' bash "$tmp/vtactl" "$tmp/dir/vta.prom"
cp "$tmp/dir/vta.prom" "$tmp/out"
[ $status -eq 0 ] && line 'vta_cards 1' && [ ! -e "$tmp/dir/vta.prom.new" ]
result "--output: writers wait for each other, and look when it is their turn" $?

# ---- Prometheus ----

"$top/tests/vtactl/metrics.py" "$tmp"/{none,two,full,bad}.prom > "$tmp/out" 2> "$tmp/err"
result "metrics, document, dashboard and rules fit together (tests/vtactl/metrics.py)" $?
if command -v promtool > /dev/null; then
	for file in none two full bad; do
		promtool check metrics < "$tmp/$file.prom" > "$tmp/out" 2> "$tmp/err"
		result "promtool: metrics: $file" $?
	done
	cp "$top/tests/vtactl/rules_test.yml" "$top/examples/monitoring/vta-rules.yml" "$tmp"
	promtool check rules "$tmp/vta-rules.yml" > "$tmp/out" 2> "$tmp/err"
	result "promtool: rules" $?
	promtool test rules "$tmp/rules_test.yml" > "$tmp/out" 2> "$tmp/err"
	result "promtool: each alert fires when it should, and only then" $?
else
	skip "promtool: metrics and rules" "promtool is not installed (apt install prometheus, which starts a server)"
fi
if command -v systemd-analyze > /dev/null; then
	sed "s|@BINDIR@|$tmp|" "$top/tools/vtactl/systemd/vta-export.service.in" > "$tmp/vta-export.service"
	cp "$top/tools/vtactl/systemd/vta-export.timer" "$tmp"
	systemd-analyze verify --man=no "$tmp/vta-export.service" "$tmp/vta-export.timer" > "$tmp/out" 2> "$tmp/err" &&
		! grep vta-export "$tmp/err"
	result "systemd: service and timer" $?
else
	skip "systemd: service and timer" "systemd-analyze is not installed"
fi

echo "1..$n"
exit $failed
