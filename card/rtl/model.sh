#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# model.sh CONFIG.json DIR [LOG_LANES]: build the model of the core's RTL for a configuration into
# DIR, under the name that card/core/core_model.c looks for; prints the name. It is compiled once
# (verilate.sh).
#
# For tests of the tests: RTL_CORE is another folder of the RTL, RTL_EXTRA a further source in C++,
# and with RTL_COVERAGE, which is line, toggle or both, the model writes a file of counts at its end
# (model.cpp).
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
config=$1 dir=$2 lanes=${3-}
# shellcheck source=card/rtl/verilate.sh
. "$top/card/rtl/verilate.sh"
names="LOG_INP_WIDTH LOG_WGT_WIDTH LOG_ACC_WIDTH LOG_BATCH LOG_BLOCK LOG_UOP_BUFF_SIZE
	LOG_INP_BUFF_SIZE LOG_WGT_BUFF_SIZE LOG_ACC_BUFF_SIZE"

value() {
	sed -n "s/.*\"$1\"[[:space:]]*:[[:space:]]*\([0-9]*\).*/\1/p" "$config"
}

# As many lanes as simulate fast.
block=$(value LOG_BLOCK)
[ -n "$lanes" ] || lanes=$((block < 4 ? block : 4))
parameters=(-GLOG_LANES="$lanes")
macros=()
file=core
for name in $names; do
	parameters+=("-G$name=$(value "$name")")
	macros+=("-D$name=$(value "$name")")
	[ "$name" = LOG_ACC_WIDTH ] || file+=-$(value "$name")
done
for name in LOG_TOKENS LOG_WAITING; do
	depth=$(value $name)
	parameters+=("-G$name=${depth:-16}")
	macros+=("-D$name=${depth:-16}")
	file+=-${depth:-16}
done
file+=.so

core=${RTL_CORE:-$top/card/rtl/core}
sources=("$core"/vta_isa_pkg.sv)
for source in "$core"/*.sv; do
	[[ $source = */vta_isa_pkg.sv ]] || sources+=("$source")
done
# Read by verilate, like those above
# shellcheck disable=SC2034
headers=("$top"/card/core/core.h "$top"/card/core/core_model.h "$top"/uapi/vta.h)
verilate vta_core "$top/card/rtl/model.cpp" "$dir/$file"
echo "$dir/$file"
