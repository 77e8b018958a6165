/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtacpu.h - operators for the CPU, besides those for the card (vtaops.h)
 *
 * A kernel is a function of a parameter struct, the addresses of its operands, and
 * scratch memory:
 *
 *	struct vtacpu_conv_f32 p = { ... };
 *	struct vtacpu_need need;
 *	if (vtacpu_need(VTACPU_CONV_F32, &p, &need))	// the reason is need.why
 *		...
 *	void *io[] = { x, w, bias, NULL, y };		// need.bytes[i] each, or NULL
 *	vtacpu_conv_f32(&p, io, scratch);		// of need.scratch bytes
 *
 * vtacpu_need() checks everything that a kernel relies on, once: with parameters that it
 * accepts, a kernel accesses only the operands' bytes. Kernels check nothing.
 *
 * This part needs no operating system: it allocates nothing, keeps no state, and calls
 * only memset, memcpy and memcmp. Several threads may run kernels at the same time,
 * if their outputs and scratch memory differ. The results of a float kernel are
 * the same on every machine with IEEE 754 arithmetic: sums are computed in the order of the
 * plain loops (those of a row of values in eight parts: part i of the values i, i + 8, ...; then
 * the parts in their order), no operations are contracted, and exp() is the library's own.
 *
 * Parameter structs have only 32-bit fields, so that a program image contains them
 * unchanged (docs/program-image.md). A field without a comment has its
 * usual meaning and no default: a stride, dilation or group without effect is 1. Dimensions are at
 * least 1; strides, dilations and pads are at most 2^20.
 *
 * Tensors are plain, row-major; those of four dimensions are [N][C][H][W]. Operands are
 * aligned to their values' size, scratch memory to 64 bytes. An output overlaps no
 * other operand, unless the comment says "in place": then it may be exactly that operand. [x]: the
 * operand may be omitted (NULL), by a flag or field of the parameters.
 */
#ifndef VTACPU_H
#define VTACPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VTACPU_RANK_MAX		8
#define VTACPU_OPERANDS_MAX	8
/* Most bytes of an operand, and of scratch memory. */
#define VTACPU_BYTES_MAX	(1ull << 31)
/* Most of vtacpu_need.work, so that a small file does not compute for days. */
#define VTACPU_WORK_MAX		(1ull << 40)

/* The numbers are part of the program image's format: append only. */
enum vtacpu_kernel {
	VTACPU_CONV_F32 = 1,
	VTACPU_CONV_I8,
	VTACPU_GEMM_F32,
	VTACPU_GEMM_I8,
	VTACPU_POOL_WINDOW_F32,
	VTACPU_POOL_WINDOW_I8,
	VTACPU_BINARY_F32,
	VTACPU_BINARY_I8,
	VTACPU_UNARY_F32,
	VTACPU_RESCALE_I8,
	VTACPU_TABLE_I8,
	VTACPU_BATCH_NORM_F32,
	VTACPU_SOFTMAX_F32,
	VTACPU_REDUCE_F32,
	VTACPU_RESIZE,
	VTACPU_MOVE,
	VTACPU_PAD,
	VTACPU_QUANTISE,
	VTACPU_DEQUANTISE,
	VTACPU_PACK,
	VTACPU_UNPACK,
	VTACPU_BINARY,
	VTACPU_SELECT,
	VTACPU_CAST,
	VTACPU_REDUCE,
	VTACPU_LOG_SOFTMAX_F32,
	VTACPU_NORM_F32,
	VTACPU_GATHER,
	VTACPU_GATHER_ELEMENTS,
	VTACPU_SCATTER_ELEMENTS,
	VTACPU_GATHER_ND,
	VTACPU_SCATTER_ND,
	VTACPU_ARG,
	VTACPU_TOP,
	VTACPU_CUM_SUM,
	VTACPU_RECURRENT,
	VTACPU_HARDMAX_F32,
	VTACPU_ONE_HOT,
	VTACPU_REVERSE_SEQUENCE,
	VTACPU_LRN_F32,
	VTACPU_DET_F32,
	VTACPU_NON_ZERO,
	VTACPU_COUNT,
	VTACPU_UNIQUE,
	VTACPU_UNIQUE_INVERSE,
	VTACPU_NMS,
	VTACPU_RESAMPLE,
	VTACPU_GRID_SAMPLE,
	VTACPU_ROI_ALIGN,
	VTACPU_CONTRACT_F32,
	VTACPU_CONV_3D_F32,
	VTACPU_POOL_3D_F32,
	VTACPU_DFT_F32,
	VTACPU_GEMM_PACKED_F32,
	VTACPU_STEP_F32,
	VTACPU_ROUND_F32,
	VTACPU_GEMM_ROUNDED,
	VTACPU_NORM_ACROSS_F32,
	VTACPU_NORM_I8,
	VTACPU_KERNELS,
};

/* Types of values; the numbers are part of the format, too. */
enum vtacpu_type { VTACPU_F32 = 1, VTACPU_I8, VTACPU_U8, VTACPU_I32, VTACPU_I64, VTACPU_BOOL };

/* vtacpu_type_bytes() - bytes of a value of @type; 0 for a type that does not exist */
uint32_t vtacpu_type_bytes(uint32_t type);

/*
 * vtacpu_value() - value @at of an array of @type, aligned as its type
 *
 * Integers of 64 bits are rounded to a double.
 */
double vtacpu_value(const void *values, size_t at, uint32_t type);

/* ---- parts of parameters ---- */

/*
 * An activation y = f(x), also applied to a sum. Largest errors, in steps from a float to the next:
 * EXP and ERF 1.5, SIGMOID 2.5, TANH 3, SQRT 0.5 (below the least normal float, EXP and SIGMOID may
 * be off by that). GELU, GELU_TANH and MISH: 2 steps, or 2 in 10^7.
 */
enum vtacpu_act_kind {
	VTACPU_ACT_NONE = 0,
	VTACPU_ACT_CLIP,	/* min(max(x, a), b): relu is a = 0, b = infinity */
	VTACPU_ACT_LEAKY,	/* x < 0 ? a * x : x */
	VTACPU_ACT_HARD_SIGMOID,	/* min(max(a * x + b, 0), 1) */
	VTACPU_ACT_HARD_SWISH,	/* x * min(max(x / 6 + 1/2, 0), 1) */
	VTACPU_ACT_SIGMOID,	/* 1 / (1 + exp(-x)) */
	VTACPU_ACT_TANH, VTACPU_ACT_EXP, VTACPU_ACT_SQRT, VTACPU_ACT_ABS, VTACPU_ACT_NEG,
	VTACPU_ACT_FLOOR, VTACPU_ACT_CEIL,
	VTACPU_ACT_LOG, VTACPU_ACT_RECIPROCAL,
	VTACPU_ACT_ROUND,	/* half to even */
	VTACPU_ACT_SIGN,
	VTACPU_ACT_SIN, VTACPU_ACT_COS, VTACPU_ACT_TAN,	/* exact to a float for |x| < 2^20 */
	VTACPU_ACT_ASIN, VTACPU_ACT_ACOS, VTACPU_ACT_ATAN,
	VTACPU_ACT_SINH, VTACPU_ACT_COSH, VTACPU_ACT_ASINH, VTACPU_ACT_ACOSH, VTACPU_ACT_ATANH,
	VTACPU_ACT_ERF,
	VTACPU_ACT_SOFTPLUS,	/* ln(1 + exp(x)) */
	VTACPU_ACT_SOFTSIGN,	/* x / (1 + |x|) */
	VTACPU_ACT_ELU,		/* x < 0 ? a * (exp(x) - 1) : x */
	VTACPU_ACT_SELU,	/* b * (x < 0 ? a * (exp(x) - 1) : x) */
	VTACPU_ACT_CELU,	/* x < 0 ? a * (exp(x / a) - 1) : x */
	VTACPU_ACT_THRESHOLD,	/* x > a ? x : 0 */
	VTACPU_ACT_SHRINK,	/* x < -a ? x + b : x > a ? x - b : 0 */
	VTACPU_ACT_MISH,	/* x * tanh(ln(1 + exp(x))) */
	VTACPU_ACT_GELU,	/* x / 2 * (1 + erf(x / sqrt(2))) */
	VTACPU_ACT_GELU_TANH,	/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
	VTACPU_ACT_F16, VTACPU_ACT_BF16,	/* the nearest float16 or bfloat16, half to even */
	VTACPU_ACT_SWISH,	/* x / (1 + exp(-a * x)) */
	VTACPU_ACT_POWER,	/* x to the power of a */
	VTACPU_ACTS,
};
struct vtacpu_act {
	uint32_t kind;
	float a, b;
};

/*
 * The output stage of integer kernels, bit for bit that of struct vtaops_post:
 *	y = min(max((acc * mul + bias) >> shift, lo), hi)
 * in 32 bits, which wrap. mul 0 counts as 1. The shift is arithmetic; with round it rounds to the
 * nearest (half up). vectors selects which of bias, mul and shift are operands, with an int32 for
 * each channel: such an operand replaces the field, which is 0. A shift in an operand may be
 * negative (to the left), and excludes round. lo and hi are within y's type.
 */
enum { VTACPU_BIAS = 1, VTACPU_MULS = 2, VTACPU_SHIFTS = 4, VTACPU_LOW = 8 };
struct vtacpu_post {
	int32_t mul, bias;
	uint32_t shift;		/* 0 to 31 */
	int32_t lo, hi;
	uint32_t round;		/* 0 or 1 */
	uint32_t vectors;
};

/*
 * A convolution of [n][ic][ih][iw] to [n][oc][oh][ow]: output row y uses the input rows
 * y * stride_h - pad_top + k * dil_h for k below kh, and columns likewise; inputs outside are zero
 * (x_zero). The caller chooses oh and ow, so pads below and at the right need no field.
 * transposed (0 or 1): input row y is added to output rows y * stride_h - pad_top + k * dil_h.
 */
struct vtacpu_window {
	uint32_t n, ic, ih, iw, oc, oh, ow, kh, kw;
	uint32_t stride_h, stride_w;
	int32_t pad_top, pad_left;
	uint32_t dil_h, dil_w;
	uint32_t groups, transposed;
};

/*
 * ---- kernels: operands in their order -> output ----
 *
 * @p: parameters that vtacpu_need() accepted. @io: addresses of the operands, NULL for one that is
 * omitted. @scratch: need.scratch bytes, or NULL if that is 0.
 */

/*
 * vtacpu_conv_f32() - convolve floats
 *
 * x, w [oc][ic / groups][kh][kw] (also if transposed), [bias [oc]], [res: shape of y] -> y
 */
struct vtacpu_conv_f32 {
	struct vtacpu_window win;
	uint32_t has_bias, has_res;	/* act(conv + bias + res) */
	struct vtacpu_act act;
};
void vtacpu_conv_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_conv_i8() - convolve integers
 *
 * x, w, [res: int8, shape of y], [bias], [muls], [shifts: each int32 [oc]] -> y
 *	acc = (res << res_shift) + sum of (x - x_zero) * (w - w_zero), y = post(acc)
 * If has_res is 2, one more operand precedes y, res_muls, int32 [oc]: acc begins with
 * res * res_muls of the channel. If it is 3, the residual has 16 bits: shifts are no operand, in
 * their place is the residual's low half, int8, and acc begins with
 * (256 * res + low) * res_muls >> 8. With VTACPU_LOW in post.vectors y is the low byte of a result
 * of 16 bits, which lo and hi limit; y is int8.
 * x is int8, or uint8 with x_unsigned; w and y likewise. Zero points are in the range of the type.
 */
struct vtacpu_conv_i8 {
	struct vtacpu_window win;
	int32_t x_zero, w_zero;
	uint32_t x_unsigned, w_unsigned, y_unsigned;
	uint32_t has_res, res_shift;
	struct vtacpu_post post;
};
void vtacpu_conv_i8(const struct vtacpu_conv_i8 *p, void *const *io, void *scratch);

/*
 * y[b][i][j] = act(alpha * sum over l of a[b][i][l] * b[b][l][j] + beta * c[b][i][j])
 * y is plain, [batch[0]][batch[1]][batch[2]][m][n]. The fields of a, b and c are their strides in
 * values; 0 repeats a value. For a transposed matrix, exchange its two strides.
 */
struct vtacpu_matrices {
	uint32_t batch[3];		/* 1, 1, 1 for one product */
	uint32_t m, n, k;
	uint32_t a_batch[3], a_row, a_col;	/* row: along m; col: along k */
	uint32_t b_batch[3], b_row, b_col;	/* row: along k; col: along n */
	uint32_t c_batch[3], c_row, c_col;	/* row: along m; col: along n */
};

/* vtacpu_gemm_f32() - multiply matrices of floats: a, b, [c] -> y */
struct vtacpu_gemm_f32 {
	struct vtacpu_matrices mat;
	uint32_t has_c;
	float alpha, beta;
	struct vtacpu_act act;
};
void vtacpu_gemm_f32(const struct vtacpu_gemm_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_gemm_packed_f32() - multiply matrices of floats, the second one packed
 *
 * As vtacpu_gemm_f32(), bit for bit, of one b for all of the batch: the strides of b are 0.
 */
void vtacpu_gemm_packed_f32(const struct vtacpu_gemm_f32 *p, void *const *io, void *scratch);

/**
 * vtacpu_gemm_pack() - pack the second matrix of a product
 * @p: parameters of VTACPU_GEMM_F32 that vtacpu_need() accepted, with b_batch 0, 0, 0
 * @b: the matrix, with the strides of @p
 * @packed: out: [n / 16, rounded up][k][16], columns beyond the last 0. As many bytes as
 *	VTACPU_GEMM_PACKED_F32 needs
 */
void vtacpu_gemm_pack(const struct vtacpu_gemm_f32 *p, const float *b, float *packed);

/*
 * vtacpu_step_f32() - find the step and zero point of floats (ONNX: DynamicQuantizeLinear)
 *
 * x [count] -> y [2]: step, a 255th of the range of x and 0; and zero, round(-least / step), both
 * as floats. NaN is ignored.
 */
struct vtacpu_step_f32 {
	uint32_t count;
};
void vtacpu_step_f32(const struct vtacpu_step_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_round_f32() - round floats to steps
 *
 * x [count], steps [2] of vtacpu_step_f32() -> y = step * q(x); in place of x.
 *	q(x) = min(max(round(x / step) + zero, 0), 255) - zero, half to even
 */
struct vtacpu_round_f32 {
	uint32_t count;
};
void vtacpu_round_f32(const struct vtacpu_round_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_gemm_rounded() - multiply floats that are rounded to steps by integers
 *
 * a f32 [m][k], steps [2], w int8 [n][k], scales f32 [scales], zeros int32 [scales], [bias f32 [n]]
 * -> y f32 [m][n] = act(step * scale * sum over l of q(a[l]) * (w[l] - zero) + bias)
 * with q of vtacpu_round_f32(). The sum is exact, in 32 bits. k is at most 32768.
 */
struct vtacpu_gemm_rounded {
	uint32_t m, n, k;
	uint32_t scales;		/* 1, or n */
	uint32_t has_bias;
	struct vtacpu_act act;
};
void vtacpu_gemm_rounded(const struct vtacpu_gemm_rounded *p, void *const *io, void *scratch);

/*
 * vtacpu_gemm_i8() - multiply matrices of integers
 *
 * a, b, [c: int8], [bias], [muls], [shifts: int32 [n]] -> y, as
 * vtacpu_conv_i8 with x = a, w = b, res = c; a channel is a column j.
 */
struct vtacpu_gemm_i8 {
	struct vtacpu_matrices mat;
	int32_t a_zero, b_zero;
	uint32_t a_unsigned, b_unsigned, y_unsigned;
	uint32_t has_c, res_shift;
	struct vtacpu_post post;
};
void vtacpu_gemm_i8(const struct vtacpu_gemm_i8 *p, void *const *io, void *scratch);

/*
 * Windows over each channel separately. MAX, SUM and the sums of averages ignore padding. AVG
 * divides by the number of values in the input, AVG_PAD by those in the input and its pads.
 */
enum vtacpu_pool_kind {
	VTACPU_POOL_MAX = 0, VTACPU_POOL_AVG, VTACPU_POOL_AVG_PAD, VTACPU_POOL_SUM,
};
struct vtacpu_pool_window {
	uint32_t kind;
	uint32_t n, c, ih, iw, oh, ow, kh, kw;
	uint32_t stride_h, stride_w;
	uint32_t pad_top, pad_left, pad_bottom, pad_right;	/* the last two: only AVG_PAD */
	uint32_t dil_h, dil_w;
};

/*
 * vtacpu_pool_window_f32() - pool floats: x -> y
 *
 * The result of a window without input values is 0 (MAX: the least float).
 */
struct vtacpu_pool_window_f32 {
	struct vtacpu_pool_window pool;
	struct vtacpu_act act;
};
void vtacpu_pool_window_f32(const struct vtacpu_pool_window_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_pool_window_i8() - pool integers
 *
 * x, [bias], [muls], [shifts: int32 [c]] -> y: post of the greatest value or the sum
 * (kinds MAX and SUM; for an average, vtaops_average() has the fields of post). x and y are int8,
 * or uint8 with is_unsigned. The greatest of no input values is the type's least value.
 */
struct vtacpu_pool_window_i8 {
	struct vtacpu_pool_window pool;
	uint32_t is_unsigned;
	struct vtacpu_post post;
};
void vtacpu_pool_window_i8(const struct vtacpu_pool_window_i8 *p, void *const *io, void *scratch);

enum vtacpu_binary_op {
	VTACPU_ADD = 0, VTACPU_SUB, VTACPU_MUL, VTACPU_MAX, VTACPU_MIN, VTACPU_DIV,
	/* Of vtacpu_binary alone: */
	VTACPU_POW,
	VTACPU_MOD,		/* with the sign of b */
	VTACPU_FMOD,		/* with the sign of a */
	VTACPU_PRELU,		/* a < 0 ? a * b : a */
	VTACPU_EQUAL, VTACPU_LESS, VTACPU_LESS_EQUAL,	/* y is BOOL */
	/* Of integers alone; a shift by more bits than there are gives 0: */
	VTACPU_AND, VTACPU_OR, VTACPU_XOR, VTACPU_SHIFT_LEFT, VTACPU_SHIFT_RIGHT,
	VTACPU_BINARY_OPS,
};
/* y is plain, of dims; the strides of a and b are in values, and 0 repeats a value. */
struct vtacpu_broadcast {
	uint32_t op, rank;		/* rank 0: a single value */
	uint32_t dims[VTACPU_RANK_MAX];
	uint32_t a_stride[VTACPU_RANK_MAX], b_stride[VTACPU_RANK_MAX];
};

/*
 * vtacpu_binary_f32() - a, b -> y = act(a op b); in place of an operand with the strides of y
 *
 * The greatest and least of NaN and a number is NaN.
 */
struct vtacpu_binary_f32 {
	struct vtacpu_broadcast cast;
	struct vtacpu_act act;
};
void vtacpu_binary_f32(const struct vtacpu_binary_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_binary() - combine values of two tensors of any type
 *
 * a, b of type -> y = a op b, of that type, or BOOL of a comparison. Integers wrap; a division by
 * 0 gives 0. The greatest and least of NaN and a number is NaN. In place as vtacpu_binary_f32, but
 * for comparisons.
 */
struct vtacpu_binary {
	struct vtacpu_broadcast cast;
	uint32_t type;
};
void vtacpu_binary(const struct vtacpu_binary *p, void *const *io, void *scratch);

/*
 * vtacpu_select() - take values of one tensor or another
 *
 * c (BOOL), a, b -> y = c ? a : b, values of @bytes bytes; strides as in vtacpu_broadcast
 */
struct vtacpu_select {
	uint32_t bytes, rank;
	uint32_t dims[VTACPU_RANK_MAX];
	uint32_t c_stride[VTACPU_RANK_MAX], a_stride[VTACPU_RANK_MAX], b_stride[VTACPU_RANK_MAX];
};
void vtacpu_select(const struct vtacpu_select *p, void *const *io, void *scratch);

/*
 * vtacpu_cast() - convert values to another type
 *
 * x of x_type -> y of y_type. Floats become integers towards 0, or the nearest int64 there is,
 * which then wraps; NaN becomes 0. To BOOL, everything but 0 is 1.
 */
struct vtacpu_cast {
	uint32_t count, x_type, y_type;
};
void vtacpu_cast(const struct vtacpu_cast *p, void *const *io, void *scratch);

/*
 * vtacpu_binary_i8() - combine integers of two tensors
 *
 * a, b -> y = post((a * a_mul) op (b * b_mul)), all int8, without DIV and vectors; an a_mul of
 * 1 << n is the card's shift by n. In place as vtacpu_binary_f32.
 */
struct vtacpu_binary_i8 {
	struct vtacpu_broadcast cast;
	int32_t a_mul, b_mul;
	struct vtacpu_post post;
};
void vtacpu_binary_i8(const struct vtacpu_binary_i8 *p, void *const *io, void *scratch);

/* vtacpu_unary_f32() - x -> y = act(x); in place */
struct vtacpu_unary_f32 {
	uint32_t count;
	struct vtacpu_act act;
};
void vtacpu_unary_f32(const struct vtacpu_unary_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_rescale_i8() - apply an output stage
 *
 * x [outer][channels][inner], [bias], [muls], [shifts: int32 [channels]] -> y
 * y = post(x), with x of x_type (I8, U8 or I32), y of y_type (I8 or U8)
 */
struct vtacpu_rescale_i8 {
	uint32_t outer, channels, inner;
	uint32_t x_type, y_type;
	struct vtacpu_post post;
};
void vtacpu_rescale_i8(const struct vtacpu_rescale_i8 *p, void *const *io, void *scratch);

/* vtacpu_table_i8() - x, table [256] -> y = table[(uint8_t)x]; in place of x */
struct vtacpu_table_i8 {
	uint32_t count;
};
void vtacpu_table_i8(const struct vtacpu_table_i8 *p, void *const *io, void *scratch);

/*
 * vtacpu_batch_norm_f32() - normalise channels
 *
 * x [n][c][plane], scale, bias, mean, variance: each [c] -> y; in place of x
 *	y = act((x - mean) * (scale / sqrt(variance + epsilon)) + bias)
 */
struct vtacpu_batch_norm_f32 {
	uint32_t n, c, plane;
	float epsilon;
	struct vtacpu_act act;
};
void vtacpu_batch_norm_f32(const struct vtacpu_batch_norm_f32 *p, void *const *io,
			   void *scratch);

/*
 * vtacpu_softmax_f32() - x [outer][count][inner] -> y = exp(x - max) / sum of these, both over
 * count; in place
 */
struct vtacpu_softmax_f32 {
	uint32_t outer, count, inner;
};
void vtacpu_softmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch);
/* vtacpu_log_softmax_f32() - the logarithm: y = x - max - ln(sum of exp(x - max)); in place */
void vtacpu_log_softmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch);

enum vtacpu_reduce_op {
	VTACPU_REDUCE_MEAN = 0, VTACPU_REDUCE_SUM, VTACPU_REDUCE_MAX, VTACPU_REDUCE_MIN,
	VTACPU_REDUCE_PROD,
	VTACPU_REDUCE_L1,		/* the sum of |x| */
	VTACPU_REDUCE_SUM_SQUARE,	/* the sum of x * x */
	VTACPU_REDUCE_LOG_SUM_EXP,	/* the logarithm of the sum of exp(x); floats alone */
	VTACPU_REDUCE_OPS,
};
/*
 * vtacpu_reduce_f32() - x of dims -> y, reduced over each dimension i with bit i of axes set, which
 * becomes 1 in y
 */
struct vtacpu_reduce_f32 {
	uint32_t op, rank, axes;
	uint32_t dims[VTACPU_RANK_MAX];
};
void vtacpu_reduce_f32(const struct vtacpu_reduce_f32 *p, void *const *io, void *scratch);

/* vtacpu_reduce() - reduce integers of type, which wrap; MEAN rounds towards 0 */
struct vtacpu_reduce {
	struct vtacpu_reduce_f32 of;
	uint32_t type;
};
void vtacpu_reduce(const struct vtacpu_reduce *p, void *const *io, void *scratch);

/*
 * vtacpu_norm_f32() - normalise by the values' own mean and variance
 *
 * x [rows][count], [scale], [bias] -> y, each row normalised; in place of x
 *	y = (x - mean) / sqrt(variance + epsilon) * scale + bias
 * over a row, the variance divided by count; sums are of eight parts. With rms, mean is 0. Value i
 * of row r has the scale and bias at (r % period) * (count / plane) + i / plane, so both have
 * period * count / plane values. (Layer: period and plane 1. Instance: period is channels, plane
 * count. Group: period is groups, plane the pixels of a channel.) plane divides count.
 */
struct vtacpu_norm_f32 {
	uint32_t rows, count, period, plane;
	uint32_t rms, has_scale, has_bias;
	float epsilon;
};
void vtacpu_norm_f32(const struct vtacpu_norm_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_norm_across_f32() - the same of pixels: x [rows][count][plane], [scale], [bias: count
 * values] -> y, each of the plane's places normalised over count; in place of x. Sums are in the
 * order of the values. plane is any; period is 1.
 */
void vtacpu_norm_across_f32(const struct vtacpu_norm_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_norm_i8() - normalise, as the card does by vtaops_norm()
 *
 * x [rows][count][plane], [bias], [muls], [shifts: int32 [count]] -> y, each of the plane's places
 * normalised over count, bit for bit that of struct vtaops_norm_form with the fields of the same
 * names, and struct vtaops_post.
 */
struct vtacpu_norm_i8 {
	uint32_t rows, count, plane;
	uint32_t rms;		/* 0 or 1 */
	int32_t zero;
	uint32_t epsilon, shift;
	struct vtacpu_post post;
};
void vtacpu_norm_i8(const struct vtacpu_norm_i8 *p, void *const *io, void *scratch);

/*
 * vtacpu_gather() - take slices along an axis
 *
 * Indices are of index_type, I32 or I64; a negative one counts from the end. With one that is out
 * of range, gathered values are 0, and a value is scattered nowhere.
 *
 * x [outer][dim][inner], index [count] -> y [outer][count][inner], values of @bytes bytes:
 *	y[o][k] = x[o][index[k]]
 */
struct vtacpu_gather {
	uint32_t bytes, index_type;
	uint32_t outer, dim, inner, count;
};
void vtacpu_gather(const struct vtacpu_gather *p, void *const *io, void *scratch);

/* The effect of a scattered value on the one in its place. */
enum vtacpu_scatter_op {
	VTACPU_SCATTER_SET = 0, VTACPU_SCATTER_ADD, VTACPU_SCATTER_MUL, VTACPU_SCATTER_MAX,
	VTACPU_SCATTER_MIN, VTACPU_SCATTER_OPS,
};

/*
 * vtacpu_gather_elements() - take single values
 * vtacpu_scatter_elements() - put single values
 *
 * Places are those of index, of shape index_dims; place p' is p with its coordinate on axis
 * replaced by index[p]. Other dimensions of index are at most those of dims.
 *
 * Gather: x of dims, index -> y of index_dims, y[p] = x[p']
 * Scatter: x of dims, index, updates of index_dims -> y of dims: x, and then
 *	y[p'] = y[p'] op updates[p], in the order of p; in place of x
 */
struct vtacpu_elements {
	uint32_t type, index_type, op;
	uint32_t rank, axis;
	uint32_t dims[VTACPU_RANK_MAX], index_dims[VTACPU_RANK_MAX];
};
void vtacpu_gather_elements(const struct vtacpu_elements *p, void *const *io, void *scratch);
void vtacpu_scatter_elements(const struct vtacpu_elements *p, void *const *io, void *scratch);

/*
 * vtacpu_gather_nd() - take slices
 * vtacpu_scatter_nd() - put slices
 *
 * An index is @depth coordinates in sizes, and names a slice of @inner values.
 *
 * Gather: x [batch][sizes...][inner], index [batch][rows][depth] -> y [batch][rows][inner]
 * Scatter: x [sizes...][inner], index [rows][depth], updates [rows][inner] -> y, as x; as
 *	vtacpu_scatter_elements(), with batch 1; in place of x
 */
struct vtacpu_slices {
	uint32_t type, index_type, op;
	uint32_t batch, rows, depth, inner;
	uint32_t sizes[VTACPU_RANK_MAX];
};
void vtacpu_gather_nd(const struct vtacpu_slices *p, void *const *io, void *scratch);
void vtacpu_scatter_nd(const struct vtacpu_slices *p, void *const *io, void *scratch);

/*
 * vtacpu_arg() - say where the greatest or least values are
 *
 * x of type [outer][count][inner] -> y int64 [outer][inner]: where the greatest value is (least:
 * the least), the first of equal ones (last: the last). NaN is greater than all.
 */
struct vtacpu_arg {
	uint32_t type, outer, count, inner;
	uint32_t least, last;
};
void vtacpu_arg(const struct vtacpu_arg *p, void *const *io, void *scratch);

/*
 * vtacpu_top() - say where the k greatest or least values are
 *
 * As vtacpu_arg(), those of the k greatest (least: least) in their order, the first of equal ones
 * first -> y int64 [outer][k][inner]
 */
struct vtacpu_top {
	uint32_t type, outer, count, inner;
	uint32_t k, least;
};
void vtacpu_top(const struct vtacpu_top *p, void *const *io, void *scratch);

/*
 * vtacpu_cum_sum() - compute running sums
 *
 * x of type [outer][count][inner] -> y: sums of the values up to each (exclusive: before it), from
 * the first on (reverse: from the last on)
 */
struct vtacpu_cum_sum {
	uint32_t type, outer, count, inner;
	uint32_t exclusive, reverse;
};
void vtacpu_cum_sum(const struct vtacpu_cum_sum *p, void *const *io, void *scratch);

/*
 * vtacpu_recurrent() - run a recurrent layer
 *
 * x [steps][batch][inputs], [w [directions][gates * hidden][inputs]],
 * r [directions][gates * hidden][hidden], [bias [directions][2][gates * hidden]: of w, of r],
 * [h, c [directions][batch][hidden]: the first state and cell, else 0],
 * [peepholes [directions][3][hidden]] -> y [steps][directions][batch][hidden]: the states, or with
 * cell the cells. Operators and the order of gates are ONNX's, with its default activations: RNN
 * one gate, GRU z, r, h (linear: linear_before_reset), LSTM i, o, f, c; peepholes i, o, f. The
 * second direction, and with reverse the first, goes from the last step to the first. c, peepholes
 * and cell are of LSTM alone. A gate's sums by input and by state are made apart, each in the order
 * of its values. With summed, x has the sums by input, without bias: inputs is directions * gates *
 * hidden, and w is left out. With panels, r is [directions][panels][hidden][VTACPU_PANEL], where a
 * panel has the next VTACPU_PANEL of gates * hidden, and the last one anything behind them. For
 * VTACPU_STATES_LEAST states and more, the kernel else makes panels of r at each call.
 */
#define VTACPU_STATES_LEAST	4u
#define VTACPU_PANEL		64u

enum vtacpu_recurrent_kind { VTACPU_RNN = 0, VTACPU_GRU, VTACPU_LSTM };
struct vtacpu_recurrent {
	uint32_t kind;
	uint32_t steps, batch, inputs, hidden, directions;
	uint32_t reverse, linear, cell;
	uint32_t has_bias, has_h, has_c, has_p;
	uint32_t summed, panels;
};
void vtacpu_recurrent(const struct vtacpu_recurrent *p, void *const *io, void *scratch);

/*
 * vtacpu_hardmax_f32() - as vtacpu_softmax_f32(): 1 for the greatest value, the first of equal
 * ones, 0 for others
 */
void vtacpu_hardmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_one_hot() - put one value where indices say, and another elsewhere
 *
 * index [outer][inner] of index_type (I32 or I64), values [2], of @bytes bytes each -> y
 * [outer][depth][inner]: values[1] at depth index, which may count from the end, else values[0]
 */
struct vtacpu_one_hot {
	uint32_t bytes, index_type;
	uint32_t outer, depth, inner;
};
void vtacpu_one_hot(const struct vtacpu_one_hot *p, void *const *io, void *scratch);

/*
 * vtacpu_reverse_sequence() - reverse the first steps of each sequence
 *
 * x [steps][batch][inner], or [batch][steps][inner] with batch_first, values of @bytes bytes,
 * lengths [batch] of length_type (I32 or I64) -> y: the first lengths[b] steps of sequence b in
 * reverse; a length beyond @steps is @steps
 */
struct vtacpu_reverse_sequence {
	uint32_t bytes, length_type;
	uint32_t steps, batch, inner, batch_first;
};
void vtacpu_reverse_sequence(const struct vtacpu_reverse_sequence *p, void *const *io,
			     void *scratch);

/*
 * vtacpu_lrn_f32() - normalise by the channels around
 *
 * x [n][c][plane] -> y = x / (bias + alpha / size * sum of squares)^beta, the sum over @size
 * channels, from (size - 1) / 2 before the value's on, those that exist
 */
struct vtacpu_lrn_f32 {
	uint32_t n, c, plane, size;
	float alpha, beta, bias;
};
void vtacpu_lrn_f32(const struct vtacpu_lrn_f32 *p, void *const *io, void *scratch);

/* vtacpu_det_f32() - x [count][n][n] -> y [count]: determinants, computed in double */
struct vtacpu_det_f32 {
	uint32_t count, n;
};
void vtacpu_det_f32(const struct vtacpu_det_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_non_zero() - list the places of values that are not 0
 *
 * x of type, of dims -> y int64 [rank][count], count the values of x: column k has the coordinates
 * of the k-th such value in order, and -1 where there are no more. NaN is not 0.
 */
struct vtacpu_non_zero {
	uint32_t type, rank;
	uint32_t dims[VTACPU_RANK_MAX];
};
void vtacpu_non_zero(const struct vtacpu_non_zero *p, void *const *io, void *scratch);

/*
 * vtacpu_count() - count the entries of a list that -1 fills up
 *
 * x int64 [total] -> y int64 [1]: the number of x[i * stride], i < count, before the first that is
 * negative
 */
struct vtacpu_count {
	uint32_t count, stride, total;
};
void vtacpu_count(const struct vtacpu_count *p, void *const *io, void *scratch);

/*
 * vtacpu_unique() - list slices that differ from all others
 *
 * x of type [outer][count][inner] -> y int64 [count]: slice i is all x[o][i][j]. Of equal slices
 * the first is listed; in the order of their values (sorted: value by value, NaN last), or of their
 * numbers; -1 where there are no more.
 */
struct vtacpu_unique {
	uint32_t type, outer, count, inner;
	uint32_t sorted;
};
void vtacpu_unique(const struct vtacpu_unique *p, void *const *io, void *scratch);

/* vtacpu_unique_inverse() - x -> y int64 [count]: the place of slice i or its equal in that list */
void vtacpu_unique_inverse(const struct vtacpu_unique *p, void *const *io, void *scratch);

/*
 * vtacpu_nms() - select boxes that do not overlap a better one (ONNX: NonMaxSuppression)
 *
 * boxes float [batch][boxes][4], scores float [batch][classes][boxes], [count int64 [1]: only the
 * first so many boxes] -> y int64 [batch * classes * most][3]: batch, class and box of each
 * selected one, and -1 where there are no more. Of each batch and class, boxes are taken by
 * descending score, the first of equal ones first, at most @most; not those whose score is not
 * above @score (if has_score), or whose intersection with one taken before is more than @iou of
 * their union. A box is two opposite corners (y, x, y, x), or with centre x, y, width, height.
 */
struct vtacpu_nms {
	uint32_t batch, classes, boxes, most;
	uint32_t centre, has_count, has_score;
	float iou, score;
};
void vtacpu_nms(const struct vtacpu_nms *p, void *const *io, void *scratch);

/*
 * vtacpu_resample() - resize by any of ONNX's ways, in up to five dimensions
 *
 * x of dims -> y of out, both of type F32, I8 or U8. Weights of values around, in each dimension:
 * mode NEAREST (round), LINEAR or CUBIC (with the coefficient cubic), at the coordinate that coord
 * gives; CROP is that of region start to end of x, and values from outside of x are extrapolation.
 * exclude: values outside have no weight, instead of those at the edge. antialias: the weights are
 * as wide as one of y, where that is smaller. Integers are rounded, half to even, and limited.
 */
#define VTACPU_RESAMPLE_RANK_MAX	5
struct vtacpu_resample {
	uint32_t type, rank;
	uint32_t dims[VTACPU_RESAMPLE_RANK_MAX], out[VTACPU_RESAMPLE_RANK_MAX];
	uint32_t mode, coord, round, exclude, antialias;
	float cubic, extrapolation;
	float scale[VTACPU_RESAMPLE_RANK_MAX];
	float start[VTACPU_RESAMPLE_RANK_MAX], end[VTACPU_RESAMPLE_RANK_MAX];
};
void vtacpu_resample(const struct vtacpu_resample *p, void *const *io, void *scratch);

/*
 * vtacpu_grid_sample() - take values at places that a tensor has (ONNX: GridSample)
 *
 * x [n][c][in[0]][in[1]][in[2]], grid [n][out[0]][out[1]][out[2]][axes] -> y [n][c][out...]: axes
 * is 2 (then in[0] and out[0] are 1) or 3; the coordinates of a place are the last dimension's
 * first, from -1 to 1: between centres of the outer values with align, else between edges.
 * Outside is 0 (ZEROS), the nearest value (BORDER), or the mirrored one (REFLECTION).
 */
enum vtacpu_grid_pad { VTACPU_GRID_ZEROS = 0, VTACPU_GRID_BORDER, VTACPU_GRID_REFLECTION };
struct vtacpu_grid_sample {
	uint32_t n, c, axes;
	uint32_t in[3], out[3];
	uint32_t mode, pad, align;	/* enum vtacpu_resize_mode; cubic of 2 axes alone */
};
void vtacpu_grid_sample(const struct vtacpu_grid_sample *p, void *const *io, void *scratch);

/*
 * vtacpu_roi_align() - pool parts of pictures to one size (ONNX: RoiAlign)
 *
 * x [n][c][h][w], rois [count][4]: left, top, right, bottom, times scale pixels; image int64
 * [count] -> y [count][c][oh][ow]: the mean, or greatest (max), of samples² interpolated values in
 * each bin; samples 0: as many as pixels. half: pixels have centres at 0.5. A number of no image
 * gives 0.
 */
struct vtacpu_roi_align {
	uint32_t n, c, h, w, count, oh, ow;
	uint32_t samples, max, half;
	float scale;
};
void vtacpu_roi_align(const struct vtacpu_roi_align *p, void *const *io, void *scratch);

/*
 * vtacpu_contract_f32() - sum products of two tensors over some dimensions (ONNX: Einsum)
 *
 * a, [b] -> y [dims of the first kept]: y[i] = sum over the other dims of a * b; strides are in
 * values, 0 where a or b does not have the dimension
 */
struct vtacpu_contract_f32 {
	uint32_t rank, kept, has_b;
	uint32_t dims[VTACPU_RANK_MAX];
	uint32_t a_stride[VTACPU_RANK_MAX], b_stride[VTACPU_RANK_MAX];
};
void vtacpu_contract_f32(const struct vtacpu_contract_f32 *p, void *const *io, void *scratch);

/*
 * Windows of three dimensions: output o uses the inputs o * stride - before + k * dilation for k
 * below kernel, in each of them; inputs outside are zero, or do not count.
 */
struct vtacpu_window_3d {
	uint32_t in[3], out[3], kernel[3], stride[3], before[3], dilation[3];
};

/*
 * vtacpu_conv_3d_f32() - convolve floats in three dimensions
 *
 * x [n][ic][in...], w [oc][ic / groups][kernel...], [bias [oc]] -> y [n][oc][out...]; transposed: w
 * [ic][oc / groups][kernel...], and input o is added to outputs o * stride - before + k * dilation
 */
struct vtacpu_conv_3d_f32 {
	uint32_t n, ic, oc, groups, transposed, has_bias;
	struct vtacpu_window_3d win;
};
void vtacpu_conv_3d_f32(const struct vtacpu_conv_3d_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_pool_3d_f32() - pool floats in one to three dimensions
 *
 * x [n][c][in...] -> y [n][c][out...]: the greatest value, the mean of those inside (AVG) or of
 * these and the pads (AVG_PAD, to behind the input), the root of the sum of |x|^power (LP), or, as
 * int64, the place in x of the greatest (PLACE; by_column: with the last two dimensions exchanged).
 */
enum vtacpu_pool_3d_kind {
	VTACPU_POOL_3D_MAX = 0, VTACPU_POOL_3D_AVG, VTACPU_POOL_3D_AVG_PAD, VTACPU_POOL_3D_LP,
	VTACPU_POOL_3D_PLACE,
};
struct vtacpu_pool_3d_f32 {
	uint32_t kind, n, c, power, by_column;
	struct vtacpu_window_3d win;
	uint32_t behind[3];
};
void vtacpu_pool_3d_f32(const struct vtacpu_pool_3d_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_dft_f32() - transform parts of signals by Fourier (ONNX: DFT, STFT)
 *
 * x [batch][length][inner][complex ? 2 : 1], [window [count]] -> y [batch][frames][bins][inner][2]:
 * bins of the transform of count values from frame * step on, times the window; 0 behind the
 * signal's end. inverse: with the other sign, and divided by count.
 */
struct vtacpu_dft_f32 {
	uint32_t batch, length, inner, frames, step, count, bins;
	uint32_t complex, inverse, has_window;
};
void vtacpu_dft_f32(const struct vtacpu_dft_f32 *p, void *const *io, void *scratch);

/*
 * vtacpu_resize() - resize planes
 *
 * x [planes][ih][iw] -> y [planes][oh][ow], resized as by ONNX's operator Resize, with its modes
 * of interpolation, coordinates and rounding. scale is output / input, the attribute of the ONNX
 * file, 10^-6 to 10^6. LINEAR of integers rounds to the nearest, half to even.
 */
enum vtacpu_resize_mode { VTACPU_NEAREST = 0, VTACPU_LINEAR, VTACPU_CUBIC };
enum vtacpu_resize_coord {
	VTACPU_HALF_PIXEL = 0, VTACPU_PYTORCH_HALF_PIXEL, VTACPU_ASYMMETRIC,
	VTACPU_ALIGN_CORNERS, VTACPU_HALF_PIXEL_SYMMETRIC,
	VTACPU_HALF_PIXEL_FOR_NN, VTACPU_CROP,	/* of vtacpu_resample() alone, as CUBIC */
};
enum vtacpu_resize_round {
	VTACPU_ROUND_PREFER_FLOOR = 0, VTACPU_ROUND_PREFER_CEIL, VTACPU_ROUND_FLOOR,
	VTACPU_ROUND_CEIL,
};
struct vtacpu_resize {
	uint32_t type;			/* F32, I8 or U8 */
	uint32_t planes, ih, iw, oh, ow;
	uint32_t mode, coord, round;
	float scale_h, scale_w;
};
void vtacpu_resize(const struct vtacpu_resize *p, void *const *io, void *scratch);

/*
 * vtacpu_move() - move values
 *
 * x -> y: copy values of @bytes bytes (1, 2, 4 or 8):
 *	y[y_at + sum of i * y_stride] = x[x_at + sum of i * x_stride]
 * for all i below dims; the rest of y is unchanged. Strides and offsets are in values. This
 * implements Concat, Split, Slice, Transpose, DepthToSpace and Expand; the functions below return
 * the parameters.
 */
struct vtacpu_move {
	uint32_t bytes, rank;
	uint32_t dims[VTACPU_RANK_MAX];
	int32_t x_stride[VTACPU_RANK_MAX], y_stride[VTACPU_RANK_MAX];
	uint32_t x_at, y_at;
	uint32_t x_count, y_count;	/* number of values of each operand */
};
void vtacpu_move(const struct vtacpu_move *p, void *const *io, void *scratch);

/*
 * vtacpu_transpose() - parameters to permute dimensions; @dims is the shape of x, and dimension i
 * of y is dimension perm[i] of x
 */
struct vtacpu_move vtacpu_transpose(uint32_t bytes, uint32_t rank, const uint32_t *dims,
				    const uint32_t *perm);
/*
 * vtacpu_concat_part() - parameters to join tensors: x, of @dims, becomes the part of y at position
 * @at of @axis, in which y has size @size
 */
struct vtacpu_move vtacpu_concat_part(uint32_t bytes, uint32_t rank, const uint32_t *dims,
				      uint32_t axis, uint32_t at, uint32_t size);
/*
 * vtacpu_slice() - parameters for Slice and Split: y, of shape @out, is x[start + i * step], with x
 * of shape @dims
 */
struct vtacpu_move vtacpu_slice(uint32_t bytes, uint32_t rank, const uint32_t *dims,
				const uint32_t *out, const int32_t *start, const int32_t *step);
/*
 * vtacpu_depth_to_space() - parameters for DepthToSpace of x [n][c][h][w], c a multiple of block²;
 * @crd not 0: ONNX's mode CRD instead of DCR
 */
struct vtacpu_move vtacpu_depth_to_space(uint32_t bytes, uint32_t n, uint32_t c, uint32_t h,
					 uint32_t w, uint32_t block, int crd);

enum vtacpu_pad_mode {
	VTACPU_PAD_CONSTANT = 0, VTACPU_PAD_REFLECT, VTACPU_PAD_EDGE, VTACPU_PAD_WRAP,
};
/*
 * vtacpu_pad() - x of dims -> y of out: x begins at before in y (negative: cropped); mode fills the
 * rest
 */
struct vtacpu_pad {
	uint32_t bytes, rank, mode;
	uint32_t dims[VTACPU_RANK_MAX], out[VTACPU_RANK_MAX];
	int32_t before[VTACPU_RANK_MAX];
	uint32_t value[2];		/* bits of the constant, low word first */
};
void vtacpu_pad(const struct vtacpu_pad *p, void *const *io, void *scratch);

/*
 * vtacpu_quantise() - make integers of floats
 *
 * x float [outer][channels][inner], scale float [channels], [zero int32 [channels]] -> y
 *	y = clamp(round(x / scale) + zero, lo, hi)
 * rounded half to even; NaN becomes lo. type is that of y: I8 or U8. With one scale for the whole
 * tensor, channels is 1.
 */
struct vtacpu_quantise {
	uint32_t outer, channels, inner;
	uint32_t type, has_zero;
	int32_t lo, hi;
};
void vtacpu_quantise(const struct vtacpu_quantise *p, void *const *io, void *scratch);

/*
 * vtacpu_dequantise() - x of type (I8, U8 or I32), scale, [zero] -> y float = (x - zero) * scale;
 * shapes as vtacpu_quantise()
 */
struct vtacpu_dequantise {
	uint32_t outer, channels, inner;
	uint32_t type, has_zero;
};
void vtacpu_dequantise(const struct vtacpu_dequantise *p, void *const *io, void *scratch);

/*
 * vtacpu_pack() - x plain int8 [n][c][h][w] -> y packed, as vtaops_pack_act()
 * vtacpu_unpack() - the reverse
 */
struct vtacpu_pack {
	uint32_t log_inp_width, log_batch, log_block;	/* of the core */
	uint32_t n, c, h, w;
};
void vtacpu_pack(const struct vtacpu_pack *p, void *const *io, void *scratch);
void vtacpu_unpack(const struct vtacpu_pack *p, void *const *io, void *scratch);

/* ---- all kernels ---- */

/* Parameters of any kernel, also as the words of a program image. */
#define VTACPU_WORDS_MAX	40
union vtacpu_params {
	uint32_t word[VTACPU_WORDS_MAX];
	struct vtacpu_conv_f32 conv_f32;
	struct vtacpu_conv_i8 conv_i8;
	struct vtacpu_gemm_f32 gemm_f32;	/* also of GEMM_PACKED_F32 */
	struct vtacpu_gemm_i8 gemm_i8;
	struct vtacpu_pool_window_f32 pool_window_f32;
	struct vtacpu_pool_window_i8 pool_window_i8;
	struct vtacpu_binary_f32 binary_f32;
	struct vtacpu_binary_i8 binary_i8;
	struct vtacpu_unary_f32 unary_f32;
	struct vtacpu_rescale_i8 rescale_i8;
	struct vtacpu_table_i8 table_i8;
	struct vtacpu_batch_norm_f32 batch_norm_f32;
	struct vtacpu_softmax_f32 softmax_f32;	/* also of its like */
	struct vtacpu_reduce_f32 reduce_f32;
	struct vtacpu_resize resize;
	struct vtacpu_move move;
	struct vtacpu_pad pad;
	struct vtacpu_quantise quantise;
	struct vtacpu_dequantise dequantise;
	struct vtacpu_pack pack;	/* also of UNPACK */
	struct vtacpu_binary binary;
	struct vtacpu_select select;
	struct vtacpu_cast cast;
	struct vtacpu_reduce reduce;
	struct vtacpu_norm_f32 norm_f32;	/* also of NORM_ACROSS_F32 */
	struct vtacpu_gather gather;
	struct vtacpu_elements elements;	/* of GATHER_ELEMENTS and SCATTER_ELEMENTS */
	struct vtacpu_slices slices;		/* of GATHER_ND and SCATTER_ND */
	struct vtacpu_arg arg;
	struct vtacpu_top top;
	struct vtacpu_cum_sum cum_sum;
	struct vtacpu_recurrent recurrent;
	struct vtacpu_one_hot one_hot;
	struct vtacpu_reverse_sequence reverse_sequence;
	struct vtacpu_lrn_f32 lrn_f32;
	struct vtacpu_det_f32 det_f32;
	struct vtacpu_non_zero non_zero;
	struct vtacpu_count count;
	struct vtacpu_unique unique;
	struct vtacpu_nms nms;
	struct vtacpu_resample resample;
	struct vtacpu_grid_sample grid_sample;
	struct vtacpu_roi_align roi_align;
	struct vtacpu_contract_f32 contract_f32;
	struct vtacpu_conv_3d_f32 conv_3d_f32;
	struct vtacpu_pool_3d_f32 pool_3d_f32;
	struct vtacpu_dft_f32 dft_f32;
	struct vtacpu_step_f32 step_f32;
	struct vtacpu_round_f32 round_f32;
	struct vtacpu_gemm_rounded gemm_rounded;
	struct vtacpu_norm_i8 norm_i8;
};

/* Needs of a kernel. */
struct vtacpu_need {
	uint32_t operands;			/* number; the last is the output */
	uint64_t bytes[VTACPU_OPERANDS_MAX];	/* of each operand; 0: omitted */
	uint32_t value[VTACPU_OPERANDS_MAX];	/* bytes of a value, the alignment */
	uint64_t scratch;			/* bytes of scratch memory */
	uint64_t work;				/* estimate: multiplications, or values moved */
	uint32_t partial;			/* 1: only a part of the output is written */
	uint32_t in_place;			/* bit i: operand i may be the output */
	const char *why;			/* after an error: a static sentence */
};

/* vtacpu_kernel_name() - "conv_f32" and so on; NULL for a kernel that does not exist */
const char *vtacpu_kernel_name(uint32_t kernel);

/* vtacpu_params_bytes() - bytes of the kernel's parameter struct; 0 for one that does not exist */
size_t vtacpu_params_bytes(uint32_t kernel);

/**
 * vtacpu_need() - check parameters, and compute the kernel's needs
 * @kernel: enum vtacpu_kernel; any number
 * @params: vtacpu_params_bytes() bytes, of any content
 * @need: out: operands and scratch memory, or the reason of the error
 *
 * Returns 0, or -1 and the reason in need->why. Any thread may call it.
 */
int vtacpu_need(uint32_t kernel, const void *params, struct vtacpu_need *need);

/**
 * vtacpu_run() - run a kernel by its number
 * @kernel: enum vtacpu_kernel
 * @params: parameters that vtacpu_need() accepted
 * @io: addresses of the operands
 * @scratch: need.scratch bytes, aligned to 64; NULL if that is 0
 */
void vtacpu_run(uint32_t kernel, const void *params, void *const *io, void *scratch);

/* A part of a kernel's output, a call like any other. */
struct vtacpu_part {
	uint32_t kernel;
	union vtacpu_params params;
	void *io[VTACPU_OPERANDS_MAX];
};

/**
 * vtacpu_parts() - number of parts that a kernel is worth
 * @kernel: enum vtacpu_kernel
 * @params: parameters that vtacpu_need() accepted
 * @need: its needs
 * @most: of threads
 *
 * Large convolutions and matrix products have several, other kernels one. Returns 1 to @most.
 */
unsigned int vtacpu_parts(uint32_t kernel, const void *params, const struct vtacpu_need *need,
			  unsigned int most);

/**
 * vtacpu_part() - make part @i of @n
 * @kernel: enum vtacpu_kernel
 * @params: parameters that vtacpu_need() accepted
 * @need: its needs
 * @io: addresses of the operands
 * @i: number of the part, from 0
 * @n: number of parts, at most that of vtacpu_parts()
 * @part: out: for vtacpu_run(), in any thread, with scratch memory of need.scratch bytes of its own
 *
 * All parts together write the same bits as the kernel.
 */
void vtacpu_part(uint32_t kernel, const void *params, const struct vtacpu_need *need,
		 void *const *io, unsigned int i, unsigned int n, struct vtacpu_part *part);

#ifdef __cplusplus
}
#endif

#endif /* VTACPU_H */
