#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [NAME...]: prove properties of parts of the RTL by induction, with yosys's SAT solver: each
# NAME.sv says what of. For each, a change of the RTL is made that must break an assertion within
# some clocks of the first one
set -eu
cd "$(dirname "$0")/../../.."
# shellcheck source=tests/tap.sh
. tests/tap.sh

if ! command -v yosys > /dev/null; then
	skip "formal" "no yosys (make rtl installs it)"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2034	# tap.sh shows it
tap_log=$work/log

# The RTL is a copy, in which a change can be made.
cp -r card/rtl/core "$work/core"
cp card/rtl/card/*.sv "$work/core"
cp tests/rtl/formal/ram.sv "$work/core/ram.sv"

# solve NAME TOP MODULES OPTION...: look for states that break an assertion. A signal of a module
# that NAME.sv declares with hierconn is that one after flattening.
solve() {
	name=$1 top=$2 modules=$3
	shift 3
	# shellcheck disable=SC2086	# a list of words
	yosys -q -p "read_verilog -sv -formal $work/core/vta_isa_pkg.sv $work/core/vta_card_pkg.sv \
		$(printf "$work/core/%s.sv " $modules) tests/rtl/formal/rows.sv \
		tests/rtl/formal/$name.sv; \
		prep -top $top -flatten; memory_map; opt -full -purge; dffunmap; opt_clean -purge; \
		sat -prove-asserts -set-assumes $*" > "$work/log" 2>&1
}

# prove NAME TITLE TOP MODULES CHANGED SED CLOCKS: no state that is reached breaks an assertion; with
# the change of a module, one within some clocks does
prove() {
	name=$1 title=$2 top=$3 modules=$4 file=$work/core/$5.sv
	case " $wanted " in *" $name "*) ;; *) return 0 ;; esac
	status=0; solve "$name" "$top" "$modules" -tempinduct -maxsteps 8 -verify || status=1
	result "$name: $title" $status
	cp "$file" "$work/kept"
	sed -i "$6" "$file"
	status=0
	if cmp -s "$file" "$work/kept"; then
		echo "the change is none" > "$work/log"; status=1
	else
		solve "$name" "$top" "$modules" -tempinduct -tempinduct-baseonly -maxsteps "$7" \
			-falsify || status=1
	fi
	result "$name: a change of $5 is found" $status
	cp "$work/kept" "$file"
}

# bound NAME TITLE TOP MODULES CHANGED SED CLOCKS: the same of states within so many clocks of the first
# one, for what no induction of a few clocks shows
bound() {
	name=$1 title=$2 top=$3 modules=$4 file=$work/core/$5.sv
	case " $wanted " in *" $name "*) ;; *) return 0 ;; esac
	status=0; solve "$name" "$top" "$modules" -tempinduct -tempinduct-baseonly -maxsteps "$7" \
		|| status=1
	result "$name: $title, in $7 clocks" $status
	cp "$file" "$work/kept"
	sed -i "$6" "$file"
	status=0; solve "$name" "$top" "$modules" -tempinduct -tempinduct-baseonly -maxsteps "$7" \
		-falsify || status=1
	result "$name: a change of $5 is found" $status
	cp "$work/kept" "$file"
}

wanted=${*:-tokens sequence halt fetch load store scan bounds tags link order doorbell credits ready stale}
prove tokens "none is lost or invented" tokens "vta_ram vta_fifo vta_tokens" \
	vta_fifo 's/push & ~direct/push/' 12
prove sequence "nothing starts after a fault" sequence_of "vta_sequence" \
	vta_sequence 's/judged & ~outside & ~over/judged \& ~over/' 12
prove halt "no request after a fault" halt_of "vta_control vta_port" \
	vta_port 's/ & ~halt & ~reset/ \& ~reset/' 12
prove fetch "nothing is fetched between runs" fetch_of "vta_fetch" \
	vta_fetch 's/if (halt) left/if (1'"'"'b0) left/' 12
prove load "never beyond its rows" load_of "vta_load" \
	vta_load 's/address <= next_row;/address <= row_address;/' 12
prove store "never beyond its rows" store_of "vta_ram vta_fifo vta_store" \
	vta_store 's/row_words <= row_words - 24.d1/row_words <= row_words/' 16
prove scan "a loop that passes stays within its scratchpads" scan_of "vta_scan" \
	vta_scan 's/if (forget) known/if (1'"'"'b0) known/' 20
prove bounds "a loop that faults writes no accumulator" bounds \
	"vta_sequence vta_ram vta_alu vta_dot vta_acc vta_compute" \
	vta_compute 's/write_result <= write_middle & ~halt/write_result <= write_middle/' 22
prove tags "no tag is used twice" tags "vta_ram vta_reads" \
	vta_reads 's/if (~used\[n\])/if (~complete[n])/' 12
prove link "nothing begins while the bus is off" link "vta_link" \
	vta_link 's/(read | walk) & ~writing & on/(read | walk) \& ~writing/' 12
prove order "a number is written last" order "ram vta_front" \
	vta_front "s/if (step == 4'd8) begin/if (step == 4'd2) begin/" 22
# The change is found from a shorter clearing on, after which both queues' numbers are 0 as well.
prove doorbell "none is lost" doorbell_of "ram vta_queues" \
	vta_queues 's/ & ~acted & / \& /; s/if (&clear_at) clearing/if (clear_at[0]) clearing/' 16
prove credits "none leaves its range" credits_of "ram vta_arbiter" \
	vta_arbiter 's/value < most ?/1'"'"'b1 ?/' 12
prove ready "what a reset finds under way ends before READY" ready_of "vta_reset vta_link" \
	vta_reset 's/ & ~|taken & ~(bus_on & |asks)//' 8
bound stale "the TLB keeps nothing" stale "vta_ram vta_translate" \
	vta_translate 's/if (scanning) near_valid/if (1'"'"'b0) near_valid/' 16
exit $failed
