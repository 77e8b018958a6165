#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh COMMAND...: run tests of the core's RTL, where Verilator is installed to build its models
set -eu

if ! command -v verilator > /dev/null; then
	echo "ok 1 rtl # SKIP no Verilator (make rtl installs it)"
	exit 0
fi
status=0
for program; do
	$program || status=1
done
exit $status
