#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The demo: boot the VM with an emulated card, load the module, classify.
#
#   examples/digits/demo.sh VTA.KO [OPTION OF tools/vm/vm run]...
set -eu
cd "$(dirname "$0")/../.."
module=$1
shift
bar=
[ ! -t 1 ] || bar=-p
if tools/vm/vm run --cards 1 "$@" --file "$module":/lib/vta.ko \
	--file build/examples/digits/digits:/bin/digits \
	--file examples/digits/testset.bin:/share/testset.bin \
	-- sh -ec 'insmod /lib/vta.ko; digits '"$bar"' /share/testset.bin; rmmod vta'; then
	echo "demo: OK: the digits were classified on the emulated card through /dev/vta0"
else
	status=$?
	echo "demo: FAILED (exit status $status)" >&2
	exit "$status"
fi
