#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh [KIND...]: run random streams on models that count, and judge the counts (coverage.py).
# A KIND is line or toggle; without any, both are counted. The configurations are the smallest one, and
# those of tests/rtl/coverage, whose indices are as wide as a micro-op has room for. The
# cores have two lanes, so that words of a scratchpad are parts of an element.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tests/tap.sh
. tests/tap.sh

if ! command -v verilator > /dev/null; then
	skip "coverage" "no Verilator (make rtl installs it)"
	exit 0
fi
dir=build/rtl-coverage
mkdir -p $dir
rm -f $dir/*.dat
# shellcheck disable=SC2034	# tap.sh shows it
tap_log=$dir/log
for config in tests/emu/configs/tiny.json tests/rtl/coverage/*.json; do
	name=$(basename "$config" .json) status=0
	RTL_COVERAGE=${*:-line toggle} RTL_OPT=-O1 card/rtl/model.sh "$config" $dir 1 > $dir/log 2>&1 &&
		VTA_RTL_DIR=$dir VTA_RTL_COVERAGE=$dir/$name VTA_CONFIGS=$config VTA_STREAMS=45 \
			build/tests/rtl/test_rtl_streams > $dir/log 2>&1 || status=1
	result "streams are run and counted: $name" $status
done
[ "$failed" -ne 0 ] || tests/rtl/coverage.py $dir/*.dat || failed=1
exit "$failed"
