#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run the kernel's tests on emulated cards in virtual machines. The tests of each boot print the
# results, as KTAP; the status is 1 if any test failed or any kernel complained.
#
#   tests/selftests/run.sh VTA.KO [BOOT...]
#
# BOOT is one of those that run.sh --boots prints; all of them if none is given.
# Or dmabuf, the part of memory that needs a kernel with udmabuf to be complete; or failnth,
# for one that can make allocations fail. With COVERAGE=DIR, each boot
# leaves there what it executed of a module that counts.
# VM_KERNEL says which kernel, as tools/vm/vm --kernel. TESTS="vta_wait ..." runs
# only these in the boots main, waits, recovery, sleep and isolation. CROSS=SUITE takes
# programs that tests/kernels/userspace.sh has built for another architecture. With CARD=rtl the cards
# are build/rtl/vta-emu-rtl, which keep no state and have no sensors: all time-outs are ten times as
# long (VTA_SLOWNESS in the guest), and card time passes a thousand times slower.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
vm=$top/tools/vm/vm
built=$top/build
[ -z "${CROSS-}" ] || built=$top/build/cross/$CROSS/build

all=(main waits groups recovery sleep bus plug pool kexec reboot paused variants vectors crowd iommu memory isolation)
if [ "${1-}" = --boots ]; then
	echo "${all[*]}"
	exit
fi
if [ $# -lt 1 ] || [ ! -f "$1" ]; then
	sed -n '4,19s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$(realpath "$1")
shift
boots=("$@")
[ $# -gt 0 ] || boots=("${all[@]}")

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-selftests.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# A directory as "make install" of the kernel's selftests would leave it.
source=$("$vm" source)/tools/testing/selftests
mkdir -p "$dir/kselftest/kselftest" "$dir/kselftest/vta"
cp "$source/run_kselftest.sh" "$dir/kselftest/"
cp "$source/kselftest/runner.sh" "$dir/kselftest/kselftest/"
find "$built/tests/selftests" -maxdepth 1 -type f -perm /111 -exec cp -t "$dir/kselftest/vta/" {} +
cp "$here"/*.sh "$here/settings" "$dir/kselftest/vta/"
case ${VM_KERNEL-} in
debug|kcsan)	echo timeout=3000 >"$dir/kselftest/vta/settings" ;;
esac

# The runner asks for an option that busybox's timeout does not have, and the host's
# is not for every guest.
timeout=$(type -P timeout)
if [ -n "${CROSS-}" ]; then
	timeout=$dir/timeout
	cat >"$timeout" <<-'EOF'
		#!/bin/sh
		[ "$1" != --foreground ] || shift
		exec busybox timeout "$@"
	EOF
	chmod 755 "$timeout"
fi
# The limits here, in "settings" and in vta_harness.h only end a test that hangs.
emu=$top/build/asan/vta-emu limit=1000 slow=() environment=()
if [ "${CARD-}" = rtl ]; then
	emu=$top/build/rtl/vta-emu-rtl limit=10000 slow=(--emu-arg --time=model:1000)
	environment=(env VTA_SLOWNESS=10)
	echo "timeout=$limit" >"$dir/kselftest/vta/settings"
fi
files=(--timeout "$limit" "${slow[@]}" --file "$dir/kselftest:/root/kselftest" --file "$module:/lib/vta.ko"
	--file "$timeout:/usr/bin/timeout" --file "$built/tools/vtactl:/usr/bin/vtactl")
[ -z "${CROSS-}" ] || files+=(--sysroot "$("$vm" root "$CROSS")")

status=0
# boot NAME VM-OPTIONS... -- TEST...
boot() {
	local options=()
	echo "# boot: $1"
	[ -z "${COVERAGE-}" ] || options+=(--out "$COVERAGE/$1")
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	"$vm" run --kernel "${VM_KERNEL:-host}" --emu "$emu" "${files[@]}" \
		--keep-log "$dir/kernel.log" "${options[@]}" -- \
		"${environment[@]}" "/root/kselftest/vta/${script:-guest.sh}" "$@" || {
		status=1
		echo '# the end of the kernel log:'
		tail -n 100 "$dir/kernel.log" | sed 's/^/# /'
	}
}

# Tests use the first card by default.
boot_main() {
	local tests=(vta_basic vta_open vta_buf vta_queue vta_run vta_kept vta_wait vta_fault vta_recover vta_close
		vta_stress vta_uapi vta_trace vta_lib vta_pipeline vta_ctl vta_cards vta_refused.sh=0000:02:00.0)
	local sensors=()
	if [ "${CARD-}" != rtl ]; then
		sensors=(--emu-arg-1 "--sensors=318150,12500")
		tests+=("vta_sensors.sh=0000:02:00.0,45000,12500000,0000:01:00.0")
	fi
	tests+=(vta_unbind)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot main --cards 2 --emu-arg-0 --serial=1 \
		--emu-arg-1 --serial=2 --emu-arg-1 --queues=4 --emu-arg-1 --contexts=3 \
		"${sensors[@]}" -- "${tests[@]}"
}

# The cost of waits, and shares of a card; the second card is for waits for both.
boot_waits() {
	local tests=(vta_fences vta_eventfd vta_cost)
	# It keeps the engines idle meanwhile, which is the C card's to do.
	[ "${CARD-}" = rtl ] || tests+=(vta_share)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot waits --cards 2 -- "${tests[@]}"
}

# Users who share a card in modelled time.
boot_groups() {
	local time=(--emu-arg --time=model)
	[ "${CARD-}" != rtl ] || time=()	# it has the slow one
	boot groups "${time[@]}" --emu-arg --contexts=16 -- vta_group
}

# A card that breaks the contract, and errors of its link. The kernel must handle the slot by
# PCI Express and not by ACPI, as on a server. Ticks are periodic: some are lost while the card
# keeps a processor waiting, and jiffies fall behind.
boot_recovery() {
	local tests=(vta_probe vta_hang vta_watch vta_state vta_aer)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot recovery --append 'highres=off nohz=off' --module aer_inject \
		--emu-arg --serial=1 --emu-arg --contexts=256 --emu-arg --sensors=318150,12500 \
		--qemu -global --qemu ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off \
		-- "${tests[@]}"
}

# The virtio console of Linux 7.3.4 does not come back from a sleep: whatever is written to it
# waits for ever.
boot_sleep() {
	local tests=(vta_sleep)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot sleep --uart --emu-arg --serial=1 --emu-arg --contexts=256 \
		--emu-arg --sensors=318150,12500 -- "${tests[@]}"
}

# Two cards that are functions of one device in one slot.
boot_bus() {
	boot bus --module aer_inject --cards 2 --one-slot \
		--emu-arg-0 --serial=1 --emu-arg-1 --serial=2 \
		--qemu -global --qemu ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off -- vta_bus
}

# The slot's power goes off and on, and a card is there again. QEMU fails when it takes a card
# with MSI-X out of a machine.
boot_plug() {
	boot plug --monitor --emu-arg --stay --emu-arg --serial=1 --emu-arg --msix=0 \
		--qemu -global --qemu ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off -- vta_plug
}

# A program on four cards, which are removed while it runs.
boot_pool() {
	boot pool --cards 4 --emu-arg --mem=16M -- vta_pool
}

# The machine continues with another kernel.
boot_kexec() {
	script=vta_kexec.sh boot kexec \
		--file "$("$vm" kimage --kernel "${VM_KERNEL:-host}"):/root/vmlinuz" --
}

# The machine is rebooted, which ends QEMU; the emulator reports the accesses.
boot_reboot() {
	echo "# boot: reboot"
	cat >"$dir/emu" <<-EOF
		#!/bin/sh
		exec "$top/build/asan/vta-emu" "\$@" --log-level debug >"$dir/emu.log" 2>&1
	EOF
	chmod 755 "$dir/emu"
	"$vm" run --kernel "${VM_KERNEL:-host}" --emu "$dir/emu" "${files[@]}" -- \
		sh -c 'insmod /lib/vta.ko; exec /root/kselftest/vta/vta_kexec' >"$dir/vm.log" 2>&1 || :
	"$here/vta_reboot.sh" "$dir/vm.log" "$dir/emu.log" || {
		status=1
		sed 's/^/# /' "$dir/vm.log" "$dir/emu.log"
	}
}

# The machine and its card are paused for longer than any descriptor may take.
boot_paused() {
	local tries=0 log=$dir/paused.log
	echo "# boot: paused"
	: >"$log"
	setsid setpriv --pdeathsig KILL -- "$vm" run --kernel "${VM_KERNEL:-host}" \
		--emu "$top/build/asan/vta-emu" "${files[@]}" --keep-log "$dir/kernel.log" -- \
		sh -c 'insmod /lib/vta.ko; exec /root/kselftest/vta/vta_paused' >"$log" 2>&1 &
	paused=$!
	trap 'kill -CONT -- "-$paused" || :; kill -TERM -- "-$paused" || :; wait "$paused"; exit 1' \
		INT TERM HUP
	until grep -q 'may be paused now' "$log" || [ "$tries" -ge 4000 ] ||
			! kill -0 "$paused" 2>/dev/null; do
		tries=$((tries + 1))
		sleep 0.1
	done
	if kill -STOP -- "-$paused" 2>/dev/null; then
		sleep 12
		kill -CONT -- "-$paused"
	fi
	wait "$paused" || {
		status=1
		echo '# the end of the kernel log:'
		tail -n 100 "$dir/kernel.log" | sed 's/^/# /'
	}
	trap - INT TERM HUP
	cat "$log"
}

# A card of each kind, named by its serial number.
boot_variants() {
	local options=() tests=() args number=0
	local cards=(
		"msix2 --msix=2 --msi=0"
		"msix1 --msix=1 --msi=0"
		"msi32 --msix=0 --msi=32"
		"msi1 --msix=0 --msi=1"
		"queues1 --queues=1"
		"contexts3 --contexts=3 --msix=5"
		"core --config=$dir/vta_config.json --order=greedy"
		"mem1m --mem=1M --order=random"
	)
	cat >"$dir/vta_config.json" <<-'EOF'
		{
		  "TARGET": "sim", "HW_VER": "0.0.2",
		  "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5,
		  "LOG_BATCH": 1, "LOG_BLOCK": 3,
		  "LOG_UOP_BUFF_SIZE": 12, "LOG_INP_BUFF_SIZE": 13,
		  "LOG_WGT_BUFF_SIZE": 14, "LOG_ACC_BUFF_SIZE": 15
		}
	EOF
	for card in "${cards[@]}"; do
		read -ra args <<<"$card"
		tests+=("vta_basic.${args[0]}=$((number + 1))")
		args[0]=--serial=$((number + 1))
		for arg in "${args[@]}"; do options+=("--emu-arg-$number" "$arg"); done
		number=$((number + 1))
	done
	# All on one vector is where wake-ups could get lost.
	tests+=("vta_wait.msix1=2" "vta_cost.msix1=2" "vta_fault.msix1=2" "vta_wait.msi1=4" "vta_stress.msi1=4" "vta_open.contexts3=6"
		"vta_fault.core=7" "vta_buf.mem1m=8"
		"vta_vectors.sh=2:msix 1:msix 1:msi 1:msi 2:msix 5:msix 65:msix 65:msix")
	boot variants --cards "${#cards[@]}" "${options[@]}" -- "${tests[@]}"
}

# More cards than the processors' vectors would be enough for, had each queue its own.
boot_vectors() {
	boot vectors --cards 11 -- "vta_scarce.sh=11"
}

# Hundreds of files of one user, which take long to be signalled.
boot_crowd() {
	boot crowd --mem 1G --cards 3 --emu-arg-0 --queues=256 \
		--emu-arg-1 --queues=256 --emu-arg-2 --queues=256 -- vta_crowd
}

# Every access of the card to what the driver has not mapped would be a fault.
boot_iommu() {
	boot iommu --iommu --module vgem -- vta_basic vta_buf vta_queue vta_run \
		vta_close vta_pin vta_dmabuf vta_unbind vta_iommu.sh
}

# Memory of every kind, with a driver that it can be shared with.
boot_memory() {
	local tests=(vta_pin vta_dmabuf vta_sync vta_limits vta_fragment)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot memory --cards 2 --emu-arg-0 --mem=16M --module vgem -- "${tests[@]}"
	boot large --mem 4G -- vta_large
	boot bounce --module vgem --append swiotlb=force -- vta_bounce
}

boot_dmabuf() {
	local tests=(vta_dmabuf vta_sync)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot dmabuf --cards 2 --module vgem -- "${tests[@]}"
}

# Allocations that fail, one by one; few queues and vectors have few. Of the kernel's
# trace of a module some fail with a warning.
boot_failnth() {
	boot failnth --append slab_nomerge \
		--tolerate 'event_define_fields|event_file_put' \
		--emu-arg --queues=2 --emu-arg --msix=2 --emu-arg --mem=1M \
		--emu-arg --sensors=318150,12500 -- vta_failnth
}

# Attacks on a victim that computes. The kernel clears no memory that it is not
# asked to clear.
boot_isolation() {
	local tests=(iso_address iso_stale iso_residue iso_mapping iso_doorbell iso_call iso_stream
		iso_race iso_share iso_flood)
	# On the kernels that watch themselves a call takes longer than the other's sleep.
	case ${VM_KERNEL-} in
	debug|kcsan)	;;
	*)		tests+=(vta_memcg) ;;
	esac
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot isolation --append init_on_alloc=0 -- "${tests[@]}"
}

for name in "${boots[@]}"; do
	case $name in
	main)		boot_main ;;
	recovery)	boot_recovery ;;
	sleep)		boot_sleep ;;
	bus)		boot_bus ;;
	plug)		boot_plug ;;
	pool)		boot_pool ;;
	kexec)		boot_kexec ;;
	reboot)		boot_reboot ;;
	paused)		boot_paused ;;
	variants)	boot_variants ;;
	vectors)	boot_vectors ;;
	crowd)		boot_crowd ;;
	iommu)		boot_iommu ;;
	memory)		boot_memory ;;
	dmabuf)		boot_dmabuf ;;
	waits)		boot_waits ;;
	groups)		boot_groups ;;
	isolation)	boot_isolation ;;
	failnth)	boot_failnth ;;
	*)		echo "run.sh: no boot $name" >&2; exit 2 ;;
	esac
done
exit "$status"
