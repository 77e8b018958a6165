/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler's representation of a network
 *
 * A graph is nodes in an order in which each comes after its inputs' producers, and
 * tensors between them. Passes (passes.h) change it in place; each leaves a graph that
 * vtac_graph_verify() accepts.
 *
 * Memory. Graph, nodes, tensors, names and constants live in the graph's arena until
 * vtac_graph_free(). Nothing is freed alone. The arena is bounded: an allocation over
 * the limit fails, so that no file can take the machine's memory.
 *
 * Errors. A function that can fail returns 0 or -1, and a pointer or NULL; the reason
 * is a sentence in graph->error, which names the node. The first error stays.
 *
 * Threads. A graph belongs to one thread at a time. There is no global state.
 */
#ifndef VTAC_GRAPH_H
#define VTAC_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vtacpu.h"
#include "vtaops.h"

#define VTAC_RANK_MAX		8
#define VTAC_NODES_MAX		65536u
#define VTAC_MEMORY_LIMIT	(4ull << 30)	/* bytes of an arena, by default */

enum vtac_dtype { VTAC_F32, VTAC_I8, VTAC_U8, VTAC_I32, VTAC_I64, VTAC_BOOL, VTAC_DTYPES };
/* EITHER goes where its neighbours are; gone after partition. */
enum vtac_device { VTAC_CPU, VTAC_CARD, VTAC_EITHER };

/*
 * PLAIN is row-major, [N][C][H][W] for pictures; PACKED is the card's (vtaops.h); PIXELS,
 * [N][H][W][C], is what of PACKED is not filled up with zeros: between host and card.
 */
enum vtac_layout { VTAC_PLAIN, VTAC_PACKED, VTAC_PIXELS };

/*
 * Operators. Comments give the inputs; [x] may be NULL. Activations of 4 dimensions are
 * N, C, H, W. vtac_pass_shape() moves constant inputs (the shape of a Reshape, the pads of a Pad,
 * the limits of a Clip) to the attributes.
 */
enum vtac_op {
	/* With an output stage (struct vtac_node.act, .post), fused by vtac_pass_fuse() */
	/* Of 16 bits (skip.c): the residual's low half, and what this is the low half of */
	VTAC_CONV,		/* x, w [out][in / groups][kh][kw], [bias], [residual], [], [] */
	VTAC_CONV_TRANSPOSE,	/* x, w [in][out / groups][kh][kw], [bias] */
	VTAC_GEMM,		/* x [m][k], w, [c], [residual]: see struct vtac_gemm */
	VTAC_ADD,		/* a, b: as numpy broadcasts, like all with a, b */
	VTAC_MUL, VTAC_SUB, VTAC_DIV, VTAC_MAX, VTAC_MIN,	/* a, b */
	VTAC_MAX_POOL, VTAC_AVG_POOL,		/* x; a global one has the kernel h x w */
	/* One value at a time */
	VTAC_CLIP,		/* x; Relu is a clip from 0 to infinity */
	VTAC_LEAKY_RELU, VTAC_HARD_SIGMOID, VTAC_HARD_SWISH,	/* x */
	VTAC_UNARY,		/* x: all other functions of one float, attr.unary.kind */
	/* Others that compute */
	VTAC_MATMUL,		/* a, b: the last two dimensions, the others broadcast */
	VTAC_BATCH_GEMM,	/* a, b: see struct vtac_batch_gemm */
	VTAC_STEPS,		/* x: step and zero point of 256 steps over its range, floats [2] */
	VTAC_ROUND,		/* x, steps: x rounded to them */
	VTAC_BATCH_NORM,	/* x, scale, bias, mean, variance: [C] each */
	VTAC_BINARY,		/* a, b: operators that the card has not, attr.binary.op */
	VTAC_WHERE,		/* condition, a, b: broadcast likewise */
	VTAC_CAST,		/* x */
	VTAC_SOFTMAX, VTAC_REDUCE,		/* x */
	VTAC_NORM,		/* x, [scale], [bias]: by the values' own mean and variance */
	VTAC_ARG,		/* x: where the greatest or least value is */
	VTAC_TOP,		/* x, k: where the greatest or least are, in their order */
	VTAC_CUM_SUM,		/* x, axis */
	VTAC_RECURRENT,		/* x, [w], r, [bias], [h], [c], [peepholes], [lengths] */
	VTAC_RESIZE,		/* x */
	VTAC_LIMIT,		/* x, [least], [most]: a clip of any type, by one value each */
	VTAC_LRN, VTAC_DET,	/* x */
	VTAC_CONV_3D,		/* x, w, [bias]; transposed too */
	VTAC_POOL_3D,		/* x, of one to three dimensions: attr.window_3d.kind */
	VTAC_DFT,		/* x, [window]: and STFT */
	VTAC_GRID_SAMPLE,	/* x, grid */
	VTAC_ROI_ALIGN,		/* x, rois [count][4], numbers of images [count] */
	VTAC_EINSUM,		/* a, [b]: sums of products over dimensions, by labels */
	VTAC_ONE_HOT,		/* indices, depth, values [2] */
	/* Those that move values */
	VTAC_CONCAT,		/* any number */
	VTAC_SPLIT,		/* x; any number of outputs */
	VTAC_SLICE, VTAC_PAD, VTAC_TRANSPOSE, VTAC_DEPTH_TO_SPACE,	/* x */
	VTAC_RESHAPE,		/* x; Flatten, Squeeze, Unsqueeze too: the same values */
	VTAC_IDENTITY,		/* x */
	VTAC_EXPAND,		/* x, shape: repeats values, as numpy broadcasts */
	VTAC_TILE,		/* x, repeats */
	VTAC_REVERSE_SEQUENCE,	/* x, lengths */
	/* Lists whose length data decides: as long as can be, -1 behind the last entry */
	VTAC_NON_ZERO,		/* x: coordinates [rank][count] */
	VTAC_UNIQUE,		/* x: numbers of slices [count] */
	VTAC_UNIQUE_INVERSE,	/* x: of each slice, the place in that list */
	VTAC_NMS,		/* boxes, scores, [most], [overlap], [least], [boxes in use] */
	VTAC_COUNT,		/* such a list: the entries in it, a scalar */
	VTAC_GATHER, VTAC_GATHER_ELEMENTS, VTAC_GATHER_ND,	/* x, indices */
	VTAC_SCATTER_ELEMENTS, VTAC_SCATTER_ND,			/* x, indices, updates */
	/* Quantisation of the file: QLinearConv is dequantise, conv, quantise */
	VTAC_QUANTIZE,		/* x, scale, [zero point] */
	VTAC_DEQUANTIZE,	/* x, scale, [zero point] */
	/* Made by passes: */
	VTAC_GEMM_ROUNDED,	/* x, steps, w int8 [n][k], scales, zeros, [bias]: on the CPU */
	VTAC_COPY,		/* x: to another device or layout; may add channels (attr.pad) */
	VTAC_CHANNELS,		/* any number: of each output channel, attr.channels.picks */
	/* Operators on shapes: gone after vtac_pass_partition(), or an error */
	VTAC_SHAPE, VTAC_CONSTANT_OF_SHAPE,
	VTAC_RANGE,		/* start, limit, step */
	VTAC_EYE,		/* x, for its shape */
	VTAC_MEL_WEIGHTS,	/* mel bins, DFT size, rate, lower and upper edge in Hz */
	VTAC_TRILU,		/* x, [diagonal]: a VTAC_WHERE once shapes are known */
	/* Gone after vtac_pass_shape(); the last inputs are the captures of the bodies, in order */
	VTAC_IF,		/* condition */
	VTAC_LOOP,		/* [count], [condition], carried values */
	VTAC_SCAN,		/* carried values, lists */
	VTAC_OPS
};

/*
 * Two-dimensional windows: [0] is height, [1] width. Once shapes are known, the kernel
 * is (a file may leave it out: 0), and pads are explicit.
 */
enum vtac_auto_pad { VTAC_PAD_EXPLICIT, VTAC_PAD_SAME_UPPER, VTAC_PAD_SAME_LOWER };
struct vtac_window {
	int64_t kernel[2], stride[2], dilation[2];
	int64_t pad[4];		/* top, left, bottom, right */
	enum vtac_auto_pad auto_pad;
	bool ceil;		/* a window that is partly outside counts (pools) */
	bool count_pad;		/* VTAC_AVG_POOL: padding counts as 0 in the mean */
};

struct vtac_conv {
	struct vtac_window window;
	int64_t groups;
	/* Trailing input channels that pad_channels.c or input_affine.c added */
	int64_t spare;
	/* The file's input channels and window, if space_to_depth.c made others of them; else 0 */
	struct { int64_t channels, kernel[2]; } file;
	int64_t out_pad[2];	/* VTAC_CONV_TRANSPOSE */
	int64_t out_shape[2];	/* likewise, as the file asks for it; 0: not given */
};

/* y = alpha * x * w + beta * c. After fuse: trans_w, w [n][k], c [n], alpha = beta = 1. */
struct vtac_gemm {
	bool trans_x, trans_w;
	float alpha, beta;
};

/*
 * y = alpha * a * b, of each head of each image, whose matrices [m][k], [k][n] and [m][n] are parts
 * of one each. By rows, that is [images * heads * rows][columns]; by columns, heads share the rows
 * of an image: [images * rows][heads * columns]. b_turned: b of a head is [n][k].
 */
struct vtac_batch_gemm {
	int64_t images, heads;
	bool a_columns, b_columns, out_columns, b_turned;
	float alpha;
};

/* The operator in the file, and its attributes. Gone with shapes. */
enum vtac_reshape_kind {
	VTAC_TO_SHAPE, VTAC_FLATTEN, VTAC_SQUEEZE, VTAC_UNSQUEEZE,
	VTAC_ALONG,		/* a list becomes one along an axis of the second input */
};
struct vtac_reshape {
	enum vtac_reshape_kind kind;
	int axis;		/* FLATTEN, ALONG */
	bool allow_zero;	/* TO_SHAPE: 0 is a size, not the input's size */
};

enum vtac_resize_mode { VTAC_NEAREST, VTAC_LINEAR, VTAC_CUBIC };
enum vtac_resize_coord {
	VTAC_HALF_PIXEL, VTAC_PYTORCH_HALF_PIXEL, VTAC_ASYMMETRIC, VTAC_ALIGN_CORNERS,
	VTAC_HALF_PIXEL_SYMMETRIC, VTAC_HALF_PIXEL_FOR_NN, VTAC_CROP,
};
enum vtac_resize_round {
	VTAC_ROUND_PREFER_FLOOR, VTAC_ROUND_PREFER_CEIL, VTAC_ROUND_FLOOR, VTAC_ROUND_CEIL,
};
/* The sizes themselves, or one scale: the greatest within them, the least beyond them. */
enum vtac_resize_aspect { VTAC_STRETCH, VTAC_NOT_LARGER, VTAC_NOT_SMALLER };
struct vtac_resize {
	enum vtac_resize_mode mode;
	enum vtac_resize_coord coord;
	enum vtac_resize_round round;
	enum vtac_resize_aspect aspect;	/* what sizes mean; gone with shapes */
	int axes[VTAC_RANK_MAX];	/* that scales and sizes are of, in their order */
	int n_axes;			/* 0: of all dimensions */
	float scale[VTAC_RANK_MAX];	/* output / input of each dimension */
	bool exclude, antialias;
	float cubic, extrapolation;	/* CUBIC's coefficient; what is outside of a CROP */
	float start[VTAC_RANK_MAX], end[VTAC_RANK_MAX];	/* CROP: the region, of 0 to 1 */
};

/* Windows of three dimensions, or of fewer, which are the last; pads: before, then behind */
struct vtac_window_3d {
	int64_t kernel[3], stride[3], dilation[3], pad[6], groups, out_pad[3], out_shape[3], power;
	enum vtac_auto_pad auto_pad;
	enum vtacpu_pool_3d_kind kind;
	bool ceil, transposed, by_column;
};

/* A letter for each dimension, '.' for any number of them; without once shapes are known. */
#define VTAC_LABELS_MAX	(VTAC_RANK_MAX + 2)
struct vtac_einsum {
	char a[VTAC_LABELS_MAX], b[VTAC_LABELS_MAX], y[VTAC_LABELS_MAX];
};

enum vtac_pad_mode { VTAC_PAD_CONSTANT, VTAC_PAD_REFLECT, VTAC_PAD_EDGE, VTAC_PAD_WRAP };
struct vtac_pad {
	enum vtac_pad_mode mode;
	float value;
	int64_t before[VTAC_RANK_MAX], after[VTAC_RANK_MAX];	/* negative: cut off */
};

struct vtac_slice {
	int64_t start[VTAC_RANK_MAX], step[VTAC_RANK_MAX];	/* of each dimension */
};

/* In perm[0] until shapes are known */
#define VTAC_PERM_REVERSE	(-1)	/* all dimensions in the other order */
#define VTAC_PERM_LAST_TWO	(-2)	/* the last two swapped */

/*
 * A sub-graph, a pattern for nodes of the graph: its nodes and tensors are no part of the graph's.
 * The id of a tensor is its number in the body.
 */
struct vtac_body {
	struct vtac_node **nodes;	/* in order */
	struct vtac_tensor **in;	/* its inputs, then captures of the graph around it */
	struct vtac_tensor **out;
	unsigned int n_nodes, n_in, n_captures, n_out, n_tensors;
};

/* IF, LOOP and SCAN */
struct vtac_control {
	const struct vtac_body *body[2];	/* IF: then, else; others: one */
	unsigned int n_carried, n_lists;	/* LOOP, SCAN */
	/* SCAN: the axis of each list, and of each output behind the carried ones; from the end? */
	const int64_t *axis, *out_axis, *reverse, *out_reverse;
};

union vtac_attr {
	const struct vtac_control *control;
	struct vtac_conv conv;
	struct vtac_window pool;
	struct vtac_gemm gemm;
	struct vtac_batch_gemm batch_gemm;
	struct { float lo, hi; } clip;			/* infinities: no limit */
	/* LEAKY_RELU, HARD_SIGMOID, UNARY, which alone has a kind */
	struct { float alpha, beta; enum vtacpu_act_kind kind; } unary;
	struct { enum vtacpu_binary_op op; } binary;
	/*
	 * Over all dimensions from axis on, with a scale and bias for each place; or, by_channel,
	 * over each of groups (0: as many as channels) of an image's channels, with those of
	 * channels; or, across, over the channels of each pixel (axis is 1), likewise.
	 */
	struct { int axis; int64_t groups; float epsilon; bool rms, by_channel, across; } norm;
	struct { int axis; bool keep, least, last; } arg;
	struct { int axis; bool least; } top;
	struct { int axis; bool exclusive, reverse; } cum_sum;
	struct {
		enum vtacpu_recurrent_kind kind;
		bool reverse, linear, cell;
		bool summed;		/* x has the sums of all gates, and w is left out */
	} recurrent;
	struct { int axis; enum vtacpu_scatter_op op; } scatter;
	struct { int batch; } gather_nd;
	struct { float epsilon; } batch_norm;
	struct { const struct vtaops_pick *picks; } channels;
	struct { int axis; } axis;			/* SOFTMAX, CONCAT, SPLIT, GATHER, ... */
	/* flat: over all from axis on; hard: 1 for the greatest, 0 for others */
	struct { int axis; bool flat, log, hard; } softmax;
	/* axes: bit i for dimension i; noop: no axes are none, not all; onward: all after, too */
	struct { enum vtacpu_reduce_op op; uint32_t axes; bool keep, noop, onward; } reduce;
	struct { float alpha, beta, bias; int64_t size; } lrn;
	struct { int axis; int64_t depth; } one_hot;
	struct { int time; } reverse;			/* of dimensions 0 and 1 */
	struct { int64_t k; enum vtac_dtype to; bool given; } eye;
	struct { int axis; bool flat, sorted; } unique;	/* flat: of all values */
	struct { int64_t most; bool centre, has_score; float overlap, score; } nms;
	struct { enum vtac_resize_mode mode; enum vtacpu_grid_pad pad; bool align; } grid;
	struct { int64_t h, w, samples; float scale; bool max, half; } roi;
	struct vtac_einsum einsum;
	struct vtac_window_3d window_3d;
	/* count: values of a frame, which is a DFT's axis */
	struct { int axis; int64_t step, count; bool inverse, onesided, frames; } dft;
	double mel[5];					/* MEL_WEIGHTS: the inputs */
	struct vtac_reshape reshape;
	struct { int perm[VTAC_RANK_MAX]; } transpose;
	struct { int64_t block; bool crd, inverse; } depth_to_space;
	/* exact: of sums of products of integers of 8 bits */
	struct { enum vtac_dtype to; bool exact; } cast;
	struct { int64_t start, end; } shape;
	struct { bool upper; } trilu;
	struct vtac_resize resize;
	struct vtac_pad pad;
	struct vtac_slice slice;
};

/* The activation of a node with an output stage */
enum vtac_act { VTAC_ACT_NONE, VTAC_ACT_CLIP, VTAC_ACT_LEAKY };
struct vtac_activation {
	enum vtac_act kind;
	float lo, hi;		/* CLIP */
	float alpha;		/* LEAKY: the factor of negative values */
};

/*
 * The output stage in integers, filled in by quantise; as struct vtaops_post:
 *	out = clamp((acc * mul + bias) >> shift, lo, hi), acc from residual << res_shift
 * or from residual * res_mul.
 * mul and shift have one value, or one for each output channel if per_channel.
 */
struct vtac_post {
	const int32_t *bias;	/* [channels], or NULL */
	const int32_t *mul, *shift;
	bool per_channel;
	int32_t lo, hi;			/* QUANTIZE has them too */
	bool round;			/* half is added before the shift; not per_channel */
	bool down;			/* CONV, GEMM: rounded down, not to the nearest */
	unsigned int res_shift;		/* CONV, GEMM: of the residual */
	const int32_t *res_mul;		/* CONV: instead, of each output channel; or NULL */
	int32_t around;			/* CONV: the integer of real 0, around its input */
	bool low;			/* CONV: the low half of 16 bits, which lo and hi limit */
	unsigned int a_shift, b_shift;	/* ADD and its like, CLIP: of a and b */
	int32_t offset;			/* likewise: added to acc before mul */
	const struct vtac_function *function;	/* UNARY and its like: instead of all; or NULL */
	struct vtaops_norm_form norm;	/* NORM: acc, before mul and bias */
};

/* A function of one tensor in integers, and how near it is. */
struct vtac_function {
	struct vtaops_formula formula;
	uint32_t cycles;	/* of an element, nearly */
	int worst;		/* the most steps between a result and the exact one's nearest */
	float rms;		/* in steps, of all inputs, against the exact results */
};

/* real = scale * (integer - zero); n is 1, or the size of dimension axis. */
struct vtac_quant {
	const float *scale;	/* NULL: not quantised */
	const int32_t *zero;	/* NULL: 0; as many as scales */
	int64_t n;
	int axis;
	enum vtac_dtype type;	/* of the integer: I8, U8 or I32 */
	bool given;		/* by the file, not by calibration */
};

struct vtac_node;
struct vtac_stats;
struct vtac_tensor;

/* An integer that is computed, from @least to @most: the value of @size, if any. */
struct vtac_bound {
	int64_t least, most;
	struct vtac_tensor *size;	/* NULL: it is @most, or not known if @vague */
	bool vague;
};

struct vtac_tensor {
	unsigned int id;
	const char *name;	/* unique in the graph */
	enum vtac_dtype dtype;
	int rank;		/* -1: not known yet */
	int64_t dims[VTAC_RANK_MAX];	/* each >= 0; -1 in a graph input: not known yet */
	const void *data;	/* of a constant, PLAIN, little-endian; or NULL */
	/*
	 * Data decides how much of dimension @open is in use: the first *size, an int64 that a node
	 * computes, of dims[open]. NULL: all of it. The values behind them have no meaning.
	 */
	struct vtac_tensor *size;
	int open;
	const struct vtac_bound *bounds;	/* of each of a few computed integers, or NULL */
	struct vtac_node *producer;	/* NULL of a constant or graph input */
	struct vtac_node **users;	/* one entry for each input slot that it fills */
	unsigned int n_users, max_users;
	struct vtac_quant quant;
	struct vtac_stats *stats;	/* of calibration (quant.h), or NULL */
	const float *channel_scale;	/* what equalise divided channels by, or NULL */
	/* This is what the rounding of @coarse leaves, in 1/@steps of a step (precision.c) */
	const struct vtac_tensor *coarse;
	int steps;
	enum vtac_device device;
	enum vtac_layout layout;
	int64_t offset;		/* in its device's arena; -1: none yet */
	unsigned int first, last;	/* steps that it is there in, 1 + a node's place */
	struct vtac_tensor *home;	/* this tensor is a part of home's memory, or NULL */
	int64_t home_offset;	/* bytes */
};

struct vtac_node {
	unsigned int id;	/* its place in the order, after vtac_graph_dce() */
	const char *name;	/* as in the file, or made of the output's name; unique */
	const char *file_op;	/* the operator's name in the file */
	enum vtac_op op;
	struct vtac_tensor **in, **out;
	unsigned int n_in, n_out;
	union vtac_attr attr;
	struct vtac_activation act;
	struct vtac_post post;
	enum vtac_device device;
	const char *why;	/* the reason it is not on the card, or NULL */
	int region;		/* number of the card region, in order; -1: none */
	uint64_t cycles;	/* the card takes, estimated or exact; 0: not known */
	uint32_t stream, insn;	/* of the card, when lowered: its stream, and where it begins */
	struct vtac_hessian *hessian;	/* of its weights (quant.h), or NULL */
	unsigned int joins;	/* a merged sum's: 1 + its input with a scale of its own; 0: none */
	bool precise;		/* its output is to have finer steps than 8 bits (precision.c) */
	bool named;		/* the user names it for that: it has to */
	const char *coarse_why;	/* the reason it has not, though the user wants it, or NULL */
	bool dead;		/* removed, until vtac_graph_dce() */
};

struct vtac_error {
	char text[4000];	/* a sentence, or lines of them; "" if there is none */
	bool internal;		/* the compiler's own: found by vtac_graph_verify() */
};

/* A node that cannot be compiled */
struct vtac_refusal {
	struct vtac_refusal *next;
	const char *node, *op, *why;
};

struct vtac_arena {
	struct vtac_block *blocks;
	uint64_t used, limit;	/* bytes */
};

/* Memory of the tensors, by memory_plan: the bytes, and the least that they could be */
struct vtac_plan {
	uint64_t card_bytes, card_bound, host_bytes, host_bound;
};

struct vtac_graph {
	const char *name;
	struct vtac_node **nodes;	/* in order */
	struct vtac_tensor **tensors;	/* those of constants and graph inputs too */
	struct vtac_tensor **inputs, **outputs;
	const char **output_names;	/* the file's; passes keep them */
	unsigned int n_nodes, max_nodes, n_tensors, max_tensors;
	unsigned int n_inputs, max_inputs, n_outputs, max_outputs, max_output_names;
	unsigned int n_sizes;	/* the last outputs are sizes of others, and none of the file's */
	bool has_sizes;		/* a tensor has a size */
	bool counted;		/* calibrate has collected its stats (quant.h) */
	unsigned int n_bodies;	/* times that nodes of a sub-graph were made */
	uint64_t folded;	/* multiplications for constants: shape.c */
	unsigned int next_id;
	struct vtac_arena arena;
	struct vtac_names *names;
	struct crew *crew;	/* threads that work on it beside its own, crew.h; or NULL */
	struct vtac_quant_options *how;	/* options that calibrate chose (quant.h), or NULL */
	struct quantiser *quantiser;	/* from zero_point on (quant_impl.h), else NULL */
	struct vtac_plan plan;
	struct vtac_error error;
	struct vtac_refusal *refusals, **last_refusal;
};

/* ---- making and changing graphs ---- */

/* @limit: bytes, 0 for VTAC_MEMORY_LIMIT. NULL if there is no memory at all. */
struct vtac_graph *vtac_graph_new(uint64_t limit);
void vtac_graph_free(struct vtac_graph *g);
/* Another one that is the same, but for ids; it uses @from's constants. NULL: no memory. */
struct vtac_graph *vtac_graph_clone(const struct vtac_graph *from);
/* @g takes all memory of @from, which is freed: what of it @g has lives as long as @g. */
void vtac_graph_keep(struct vtac_graph *g, struct vtac_graph *from);
/* The same; and the nodes and tensors of @from, a changed clone of @g, become those of @g. */
void vtac_graph_become(struct vtac_graph *g, struct vtac_graph *from);

/* Zeroed memory of the arena, aligned to 64 bytes if large; n * size is checked. */
void *vtac_alloc(struct vtac_graph *g, uint64_t n, size_t size);
const char *vtac_text(struct vtac_graph *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Note an error; returns -1. Text: "NODE: sentence", or the sentence alone. */
int vtac_fail(struct vtac_graph *g, const struct vtac_node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Keep the error about @node as one of several, and go on: returns 0, or -1 if the error is of
 * another kind. vtac_refused() makes one error of all, by operator; 0 if there are none.
 */
int vtac_refuse(struct vtac_graph *g, const struct vtac_node *node);
/* The same for an error that is already gone: texts are copied. -1: no memory. */
int vtac_refuse_as(struct vtac_graph *g, const char *node, const char *op, const char *why);
int vtac_refused(struct vtac_graph *g);

/* A name that exists gets a number; NULL makes one up. rank is -1. */
struct vtac_tensor *vtac_tensor_new(struct vtac_graph *g, const char *name,
				    enum vtac_dtype dtype);
/* With a shape. @dims may be NULL if @rank is 0. */
struct vtac_tensor *vtac_tensor_shaped(struct vtac_graph *g, const char *name,
				       enum vtac_dtype dtype, int rank, const int64_t *dims);
/* A constant: @data is copied if @copy, else it is the arena's. */
struct vtac_tensor *vtac_tensor_const(struct vtac_graph *g, const char *name,
				      enum vtac_dtype dtype, int rank, const int64_t *dims,
				      const void *data, bool copy);
/* UTF-8 without control characters? Names go to terminals, into reports and generated files. */
bool vtac_is_name(const char *name);
/* The bytes of the first *@chars characters, of which there may be fewer: *@chars gets how many. */
int vtac_name_cut(const char *name, unsigned int *chars);
struct vtac_tensor *vtac_tensor_find(const struct vtac_graph *g, const char *name);
int vtac_graph_input(struct vtac_graph *g, struct vtac_tensor *t);
int vtac_graph_output(struct vtac_graph *g, struct vtac_tensor *t);

/* A node at the end of the order, inputs and outputs still NULL. */
struct vtac_node *vtac_node_new(struct vtac_graph *g, enum vtac_op op, const char *name,
				unsigned int n_in, unsigned int n_out);
/* Both keep users and producers; @t may be NULL. */
int vtac_node_set_in(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
		     struct vtac_tensor *t);
/* Replace constant input @i by one of the same shape that has @values, which are the arena's. */
int vtac_node_set_floats(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
			 const float *values);
void vtac_node_set_out(struct vtac_node *node, unsigned int i, struct vtac_tensor *t);
/* More (the new ones NULL) or fewer input slots. */
int vtac_node_resize_in(struct vtac_graph *g, struct vtac_node *node, unsigned int n_in);
/* Take a node out: its inputs lose a user, its outputs their producer. */
void vtac_node_remove(struct vtac_node *node);
/* All users of @from, and the graph's outputs, take @to instead. */
int vtac_tensor_replace(struct vtac_graph *g, struct vtac_tensor *from,
			struct vtac_tensor *to);

/*
 * dce.c: remove nodes and tensors that no output depends on, and sort nodes in topological order,
 * which is the old order as far as that is possible. Fails if there is a cycle.
 */
int vtac_graph_dce(struct vtac_graph *g);

/* Properties of a graph that passes establish; the table in api/compile.c says which. */
enum vtac_holds {
	VTAC_SHAPED = 1 << 0,		/* every tensor has a shape */
	VTAC_PARTITIONED = 1 << 1,	/* every node has a device */
	VTAC_LEGAL = 1 << 2,		/* the card has the operators of all of its nodes */
	VTAC_ALIGNED = 1 << 3,		/* parts of a Concat on the card are whole blocks */
	VTAC_CHOSEN = 1 << 4,		/* the file or calibrate says how to quantise */
	VTAC_CALIBRATED = 1 << 5,	/* tensors of the card's nodes have ranges */
	VTAC_SCALED = 1 << 6,		/* ... and scales, which the output stages need */
	VTAC_REQUANTIZED = 1 << 7,	/* the card's nodes have integer weights, output stages */
	VTAC_QUANTISED = 1 << 8,	/* the card's nodes compute with integers in its memory */
	VTAC_SCHEDULED = 1 << 9,	/* nodes are in the order of execution, in regions */
	VTAC_PLANNED = 1 << 10,		/* tensors have offsets in their device's memory */
};

/*
 * verify.c: check order, users and producers, and the properties @holds; @block is the core's.
 * A graph that fails is an internal error.
 */
int vtac_graph_verify(struct vtac_graph *g, unsigned int holds, int64_t block);

/* ---- questions ---- */

size_t vtac_dtype_size(enum vtac_dtype dtype);
const char *vtac_dtype_name(enum vtac_dtype dtype);
const char *vtac_op_name(enum vtac_op op);
/* Values in a tensor; -1 if the shape is not known. Never overflows: shapes are checked. */
int64_t vtac_elements(const struct vtac_tensor *t);
/* Of PLAIN values; -1 likewise. */
int64_t vtac_bytes(const struct vtac_tensor *t);
/* Set the shape: fails if a dimension is negative or it has over 2^40 values. */
int vtac_set_shape(struct vtac_graph *g, const struct vtac_node *node, struct vtac_tensor *t,
		   int rank, const int64_t *dims);
bool vtac_same_shape(const struct vtac_tensor *a, const struct vtac_tensor *b);
bool vtac_is_output(const struct vtac_graph *g, const struct vtac_tensor *t);
/* The only user, if there is exactly one and @t is no output of the graph; else NULL. */
struct vtac_node *vtac_only_user(const struct vtac_graph *g, const struct vtac_tensor *t);
bool vtac_all_same(const int32_t *v, int64_t n);
/* Disjoint sets: @parent leads to a set's least member, and begins with parent[i] = i. */
unsigned int vtac_set_find(unsigned int *parent, unsigned int i);
void vtac_set_unite(unsigned int *parent, unsigned int a, unsigned int b);
/* Are outputs of the operator values of its inputs, with their scale and zero point? */
bool vtac_moves_values(enum vtac_op op);
/* The node that computes the low half of 16 bits, of which @node computes the high one; or NULL */
const struct vtac_node *vtac_low_of(const struct vtac_node *node);
/* Does a window have any padding? */
bool vtac_has_padding(const struct vtac_window *w);
/* Does the file give @t one scale, for integers of 8 bits? */
bool vtac_is_given(const struct vtac_tensor *t);
/* Do both have one scale and zero point for each place, and they are equal? */
bool vtac_same_quant(const struct vtac_quant *a, const struct vtac_quant *b);
/* The real values of the file's integers for @t, from @least to the greatest. */
void vtac_given_range(const struct vtac_tensor *t, int32_t least, float *lo, float *hi);
/*
 * The limits of @t's values: by its producer's activation, and by the range of the file's integers.
 * Quantisers rely on the latter and leave out the Relu or Clip before it.
 */
void vtac_limits(const struct vtac_tensor *t, float *lo, float *hi);
/* Does a Slice take all of its input, in order? */
bool vtac_slice_is_whole(const struct vtac_node *node);
/* shape.c: a vector as a product takes it, whose dimension @one is 1; others as they are. */
struct vtac_tensor vtac_as_matrix(const struct vtac_tensor *t, int one);
/* shape.c: set shapes and types of a node's outputs by those of its inputs. */
int vtac_shape_node(struct vtac_graph *g, struct vtac_node *node);
/* Are the sizes of both decided by the same data, or those of both known? */
bool vtac_same_size(const struct vtac_tensor *a, const struct vtac_tensor *b);
/* "1x3x224x224", or "<=100x4" if data decides a size */
const char *vtac_shape_text(const struct vtac_tensor *t, char buf[static 128]);

/* kernel.c: is it a function of each of one tensor's values? */
bool vtac_is_function(const struct vtac_node *node);
/* Of a BATCH_GEMM, the sizes of a head's product. */
struct vtac_product {
	int64_t m, n, k;
};
struct vtac_product vtac_product_of(const struct vtac_node *node);
/* Compute it, of @n floats in place. */
void vtac_compute_function(const struct vtac_node *node, float *values, uint32_t n);

/* ---- dumps: complete and deterministic ---- */

void vtac_dump_text(const struct vtac_graph *g, FILE *f);
void vtac_dump_dot(const struct vtac_graph *g, FILE *f);

/* ---- private: arena.c, names.c ---- */

void arena_free(struct vtac_arena *a);
/* Move all blocks of @from behind those of @a. */
void arena_take(struct vtac_arena *a, struct vtac_arena *from);

/* Room for one more item after @n in an array of the arena. */
int array_grow(struct vtac_graph *g, void **items, unsigned int n, unsigned int *max,
	       size_t size);

/* Names are one space for tensors, another for nodes, and one for each scope of a file. */
enum name_kind { NAME_TENSOR, NAME_NODE, NAME_SCOPE };
void *names_find(const struct vtac_graph *g, unsigned int kind, const char *name);
/* The name as it is kept: @name, or with a number if there is one. NULL: no memory. */
const char *names_add(struct vtac_graph *g, unsigned int kind, const char *name, void *item);

#endif /* VTAC_GRAPH_H */
