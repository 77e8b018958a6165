/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_insn.h - instructions of the core one by one (docs/isa.md)
 *
 * The self test does not use the library of operators, because it tries every instruction.
 */
#ifndef VTACTL_TEST_INSN_H
#define VTACTL_TEST_INSN_H

#include <stdint.h>

#include "vta_isa.h"
#include "vtadev.h"

/* The loop of GEMM and ALU: micro-op @uop, @count times; the step of each index. */
struct loop {
	unsigned int uop, count, dst, src;
};

/* All instructions are little-endian; @head is opcode and flags together. */

/* LOAD and STORE of one row of @count elements. */
struct vta_isa_insn insn_mem(unsigned int head, unsigned int type, unsigned int sram,
			     uint32_t dram, unsigned int count);
struct vta_isa_insn insn_gemm(const struct vtadev_info *core, unsigned int flags, bool reset,
			      struct loop loop);
/* Uses @imm, or the accumulators of src if @use_imm is 0. */
struct vta_isa_insn insn_alu(const struct vtadev_info *core, unsigned int flags,
			     enum vta_isa_alu op, bool use_imm, int imm, struct loop loop);
struct vta_isa_insn insn_finish(unsigned int flags);
uint32_t insn_uop(const struct vtadev_info *core, unsigned int dst, unsigned int src);

#endif /* VTACTL_TEST_INSN_H */
