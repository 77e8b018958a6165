/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_impl.h - what the files of the VTA core share among themselves
 *
 *   core_model.c   cores that are models: finding and making them
 *   core_config.c  configuration: reading and checking
 *   core.c         one core's life: scratchpads made, cleared, freed
 *   core_state.c   its state between runs, saved and restored
 *   core_run.c     a run: fetch, dispatch, tokens, order, cycles, faults
 *   core_insn.c    decoding, and checks before execution
 *   core_mem.c     LOAD and STORE
 *   core_loop.c    GEMM and ALU: their checks, and loops over micro-ops in the ISA's order
 *   core_gemm*.c   GEMM: its loops, and a kernel for each instruction set
 *   core_alu.c     ALU's arithmetic
 */
#ifndef VTA_EMU_CORE_IMPL_H
#define VTA_EMU_CORE_IMPL_H

#include "core.h"
#include "core_gemm.h"
#include "core_insn.h"
#include "core_model.h"

/* Compiles a function twice, and chooses when it is linked. Sanitizers do not take that. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CORE_FOR_ALL_PROCESSORS	__attribute__((target_clones("avx2", "default")))
#else
#define CORE_FOR_ALL_PROCESSORS
#endif

struct vta_isa_shape core_config_shape(const struct core_config *cfg);

/* A scratchpad. Elements are kept unpacked, in the form that is used most. */
struct core_pad {
	void *mem;
	size_t elem_size;	/* bytes of an element in @mem */
	uint8_t zero;		/* each byte of an element of zeroes */
	uint32_t depth;		/* elements */
	uint32_t used;		/* elements from here on are zero */
};

struct core_token_queue;
struct core_module;

struct core {
	const struct core_model *model;	/* NULL, or only @cfg and @self are used */
	void *self;
	struct core_config cfg;
	struct vta_isa_shape log;	/* depths are also the widths of fields */
	uint32_t batch;
	uint32_t block;
	/*
	 * Inputs are kept as uint8_t[batch][quads][4] with CORE_INP_ZERO added,
	 * weights as int8_t[quads][block][4] (core_gemm.h), and accumulators as
	 * int32_t[batch][block].
	 */
	uint32_t quads;
	struct core_pad uop;
	struct core_pad inp;
	struct core_pad wgt;
	struct core_pad acc;
	uint8_t *staging;		/* what moves from or to memory at once */
	size_t staging_size;		/* at least any memory's element */
	const struct core_gemm *gemm;
	enum core_order order;
	uint64_t rng;			/* continues from run to run */
	struct core_module *modules;
	struct core_token_queue *tokens;
	uint32_t tokens_max;		/* in one queue; a power of two */
	uint32_t waiting_max;		/* instructions fetched and not started; the same */
	bool keep_tokens;		/* of the run before, in the next one */
};

/* One call of core_run(): how the modules reach memory and report. */
struct core_run {
	struct core *core;
	const struct core_mem_ops *ops;
	void *priv;
	struct core_stats *stats;
	struct core_fault *fault;
};

static inline bool core_run_stopped(const struct core_run *run)
{
	return run->ops->stop(run->priv);
}

/* Fills in the fault, but for its instruction, which core_run.c knows. */
static inline enum core_result core_run_fault(struct core_run *run, enum vta_fault_reason reason,
					      enum vta_access access, uint32_t addr)
{
	run->fault->reason = reason;
	run->fault->access = access;
	run->fault->addr = addr;
	return CORE_FAULT;
}

/* core_insn.c */
void core_insn_decode(const struct core *core, const uint32_t words[4], struct core_insn *insn);
/* Cycles of a legal instruction, from its fields alone. */
uint64_t core_insn_cycles(const struct core *core, const struct core_insn *insn);

/* core_mem.c */
size_t core_mem_elem_size(const struct core *core, enum vta_isa_memory type);
/* @n elements from their form in memory to the scratchpad; not for OUT. */
void core_mem_unpack(const struct core *core, enum vta_isa_memory type, uint32_t index,
		     const uint8_t *from, uint32_t n);
/* Does every element the instruction touches lie in its scratchpad? */
bool core_mem_fits(struct core *core, const struct vta_isa_move *mem);
enum core_result core_mem_load(struct core_run *run, const struct vta_isa_move *mem);
enum core_result core_mem_store(struct core_run *run, const struct vta_isa_move *mem);

/* core_loop.c */
bool core_loop_fits(struct core *core, const struct vta_isa_loop *loop);
enum core_result core_loop_run(struct core_run *run, const struct vta_isa_loop *loop);

struct core_index core_index_at(const struct vta_isa_loop *loop, uint32_t i, uint32_t j);
uint32_t core_uops_between_stops(const struct core *core, const struct vta_isa_loop *loop);

/* core_gemm.c; all indices have been checked */
enum core_result core_gemm_run(struct core_run *run, const struct vta_isa_loop *loop);

/**
 * struct core_line - elements of ACC that one operation goes over, in this order
 * @dst: the first one to compute
 * @src: the first one's other operand, or NULL: it is @imm
 * @dst_step: values from an element to the next
 * @src_step: the same of @src
 * @count: elements
 * @values: values of an element
 * @imm: the other operand, if it is a constant
 */
struct core_line {
	int32_t *dst;
	const int32_t *src;
	size_t dst_step;
	size_t src_step;
	uint32_t count;
	uint32_t values;
	int32_t imm;
};

typedef void core_line_fn(const struct core_line *line);

/* core_alu.c: the kernel of an ALU instruction; it may change the line's constant. */
core_line_fn *core_alu_kernel(enum vta_isa_alu op, struct core_line *line);

/* core_run.c: the queues that a core keeps for its runs */
int core_queues_new(struct core *core);
void core_queues_free(struct core *core);
/* The tokens of each queue. A count above its capacity is set to the capacity. */
#define CORE_TOKEN_QUEUES	4
void core_tokens_get(const struct core *core, uint32_t count[CORE_TOKEN_QUEUES]);
void core_tokens_set(struct core *core, const uint32_t count[CORE_TOKEN_QUEUES]);

#endif /* VTA_EMU_CORE_IMPL_H */
