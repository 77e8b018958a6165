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

/* Instructions that the host fetches at once, and those that vta_stream plans at once. */
#define VTA_CODE	256u
#define VTA_PLAN	128u

/* Of each queue, the newest tokens are in local memory as well. */
#define VTA_NEAR	16u

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

/* An instruction, and all that its words tell. */
struct vta_planned {
	struct vta_command command;
	vta_u32 reason;		/* it faults with this reason; or 0 */
	vta_u64 cycles;		/* its cost; of a planned one, the cycle at which it ends */
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
	vta_u64 free[VTA_MODULES];	/* the cycle at which the last one planned ends */

	/* The plan: instructions of its block that are planned or wait, and entries executed. */
	vta_u32 block_at, block_count;
	vta_u32 taken, planned;

	/* The entry @taken, if it has begun. */
	vta_u32 in_hand;		/* it waits for the event of @status */
	struct vta_command command;
	struct vta_move move;
	struct vta_loop loop;
};

/* The plan of a core, kept between launches. */
struct vta_plan {
	struct vta_planned block[VTA_PLAN];	/* as they follow in the stream */
	struct vta_planned entries[VTA_PLAN];	/* in the order of execution */
	vta_u64 near[VTA_TOKEN_QUEUES * VTA_NEAR];
};

/* The indices of a range of micro-ops. */
struct vta_span {
	vta_u32 bgn, end;		/* of which; none if equal */
	vta_u32 dst_min, dst_max, src_min, src_max, wgt_max;
	int gap;			/* least difference of a dst and the next one */
	vta_u32 step;			/* divides all differences of two dst; 0: they are equal */
	vta_u32 own;			/* each src is its dst */
};

/* An ALU of several that have the same destinations, or a GEMM that resets. */
struct vta_pass {
	vta_u32 opcode, use_imm;
	int imm;
	vta_u32 own;			/* its source is its destination */
	vta_u32 uop_bgn, src_factor_out, src_factor_in;
};

/*
 * Work-items that look at micro-ops, ranges that are remembered, ALUs executed at once, and
 * micro-ops that are sorted at once.
 */
#define VTA_LOOKERS	32u
#define VTA_SPANS	16u
#define VTA_PASSES	8u
#define VTA_SORTED	128u

/* A GEMM or ALUs, which groups of a team can share: jobs.cl. */
struct vta_job {
	struct vta_isa_loop insn;
	vta_u32 bgn, end;		/* iterations of a GEMM, micro-ops of ALUs */
	vta_u32 each;			/* of a part */
	vta_u32 along;			/* parts of iterations; GEMM */
	vta_u32 each_uops;		/* of a part; GEMM */
	vta_u32 passes;			/* ALUs; 0: a GEMM */
	vta_u32 shared;			/* several groups may add to the same sums */
};

struct vta_team {
	vta_u32 next;			/* NEXT() of jobs.cl */
	vta_u32 done;			/* parts, by others than the first group */
	vta_u32 left;			/* groups that have ended */
	struct vta_job job;
	struct vta_pass passes[VTA_PASSES];
};

/*
 * Memory that work-items of vta_stream share. The host allocates it, since pocl 3.1 does not
 * compile a kernel of this size that has local variables.
 */
struct vta_group {
	struct vta_state s;
	struct vta_plan plan;
	union {
		struct vta_isa_move move;
		struct vta_isa_loop loop;
	} unpacked[VTA_PLAN];
	union {
		struct vta_span looks[VTA_LOOKERS];
		struct {
			vta_u32 dst[VTA_SORTED];	/* of micro-ops in their order */
			vta_u32 uops[VTA_SORTED];	/* by destination */
			/* Of each destination, the first in @uops, and their number << 16. */
			vta_u32 targets[VTA_SORTED], count;
		} sorted;
	};
	struct vta_span spans[VTA_SPANS];
	struct vta_pass passes[VTA_PASSES];
	vta_u32 jobs, part;		/* that the team has had, and that this group has in hand */
	vta_u32 missing;		/* the last turn with a page that is not the device's */
	vta_u32 late;			/* the turn after which the launch is to end */
};

#endif /* VTA_CL_STATE_H */
