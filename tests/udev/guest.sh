#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The nodes and links that the udev rules make of two cards, one of which has a serial number,
# in the guest, by the host's own udev. Prints TAP.
# shellcheck disable=SC2317 # functions that check calls
#
#   guest.sh RULES GROUP
#
# host: tools/vm/deps.sh need udev
# vm: --cards 2 --emu-arg-0 --serial=0 --emu-arg-1 --serial=0x1234abcd
# vm: --file "$1:/lib/udev/rules.d/60-vta.rules" --file "$(type -P udevadm):/usr/bin/udevadm"
# vm: --file "$(type -P {,/usr}/lib/systemd/systemd-udevd | head -n 1):/lib/systemd/systemd-udevd"
set -u

# shellcheck source=tests/tap.sh
. /lib/tap.sh
tap_log=/tmp/log

# same NODE EXPECTED: mode, owner and group
same() { got=$(stat -c '%a %U %G' "$1"); echo "$got"; [ "$got" = "$2" ]; }
# leads LINK NODE
leads() { got=$(readlink -f "$1"); echo "$1 -> $got"; [ "$got" = "$2" ]; }
tagged() { udevadm info -q all "$1" | tee /tmp/info | grep -q '^E: TAGS=.*:uaccess:'; }
links() { got=$(find /dev/vta -type l | sort | tr '\n' ' '); echo "$got"; [ "$got" = "$1" ]; }

group=$2
echo 'root:x:0:' >/etc/group
[ "$group" = root ] || echo "$group:x:4711:" >>/etc/group
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd

mkdir -p /run/udev
/lib/systemd/systemd-udevd --daemon
insmod /lib/vta.ko
udevadm settle --timeout=30 || echo '# udev does not settle'

pci() { basename "$(readlink -f "/sys/class/vta/vta$1/device")"; }
p0=$(pci 0) p1=$(pci 1)
echo 1..8
check 'mode and group of the first card' same /dev/vta0 "660 root $group"
check 'mode and group of the second card' same /dev/vta1 "660 root $group"
check 'the seated user has access' tagged /dev/vta0
check 'the first by its slot' leads "/dev/vta/by-path/pci-$p0" /dev/vta0
check 'the second by its slot' leads "/dev/vta/by-path/pci-$p1" /dev/vta1
check 'the second by its serial number' leads /dev/vta/by-id/VTA_000000001234abcd /dev/vta1
check 'no other names' links \
	"/dev/vta/by-id/VTA_000000001234abcd /dev/vta/by-path/pci-$p0 /dev/vta/by-path/pci-$p1 "
rmmod vta
udevadm settle --timeout=30 || echo '# udev does not settle'
check 'nothing is left' sh -c '! find /dev -name "vta" -o -name "vta[0-9]*" | grep .'
udevadm control --exit
exit "$failed"
