#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: start udev, load the module, look at the nodes. Prints TAP.
#
#   guest.sh GROUP
set -u

count=0 failed=0
# ok NAME COMMAND...
ok() {
	name=$1
	shift
	count=$((count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $count $name"
	else
		echo "not ok $count $name"
		echo "$out" | sed 's/^/# /'
		failed=$((failed + 1))
	fi
}

# same NODE EXPECTED: mode, owner and group
same() { got=$(stat -c '%a %U %G' "$1"); echo "$got"; [ "$got" = "$2" ]; }
# leads LINK NODE
leads() { got=$(readlink -f "$1"); echo "$1 -> $got"; [ "$got" = "$2" ]; }
tagged() { udevadm info -q all "$1" | tee /tmp/info | grep -q '^E: TAGS=.*:uaccess:'; }
links() { got=$(find /dev/vta -type l | sort | tr '\n' ' '); echo "$got"; [ "$got" = "$1" ]; }

group=$1
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
ok 'mode and group of the first card' same /dev/vta0 "660 root $group"
ok 'mode and group of the second card' same /dev/vta1 "660 root $group"
ok 'the seated user has access' tagged /dev/vta0
ok 'the first by its slot' leads "/dev/vta/by-path/pci-$p0" /dev/vta0
ok 'the second by its slot' leads "/dev/vta/by-path/pci-$p1" /dev/vta1
ok 'the second by its serial number' leads /dev/vta/by-id/VTA_000000001234abcd /dev/vta1
ok 'no other names' links \
	"/dev/vta/by-id/VTA_000000001234abcd /dev/vta/by-path/pci-$p0 /dev/vta/by-path/pci-$p1 "
rmmod vta
udevadm settle --timeout=30 || echo '# udev does not settle'
ok 'nothing is left' sh -c '! find /dev -name "vta" -o -name "vta[0-9]*" | grep .'
udevadm control --exit
[ $failed -eq 0 ]
