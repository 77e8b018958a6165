#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh: the RTL without a warning of Verilator's -Wall, of the core for several shapes; and by yosys
# without latches, combinational loops and multiple drivers, where that is installed
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tests/tap.sh
. tests/tap.sh

sources="card/rtl/core/vta_isa_pkg.sv $(find card/rtl/core -name '*.sv' ! -name vta_isa_pkg.sv | sort)"
parts=$(find card/rtl/card -name '*.sv' ! -name '*_pkg.sv' | sort)
card="card/rtl/core/vta_isa_pkg.sv card/rtl/card/vta_card_pkg.sv $parts
	card/rtl/core/vta_ram.sv card/rtl/core/vta_fifo.sv"
copier="$card tests/rtl/copier.sv"
whole="$sources card/rtl/card/vta_card_pkg.sv $parts"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2034	# tap.sh shows it
tap_log=$log

# lint_of TOP SOURCES OPTION...: the packages have numbers that no module needs, and a decoder has
# outputs that one of its users does not.
lint_of() {
	top=$1 files=$2
	shift 2
	# shellcheck disable=SC2086
	verilator --lint-only -Wall -Wno-UNUSEDPARAM -Wno-PINCONNECTEMPTY --top-module "$top" \
		"$@" $files > "$log" 2>&1
}

lint() {
	lint_of vta_core "$sources" "$@"
}

# synthesize TOP SOURCES
synthesize() {
	yosys -q -p "read_verilog -sv $(echo "$2" | tr '\n' ' '); hierarchy -check -top $1; \
		proc; select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr; check -assert" \
		> "$log" 2>&1 && ! [ -s "$log" ]
}

# Parameters that break a rule are refused at elaboration.
refuse() {
	! lint "$1" && grep -q "USERERROR.*$2" "$log"
}

if command -v verilator > /dev/null; then
	status=0; lint || status=1
	result "verilator -Wall: default" $status
	status=0; lint -GLOG_LANES=2 -GLOG_TOKENS=16 -GLOG_WAITING=16 || status=1
	result "verilator -Wall: 4 lanes, deep queues" $status
	status=0; lint -GLOG_BATCH=1 -GLOG_BLOCK=5 -GLOG_LANES=4 -GLOG_UOP_BUFF_SIZE=14 || status=1
	result "verilator -Wall: 2x32x32, 16 lanes" $status
	status=0; lint -GLOG_BLOCK=2 -GLOG_LANES=2 -GLOG_INP_WIDTH=2 -GLOG_WGT_WIDTH=2 \
		-GLOG_UOP_BUFF_SIZE=10 -GLOG_INP_BUFF_SIZE=13 -GLOG_WGT_BUFF_SIZE=14 \
		-GLOG_ACC_BUFF_SIZE=12 || status=1
	result "verilator -Wall: 1x4x4 of 4 bits" $status
	status=0; lint_of copier "$copier" || status=1
	result "verilator -Wall: copies" $status
	status=0; lint_of copier "$copier" -GLOG_MEM=0 -GLOG_PAGES=6 -GLOG_TAGS=6 || status=1
	result "verilator -Wall: copies without card memory" $status
	status=0; lint_of vta_descriptor "$card" || status=1
	result "verilator -Wall: descriptors" $status
	for shape in "16 16" "1 1" "256 256"; do
		status=0; lint_of vta_arbiter "$card" "-GQUEUES=${shape% *}" "-GGROUPS=${shape#* }" || status=1
		result "verilator -Wall: scheduling, $shape" $status
	done
	for shape in "16 16" "8 4" "1 1" "256 256"; do
		status=0; lint_of vta_card "$whole" "-GQUEUES=${shape% *}" "-GCONTEXTS=${shape#* }" || status=1
		result "verilator -Wall: the card, $shape" $status
	done
	status=0; lint_of vta_card "$whole" -GLOG_MEM=0 || status=1
	result "verilator -Wall: the card without memory" $status
	status=0; refuse -GLOG_LANES=5 LOG_LANES || status=1
	result "more lanes than a block are refused" $status
	status=0; refuse -GLOG_ACC_BUFF_SIZE=19 fields || status=1
	result "fields that do not fit are refused" $status
else
	skip "verilator -Wall" "no Verilator (make rtl installs it)"
fi
if command -v yosys > /dev/null; then
	status=0; synthesize vta_core "$sources" || status=1
	result "yosys: no latches, loops or multiple drivers" $status
	status=0; synthesize copier "$copier" || status=1
	result "yosys: none in copies" $status
	status=0; synthesize vta_arbiter "$card" || status=1
	result "yosys: none in scheduling" $status
	status=0; synthesize vta_card "$whole" || status=1
	result "yosys: none in the card" $status
else
	skip "yosys" "no yosys (make rtl installs it)"
fi
exit $failed
