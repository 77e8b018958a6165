# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# verilate.sh: sourced; compiles a top module and what drives it to a shared object, by Verilator. It
# is kept in the cache (${VTA_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vta-pcie}/rtl) by the content of all
# that it is made from, so it is compiled once. RTL_EXTRA and RTL_COVERAGE are those of model.sh.

# verilate TOP DRIVER.cpp TO: of ${sources[@]}, with ${parameters[@]}, ${macros[@]} and the driver's
# ${headers[@]}
verilate() {
	local module=$1 driver=$2 to=$3 cache hash work root kind counts=(--x-initial unique)
	# A bit that begins with a random value has not toggled.
	[ -z "${RTL_COVERAGE-}" ] || counts=(--x-initial 0)
	for kind in ${RTL_COVERAGE-}; do
		counts+=("--coverage-$kind")
		# Wider signals would make a model of 75 MB of C++.
		[ "$kind" != toggle ] || counts+=(--coverage-max-width 16)
	done
	cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/rtl
	hash=$({ cat "${sources[@]}" "$driver" ${RTL_EXTRA:+"$RTL_EXTRA"} "${headers[@]}" "$0" \
			"$top/card/rtl/verilate.sh"
		echo "$module" "${parameters[@]}" "${RTL_COVERAGE-}" "${RTL_OPT-}"
		verilator --version; ${CXX:-g++} --version; } | sha256sum | cut -c 1-32)

	mkdir -p "$(dirname "$to")" "$cache"
	if [ ! -e "$cache/$hash.so" ]; then
		work=$(mktemp -d "$cache/work.XXXXXX")
		# shellcheck disable=SC2064	# the directory of now
		trap "rm -rf '$work'" EXIT
		{
			verilator --cc --top-module "$module" --Mdir "$work" --prefix "V$module" -O3 \
				--x-assign fast --noassert -Wno-fatal -Wno-lint --output-split 8000 \
				"${counts[@]}" "${parameters[@]}" "${sources[@]}"
			make -j 2 -C "$work" -f "V$module.mk" -s OPT_FAST="${RTL_OPT:--O2}" OPT_SLOW="${RTL_OPT:--O1}" \
				OPT_GLOBAL=-O2 CXX="$(command -v ccache || :) ${CXX:-g++}" \
				USER_CPPFLAGS=-fPIC "V${module}__ALL.a" verilated.o \
				verilated_threads.o ${RTL_COVERAGE:+verilated_cov.o}
			root=$(sed -n 's/^VERILATOR_ROOT *= *//p' "$work/V$module.mk")
			${CXX:-g++} -std=gnu++17 -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra \
				-I"$work" -isystem "$root/include" -isystem "$root/include/vltstd" \
				-I"$top/card" -I"$top/uapi" -I"$top/contract" "${macros[@]}" \
				${RTL_COVERAGE:+-DVM_COVERAGE=1} -o "$work/model.so" "$driver" \
				${RTL_EXTRA:+"$RTL_EXTRA"} "$work/V${module}__ALL.a" \
				"$work"/verilated*.o -pthread
		} >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
		mv "$work/model.so" "$cache/$hash.so"
	fi
	cmp -s "$cache/$hash.so" "$to" || cp "$cache/$hash.so" "$to"
}
