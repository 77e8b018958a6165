// SPDX-License-Identifier: Apache-2.0
/*
 * core_alu.c - ALU's arithmetic
 *
 * One kernel per operation, so that none asks within its loops which it is.
 */
#include "core_impl.h"

/* Results wrap, so they are computed unsigned. */
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
		if (b < 0)
			return b > -32 ? (int32_t)((uint32_t)a << -b) : 0;
		if (b >= 31)
			return a < 0 ? -1 : 0;
		return a >> b;
	case VTA_ISA_MUL:
		return (int32_t)((uint32_t)a * (uint32_t)b);
	}
	return a;
}

static __always_inline
void run(const struct core *core, const struct vta_isa_loop *loop, const struct core_uop *uop,
	 uint32_t n, struct core_index base, enum vta_isa_alu op)
{
	size_t values = (size_t)core->batch * core->block;
	int32_t *acc = core->acc.mem;
	const int32_t *src;
	int32_t *dst;
	size_t i;

	/* Source and destination are the same element, or do not overlap. */
	for (; n; n--, uop++) {
		dst = acc + (uop->dst + base.dst) * values;
		if (loop->use_imm) {
			for (i = 0; i < values; i++)
				dst[i] = compute_value(op, dst[i], loop->imm);
			continue;
		}
		src = acc + (uop->src + base.src) * values;
#pragma GCC ivdep
		for (i = 0; i < values; i++)
			dst[i] = compute_value(op, dst[i], src[i]);
	}
}

#define KERNEL(name, op)								\
	static void name(const struct core *core, const struct vta_isa_loop *loop,	\
			 const struct core_uop *uop, uint32_t n, struct core_index base) \
	{										\
		run(core, loop, uop, n, base, op);					\
	}

KERNEL(alu_min, VTA_ISA_MIN)
KERNEL(alu_max, VTA_ISA_MAX)
KERNEL(alu_add, VTA_ISA_ADD)
KERNEL(alu_shr, VTA_ISA_SHR)
KERNEL(alu_mul, VTA_ISA_MUL)

core_kernel_fn *core_alu_kernel(enum vta_isa_alu op)
{
	static core_kernel_fn *const kernels[] = {
		[VTA_ISA_MIN] = alu_min,
		[VTA_ISA_MAX] = alu_max,
		[VTA_ISA_ADD] = alu_add,
		[VTA_ISA_SHR] = alu_shr,
		[VTA_ISA_MUL] = alu_mul,
	};

	return kernels[op];
}
