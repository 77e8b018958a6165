#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo, in the VM, on the sanitized emulator.
#
#   tests/demo/run.sh VTA.KO
set -eu
cd "$(dirname "$0")/../.."
exec tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --timeout 400 \
	--file "$1":/lib/vta.ko \
	--file build/examples/digits/digits:/bin/digits \
	--file examples/digits/testset.bin:/share/testset.bin \
	--file tests/tap.sh:/lib/tap.sh \
	-- tests/demo/guest.sh
