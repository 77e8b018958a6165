#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the last steps after "make install": the linker's cache, which is updated if root runs
# this, and udev. Changes nothing else.
#
#   installed.sh LIBDIR UDEV_DIR SYSUSERS_DIR GROUP
set -eu
libdir=$1 udev_dir=$2 sysusers_dir=$3 group=$4
PATH=$PATH:/usr/sbin:/sbin

if [ "$(id -u)" -ne 0 ]; then
	echo "ldconfig was not run, as it takes root: as root, ldconfig"
elif ldconfig; then
	echo "ldconfig was run"
fi
# /lib is /usr/lib, on most systems.
real=$(realpath -m "$libdir/libvtadev.so.1")
if ! ldconfig -p | sed -n 's/.* => //p' | xargs -r realpath -m | grep -qxF "$real"; then
	echo "The dynamic linker does not find the libraries in $libdir: add that line to a file" \
		"in /etc/ld.so.conf.d and run ldconfig, or set LD_LIBRARY_PATH"
fi

case $udev_dir in
/lib/udev/*|/usr/lib/udev/*|/usr/local/lib/udev/*|/etc/udev/*) ;;
*)
	echo "udev does not read $udev_dir: as root," \
		"ln -s $udev_dir/60-vta.rules /etc/udev/rules.d/"
	;;
esac
if [ "$group" = vta ]; then
	echo "The group of the cards is made by: systemd-sysusers $sysusers_dir/vta.conf"
fi
echo "Cards that are there already get their rules by:" \
	"udevadm control --reload && udevadm trigger --subsystem-match=vta"
