/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gen_impl.h - what the files of the stream generator share
 *
 * gen.c keeps the memory image, gen_ops.c makes single instructions,
 * gen_tokens.c orders them, gen_stream.c makes streams of them and gen_bad.c
 * breaks them.
 */
#ifndef TESTS_EMU_GEN_IMPL_H
#define TESTS_EMU_GEN_IMPL_H

#include "gen.h"

enum gen_module {
	GEN_LOAD,
	GEN_COMPUTE,
	GEN_STORE,
	GEN_MODULES,
};

/*
 * Spaces that several modules touch. Micro-ops are the compute module's own.
 * Memory is followed in words of GEN_MEM_WORD bytes, rounded outwards.
 */
enum gen_space {
	GEN_INP,
	GEN_WGT,
	GEN_ACC,
	GEN_MEM,
	GEN_SPACES,
};

#define GEN_MEM_WORD	4u

/* An instruction with its fields still apart. */
struct gen_op {
	enum gen_module module;
	bool is_loop;
	struct insn_move move;	/* !is_loop */
	struct insn_loop loop;	/* is_loop */
};

/* Properties of a stream's tokens, in percent. */
struct gen_style {
	unsigned int serial;		/* wait for all that came before */
	unsigned int late;		/* push from the newest, not the oldest possible */
	unsigned int extra_push;	/* tokens that nothing needs */
	unsigned int extra_pop;
};

/* Tokens from one module to another: the instruction that pushed each (1 is the module's first). */
struct gen_queue {
	uint16_t push[2 * GEN_INSNS_MAX];	/* position, or 0: of the stream before */
	unsigned int pushed, popped;
};

/* Order within one stream; see gen_tokens.c. Positions count from 1. */
struct gen_order {
	unsigned int count[GEN_MODULES];
	uint16_t index[GEN_MODULES][GEN_INSNS_MAX + 1];
	uint16_t clock[GEN_MODULES][GEN_INSNS_MAX + 1][GEN_MODULES];
	struct gen_queue queue[GEN_MODULES][GEN_MODULES];
	/* Position of each module's last read and write of each unit. */
	uint16_t *read[GEN_SPACES][GEN_MODULES];
	uint16_t *write[GEN_SPACES][GEN_MODULES];
	enum gen_module last;	/* module of the last instruction */
};

struct gen {
	struct core_config cfg;
	uint64_t rng;
	uint32_t depth[6];	/* by enum insn_memory */
	uint32_t bytes[6];	/* of an element, likewise */
	uint32_t largest;	/* element, in bytes */

	uint8_t *image;
	uint32_t base, size;
	uint32_t uops, consts, dump, data;	/* offsets of the image's parts */
	uint32_t rows;		/* and, in consts, of the unit matrix's rows, */
	uint32_t inp_chunks, wgt_chunks;	/* and of micro-ops; see gen_dump() */
	uint32_t data_size;

	uint32_t *uop;		/* the UOP scratchpad: no stream changes micro-ops in memory */
	struct gen_order *order;
	struct gen_stream *stream;
	struct gen_style style;
	uint64_t budget;	/* multiplications left for this stream */
	bool keep_tokens;	/* of the stream before */
};

/* Micro-ops in memory: the first is 0, then four lots for two virtual threads. */
#define GEN_UOPS		4096u
#define GEN_THREAD_UOPS		16u
#define GEN_UOP_GEMM(thread)	(1 + (thread) * 2 * GEN_THREAD_UOPS)
#define GEN_UOP_ALU(thread)	(GEN_UOP_GEMM(thread) + GEN_THREAD_UOPS)
#define GEN_UOPS_RANDOM		GEN_UOP_GEMM(2)

/* ---- Random numbers ---- */

uint64_t gen_bits(struct gen *gen);
uint32_t gen_below(struct gen *gen, uint32_t n);	/* 0 to n - 1; n > 0 */
uint32_t gen_scaled(struct gen *gen, uint32_t max);	/* 1 to max, each magnitude as often */
bool gen_chance(struct gen *gen, unsigned int percent);
struct insn gen_junk(struct gen *gen);

/* ---- gen.c ---- */

void *gen_must(void *p);	/* aborts if it is NULL */

/* Do what a LOAD of micro-ops does to gen->uop. */
void gen_load_uops(struct gen *gen, const struct insn_move *move);

/* Rows of the unit matrix that one INP element has. */
uint32_t gen_rows_per_inp(const struct gen *gen);

/* Have both virtual threads elements of their own in every scratchpad? */
bool gen_has_threads(const struct gen *gen);

/* ---- gen_ops.c ---- */

/* Elements of a scratchpad to keep to. */
struct gen_window {
	uint32_t first, count;
};

struct gen_window gen_whole(const struct gen *gen, enum insn_memory memory);

struct gen_op gen_op_any(struct gen *gen);
struct gen_op gen_op_load(struct gen *gen, enum insn_memory memory, struct gen_window to);
struct gen_op gen_op_store(struct gen *gen, struct gen_window from);
struct gen_op gen_op_gemm(struct gen *gen);
struct gen_op gen_op_alu(struct gen *gen);
struct gen_op gen_op_nothing(struct gen *gen, enum gen_module module);	/* carries tokens */

/* Decoded from what the UOP scratchpad holds. */
struct gen_uop {
	uint32_t dst, src, wgt;
};

struct gen_uop gen_uop_at(const struct gen *gen, uint32_t index);

/* The largest index of each kind in a range of micro-ops. */
struct gen_uop gen_uop_max(const struct gen *gen, uint32_t bgn, uint32_t end);

struct insn gen_encode(const struct gen *gen, const struct gen_op *op);

/* ---- gen_stream.c ---- */

/* Start a stream with tokens in a random style. */
void gen_begin(struct gen *gen, struct gen_stream *stream);

/* Let it grow to @count instructions or a few more. */
void gen_grow(struct gen *gen, uint32_t count);

/* End it, with or without FINISH. */
void gen_end(struct gen *gen);

/* ---- gen_tokens.c ---- */

struct gen_order *gen_order_new(const struct gen *gen);
void gen_order_free(struct gen_order *order);
void gen_order_begin(struct gen *gen);

/*
 * Append an instruction with the tokens that its hazards need; @flags are
 * INSN_POP_* taken where a token is there, and INSN_PUSH_*. Returns its index.
 */
uint32_t gen_emit(struct gen *gen, const struct gen_op *op, unsigned int flags);

/* The same for an instruction with no hazards. */
uint32_t gen_emit_raw(struct gen *gen, enum gen_module module, struct insn insn,
		      unsigned int flags);

/*
 * Interleave the modules' instructions anew; each module's keep their order,
 * so nothing changes but when they are fetched.
 */
void gen_order_mix(struct gen *gen);

#endif /* TESTS_EMU_GEN_IMPL_H */
