// SPDX-License-Identifier: GPL-2.0-only
/*
 * core_machine.c - a VTA core with memory, for the tests that run it alone
 */
#include <stdlib.h>
#include <string.h>

#include "core_machine.h"

const struct core_index no_index;

static enum vta_fault_reason mem_read(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr)
{
	struct machine *m = priv;

	if (len > MEM_SIZE || addr > MEM_SIZE - len) {
		*fault_addr = addr < MEM_SIZE ? MEM_SIZE : addr;
		return VTA_FAULT_PAGE;
	}
	memcpy(buf, m->mem + addr, len);
	if (access == VTA_ACCESS_INSN)
		m->fetched += len;
	return VTA_FAULT_NONE;
}

static enum vta_fault_reason mem_write(void *priv, uint32_t addr, const void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	struct machine *m = priv;

	(void)access;
	if (len > MEM_SIZE || addr > MEM_SIZE - len) {
		*fault_addr = addr < MEM_SIZE ? MEM_SIZE : addr;
		return VTA_FAULT_PAGE;
	}
	memcpy(m->mem + addr, buf, len);
	return VTA_FAULT_NONE;
}

static bool mem_stop(void *priv)
{
	struct machine *m = priv;

	m->asked++;
	return m->stop_after && m->asked > m->stop_after;
}

const struct core_mem_ops mem_ops = { mem_read, mem_write, mem_stop };

struct machine *machine_new(const struct core_config *cfg, enum core_order order)
{
	struct machine *m = calloc(1, sizeof(*m));
	char err[256];

	assert_non_null(m);
	if (core_config_check(cfg, err, sizeof(err)))
		fail_msg("%s", err);
	m->core = core_new(cfg, order, 1);
	assert_non_null(m->core);
	return m;
}

void machine_free(struct machine *m)
{
	core_free(m->core);
	free(m);
}

int machine_setup(void **state)
{
	*state = machine_new(&core_config_default, CORE_ORDER_INORDER);
	return 0;
}

int machine_teardown(void **state)
{
	machine_free(*state);
	return 0;
}

void put32(struct machine *m, uint32_t addr, uint32_t value)
{
	int i;

	for (i = 0; i < 4; i++)
		m->mem[addr + i] = (uint8_t)(value >> 8 * i);
}

/* ---- Programs --------------------------------------------------------------- */

void emit(struct machine *m, uint64_t word0, uint64_t word1)
{
	uint32_t addr = STREAM + m->insns++ * 16;

	put32(m, addr, (uint32_t)word0);
	put32(m, addr + 4, (uint32_t)(word0 >> 32));
	put32(m, addr + 8, (uint32_t)word1);
	put32(m, addr + 12, (uint32_t)(word1 >> 32));
}

void emit_mem(struct machine *m, uint64_t op, uint64_t type, uint64_t sram, uint64_t dram,
	      struct rows r)
{
	emit(m, op | type << 7 | sram << 10 | dram << 26,
	     r.y | r.x << 16 | r.stride << 32 | r.y0 << 48 | r.y1 << 52 | r.x0 << 56 | r.x1 << 60);
}

void emit_row(struct machine *m, uint64_t op, uint64_t type, uint64_t sram, uint64_t dram,
	      uint64_t x)
{
	emit_mem(m, op, type, sram, dram, (struct rows){ .y = 1, .x = x, .stride = x });
}

uint64_t loop_word(uint64_t op, uint64_t bgn, uint64_t end, uint64_t out, uint64_t in)
{
	return op | bgn << 8 | end << 21 | out << 35 | in << 49;
}

uint64_t gemm_word(struct core_index out, struct core_index in)
{
	return out.dst | (uint64_t)in.dst << 11 | (uint64_t)out.src << 22 |
	       (uint64_t)in.src << 33 | (uint64_t)out.wgt << 44 | (uint64_t)in.wgt << 54;
}

uint64_t alu_word(struct core_index out, struct core_index in, uint64_t op, bool use_imm,
		  int imm)
{
	return out.dst | (uint64_t)in.dst << 11 | (uint64_t)out.src << 22 |
	       (uint64_t)in.src << 33 | op << 44 | (uint64_t)use_imm << 47 |
	       (uint64_t)(uint16_t)imm << 48;
}

uint32_t uop_word(uint32_t dst, uint32_t src, uint32_t wgt)
{
	return dst | src << 11 | wgt << 22;
}

enum core_result run_limited(struct machine *m, uint64_t cycles)
{
	enum core_result result;

	result = core_run(m->core, &mem_ops, m, STREAM, m->insns, cycles, &m->stats, &m->fault);
	m->insns = 0;
	return result;
}

enum core_result run_program(struct machine *m)
{
	return run_limited(m, 0);
}

void run_ok(struct machine *m)
{
	enum core_result result = run_program(m);

	if (result != CORE_DONE)
		fail_msg("result %d, reason %d at instruction %u", result, m->fault.reason,
			 m->fault.insn_index);
}

void run_faults(struct machine *m, enum vta_fault_reason reason, uint32_t index)
{
	assert_int_equal(run_program(m), CORE_FAULT);
	assert_int_equal(m->fault.reason, reason);
	assert_int_equal(m->fault.insn_index, index);
}

void load_acc(struct machine *m, const int32_t *values, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n * 16; i++)
		put32(m, DATA + 4 * i, (uint32_t)values[i / 16]);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_ACC, 0, DATA / 64, n);
	run_ok(m);
}

void load_uops(struct machine *m, const uint32_t *uops, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		put32(m, DATA + 4 * i, uops[i]);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_UOP, 0, DATA / 4, n);
	run_ok(m);
}

int32_t acc_lane(const struct machine *m, uint32_t element, uint32_t lane)
{
	return ((const int32_t *)m->core->acc.mem)[element * 16 + lane];
}
