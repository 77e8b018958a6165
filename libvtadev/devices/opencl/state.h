/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what a run of vta.cl and the host share: one structure, in a buffer
 *
 * It is compiled as OpenCL C and as C. All numbers are little-endian.
 */
#ifndef VTA_CL_STATE_H
#define VTA_CL_STATE_H

#include "vta_isa.h"

#ifdef __OPENCL_C_VERSION__
typedef uint vta_u32;
typedef ulong vta_u64;
#else
#include <stdint.h>
typedef uint32_t vta_u32;
/* As aligned as OpenCL C has it, on 32-bit hosts, too. */
typedef uint64_t vta_u64 __attribute__((aligned(8)));
#endif

/* Instructions and tokens that a queue of them holds: docs/isa.md, section 3. */
#ifdef __OPENCL_C_VERSION__
#define VTA_WAITING	(1u << LOG_WAITING)
#define VTA_TOKENS	(1u << LOG_TOKENS)
#endif
#define VTA_MODULES	3u
#define VTA_TOKEN_QUEUES 4u

/* An entry of the page table: which page of the device's memory, and what is allowed. */
#define VTA_PAGE_LOG	12
#define VTA_ENTRY_READ	1u
#define VTA_ENTRY_WRITE	2u
#define VTA_ENTRY_SHIFT	2

/* Instructions that the host fetches at once, and vta_stream. */
#define VTA_CODE	256u
#define VTA_BLOCK	64u

/* The next step. */
enum vta_next {
	VTA_RUN,	/* by the kernel vta_stream: continue */
	VTA_WIDE,	/* a part of the loop in hand, by vta_wide, or by vta_stream if @shared */
	VTA_FETCH,	/* by the host: instructions from @fetched on, into the code */
	VTA_MOVE,	/* by the host: rows of the LOAD or STORE in hand, in the bounce */
	VTA_DONE,	/* nothing: the stream is at its end, */
	VTA_FAULTED,	/* or has faulted */
};

/* An instruction, and its place in the stream. */
struct vta_command {
	vta_u32 words[4];
	vta_u32 index;
};

/* LOAD and STORE. */
struct vta_move {
	struct vta_isa_move insn;
	vta_u32 elem;		/* bytes of an element in memory */
	vta_u32 bounce;		/* the rows go through the bounce */
};

/* GEMM and ALU. */
struct vta_loop {
	struct vta_isa_loop insn;
	vta_u32 apart;		/* its micro-ops do not depend on each other */
	vta_u64 done, count;	/* micro-ops */
};

struct vta_state {
	/* The run: set by the host, the rest zero but for the tokens that are kept. */
	vta_u64 cycle_limit;
	vta_u32 status;
	vta_u32 insn_addr, insn_count;
	vta_u32 kept[VTA_TOKEN_QUEUES];	/* tokens of the run before, pushed at cycle 0 */

	/* Instructions: how many are fetched, and which ones the code has. */
	vta_u32 fetched, code_first, code_count;
	vta_u32 fetch_reason, fetch_addr;	/* the one at @insn_count could not be */

	/* Results for the host. */
	vta_u32 reason, insn_index, insn[4];
	vta_u64 cycles, insns, gemm_uops, alu_uops;

	/* Tokens pushed in this run, and instructions that wait for their module. */
	vta_u32 token_head[VTA_TOKEN_QUEUES], tokens[VTA_TOKEN_QUEUES];
	vta_u32 wait_head[VTA_MODULES], waiting[VTA_MODULES];
	struct vta_command first[VTA_MODULES];
	vta_u64 free[VTA_MODULES];	/* the cycle at which the last one ended */

	/* The instruction in hand. */
	vta_u32 in_hand;		/* it has begun, and waits for the event of @status */
	vta_u32 module;
	vta_u64 end;			/* its last cycle */
	struct vta_command command;
	struct vta_move move;
	struct vta_loop loop;
};

/*
 * The state that work-items of vta_stream share. The host allocates it, since pocl 3.1 does
 * not compile a kernel of this size that has local variables.
 */
struct vta_group {
	struct vta_state s;
	vta_u32 todo;			/* enum todo */
	vta_u32 missing;		/* some page of the rows is not the device's */
	vta_u32 block[VTA_BLOCK * 4];	/* instructions from @block_first on */
	vta_u32 block_first, block_count;
	vta_u32 budget;			/* multiplications yet before the kernel ends */
	vta_u32 shared;			/* no launch of vta_wide is for this stream */
	vta_u64 part_end;		/* of the loop in hand: micro-ops to execute next */
	int dst_min, dst_max, src_min, src_max, wgt_max, gap, src_is_dst;
};

#endif /* VTA_CL_STATE_H */
