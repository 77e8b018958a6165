#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A card with the least that the contract asks for, in the guest: without card memory and kept
# state, with short queues in its core, and not learning of refused writes. Prints TAP.
#
# vm: --emu-arg --mem=0 --emu-arg --no-kept-state --emu-arg --posted-writes
# vm: --emu-arg --log-tokens=8 --emu-arg --log-waiting=9
# vm: --file build/tools/vtactl:/bin/vtactl --file build/examples/hello/hello:/bin/hello
# vm: --file build/tests/runtime/stateless:/bin/stateless --file "$dir:/data"
# host: build/examples/digits/digits-compile -b 10 "$dir/digits.vtap"
# host: build/tests/ops/digits_raw examples/digits/testset.bin 10 "$dir/images" "$dir/scores"
set -u
cd /data || exit 1
# shellcheck source=tests/tap.sh
. /lib/tap.sh

insmod /lib/vta.ko
echo "TAP version 13"

# says FILE TEXT...: each is in the file
says() {
	file=$1
	shift
	for text; do
		grep -q "$text" "$file" || return 1
	done
}

sys=/sys/class/vta/vta0
[ "$(cat $sys/mem_size)" = 0 ] && [ "$(cat $sys/mem_free)" = 0 ] &&
	[ "$(cat $sys/config/LOG_TOKENS)" = 8 ] && [ "$(cat $sys/config/LOG_WAITING)" = 9 ] &&
	[ "$(cat $sys/contract)" = 2.1 ]
status=$?
[ $status -eq 0 ] || dmesg | grep -i vta | sed 's/^/# /'
result "the driver binds the card" $status
vtactl status --all >said 2>&1 && says said 'LOG_TOKENS *8' 'LOG_WAITING *9' compute_clocks
status=$?
[ $status -eq 0 ] || sed 's/^/# /' said
result "vtactl status shows it" $status
hello >said 2>&1
status=$?
sed 's/^/# /' said
result "a program that asks for card memory runs" $status
vtactl test >said 2>&1
status=$?
sed 's/^/# /' said
result "vtactl test finds no fault" $status
before=$(cat $sys/counters/compute_clocks)
vtactl program run digits.vtap image=images scores=got >said 2>&1 && cmp got scores &&
	[ "$(cat $sys/counters/compute_clocks)" -gt "$before" ]
status=$?
sed 's/^/# /' said
result "a compiled program runs, and clocks are counted" $status
CMOCKA_MESSAGE_OUTPUT=TAP stateless >log 2>&1
status=$?
sed 's/^/    /' log
result "libvta_driver follows its rule for cards that keep no state" $status
rmmod vta
result "the module can be removed" $?
echo "1..$n"
exit $failed
