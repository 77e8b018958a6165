#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vtadev.torch with PyTorch on the device "soft": that of Debian's testing release, in the zoo's root,
# or with the argument trixie PyTorch 2.6 of Debian 13, in a root of its own. Prints TAP. SKIPs if the
# root cannot be made.
#
#   tests/zoo/torch.sh [trixie]
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/zoo/root.sh
. "$top/tests/zoo/root.sh"
cd "$top"
skip() {
	printf 'TAP version 13\nok 1 torch # SKIP %s\n1..1\n' "$*"
	exit 0
}
[ -e build/python/vtadev/_compiler.abi3.so ] || skip "no Python package with the compiler"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-torch.XXXXXX")
trap 'rm -rf "$dir"' EXIT
case ${1-} in
'')
	root=$zoo/root make=zoo_root
	;;
trixie)
	root=$zoo/trixie make=zoo_trixie_root
	;;
*)
	sed -n '8s/^# *//p' "$0" >&2
	exit 2
	;;
esac
("$make") 2>"$dir/log" || skip "no root with PyTorch: $(grep -m 1 'mmdebstrap: ' "$dir/log" || tail -n 1 "$dir/log")"
cp -r build/python/vtadev "$dir"
cp -P build/lib/*.so* tests/zoo/test_torch.py tests/zoo/networks.py tests/python/tap.py "$dir"
# The root lacks libraries that the extension and "soft" need.
for library in libprotobuf-c.so.1 libjson-c.so.5; do
	[ -e "$root/usr/lib/$(uname -m)-linux-gnu/$library" ] ||
		cp -L "/usr/lib/$(uname -m)-linux-gnu/$library" "$dir"
done
"${chroot_run[@]}" "$root" "$dir" env LD_LIBRARY_PATH=/mnt VTADEV_PLUGINS=/mnt VTADEV_DEVICE=soft PYTHONPATH=/mnt \
	PYTHONDONTWRITEBYTECODE=1 python3 /mnt/tap.py test_torch
