#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# route.sh NETLIST.json LOG [OPTION...]: place and route a netlist of yosys's synth_ecp5 on an
# LFE5UM5G-85F by nextpnr-ecp5, in a root of Debian 13, and print the frequency in MHz that its
# slowest path allows. Ports are not bound to pins, since they are those to the card around the core,
# or to a PCIe core. With the OPTION --no-route the frequency is the estimate after placing.
#
# The root is made once, in $VTA_CACHE/rtl. Exits with 77 and prints a reason if it cannot be made.
set -euo pipefail

netlist=$(realpath "$1") log=$(realpath "$2")
shift 2
top=$(realpath "$(dirname "$0")/../..")
here=$top/tools/vm
# shellcheck source=tools/vm/common.sh
. "$here/common.sh"
# shellcheck source=tools/vm/root.sh
. "$here/root.sh"

# make_root DIR
# shellcheck disable=SC2317 # called by cached
make_root() {
	root_make "$1" trixie '
		export DEBIAN_FRONTEND=noninteractive
		apt-get -q -y install nextpnr-ecp5'
}

if ! (root_need && cached rtl/nextpnr "root of Debian 13 with nextpnr-ecp5" make_root) 2>"$log"; then
	echo "no root of Debian 13: $(grep -m 1 'mmdebstrap: ' "$log" || tail -n 1 "$log")"
	exit 77
fi
# shellcheck disable=SC2154 # the cache and chroot_run are tools/vm's
"${chroot_run[@]}" "$cache/rtl/nextpnr" "$(dirname "$netlist")" nextpnr-ecp5 --um5g-85k --speed 8 \
	--package CABGA756 --out-of-context --freq 100 --timing-allow-fail --seed 1 "$@" \
	--json "$(basename "$netlist")" >"$log" 2>&1 || {
	tail -n 5 "$log" >&2
	exit 1
}
# The last estimate is the routed one.
sed -n "s/.*Max frequency for clock *'[^']*': *\([0-9.]*\) MHz.*/\1/p" "$log" | tail -n 1
