#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# models.sh ACCURACY MODEL...: real models against their goals (issue of the compiler, 3):
# fetched into the cache if they are not there, quantised with their calibration images and
# no other options, compared with float on images that nothing was chosen by, and some run
# on the core. Prints TAP. IMAGES=n: so many at most.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
accuracy=$1
shift

# goals MODEL: the arguments of accuracy
goals() {
	case $1 in
	mnist)		echo "$cache/mnist-held.labels --images ${IMAGES:-9000} --worse .003 --card 3" ;;
	fashion)	echo "$cache/fashion-held.labels --images ${IMAGES:-9000} --worse .003 --card 3" ;;
	ppocr)		echo "$cache/ppocr-held.labels --agree .99 --card 2" ;;
	esrgan)		echo "--truth $cache/esrgan-held-truth.npy --lose .15 --card 1" ;;
	mobilenetv2)	echo "$cache/mobilenetv2-held.labels --agree .80 --card 1" ;;
	resnet50)	echo "$cache/resnet50-held.labels --images ${IMAGES:-240} --agree .97 --worse .01 --card 1" ;;
	*)		return 1 ;;
	esac
}

echo "TAP version 13"
echo "1..$#"
n=0 code=0
for model; do
	n=$((n + 1))
	if ! log=$("$here/../models/fetch" "$model" 2>&1); then
		case $log in
		*SKIP:*)	echo "ok $n - $model # SKIP ${log##*SKIP: }" ;;
		*)		echo "not ok $n - $model: ${log##*$'\n'}"; code=1 ;;
		esac
		continue
	fi
	grep -v ' ready ' <<<"$log" | sed 's/^/# /' || :
	echo "# $model: calibrated, and ways chosen, with $model-calib; measured on $model-held"
	# shellcheck disable=SC2046 # options, no file names with blanks but the cache's
	if "$accuracy" "$cache/$model.onnx" "$cache/$model-calib.npy" "$cache/$model-held.npy" \
			$(goals "$model"); then
		echo "ok $n - $model"
	else
		echo "not ok $n - $model"
		code=1
	fi
done
exit $code
