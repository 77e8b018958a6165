# shellcheck shell=bash disable=SC2034,SC2154 # variables of the other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# Kernels that watch themselves, built from the distribution's sources: debug
# (KASAN, lockdep, kmemleak, fault injection ...) and kcsan (data races). Their
# options are in tools/vm/debug. $cache/kernels/debug-HASH is laid out as any
# other kernel's, see kernel.sh; HASH is that of options and sources, without comments.

# kernel_debug_find NAME: sets kernel_dir.
kernel_debug_find() {
	local name=$1 config=kasan package hash
	[ "$name" = debug ] || config=$name
	package=$(kernel_debug_source)
	hash=$(cat "$here/debug/guest.config" "$here/debug/$config.config" - \
		<<<"$package" | grep -E '^(CONFIG_|linux-)' | sha256sum)
	kernel_dir=$cache/kernels/$name-${hash:0:12}
	[ -e "$kernel_dir" ] && return
	need dpkg xz-utils make gcc libc6-dev bc bison flex libelf-dev cpio kmod binutils
	[ -n "$naming" ] || report "the kernel $name is built once, which takes 6 minutes on two processors"
	cached "kernels/${kernel_dir##*/}" "kernel $name from $package" \
		kernel_debug_make "$config" "$package"
}

# The newest sources on offer, since lockdep and its like get better.
kernel_debug_source() {
	local package
	package=$(apt-cache pkgnames linux-source- | grep -Ex 'linux-source-[0-9.]+' |
		sort -V | tail -n 1)
	[ -n "$package$naming" ] || die "apt knows no linux-source: run apt-get update as root"
	echo "$package"
}

# kernel_debug_make CONFIG PACKAGE DIR
kernel_debug_make() {
	local config=$1 package=$2 dir=$3 src=$3/kdir release log=$3/log
	fetch "$dir/deb" "$package"
	mkdir "$src"
	tar -x -C "$src" --strip-components=1 -f "$dir/deb/usr/src/$package.tar.xz"
	rm -rf "$dir/deb"

	cat "$here/debug/guest.config" "$here/debug/$config.config" >"$dir/wanted"
	# Since Linux 6.14.
	! grep -qx 'config CGROUP_DMEM' "$src/init/Kconfig" || echo CONFIG_CGROUP_DMEM=y >>"$dir/wanted"
	{
		make -s -C "$src" KCONFIG_ALLCONFIG="$dir/wanted" allnoconfig &&
			kernel_debug_granted "$dir/wanted" "$src/.config" &&
			nice make -s -C "$src" -j "$(nproc)" vmlinux modules_prepare
	} >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		return 1
	}
	release=$(cat "$src/include/config/kernel.release")
	echo "$release" >"$dir/release"
	strip -s -o "$dir/image" "$src/vmlinux"
	# Everything is built in.
	mkdir -p "$dir/lib/modules/$release"
	cp "$src/modules.builtin" "$dir/lib/modules/$release/"
	: >"$dir/lib/modules/$release/modules.dep"
	ln -s "lib/modules/$release" "$dir/modules"
	# In Debian's headers this file names the compiler; here it is the host's.
	: >"$src/.kernelvariables"
	# Keeps only the files that build modules.
	cp "$src/vmlinux.symvers" "$src/Module.symvers"
	find "$src" \( -name '*.o' -o -name '*.a' -o -name '*.cmd' \) ! -path '*/scripts/*' \
		! -path '*/tools/objtool/*' -delete
	rm -rf "$src/vmlinux" "$src/Documentation" "$src/drivers" "$src/fs" "$src/net" \
		"$src/sound" "$src/tools/testing"
}

# kernel_debug_granted WANTED GOT: an option that another one turned off would
# leave a kernel that watches less than it should.
kernel_debug_granted() {
	local line missing=0
	while read -r line; do
		case $line in
		'#'*|'')	continue ;;
		*=n)		! grep -q "^${line%=n}=" "$2" || { missing=1; echo "is on: $line"; } ;;
		*)		grep -qxF "$line" "$2" || { missing=1; echo "missing: $line"; } ;;
		esac
	done <"$1"
	return "$missing"
}
