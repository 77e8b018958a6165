/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the operators' files: instructions are emitted here. */
#ifndef OPS_IMPL_H
#define OPS_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "vta_isa.h"
#include "vtaops.h"

/* Of <string.h>, which a freestanding compiler does not have. */
void *memset(void *dst, int value, size_t count);
void *memcpy(void *restrict dst, const void *restrict src, size_t count);
int memcmp(const void *a, const void *b, size_t count);

/* One LOAD or STORE; sizes in elements of @type. */
struct ops_move {
	enum vta_isa_memory type;
	uint32_t sram;
	uint32_t dram;		/* element index: device address / element bytes */
	uint32_t rows, cols, stride;
	uint32_t pad_top, pad_bottom, pad_left, pad_right;
};

/* The loops of a GEMM or ALU over micro-ops [bgn, end). */
struct ops_loop {
	uint32_t bgn, end;
	uint32_t iter_out, iter_in;
	uint32_t dst_out, dst_in;
	uint32_t src_out, src_in;
	uint32_t wgt_out, wgt_in;	/* GEMM */
};

/* Fields are 14 bits wide for iterations, 16 for sizes and 4 for padding in all cores. */
#define ITER_MAX	((1u << 14) - 1)
#define SIZE_MAX_16	((1u << 16) - 1)
#define PAD_MAX		15u

/* Larger than any useful layer, small enough that products of three fit 64 bits. */
#define DIM_MAX		(1u << 20)

int ops_fail(struct vtaops_builder *b, enum vtaops_error error, const char *why);
/* VTAOPS_EFIT: "@what takes @need @of; @have fit". */
int ops_fail_fit(struct vtaops_builder *b, const char *what, uint64_t need, const char *of,
		 uint64_t have);

/*
 * Tokens: ops_wait() before an instruction lets it pop, ops_signal() after it
 * lets it push.
 */
void ops_wait(struct vtaops_builder *b, unsigned int pops);
void ops_signal(struct vtaops_builder *b, unsigned int pushes);

void ops_load(struct vtaops_builder *b, const struct ops_move *m);
void ops_store(struct vtaops_builder *b, const struct ops_move *m);
void ops_gemm(struct vtaops_builder *b, const struct ops_loop *l, bool reset);
void ops_alu(struct vtaops_builder *b, const struct ops_loop *l, enum vta_isa_alu op);
void ops_alu_imm(struct vtaops_builder *b, const struct ops_loop *l, enum vta_isa_alu op, int imm);
/* A load of nothing by the module that loads @type, for its tokens. */
void ops_carry(struct vtaops_builder *b, enum vta_isa_memory type);

/* Add a micro-op to the stream's array. */
void ops_uop(struct vtaops_builder *b, uint32_t dst, uint32_t src, uint32_t wgt);
/*
 * Load the last @count micro-ops of the array into the scratchpad, behind
 * those there; returns their first index.
 */
uint32_t ops_uop_load(struct vtaops_builder *b, uint32_t count);

/*
 * A stream's state between operators. It lies in the builder's text, which an error alone needs:
 * programs allocate builders, so that they cannot grow. After an error it is not used.
 */
struct __attribute__((may_alias)) ops_between {
	bool pending, early;		/* a barrier is to come; but behind the next instruction */
	unsigned int to_load, to_compute;	/* tokens that the operator left behind */
	uint32_t wgt_at, wgt_used;	/* wgt elements that its last step uses */
	uint64_t stored_from, stored_end;	/* device addresses that it stores to */
	uint32_t acc_clipped;		/* so many accumulators hold values of OUT's range */
};

_Static_assert(sizeof(struct ops_between) <= sizeof(((struct vtaops_builder *)0)->text) &&
	       offsetof(struct vtaops_builder, text) % _Alignof(struct ops_between) == 0,
	       "the text has room for the state between operators");

static inline struct ops_between *ops_between(struct vtaops_builder *b)
{
	return (struct ops_between *)(void *)b->text;
}

/*
 * End an operator: before the next instruction take up the tokens that its pipeline left behind
 * (@to_load for the load module, @to_compute from the store module), and let no load of the next
 * operator begin before all stores so far are done.
 */
void ops_barrier(struct vtaops_builder *b, unsigned int to_load, unsigned int to_compute);
/*
 * Let the next instruction, the LOAD @m of WGT, begin before the barrier. Returns false if there is
 * none, if the LOAD would overwrite what is in use, or if it might read what is not stored yet.
 */
bool ops_load_early(struct vtaops_builder *b, const struct ops_move *m);

/* Bytes of an element in memory. */
uint32_t ops_element_bytes(const struct vtaops_core *core, enum vta_isa_memory type);

/* Device address to element index; fails unless [addr, addr + size) is good. */
uint32_t ops_element(struct vtaops_builder *b, uint32_t addr, uint64_t elements, uint32_t bytes);

/*
 * A part of a plane of @h × @w elements, from row @y and column @x on, which
 * may be outside: zeros are there.
 */
struct ops_region {
	enum vta_isa_memory type;
	uint32_t sram;
	uint32_t dram;		/* of the plane's first element */
	uint32_t h, w;
	int64_t y, x;
	uint32_t rows, cols;
};

/* Load it, by the module that loads its type. */
void ops_load_region(struct vtaops_builder *b, const struct ops_region *r);

/* Then load the element at @dram to where it reaches over the edges, instead of zeros. */
void ops_load_around(struct vtaops_builder *b, const struct ops_region *r, uint32_t dram);

/* As ops_load_region(), the same part of @planes planes that follow each other, @r the first. */
void ops_load_planes(struct vtaops_builder *b, const struct ops_region *r, uint32_t planes);

/*
 * Set the sizes of one move of @rows × @cols elements of each of @planes planes of @h × @w, which
 * follow each other there as in the scratchpad. Returns false if one move cannot do it.
 */
bool ops_join_planes(uint32_t planes, uint32_t rows, uint32_t cols, uint32_t h, uint32_t w,
		     struct ops_move *m);

static inline uint32_t ops_depth(uint32_t log_depth)
{
	return 1u << log_depth;
}

static inline uint32_t div_up(uint32_t a, uint32_t b)
{
	return a / b + (a % b != 0);
}

/* Of a convolution in @parts (vtaops_conv2d_parts()): whole blocks if there are several. */
static inline uint32_t ops_part_channels(const struct vtaops_core *core, uint32_t channels,
					 uint32_t parts)
{
	return parts > 1 ? div_up(channels, core->block) / parts * core->block : channels;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Do two ranges overlap? Address 0 means none: a caller that only counts has no addresses yet. */
static inline bool ops_overlap(uint32_t a, uint64_t a_bytes, uint32_t b, uint64_t b_bytes)
{
	return a && b && a < b + b_bytes && b < a + a_bytes;
}

/* a · b · c, or more than 32 bits can count if it is. */
static inline uint64_t ops_count3(uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t limit = 1ull << 33;
	uint64_t n;

	if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) || n > limit)
		return limit;
	return n;
}

/* Is padding of @pad before and @pad + @end behind less than the window's @reach? */
static inline bool ops_pads_ok(uint32_t in, uint64_t reach, uint32_t pad, int32_t end)
{
	int64_t behind = (int64_t)pad + end;

	return pad < reach && behind >= 0 && (uint64_t)behind < reach &&
	       reach <= in + (uint64_t)pad + (uint64_t)behind;
}

/* vtaops_out_size(), with @end more rows of padding behind. */
uint32_t ops_out_size(uint32_t in, uint32_t k, uint32_t dil, uint32_t stride, uint32_t pad,
		      int32_t end);

static inline bool dim_ok(uint32_t v)
{
	return v > 0 && v <= DIM_MAX;
}

/* ---- The cycles of a stream: docs/isa.md, section 9 ---- */

enum ops_module { OPS_LOAD, OPS_COMPUTE, OPS_STORE };

enum ops_token_queue {
	OPS_LOAD_TO_COMPUTE, OPS_COMPUTE_TO_LOAD, OPS_COMPUTE_TO_STORE, OPS_STORE_TO_COMPUTE,
	OPS_TOKEN_QUEUES,
};

/* Instruction @index of the stream; false if a token that it pops is not there. */
bool ops_time_insn(struct vtaops_time *t, enum ops_module module, uint64_t index, uint64_t cost,
		   unsigned int pops);
/* The instruction before pushes; false if there are too many tokens. */
bool ops_time_push(struct vtaops_time *t, unsigned int pushes);
/* Cycle at which all modules have ended. */
uint64_t ops_time_end(const struct vtaops_time *t);

#endif /* OPS_IMPL_H */
