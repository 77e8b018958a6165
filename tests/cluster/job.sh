#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# job.sh NAME: a job of the tests. Prints for each card if it can be opened, and the card that a
# program gets by default; then waits for /work/NAME.go.
for node in /dev/vta?; do
	if why=$( (: <>"$node") 2>&1); then
		echo "opens ${node#/dev/}"
	else
		echo "refused ${node#/dev/}: ${why##*: }"
	fi
done
hello
: >"/work/$1.runs"
until [ -e "/work/$1.go" ]; do sleep 0.3; done
