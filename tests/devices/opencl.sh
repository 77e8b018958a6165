#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What can be wrong with the device "opencl", each time said in a sentence; and its cache of
# programs. Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-opencl.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export VTADEV_PLUGINS=build/lib XDG_CACHE_HOME=$dir/cache
# A configuration whose kernels are compiled fast.
small=opencl:0.0:tests/emu/configs/inp2_wgt2.json
n=0
status=0

# result NAME CODE: one line; what was said is in $dir/said
result() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n $1"
		return
	fi
	status=1
	echo "not ok $n $1"
	sed 's/^/# /' "$dir/said"
}
# runs NAME: operators are bit-exact
runs() {
	local code=0

	build/tests/ops/on_card $small 1 > "$dir/said" 2>&1 < /dev/null || code=1
	result "$1" $code
}
# refused NAME WORDS DEVICE: it does not open, and the words are said
refused() {
	local code=1

	build/tests/devices/why "$3" > "$dir/said" 2>&1 || true
	if grep -q -- "$2" "$dir/said"; then
		code=0
	fi
	result "$1" $code
}

echo "TAP version 13"
refused "a platform that is not there" "there is no OpenCL device 9.0" opencl:9.0
refused "a device that is not there" "there is no OpenCL device 0.63" opencl:0.63
refused "a configuration that is not there" "No such file" opencl:0.0:/nowhere.json
refused "a number that is none is a file's name" "9.: No such file" opencl:9.
OCL_ICD_VENDORS=$dir refused "no driver at all" "there is no OpenCL driver: install one" opencl
VTADEV_OPENCL_OPTIONS=-DSTORE=@ refused "the compiler refuses vta.cl" "clBuildProgram: .*error" opencl

runs "a program is built, and put into the cache"
file=$(ls "$dir"/cache/vtadev/opencl-*)
# found NAME: the file serves, and stays as it is
found() {
	local code=0

	touch -d @1 "$file"
	runs "$1"
	[ "$(stat -c %Y "$file")" = 1 ] || code=1
	result "and the file stays as it is" $code
}

found "it is found in the cache"
# The header's sum, the program's bytes, the length.
for what in 8 1000; do
	printf x | dd of="$file" bs=1 seek=$what conv=notrunc status=none
	runs "a file with a wrong byte $what is made anew"
	found "and is whole again"
done
truncate -s 100 "$file"
runs "a file that was cut is made anew"
chmod 666 "$file"
printf x | dd of="$file" bs=1 seek=1000 conv=notrunc status=none
runs "a file that all users may write is not used"
rm "$file"
mkdir "$file"
runs "a directory in its place does no harm"
chmod 500 "$dir/cache/vtadev"
XDG_CACHE_HOME=/nowhere/at/all runs "a cache that cannot be made does no harm"
chmod 700 "$dir/cache/vtadev"
echo "1..$n"
exit $status
