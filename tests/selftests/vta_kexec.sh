#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_kexec: kexec while the card works (kmod/vta_pm.c). The card must not access the memory of the
# next kernel.
#
# Run twice: by the first kernel, and, as its command, by the second.
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
here=$(dirname "$0")
. "$here/ktap.sh"

if ! grep -q vta_kexec=second /proc/cmdline; then
	insmod /lib/vta.ko
	(cd / && find . -xdev | cpio -o -H newc) >/tmp/initrd 2>/dev/null
	"$here/vta_kexec" /root/vmlinuz /tmp/initrd "$(cat /proc/cmdline) vta_kexec=second"
	exit 1
fi

ask_card() {
	exec 3<>/dev/virtio-ports/vta-emu0
	echo "$1" >&3
	read -r answer <&3
	exec 3>&-
	echo "$answer" | tr -d ' '
}

counter() {
	ask_card counters | grep -o "\"$1\":[0-9]*" | cut -d: -f2
}

may_not_dma() {
	ask_card state | grep -q '"may_dma":false'
}

knows_nobody() {
	state=$(ask_card state)
	echo "$state" | grep -q '"queues":\[\]' && echo "$state" | grep -q '"contexts":\[\]'
}

# Once, by the driver's shutdown.
was_reset() {
	before=$(sed 's/.*vta_resets=\([0-9]*\).*/\1/' /proc/cmdline)
	[ "$(counter resets)" -eq $((before + 1)) ]
}

touches_no_memory() {
	written=$(counter dma_write_bytes) fetched=$(counter dma_read_bytes)
	sleep 2
	[ "$(counter dma_write_bytes)" -eq "$written" ] &&
		[ "$(counter dma_read_bytes)" -eq "$fetched" ]
}

works_again() {
	insmod /lib/vta.ko || return 1
	"$here/vta_basic" >/tmp/basic
	passed=$?
	sed 's/^/# /' /tmp/basic
	rmmod vta && [ "$passed" -eq 0 ]
}

ktap_plan 5
ktap_result card_may_not_master_the_bus may_not_dma
ktap_result card_has_no_queues_or_contexts knows_nobody
ktap_result card_was_reset_once was_reset
ktap_result card_accesses_no_memory touches_no_memory
ktap_result card_works_under_the_new_kernel works_again
ktap_exit
