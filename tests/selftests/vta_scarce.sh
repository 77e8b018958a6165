#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_scarce: a machine with more queues than interrupt vectors; all cards work (kmod/vta_irq.c).
#
#   vta_scarce.sh CARDS
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
. "$(dirname "$0")/ktap.sh"

cards=$1
# Vectors that each processor has for devices, about; what other devices take is little.
per_cpu=200

# load [PARAMETER...]: the module, anew
load() {
	rmmod vta 2>/dev/null
	insmod /lib/vta.ko "$@"
}
vectors() {
	cat /sys/class/vta/vta*/vectors
}
# In all.
taken() {
	vectors | awk '{ sum += $1 } END { print sum + 0 }'
}
all_probe() {
	load "$@" && [ "$(vectors | wc -l)" -eq "$cards" ]
}
# The first card has one for each queue, as when it is alone.
the_first_has_all() {
	[ "$(cat /sys/class/vta/vta0/vectors)" -eq $(($(cat /sys/class/vta/vta0/queues) + 1)) ]
}
# The last card waits for an interrupt, like the first.
all_work() {
	number=0
	while [ "$number" -lt "$cards" ]; do
		vtactl test "vta$number" >/tmp/test 2>&1 || { cat /tmp/test; return 1; }
		number=$((number + 1))
	done
}
there_are_left() {
	[ "$(taken)" -le $((per_cpu * $(nproc) * 3 / 4)) ]
}
# Each card wants so many that together they want more than there are.
some_share() {
	vectors
	[ "$(vectors | sort -n | head -n 1)" -lt "$(vectors | sort -n | tail -n 1)" ] &&
		[ "$(vectors | sort -n | head -n 1)" -ge 1 ]
}

ktap_plan 7
ktap_result "all_cards_probe" all_probe
ktap_result "first_card_has_a_vector_for_each_queue" the_first_has_all
ktap_result "vectors_are_left_for_others" there_are_left
ktap_result "all_cards_work" all_work
ktap_result "all_probe_when_vectors_run_out" all_probe max_vectors=45
ktap_result "last_cards_share_the_remaining_vectors" some_share
ktap_result "all_cards_work_with_shared_vectors" all_work
rmmod vta
insmod /lib/vta.ko
ktap_exit
