#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vtadev.torch with the PyTorch of Debian's testing release, in the zoo's root, on the device "soft".
# Prints TAP. SKIPs if the root is not there: make check-zoo makes it (1.9 GiB).
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
[ -e "$zoo/root/usr/bin/python3" ] || skip "no root of Debian testing with PyTorch: make check-zoo makes it"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-torch.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cp -r build/python/vtadev "$dir"
cp -P build/lib/*.so* tests/zoo/test_torch.py tests/python/tap.py "$dir"
# The root lacks libraries that the extension and "soft" need.
for library in libprotobuf-c.so.1 libjson-c.so.5; do
	[ -e "$zoo/root/usr/lib/$(uname -m)-linux-gnu/$library" ] ||
		cp -L "/usr/lib/$(uname -m)-linux-gnu/$library" "$dir"
done
zoo_run "$dir" env LD_LIBRARY_PATH=/mnt VTADEV_PLUGINS=/mnt VTADEV_DEVICE=soft PYTHONPATH=/mnt \
	PYTHONDONTWRITEBYTECODE=1 python3 /mnt/tap.py test_torch
