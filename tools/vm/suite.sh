# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # as in root.sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Kernels of other Debian suites, each with its own compiler in its own root.
# Their directories are described in kernel.sh.

suites=(bullseye bookworm trixie trixie-backports)

# suite_find SUITE: sets suite_dir.
suite_find() {
	case " ${suites[*]} " in
	*" $1 "*) ;;
	*)	die "kernel $1: unknown; use host or one of: ${suites[*]}" ;;
	esac
	suite_dir=$cache/suites/$1
	[ ! -e "$suite_dir" ] || return 0
	root_need
	need xz-utils zstd binutils
	cached "suites/$1" "root of Debian $1, with its kernels (some minutes)" suite_make "$1"
}

# suite_releases: the releases of its kernels, oldest first.
suite_releases() {
	sort -V "$suite_dir/releases"
}

# suite_kernel PREFIX: sets kernel_dir and kernel_root to its newest kernel whose
# release begins so.
suite_kernel() {
	local release newest=
	while read -r release; do
		[[ $release != "$1"* ]] || newest=$release
	done < <(suite_releases)
	[ -n "$newest" ] || die "no kernel $1 in this suite: it has $(suite_releases | paste -sd' ')"
	kernel_dir=$suite_dir/$newest
	kernel_root=$suite_dir/root
}

suite_make() {
	local suite=$1 dir=$2 release
	root_make "$dir/root" "$suite" "$suite_install"
	for release in "$dir"/root/lib/modules/*; do
		release=${release##*/}
		[ -e "$dir/root/boot/vmlinuz-$release" ] || continue
		kernel_fill "$dir/$release" ../root "$release"
		echo "$release" >>"$dir/releases"
	done
}

# In the root: the suite's newest kernel and the one before it, as upgrades and
# downgrades take two, and the package of the newest one's headers to install it
# again. A guest's initramfs is made for each run, none here.
suite_install='
	export INITRD=No DEBIAN_FRONTEND=noninteractive
	set -- $(apt-cache search --names-only "^linux-headers-[0-9].*[0-9]-amd64$" |
		sed "s/^linux-headers-//; s/ .*//" | sort -V | tail -n 2)
	apt-get -q -y install gcc make kmod dkms \
		$(printf "linux-image-%s linux-headers-%s " $1 $1 $2 $2)
	cd /usr/src
	apt-get -q download "linux-headers-$2"
'

# suite_run DIR COMMAND...: run in the suite's root, with DIR at /mnt. Whatever
# changes in the root is forgotten.
suite_run() {
	unshare "${userns[@]}" --mount "$here/scratch.sh" "$suite_dir/root" "$@"
}
