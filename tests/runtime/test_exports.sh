#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libvta_driver as built: it has the calls of the headers and nothing else, under
# its own soname; and a program links to it by the C interface's names alone.
# Functions are called by check:
# shellcheck disable=SC2317
set -euo pipefail

lib=build/lib
headers=(libvtadev/driver/vta/driver.h libvtadev/driver/vta/driver_async.h)
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-exports.XXXXXX")
trap 'rm -rf "$dir"' EXIT
n=0
failed=0

# check NAME COMMAND...
check() {
	local name=$1

	shift
	n=$((n + 1))
	if "$@" > "$dir/log" 2>&1; then
		echo "ok $n $name"
	else
		failed=1
		echo "not ok $n $name"
		sed 's/^/# /' "$dir/log"
	fi
}

declared() {
	cc -E -P "${headers[@]/#/-include}" -x c /dev/null | grep -oE '\bVTA[A-Z][A-Za-z]+\(' |
		tr -d '(' | sort -u
}
shared() {
	nm -D --defined-only "$lib/libvta_driver.so" |
		awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort
}
static() {
	nm -g --defined-only "$lib/libvta_driver.a" | awk '$2 == "T" { print $3 }' | sort
}
dynamic() {
	readelf -d "$lib/libvta_driver.so" | grep -q "$1.*\[$2\]"
}

declared > "$dir/declared"
# The interface of VTA's runtimes, by heart.
cat > "$dir/client.c" <<'EOF'
#include <stddef.h>
#include <stdint.h>
void *VTADeviceAlloc(void);
void VTADeviceFree(void *);
int VTADeviceRun(void *, uint32_t, uint32_t, uint32_t);
void *VTAMemAlloc(size_t, int);
void VTAMemFree(void *);
uint32_t VTAMemGetPhyAddr(void *);
void VTAMemCopyFromHost(void *, const void *, size_t);
void VTAMemCopyToHost(void *, const void *, size_t);
void VTAFlushCache(void *, uint32_t, int);
void VTAInvalidateCache(void *, uint32_t, int);
void VTAProgram(const char *);
int main(void)
{
	void *mem = VTAMemAlloc(32, 1), *device = VTADeviceAlloc();

	VTAProgram("");
	VTAMemCopyFromHost(mem, mem, 0);
	VTAMemCopyToHost(mem, mem, 0);
	VTAFlushCache(mem, 0, 0);
	VTAInvalidateCache(mem, 0, 0);
	if (device)
		VTADeviceRun(device, VTAMemGetPhyAddr(mem), 0, 0);
	VTADeviceFree(device);
	VTAMemFree(mem);
	return device ? 0 : 3;
}
EOF
# Without a card it ends by itself, and says why once for each of the two calls.
no_card() {
	local status=0

	VTADEV_DEVICE=/dev/null LD_LIBRARY_PATH=$lib "$dir/client" 2> "$dir/said" || status=$?
	[ "$status" -eq 3 ] && [ "$(grep -c '^vta_driver: .*not a VTA card' "$dir/said")" -eq 2 ]
}

echo "TAP version 13"
check "the shared library has the headers' calls" diff "$dir/declared" <(shared)
check "the static library has the same" diff "$dir/declared" <(static)
check "it has its own soname" dynamic SONAME libvta_driver.so.0
check "it uses libvtadev" dynamic NEEDED libvtadev.so.0
check "a client links" cc -Wall -Werror -o "$dir/client" "$dir/client.c" -L"$lib" -lvta_driver \
	-Wl,-rpath-link,"$lib"
check "without a card it says so, and nothing crashes" no_card
echo "1..$n"
exit "$failed"
