#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The operators and program images through the driver, in a VM: on TVM's default
# core, on one with a batch and small buffers, and on one with 4 bits.
#
#   tests/ops/run.sh VTA.KO
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-ops.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# config FILE WIDTHS BATCH BLOCK UOP INP WGT ACC
config() {
	cat >"$1" <<-EOT
		{ "TARGET": "sim", "HW_VER": "0.0.2",
		  "LOG_INP_WIDTH": $2, "LOG_WGT_WIDTH": $2, "LOG_ACC_WIDTH": 5,
		  "LOG_BATCH": $3, "LOG_BLOCK": $4,
		  "LOG_UOP_BUFF_SIZE": $5, "LOG_INP_BUFF_SIZE": $6,
		  "LOG_WGT_BUFF_SIZE": $7, "LOG_ACC_BUFF_SIZE": $8 }
	EOT
}
config "$dir/batch.json" 3 1 3 12 13 14 15
config "$dir/int4.json" 2 0 5 13 14 17 16
tests/ops/files.sh "$dir"

tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --cards 3 \
	--emu-arg-1 --config="$dir/batch.json" --emu-arg-1 --order=random \
	--emu-arg-2 --config="$dir/int4.json" --emu-arg-2 --order=greedy \
	--timeout 400 --file "$module:/lib/vta.ko" --file build/tests/ops/on_card:/bin/on_card \
	--file build/tests/vtac/emit/mixed:/bin/mixed \
	--file build/tools/vtactl:/bin/vtactl --file "$dir:/data" \
	--file tests/ops/images.sh:/lib/images.sh -- tests/ops/guest.sh
