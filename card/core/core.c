// SPDX-License-Identifier: Apache-2.0
/*
 * core.c - one VTA core's life: its scratchpads made, cleared and freed
 */
#include <stdlib.h>
#include <string.h>

#include "core_impl.h"

#define STAGING_MIN	65536u
#define PAD_ALIGN	64u	/* a cache line: no vector crosses one */

/* Scratchpads begin as zeroes. */
static int pad_new(struct core_pad *pad, int log_depth, size_t elem_size)
{
	size_t size = elem_size << log_depth;

	size = (size + PAD_ALIGN - 1) / PAD_ALIGN * PAD_ALIGN;
	pad->mem = aligned_alloc(PAD_ALIGN, size);
	if (!pad->mem)
		return -1;
	memset(pad->mem, 0, size);
	pad->elem_size = elem_size;
	pad->depth = 1u << log_depth;
	return 0;
}

static int pads_new(struct core *core)
{
	size_t two = 2 * sizeof(int16_t);

	if (pad_new(&core->uop, core->log.uop, sizeof(struct core_uop)) ||
	    pad_new(&core->inp, core->log.inp, core->batch * core->pairs * two) ||
	    pad_new(&core->wgt, core->log.wgt, core->pairs * core->block * two) ||
	    pad_new(&core->acc, core->log.acc, core->batch * core->block * sizeof(int32_t)))
		return -1;
	return 0;
}

static int staging_new(struct core *core)
{
	size_t acc = core_mem_elem_size(core, VTA_ISA_ACC);
	size_t wgt = core_mem_elem_size(core, VTA_ISA_WGT);

	core->staging_size = STAGING_MIN;
	if (core->staging_size < acc)
		core->staging_size = acc;
	if (core->staging_size < wgt)
		core->staging_size = wgt;
	core->staging = malloc(core->staging_size);
	return core->staging ? 0 : -1;
}

struct core *core_new(const struct core_config *cfg, enum core_order order, uint64_t seed)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->cfg = *cfg;
	core->log = core_config_shape(cfg);
	core->batch = 1u << cfg->log_batch;
	core->block = 1u << cfg->log_block;
	core->pairs = (core->block + 1) / 2;
	core->order = order;
	core->rng = seed;
	core->gemm = core_gemm_best(core);
	core->tokens_max = 1u << vta_isa_log_queue(cfg->log_tokens);
	core->waiting_max = 1u << vta_isa_log_queue(cfg->log_waiting);
	if (pads_new(core) || staging_new(core) || core_queues_new(core)) {
		core_free(core);
		return NULL;
	}
	return core;
}

void core_free(struct core *core)
{
	if (!core)
		return;
	if (core->model)
		core->model->end(core->self);
	core_queues_free(core);
	free(core->staging);
	free(core->acc.mem);
	free(core->wgt.mem);
	free(core->inp.mem);
	free(core->uop.mem);
	free(core);
}

static void pad_clear(struct core_pad *pad)
{
	memset(pad->mem, 0, pad->used * pad->elem_size);
	pad->used = 0;
}

void core_clear(struct core *core)
{
	if (core->model) {
		core->model->clear(core->self);
		return;
	}
	pad_clear(&core->uop);
	pad_clear(&core->inp);
	pad_clear(&core->wgt);
	pad_clear(&core->acc);
	core_tokens_set(core, (uint32_t[CORE_TOKEN_QUEUES]) { 0 });
}

void core_keep_tokens(struct core *core)
{
	if (core->model)
		core->model->keep_tokens(core->self);
	core->keep_tokens = true;
}

void core_force_portable(struct core *core)
{
	core->gemm = core_gemm_portable;
}
