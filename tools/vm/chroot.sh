#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# chroot.sh ROOT DIR COMMAND...: run in a mount namespace of its own, replace
# this process by COMMAND in ROOT, with DIR at /mnt and as the working directory.
# COMMAND dies with the process that started this one: entering a user namespace
# forgets that wish, so it is made here.
set -eu
root=$1 dir=$2
shift 2
mount --bind "$dir" "$root/mnt"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
# shellcheck disable=SC2016 # for the inner shell
exec setpriv --pdeathsig KILL -- chroot "$root" /bin/sh -c '
	[ "$PPID" = "$0" ] || exit 1
	cd /mnt
	exec "$@"' "$PPID" "$@"
