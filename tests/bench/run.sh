#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run the benchmarks on an emulated card in a virtual machine.
#
#   tests/bench/run.sh VTA.KO
#
# Prints tables; leaves build/bench.json and build/bench-memory.svg. VM_KERNEL
# says which kernel, as tools/vm/vm --kernel. The emulator is the one without
# sanitizers. Numbers of different runs are not to be compared with each other.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
vm=$top/tools/vm/vm

if [ $# -ne 1 ] || [ ! -f "$1" ]; then
	sed -n '4,10s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$(realpath "$1")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vta-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
"$top/tools/vm/deps.sh" need gnuplot-nox

# What the VM will be made of: by the harness's own parts, in a subshell.
# shellcheck disable=SC2034,SC2154
facts=$(
	here=$top/tools/vm
	fatal=1
	# shellcheck source=tools/vm/common.sh
	. "$here/common.sh"
	# shellcheck source=tools/vm/qemu.sh
	. "$here/qemu.sh"
	qemu_find
	qemu=(qemu-system-x86_64)
	[ -z "$qemu_root" ] || qemu=("${chroot_run[@]}" "$qemu_root" /usr "${qemu[@]}")
	echo "machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
		"$(nproc) processors, Linux $(uname -r)"
	echo "qemu=$("${qemu[@]}" --version | sed -n 's/^QEMU emulator version //p')"
	if kvm_works; then echo accel=kvm; else echo accel=tcg; fi
)
mapfile -t facts <<<"$facts"
accel=${facts[2]#accel=}

# QEMU without KVM executes "rep movsb" byte by byte, which no processor does.
# The guest's memcpy is told not to use it.
tunables=
if [ "$accel" = tcg ]; then
	tunables=glibc.cpu.hwcaps=-ERMS,-FSRM
	facts+=("tunables=$tunables")
fi

# shellcheck disable=SC2016 # the guest's shell expands them
"$vm" run --kernel "${VM_KERNEL:-host}" --accel "$accel" --mem 1G --timeout 580 \
	--out "$tmp/out" --file "$module:/lib/vta.ko" \
	--file "$top/build/tests/bench/memory:/bin/memory" \
	-- sh -ec 'insmod /lib/vta.ko; GLIBC_TUNABLES=$0 exec memory /out "$@"' \
	"$tunables" "${facts[@]}"

gnuplot -e "data='$tmp/out/memory.dat'; chart='$tmp/memory.svg'; run='$(
	printf '%s; ' "${facts[@]}" | tr -d "'\\\\" | sed 's/; $//')'" \
	"$top/tests/bench/memory.gp"
mkdir -p "$top/build"
mv "$tmp/out/memory.json" "$top/build/bench.json"
mv "$tmp/memory.svg" "$top/build/bench-memory.svg"
echo
echo "bench: OK: build/bench.json, build/bench-memory.svg"
