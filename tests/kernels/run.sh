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
# is booted only if it is of another series (7.2 and 7.3).
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

say() {
	printf 'check-kernels: %s\n' "$*"
}

# failure LOG WHAT...
failure() {
	failed=$((failed + 1))
	say "FAILED: ${*:2} (all of it in ${1#"$top/"})"
	tail -n 40 "$1" | sed 's/^/    /'
}

# What the compiler says of itself in what it made.
compiler() {
	readelf -p .comment "$1" 2>/dev/null | grep -o 'GCC: .*\|clang version.*' | head -n 1 |
		sed 's/^GCC: (.*) \([0-9.]*\).*/gcc \1/'
}

# build SUITE RELEASE: sets built. Whatever is said but for the lack of a vmlinux is
# taken for a warning.
build() {
	local log=$out/build-$2.log said
	say "$2: building, W=1"
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

# try SUITE RELEASE: sets loaded, tests and unloaded.
try() {
	local log=$out/selftests-$2.log line passed bad skipped
	say "$2: booting, loading, testing, unloading"
	VM_KERNEL=$1:$2 tests/run -o "$out" \
		"selftests-$2=tests/selftests/run.sh build/module/$2/vta.ko main" \
		>"$out/sum-$2" || true
	cat "$out/sum-$2"
	loaded=FAILED unloaded=FAILED
	! grep -q '^# vta is loaded' "$log" || loaded=ok
	! grep -q '^# vta is unloaded' "$log" || unloaded=ok
	line=$(tail -n 1 "$out/sum-$2")
	read -r passed _ bad _ skipped _ <<<"$line"
	tests="$passed/$bad/$skipped"
	if [ "$bad" -ne 0 ] || [ "$loaded$unloaded" != okok ]; then
		failure "$log" "$2: selftests"
	fi
}

row() {
	printf '%-24s %-11s %-7s %-7s %-22s %-7s %s\n' "$@" >>"$out/table"
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
	say "$1: dkms"
	dkms=ok
	"$here/dkms.sh" "$1" >"$log" 2>&1 || { dkms=FAILED; failure "$log" "$1: dkms"; }
	for release in "${releases[@]}"; do
		loaded=- tests=- unloaded=-
		build "$1" "$release"
		if [ "$built" = ok ] && { [ "$release" = "$newest" ] ||
				[ "$(series "$release")" != "$(series "$newest")" ]; }; then
			try "$1" "$release"
		fi
		row "$release" "$(compiler "build/module/$release/vta.ko")" "$built" "$loaded" \
			"$tests" "$unloaded" "$dkms"
	done
}

[ $# -gt 0 ] || mapfile -t suites < <("$vm" suites)
[ $# -eq 0 ] || suites=("$@")
row kernel compiler build load passed/failed/skipped unload dkms
for name in "${suites[@]}"; do
	suite "$name"
done

echo
cat "$out/table"
echo
if [ "$failed" -eq 0 ]; then
	echo "check-kernels: passed on $((rows - 1)) kernels"
else
	echo "check-kernels: FAILED: $failed of the steps above"
	exit 1
fi
