#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh: prove properties of parts of the RTL by yosys-smtbmc with z3: each NAME.sv says
# what of. For each, a change of the RTL is made that must be found
set -eu
cd "$(dirname "$0")/../../.."
# shellcheck source=tests/tap.sh
. tests/tap.sh

if ! command -v yosys-smtbmc > /dev/null || ! command -v z3 > /dev/null; then
	skip "formal" "no yosys or z3 (make rtl installs them)"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2034	# tap.sh shows it
tap_log=$work/log

# The RTL is a copy, in which a change can be made.
cp -r card/rtl/core "$work/core"

# prove NAME TOP DEPTH HOW MODULES: no state within DEPTH clocks of the first one breaks an assertion;
# unless HOW is bounded, but inductive, none that follows DEPTH states which keep them either
prove() {
	name=$1 top=$2 depth=$3 how=$4
	shift 4
	yosys -q -p "read_verilog -sv -formal $work/core/vta_isa_pkg.sv \
		$(printf "$work/core/%s.sv " "$@") tests/rtl/formal/$name.sv; \
		prep -top $top; flatten; memory_map; opt -full; dffunmap; \
		write_smt2 -wires $work/$name.smt2" > "$work/log" 2>&1 &&
	yosys-smtbmc -s z3 -t "$depth" "$work/$name.smt2" > "$work/log" 2>&1 &&
	{ [ "$how" = bounded ] || yosys-smtbmc -s z3 -i -t "$depth" "$work/$name.smt2" > "$work/log" 2>&1; }
}

# refute FILE SED NAME TOP DEPTH HOW MODULES: with a change, the assertions do not hold
refute() {
	file=$work/core/$1.sv
	cp "$file" "$work/kept"
	sed -i "$2" "$file"
	shift 2
	if cmp -s "$file" "$work/kept" || prove "$@"; then
		cp "$work/kept" "$file"
		return 1
	fi
	cp "$work/kept" "$file"
}

tokens='tokens tokens 8 inductive vta_ram vta_fifo vta_tokens'
sequence='sequence sequence_of 20 bounded vta_sequence'

# shellcheck disable=SC2086	# lists of words
check() {
	status=0; prove $2 || status=1
	result "$1" $status
	status=0; refute "$3" "$4" $2 || status=1
	result "$1: a change of $3 is found" $status
}

check "tokens: none is lost or invented" "$tokens" vta_fifo 's/push & ~direct/push/'
check "sequence: nothing starts after a fault" "$sequence" vta_sequence \
	's/judged & ~outside & ~over/judged \& ~over/'
exit $failed
