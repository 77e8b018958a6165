#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Overlap and traces, in the VM, on the sanitized emulator in modelled time: its stamps do not
# depend on this machine's speed. The card is made slow, so that the CPU always keeps up.
#
#   tests/stream/run.sh VTA.KO
set -eu
cd "$(dirname "$0")/../.."
exec tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --timeout 400 --cards 2 \
	--emu-arg --time=model:400 --emu-arg --clock-khz=10000 \
	--file "$1":/lib/vta.ko \
	--file build/examples/stream/stream:/bin/stream \
	--file build/tools/vtactl:/bin/vtactl \
	--file build/tests/stream/check_trace:/bin/check_trace \
	--file build/tests/stream/threads:/bin/threads \
	--file tests/tap.sh:/lib/tap.sh --file tests/stream/library.sh:/lib/library.sh \
	-- tests/stream/guest.sh
