/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels' files: checks, activations, the integer output stage. */
#ifndef CPU_IMPL_H
#define CPU_IMPL_H

#include <stdbool.h>

#include "vtacpu.h"

/* Of <string.h>, which a freestanding compiler does not have. */
void *memset(void *dst, int value, size_t count);
void *memcpy(void *restrict dst, const void *restrict src, size_t count);
/* A freestanding compiler calls these even for a few bytes, unless it is asked by name. */
#define memcpy(dst, src, count) __builtin_memcpy(dst, src, count)
#define memset(dst, value, count) __builtin_memset(dst, value, count)

/* Strides, dilations and pads; so that positions fit 64 bits whatever the sizes are. */
#define STEP_MAX	(1u << 20)
/* The most that a dimension is. */
#define COUNT_MAX	(1u << 31)

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline size_t up8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/*
 * CPU_WIDE(NAME, (parameters), arguments) - define void NAME(parameters) by the always_inline
 * function NAME_body(bool wide, parameters)
 *
 * With VTACPU_AVX2 it is there twice: once more for wider vectors, which the processor may have or
 * not. @wide says that there are 16 registers of 8 floats. The bits are the same, as nothing is
 * contracted.
 */
#define CPU_INLINE	static inline __attribute__((always_inline))
#define CPU_BODY	CPU_INLINE void
#ifdef VTACPU_AVX2
#define CPU_WIDE(name, params, ...)						\
static __attribute__((target("avx2"))) void name##_avx2 params			\
{										\
	name##_body(true, __VA_ARGS__);						\
}										\
static void name##_any params							\
{										\
	name##_body(false, __VA_ARGS__);					\
}										\
void name params								\
{										\
	if (__builtin_cpu_supports("avx2"))					\
		name##_avx2(__VA_ARGS__);					\
	else									\
		name##_any(__VA_ARGS__);					\
}
#else
#define CPU_WIDE(name, params, ...)						\
void name params								\
{										\
	name##_body(false, __VA_ARGS__);					\
}
#endif

/* Eight floats, at any address of a float. */
#define CPU_LANES	8u
typedef float cpu_v8 __attribute__((vector_size(32), aligned(4), may_alias));

/* A macro, as a function that returns a vector has an ABI for each processor. */
#define cpu_splat(v)							\
({									\
	float cpu_splat_v = (v);					\
									\
	(cpu_v8) { cpu_splat_v, cpu_splat_v, cpu_splat_v, cpu_splat_v,	\
		   cpu_splat_v, cpu_splat_v, cpu_splat_v, cpu_splat_v };	\
})

/* The first @n of up to eight floats, without a loop. */
CPU_BODY cpu_copy_lanes(float *to, const float *from, uint32_t n)
{
	if (n == CPU_LANES) {
		*(cpu_v8 *)to = *(const cpu_v8 *)from;
		return;
	}
	if (n & 4)
		memcpy(to, from, 4 * sizeof(*to));
	if (n & 2)
		memcpy(to + (n & 4), from + (n & 4), 2 * sizeof(*to));
	if (n & 1)
		to[n - 1] = from[n - 1];
}

/* Pairs of lanes of two vectors, of the lower or upper half of each half; halves of these pairs. */
#define CPU_LOW(a, b)	__builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define CPU_HIGH(a, b)	__builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define CPU_FIRST(a, b)	__builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define CPU_LAST(a, b)	__builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)

/*
 * to[c * to_row + l] = from[l * from_row + c] for eight by eight floats: halves of rows are brought
 * together, then pairs of lanes, then lanes.
 */
CPU_BODY cpu_transpose(float *to, size_t to_row, const float *from, size_t from_row)
{
	typedef float half __attribute__((vector_size(16), aligned(4), may_alias));
	cpu_v8 r[CPU_LANES], t[CPU_LANES];

#pragma GCC unroll 8
	for (unsigned int i = 0; i < 4; i++) {
		const half *a = (const half *)(from + i * from_row);
		const half *b = (const half *)(from + (i + 4) * from_row);

		r[i] = __builtin_shufflevector(a[0], b[0], 0, 1, 2, 3, 4, 5, 6, 7);
		r[i + 4] = __builtin_shufflevector(a[1], b[1], 0, 1, 2, 3, 4, 5, 6, 7);
	}
#pragma GCC unroll 2
	for (unsigned int i = 0; i < CPU_LANES; i += 4) {
		t[i] = CPU_LOW(r[i], r[i + 1]);
		t[i + 1] = CPU_HIGH(r[i], r[i + 1]);
		t[i + 2] = CPU_LOW(r[i + 2], r[i + 3]);
		t[i + 3] = CPU_HIGH(r[i + 2], r[i + 3]);
		*(cpu_v8 *)(to + i * to_row) = CPU_FIRST(t[i], t[i + 2]);
		*(cpu_v8 *)(to + (i + 1) * to_row) = CPU_LAST(t[i], t[i + 2]);
		*(cpu_v8 *)(to + (i + 2) * to_row) = CPU_FIRST(t[i + 1], t[i + 3]);
		*(cpu_v8 *)(to + (i + 3) * to_row) = CPU_LAST(t[i + 1], t[i + 3]);
	}
}

/* ---- checking: need.c ---- */

static inline int cpu_bad(struct vtacpu_need *need, const char *why)
{
	need->why = why;
	return -1;
}

/* The product, or UINT64_MAX if it is more. */
uint64_t cpu_mul(uint64_t a, uint64_t b);
/* Each of the @rank dimensions from 1 to COUNT_MAX; their product, 0 if not. */
uint64_t cpu_count(const uint32_t *dims, uint32_t rank);
/* Operand @need->operands is @count values of @value bytes. */
int cpu_operand(struct vtacpu_need *need, uint64_t count, uint32_t value);
/* The same if @has, else an operand that is left out. */
int cpu_operand_if(struct vtacpu_need *need, bool has, uint64_t count, uint32_t value);
int cpu_scratch(struct vtacpu_need *need, uint64_t bytes);
int cpu_act_ok(struct vtacpu_need *need, const struct vtacpu_act *act);
/* A flag that is 0 or 1. */
int cpu_flag_ok(struct vtacpu_need *need, uint32_t flag);
/* Checks it, and adds its vectors as operands. */
int cpu_post_need(struct vtacpu_need *need, const struct vtacpu_post *post, bool y_unsigned,
		  uint64_t channels);

/* An operand with @stride values from one place to the next in each dimension. */
int cpu_strided_need(struct vtacpu_need *need, uint32_t rank, const uint32_t *dims,
		     const uint32_t *stride, uint32_t value);
/* Both operands of a broadcast, and which of them the output may be. */
int cpu_broadcast_need(const struct vtacpu_broadcast *c, struct vtacpu_need *need, uint32_t value);
/* One of enum vtacpu_type; the reason, if not, is set. */
bool cpu_type_ok(struct vtacpu_need *need, uint32_t type);

int cpu_conv_f32_need(const struct vtacpu_conv_f32 *p, struct vtacpu_need *need);
int cpu_conv_i8_need(const struct vtacpu_conv_i8 *p, struct vtacpu_need *need);
int cpu_gemm_f32_need(const struct vtacpu_gemm_f32 *p, struct vtacpu_need *need);
int cpu_gemm_packed_f32_need(const struct vtacpu_gemm_f32 *p, struct vtacpu_need *need);
int cpu_step_f32_need(const struct vtacpu_step_f32 *p, struct vtacpu_need *need);
int cpu_round_f32_need(const struct vtacpu_round_f32 *p, struct vtacpu_need *need);
int cpu_gemm_rounded_need(const struct vtacpu_gemm_rounded *p, struct vtacpu_need *need);
int cpu_gemm_i8_need(const struct vtacpu_gemm_i8 *p, struct vtacpu_need *need);
int cpu_pool_window_f32_need(const struct vtacpu_pool_window_f32 *p, struct vtacpu_need *need);
int cpu_pool_window_i8_need(const struct vtacpu_pool_window_i8 *p, struct vtacpu_need *need);
int cpu_binary_f32_need(const struct vtacpu_binary_f32 *p, struct vtacpu_need *need);
int cpu_binary_i8_need(const struct vtacpu_binary_i8 *p, struct vtacpu_need *need);
int cpu_unary_f32_need(const struct vtacpu_unary_f32 *p, struct vtacpu_need *need);
int cpu_rescale_i8_need(const struct vtacpu_rescale_i8 *p, struct vtacpu_need *need);
int cpu_table_i8_need(const struct vtacpu_table_i8 *p, struct vtacpu_need *need);
int cpu_batch_norm_f32_need(const struct vtacpu_batch_norm_f32 *p, struct vtacpu_need *need);
int cpu_softmax_f32_need(const struct vtacpu_softmax_f32 *p, struct vtacpu_need *need);
int cpu_reduce_f32_need(const struct vtacpu_reduce_f32 *p, struct vtacpu_need *need);
int cpu_resize_need(const struct vtacpu_resize *p, struct vtacpu_need *need);
int cpu_move_need(const struct vtacpu_move *p, struct vtacpu_need *need);
int cpu_pad_need(const struct vtacpu_pad *p, struct vtacpu_need *need);
int cpu_quantise_need(const struct vtacpu_quantise *p, struct vtacpu_need *need);
int cpu_dequantise_need(const struct vtacpu_dequantise *p, struct vtacpu_need *need);
int cpu_pack_need(const struct vtacpu_pack *p, struct vtacpu_need *need);
int cpu_unpack_need(const struct vtacpu_pack *p, struct vtacpu_need *need);
int cpu_binary_need(const struct vtacpu_binary *p, struct vtacpu_need *need);
int cpu_select_need(const struct vtacpu_select *p, struct vtacpu_need *need);
int cpu_cast_need(const struct vtacpu_cast *p, struct vtacpu_need *need);
int cpu_reduce_need(const struct vtacpu_reduce *p, struct vtacpu_need *need);
int cpu_log_softmax_f32_need(const struct vtacpu_softmax_f32 *p, struct vtacpu_need *need);
int cpu_norm_f32_need(const struct vtacpu_norm_f32 *p, struct vtacpu_need *need);
int cpu_norm_across_f32_need(const struct vtacpu_norm_f32 *p, struct vtacpu_need *need);
int cpu_norm_i8_need(const struct vtacpu_norm_i8 *p, struct vtacpu_need *need);
int cpu_gather_need(const struct vtacpu_gather *p, struct vtacpu_need *need);
int cpu_gather_elements_need(const struct vtacpu_elements *p, struct vtacpu_need *need);
int cpu_scatter_elements_need(const struct vtacpu_elements *p, struct vtacpu_need *need);
int cpu_gather_nd_need(const struct vtacpu_slices *p, struct vtacpu_need *need);
int cpu_scatter_nd_need(const struct vtacpu_slices *p, struct vtacpu_need *need);
int cpu_arg_need(const struct vtacpu_arg *p, struct vtacpu_need *need);
int cpu_top_need(const struct vtacpu_top *p, struct vtacpu_need *need);
int cpu_cum_sum_need(const struct vtacpu_cum_sum *p, struct vtacpu_need *need);
int cpu_recurrent_need(const struct vtacpu_recurrent *p, struct vtacpu_need *need);
int cpu_hardmax_f32_need(const struct vtacpu_softmax_f32 *p, struct vtacpu_need *need);
int cpu_one_hot_need(const struct vtacpu_one_hot *p, struct vtacpu_need *need);
int cpu_reverse_sequence_need(const struct vtacpu_reverse_sequence *p, struct vtacpu_need *need);
int cpu_lrn_f32_need(const struct vtacpu_lrn_f32 *p, struct vtacpu_need *need);
int cpu_det_f32_need(const struct vtacpu_det_f32 *p, struct vtacpu_need *need);
int cpu_non_zero_need(const struct vtacpu_non_zero *p, struct vtacpu_need *need);
int cpu_count_need(const struct vtacpu_count *p, struct vtacpu_need *need);
int cpu_unique_need(const struct vtacpu_unique *p, struct vtacpu_need *need);
int cpu_unique_inverse_need(const struct vtacpu_unique *p, struct vtacpu_need *need);
int cpu_nms_need(const struct vtacpu_nms *p, struct vtacpu_need *need);
int cpu_resample_need(const struct vtacpu_resample *p, struct vtacpu_need *need);
int cpu_grid_sample_need(const struct vtacpu_grid_sample *p, struct vtacpu_need *need);
int cpu_roi_align_need(const struct vtacpu_roi_align *p, struct vtacpu_need *need);
int cpu_contract_f32_need(const struct vtacpu_contract_f32 *p, struct vtacpu_need *need);
int cpu_conv_3d_f32_need(const struct vtacpu_conv_3d_f32 *p, struct vtacpu_need *need);
int cpu_pool_3d_f32_need(const struct vtacpu_pool_3d_f32 *p, struct vtacpu_need *need);
int cpu_dft_f32_need(const struct vtacpu_dft_f32 *p, struct vtacpu_need *need);

/* ---- places of values ---- */

/* The current place of up to three operands with strides, in the order of the output. */
struct cpu_places {
	uint32_t rank;
	const uint32_t *dims;
	uint32_t at[VTACPU_RANK_MAX];
	size_t a, b, c;
};

/* To the next place, with the operands' strides; @b and @c may be NULL. */
static inline void cpu_next_place(struct cpu_places *p, const uint32_t *a, const uint32_t *b,
				  const uint32_t *c)
{
	for (uint32_t i = p->rank; i--;) {
		size_t back = ++p->at[i] < p->dims[i] ? 0 : p->dims[i];

		p->a += a[i] - back * a[i];
		p->b += b ? b[i] - back * b[i] : 0;
		p->c += c ? c[i] - back * c[i] : 0;
		if (!back)
			return;
		p->at[i] = 0;
	}
}

/*
 * Rows of up to three operands with strides, in the order of the output, whose rows are one behind
 * the other: the last dimension, after joining those that are one in memory.
 */
struct cpu_rows {
	uint32_t rank, operands;		/* dimensions before the last */
	uint32_t dims[VTACPU_RANK_MAX], index[VTACPU_RANK_MAX];
	uint32_t stride[3][VTACPU_RANK_MAX];
	size_t rows, at[3], step[3];		/* step: from one value of a row to the next */
	uint32_t n;				/* values of a row */
};

/* Start with the first row; returns its length. */
uint32_t cpu_collapse(uint32_t rank, const uint32_t *dims, uint32_t operands,
		      const uint32_t *const *stride, struct cpu_rows *r);
void cpu_next_row(struct cpu_rows *r);

/* y = a op b, an operator of cpu_two_floats() */
void cpu_float_row(uint32_t op, float *y, const float *a, size_t as, const float *b, size_t bs,
		   uint32_t n);

static inline void cpu_copy_value(void *to, const void *from, uint32_t bytes)
{
	if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes == 1)
		memcpy(to, from, 1);
	else if (bytes == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, 2);
}

/* Integers of any type but F32: values.c. Storing wraps; BOOL is 0 or 1. */
int64_t cpu_integer(const void *x, size_t at, uint32_t type);
void cpu_put_integer(void *y, size_t at, uint32_t type, int64_t v);

/* ---- arithmetic: math.c ---- */

/* From here on every float is whole. */
#define CPU_WHOLE	8388608.0f

CPU_INLINE float cpu_whole_near(float x)
{
	/* No float of this size has a fraction, so adding rounds it off, half to even. */
	return x < 0 ? (x - CPU_WHOLE) + CPU_WHOLE : (x + CPU_WHOLE) - CPU_WHOLE;
}

/* To the nearest, half to even. */
CPU_INLINE float cpu_round(float x)
{
	float r = cpu_whole_near(x);

	return x > -CPU_WHOLE && x < CPU_WHOLE ? r : x;
}

float cpu_exp(float x);
float cpu_sqrt(float x);	/* NaN of what is below 0 */
float cpu_floor(float x);
float cpu_ceil(float x);

/*
 * The frequent operators of two floats. The greatest and least of NaN and a number is NaN, as
 * ONNX's Max and Min have it.
 */
CPU_INLINE
float cpu_two_floats(uint32_t op, float a, float b)
{
	switch (op) {
	case VTACPU_ADD:
		return a + b;
	case VTACPU_SUB:
		return a - b;
	case VTACPU_MUL:
		return a * b;
	case VTACPU_MAX:
		return (a > b) | (a != a) ? a : b;
	case VTACPU_MIN:
		return (a < b) | (a != a) ? a : b;
	default:
		return a / b;
	}
}

/* ---- functions.c ---- */

/* Those of the kinds of enum vtacpu_act_kind that math.c does not have. */
float cpu_function(uint32_t kind, float a, float b, float x);
float cpu_power(float x, float y);	/* as pow() of C */
float cpu_remainder(float x, float y);	/* as fmod() of C */
float cpu_log(float x);
/* The sine of @x and @quarters of a turn. */
double cpu_sine(double x, int quarters);

/* The weight of a value at distance @x by cubic interpolation with coefficient @a: resample.c */
float cpu_cubic(float a, float x);

/* act() of @n values, in place: math.c. */
void cpu_act(const struct vtacpu_act *act, float *y, size_t n);

/* ---- the integer output stage: post.c ---- */

struct cpu_post {
	const struct vtacpu_post *post;
	const int32_t *bias, *muls, *shifts;	/* or NULL */
	bool is_unsigned;			/* what it writes */
};

/* The vectors are io[0] to io[2]. */
static inline struct cpu_post cpu_post(const struct vtacpu_post *post, void *const *io,
				       bool is_unsigned)
{
	return (struct cpu_post) { post, io[0], io[1], io[2], is_unsigned };
}

/* y[i] = post(acc[i]), all of one channel. */
void cpu_post_row(const struct cpu_post *p, uint32_t channel, const int32_t *acc, void *y,
		  size_t n);
/* y[i] = post(acc[i]) of channel first + i. */
void cpu_post_channels(const struct cpu_post *p, uint32_t first, const int32_t *acc, void *y,
		       size_t n);

/* ---- sums ---- */

/* A value of 8 bits, less @zero. */
static inline int16_t cpu_value(const void *x, size_t at, bool is_unsigned, int32_t zero)
{
	int32_t v = is_unsigned ? ((const uint8_t *)x)[at] : ((const int8_t *)x)[at];

	return (int16_t)(v - zero);
}

/* Up to eight neighbouring columns of a product: their place in b and in y. */
struct cpu_spot {
	uint32_t in, out, lanes;
};

/*
 * y[r * y_row + out + c] = start[r] + sum over l < k of
 *	a[r * a_row + l * a_col] * b[at[l] + in + c],
 * in the order of l, for r < rows, each of the spots, and c < lanes. All eight columns of a spot
 * are read in b. start may be NULL. With resume, y has the sum so far, and start is not used.
 */
struct cpu_product {
	const float *a, *b, *start;
	size_t a_row, a_col, k, y_row;
	const uint32_t *at;
	const struct cpu_spot *spots;
	uint32_t rows, spot_count;
	bool resume;
	float *y;
};
void cpu_mac_f32(const struct cpu_product *p);

/* y[j] = start[j] + sum for l < k of x[l * step] * w[j * row + l * col], in the order of l */
struct cpu_row {
	const float *x, *w, *start;	/* start may be NULL */
	size_t step, row, col, k, n;
	float *y;
};
void cpu_row_f32(const struct cpu_row *p);

/*
 * The product of one matrix, as @m says: y = a * b, or y += a * b with @resume, in the order of k.
 * @scratch is of cpu_matrix_scratch() bytes.
 */
void cpu_matrix_f32(const struct vtacpu_matrices *m, const float *a, const float *b, float *y,
		    bool resume, void *scratch);
uint64_t cpu_matrix_scratch(void);

/* Spots for @n neighbouring columns; returns how many they are. */
uint32_t cpu_put_spots(struct cpu_spot *spots, uint32_t n, uint32_t in, uint32_t out);

/*
 * out[r * 4 + c] = sum over l of a[r * k + l] * b[c * k + l], r < 2, c < 4; k a
 * multiple of 8.
 */
#define DOT_ROWS	2
#define DOT_COLS	4
void cpu_dot_i16(int32_t out[DOT_ROWS * DOT_COLS], const int16_t *a, const int16_t *b,
		 size_t k);

#endif /* CPU_IMPL_H */
