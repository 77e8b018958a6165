#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest. Faults are not throttled, and resets not limited.
set -eu

insmod /lib/vta.ko max_user_faults=0 max_job_ms=20 max_resets=0
# shellcheck disable=SC2046 # names without spaces
./fuzz -o /out "$@" $(find corpus -type f)
rmmod vta
