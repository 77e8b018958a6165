#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run the benchmarks: parts in a virtual machine with emulated cards, and parts
# on the host.
#
#   tests/bench/run.sh [--quick] PART[,PART]... VTA.KO [MODULE.KO]...
#
# Prints tables; leaves build/bench.json and a chart build/bench-PART.svg for each
# part that has one. Further modules are for single parts, which load them.
# VM_KERNEL says which kernel, as tools/vm/vm --kernel. The emulator is the one
# without sanitizers. Numbers of different runs are not to be compared with each
# other. With --quick, it is only tried whether the parts work: prints TAP, leaves
# nothing.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
vm=$top/tools/vm/vm
programs=$top/build/tests/bench

usage() {
	sed -n '6,16s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

quick=
if [ "${1-}" = --quick ]; then
	quick=yes
	shift
fi
[ $# -ge 2 ] || usage
IFS=, read -ra parts <<<"$1"
shift
files=()
for module; do
	[ -f "$module" ] || usage
	files+=(--file "$(realpath "$module"):/lib/${module##*/}")
done
guest=() host=()
into_guest() {
	guest+=("$1")
	files+=(--file "$programs/guest/$1:/bench/$1")
}
for part in "${parts[@]}"; do
	if [ -x "$programs/guest/$part" ]; then
		into_guest "$part"
	elif [ -x "$programs/host/$part" ]; then
		host+=("$part")
		# It reads what this has measured.
		[ ! -x "$programs/guest/${part}_card" ] || into_guest "${part}_card"
	else
		echo "bench: no part $part; there are: $(
			cd "$programs" && echo guest/* host/* | sed 's/[a-z]*[/]//g')" >&2
		exit 2
	fi
done
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vta-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/out"

# Facts of the future VM, by the harness's own parts, in a subshell.
# shellcheck disable=SC2034,SC2154
facts=$(
	here=$top/tools/vm
	fatal=1
	# shellcheck source=tools/vm/common.sh
	. "$here/common.sh"
	# shellcheck source=tools/vm/root.sh
	. "$here/root.sh"
	# shellcheck source=tools/vm/qemu.sh
	. "$here/qemu.sh"
	# shellcheck disable=SC2119 # of this machine
	qemu_find
	qemu=(qemu-system-x86_64)
	[ -z "$qemu_root" ] || qemu=("${chroot_run[@]}" "$qemu_root" /usr "${qemu[@]}")
	echo "machine=$(awk -F ': ' '/^model name/ && !n++ { print $2 }' /proc/cpuinfo)," \
		"$(nproc) processors, Linux $(uname -r)"
	version=$("${qemu[@]}" --version)
	echo "qemu=$(sed -n 's/^QEMU emulator version //p' <<<"$version")"
	if kvm_works; then echo accel=kvm; else echo accel=tcg; fi
)
mapfile -t facts <<<"$facts"
accel=${facts[2]#accel=}
[ -z "$quick" ] || facts+=(quick=yes)

# QEMU without KVM executes "rep movsb" byte by byte, which no processor does.
# The guest's memcpy is configured not to use it.
tunables=
if [ "$accel" = tcg ]; then
	tunables=glibc.cpu.hwcaps=-ERMS,-FSRM
fi

# A third card's work lasts as long as it is modelled to, on a clock that is as slow
# as this host is, compared to one of its own.
slowness=1
if [ "$accel" = tcg ]; then
	slowness=20
fi
facts+=("slowness=$slowness")

# Four more for a pool, whose cycles are as long as ten of theirs: the host has to compute
# for all of them at once.
cards=3
pool=()
if [[ " ${guest[*]} " = *" pool "* ]]; then
	cards=7
	for card in 3 4 5 6; do
		pool+=("--emu-arg-$card" --time "--emu-arg-$card" "model:$slowness"
			"--emu-arg-$card" --clock-khz "--emu-arg-$card" 10000)
	done
fi

in_guest() {
	# iomem=relaxed lets a program map registers that a driver has claimed.
	"$vm" run --kernel "${VM_KERNEL:-host}" --accel "$accel" --mem 1G --cards "$cards" "${pool[@]}" \
		--emu-arg-2 --time --emu-arg-2 "model:$slowness" \
		--timeout 3600 --append iomem=relaxed --out "$tmp/out" "${files[@]}" \
		-- "$top/tests/bench/guest.sh" "$tunables" "${guest[*]}" "${facts[@]}" \
		"${tunables:+tunables=$tunables}"
}

on_host() {
	for part in "${host[@]}"; do
		VTADEV_PLUGINS=$top/build/lib "$programs/host/$part" "$tmp/out" "${facts[0]}" "qemu=none: on the host" \
			accel=none ${quick:+quick=yes} || return
	done
}

charts() {
	for part in "${parts[@]}"; do
		"$top/tests/bench/charts.py" "$part" "$tmp/out/$part.dat" "$tmp/bench-$part.svg" "$(
			printf '%s; ' "${facts[@]}" | sed 's/; $//')" || return
	done
}

# {"PART": its results, ...}
results() {
	local comma=''

	echo '{'
	for part in "${parts[@]}"; do
		printf '%s"%s": ' "$comma" "$part"
		cat "$tmp/out/$part.json" || return
		comma=,
	done
	echo '}'
}

# Prints targets and results, missed ones last, and the number of each.
targets() {
	python3 - "$top/build/bench.json" <<-'EOF'
		import json, sys
		met, missed = [], []
		for part, results in json.load(open(sys.argv[1])).items():
		    for t in results["targets"]:
		        limit = f">= {t['at_least']:g}" if "at_least" in t else f"<= {t['at_most']:g}"
		        line = f"{part}: {t['what']}: {t['value']:.4g} ({limit})"
		        (met if t["met"] else missed).append(line)
		for line in met:
		    print("met   ", line)
		for line in missed:
		    print("missed", line)
		print(f"bench: OK: build/bench.json; {len(met)} targets met, {len(missed)} missed")
	EOF
}

all_there() {
	python3 - "$tmp/bench.json" "${parts[@]}" <<-'EOF'
		import json, sys
		results = json.load(open(sys.argv[1]))
		assert list(results) == sys.argv[2:]
		for part in results.values():
		    assert all(part["run"][k] for k in ("machine", "kernel", "qemu", "accel"))
		    assert all(type(t["met"]) is bool for t in part["targets"])
		    assert len(part) > 2, "a part without results"
	EOF
}

if [ -n "$quick" ]; then
	# shellcheck source=tests/tap.sh
	. "$top/tests/tap.sh"
	tap_log=$tmp/log
	echo "TAP version 13"
	[ ${#guest[@]} -eq 0 ] || check "parts in the guest: ${guest[*]}" in_guest
	[ ${#host[@]} -eq 0 ] || check "parts on the host: ${host[*]}" on_host
	check "charts" charts
	check "results are written" results
	cp "$tmp/log" "$tmp/bench.json"
	check "results are whole" all_there
	echo "1..$n"
	exit "$failed"
fi

[ ${#guest[@]} -eq 0 ] || in_guest
[ ${#host[@]} -eq 0 ] || on_host
charts
results >"$tmp/bench.json"
mkdir -p "$top/build"
mv "$tmp/bench.json" "$top/build/bench.json"
echo
for chart in "$tmp"/bench-*.svg; do
	[ -e "$chart" ] || continue
	mv "$chart" "$top/build/"
	echo "chart: build/${chart##*/}"
done
echo
targets
