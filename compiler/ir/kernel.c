// SPDX-License-Identifier: Apache-2.0
/* Nodes as calls of the CPU's kernels, in float: those that compute. */
#include <math.h>
#include <string.h>

#include "kernel_impl.h"

/* ---- parts that several share ---- */

struct vtacpu_act kernel_act(const struct vtac_node *node)
{
	struct vtacpu_act act = { .kind = VTACPU_ACT_NONE };

	if (node->act.kind == VTAC_ACT_CLIP)
		act = (struct vtacpu_act){ VTACPU_ACT_CLIP, node->act.lo, node->act.hi };
	else if (node->act.kind == VTAC_ACT_LEAKY)
		act = (struct vtacpu_act){ VTACPU_ACT_LEAKY, node->act.alpha, 0 };
	return act;
}

struct vtac_call *kernel_call(struct vtac_call *call, enum vtacpu_kernel kernel)
{
	memset(call, 0, sizeof(*call));
	call->kernel = kernel;
	return call;
}

const struct vtac_tensor *kernel_in(const struct vtac_node *node, unsigned int i)
{
	return i < node->n_in ? node->in[i] : NULL;
}

uint32_t kernel_stride(const struct vtac_tensor *t, int rank, int d)
{
	int own = d - (rank - t->rank);
	int64_t stride = 1;

	if (own < 0 || t->dims[own] == 1)
		return 0;
	for (int i = own + 1; i < t->rank; i++)
		stride *= t->dims[i];
	return (uint32_t)stride;
}

/* ---- windows ---- */

struct vtacpu_window kernel_window(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	const struct vtac_window *w = &node->attr.conv.window;

	return (struct vtacpu_window){
		.n = (uint32_t)x->dims[0],
		.ic = (uint32_t)x->dims[1], .ih = (uint32_t)x->dims[2], .iw = (uint32_t)x->dims[3],
		.oc = (uint32_t)y->dims[1], .oh = (uint32_t)y->dims[2], .ow = (uint32_t)y->dims[3],
		.kh = (uint32_t)w->kernel[0], .kw = (uint32_t)w->kernel[1],
		.stride_h = (uint32_t)w->stride[0], .stride_w = (uint32_t)w->stride[1],
		.pad_top = (int32_t)w->pad[0], .pad_left = (int32_t)w->pad[1],
		.dil_h = (uint32_t)w->dilation[0], .dil_w = (uint32_t)w->dilation[1],
		.groups = (uint32_t)node->attr.conv.groups,
		.transposed = node->op == VTAC_CONV_TRANSPOSE,
	};
}

float *vtac_swap_weights(struct vtac_graph *g, const struct vtac_tensor *w, int64_t groups)
{
	int64_t in = w->dims[0] / groups, out = w->dims[1], area = w->dims[2] * w->dims[3];
	float *to = vtac_alloc(g, (uint64_t)vtac_elements(w), sizeof(*to));

	for (int64_t k = 0; to && k < groups; k++)
		for (int64_t i = 0; i < in; i++)
			for (int64_t o = 0; o < out; o++)
				memcpy(to + ((k * out + o) * in + i) * area,
				       (const float *)w->data + ((k * in + i) * out + o) * area,
				       (size_t)area * sizeof(*to));
	return to;
}

/* Weights of a transposed convolution as its kernel takes them; constants alone are supported. */
static const struct vtac_tensor *swapped_weights(struct vtac_graph *g,
						 const struct vtac_node *node)
{
	struct vtac_tensor *t = vtac_alloc(g, 1, sizeof(*t));

	if (!t)
		return NULL;
	*t = *node->in[1];
	if (!t->data) {
		vtac_fail(g, node, "Its weights are not constant.");
		return NULL;
	}
	t->data = vtac_swap_weights(g, node->in[1], node->attr.conv.groups);
	t->dims[0] = node->attr.conv.groups * node->in[1]->dims[1];
	t->dims[1] = node->in[1]->dims[0] / node->attr.conv.groups;
	return t->data ? t : NULL;
}

static int conv_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		      unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_CONV_F32);

	c->p.conv_f32.win = kernel_window(node);
	c->p.conv_f32.act = kernel_act(node);
	c->p.conv_f32.has_bias = !!kernel_in(node, 2);
	c->p.conv_f32.has_res = !!kernel_in(node, 3);
	c->io[0] = node->in[0];
	c->io[1] = node->op == VTAC_CONV ? node->in[1] : swapped_weights(g, node);
	c->io[2] = kernel_in(node, 2);
	c->io[3] = kernel_in(node, 3);
	c->io[4] = node->out[0];
	return c->io[1] ? 0 : -1;
}

struct vtacpu_pool_window kernel_pool(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	const struct vtac_window *w = &node->attr.pool;

	return (struct vtacpu_pool_window){
		.kind = node->op == VTAC_MAX_POOL ? VTACPU_POOL_MAX :
			w->count_pad ? VTACPU_POOL_AVG_PAD : VTACPU_POOL_AVG,
		.n = (uint32_t)x->dims[0], .c = (uint32_t)x->dims[1],
		.ih = (uint32_t)x->dims[2], .iw = (uint32_t)x->dims[3],
		.oh = (uint32_t)y->dims[2], .ow = (uint32_t)y->dims[3],
		.kh = (uint32_t)w->kernel[0], .kw = (uint32_t)w->kernel[1],
		.stride_h = (uint32_t)w->stride[0], .stride_w = (uint32_t)w->stride[1],
		.pad_top = (uint32_t)w->pad[0], .pad_left = (uint32_t)w->pad[1],
		.pad_bottom = (uint32_t)w->pad[2], .pad_right = (uint32_t)w->pad[3],
		.dil_h = (uint32_t)w->dilation[0], .dil_w = (uint32_t)w->dilation[1],
	};
}

/* The greatest of integers, as they are. */
static void pool_integers(const struct vtac_node *node, struct vtac_call *c)
{
	struct vtacpu_pool_window_i8 *p = &c->p.pool_window_i8;
	bool is_unsigned = node->in[0]->dtype == VTAC_U8;

	c->kernel = VTACPU_POOL_WINDOW_I8;
	p->pool = kernel_pool(node);
	p->is_unsigned = is_unsigned;
	p->post.lo = is_unsigned ? 0 : -128;
	p->post.hi = is_unsigned ? 255 : 127;
	c->io[0] = node->in[0];
	c->io[4] = node->out[0];
}

static int pool_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		      unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_POOL_WINDOW_F32);

	(void)g;
	if (node->in[0]->dtype == VTAC_I8 || node->in[0]->dtype == VTAC_U8) {
		pool_integers(node, c);
		return 0;
	}
	if (node->in[0]->dtype != VTAC_F32)
		return vtac_fail(g, node, "Its input is %s; floats, int8 and uint8 are supported.",
				 vtac_dtype_name(node->in[0]->dtype));
	c->p.pool_window_f32.pool = kernel_pool(node);
	c->p.pool_window_f32.act = kernel_act(node);
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	return 0;
}

/* ---- matrices ---- */

static int gemm_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		      unsigned int *n)
{
	struct vtac_call *call = kernel_call(&calls[(*n)++], VTACPU_GEMM_F32);
	const struct vtac_tensor *x = node->in[0], *w = node->in[1], *c = kernel_in(node, 2);
	const struct vtac_gemm *a = &node->attr.gemm;
	struct vtacpu_matrices *m = &call->p.gemm_f32.mat;

	if (kernel_in(node, 3))
		return vtac_fail(g, node, "A residual of a matrix product is not supported.");
	*m = (struct vtacpu_matrices){
		.batch = { 1, 1, 1 },
		.m = (uint32_t)node->out[0]->dims[0], .n = (uint32_t)node->out[0]->dims[1],
		.k = (uint32_t)x->dims[!a->trans_x],
		.a_row = a->trans_x ? 1 : (uint32_t)x->dims[1],
		.a_col = a->trans_x ? (uint32_t)x->dims[1] : 1,
		.b_row = a->trans_w ? 1 : (uint32_t)w->dims[1],
		.b_col = a->trans_w ? (uint32_t)w->dims[1] : 1,
	};
	if (c) {
		m->c_row = kernel_stride(c, 2, 0);
		m->c_col = kernel_stride(c, 2, 1);
		call->p.gemm_f32.has_c = 1;
	}
	call->p.gemm_f32.alpha = a->alpha;
	call->p.gemm_f32.beta = a->beta;
	call->p.gemm_f32.act = kernel_act(node);
	call->io[0] = x;
	call->io[1] = w;
	call->io[2] = c;
	call->io[3] = node->out[0];
	return 0;
}

static int matmul_calls(struct vtac_graph *g, const struct vtac_node *node,
			struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *call = kernel_call(&calls[(*n)++], VTACPU_GEMM_F32);
	const struct vtac_tensor a = vtac_as_matrix(node->in[0], 0);
	const struct vtac_tensor b = vtac_as_matrix(node->in[1], 1);
	struct vtac_tensor y = *node->out[0];
	struct vtacpu_matrices *m = &call->p.gemm_f32.mat;
	int rank = a.rank > b.rank ? a.rank : b.rank;

	/* The product's dimensions, and those of vectors. */
	y.dims[rank - 2] = a.dims[a.rank - 2];
	y.dims[rank - 1] = b.dims[b.rank - 1];
	if (rank > 5)
		return vtac_fail(g, node,
				 "Products of matrices with %d dimensions are not supported.",
				 rank);
	m->m = (uint32_t)y.dims[rank - 2];
	m->n = (uint32_t)y.dims[rank - 1];
	m->k = (uint32_t)a.dims[a.rank - 1];
	m->a_row = m->k;
	m->a_col = 1;
	m->b_row = m->n;
	m->b_col = 1;
	for (int i = 0; i < 3; i++) {
		int d = rank - 5 + i;

		m->batch[i] = d < 0 ? 1 : (uint32_t)y.dims[d];
		m->a_batch[i] = d < 0 ? 0 : kernel_stride(&a, rank, d);
		m->b_batch[i] = d < 0 ? 0 : kernel_stride(&b, rank, d);
	}
	call->p.gemm_f32.alpha = 1;
	call->p.gemm_f32.act = kernel_act(node);
	call->io[0] = node->in[0];
	call->io[1] = node->in[1];
	call->io[3] = node->out[0];
	return 0;
}

/* Strides of a head's matrix of @rows and @cols in one that has those of all heads. */
static void set_heads(const struct vtac_batch_gemm *p, bool columns, int64_t rows, int64_t cols,
		      uint32_t *batch, uint32_t *row)
{
	*row = (uint32_t)(columns ? p->heads * cols : cols);
	batch[1] = (uint32_t)(p->heads * rows * cols);
	batch[2] = (uint32_t)(columns ? cols : rows * cols);
}

struct vtacpu_matrices kernel_heads(const struct vtac_node *node)
{
	const struct vtac_batch_gemm *p = &node->attr.batch_gemm;
	struct vtac_product s = vtac_product_of(node);
	struct vtacpu_matrices m = {
		.batch = { 1, (uint32_t)p->images, (uint32_t)p->heads },
		.m = (uint32_t)s.m, .n = (uint32_t)s.n, .k = (uint32_t)s.k, .a_col = 1,
		.b_row = 1, .b_col = 1,
	};

	set_heads(p, p->a_columns, s.m, s.k, m.a_batch, &m.a_row);
	if (p->b_turned)
		set_heads(p, p->b_columns, s.n, s.k, m.b_batch, &m.b_col);
	else
		set_heads(p, p->b_columns, s.k, s.n, m.b_batch, &m.b_row);
	if (!p->out_columns)
		return m;
	/* Rows come before heads in the output: each is a product of its own. */
	m.batch[0] = m.batch[1];
	m.a_batch[0] = m.a_batch[1];
	m.b_batch[0] = m.b_batch[1];
	m.batch[1] = m.m;
	m.a_batch[1] = m.a_row;
	m.b_batch[1] = 0;
	m.m = 1;
	return m;
}

static int batch_gemm_calls(struct vtac_graph *g, const struct vtac_node *node,
			    struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *call = kernel_call(&calls[(*n)++], VTACPU_GEMM_F32);

	(void)g;
	call->p.gemm_f32.mat = kernel_heads(node);
	call->p.gemm_f32.alpha = node->attr.batch_gemm.alpha;
	call->p.gemm_f32.act = kernel_act(node);
	call->io[0] = node->in[0];
	call->io[1] = node->in[1];
	call->io[3] = node->out[0];
	return 0;
}

/* ---- value by value ---- */

struct vtacpu_broadcast kernel_broadcast(const struct vtac_node *node)
{
	static const enum vtacpu_binary_op ops[VTAC_OPS] = {
		[VTAC_ADD] = VTACPU_ADD, [VTAC_SUB] = VTACPU_SUB, [VTAC_MUL] = VTACPU_MUL,
		[VTAC_MAX] = VTACPU_MAX, [VTAC_MIN] = VTACPU_MIN, [VTAC_DIV] = VTACPU_DIV,
	};
	const struct vtac_tensor *y = node->out[0];
	struct vtacpu_broadcast cast = {
		.op = node->op == VTAC_BINARY ? node->attr.binary.op : ops[node->op],
		.rank = (uint32_t)y->rank,
	};

	for (int i = 0; i < y->rank; i++) {
		cast.dims[i] = (uint32_t)y->dims[i];
		cast.a_stride[i] = kernel_stride(node->in[0], y->rank, i);
		cast.b_stride[i] = kernel_stride(node->in[1], y->rank, i);
	}
	return cast;
}

/* A kernel of its own has the frequent operators of floats, with an activation. */
static int binary_calls(struct vtac_graph *g, const struct vtac_node *node,
			struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_BINARY_F32);

	(void)g;
	c->io[0] = node->in[0];
	c->io[1] = node->in[1];
	c->io[2] = node->out[0];
	if (node->op == VTAC_BINARY || node->in[0]->dtype != VTAC_F32) {
		c->kernel = VTACPU_BINARY;
		c->p.binary.cast = kernel_broadcast(node);
		c->p.binary.type = vtac_cpu_type(node->in[0]->dtype);
		return 0;
	}
	c->p.binary_f32.cast = kernel_broadcast(node);
	c->p.binary_f32.act = kernel_act(node);
	return 0;
}

static struct vtacpu_act unary_act(const struct vtac_node *node)
{
	const union vtac_attr *a = &node->attr;

	switch (node->op) {
	case VTAC_CLIP:
		return (struct vtacpu_act){ VTACPU_ACT_CLIP, a->clip.lo, a->clip.hi };
	case VTAC_LEAKY_RELU:
		return (struct vtacpu_act){ VTACPU_ACT_LEAKY, a->unary.alpha, 0 };
	case VTAC_HARD_SIGMOID:
		return (struct vtacpu_act){ VTACPU_ACT_HARD_SIGMOID, a->unary.alpha,
					    a->unary.beta };
	case VTAC_HARD_SWISH:
		return (struct vtacpu_act){ VTACPU_ACT_HARD_SWISH, 0, 0 };
	default:
		return (struct vtacpu_act){ a->unary.kind, a->unary.alpha, a->unary.beta };
	}
}

bool vtac_is_function(const struct vtac_node *node)
{
	return node->op == VTAC_UNARY || node->op == VTAC_LEAKY_RELU ||
	       node->op == VTAC_HARD_SIGMOID || node->op == VTAC_HARD_SWISH;
}

void vtac_compute_function(const struct vtac_node *node, float *values, uint32_t n)
{
	const struct vtacpu_unary_f32 p = { .count = n, .act = unary_act(node) };
	void *io[2] = { values, values };

	vtacpu_unary_f32(&p, io, NULL);
}

/* Integers have two of the functions: the product with -1, of all or of what is less than 0. */
static int negate_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtac_tensor *less = vtac_alloc(g, 1, sizeof(*less));
	static const int64_t minus_one = -1;

	if (node->op != VTAC_UNARY || (node->attr.unary.kind != VTACPU_ACT_NEG &&
				       node->attr.unary.kind != VTACPU_ACT_ABS))
		return vtac_fail(g, node, "Its input %.120s is %s; only floats are supported.",
				 x->name, vtac_dtype_name(x->dtype));
	if (!less)
		return -1;
	less->dtype = x->dtype;
	less->data = &minus_one;	/* of each size, as it is all ones */
	c->kernel = VTACPU_BINARY;
	c->p.binary.type = vtac_cpu_type(x->dtype);
	c->p.binary.cast = (struct vtacpu_broadcast){
		.op = node->attr.unary.kind == VTACPU_ACT_NEG ? VTACPU_MUL : VTACPU_PRELU,
		.rank = 1, .dims = { (uint32_t)vtac_elements(x) },
		.a_stride = { 1 },
	};
	c->io[0] = x;
	c->io[1] = less;
	c->io[2] = node->out[0];
	return 0;
}

static int unary_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_UNARY_F32);

	if (node->in[0]->dtype != VTAC_F32)
		return negate_calls(g, node, c);
	c->p.unary_f32.count = (uint32_t)vtac_elements(node->out[0]);
	c->p.unary_f32.act = unary_act(node);
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	return 0;
}

/* The greater of @a and the limit @b, or the less; the second call is in place. */
static void limit_call(const struct vtac_node *node, struct vtac_call *c, enum vtacpu_binary_op op,
		       const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	kernel_call(c, VTACPU_BINARY);
	c->p.binary.type = vtac_cpu_type(node->in[0]->dtype);
	c->p.binary.cast = (struct vtacpu_broadcast){
		.op = op, .rank = 1, .dims = { (uint32_t)vtac_elements(a) }, .a_stride = { 1 },
	};
	c->io[0] = a;
	c->io[1] = b;
	c->io[2] = node->out[0];
}

static int limit_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		       unsigned int *n)
{
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	for (unsigned int i = 1; i < 3; i++) {
		if (!kernel_in(node, i))
			continue;
		limit_call(node, &calls[(*n)++], i == 1 ? VTACPU_MAX : VTACPU_MIN, x, node->in[i]);
		x = node->out[0];
	}
	return *n ? 0 : kernel_copy(g, node, calls, n);
}

/* ---- along an axis ---- */

void kernel_around(const struct vtac_tensor *t, int axis, uint32_t *outer, uint32_t *inner)
{
	*outer = 1;
	*inner = 1;
	for (int i = 0; i < t->rank; i++) {
		if (i < axis)
			*outer *= (uint32_t)t->dims[i];
		else if (i > axis)
			*inner *= (uint32_t)t->dims[i];
	}
}

static int batch_norm_calls(struct vtac_graph *g, const struct vtac_node *node,
			    struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_BATCH_NORM_F32);
	struct vtacpu_batch_norm_f32 *p = &c->p.batch_norm_f32;

	(void)g;
	kernel_around(node->in[0], 1, &p->n, &p->plane);
	p->c = (uint32_t)node->in[0]->dims[1];
	p->epsilon = node->attr.batch_norm.epsilon;
	p->act = kernel_act(node);
	for (unsigned int i = 0; i < 5; i++)
		c->io[i] = node->in[i];
	c->io[5] = node->out[0];
	return 0;
}

static int softmax_calls(struct vtac_graph *g, const struct vtac_node *node,
			 struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++],
					  node->attr.softmax.hard ? VTACPU_HARDMAX_F32 :
					  node->attr.softmax.log ? VTACPU_LOG_SOFTMAX_F32 :
					  VTACPU_SOFTMAX_F32);
	struct vtacpu_softmax_f32 *p = &c->p.softmax_f32;
	const struct vtac_tensor *x = node->in[0];
	int axis = node->attr.softmax.axis;

	(void)g;
	kernel_around(x, axis, &p->outer, &p->inner);
	p->count = (uint32_t)x->dims[axis];
	if (node->attr.softmax.flat) {
		p->count *= p->inner;
		p->inner = 1;
	}
	c->io[0] = x;
	c->io[1] = node->out[0];
	return 0;
}

static int reduce_calls(struct vtac_graph *g, const struct vtac_node *node,
			struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_REDUCE_F32);
	struct vtacpu_reduce_f32 *p = &c->p.reduce_f32;
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	if (x->dtype != VTAC_F32) {
		c->kernel = VTACPU_REDUCE;
		c->p.reduce.type = vtac_cpu_type(x->dtype);
		p = &c->p.reduce.of;
	}
	p->op = node->attr.reduce.op;
	p->rank = (uint32_t)x->rank;
	p->axes = node->attr.reduce.axes;
	for (int i = 0; i < x->rank; i++)
		p->dims[i] = (uint32_t)x->dims[i];
	c->io[0] = x;
	c->io[1] = node->out[0];
	return 0;
}

static int norm_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		      unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_NORM_F32);
	struct vtacpu_norm_f32 *p = &c->p.norm_f32;
	const struct vtac_tensor *x = node->in[0];
	uint32_t outer, inner, groups;

	(void)g;
	kernel_around(x, node->attr.norm.by_channel ? 1 : node->attr.norm.axis, &outer, &inner);
	if (node->attr.norm.by_channel) {
		groups = (uint32_t)node->attr.norm.groups;
		p->period = groups;
		p->rows = outer * groups;
		p->count = (uint32_t)x->dims[1] / groups * inner;
		p->plane = inner;
	} else if (node->attr.norm.across) {
		c->kernel = VTACPU_NORM_ACROSS_F32;
		p->period = 1;
		p->rows = outer;
		p->count = (uint32_t)x->dims[1];
		p->plane = inner;
	} else {
		p->period = 1;
		p->rows = outer;
		p->count = (uint32_t)x->dims[node->attr.norm.axis] * inner;
		p->plane = 1;
	}
	p->epsilon = node->attr.norm.epsilon;
	p->rms = node->attr.norm.rms;
	p->has_scale = !!kernel_in(node, 1);
	p->has_bias = !!kernel_in(node, 2);
	for (unsigned int i = 0; i < 3; i++)
		c->io[i] = kernel_in(node, i);
	c->io[3] = node->out[0];
	return 0;
}

static int lrn_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		     unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_LRN_F32);
	struct vtacpu_lrn_f32 *p = &c->p.lrn_f32;

	(void)g;
	kernel_around(node->in[0], 1, &p->n, &p->plane);
	p->c = (uint32_t)node->in[0]->dims[1];
	p->size = (uint32_t)node->attr.lrn.size;
	p->alpha = node->attr.lrn.alpha;
	p->beta = node->attr.lrn.beta;
	p->bias = node->attr.lrn.bias;
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	return 0;
}

static int det_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		     unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_DET_F32);
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	c->p.det_f32 = (struct vtacpu_det_f32){ (uint32_t)vtac_elements(node->out[0]),
						(uint32_t)x->dims[x->rank - 1] };
	c->io[0] = x;
	c->io[1] = node->out[0];
	return 0;
}

/* Constant r of a recurrent layer as its kernel takes it at once, NULL without memory. */
static const struct vtac_tensor *panels_of(struct vtac_graph *g, const struct vtac_tensor *r)
{
	int64_t d = r->dims[0], gates = r->dims[1], n = r->dims[2];
	int64_t panels = (gates + VTACPU_PANEL - 1) / VTACPU_PANEL;
	struct vtac_tensor *t = vtac_alloc(g, 1, sizeof(*t));
	float *to = vtac_alloc(g, (uint64_t)(d * panels * n), VTACPU_PANEL * sizeof(*to));
	const float *from = r->data;

	if (!t || !to)
		return NULL;
	*t = *r;
	t->data = to;
	t->dims[0] = d * panels;
	t->dims[1] = n;
	t->dims[2] = VTACPU_PANEL;
	for (int64_t i = 0; i < d * gates; i++) {
		int64_t gate = i % gates, panel = i / gates * panels + gate / VTACPU_PANEL;
		float *row = to + panel * n * VTACPU_PANEL + gate % VTACPU_PANEL;

		for (int64_t l = 0; l < n; l++)
			row[l * VTACPU_PANEL] = *from++;
	}
	return t;
}

static int recurrent_calls(struct vtac_graph *g, const struct vtac_node *node,
			   struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_RECURRENT);
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];

	c->p.recurrent = (struct vtacpu_recurrent){
		.kind = node->attr.recurrent.kind,
		.steps = (uint32_t)x->dims[0], .batch = (uint32_t)x->dims[1],
		.inputs = (uint32_t)x->dims[2], .hidden = (uint32_t)y->dims[3],
		.directions = (uint32_t)y->dims[1], .reverse = node->attr.recurrent.reverse,
		.linear = node->attr.recurrent.linear, .cell = node->attr.recurrent.cell,
		.has_bias = !!kernel_in(node, 3), .has_h = !!kernel_in(node, 4),
		.has_c = !!kernel_in(node, 5), .has_p = !!kernel_in(node, 6),
		.summed = node->attr.recurrent.summed,
	};
	for (unsigned int i = 0; i < 7; i++)
		c->io[i] = kernel_in(node, i);
	c->io[7] = y;
	if (c->io[2]->data && c->io[2]->dtype == VTAC_F32 &&
	    x->dims[0] * x->dims[1] >= VTACPU_STATES_LEAST) {
		c->p.recurrent.panels = 1;
		c->io[2] = panels_of(g, c->io[2]);
	}
	return c->io[2] ? 0 : -1;
}

/* ---- quantisation ---- */

/* Zero points as the kernels take them: int32. */
static const struct vtac_tensor *wide_zero(struct vtac_graph *g, const struct vtac_node *node)
{
	const struct vtac_tensor *z = node->in[2];
	int64_t n = vtac_elements(z);
	struct vtac_tensor *t = vtac_alloc(g, 1, sizeof(*t));
	int32_t *data = vtac_alloc(g, (uint64_t)n, sizeof(*data));

	if (!t || !data)
		return NULL;
	if (!z->data) {
		vtac_fail(g, node, "Its zero point is not constant.");
		return NULL;
	}
	for (int64_t i = 0; i < n; i++)
		data[i] = z->dtype == VTAC_I32 ? ((const int32_t *)z->data)[i] :
			z->dtype == VTAC_I8 ? ((const int8_t *)z->data)[i] :
			((const uint8_t *)z->data)[i];
	*t = *z;
	t->dtype = VTAC_I32;
	t->data = data;
	return t;
}

uint32_t vtac_cpu_type(enum vtac_dtype dtype)
{
	static const uint32_t types[VTAC_DTYPES] = {
		VTACPU_F32, VTACPU_I8, VTACPU_U8, VTACPU_I32, VTACPU_I64, VTACPU_BOOL,
	};

	return types[dtype];
}

static int quant_operands(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	c->io[0] = node->in[0];
	c->io[1] = node->in[1];
	c->io[2] = node->in[2] ? wide_zero(g, node) : NULL;
	c->io[3] = node->out[0];
	return node->in[2] && !c->io[2] ? -1 : 0;
}

static void quant_shape(const struct vtac_node *node, uint32_t *outer, uint32_t *channels,
			uint32_t *inner)
{
	const struct vtac_tensor *x = node->in[0];

	*channels = (uint32_t)vtac_elements(node->in[1]);
	if (*channels == 1) {
		*outer = 1;
		*inner = (uint32_t)vtac_elements(x);
	} else {
		kernel_around(x, node->attr.axis.axis, outer, inner);
	}
}

static int quantize_calls(struct vtac_graph *g, const struct vtac_node *node,
			  struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_QUANTISE);
	struct vtacpu_quantise *p = &c->p.quantise;
	bool is_signed = node->out[0]->dtype == VTAC_I8;

	quant_shape(node, &p->outer, &p->channels, &p->inner);
	p->type = vtac_cpu_type(node->out[0]->dtype);
	p->has_zero = !!node->in[2];
	p->lo = is_signed ? -128 : 0;
	p->hi = is_signed ? 127 : 255;
	/* Tensors that go to the card have the same limits on both sides. */
	if (node->post.lo < node->post.hi) {
		p->lo = node->post.lo;
		p->hi = node->post.hi;
	}
	return quant_operands(g, node, c);
}

static int dequantize_calls(struct vtac_graph *g, const struct vtac_node *node,
			    struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_DEQUANTISE);
	struct vtacpu_dequantise *p = &c->p.dequantise;

	quant_shape(node, &p->outer, &p->channels, &p->inner);
	p->type = vtac_cpu_type(node->in[0]->dtype);
	p->has_zero = !!node->in[2];
	return quant_operands(g, node, c);
}

/* ---- values rounded to steps ---- */

static int steps_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_STEP_F32);

	(void)g;
	c->p.step_f32.count = (uint32_t)vtac_elements(node->in[0]);
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	return 0;
}

static int round_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_ROUND_F32);

	(void)g;
	c->p.round_f32.count = (uint32_t)vtac_elements(node->in[0]);
	c->io[0] = node->in[0];
	c->io[1] = node->in[1];
	c->io[2] = node->out[0];
	return 0;
}

static int rounded_calls(struct vtac_graph *g, const struct vtac_node *node,
			 struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_GEMM_ROUNDED);

	(void)g;
	c->p.gemm_rounded = (struct vtacpu_gemm_rounded){
		.m = (uint32_t)node->out[0]->dims[0], .n = (uint32_t)node->out[0]->dims[1],
		.k = (uint32_t)node->in[0]->dims[1],
		.scales = (uint32_t)vtac_elements(node->in[3]),
		.has_bias = !!kernel_in(node, 5), .act = kernel_act(node),
	};
	for (unsigned int i = 0; i < 6; i++)
		c->io[i] = kernel_in(node, i);
	c->io[6] = node->out[0];
	return 0;
}

/* ---- all of them ---- */

struct binding {
	kernel_fn fn;
	bool any_type;		/* else floats alone */
};

static const struct binding bindings[VTAC_OPS] = {
	[VTAC_CONV] = { conv_calls, false }, [VTAC_CONV_TRANSPOSE] = { conv_calls, false },
	[VTAC_GEMM] = { gemm_calls, false }, [VTAC_MATMUL] = { matmul_calls, false },
	[VTAC_BATCH_GEMM] = { batch_gemm_calls, false },
	[VTAC_ADD] = { binary_calls, true }, [VTAC_SUB] = { binary_calls, true },
	[VTAC_MUL] = { binary_calls, true }, [VTAC_DIV] = { binary_calls, true },
	[VTAC_MAX] = { binary_calls, true }, [VTAC_MIN] = { binary_calls, true },
	[VTAC_BINARY] = { binary_calls, true }, [VTAC_WHERE] = { kernel_where, true },
	[VTAC_CAST] = { kernel_cast, true },
	[VTAC_MAX_POOL] = { pool_calls, true }, [VTAC_AVG_POOL] = { pool_calls, false },
	[VTAC_CLIP] = { unary_calls, false }, [VTAC_LEAKY_RELU] = { unary_calls, false },
	[VTAC_HARD_SIGMOID] = { unary_calls, false }, [VTAC_HARD_SWISH] = { unary_calls, false },
	[VTAC_UNARY] = { unary_calls, true },
	[VTAC_BATCH_NORM] = { batch_norm_calls, false },
	[VTAC_SOFTMAX] = { softmax_calls, false }, [VTAC_REDUCE] = { reduce_calls, true },
	[VTAC_NORM] = { norm_calls, false },
	[VTAC_ARG] = { kernel_arg, true }, [VTAC_TOP] = { kernel_top, true },
	[VTAC_CUM_SUM] = { kernel_cum_sum, true },
	[VTAC_RECURRENT] = { recurrent_calls, false },
	[VTAC_EXPAND] = { kernel_expand, true }, [VTAC_TILE] = { kernel_tile, true },
	[VTAC_GATHER] = { kernel_gather, true }, [VTAC_GATHER_ELEMENTS] = { kernel_elements, true },
	[VTAC_SCATTER_ELEMENTS] = { kernel_elements, true },
	[VTAC_GATHER_ND] = { kernel_slices, true }, [VTAC_SCATTER_ND] = { kernel_slices, true },
	[VTAC_RESIZE] = { kernel_resize, true },
	[VTAC_QUANTIZE] = { quantize_calls, true }, [VTAC_DEQUANTIZE] = { dequantize_calls, true },
	[VTAC_CONCAT] = { kernel_concat, true }, [VTAC_SPLIT] = { kernel_split, true },
	[VTAC_SLICE] = { kernel_slice, true }, [VTAC_PAD] = { kernel_pad, true },
	[VTAC_TRANSPOSE] = { kernel_transpose, true },
	[VTAC_DEPTH_TO_SPACE] = { kernel_depth_to_space, true },
	[VTAC_RESHAPE] = { kernel_copy, true }, [VTAC_IDENTITY] = { kernel_copy, true },
	[VTAC_COPY] = { kernel_transfer, true }, [VTAC_CHANNELS] = { kernel_channels, true },
	[VTAC_LIMIT] = { limit_calls, true }, [VTAC_LRN] = { lrn_calls, false },
	[VTAC_DET] = { det_calls, false }, [VTAC_ONE_HOT] = { kernel_one_hot, true },
	[VTAC_REVERSE_SEQUENCE] = { kernel_reverse_sequence, true },
	[VTAC_NON_ZERO] = { kernel_non_zero, true }, [VTAC_UNIQUE] = { kernel_unique, true },
	[VTAC_UNIQUE_INVERSE] = { kernel_unique, true }, [VTAC_NMS] = { kernel_nms, true },
	[VTAC_COUNT] = { kernel_count, true },
	[VTAC_GRID_SAMPLE] = { kernel_grid_sample, false },
	[VTAC_ROI_ALIGN] = { kernel_roi_align, true }, [VTAC_EINSUM] = { kernel_einsum, false },
	[VTAC_CONV_3D] = { kernel_conv_3d, false }, [VTAC_POOL_3D] = { kernel_pool_3d, false },
	[VTAC_DFT] = { kernel_dft, false },
	[VTAC_STEPS] = { steps_calls, false }, [VTAC_ROUND] = { round_calls, false },
	[VTAC_GEMM_ROUNDED] = { rounded_calls, true },
};

static int check_types(struct vtac_graph *g, const struct vtac_node *node, bool any_type)
{
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (t && !any_type && t->dtype != VTAC_F32)
			return vtac_fail(g, node,
					 "Its input %.120s is %s; only floats are supported.",
					 t->name, vtac_dtype_name(t->dtype));
		if (t && vtac_bytes(t) > (int64_t)VTACPU_BYTES_MAX)
			return vtac_fail(g, node, "Its input %.120s is over 2 GiB.", t->name);
	}
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && vtac_bytes(node->out[i]) > (int64_t)VTACPU_BYTES_MAX)
			return vtac_fail(g, node, "Its output is over 2 GiB.");
	return 0;
}

bool kernel_all_empty(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && vtac_elements(node->out[i]))
			return false;
	return true;
}

/* A tensor holds what the kernel reads or writes of it, whatever shapes and types let through. */
static int check_operands(struct vtac_graph *g, const struct vtac_node *node,
			  const struct vtac_call *c)
{
	for (unsigned int i = 0; i < c->need.operands; i++) {
		const struct vtac_tensor *t = c->io[i];
		uint64_t bytes = t ? (uint64_t)vtac_bytes(t) : 0;

		if (c->need.bytes[i] <= bytes)
			continue;
		vtac_fail(g, node,
			  "Internal error: %.120s has %llu bytes, of which kernel %s takes %llu.",
			  t ? t->name : "An operand that is left out", (unsigned long long)bytes,
			  vtacpu_kernel_name(c->kernel), (unsigned long long)c->need.bytes[i]);
		g->error.internal = true;
		return -1;
	}
	return 0;
}

int kernel_check(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct vtac_call *c = &calls[i];

		if (vtacpu_need(c->kernel, &c->p, &c->need))
			return vtac_fail(g, node,
					 "No kernel for the CPU can do it: %s.", c->need.why);
		if (check_operands(g, node, c))
			return -1;
	}
	return 0;
}

int vtac_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call **calls,
	       unsigned int *n_calls)
{
	const struct binding *b = &bindings[node->op];
	unsigned int max = node->n_in > node->n_out ? node->n_in : node->n_out;

	*n_calls = 0;
	if (vtac_is_int(node))
		return vtac_calls_int(g, node, calls, n_calls);
	if (!b->fn)
		return vtac_fail(g, node,
				 "It depends on the model's input values; it must be constant.");
	if (check_types(g, node, b->any_type))
		return -1;
	if (node->op == VTAC_CHANNELS)
		max = (unsigned int)node->out[0]->dims[1];
	*calls = vtac_alloc(g, max, sizeof(**calls));
	if (!*calls)
		return -1;
	if (kernel_all_empty(node))
		return 0;
	if (b->fn(g, node, *calls, n_calls))
		return -1;
	return kernel_check(g, node, *calls, *n_calls);
}
