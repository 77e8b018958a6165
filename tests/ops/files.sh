#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The program images of images.sh, good and bad ones, and their inputs and outputs.
#
#   tests/ops/files.sh DIR
set -eu
cd "$(dirname "$0")/../.."
build/examples/digits/digits-compile -b 10 "$1/digits.vtap"
build/tests/ops/broken "$1/digits.vtap" "$1"
build/tests/ops/mixed_files "$1"
build/tests/ops/digits_raw examples/digits/testset.bin 10 "$1/images" "$1/scores"
# A set of pictures, and its figures by soft.
mkdir "$1/set"
cp "$1/picture.png" "$1/picture.jpg" "$1/image.npy" "$1/set"
printf '%s\n' 'picture.png 18' 'picture.jpg 2' 'image.npy 3' >"$1/set.txt"
VTADEV_PLUGINS=build/lib build/tools/vtactl program run "$1/mixed.vtap" --cards=soft --images="$1/set" \
	--labels="$1/set.txt" --json >"$1/set.json"
