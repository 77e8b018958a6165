#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The module on kernels of several Debian suites: built with the suite's compiler
# without a warning, booted, loaded, tested, unloaded; then its life under the
# suite's DKMS. Ends with a table and one line; the status is 1 if anything failed.
#
#   tests/kernels/run.sh [SUITE...]
#
# All suites if none is given. Both kernels of a suite are built for; the older one
# is booted only if it is of another series (7.2 and 7.3). SUITE-arm64: built across
# for arm64, library and tools too, and booted in the suites that $programs_of knows.
# SUITE-i386: 32-bit library, tools and tests, these on the host's kernel in the VM.
# "signing" is no suite: it tests signatures on the host's kernel.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
vm=$top/tools/vm/vm
out=$top/build/check-kernels
cd "$top"
mkdir -p "$out"
: >"$out/table"

failed=0
rows=0

report() {
	printf 'check-kernels: %s\n' "$*"
}

# failure LOG WHAT...
failure() {
	failed=$((failed + 1))
	report "FAILED: ${*:2} (all of it in ${1#"$top/"})"
	tail -n 40 "$1" | sed 's/^/    /'
}

# The compiler's name in the module that it made.
compiler() {
	readelf -p .comment "$1" 2>/dev/null | grep -o 'GCC: .*\|clang version.*' | head -n 1 |
		sed 's/^GCC: (.*) \([0-9.]*\).*/gcc \1/'
}

# build SUITE RELEASE: sets built. Whatever is said but for the lack of a vmlinux is
# taken for a warning.
build() {
	local log=$out/build-$2.log said
	report "$2: building, W=1"
	built=FAILED
	rm -rf "build/module/$2"
	if ! make -s vm-module VM_KERNEL="$1:$2" >"$log" 2>&1; then
		failure "$log" "$2: build"
		return
	fi
	said=$(grep -vE '^(vm: |build/module/|Skipping BTF generation)' "$log" || true)
	if [ -n "$said" ]; then
		failure "$log" "$2: the build is not silent"
		return
	fi
	built=ok
}

# try KERNEL RELEASE NAME BOOT...: sets loaded, tests and unloaded. $cross and $only
# are run.sh's CROSS and TESTS.
cross='' only=''
try() {
	local log=$out/selftests-$3.log line passed bad skipped
	report "$3: booting, loading, testing, unloading"
	VM_KERNEL=$1 CROSS=$cross TESTS=$only tests/run -o "$out" \
		"selftests-$3=tests/selftests/run.sh build/module/$2/vta.ko ${*:4}" \
		>"$out/sum-$3" || true
	cat "$out/sum-$3"
	loaded=FAILED unloaded=FAILED
	! grep -q '^# vta is loaded' "$log" || loaded=ok
	! grep -q '^# vta is unloaded' "$log" || unloaded=ok
	line=$(tail -n 1 "$out/sum-$3")
	read -r passed _ bad _ skipped _ <<<"$line"
	tests="$passed/$bad/$skipped"
	if [ "$bad" -ne 0 ] || [ "$loaded$unloaded" != okok ]; then
		failure "$log" "$3: selftests"
	fi
}

row() {
	printf '%-32s %-11s %-7s %-7s %-22s %-7s %s\n' "$@" >>"$out/table"
	rows=$((rows + 1))
}

# series RELEASE: 7.2 of 7.2.12+deb13-amd64
series() {
	grep -o '^[0-9]*\.[0-9]*' <<<"$1"
}

suite() {
	local releases release newest built loaded tests unloaded dkms log=$out/dkms-$1.log
	mapfile -t releases < <("$vm" releases "$1")
	newest=${releases[-1]}
	report "$1: dkms"
	dkms=ok
	"$here/dkms.sh" "$1" >"$log" 2>&1 || { dkms=FAILED; failure "$log" "$1: dkms"; }
	for release in "${releases[@]}"; do
		loaded=- tests=- unloaded=-
		build "$1" "$release"
		if [ "$built" = ok ] && { [ "$release" = "$newest" ] ||
				[ "$(series "$release")" != "$(series "$newest")" ]; }; then
			try "$1:$release" "$release" "$release" main waits
		fi
		row "$release" "$(compiler "build/module/$release/vta.ko")" "$built" "$loaded" \
			"$tests" "$unloaded" "$dkms"
	done
}

# Tests that need neither pages of 4 KiB nor more than a small system has.
basics="vta_basic vta_open vta_run vta_wait vta_queue vta_fault vta_close vta_lib vta_ctl"
# programs_of SUITE: prints the directory of the guests' programs, with their C library
programs_of() {
	case $1 in
	trixie-arm64|trixie-backports-arm64)	echo trixie-backports-arm64 ;;
	esac
}

# programs SUITE: the library, the tools and their tests, built and run, once.
programs() {
	local log=$out/programs-$1.log result=ok count built=FAILED
	case " $programs " in *" $1 "*) return ;; esac
	programs+=" $1"
	report "$1: library and tools"
	tests/run -o "$out" "programs-$1=$here/userspace.sh $1" >"$out/sum-$1" || result=FAILED
	cat "$out/sum-$1"
	[ "$result" = ok ] || failure "$log" "$1: library and tools"
	! grep -q '^ok 1 ' "$log" || built=ok
	count=$(tail -n 1 "$out/sum-$1" | sed 's/\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped/\1\/\2\/\3/')
	row "programs, $1" "$(compiler "build/cross/$1/build/tools/vtactl")" "$built" - "$count" - -
}
programs=

suite_arm64() {
	local releases release built loaded tests unloaded cross only=$basics
	mapfile -t releases < <("$vm" releases "$1")
	cross=$(programs_of "$1")
	[ -z "$cross" ] || programs "$cross"
	for release in "${releases[@]}"; do
		loaded=- tests=- unloaded=-
		build "$1" "$release"
		if [ "$built" = ok ] && [ -n "$cross" ]; then
			try "$1:$release" "$release" "$release" main
		fi
		row "$release" "$(compiler "build/module/$release/vta.ko")" "$built" "$loaded" \
			"$tests" "$unloaded" -
	done
}

# On the host's kernel, whose module the 32-bit programs find.
suite_i386() {
	local release loaded tests unloaded cross=$1 only="$basics vta_buf vta_uapi vta_recover"
	programs "$1"
	release=$("$vm" krelease)
	try host "$release" "$release-$1" main
	row "$release, 32-bit" "$(compiler "build/module/$release/vta.ko")" ok "$loaded" \
		"$tests" "$unloaded" -
}

signing() {
	local log=$out/signing.log result=ok
	report "signing"
	tests/run -o "$out" "signing=$here/signing.sh build/module/$("$vm" krelease)/vta.ko" \
		>"$out/sum-signing" || result=FAILED
	cat "$out/sum-signing"
	[ "$result" = ok ] || failure "$log" "signing"
}

[ $# -gt 0 ] || mapfile -t suites < <("$vm" suites; "$vm" suites arm64; "$vm" suites i386; echo signing)
[ $# -eq 0 ] || suites=("$@")
row kernel compiler build load passed/failed/skipped unload dkms
for name in "${suites[@]}"; do
	case $name in
	*-arm64)	suite_arm64 "$name" ;;
	*-i386)		suite_i386 "$name" ;;
	signing)	signing ;;
	*)		suite "$name" ;;
	esac
done

echo
cat "$out/table"
echo
if [ "$failed" -eq 0 ]; then
	echo "check-kernels: passed, $((rows - 1)) rows"
else
	echo "check-kernels: FAILED: $failed of the steps above"
	exit 1
fi
