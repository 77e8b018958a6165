#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library, the tools and their tests, built for another architecture in the root
# of a suite, and run there: prints TAP.
#
#   tests/kernels/userspace.sh SUITE
#
# Builds into build/cross/SUITE, the tests for a VM (tests/selftests) too.
# Programs of arm64 are run by QEMU's user emulation. The sanitizers do not run there,
# and are left out.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
[ $# -eq 1 ] || { sed -n '7s/^# *//p' "$0" >&2; exit 2; }
suite=$1
vm=$top/tools/vm/vm
dir=$top/build/cross/$suite
case $suite in
*-arm64)	gnu=aarch64-linux-gnu runner=qemu-aarch64 machine=AArch64 flags=''
		what=cross-programs ;;
# gcc notes that an earlier version laid out atomics differently.
*-i386)		gnu=i686-linux-gnu runner=env machine='Intel 80386' flags=' -Wno-psabi'
		what=cross-programs-32 ;;
*)		echo "$suite: neither -arm64 nor -i386" >&2; exit 2 ;;
esac

# A copy, as the tree's own build directory is for the host. The kselftest harness
# comes from the cache, which the root does not have.
mkdir -p "$dir"
(cd "$top" && cp -pru Makefile rules.mk Kbuild kmod contract uapi libvtadev tools tests examples docs udev "$dir")
mkdir -p "$dir/kselftest"
cp -pu "$("$vm" source)"/tools/testing/selftests/*.h "$dir/kselftest/"
log=$dir/log
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tap_log=$log

in_root() {
	"$vm" in "$suite" "$dir" "$@"
}

# Prints the names of skipped cases.
skips() {
	sed -n 's/^\[  SKIPPED \] /, not /p' "$log" | grep -v 'tests:' | sort -u | tr -d '\n'
}

echo "TAP version 13"
# If it has to be made, that says so, which is no warning.
"$vm" root "$suite" >/dev/null
status=0
in_root make -s -j2 CC="$gnu-gcc$flags" LD="$gnu-ld" AR="$gnu-ar" OBJCOPY="$gnu-objcopy" \
	SANITIZE_asan= SANITIZE_tsan= SELFTEST_HARNESS=kselftest "$what" \
	>"$log" 2>&1 || status=$?
[ ! -s "$log" ] || status=1
result "library, tools and tests are built for $suite without a warning" "$status"
if [ "$status" -ne 0 ]; then
	echo "1..$n"
	exit 1
fi

status=0
for file in "$dir"/build/lib/libvta*.so.?.?.? "$dir"/build/tools/vtactl \
		"$dir"/build/tests/selftests/vta_basic; do
	readelf -hW "$file" | grep "Machine: *$machine" >/dev/null || {
		echo "$file is not for $machine" >>"$log"
		status=1
	}
done
result "they are for $machine" "$status"

for test in "$dir"/build/tests/lib/test_* "$dir"/build/tests/ops/test_* \
		"$dir"/build/examples/digits/reference_test; do
	{ [ -f "$test" ] && [ -x "$test" ]; } || continue
	status=0
	in_root "$runner" "${test#"$dir/"}" >"$log" 2>&1 </dev/null || status=$?
	# cmocka's own line, so that a test that ran nothing is not one that passed.
	grep -E '^\[ +PASSED +\] [1-9][0-9]* test|^ok [1-9]' "$log" >/dev/null || status=1
	result "${test##*/}: $(grep -cE '^(\[ +OK +\]|ok [0-9])' "$log") tests$(skips)" "$status"
done

# No card in the root: the tool says so and what to do.
status=0
in_root "$runner" build/tools/vtactl list >"$log" 2>&1 </dev/null || status=$?
grep -qi 'card' "$log" || status=99
result "vtactl starts, and finds no card" "$((status == 99))"
if [ "$what" = cross-programs ]; then
	in_root "$runner" build/tools/vta-emu --help >"$log" 2>&1 </dev/null && status=0 || status=$?
	result "vta-emu starts" "$status"
fi

echo "1..$n"
exit "$failed"
