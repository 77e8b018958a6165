// SPDX-License-Identifier: Apache-2.0
/*
 * The inner loops of convolutions and matrix products. A block of the output stays in
 * registers while the sums are made; each sum is made in the order of l, so the block's
 * shape does not change a result.
 */
#include "cpu_impl.h"

#define ROWS_MAX	6u
#define SPOTS_MAX	6u

uint32_t cpu_put_spots(struct cpu_spot *spots, uint32_t n, uint32_t in, uint32_t out)
{
	uint32_t count = 0;

	for (uint32_t c = 0; c < n; c += CPU_LANES)
		spots[count++] = (struct cpu_spot) { in + c, out + c,
						      min_u32(CPU_LANES, n - c) };
	return count;
}

/*
 * The place of a block: its rows of @a, its spots in @b and in @out, whose rows are @out_row apart,
 * and what its sums begin with: the values of @out if @resume, else @start.
 */
struct block {
	const float *a[ROWS_MAX], *b[SPOTS_MAX];
	float *out[SPOTS_MAX], start[ROWS_MAX];
	size_t out_row;
	bool resume;
};

/* Make the sums of @rows rows at @spots spots, constants: all stay in registers. */
CPU_BODY add_products(unsigned int rows, unsigned int spots, const struct cpu_product *p,
		      size_t a_col, const struct block *block)
{
	const uint32_t *at = p->at, *end = at + p->k;
	const float *a[ROWS_MAX], *b[SPOTS_MAX];
	cpu_v8 acc[ROWS_MAX][SPOTS_MAX];
	size_t l = 0;

#pragma GCC unroll 6
	for (unsigned int j = 0; j < spots; j++)
		b[j] = block->b[j];
#pragma GCC unroll 6
	for (unsigned int i = 0; i < rows; i++) {
		a[i] = block->a[i];
#pragma GCC unroll 6
		for (unsigned int j = 0; j < spots; j++)
			acc[i][j] = block->resume ?
				*(const cpu_v8 *)(block->out[j] + i * block->out_row) :
				cpu_splat(block->start[i]);
	}
	for (; at < end; at++, l += a_col) {
		cpu_v8 v[SPOTS_MAX];

#pragma GCC unroll 6
		for (unsigned int j = 0; j < spots; j++)
			v[j] = *(const cpu_v8 *)(b[j] + *at);
#pragma GCC unroll 6
		for (unsigned int i = 0; i < rows; i++) {
			cpu_v8 w = cpu_splat(a[i][l]);

#pragma GCC unroll 6
			for (unsigned int j = 0; j < spots; j++)
				acc[i][j] += w * v[j];
		}
	}
#pragma GCC unroll 6
	for (unsigned int i = 0; i < rows; i++)
#pragma GCC unroll 6
		for (unsigned int j = 0; j < spots; j++)
			*(cpu_v8 *)(block->out[j] + i * block->out_row) = acc[i][j];
}

/* A function of its own for each shape of a block: a loop has all registers to itself. */
typedef void add_fn(const struct cpu_product *p, const struct block *block);

#define NARROW	static __attribute__((noinline))
#define SHAPE(name, rows, spots)					\
void name(const struct cpu_product *p, const struct block *block)	\
{									\
	if (p->a_col == 1)						\
		add_products(rows, spots, p, 1, block);			\
	else								\
		add_products(rows, spots, p, p->a_col, block);		\
}

/* As many as 16 registers of 4 floats hold. */
NARROW SHAPE(add_6x1, 6, 1)
NARROW SHAPE(add_4x1, 4, 1)
NARROW SHAPE(add_2x1, 2, 1)
NARROW SHAPE(add_2x2, 2, 2)
NARROW SHAPE(add_1x1, 1, 1)
NARROW SHAPE(add_1x3, 1, 3)
#ifdef VTACPU_AVX2
#define WIDE	static __attribute__((noinline, target("avx2")))
WIDE SHAPE(wide_6x1, 6, 1)
WIDE SHAPE(wide_6x2, 6, 2)
WIDE SHAPE(wide_4x1, 4, 1)
WIDE SHAPE(wide_4x3, 4, 3)
WIDE SHAPE(wide_2x1, 2, 1)
WIDE SHAPE(wide_2x5, 2, 5)
WIDE SHAPE(wide_1x1, 1, 1)
WIDE SHAPE(wide_1x6, 1, 6)
#endif

/* Blocks of @rows rows: of @spots spots by @add, and of one by @add_one. */
struct shape {
	uint32_t rows, spots;
	add_fn *add, *add_one;
};

/* By the number of rows that are left. */
static const struct shape shapes[] = {
	{ 1, 3, add_1x3, add_1x1 }, { 2, 2, add_2x2, add_2x1 }, { 4, 1, add_4x1, add_4x1 },
	{ 4, 1, add_4x1, add_4x1 }, { 6, 1, add_6x1, add_6x1 }, { 6, 1, add_6x1, add_6x1 },
#ifdef VTACPU_AVX2
	{ 1, 6, wide_1x6, wide_1x1 }, { 2, 5, wide_2x5, wide_2x1 }, { 4, 3, wide_4x3, wide_4x1 },
	{ 4, 3, wide_4x3, wide_4x1 }, { 6, 2, wide_6x2, wide_6x1 }, { 6, 2, wide_6x2, wide_6x1 },
#endif
};

/* Eight floats for each of a block's rows and spots. */
typedef float sums[ROWS_MAX][SPOTS_MAX][CPU_LANES] __attribute__((aligned(32)));

/* The block has rows, spots or lanes that the output lacks: its sums are made apart. */
CPU_BODY mac_part(const struct cpu_product *p, add_fn *add, struct block *block, uint32_t rows,
		  uint32_t there, const struct cpu_spot *s, float *y)
{
	sums sum;

	block->out_row = SPOTS_MAX * CPU_LANES;
	for (uint32_t j = 0; j < SPOTS_MAX; j++)
		block->out[j] = sum[0][j];
	if (p->resume) {
		memset(sum, 0, sizeof(sum));
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < there; j++)
				cpu_copy_lanes(sum[i][j], y + i * p->y_row + s[j].out, s[j].lanes);
	}
	add(p, block);
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < there; j++)
			cpu_copy_lanes(y + i * p->y_row + s[j].out, sum[i][j], s[j].lanes);
}

/* A block of the output: rows from @row on, spots from @spot on; beyond the end, the last again. */
CPU_BODY mac_block(const struct cpu_product *p, add_fn *add, uint32_t rows, uint32_t spots,
		   uint32_t row, uint32_t spot)
{
	uint32_t real = min_u32(rows, p->rows - row), there = min_u32(spots, p->spot_count - spot);
	const struct cpu_spot *s = p->spots + spot;
	struct block block = { .out_row = p->y_row, .resume = p->resume };
	bool whole = real == rows && there == spots;
	float *y = p->y + row * p->y_row;

	for (uint32_t j = 0; j < spots; j++) {
		const struct cpu_spot *at = s + (j < there ? j : there - 1);

		block.b[j] = p->b + at->in;
		block.out[j] = y + at->out;
		whole = whole && at->lanes == CPU_LANES;
	}
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t r = row + (i < real ? i : real - 1);

		block.a[i] = p->a + r * p->a_row;
		block.start[i] = p->start ? p->start[r] : 0;
	}
	if (whole)
		add(p, &block);
	else
		mac_part(p, add, &block, real, there, s, y);
}

CPU_BODY cpu_mac_f32_body(bool wide, const struct cpu_product *p)
{
	uint32_t spot, rows;

	for (uint32_t row = 0; row < p->rows; row += rows) {
		const struct shape *shape = &shapes[min_u32(p->rows - row, ROWS_MAX) - 1 +
						    (wide ? ROWS_MAX : 0)];

		rows = shape->rows;
		for (spot = 0; spot + 1 < p->spot_count; spot += shape->spots)
			mac_block(p, shape->add, rows, shape->spots, row, spot);
		if (spot < p->spot_count)
			mac_block(p, shape->add_one, rows, 1, row, spot);
	}
}

CPU_WIDE(cpu_mac_f32, (const struct cpu_product *p), p)

CPU_BODY cpu_dot_i16_body(bool wide, int32_t *out, const int16_t *a, const int16_t *b, size_t k)
{
	const int16_t *a1 = a + k, *b1 = b + k, *b2 = b1 + k, *b3 = b2 + k;
	uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;

	(void)wide;
	for (size_t l = 0; l < k; l++) {
		int32_t u = a[l], v = a1[l];

		s0 += (uint32_t)(u * b[l]);
		s1 += (uint32_t)(u * b1[l]);
		s2 += (uint32_t)(u * b2[l]);
		s3 += (uint32_t)(u * b3[l]);
		t0 += (uint32_t)(v * b[l]);
		t1 += (uint32_t)(v * b1[l]);
		t2 += (uint32_t)(v * b2[l]);
		t3 += (uint32_t)(v * b3[l]);
	}
	out[0] = (int32_t)s0;
	out[1] = (int32_t)s1;
	out[2] = (int32_t)s2;
	out[3] = (int32_t)s3;
	out[4] = (int32_t)t0;
	out[5] = (int32_t)t1;
	out[6] = (int32_t)t2;
	out[7] = (int32_t)t3;
}

CPU_WIDE(cpu_dot_i16, (int32_t out[DOT_ROWS * DOT_COLS], const int16_t *a, const int16_t *b,
		       size_t k), out, a, b, k)
