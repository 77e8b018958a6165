// SPDX-License-Identifier: Apache-2.0
/* Determinants, by elimination. */
#include "cpu_impl.h"

int cpu_det_f32_need(const struct vtacpu_det_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->count, p->n, p->n };
	uint64_t count = cpu_count(dims, 3);

	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(count, p->n);
	return cpu_operand(need, count, 4) || cpu_operand(need, p->count, 4) ||
	       cpu_scratch(need, cpu_mul(cpu_mul(p->n, p->n), 8)) ? -1 : 0;
}

static double magnitude(double x)
{
	return x < 0 ? -x : x;
}

/* Exchange row @k with the one below whose value in column @k is the greatest: do they differ? */
static bool pivot(double *a, size_t n, size_t k)
{
	size_t best = k;

	for (size_t i = k + 1; i < n; i++)
		if (magnitude(a[i * n + k]) > magnitude(a[best * n + k]))
			best = i;
	for (size_t j = 0; best != k && j < n; j++) {
		double v = a[k * n + j];

		a[k * n + j] = a[best * n + j];
		a[best * n + j] = v;
	}
	return best != k;
}

static double determinant(double *a, size_t n)
{
	double y = 1;

	for (size_t k = 0; k < n; k++) {
		y = pivot(a, n, k) ? -y : y;
		y *= a[k * n + k];
		for (size_t i = k + 1; y != 0 && i < n; i++) {
			double by = a[i * n + k] / a[k * n + k];

			for (size_t j = k; j < n; j++)
				a[i * n + j] -= by * a[k * n + j];
		}
	}
	return y;
}

void vtacpu_det_f32(const struct vtacpu_det_f32 *p, void *const *io, void *scratch)
{
	size_t n = p->n;

	for (size_t i = 0; i < p->count; i++) {
		const float *x = (const float *)io[0] + i * n * n;
		double *a = scratch;

		for (size_t k = 0; k < n * n; k++)
			a[k] = (double)x[k];
		((float *)io[1])[i] = (float)determinant(a, n);
	}
}
