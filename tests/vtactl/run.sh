#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vtactl and what it looks at, in the VM: no card, one, several, faulted, given up
# and gone; and the documents against what is there.
#
#   tests/vtactl/run.sh VTA.KO
#
# VM_KERNEL says which kernel, as tools/vm/vm --kernel; COVERAGE=DIR is as in
# tests/selftests/run.sh.
set -eu
module=$1
cd "$(dirname "$0")/../.."
set --
[ -z "${COVERAGE-}" ] || set -- --out "$COVERAGE/vtactl"
exec tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --timeout 400 --cards 2 "$@" \
	--emu-arg-0 --serial=0xa --emu-arg-0 --sensors=318150,12500 \
	--emu-arg-1 --serial=0xb --emu-arg-1 --queues=4 \
	--file "$module":/lib/vta.ko \
	--file build/tools/vtactl:/bin/vtactl \
	--file build/tests/vtactl/worker:/bin/worker \
	--file "$(command -v setpriv)" \
	--file tests/tap.sh:/lib/tap.sh \
	--file docs/sysfs-abi.md:/docs/sysfs-abi.md --file docs/operating.md:/docs/operating.md \
	-- tests/vtactl/guest.sh
