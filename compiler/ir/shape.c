// SPDX-License-Identifier: Apache-2.0
/*
 * Set shapes and types of a node's outputs by its inputs', and move constant inputs to the
 * attributes.
 */
#include <math.h>
#include <string.h>

#include "kernel.h"
#include "shape_impl.h"

int shape_out(struct vtac_graph *g, struct vtac_node *node, int rank, const int64_t *dims)
{
	node->out[0]->dtype = node->in[0]->dtype;
	return vtac_set_shape(g, node, node->out[0], rank, dims);
}

int shape_axis(struct vtac_graph *g, const struct vtac_node *node, int axis, int rank, int *index)
{
	*index = axis < 0 ? axis + rank : axis;
	if (*index < 0 || *index >= rank)
		return vtac_fail(g, node, "Its axis %d is not one of %d dimensions.", axis, rank);
	return 0;
}

int shape_ints(struct vtac_graph *g, const struct vtac_node *node, unsigned int i,
	       int64_t *values, int max)
{
	const struct vtac_tensor *t = i < node->n_in ? node->in[i] : NULL;
	int n;

	if (!t)
		return -1;
	if (!t->data && t->bounds && vtac_elements(t) <= max) {
		n = (int)vtac_elements(t);
		for (int k = 0; k < n; k++)
			values[k] = t->bounds[k].most;
		return n;
	}
	if (!t->data) {
		vtac_fail(g, node,
			  "Its input %.120s depends on the model's input values; it must be "
			  "constant.",
			  t->name);
		return -2;
	}
	if (t->rank > 1 || vtac_elements(t) > max ||
	    (t->dtype != VTAC_I64 && t->dtype != VTAC_I32)) {
		vtac_fail(g, node,
			  "Its input %.120s is not a list of at most %d integers.", t->name,
			  max);
		return -2;
	}
	n = (int)vtac_elements(t);
	for (int k = 0; k < n; k++)
		values[k] = t->dtype == VTAC_I64 ? ((const int64_t *)t->data)[k] :
			((const int32_t *)t->data)[k];
	return n;
}

int shape_broadcast(struct vtac_graph *g, const struct vtac_node *node, int *rank, int64_t *dims,
		    const struct vtac_tensor *b)
{
	int n = *rank > b->rank ? *rank : b->rank;
	int64_t out[VTAC_RANK_MAX] = { 0 };

	for (int i = 0; i < n; i++) {
		int64_t x = i < n - *rank ? 1 : dims[i - (n - *rank)];
		int64_t y = i < n - b->rank ? 1 : b->dims[i - (n - b->rank)];

		if (x != y && x != 1 && y != 1)
			return vtac_fail(g, node,
					 "Its inputs' shapes do not fit: %lld and %lld in "
					 "dimension %d.",
					 (long long)x, (long long)y, i);
		out[i] = x == 1 ? y : x;
	}
	memcpy(dims, out, (size_t)n * sizeof(dims[0]));
	*rank = n;
	return 0;
}

static int shape_same(struct vtac_graph *g, struct vtac_node *node)
{
	if (!node->in[0])
		return vtac_fail(g, node, "Its first input is missing.");
	return shape_out(g, node, node->in[0]->rank, node->in[0]->dims);
}

static int shape_binary(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t dims[VTAC_RANK_MAX];
	int rank = node->in[0]->rank;

	if (node->in[0]->dtype != node->in[1]->dtype)
		return vtac_fail(g, node, "Its inputs have different types: %s and %s.",
				 vtac_dtype_name(node->in[0]->dtype),
				 vtac_dtype_name(node->in[1]->dtype));
	memcpy(dims, node->in[0]->dims, sizeof(dims));
	if (shape_broadcast(g, node, &rank, dims, node->in[1]))
		return -1;
	return shape_out(g, node, rank, dims);
}

/* Give a constant operand @i the other operand's type: the exponent of a power may differ. */
static int unify_type(struct vtac_graph *g, struct vtac_node *node, unsigned int i)
{
	const struct vtac_tensor *t = node->in[i];
	struct vtac_call call = { .kernel = VTACPU_CAST };
	struct vtac_tensor *to;
	void *io[2];

	if (t->dtype == node->in[1 - i]->dtype || !t->data || !vtac_elements(t))
		return 0;
	call.p.cast = (struct vtacpu_cast){
		(uint32_t)vtac_elements(t), vtac_cpu_type(t->dtype),
		vtac_cpu_type(node->in[1 - i]->dtype),
	};
	io[0] = (void *)(uintptr_t)t->data;
	io[1] = vtac_alloc(g, (uint64_t)vtac_elements(t),
			   vtac_dtype_size(node->in[1 - i]->dtype));
	to = io[1] ? vtac_tensor_const(g, t->name, node->in[1 - i]->dtype, t->rank, t->dims, io[1],
				       false) : NULL;
	if (!to || vtacpu_need(call.kernel, &call.p, &call.need))
		return -1;
	vtacpu_run(call.kernel, &call.p, io, NULL);
	return vtac_node_set_in(g, node, i, to);
}

static int shape_operator(struct vtac_graph *g, struct vtac_node *node)
{
	enum vtacpu_binary_op op = node->attr.binary.op;

	if (unify_type(g, node, 1) || shape_binary(g, node))
		return -1;
	if (op == VTACPU_EQUAL || op == VTACPU_LESS || op == VTACPU_LESS_EQUAL)
		node->out[0]->dtype = VTAC_BOOL;
	return 0;
}

static int shape_where(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t dims[VTAC_RANK_MAX];
	int rank = node->in[0]->rank;

	if (node->in[0]->dtype != VTAC_BOOL || node->in[1]->dtype != node->in[2]->dtype)
		return vtac_fail(g, node, "Its inputs' types do not fit.");
	memcpy(dims, node->in[0]->dims, sizeof(dims));
	if (shape_broadcast(g, node, &rank, dims, node->in[1]) ||
	    shape_broadcast(g, node, &rank, dims, node->in[2]))
		return -1;
	node->out[0]->dtype = node->in[1]->dtype;
	return vtac_set_shape(g, node, node->out[0], rank, dims);
}

static int clip_limit(struct vtac_graph *g, const struct vtac_node *node, unsigned int i, float *v)
{
	const struct vtac_tensor *t = i < node->n_in ? node->in[i] : NULL;

	if (!t)
		return 0;
	if (!t->data || t->dtype != VTAC_F32 || vtac_elements(t) != 1)
		return vtac_fail(g, node, "Its limit %.120s is not one constant float.", t->name);
	*v = *(const float *)t->data;
	return 0;
}

/* Limits of the input's type. */
static int shape_limit(struct vtac_graph *g, struct vtac_node *node)
{
	for (unsigned int i = 1; i < node->n_in; i++)
		if (node->in[i] && (node->in[i]->dtype != node->in[0]->dtype ||
				    vtac_elements(node->in[i]) != 1))
			return vtac_fail(g, node, "Its limit %.120s is not one value of its type.",
					 node->in[i]->name);
	return shape_same(g, node);
}

static bool is_float_constant(const struct vtac_node *node, unsigned int i)
{
	const struct vtac_tensor *t = i < node->n_in ? node->in[i] : NULL;

	return !t || (t->data && t->dtype == VTAC_F32);
}

/* A Relu, or a clip without limits. */
static int clip_integers(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *zero;
	uint64_t none = 0;

	if (node->attr.clip.lo == 0) {
		zero = vtac_tensor_const(g, "zero", node->in[0]->dtype, 0, NULL, &none, true);
		if (!zero || vtac_node_resize_in(g, node, 3) || vtac_node_set_in(g, node, 1, zero))
			return -1;
	}
	node->op = VTAC_LIMIT;
	return shape_limit(g, node);
}

static int shape_clip(struct vtac_graph *g, struct vtac_node *node)
{
	float *lo = &node->attr.clip.lo, *hi = &node->attr.clip.hi;

	if (node->in[0]->dtype != VTAC_F32 && !(node->n_in > 1 && node->in[1]) &&
	    !(node->n_in > 2 && node->in[2]))
		return clip_integers(g, node);
	/* Limits of other types, and those that are computed */
	if (node->n_in > 1 && !(is_float_constant(node, 1) && is_float_constant(node, 2))) {
		node->op = VTAC_LIMIT;
		return shape_limit(g, node);
	}
	if (clip_limit(g, node, 1, lo) || clip_limit(g, node, 2, hi) ||
	    vtac_node_resize_in(g, node, 1))
		return -1;
	if (isnan(*lo) || isnan(*hi))
		return vtac_fail(g, node, "Its limit is not a number.");
	/* ONNX: with limits that are crossed, all values are the upper one. */
	*lo = fminf(*lo, *hi);
	return shape_same(g, node);
}

static int shape_gemm(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *w = node->in[1];
	const struct vtac_tensor *c = node->n_in > 2 ? node->in[2] : NULL;
	const struct vtac_gemm *a = &node->attr.gemm;
	int64_t dims[VTAC_RANK_MAX];
	int rank = 2;

	if (x->rank != 2 || w->rank != 2)
		return vtac_fail(g, node, "Its inputs are not matrices.");
	if (x->dims[!a->trans_x] != w->dims[a->trans_w])
		return vtac_fail(g, node, "Its matrices do not fit: %lld and %lld.",
				 (long long)x->dims[!a->trans_x], (long long)w->dims[a->trans_w]);
	dims[0] = x->dims[a->trans_x];
	dims[1] = w->dims[!a->trans_w];
	if (shape_out(g, node, 2, dims))
		return -1;
	if (c && (shape_broadcast(g, node, &rank, dims, c) || rank != 2 ||
		  dims[0] != node->out[0]->dims[0] || dims[1] != node->out[0]->dims[1]))
		return vtac_fail(g, node, "The tensor to add has another shape than its product.");
	return 0;
}

struct vtac_tensor vtac_as_matrix(const struct vtac_tensor *t, int one)
{
	struct vtac_tensor m = *t;

	if (t->rank == 1) {
		m.rank = 2;
		m.dims[1 - one] = t->dims[0];
		m.dims[one] = 1;
	}
	return m;
}

static int shape_matmul(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor a = vtac_as_matrix(node->in[0], 0);
	struct vtac_tensor b = vtac_as_matrix(node->in[1], 1);
	int64_t dims[VTAC_RANK_MAX];
	int rank;

	if (a.rank < 2 || b.rank < 2)
		return vtac_fail(g, node, "Its inputs have %d and %d dimensions.", a.rank, b.rank);
	if (a.dims[a.rank - 1] != b.dims[b.rank - 2])
		return vtac_fail(g, node, "Its matrices do not fit: %lld and %lld.",
				 (long long)a.dims[a.rank - 1], (long long)b.dims[b.rank - 2]);
	rank = a.rank - 2;
	memcpy(dims, a.dims, sizeof(dims));
	b.rank -= 2;
	if (shape_broadcast(g, node, &rank, dims, &b))
		return -1;
	/* A vector's own dimension of 1 is none of the product's. */
	if (node->in[0]->rank > 1)
		dims[rank++] = a.dims[a.rank - 2];
	if (node->in[1]->rank > 1)
		dims[rank++] = b.dims[b.rank + 1];
	return shape_out(g, node, rank, dims);
}

static int shape_batch_norm(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (x->rank < 2)
		return vtac_fail(g, node, "Its input has %d dimensions.", x->rank);
	for (unsigned int i = 1; i < 5; i++)
		if (node->in[i]->rank != 1 || node->in[i]->dims[0] != x->dims[1])
			return vtac_fail(g, node,
					 "Its input %.120s is not one value for each of %lld "
					 "channels.",
					 node->in[i]->name, (long long)x->dims[1]);
	return shape_same(g, node);
}

static int shape_softmax(struct vtac_graph *g, struct vtac_node *node)
{
	int axis;

	if (shape_axis(g, node, node->attr.softmax.axis, node->in[0]->rank, &axis))
		return -1;
	node->attr.softmax.axis = axis;
	return shape_same(g, node);
}

static int shape_reduce(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t v[VTAC_RANK_MAX], dims[VTAC_RANK_MAX];
	uint32_t axes = 0;
	int n, axis, rank = 0;

	if (node->n_in > 1) {
		n = shape_ints(g, node, 1, v, VTAC_RANK_MAX);
		if (n == -2)
			return -1;
		for (int i = 0; i < n; i++) {
			if (v[i] < -VTAC_RANK_MAX || v[i] > VTAC_RANK_MAX ||
			    shape_axis(g, node, (int)v[i], x->rank, &axis))
				return vtac_fail(g, node, "Its axes are out of range.");
			for (axes |= 1u << axis; node->attr.reduce.onward && axis < x->rank; axis++)
				axes |= 1u << axis;
		}
		node->attr.reduce.axes = n > 0 || node->attr.reduce.noop ? axes :
			(1u << x->rank) - 1;
		if (vtac_node_resize_in(g, node, 1))
			return -1;
	}
	for (int i = 0; i < x->rank; i++) {
		if (!(node->attr.reduce.axes >> i & 1))
			dims[rank++] = x->dims[i];
		else if (node->attr.reduce.keep)
			dims[rank++] = 1;
	}
	return shape_out(g, node, rank, dims);
}

/* The second input, if any, has the type. */
static int shape_cast(struct vtac_graph *g, struct vtac_node *node)
{
	if (node->n_in > 1) {
		node->attr.cast.to = node->in[1]->dtype;
		if (vtac_node_resize_in(g, node, 1))
			return -1;
	}
	if (shape_same(g, node))
		return -1;
	node->out[0]->dtype = node->attr.cast.to;
	return 0;
}

/* The scale is one number, or one for each place along the axis. */
static int check_scale(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *s = node->in[1], *z = node->in[2];
	int64_t n = vtac_elements(s);
	int axis;

	if (s->dtype != VTAC_F32 || s->rank > 1 || (z && vtac_elements(z) != n))
		return vtac_fail(g, node, "Its scale and zero point do not fit.");
	if (n == 1 && (s->rank == 0 || !x->rank || node->attr.axis.axis >= x->rank))
		return 0;
	if (shape_axis(g, node, node->attr.axis.axis, x->rank, &axis))
		return -1;
	node->attr.axis.axis = axis;
	if (n != 1 && n != x->dims[axis])
		return vtac_fail(g, node, "It has %lld scales for %lld channels.", (long long)n,
				 (long long)x->dims[axis]);
	return 0;
}

static int shape_quantize(struct vtac_graph *g, struct vtac_node *node)
{
	enum vtac_dtype type = node->in[2] ? node->in[2]->dtype : VTAC_U8;

	if (node->in[0]->dtype != VTAC_F32 || (type != VTAC_U8 && type != VTAC_I8))
		return vtac_fail(g, node, "It does not convert floats to int8 or uint8.");
	if (check_scale(g, node) || shape_same(g, node))
		return -1;
	node->out[0]->dtype = type;
	return 0;
}

static int shape_dequantize(struct vtac_graph *g, struct vtac_node *node)
{
	enum vtac_dtype type = node->in[0]->dtype;

	if ((type != VTAC_U8 && type != VTAC_I8 && type != VTAC_I32) ||
	    (node->in[2] && node->in[2]->dtype != type))
		return vtac_fail(g, node,
				 "Its input is not int8, uint8 or int32, or its zero point is of "
				 "another type.");
	if (check_scale(g, node) || shape_same(g, node))
		return -1;
	node->out[0]->dtype = VTAC_F32;
	return 0;
}

static int shape_steps(struct vtac_graph *g, struct vtac_node *node)
{
	return shape_out(g, node, 1, (const int64_t[]){ 2 });
}

/* A product of heads is made with its output, of which heads may be rows or columns. */
static int shape_kept(struct vtac_graph *g, struct vtac_node *node)
{
	(void)g;
	(void)node;
	return 0;
}

static const shape_fn shape_fns[VTAC_OPS] = {
	[VTAC_CONV] = shape_conv, [VTAC_CONV_TRANSPOSE] = shape_conv_transpose,
	[VTAC_GEMM] = shape_gemm, [VTAC_ADD] = shape_binary, [VTAC_MUL] = shape_binary,
	[VTAC_SUB] = shape_binary, [VTAC_DIV] = shape_binary, [VTAC_MAX] = shape_binary,
	[VTAC_MIN] = shape_binary, [VTAC_MAX_POOL] = shape_pool, [VTAC_AVG_POOL] = shape_pool,
	[VTAC_CLIP] = shape_clip, [VTAC_MATMUL] = shape_matmul,
	[VTAC_BATCH_NORM] = shape_batch_norm, [VTAC_SOFTMAX] = shape_softmax,
	[VTAC_REDUCE] = shape_reduce, [VTAC_NORM] = shape_norm, [VTAC_BINARY] = shape_operator,
	[VTAC_ARG] = shape_arg, [VTAC_TOP] = shape_top, [VTAC_CUM_SUM] = shape_cum_sum,
	[VTAC_RECURRENT] = shape_recurrent,
	[VTAC_TILE] = shape_tile, [VTAC_GATHER_ELEMENTS] = shape_gather_elements,
	[VTAC_GATHER_ND] = shape_gather_nd, [VTAC_SCATTER_ELEMENTS] = shape_scatter_elements,
	[VTAC_SCATTER_ND] = shape_scatter_nd, [VTAC_RANGE] = shape_range,
	[VTAC_TRILU] = shape_trilu,
	[VTAC_RESIZE] = shape_resize, [VTAC_CONCAT] = shape_concat,
	[VTAC_SPLIT] = shape_split, [VTAC_SLICE] = shape_slice, [VTAC_PAD] = shape_pad,
	[VTAC_TRANSPOSE] = shape_transpose, [VTAC_DEPTH_TO_SPACE] = shape_depth_to_space,
	[VTAC_RESHAPE] = shape_reshape, [VTAC_QUANTIZE] = shape_quantize,
	[VTAC_DEQUANTIZE] = shape_dequantize, [VTAC_CAST] = shape_cast,
	[VTAC_SHAPE] = shape_shape, [VTAC_GATHER] = shape_gather,
	[VTAC_CONSTANT_OF_SHAPE] = shape_constant_of_shape, [VTAC_EXPAND] = shape_expand,
	[VTAC_WHERE] = shape_where,
	[VTAC_LIMIT] = shape_limit, [VTAC_LRN] = shape_lrn, [VTAC_DET] = shape_det,
	[VTAC_ONE_HOT] = shape_one_hot, [VTAC_REVERSE_SEQUENCE] = shape_reverse_sequence,
	[VTAC_EYE] = shape_eye, [VTAC_MEL_WEIGHTS] = shape_mel_weights,
	[VTAC_NON_ZERO] = shape_non_zero, [VTAC_UNIQUE] = shape_unique,
	[VTAC_UNIQUE_INVERSE] = shape_unique, [VTAC_NMS] = shape_nms, [VTAC_COUNT] = shape_count,
	[VTAC_GRID_SAMPLE] = shape_grid_sample, [VTAC_ROI_ALIGN] = shape_roi_align,
	[VTAC_EINSUM] = shape_einsum,
	[VTAC_CONV_3D] = shape_conv_3d, [VTAC_POOL_3D] = shape_pool_3d, [VTAC_DFT] = shape_dft,
	[VTAC_STEPS] = shape_steps, [VTAC_BATCH_GEMM] = shape_kept,
};

int vtac_shape_node(struct vtac_graph *g, struct vtac_node *node)
{
	shape_fn fn = shape_fns[node->op] ? shape_fns[node->op] : shape_same;

	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i] && vtac_elements(node->in[i]) < 0)
			return vtac_fail(g, node, "The shape of its input %.120s is not known.",
					 node->in[i]->name);
	return fn(g, node);
}
