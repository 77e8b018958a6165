#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_reboot: on the host, checks a card that was copying when its machine was rebooted
# (kmod/vta_pm.c). Prints KTAP.
#
#   vta_reboot.sh LOG-OF-VM LOG-OF-EMULATOR
#
# The emulator's log is that of --log-level debug.
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
. "$(dirname "$0")/ktap.sh"
vm=$1 emu=$2

# As opposed to an end by a complaint of the kernel's, or a time-out.
machine_reboots() {
	grep -q 'the guest went down before the command had ended' "$vm"
}

# Bytes that the card had written when its bus mastering last changed, as "on N" or "off N"; and
# when QEMU ended.
bus() {
	sed -n 's/.*bus mastering \([a-z]*\), \([0-9]*\) bytes .*/\1 \2/p' "$emu" | tail -n 1
}

at_the_end() {
	sed -n 's/.*the client has gone, \([0-9]*\) bytes .*/\1/p' "$emu"
}

# 60 copies of 4 GiB were before it.
was_in_the_middle() {
	written=$(bus)
	[ "${written#* }" -ge 4096 ] && [ "${written#* }" -lt $((60 << 32)) ]
}

lost_the_bus() {
	[ "$(bus | cut -d' ' -f1)" = off ]
}

# Once, while it still could have gone on.
was_reset() {
	[ "$(sed -n '/has gone/q; /mastering on/,/mastering off/p' "$emu" | grep -c 'reset done')" -eq 1 ]
}

wrote_nothing_more() {
	[ "$(bus)" = "off $(at_the_end)" ]
}

ktap_plan 5
ktap_result machine_reboots machine_reboots
ktap_result card_was_copying was_in_the_middle
ktap_result card_lost_bus_mastering lost_the_bus
ktap_result card_was_reset_once was_reset
ktap_result card_wrote_nothing_afterwards wrote_nothing_more
ktap_exit
