#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# report.sh [SHAPE...]: synthesize the core by yosys, for Lattice ECP5 and Xilinx 7, and print a table
# of what it takes; then route 1x8x8 on an ECP5, and print its frequency. A SHAPE is one of 1x8x8,
# 1x16x16 and 1x32x32 (all of them). Netlists, logs and statistics go to build/rtl-report.
#
# report.sh cards [BOARD...]: the same table of the whole card, each for one board: lfe5um5g-85f,
# xc7a200t and xc7k325t (all of them); then the frequency of the first after placing.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/rtl-report
mkdir -p "$out"

top_module=vta_core
sources=("$top"/card/rtl/core/vta_isa_pkg.sv)
add_sources() {
	for source in "$1"/*.sv; do
		[[ $source = *_pkg.sv ]] || sources+=("$source")
	done
}

# shape NAME: its parameters; buffers of a depth that a micro-op can index
shape() {
	case $1 in
	1x8x8)   echo LOG_BLOCK 3 LOG_LANES 3 LOG_UOP_BUFF_SIZE 13 LOG_INP_BUFF_SIZE 13 \
			LOG_WGT_BUFF_SIZE 15 LOG_ACC_BUFF_SIZE 15 ;;
	1x16x16) echo LOG_BLOCK 4 LOG_LANES 4 ;;
	1x32x32) echo LOG_BLOCK 5 LOG_LANES 5 LOG_UOP_BUFF_SIZE 14 ;;
	# Whole cards: a small one without memory, and TVM's default configuration with more queues
	lfe5um5g-85f) echo QUEUES 8 CONTEXTS 8 LOG_MEM 0 LOG_TAGS 4 "$(shape 1x8x8)" ;;
	xc7a200t) echo QUEUES 16 CONTEXTS 16 LOG_MEM 29 ;;
	xc7k325t) echo QUEUES 64 CONTEXTS 64 LOG_MEM 30 ;;
	*)       echo "report.sh: no shape $1" >&2; exit 2 ;;
	esac
}

# synthesize NAME RESULT COMMAND: the netlist RESULT.json, and statistics of it
synthesize() {
	local chparam=() words
	read -ra words <<<"$(shape "$1")"
	for ((i = 0; i < ${#words[@]}; i += 2)); do
		chparam+=(-chparam "${words[i]}" "${words[i + 1]}")
	done
	# Lanes are alike, and are synthesized once. The last step, which takes long to give cells
	# names, is left out.
	# Memories of narrower words than a block RAM's warn of each port.
	yosys -q -w 'Resizing cell port' -l "$out/$1-$2.log" -p "read_verilog -sv ${sources[*]};
		hierarchy -check -top $top_module ${chparam[*]};
		setattr -mod -set keep_hierarchy 1 *vta_acc *vta_dot;
		$3 -top $top_module -run begin:check;
		setattr -mod -unset keep_hierarchy *; flatten; opt_clean; blackbox =A:whitebox;
		hierarchy -check; tee -q -o $out/$1-$2.stat stat;
		write_json $out/$1-$2.json" >/dev/null
}

# cells FILE PATTERN: the number of cells whose type matches
cells() {
	awk -v pattern="^($2)\$" '$1 ~ pattern && $2 ~ /^[0-9]+$/ { sum += $2 } END { print sum + 0 }' "$1"
}

# memory_luts FILE: LUTs that are memory: four of a cell, but one of the simple ones of 64 bits
memory_luts() {
	echo $((4 * $(cells "$1" 'RAM(32M|64M|256X1D|256X1S)') + 2 * $(cells "$1" 'RAM(64X1D|128X1S)') +
		$(cells "$1" 'RAM(32X1S|64X1S)')))
}

# clock NAME WORD [OPTION...]: the frequency of a netlist on an ECP5, with options of nextpnr-ecp5
clock() {
	local name=$1 word=$2 status=0 mhz
	shift 2
	mhz=$("$top/card/rtl/route.sh" "$out/$name-ecp5.json" "$out/$name-$word.log" "$@") || status=$?
	case $status in
	0)	echo "$name on an LFE5UM5G-85F: $mhz MHz $word" ;;
	77)	echo "SKIP $name $word: $mhz" ;;
	*)	exit $status ;;
	esac
}

# The whole card, of each device's shape
if [ "${1-}" = cards ]; then
	shift
	[ $# -gt 0 ] || set -- lfe5um5g-85f xc7a200t xc7k325t
	top_module=vta_card
	add_sources "$top/card/rtl/core"
	sources+=("$top"/card/rtl/card/vta_card_pkg.sv)
	add_sources "$top/card/rtl/card"
	echo '| device | LUT | flip-flops | multipliers | block RAM |'
	echo '| --- | --- | --- | --- | --- |'
	for name; do
		case $name in
		lfe*)	synthesize "$name" ecp5 'synth_ecp5 -abc9 -nowidelut'
			e=$out/$name-ecp5.stat
			echo "| $name | $(cells "$e" LUT4) | $(cells "$e" TRELLIS_FF) |" \
				"$(cells "$e" MULT18X18D) MULT18 | $(cells "$e" 'DP16KD|PDPW16KD') EBR |" ;;
		*)	synthesize "$name" xilinx 'synth_xilinx -flatten'
			x=$out/$name-xilinx.stat
			echo "| $name | $(cells "$x" 'LUT[1-6]') and $(memory_luts "$x") as memory |" \
				"$(cells "$x" 'FD[A-Z]*') | $(cells "$x" DSP48E1) DSP48 |" \
				"$(cells "$x" RAMB36E1) RAMB36, $(cells "$x" RAMB18E1) RAMB18 |" ;;
		esac
	done
	for name; do
		case $name in lfe*) clock "$name" placed --no-route ;; esac
	done
	exit 0
fi

add_sources "$top/card/rtl/core"
[ $# -gt 0 ] || set -- 1x8x8 1x16x16 1x32x32
echo '| shape | ECP5 LUT4 | flip-flops | MULT18 | EBR | Xilinx 7 LUT | flip-flops | DSP48 | RAMB36 + RAMB18 |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for name; do
	# Multiplexers of 5 to 7 inputs of one LUT each would take twice as many LUT4.
	synthesize "$name" ecp5 'synth_ecp5 -abc9 -nowidelut'
	synthesize "$name" xilinx 'synth_xilinx -flatten'
	e=$out/$name-ecp5.stat x=$out/$name-xilinx.stat
	echo "| $name | $(cells "$e" LUT4) | $(cells "$e" TRELLIS_FF) | $(cells "$e" MULT18X18D) |" \
		"$(cells "$e" 'DP16KD|PDPW16KD') | $(cells "$x" 'LUT[1-6]') | $(cells "$x" 'FD[A-Z]*') |" \
		"$(cells "$x" DSP48E1) | $(cells "$x" RAMB36E1) + $(cells "$x" RAMB18E1) |"
done
for name; do
	[ "$name" = 1x8x8 ] || continue
	clock "$name" routed
done
