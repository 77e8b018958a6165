#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: operators on each of three cards, and a program image.
set -u

insmod /lib/vta.ko
fails=0
n=0
echo "TAP version 13"
# result STATUS WHAT
result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		fails=1
		echo "not ok $n $2"
	fi
}
# refused WHAT TEXT COMMAND...: it fails with 1, and says why
refused() {
	what=$1
	text=$2
	shift 2
	"$@" >/tmp/out 2>/tmp/err
	status=$?
	if [ $status -eq 1 ] && grep -q "$text" /tmp/err; then
		result 0 "$what"
	else
		sed "s/^/# $status: /" /tmp/err
		result 1 "$what"
	fi
}

for card in 0 1 2; do
	on_card $card 24 >/tmp/log
	status=$?
	sed 's/^/    /' /tmp/log
	result $status "operators on card $card"
done

vtap=/data/digits.vtap
vtactl program info $vtap >/tmp/info
grep -q '^program *digits' /tmp/info && grep -q '^input *image \[10\]' /tmp/info
result $? "info tells what an image is"
vtactl program info --json $vtap | grep -q '"LOG_BLOCK": *4'
result $? "info tells it in JSON, too"
vtactl program run $vtap image=/data/images scores=/tmp/scores && cmp /tmp/scores /data/scores
result $? "ten digits by an image, as the CPU scores them"
refused "a card with another core is refused" "LOG_[A-Z_]* = [0-9]*, the card has [0-9]*" \
	vtactl program run --card 1 $vtap image=/data/images
refused "an input without a file is named" "image: this input needs a file" \
	vtactl program run $vtap scores=/tmp/scores
refused "a file of another size is refused" "has 100 bytes, input image has 7840 values" \
	vtactl program run $vtap image=/data/scores
refused "a name that is no tensor is refused" "labels=x" \
	vtactl program run $vtap image=/data/images labels=x
head -c 100000 $vtap >/tmp/cut.vtap
refused "a file that is cut off is refused" "cut off" vtactl program info /tmp/cut.vtap
refused "a file that is no image is refused" "not a program image" \
	vtactl program run /data/images image=/data/images
echo "1..$n"
exit $fails
