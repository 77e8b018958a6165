#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# TVM's runtime in the guest: each of two has the card for itself, and then both share it, two
# processes of each at a time.
#
#   guest.sh BUILT/CONFIG ORDER
#
# CORE=rtl gives the card the core in RTL; its time passes slower, so that no job is too late.
#
# vm: --emu-arg --config="tests/emu/configs/${1##*/}.json" --emu-arg --order="$2"
# vm: ${CORE:+--emu-arg --core="$CORE" --emu-arg --time=model:1000}
# vm: --file "$1-33554432/programs":/root/whole --file "$1-2048/programs":/root/small
set -u
insmod /lib/vta.ko
status=0

for runtime in whole small; do
	echo "# $runtime, alone"
	/root/$runtime || status=1
done

pids='' n=0
for runtime in whole small whole small; do
	n=$((n + 1))
	/root/$runtime shared >/tmp/shared.$n 2>&1 &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || status=1
done
for file in /tmp/shared.*; do
	echo "# with three others"
	cat "$file"
done
exit "$status"
