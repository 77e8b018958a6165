#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: the C of the documents, then each script of /blocks, in /tree, as root on
# a machine with a card. The module is loaded, but for those that load it themselves.
# Prints TAP.
set -u

cd /tree || exit 1
n=0
status=0
insmod /lib/vta.ko
CMOCKA_MESSAGE_OUTPUT=TAP samples || status=1
for script in /blocks/*.sh; do
	[ -e "$script" ] || continue
	n=$((n + 1))
	[ ! -e /sys/module/vta ] || rmmod vta
	echo 'inject clear' > /dev/virtio-ports/vta-emu0
	grep -Eq '^(insmod|modprobe)' "$script" || insmod /lib/vta.ko
	# Less than what the VM waits for output: then the block that hangs is named.
	if timeout 1700 sh -eux "$script" > /tmp/log 2>&1 < /dev/null; then
		echo "ok $n $(cat "${script%.sh}.name") runs"
	else
		status=1
		echo "not ok $n $(cat "${script%.sh}.name") runs"
		sed 's/^/# /' /tmp/log
	fi
done
echo "1..$n"
exit $status
