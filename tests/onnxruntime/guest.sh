#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The execution provider in ONNX Runtime of Debian's testing release on two cards, in the guest. The
# module must be removable afterwards. Prints TAP.
#
# host: tests/onnxruntime/files.sh "$dir"; [ -e "$dir/tree.tar" ] || exit 0
# vm: --cards 2 --mem 2G --file "$dir/tree.tar:/tree.tar"
set -u

# shellcheck source=tests/tap.sh
. /lib/tap.sh
echo "TAP version 13"
insmod /lib/vta.ko
mkdir /tree
tar -xf /tree.tar -C /tree
rm /tree.tar
mkdir -p /tree/dev /tree/proc /tree/sys /tree/tmp
for part in dev proc sys; do
	mount -o bind "/$part" "/tree/$part"
done

# The results of card.py, indented
# shellcheck disable=SC2317 # called by check
on_cards() {
	chroot /tree env VTADEV_PLUGINS=/mnt PYTHONDONTWRITEBYTECODE=1 python3 /mnt/card.py >/tmp/log 2>&1
	status=$?
	grep -v -e '^Schema error' -e '^$' /tmp/log | sed 's/^/    /'
	return "$status"
}

check "the provider's tests pass on cards" on_cards
check "the module can go" rmmod vta
echo "1..$n"
exit "$failed"
