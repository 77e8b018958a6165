#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh - the Python package on the device "soft": its tests, the documents' examples, and memory
# by valgrind. Prints TAP.
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-/usr/bin/python3}
if [ ! -e build/python/vtadev/_core.abi3.so ]; then
	echo 'ok 1 python # SKIP the package is not built: it takes libpython3-dev and libdlpack-dev'
	exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-python.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export PYTHONPATH=$PWD/build/python LD_LIBRARY_PATH=$PWD/build/lib PYTHONDONTWRITEBYTECODE=1
# Beside soft there is a device that is lost when it shall compute.
mkdir "$dir/plugins"
cc -shared -fPIC -Iuapi -Ilibvtadev -o "$dir/plugins/libvtadev-frail.so" tests/devices/frail.c
cp build/lib/libvtadev-soft.so "$dir/plugins"
[ ! -e build/lib/libvtadev-opencl.so ] || cp build/lib/libvtadev-opencl.so "$dir/plugins"
export VTADEV_PLUGINS=$dir/plugins VTADEV_DEVICE=soft

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log
example_names_digit() {
	[ "$("$python" examples/python/digits.py "$dir/digits.vtap" "$dir/digit.raw")" = "the digit is 6" ]
}
makes_picture() {
	"$python" examples/python/pictures.py "$dir/digits.vtap" examples/digits/testset.bin \
		"$dir/digits.png" && [ -s "$dir/digits.png" ]
}
# Leaks of Python itself at its end are not counted: only blocks, and accesses, whose stack
# contains the extension or the library, by the paths of sources or of the file. OpenCL's
# drivers, which valgrind does not follow, are not loaded. Python 3.13 never frees the keys that
# PyDict_SetItemString() makes: it interns them.
valgrind_finds_nothing() {
	PYTHONMALLOC=malloc OCL_ICD_VENDORS=$dir valgrind --quiet --leak-check=full --show-leak-kinds=definite \
		--num-callers=30 --fullpath-after= --log-file="$dir/valgrind" \
		"$python" tests/python/once.py || return
	sed 's/^==[0-9]*== \?//' "$dir/valgrind" |
		awk -v RS='' '/PyDict_SetItemString/ { next }
			/libvtadev|adapters|_(core|compiler)\.abi3/ { print; bad = 1 } END { exit bad }'
}

echo "TAP version 13"
status=0
"$python" tests/python/tap.py > "$dir/tap" || status=1
sed 's/^/    /' "$dir/tap"
result "the package's tests" $status
if VTADEV_DEVICE=opencl "$python" -c 'import vtadev; vtadev.open()' 2> /dev/null; then
	check "children of programs on OpenCL" env VTADEV_DEVICE=opencl "$python" tests/python/tap.py \
		test_vtadev.Fork
else
	skip "children of programs on OpenCL" "there is no device opencl"
fi
build/examples/digits/digits-compile -b 1 "$dir/digits.vtap"
build/tests/ops/digits_raw examples/digits/testset.bin 1 "$dir/digit.raw" "$dir/scores"
check "the example names a digit" example_names_digit
check "the document's examples run" "$python" tests/python/document.py "$dir"
if "$python" -c 'import matplotlib, numpy' 2> /dev/null; then
	check "the example with pictures makes one" makes_picture
else
	skip "the example with pictures makes one" "there is no python3-matplotlib"
fi
if command -v valgrind > /dev/null; then
	check "valgrind finds no leak and no bad access" valgrind_finds_nothing
else
	skip "valgrind finds no leak and no bad access" "there is no valgrind"
fi
echo "1..$n"
exit "$failed"
