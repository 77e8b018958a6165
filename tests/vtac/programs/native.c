// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core_model.h"
#include "programs.h"

/* Address to memory: the model may be read alone. */
static uint8_t *find(struct native *n, uint32_t addr, size_t len, bool write)
{
	const struct vtac_program *p = n->p;

	if (addr >= VTAIMAGE_ARENA && addr - VTAIMAGE_ARENA + len <= p->card_bytes)
		return n->card + (addr - VTAIMAGE_ARENA);
	if (!write && addr >= VTAIMAGE_MODEL && addr < VTAIMAGE_ARENA &&
	    addr - VTAIMAGE_MODEL + len <= p->model.bytes)
		return p->model.data + (addr - VTAIMAGE_MODEL);
	return NULL;
}

static enum vta_fault_reason mem_read(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr)
{
	uint8_t *at = find(priv, addr, len, false);

	(void)access;
	*fault_addr = addr;
	if (!at)
		return VTA_FAULT_PAGE;
	memcpy(buf, at, len);
	return VTA_FAULT_NONE;
}

static enum vta_fault_reason mem_write(void *priv, uint32_t addr, const void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	uint8_t *at = find(priv, addr, len, true);

	(void)access;
	*fault_addr = addr;
	if (!at)
		return VTA_FAULT_PAGE;
	memcpy(at, buf, len);
	return VTA_FAULT_NONE;
}

static bool never(void *priv)
{
	(void)priv;
	return false;
}

static const struct core_mem_ops mem_ops = { mem_read, mem_write, never };

struct vtaops_core native_core(const struct core_config *cfg)
{
	struct vtaops_core core = {
		.log_inp_width = cfg->log_inp_width, .log_wgt_width = cfg->log_wgt_width,
		.log_acc_width = cfg->log_acc_width, .log_batch = cfg->log_batch,
		.log_block = cfg->log_block, .log_uop_buff_size = cfg->log_uop_buff_size,
		.log_inp_buff_size = cfg->log_inp_buff_size,
		.log_wgt_buff_size = cfg->log_wgt_buff_size,
		.log_acc_buff_size = cfg->log_acc_buff_size,
	};

	if (vtaops_core_init(&core)) {
		fputs("a test's core that no card may have\n", stderr);
		abort();
	}
	return core;
}

/* Streams of the compiler must run with these queues. */
struct core_config native_shallow(const struct core_config *cfg)
{
	struct core_config shallow = *cfg;

	shallow.log_tokens = 8;
	shallow.log_waiting = 9;
	return shallow;
}

const struct core_model *(*native_model)(const struct core_config *cfg);

static struct core *new_core(const struct core_config *cfg, enum core_order order, uint64_t seed)
{
	const struct core_model *model = native_model ? native_model(cfg) : NULL;

	return model ? core_new_model(cfg, model) : core_new(cfg, order, seed);
}

int native_init(struct native *n, const struct vtac_program *p, const struct core_config *cfg,
		enum core_order order, uint64_t seed)
{
	struct core_config shallow = native_shallow(cfg);

	*n = (struct native) { .p = p };
	n->model = new_core(&shallow, order, seed);
	n->card = calloc(1, p->card_bytes + 64);
	n->host = aligned_alloc(64, (p->host_bytes + 127) & ~63ull);
	if (n->model && n->card && n->host)
		return 0;
	snprintf(n->why, sizeof(n->why), "out of memory");
	return -1;
}

void *native_at(const struct native *n, const struct vtac_tensor *t)
{
	if (t->data)
		return (void *)(uintptr_t)t->data;
	return (t->device == VTAC_CARD ? n->card : n->host) + t->offset;
}

static uint8_t *at_place(const struct native *n, const struct vtaimage_place *place)
{
	switch (place->segment) {
	case VTAIMAGE_IN_ARENA:
		return n->card + place->offset;
	case VTAIMAGE_IN_HOST:
		return n->host + place->offset;
	case VTAIMAGE_IN_CONSTS:
		return n->p->consts.data + place->offset;
	default:
		return NULL;
	}
}

static int run_stream(struct native *n, const struct vtaimage_stream *stream)
{
	struct core_stats stats;
	struct core_fault fault;

	if (core_run(n->model, &mem_ops, n, VTAIMAGE_MODEL + stream->insn_at, stream->insn_count, 0,
		     &stats, &fault) != CORE_DONE) {
		snprintf(n->why, sizeof(n->why), "fault %d at instruction %u of %u, address %#x",
			 fault.reason, fault.insn_index, stream->insn_count, fault.addr);
		return -1;
	}
	n->cycles += stats.cycles;
	n->doorbells++;
	if (stats.cycles == stream->cycles)
		return 0;
	snprintf(n->why, sizeof(n->why), "the stream takes %llu cycles, the compiler said %llu",
		 (unsigned long long)stats.cycles, (unsigned long long)stream->cycles);
	return -1;
}

static void run_cpu(struct native *n, const struct vtaimage_step *s)
{
	void *io[VTACPU_OPERANDS_MAX];

	for (unsigned int i = 0; i < VTACPU_OPERANDS_MAX; i++)
		io[i] = at_place(n, &s->io[i]);
	vtacpu_run(s->kernel, &s->params, io, n->host + s->scratch);
}

static void run_copy(struct native *n, const struct vtaimage_step *s)
{
	const uint8_t *from = at_place(n, &s->src);
	uint8_t *to = at_place(n, &s->dst);
	bool there = s->dst.segment == VTAIMAGE_IN_ARENA;

	for (uint32_t i = 0; i < (s->rows ? s->rows : 1); i++) {
		memcpy(to, from, s->bytes);
		to += there ? s->pitch : s->bytes;
		from += there ? s->bytes : s->pitch;
		n->copied += s->bytes;
	}
}

static void run_fill(struct native *n, const struct vtaimage_step *s)
{
	uint8_t *to = at_place(n, &s->dst);

	for (uint32_t i = 0; i < s->bytes; i++)
		to[i] = (uint8_t)(s->pattern >> i % 4 * 8);
}

int native_run(struct native *n, const struct vtac_interp *io)
{
	const struct vtac_program *p = n->p;

	n->cycles = 0;
	n->doorbells = 0;
	n->copied = 0;
	for (unsigned int i = 0; i < p->graph->n_inputs; i++) {
		const struct vtac_tensor *t = p->graph->inputs[i];

		if (io->input(io->priv, t, native_at(n, t)))
			return -1;
	}
	for (unsigned int i = 0; i < p->n_steps; i++) {
		const struct vtaimage_step *s = &p->steps[i];

		if (s->kind == VTAIMAGE_CPU)
			run_cpu(n, s);
		else if (s->kind == VTAIMAGE_COPY)
			run_copy(n, s);
		else if (s->kind == VTAIMAGE_FILL)
			run_fill(n, s);
		else if (run_stream(n, &p->streams[s->stream]))
			return -1;
	}
	return 0;
}

void native_fini(struct native *n)
{
	if (n->model)
		core_free(n->model);
	free(n->card);
	free(n->host);
}
