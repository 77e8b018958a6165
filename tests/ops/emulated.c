// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define BASE	0x100000u

static bool inside(const struct machine *m, uint32_t addr, size_t len)
{
	return addr >= m->base && addr - m->base + len <= m->used;
}

static enum vta_fault_reason mem_read(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr)
{
	struct machine *m = priv;

	(void)access;
	*fault_addr = addr;
	if (!inside(m, addr, len))
		return VTA_FAULT_PAGE;
	memcpy(buf, machine_at(m, addr), len);
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
	memcpy(machine_at(m, addr), buf, len);
	return VTA_FAULT_NONE;
}

static bool never(void *priv)
{
	(void)priv;
	return false;
}

static const struct core_mem_ops mem_ops = { mem_read, mem_write, never };

int emulated_try(struct machine *m, uint32_t insn_addr, uint32_t insns, uint64_t cycles,
		 struct core_fault *fault)
{
	struct core_stats stats;
	int faulted = core_run(m->model, &mem_ops, m, insn_addr, insns, cycles, &stats, fault) !=
		      CORE_DONE;

	m->stats = (struct machine_stats) { stats.cycles, stats.gemm_uops, stats.alu_uops };
	return faulted ? -1 : 0;
}

static void run(struct machine *m, uint32_t insn_addr, uint32_t insns)
{
	struct core_fault fault;

	if (emulated_try(m, insn_addr, insns, 0, &fault))
		machine_die("fault %d at instruction %u of %u, address %#x", fault.reason,
			    fault.insn_index, insns, fault.addr);
}

struct vtaops_core emulated_core(const struct core_config *cfg)
{
	return (struct vtaops_core) {
		.log_inp_width = cfg->log_inp_width, .log_wgt_width = cfg->log_wgt_width,
		.log_acc_width = cfg->log_acc_width, .log_batch = cfg->log_batch,
		.log_block = cfg->log_block, .log_uop_buff_size = cfg->log_uop_buff_size,
		.log_inp_buff_size = cfg->log_inp_buff_size,
		.log_wgt_buff_size = cfg->log_wgt_buff_size,
		.log_acc_buff_size = cfg->log_acc_buff_size,
	};
}

void emulated_init(struct machine *m, const struct core_config *cfg, uint32_t size,
		   enum core_order order, uint64_t seed)
{
	struct core_config shallow = *cfg;
	char err[256];

	*m = (struct machine) {
		.core = emulated_core(cfg), .base = BASE, .size = size, .run = run,
	};
	shallow.log_tokens = 8;
	shallow.log_waiting = 9;
	if (core_config_check(&shallow, err, sizeof(err)))
		machine_die("configuration: %s", err);
	if (vtaops_core_init(&m->core))
		machine_die("the library refuses a configuration that the emulator takes");
	m->model = core_new(&shallow, order, seed);
	m->mem = calloc(1, size);
	if (!m->model || !m->mem)
		machine_die("out of memory");
}

void emulated_fini(struct machine *m)
{
	core_free(m->model);
	free(m->mem);
}
