#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vtactl (sanitized) against a made-up sysfs, which umockdev puts before the
# real one. Prints TAP.
#
# The program is the one beside it: build/tests/lib/vtactl.
set -u

here=$(dirname "$(realpath "$0")")
vtactl=$here/vtactl

if ! command -v umockdev-run > /dev/null; then
	echo "1..0 # SKIP umockdev is not installed"
	exit 0
fi
# shellcheck source-path=SCRIPTDIR source=mock.sh
. "$here/mock.sh"
cp "$vtactl" "$tmp/vtactl"

: > "$tmp/none"
card 0 0000:00:05.0 "$(config_space)" > "$tmp/one"
{
	card 10 0000:00:07.0 "$(config_space)"
	card 2 0000:00:06.0 "$(config_space)"
} > "$tmp/two"
# A user without rights can read 64 bytes of a configuration space.
card 0 0000:00:05.0 "$(config_space | head -c 128)" > "$tmp/short"
# A card whose registers and files have gone bad.
sed -e 's/^A: mem_size=.*/A: mem_size=lots\\n/' -e 's/^A: queues=.*/A: queues=-1\\n/' \
	-e 's/^A: vectors=.*/A: vectors=99999999999999999999\\n/' \
	-e 's/^A: contract=.*/A: contract="\\n/' -e '/counters/d' "$tmp/one" > "$tmp/bad"

same() { [ "$1" = "$2" ]; }

# json EXPRESSION: of the array a that was printed, in Python
json() {
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$tmp/out" "$1"
}

echo "TAP version 13"

for command in list status; do
	with none "$tmp/vtactl" $command
	[ $status -eq 3 ] && [ ! -s "$tmp/out" ] && says 'modprobe vta' err
	result "$command: without the driver says to load it, exits 3" $?
done

for command in list status; do
	VTADEV_DEVICE=soft with none "$tmp/vtactl" $command
	[ $status -ne 0 ] && says 'VTADEV_DEVICE=soft: there is no' err &&
		says 'install the package libvtadev-soft' err
	result "$command: says why the device that VTADEV_DEVICE names does not open" $?
done

for command in test bench; do
	VTADEV_DEVICE=nosuch with one "$tmp/vtactl" $command
	[ $status -eq 2 ] && says 'VTADEV_DEVICE=nosuch: not the index' err
	result "$command: names what VTADEV_DEVICE says" $?
done

with none "$tmp/vtactl" status vta0
[ $status -eq 3 ] && says 'vta0: there is no such card' err
result "status vta0: without one exits 3" $?

with one "$tmp/vtactl" list
[ $status -eq 0 ] && same "$(cat "$tmp/out")" "vta0  /dev/vta0  0000:00:05.0"
result "list: one card" $?

with two "$tmp/vtactl" list
[ $status -eq 0 ] && same "$(cut -d' ' -f1 "$tmp/out" | tr '\n' ' ')" "vta2 vta10 "
result "list: two cards by number" $?

# As in a container that has one of two cards.
# shellcheck disable=SC2016 # the shell in umockdev-run expands it
with two sh -c 'rm "$UMOCKDEV_DIR/dev/vta2"; "$0" list; "$0" status vta2' "$tmp/vtactl"
[ $status -eq 3 ] && [ "$(cat "$tmp/out")" = "vta10  /dev/vta10  0000:00:07.0" ] && says 'no such card' err
result "list: a card without a node, beside one that has it, is not there" $?
# shellcheck disable=SC2016
with two sh -c 'rm "$UMOCKDEV_DIR"/dev/vta*; "$0" list' "$tmp/vtactl"
[ $status -eq 0 ] && [ "$(wc -l < "$tmp/out")" -eq 2 ]
result "list: all cards, if none has a node" $?

with two "$tmp/vtactl" list --all
[ $status -eq 0 ] && same "$(head -n 1 "$tmp/out")" "card  node  PCI address"
result "list --all: has a header" $?

with two "$tmp/vtactl" list --json
[ $status -eq 0 ] && json '[c["index"] for c in a] == [2, 10] and a[0] ==
	{"index": 2, "node": "/dev/vta2", "pci": "0000:00:06.0"}'
result "list --json" $?

with one "$tmp/vtactl" status --all
[ $status -eq 0 ] && says '63 MiB free of 64 MiB' out && says '2 used of 64' out &&
	says '1 used of 16' out && says '0000:00:05.0' out &&
	says '8 GT/s x4 of at most 16 GT/s x16' out && says 'version 0.0.1 at 100000 kHz' out &&
	says '0123456789abcdef' out && grep -qE '^    doorbells +18446744073709551615$' "$tmp/out"
result "status --all: text" $?

# A card with all that it can have, of which each list is long.
logs() {
	local i
	printf '%s=' "$1"
	for i in 1 2 3 4 5 6 7 8; do
		printf 'time=%s queue=1 reason=insn result=reset why=x\\n' $i
	done
}
card 0 0000:00:05.0 "$(config_space)" 'state=working\n' "$(logs fault_log)" "$(logs reset_log)" \
	'usage/run_ns=1\n' 'recovery/given_up=0\n' > "$tmp/full"
with full "$tmp/vtactl" status
[ $status -eq 0 ] && [ "$(wc -l < "$tmp/out")" -le 16 ] && says 'last faults, 1 of 8' out &&
	says 'at 8 s' out && ! says 'at 7 s' out && ! says LOG_BLOCK out && says '2 used of 64' out
result "status: fits a screen" $?
says 'memory      [#---------------] 63 MiB free of 64 MiB' out
result "status: a bar of the memory in use" $?
with full "$tmp/vtactl" status --color=always
grep -q "state       $(printf '\033')\[32mworking$(printf '\033')\[0m$" "$tmp/out"
result "status --color: a working card is green" $?
TERM=xterm with full script -qec "$tmp/vtactl status" /dev/null
says "$(printf '\033')[32m" out
result "status: colours on a terminal" $?
TERM=xterm NO_COLOR=1 with full script -qec "$tmp/vtactl status" /dev/null
says working out && ! says "$(printf '\033')" out
result "status: none with NO_COLOR" $?
with full "$tmp/vtactl" status --all
[ $status -eq 0 ] && [ "$(wc -l < "$tmp/out")" -gt 24 ] && says 'at 1 s' out && says LOG_BLOCK out
result "status --all: has the rest" $?

with one "$tmp/vtactl" status 0 --json
[ $status -eq 0 ] && json 'a == [{
	"index": 0, "node": "/dev/vta0", "accessible": True,
	"pci": {"address": "0000:00:05.0", "vendor": "0x1234", "device": "0x5654",
		"link": {"now": {"gts": 8, "width": 4}, "max": {"gts": 16, "width": 16}}},
	"contract": "1.0", "hw_ver": "0.0.1", "serial": "0123456789abcdef",
	"state": None, "generation": 3, "clock_khz": 100000, "vectors": 9,
	"temperature": None, "power": None,
	"memory": {"size": 67108864, "free": 66060288, "host": None, "pinned": None,
		"page_tables": None},
	"queues": {"total": 64, "used": 2}, "contexts": {"total": 16, "used": 1},
	"throttled": None, "holders": [], "config": {"LOG_BATCH": 0, "LOG_BLOCK": 4}, "tvm": None, "usage": None,
	"recovery": None, "counters": {"doorbells": 2**64 - 1, "runs": 5},
	"faults": None, "resets": None}]'
result "status --json: all there is" $?

card 0 0000:00:05.0 "$(config_space)" 'state=asleep\n' > "$tmp/asleep"
with asleep "$tmp/vtactl" status --json
[ $status -eq 0 ] && json 'a[0]["state"] == "asleep" and a[0]["pci"]["link"] is None'
result "status: the configuration space of a card that sleeps is not read" $?

# with_core LOG_UOP_BUFF_SIZE LOG_ACC_BUFF_SIZE COMMAND...: one card with such a core
with_core() {
	sed "/^A: config.LOG_BLOCK/a\\
A: config/LOG_ACC_WIDTH=5\\\\n\\
A: config/LOG_UOP_BUFF_SIZE=$1\\\\n\\
A: config/LOG_ACC_BUFF_SIZE=$2\\\\n" "$tmp/one" > "$tmp/core"
	shift 2
	with core "$@"
}
while read -r uop acc usable; do
	with_core "$uop" "$acc" "$tmp/vtactl" status --json
	[ $status -eq 0 ] && json "a[0]['tvm'] is $usable"
	result "status --json: a core of $uop, $acc: TVM's headers fit: $usable" $?
done <<-END
	15 17 True
	11 17 True
	10 17 False
	5 8 False
END
with_core 10 17 "$tmp/vtactl" status
says 'TVM         cannot use this core' out
result "status: names a core that TVM's headers lay out otherwise" $?
with_core 11 17 "$tmp/vtactl" status
! says TVM out
result "status: has no word about others" $?

# In a container sysfs has cards whose nodes are not there. The made-up node is no card.
# shellcheck disable=SC2016
with two sh -c 'rm "$UMOCKDEV_DIR/dev/vta2" && exec "$1" test' sh "$tmp/vtactl"
[ $status -eq 1 ] && says '/dev/vta10' err && ! says '/dev/vta2' err
result "test: the first card whose node is there" $?
with two "$tmp/vtactl" test
[ $status -eq 1 ] && says '/dev/vta2' err
result "test: the first card of all" $?
# In a cluster's job there are nodes that cannot be opened.
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
status=0
# shellcheck disable=SC2016
"${user[@]}" umockdev-run --device "$tmp/two" -- \
	sh -c 'chmod 0 "$UMOCKDEV_DIR/dev/vta2" && exec "$1" test' \
	sh "$tmp/vtactl" > "$tmp/out" 2> "$tmp/err" || status=$?
[ $status -eq 1 ] && says '/dev/vta10' err && ! says '/dev/vta2' err
result "test: the first card that may be opened" $?

for name in 10 vta10 /dev/vta10 0000:00:07.0 00:07.0; do
	with two "$tmp/vtactl" status "$name" --json
	[ $status -eq 0 ] && json '[c["index"] for c in a] == [10]'
	result "status $name: picks the card" $?
done

with two "$tmp/vtactl" status 1
same $status 3
result "status 1: is not the second card but vta1" $?

with short "$tmp/vtactl" status --json
[ $status -eq 0 ] && json 'a[0]["pci"]["link"] is None' && [ ! -s "$tmp/err" ]
result "status: no link without the right to read it, and no complaint" $?

with bad "$tmp/vtactl" status --json
[ $status -eq 0 ] && json 'a[0]["memory"]["size"] is None and a[0]["queues"]["total"] is None
	and a[0]["vectors"] is None and a[0]["counters"] is None and a[0]["contract"] == "\""'
result "status: garbage is null, and quoted" $?

with bad "$tmp/vtactl" status
[ $status -eq 0 ] && says 'free of unknown' out
result "status: garbage as text" $?

# Another card comes in the place of one that was sampled a second ago.
sed '/^A: counters.doorbells/a\
A: usage/run_ns=9000000000\\n\
A: usage/copy_ns=9000000000\\n' "$tmp/one" > "$tmp/used"
# shellcheck disable=SC2016
with used sh -c '"$1" top -b -n 1 -d 1 & sleep 0.3
	echo 1000 > "$UMOCKDEV_DIR/sys/class/vta/vta0/usage/run_ns"; wait' sh "$tmp/vtactl"
says 'vta0: compute 0.0 %, copy 0.0 %' out
result "top: a count that begins anew" $?

# The card goes while a terminal shows it: the reason is printed when the terminal shows text again.
cat > "$tmp/gone.py" <<-'END'
	import os, pty, shutil, sys

	pid, fd = pty.fork()
	if not pid:
	    os.environ["TERM"] = "xterm"
	    os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "0.2", "vta0"])
	said = b""
	while b"PID" not in said:
	    said += os.read(fd, 4096)
	os.unlink(os.environ["UMOCKDEV_DIR"] + "/sys/class/vta/vta0")
	shutil.rmtree(os.environ["UMOCKDEV_DIR"] + "/sys/devices")
	try:
	    while True:
	        said += os.read(fd, 4096)
	except OSError:
	    pass
	status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
	print(status, said[said.rindex(b"\033[?1049l"):].decode())
END
with one python3 "$tmp/gone.py" "$tmp/vtactl"
says 'vta0: there is no such card' out && grep -q '^3 ' "$tmp/out"
result "top: says why it ends" $?

# While it asks, another card comes in the place of the one that was meant.
sed -e 's/^A: contexts_used=.*/A: contexts_used=0\\n/' -e '/^A: vectors/a\
A: reset=0\\n' "$tmp/one" > "$tmp/unused"
cat > "$tmp/ask.py" <<-'END'
	import os, pty, sys

	attr = os.environ["UMOCKDEV_DIR"] + "/sys/class/vta/vta0/reset"
	pid, fd = pty.fork()
	if not pid:
	    os.execv(sys.argv[1], [sys.argv[1], "reset", "0"])
	said = b""
	while not said.endswith(b"[y/N] "):
	    said += os.read(fd, 100)
	os.rename(attr, attr + ".gone")
	with open(attr, "w") as file:
	    file.write("another card")
	os.write(fd, b"y\n")
	os.waitpid(pid, 0)
	print(open(attr).read())
END
with unused python3 "$tmp/ask.py" "$tmp/vtactl"
says 'another card' out
result "reset: the card that it has asked about, and no other" $?

# denied MODE [GROUP]: run as another user, whose node has that mode and group
denied() {
	status=0
	# shellcheck disable=SC2016
	setpriv --reuid=65534 --regid="${2:-65534}" --clear-groups \
		umockdev-run --device "$tmp/one" -- \
		sh -c 'chmod '"$1"' "$UMOCKDEV_DIR/dev/vta0" && exec "$1" status' \
		sh "$tmp/vtactl" > "$tmp/out" 2> "$tmp/err" || status=$?
}

if [ "$(id -u)" -eq 0 ]; then
	denied 0060
	[ $status -eq 0 ] && says "usermod -aG $(getent group 65534 | cut -d: -f1)" err &&
		says 'not for you to open' out
	result "status: without permission names the group" $?
	denied 0000
	[ $status -eq 0 ] && says 'udev rule' err
	result "status: without permission for any group asks for a rule" $?
	denied 0060 0
	[ $status -eq 0 ] && says 'udev rule' err && ! says usermod err
	result "status: without permission sends nobody to root's group" $?
else
	for name in "names the group" "asks for a rule" "sends nobody to root's group"; do
		skip "status: without permission $name" "needs root"
	done
fi

# bare COMMAND...: run where /sys is not mounted, as in some containers
bare() {
	status=0
	# shellcheck disable=SC2016
	unshare --mount sh -c 'mount -t tmpfs none /sys && exec "$@"' sh "$@" \
		> "$tmp/out" 2> "$tmp/err" || status=$?
}
if bare true && [ $status -eq 0 ] && mknod "$tmp/node" c 1 3 2> /dev/null; then
	for args in list status export "test" "status vta0"; do
		# shellcheck disable=SC2086
		bare "$tmp/vtactl" $args
		[ $status -ne 0 ] && says '/sys is not mounted' err && [ ! -s "$tmp/out" ]
		result "without /sys: $args says so" $?
	done
	bare "$tmp/vtactl" export -o "$tmp/bare.prom"
	[ $status -ne 0 ] && [ ! -e "$tmp/bare.prom" ]
	result "without /sys: export makes no file" $?
	bare "$tmp/vtactl" status "$tmp/node"
	[ $status -ne 0 ] && says '/sys is not mounted' err
	result "without /sys: status of a path says so" $?
	# The made-up node is no card: it was opened.
	for command in "test" bench; do
		bare "$tmp/vtactl" $command "$tmp/node"
		[ $status -eq 1 ] && says 'this file is not a VTA card' err
		result "without /sys: $command opens a path" $?
	done
else
	skip "without /sys" "cannot mount"
fi

# found CHECK STATE WORDS: doctor's line
found() { grep -qE "^$2 +$1 .*$3" "$tmp/out"; }
with none "$tmp/vtactl" doctor
[ $status -eq 0 ] && found card warning 'none on the bus' && found module ok 'not loaded' &&
	found kernel ok "$(uname -r)" && found soft warning 'libvtadev-soft'
result "doctor: a machine without a card" $?
with one "$tmp/vtactl" doctor
found vta0 warning 'link: 8 GT/s x4 of at most 16 GT/s x16' && found vta0 warning 'no IOMMU' &&
	found module ok loaded
result "doctor: a card's link and IOMMU" $?
card 0 0000:00:05.0 "$(config_space)" 'state=given up\n' > "$tmp/lost"
with lost "$tmp/vtactl" doctor
[ $status -eq 1 ] && found vta0 broken 'given up' && says '-> vtactl reset vta0' out
result "doctor: a card that was given up: exits 1, with the command" $?
with lost "$tmp/vtactl" doctor --json
[ $status -eq 1 ] && json '[c["command"] for c in a if c["state"] == "broken"] == ["vtactl reset vta0"]
	and {"check", "state", "text", "command"} == set(a[0])'
result "doctor --json" $?
# The card's function, which no driver has.
sed '/^P:.*vta0/,$d' "$tmp/one" > "$tmp/unbound"
with unbound "$tmp/vtactl" doctor
[ $status -eq 1 ] && found module broken 'install' && says 'modprobe vta' out
result "doctor: a card on the bus, and no driver" $?
ulimit -Sl 64
with one "$tmp/vtactl" doctor
found memlock warning '64 KiB' && says '-> ulimit -l unlimited' out
result "doctor: little memory may be pinned" $?
VTADEV_DEVICE=nosuch with one "$tmp/vtactl" doctor
[ $status -eq 1 ] && found device broken 'VTADEV_DEVICE=nosuch' && says '-> unset VTADEV_DEVICE' out
result "doctor: a device that is none" $?

for args in "status --watch=0" "status --count=3" "status --watch --count=x" "top -d 0" "top -n x" \
		"top 0 1" "monitor -n 0" "monitor -t x" "test 0 1" "bench 0 1" "dump 0 1" \
		"reset" "reset 0 1" "doctor 0" "cdi 0" "export 0" "export -o"; do
	# shellcheck disable=SC2086
	with one "$tmp/vtactl" $args
	[ $status -eq 2 ] && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ]
	result "wrong usage exits 2: '$args'" $?
done

for verb in list status top monitor test doctor bench dump cdi export reset trace program; do
	with none "$tmp/vtactl" $verb --help
	[ $status -eq 0 ] && says "Usage: vtactl $verb" out && says '--help' out
	result "$verb --help" $?
done

# Those of the driver's uevents, and what monitor makes of add and remove.
with none "$tmp/vtactl" monitor --help
missing=
for event in added removed $(grep -oh 'VTA_EVENT=[a-z-]*' kmod/*.c | cut -d = -f 2); do
	grep -qE "^  $event  " "$tmp/out" || missing="$missing $event"
done
[ $status -eq 0 ] && [ -z "$missing" ]
result "monitor --help: names every event${missing:+, but not$missing}" $?

with one "$tmp/vtactl" monitor --timeout 1
[ $status -eq 0 ] && says 'listening' err && [ ! -s "$tmp/out" ]
result "monitor: ends in time" $?

with two "$tmp/vtactl" top --batch --count=2 --delay=0.1
[ $status -eq 0 ] && [ "$(grep -c '^vta2: compute - %' "$tmp/out")" -eq 2 ] &&
	[ "$(grep -c 'PID USER' "$tmp/out")" -eq 2 ]
result "top --batch: tables, without what the card does not count" $?

TERM=no-such-terminal with one "$tmp/vtactl" top
[ $status -eq 1 ] && says '--batch' err
result "top: on an unknown terminal" $?

TERM=xterm with two script -qec "$tmp/vtactl top -n 2 -d 0.1" /dev/null
[ $status -eq 0 ] && says 'vta10: compute' out && says 'COMMAND' out
result "top: on a terminal" $?

with one "$tmp/vtactl" dump -o "$tmp/dump.tar"
tar -tf "$tmp/dump.tar" > "$tmp/out"
[ $status -eq 0 ] && says 'vta-dump/vta0/config-space.txt' out && says 'vta-dump/vta0/status.json' out
result "dump: is a tar file" $?

with one "$tmp/vtactl" dump -o "$tmp/no/such"
[ $status -eq 1 ] && says "$tmp/no/such: No such file or directory" err
result "dump: a file that cannot be made" $?

for args in "" "frob" "list 1" "status 0 1" "--frob" "test --quick" "trace --frob" "bench -x"; do
	# shellcheck disable=SC2086
	with one "$tmp/vtactl" $args
	[ $status -eq 2 ] && [ ! -s "$tmp/out" ] && grep -q '^vtactl: .*; try vtactl .*--help$' "$tmp/err"
	result "wrong usage exits 2, and names the help: '$args'" $?
done

while read -r args; do
	# shellcheck disable=SC2086
	with one "$tmp/vtactl" ${args% *}
	[ $status -eq 2 ] && says "(did you mean ${args##* }?); try vtactl" err
	result "wrong usage names what is near: '$args'" $?
done <<-END
	stats status
	statsu status
	status --jsn --json
	status --watsh=2 --watch
	top --btach --batch
	trace --outptu=x --output
END
for args in "x" "status --x" "status --nothing-like-it"; do
	# shellcheck disable=SC2086
	with one "$tmp/vtactl" $args
	[ $status -eq 2 ] && ! says '?)' err
	result "wrong usage names nothing where nothing is near: '$args'" $?
done

for args in "status card" "status 0x1"; do
	# shellcheck disable=SC2086
	with one "$tmp/vtactl" $args
	[ $status -eq 2 ] && says 'list --all' err && [ ! -s "$tmp/out" ]
	result "wrong names of cards exit 2: '$args'" $?
done

with one "$tmp/vtactl" status /dev/null
[ $status -eq 1 ] && says "not a card of the driver's" err
result "status /dev/null: not a card, exits 1" $?

with one sh -c "$tmp/vtactl list > /dev/full"
[ $status -eq 1 ]
result "list: output that cannot be written exits 1" $?

# vtactl trace: without tracefs, and with commands that use no card.
for args in "-d 0" "-d x" "-d 86401" "-d 5 -- true" "--frob" "-o"; do
	# shellcheck disable=SC2086
	with none "$tmp/vtactl" trace $args
	[ $status -eq 2 ] && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ]
	result "trace: wrong usage exits 2: '$args'" $?
done

with none "$tmp/vtactl" trace -o "$tmp/trace" -- sh -c "exit 5"
[ $status -eq 5 ] && python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))
sys.exit(t["traceEvents"] != [] or t["otherData"]["programs"] != [])' "$tmp/trace"
result "trace: of a command that does nothing is empty; ends as it does" $?

# Arguments after the command belong to the command.
with none "$tmp/vtactl" trace -o "$tmp/trace" sh -c 'echo "$@"' sh -o -d --help
[ $status -eq 0 ] && says '-o -d --help' out
result "trace: passes options on" $?

# shellcheck disable=SC2016
with none "$tmp/vtactl" trace -o "$tmp/trace" -- sh -c 'kill -KILL $$'
[ $status -eq 137 ]
result "trace: a command that is killed" $?

with none "$tmp/vtactl" trace -o "$tmp/trace" -- "$tmp/no-such-program"
[ $status -eq 127 ] && says 'no-such-program' err
result "trace: a command that is not there" $?

with none "$tmp/vtactl" trace -o "$tmp/no/such" -- touch "$tmp/touched"
[ $status -eq 1 ] && says "$tmp/no/such" err && [ ! -e "$tmp/touched" ]
result "trace: a file that cannot be made exits 1, and nothing is run" $?

with none "$tmp/vtactl" trace -o /dev/full -- true
[ $status -eq 1 ] && says '/dev/full' err
result "trace: a file that cannot be written exits 1" $?

with none "$tmp/vtactl" trace --help
[ $status -eq 0 ] && says 'Usage: vtactl trace' out
result "trace --help" $?

with one "$tmp/vtactl" --help
[ $status -eq 0 ] && says 'Usage: vtactl' out && says '  list ' out && says 'Exit status' out
result "--help" $?

with one "$tmp/vtactl" --version
[ $status -eq 0 ] && grep -qE '^vtactl [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out"
result "--version" $?

echo "1..$n"
exit $failed
