#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The example "stream" and the library's traces on a device in the process, without a VM:
# results, arguments and traces. run.sh measures how much copies overlap, in modelled time.
# Prints TAP.
#
#   tests/stream/soft.sh [DEVICE]
set -u

cd "$(dirname "$0")/../.." || exit 1
top=$PWD
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-stream.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export VTADEV_PLUGINS="$top/build/lib" VTADEV_DEVICE="${1:-soft}"
PATH=$top/build/examples/stream:$top/build/tests/stream:$PATH
cd "$dir" || exit 1
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
# shellcheck source=tests/stream/library.sh
. "$top/tests/stream/library.sh"

echo "TAP version 13"
for layer in dense head add; do
	stream -n 16 -l $layer > out 2>&1
	check "$layer: exact" says 'exact: 16 of 16 '
done
check_streams
check_traces
echo "1..$n"
exit $failed
