#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# libvta_driver, and the examples of docs/retargeting.md, in the VM on emulated cards.
#
#   tests/runtime/run.sh VTA.KO [PROGRAM...]
#
# PROGRAM is contract, kept, trouble, deviceapi_test, byoc_test or aot_test; all if
# none is given.
set -eu
cd "$(dirname "$0")/../.."
module=$1
shift
[ $# -gt 0 ] || set -- contract kept trouble deviceapi_test byoc_test aot_test

# The first card runs the core's modules in any order that the tokens allow, the third
# and fourth in the other two; the second has elements that are larger than a page.
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-runtime.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cat > "$dir/vta_config.json" <<'EOF'
{
  "TARGET": "sim", "HW_VER": "0.0.2",
  "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5,
  "LOG_BATCH": 0, "LOG_BLOCK": 7,
  "LOG_UOP_BUFF_SIZE": 15, "LOG_INP_BUFF_SIZE": 15,
  "LOG_WGT_BUFF_SIZE": 18, "LOG_ACC_BUFF_SIZE": 17
}
EOF
tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --cards 4 \
	--emu-arg-0 --order=random --emu-arg-1 --config="$dir/vta_config.json" \
	--emu-arg-2 --order=inorder --emu-arg-3 --order=greedy \
	--timeout 400 --file "$module":/lib/vta.ko \
	--file build/tests/runtime/contract:/bin/contract \
	--file build/tests/runtime/kept:/bin/kept \
	--file build/tests/runtime/trouble:/bin/trouble \
	--file build/examples/deviceapi/deviceapi_test:/bin/deviceapi_test \
	--file build/examples/byoc/byoc:/bin/byoc \
	--file tests/runtime/byoc_test.sh:/bin/byoc_test \
	--file build/examples/aot/aot:/bin/aot \
	--file examples/aot/scores.bin:/share/scores.bin \
	--file tests/runtime/aot_test.sh:/bin/aot_test \
	--file examples/digits/testset.bin:/share/testset.bin \
	-- tests/runtime/guest.sh "$@"
