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
