#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run one of libFuzzer's programs, first on what has been kept. Prints TAP. New
# inputs are in OUT/corpus, inputs that fail in OUT/crashes.
#
#   tests/fuzz/libfuzzer.sh PROGRAM OUT RUNS [SEEDS...]
#
# VTA_SEED=0 takes another seed each time; by default it is always the same.
# A target that has seeds to start from has a program replay-NAME beside it, or SEEDS:
# directories, and programs that write files to a directory, as replay-NAME does, by -w.
set -euo pipefail

if [ $# -lt 3 ] || [ ! -x "$1" ]; then
	sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
program=$1 out=$2 runs=$3
name=${program##*/}
kept=$(dirname "$(realpath "$0")")/corpus/${name#parse-}
seeds=${program%/*}/replay-$name
mkdir -p "$out/corpus" "$out/crashes"
dirs=("$out/corpus")
[ ! -x "$seeds" ] || "$seeds" -w "$out/corpus"
[ ! -d "$kept" ] || dirs+=("$kept")
for seeds in "${@:4}"; do
	if [ -d "$seeds" ]; then
		dirs+=("$seeds")
	elif [ -x "$seeds" ]; then
		"$seeds" -w "$out/corpus"
	fi
done

echo "TAP version 13"
echo "1..1"
log=$out/log
if "$program" -runs="$runs" -seed="${VTA_SEED:-1}" -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix="$out/crashes/" "${dirs[@]}" >"$log" 2>&1; then
	echo "ok 1 $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions," \
		"$(sed -n 's/.* ft: \([0-9]*\).*/\1/p' "$log" | tail -n 1) features"
else
	tail -n 60 "$log" | sed 's/^/# /'
	echo "not ok 1 crashed: see $out/crashes"
	exit 1
fi
