#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# enter.sh ROOT ARCHIVES USER COMMAND: replace this process, which is the first of mount
# and process namespaces of its own (unshare --mount --pid --fork), by USER's login shell
# in ROOT, which runs the command line COMMAND. apt's archives are those in ARCHIVES.
# ROOT becomes the namespace's root: the kernel makes no user namespace in a chroot.
set -eu
root=$1 archives=$2 user=$3 command=$4

mount --bind "$root" "$root"
mount --bind "$archives" "$root/var/cache/apt/archives"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cd "$root"
mount --move . /
exec chroot . /bin/su - "$user" -c "$command"
