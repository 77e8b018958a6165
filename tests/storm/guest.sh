#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The card is taken away and brought back while processes compute, in the guest. Prints TAP.
#
#   guest.sh [ARGUMENTS OF STORM]
#
# vm: --emu-arg --mem=16M --append suspend.pm_test_delay=0
# vm: --file build/tests/storm/storm:/bin/storm
set -eu

insmod /lib/vta.ko max_resets=0
storm "$@"
rmmod vta
