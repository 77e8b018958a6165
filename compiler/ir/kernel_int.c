// SPDX-License-Identifier: Apache-2.0
/*
 * Card nodes, after quantise, as calls of the CPU's integer kernels: what they compute
 * is what the card has to.
 */
#include <string.h>

#include "kernel_impl.h"

/* A constant that is in no graph. */
static const struct vtac_tensor *vector(struct vtac_graph *g, const int32_t *values,
					int64_t n)
{
	struct vtac_tensor *t = vtac_alloc(g, 1, sizeof(*t));

	if (!t)
		return NULL;
	t->name = "vector";
	t->dtype = VTAC_I32;
	t->rank = 1;
	t->dims[0] = n;
	t->data = values;
	return t;
}

/* The output stage, and its vectors as operands from @at on. */
static int set_post(struct vtac_graph *g, const struct vtac_node *node, int64_t channels,
		    struct vtac_call *call, unsigned int at, struct vtacpu_post *p)
{
	const struct vtac_post *post = &node->post;

	p->lo = post->lo;
	p->hi = post->hi;
	p->round = post->round;
	if (post->bias) {
		p->vectors |= VTACPU_BIAS;
		call->io[at] = vector(g, post->bias, channels);
		if (!call->io[at])
			return -1;
	}
	if (!post->per_channel) {
		p->mul = post->mul ? post->mul[0] : 1;
		p->shift = post->shift ? (uint32_t)post->shift[0] : 0;
		return 0;
	}
	p->vectors |= VTACPU_MULS | VTACPU_SHIFTS;
	call->io[at + 1] = vector(g, post->mul, channels);
	call->io[at + 2] = vector(g, post->shift, channels);
	return call->io[at + 1] && call->io[at + 2] ? 0 : -1;
}

/*
 * The kernel has its zero point around the input, and sums (x - zero) * w: the bias of these sums
 * has the weights times it, in 32 bits, which wrap.
 */
static const int32_t *bias_around(struct vtac_graph *g, const struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1];
	const struct vtac_post *post = &node->post;
	int64_t n = w->dims[0], taps = vtac_elements(w) / n;
	int32_t *bias = vtac_alloc(g, (uint64_t)n, sizeof(*bias));

	for (int64_t c = 0; bias && c < n; c++) {
		const int8_t *v = (const int8_t *)w->data + c * taps;
		int32_t mul = post->mul ? post->mul[post->per_channel ? c : 0] : 1;
		uint32_t sum = 0;

		for (int64_t i = 0; i < taps; i++)
			sum += (uint32_t)v[i];
		sum *= (uint32_t)post->around * (uint32_t)mul;
		bias[c] = (int32_t)(sum + (uint32_t)(post->bias ? post->bias[c] : 0));
	}
	return bias;
}

/* The low half of the residual takes the place of shifts, which are one. */
static void set_low_residual(const struct vtac_node *node, struct vtac_call *c)
{
	struct vtacpu_conv_i8 *p = &c->p.conv_i8;

	p->has_res = 3;
	p->post.vectors &= ~(uint32_t)VTACPU_SHIFTS;
	p->post.shift = (uint32_t)node->post.shift[0];
	c->io[5] = node->in[4];
}

static int conv_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	struct vtacpu_conv_i8 *p = &c->p.conv_i8;

	kernel_call(c, VTACPU_CONV_I8);
	p->win = kernel_window(node);
	p->has_res = kernel_in(node, 3) ? 1 : 0;
	p->res_shift = node->post.res_shift;
	c->io[0] = node->in[0];
	c->io[1] = node->in[1];
	c->io[2] = kernel_in(node, 3);
	c->io[node->post.res_mul ? 7 : 6] = node->out[0];
	if (node->post.res_mul) {
		p->has_res = 2;
		c->io[6] = vector(g, node->post.res_mul, p->win.oc);
		if (!c->io[6])
			return -1;
	}
	if (set_post(g, node, p->win.oc, c, 3, &p->post))
		return -1;
	if (kernel_in(node, 4))
		set_low_residual(node, c);
	if (node->post.low)
		p->post.vectors |= VTACPU_LOW;
	if (!node->post.around)
		return 0;
	p->x_zero = node->post.around;
	p->post.vectors |= VTACPU_BIAS;
	c->io[3] = vector(g, bias_around(g, node), p->win.oc);
	return c->io[3] && c->io[3]->data ? 0 : -1;
}

static int gemm_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	const struct vtac_tensor *x = node->in[0], *w = node->in[1];
	struct vtacpu_gemm_i8 *p = &c->p.gemm_i8;
	uint32_t n = (uint32_t)w->dims[0], k = (uint32_t)w->dims[1];

	kernel_call(c, VTACPU_GEMM_I8);
	p->mat = (struct vtacpu_matrices){
		.batch = { 1, 1, 1 }, .m = (uint32_t)x->dims[0], .n = n, .k = k,
		.a_row = k, .a_col = 1, .b_row = 1, .b_col = k, .c_row = n, .c_col = 1,
	};
	p->has_c = kernel_in(node, 3) ? 1 : 0;
	p->res_shift = node->post.res_shift;
	if (!p->has_c) {
		p->mat.c_row = 0;
		p->mat.c_col = 0;
	}
	c->io[0] = x;
	c->io[1] = w;
	c->io[2] = kernel_in(node, 3);
	c->io[6] = node->out[0];
	return set_post(g, node, n, c, 3, &p->post);
}

static int batch_gemm_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	kernel_call(c, VTACPU_GEMM_I8);
	c->p.gemm_i8.mat = kernel_heads(node);
	c->io[0] = node->in[0];
	c->io[1] = node->in[1];
	c->io[6] = node->out[0];
	return set_post(g, node, 1, c, 3, &c->p.gemm_i8.post);
}

static int pool_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	struct vtacpu_pool_window_i8 *p = &c->p.pool_window_i8;

	kernel_call(c, VTACPU_POOL_WINDOW_I8);
	p->pool = kernel_pool(node);
	p->pool.kind = node->op == VTAC_MAX_POOL ? VTACPU_POOL_MAX : VTACPU_POOL_SUM;
	c->io[0] = node->in[0];
	c->io[4] = node->out[0];
	return set_post(g, node, p->pool.c, c, 1, &p->post);
}

static int binary_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	struct vtacpu_binary_i8 *p = &c->p.binary_i8;

	kernel_call(c, VTACPU_BINARY_I8);
	p->cast = kernel_broadcast(node);
	p->a_mul = 1 << node->post.a_shift;
	p->b_mul = 1 << node->post.b_shift;
	c->io[0] = node->in[0];
	c->io[1] = node->in[1];
	c->io[2] = node->out[0];
	if (set_post(g, node, 1, c, 3, &p->post))
		return -1;
	p->post.bias = node->post.offset * (p->post.mul ? p->post.mul : 1);
	return 0;
}

/* One operand: requantised, or as it is. */
static int rescale_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	struct vtacpu_rescale_i8 *p = &c->p.rescale_i8;

	kernel_call(c, VTACPU_RESCALE_I8);
	p->outer = 1;
	p->channels = 1;
	p->inner = (uint32_t)vtac_elements(node->in[0]);
	p->x_type = VTACPU_I8;
	p->y_type = VTACPU_I8;
	c->io[0] = node->in[0];
	c->io[4] = node->out[0];
	if (set_post(g, node, 1, c, 1, &p->post))
		return -1;
	p->post.bias = node->post.offset * p->post.mul;
	p->post.mul <<= node->post.a_shift;
	return 0;
}

/* The card's formula is a table of all values to the CPU. */
static int function_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	int8_t *table = vtac_alloc(g, 256, 1);
	struct vtac_tensor *t = vtac_alloc(g, 1, sizeof(*t));

	if (!table || !t)
		return -1;
	for (int x = -128; x < 128; x++)
		table[(uint8_t)x] = (int8_t)vtaops_formula_value(&node->post.function->formula, x);
	*t = (struct vtac_tensor) { .name = "table", .dtype = VTAC_I8, .rank = 1,
				    .dims = { 256 }, .data = table };
	kernel_call(c, VTACPU_TABLE_I8);
	c->p.table_i8.count = (uint32_t)vtac_elements(node->in[0]);
	c->io[0] = node->in[0];
	c->io[1] = t;
	c->io[2] = node->out[0];
	return 0;
}

/* Rows are pixels whose planes are one value. */
static int norm_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	const struct vtaops_norm_form *form = &node->post.norm;
	struct vtacpu_norm_i8 *p = &c->p.norm_i8;
	const struct vtac_tensor *x = node->in[0];

	kernel_call(c, VTACPU_NORM_I8);
	p->rows = (uint32_t)x->dims[0];
	p->count = form->c;
	p->plane = (uint32_t)(vtac_elements(x) / (x->dims[0] * form->c));
	p->rms = form->rms ? 1 : 0;
	p->zero = form->zero;
	p->epsilon = form->epsilon;
	p->shift = form->shift;
	c->io[0] = x;
	c->io[4] = node->out[0];
	return set_post(g, node, form->c, c, 1, &p->post);
}

bool vtac_is_int(const struct vtac_node *node)
{
	if (node->device != VTAC_CARD || !node->out[0] || node->out[0]->dtype != VTAC_I8)
		return false;
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
	case VTAC_GEMM:
	case VTAC_BATCH_GEMM:
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
	case VTAC_CLIP:
	case VTAC_ADD:
	case VTAC_SUB:
	case VTAC_MUL:
	case VTAC_MAX:
	case VTAC_MIN:
	case VTAC_NORM:
		return true;
	default:
		return vtac_is_function(node);
	}
}

static int one_call(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
		return conv_int(g, node, c);
	case VTAC_GEMM:
		return gemm_int(g, node, c);
	case VTAC_BATCH_GEMM:
		return batch_gemm_int(g, node, c);
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
		return pool_int(g, node, c);
	case VTAC_CLIP:
		return rescale_int(g, node, c);
	case VTAC_NORM:
		return norm_int(g, node, c);
	default:
		return vtac_is_function(node) ? function_int(g, node, c) :
						binary_int(g, node, c);
	}
}

int vtac_calls_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call **calls,
		   unsigned int *n_calls)
{
	struct vtac_call *c = vtac_alloc(g, 1, sizeof(*c));

	if (!c)
		return -1;
	*calls = c;
	if (kernel_all_empty(node))
		return 0;
	*n_calls = 1;
	if (one_call(g, node, c))
		return -1;
	return kernel_check(g, node, c, 1);
}
