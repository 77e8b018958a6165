#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The life of the module under DKMS, with a suite's own dkms, dpkg and kernels, in
# its root: prints TAP.
#
#   tests/kernels/dkms.sh SUITE
#
# The root has two kernels. Changes in it are dropped.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
[ $# -eq 1 ] || { sed -n '7s/^# *//p' "$0" >&2; exit 2; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-dkms.XXXXXX")
trap 'rm -rf "$dir"' EXIT
make --no-print-directory -s -C "$top" install-dkms-source DESTDIR="$dir"
cp "$here/dkms_life.sh" "$here/../tap.sh" "$dir"
mapfile -t releases < <("$top/tools/vm/vm" releases "$1")
"$top/tools/vm/vm" in "$1" "$dir" ./dkms_life.sh "${releases[@]}"
