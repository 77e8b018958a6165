#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Install, upgrade and purge the packages in the root of a Debian suite: prints TAP.
#
#   tests/packages/run.sh DIR [SUITE]
#
# DIR is where `make deb` left them, SUITE that of the host, which they are made
# for. Changes in the root are dropped.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
if [ $# -lt 1 ] || ! ls "$1"/vta-dkms_*.deb >/dev/null 2>&1; then
	sed -n '6s/^# *//p' "$0" >&2
	exit 2
fi
# shellcheck source=/dev/null
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-packages.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/new" "$dir/old"
find "$1" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t "$dir/new" {} +
cp "$here/life.sh" "$here/../tap.sh" "$top/examples/hello/hello.c" "$dir"

# The release before: the same packages, but for their version.
version=$(dpkg-deb -f "$dir"/new/vta-dkms_*.deb Version)
old=0.0.9
for deb in "$dir"/new/*.deb; do
	tree=$dir/tree
	rm -rf "$tree"
	dpkg-deb -R "$deb" "$tree"
	sed -i "s/$version/$old/g" "$tree"/DEBIAN/*
	if [ -d "$tree/usr/src/vta-$version" ]; then
		mv "$tree/usr/src/vta-$version" "$tree/usr/src/vta-$old"
		sed -i "s/$version/$old/" "$tree/usr/src/vta-$old/dkms.conf" \
			"$tree/usr/src/vta-$old"/uapi/*.h
	fi
	(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' |
		sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	dpkg-deb --root-owner-group -b "$tree" "$dir/old/$(basename "${deb/_$version/_$old}")" >/dev/null
done
rm -rf "$dir/tree"

"$top/tools/vm/vm" in "$suite" "$dir" ./life.sh "$old" "$version"
