#!/bin/bash
# shellcheck disable=SC2317 # functions are called by check
# SPDX-License-Identifier: GPL-2.0-only
#
# In a suite's root, as root there: packages of two versions are in old/ and new/.
#
#   life.sh OLD NEW
set -uo pipefail

old=$1 new=$2
log=$(mktemp)
before=$(mktemp) after=$(mktemp)
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive INITRD=No
# shellcheck source=tests/tap.sh
. ./tap.sh
tap_log=$log

fail() {
	echo "$*"
	return 1
}

# Prints our files in the system, without the package manager's own records and files of others.
files() {
	find /usr /etc /var /lib/modules -xdev \( -path /var/lib/dpkg -o -path /var/cache \
		-o -path /var/log -o -path /usr/share/man -o -path /usr/share/doc \) -prune \
		-o \( -type f -o -type l \) -print | grep -i vta | sort
}

# The documented command would install what is recommended, too.
no_compiler_of_opencl() {
	local plan
	plan=$(apt-get -q -s install ./new/*.deb) || return
	grep -E '^Inst vtadev-tools ' <<<"$plan" && ! grep -E '^Inst (libllvm|libpocl|pocl)' <<<"$plan"
}

install_all() {
	# Their dependencies come from the distribution.
	apt-get -q -y --no-install-recommends install ./"$1"/*.deb
}

# For every kernel whose headers are here.
modules_are() {
	local release
	for release in /lib/modules/*; do
		release=${release##*/}
		[ "$(modinfo -k "$release" -F version vta)" = "$1" ] ||
			fail "Linux $release does not have vta $1" || return
	done
}

packages_are() {
	local package
	for package in vta-dkms libvtadev1 libvtaprog1 libvtadev-soft libvtadev-opencl libvtadev-dev \
			vtadev-tools vtadev-emu python3-vtadev gstreamer1.0-vta vta-serve; do
		[ "$(dpkg-query -W -f '${Version} ${db:Status-Status}' "$package")" = "$1 installed" ] ||
			fail "$package is not $1" || return
	done
}

# No card is here, nor a kernel with the driver, nor, in some roots, /sys: it must say what to do.
vtactl_says_what_to_do() {
	local out status=0
	out=$(vtactl list 2>&1) || status=$?
	echo "$status: $out"
	[ "$status" -eq 3 ] && [[ $out = *'as root: '* ]]
}

# There is no card, which it has to say.
program_is_made() {
	local out status=0
	# shellcheck disable=SC2046 # words
	cc -Wall -Werror -o /tmp/hello hello.c $(pkg-config --cflags --libs vtadev) || return
	out=$(/tmp/hello 2>&1) || status=$?
	echo "$status: $out"
	[ "$status" -eq 1 ] && [[ $out = 'hello: no card'* ]]
}

program_runs_on_soft() {
	/tmp/hello soft | grep '^hello from soft,'
}

python_opens_soft() {
	python3 -c 'import vtadev; print(vtadev.open("soft").info)'
}

nodes_have_a_group() {
	grep -q 'GROUP="render"' /lib/udev/rules.d/60-vta.rules
}

emulator_runs() {
	vta-emu --version && grep -q 'vm run' <<<"$(vta-vm help)"
}

manuals_are_there() {
	local page
	for page in man1/vtactl.1 man1/vta-emu.1 man1/vta-vm.1 man3/vtadev.3 man3/vtadev_open.3 \
			man3/vtaprog.3 man4/vta.4; do
		[ -e "/usr/share/man/$page.gz" ] || fail "no $page" || return
	done
}

purge_all() {
	local names=() deb

	for deb in new/*.deb; do
		names+=("$(dpkg-deb -f "$deb" Package)")
	done
	apt-get -q -y purge "${names[@]}"
}

nothing_is_left() {
	files >"$after"
	diff "$before" "$after"
}

cd "$(dirname "$0")" || exit 1
files >"$before"
# Minimal roots leave manuals and documents out.
rm -f /etc/dpkg/dpkg.cfg.d/*
check 'the lists of packages are read' apt-get -q update
check 'no compiler of OpenCL comes with them' no_compiler_of_opencl
check "version $old is installed" install_all old
check 'all packages are there' packages_are "$old"
check 'every kernel has the module' modules_are "$old"
check "version $new replaces it" install_all new
check 'all packages are the new ones' packages_are "$new"
check 'every kernel has the new module, and nothing of the old' modules_are "$new"
check 'DKMS has forgotten the old version' test ! -e "/var/lib/dkms/vta/$old"
check 'vtactl says what to do' vtactl_says_what_to_do
check 'nodes are given to a group' nodes_have_a_group
check 'the emulator and the VM tool run' emulator_runs
check 'manual pages are there' manuals_are_there
check 'what a program is made with is there' apt-get -q -y --no-install-recommends install pkg-config gcc libc6-dev
check 'a program is made and runs' program_is_made
check 'and computes without a card' program_runs_on_soft
check 'Python opens a device' python_opens_soft
check 'all is purged' purge_all
check 'nothing is left' nothing_is_left
echo "1..$n"
exit $failed
