// SPDX-License-Identifier: GPL-2.0-only
/*
 * The public headers in a program of the C standard alone, which has no <endian.h>
 * functions: compiling and linking it is most of the test
 */
#include <vtadev.h>
#include <vtadev_pipeline.h>
#include <vtadev_bench.h>
#include <vtadev_pool.h>
#include <vtaops.h>
#include <vtaprog.h>
#include <vta/driver.h>
#include <vta/driver_async.h>
#include <vta/driver_counters.h>

#include <stdio.h>
#include <string.h>

/* Bytes as hardware.md has them, whatever this machine's order is. */
static const unsigned char signal_bytes[sizeof(struct vta_desc)] = {
	[0x00] = 0x04, 0x01, 0x00, 0x00, 0x78, 0x56, 0x34, 0x12,
	[0x10] = 0xf0, 0xde, 0xbc, 0x0a,
	[0x18] = 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
};

static int check(int number, const char *name, int right)
{
	printf("%sok %d %s\n", right ? "" : "not ", number, name);
	return !right;
}

int main(void)
{
	struct vta_desc desc = vtadev_desc_signal(0x0abcdef0, 0x0123456789abcdef);
	int failed;

	vtadev_desc_stamp(&desc, 0x12345678);
	printf("1..2\n");
	failed = check(1, "the bytes of a SIGNAL",
		       !memcmp(&desc, signal_bytes, sizeof(desc)));
	failed |= check(2, "headers and library are of one version",
			!strcmp(vtadev_version(), VTADEV_VERSION));
	return failed;
}
