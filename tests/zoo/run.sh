#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Networks of torchvision, transformers and the zoo's own, exported by PyTorch: each is compiled,
# and compared with ONNX Runtime on the CPU and on the device soft. Prints TAP.
#
#   tests/zoo/run.sh NETWORK OUT [NAME...]
#
# NETWORK is the program built of network.c. The table is written to OUT/zoo.md, its sums to
# OUT/zoo.json. Exports are kept in $VTA_CACHE/zoo/exports, each until its recipe changes.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/zoo/root.sh
. "$top/tests/zoo/root.sh"
cd "$top"
[ $# -ge 2 ] || {
	sed -n '7s/^# *//p' "$0" >&2
	exit 2
}
network=$1 out=$2
shift 2
mkdir -p "$out" "$zoo/exports"

if ! (zoo_root) 2>"$out/root.log"; then
	echo "TAP version 13"
	echo "ok 1 zoo # SKIP no root of Debian testing: $(grep -m 1 'mmdebstrap: ' "$out/root.log" ||
		tail -n 1 "$out/root.log")"
	echo "1..1"
	exit 0
fi
cp tests/zoo/export.py tests/zoo/networks.py tests/zoo/time_onnxruntime.py "$zoo/exports/"
exec {lock}>"$zoo/exports.lock"
flock "$lock"
zoo_run "$zoo/exports" nice python3 export.py . exports.txt "$@" >"$out/exports.log" 2>&1 || {
	tail -n 20 "$out/exports.log" >&2
	exit 1
}
cp "$zoo/exports/exports.txt" "$out/"
export VTADEV_PLUGINS=$top/build/lib
exec nice tests/zoo/measure.py "$network" "$zoo/exports" "$out" \
	"${chroot_run[@]}" "$zoo/root" "$zoo/exports" python3 time_onnxruntime.py
