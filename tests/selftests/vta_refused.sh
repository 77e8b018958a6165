#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_refused: a card that the driver cannot use on this host stays without one,
# the kernel log says why, other cards continue, and once the cause is gone it works.
#
#   vta_refused.sh ADDRESS	of the card, which is not to be vta0
#
# The cause is a PCI function that may have no message-signalled interrupts.
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
. "$(dirname "$0")/ktap.sh"

address=$1
device=/sys/bus/pci/devices/$address
driver=/sys/bus/pci/drivers/vta

write() {
	echo "$1" 2>/dev/null >"$2"
}

messages() {
	dmesg | grep -cF "vta $address: no interrupt vector, neither MSI-X nor MSI"
}

bound_at_first() {
	[ -e "$device/driver" ] && write "$address" "$driver/unbind" && write 0 "$device/msi_bus"
}

refused() {
	! write "$address" "$driver/bind"
}

unbound() {
	[ ! -e "$device/driver" ] && [ ! -e "$device/vta" ]
}

said_once() {
	[ "$(messages)" -eq 1 ]
}

refused_again() {
	refused && unbound && [ "$(messages)" -eq 2 ]
}

first_works() {
	./vta_basic >/dev/null
}

bound_at_last() {
	write 1 "$device/msi_bus" && write "$address" "$driver/bind" && [ -e "$device/vta" ]
}

ktap_plan 7
ktap_result bound_before bound_at_first
ktap_result refused_without_interrupts refused
ktap_result no_driver_is_bound unbound
ktap_result kernel_log_says_why said_once
ktap_result refused_again_the_same_way refused_again
ktap_result first_card_works first_works
ktap_result bound_when_it_may_have_interrupts bound_at_last
ktap_exit
