#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# models.sh ACCURACY MODEL...: real models against their goals (issue of the compiler, 3):
# fetched into the cache if they are not there, quantised with their calibration images and
# no other options, compared with float on images that nothing was chosen by (NAME-held), and
# some run on the core. ResNet50's goal is for the images that the compiler was developed with
# (NAME-test); on held images it may not fall behind what it has. Prints TAP. IMAGES=n: so many
# held images at most.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
accuracy=$1
shift

# goals MODEL: for each set of images a line, its name and the arguments of accuracy
goals() {
	case $1 in
	mnist)		echo "held $cache/mnist-held.labels --images ${IMAGES:-9000} --worse .003 --card 3" ;;
	fashion)	echo "held $cache/fashion-held.labels --images ${IMAGES:-9000} --worse .003 --card 3" ;;
	ppocr)		echo "held $cache/ppocr-held.labels --agree .99 --card 2" ;;
	esrgan)		echo "held --truth $cache/esrgan-held-truth.npy --lose .15 --card 1" ;;
	mobilenetv2)	echo "held $cache/mobilenetv2-held.labels --agree .80 --card 1" ;;
	resnet50)	echo "test $cache/resnet50-test.labels --agree .97 --worse .01 --card 1"
			echo "held $cache/resnet50-held.labels --images ${IMAGES:-240} --agree .92 --worse .01" ;;
	*)		return 1 ;;
	esac
}

# measure MODEL SET ARGUMENT...: one line of TAP
measure() {
	local model=$1 set=$2

	shift 2
	n=$((n + 1))
	echo "# $model: calibrated, and ways chosen, with $model-calib; measured on $model-$set"
	if "$accuracy" "$cache/$model.onnx" "$cache/$model-calib.npy" "$cache/$model-$set.npy" "$@"; then
		echo "ok $n - $model: $set"
	else
		echo "not ok $n - $model: $set"
		code=1
	fi
}

echo "TAP version 13"
n=0 code=0
for model; do
	if ! log=$("$here/../models/fetch" "$model" 2>&1); then
		n=$((n + 1))
		case $log in
		*SKIP:*)	echo "ok $n - $model # SKIP ${log##*SKIP: }" ;;
		*)		echo "not ok $n - $model: ${log##*$'\n'}"; code=1 ;;
		esac
		continue
	fi
	grep -v ' ready ' <<<"$log" | sed 's/^/# /' || :
	while read -ra line; do
		measure "$model" "${line[@]}"
	done < <(goals "$model")
done
echo "1..$n"
exit $code
