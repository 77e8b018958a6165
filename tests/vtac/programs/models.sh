#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# models.sh - real models against their goals. Prints TAP.
#
#   tests/vtac/programs/models.sh [-n IMAGES] ACCURACY MODEL...
#
# Models are fetched into the cache, quantised with their calibration images and no other options,
# and compared with float on images that no choice was made by (NAME-held), at most IMAGES of them;
# some also run on the core. ResNet50's goal is for the images that the compiler was developed with
# (NAME-test). On held images it must keep its present accuracy, and so must those that miss their goals
# (docs/models.md): ResNet50 and MobileNetV2 .97, ppocr-det an IoU of .97, ppocr-rec .95 of the strings,
# blazeface 30 dB.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
images=
if [ "$1" = -n ]; then
	images=$2
	shift 2
fi
accuracy=$1
shift

# shellcheck source=tests/tap.sh
. "$here/../../tap.sh"

# goals MODEL: for each set of images a line, its name and the arguments of accuracy
goals() {
	case $1 in
	mnist)		echo "held $cache/mnist-held.labels --images ${images:-9000} --worse .003 --card 3" ;;
	fashion)	echo "held $cache/fashion-held.labels --images ${images:-9000} --worse .003 --card 3" ;;
	ppocr)		echo "held $cache/ppocr-held.labels --agree .99 --card 2" ;;
	ppocr-det)	echo "held --mask .3 --iou .94 --card 1" ;;
	ppocr-rec)	echo "held --strings --same .9 --card 1" ;;
	blazeface)	echo "held --sqnr 13 --card 1" ;;
	esrgan)		echo "held --truth $cache/esrgan-held-truth.npy --lose .15 --card 1" ;;
	mobilenetv2)	echo "held $cache/mobilenetv2-held.labels --agree .94 --card 1" ;;
	resnet50)	echo "test $cache/resnet50-test.labels --agree .97 --worse .01 --card 1"
			echo "held $cache/resnet50-held.labels --images ${images:-240} --agree .92 --worse .01" ;;
	*)		return 1 ;;
	esac
}

# measure MODEL SET ARGUMENT...
measure() {
	local model=$1 set=$2

	shift 2
	echo "# $model: calibrated, and ways chosen, with $model-calib; measured on $model-$set"
	check "$model: $set" \
		"$accuracy" "$cache/$model.onnx" "$cache/$model-calib.npy" "$cache/$model-$set.npy" "$@"
}

echo "TAP version 13"
for model; do
	if ! log=$("$here/../models/fetch" "$model" 2>&1); then
		case $log in
		*SKIP:*)	skip "$model" "${log##*SKIP: }" ;;
		*)		result "$model: ${log##*$'\n'}" 1 ;;
		esac
		continue
	fi
	grep -v ' ready ' <<<"$log" | sed 's/^/# /' || :
	while read -ra line; do
		measure "$model" "${line[@]}"
	done < <(goals "$model")
done
echo "1..$n"
exit "$failed"
