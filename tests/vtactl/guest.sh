#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: vtactl without the driver, with two cards, with users, faults, resets,
# a card that is given up and one that goes. Prints TAP.
# shellcheck disable=SC2317	# functions are called by check
#
# vm: --cards 2 --emu-arg-0 --serial=0xa --emu-arg-0 --sensors=318150,12500
# vm: --emu-arg-1 --serial=0xb --emu-arg-1 --queues=4 --file build/tools/vtactl:/bin/vtactl
# vm: --file build/tests/vtactl/worker:/bin/worker --file "$(command -v setpriv)"
# vm: --file /lib/terminfo/l/linux:/lib/terminfo/l/linux
# vm: --file docs/sysfs-abi.md:/docs/sysfs-abi.md --file docs/operating.md:/docs/operating.md
set -u

# shellcheck source=tests/tap.sh
. /lib/tap.sh
esc=$(printf '\033')
show() { cat /tmp/out /tmp/err; }

# ctl ARGUMENTS: vtactl; sets $status
ctl() {
	status=0
	timeout 60 vtactl "$@" >/tmp/out 2>/tmp/err </dev/null || status=$?
}
# unprivileged COMMAND...: as a user without any rights
unprivileged() {
	status=0
	/root/setpriv --reuid=65534 --regid=65534 --clear-groups timeout 60 "$@" \
		>/tmp/out 2>/tmp/err </dev/null || status=$?
}
# exits N [WORDS]: the last command ended with N, and printed the words to stderr
exits() { [ "$status" -eq "$1" ] && { [ $# -lt 2 ] || grep -q -- "$2" /tmp/err; }; }
# says PATTERN [FILE]
says() { grep -qE -- "$1" "${2:-/tmp/out}"; }
silent() { ! says "$@"; }
# soon COMMAND...: within 20 s
soon() {
	for _ in $(seq 40); do
		"$@" && return
		sleep 0.5
	done
	return 1
}
# inject WHAT: to the first card
inject() {
	exec 8<>/dev/virtio-ports/vta-emu0
	echo "inject $*" >&8
	read -r _ <&8
	exec 8>&-
}

# start NAME COMMAND...: in the background with a pipe as stdin; stop NAME ends it
start() {
	job=$1
	shift
	mkfifo "/tmp/$job.in"
	"$@" <"/tmp/$job.in" >"/tmp/$job.out" 2>"/tmp/$job.err" &
	job_pid=$!
	# shellcheck disable=SC3045
	exec 9>"/tmp/$job.in"
	soon grep -q ready "/tmp/$job.out"
}
stop() {
	exec 9>&-
	wait "$job_pid"
	rm "/tmp/$1.in"
}

# monitor ARGUMENTS: in the background, listening; its lines go to /tmp/monitor
monitor() {
	vtactl monitor "$@" >/tmp/monitor 2>/tmp/monitor.err &
	monitor_pid=$!
	soon grep -q listening /tmp/monitor.err
}
monitor_end() { kill "$monitor_pid" && wait "$monitor_pid"; }

echo 'root:x:0:' >/etc/group
echo 'render:x:4711:' >>/etc/group
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
echo "TAP version 13"

# ---- Without the driver ----

ctl export
check "export: no driver: is no error" exits 0
check "export: no driver: no cards" says '^vta_cards 0$'
for verb in list status top test bench; do
	ctl $verb
	check "$verb: no driver: exits 3 and says what to do" exits 3 'modprobe vta'
done
ctl monitor --timeout 1
check "monitor: no driver: waits, and ends in time" exits 0
cd /tmp || exit 1
ctl dump -o /tmp/none.tar
check "dump: no driver: is made all the same" exits 0
tar -tf /tmp/none.tar >/tmp/out
check "dump: no driver: has versions" says '^vta-dump/versions.txt$'

# ---- Two unused cards ----

monitor --json --count=2
insmod /lib/vta.ko || exit 1
soon [ -e /dev/vta1 ]
check "monitor: has an event for each card that comes" wait "$monitor_pid"
check "monitor: names them" says '"card":"vta1","event":"added"' /tmp/monitor
chgrp 4711 /dev/vta0 /dev/vta1
chmod 660 /dev/vta0 /dev/vta1
pci0=$(basename "$(readlink -f /sys/class/vta/vta0/device)")
pci1=$(basename "$(readlink -f /sys/class/vta/vta1/device)")

ctl list
check "list: two cards" [ "$(cat /tmp/out)" = "vta0  /dev/vta0  $pci0
vta1  /dev/vta1  $pci1" ]
ctl status
check "status: both, and works" exits 0
if [ -d /sys/class/hwmon ]; then
	check "status: temperature" says '^  temperature 45.000 C$'
	check "status: power" says '^  power       12.500 W$'
fi
check "status: no engine is busy" says '^  busy        compute [[]-+[]] 0 % copy [[]-+[]] 0 % over [0-9.]+ s$'
check "status: nothing has happened" says '^  last faults: none$'
check "status: link" says '^  link        [0-9.]+ GT/s x[0-9]+ of at most [0-9.]+ GT/s x[0-9]+$'
ctl status --json 1
check "status --json: one card" [ "$(grep -c '"serial"' /tmp/out)" -eq 1 ]
check "status --json: without sensors null" says '"temperature": *null'
ctl status --watch=0.2 --count=3 --json 0
check "status --watch: as often as asked" [ "$(grep -c '"serial":"000000000000000a"' /tmp/out)" -eq 3 ]
ctl test
check "test: the card works" exits 0
for part in memory copies operations load gemm alu interrupts; do
	check "test: $part" says "^$part +ok$"
done
ctl test --json vta1
check "test --json: a card of four queues" says '"ok": *true'
ctl bench --json
check "bench: measures" exits 0
check "bench: seven things, some rounds each" [ "$(grep -c '"rounds":[1-9]' /tmp/out)" -eq 7 ]
ctl cdi
check "cdi: a device for each card, and all" [ "$(grep -c '"name":"\(vta0\|vta1\|all\)"' /tmp/out)" -eq 3 ]
ctl top --batch --count=1 --delay=0.2
check "top: a line for each card" [ "$(grep -c '^vta[01]: compute' /tmp/out)" -eq 2 ]
check "top: no colours in a file" silent "$esc"
ctl top --batch --count=1 --delay=0.2 --color=always
check "top: bars of three colours at most" says "^      compute $esc\[32m\[-*\]$esc\[0m copy $esc\[32m\[-*\]$esc\[0m memory $esc\[3[123]m\["
# On a screen, of curses: the same bars, by the terminal's own sequences.
TERM=linux ctl top --count=1 --delay=0.2 --color=always
check "top: the screen has its colours" says "$esc\[32.*\[-*\]"
VTADEV_DEVICE=nosuch ctl status
check "status: the cards, and the device that is not there" exits 0 'VTADEV_DEVICE=nosuch: '

# ---- Users ----

start hold worker vta0 hold
hold=$job_pid
ctl status 0
check "status: the process that has it open" says "^    worker\[$hold\] of root: 1 MiB of the card, [0-9]+ [KM]iB of the host, queue [0-9]+$"
ctl status --json 0
check "status --json: its runs" says '"runs": *3\b'
check "status --json: its copies" says '"copies": *5\b'
check "status --json: all descriptors" says '"descriptors": *10\b'
ctl export
mine='card="vta0",uid="0",user="root"'
check "export: a user's memory" says "^vta_user_memory_bytes.$mine,kind=\"card\". 1048576$"
check "export: a user's files" says "^vta_user_contexts.$mine. 1$"
check "export: engine time of a file" says "^vta_client_busy_seconds_total.card=\"vta0\",client=\"[0-9]+\",uid=\"0\",user=\"root\",engine=\"copy\". [0-9]+[.][0-9]+$"
check "export: launches" says '^vta_launches_total.card="vta0". [1-9]'
unprivileged vtactl export
check "export: no permission is needed" exits 0
check "export: other users' files are shown to root only" silent '^vta_(user|client)_'
unprivileged vtactl status 0
check "status: no permission is needed, and is offered" exits 0 'usermod -aG render'
check "status: other users' processes are shown to root only" silent worker
check "status: but their number is shown" says '^    1 that you may not see'
check "status: nor faults" says '^  last faults: for root to see$'
unprivileged vtactl monitor --timeout 1
check "monitor: no permission is needed" exits 0 listening
unprivileged vtactl test
check "test: without permission exits 4, and says which group" exits 4 'usermod -aG render'
unprivileged vtactl bench
check "bench: without permission exits 4" exits 4 'usermod -aG render'
cat /proc/"$hold"/fdinfo/* 2>/dev/null | sed -n 's/^\(vta-[a-z-]*\):.*/\1/p' | sort -u >/tmp/out
# shellcheck disable=SC2016
sed -n 's/^| `\(vta-[a-z-]*\)` .*/\1/p' /docs/operating.md | sort -u >/tmp/err
check "fdinfo: as documented, all of it and no more" cmp -s /tmp/out /tmp/err
stop hold

start busy worker vta1 busy
row="^ *$job_pid root +vta1 +[0-9.]+ +[0-9.]+ +1024K +[0-9]+K +([0-9.]+) +([0-9.]+) +1 worker$"
# In a second in which the machine is paused nothing is launched.
top_rates() {
	ctl top -b -n 2 -d 1
	sed -nE "s@$row@\1 \2@p" /tmp/out | tail -n 1 >/tmp/rates
	read -r runs copies </tmp/rates
	[ "${runs%.*}" -gt 0 ] && [ "${copies%.*}" -gt 0 ] &&
		silent '^vta1: compute 0.0 %, copy 0.0 %'
}
check "top: its launches and copies a second" soon top_rates
check "top: the process that works, twice" [ "$(grep -cE "$row" /tmp/out)" -eq 2 ]
check "top: the card's engines" silent '^vta1: compute 0.0 %, copy 0.0 %'
unprivileged vtactl top -b -n 1 -d 0.5
check "top: not other users' processes" silent worker
busy_seen() {
	ctl status vta1
	says '^  busy        compute [[][#-]+[]] [0-9]+ % copy [[]#[#-]+[]] [1-9][0-9]* % over'
}
check "status: how busy" soon busy_seen
stop busy

# ---- Faults ----

monitor
worker vta0 fault 3 >/dev/null
counted() { [ "$(grep -c " vta0 fault queue=[0-9]* reason=page left_out=0$" /tmp/monitor)" -eq "$1" ]; }
check "monitor: each of a few faults" soon counted 3
ctl export
check "export: when the last fault was" says '^vta_last_fault_timestamp_seconds.card="vta0",reason="page". [0-9]{9,}$'
ctl status --all 0
check "status: the last faults" [ "$(grep -cE '^    at [0-9.]+ s queue [0-9]+ of worker\[[0-9]+\]: page, insn at' /tmp/out)" -eq 3 ]
unprivileged cat /sys/class/vta/vta0/fault_log
check "fault_log: for root" exits 1 'ermission denied'
monitor_end

# Many deliberate faults: few are reported, and all are counted.
sleep 10
monitor
echo 0 >/sys/module/vta/parameters/max_user_faults
uptime_s() { cut -d. -f1 /proc/uptime; }
begin=$(uptime_s)
worker vta0 fault 100 >/dev/null
# all listed, or counted as left out
total() {
	sed -n 's/.* vta0 fault .*left_out=//p' /tmp/monitor | {
		sum=0
		while read -r left; do sum=$((sum + left + 1)); done
		echo "$sum"
	}
}
all() { [ "$(total)" -eq "$1" ]; }
check "monitor: deliberate faults are all counted" soon all 100
# Eight in ten seconds: a busy machine takes many for a hundred faults.
check "monitor: and does not flood" \
	[ "$(wc -l </tmp/monitor)" -le $((20 + ($(uptime_s) - begin) * 8 / 10)) ]
monitor_end
ctl status --json
check "status: as many faults as there is room for, the rest counted" [ "$(grep -c '"reason": *"page"' /tmp/out)" -eq 16 ]

# A queue that was started anew has counted before, too; what faulted has not completed.
start recovered worker vta0 recovered
ctl status --json 0
check "status: usage still counts after a fault: runs" says '"runs": *2\b'
check "status: copies" says '"copies": *1\b'
check "status: descriptors" says '"descriptors": *3\b'
stop recovered
before=$(cat /sys/class/vta/vta0/usage/runs)
worker vta0 hold </dev/null >/dev/null
check "usage: of the card, with those that are gone" [ "$(cat /sys/class/vta/vta0/usage/runs)" -eq $((before + 3)) ]

# ---- A card that fails ----

inject fault=insn 1
ctl test
check "test: a card that fails exits 5" exits 5
check "test: and says how" says 'FAILS: .*llegal instruction'
inject clear

# sensor NAME: what it says, or the error
sensor() { cat /sys/class/vta/vta0/device/hwmon/hwmon*/"$1" >/tmp/out 2>/tmp/err; }
if [ -d /sys/class/hwmon ]; then
	inject zeros
	! sensor temp1_input
	check "sensors: what the card does not know is no value" says 'No data available' /tmp/err
	inject clear
	inject ones
	! sensor power1_input
	check "sensors: a card that does not answer has none" says 'No such device' /tmp/err
	inject clear
	sensor power1_input
	check "sensors: and has them again" says '^12500000$'
fi

# ---- Resets ----

# The names and numbers by which containers and schedulers know cards
registered() {
	vtactl cdi
	vtactl list --json --all
	stat -c '%n %t:%T %a %u:%g' /dev/vta?
	cat /sys/class/vta/vta?/dev
}
registered >/tmp/registered
monitor --json
start hold worker vta0 hold
echo 1 >/sys/class/vta/vta0/reset
reset='"card":"vta0","event":"reset","reason":"an administrator asked","generation":1,"error":0'
check "monitor: a reset, and why" soon says "$reset" /tmp/monitor
registered >/tmp/out
check "reset: cards keep names, numbers and their entries for containers" cmp /tmp/registered /tmp/out
ctl status 0
check "status: the last resets" says '^    at [0-9.]+ s reset: an administrator asked$'
check "status: it works" exits 0
check "status: a process that still has the lost card open" says "^    worker\[$job_pid\] of root: 0 B of the card, .*, has lost the card \(reset admin\)$"
ctl status --json 0
check "status --json: the same" says '"lost": *"reset admin"'
if [ -d /sys/class/devcoredump ]; then
	cat /sys/class/devcoredump/devcd*/data >/tmp/out
	check "devcoredump: of a reset" says '^because an administrator asked$'
	check "devcoredump: registers" says '^register 0x104 STATUS +0x0*[0-9a-f]+$'
	check "devcoredump: rings" says '^  record seq=10 state=1 '
	check "devcoredump: the last faults" says 'reason=page access=insn'
	check "devcoredump: no names" silent 'worker|root'
	unprivileged cat /sys/class/devcoredump/devcd1/data
	check "devcoredump: for root" [ "$status" -ne 0 ]
fi
echo '<4>vta-worker[1]: the kernel on a program whose name begins so' >/dev/kmsg
ctl dump -o /tmp/card.tar 0
check "dump: is made" exits 0
mkdir -p /tmp/dump
tar -xf /tmp/card.tar -C /tmp/dump
ls /tmp/dump/vta-dump /tmp/dump/vta-dump/vta0 >/tmp/out
for file in README.txt versions.txt kernel-log.txt open-files.txt status.json config-space.txt \
		sysfs; do
	check "dump: has $file" says "^$file$"
done
if [ -d /sys/class/devcoredump ]; then
	check "dump: has the devcoredump" grep -rqs '^because an administrator' /tmp/dump/vta-dump/vta0/devcoredump
	check "dump: keeps the devcoredump of a reset" [ -e /sys/class/devcoredump/devcd1/data ]
	# Without one, the card writes its present state, which is then deleted from the kernel.
	echo 1 >/sys/class/devcoredump/devcd1/data
	ctl dump -o /tmp/state.tar 0
	tar -xOf /tmp/state.tar vta-dump/vta0/state.txt >/tmp/out
	check "dump: the present state" says '^because the state was asked for$'
	check "dump: the present state has registers" says '^register 0x104 STATUS '
	check "dump: leaves no devcoredump" [ -z "$(find /sys/class/devcoredump -name "devcd*")" ]
	unprivileged sh -c 'echo 1 >/sys/class/vta/vta0/coredump'
	check "dump: only root asks for the state" [ "$status" -ne 0 ]
fi
check "dump: has the log" grep -q 'queue [0-9]* of \[[0-9]*\] halted' /tmp/dump/vta-dump/kernel-log.txt
grep -rE 'worker|"root"|comm=|uid=' /tmp/dump | cut -c 1-200 >/tmp/out
check "dump: no names of programs or users" silent .
check "dump: only its owner may read it" [ "$(stat -c %a /tmp/card.tar)" = 600 ]
stop hold
inject status-lost
ctl test
check "test: a card that is lost meanwhile, and why" says 'FAILS: .*: the card failed .*; it was reset: '
inject clear

# ---- Given up ----

inject reset-ignored
inject flr-stuck
echo 1 >/sys/class/vta/vta0/reset 2>/dev/null
check "monitor: the card was given up" soon says '"card":"vta0","event":"given-up","reason":"an administrator asked"' /tmp/monitor
ctl status 0
check "status: a card that was given up exits 5" exits 5
check "status: and says so" says '^  state       given up$'
ctl export
check "export: a card that was given up" says '^vta_card_state.card="vta0",state="given up". 1$'
ctl test 0
check "test: a card that was given up exits 5" exits 5
ctl top -b -n 1 -d 0.2
check "top: says that it was given up" says '^vta0: .* given up$'
if [ -d /sys/class/hwmon ]; then
	! sensor temp1_input
	check "sensors: a card that was given up has none" says 'No such device' /tmp/err
fi
! cat /sys/class/vta/vta0/counters/mmio_reads >/tmp/out 2>/tmp/err
check "counters: a card that was given up has none" says 'No such device' /tmp/err
inject clear
echo 1 >/sys/class/vta/vta0/reset
registered >/tmp/out
check "reset: of a card that was given up, likewise" cmp /tmp/registered /tmp/out
ctl status 0
check "status: after a reset it works again" exits 0

# ---- The documents ----

# Finds the files of a card, without those that every device has.
(cd /sys/class/vta/vta0/ && find . -type f) | sed 's@^\./@@' |
	grep -vE '^(uevent|dev|power/.*)$' | sort >/tmp/out
# shellcheck disable=SC2016
sed -n 's@^| `vtaN/\([^`]*\)` .*@\1@p' /docs/sysfs-abi.md | sort >/tmp/all
grep -v '^device/' /tmp/all >/tmp/err
diff /tmp/err /tmp/out >/tmp/diff
check "sysfs: as documented, all of it and no more" [ ! -s /tmp/diff ]
sed 's/^/# /' /tmp/diff
(cd /sys/class/vta/vta0/device/hwmon/hwmon*/ && find . -maxdepth 1 -type f) |
	sed 's@^\./@device/hwmon/hwmonM/@' | grep -v uevent | sort >/tmp/out
grep '^device/' /tmp/all >/tmp/err
[ ! -d /sys/class/hwmon ] ||
	check "hwmon: as documented, all of it and no more" cmp -s /tmp/out /tmp/err
(cd /sys/module/vta/parameters && ls) | sort >/tmp/out
# shellcheck disable=SC2016
sed -n 's@^| `parameters/\([^`]*\)` .*@\1@p' /docs/sysfs-abi.md | sort >/tmp/err
diff /tmp/err /tmp/out >/tmp/diff
check "parameters: as documented, all of them and no more" [ ! -s /tmp/diff ]
sed 's/^/# /' /tmp/diff

for event in /sys/kernel/tracing/events/vta/vta_*; do
	grep -q "\`\(vta:\)\?${event##*/}\`" /docs/operating.md || echo "$event"
done >/tmp/out
check "tracepoints: each is in the document" silent .

# ---- Gone ----

echo 1 >"/sys/bus/pci/devices/$pci0/remove"
check "monitor: a card is removed" soon says '"card":"vta0","event":"removed"' /tmp/monitor
monitor_end
ctl status vta0
check "status: a card that is gone exits 3" exits 3 'vta0: there is no such card'
ctl list
check "list: the other one" [ "$(cat /tmp/out)" = "vta1  /dev/vta1  $pci1" ]
ctl status
check "status: the other one" exits 0
rmmod vta
check "the module goes, whatever was looked at" [ ! -d /sys/module/vta ]
echo old >/tmp/cdi.json
ctl cdi --output=/tmp/cdi.json
check "cdi: without a card the file is removed" [ "$status$(ls /tmp/cdi.json 2>/dev/null)" = 0 ]
ctl status
check "status: no card is left" exits 3 'modprobe vta'

echo "1..$n"
exit "$failed"
