# shellcheck shell=bash disable=SC2034,SC2154 # variables of the other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# A QEMU that has vfio-user-pci: the host's own, or one in a root directory.

# qemu_find [ARCH]: sets qemu_program, and qemu_root: empty when the host's will do.
qemu_find() {
	local name=qemu package=qemu-system-x86
	qemu_root= qemu_program=qemu-system-x86_64
	case ${1-amd64} in
	arm64)	name=qemu-arm64 package=qemu-system-arm qemu_program=qemu-system-aarch64 ;;
	esac
	if command -v "$qemu_program" >/dev/null &&
	   "$qemu_program" -machine none -device help 2>&1 | grep '"vfio-user-pci"' >/dev/null; then
		return
	fi
	qemu_root=$cache/$name
	[ -e "$qemu_root" ] && return
	root_need
	cached "$name" "QEMU root (Debian trixie, QEMU from its backports)" qemu_make "$package"
}

qemu_make() {
	local package=$1 dir=$2
	root_make "$dir" trixie-backports "apt-get -q -y install $package"
	"${chroot_run[@]}" "$dir" /usr "$qemu_program" -machine none -device help 2>&1 |
		grep '"vfio-user-pci"' >/dev/null || {
		report "the QEMU of trixie-backports has no vfio-user-pci"
		return 1
	}
}

# True if KVM runs an unmodified guest kernel: on some machines /dev/kvm opens and makes VMs that
# never reach their kernel. One boot decides; the answer holds until the host boots again.
kvm_works() {
	local boot answer file=$cache/kvm
	[ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
	boot=$(cat /proc/sys/kernel/random/boot_id)
	if [ "$(cut -d' ' -f1 "$file" 2>/dev/null)" != "$boot" ]; then
		report "trying whether KVM works here (up to 10 s, once per boot of the host)"
		answer=no
		if "$here/vm" run --accel kvm --cards 0 --timeout 10 -- true \
				>/dev/null 2>&1 </dev/null; then
			answer=yes
		fi
		echo "$boot $answer" >"$file.$$"
		mv "$file.$$" "$file"
		report "KVM works: $answer"
	fi
	[ "$(cut -d' ' -f2 "$file")" = yes ]
}
