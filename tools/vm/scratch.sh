#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# scratch.sh ROOT DIR COMMAND...: as chroot.sh, in a copy of ROOT that is in
# memory as far as it changes, and ends with the mount namespace.
set -eu
root=$1
shift
# Under the root itself, whose /mnt is not seen in the copy.
mount -t tmpfs tmpfs "$root/mnt"
mkdir "$root/mnt/upper" "$root/mnt/work" "$root/mnt/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$root/mnt/upper,workdir=$root/mnt/work" \
	"$root/mnt/root"
exec "${0%/*}/chroot.sh" "$root/mnt/root" "$@"
