# shellcheck shell=bash disable=SC2034,SC2154 # variables of the other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# A QEMU that has vfio-user-pci: the host's own, or one in a root directory.

# Sets qemu_root: empty when the host's QEMU will do.
qemu_find() {
	qemu_root=
	if command -v qemu-system-x86_64 >/dev/null &&
	   qemu-system-x86_64 -device help 2>&1 | grep '"vfio-user-pci"' >/dev/null; then
		return
	fi
	qemu_root=$cache/qemu
	[ -e "$qemu_root" ] && return
	need mmdebstrap
	[ "$(id -u)" -eq 0 ] || need uidmap
	cached qemu "QEMU root (Debian trixie, QEMU from its backports)" qemu_make
}

qemu_make() {
	local dir=$1 mirror proxy
	mirror=$(host_mirror)
	proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
	# Through a tar, so that all files belong to whoever owns the cache, and
	# in a mount namespace, so that no interruption leaves mounts behind.
	# A mirror may be a frozen one: Valid-Until is not checked.
	# shellcheck disable=SC2016 # the hooks' shell expands $1
	namespaced mmdebstrap --quiet --variant=apt \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Retries "3"' \
		${proxy:+"--aptopt=Acquire::http::Proxy \"$proxy\""} \
		--aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--customize-hook='echo "deb '"$mirror"' trixie-backports main" \
			>"$1/etc/apt/sources.list.d/backports.list"' \
		--customize-hook='chroot "$1" apt-get -q update >&2' \
		--customize-hook='chroot "$1" apt-get -q -y -t trixie-backports \
			install qemu-system-x86 >&2' \
		--customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
		trixie - "$mirror" 2>"$dir/log" |
		tar -x -C "$dir" --no-same-owner --exclude='./dev/*' || {
		tail -n 30 "$dir/log" >&2
		return 1
	}
	rm -f "$dir/log"
	"${chroot_run[@]}" "$dir" /usr qemu-system-x86_64 -device help 2>&1 |
		grep '"vfio-user-pci"' >/dev/null || {
		say "the QEMU of trixie-backports has no vfio-user-pci"
		return 1
	}
}

# Root needs a mount namespace only; mmdebstrap makes its own for others.
namespaced() {
	if [ "$(id -u)" -eq 0 ]; then
		unshare --mount "$@"
	else
		"$@"
	fi
}

# "${chroot_run[@]}" ROOT DIR COMMAND...: see chroot.sh. The mounts are in a
# namespace that ends with the command, so they cannot outlive it.
chroot_run=(unshare --mount "$here/chroot.sh")
[ "$(id -u)" -eq 0 ] ||
	chroot_run=(unshare --user --map-root-user --mount "$here/chroot.sh")

# Whether KVM runs an unmodified guest kernel: on some machines /dev/kvm opens
# and makes VMs that never reach their kernel. One boot tells; the answer holds
# until the host boots again.
kvm_works() {
	local boot answer file=$cache/kvm
	[ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
	boot=$(cat /proc/sys/kernel/random/boot_id)
	if [ "$(cut -d' ' -f1 "$file" 2>/dev/null)" != "$boot" ]; then
		say "trying whether KVM works here (up to 10 s, once per boot of the host)"
		answer=no
		if "$here/vm" run --accel kvm --cards 0 --timeout 10 -- true \
				>/dev/null 2>&1 </dev/null; then
			answer=yes
		fi
		echo "$boot $answer" >"$file.$$"
		mv "$file.$$" "$file"
		say "KVM works: $answer"
	fi
	[ "$(cut -d' ' -f2 "$file")" = yes ]
}
