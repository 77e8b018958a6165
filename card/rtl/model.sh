#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# model.sh CONFIG.json DIR [LOG_LANES]: build the model of the core's RTL for a configuration into
# DIR, under the name that card/core/core_model.c looks for; prints the name. A model is kept in the
# cache (${VTA_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vta-pcie}/rtl) by the content of all that it is
# made from, so it is compiled once.
#
# For tests of the tests: RTL_CORE is another folder of the RTL, RTL_EXTRA a further source in C++,
# and with RTL_COVERAGE, which is line, toggle or both, the model writes a file of counts at its end
# (model.cpp).
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
config=$1 dir=$2 lanes=${3-}
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
counts=()
for kind in ${RTL_COVERAGE-}; do
	counts+=("--coverage-$kind")
done
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

cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/rtl
core=${RTL_CORE:-$top/card/rtl/core}
sources=("$core"/vta_isa_pkg.sv)
for source in "$core"/*.sv; do
	[[ $source = */vta_isa_pkg.sv ]] || sources+=("$source")
done
headers=("$top"/card/core/core.h "$top"/card/core/core_model.h "$top"/uapi/vta.h)
hash=$({ cat "${sources[@]}" "$top/card/rtl/model.cpp" ${RTL_EXTRA:+"$RTL_EXTRA"} "${headers[@]}" "$0"
	echo "${parameters[@]}" "${RTL_COVERAGE-}"; verilator --version; ${CXX:-g++} --version; } |
	sha256sum | cut -c 1-32)

mkdir -p "$dir" "$cache"
if [ ! -e "$cache/$hash.so" ]; then
	work=$(mktemp -d "$cache/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	{
		verilator --cc --top-module vta_core --Mdir "$work" --prefix Vvta_core -O3 \
			--x-assign fast --x-initial unique --noassert -Wno-fatal -Wno-lint \
			"${counts[@]}" "${parameters[@]}" "${sources[@]}"
		make -C "$work" -f Vvta_core.mk -s OPT_FAST="${RTL_OPT:--O2}" OPT_SLOW=-O1 OPT_GLOBAL=-O2 \
			CXX="$(command -v ccache || :) ${CXX:-g++}" \
			USER_CPPFLAGS=-fPIC Vvta_core__ALL.a verilated.o verilated_threads.o \
			${RTL_COVERAGE:+verilated_cov.o}
		root=$(sed -n 's/^VERILATOR_ROOT *= *//p' "$work/Vvta_core.mk")
		${CXX:-g++} -std=gnu++17 -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra \
			-I"$work" -isystem "$root/include" -isystem "$root/include/vltstd" \
			-I"$top/card" -I"$top/uapi" -I"$top/contract" "${macros[@]}" \
			${RTL_COVERAGE:+-DVM_COVERAGE=1} -o "$work/model.so" "$top/card/rtl/model.cpp" \
			${RTL_EXTRA:+"$RTL_EXTRA"} "$work/Vvta_core__ALL.a" \
			"$work"/verilated*.o -pthread
	} >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	mv "$work/model.so" "$cache/$hash.so"
fi
cmp -s "$cache/$hash.so" "$dir/$file" || cp "$cache/$hash.so" "$dir/$file"
echo "$dir/$file"
