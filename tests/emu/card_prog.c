// SPDX-License-Identifier: GPL-2.0-only
#include "card_prog.h"

void prog_add(struct prog *p, struct insn insn)
{
	p->at[p->count++] = insn;
}

void prog_load(struct prog *p, enum insn_memory memory, uint32_t sram, uint32_t va, uint32_t n,
	       unsigned int flags)
{
	prog_add(p, insn_move(&(struct insn_move) {
		.opcode = INSN_LOAD,
		.flags = flags,
		.memory = memory,
		.sram_base = sram,
		.dram_base = va / insn_element_bytes(&core_config_default, memory),
		.y_size = 1,
		.x_size = n,
		.x_stride = n,
	}));
}

void prog_store(struct prog *p, uint32_t sram, uint32_t va, uint32_t n, unsigned int flags)
{
	prog_add(p, insn_move(&(struct insn_move) {
		.opcode = INSN_STORE,
		.flags = flags,
		.memory = INSN_OUT,
		.sram_base = sram,
		.dram_base = va / PROG_OUT_BYTES,
		.y_size = 1,
		.x_size = n,
		.x_stride = n,
	}));
}

void prog_add_imm(struct prog *p, int16_t imm, unsigned int flags)
{
	prog_add(p, insn_loop(&core_config_default, &(struct insn_loop) {
		.opcode = INSN_ALU,
		.flags = flags,
		.uop_end = 1,
		.iter_out = 1,
		.iter_in = 1,
		.alu_opcode = INSN_ADD,
		.use_imm = true,
		.imm = imm,
	}));
}

void prog_busy(struct prog *p)
{
	prog_add(p, insn_loop(&core_config_default, &(struct insn_loop) {
		.opcode = INSN_GEMM,
		.uop_end = 8192,
		.iter_out = 16383,
		.iter_in = 16383,
	}));
}

void prog_finish(struct prog *p, unsigned int flags)
{
	prog_add(p, insn_finish(flags, (struct insn) { { 0, 0 } }));
}
