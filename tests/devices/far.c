// SPDX-License-Identifier: GPL-2.0-only
/*
 * far.c - soft with card memory that the CPU does not see, as a GPU's; "far:broken" cannot
 * copy
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vtadev_device.h"

#define BUFFERS	16

/* soft's table, compiled under this name. */
extern const struct vtadev_device_ops far_soft;

struct far {
	void *soft;
	bool broken;
	struct {
		uint32_t addr;
		size_t size;
		uint8_t *bytes;
	} memory[BUFFERS];
};

static int far_open(const char *args, struct vta_info *info, void **device, char *why, size_t size)
{
	struct far *far = calloc(1, sizeof(*far));
	int err;

	if (!far)
		return -ENOMEM;
	far->broken = !strcmp(args, "broken");
	err = far_soft.open("", info, &far->soft, why, size);
	if (err)
		free(far);
	else
		*device = far;
	return err;
}

static void far_close(void *device)
{
	struct far *far = device;

	far_soft.close(far->soft);
	for (int i = 0; i < BUFFERS; i++)
		if (far->memory[i].bytes)
			abort();	/* all is freed before */
	free(far);
}

static int far_core_new(void *device, void **core)
{
	return far_soft.core_new(((struct far *)device)->soft, core);
}

static void far_core_free(void *device, void *core)
{
	far_soft.core_free(((struct far *)device)->soft, core);
}

static int far_run(void *device, void *core, const struct vtadev_device_run *run,
		   struct vtadev_device_result *result)
{
	return far_soft.run(((struct far *)device)->soft, core, run, result);
}

static int far_alloc(void *device, uint32_t addr, size_t size, uint32_t flags)
{
	struct far *far = device;

	(void)flags;
	for (int i = 0; i < BUFFERS; i++) {
		if (far->memory[i].bytes)
			continue;
		far->memory[i].addr = addr;
		far->memory[i].size = size;
		far->memory[i].bytes = calloc(1, size);
		return far->memory[i].bytes ? 0 : -ENOMEM;
	}
	return -ENOSPC;
}

static void far_free(void *device, uint32_t addr, size_t size)
{
	struct far *far = device;

	for (int i = 0; i < BUFFERS; i++) {
		if (!far->memory[i].bytes || far->memory[i].addr != addr)
			continue;
		if (far->memory[i].size != size)
			abort();
		free(far->memory[i].bytes);
		far->memory[i].bytes = NULL;
	}
}

static uint8_t *at(struct far *far, const struct vtadev_device_side *side)
{
	if (side->ptr)
		return side->ptr;
	for (int i = 0; i < BUFFERS; i++)
		if (far->memory[i].bytes && side->addr >= far->memory[i].addr &&
		    side->addr - far->memory[i].addr < far->memory[i].size)
			return far->memory[i].bytes + (side->addr - far->memory[i].addr);
	abort();
}

static int far_copy(void *device, const struct vtadev_device_rows *rows)
{
	struct far *far = device;

	if (far->broken)
		return -EIO;
	if (rows->dst.ptr && rows->src.ptr)
		abort();	/* is not asked for */
	for (size_t i = 0; i < rows->rows; i++)
		memcpy(at(far, &rows->dst) + i * rows->dst.pitch,
		       at(far, &rows->src) + i * rows->src.pitch, rows->width);
	return 0;
}

static int far_list(unsigned int i, char *args, size_t size)
{
	return far_soft.list(i, args, size);
}

const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION,
	.name = "far",
	.about = "soft, with memory of its own",
	.list = far_list,
	.open = far_open,
	.close = far_close,
	.core_new = far_core_new,
	.core_free = far_core_free,
	.run = far_run,
	.alloc = far_alloc,
	.free = far_free,
	.copy = far_copy,
};
