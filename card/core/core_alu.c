// SPDX-License-Identifier: Apache-2.0
/*
 * core_alu.c - ALU's arithmetic
 *
 * One kernel per operation, so that none asks within its loops which it is. Values of an element
 * are computed side by side, elements one after the other: one may be the next one's operand.
 */
#include "core_impl.h"

#define LANES	8u	/* values that the compiler makes vectors of */

/* Results wrap, so they are computed unsigned. */
static inline int32_t shift_right(int32_t a, int32_t b)
{
	int32_t right = a >> ((b < 0 ? 0 : b > 31 ? 31 : b) & 31);
	int32_t left = (int32_t)((uint32_t)a << (b < 0 && b > -32 ? -b : 0));

	return b >= 0 ? right : b > -32 ? left : 0;
}

static inline int32_t compute_value(enum vta_isa_alu op, int32_t a, int32_t b)
{
	switch (op) {
	case VTA_ISA_MIN:
		return a < b ? a : b;
	case VTA_ISA_MAX:
		return a > b ? a : b;
	case VTA_ISA_ADD:
		return (int32_t)((uint32_t)a + (uint32_t)b);
	case VTA_ISA_SHR:
		return shift_right(a, b);
	case VTA_ISA_MUL:
		return (int32_t)((uint32_t)a * (uint32_t)b);
	}
	return a;
}

/* @lanes values: source and destination are the same ones, or do not overlap. */
static __always_inline
void compute(int32_t *dst, const int32_t *src, int32_t imm, uint32_t lanes, enum vta_isa_alu op)
{
	uint32_t i;

#pragma GCC ivdep
	for (i = 0; i < lanes; i++)
		dst[i] = compute_value(op, dst[i], src ? src[i] : imm);
}

static __always_inline
void run(const struct core_line *line, const int32_t *src, enum vta_isa_alu op)
{
	int32_t *dst = line->dst;
	uint32_t values = line->values, count, v;
	int32_t imm = line->imm;

	for (count = line->count; count; count--) {
		if (values % LANES)
			compute(dst, src, imm, values, op);
		else
			for (v = 0; v < values; v += LANES)
				compute(dst + v, src ? src + v : NULL, imm, LANES, op);
		dst += line->dst_step;
		if (src)
			src += line->src_step;
	}
}

static __always_inline void run_either(const struct core_line *line, enum vta_isa_alu op)
{
	if (line->src)
		run(line, line->src, op);
	else
		run(line, NULL, op);
}

static CORE_FOR_ALL_PROCESSORS void alu_min(const struct core_line *line)
{
	run_either(line, VTA_ISA_MIN);
}

static CORE_FOR_ALL_PROCESSORS void alu_max(const struct core_line *line)
{
	run_either(line, VTA_ISA_MAX);
}

static CORE_FOR_ALL_PROCESSORS void alu_add(const struct core_line *line)
{
	run_either(line, VTA_ISA_ADD);
}

static CORE_FOR_ALL_PROCESSORS void alu_shr(const struct core_line *line)
{
	run(line, line->src, VTA_ISA_SHR);
}

/* By a constant of 0 to 31. */
static CORE_FOR_ALL_PROCESSORS void alu_shr_imm(const struct core_line *line)
{
	int32_t *dst = line->dst;
	uint32_t values = line->values, count, v, i;
	int32_t imm = line->imm;

	for (count = line->count; count; count--, dst += line->dst_step) {
		for (v = 0; v + LANES <= values; v += LANES)
			for (i = 0; i < LANES; i++)
				dst[v + i] >>= imm;
		for (; v < values; v++)
			dst[v] >>= imm;
	}
}

static CORE_FOR_ALL_PROCESSORS void alu_mul(const struct core_line *line)
{
	run_either(line, VTA_ISA_MUL);
}

core_line_fn *core_alu_kernel(enum vta_isa_alu op, struct core_line *line)
{
	static core_line_fn *const kernels[] = {
		[VTA_ISA_MIN] = alu_min,
		[VTA_ISA_MAX] = alu_max,
		[VTA_ISA_ADD] = alu_add,
		[VTA_ISA_SHR] = alu_shr,
		[VTA_ISA_MUL] = alu_mul,
	};

	if (op != VTA_ISA_SHR || line->src)
		return kernels[op];
	if (line->imm >= 0) {
		line->imm = line->imm < 31 ? line->imm : 31;
		return alu_shr_imm;
	}
	/* A shift to the left is a product. */
	line->imm = line->imm > -32 ? (int32_t)(1u << -line->imm) : 0;
	return alu_mul;
}
