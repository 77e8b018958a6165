#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each error of the device "opencl" is reported by a sentence, and so is a better choice. Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-opencl.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export VTADEV_PLUGINS=build/lib
# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log

# says NAME WORDS DEVICE: what opening it prints has the words
says() {
	local status=0

	build/tests/devices/why "$3" > "$dir/log" 2>&1 || true
	grep -q -- "$2" "$dir/log" || status=1
	result "$1" "$status"
}

# bare COMMAND...: run where /sys is not mounted, as in some containers
bare() {
	# shellcheck disable=SC2016
	unshare --mount sh -c 'mount -t tmpfs none /sys && exec "$@"' sh "$@"
}
# shellcheck disable=SC2317 # check calls it
listed() {
	bare build/tools/vtactl list --all > "$dir/list" && grep -q ^soft "$dir/list" &&
		! grep -q ^opencl "$dir/list"
}

# shellcheck disable=SC2317 # check calls it
suggested() {
	script -qec "build/tests/devices/why opencl:0.0" "$dir/terminal" > "$dir/log" < /dev/null &&
		grep -q "the device soft is faster" "$dir/log" &&
		build/tests/devices/why opencl:0.0 2> "$dir/log" &&
		! grep -q "soft is faster" "$dir/log"
}

echo "TAP version 13"
says "a platform that is not there" "there is no OpenCL device 9.0" opencl:9.0
says "a device that is not there" "there is no OpenCL device 0.63" opencl:0.63
says "a configuration that is not there" "No such file" opencl:0.0:/nowhere.json
says "a number that is none is a file's name" "9.: No such file" opencl:9.
OCL_ICD_VENDORS=$dir says "no driver at all" "there is no OpenCL driver: install one" opencl
VTADEV_OPENCL_OPTIONS=-DSTORE=@ says "the compiler refuses vta.cl" "clBuildProgram: .*error" opencl
check "the processor as a device: soft is named as the faster choice, on a terminal" suggested
if bare true 2> "$dir/why"; then
	bare build/tests/devices/why opencl > "$dir/why" 2>&1 || true
	check "without /sys: the driver is not called, which would end the process" \
		grep -q "/sys is not mounted" "$dir/why"
	check "without /sys: other devices are listed" listed
else
	skip "without /sys" "cannot mount"
fi
echo "1..$n"
exit "$failed"
