#!/bin/bash
# shellcheck disable=SC2317 # functions that check calls
# SPDX-License-Identifier: GPL-2.0-only
#
# The execution provider in ONNX Runtime of Debian's testing release, on the device soft, also with
# LeakSanitizer and ThreadSanitizer. Prints TAP.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/onnxruntime/root.sh
. "$top/tests/onnxruntime/root.sh"
cd "$top"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-onnxruntime.XXXXXX")
trap 'rm -rf "$dir"' EXIT

ort_or_skip "$dir"
ort_files "$dir"
cp build/lib/libvtadev-soft.so "$dir/"
# A device that is lost when it shall compute
cc -shared -fPIC -Iuapi -Ilibvtadev -o "$dir/libvtadev-frail.so" tests/devices/frail.c
/usr/bin/python3 tests/onnxruntime/nodes.py "$dir/nodes"

# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
echo "TAP version 13"
# in_root COMMAND...: its results are those of provider.py, indented; the rest is in $dir/log
in_root() {
	local status=0
	ort_run "$dir" env VTADEV_PLUGINS=/mnt HOME=/mnt "$@" >"$dir/log" 2>&1 || status=$?
	grep -aE '^(not )?ok |^#|^1\.\.' "$dir/log" | sed 's/^/    /'
	return "$status"
}
check "the provider's tests pass" in_root python3 provider.py

# The example takes the first device, which shall be soft.
example() {
	mkdir "$dir/plugins" && cp build/lib/libvtadev-soft.so "$dir/plugins/" &&
		cp examples/onnxruntime/compare.py "$dir/" &&
		in_root python3 -c 'import numpy
numpy.save("images.npy", numpy.random.default_rng(1).normal(0, 1, (50, 3, 16, 16)).astype("f"))' &&
		in_root VTADEV_PLUGINS=/mnt/plugins python3 compare.py ./libvtadev-onnxruntime.so float.onnx \
			images.npy images.npy &&
		grep -E '^soft: (4[0-9]|50) of 50 images have the class' "$dir/log"
}
check "the example computes with the provider" example

# Python itself leaves memory, so there is a report: it shall not have the provider in it.
# sanitizer NAME: the library of this machine's compiler, in the root
sanitizer() {
	cp -L "$(gcc -print-file-name="lib$1.so")" "$dir/"
	echo "/mnt/lib$1.so"
}
leaks() {
	local status=0
	in_root LD_PRELOAD="$(sanitizer lsan)" LSAN_OPTIONS=fast_unwind_on_malloc=0:exitcode=9 \
		python3 provider.py model session files wrong || status=$?
	[ "$status" -eq 9 ] && ! grep '^not ok' "$dir/log" && grep -q 'LeakSanitizer: detected memory leaks' "$dir/log" &&
		! grep libvtadev "$dir/log"
}
check "sessions leave no memory" leaks
# The provider's own code is compiled for it; the libraries have tests of their own.
races() {
	ort_build build/tsan/lib/libvtadev-onnxruntime.so
	cp build/tsan/lib/libvtadev-onnxruntime.so "$dir/"
	in_root setarch -R env LD_PRELOAD="$(sanitizer tsan)" TSAN_OPTIONS=exitcode=0 \
		python3 provider.py threads session sessions observed &&
		! grep 'SUMMARY: ThreadSanitizer: .* adapters/onnxruntime/' "$dir/log"
}
check "threads do not race" races
echo "1..$n"
exit "$failed"
