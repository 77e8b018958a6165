#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs linked to the last release's libraries must run with these: prints TAP.
#
#   tests/abi/run.sh [RELEASE]
#
# RELEASE is a tag or commit, the last tag v* if none is given. Names may have been
# added; anything else that abidiff finds fails. So that its silence means
# something, it also has to find a lost function and a changed structure.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../.."
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vta-abi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# What the caller's make said of its own build is not for these.
unset MAKEFLAGS MAKELEVEL MFLAGS

# build TREE: its libraries and headers as installed, in TREE/root
build() {
	make -s -C "$1" install-lib install-driver PREFIX=/usr LIBDIR=/usr/lib DESTDIR="$1/root" \
		>"$1/log" 2>&1 || { cat "$1/log" >&2; exit 1; }
}

# the files that git knows, as they are now
copy() {
	mkdir "$tmp/$1"
	git ls-files -co --exclude-standard | while read -r f; do [ ! -f "$f" ] || echo "$f"; done |
		tar -c -T - | tar -x -C "$tmp/$1"
}

# same LIBRARY OLD NEW
same() {
	abidiff --no-added-syms --headers-dir1 "$tmp/$2/root/usr/include" \
		--headers-dir2 "$tmp/$3/root/usr/include" \
		"$tmp/$2/root/usr/lib/$1.so" "$tmp/$3/root/usr/lib/$1.so" >"$tmp/diff" 2>&1
}

n=0 failed=0
# result NAME: of the last command
result() {
	local status=$?
	n=$((n + 1))
	if [ $status -eq 0 ]; then
		echo "ok $n $1"
	else
		failed=1
		echo "not ok $n $1"
		sed 's/^/# /' "$tmp/diff"
	fi
}

echo 'TAP version 13'
echo '1..4'
copy new
build "$tmp/new"
release=${1-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || :)}
if [ -n "$release" ]; then
	mkdir "$tmp/old"
	git archive "$release" | tar -x -C "$tmp/old"
	build "$tmp/old"
fi
for library in libvtadev libvta_driver; do
	if [ -n "$release" ]; then
		same $library old new && true
		result "$library: a program of $release runs with it"
	else
		n=$((n + 1))
		echo "ok $n $library: compatible with the last release # SKIP nothing is released: no tag v*"
	fi
done

copy lost
sed -i '/vtadev_copy2d;/d' "$tmp/lost/libvtadev/libvtadev.map"
build "$tmp/lost"
! same libvtadev new lost && grep -q 'vtadev_copy2d' "$tmp/diff"
result 'a lost function is noticed'

copy changed
sed -i 's/^struct vtadev_info {/&\n\tuint32_t inserted;/' "$tmp/changed/libvtadev/vtadev.h"
build "$tmp/changed"
! same libvtadev new changed && grep -q 'inserted' "$tmp/diff"
result 'a changed structure is noticed'
exit $failed
