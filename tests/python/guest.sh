#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The Python package on the card, in the guest: children of a program that exit, drop, close or use
# what their parent has. The module must be removable afterwards. Prints TAP.
#
# host: export LD_LIBRARY_PATH=$PWD/build/lib PYTHONPATH=$PWD/build/python
# host: /usr/bin/python3 tests/python/standard.py "$dir/standard"
# vm: --file /usr/bin/python3:/usr/bin/python3 --file build/python/vtadev:/lib/python/vtadev
# vm: --file "$dir/standard:$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
# vm: --file tests/python/forks.py:/lib/python/forks.py
# vm: --file tests/python/images.py:/lib/python/images.py
set -u

# shellcheck source=tests/tap.sh
. /lib/tap.sh
tap_log=/tmp/log
echo "TAP version 13"
insmod /lib/vta.ko
check "children leave what their parent has" env PYTHONPATH=/lib/python python3 /lib/python/forks.py
check "no context is left" grep -q '^0$' /sys/class/vta/vta0/contexts_used
check "the module can go" rmmod vta
echo "1..$n"
exit "$failed"
