#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# workers.sh SCHEDULER [CARD...] - a worker of Dask for each card of this machine, or those that
# are named. Each has one thread and one unit of the resource "vta", and a process that starts it
# again if it dies. All end with this script.
set -eu

scheduler=$1
shift
if [ $# -eq 0 ]; then
	for node in /dev/vta[0-9]*; do
		set -- "$@" "${node#/dev/}"
	done
fi
trap 'trap "" TERM; kill 0' INT TERM
for card in "$@"; do
	dask-worker "$scheduler" --name "$(hostname)/$card" --nthreads 1 --resources vta=1 \
		--no-dashboard &
done
wait
