#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo program, in the guest: alone, twice at once, and while the driver is
# unbound beneath it. Prints TAP.
#
# vm: --file build/examples/digits/digits:/bin/digits
# vm: --file examples/digits/testset.bin:/share/testset.bin
set -u

set_file=/share/testset.bin
driver=/sys/bus/pci/drivers/vta

# shellcheck source=tests/tap.sh
. /lib/tap.sh

# exact FILE: by the demo's output, all scores equal the CPU's
exact() {
	grep -q '^scores  *exact: 2000 of 2000 ' "$1" &&
		grep -q '^accuracy  *98.80 %' "$1"
}

# used NAME COUNT: compare a file of the card in sysfs
used() {
	[ "$(cat "/sys/class/vta/vta0/$1")" -eq "$2" ]
}

# in_use: the module cannot be removed
in_use() {
	! rmmod vta 2> /tmp/rmmod && grep -qiE 'in use|busy|temporarily unavailable' /tmp/rmmod
}

echo "TAP version 13"
insmod /lib/vta.ko || exit 1
card=$(basename "$(readlink /sys/class/vta/vta0/device)")

digits "$set_file" > /tmp/one 2>&1
check "the demo classifies" [ $? -eq 0 ]
check "and is exact" exact /tmp/one
check "one doorbell for each of 20 batches" grep -q ' 20 doorbells, ' /tmp/one
check "four launches for each" grep -q ' 80 launches, ' /tmp/one

digits -b 37 "$set_file" > /tmp/a 2>&1 &
a=$!
digits -b 50 "$set_file" > /tmp/b 2>&1 &
b=$!
wait $a
check "one of two at the same time" [ $? -eq 0 ]
wait $b
check "the other of the two" [ $? -eq 0 ]
check "the first is exact" exact /tmp/a
check "the second is exact" exact /tmp/b
check "nothing is left on the card" used queues_used 0

digits -r 1000 "$set_file" > /tmp/c 2> /tmp/error &
c=$!
tries=0
while ! used queues_used 1 && [ $tries -lt 300 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
sleep 1
check "rmmod says that the module is in use" in_use
echo "$card" > $driver/unbind
wait $c
check "unbinding ends the demo with an error" [ $? -eq 1 ]
check "which says that the card is gone" grep -qi 'card was reset, ' /tmp/error
sed 's/^/# /' /tmp/error
check "the node is gone" [ ! -e /dev/vta0 ]
echo "$card" > $driver/bind
check "binding again works" [ -c /dev/vta0 ]
digits "$set_file" > /tmp/d 2>&1
check "so does the demo" exact /tmp/d
check "the module can go" rmmod vta
echo "1..$n"
