// SPDX-License-Identifier: GPL-2.0-only
/*
 * card.c - an emitted network on the emulator's core, without a card: what main.c does
 * with libvtadev
 *
 *	card IMAGE SCORES
 *
 * Built with the model.h of tests/ops/mixed.c's network. No memory is allocated once the
 * run has begun; SCORES are two runs' outputs, which are the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "model.h"

struct window {
	uint32_t addr, size;
	uint8_t *memory;
};

static uint8_t model[MIXED_MODEL_SIZE], arena[MIXED_ARENA_SIZE];
static uint8_t workspace[MIXED_WORKSPACE_SIZE] __attribute__((aligned(64)));
static const struct window windows[] = {
	{ MIXED_MODEL_ADDR, sizeof(model), model },
	{ MIXED_ARENA_ADDR, sizeof(arena), arena },
	{ MIXED_WORKSPACE_ADDR, sizeof(workspace), workspace },
};

static void *at(uint32_t addr, size_t len)
{
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		const struct window *w = &windows[i];

		uint32_t off = addr - w->addr;

		if (addr >= w->addr && off <= w->size && len <= w->size - off)
			return w->memory + off;
	}
	return NULL;
}

static enum vta_fault_reason mem_read(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr)
{
	(void)priv;
	(void)access;
	*fault_addr = addr;
	if (!at(addr, len))
		return VTA_FAULT_PAGE;
	memcpy(buf, at(addr, len), len);
	return VTA_FAULT_NONE;
}

/* The model is only read. */
static enum vta_fault_reason mem_write(void *priv, uint32_t addr, const void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	(void)priv;
	(void)access;
	*fault_addr = addr;
	if (addr < MIXED_ARENA_ADDR || !at(addr, len))
		return VTA_FAULT_PAGE;
	memcpy(at(addr, len), buf, len);
	return VTA_FAULT_NONE;
}

static bool never(void *priv)
{
	(void)priv;
	return false;
}

static int32_t copy(const struct vtac_command *c)
{
	for (uint32_t i = 0; i < c->rows; i++) {
		uint32_t dst = c->dst + i * c->dst_pitch, src = c->src + i * c->src_pitch;

		if (!at(dst, c->count) || !at(src, c->count))
			return -2;
		memcpy(at(dst, c->count), at(src, c->count), c->count);
	}
	return 0;
}

static int32_t fill(const struct vtac_command *c)
{
	uint8_t *to = at(c->dst, c->count);

	for (uint32_t i = 0; to && i < c->count; i++)
		to[i] = (uint8_t)(c->src >> i % 4 * 8);
	return to ? 0 : -3;
}

static int32_t submit(void *card, const struct vtac_command *c, uint32_t count)
{
	static const struct core_mem_ops ops = { mem_read, mem_write, never };
	struct core_fault fault;
	struct core_stats stats;

	for (; count--; c++) {
		int32_t err = 0;

		if (c->kind == VTAC_COMMAND_COPY)
			err = copy(c);
		else if (c->kind == VTAC_COMMAND_FILL)
			err = fill(c);
		else if (core_run(card, &ops, NULL, c->src, c->count, 0, &stats, &fault) !=
			 CORE_DONE)
			err = -1;
		if (err)
			return err;
	}
	return 0;
}

static int give_up(const char *why)
{
	fprintf(stderr, "card: %s\n", why);
	return 1;
}

int main(int argc, char **argv)
{
	const struct core_config config = {
		MIXED_LOG_INP_WIDTH, MIXED_LOG_WGT_WIDTH, MIXED_LOG_ACC_WIDTH, MIXED_LOG_BATCH,
		MIXED_LOG_BLOCK, MIXED_LOG_UOP_BUFF_SIZE, MIXED_LOG_INP_BUFF_SIZE,
		MIXED_LOG_WGT_BUFF_SIZE, MIXED_LOG_ACC_BUFF_SIZE, 2,
	};
	float image[81], scores[2][24];
	const struct mixed_inputs inputs = { image };
	const struct mixed_workspace memory = { workspace };
	struct mixed_devices devices = { NULL, submit };
	FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;

	/* Behind the header of a .npy file. */
	if (!file || fseek(file, 128, SEEK_SET) || fread(image, sizeof(image), 1, file) != 1)
		return give_up("no image");
	fclose(file);
	memcpy(model, mixed_model, sizeof(model));
	devices.card = core_new(&config, CORE_ORDER_GREEDY, 1);
	for (int i = 0; i < 2; i++) {
		const struct mixed_outputs outputs = { scores[i] };

		if (mixed_run(&inputs, &outputs, &memory, &devices))
			return give_up("the run failed");
	}
	core_free(devices.card);
	file = fopen(argv[2], "wb");
	if (memcmp(scores[0], scores[1], sizeof(scores[0])) || !file ||
	    fwrite(scores[0], sizeof(scores[0]), 1, file) != 1 || fclose(file))
		return give_up("two runs differ, or the scores cannot be written");
	return 0;
}
