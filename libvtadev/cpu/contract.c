// SPDX-License-Identifier: Apache-2.0
/* Sums of products of two tensors, over any dimensions. */
#include "cpu_impl.h"

int cpu_contract_f32_need(const struct vtacpu_contract_f32 *p, struct vtacpu_need *need)
{
	if (p->rank > VTACPU_RANK_MAX || p->kept > p->rank || !cpu_count(p->dims, p->rank))
		return cpu_bad(need, "a size is 0, or too large");
	if (cpu_flag_ok(need, p->has_b) ||
	    cpu_strided_need(need, p->rank, p->dims, p->a_stride, 4))
		return -1;
	if (p->has_b ? cpu_strided_need(need, p->rank, p->dims, p->b_stride, 4) :
	    cpu_operand_if(need, false, 0, 4))
		return -1;
	need->work = cpu_count(p->dims, p->rank);
	return cpu_operand(need, cpu_count(p->dims, p->kept), 4);
}

void vtacpu_contract_f32(const struct vtacpu_contract_f32 *p, void *const *io, void *scratch)
{
	static const uint32_t none[VTACPU_RANK_MAX];
	struct cpu_places at = { .rank = p->rank, .dims = p->dims };
	size_t count = (size_t)cpu_count(p->dims, p->kept);
	size_t each = (size_t)cpu_count(p->dims, p->rank) / count;
	const float *a = io[0], *b = io[1];

	(void)scratch;
	for (size_t i = 0; i < count; i++) {
		float sum = 0;

		for (size_t k = 0; k < each; k++) {
			sum += p->has_b ? a[at.a] * b[at.b] : a[at.a];
			cpu_next_place(&at, p->a_stride, p->has_b ? p->b_stride : none, NULL);
		}
		((float *)io[2])[i] = sum;
	}
}
