#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2016,SC2317 # the guest's shell, and functions that check calls
#
# signing.sh - sign the module as in docs/install.md, and load it on the host's kernel in a VM that
# asks for known signatures: its messages are the documented ones. Prints TAP. Enrolling a key takes
# a machine's firmware, which the VM does not have.
#
#   tests/kernels/signing.sh VTA.KO
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
[ $# -eq 1 ] || { sed -n '9s/^# *//p' "$0" >&2; exit 2; }
vm=$top/tools/vm/vm
"$top/tools/vm/deps.sh" need openssl kmod
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-signing.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
show() {
	[ ! -e "$dir/log" ] || cat "$dir/log"
}

# load_both OPTION: loads both modules on a kernel with that option
load_both() {
	"$vm" run --append "$1" --cards 0 --file "$dir/unsigned.ko:/lib/unsigned.ko" \
		--file "$dir/vta.ko:/lib/vta.ko" -- sh -c '
			for name in unsigned vta; do
				insmod /lib/$name.ko && rmmod vta
				echo "$name: $?"
			done
			dmesg | grep -iE "rejected|restricted|verification failed|unavailable key"' \
		>"$dir/log" 2>&1 || true
}

printed() {
	grep -qE "$1" "$dir/log"
}

is_signed_by() {
	[ "$(modinfo -F signer "$1")" = "$2" ]
}

cp "$1" "$dir/unsigned.ko"
cp "$1" "$dir/vta.ko"
sign=$("$vm" kdir)/scripts/sign-file
cd "$dir"

echo "TAP version 13"
echo "1..7"
openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=Modules of this machine/" \
	-keyout MOK.priv -outform DER -out MOK.der 2>/dev/null
"$sign" sha256 MOK.priv MOK.der vta.ko
check "the build does not sign" is_signed_by unsigned.ko ""
check "modinfo shows the signer" is_signed_by vta.ko "Modules of this machine"

load_both module.sig_enforce=1
check "with module.sig_enforce=1: an unsigned module is refused" printed '^unsigned: [1-9]'
check "the message is the one in docs/install.md" \
	printed 'Loading of unsigned module is rejected'
check "a signature by a key that is not enrolled is refused, as documented" \
	printed 'Loading of module with unavailable key is rejected'

load_both lockdown=integrity
check "locked down, as by Secure Boot: refused, as documented" \
	printed 'unsigned module loading is restricted; see man kernel_lockdown.7'

load_both module.sig_enforce=0
check "where signatures are not asked for both are loaded" \
	eval "printed '^unsigned: 0' && printed '^vta: 0'"
exit "$failed"
