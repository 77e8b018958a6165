#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The module on kernels of several Debian suites: built with the suite's compiler
# without a warning, booted, loaded, tested, unloaded; then its life under the
# suite's DKMS. Prints TAP, one result for each step, and a table of all of them at the end.
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

# shellcheck source=tests/tap.sh
. tests/tap.sh

# shellcheck disable=SC2317 # tap.sh calls it
show() {
	[ -s "$tap_log" ] || return 0
	echo "the end of ${tap_log#"$top/"}:"
	tail -n 40 "$tap_log"
}

report() {
	printf '# %s\n' "$*"
}

# step LOG NAME COMMAND...: one result by the command, whose output is LOG; sets outcome
step() {
	tap_log=$1
	check "${@:2}"
	outcome=ok
	[ "$tap_status" -eq 0 ] || outcome=FAILED
}

# add_up NAME COMMAND: runs a program that prints TAP, with its output in NAME.log; sets sum to
# its counts, passed/failed/skipped. Returns the program's status.
add_up() {
	local passed bad skipped status=0
	tests/run -o "$out" "$1=$2" >"$out/sum-$1" || status=1
	sed 's/^/# /' "$out/sum-$1"
	read -r passed _ bad _ skipped _ < <(tail -n 1 "$out/sum-$1")
	sum=$passed/$bad/$skipped
	return "$status"
}

# The compiler's name in the module that it made.
compiler() {
	readelf -p .comment "$1" 2>/dev/null | grep -o 'GCC: .*\|clang version.*' |
		sed -n '1s/^GCC: (.*) \([0-9.]*\).*/gcc \1/; 1p'
}

# make_module SUITE RELEASE: each line of output but for the lack of a vmlinux is taken for a
# warning, and fails.
# shellcheck disable=SC2317 # step calls it
make_module() {
	rm -rf "build/module/$2"
	make -s vm-module VM_KERNEL="$1:$2" 2>&1 || return
	! grep -qvE '^(vm: |build/module/|Skipping BTF generation)' "$tap_log"
}

# build SUITE RELEASE: sets built
build() {
	report "$2: building, W=1"
	step "$out/build-$2.log" "$2: the module builds without a warning" make_module "$@"
	built=$outcome
}

# try KERNEL RELEASE NAME BOOT...: sets loaded, tests and unloaded. $cross and $only
# are run.sh's CROSS and TESTS.
cross='' only=''
try() {
	local log=$out/selftests-$3.log status=0
	report "$3: booting, loading, testing, unloading"
	VM_KERNEL=$1 CROSS=$cross TESTS=$only add_up "selftests-$3" \
		"tests/selftests/run.sh build/module/$2/vta.ko ${*:4}" || status=1
	tests=$sum
	loaded=FAILED unloaded=FAILED
	! grep -q '^# vta is loaded' "$log" || loaded=ok
	! grep -q '^# vta is unloaded' "$log" || unloaded=ok
	[ "$loaded$unloaded" = okok ] || status=1
	tap_log=$log
	result "$3: the module is loaded, tested and unloaded" "$status"
}

row() {
	printf '%-32s %-11s %-7s %-7s %-22s %-7s %s\n' "$@" >>"$out/table"
}

# series RELEASE: 7.2 of 7.2.12+deb13-amd64
series() {
	grep -o '^[0-9]*\.[0-9]*' <<<"$1"
}

suite() {
	local releases release newest built loaded tests unloaded dkms
	mapfile -t releases < <("$vm" releases "$1")
	newest=${releases[-1]}
	report "$1: dkms"
	step "$out/dkms-$1.log" "$1: DKMS" "$here/dkms.sh" "$1"
	dkms=$outcome
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
	local log=$out/programs-$1.log status=0 built=FAILED
	case " $programs " in *" $1 "*) return ;; esac
	programs+=" $1"
	report "$1: library and tools"
	add_up "programs-$1" "$here/userspace.sh $1" || status=1
	tap_log=$log
	result "$1: library and tools" "$status"
	! grep -q '^ok 1 ' "$log" || built=ok
	row "programs, $1" "$(compiler "build/cross/$1/build/tools/vtactl")" "$built" - "$sum" - -
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
	local status=0
	report "signing"
	add_up signing "$here/signing.sh build/module/$("$vm" krelease)/vta.ko" || status=1
	tap_log=$out/signing.log
	result "signing" "$status"
}

[ $# -gt 0 ] || mapfile -t suites < <("$vm" suites; "$vm" suites arm64; "$vm" suites i386; echo signing)
[ $# -eq 0 ] || suites=("$@")
echo "TAP version 13"
row kernel compiler build load passed/failed/skipped unload dkms
for name in "${suites[@]}"; do
	case $name in
	*-arm64)	suite_arm64 "$name" ;;
	*-i386)		suite_i386 "$name" ;;
	signing)	signing ;;
	*)		suite "$name" ;;
	esac
done

sed 's/^/# /' "$out/table"
echo "1..$n"
exit "$failed"
