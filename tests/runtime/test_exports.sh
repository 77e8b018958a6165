#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libvta_driver as built: it exports the calls of the headers and nothing else, under its
# own soname, and a program links to it by the C interface's names alone.
# Functions are called by check:
# shellcheck disable=SC2317
set -euo pipefail

lib=build/lib
headers=(libvtadev/tvm/vta/driver.h libvtadev/tvm/vta/driver_async.h
	libvtadev/tvm/vta/driver_counters.h)
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-exports.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log

declared() {
	cc -E -P -Iuapi -Ilibvtadev "${headers[@]/#/-include}" -x c /dev/null |
		grep -oE '\bVTA[A-Z][A-Za-z]+\(' | tr -d '(' | sort -u
}
shared() {
	nm -D --defined-only "$lib/libvta_driver.so" |
		awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort
}
static() {
	nm -g --defined-only "$lib/libvta_driver.a" | awk '$2 == "T" { print $3 }' | sort
}
dynamic() {
	grep -q "$1.*\[$2\]" <<<"$(readelf -d "$lib/libvta_driver.so")"
}

declared > "$dir/declared"
# The interface of VTA's runtimes, without the project's headers.
cat > "$dir/interface.h" <<'EOF'
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
EOF
cat > "$dir/client.c" <<'EOF'
#include "interface.h"
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
# C++ runtimes take types, constants and <stdlib.h> from the header, in this way. With
# interface.h, a call of another type does not compile.
cat > "$dir/runtime.cc" <<'EOF'
#include <vta/driver.h>
extern "C" {
#include "interface.h"
}
#include <type_traits>

static_assert(std::is_same<VTADeviceHandle, void *>::value, "handle");
static_assert(std::is_same<vta_phy_addr_t, uint32_t>::value, "address");
static_assert(VTA_CACHED == 1 && VTA_NOT_CACHED == 0, "caching");
static_assert(VTA_PAGE_BITS == 12 && VTA_PAGE_BYTES == 4096, "pages");
static_assert(VTA_MAX_XFER == EXPECTED_MAX_XFER, "transfers");

template <int kMaxBytes> struct Queue {
	Queue() : data(static_cast<char *>(VTAMemAlloc(kMaxBytes, VTA_CACHED))),
		phy(data ? VTAMemGetPhyAddr(data) : 0) {}
	~Queue() { VTAMemFree(data); }
	void Barrier(size_t offset, size_t size)
	{
		VTAFlushCache(data + offset, phy + offset, size);
		VTAInvalidateCache(data + offset, phy + offset, size);
	}
	char *data;
	vta_phy_addr_t phy;
};

int main()
{
	Queue<VTA_MAX_XFER> queue;
	VTADeviceHandle device = VTADeviceAlloc();

	if (!device)
		exit(3);
	queue.Barrier(16, 32);
	int timeout = VTADeviceRun(device, queue.phy, 0, 1 << 31);
	VTADeviceFree(device);
	return timeout;
}
EOF
runtime() {
	c++ -std=c++11 -Wall -Werror -Ilibvtadev/tvm "$@" -o "$dir/runtime" \
		"$dir/runtime.cc" -L"$lib" -lvta_driver -Wl,-rpath-link,"$lib"
}
# Without a card the program ends by itself, and all its calls report that once.
no_card() {
	local status=0

	VTADEV_DEVICE=/dev/null LD_LIBRARY_PATH=$lib "$1" 2> "$dir/said" || status=$?
	cat "$dir/said"
	[ "$status" -eq 3 ] && [ "$(grep -c '^vta_driver: .*not a VTA card' "$dir/said")" -eq 1 ]
}
pkg_config() {
	local version

	version=$(sed -n 's/^#define VTA_VERSION[[:space:]]*"\(.*\)"/\1/p' uapi/vta.h)
	export PKG_CONFIG_PATH=$lib/pkgconfig
	pkg-config --exists --print-errors "vta_driver = $version" &&
		grep -qw -- -lvta_driver <<<"$(pkg-config --libs vta_driver)"
}

echo "TAP version 13"
check "the shared library has the headers' calls" diff "$dir/declared" <(shared)
check "the static library has the same" diff "$dir/declared" <(static)
check "it has its own soname" dynamic SONAME libvta_driver.so.1
check "it uses libvtadev" dynamic NEEDED libvtadev.so.1
check "a client links" cc -Wall -Werror -o "$dir/client" "$dir/client.c" -L"$lib" -lvta_driver \
	-Wl,-rpath-link,"$lib"
check "a C++ runtime compiles and links" runtime -DEXPECTED_MAX_XFER=33554432
check "one with another VTA_MAX_XFER too" runtime -DVTA_MAX_XFER=2097152 \
	-DEXPECTED_MAX_XFER=2097152
check "without a card it says so, and nothing crashes" no_card "$dir/client"
check "neither does the runtime" no_card "$dir/runtime"
check "pkg-config knows it" pkg_config
echo "1..$n"
exit "$failed"
