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
# refused WHAT TEXT COMMAND...: it fails with $expect, and says why
expect=1
refused() {
	what=$1
	text=$2
	shift 2
	"$@" >/tmp/out 2>/tmp/err
	status=$?
	if [ $status -eq $expect ] && grep -q "$text" /tmp/err; then
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
grep -q '^program *digits' /tmp/info && grep -q '^input *image int8 \[10\]' /tmp/info
result $? "info tells what an image is"
vtactl program info --json $vtap | grep -q '"LOG_BLOCK": *4'
result $? "info tells it in JSON, too"
vtactl program run $vtap image=/data/images scores=/tmp/scores && cmp /tmp/scores /data/scores
result $? "ten digits by an image, as the CPU scores them"
refused "a card with another core is refused" "LOG_[A-Z_]* = [0-9]*, the card has [0-9]*" \
	vtactl program run --card 1 $vtap image=/data/images
refused "an input without a file is named" "image: this input needs a file" \
	vtactl program run $vtap scores=/tmp/scores
refused "a file of another size is refused" "has 100 bytes, input image takes 7840" \
	vtactl program run $vtap image=/data/scores
refused "a name that is no tensor is refused" "labels=x" \
	vtactl program run $vtap image=/data/images labels=x
head -c 100000 $vtap >/tmp/cut.vtap
refused "a file that is cut off is refused" "cut off" vtactl program info /tmp/cut.vtap
refused "a file that is no image is refused" "not a program image" \
	vtactl program run /data/images image=/data/images
refused "an image of a later version is refused" "version 3, this library knows 1 to 2" \
	vtactl program info /data/version.vtap
refused "a damaged image is refused" "checksum is wrong" \
	vtactl program run /data/checksum.vtap image=/data/images
refused "a program that reaches beyond its segments is refused" "reaches what it may not" \
	vtactl program run /data/reach.vtap image=/data/images
refused "a program that faults is reported with its fault" "token" \
	vtactl program run /data/deadlock.vtap image=/data/images
vtactl program run $vtap image=/data/images scores=/tmp/again && cmp /tmp/again /data/scores
result $? "the card runs the next program after a fault"

# Of version 2: a network of which a part is the CPU's, with a picture as its input.
mixed=/data/mixed.vtap
vtactl program info $mixed | grep -q '^host *[1-9][0-9]* steps by the CPU' &&
	vtactl program info --json $mixed | grep -q '"type": *"float32"'
result $? "info tells of CPU steps"
vtactl program run $mixed --image /data/picture.png scores=/tmp/scores.raw --top 3 >/tmp/top &&
	cmp /tmp/scores.raw /data/scores.raw
result $? "a picture's scores are those of the core without a card, to the bit"
cmp /tmp/top /data/top3
result $? "the likeliest classes are named by the program's labels"
vtactl program run $mixed image=/data/image.npy scores=/tmp/scores.npy &&
	tail -c 96 /tmp/scores.npy | cmp - /data/scores.raw &&
	head -c 80 /tmp/scores.npy | grep -q "'shape': (1, 24)"
result $? "arrays of numpy's in and out"
mixed /data/image.raw /tmp/scores.c && cmp /tmp/scores.c /data/scores.raw
result $? "the program as C, on the card: the same bits"
echo '["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]' >/tmp/labels.json
vtactl program run $mixed --image /data/picture.jpg --labels /tmp/labels.json >/tmp/top &&
	[ "$(wc -l </tmp/top)" -eq 5 ] && grep -qE '^ 1 +[0-9.]+  ([a-n]$|class)' /tmp/top
result $? "a JPEG file, with labels of a JSON file"
head -c 60 /data/picture.png >/tmp/cut.png
refused "a picture that is cut off is refused" "no good PNG file" \
	vtactl program run $mixed --image /tmp/cut.png
refused "a file that is no picture is refused" "neither a PNG nor a JPEG file" \
	vtactl program run $mixed --image /data/mixed.vtap
refused "an array of another shape is refused" "its shape is not the tensor's" \
	vtactl program run $mixed image=/data/other.npy
refused "a program that takes no pictures says so" "does not say how a picture" \
	vtactl program run $vtap --image /data/picture.png

# counter NAME: what card 0 has counted
counter() {
	echo counters >&3
	read -r line <&3
	echo "$line" | sed "s/.*\"$1\": *\([0-9]*\).*/\1/"
}
exec 3<>/dev/virtio-ports/vta-emu0
bells=$(counter doorbells)
descs=$(counter descriptors)
vtactl program run $vtap image=/data/images scores=/tmp/again
# The upload; then input, launch and output in one batch.
[ "$(($(counter doorbells) - bells))" -eq 2 ] && [ "$(($(counter descriptors) - descs))" -eq 4 ]
result $? "loading is one upload, running is one batch"
exec 3>&-

expect=3
refused "a card that is not there is named" "no card 9; " vtactl program run --card 9 $vtap image=/data/images
rmmod vta
refused "no card at all is said" "no card: the driver is not loaded" \
	vtactl program run $vtap image=/data/images
vtactl program info $vtap >/dev/null
result $? "info needs no card"
echo "1..$n"
exit $fails
