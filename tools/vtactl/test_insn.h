/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_insn.h - instructions of the core one by one (docs/isa.md)
 *
 * The self test does not use the library of operators: it is to try the card, with
 * every instruction there is.
 */
#ifndef VTACTL_TEST_INSN_H
#define VTACTL_TEST_INSN_H

#include <stdint.h>

#include "vtadev.h"

enum { OPCODE_LOAD, OPCODE_STORE, OPCODE_GEMM, OPCODE_FINISH, OPCODE_ALU };
enum { POP_PREV = 1, POP_NEXT = 2, PUSH_PREV = 4, PUSH_NEXT = 8 };
enum { MEM_UOP, MEM_WGT, MEM_INP, MEM_ACC, MEM_OUT, MEM_ACC_8BIT };
enum { ALU_MIN, ALU_MAX, ALU_ADD, ALU_SHR, ALU_MUL };

struct insn {
	uint64_t word[2];	/* little-endian */
};

/* The loop of GEMM and ALU: micro-op @uop, @count times; how far each goes on. */
struct loop {
	unsigned int uop, count, dst, src;
};

/* LOAD and STORE of one row of @count elements. */
struct insn insn_mem(unsigned int opcode, unsigned int tokens, unsigned int type,
		     unsigned int sram, uint32_t dram, unsigned int count);
struct insn insn_gemm(const struct vtadev_info *core, unsigned int tokens, unsigned int reset,
		      struct loop loop);
/* @imm: what to use, unless @use_imm is 0: then the accumulators that src names. */
struct insn insn_alu(const struct vtadev_info *core, unsigned int tokens, unsigned int op,
		     unsigned int use_imm, int imm, struct loop loop);
struct insn insn_finish(unsigned int tokens);
uint32_t insn_uop(const struct vtadev_info *core, unsigned int dst, unsigned int src);

#endif /* VTACTL_TEST_INSN_H */
