/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_insn.h - instructions of the VTA core by hand (docs/isa.md)
 */
#ifndef VTA_INSN_H
#define VTA_INSN_H

#include <stdint.h>

#include "vta.h"

enum { OPCODE_LOAD, OPCODE_STORE, OPCODE_GEMM, OPCODE_FINISH, OPCODE_ALU };
enum { POP_PREV = 1, POP_NEXT = 2, PUSH_PREV = 4, PUSH_NEXT = 8 };
enum { MEM_UOP, MEM_WGT, MEM_INP, MEM_ACC, MEM_OUT, MEM_ACC_8BIT };
enum { ALU_MIN, ALU_MAX, ALU_ADD, ALU_SHR, ALU_MUL };

struct insn {
	uint64_t word[2];	/* little-endian */
};

/* The core's configuration: log2 of depths and of elements' bytes. */
struct core {
	unsigned int batch, block;
	unsigned int log_uop_depth, log_inp_depth, log_wgt_depth, log_acc_depth;
	unsigned int inp_bytes, wgt_bytes, acc_bytes;
};

struct core core_of(const struct vta_info *info);

/* LOAD and STORE of @rows rows of @cols elements, packed. */
struct insn insn_mem(unsigned int opcode, unsigned int tokens, unsigned int type,
		     unsigned int sram, uint32_t dram, unsigned int rows, unsigned int cols);
struct insn insn_finish(unsigned int tokens);

/* The loops that GEMM and ALU have in common. */
struct loops {
	unsigned int uop_begin, uop_end;
	unsigned int outer, inner;
	unsigned int dst[2], src[2], wgt[2];	/* factors: outer, inner */
};

struct insn insn_gemm(const struct core *core, unsigned int tokens, unsigned int reset,
		      const struct loops *loops);
struct insn insn_alu(const struct core *core, unsigned int tokens, unsigned int op,
		     int imm, const struct loops *loops);
uint32_t uop(const struct core *core, unsigned int dst, unsigned int src, unsigned int wgt);

#endif /* VTA_INSN_H */
