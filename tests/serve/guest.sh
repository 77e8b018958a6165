#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vta-serve on two cards, in the guest: 200 requests of four clients while one card is reset and then
# pulled out. The module must be removable afterwards. Prints TAP.
#
# host: mkdir "$dir/digits"
# host: build/examples/digits/digits-compile -b 1 "$dir/digits/digits.vtap"
# host: build/tests/ops/digits_raw examples/digits/testset.bin 50 "$dir/images" "$dir/scores"
# host: export PYTHONPATH=$PWD/build/python:$PWD/adapters/serve:$PWD/tests/serve LD_LIBRARY_PATH=$PWD/build/lib
# host: /usr/bin/python3 tests/python/tree.py "$dir/tree.tar" vtaserve.main vtadev._core client encodings.ascii encodings.latin_1 encodings.idna concurrent.futures.thread multiprocessing.resource_tracker multiprocessing.spawn
# vm: --cards 2 --mem 2G --file "$dir/tree.tar:/tree.tar" --file "$dir/digits:/tree/digits"
# vm: --file "$dir/images:/tree/test/images" --file "$dir/scores:/tree/test/scores"
# vm: --file adapters/serve/vtaserve:/tree/package/vtaserve --file build/python/vtadev:/tree/package/vtadev
# vm: --file adapters/serve/vta-serve:/tree/package/vta-serve --file tests/serve/client.py:/tree/package/client.py
# vm: --file tests/serve/card.py:/tree/package/card.py
set -u

# shellcheck source=tests/tap.sh
. /lib/tap.sh
tap_log=/tmp/log
echo "TAP version 13"
insmod /lib/vta.ko
tar -xf /tree.tar -C /tree
rm /tree.tar
mkdir -p /tree/dev /tree/proc /tree/sys /tree/tmp
for part in dev proc sys; do
	mount -o bind "/$part" "/tree/$part"
done
cp /usr/lib/libvtadev.so* /usr/lib/libvtaprog.so* /tree/usr/lib/
check "no request is lost, and each is answered once, while a card is reset and pulled out" \
	chroot /tree env PYTHONPATH=/package python3 /package/card.py
check "no context is left" grep -q '^0$' /sys/class/vta/vta0/contexts_used
check "the module can go" rmmod vta
echo "1..$n"
exit "$failed"
