#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The README's commands on a machine that has nothing: a minimal Debian of one suite
# with git and make, in which HEAD is cloned. Prints TAP.
#
#   tests/fresh/run.sh SUITE [STEP...]
#
# The steps are, in this order, and all of them but the last two if none is given:
#   root-demo    as root: make demo
#   root-check   as root: make check; every package that was installed for it is needed
#   user-demo    as an ordinary user: what is missing is named at once; with it, make demo
#   user-check   the same with make check
#   root-deb     as root: make deb; the packages are installed, upgraded and purged
#   build        as root: what make check asks for, and all that it builds; make demo
#   rtl          as root: make rtl-all
# Steps of one user are in one root, which is deleted at the end. Roots begin as copies of
# $VTA_CACHE/fresh/SUITE/root.tar; fetched packages are kept in fresh/SUITE.debs. The output of
# commands is kept in build/check-fresh/SUITE.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
here=$top/tools/vm
# shellcheck source=tools/vm/common.sh
. "$here/common.sh"
# shellcheck source=tools/vm/root.sh
. "$here/root.sh"
cd "$top"

[ $# -ge 1 ] || {
	sed -n '7,18s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
suite=$1
shift
steps=("$@")
[ $# -gt 0 ] || steps=(root-demo root-check user-demo user-check root-deb)
[ "$(id -u)" -eq 0 ] || die "only root can make a root directory with users in it"

base=$cache/fresh/$suite
archives=$base.debs
work=$base.work
logs=$top/build/check-fresh/$suite
# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_prefix="$suite: "

# base_make SUITE DIR: root.tar, with an account for an ordinary user
# shellcheck disable=SC2016,SC2317 # the root's shell; called by cached
base_make() {
	root_archive "$2/root.tar" "$1" --include=git,make,passwd \
		--customize-hook='chroot "$1" useradd --create-home --shell /bin/bash newcomer'
}

# root_of NAME: the place of that root, made when it is first asked for. HEAD is in
# NAME's home directory.
root_of() {
	local root=$work/$1 home
	if [ ! -e "$root" ]; then
		mkdir -p "$root"
		tar -x -p --numeric-owner -C "$root" -f "$base/root.tar" --exclude='./dev/*'
		home=$(awk -F: -v name="$1" '$1 == name { print $6 }' "$root/etc/passwd")
		git clone -q --no-local "file://$top" "$root$home/vta-pcie"
		chown -R --reference="$root$home" "$root$home/vta-pcie"
	fi
	echo "$root"
}

# as USER NAME COMMAND: USER runs COMMAND in NAME's root, in a login shell
as() {
	local root
	root=$(root_of "$2")
	unshare --mount --pid --fork --kill-child \
		"$top/tests/fresh/enter.sh" "$root" "$archives" "$1" "$3" </dev/null
}

# step NAME USER COMMAND: in the source tree
step() {
	local log=$logs/$1.log status=0
	SECONDS=0
	as "$2" "$2" "cd vta-pcie && $3" >"$log" 2>&1 || status=$?
	echo "# $2: $3: $SECONDS s; $(sed -n 's/\r$//; $p' "$log")"
	tap_log=$log result "$2: $3" "$status"
	return "$status"
}

# names_missing COMMAND: the command of an ordinary user names missing packages before it makes
# anything; root installs them
names_missing() {
	local name=${1##* } log status=0 install before
	log=$logs/missing-$name.log
	before=$(as newcomer newcomer find | sort)
	as newcomer newcomer "cd vta-pcie && $1" >"$log" 2>&1 || status=$?
	install=$(sed -n 's/^ *\(apt-get install .*\)/\1/p' "$log")
	if [ "$status" -eq 0 ] || [ "$(wc -l <<<"$install")" -ne 1 ] || [ -z "$install" ] ||
			[ "$(as newcomer newcomer find | sort)" != "$before" ]; then
		tap_log=$log result "newcomer: $1: names what is missing before anything is made" 1
		return 1
	fi
	result "newcomer: $1: names what is missing before anything is made" 0
	echo "# $install"
	status=0
	as root newcomer "apt-get -q update && DEBIAN_FRONTEND=noninteractive $install -y" \
		>"$logs/install-$name.log" 2>&1 || status=$?
	tap_log=$logs/install-$name.log \
		result "newcomer: what is missing for $1 can be installed" "$status"
	return "$status"
}

# Files of packages that nothing has read since have this time of access: it is before
# they were made, so that reading them changes it, however the file system is mounted
# (but for noatime).
unread=2001-01-01
forget_reads() {
	as root root "find / -xdev \( -type f -o -type l \) -exec touch -h -a -d $unread {} +"
}

# never_read LOG...: the packages that these say were installed by name of which nothing
# was read since.
never_read() {
	local root names
	root=$(root_of root)
	names=$(sed -n 's/\r$//; s/^deps: installing //p' "$@" | tr ' ' '\n' | sort -u | paste -sd' ')
	cp "$top/tests/fresh/unread.sh" "$root/root/unread.sh"
	as root root "./unread.sh $unread $names"
}

# needed: all that was installed for make check is opened by some part of it
needed() {
	local unread_packages
	unread_packages=$(never_read "$logs/root-install.log" "$logs"/root-*.log) || {
		skip "packages that nothing needs" "$unread_packages"
		return
	}
	[ -z "$unread_packages" ] || echo "# never opened: $unread_packages"
	result "every package that is installed by name is opened" "$([ -z "$unread_packages" ]; echo $?)"
}

root_demo() {
	step root-demo root 'make demo'
}

# Everything is installed first, as installing reads, and what make demo has made is made
# again, as that reads, too.
root_check() {
	step root-install root 'make clean test-deps && rm -rf ~/.cache' && forget_reads &&
		step root-check root 'make check' && needed
}

user_demo() {
	names_missing 'make demo' && step user-demo newcomer 'make demo'
}

user_check() {
	names_missing 'make check' && step user-check newcomer 'make check'
}

# In a root of its own, as others may have what is missing. The headers are for DKMS.
root_deb() {
	local dir=$work/root/root/packages status=0 versions
	rm -rf --one-file-system "${work:?}/root"
	step root-deb root 'make deb && apt-get -q -y install linux-headers-amd64' || return
	mkdir "$dir"
	{
		versions=$(tests/packages/versions.sh "$work/root/root/vta-pcie/build/deb" "$dir") &&
			as root root "cd packages && ./life.sh $versions"
	} >"$logs/root-packages.log" 2>&1 || status=$?
	tap_log=$logs/root-packages.log result "root: its packages are installed, upgraded and purged" \
		"$status"
}

build() {
	step build-install root 'make test-deps' && step build root 'make check-build' &&
		step build-demo root 'make demo'
}

rtl() {
	step rtl root 'make rtl-all'
}

need git
root_need
mkdir -p "$cache/fresh" "$logs"
cached "fresh/$suite" "minimal root of Debian $suite" base_make "$suite"
mkdir -p "$archives"

exec {lock}>"$work.lock"
flock "$lock"
rm -rf --one-file-system "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
echo "TAP version 13"
for name in "${steps[@]}"; do
	case $name in
	root-demo)	root_demo || : ;;
	root-check)	root_check || : ;;
	user-demo)	user_demo || : ;;
	user-check)	user_check || : ;;
	root-deb)	root_deb || : ;;
	build)		build || : ;;
	rtl)		rtl || : ;;
	*)		die "no step $name" ;;
	esac
done
echo "1..$n"
exit "$failed"
