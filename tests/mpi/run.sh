#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/mpi on the device soft: one to eight ranks, cards that fail, ranks without a card.
# Prints TAP, and card times of strong scaling; writes a table of them to DIR, and a chart.
#
#   tests/mpi/run.sh DIR
# Functions are called by check:
# shellcheck disable=SC2317
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
	echo "ok 1 mpi # SKIP no Open MPI (make check-mpi installs openmpi-bin and libopenmpi-dev)"
	exit 0
fi
make -s build/examples/mpi/digits-mpi build/examples/digits/digits.vtap
out=$1
mkdir -p "$out"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-mpi.XXXXXX")
trap 'rm -rf "$dir"' EXIT
program=(build/examples/mpi/digits-mpi)
data=(build/examples/digits/digits.vtap examples/digits/testset.bin)
export VTADEV_PLUGINS=build/lib VTADEV_DEVICE=soft TMPDIR=$dir
# Root may run ranks here: a test machine has nothing to protect.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# shellcheck source=tests/tap.sh
. tests/tap.sh
show() { cat "$dir/said"; }
# job ARGUMENTS...: mpirun, within this machine; sets $code. It is killed with this shell.
job() {
	code=0
	setpriv --pdeathsig TERM -- timeout 500 mpirun --oversubscribe --bind-to none \
		--mca btl self,vader --mca pml ob1 --mca oob_tcp_if_include lo \
		"$@" >"$dir/said" 2>&1 </dev/null || code=$?
}
says() { grep -q -- "$1" "$dir/said"; }
exact() { [ "$code" -eq 0 ] && says '^scores    exact: 2000 of 2000 '; }
longest() { sed -n 's/^longest   \([0-9]*\) cycles.*/\1/p' "$dir/said"; }

echo "TAP version 13"
: >"$out/scaling.txt"
for ranks in 1 2 4 8; do
	job -n "$ranks" "${program[@]}" "${data[@]}"
	check "$ranks ranks: all scores are those of one card" exact
	grep '^accuracy' "$dir/said" >"$dir/accuracy$ranks" || :
	check "$ranks ranks: and the accuracy" cmp -s "$dir/accuracy$ranks" "$dir/accuracy1"
	echo "$ranks $(longest)" >>"$out/scaling.txt"
done
awk 'NR == 1 { one = $2 }
	{ printf "# %d ranks: %d cycles, %.3f times as fast as 1\n", $1, $2, one / $2
	  if (one / $2 < 0.97 * $1) bad = 1 }
	END { exit bad }' "$out/scaling.txt" >"$dir/said" || code=1
cat "$dir/said"
check "strong scaling: 8 cards take at most 1/7.76 of the card time" [ "$code" -eq 0 ]
awk 'NR == 1 { one = $2 } { print $1, one / $2, $1 }' "$out/scaling.txt" >"$dir/scaling.dat"
tests/bench/charts.py scaling "$dir/scaling.dat" "$out/scaling.svg" "card time, on the device soft"

job -n 4 "${program[@]}" -f 2:100 "${data[@]}"
check "card that fails: the other ranks take its images" exact
check "card that fails: is reported" says '^rank 2: the card failed: queue .* which is not mapped'
check "card that fails: had done 100" says '^rank 2  *100 images'
check "card that fails: a second round" says '^rounds    2$'
job -n 3 "${program[@]}" -f 0:0 "${data[@]}"
check "card of rank 0 fails at once" exact
job -n 3 "${program[@]}" -f all:10 "${data[@]}"
check "all cards fail: the job ends" [ "$code" -eq 1 ]
check "all cards fail: and says what is left" says '1970 of 2000 images are not classified'
job -n 1 env VTADEV_DEVICE=none "${program[@]}" "${data[@]}" : -n 2 "${program[@]}" "${data[@]}"
check "rank without a card: the others do all" exact
check "rank without a card: says why" says '^rank 0: opening a card: '
job -n 2 "${program[@]}" "${data[@]}" : -n 1 sh -c 'kill -KILL $$'
check "rank that is killed: the job ends, with an error" [ "$code" -ne 0 ]
check "rank that is killed: by no time-out" [ "$code" -ne 124 ]
job -n 2 "${program[@]}" build/examples/digits/digits.vtap /dev/null
check "no test set: the job ends" [ "$code" -eq 1 ]
job -n 2 "${program[@]}"
check "wrong usage" [ "$code" -eq 2 ]
echo "1..$n"
exit "$failed"
