#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Containers of Docker get cards by the specification that vtactl cdi writes. The daemon is that of
# Debian's testing release, in a root in the cache and in namespaces of its own. In place of a card
# there is /dev/full, whose writes fail with ENOSPC. Prints results of TAP.
#
#   tests/vtactl/docker.sh VTACTL MACHINE N
#
# MACHINE is umockdev's, with one card. N results have been printed before.
set -u

top=$(realpath "$(dirname "$0")/../..")
vtactl=$1 machine=$2
group=5
said=
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
n=$3
tap_prefix="docker: "
show() { printf '%s\n' "$said"; }

if [ -z "${VTA_DOCKER_INSIDE-}" ]; then
	here=$top/tools/vm
	# shellcheck source=tools/vm/common.sh
	. "$here/common.sh"
	# shellcheck source=tools/vm/root.sh
	. "$here/root.sh"
	# docker_make DIR
	# shellcheck disable=SC2317 # called by cached
	docker_make() {
		root_make "$1" testing 'export DEBIAN_FRONTEND=noninteractive
			apt-get -q -y install docker.io docker-cli busybox-static'
	}
	if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
		skip "a container has its card" "needs root and a mount namespace"
		exit 0
	fi
	if ! (root_need && cached docker/root "root of Debian testing with Docker (400 MB)" docker_make) >&2; then
		skip "a container has its card" "no root of Debian testing"
		exit 0
	fi
	VTA_DOCKER_INSIDE=$cache/docker/root exec unshare --mount --pid --net --fork --kill-child --mount-proc "$0" "$@"
fi

# ---- A root with a card in /dev and the specification in /run ----

root=$VTA_DOCKER_INSIDE
{
	mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
		mount -t tmpfs -o mode=755 none "$root/dev" && mount -t tmpfs none "$root/run" &&
		mount -t tmpfs none "$root/tmp" && mount -t tmpfs none "$root/var/lib"
} || exit 1
for node in null zero full random urandom tty; do cp -a "/dev/$node" "$root/dev"; done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -p "$root"/dev/{pts,shm,mqueue} "$root/run/cdi" "$root/tmp/image/bin"
mount -t devpts devpts "$root/dev/pts"
mknod "$root/dev/vta0" c 1 7 && chmod 660 "$root/dev/vta0" && chown 0:$group "$root/dev/vta0"
cp "$root/usr/bin/busybox" "$root/tmp/image/bin/"
for applet in sh stat id; do ln -s busybox "$root/tmp/image/bin/$applet"; done
# specify OPTION...: of a card whose node has the group
specify() {
	# shellcheck disable=SC2016 # the shell in umockdev-run expands it
	UMOCKDEV_DIR='' umockdev-run --device "$machine" -- \
		sh -c 'chgrp "$0" "$UMOCKDEV_DIR/dev/vta0" && "$@"' $group \
		"$vtactl" cdi "$@" --output="$root/run/cdi/vta.json"
}
specify || exit 1

chroot "$root" dockerd --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs \
	--exec-root /run/docker -H unix:///run/docker.sock >"$root/tmp/log" 2>&1 &
daemon=$!
for ((i = 0; i < 600; i++)); do
	chroot "$root" docker info >"$root/tmp/info" 2>&1 && break
	kill -0 "$daemon" 2>/dev/null || break
	sleep 0.1
done
if ! tar -C "$root/tmp/image" -c . | chroot "$root" docker import - box >/dev/null 2>&1; then
	skip "a container has its card" "dockerd does not run here: $(tail -n 1 "$root/tmp/log" | tr '#' ' ')"
	exit 0
fi

# container OPTIONS...: in one with these options, prints its user's ids, type and owner of the
# card's node, and the error of writing to the node; sets $said
container() {
	said=$(timeout 120 chroot "$root" docker run --rm --network none "$@" box \
		/bin/sh -c 'id; stat -c "%F %t:%T %u %g" /dev/vta0; echo x >/dev/vta0' 2>&1)
}
has() { [[ $said == *"$1"* ]]; }
container
has 'uid=0' && has "can't stat '/dev/vta0'"
result "a container that asks for none has none" $?
for name in vta0 all; do
	container --device "vta.example/card=$name"
	has "character special file 1:7 0 $group" && has 'No space left on device'
	result "$name: is there, and can be used" $?
done
container --user 7:7 --group-add $group --device vta.example/card=vta0
has "uid=7" && has 'No space left on device'
result "a user of the container's with the host's group has the card" $?
container --device vta.example/card=vta1
has 'unresolvable CDI devices'
result "a card that is not there is refused" $?
specify --groups
container --user 7:7 --group-add $group --device vta.example/card=vta0
has "uid=7" && has 'No space left on device'
result "--groups: the file is read" $?
kill "$daemon"
wait "$daemon"
exit "$failed"
