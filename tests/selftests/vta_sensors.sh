#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta_sensors: a card with sensors has hwmon files, one without has none (kmod/vta_hwmon.c).
#
#   vta_sensors.sh ADDRESS,MILLICELSIUS,MICROWATTS,WITHOUT
#
# ADDRESS is the PCI address of a card with sensors, WITHOUT of one that has none.
# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by name
set -u
. "$(dirname "$0")/ktap.sh"

IFS=, read -r address temperature power without <<END
$1
END
device=/sys/bus/pci/devices/$address
driver=/sys/bus/pci/drivers/vta

value() {
	cat "$device"/hwmon/hwmon*/"$1"
}

temperature_is_told() {
	[ "$(value temp1_input)" = "$temperature" ]
}

power_is_told() {
	[ "$(value power1_input)" = "$power" ]
}

name_is_the_drivers() {
	[ "$(value name)" = vta ]
}

nothing_to_write() {
	! find "$device"/hwmon/hwmon*/ -maxdepth 1 -name '*_input' -perm /222 | grep -q .
}

none_without() {
	[ -e "/sys/bus/pci/devices/$without/vta" ] && [ ! -e "/sys/bus/pci/devices/$without/hwmon" ]
}

gone_with_the_driver() {
	echo "$address" >"$driver/unbind" && [ ! -e "$device/hwmon" ] &&
		echo "$address" >"$driver/bind" && temperature_is_told
}

told_again_after_a_reset() {
	echo 1 >"$device/reset" && temperature_is_told && power_is_told
}

ktap_plan 7
ktap_result temperature_is_reported temperature_is_told
ktap_result power_is_reported power_is_told
ktap_result name_is_the_drivers name_is_the_drivers
ktap_result files_are_read_only nothing_to_write
ktap_result card_without_sensors_has_no_hwmon none_without
ktap_result sensors_work_after_a_reset told_again_after_a_reset
ktap_result sensors_follow_the_driver gone_with_the_driver
ktap_exit
