#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Operators on each of three cards, and program images, in the guest: TVM's default core, one
# with a batch and small buffers, and one with 4 bits. Prints TAP.
#
# host: tests/ops/files.sh "$dir"
# vm: --cards 3 --emu-arg-1 --config=tests/ops/batch.json --emu-arg-1 --order=random
# vm: --emu-arg-2 --config=tests/ops/int4.json --emu-arg-2 --order=greedy
# vm: --file build/tests/ops/on_card:/bin/on_card --file build/tests/vtac/emit/mixed:/bin/mixed
# vm: --file build/tools/vtactl:/bin/vtactl --file "$dir:/data"
# vm: --file tests/ops/images.sh:/lib/images.sh
set -u

cd /data || exit 1
# shellcheck source=tests/tap.sh
. /lib/tap.sh
# shellcheck source=tests/ops/images.sh
. /lib/images.sh

insmod /lib/vta.ko
echo "TAP version 13"
for card in 0 1 2; do
	on_card $card 24 >log
	status=$?
	sed 's/^/    /' log
	result "operators on card $card" $status
done

check_digits 1
check_mixed
check_pictures

# Only the first card has the program's core.
cat images images images >three
cat scores scores scores >three_scores
vtactl program run --cards all digits.vtap image=three scores=got >said && cmp got three_scores &&
	grep -q '^vta0  *3  *0  *0  up$' said && [ "$(grep -c '^vta[12]  *0  *0  *0  vta' said)" -eq 2 ]
status=$?
sed 's/^/# /' said
result "--cards all: runs go to the card that has the core; the others say why not" $status

# counter NAME: what card 0 has counted
counter() {
	echo counters >&3
	read -r line <&3
	echo "$line" | sed "s/.*\"$1\": *\([0-9]*\).*/\1/"
}
exec 3<>/dev/virtio-ports/vta-emu0
bells=$(counter doorbells)
descs=$(counter descriptors)
vtactl program run digits.vtap image=images scores=got
# The upload; then input, launch and output in one batch.
[ "$(($(counter doorbells) - bells))" -eq 2 ] && [ "$(($(counter descriptors) - descs))" -eq 4 ]
result "loading is one upload, running is one batch" $?
exec 3>&-

expect=3
refused "a card that is not there is named" "no card 9; " \
	vtactl program run --cards 9 digits.vtap image=images
rmmod vta
refused "no card at all is said" "no card: the driver is not loaded" \
	vtactl program run digits.vtap image=images
vtactl program info digits.vtap >/dev/null
result "info needs no card" $?
echo "1..$n"
exit $failed
