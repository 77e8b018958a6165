#!/bin/bash
# shellcheck disable=SC2317 # functions are called by check
# SPDX-License-Identifier: GPL-2.0-only
#
# In a suite's root, as root there: usr/src/vta-VERSION is here, the two kernels
# are given, the older one first. See dkms.sh.
set -uo pipefail

old=$1 new=$2
version=$(basename usr/src/vta-*)
version=${version#vta-}
# The versions after it, one that builds and one that does not.
next=$version.1 broken=$version.2
log=$(mktemp)
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
# shellcheck source=tests/tap.sh
. ./tap.sh
tap_log=$log

fail() {
	echo "$*"
	return 1
}

# The file that modprobe would load for a kernel. The index of a kernel that goes may
# name a file that is gone.
module() {
	local file
	file=$(modinfo -k "$1" -F filename vta 2>/dev/null) && [ -e "$file" ] && echo "$file"
}

# holds KERNEL VERSION: modprobe would load this version, made for that kernel.
holds() {
	local found magic
	found=$(modinfo -k "$1" -F version vta) || fail "no vta for $1" || return
	magic=$(modinfo -k "$1" -F vermagic vta)
	[ "$found" = "$2" ] || fail "$1 has vta $found, not $2" || return
	[ "${magic%% *}" = "$1" ] || fail "vta for $1 is made for $magic" || return
	case $(module "$1") in
	*/updates/dkms/vta.ko*) ;;
	*)	fail "vta for $1 is $(module "$1")" ;;
	esac
}

lacks() {
	! module "$1" || fail "$1 still has vta"
}

# source_of VERSION: the sources, as a package of that version would have them.
source_of() {
	local to=/usr/src/vta-$1
	cp -r "usr/src/vta-$version" "$to"
	sed -i "s/$version/$1/" "$to/dkms.conf" "$to/uapi/vta.h"
}

add_build_install() {
	dkms add -m vta -v "$version" &&
		dkms build -m vta -v "$version" -k "$old" &&
		dkms install -m vta -v "$version" -k "$old" &&
		holds "$old" "$version"
}

# The new kernel comes and goes as packages, whose scripts call dkms. Nothing but
# their own dependencies is passed over.
headers_come() {
	dpkg --force-depends --install "/usr/src/linux-headers-$new"_*.deb
}

headers_go() {
	dpkg --force-depends --remove "linux-headers-$new"
}

kernel_upgrade() {
	headers_come && holds "$new" "$version" && holds "$old" "$version"
}

kernel_downgrade() {
	dpkg --force-depends --remove "linux-image-$new" && headers_go &&
		lacks "$new" && holds "$old" "$version"
}

# As the postinst of a package made by dh_dkms does it.
module_upgrade() {
	source_of "$next"
	dkms remove -m vta -v "$version" --all &&
		dkms add -m vta -v "$next" &&
		dkms install -m vta -v "$next" -k "$old" &&
		holds "$old" "$next"
}

failed_build() {
	local status=0
	source_of "$broken"
	echo 'this is not C' >>"/usr/src/vta-$broken/kmod/vta_drv.c"
	dkms add -m vta -v "$broken" || return
	dkms install -m vta -v "$broken" -k "$old" >/tmp/said 2>&1 </dev/null || status=$?
	cat /tmp/said
	[ "$status" -ne 0 ] || fail "dkms does not report it" || return
	[ "$(grep -c '^Error!' /tmp/said)" -eq 1 ] || fail "not one message" || return
	grep -q "make.log" <<<"$(grep -A 3 '^Error!' /tmp/said)" || fail "it names no log"
}

log_says_why() {
	local file="/var/lib/dkms/vta/$broken/build/make.log"
	cat "$file"
	grep -q "vta $broken does not build for Linux $old" "$file"
}

# A kernel is installed with the broken version there: the kernel's package is
# whole in the end, at once or when that version is removed.
package_manager() {
	headers_come || echo "(dpkg waits until the version is removed)"
	holds "$old" "$next" &&
		dkms remove -m vta -v "$broken" --all &&
		dpkg --force-depends --configure --pending &&
		[ "$(dpkg-query -W -f '${db:Status-Status}' "linux-headers-$new")" = installed ] &&
		dkms autoinstall -k "$new" && holds "$new" "$next"
}

removal() {
	dkms remove -m vta -v "$next" --all &&
		lacks "$old" && lacks "$new" &&
		[ -z "$(dkms status -m vta)" ] && [ -z "$(find /var/lib/dkms/vta -type f)" ]
}

cp -r "usr/src/vta-$version" /usr/src/
echo "TAP version 13"
echo "# $(dkms --version), $old, $new"
echo "1..9"
headers_go >"$log" 2>&1
check "add, build, install" add_build_install
check "upgrade of the kernel: built for it" kernel_upgrade
check "downgrade of the kernel: the module goes with it" kernel_downgrade
check "upgrade of the module" module_upgrade
check "a build that fails: one message" failed_build
check "its log says why" log_says_why
check "and the module from before is there" holds "$old" "$next"
check "a kernel installed meanwhile is whole" package_manager
check "removed, nothing is left" removal
exit "$failed"
