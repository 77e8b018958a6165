// SPDX-License-Identifier: Apache-2.0
/*
 * The inner loops of convolutions and matrix products. A block of the output stays in
 * registers while the sums are made; each sum is made in the order of l, so the block's
 * shape does not change a result.
 *
 * With VTACPU_AVX2 they are there once more for wider vectors, which the processor may have or not:
 * the bits are the same, as nothing is contracted.
 */
#include "cpu_impl.h"

typedef float v8 __attribute__((vector_size(32), aligned(16)));

/* Rows that do not exist repeat the last: no branch in the loop. */
static inline __attribute__((always_inline))
void mac(v8 acc[MAC_ROWS], const float *a, size_t a_row, size_t a_col, uint32_t rows,
	 const float *panel, size_t k)
{
	const float *r[MAC_ROWS];

	for (unsigned int i = 0; i < MAC_ROWS; i++)
		r[i] = a + (i < rows ? i : rows - 1) * a_row;
	for (size_t l = 0; l < k; l++) {
		v8 b = *(const v8 *)(panel + l * MAC_COLS);

#pragma GCC unroll 6
		for (unsigned int i = 0; i < MAC_ROWS; i++)
			acc[i] += r[i][l * a_col] * b;
	}
}

static inline __attribute__((always_inline))
void mac_block(float *out, const float *start, const float *a, size_t a_row, size_t a_col,
	       uint32_t rows, const float *panel, size_t k)
{
	v8 acc[MAC_ROWS];

#pragma GCC unroll 6
	for (unsigned int i = 0; i < MAC_ROWS; i++) {
		float v = start && i < rows ? start[i] : 0;

		acc[i] = (v8) { v, v, v, v, v, v, v, v };
	}
	if (a_col == 1)
		mac(acc, a, a_row, 1, rows, panel, k);
	else
		mac(acc, a, a_row, a_col, rows, panel, k);
#pragma GCC unroll 6
	for (unsigned int i = 0; i < MAC_ROWS; i++)
		memcpy(out + i * MAC_COLS, &acc[i], sizeof(v8));
}

static inline __attribute__((always_inline))
void dot_block(int32_t *out, const int16_t *a, const int16_t *b, size_t k)
{
	const int16_t *a1 = a + k, *b1 = b + k, *b2 = b1 + k, *b3 = b2 + k;
	uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;

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

#ifdef VTACPU_AVX2
static __attribute__((target("avx2")))
void mac_avx2(float *out, const float *start, const float *a, size_t a_row, size_t a_col,
	      uint32_t rows, const float *panel, size_t k)
{
	mac_block(out, start, a, a_row, a_col, rows, panel, k);
}

static __attribute__((target("avx2")))
void dot_avx2(int32_t *out, const int16_t *a, const int16_t *b, size_t k)
{
	dot_block(out, a, b, k);
}
#endif

void cpu_mac_f32(float out[MAC_ROWS * MAC_COLS], const float *start, const float *a,
		 size_t a_row, size_t a_col, uint32_t rows, const float *panel, size_t k)
{
#ifdef VTACPU_AVX2
	if (__builtin_cpu_supports("avx2")) {
		mac_avx2(out, start, a, a_row, a_col, rows, panel, k);
		return;
	}
#endif
	mac_block(out, start, a, a_row, a_col, rows, panel, k);
}

void cpu_dot_i16(int32_t out[DOT_ROWS * DOT_COLS], const int16_t *a, const int16_t *b,
		 size_t k)
{
#ifdef VTACPU_AVX2
	if (__builtin_cpu_supports("avx2")) {
		dot_avx2(out, a, b, k);
		return;
	}
#endif
	dot_block(out, a, b, k);
}
