#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# libvta_driver, children of programs, and the examples of docs/retargeting.md, in the guest: each
# program, which prints TAP, with the module just loaded. The module must be removable after each.
# The first card runs the core's modules in any order that the tokens allow, the third and fourth in
# the other two; the second has elements that are larger than a page. The first card's token queues
# hold 256 tokens, and 512 instructions wait in it, which must suffice.
#
#   guest.sh [PROGRAM...]
#
# vm: --cards 4 --emu-arg-0 --order=random --emu-arg-1 --config=tests/runtime/large.json
# vm: --emu-arg-0 --log-tokens=8 --emu-arg-0 --log-waiting=9
# vm: --emu-arg-2 --order=inorder --emu-arg-3 --order=greedy
# vm: --file build/tests/runtime/contract:/bin/contract --file build/tests/runtime/kept:/bin/kept
# vm: --file build/tests/runtime/trouble:/bin/trouble --file build/tests/devices/forks:/bin/forks
# vm: --file build/examples/deviceapi/deviceapi_test:/bin/deviceapi_test
# vm: --file build/examples/byoc/byoc:/bin/byoc --file tests/runtime/byoc_test.sh:/bin/byoc_test
# vm: --file build/examples/aot/aot:/bin/aot --file tests/runtime/aot_test.sh:/bin/aot_test
# vm: --file examples/aot/scores.bin:/share/scores.bin
# vm: --file examples/digits/testset.bin:/share/testset.bin
set -eu

[ $# -gt 0 ] || set -- contract kept trouble forks deviceapi_test byoc_test aot_test
status=0
for program; do
	echo "# $program"
	insmod /lib/vta.ko
	CMOCKA_MESSAGE_OUTPUT=TAP "$program" || status=1
	for used in /sys/class/vta/vta*/contexts_used; do
		[ "$(cat "$used")" -eq 0 ] || status=1
	done
	rmmod vta
done
exit "$status"
