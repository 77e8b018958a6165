// SPDX-License-Identifier: GPL-2.0-only
/*
 * far.c - soft with card memory that the CPU does not see, as a GPU's; "far:broken" cannot
 * copy
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vtadev_device.h"

#define SIZE	(16u << 20)
#define ENTRIES	(1u << 20)

/* soft's table, compiled under this name. */
extern const struct vtadev_device_ops far_soft;

struct far {
	void *soft;
	bool broken;
	uint8_t *memory;
	uint32_t *table;	/* as map() gave it */
};

static void far_free(struct far *far)
{
	free(far->memory);
	free(far->table);
	free(far);
}

static int far_open(const char *args, struct vta_info *info, void **device, char *why, size_t size)
{
	struct far *far = calloc(1, sizeof(*far));
	int err;

	if (!far)
		return -ENOMEM;
	far->broken = !strcmp(args, "broken");
	far->memory = malloc(SIZE);
	far->table = calloc(ENTRIES, sizeof(*far->table));
	err = far->memory && far->table ? far_soft.open("", info, &far->soft, why, size) : -ENOMEM;
	if (err) {
		far_free(far);
		return err;
	}
	info->mem_size = SIZE;
	*device = far;
	return 0;
}

static void far_close(void *device)
{
	struct far *far = device;

	far_soft.close(far->soft);
	for (size_t i = 0; i < ENTRIES; i++)
		if (far->table[i])
			abort();	/* all is freed before */
	far_free(far);
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

static int far_clear(void *device, uint64_t offset, size_t size)
{
	struct far *far = device;

	if (offset % VTA_PAGE_SIZE || size % VTA_PAGE_SIZE || offset + size > SIZE)
		abort();
	memset(far->memory + offset, 0, size);
	return 0;
}

/* A page is one buffer's alone. */
static int far_map(void *device, uint32_t first, size_t count, const uint32_t *entries)
{
	struct far *far = device;

	for (size_t i = 0; i < count; i++) {
		if (entries[i] && far->table[first + i])
			abort();
		if (entries[i] >> VTADEV_DEVICE_ENTRY_SHIFT >= SIZE / VTA_PAGE_SIZE)
			abort();
		far->table[first + i] = entries[i];
	}
	return 0;
}

static uint8_t *at(struct far *far, const struct vtadev_device_side *side)
{
	return side->ptr ? side->ptr : far->memory + side->offset;
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
	.clear = far_clear,
	.map = far_map,
	.copy = far_copy,
};
