#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: run each program, which prints TAP, with the module just loaded.
# The module must be removable after each.
set -eu

status=0
for program; do
	echo "# $program"
	insmod /lib/vta.ko
	CMOCKA_MESSAGE_OUTPUT=TAP "$program" || status=1
	for used in /sys/class/vta/vta*/contexts_used; do
		[ "$(cat "$used")" -eq 0 ] || status=1
	done
	rmmod vta
done
exit "$status"
