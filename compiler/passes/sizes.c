// SPDX-License-Identifier: Apache-2.0
/*
 * Sizes that data decides, through the nodes of a graph
 *
 * A tensor with such a size has the memory and the shape of the largest that it can be, and a
 * scalar that says how much of one dimension is in use (struct vtac_tensor.size). Most operators
 * compute all of the memory: values behind the size have no meaning, and harm no others. One
 * that brings together values along that dimension gets others in their place (0 for a sum, the
 * least for a maximum), and one that joins tensors along it gathers the values in use.
 *
 * Sizes that the file computes (Shape, Gather, Mul, ...) are computed at run time; the compiler
 * follows the most that each can be (struct vtac_bound), by which it chooses shapes.
 */
#include <math.h>
#include <string.h>

#include "sizes.h"

static int fail_open(struct sizes *s, const struct vtac_tensor *t)
{
	return vtac_fail(s->g, s->node,
			 "Its input %.120s has a size that data decides, which it does not "
			 "support.",
			 t->name);
}

/* ---- making nodes, which are shaped at once ---- */

struct vtac_tensor *sizes_integer(struct sizes *s, int64_t value)
{
	return vtac_tensor_const(s->g, "number", VTAC_I64, 0, NULL, &value, true);
}

struct vtac_node *sizes_node(struct sizes *s, enum vtac_op op, struct vtac_tensor *const *in,
			     unsigned int n_in)
{
	const char *name = vtac_text(s->g, "%s.%s", s->node->name, vtac_op_name(op));
	struct vtac_node *node = name ? vtac_node_new(s->g, op, name, n_in, 1) : NULL;
	struct vtac_tensor *y = node ? vtac_tensor_new(s->g, name, VTAC_F32) : NULL;

	if (!y)
		return NULL;
	node->file_op = s->node->file_op;
	vtac_node_set_out(node, 0, y);
	for (unsigned int i = 0; i < n_in; i++)
		if (!in[i] || vtac_node_set_in(s->g, node, i, in[i]))
			return NULL;
	return node;
}

/* Its output, shaped; or, folded or left out, what is in its place. */
struct vtac_tensor *sizes_finish(struct sizes *s, struct vtac_node *node)
{
	struct vtac_tensor *y = node ? node->out[0] : NULL;

	return y && !vtac_shape_made(s->g, node) ? y : NULL;
}

struct vtac_tensor *sizes_two(struct sizes *s, enum vtac_op op, struct vtac_tensor *a,
			      struct vtac_tensor *b)
{
	struct vtac_tensor *in[] = { a, b };

	return a && b ? sizes_finish(s, sizes_node(s, op, in, 2)) : NULL;
}

struct vtac_tensor *sizes_reshaped(struct sizes *s, struct vtac_tensor *x, int rank,
				   const int64_t *dims)
{
	int64_t n = rank;
	struct vtac_tensor *in[] = {
		x, vtac_tensor_const(s->g, "shape", VTAC_I64, 1, &n, rank ? (const void *)dims : "",
				     true),
	};

	/* A Reshape of one value to one value may be left out: then it is @x. */
	if (x && x->rank == rank && (!rank || (rank == 1 && x->dims[0] == dims[0])))
		return x;
	return in[1] ? sizes_finish(s, sizes_node(s, VTAC_RESHAPE, in, 2)) : NULL;
}

/* 0, 1, ..., as a constant that broadcasts along dimension @d of @t. */
static struct vtac_tensor *counter(struct sizes *s, const struct vtac_tensor *t, int d)
{
	int64_t n = t->dims[d], dims[VTAC_RANK_MAX];
	int64_t *v = vtac_alloc(s->g, (uint64_t)n + 1, sizeof(*v));
	int rank = t->rank - d;

	for (int i = 0; i < rank; i++)
		dims[i] = i ? 1 : n;
	for (int64_t i = 0; v && i < n; i++)
		v[i] = i;
	return v ? vtac_tensor_const(s->g, "places", VTAC_I64, rank, dims, v, false) : NULL;
}

/* True for the places of dimension @d that are in use. */
static struct vtac_tensor *in_use(struct sizes *s, const struct vtac_tensor *t, int d,
				  struct vtac_tensor *size)
{
	struct vtac_tensor *in[] = { counter(s, t, d), size };
	struct vtac_node *node = in[0] && size ? sizes_node(s, VTAC_BINARY, in, 2) : NULL;

	if (!node)
		return NULL;
	node->attr.binary.op = VTACPU_LESS;
	return sizes_finish(s, node);
}

/* ---- what is behind a size ---- */

enum neutral { ZERO, ONE, LEAST, MOST, NOWHERE };

static struct vtac_tensor *neutral_value(struct sizes *s, enum vtac_dtype type, enum neutral v)
{
	static const int64_t least[VTAC_DTYPES] = {
		[VTAC_I8] = INT8_MIN, [VTAC_I32] = INT32_MIN, [VTAC_I64] = INT64_MIN,
	};
	static const int64_t most[VTAC_DTYPES] = {
		[VTAC_I8] = INT8_MAX, [VTAC_U8] = UINT8_MAX, [VTAC_I32] = INT32_MAX,
		[VTAC_I64] = INT64_MAX, [VTAC_BOOL] = 1,
	};
	float f = v == ONE ? 1 : v == LEAST ? -INFINITY : v == MOST ? INFINITY : 0;
	int64_t i = v == ONE ? 1 : v == LEAST || v == NOWHERE ? least[type] :
		v == MOST ? most[type] : 0;

	return vtac_tensor_const(s->g, "neutral", type, 0, NULL,
				 type == VTAC_F32 ? (const void *)&f : &i, true);
}

/* Replace input @i of the node by one whose values behind its size are @v. */
static int mask_input(struct sizes *s, unsigned int i, enum neutral v)
{
	struct vtac_tensor *x = s->in[i];
	struct vtac_tensor *in[] = { in_use(s, x, x->open, x->size), x,
				     neutral_value(s, x->dtype, v) };
	struct vtac_node *node = in[0] && in[2] ? sizes_node(s, VTAC_WHERE, in, 3) : NULL;
	struct vtac_tensor *y = node ? node->out[0] : NULL;

	return y && !vtac_shape_made(s->g, node) ? vtac_node_set_in(s->g, s->node, i, y) : -1;
}

/* ---- outputs ---- */

int sizes_set(struct sizes *s, struct vtac_tensor *y, int d, struct vtac_tensor *size)
{
	if (!y)
		return 0;
	if (!size)
		return -1;
	if (y->size && y->open != d)
		return vtac_fail(s->g, s->node, "Data decides two of its output's sizes, which is "
				 "not supported.");
	if (!y->size)
		y->size = size;
	y->open = d;
	s->g->has_sizes = true;
	return 0;
}

/* Dimension @d of each output, which is as large as that of @x, is as much in use. */
static int keep(struct sizes *s, const struct vtac_tensor *x, int d)
{
	for (unsigned int i = 0; i < s->node->n_out; i++) {
		struct vtac_tensor *y = s->node->out[i];

		if (y && (d < 0 || d >= y->rank || y->dims[d] != x->dims[x->open]))
			return fail_open(s, x);
		if (sizes_set(s, y, d, x->size))
			return -1;
	}
	return 0;
}

/* Inputs from @first on are as large as they look. */
static int check_others(struct sizes *s, unsigned int first)
{
	for (unsigned int i = first; i < s->n_in; i++)
		if (s->in[i] && s->in[i]->size)
			return fail_open(s, s->in[i]);
	return 0;
}

/* Value by value: all inputs that have this dimension have its size. */
static int size_each(struct sizes *s)
{
	const struct vtac_tensor *y = s->node->out[0];

	for (unsigned int i = 0; i < s->n_in; i++) {
		const struct vtac_tensor *x = s->in[i];
		int d;

		if (!x || !x->size)
			continue;
		d = x->open + y->rank - x->rank;
		if (keep(s, x, d))
			return -1;
	}
	return 0;
}

/* Value by value, with scales and zero points that are not. */
static int size_quantised(struct sizes *s)
{
	return check_others(s, 1) ? -1 : keep(s, s->in[0], s->in[0]->open);
}

/* The first dimension, of images, alone; other inputs are weights. */
static int size_images(struct sizes *s)
{
	if (check_others(s, 1))
		return -1;
	return s->in[0]->open ? fail_open(s, s->in[0]) : keep(s, s->in[0], 0);
}

/* As many results as there are regions. */
static int size_rois(struct sizes *s)
{
	const struct vtac_tensor *rois = s->in[1]->size ? s->in[1] : s->in[2];

	if (s->in[0]->size || rois->open)
		return fail_open(s, s->in[0]->size ? s->in[0] : rois);
	return keep(s, rois, 0);
}

static int size_gemm(struct sizes *s)
{
	if (check_others(s, 1))
		return -1;
	if (s->node->attr.gemm.trans_x || s->in[0]->open)
		return fail_open(s, s->in[0]);
	return keep(s, s->in[0], 0);
}

static int size_matmul(struct sizes *s)
{
	const struct vtac_tensor *a = s->in[0], *b = s->in[1], *y = s->node->out[0];
	/* Dimensions of the product, were vectors matrices */
	int rank = y->rank + (a->rank == 1) + (b->rank == 1), d;

	if (a->size && a->open == a->rank - 1)
		return fail_open(s, a);
	if (a->size && keep(s, a, a->open + rank - a->rank))
		return -1;
	if (!b->size)
		return 0;
	if (b->open == (b->rank > 1 ? b->rank - 2 : 0))
		return fail_open(s, b);
	d = b->open + rank - b->rank;
	return keep(s, b, a->rank == 1 && d == rank - 1 ? d - 1 : d);
}

static int size_norm(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];
	int before = s->node->attr.norm.by_channel ? 1 : s->node->attr.norm.axis;

	if (check_others(s, 1))
		return -1;
	return x->open >= before ? fail_open(s, x) : keep(s, x, x->open);
}

static int size_softmax(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];
	bool along = s->node->attr.softmax.flat ? x->open >= s->node->attr.softmax.axis :
		x->open == s->node->attr.softmax.axis;

	if (along && mask_input(s, 0, LEAST))
		return -1;
	return keep(s, x, x->open);
}

static int size_reduce(struct sizes *s)
{
	static const enum neutral neutral[] = {
		[VTACPU_REDUCE_SUM] = ZERO, [VTACPU_REDUCE_MAX] = LEAST,
		[VTACPU_REDUCE_MIN] = MOST, [VTACPU_REDUCE_PROD] = ONE, [VTACPU_REDUCE_L1] = ZERO,
		[VTACPU_REDUCE_SUM_SQUARE] = ZERO, [VTACPU_REDUCE_LOG_SUM_EXP] = LEAST,
	};
	const struct vtac_tensor *x = s->in[0];
	uint32_t axes = s->node->attr.reduce.axes;
	int d = x->open;

	if (axes >> x->open & 1) {
		if (s->node->attr.reduce.op == VTACPU_REDUCE_MEAN)
			return vtac_fail(s->g, s->node, "A mean of as many values as data decides "
					 "is not supported.");
		return mask_input(s, 0, neutral[s->node->attr.reduce.op]);
	}
	for (int i = 0; !s->node->attr.reduce.keep && i < x->open; i++)
		d -= (int)(axes >> i & 1);
	return keep(s, x, d);
}

/* The range includes 0. */
static int size_steps(struct sizes *s)
{
	return mask_input(s, 0, ZERO);
}

static int size_arg(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];
	int axis = s->node->attr.arg.axis;

	/* The last one of equal values may be behind the size. */
	if (x->open == axis && s->node->attr.arg.last)
		return fail_open(s, x);
	if (x->open == axis)
		return mask_input(s, 0, s->node->attr.arg.least ? MOST : LEAST);
	return keep(s, x, x->open - (!s->node->attr.arg.keep && x->open > axis));
}

/* Sums of the first values do not read those behind. */
static int size_cum_sum(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];

	if (x->open == s->node->attr.cum_sum.axis && s->node->attr.cum_sum.reverse &&
	    mask_input(s, 0, ZERO))
		return -1;
	return keep(s, x, x->open);
}

static int size_transpose(struct sizes *s)
{
	int d = 0;

	while (s->node->attr.transpose.perm[d] != s->in[0]->open)
		d++;
	return keep(s, s->in[0], d);
}

static int size_split(struct sizes *s)
{
	if (s->in[0]->open == s->node->attr.axis.axis)
		return fail_open(s, s->in[0]);
	return keep(s, s->in[0], s->in[0]->open);
}

static int size_pad(struct sizes *s)
{
	int d = s->in[0]->open;

	if (s->node->attr.pad.before[d] || s->node->attr.pad.after[d])
		return fail_open(s, s->in[0]);
	return keep(s, s->in[0], d);
}

static int size_gather(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0], *at = s->in[1];
	int axis = s->node->attr.axis.axis;

	/* A negative index would count from the end of the memory. */
	if (x->size && x->open == axis && at->data && s->node->op == VTAC_GATHER)
		for (int64_t i = 0; i < vtac_elements(at); i++)
			if ((at->dtype == VTAC_I64 ? ((const int64_t *)at->data)[i] :
			     ((const int32_t *)at->data)[i]) < 0)
				return vtac_fail(s->g, s->node, "Its index counts from an end that "
						 "data decides.");
	if (at->size && keep(s, at, s->node->op == VTAC_GATHER ? axis + at->open : at->open))
		return -1;
	if (!x->size || x->open == axis || s->node->op != VTAC_GATHER)
		return 0;
	return keep(s, x, x->open < axis ? x->open : x->open + at->rank - 1);
}

static int size_gather_nd(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0], *at = s->in[1];
	int batch = s->node->attr.gather_nd.batch;
	int taken = batch + (int)at->dims[at->rank - 1];

	if (at->size && at->open == at->rank - 1)
		return fail_open(s, at);
	if (at->size && keep(s, at, at->open))
		return -1;
	if (!x->size || (x->open >= batch && x->open < taken))
		return 0;
	return keep(s, x, x->open < batch ? x->open : x->open - taken + at->rank - 1);
}

/* One dimension more than the indices have */
static int size_one_hot(struct sizes *s)
{
	const struct vtac_tensor *at = s->in[0];

	if (check_others(s, 1))
		return -1;
	return keep(s, at, at->open + (at->open >= s->node->attr.one_hot.axis));
}

/* Indices behind the size name no place. */
static int size_scatter(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];

	if (!s->in[1]->size && check_others(s, 2))
		return -1;
	if (s->in[1]->size && mask_input(s, 1, NOWHERE))
		return -1;
	return x->size ? keep(s, x, x->open) : 0;
}

static int size_non_zero(struct sizes *s)
{
	return mask_input(s, 0, ZERO);
}

static int size_nms(struct sizes *s)
{
	const struct vtac_tensor *b = s->in[0], *c = s->in[1];

	if ((b->size && b->open != 1) || (c->size && c->open != 2))
		return fail_open(s, b->size ? b : c);
	return vtac_node_set_in(s->g, s->node, 2, b->size ? b->size : c->size);
}

/* Counting a list has an output of known size. */
static int size_nothing(struct sizes *s)
{
	(void)s;
	return 0;
}

/* ---- joining ---- */

/* Gather the values in use of the parts, behind each other. */
static int append(struct sizes *s, int axis)
{
	struct vtac_node *node = s->node, *mask, *list, *count, *flat, *gather;
	struct vtac_tensor *y = node->out[0], *joined, *index;
	static const int64_t all = -1, one = 1;

	joined = vtac_tensor_shaped(s->g, vtac_text(s->g, "%s.joined", node->name), y->dtype,
				    y->rank, y->dims);
	mask = vtac_node_new(s->g, VTAC_CONCAT, vtac_text(s->g, "%s.mask", node->name), node->n_in,
			     1);
	if (!joined || !mask)
		return -1;
	vtac_node_set_out(mask, 0, vtac_tensor_new(s->g, "mask", VTAC_BOOL));
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *x = node->in[i];
		struct vtac_tensor line = { .rank = 1, .dims = { x->dims[axis] } };

		if (vtac_node_set_in(s->g, mask, i,
				     in_use(s, &line, 0, x->size && x->open == axis ? x->size :
					    sizes_integer(s, x->dims[axis]))))
			return -1;
	}
	if (!mask->out[0] || vtac_shape_made(s->g, mask))
		return -1;
	list = sizes_node(s, VTAC_NON_ZERO, &mask->out[0], 1);
	if (!list || vtac_shape_made(s->g, list))
		return -1;
	index = list->out[0];
	index->open = 1;
	count = sizes_node(s, VTAC_COUNT, &index, 1);
	if (!count || vtac_shape_made(s->g, count))
		return -1;
	index->size = count->out[0];
	flat = sizes_node(s, VTAC_RESHAPE, (struct vtac_tensor *[]) {
			index,
			vtac_tensor_const(s->g, "shape", VTAC_I64, 1, &one, &all, true) }, 2);
	if (!flat)
		return -1;
	index = flat->out[0];
	if (vtac_shape_made(s->g, flat))
		return -1;
	vtac_node_set_out(node, 0, joined);
	gather = vtac_node_new(s->g, VTAC_GATHER, node->name, 2, 1);
	if (!gather || vtac_node_set_in(s->g, gather, 0, joined) ||
	    vtac_node_set_in(s->g, gather, 1, index))
		return -1;
	gather->attr.axis.axis = axis;
	gather->file_op = node->file_op;
	vtac_node_set_out(gather, 0, y);
	return vtac_shape_made(s->g, gather);
}

static int size_concat(struct sizes *s)
{
	int axis = s->node->attr.axis.axis;
	bool along = false;

	for (unsigned int i = 0; i < s->node->n_in; i++) {
		const struct vtac_tensor *x = s->node->in[i];

		along = along || (x->size && x->open == axis);
	}
	for (unsigned int i = 0; i < s->node->n_in; i++) {
		const struct vtac_tensor *x = s->node->in[i];

		if (!x->size || x->open == axis)
			continue;
		if (along)
			return fail_open(s, x);
		if (keep(s, x, x->open))
			return -1;
	}
	if (along && s->node->n_in == 1)
		return keep(s, s->node->in[0], axis);
	return along ? append(s, axis) : 0;
}

/* ---- operators that sizes are given to ---- */

/* The shape of a tensor whose size data decides: constants, and this size. */
static int make_shape(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];
	int64_t first = s->node->attr.shape.start, end = s->node->attr.shape.end, one = 1, n;
	struct vtac_tensor *parts[3];
	unsigned int count = 0;

	if (x->open < first || x->open >= end)
		return 0;
	n = x->open - first;
	if (n)
		parts[count++] = vtac_tensor_const(s->g, "sizes", VTAC_I64, 1, &n, x->dims + first,
						   true);
	parts[count++] = sizes_reshaped(s, x->size, 1, &one);
	n = end - x->open - 1;
	if (n)
		parts[count++] = vtac_tensor_const(s->g, "sizes", VTAC_I64, 1, &n,
						   x->dims + x->open + 1, true);
	s->node->op = VTAC_CONCAT;
	s->node->attr.axis.axis = 0;
	if (vtac_node_resize_in(s->g, s->node, count))
		return -1;
	for (unsigned int i = 0; i < count; i++)
		if (!parts[i] || vtac_node_set_in(s->g, s->node, i, parts[i]))
			return -1;
	return bounds_joined(s);
}

/* The only integer of @t that data decides: its place, or -1; -2 if there are several. */
static int find_open(struct vtac_bound *bounds, int64_t n)
{
	int open = -1;

	for (int i = 0; i < n; i++)
		if (!bounds_known(&bounds[i]))
			open = open == -1 ? i : -2;
	return open;
}

/* Of a shape that is given (Expand): its dimensions are the output's last ones. */
static int size_expand(struct sizes *s)
{
	struct vtac_tensor *shape = s->n_in > 1 ? s->in[1] : NULL, *y = s->node->out[0];
	struct vtac_bound b[BOUNDS_MAX];
	int open, rank;

	if (s->in[0]->size && size_each(s))
		return -1;
	if (!shape || !bounds_get(shape, b) || shape->data)
		return 0;
	rank = (int)vtac_elements(shape);
	open = find_open(b, rank);
	if (open == -2)
		return vtac_fail(s->g, s->node, "Data decides two of its sizes.");
	return open < 0 || y->size ? 0 :
	       sizes_set(s, y, open + y->rank - rank, bounds_size(s, shape, open, &b[open]));
}

static int size_top(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];
	struct vtac_bound b[BOUNDS_MAX];
	int axis = s->node->attr.top.axis;

	if (x->size && x->open == axis && mask_input(s, 0, s->node->attr.top.least ? MOST : LEAST))
		return -1;
	if (x->size && x->open != axis && keep(s, x, x->open))
		return -1;
	if (s->n_in < 2 || s->in[1]->data || !bounds_get(s->in[1], b))
		return 0;
	return sizes_set(s, s->node->out[0], axis, bounds_size(s, s->in[1], 0, &b[0]));
}

/* An end that is computed: what is below 0 counts from @size. */
static struct vtac_tensor *from_start(struct sizes *s, struct vtac_tensor *end, int64_t least,
				      struct vtac_tensor *size)
{
	struct vtac_tensor *in[] = { end, sizes_integer(s, 0), end };
	struct vtac_node *node;

	if (!end || least >= 0)
		return end;
	node = in[1] ? sizes_node(s, VTAC_BINARY, in, 2) : NULL;
	if (!node)
		return NULL;
	node->attr.binary.op = VTACPU_LESS;
	in[0] = sizes_finish(s, node);
	in[1] = sizes_two(s, VTAC_ADD, end, size);
	return in[0] && in[1] ? sizes_finish(s, sizes_node(s, VTAC_WHERE, in, 3)) : NULL;
}

/* The size of x[start:end], both known or bounded, of @n values or as many as data decides. */
static struct vtac_tensor *sliced_size(struct sizes *s, struct vtac_tensor *size, int64_t n,
				       int64_t start, struct vtac_tensor *end,
				       const struct vtac_bound *b, int i)
{
	if (!size)
		size = sizes_integer(s, n);
	if (bounds_known(b) && b->most < 0)
		size = sizes_two(s, VTAC_SUB, size,
				 sizes_integer(s, b->most < -n ? n : -b->most));
	else if (!bounds_known(b) || b->most < n)
		size = sizes_two(s, VTAC_MIN, size,
				 from_start(s, bounds_size(s, end, i, b), b->least, size));
	if (start)
		size = sizes_two(s, VTAC_SUB, size, sizes_integer(s, start));
	return sizes_two(s, VTAC_MAX, size, sizes_integer(s, 0));
}

static int slice_dimension(struct sizes *s, int d, int64_t start, int i,
			   const struct vtac_bound *end)
{
	struct vtac_tensor *x = s->in[0], *size;
	bool open = x->size && x->open == d;

	if (!open && bounds_known(end))
		return 0;
	if (start < 0 || s->node->attr.slice.step[d] != 1)
		return vtac_fail(s->g, s->node, "It counts from an end that data decides.");
	size = sliced_size(s, open ? x->size : NULL, x->dims[d], start, s->in[2], end, i);
	if (size && !size->data && !size->bounds && bounds_most(s, size, x->dims[d]))
		return -1;
	return sizes_set(s, s->node->out[0], d, size);
}

static int size_slice(struct sizes *s)
{
	struct vtac_bound start[BOUNDS_MAX], end[BOUNDS_MAX], axes[BOUNDS_MAX];
	const struct vtac_tensor *x = s->in[0];
	bool given = s->n_in > 3 && s->in[3], sliced = false;
	int64_t n;

	if (s->n_in < 3 || !bounds_get(s->in[1], start) || !bounds_get(s->in[2], end) ||
	    (given && !bounds_get(s->in[3], axes)))
		return vtac_fail(s->g, s->node, "Its starts and ends are not known.");
	n = vtac_elements(s->in[1]);
	for (int i = 0; i < n; i++) {
		int d = given ? (int)axes[i].most : i;

		d += d < 0 ? x->rank : 0;
		if (!bounds_known(&start[i]) || (given && !bounds_known(&axes[i])))
			return vtac_fail(s->g, s->node, "Data decides where it starts.");
		if (slice_dimension(s, d, start[i].most, i, &end[i]))
			return -1;
		sliced = sliced || (x->size && d == x->open);
	}
	return x->size && !sliced ? keep(s, x, x->open) : 0;
}

/* ---- all of them ---- */

struct rule {
	int (*open)(struct sizes *s);	/* an input's size is decided by data, or it is given */
	int (*bound)(struct sizes *s);	/* integers of inputs are bounded */
	bool takes;			/* inputs after the first may be bounded, not known */
};

static const struct rule rules[VTAC_OPS] = {
	[VTAC_ADD] = { size_each, bounds_pair, true },
	[VTAC_MUL] = { size_each, bounds_pair, true },
	[VTAC_SUB] = { size_each, bounds_pair, true },
	[VTAC_DIV] = { size_each, bounds_pair, true },
	[VTAC_MAX] = { size_each, bounds_pair, true },
	[VTAC_MIN] = { size_each, bounds_pair, true },
	[VTAC_CLIP] = { size_each, NULL, false }, [VTAC_LEAKY_RELU] = { size_each, NULL, false },
	[VTAC_HARD_SIGMOID] = { size_each, NULL, false },
	[VTAC_HARD_SWISH] = { size_each, NULL, false }, [VTAC_UNARY] = { size_each, NULL, false },
	[VTAC_BINARY] = { size_each, NULL, true }, [VTAC_WHERE] = { size_each, bounds_where, true },
	[VTAC_CAST] = { size_each, bounds_same, false }, [VTAC_LIMIT] = { size_each, NULL, true },
	[VTAC_QUANTIZE] = { size_quantised, NULL, false },
	[VTAC_DEQUANTIZE] = { size_quantised, NULL, false },
	[VTAC_IDENTITY] = { size_each, bounds_same, false },
	[VTAC_CONV] = { size_images, NULL, false },
	[VTAC_CONV_TRANSPOSE] = { size_images, NULL, false },
	[VTAC_MAX_POOL] = { size_images, NULL, false },
	[VTAC_AVG_POOL] = { size_images, NULL, false },
	[VTAC_BATCH_NORM] = { size_images, NULL, false },
	[VTAC_RESIZE] = { size_images, NULL, false }, [VTAC_LRN] = { size_images, NULL, false },
	[VTAC_DEPTH_TO_SPACE] = { size_images, NULL, false },
	[VTAC_GEMM] = { size_gemm, NULL, false }, [VTAC_MATMUL] = { size_matmul, NULL, false },
	[VTAC_NORM] = { size_norm, NULL, false }, [VTAC_SOFTMAX] = { size_softmax, NULL, false },
	[VTAC_REDUCE] = { size_reduce, bounds_reduced, false },
	[VTAC_ARG] = { size_arg, NULL, false },
	[VTAC_STEPS] = { size_steps, NULL, false }, [VTAC_ROUND] = { size_quantised, NULL, false },
	[VTAC_TOP] = { size_top, NULL, true }, [VTAC_CUM_SUM] = { size_cum_sum, NULL, false },
	[VTAC_TRANSPOSE] = { size_transpose, NULL, false },
	[VTAC_SPLIT] = { size_split, NULL, false }, [VTAC_PAD] = { size_pad, NULL, false },
	[VTAC_SLICE] = { size_slice, bounds_chosen, true },
	[VTAC_GATHER] = { size_gather, bounds_chosen, true },
	[VTAC_GATHER_ELEMENTS] = { size_gather, NULL, true },
	[VTAC_GATHER_ND] = { size_gather_nd, NULL, true },
	[VTAC_SCATTER_ELEMENTS] = { size_scatter, NULL, true },
	[VTAC_SCATTER_ND] = { size_scatter, NULL, true },
	[VTAC_ROI_ALIGN] = { size_rois, NULL, false },
	[VTAC_ONE_HOT] = { size_one_hot, NULL, false },
	[VTAC_RESHAPE] = { sizes_reshape, bounds_same, true },
	[VTAC_EXPAND] = { size_expand, NULL, true },
	[VTAC_CONCAT] = { size_concat, bounds_joined, true },
	[VTAC_NON_ZERO] = { size_non_zero, NULL, false }, [VTAC_NMS] = { size_nms, NULL, false },
	[VTAC_COUNT] = { size_nothing, NULL, false }, [VTAC_SHAPE] = { make_shape, NULL, false },
};

static bool is_bounded(const struct vtac_tensor *t)
{
	return t && !t->data && t->bounds;
}

/* Is @t the constant @value? */
static bool is_integer(const struct vtac_tensor *t, int64_t value)
{
	return t && t->data && t->dtype == VTAC_I64 && vtac_elements(t) == 1 &&
	       *(const int64_t *)t->data == value;
}

/* A Range from 0 in steps of 1, or a ConstantOfShape: made as long as can be. */
static int bound_input(struct vtac_graph *g, struct vtac_node *node)
{
	struct sizes s = { .g = g, .node = node };
	unsigned int at = node->op == VTAC_RANGE ? 1 : 0;
	struct vtac_tensor *t = node->in[at], *fixed, *y = node->out[0];
	struct vtac_bound b[BOUNDS_MAX];
	int64_t most[BOUNDS_MAX], n = vtac_elements(t);
	int open;

	if (!is_bounded(t) || !bounds_get(t, b))
		return 0;
	open = find_open(b, n);
	for (int64_t i = 0; i < n; i++)
		most[i] = b[i].most;
	if (open == -2 || (node->op == VTAC_RANGE &&
			   (t->dtype != VTAC_I64 || !is_integer(node->in[0], 0) ||
			    !is_integer(node->in[2], 1))))
		return vtac_fail(g, node, "Data decides its size in a way that is not supported.");
	fixed = vtac_tensor_const(g, "most", VTAC_I64, t->rank, t->dims, most, true);
	if (!fixed || vtac_node_set_in(g, node, at, fixed))
		return -1;
	return open < 0 ? 0 : sizes_set(&s, y, open, bounds_size(&s, t, open, &b[open]));
}

int vtac_bound_inputs(struct vtac_graph *g, struct vtac_node *node)
{
	if (node->op == VTAC_RANGE || node->op == VTAC_CONSTANT_OF_SHAPE)
		return bound_input(g, node);
	for (unsigned int i = 1; i < node->n_in; i++)
		if (is_bounded(node->in[i]) && !rules[node->op].takes)
			return vtac_fail(g, node,
					 "Its input %.120s depends on the model's input values; it "
					 "must be constant.",
					 node->in[i]->name);
	return 0;
}

int vtac_set_sizes(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *const *in,
		   unsigned int n_in)
{
	struct sizes s = { .g = g, .node = node, .n_in = n_in };
	const struct rule *rule = &rules[node->op];
	struct vtac_tensor *open = NULL;
	bool bounded = false;

	memcpy(s.in, in, n_in * sizeof(struct vtac_tensor *));
	for (unsigned int i = 0; i < n_in; i++) {
		open = !open && in[i] && in[i]->size ? in[i] : open;
		bounded = bounded || is_bounded(in[i]);
	}
	for (unsigned int i = SIZES_INPUTS; i < node->n_in; i++)
		open = !open && node->in[i]->size ? node->in[i] : open;
	if (open && !rule->open)
		return fail_open(&s, open);
	if (bounded && rule->bound && rule->bound(&s))
		return -1;
	bounded = bounded && (node->op == VTAC_EXPAND || node->op == VTAC_TOP ||
			      (node->op == VTAC_SLICE && (is_bounded(s.in[1]) ||
							  is_bounded(s.in[2]))));
	return open || bounded ? rule->open(&s) : 0;
}

int vtac_output_sizes(struct vtac_graph *g)
{
	unsigned int n = g->n_outputs;

	for (unsigned int i = 0; i < n; i++) {
		struct vtac_tensor *size = g->outputs[i]->size;

		if (!size || vtac_is_output(g, size))
			continue;
		if (vtac_graph_output(g, size))
			return -1;
		g->output_names[g->n_outputs - 1] = vtac_text(g, "%s.size", g->output_names[i]);
		g->n_sizes++;
	}
	return 0;
}

int vtac_shrink(struct vtac_graph *g, struct vtac_tensor *t, int64_t n)
{
	int64_t outer = sizes_before(t, t->open), inner = 1, bytes, from = t->dims[t->open];
	const char *data = t->data;
	char *own;

	for (int i = t->open + 1; i < t->rank; i++)
		inner *= t->dims[i];
	bytes = inner * (int64_t)vtac_dtype_size(t->dtype);
	own = vtac_alloc(g, (uint64_t)(outer * n * bytes) + 1, 1);
	if (!own)
		return -1;
	for (int64_t i = 0; i < outer; i++)
		memcpy(own + i * n * bytes, data + i * from * bytes, (size_t)(n * bytes));
	t->data = own;
	t->dims[t->open] = n;
	t->size = NULL;
	return 0;
}
