#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Program images on a device in the process, without a VM. Prints TAP.
#
#   tests/ops/soft.sh [DEVICE]
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-images.XXXXXX")
trap 'rm -rf "$dir"' EXIT
tests/ops/files.sh "$dir" || exit 1
export VTADEV_PLUGINS="$top/build/lib" VTADEV_DEVICE="${1:-soft}"
PATH=$top/build/tools:$top/build/tests/vtac/emit:$PATH
cd "$dir" || exit 1
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
# shellcheck source=tests/ops/images.sh
. "$top/tests/ops/images.sh"

echo "TAP version 13"
check_digits "$VTADEV_DEVICE:$top/tests/emu/configs/batch2.json"
check_mixed
check_pictures
echo "1..$n"
exit $failed
