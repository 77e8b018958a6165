// SPDX-License-Identifier: Apache-2.0
/*
 * core_state.c - the core's state between runs, in memory
 *
 * A header, then the four scratchpads, each as a LOAD of all of it would find it.
 * Elements beyond those in use are zero, and are not moved. Restored bytes are not
 * trusted: counts are limited to the capacity, and values to their widths by their form
 * in memory.
 */
#include <endian.h>
#include <string.h>

#include "core_impl.h"

#define HEADER_BYTES	64u

static const enum vta_isa_memory memories[] = {
	VTA_ISA_UOP, VTA_ISA_INP, VTA_ISA_WGT, VTA_ISA_ACC,
};

#define MEMORIES	(sizeof(memories) / sizeof(memories[0]))

struct header {
	uint32_t tokens[CORE_TOKEN_QUEUES];
	uint32_t used[MEMORIES];
};

_Static_assert(sizeof(struct header) <= HEADER_BYTES, "the header has its place");

/* One move of the state: where, and how. */
struct transfer {
	struct core *core;
	const struct core_mem_ops *ops;
	void *priv;
	struct core_fault *fault;
	bool save;
};

uint32_t core_state_size(const struct core_config *cfg)
{
	uint64_t size = HEADER_BYTES + (1ull << cfg->log_uop_buff_size) +
			(1ull << cfg->log_inp_buff_size) + (1ull << cfg->log_wgt_buff_size) +
			(1ull << cfg->log_acc_buff_size);

	return (uint32_t)((size + VTA_PAGE_SIZE - 1) / VTA_PAGE_SIZE * VTA_PAGE_SIZE);
}

uint64_t core_state_cycles(const struct core_config *cfg)
{
	return VTA_ISA_MEM_LATENCY + core_state_size(cfg) / VTA_ISA_MEM_PORT;
}

static struct core_pad *pad_of(struct core *core, enum vta_isa_memory type)
{
	switch (type) {
	case VTA_ISA_UOP:
		return &core->uop;
	case VTA_ISA_INP:
		return &core->inp;
	case VTA_ISA_WGT:
		return &core->wgt;
	default:
		return &core->acc;
	}
}

/* ---- Elements from scratchpads to their form in memory ---- */

static void put_packed(uint8_t *to, size_t n, int value, unsigned int log_width)
{
	unsigned int width = 1u << log_width, bit = (unsigned int)(n << log_width) % 8;
	unsigned int mask = ((1u << width) - 1) << bit;
	uint8_t *byte = &to[(n << log_width) / 8];

	*byte = (uint8_t)((*byte & ~mask) | (((unsigned int)value << bit) & mask));
}

static void pack_uop(const struct core *core, uint8_t *to, uint32_t index, uint32_t n)
{
	const struct core_uop *from = (const struct core_uop *)core->uop.mem + index;
	uint32_t uop;

	for (; n; n--, from++, to += sizeof(uop)) {
		uop = htole32(vta_isa_pack_uop(&core->log, &(struct vta_isa_uop){
			.dst = from->dst, .src = from->src, .wgt = from->wgt }));
		memcpy(to, &uop, sizeof(uop));
	}
}

static void pack_inp(const struct core *core, uint8_t *to, uint32_t index, uint32_t n)
{
	const uint8_t *from = (const uint8_t *)core->inp.mem + index * core->inp.elem_size;
	size_t rows = (size_t)n * core->batch, i = 0, value;

	for (; rows; rows--, from += core->quads * CORE_QUAD)
		for (value = 0; value < core->block; value++, i++)
			put_packed(to, i, from[value] - CORE_INP_ZERO, core->cfg.log_inp_width);
}

/* [in / 4][out][4] to [out][in]. */
static void pack_wgt(const struct core *core, uint8_t *to, uint32_t index, uint32_t n)
{
	const int8_t *from = (const int8_t *)core->wgt.mem + index * core->wgt.elem_size;
	size_t size = core_mem_elem_size(core, VTA_ISA_WGT);
	size_t out, in, i;

	for (; n; n--, from += core->wgt.elem_size, to += size)
		for (i = 0, out = 0; out < core->block; out++)
			for (in = 0; in < core->block; in++, i++)
				put_packed(to, i, from[core_wgt_offset(core->block, out, in)],
					   core->cfg.log_wgt_width);
}

static void pack_acc(const struct core *core, uint8_t *to, uint32_t index, uint32_t n)
{
	size_t values = (size_t)n * core->batch * core->block;
	const int32_t *from = (const int32_t *)core->acc.mem +
			      (size_t)index * core->batch * core->block;
	uint32_t raw;

	for (; values; values--, to += sizeof(raw)) {
		raw = htole32((uint32_t)*from++);
		memcpy(to, &raw, sizeof(raw));
	}
}

static void pack_pad(const struct core *core, enum vta_isa_memory type, uint32_t index, uint8_t *to,
		     uint32_t n)
{
	switch (type) {
	case VTA_ISA_UOP:
		return pack_uop(core, to, index, n);
	case VTA_ISA_INP:
		return pack_inp(core, to, index, n);
	case VTA_ISA_WGT:
		return pack_wgt(core, to, index, n);
	default:
		return pack_acc(core, to, index, n);
	}
}

/* ---- Moving ---- */

static enum core_result move_bytes(const struct transfer *t, uint32_t addr, void *buf, size_t len)
{
	enum vta_fault_reason reason;

	if (t->ops->stop(t->priv))
		return CORE_STOPPED;
	reason = t->save ? t->ops->write(t->priv, addr, buf, len, VTA_ACCESS_STATE,
					 &t->fault->addr) :
			   t->ops->read(t->priv, addr, buf, len, VTA_ACCESS_STATE,
					&t->fault->addr);
	if (reason == VTA_FAULT_NONE)
		return CORE_DONE;
	t->fault->reason = reason;
	t->fault->access = VTA_ACCESS_STATE;
	return CORE_FAULT;
}

/* The first @used elements of a scratchpad, in pieces that fit the staging buffer. */
static enum core_result move_pad(const struct transfer *t, enum vta_isa_memory type, uint32_t addr,
				 uint32_t used)
{
	struct core *core = t->core;
	uint32_t size = (uint32_t)core_mem_elem_size(core, type);
	uint32_t most = (uint32_t)(core->staging_size / size), done, n;
	enum core_result result = CORE_DONE;

	for (done = 0; done < used && result == CORE_DONE; done += n) {
		n = used - done < most ? used - done : most;
		if (t->save)
			pack_pad(core, type, done, core->staging, n);
		result = move_bytes(t, addr + done * size, core->staging, (size_t)n * size);
		if (result == CORE_DONE && !t->save)
			core_mem_unpack(core, type, done, core->staging, n);
	}
	return result;
}

static enum core_result move_pads(const struct transfer *t, uint32_t addr,
				  const struct header *header)
{
	enum core_result result = CORE_DONE;
	size_t i;

	addr += HEADER_BYTES;
	for (i = 0; i < MEMORIES && result == CORE_DONE; i++) {
		result = move_pad(t, memories[i], addr, le32toh(header->used[i]));
		addr += (uint32_t)(core_mem_elem_size(t->core, memories[i]) *
				   pad_of(t->core, memories[i])->depth);
	}
	return result;
}

enum core_result core_save(struct core *core, const struct core_mem_ops *ops, void *priv,
			   uint32_t addr, struct core_fault *fault)
{
	const struct transfer t = { core, ops, priv, fault, .save = true };
	struct header header;
	enum core_result result;
	size_t i;

	if (core->model)
		return core->model->save(core->self, ops, priv, addr, fault);
	memset(fault, 0, sizeof(*fault));
	fault->insn_index = VTA_FAULT_NO_INSN;
	core_tokens_get(core, header.tokens);
	for (i = 0; i < CORE_TOKEN_QUEUES; i++)
		header.tokens[i] = htole32(header.tokens[i]);
	for (i = 0; i < MEMORIES; i++)
		header.used[i] = htole32(pad_of(core, memories[i])->used);
	result = move_bytes(&t, addr, &header, sizeof(header));
	return result == CORE_DONE ? move_pads(&t, addr, &header) : result;
}

/* As much as there is room for. */
static void adopt_counts(struct core *core, struct header *header)
{
	uint32_t tokens[CORE_TOKEN_QUEUES], used;
	size_t i;

	for (i = 0; i < CORE_TOKEN_QUEUES; i++)
		tokens[i] = le32toh(header->tokens[i]);
	core_tokens_set(core, tokens);
	for (i = 0; i < MEMORIES; i++) {
		struct core_pad *pad = pad_of(core, memories[i]);

		used = le32toh(header->used[i]);
		pad->used = used < pad->depth ? used : pad->depth;
		header->used[i] = htole32(pad->used);
	}
}

enum core_result core_restore(struct core *core, const struct core_mem_ops *ops, void *priv,
			      uint32_t addr, struct core_fault *fault)
{
	const struct transfer t = { core, ops, priv, fault, .save = false };
	struct header header;
	enum core_result result;

	if (core->model)
		return core->model->restore(core->self, ops, priv, addr, fault);
	memset(fault, 0, sizeof(*fault));
	fault->insn_index = VTA_FAULT_NO_INSN;
	core_clear(core);
	result = move_bytes(&t, addr, &header, sizeof(header));
	if (result != CORE_DONE)
		return result;
	adopt_counts(core, &header);
	return move_pads(&t, addr, &header);
}
