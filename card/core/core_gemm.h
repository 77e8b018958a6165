/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_gemm.h - GEMM's kernels: one block of weights times many rows of inputs
 *
 * For each row: acc[out] += sum over in of (inp[in] - CORE_INP_ZERO) * wgt[out][in], wrapping.
 *
 * A row of inputs has its values as bytes with CORE_INP_ZERO added, as instructions that multiply
 * unsigned by signed bytes want them. A block of weights is int8_t[quads][block][4]: four values
 * of the inner dimension side by side, a quad, with the output channel in the middle. A block of 2
 * has one quad, which is filled up with weights of 0.
 */
#ifndef VTA_EMU_CORE_GEMM_H
#define VTA_EMU_CORE_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORE_INP_ZERO	0x80
#define CORE_QUAD	4u

/**
 * struct core_rows - the rows that a kernel multiplies by one block, in a plane
 * @count: rows, and lines of them
 * @dst: from a row to the next, and from a line to the next, in sums
 * @src: the same of inputs, in bytes
 *
 * Several rows may have one destination, or one source.
 */
struct core_rows {
	uint32_t count[2];
	size_t dst[2];
	size_t src[2];
};

/* A micro-op as the loops use it; fields have at most 16 bits. */
struct core_uop {
	uint16_t dst;
	uint16_t src;
	uint16_t wgt;
};

/* As a row of fields: so many at a time, of which the compiler makes vectors. */
#define CORE_UOP_FIELDS		(sizeof(struct core_uop) / sizeof(uint16_t))
#define CORE_UOPS_AT_ONCE	16u

/**
 * struct core_list - micro-ops of one row each, whose blocks of weights differ
 * @uop: the first one
 * @n: number of them
 * @acc: where their indices begin, as @inp and @wgt
 * @inp: the rows
 * @wgt: the blocks
 * @dst: sums of a row; @src: bytes of a row; @block_bytes: bytes of a block
 */
struct core_list {
	const struct core_uop *uop;
	uint32_t n;
	int32_t *acc;
	const uint8_t *inp;
	const int8_t *wgt;
	size_t dst, src, block_bytes;
};

typedef void core_gemm_list_fn(uint32_t block, const struct core_list *list);
typedef void core_gemm_fn(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
			  const struct core_rows *rows);

/**
 * struct core_gemm - a kernel; all compute the same bits
 * @name: the instruction set that it uses
 * @block: the smallest block that it computes
 * @supported: whether this processor has the instruction set; NULL: any has
 * @run: the kernel
 * @run_list: the same of a list, or NULL: it is @run for each
 */
struct core_gemm {
	const char *name;
	uint32_t block;
	bool (*supported)(void);
	core_gemm_fn *run;
	core_gemm_list_fn *run_list;
};

/* All kernels that this build has, the best first, the portable one last, and NULL. */
extern const struct core_gemm *const core_gemms[];

/* Returns true if this processor can compute blocks of @block by @gemm. */
bool core_gemm_usable(const struct core_gemm *gemm, uint32_t block);

/*
 * Returns the kernel for blocks of @block by the rules of core_kernel() (core.h), or NULL.
 */
#define CORE_GEMM_ENV	"VTA_CORE_GEMM"
const struct core_gemm *core_gemm_choose(uint32_t block);

/* Quads of a row of @block values. */
static inline uint32_t core_quads(uint32_t block)
{
	return (block + CORE_QUAD - 1) / CORE_QUAD;
}

/* core_gemm_x86.c, core_gemm_arm.c */
extern const struct core_gemm core_gemm_avx512vnni, core_gemm_avxvnni, core_gemm_avx2;
extern const struct core_gemm core_gemm_sse2;
extern const struct core_gemm core_gemm_neon;

/* The place in a block of the weight from input channel @in to output channel @out. */
static inline size_t core_wgt_offset(size_t block, size_t out, size_t in)
{
	return (in / CORE_QUAD * block + out) * CORE_QUAD + in % CORE_QUAD;
}

#endif /* VTA_EMU_CORE_GEMM_H */
