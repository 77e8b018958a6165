#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Operators on each of three cards, and program images, in the guest: TVM's default core, one
# with a batch and small buffers, and one with 4 bits; a fourth card is like the first, for pools.
# Prints TAP.
#
# host: tests/ops/files.sh "$dir"
# vm: --cards 4 --emu-arg-1 --config=tests/ops/batch.json --emu-arg-1 --order=random
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

# answered RUNS: the two cards that have the program's core have computed so many, without a loss
answered() { awk -v n="$1" '/^vta[03] .* 0  *0  up$/ { n -= $2; up++ } END { exit n || up != 2 }' said; }

for image in images scores; do
	cat $image $image $image $image >four_$image
done
vtactl program run --cards all digits.vtap image=four_images scores=got >said &&
	cmp got four_scores && answered 4 && [ "$(grep -c '^vta[12]  *0  *0  *0  vta' said)" -eq 2 ]
status=$?
sed 's/^/# /' said
result "--cards all: runs go to the cards that have the core; the others say why not" $status

# The doorbell of loading, or of the first run, is rung again, and no card is lost.
exec 3<>/dev/virtio-ports/vta-emu0
for bell in 0 1; do
	echo "inject doorbell-lost+$bell 1" >&3
	read -r line <&3
	timeout 300 vtactl program run --cards vta0,vta3 digits.vtap image=four_images scores=got \
		>said && cmp got four_scores && answered 4
	status=$?
	echo injected >&3
	read -r line <&3
	echo "$line" | grep -q '"doorbell-lost": *{ *"on": *false' || status=1
	echo "$line" | cat - said | sed 's/^/# /'
	result "a pool whose card loses doorbell $bell answers" $status
done

# counter NAME: what card 0 has counted
counter() {
	echo counters >&3
	read -r line <&3
	echo "$line" | sed "s/.*\"$1\": *\([0-9]*\).*/\1/"
}
bells=$(counter doorbells)
descs=$(counter descriptors)
vtactl program run digits.vtap image=images scores=got
# The upload; then input, launch and output in one batch.
[ "$(($(counter doorbells) - bells))" -eq 2 ] && [ "$(($(counter descriptors) - descs))" -eq 4 ]
result "loading is one upload, running is one batch" $?
exec 3>&-

expect=3
refused "a card that is not there is named" "9: there is no such card; " \
	vtactl program run --cards 9 digits.vtap image=images
rmmod vta
refused "no card at all is said" "no card: the driver is not loaded" \
	vtactl program run digits.vtap image=images
vtactl program info digits.vtap >/dev/null
result "info needs no card" $?
echo "1..$n"
exit $failed
