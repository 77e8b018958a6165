#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ResNet50 on real photographs: fetch the model, compile it, boot the VM with an emulated
# card, and print the five best classes of each picture.
#
#   examples/models/demo.sh VTA.KO VTAC VTACTL [PICTURE]...
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$1 vtac=$2 vtactl=$3
shift 3
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
program=build/demo-model/resnet50.vtap
pictures=("$@")

tests/vtac/models/fetch resnet50
[ ${#pictures[@]} -gt 0 ] || pictures=("$cache"/resnet50-photos/{lion,zebra,banana,violin,747}.png)
mkdir -p "${program%/*}"
if [ ! "$program" -nt "$vtac" ]; then
	echo "compiling ResNet50 for the card, with 16 images to calibrate with"
	"$vtac" compile -q "$cache/resnet50.onnx" --calibrate "$cache/resnet50-calib.npy" --images 16 \
		--labels "$cache/resnet50-labels.txt" --order bgr --mean 103.939,116.779,123.68 \
		--filter cubic --fit centre -o "$program"
fi
files=() run='insmod /lib/vta.ko'
for picture in "${pictures[@]}"; do
	name=$(basename "$picture")
	files+=(--file "$picture:/share/$name")
	run+="; echo; echo '$name'; vtactl program run /share/resnet50.vtap --image '/share/$name'"
done
if tools/vm/vm run --cards 1 --file "$module":/lib/vta.ko --file "$vtactl":/bin/vtactl \
		--file "$program":/share/resnet50.vtap "${files[@]}" \
		-- sh -ec "$run; rmmod vta"; then
	echo "demo-model: OK: ResNet50 ran on the emulated card through /dev/vta0"
else
	status=$?
	echo "demo-model: FAILED (exit status $status)" >&2
	exit "$status"
fi
