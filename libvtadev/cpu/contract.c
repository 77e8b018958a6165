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

/*
 * Is one dimension summed, and has one of the operands not the last one of the output? Then its
 * rows are products of a row with a matrix; the row is b if @swapped.
 */
static bool is_rows(const struct vtacpu_contract_f32 *p, bool *swapped)
{
	uint32_t last = p->kept - 1;

	if (!p->has_b || !p->kept || p->rank != p->kept + 1)
		return false;
	*swapped = p->a_stride[last] != 0;
	return !*swapped || !p->b_stride[last];
}

static void multiply_rows(const struct vtacpu_contract_f32 *p, const float *a, const float *b,
			  float *y, bool swapped)
{
	const uint32_t *x_stride = swapped ? p->b_stride : p->a_stride;
	const uint32_t *w_stride = swapped ? p->a_stride : p->b_stride;
	uint32_t last = p->kept - 1;
	struct cpu_places at = { .rank = last, .dims = p->dims };
	size_t rows = (size_t)cpu_count(p->dims, last);
	struct cpu_row row = {
		.step = x_stride[p->kept], .row = w_stride[last], .col = w_stride[p->kept],
		.k = p->dims[p->kept], .n = p->dims[last],
	};

	for (size_t i = 0; i < rows; i++, y += row.n) {
		row.x = (swapped ? b : a) + at.a;
		row.w = (swapped ? a : b) + at.b;
		row.y = y;
		cpu_row_f32(&row);
		cpu_next_place(&at, x_stride, w_stride, NULL);
	}
}

void vtacpu_contract_f32(const struct vtacpu_contract_f32 *p, void *const *io, void *scratch)
{
	static const uint32_t none[VTACPU_RANK_MAX];
	struct cpu_places at = { .rank = p->rank, .dims = p->dims };
	size_t count = (size_t)cpu_count(p->dims, p->kept);
	size_t each = (size_t)cpu_count(p->dims, p->rank) / count;
	const float *a = io[0], *b = io[1];
	bool swapped;

	(void)scratch;
	if (is_rows(p, &swapped)) {
		multiply_rows(p, a, b, io[2], swapped);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		float sum = 0;

		for (size_t k = 0; k < each; k++) {
			sum += p->has_b ? a[at.a] * b[at.b] : a[at.a];
			cpu_next_place(&at, p->a_stride, p->has_b ? p->b_stride : none, NULL);
		}
		((float *)io[2])[i] = sum;
	}
}
