#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mnist.sh VTA.KO [IMAGES] - a network of MNIST, compiled by vtac, on pictures of ten classes
#
# The card in RTL runs it in the guest, through driver and library, on IMAGES (2) of each class: the
# figures and the checksum of all outputs are those of the device "soft". Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$1 images=${2:-2}
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-mnist.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log

echo "TAP version 13"
status=0
tests/vtac/models/fetch mnist-set >"$dir/log" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
	if [ "$status" -eq 77 ]; then
		skip mnist "$(tail -n 1 "$dir/log")"
	else
		result "mnist is fetched" 1
	fi
	echo "1..$n"
	exit "$failed"
fi
build/tools/vtac compile -q "$cache/mnist.onnx" --calibrate="$cache/mnist-calib.npy" --order=gray \
	--scale=0.003922 -o "$dir/mnist.vtap"
for class in {0..9}; do
	mkdir -p "$dir/set/$class"
	find "$cache/mnist-set/$class" -name '*.png' | sort | sed -n "1,${images}p" |
		xargs cp -t "$dir/set/$class"
done

# The card's time passes slower, so that no run reaches the driver's limit.
run_on_card() {
	tools/vm/vm run --timeout 3600 --emu build/rtl/vta-emu-rtl --emu-arg --time=model:1000 \
		--file "$module:/lib/vta.ko" --file build/tools/vtactl:/bin/vtactl \
		--file "$dir/mnist.vtap:/mnist.vtap" --file "$dir/set:/set" -- \
		sh -ec 'insmod /lib/vta.ko; vtactl program run /mnist.vtap --images=/set --json; rmmod vta'
}

# figures JSON: of a set of images; the checksum is of all outputs
figures() {
	grep -E '^  "(images|failed|top1|topk|outputs_crc32)":' "$1" | tr -d '\r'
}

VTADEV_PLUGINS=build/lib build/tools/vtactl program run "$dir/mnist.vtap" --cards=soft \
	--images="$dir/set" --json >"$dir/soft.json"
status=0
run_on_card >"$dir/card.json" 2>"$dir/log" || status=$?
result "mnist runs on the card in RTL" "$status"
figures "$dir/soft.json" >"$dir/wanted"
figures "$dir/card.json" >"$dir/got" || :
sed 's/^/# /' "$dir/got"
cat "$dir/card.json" >>"$dir/log"
status=0
[ "$(wc -l <"$dir/wanted")" -eq 5 ] && cmp -s "$dir/got" "$dir/wanted" || status=1
result "$((10 * images)) pictures have the figures and outputs of soft, to the bit" "$status"
echo "1..$n"
exit "$failed"
