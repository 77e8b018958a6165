// SPDX-License-Identifier: GPL-2.0-only
/*
 * frail.c - a device that is lost at its first run, and a table as small as can be
 *
 * "frail:N" has several cores, and memory for N (a digit) of them.
 */
#include <errno.h>
#include <stdatomic.h>

#include "vtadev_device.h"

#define MANY	1000

static atomic_int cores_left;

static int frail_list(unsigned int i, char *args, size_t size)
{
	(void)i;
	(void)args;
	(void)size;
	return -ENOENT;
}

static int frail_open(const char *args, struct vta_info *info, void **device, char *why,
		      size_t why_size)
{
	(void)why;
	(void)why_size;
	atomic_store(&cores_left, *args ? *args - '0' : MANY);
	*info = (struct vta_info) {
		.mem_size = 1 << 20, .clock_khz = 1000,
		.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_block = 4,
		.log_uop_buff_size = 12, .log_inp_buff_size = 12, .log_wgt_buff_size = 14,
		.log_acc_buff_size = 12, .cores = *args ? 9 : 1,
	};
	*device = info;
	return 0;
}

static void frail_close(void *device)
{
	(void)device;
}

static int frail_core_new(void *device, void **core)
{
	if (atomic_fetch_sub(&cores_left, 1) < 1) {
		atomic_fetch_add(&cores_left, 1);
		return -ENOMEM;
	}
	*core = device;
	return 0;
}

static void frail_core_free(void *device, void *core)
{
	(void)device;
	(void)core;
	atomic_fetch_add(&cores_left, 1);
}

static int frail_run(void *device, void *core, const struct vtadev_device_run *run,
		     struct vtadev_device_result *result)
{
	(void)device;
	(void)core;
	(void)run;
	(void)result;
	return -ENODEV;
}

const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION,
	.name = "frail",
	.about = "is lost at its first run",
	.list = frail_list,
	.open = frail_open,
	.close = frail_close,
	.core_new = frail_core_new,
	.core_free = frail_core_free,
	.run = frail_run,
};
