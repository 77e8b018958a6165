#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_iommu: the last test of a boot with an IOMMU, which has translated all accesses of the card
# and refused none.
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
. "$(dirname "$0")/ktap.sh"

translated() {
	ls /sys/class/iommu/dmar0 >/dev/null &&
		grep -qx 'DMA' /sys/class/vta/vta0/device/iommu_group/type
}

nothing_refused() {
	! dmesg | grep -E 'DMAR: .*(fault|FAULT|Request device)'
}

ktap_plan 2
ktap_result dma_is_translated_strictly translated
ktap_result nothing_was_refused nothing_refused
ktap_exit
