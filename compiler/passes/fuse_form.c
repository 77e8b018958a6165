// SPDX-License-Identifier: Apache-2.0
/* Fusion: equivalent forms of operators become one. */
#include <math.h>
#include <string.h>

#include "fuse_impl.h"

/* ---- pads ---- */

/* A pad of zeros around pictures alone? */
static bool pads_pictures(const struct vtac_node *pad)
{
	const struct vtac_pad *p = &pad->attr.pad;

	if (pad->in[0]->rank != 4 || p->mode != VTAC_PAD_CONSTANT || p->value != 0 ||
	    p->before[0] || p->before[1] || p->after[0] || p->after[1])
		return false;
	return p->before[2] >= 0 && p->before[3] >= 0 && p->after[2] >= 0 && p->after[3] >= 0;
}

/* Is no value of @t below 0, so that a 0 beside them is never the greatest? */
static bool is_not_negative(const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;

	if (!node)
		return false;
	if (node->op == VTAC_CLIP)
		return node->attr.clip.lo >= 0;
	return node->act.kind == VTAC_ACT_CLIP && node->act.lo >= 0;
}

static struct vtac_window *padded_window(struct vtac_node *node, const struct vtac_node *pad)
{
	struct vtac_window *w = &node->attr.pool;

	switch (node->op) {
	case VTAC_CONV:
		return &node->attr.conv.window;
	case VTAC_MAX_POOL:
		return w->ceil || !is_not_negative(pad->in[0]) ? NULL : w;
	case VTAC_AVG_POOL:
		if (w->ceil || (!w->count_pad &&
				(w->pad[0] || w->pad[1] || w->pad[2] || w->pad[3])))
			return NULL;
		return w;
	default:
		return NULL;
	}
}

/* Windows with nothing but padding in them are what pools do not have. */
static bool window_reaches(const struct vtac_node *node, const struct vtac_window *w,
			   const struct vtac_pad *p)
{
	for (int i = 0; i < 2; i++) {
		int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;

		if (node->op != VTAC_CONV && (w->pad[i] + p->before[2 + i] >= extent ||
					      w->pad[2 + i] + p->after[2 + i] >= extent))
			return false;
		if (w->pad[i] + p->before[2 + i] > 65535 || w->pad[2 + i] + p->after[2 + i] > 65535)
			return false;
	}
	return true;
}

int fuse_pad(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *pad = node->n_in ? fuse_from(g, node->in[0], VTAC_PAD) : NULL;
	struct vtac_window *w;

	if (!pad || !pads_pictures(pad))
		return 0;
	w = padded_window(node, pad);
	if (!w || !window_reaches(node, w, &pad->attr.pad))
		return 0;
	for (int i = 0; i < 2; i++) {
		w->pad[i] += pad->attr.pad.before[2 + i];
		w->pad[2 + i] += pad->attr.pad.after[2 + i];
	}
	if (node->op == VTAC_AVG_POOL)
		w->count_pad = true;
	return vtac_node_set_in(g, node, 0, pad->in[0]) ? -1 : 1;
}

/* ---- products of matrices ---- */

static struct vtac_tensor *transposed(struct vtac_graph *g, const struct vtac_tensor *w,
				      bool turn, float alpha)
{
	int64_t rows = w->dims[0], cols = w->dims[1];
	int64_t dims[2] = { turn ? cols : rows, turn ? rows : cols };
	const float *from = w->data;
	float *to = vtac_alloc(g, (uint64_t)vtac_elements(w) + 1, sizeof(*to));
	struct vtac_tensor *t;

	if (!to)
		return NULL;
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < cols; k++)
			to[turn ? k * rows + i : i * cols + k] = from[i * cols + k] * alpha;
	t = vtac_tensor_const(g, w->name, VTAC_F32, 2, dims, to, false);
	if (t && w->quant.scale) {
		t->quant = w->quant;
		t->quant.axis = turn ? 1 - w->quant.axis : w->quant.axis;
	}
	return t;
}

/* One term for each column: [n], of what broadcasts to it, times beta. */
static int column_terms(struct vtac_graph *g, struct vtac_node *node, int64_t n)
{
	const struct vtac_tensor *c = node->in[2];
	struct vtac_tensor *t;
	float *to;

	to = vtac_alloc(g, (uint64_t)n + 1, sizeof(*to));
	if (!to)
		return -1;
	for (int64_t i = 0; i < n; i++)
		to[i] = ((const float *)c->data)[vtac_elements(c) == 1 ? 0 : i] *
			node->attr.gemm.beta;
	t = vtac_tensor_const(g, c->name, VTAC_F32, 1, &n, to, false);
	if (!t)
		return -1;
	if (node->attr.gemm.beta == 1 && c->rank == 1)
		t->quant = c->quant;
	return vtac_node_set_in(g, node, 2, t);
}

int fuse_gemm(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_gemm *a = &node->attr.gemm;
	const struct vtac_tensor *c;
	struct vtac_tensor *w;
	int64_t n;

	if (node->op != VTAC_GEMM || !fuse_is_const(node->in[1]))
		return 0;
	c = node->n_in > 2 ? node->in[2] : NULL;
	n = node->out[0]->dims[1];
	if (c && (!fuse_is_const(c) || (vtac_elements(c) != 1 && vtac_elements(c) != n) ||
		  (vtac_elements(c) != 1 && c->dims[c->rank - 1] != n)))
		return 0;
	if (a->trans_w && a->alpha == 1 &&
	    (!c || (a->beta == 1 && c->rank == 1 && c->dims[0] == n)))
		return 0;
	if (node->in[1]->quant.given && a->alpha != 1)
		return 0;
	w = transposed(g, node->in[1], !a->trans_w, a->alpha);
	if (!w || vtac_node_set_in(g, node, 1, w) || (c && column_terms(g, node, n)))
		return -1;
	a->trans_w = true;
	a->alpha = 1;
	a->beta = 1;
	return 1;
}

/* The constant that is added to each row of @y by its only user, or NULL. */
static struct vtac_node *row_term(const struct vtac_graph *g, struct vtac_tensor *y,
				  struct vtac_tensor **c)
{
	struct vtac_node *add = vtac_only_user(g, y);
	int i;

	if (!add || add->op != VTAC_ADD || y->quant.given ||
	    !vtac_same_shape(y, add->out[0]))
		return NULL;
	i = add->in[0] == y;
	*c = add->in[i];
	return fuse_is_const(*c) && (*c)->rank == 1 && (*c)->dims[0] == y->dims[y->rank - 1] ?
		add : NULL;
}

/* A Reshape of @from to @to. */
static struct vtac_node *add_reshape(struct vtac_graph *g, const struct vtac_node *node,
				     struct vtac_tensor *from, struct vtac_tensor *to)
{
	struct vtac_node *made = to ? vtac_node_new(g, VTAC_RESHAPE, node->name, 1, 1) : NULL;

	if (!made || vtac_node_set_in(g, made, 0, from))
		return NULL;
	made->file_op = node->file_op;
	vtac_node_set_out(made, 0, to);
	return made;
}

/* The rows of all matrices of @x, as another node may have them already. */
static struct vtac_tensor *rows_of(struct vtac_graph *g, struct vtac_node *node,
				   struct vtac_tensor *x, int64_t rows)
{
	const int64_t dims[2] = { rows, x->dims[x->rank - 1] };
	struct vtac_tensor *flat;

	for (unsigned int i = 0; i < x->n_users; i++) {
		flat = x->users[i]->op == VTAC_RESHAPE ? x->users[i]->out[0] : NULL;
		if (flat && flat->rank == 2 && flat->dims[0] == rows && flat->dims[1] == dims[1] &&
		    !flat->quant.scale && !vtac_is_output(g, flat))
			return flat;
	}
	flat = vtac_tensor_shaped(g, x->name, VTAC_F32, 2, dims);
	return flat && add_reshape(g, node, x, flat) ? flat : NULL;
}

/* Matrices times a constant one are the rows of all times it. */
static int flatten_rows(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x = node->in[0], *y, *c, *flat[2];
	struct vtac_node *add = row_term(g, node->out[0], &c);
	int64_t k = x->dims[x->rank - 1], rows = k ? vtac_elements(x) / k : 0;
	int64_t n = node->in[1]->dims[1];

	if (rows < 1 || n < 1)
		return 0;
	if (add && (vtac_node_set_in(g, node, 2, c) || !fuse_take(node, add)))
		return -1;
	if (add)
		node->act = add->act;
	y = node->out[0];
	flat[0] = rows_of(g, node, x, rows);
	flat[1] = vtac_tensor_shaped(g, y->name, VTAC_F32, 2, (const int64_t[]){ rows, n });
	if (!flat[0] || !flat[1] ||
	    vtac_node_set_in(g, node, 0, flat[0]))
		return -1;
	vtac_node_set_out(node, 0, flat[1]);
	return add_reshape(g, node, flat[1], y) ? 1 : -1;
}

/* The constant @w as one matrix: 1, 0 if it is several, -1 without memory. */
static int as_matrix(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *w = node->in[1], *t;
	int lead = w->rank - 2;

	for (int i = 0; i < lead; i++)
		if (w->dims[i] != 1)
			return 0;
	if (lead < 1)
		return lead == 0;
	if (w->quant.n > 1 && w->quant.axis < lead)
		return 0;
	t = vtac_tensor_const(g, w->name, VTAC_F32, 2, w->dims + lead, w->data, false);
	if (!t)
		return -1;
	t->quant = w->quant;
	if (t->quant.n > 1)
		t->quant.axis -= lead;
	return vtac_node_set_in(g, node, 1, t) ? -1 : 1;
}

/* A matrix times a constant one. */
int fuse_matmul(struct vtac_graph *g, struct vtac_node *node)
{
	int matrix;

	if (node->op != VTAC_MATMUL || node->in[0]->rank < 2 || !fuse_is_const(node->in[1]) ||
	    fuse_is_const(node->in[0]) || vtac_elements(node->out[0]) < 1)
		return 0;
	matrix = as_matrix(g, node);
	if (matrix != 1)
		return matrix;
	node->op = VTAC_GEMM;
	node->attr = (union vtac_attr){ .gemm = { .alpha = 1, .beta = 1 } };
	if (vtac_node_resize_in(g, node, 3))
		return -1;
	if (node->out[0]->rank == 2)
		return 1;
	return flatten_rows(g, node) < 0 ? -1 : 1;
}

/* ---- constants of what has another shape ---- */

/*
 * The constant @c, an operand of values of shape @y, for the same values in the shape of @x; NULL
 * with *@fits if there is no memory. Lines are pictures of one row; rows of several images are
 * those of one matrix.
 */
static struct vtac_tensor *reshaped_const(struct vtac_graph *g, struct vtac_tensor *c,
					  const struct vtac_tensor *y, const struct vtac_tensor *x,
					  bool *fits)
{
	bool line = y->rank == 3 && x->rank == 4 && x->dims[2] == 1 && x->dims[0] == y->dims[0] &&
		x->dims[1] == y->dims[1];
	int64_t columns = y->rank ? y->dims[y->rank - 1] : 1;
	int64_t last = c->rank ? c->dims[c->rank - 1] : 1;
	int64_t dims[4] = { 1, 1, 1, 1 }, n = vtac_elements(c);
	bool rows = x->rank == 2 && x->dims[1] == columns;
	struct vtac_tensor *t;

	*fits = true;
	if (n == 1 || (rows && c->rank == 1 && n == columns))
		return c;
	if (line)
		for (int i = 0; i < c->rank; i++) {
			int d = 3 - c->rank + i;

			dims[d + (d == 2)] = c->dims[i];
		}
	else if (rows && n == columns && last == columns)
		dims[1] = columns;
	else if (rows && n == x->dims[0] && last == 1)
		dims[0] = n;
	else if (n == vtac_elements(x) && x->rank <= 4)
		for (int i = 0; i < x->rank; i++)
			dims[i] = x->dims[i];
	else
		*fits = false;
	if (!*fits)
		return NULL;
	t = vtac_tensor_const(g, c->name, VTAC_F32, line ? 4 : x->rank, dims, c->data, false);
	if (t)
		t->quant = c->quant;
	return t;
}

int fuse_before_reshape(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
			struct vtac_node *shape)
{
	struct vtac_tensor *x = shape->in[0], *y = node->out[0];
	struct vtac_tensor *t = vtac_tensor_shaped(g, y->name, VTAC_F32, x->rank, x->dims);

	if (!t || vtac_node_set_in(g, node, i, x) || vtac_node_set_in(g, shape, 0, t))
		return -1;
	if (y->quant.n == 1)
		t->quant = y->quant;
	vtac_node_set_out(node, 0, t);
	vtac_node_set_out(shape, 0, y);
	return 1;
}

/* A constant beside what a layer computes, before that is given another shape. */
int fuse_reshaped(struct vtac_graph *g, struct vtac_node *node)
{
	bool pair = node->op == VTAC_ADD || node->op == VTAC_SUB || node->op == VTAC_MUL ||
		node->op == VTAC_DIV ||
		(node->op == VTAC_BINARY && node->attr.binary.op == VTACPU_PRELU), fits;
	unsigned int i = pair && fuse_is_const(node->in[0]);
	struct vtac_node *shape = pair ? fuse_from(g, node->in[i], VTAC_RESHAPE) : NULL;
	struct vtac_tensor *x = shape ? shape->in[0] : NULL, *y = node->out[0], *c;

	if (!x || (x->rank != 2 && x->rank != 4) || !x->producer || !vtac_only_user(g, x) ||
	    !fuse_is_const(node->in[1 - i]) || node->in[1 - i]->quant.axis ||
	    node->in[1 - i]->quant.n > 1 || !vtac_same_shape(node->in[i], y) ||
	    node->act.kind != VTAC_ACT_NONE)
		return 0;
	c = reshaped_const(g, node->in[1 - i], y, x, &fits);
	if (!c)
		return fits ? -1 : 0;
	return vtac_node_set_in(g, node, 1 - i, c) ? -1 : fuse_before_reshape(g, node, i, shape);
}

static bool is_pair(enum vtac_op op)
{
	return op == VTAC_ADD || op == VTAC_SUB || op == VTAC_MUL || op == VTAC_MAX ||
	       op == VTAC_MIN;
}

/* Is @node a Reshape of values to rows of @columns, or a pair of them? */
static bool reads_rows(const struct vtac_node *node, int64_t columns)
{
	const struct vtac_tensor *y = node->out[0];

	return is_pair(node->op) ||
	       (node->op == VTAC_RESHAPE && y->rank == 2 && y->dims[1] == columns);
}

/*
 * Two computed matrices of rows, before both are given the same other shape, if what is computed of
 * rows reads the result: what a normalisation reads stays with that on the CPU.
 */
int fuse_flat_pair(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x[2], *y = node->out[0];
	struct vtac_node *shape[2];
	int64_t columns;

	if (!is_pair(node->op) || node->n_in != 2 || y->rank < 2 || y->size)
		return 0;
	columns = y->dims[y->rank - 1];
	for (unsigned int i = 0; i < y->n_users; i++)
		if (!reads_rows(y->users[i], columns))
			return 0;
	for (int i = 0; i < 2; i++) {
		shape[i] = fuse_from(g, node->in[i], VTAC_RESHAPE);
		x[i] = shape[i] ? shape[i]->in[0] : NULL;
		if (!x[i] || x[i]->rank != 2 || !x[i]->producer || x[i]->size ||
		    x[i]->dims[1] != columns || !vtac_same_shape(node->in[i], y))
			return 0;
	}
	if (shape[0] == shape[1])
		return 0;
	return vtac_node_set_in(g, node, 1, x[1]) ? -1 : fuse_before_reshape(g, node, 0, shape[0]);
}

/* A matrix product of flattened pictures is a convolution with a kernel of their size. */
int fuse_flat_gemm(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *flat = node->n_in ? fuse_from(g, node->in[0], VTAC_RESHAPE) : NULL;
	const struct vtac_tensor *x = flat ? flat->in[0] : NULL;
	struct vtac_tensor *w, *y = node->out[0], *t;
	int64_t n = y->rank == 2 ? y->dims[1] : 0;

	if (node->op != VTAC_GEMM || !x || x->rank != 4 || x->dims[0] != y->dims[0] ||
	    x->dims[2] * x->dims[3] == 1 || x->dims[2] > 65535 || x->dims[3] > 65535 ||
	    node->attr.gemm.trans_x || !node->attr.gemm.trans_w || node->attr.gemm.alpha != 1 ||
	    !fuse_is_const(node->in[1]) || (node->in[2] && node->in[2]->rank != 1))
		return 0;
	w = vtac_tensor_const(g, node->in[1]->name, VTAC_F32, 4,
			      (const int64_t[]){ n, x->dims[1], x->dims[2], x->dims[3] },
			      node->in[1]->data, false);
	t = vtac_tensor_shaped(g, y->name, VTAC_F32, 4, (const int64_t[]){ y->dims[0], n, 1, 1 });
	if (!w || !t)
		return -1;
	w->quant = node->in[1]->quant;
	node->op = VTAC_CONV;
	node->attr = (union vtac_attr){ .conv = {
		.window = { .kernel = { x->dims[2], x->dims[3] }, .stride = { 1, 1 },
			    .dilation = { 1, 1 } },
		.groups = 1,
	} };
	if (vtac_node_set_in(g, node, 0, flat->in[0]) || vtac_node_set_in(g, node, 1, w))
		return -1;
	vtac_node_set_out(node, 0, t);
	/* The Flatten moves behind the node. */
	t->quant = y->quant;
	if (vtac_node_set_in(g, flat, 0, t))
		return -1;
	vtac_node_set_out(flat, 0, y);
	return 1;
}

/* ---- means over pictures are pools ---- */

int fuse_mean(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtac_node *pool;
	struct vtac_tensor *t;

	if (node->op != VTAC_REDUCE || node->attr.reduce.op != VTACPU_REDUCE_MEAN ||
	    x->rank != 4 || node->attr.reduce.axes != 0xc || x->dims[2] < 1 || x->dims[3] < 1 ||
	    x->dims[2] > 65535 || x->dims[3] > 65535)
		return 0;
	pool = vtac_node_new(g, VTAC_AVG_POOL, node->name, 1, 1);
	t = pool ? vtac_tensor_shaped(g, node->out[0]->name, VTAC_F32, 4,
				      (const int64_t[]){ x->dims[0], x->dims[1], 1, 1 }) : NULL;
	if (!t || vtac_node_set_in(g, pool, 0, node->in[0]))
		return -1;
	vtac_node_set_out(pool, 0, t);
	pool->file_op = node->file_op;
	pool->attr.pool = (struct vtac_window){
		.kernel = { x->dims[2], x->dims[3] }, .stride = { 1, 1 }, .dilation = { 1, 1 },
	};
	node->op = node->attr.reduce.keep ? VTAC_IDENTITY : VTAC_RESHAPE;
	node->attr = (union vtac_attr){ 0 };
	if (vtac_node_set_in(g, node, 0, t))
		return -1;
	return node->op == VTAC_IDENTITY ? fuse_take(pool, node) : 1;
}

/*
 * ---- hard swish: x * clip(x / 6 + 1/2, 0, 1), in any of its forms ----
 *
 * In a quantised file each step may have a scale. Those inside are dropped: the card does not round
 * there. A quantiser leaves out the clip if the sum's scale has the same limits.
 */

/* Numbers of a quantised file are rounded. */
static bool near(float a, float b)
{
	return fabsf(a - b) <= 0.0001f * fabsf(b);
}

/* Is @t x + 3, without an activation unless it is @t's own limit? */
static bool is_three_more(const struct vtac_tensor *t, const struct vtac_tensor *x, bool clipped)
{
	const struct vtac_node *add = t->producer;
	float three;

	if (!add || add->op != VTAC_ADD || (add->act.kind != VTAC_ACT_NONE && !clipped))
		return false;
	if (add->in[0] == x)
		return fuse_number(add->in[1], &three) && near(three, 3);
	return add->in[1] == x && fuse_number(add->in[0], &three) && near(three, 3);
}

/* Is @t the hard sigmoid of x, times @factor? */
static bool is_hard_sigmoid(const struct vtac_graph *g, const struct vtac_tensor *t,
			    const struct vtac_tensor *x, float *factor)
{
	const struct vtac_node *node = t->producer;
	float lo, hi;

	if (!node || !vtac_only_user(g, t))
		return false;
	*factor = 1;
	if (node->op == VTAC_HARD_SIGMOID)
		return node->in[0] == x && near(node->attr.unary.alpha, 1.0f / 6) &&
		       near(node->attr.unary.beta, 0.5f);
	/* clip(x + 3, 0, 6); the clip may be the addition's already. */
	vtac_limits(t, &lo, &hi);
	if (lo != 0 || !near(hi, 6))
		return false;
	*factor = 6;
	return node->op == VTAC_CLIP ? is_three_more(node->in[0], x, false) :
	       is_three_more(t, x, true);
}

/* x * sigmoid: the other operand, or NULL. */
static struct vtac_tensor *swish_input(const struct vtac_graph *g, const struct vtac_node *mul,
				       float *factor)
{
	if (mul->op != VTAC_MUL || mul->act.kind != VTAC_ACT_NONE)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (is_hard_sigmoid(g, mul->in[i], mul->in[1 - i], factor))
			return mul->in[1 - i];
	return NULL;
}

int fuse_hard_swish(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x = swish_input(g, node, &(float){ 0 });
	float factor = 0, number = 1;
	struct vtac_node *mul;

	if (x) {
		x = swish_input(g, node, &factor);
		if (factor != 1)
			return 0;	/* what divides it by 6 follows */
	} else {
		unsigned int i = node->op == VTAC_MUL && fuse_is_const(node->in[0]);

		if ((node->op != VTAC_MUL && node->op != VTAC_DIV) ||
		    !fuse_number(node->in[1 - i], &number))
			return 0;
		mul = vtac_only_user(g, node->in[i]) ? node->in[i]->producer : NULL;
		x = mul ? swish_input(g, mul, &factor) : NULL;
		if (!x || !near(node->op == VTAC_DIV ? number : 1 / number, factor))
			return 0;
	}
	if (node->act.kind != VTAC_ACT_NONE)
		return 0;
	node->op = VTAC_HARD_SWISH;
	return vtac_node_set_in(g, node, 0, x) || vtac_node_resize_in(g, node, 1) ? -1 : 1;
}

/* ---- what moves, twice ---- */

int fuse_reshapes(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_node *first = node->in[0]->producer;

	/* Others may use what is between. */
	if (node->op != VTAC_RESHAPE || !first || first->op != VTAC_RESHAPE ||
	    node->in[0]->quant.given)
		return 0;
	return vtac_node_set_in(g, node, 0, first->in[0]) ? -1 : 1;
}

/* A Reshape to the same shape is gone. */
int fuse_same_shape(struct vtac_graph *g, struct vtac_node *node)
{
	if (node->op != VTAC_RESHAPE || node->out[0]->quant.given || node->in[0]->data ||
	    node->in[0]->size || node->out[0]->size || vtac_is_output(g, node->out[0]) ||
	    !vtac_same_shape(node->in[0], node->out[0]))
		return 0;
	if (vtac_tensor_replace(g, node->out[0], node->in[0]))
		return -1;
	vtac_node_remove(node);
	return 1;
}

int fuse_transposes(struct vtac_graph *g, struct vtac_node *node)
{
	int *perm = node->attr.transpose.perm;
	struct vtac_node *first;
	bool same = true;

	if (node->op != VTAC_TRANSPOSE)
		return 0;
	first = fuse_from(g, node->in[0], VTAC_TRANSPOSE);
	if (!first)
		return 0;
	for (int i = 0; i < node->in[0]->rank; i++) {
		perm[i] = first->attr.transpose.perm[perm[i]];
		same = same && perm[i] == i;
	}
	if (vtac_node_set_in(g, node, 0, first->in[0]))
		return -1;
	if (same) {
		node->op = VTAC_RESHAPE;
		node->attr = (union vtac_attr){ 0 };
	}
	return 1;
}
