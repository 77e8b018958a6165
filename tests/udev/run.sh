#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the udev rules make of two cards, one of which has a serial number, in the
# VM, by the host's own udev.
#
#   tests/udev/run.sh VTA.KO RULES GROUP
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ $# -ne 3 ] || [ ! -f "$1" ] || [ ! -f "$2" ]; then
	sed -n '6,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$1 rules=$2 group=$3
tools/vm/deps.sh need udev
udevd=/lib/systemd/systemd-udevd
[ -x "$udevd" ] || udevd=/usr/lib/systemd/systemd-udevd

exec tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --timeout 400 \
	--cards 2 --emu-arg-0 --serial=0 --emu-arg-1 --serial=0x1234abcd \
	--file "$module:/lib/vta.ko" --file "$rules:/lib/udev/rules.d/60-vta.rules" \
	--file "$udevd:/lib/systemd/systemd-udevd" --file "$(type -P udevadm):/usr/bin/udevadm" \
	-- tests/udev/guest.sh "$group"
