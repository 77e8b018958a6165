#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the VM harness itself. Most need no emulator; the few that do are skipped if it is not
# built. Prints TAP.
#
#   tools/vm/test.sh [NAME...]
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

here=$(dirname "$(realpath "$0")")
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-vm-test.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# The runs' temporary directories come here, so that the test sees their rest.
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp

emulator=${here%/tools/vm}/build/tools/vta-emu
# shellcheck source=tests/tap.sh
. "${here%/tools/vm}/tests/tap.sh"
# A test that cannot run here ends with this status, and the reason in $dir/skip.
skipped=4
tests=(packages missing_packages users_path status command_by_signal output noise time_out panic warning complaints tolerated
	silent_reboot programs scripts files out modules own_kernel no_emulator
	dying_emulator cards one_slot monitor uart killed_emulator left_emulator bad_usage
	interrupt terminate hang_up kill closed_pipe shell two_at_once clock changing_clock)

# messages FILE...: messages of runs, without the notice that a guest whose clock went wrong, as on
# a busy host, was booted again.
messages() {
	cat "$@" | grep -v "^vm: the guest's clock is wrong, booting again" || :
}

# vm STATUS ARGUMENTS...: run, expect this exit status, and put the output into $out and $err
vm() {
	local expected=$1 status=0
	shift
	"$here/vm" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
	out=$(cat "$dir/out")
	err=$(messages "$dir/err")
	[ "$status" -eq "$expected" ] || fail "vm $*: status $status, not $expected"
}

guest() {
	local expected=$1
	shift
	vm "$expected" run --cards 0 "$@"
}

fail() {
	echo "# $*"
	[ ! -s "$dir/err" ] || tail -n 20 "$dir/err" | sed 's/^/#   /'
	exit 1
}

same() {
	[ "$1" = "$2" ] || fail "'$1' is not '$2'"
}

# nothing_left: no process, mount or directory of any run so far. All that runs
# start has this test's TMPDIR in its environment.
nothing_left() {
	no_process
	same "$(ls "$TMPDIR")" ""
}

no_process() {
	local tries=0
	while env -u TMPDIR grep -qzsxF "TMPDIR=$TMPDIR" /proc/[0-9]*/environ; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || fail "processes are left:" \
			"$(env -u TMPDIR grep -lzsxF "TMPDIR=$TMPDIR" /proc/[0-9]*/environ)"
		sleep 0.1
	done
	! grep -q -e "$TMPDIR" -e vta-pcie/qemu /proc/self/mountinfo || fail "mounts are left"
}

# under_way SIGNAL ARGUMENTS...: a run with SIGNAL at its default, and its
# process group its own, as from a terminal. Waits until its command has begun.
under_way() {
	local signal=$1 tries
	shift
	: >"$dir/out"
	setsid env --default-signal="$signal" "$here/vm" run --cards 0 "$@" -- \
		sh -c 'echo begun; sleep 1000' >"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	for ((tries = 0; tries < 3000; tries++)); do
		! grep -q begun "$dir/out" || return 0
		sleep 0.1
	done
	fail "the guest did not begin"
}

# ends_by SIGNAL STATUS: to the whole group, as the terminal does.
ends_by() {
	local status=0
	kill -s "$1" -- "-$pid"
	wait "$pid" || status=$?
	same "$status" "$2"
	nothing_left
}

# as_user COMMAND...: as an ordinary user, with such a user's PATH
as_user() {
	local user=()
	[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${user[@]}" env PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

test_packages() {
	# The source tree may be where another user cannot read.
	mkdir "$dir/vm"
	cp -r "$here"/* "$dir/vm/"
	chmod -R a+rX "$dir/vm" "$dir"
	named host kmod busybox-static gcc
	named trixie zstd mmdebstrap uidmap
	[ ! -e "$dir/none" ] || fail "something was made"
	# A part in the cache needs no packages.
	vm 0 packages
	! grep -qx busybox-static "$dir/out" || fail "names busybox-static although it is cached"
	vm 2 packages host
}

# named KERNEL PACKAGE...: with nothing in the cache these are named, once each
named() {
	as_user VTA_CACHE="$dir/none" "$dir/vm/vm" packages --kernel "$1" >"$dir/out" 2>"$dir/err" ||
		fail "vm packages --kernel $1: status $?"
	shift
	for package; do
		grep -qx "$package" "$dir/out" || fail "$package is not among: $(cat "$dir/out")"
	done
	same "$(sort "$dir/out" | uniq -d)$(cat "$dir/err")" ""
}

test_missing_packages() {
	local status=0
	cp "$here/deps.sh" "$dir/deps.sh"
	chmod -R a+rX "$dir"
	as_user "$dir/deps.sh" need no-such-b dpkg no-such-a no-such-b >"$dir/out" 2>"$dir/err" ||
		status=$?
	same "$status" 1
	same "$(grep -c . "$dir/err")" 2
	same "$(sed -n 's/^  apt-get install --no-install-recommends //p' "$dir/err")" \
		"no-such-a no-such-b"
}

test_users_path() {
	PATH=/usr/local/bin:/usr/bin:/bin guest 0 -- true
	same "$out$err" ""
}

test_status() {
	guest 0 -- true
	same "$out$err" ""
	guest 1 -- false
	guest 7 -- sh -c 'exit 7'
	guest 127 -- no-such-command
	nothing_left
}

test_command_by_signal() {
	guest 137 -- sh -c 'kill -9 $$'
	guest 134 -- sh -c 'kill -ABRT $$'
}

test_output() {
	# shellcheck disable=SC2016 # as it is
	guest 0 -- printf '%s|' a 'b c' "it's" '' '$HOME' $'two\nlines' '*'
	same "$out" "a|b c|it's||\$HOME|two"$'\n'"lines|*|"
	# Both streams, in order, all of a large output, nothing of the kernel's.
	guest 0 -- sh -c 'echo one; echo two >&2; cat /proc/self/fd/0; seq 100000'
	same "$(md5sum <"$dir/out")" "$( (echo one; echo two; seq 100000) | md5sum)"
	# Processes that outlive the command neither delay the run nor add output.
	guest 3 --timeout 60 -- sh -c 'sleep 1000 & setsid sleep 1000 & echo end; exit 3'
	same "$out" end
}

test_noise() {
	guest 0 --dmesg -- sh -c 'echo hello >/dev/kmsg; echo exit 9'
	same "$out" "exit 9"
	grep -q 'hello' <<<"$err" || fail "--dmesg shows no kernel log"
	guest 0 --keep-log "$dir/log" -- true
	grep -q 'Linux version' "$dir/log" || fail "--keep-log keeps no kernel log"
}

test_time_out() {
	local limit
	# On a busy machine a guest takes long to begin.
	for limit in 8 30 120; do
		SECONDS=0
		guest 124 --timeout "$limit" -- sh -c 'echo begun; sleep 1000'
		[ "$SECONDS" -lt $((2 * limit + 60)) ] || fail "took $SECONDS s"
		[ "$out" != begun ] || break
	done
	same "$out" begun
	grep -q 'time-out' <<<"$err" || fail "time-out is not explained"
	nothing_left
	# A command that prints has more time.
	# shellcheck disable=SC2016 # the guest's shell
	guest 0 --timeout 15 -- sh -c 'for n in $(seq 40); do echo "$n"; sleep 1; done'
}

test_panic() {
	guest 125 --timeout 100 -- sh -c 'echo c >/proc/sysrq-trigger; sleep 1000'
	grep -q 'Kernel panic' <<<"$err" || fail "the panic is not shown"
	nothing_left
}

test_warning() {
	local line='WARNING: CPU: 0 PID: 1 at kernel/x.c:1 x+0x1/0x2'
	guest 125 -- sh -c "echo '$line' >/dev/kmsg"
	grep -qF "$line" <<<"$err" || fail "the warning is not shown"
}

# Lines that count as complaints, without a boot for each.
test_complaints() {
	local line
	# shellcheck source=run.sh
	. "$here/run.sh"
	run=$dir
	while IFS= read -r line; do
		printf '[    1.000000] %s\r\n' "$line" >"$dir/kernel.log"
		complaints 2>/dev/null || fail "passes: $line"
	done <<-'EOF'
		WARNING: possible circular locking dependency detected
		BUG: KASAN: slab-out-of-bounds in x+0x1/0x2
		BUG: unable to handle page fault for address: 0000000000001000
		BUG: sleeping function called from invalid context at x.c:1
		UBSAN: array-index-out-of-bounds in x.c:1:2
		Oops: 0000 [#1] PREEMPT SMP
		general protection fault, probably for non-canonical address 0x1
		INFO: task x:1 blocked for more than 120 seconds.
		rcu: INFO: rcu_preempt self-detected stall on CPU
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
		rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks:
		watchdog: BUG: soft lockup - CPU#0 stuck for 130s! [x:1]
		INFO: trying to register non-static key.
		kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
		Call Trace:
		Kernel panic - not syncing: x
	EOF
	while IFS= read -r line; do
		printf '[    1.000000] %s\r\n' "$line" >"$dir/kernel.log"
		! complaints 2>/dev/null || fail "taken for a complaint: $line"
	done <<-'EOF'
		Command line: console=ttyS0 oops=panic rcupdate.rcu_cpu_stall_timeout=300
		Kernel command line: x="WARNING: x"
		RCU CPU stall warnings timeout set to 300 (rcu_cpu_stall_timeout).
		evm: security.ima
		vta: loading out-of-tree module taints kernel.
		vta: module verification failed: signature and/or required key missing - tainting kernel
	EOF
}

# Only a warning at that function, and nothing beside it.
test_tolerated() {
	local what
	# shellcheck source=run.sh
	. "$here/run.sh"
	run=$dir
	for what in expected_here other; do
		printf '%s\n' '[ 1.0] ------------[ cut here ]------------' \
			"[ 1.0] WARNING: CPU: 0 PID: 1 at $what+0x1/0x2" '[ 1.0] Call Trace:' \
			'[ 1.0] ---[ end trace 0 ]---' '[ 1.0] all is well'
	done >"$dir/both.log"
	head -n 5 "$dir/both.log" >"$dir/kernel.log"
	tolerated='expected_.*'
	! complaints 2>/dev/null || fail "not tolerated"
	tolerated=expected
	complaints 2>/dev/null || fail "a part of a name is tolerated"
	tolerated='expected_.*'
	cp "$dir/both.log" "$dir/kernel.log"
	complaints 2>/dev/null || fail "tolerates what it should not"
	head -n 3 "$dir/both.log" >"$dir/kernel.log"
	complaints 2>/dev/null || fail "tolerates what has no end"
}

test_silent_reboot() {
	guest 125 -- reboot -f
	grep -q 'before the command had ended' <<<"$err" || fail "not explained"
}

test_programs() {
	# With its libraries, also one that nothing installed.
	mkdir "$dir/lib"
	echo 'int answer(void) { return 42; }' |
		gcc -shared -fPIC -Wl,-soname,libanswer.so.1 -o "$dir/lib/libanswer.so.1" -xc -
	gcc -o "$dir/program" -xc - -xnone "$dir/lib/libanswer.so.1" -Wl,-rpath,"$dir/lib" <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		int answer(void);
		static void *thread(void *arg) { for (;;) pause(); return arg; }
		int main(int argc, char **argv)
		{
			pthread_t t;
			if (pthread_create(&t, NULL, thread, NULL) ||
			    pthread_cancel(t) || pthread_join(t, NULL))
				return 1;
			printf("%s %d\n", argv[argc - 1], answer());
			return 42;
		}
	EOF
	guest 42 -- "$dir/program" 'the answer is'
	same "$out" 'the answer is 42'
	# By name, from the host's PATH.
	guest 0 -- setarch x86_64 uname -m
	same "$out" x86_64
}

# A kernel that takes the TSC for slower than it is: its clock runs away, some ten times as fast, and
# so do its timers' interrupts; with 25 times as many a busy host never ends the boot. With KVM
# it has another clock. The kernel's checks for CPUs without progress go by that clock,
# which a busy host makes them fail: they are turned off.
# clock_runs_away SAID OPTIONS COMMAND...
clock_runs_away() {
	vm 125 run --cards 0 --accel tcg \
		--append "$2 rcupdate.rcu_cpu_stall_suppress=1 nowatchdog" -- "${@:3}"
	grep -q "$1" "$dir/err" || fail "no '$1'"
	nothing_left
}

test_clock() {
	clock_runs_away 'clock is wrong, booting again' tsc_early_khz=250000 echo ran
	same "$out" ""
	same "$(grep -c 'booting again' "$dir/err")" 2
}

# Without a real-time clock it is found out in the end.
test_changing_clock() {
	clock_runs_away 'clock was wrong: it ran' \
		'tsc_early_khz=250000 initcall_blacklist=cmos_init' sleep 100
}

test_scripts() {
	printf '#!/bin/sh\necho sh "$@"\n' >"$dir/script"
	chmod +x "$dir/script"
	guest 0 -- "$dir/script" 1 2
	same "$out" "sh 1 2"
	# shellcheck disable=SC2016 # for that script
	printf '#!/usr/bin/env bash\na=(x y)\necho "${a[1]}" "$BASH_VERSION"\n' >"$dir/script"
	guest 0 -- "$dir/script"
	same "$out" "y $BASH_VERSION"
}

test_files() {
	mkdir -p "$dir/data/sub"
	echo one >"$dir/data/a b"
	echo two >"$dir/data/sub/c"
	guest 0 --file "$dir/data:/srv/data" --file "$dir/data/sub/c" -- \
		cat '/srv/data/a b' /srv/data/sub/c c
	same "$out" $'one\ntwo\ntwo'
	guest 125 --file "$dir/nothing" -- true
	grep -q 'no such file' <<<"$err" || fail "a missing file is not explained"
}

test_out() {
	guest 5 --out "$dir/got" -- \
		sh -c 'mkdir /out/sub; seq 200000 >/out/sub/numbers; echo x >/out/x; exit 5'
	same "$(md5sum <"$dir/got/sub/numbers")" "$(seq 200000 | md5sum)"
	same "$(ls "$dir/got")" $'sub\nx'
}

test_modules() {
	guest 0 --module vfio-pci -- sh -c 'cat /proc/modules | cut -d" " -f1'
	grep -qx vfio_pci <<<"$out" || fail "vfio_pci is not loaded"
	guest 125 --module no-such-module -- true
	grep -q 'no module no-such-module' <<<"$err" || fail "not explained"
	nothing_left
}

test_own_kernel() {
	local release kernel modules
	release=$("$here/vm" krelease)
	kernel=$(realpath "$("$here/vm" kdir)/../../..")
	modules=$kernel/lib/modules/$release
	[ -e "$modules/modules.dep" ] || modules=$kernel/usr/lib/modules/$release
	# Packed, as a distribution has it.
	guest 0 --kernel-image "$kernel/boot/vmlinuz-$release" \
		--modules "$modules" --module vfio-pci -- uname -r
	same "$out" "$release"
}

test_no_emulator() {
	vm 125 run --emu "$dir/no-emulator" -- true
	grep -q "no emulator at $dir/no-emulator" <<<"$err" || fail "not explained"
}

test_dying_emulator() {
	printf '#!/bin/sh\necho "bad luck" >&2\nexit 3\n' >"$dir/emulator"
	chmod +x "$dir/emulator"
	SECONDS=0
	vm 125 run --emu "$dir/emulator" -- true
	[ "$SECONDS" -lt 60 ] || fail "took $SECONDS s"
	grep -q 'emulator 0: bad luck' <<<"$err" || fail "its words are not shown"
	grep -q 'failed (3)' <<<"$err" || fail "its status is not shown"
	nothing_left
}

# A test that needs the emulator is skipped where it is not built.
emulator() {
	[ -x "$emulator" ] || {
		echo "no emulator at $emulator" >"$dir/skip"
		exit "$skipped"
	}
}

test_cards() {
	emulator
	# shellcheck disable=SC2016 # for the guest's shell
	vm 0 run --cards 2 --iommu -- sh -c '
		for card in /sys/bus/pci/devices/0000:0[12]:00.0; do
			cat $card/vendor $card/device
		done
		for n in 0 1; do
			exec 3<>/dev/virtio-ports/vta-emu$n
			echo counters >&3
			head -n 1 <&3 | cut -c1-11
		done'
	same "$(tr '\n' ' ' <<<"$out")" \
		'0x1234 0x5654 0x1234 0x5654 {"ok":true, {"ok":true, '
	nothing_left
}

test_one_slot() {
	emulator
	vm 0 run --cards 2 --one-slot -- sh -c 'cd /sys/bus/pci/devices && echo 0000:01:*'
	same "$out" '0000:01:00.0 0000:01:00.1'
}

test_monitor() {
	# shellcheck disable=SC2016 # for the guest's shell
	guest 0 --monitor -- sh -c '
		exec 3<>/dev/virtio-ports/vm-monitor
		head -n 1 <&3 | cut -c1-6
		echo "{ \"execute\": \"qmp_capabilities\" }" >&3
		head -n 1 <&3 | cut -c1-12'
	same "$out" $'{"QMP"\n{"return": {'
}

test_uart() {
	emulator
	head -c 5000 /bin/bash | tr -d '\0' >"$dir/bytes"
	# shellcheck disable=SC2016 # for the guest's shell
	vm 0 run --uart --cards 2 --out "$dir/got" --file "$dir/bytes" -- sh -c '
		cp /root/bytes /out
		cd /dev/virtio-ports
		for channel in *; do readlink $channel; done | cut -c1-7 | sort -u >/out/kinds
		for card in vta-emu0 vta-emu1; do
			exec 3<>$card
			echo state >&3
			head -n 1 <&3 | cut -c1-1
		done >/out/answers
		exec cat /root/bytes'
	cmp "$dir/bytes" "$dir/out" || fail "output came changed"
	cmp "$dir/bytes" "$dir/got/bytes" || fail "a file came changed"
	same "$(cat "$dir/got/kinds")" ../ttyS
	same "$(cat "$dir/got/answers")" $'{\n{'
}

test_killed_emulator() {
	local victim status
	emulator
	under_way TERM --cards 1
	victim=$(pgrep -g "$pid" -f -- "--socket $TMPDIR/")
	SECONDS=0
	kill -KILL "$victim"
	status=0
	wait "$pid" || status=$?
	same "$status" 125
	[ "$SECONDS" -lt 60 ] || fail "took $SECONDS s"
	grep -q 'emulator of card 0 failed (137)' "$dir/err" || fail "not explained"
	grep -q '^\[ *[0-9.]*\] ' "$dir/err" || fail "the kernel's log is not shown"
	nothing_left
}

# An emulator that ends well has been left by QEMU, which may take long to end on a busy host.
test_left_emulator() {
	local victim status=0
	emulator
	under_way TERM --cards 1
	victim=$(pgrep -g "$pid" -f -- "--socket $TMPDIR/")
	kill -TERM "$victim"
	while kill -0 "$victim" 2>/dev/null; do sleep 0.1; done
	sleep 4
	kill -KILL "$(pgrep -g "$pid" -f '^[^ ]*qemu-system')" 2>/dev/null || :
	wait "$pid" || status=$?
	same "$status" 125
	grep -q 'QEMU failed (137)' "$dir/err" || fail "not explained"
	nothing_left
}

test_bad_usage() {
	vm 2
	vm 2 run
	vm 2 run --cards x -- true
	vm 2 run --cards
	vm 2 run --no-such-option 1 -- true
	vm 2 run true
	vm 2 shell -- true
	vm 1 krelease --kernel no-such-suite
	vm 2 krelease --no-such-option
	vm 2 kdir --kernel host
	vm 2 kbuild "$dir"
	vm 125 run --cards 0 --kernel-image "$dir/none" -- true
	vm 0 help
}

test_interrupt() {
	under_way INT
	ends_by INT 130
}

test_terminate() {
	under_way TERM
	ends_by TERM 143
}

test_hang_up() {
	under_way HUP
	ends_by HUP 129
}

# The directory cannot be cleaned up then, but no process stays.
test_kill() {
	under_way TERM
	kill -KILL "$pid"
	wait "$pid" || true
	no_process
	rm -rf "${TMPDIR:?}"/*
}

test_closed_pipe() {
	local both
	SECONDS=0
	set +e
	env --default-signal=PIPE "$here/vm" run --cards 0 -- sh -c 'yes' 2>"$dir/err" |
		head -n 1 >"$dir/out"
	both=("${PIPESTATUS[@]}")
	set -e
	same "${both[0]}" 141
	[ "$SECONDS" -lt 300 ] || fail "took $SECONDS s"
	nothing_left
}

# On a terminal of its own; keys that come before the prompt would be lost.
test_shell() {
	local tries=0 status=0 script
	mkfifo "$dir/keys"
	script -qec "stty rows 33 cols 101; '$here/vm' shell --cards 0" /dev/null \
		<"$dir/keys" >"$dir/screen" 2>"$dir/err" &
	script=$!
	exec {keys}>"$dir/keys"
	until grep -q '~ #' "$dir/screen"; do
		tries=$((tries + 1))
		[ "$tries" -lt 3000 ] || fail "no prompt: $(cat "$dir/screen")"
		sleep 0.1
	done
	# shellcheck disable=SC2016 # the guest's shell
	{
		printf 'stty size; tty; [ -e /usr/share/terminfo/l/$TERM ] && echo ncu""rses\n'
		printf 'modprobe virtio_console && echo modp""robed\n'
		printf 'echo be""gun; sleep 1000\n'
	} >&"$keys"
	tries=0
	until grep -q '^begun' "$dir/screen"; do
		tries=$((tries + 1))
		[ "$tries" -lt 3000 ] || fail "nothing is run: $(cat "$dir/screen")"
		sleep 0.1
	done
	# Ctrl-C is for the guest.
	printf '\003exit 6\n' >&"$keys"
	wait "$script" || status=$?
	grep -q '33 101' "$dir/screen" || fail "no size of terminal: $(cat "$dir/screen")"
	grep -q '/dev/hvc0' "$dir/screen" || fail "no terminal: $(cat "$dir/screen")"
	grep -q '^ncurses' "$dir/screen" || fail "no terminfo: $(cat "$dir/screen")"
	grep -q '^modprobed' "$dir/screen" || fail "no modules.dep: $(cat "$dir/screen")"
	same "$status" 6
	nothing_left
}

test_two_at_once() {
	local one two status
	"$here/vm" run --cards 0 -- sh -c 'sleep 2; echo one; exit 1' >"$dir/one" 2>&1 &
	one=$!
	"$here/vm" run --cards 0 -- sh -c 'sleep 2; echo two; exit 2' >"$dir/two" 2>&1 &
	two=$!
	status=0; wait "$one" || status=$?; same "$status" 1
	status=0; wait "$two" || status=$?; same "$status" 2
	same "$(messages "$dir/one" "$dir/two")" $'one\ntwo'
	nothing_left
}

"$here/deps.sh" need gcc libc6-dev procps bsdutils
"$here/vm" setup

echo "TAP version 13"
[ $# -eq 0 ] || tests=("$@")
echo "1..${#tests[@]}"
for test in "${tests[@]}"; do
	# In a process of its own, where "set -e" holds.
	set +e
	(set -e; "test_$test")
	status=$?
	set -e
	if [ "$status" -eq "$skipped" ]; then
		skip "$test" "$(cat "$dir/skip")"
	else
		result "$test" "$status"
	fi
done
exit "$failed"
