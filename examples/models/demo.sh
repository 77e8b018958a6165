#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A classifier and a detector on real photographs: fetch the models, compile them, boot the VM with an
# emulated card, print the five best classes of each picture, and draw the faces on others. With
# pictures of one's own, both run on all of them.
#
#   examples/models/demo.sh VTA.KO VTAC VTACTL [PICTURE]...
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$1 vtac=$2 vtactl=$3
shift 3
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
out=build/demo-model
classified=("$@") searched=("$@")

# compile NAME WHAT OPTION...: the model as $out/NAME.vtap, unless it is there
compile() {
	local name=$1 what=$2 program=$out/$1.vtap
	shift 2
	if [ ! "$program" -nt "$vtac" ] || [ ! "$program" -nt "$0" ]; then
		echo "compiling $what for the card"
		"$vtac" compile -q "$cache/$name.onnx" --labels "$cache/$name-labels.txt" "$@" -o "$program"
	fi
}

# add PROGRAM PICTURE OPTION...: a run of the program in the VM
add() {
	local program=$1 picture=$2 name
	name=$(basename "$picture")
	shift 2
	files+=(--file "$picture:/share/$name")
	run+="; echo; echo '$name'; vtactl program run /share/$program.vtap --image '/share/$name' $*"
}

tests/vtac/models/fetch resnet50 faces
[ $# -gt 0 ] || {
	classified=("$cache"/resnet50-photos/{lion,zebra,banana,violin,747}.png)
	searched=("$cache"/faces-pictures/{00,13,26}.png)
}
mkdir -p "$out"
compile resnet50 ResNet50 --calibrate "$cache/resnet50-calib.npy" --images 16 --order bgr \
	--mean 103.939,116.779,123.68 --filter cubic --fit centre
# The last layer's numbers are distances: floats of the CPU are finer than 8 bits.
compile faces TinyFaceDetector --calibrate "$cache/faces-calib" --fit top-left --background 000000 \
	--mean 117.001,114.697,97.404 --scale 0.00392157 --cpu conv8
# On a busy machine the emulated card needs long for an image, and is not to be taken for hung.
files=() run='insmod /lib/vta.ko hang_ms=600000'
for picture in "${classified[@]}"; do
	add resnet50 "$picture"
done
for picture in "${searched[@]}"; do
	name=$(basename "$picture")
	add faces "$picture" --boxes "--draw='/out/faces-${name%.*}.png'"
done
if tools/vm/vm run --cards 1 --file "$module":/lib/vta.ko --file "$vtactl":/bin/vtactl --out "$out" \
		--file "$out/resnet50.vtap":/share/resnet50.vtap \
		--file "$out/faces.vtap":/share/faces.vtap "${files[@]}" \
		-- sh -ec "$run; rmmod vta"; then
	echo "pictures with the faces drawn: $out/faces-*.png"
	echo "demo-model: OK: a classifier and a detector ran on the emulated card through /dev/vta0"
else
	status=$?
	echo "demo-model: FAILED (exit status $status)" >&2
	exit "$status"
fi
