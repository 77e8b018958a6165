#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# install.sh - make install writes below the prefix alone and prints the last steps, and make
# uninstall leaves nothing. Prints TAP.
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
cd "$(dirname "$0")/.."
unset DESTDIR
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-install.XXXXXX")
# A copy, as pkg-config's files are made for a prefix, and other tests want theirs; what is
# built is linked to it, so it is of the same file system.
copy=$PWD/build/install-test
trap 'rm -rf "$dir" "$copy"' EXIT
rm -rf "$copy"
mkdir -p "$copy/build"
git ls-files -co --exclude-standard | while read -r f; do [ ! -f "$f" ] || echo "$f"; done |
	tar -c -T - | tar -x -C "$copy"
for part in build/*; do
	case $part in
	build/install-test|build/tests) ;;
	*) cp -al "$part" "$copy/build/" ;;
	esac
done
cd "$copy"

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log
quietly() {
	make -s --no-print-directory "$@"
}
files() {
	find "$1" ! -type d
}
# Nothing of DIR is elsewhere than in BELOW.
all_below() {
	[ -n "$(files "$2")" ] && ! files "$1" | grep -vF "$2/"
}
says() {
	grep -qF -- "$1" "$dir/said"
}
# By itself, with the directory that pkg-config names.
headers_compile() {
	local header

	for header in "$1"/*.h; do
		cc -std=gnu11 -Wall -Werror -fsyntax-only -x c -I"$1" "$header" || return
	done
}
gone() {
	quietly uninstall "$@" && [ -z "$(files "$dir/root")" ]
}

echo "TAP version 13"
for prefix in /opt/vta /usr/local; do
	check "$prefix: installs" quietly install DESTDIR="$dir/root" PREFIX=$prefix
	check "$prefix: all is below the prefix" all_below "$dir/root" "$dir/root$prefix"
	check "$prefix: the udev rules too" test -e "$dir/root$prefix/lib/udev/rules.d/60-vta.rules"
	check "$prefix: every header compiles" headers_compile "$dir/root$prefix/include/vtadev"
	check "$prefix: uninstalls" gone DESTDIR="$dir/root" PREFIX=$prefix
done
check "/usr: installs" quietly install DESTDIR="$dir/root" PREFIX=/usr UDEV_GROUP=vta
check "/usr: rules are where udev reads them" test -e "$dir/root/lib/udev/rules.d/60-vta.rules"
check "/usr: the group is where systemd looks" test -e "$dir/root/usr/lib/sysusers.d/vta.conf"
check "/usr: uninstalls" gone DESTDIR="$dir/root" PREFIX=/usr UDEV_GROUP=vta

# As a user installs it, for himself; the linker's cache knows nothing of that place.
quietly install PREFIX="$dir/mine" UDEV_GROUP=vta >"$dir/said"
check "says whether ldconfig was run" says 'ldconfig was'
check "says what the linker does not find" says "does not find the libraries in $dir/mine/lib"
check "says what udev does not find" \
	says "ln -s $dir/mine/lib/udev/rules.d/60-vta.rules /etc/udev/rules.d/"
check "says how the group is made" says "systemd-sysusers $dir/mine/lib/sysusers.d/vta.conf"
check "says how to reload udev" says 'udevadm trigger --subsystem-match=vta'
echo "1..$n"
exit "$failed"
