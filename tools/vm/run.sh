# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# (variables of the other parts, and commas that QEMU wants)
# SPDX-License-Identifier: GPL-2.0-only
#
# One life of a virtual machine: options, files, emulators, QEMU, verdict.
#
# Everything of a run is in one temporary directory, $run, and every process is
# a child of this shell which dies with it (see child), even by kill -9.

# run MODE [OPTIONS] [-- COMMAND...]
run() {
	fatal=125
	run_options "$@"
	need util-linux mount cpio
	kernel_arch=amd64
	if [ -z "$image" ]; then
		kernel_find "$kernel"
		image=$kernel_dir/image modules=$kernel_dir/modules
	fi
	run_foreign
	qemu_find "$kernel_arch"
	busybox_find
	if [ "$accel" = auto ]; then
		if kvm_works; then accel=kvm; else accel=tcg; fi
	fi

	run=$(mktemp -d "${TMPDIR:-/tmp}/vta-vm.XXXXXX")
	run=$(realpath "$run")
	# A socket's name has 107 bytes at most.
	if [ ${#run} -gt 80 ]; then
		rmdir "$run"
		die "the path of the temporary directory is too long for sockets: $run"
	fi
	declare -gA process=()
	trap cleanup EXIT
	trap 'caught HUP' HUP
	trap 'caught INT' INT
	trap 'caught PIPE' PIPE
	trap 'caught TERM' TERM

	start_timer
	make_initrd
	local boots=1
	boot
	while clock_is_wrong; do
		[ "$boots" -lt 3 ] || die "the guest's clock is wrong: $clock"
		report "the guest's clock is wrong, booting again: $clock"
		boots=$((boots + 1))
		unboot
		boot
	done
	verdict
}

boot() {
	start_emulators
	start_qemu
	watch
}

# Options of a guest of another architecture, which cannot have all devices.
run_foreign() {
	[ "$kernel_arch" != amd64 ] || return 0
	[ "$iommu" = no ] || die "--iommu: not on $kernel_arch"
	[ "$accel" != kvm ] || die "--accel kvm: not on $kernel_arch"
	accel=tcg
	[ -n "$sysroot" ] || sysroot=$kernel_root
}

run_options() {
	mode=$1
	shift
	# Of the same tree, or installed.
	emulator=${here%/tools/vm}/build/tools/vta-emu
	[ "${here%/tools/vm}" != "$here" ] || emulator=$(type -P vta-emu || echo vta-emu)
	cards=1 emu_args=()
	memory=1G cpus=2 kernel=host image='' modules='' append='' qemu_args=() accel=auto
	files=() module_names=() iommu=no monitor=no uart='' one_slot=no oops=panic tolerated='' limit='' out='' dmesg=no keep_log='' sysroot=''
	command=()
	declare -gA card_args=()
	[ "$mode" = run ] && limit=300

	while [ $# -gt 0 ]; do
		case $1 in
		--)	shift; command=("$@"); break ;;
		--iommu)	iommu=yes; shift; continue ;;
		--monitor)	monitor=yes; shift; continue ;;
		--uart)		uart=16; shift; continue ;;	# the first one's PCI slot
		--one-slot)	one_slot=yes; shift; continue ;;
		--oops-ends-task)	oops=; shift; continue ;;
		--dmesg)	dmesg=yes; shift; continue ;;
		--*)	[ $# -ge 2 ] || bad_usage "$1 needs a value" ;;
		*)	bad_usage "$1: a command comes after --" ;;
		esac
		case $1 in
		--cards)	cards=$2 ;;
		--emu)		emulator=$2 ;;
		--emu-arg)	emu_args+=("$2") ;;
		--emu-arg-*)	number "$1" "${1#--emu-arg-}"
				# One argument a line: they hold no line breaks.
				card_args[${1#--emu-arg-}]+=$2$'\n' ;;
		--mem)		memory=$2 ;;
		--cpus)		cpus=$2 ;;
		--kernel)	kernel=$2 ;;
		--kernel-image)	image=$2 ;;
		--modules)	modules=$2 ;;
		--append)	append=$2 ;;
		--qemu)		qemu_args+=("$2") ;;
		--accel)	accel=$2 ;;
		--file)		files+=("$2") ;;
		--sysroot)	sysroot=$2 ;;
		--module)	module_names+=("$2") ;;
		--timeout)	limit=$2 ;;
		--out)		out=$2 ;;
		--keep-log)	keep_log=$2 ;;
		--tolerate)	tolerated=$2 ;;
		*)		bad_usage "unknown option $1" ;;
		esac
		shift 2
	done

	# Kernels that watch themselves take their time.
	case $kernel in
	debug|kcsan)	[ -z "$limit" ] || limit=$((limit * 6)) ;;
	esac
	number --cards "$cards"
	number --cpus "$cpus"
	[ -z "$limit" ] || number --timeout "$limit"
	[[ $memory =~ ^[1-9][0-9]*[MG]$ ]] || bad_usage "--mem $memory: give it as 512M or 1G"
	[[ $accel =~ ^(auto|kvm|tcg)$ ]] || bad_usage "--accel $accel: kvm, tcg or auto"
	if [ "$mode" = run ]; then
		[ ${#command[@]} -gt 0 ] || bad_usage "no command given (after --)"
	else
		[ ${#command[@]} -eq 0 ] || bad_usage "shell takes no command"
	fi
	if [ -n "$image" ]; then
		[ -f "$image" ] || die "--kernel-image $image: no such file"
		[ -z "$modules" ] || [ -f "$modules/modules.dep" ] ||
			die "--modules $modules: no modules.dep there (run depmod)"
	elif [ -n "$modules" ]; then
		bad_usage "--modules goes with --kernel-image"
	fi
	if [ "$cards" -gt 0 ] && [ ! -x "$emulator" ]; then
		die "no emulator at $emulator: build it, or name it with --emu"
	fi
}

number() {
	[[ $2 =~ ^(0|[1-9][0-9]{0,5})$ ]] || bad_usage "$1 $2: not a number"
}

# "${child[@]}" COMMAND... &: start a process that is killed when this one dies,
# also if that happens before it could ask for it.
# shellcheck disable=SC2016 # the inner shell's
child=(setpriv --pdeathsig KILL -- sh -c '[ "$PPID" = "$0" ] && exec "$@"' "$$")

# The time-out's period, of which ten may pass.
periods=0
start_timer() {
	[ -n "$limit" ] || return 0
	"${child[@]}" sleep "$limit" &
	process[timer]=$!
}

make_initrd() {
	local spec base
	tree=$run/tree
	guest_skeleton "$tree"
	cp "$here/init" "$tree/init"
	for spec in "${files[@]}"; do
		if [[ $spec == *:* ]]; then
			guest_add "${spec%:*}" "${spec##*:}"
		else
			guest_add "$spec" "root/$(basename "$spec")"
		fi
	done
	if [ "$mode" = shell ]; then
		add_terminal
	else
		add_command
		{
			printf 'exec '
			quote "${command[@]}"
			echo
		} >"$tree/vm/command"
	fi
	base=(virtio_pci virtio_console)
	guest_add_modules "$modules" "${base[@]}" "${module_names[@]}"
	printf '%s\n' "mode=$mode" "channels='$(channels)'" "uart=$uart" "out=${out:+yes}" \
		"terminal='$(terminal_size)'" | sed 's/^out=$/out=no/' >"$tree/vm/config"
	{
		cat "$busybox_dir/cpio"
		archive "$tree"
	} >"$run/initrd"
	rm -rf "$tree"
	cp "$image" "$run/image"
}

# The description of the terminal that init names, for programs with ncurses.
add_terminal() {
	local entry
	for entry in {/lib,/usr/share}/terminfo/l/linux; do
		[ ! -e "$entry" ] || guest_add "$entry" usr/share/terminfo/l/linux
	done
}

# A command is what the guest has by that name, or else a file of the host.
add_command() {
	local name=${command[0]} path
	if [[ $name == */* ]]; then
		if [[ $name == /* ]] && in_guest "$name"; then
			return
		fi
		path=$name
	else
		! in_guest "usr/bin/$name" && ! in_guest "root/$name" || return 0
		path=$(type -P "$name") || return 0
	fi
	[ -f "$path" ] || return 0
	[ -x "$path" ] || die "$path: not executable"
	guest_add "$path" "root/${path##*/}"
	command[0]=/root/${path##*/}
}

# Between guest and host: the command's output (a shell has a console for that), the
# status, /out, the monitor, each emulator's control socket.
channels() {
	local n names=(vm-status)
	[ "$mode" != run ] || names+=(vm-output)
	[ -z "$out" ] || names+=(vm-out)
	[ "$monitor" = no ] || names+=(vm-monitor)
	for ((n = 0; n < cards; n++)); do names+=("vta-emu$n"); done
	echo "${names[*]}"
}

terminal_size() {
	local size
	if [ "$mode" = shell ] && size=$(stty size 2>/dev/null); then
		echo "rows ${size% *} cols ${size#* }"
	fi
}

start_emulators() {
	local n socket extra
	: "${UBSAN_OPTIONS:=halt_on_error=1:print_stacktrace=1}"
	export UBSAN_OPTIONS
	for ((n = 0; n < cards; n++)); do
		extra=()
		[ -z "${card_args[$n]-}" ] || mapfile -t extra <<<"${card_args[$n]%$'\n'}"
		"${child[@]}" "$emulator" --socket "$run/card$n.sock" \
			--control "$run/card$n.ctl" --log-level warn \
			"${emu_args[@]}" "${extra[@]}" \
			</dev/null >"$run/emu$n.log" 2>&1 &
		process[emu$n]=$!
	done
	for ((n = 0; n < cards; n++)); do
		for socket in "$run/card$n.sock" "$run/card$n.ctl"; do
			until [ -S "$socket" ]; do
				running "emu$n" || emulator_failed "$n"
				! out_of_time || timed_out
				pause
			done
		done
	done
}

start_qemu() {
	local n port place qemu=("${qemu_args[@]}") console=ttyS0 cmdline
	local name backend slot=$uart
	local machine=q35,vmport=off,smbus=off,sata=off,i8042=off
	if [ "$kernel_arch" = arm64 ]; then
		machine=virt,gic-version=3 console=ttyAMA0
	fi
	machine+=,memory-backend=memory
	cmdline="console=$console panic=-1${oops:+ oops=$oops}"
	# Without KVM on a busy host a virtual processor may be paused for long.
	cmdline+=' rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60 nmi_watchdog=0'
	cmdline+=' workqueue.watchdog_thresh=300 hung_task_panic=0'
	[ -z "$uart" ] || cmdline+=' 8250.nr_uarts=16'
	# A short boot skips these.
	cmdline+=' tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on'

	case $accel in
	kvm)	qemu+=(-accel kvm -cpu host)
		[ "$iommu" = no ] || machine+=,kernel-irqchip=split ;;
	tcg)	qemu+=(-accel tcg,thread=multi -cpu max)
		[ "$kernel_arch" = arm64 ] || [ "$boots" -gt 1 ] || cmdline+=$(tsc_rate) ;;
	esac
	qemu+=(-nodefaults -no-user-config -display none -no-reboot
		-machine "$machine" -smp "$cpus" -m "$memory"
		-object "memory-backend-memfd,id=memory,size=$memory,share=on"
		-kernel image -initrd initrd -serial file:kernel.log)
	if [ "$iommu" = yes ]; then
		qemu+=(-device intel-iommu,caching-mode=on)
		cmdline+=' intel_iommu=on iommu.strict=1'
	fi
	qemu+=(-append "$cmdline${append:+ $append}")

	# A port's maximum is a bus's; each gets its own name.
	qemu+=(-device virtio-serial-pci,max_ports=31)
	if [ "$mode" = run ]; then
		mkfifo "$run/output"
		cat "$run/output" &
		process[output]=$!
	else
		qemu+=(-chardev stdio,id=terminal,mux=on,signal=off -mon chardev=terminal
			-device virtconsole,chardev=terminal)
	fi
	[ "$monitor" = no ] || qemu+=(-mon chardev=monitor,mode=control
		-chardev socket,id=monitor,path=monitor.sock,server=on,wait=off)
	for name in $(channels); do
		case $name in
		vm-status)	backend=file,path=status ;;
		vm-output)	backend=file,path=output ;;
		vm-out)		backend=file,path=out.tar ;;
		vm-monitor)	backend=socket,path=monitor.sock ;;
		vta-emu*)	backend=socket,path=card${name#vta-emu}.ctl ;;
		esac
		qemu+=(-chardev "$backend,id=$name")
		if [ -n "$uart" ]; then
			qemu+=(-device "pci-serial,chardev=$name,addr=$(printf %x "$slot")")
			slot=$((slot + 1))
		else
			qemu+=(-device "virtserialport,chardev=$name,name=$name")
		fi
	done
	for ((n = 0; n < cards; n++)); do
		port=port$n place=
		if [ "$one_slot" = yes ]; then
			port=port0 place="\"addr\":\"0.$n\",\"multifunction\":true,"
		fi
		[ "$port" != "port$n" ] || qemu+=(-device
			"pcie-root-port,id=$port,bus=pcie.0,chassis=$((n + 1)),slot=$((n + 1))")
		qemu+=(-device "{\"driver\":\"vfio-user-pci\",\"id\":\"card$n\",\"bus\":\"$port\",$place
				\"socket\":{\"type\":\"unix\",\"path\":\"card$n.sock\"}}")
	done

	: >"$run/kernel.log"
	: >"$run/status"
	if [ -n "$qemu_root" ]; then
		qemu=("${chroot_run[@]}" "$qemu_root" "$run" "$qemu_program" "${qemu[@]}")
	else
		# shellcheck disable=SC2016 # the inner shell's
		qemu=(sh -c 'cd "$0" && exec "$@"' "$run" "$qemu_program" "${qemu[@]}")
	fi
	if [ "$mode" = shell ] && [ -t 0 ]; then
		saved_terminal=$(stty -g)
		echo "The guest's shell: exit or Ctrl-D powers off, Ctrl-A X ends it at once."
	fi
	exec {terminal}<&0
	if [ "$mode" = run ]; then
		"${child[@]}" "${qemu[@]}" </dev/null >"$run/qemu.log" 2>&1 &
	else
		"${child[@]}" "${qemu[@]}" <&"$terminal" 2>"$run/qemu.log" &
	fi
	process[qemu]=$!
}

# running NAME: false once it has ended, with its exit status in $ended[NAME].
# Hide bash's messages on children that a signal ended.
declare -A ended=()
running() {
	[ -z "${ended[$1]-}" ] || return 1
	! kill -0 "${process[$1]}" || return 0
	ended[$1]=0
	wait "${process[$1]}" || ended[$1]=$?
	unset "process[$1]"
	return 1
} 2>/dev/null

# Prints the bytes of the guest's output so far, of the console and of its command.
output_bytes() {
	stat -c %s "$run/kernel.log"
	sed -n 's/^rchar: //p' "/proc/${process[output]-}/io"
} 2>/dev/null

# A guest of a busy machine is slow; a guest that hangs prints nothing.
out_of_time() {
	local now
	[ -n "$limit" ] && ! running timer || return 1
	now=$(output_bytes)
	[ "$now" != "${output_before-}" ] && [ $((periods += 1)) -lt 10 ] || return 0
	output_before=$now
	unset 'ended[timer]'
	start_timer
	return 1
}

# A moment's sleep without a process. bash's "wait -n" would do without it, but
# forgets a child that ended before the call.
pause() {
	[ -n "${never-}" ] || {
		mkfifo "$run/never"
		exec {never}<>"$run/never"
	}
	read -rt 0.05 -u "$never" _ || true
}

# Until the guest is gone.
watch() {
	local n grace patience
	while running qemu; do
		! out_of_time || timed_out
		note_start
		for ((n = 0; n < cards; n++)); do
			running "emu$n" && continue
			# It may have ended because QEMU did; and has, if it ended well: QEMU
			# lets go of the card before it ends itself, on a busy host long before.
			patience=40
			[ "${ended[emu$n]}" -ne 0 ] || patience=1200
			for ((grace = 0; grace < patience; grace++)); do
				running qemu || break 3
				pause
			done
			emulator_failed "$n"
		done
		# The reader of our output has ended.
		if [ "$mode" = run ] && ! running output && [ "${ended[output]}" -ne 0 ]; then
			caught PIPE
		fi
		pause
	done
}

# ---- The guest's clock ----

# On a busy host, QEMU without KVM may be paused while the kernel measures the TSC against
# the PIT. The kernel then takes it for slower by any factor, trusts the PIT rather than the
# HPET ("PIT calibration deviates from HPET" in its log), and its clock is faster by
# that factor. So it is given the rate; init finds out before it runs anything if that was
# wrong, and the next boot measures.

# The option for that. QEMU's TSC is the host's, and the host's kernel states twice its MHz
# as "bogomips".
tsc_rate() {
	awk '/^flags/ { constant = / constant_tsc / }
		/^bogomips/ { khz = $3 * 500 }
		END { if (constant && khz) printf " tsc_early_khz=%d", khz }' /proc/cpuinfo
}

# True if the guest went down because of its clock; sets $clock to the difference.
clock_is_wrong() {
	clock=$(sed -n 's/^clock \(-*[0-9]*\)$/it is \1 s from the real-time clock after the boot/p' \
		"$run/status" 2>/dev/null) && [ -n "$clock" ]
}

# As before the first boot.
unboot() {
	local n
	for ((n = 0; n < cards; n++)); do
		! running "emu$n" || kill -TERM "${process[emu$n]}" 2>/dev/null || true
	done
	for ((n = 0; n < cards; n++)); do
		while running "emu$n"; do pause; done
		rm -f "$run/card$n.sock" "$run/card$n.ctl"
	done
	[ "$mode" = shell ] || while running output; do pause; done
	ended=() start_ns=
	rm -f "$run/output" "$run/status" "$run/kernel.log" "$run/out.tar"
}

# The time when the guest reported its start, by the host's clock.
note_start() {
	[ -z "${start_ns-}" ] && [ -s "$run/status" ] || return 0
	start_ns=$(written_ns)
}

written_ns() {
	local at
	at=$(stat -c %.9Y "$run/status")
	echo "${at/[.,]/}"
}

# The same time for the guest as for the host, from "start" to "exit"; a guest that has
# booted another kernel in between began anew, and a command may have been too quick to notice.
clock_check() {
	local seen
	[ "$mode" = run ] && [ "$(grep -c '^start ' "$run/status")" -eq 1 ] && [ -n "${start_ns-}" ] || return 0
	seen=$(awk -v host="$(($(written_ns) - start_ns))" '
		/^start / { from = $2 }
		/^exit / {
			host /= 1e9
			guest = $3 - from
			off = guest > host ? guest - host : host - guest
			if (off > 3 + host / 5)
				printf "%.1f s in %.1f s", guest, host
		}' "$run/status")
	[ -z "$seen" ] || die "the guest's clock was wrong: it ran $seen"
}

verdict() {
	local n tries code
	[ "$mode" = shell ] || [ "${ended[qemu]}" -ne 0 ] || {
		while running output; do pause; done
	}
	[ "$dmesg" = no ] || log_tail 100000

	if [ "${ended[qemu]}" -ne 0 ]; then
		cat "$run/qemu.log" >&2
		for ((n = 0; n < cards; n++)); do emulator_log "$n"; done
		die "QEMU failed (${ended[qemu]})"
	fi
	complaints && die "the guest's kernel complained"
	for ((n = 0; n < cards; n++)); do
		! running "emu$n" || kill -TERM "${process[emu$n]}" 2>/dev/null || true
	done
	for ((n = 0; n < cards; n++)); do
		for ((tries = 0; tries < 200; tries++)); do
			running "emu$n" || break
			pause
		done
		! running "emu$n" || die "the emulator of card $n does not end"
		case ${ended[emu$n]} in
		# It may leave the signal to its default.
		0|143)	! grep -q 'runtime error:' "$run/emu$n.log" || emulator_failed "$n" ;;
		*)	emulator_failed "$n" ;;
		esac
	done

	code=$(sed -n 's/^exit \([0-9]*\) .*/\1/p' "$run/status")
	if [ -z "$code" ]; then
		# A shell may be ended from outside at any time.
		[ "$mode" = run ] || exit 0
		log_tail 40
		if grep -q '^start' "$run/status"; then
			die "the guest went down before the command had ended"
		fi
		die "the guest did not boot"
	fi
	clock_check
	if [ -n "$out" ]; then
		mkdir -p "$out"
		tar -x --no-same-owner -C "$out" -f "$run/out.tar" ||
			die "cannot copy the guest's /out to $out"
	fi
	exit "$code"
}

timed_out() {
	local n
	complaints || log_tail 30
	for ((n = 0; n < cards; n++)); do emulator_log "$n"; done
	report "time-out: no more output for $limit s, or not done after 10 times that"
	exit 124
}

# emulator_failed N
emulator_failed() {
	emulator_log "$1"
	# There may have been no guest yet.
	[ ! -e "$run/kernel.log" ] || complaints || log_tail 30
	die "the emulator of card $1 failed (${ended[emu$1]})"
}

emulator_log() {
	sed "s/^/emulator $1: /" "$run/emu$1.log" | tail -n 200 >&2
}

log_tail() {
	[ -s "$run/kernel.log" ] || return 0
	tr -d '\r' <"$run/kernel.log" | tail -n "$1" >&2
}

# True if the kernel log reports an error, which is then printed.
complaints() {
	local pattern='WARNING:|BUG:|Oops:|Kernel panic|Call Trace:|UBSAN:|KASAN:|KCSAN:|KFENCE:'
	pattern+='|general protection fault|nable to handle|blocked for more than'
	pattern+='|detected (expedited )?stall|soft lockup|hard LOCKUP|kmemleak: [0-9]+ new|possible recursive locking'
	pattern+='|circular locking|inconsistent lock state|INFO: trying to register non-static key'
	pattern+='|lockdep is turned off|\[ cut here \]|vm-init: '
	# A failed allocation is no fault, although the kernel prints a trace.
	# A warning is held back until its origin is known, unless no warnings are tolerated: then
	# it is shown at once.
	tr -d '\r' <"$run/kernel.log" | grep -av 'ommand line: ' | awk -v tolerated="${tolerated-}" '
		/vmalloc error: |page allocation failure: / { skip = 1 }
		tolerated && /\[ cut here \]/ { holding = 1; held = ""; drop = 0 }
		holding {
			held = held $0 "\n"
			if ($0 ~ "WARNING: .* at (" tolerated ")[+]")
				drop = 1
			if (/\[ end trace /) {
				if (!drop)
					printf "%s", held
				holding = 0
			}
			next
		}
		!skip
		/<\/TASK>/ { skip = 0 }
		END { if (holding) printf "%s", held }' >"$run/log"
	grep -aEq "$pattern" "$run/log" || return 1
	grep -aE -m 1 -B 5 -A 60 "$pattern" "$run/log" >&2
}

# caught SIGNAL: clean up, and die of it as if it had not been caught.
caught() {
	trap - EXIT
	cleanup
	trap - "$1"
	kill -s "$1" "$$"
}

cleanup() {
	trap '' HUP INT PIPE TERM
	if [ ${#process[@]} -gt 0 ]; then
		kill -KILL "${process[@]}" 2>/dev/null || true
		wait "${process[@]}" 2>/dev/null || true
	fi
	if [ -n "$keep_log" ] && [ -e "$run/kernel.log" ]; then
		tr -d '\r' <"$run/kernel.log" >"$keep_log" || true
	fi
	[ -z "${saved_terminal-}" ] || stty "$saved_terminal" 2>/dev/null || true
	rm -rf "$run"
}
