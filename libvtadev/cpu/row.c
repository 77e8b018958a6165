// SPDX-License-Identifier: Apache-2.0
/*
 * Products of a row with a matrix: y[j] = start[j] + sum over l of x[l] * w[j * row + l * col], in
 * the order of l. Each value of the matrix is used once, so it is read where it is.
 */
#include "cpu_impl.h"

#define GROUPS	2u		/* of eight outputs at a time, whose sums are independent */
#define WIDE	64u		/* outputs at a time that are one behind the other in the matrix */
#define AHEAD	64u		/* floats that are asked for before they are needed */
#define LINE	2u		/* vectors of 64 bytes */

/* The sums of outputs [@j, @j + @n) from product @l on. */
CPU_BODY add_rest(const struct cpu_row *p, size_t j, uint32_t n, size_t l)
{
	for (; n--; j++) {
		const float *w = p->w + j * p->row;
		float sum = p->y[j];

		for (size_t i = l; i < p->k; i++)
			sum += p->x[i * p->step] * w[i * p->col];
		p->y[j] = sum;
	}
}

/* Eight outputs for each of @groups: the values of eight rows, l to l + 7, become columns. */
CPU_BODY add_groups(const struct cpu_row *p, size_t j, uint32_t groups)
{
	const float *w = p->w + j * p->row;
	cpu_v8 acc[GROUPS], tile[CPU_LANES];
	size_t l = 0;

	for (uint32_t g = 0; g < groups; g++)
		acc[g] = *(const cpu_v8 *)(p->y + j + g * CPU_LANES);
	for (; l + CPU_LANES <= p->k; l += CPU_LANES) {
#pragma GCC unroll 2
		for (uint32_t g = 0; g < groups; g++) {
			const float *from = w + g * CPU_LANES * p->row + l;

#pragma GCC unroll 8
			for (uint32_t i = 0; i < CPU_LANES; i++)
				__builtin_prefetch(from + i * p->row + AHEAD);
			cpu_transpose((float *)tile, CPU_LANES, from, p->row);
#pragma GCC unroll 8
			for (uint32_t i = 0; i < CPU_LANES; i++)
				acc[g] += cpu_splat(p->x[(l + i) * p->step]) * tile[i];
		}
	}
	for (uint32_t g = 0; g < groups; g++)
		*(cpu_v8 *)(p->y + j + g * CPU_LANES) = acc[g];
	add_rest(p, j, groups * CPU_LANES, l);
}

/* @n vectors of outputs whose values are one behind the other in the matrix. */
CPU_BODY add_vectors(const struct cpu_row *p, size_t j, uint32_t n)
{
	const float *w = p->w + j;
	cpu_v8 acc[WIDE / CPU_LANES];

	for (uint32_t i = 0; i < n; i++)
		acc[i] = *(const cpu_v8 *)(p->y + j + i * CPU_LANES);
	for (size_t l = 0; l < p->k; l++, w += p->col) {
		cpu_v8 x = cpu_splat(p->x[l * p->step]);

#pragma GCC unroll 8
		for (uint32_t i = 0; i < n; i++) {
			if (i % LINE == 0)
				__builtin_prefetch(w + 8 * p->col + i * CPU_LANES);
			acc[i] += x * *(const cpu_v8 *)(w + i * CPU_LANES);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		*(cpu_v8 *)(p->y + j + i * CPU_LANES) = acc[i];
}

CPU_BODY cpu_row_f32_body(bool wide, const struct cpu_row *p)
{
	size_t j = 0;

	(void)wide;
	if (p->start)
		memcpy(p->y, p->start, p->n * sizeof(float));
	else
		memset(p->y, 0, p->n * sizeof(float));
	if (p->col == 1) {
		for (; j + GROUPS * CPU_LANES <= p->n; j += GROUPS * CPU_LANES)
			add_groups(p, j, GROUPS);
		for (; j + CPU_LANES <= p->n; j += CPU_LANES)
			add_groups(p, j, 1);
	} else if (p->row == 1) {
		for (; j + WIDE <= p->n; j += WIDE)
			add_vectors(p, j, WIDE / CPU_LANES);
		for (; j + CPU_LANES <= p->n; j += CPU_LANES)
			add_vectors(p, j, 1);
	}
	add_rest(p, j, (uint32_t)(p->n - j), 0);
}

CPU_WIDE(cpu_row_f32, (const struct cpu_row *p), p)
