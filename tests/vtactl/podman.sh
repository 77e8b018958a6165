#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Containers of podman get cards by the specification that vtactl cdi writes: of root, in a
# user namespace, of a user without rights. In place of a card there is /dev/full, whose
# writes fail with ENOSPC. Prints results of TAP.
#
#   tests/vtactl/podman.sh VTACTL MACHINE N
#
# MACHINE is umockdev's, with one card. N results have been printed before. Everything that is
# mounted or made is in a mount namespace of its own, and in memory.
set -u

vtactl=$1 machine=$2
user=12345 group=5
said=
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
n=$3
tap_prefix="podman: "
show() { printf '%s\n' "$said"; }

skip_all() {
	skip "a container has its card" "$1"
	exit 0
}

command -v podman > /dev/null || skip_all "podman is not installed (apt install podman crun)"
command -v crun > /dev/null || skip_all "crun is not installed"
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to put a card into /dev"
busybox=$(command -v busybox) || skip_all "busybox is not installed"
file -L "$busybox" 2> /dev/null | grep -q 'dynamically' && skip_all "busybox is not static (busybox-static)"

if [ -z "${VTA_PODMAN_INSIDE-}" ]; then
	unshare -m true 2> /dev/null || skip_all "no mount namespace"
	VTA_PODMAN_INSIDE=1 exec unshare -m -p -f --kill-child --mount-proc "$0" "$@"
fi

# ---- A /dev with a card, a /run with the specification ----

# Of both hierarchies of cgroups crun wants the second alone.
[ ! -d /sys/fs/cgroup/unified ] || { umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; }
home=/run/user/$user
mount -t tmpfs -o mode=755 none /run && mkdir -p /run/cdi /run/dev/pts "$home/rootfs"/{bin,dev,proc,sys,etc}
for node in null zero full random urandom tty ptmx; do cp -a "/dev/$node" /run/dev; done
# On a machine whose /dev/null is root's alone, podman without rights could not begin.
chmod 666 /run/dev/{null,zero,full,random,urandom,tty,ptmx}
mkdir -m 1777 /run/dev/shm
ln -s /proc/self/fd /run/dev/fd
mount --bind /dev/pts /run/dev/pts
mknod /run/dev/vta0 c 1 7 && chmod 660 /run/dev/vta0 && chown 0:$group /run/dev/vta0
mount --rbind /run/dev /dev
cp "$busybox" "$home/rootfs/bin/busybox"
ln -s busybox "$home/rootfs/bin/sh"
ln -s busybox "$home/rootfs/bin/stat"
chown -R $user:$user "$home"
export HOME=$home XDG_RUNTIME_DIR=$home
cd "$home" || exit 1
# In place of the library.
echo library > /run/libvtadev.so.1
# shellcheck disable=SC2016 # the shell in umockdev-run expands it
UMOCKDEV_DIR='' umockdev-run --device "$machine" -- sh -c 'chgrp "$0" "$UMOCKDEV_DIR/dev/vta0" && "$@"' $group \
	"$vtactl" cdi --mount=/run/libvtadev.so.1 --output=/run/cdi/vta.json || exit 1

# container PREFIX... -- OPTIONS...: in one with these options, says whose the card's node is,
# whether writing to it reaches the device, and what the library's file is; sets $said
container() {
	local prefix=()

	while [ "$1" != -- ]; do prefix+=("$1"); shift; done
	shift
	# shellcheck disable=SC2016 # the container's shell expands it
	said=$("${prefix[@]}" timeout 120 podman --root "$home/root" --runroot "$home/runroot" \
		--storage-driver vfs --cgroup-manager cgroupfs --events-backend none \
		run --rm --network none --cgroups disabled --ulimit nofile=1024:1024 \
		--ulimit nproc=100:100 "$@" --rootfs "$home/rootfs" \
		/bin/sh -c 'stat -c "%F %t:%T %u %g" /dev/vta0; echo x >/dev/vta0
			read -r word </run/libvtadev.so.1 && echo "the $word"
			echo y >/run/libvtadev.so.1' 2>&1)
}
has() { [[ $said == *"$1"* ]]; }
card=(--device vta.example/card=vta0)

container -- --user 7
has "can't stat '/dev/vta0'" || {
	show
	skip_all "podman runs no container here: $(tail -n 1 <<< "$said" | tr '#' ' ')"
}
result "a container that asks for none has none" 0

for name in vta0 all; do
	container -- --device "vta.example/card=$name"
	has 'character special file 1:7 0' && has 'No space left on device'
	result "$name: is there, and can be used" $?
	has 'the library' && has 'libvtadev.so.1: Read-only file system'
	result "$name: --mount: the file is there, and read-only" $?
done
container -- --user 7 "${card[@]}"
has "1:7 7 $group" && has 'No space left on device'
result "a user of the container's has the card, whose group is the host's" $?
container -- --uidmap 0:100000:1000 --gidmap 0:100000:1000 "${card[@]}"
has '1:7 0' && has 'No space left on device'
result "in a user namespace" $?
container -- --device vta.example/card=vta1
has 'unresolvable CDI devices'
result "a card that is not there is refused" $?

# Without rights podman does not make nodes, but shows the host's.
rm -rf "$home/root" "$home/runroot"
if ! setpriv --reuid=$user --regid=$user --clear-groups unshare -U true 2> /dev/null; then
	skip rootless "users may have no user namespaces here"
	exit "$failed"
fi
container setpriv --reuid=$user --regid=$user --clear-groups -- "${card[@]}"
has '1:7 65534' && has 'Permission denied'
result "rootless: a user outside of the card's group cannot open it" $?
container setpriv --reuid=$user --regid=$user --groups $group -- --group-add keep-groups "${card[@]}"
has '1:7 65534' && has 'No space left on device'
result "rootless: a user in the card's group can open it, by keep-groups" $?
exit "$failed"
