#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The fault matrix in a VM. The program matrix prints the results, as KTAP; report.py leaves the
# table in OUT as matrix.txt and matrix.html.
#
#   tests/matrix/run.sh VTA.KO OUT [ARGUMENTS OF MATRIX]
#
# Parts of it, by -e and -o, want an OUT each, and report.py makes one table of their logs.
set -euo pipefail

if [ $# -lt 2 ] || [ ! -f "$1" ]; then
	sed -n '7p' "$0" | sed 's/^# *//' >&2
	exit 2
fi
here=$(dirname "$0")
module=$1 out=$2
shift 2
mkdir -p "$out"
status=0
"$here/../in-vm" -t 1800 "$here/guest.sh" "$module" "$@" | tee "$out/matrix.log" || status=1
"$here/report.py" "$out" "$out/matrix.log"
exit "$status"
