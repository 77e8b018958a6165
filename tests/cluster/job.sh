#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# job.sh NAME: a job of the tests. Says for each card whether it can be opened, and which one a
# program gets that names none; then waits until /work/NAME.go is there.
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
