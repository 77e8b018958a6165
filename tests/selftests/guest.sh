#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In the guest: load the module and run tests by the kselftest runner, which
# lives in the directory above.
#
#   guest.sh TEST | TEST.VARIANT=ARGUMENT | TEST=ARGUMENT ...
#
# A test with a variant is run under that name.
set -eu

top=$(realpath "$(dirname "$0")/..")
cd "$top/vta"

: >"$top/kselftest-list.txt"
for spec; do
	name=${spec%%=*}
	case $spec in
	*=*)
		[ -e "$name" ] || ln -s "${name%%.*}" "$name"
		variable=$(echo "$name" | tr -c 'a-zA-Z0-9\n' _ | tr '[:lower:]' '[:upper:]')
		export "KSELFTEST_${variable}_ARGS=${spec#*=}"
		;;
	esac
	echo "vta:$name" >>"$top/kselftest-list.txt"
done

insmod /lib/vta.ko
echo "# vta is loaded"
"$top/run_kselftest.sh" | tee /tmp/result
# The module is not in use any more, and no resource of a card is left.
rmmod vta
echo "# vta is unloaded"
grep -q '^ok' /tmp/result
if grep -q '^not ok' /tmp/result; then exit 1; fi
