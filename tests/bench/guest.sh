#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: one part after the other.
#
#   guest.sh TUNABLES "PART..." [NAME=VALUE]...
set -eu

tunables=$1
parts=$2
shift 2
for part in $parts; do
	insmod /lib/vta.ko
	GLIBC_TUNABLES=$tunables "/bench/$part" /out "$@"
	rmmod vta
done
