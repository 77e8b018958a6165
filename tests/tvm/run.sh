#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# TVM's own VTA runtime, linked to libvta_driver, on emulated cards in the VM; and the same
# programs natively, on the device "soft" and on TVM's functional simulator.
#
#   tests/tvm/run.sh VTA.KO BUILT [CONFIG...]
#
# make tvm-programs TVM=DIR builds the programs, in BUILT. They print the results, as TAP. With
# CORE=rtl they run only in the VM, on cards with the core in RTL, whose order is its own.
set -eu
cd "$(dirname "$0")/../.."
module=$1
built=$2
status=0
shift 2
[ $# -gt 0 ] || set -- default batch2 block32

if [ "${CORE-}" = rtl ]; then
	for config; do
		echo "# $config, the core in RTL"
		tests/in-vm -t 3600 tests/tvm/guest.sh "$module" "$built/$config" inorder || status=1
	done
	exit "$status"
fi

for config; do
	echo "# $config, TVM's simulator"
	"$built/$config-simulator/programs" simulator || status=1
	for size in 33554432 2048; do
		echo "# $config, the device soft, buffers of $size bytes"
		VTADEV_DEVICE=soft:tests/emu/configs/$config.json \
			"$built/$config-$size/programs" || status=1
	done
	if [ "$config" = default ]; then
		echo "# $config, the device soft, 256 tokens and 512 waiting instructions"
		VTADEV_DEVICE=soft:tests/rtl/configs/shallow.json \
			"$built/$config-33554432/programs" || status=1
	fi
	for order in inorder random; do
		echo "# $config, order $order"
		tests/in-vm tests/tvm/guest.sh "$module" "$built/$config" "$order" || status=1
	done
done
exit "$status"
