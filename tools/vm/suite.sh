# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # as in root.sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Kernels of other Debian suites, each with its own compiler in its own root.
# Their directories are described in kernel.sh. A suite with an architecture behind
# its name is built for across, in a root of the host's architecture.

suites=(bullseye bookworm trixie trixie-backports)
arm64_suites=(bullseye-arm64 bookworm-arm64 trixie-arm64 trixie-backports-arm64)
# Programs and libraries alone: 64-bit kernels run them.
i386_suites=(bookworm-i386)

# suite_find SUITE: sets suite_dir, and suite_arch to what is built for.
suite_find() {
	local known="${suites[*]} ${arm64_suites[*]} ${i386_suites[*]}"
	case " $known " in
	*" $1 "*) ;;
	*)	die "kernel $1: unknown; use host or one of: $known" ;;
	esac
	suite_dir=$cache/suites/$1
	case $1 in
	*-arm64|*-i386)	suite_arch=${1##*-} ;;
	*)		suite_arch=amd64 ;;
	esac
	[ ! -e "$suite_dir" ] || return 0
	root_need
	need xz-utils zstd binutils
	cached "suites/$1" "root of Debian $1, with its kernels (some minutes)" suite_make "$1"
}

# suite_releases: the releases of its kernels, oldest first.
suite_releases() {
	sort -V "$suite_dir/releases"
}

# suite_kernel PREFIX: sets kernel_dir, kernel_root and kernel_arch to its newest
# kernel whose release begins so, or the one whose release it is.
suite_kernel() {
	local release newest=
	kernel_root=$suite_dir/root
	kernel_arch=$suite_arch
	[ -z "$naming" ] || return 0
	[ -e "$suite_dir/releases" ] || die "no kernels in this suite: use another kernel"
	while read -r release; do
		[[ $release != "$1"* ]] || newest=$release
		[ "$release" != "$1" ] || break
	done < <(suite_releases)
	[ -n "$newest" ] || die "no kernel $1 in this suite: it has $(suite_releases | paste -sd' ')"
	kernel_dir=$suite_dir/$newest
}

suite_make() {
	local suite=$1 dir=$2 release
	case $suite_arch in
	amd64)	root_make "$dir/root" "$suite" "$suite_install" ;;
	*)	root_make "$dir/root" "${suite%-*}" "$suite_install_cross" \
			"$suite_arch" "$(cross_gnu "$suite_arch")" ;;
	esac
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

# In the root, ARCH and its GNU name are given: compiler and libraries for programs of
# that architecture. For arm64 also what runs them, and the newest kernel with each
# size of pages that there is. Headers are unpacked, not installed, as they depend on a
# compiler of their own architecture.
suite_install_cross='
	export INITRD=No DEBIAN_FRONTEND=noninteractive
	dpkg --add-architecture "$1"
	apt-get -q update
	apt-get -q -y install gcc make perl kmod "gcc-$2" \
		$(printf "%s:$1 " libc6-dev libjson-c-dev libudev-dev libpci-dev \
			libncurses-dev libpng-dev libjpeg-dev libcmocka-dev ocl-icd-opencl-dev)
	[ "$1" = arm64 ] || exit 0
	apt-get -q -y install qemu-user busybox-static:arm64
	newest=$(apt-cache search --names-only "^linux-headers-[0-9].*[0-9]-arm64$" |
		sed "s/^linux-headers-//; s/ .*//" | sort -V | tail -n 1)
	mkdir /tmp/kernels
	cd /tmp/kernels
	parts() {
		dpkg-deb -f "$1_"*.deb Depends | tr , "\n" | sed -n "s/^ *\(linux-\($2\)-[^ ]*\).*/\1/p"
	}
	for release in "$newest" "$newest-16k"; do
		apt-cache show "linux-headers-$release:arm64" >/dev/null 2>&1 || continue
		apt-get -q download "linux-image-$release:arm64" "linux-headers-$release:arm64"
		apt-get -q -y install $(parts "linux-headers-$release" "headers\|kbuild")
		for part in $(parts "linux-image-$release" "base\|binary\|modules"); do
			apt-get -q download "$part:arm64"
		done
	done
	for package in *.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C / --keep-directory-symlink
	done
	rm -r /tmp/kernels
	for modules in /lib/modules/*; do
		depmod "${modules##*/}"
		# Its package would copy it there when it is configured.
		[ ! -e "$modules/vmlinuz" ] || cp "$modules/vmlinuz" "/boot/vmlinuz-${modules##*/}"
	done
'

# suite_run DIR COMMAND...: run in the suite's root, with DIR at /mnt. Whatever
# changes in the root is forgotten.
suite_run() {
	unshare "${userns[@]}" --mount "$here/scratch.sh" "$suite_dir/root" "$@"
}
