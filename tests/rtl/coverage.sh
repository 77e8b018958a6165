#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh [KIND...]: run random streams on a model of the smallest configuration that counts, and
# judge the counts (coverage.py). A KIND is line (the default) or toggle, whose model takes a
# processor many minutes to compile
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
status=0
RTL_COVERAGE=${*:-line} RTL_OPT=-O1 card/rtl/model.sh tests/emu/configs/tiny.json $dir > $dir/log 2>&1 &&
	VTA_RTL_DIR=$dir VTA_RTL_COVERAGE=$dir/tiny VTA_RTL_ONLY=tiny VTA_STREAMS=45 \
		build/tests/rtl/test_rtl_streams > $dir/log 2>&1 || status=1
result "streams are run and counted" $status
[ $status -ne 0 ] || tests/rtl/coverage.py $dir/*.dat || failed=1
exit "$failed"
