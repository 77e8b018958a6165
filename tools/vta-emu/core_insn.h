/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_insn.h - VTA instructions, decoded
 */
#ifndef VTA_EMU_CORE_INSN_H
#define VTA_EMU_CORE_INSN_H

#include <stdbool.h>
#include <stdint.h>

#define CORE_INSN_SIZE	16

enum core_opcode {
	CORE_OP_LOAD	= 0,
	CORE_OP_STORE	= 1,
	CORE_OP_GEMM	= 2,
	CORE_OP_FINISH	= 3,
	CORE_OP_ALU	= 4,
};

enum core_memory {
	CORE_MEM_UOP		= 0,
	CORE_MEM_WGT		= 1,
	CORE_MEM_INP		= 2,
	CORE_MEM_ACC		= 3,
	CORE_MEM_OUT		= 4,
	CORE_MEM_ACC_8BIT	= 5,
};

enum core_alu_op {
	CORE_ALU_MIN	= 0,
	CORE_ALU_MAX	= 1,
	CORE_ALU_ADD	= 2,
	CORE_ALU_SHR	= 3,
	CORE_ALU_MUL	= 4,
};

/* LOAD and STORE; all in elements. */
struct core_mem_insn {
	enum core_memory type;
	uint32_t sram_base;
	uint32_t dram_base;
	uint32_t y_size;
	uint32_t x_size;
	uint32_t x_stride;
	uint32_t y_pad_0;
	uint32_t y_pad_1;
	uint32_t x_pad_0;
	uint32_t x_pad_1;
};

/* Indices into ACC, INP (GEMM) or ACC (ALU), and WGT. */
struct core_index {
	uint32_t dst;
	uint32_t src;
	uint32_t wgt;
};

/* GEMM and ALU. */
struct core_loop_insn {
	bool alu;
	bool reset;		/* GEMM */
	enum core_alu_op op;	/* ALU, and the two below */
	bool use_imm;
	int32_t imm;
	uint32_t uop_bgn;
	uint32_t uop_end;
	uint32_t iter_out;
	uint32_t iter_in;
	struct core_index factor_out;
	struct core_index factor_in;
};

/* The three modules, in the order in which data passes them. */
enum core_module_id {
	CORE_LOAD,
	CORE_COMPUTE,
	CORE_STORE,
	CORE_MODULES,
};

struct core_insn {
	enum core_opcode op;
	bool legal;		/* else the rest means nothing */
	bool pop_prev;
	bool pop_next;
	bool push_prev;
	bool push_next;
	union {
		struct core_mem_insn mem;
		struct core_loop_insn loop;
	};
};

/* Which module an instruction goes to; compute reports the illegal ones. */
enum core_module_id core_insn_module(const uint32_t words[4]);

/* How many micro-ops a GEMM or ALU executes. */
static inline uint64_t core_loop_count(const struct core_loop_insn *loop)
{
	if (loop->uop_bgn >= loop->uop_end)
		return 0;
	return (uint64_t)loop->iter_out * loop->iter_in * (loop->uop_end - loop->uop_bgn);
}

struct core;
struct core_uop;

/*
 * Executes @n micro-ops in sequence with @base added to their indices, all of
 * which have been checked.
 */
typedef void core_kernel_fn(const struct core *core, const struct core_loop_insn *loop,
			    const struct core_uop *uop, uint32_t n, struct core_index base);

#endif /* VTA_EMU_CORE_INSN_H */
