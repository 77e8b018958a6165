#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest, with a card in modelled time: batches are copied while others are computed,
# and traces show it. Stamps do not depend on
# this machine's speed, and the card is slow, so that the CPU always keeps up. Prints TAP.
#
# vm: --cards 2 --emu-arg --time=model:400 --emu-arg --clock-khz=10000
# vm: --file build/examples/stream/stream:/bin/stream --file build/tools/vtactl:/bin/vtactl
# vm: --file build/tests/stream/check_trace:/bin/check_trace
# vm: --file build/tests/stream/threads:/bin/threads --file tests/stream/library.sh:/lib/library.sh
set -u

# shellcheck source=tests/tap.sh
. /lib/tap.sh
# shellcheck source=tests/stream/library.sh
. /lib/library.sh

echo "TAP version 13"
insmod /lib/vta.ko || exit 1
cd /tmp || exit 1

for layer in dense head add; do
	# If the machine pauses before the second batch is submitted, there is nothing to
	# overlap with: try again.
	for _ in 1 2 3; do
		stream -n 16 -l $layer -x 1.1 > out 2>&1
		status=$?
		[ $status -ne 0 ] || ! says '^overlapped  15 of 15 ' || break
	done
	check "$layer: at most 1.1 times the larger of copy and compute" [ "$status" -eq 0 ]
	sed 's/^/# /' out
	check "$layer: exact" says 'exact: 16 of 16 '
	check "$layer: each batch is copied in while another is computed" \
		says '^overlapped  15 of 15 '
done

stream -n 8 -l head -w -x 1.1 > out 2>&1
check "one after the other, it is more than 1.1 times" [ $? -eq 1 ]
check_streams
check_traces

vtactl trace -o two.json -- sh -c 'stream -l add -n 20 & stream -d 1 -l add -n 20; wait' \
	> out 2> err
check "vtactl trace runs a command" [ $? -eq 0 ]
check "and has nothing to complain about" [ ! -s err ]
check "the trace of two processes on two cards and the driver" quietly check_trace two.json -q 6 \
	-n $((2 * (20 * 8 + 17 * 2))) -e ctx_open=2 -e ctx_close=2 -e queue_create=6 \
	-e queue_destroy=6 -e buf_alloc=+ -e queue_fault=0
check "nothing was lost" grep -q '"driver_events_lost":0,' two.json
check "all on one clock" grep -q '"clock":"card time"' two.json

vtactl trace -o three.json -- sh -c 'exit 7' 2> err
check "vtactl trace ends as the command does" [ $? -eq 7 ]
vtactl trace -o /no/such/file -- touch run > out 2> err
check "a file that cannot be written is an error" [ $? -eq 1 ]
check "said in one line" [ "$(wc -l < err)" -eq 1 ]
check "and nothing is run" [ ! -e run ]

# recording PID: its trace has begun
recording() {
	tries=0
	while [ "$(cat "/sys/kernel/tracing/instances/vtactl-$1/events/vta/enable" \
			2> /dev/null)" != 1 ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || return 1
		sleep 0.1
	done
}

vtactl trace -o four.json > traced 2>&1 &
traced=$!
recording $traced
stream -n 2 > out 2>&1
kill -TERM $traced
wait $traced
check "until it is ended, whatever runs" [ $? -eq 0 ]
check "queues of all programs" [ "$(grep -o '"name":"queue_create"' four.json | wc -l)" -eq 3 ]

vtactl trace -o five.json -- sh -c \
	'trap "exit 9" TERM; echo > trapped; while :; do sleep 0.1; done' &
traced=$!
tries=0
until [ -s trapped ] || [ $tries -ge 300 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
kill -TERM $traced
wait $traced
check "a signal to vtactl trace ends the command" [ $? -eq 9 ]
vtactl trace -d 1 -o six.json
check "for a second" [ $? -eq 0 ]
check "no instance is left" [ -z "$(ls /sys/kernel/tracing/instances)" ]
check "the module can go" rmmod vta
echo "1..$n"
exit $failed
