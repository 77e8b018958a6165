// SPDX-License-Identifier: Apache-2.0
/* Normalisation by the channels around a value. */
#include "cpu_impl.h"

int cpu_lrn_f32_need(const struct vtacpu_lrn_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->n, p->c, p->plane };
	uint64_t count = cpu_count(dims, 3);

	if (!count || !p->size || p->size > STEP_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(count, p->size < p->c ? p->size : p->c);
	return cpu_operand(need, count, 4) || cpu_operand(need, count, 4) ? -1 : 0;
}

void vtacpu_lrn_f32(const struct vtacpu_lrn_f32 *p, void *const *io, void *scratch)
{
	uint32_t before = (p->size - 1) / 2, after = p->size - 1 - before;
	const float *x = io[0];
	float *y = io[1];

	(void)scratch;
	for (size_t n = 0; n < p->n; n++, x += (size_t)p->c * p->plane)
		for (uint32_t c = 0; c < p->c; c++, y += p->plane) {
			uint32_t first = c > before ? c - before : 0;
			uint32_t last = p->c - 1 - c > after ? c + after : p->c - 1;

			memset(y, 0, p->plane * sizeof(*y));
			for (size_t k = first; k <= last; k++)
				for (size_t i = 0; i < p->plane; i++)
					y[i] += x[k * p->plane + i] * x[k * p->plane + i];
			for (size_t i = 0; i < p->plane; i++)
				y[i] = x[(size_t)c * p->plane + i] /
				       cpu_power(p->bias + p->alpha / (float)p->size * y[i],
						 p->beta);
		}
}
