#!/bin/bash
# shellcheck disable=SC2154 # variables of the roots
# SPDX-License-Identifier: GPL-2.0-only
#
# The execution provider in ONNX Runtime with networks of the zoo, on the device soft: equal to vtactl
# program run, and its cost beside the program alone. Prints TAP. The provider is built with the headers
# in the root of tests/onnxruntime.
#
#   tests/zoo/provider.sh [NETWORK...]
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/onnxruntime/root.sh
. "$top/tests/onnxruntime/root.sh"
# shellcheck source=tests/zoo/root.sh
. "$top/tests/zoo/root.sh"
cd "$top"
[ $# -gt 0 ] || set -- resnet50 ssdlite320_mobilenet_v3_large bert
skip() {
	printf 'TAP version 13\nok 1 provider # SKIP %s\n1..1\n' "$*"
	exit 0
}
[ -e build/python/vtadev/_core.abi3.so ] || skip "no Python package"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-provider.XXXXXX")
trap 'rm -rf "$dir"' EXIT
(ort_root && zoo_root) 2>"$dir/log" ||
	skip "no root of Debian testing: $(grep -m 1 'mmdebstrap: ' "$dir/log" || tail -n 1 "$dir/log")"

ort_build build/lib/libvtadev-onnxruntime.so
mkdir -p "$zoo/exports"
cp tests/zoo/export.py tests/zoo/networks.py "$zoo/exports/"
(
	flock "$lock"
	zoo_run "$zoo/exports" nice python3 export.py . exports.txt "$@"
	cp "$zoo/exports/exports.txt" "$dir/"
) {lock}>"$zoo/exports.lock" >&2
VTADEV_PLUGINS=$top/build/lib nice /usr/bin/python3 tests/zoo/provider_models.py "$zoo/exports" "$dir" "$@"
cp -r build/python/vtadev tests/zoo/provider.py "$dir"
cp -P build/lib/*.so* "$dir"
# The root of ONNX Runtime has the libraries that the extension and "soft" need.
ort_run "$dir" env LD_LIBRARY_PATH=/mnt VTADEV_PLUGINS=/mnt HOME=/mnt PYTHONPATH=/mnt \
	PYTHONDONTWRITEBYTECODE=1 nice python3 provider.py "$@"
