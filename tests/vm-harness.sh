#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The tests of the VM harness, tools/vm/test.sh, which boots some 40 guests. They run again
# when the harness has changed, its kernel, its QEMU, the packages that it uses, or the
# emulated card that some of these guests have.
set -euo pipefail

cd "$(dirname "$0")/.."
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}
mapfile -t packages < <(tools/vm/vm packages)
mapfile -t files < <(git ls-files -co --exclude-standard tools/vm; echo build/tools/vta-emu
	ls "$(type -P qemu-system-x86_64)" "$cache/qemu/var/lib/dpkg/status" 2> /dev/null)
key=$(tools/vm/vm krelease; dpkg-query -W "${packages[@]}")
said=$(mktemp)
trap 'rm -f "$said"' EXIT
status=0
tests/once.py -t "$key" bash -c 'exec tools/vm/test.sh' -- "${files[@]}" > "$said" || status=$?
if [ ! -s "$said" ]; then
	echo 'TAP version 13'
	echo '1..1'
	echo 'ok 1 all passed, and nothing that they test has changed since'
fi
cat "$said"
exit "$status"
