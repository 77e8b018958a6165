// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define die(...) do { \
		fprintf(stderr, __VA_ARGS__); \
		fputc('\n', stderr); \
		abort(); \
	} while (0)

static bool inside(const struct machine *m, uint32_t addr, size_t len)
{
	return addr >= MACHINE_BASE && addr - MACHINE_BASE + len <= m->used;
}

static enum vta_fault_reason mem_read(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr)
{
	struct machine *m = priv;

	(void)access;
	*fault_addr = addr;
	if (!inside(m, addr, len))
		return VTA_FAULT_PAGE;
	memcpy(buf, m->mem + (addr - MACHINE_BASE), len);
	return VTA_FAULT_NONE;
}

static enum vta_fault_reason mem_write(void *priv, uint32_t addr, const void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	struct machine *m = priv;

	(void)access;
	*fault_addr = addr;
	if (!inside(m, addr, len))
		return VTA_FAULT_PAGE;
	memcpy(m->mem + (addr - MACHINE_BASE), buf, len);
	return VTA_FAULT_NONE;
}

static bool never(void *priv)
{
	(void)priv;
	return false;
}

static const struct core_mem_ops mem_ops = { mem_read, mem_write, never };

void machine_init(struct machine *m, const struct core_config *cfg, uint32_t size,
		  enum core_order order, uint64_t seed)
{
	char err[256];

	*m = (struct machine) { .cfg = *cfg, .size = size };
	if (core_config_check(cfg, err, sizeof(err)))
		die("configuration: %s", err);
	m->core = (struct vtaops_core) {
		.log_inp_width = cfg->log_inp_width, .log_wgt_width = cfg->log_wgt_width,
		.log_acc_width = cfg->log_acc_width, .log_batch = cfg->log_batch,
		.log_block = cfg->log_block, .log_uop_buff_size = cfg->log_uop_buff_size,
		.log_inp_buff_size = cfg->log_inp_buff_size,
		.log_wgt_buff_size = cfg->log_wgt_buff_size,
		.log_acc_buff_size = cfg->log_acc_buff_size,
	};
	if (vtaops_core_init(&m->core))
		die("the library refuses a configuration that the emulator takes");
	m->model = core_new(cfg, order, seed);
	m->mem = calloc(1, size);
	if (!m->model || !m->mem)
		die("out of memory");
}

void machine_fini(struct machine *m)
{
	core_free(m->model);
	free(m->mem);
}

void machine_reset(struct machine *m)
{
	memset(m->mem, 0x55, m->used);
	m->used = 0;
}

uint32_t machine_alloc(struct machine *m, size_t size)
{
	/* The base is a multiple of all elements but the largest. */
	uint32_t align = m->core.wgt_bytes > m->core.acc_bytes ? m->core.wgt_bytes :
			 m->core.acc_bytes;
	uint32_t addr = (MACHINE_BASE + m->used + align - 1) / align * align;

	align = addr - MACHINE_BASE;
	if (!size || align > m->size || size > m->size - align)
		die("no %zu bytes left", size);
	m->used = align + (uint32_t)size;
	return addr;
}

void *machine_at(struct machine *m, uint32_t addr)
{
	return m->mem + (addr - MACHINE_BASE);
}

int machine_run(struct machine *m, lower_fn lower, const void *op, const char **why)
{
	static struct vtaops_builder b;
	struct core_fault fault;
	uint32_t insn_addr, uop_addr;
	int err;

	vtaops_begin(&b, &m->core, NULL, 0, NULL, 0, 0);
	lower(&b, op);
	err = vtaops_finish(&b);
	*why = b.why;
	if (err)
		return err;
	m->insns = b.insns;
	m->uops = b.uops;
	insn_addr = machine_alloc(m, b.insns * sizeof(struct vtaops_insn));
	uop_addr = machine_alloc(m, b.uops * 4);
	vtaops_begin(&b, &m->core, machine_at(m, insn_addr), m->insns, machine_at(m, uop_addr),
		     m->uops, uop_addr);
	lower(&b, op);
	err = vtaops_finish(&b);
	if (err || b.insns != m->insns || b.uops != m->uops)
		die("lowering again differs: %s", err ? b.why : "other counts");

	if (core_run(m->model, &mem_ops, m, insn_addr, (uint32_t)m->insns, 0, &m->stats, &fault) !=
	    CORE_DONE)
		die("fault %d at instruction %u of %zu, address %#x", fault.reason,
		    fault.insn_index, m->insns, fault.addr);
	if (m->stats.cycles != b.cycles)
		die("the builder says %" PRIu64 " cycles, the core %" PRIu64, b.cycles,
		    m->stats.cycles);
	return 0;
}
