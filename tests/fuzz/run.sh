#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzz the driver's calls in a VM. The program fuzz prints the results, as TAP; what is found
# is in OUT/corpus, what was being executed when something went wrong in OUT/crashes, the
# kernel's log in OUT/kernel.log.
#
#   tests/fuzz/run.sh [-t SECONDS] VTA.KO OUT calls|card [ARGUMENTS OF FUZZ]
#
# calls: programs of calls. card: these, while the card answers with anything. -t: how long the
# guest may be silent (2400).
# VM_KERNEL says which kernel, as tools/vm/vm --kernel: without debug there is no
# coverage to go by. COVERAGE=DIR is as in tests/selftests/run.sh.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
limit=2400
if [ "${1-}" = -t ]; then
	limit=$2
	shift 2
fi
if [ $# -lt 3 ] || [ ! -f "$1" ]; then
	sed -n '4,13s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$(realpath "$1")
out=$2
what=$3
shift 3

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-fuzz.XXXXXX")
trap 'rm -rf "$dir"' EXIT
# The corpus is what was kept and what the last run has found.
mkdir -p "$out/corpus" "$dir/corpus" "$dir/out"
for kept in "$here/corpus/$what" "$out/corpus"; do
	[ ! -d "$kept" ] || find "$kept" -type f -exec cp -t "$dir/corpus" {} +
done

options=()
[ "$what" = calls ] || set -- -b "$@"
status=0
"$top/tools/vm/vm" run --kernel "${VM_KERNEL:-host}" --emu "$top/build/asan/vta-emu" \
	--emu-arg --mem=16M --emu-arg --queues=24 --emu-arg --contexts=16 \
	--oops-ends-task --keep-log "$out/kernel.log" --out "$dir/out" --timeout "$limit" \
	--file "$module:/lib/vta.ko" --file "$dir/corpus:/root/corpus" \
	--file "$top/build/tests/fuzz/calls/fuzz:/root/fuzz" \
	--file "$here/guest.sh:/root/guest.sh" \
	"${options[@]}" -- /root/guest.sh "$@" || status=$?
# A guest that died has left none.
[ ! -d "$dir/out/corpus" ] || rm -rf "$out/corpus"
for part in corpus crashes; do
	[ ! -d "$dir/out/$part" ] || cp -rt "$out" "$dir/out/$part"
done
if [ -n "${COVERAGE-}" ] && [ -d "$dir/out/gcov" ]; then
	mkdir -p "$COVERAGE/fuzz-$what"
	cp -rt "$COVERAGE/fuzz-$what" "$dir/out/gcov"
fi
exit "$status"
