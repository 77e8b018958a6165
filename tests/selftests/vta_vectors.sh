#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_vectors: each card has the interrupts that it was meant to be tested with.
#
#   vta_vectors.sh NUMBER:KIND...	of vta0 and on: how many, msi or msix
#
# Without interrupt remapping a PC gives only one MSI, whatever is on offer.
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
. "$(dirname "$0")/ktap.sh"

# has CARD NUMBER KIND
has() {
	card=/sys/class/vta/vta$1
	[ "$(cat "$card/vectors")" -eq "$2" ] &&
		[ "$(cat "$card"/device/msi_irqs/* | sort | uniq -c | tr -d ' ')" = "$2$3" ]
}

ktap_plan $#
number=0
for expected; do
	ktap_result "vta$number.$expected" has "$number" "${expected%:*}" "${expected#*:}"
	number=$((number + 1))
done
ktap_exit
