#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The fault matrix, in the guest: every kind of fault of the card in every state of the driver.
# Prints KTAP.
#
#   guest.sh [ARGUMENTS OF MATRIX]
#
# vm: --emu-arg --mem=16M --append suspend.pm_test_delay=0
# vm: --file build/tests/matrix/matrix:/bin/matrix
set -eu

insmod /lib/vta.ko
matrix "$@"
rmmod vta
