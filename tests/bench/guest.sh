#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: one part after the other, each with the modules loaded anew.
#
#   guest.sh TUNABLES "PART..." [NAME=VALUE]...
set -eu

tunables=$1
parts=$2
shift 2
for part in $parts; do
	for module in /lib/vta*.ko; do insmod "$module"; done
	GLIBC_TUNABLES=$tunables "/bench/$part" /out "$@"
	for module in /lib/vta*.ko; do rmmod "$module"; done
done
