/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_insn.h - VTA instructions, decoded
 */
#ifndef VTA_EMU_CORE_INSN_H
#define VTA_EMU_CORE_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "vta_isa.h"

/* Indices into ACC, INP (GEMM) or ACC (ALU), and WGT. */
struct core_index {
	uint32_t dst;
	uint32_t src;
	uint32_t wgt;
};

/* The three modules, in the order in which data passes them. */
enum core_module_id {
	CORE_LOAD,
	CORE_COMPUTE,
	CORE_STORE,
	CORE_MODULES,
};

struct core_insn {
	enum vta_isa_opcode op;
	bool legal;		/* else the rest means nothing */
	bool pop_prev;
	bool pop_next;
	bool push_prev;
	bool push_next;
	union {
		struct vta_isa_move mem;
		struct vta_isa_loop loop;
	};
};

/* Returns the module that executes an instruction. Compute reports the illegal ones. */
enum core_module_id core_insn_module(const uint32_t words[4]);

#endif /* VTA_EMU_CORE_INSN_H */
