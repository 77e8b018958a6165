/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * insn.h - VTA instructions as tests write them: named fields to 128 bits
 *
 * Field widths depend on the configuration; values that do not fit abort the
 * test, because a truncated operand would test something else than its name.
 */
#ifndef TESTS_EMU_INSN_H
#define TESTS_EMU_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"	/* struct core_config */

enum insn_opcode {
	INSN_LOAD	= 0,
	INSN_STORE	= 1,
	INSN_GEMM	= 2,
	INSN_FINISH	= 3,
	INSN_ALU	= 4,
};

enum insn_memory {
	INSN_UOP	= 0,
	INSN_WGT	= 1,
	INSN_INP	= 2,
	INSN_ACC	= 3,
	INSN_OUT	= 4,
	INSN_ACC_8BIT	= 5,
};

enum insn_alu_opcode {
	INSN_MIN	= 0,
	INSN_MAX	= 1,
	INSN_ADD	= 2,
	INSN_SHR	= 3,
	INSN_MUL	= 4,
};

/* Dependency flags, in place in word 0. */
#define INSN_POP_PREV	0x08u
#define INSN_POP_NEXT	0x10u
#define INSN_PUSH_PREV	0x20u
#define INSN_PUSH_NEXT	0x40u

struct insn {
	uint64_t word[2];
};

/* LOAD and STORE. Bits that no field covers come from @junk. */
struct insn_move {
	enum insn_opcode opcode;
	unsigned int flags;
	unsigned int memory;
	uint32_t sram_base, dram_base;
	uint32_t y_size, x_size, x_stride;
	uint32_t y_pad_0, y_pad_1, x_pad_0, x_pad_1;
	struct insn junk;
};

/* GEMM and ALU. wgt_* and reset are GEMM's; alu_opcode, use_imm, imm ALU's. */
struct insn_loop {
	enum insn_opcode opcode;
	unsigned int flags;
	bool reset;
	uint32_t uop_bgn, uop_end, iter_out, iter_in;
	uint32_t dst_out, dst_in, src_out, src_in, wgt_out, wgt_in;
	unsigned int alu_opcode;
	bool use_imm;
	int16_t imm;
	struct insn junk;
};

/* log2 of the scratchpads' depths in elements. */
unsigned int insn_log_uop_depth(const struct core_config *cfg);
unsigned int insn_log_inp_depth(const struct core_config *cfg);
unsigned int insn_log_wgt_depth(const struct core_config *cfg);
unsigned int insn_log_acc_depth(const struct core_config *cfg);

/* Bytes in memory of one element of a memory type. */
uint32_t insn_element_bytes(const struct core_config *cfg, enum insn_memory memory);

struct insn insn_move(const struct insn_move *move);
struct insn insn_loop(const struct core_config *cfg, const struct insn_loop *loop);
struct insn insn_finish(unsigned int flags, struct insn junk);

/* A micro-op; bits above its fields come from @junk. */
uint32_t insn_uop(const struct core_config *cfg, uint32_t dst, uint32_t src, uint32_t wgt,
		  uint32_t junk);

/* As the card reads it: 16 little-endian bytes. */
void insn_to_bytes(struct insn insn, uint8_t bytes[16]);

#endif /* TESTS_EMU_INSN_H */
