#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Put packages of two versions, and life.sh with all that it reads, into a directory; print both
# versions, the older one first.
#
#   tests/packages/versions.sh PACKAGES DIR
#
# PACKAGES is where `make deb` left them.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
if [ $# -ne 2 ] || ! ls "$1"/vta-dkms_*.deb >/dev/null 2>&1; then
	sed -n '7s/^# *//p' "$0" >&2
	exit 2
fi
dir=$2
mkdir "$dir/new" "$dir/old"
find "$1" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t "$dir/new" {} +
cp "$here/life.sh" "$here/../tap.sh" "$here/../../examples/hello/hello.c" "$dir"

# The release before: the same packages, but for their version.
version=$(dpkg-deb -f "$dir"/new/vta-dkms_*.deb Version)
old=0.0.9
# As a pattern: libgstreamer1.0-0 is no version.
pattern=${version//./\\.}
for deb in "$dir"/new/*.deb; do
	tree=$dir/tree
	rm -rf "$tree"
	dpkg-deb -R "$deb" "$tree"
	sed -i "s/$pattern/$old/g" "$tree"/DEBIAN/*
	if [ -d "$tree/usr/src/vta-$version" ]; then
		mv "$tree/usr/src/vta-$version" "$tree/usr/src/vta-$old"
		sed -i "s/$pattern/$old/" "$tree/usr/src/vta-$old/dkms.conf" \
			"$tree/usr/src/vta-$old"/uapi/*.h
	fi
	(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' |
		sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	dpkg-deb --root-owner-group -b "$tree" "$dir/old/$(basename "${deb/_$version/_$old}")" >/dev/null
done
rm -rf "$dir/tree"
echo "$old $version"
