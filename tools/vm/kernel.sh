# shellcheck shell=bash disable=SC2034,SC2154 # variables of the other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# Kernels from the distribution's packages. A kernel's directory holds
#   image    what QEMU boots       release   the kernel's release string
#   modules  /lib/modules/RELEASE
# The host's kernel is built for with the host's compiler; its directory,
# $cache/kernels/SUITE, also holds
#   root     the unpacked packages, with the headers
#   kdir     where external modules are built
# Any other is in $cache/suites/SUITE:
#   root     Debian of that suite, with its compiler, two kernels with their
#            headers, and dkms
#   RELEASE  the directory of one of the kernels

# kernel_find SEL: sets kernel_dir, kernel_arch, and kernel_root to the root in which
# modules for the kernel are built, empty for the host's.
kernel_find() {
	local suite
	kernel_arch=amd64
	case $1 in
	host)	;;
	debug|kcsan)
		kernel_debug_find "$1"
		kernel_root=
		return ;;
	*)
		suite_find "${1%%:*}"
		suite_kernel "$(cut -s -d: -f2 <<<"$1")"
		return ;;
	esac
	suite=$(host_suite)
	kernel_dir=$cache/kernels/$suite kernel_root=
	[ ! -e "$kernel_dir" ] || return 0
	need dpkg kmod xz-utils zstd binutils
	cached "kernels/$suite" "kernel of Debian $suite" kernel_make "$kernel_dir"
}

# kernel_tools: what building a module in the host kernel's kdir takes. A suite's
# kernels are built by its own gcc. Since Debian 13 the headers have the kernel's BTF,
# and pahole adds the module's.
kernel_tools() {
	local variables=$kernel_dir/kdir/.kernelvariables compiler=gcc btf=(pahole)
	[ ! -e "$variables" ] || compiler=$(sed -n 's/^CC *=.*\(gcc-[0-9]*\).*/\1/p' "$variables")
	[ "$(host_suite)" != bookworm ] || btf=()
	need make libelf1 "${compiler:-gcc}" "${btf[@]}"
}

# kernel_build DIR ARGUMENT...: make the external module in DIR.
kernel_build() {
	local dir=$1 release
	shift
	if [ -z "$kernel_root" ]; then
		kernel_tools
		make -C "$kernel_dir/kdir" M="$(realpath "$dir")" "$@"
	else
		release=$(cat "$kernel_dir/release")
		[ "$kernel_arch" = amd64 ] ||
			set -- ARCH="$kernel_arch" CROSS_COMPILE="$(cross_gnu "$kernel_arch")-" "$@"
		# The pool of jobs of a make outside, from 4.4 on, is a file that is not there.
		"${chroot_run[@]}" "$kernel_root" "$dir" env -u MAKEFLAGS -u MFLAGS \
			make -j "$(nproc)" -C "/lib/modules/$release/build" M=/mnt "$@"
	fi
}

# kernel_make FINAL DIR: fill DIR, which will be moved to FINAL.
kernel_make() {
	local final=$1 dir=$2 root=$2/root image headers release
	image=$(depends linux-image-amd64 'linux-image-[0-9].*')
	headers=$(depends linux-headers-amd64 'linux-headers-[0-9].*')
	if [ -z "$image" ] || [ -z "$headers" ]; then
		report "apt knows no linux-image-amd64: run apt-get update as root"
		return 1
	fi
	# shellcheck disable=SC2046 # one word per package
	fetch "$root" "$image" "$headers" \
		$(depends "$headers" 'linux-headers-.*-common|linux-kbuild-.*')

	release=${image#linux-image-}
	release=${release%-unsigned}
	kernel_fill "$dir" root "$release"
	ln -s "root/usr/src/linux-headers-$release" "$dir/kdir"
	depmod -b "$(realpath "$dir/modules/../../..")" "$release"

	# The headers' top Makefile names its other half by absolute path.
	sed -i "s|/usr/src/|$final/root/usr/src/|" "$dir/kdir/Makefile"
}

# kernel_fill DIR ROOT RELEASE: what every kernel's directory has. ROOT is where
# its packages are, as seen from DIR.
kernel_fill() {
	local dir=$1 root=$2 release=$3 modules=lib/modules/$3
	mkdir -p "$dir"
	[ -d "$dir/$root/$modules" ] || modules=usr/$modules
	echo "$release" >"$dir/release"
	ln -s "$root/$modules" "$dir/modules"
	case $release in
	*-arm64*)	cp "$dir/$root/boot/vmlinuz-$release" "$dir/image" ;;
	*)		kernel_unpack "$dir/$root/boot/vmlinuz-$release" "$dir/image" ;;
	esac
}

# kernel_unpack BZIMAGE OUT: the ELF kernel inside, which QEMU enters by its PVH
# note: without KVM that saves half of the boot, which goes to unpacking. A
# kernel that has no such note stays as it is.
kernel_unpack() {
	local image=$1 out=$2 setup offset length unpack
	setup=$(od -An -tu1 -j $((0x1f1)) -N1 "$image")
	offset=$(od -An -tu4 -j $((0x248)) -N4 "$image")
	length=$(od -An -tu4 -j $((0x24c)) -N4 "$image")
	offset=$(((setup + 1) * 512 + offset))

	case $(od -An -tx1 -j "$offset" -N4 "$image" | tr -d ' ') in
	fd377a58) unpack=(xz -dc --single-stream) ;;
	28b52ffd) unpack=(zstd -dc -q) ;;
	1f8b*)	unpack=(gzip -dc) ;;
	*)	unpack=(false) ;;
	esac
	# The last four bytes are the length of what is packed.
	tail -c +$((offset + 1)) "$image" | head -c $((length - 4)) |
		"${unpack[@]}" >"$out" 2>/dev/null || true
	if ! grep -q '0x00000012' <<<"$(readelf -n "$out" 2>/dev/null)"; then
		cp "$image" "$out"
	fi
}

# source_find: sets source_dir to the parts of the kernel's sources that the
# project uses in place: the kselftest harness with its runner, and checkpatch.
source_find() {
	local suite
	suite=$(host_suite)
	source_dir=$cache/source/$suite
	[ -e "$source_dir" ] && return
	need dpkg xz-utils
	cached "source/$suite" "excerpt of the kernel sources of Debian $suite" source_make
}

source_make() {
	local dir=$1 package
	package=$(depends linux-source 'linux-source-[0-9].*')
	if [ -z "$package" ]; then
		report "apt knows no linux-source: run apt-get update as root"
		return 1
	fi
	fetch "$dir/deb" "$package"
	tar -x -C "$dir" --strip-components=1 --wildcards \
		-f "$dir/deb/usr/src/$package.tar.xz" \
		'*/tools/testing/selftests/kselftest*' \
		'*/tools/testing/selftests/run_kselftest.sh' \
		'*/tools/testing/selftests/lib.mk' \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch'
	rm -rf "$dir/deb"
}
