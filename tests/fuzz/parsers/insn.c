// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decoder of instructions and of descriptors: any bytes as a stream and as the
 * memory it reads and writes, on several cores, in several orders.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "vta_desc.h"
#include "flat.h"

#define BASE		0x1000u
#define SIZE		0x8000u
#define INSN_BYTES	16u
#define CYCLES_MAX	200000u

static const struct core_config configs[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 1, 0, 0 },
	{ 3, 3, 5, 1, 3, 12, 13, 14, 15, 1, 0, 0 },
	{ 2, 1, 5, 0, 5, 10, 10, 13, 12, 1, 0, 0 },
};

#define CONFIGS	(sizeof(configs) / sizeof(configs[0]))

static struct core *the_core(uint8_t choice)
{
	static struct core *cores[CONFIGS][3];
	struct core **core = &cores[choice % CONFIGS][choice / CONFIGS % 3];

	if (!*core)
		*core = core_new(&configs[choice % CONFIGS], choice / CONFIGS % 3, choice);
	if (!*core)
		abort();
	core_clear(*core);
	return *core;
}

static void check_desc(const uint8_t *data, size_t size)
{
	struct vta_desc desc;

	if (size < sizeof(desc))
		return;
	memcpy(&desc, data, sizeof(desc));
	if (vta_desc_check(&desc, data[0], size & 1).reason == VTA_FAULT_NONE &&
	    vta_desc_op(&desc) > VTA_OP_WAIT)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[SIZE];
	struct core_stats stats;
	struct core_fault fault = { 0 };
	struct flat flat;
	uint32_t count;

	if (size < 2)
		return 0;
	check_desc(data + 1, size - 1);
	memset(image, 0, sizeof(image));
	memcpy(image, data + 1, size - 1 < SIZE ? size - 1 : SIZE);
	count = (uint32_t)(size - 1) / INSN_BYTES + 1;
	flat_init(&flat, BASE, SIZE, image);
	flat.stop_after = 1000;
	if (core_run(the_core(data[0]), &flat_ops, &flat, BASE, count, CYCLES_MAX, &stats,
		     &fault) == CORE_FAULT &&
	    (fault.reason == VTA_FAULT_NONE || fault.insn_index > count))
		abort();
	flat_free(&flat);
	return 0;
}
