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
static int pad_new(struct core_pad *pad, int log_depth, size_t elem_size, uint8_t zero)
{
	size_t size = elem_size << log_depth;

	size = (size + PAD_ALIGN - 1) / PAD_ALIGN * PAD_ALIGN;
	pad->mem = aligned_alloc(PAD_ALIGN, size);
	if (!pad->mem)
		return -1;
	memset(pad->mem, zero, size);
	pad->elem_size = elem_size;
	pad->zero = zero;
	pad->depth = 1u << log_depth;
	return 0;
}

static int pads_new(struct core *core)
{
	size_t row = core->quads * CORE_QUAD;

	if (pad_new(&core->uop, core->log.uop, sizeof(struct core_uop), 0) ||
	    pad_new(&core->inp, core->log.inp, core->batch * row, CORE_INP_ZERO) ||
	    pad_new(&core->wgt, core->log.wgt, row * core->block, 0) ||
	    pad_new(&core->acc, core->log.acc, core->batch * core->block * sizeof(int32_t), 0))
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

const char *core_kernel(const struct core_config *cfg)
{
	const struct core_gemm *gemm = core_gemm_choose(1u << cfg->log_block);

	return gemm ? gemm->name : NULL;
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
	core->quads = core_quads(core->block);
	core->order = order;
	core->rng = seed;
	core->gemm = core_gemm_choose(core->block);
	core->tokens_max = 1u << vta_isa_log_queue(cfg->log_tokens);
	core->waiting_max = 1u << vta_isa_log_queue(cfg->log_waiting);
	if (!core->gemm || pads_new(core) || staging_new(core) || core_queues_new(core)) {
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
	memset(pad->mem, pad->zero, pad->used * pad->elem_size);
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
