#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# card.sh QUEUES CONTEXTS LOG_MEM DIR: build the simulation of the card in RTL (sim.h) of a shape into
# DIR, under the name that card/rtl/card.c looks for; prints the name. LOG_MEM 0 is a card without
# memory. The core has TVM's default configuration. It is compiled once (verilate.sh).
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=card/rtl/verilate.sh
. "$top/card/rtl/verilate.sh"
queues=$1 contexts=$2 log_mem=$3 dir=$4

sources=("$top"/card/rtl/core/vta_isa_pkg.sv "$top"/card/rtl/card/vta_card_pkg.sv)
for source in "$top"/card/rtl/{core,card}/*.sv; do
	[[ $source = *_pkg.sv ]] || sources+=("$source")
done
# As many lanes as simulate fast, and the deepest queues.
# shellcheck disable=SC2034	# verilate reads these
parameters=(-GQUEUES="$queues" -GCONTEXTS="$contexts" -GLOG_MEM="$log_mem"
	-GLOG_LANES=2 -GLOG_TOKENS=16 -GLOG_WAITING=16)
# shellcheck disable=SC2034
macros=() headers=("$top"/card/rtl/sim.h "$top"/contract/vta_regs.h)

file=$dir/card-$queues-$contexts-$log_mem.so
verilate vta_card "$top/card/rtl/sim.cpp" "$file"
echo "$file"
