#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: load the module and run each program, which prints TAP.
set -eu

insmod /lib/vta.ko
status=0
for program; do
	echo "# $program"
	CMOCKA_MESSAGE_OUTPUT=TAP "$program" || status=1
done
[ "$(cat /sys/class/vta/vta0/contexts_used)" -eq 0 ]
rmmod vta
exit "$status"
