// SPDX-License-Identifier: Apache-2.0
/* Shapes of nodes whose inputs choose or order values, that normalise, and that recur. */
#include <math.h>
#include <string.h>

#include "shape_impl.h"

/* Constant indices are checked; of others, the kernels say what is done out of range. */
static int check_indices(struct vtac_graph *g, const struct vtac_node *node, int64_t size)
{
	const struct vtac_tensor *at = node->in[1];

	if (at->dtype != VTAC_I64 && at->dtype != VTAC_I32)
		return vtac_fail(g, node, "Its indices are not integers.");
	for (int64_t i = 0; at->data && i < vtac_elements(at); i++) {
		int64_t index = at->dtype == VTAC_I64 ? ((const int64_t *)at->data)[i] :
			((const int32_t *)at->data)[i];

		if (index < -size || index >= size)
			return vtac_fail(g, node, "Its index %lld is out of range.",
					 (long long)index);
	}
	return 0;
}

int shape_gather(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *at = node->in[1];
	int64_t dims[2 * VTAC_RANK_MAX];
	int axis, rank = 0;

	if (shape_axis(g, node, node->attr.axis.axis, x->rank, &axis))
		return -1;
	if (check_indices(g, node, x->dims[axis]))
		return -1;
	if (x->rank + at->rank - 1 > VTAC_RANK_MAX)
		return vtac_fail(g, node, "It has more than %d dimensions.", VTAC_RANK_MAX);
	node->attr.axis.axis = axis;
	for (int i = 0; i < axis; i++)
		dims[rank++] = x->dims[i];
	for (int i = 0; i < at->rank; i++)
		dims[rank++] = at->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	return shape_out(g, node, rank, dims);
}

/* Do all dimensions of @index but @axis fit those of @x? */
static int check_elements(struct vtac_graph *g, const struct vtac_node *node, int axis)
{
	const struct vtac_tensor *x = node->in[0], *at = node->in[1];

	if (x->rank != at->rank)
		return vtac_fail(g, node, "Its indices have %d dimensions, its input %d.", at->rank,
				 x->rank);
	for (int i = 0; i < x->rank; i++)
		if (i != axis && at->dims[i] > x->dims[i])
			return vtac_fail(g, node, "Its indices are beyond dimension %d.", i);
	return check_indices(g, node, x->dims[axis]);
}

int shape_gather_elements(struct vtac_graph *g, struct vtac_node *node)
{
	int axis;

	if (shape_axis(g, node, node->attr.axis.axis, node->in[0]->rank, &axis) ||
	    check_elements(g, node, axis))
		return -1;
	node->attr.axis.axis = axis;
	return shape_out(g, node, node->in[1]->rank, node->in[1]->dims);
}

/* Values that are scattered are as many as there are places for them. */
static int check_updates(struct vtac_graph *g, const struct vtac_node *node, int rank,
			 const int64_t *dims)
{
	const struct vtac_tensor *u = node->in[2];

	if (u->dtype != node->in[0]->dtype || u->rank != rank ||
	    memcmp(u->dims, dims, (size_t)rank * sizeof(dims[0])))
		return vtac_fail(g, node, "Its updates %.120s have another type or shape.",
				 u->name);
	return 0;
}

int shape_scatter_elements(struct vtac_graph *g, struct vtac_node *node)
{
	int axis;

	if (shape_axis(g, node, node->attr.scatter.axis, node->in[0]->rank, &axis) ||
	    check_elements(g, node, axis) ||
	    check_updates(g, node, node->in[1]->rank, node->in[1]->dims))
		return -1;
	node->attr.scatter.axis = axis;
	return shape_out(g, node, node->in[0]->rank, node->in[0]->dims);
}

/* The shape of what @node's indices name after @batch common dimensions: its rank, or -1. */
static int slices_shape(struct vtac_graph *g, const struct vtac_node *node, int batch,
			int64_t dims[2 * VTAC_RANK_MAX])
{
	const struct vtac_tensor *x = node->in[0], *at = node->in[1];
	int64_t depth = at->rank ? at->dims[at->rank - 1] : 0;
	int rank = 0;

	if ((at->dtype != VTAC_I64 && at->dtype != VTAC_I32) || batch < 0 || batch >= at->rank ||
	    depth < 1 || depth + batch > x->rank)
		return vtac_fail(g, node, "Its indices do not fit its input.");
	for (int i = 0; i < batch; i++)
		if (x->dims[i] != at->dims[i])
			return vtac_fail(g, node, "Its batches differ in dimension %d.", i);
	for (int i = 0; i + 1 < at->rank; i++)
		dims[rank++] = at->dims[i];
	for (int i = batch + (int)depth; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	if (rank > VTAC_RANK_MAX)
		return vtac_fail(g, node, "It has more than %d dimensions.", VTAC_RANK_MAX);
	return rank;
}

int shape_gather_nd(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t dims[2 * VTAC_RANK_MAX];
	int rank = slices_shape(g, node, node->attr.gather_nd.batch, dims);

	return rank < 0 ? -1 : shape_out(g, node, rank, dims);
}

int shape_scatter_nd(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t dims[2 * VTAC_RANK_MAX];
	int rank = slices_shape(g, node, 0, dims);

	if (rank < 0 || check_updates(g, node, rank, dims))
		return -1;
	return shape_out(g, node, node->in[0]->rank, node->in[0]->dims);
}

/* ---- along an axis ---- */

int shape_arg(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[VTAC_RANK_MAX];
	int axis, rank = 0;

	if (shape_axis(g, node, node->attr.arg.axis, x->rank, &axis))
		return -1;
	node->attr.arg.axis = axis;
	for (int i = 0; i < x->rank; i++)
		if (i != axis || node->attr.arg.keep)
			dims[rank++] = i == axis ? 1 : x->dims[i];
	if (shape_out(g, node, rank, dims))
		return -1;
	node->out[0]->dtype = VTAC_I64;
	return 0;
}

int shape_top(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[VTAC_RANK_MAX], k;
	int axis;

	if (node->n_in < 2)
		return 0;	/* done before */
	if (shape_axis(g, node, node->attr.top.axis, x->rank, &axis))
		return -1;
	if (shape_ints(g, node, 1, &k, 1) != 1)
		return vtac_fail(g, node, "Its number of values is not one constant.");
	if (k < 0 || k > x->dims[axis])
		return vtac_fail(g, node, "It takes %lld of %lld values.", (long long)k,
				 (long long)x->dims[axis]);
	node->attr.top.axis = axis;
	memcpy(dims, x->dims, sizeof(dims));
	dims[axis] = k;
	if (vtac_node_resize_in(g, node, 1) || shape_out(g, node, x->rank, dims))
		return -1;
	node->out[0]->dtype = VTAC_I64;
	return 0;
}

int shape_cum_sum(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t value;
	int axis;

	if (node->n_in < 2)
		return 0;	/* done before */
	if (shape_ints(g, node, 1, &value, 1) != 1)
		return vtac_fail(g, node, "Its axis is not one constant.");
	if (value < -VTAC_RANK_MAX || value > VTAC_RANK_MAX ||
	    shape_axis(g, node, (int)value, node->in[0]->rank, &axis))
		return vtac_fail(g, node, "Its axis is out of range.");
	node->attr.cum_sum.axis = axis;
	if (vtac_node_resize_in(g, node, 1))
		return -1;
	return shape_out(g, node, node->in[0]->rank, node->in[0]->dims);
}

/* Values of @t, of @from's sizes, for each place of @dims, where @from has 1 or the same. */
static struct vtac_tensor *spread(struct vtac_graph *g, const struct vtac_tensor *t, int rank,
				  const int64_t *from, const int64_t *dims)
{
	int64_t at[VTAC_RANK_MAX] = { 0 }, count = 1;
	float *to;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	to = vtac_alloc(g, (uint64_t)count, sizeof(*to));
	for (int64_t n = 0; to && n < count; n++) {
		int64_t source = 0;

		for (int i = 0; i < rank; i++)
			source = source * from[i] + (from[i] == 1 ? 0 : at[i]);
		to[n] = ((const float *)t->data)[source];
		for (int i = rank; i && ++at[i - 1] == dims[i - 1]; i--)
			at[i - 1] = 0;
	}
	return to ? vtac_tensor_const(g, t->name, VTAC_F32, rank, dims, to, false) : NULL;
}

/*
 * Scale or bias @i of a normalisation of @rank dimensions @dims: opset 18 has a value for each
 * group of channels, and LayerNormalization may have 1 in place of a size. A constant of these
 * gets all values.
 */
static int spread_norm(struct vtac_graph *g, struct vtac_node *node, unsigned int i, int rank,
		       const int64_t *dims)
{
	struct vtac_tensor *t = i < node->n_in ? node->in[i] : NULL;
	int64_t from[VTAC_RANK_MAX], values = 1, groups = node->attr.norm.groups;
	bool by_channel = node->attr.norm.by_channel;

	for (int k = 0; k < rank; k++)
		values *= dims[k];
	if (!t || vtac_elements(t) == values)
		return 0;
	if (by_channel && vtac_elements(t) == groups) {
		from[0] = groups;
		from[1] = 1;
	} else {
		bool fits = !by_channel && t->rank <= rank && vtac_elements(t) > 0;

		for (int k = 0; k < rank; k++)
			from[k] = fits && k >= rank - t->rank ? t->dims[k - rank + t->rank] : 1;
		for (int k = 0; k < rank; k++)
			fits = fits && (from[k] == 1 || from[k] == dims[k]);
		if (!fits)
			return vtac_fail(g, node, "Its input %.120s has %lld values for %lld.",
					 t->name, (long long)vtac_elements(t), (long long)values);
	}
	if (!t->data || t->dtype != VTAC_F32)
		return vtac_fail(g, node, "Its input %.120s has %lld values for %lld, and is no "
				 "constant.", t->name, (long long)vtac_elements(t),
				 (long long)values);
	t = spread(g, t, rank, from, dims);
	return t ? vtac_node_set_in(g, node, i, t) : -1;
}

int shape_norm(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	const int64_t *dims;	/* that scale and bias have */
	int64_t channels[2];
	int axis, rank = 2;

	if (node->attr.norm.by_channel) {
		if (x->rank < 2 || node->attr.norm.groups < 0)
			return vtac_fail(g, node, "Its input has %d dimensions.", x->rank);
		if (!node->attr.norm.groups)
			node->attr.norm.groups = x->dims[1];
		channels[0] = node->attr.norm.groups;
		if (!channels[0] || x->dims[1] % channels[0])
			return vtac_fail(g, node, "Its %lld channels are no %lld groups.",
					 (long long)x->dims[1], (long long)channels[0]);
		channels[1] = x->dims[1] / channels[0];
		dims = channels;
	} else {
		if (shape_axis(g, node, node->attr.norm.axis, x->rank, &axis))
			return -1;
		node->attr.norm.axis = axis;
		dims = x->dims + axis;
		rank = node->attr.norm.across ? 1 : x->rank - axis;
	}
	for (unsigned int i = 1; i < 3; i++)
		if (spread_norm(g, node, i, rank, dims))
			return -1;
	return shape_out(g, node, x->rank, x->dims);
}

/* ---- recurrent layers ---- */

/* Is input @i left out, or of this rank with these two or three dimensions? */
static bool has_dims(const struct vtac_node *node, unsigned int i, int rank, int64_t a, int64_t b,
		     int64_t c)
{
	const struct vtac_tensor *t = i < node->n_in ? node->in[i] : NULL;

	return !t || (t->rank == rank && t->dims[0] == a && t->dims[1] == b &&
		      (rank == 2 || t->dims[2] == c));
}

/* The lengths of an image's sequence must be all steps. */
static int drop_lengths(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *t = node->n_in > 7 ? node->in[7] : NULL;

	for (int64_t i = 0; t && i < vtac_elements(t); i++)
		if (!t->data || t->dtype != VTAC_I32 ||
		    ((const int32_t *)t->data)[i] != node->in[0]->dims[0])
			return vtac_fail(g, node,
					 "Sequences of different lengths are not supported.");
	return node->n_in > 7 ? vtac_node_resize_in(g, node, 7) : 0;
}

int shape_recurrent(struct vtac_graph *g, struct vtac_node *node)
{
	static const int64_t gates[] = {
		[VTACPU_RNN] = 1, [VTACPU_GRU] = 3, [VTACPU_LSTM] = 4,
	};
	const struct vtac_tensor *x = node->in[0], *r = node->in[2];
	int64_t rows, d, n;

	if (x->rank != 3 || r->rank != 3 || r->dims[0] > 2)
		return vtac_fail(g, node, "Its input or weights have not three dimensions.");
	d = r->dims[0];
	n = r->dims[2];
	rows = gates[node->attr.recurrent.kind] * n;
	if (r->dims[1] != rows || !has_dims(node, 1, 3, d, rows, x->dims[2]) ||
	    (node->attr.recurrent.summed && x->dims[2] != d * rows) ||
	    !has_dims(node, 3, 2, d, 2 * rows, 0) || !has_dims(node, 4, 3, d, x->dims[1], n) ||
	    !has_dims(node, 5, 3, d, x->dims[1], n) || !has_dims(node, 6, 2, d, 3 * n, 0))
		return vtac_fail(g, node, "Its inputs' shapes do not fit each other.");
	if (drop_lengths(g, node))
		return -1;
	return shape_out(g, node, 4, (int64_t[]){ x->dims[0], d, x->dims[1], n });
}

/* ---- others ---- */

static double number_of(const struct vtac_tensor *t)
{
	return t->dtype == VTAC_F32 ? (double)*(const float *)t->data :
	       t->dtype == VTAC_I32 ? (double)*(const int32_t *)t->data :
	       (double)*(const int64_t *)t->data;
}

static bool is_number(const struct vtac_tensor *t)
{
	return t->data && vtac_elements(t) == 1 &&
	       (t->dtype == VTAC_F32 || t->dtype == VTAC_I32 || t->dtype == VTAC_I64);
}

int shape_one_hot(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *at = node->in[0];
	int64_t dims[VTAC_RANK_MAX];
	int axis = node->attr.one_hot.axis;
	double depth;

	if (node->n_in < 3)
		return 0;	/* done before */
	depth = is_number(node->in[1]) ? number_of(node->in[1]) : 0;
	if (!(depth >= 1 && depth <= INT32_MAX))
		return vtac_fail(g, node, "Its depth is not one constant from 1 on.");
	if (vtac_elements(node->in[2]) != 2 || at->rank == VTAC_RANK_MAX ||
	    (at->dtype != VTAC_I32 && at->dtype != VTAC_I64))
		return vtac_fail(g, node, "Its values are not two, or it has too many dimensions.");
	if (shape_axis(g, node, axis, at->rank + 1, &axis))
		return -1;
	for (int i = 0; i <= at->rank; i++)
		dims[i] = i == axis ? (int64_t)depth : at->dims[i < axis ? i : i - 1];
	node->attr.one_hot.axis = axis;
	node->attr.one_hot.depth = (int64_t)depth;
	if (vtac_node_set_in(g, node, 1, node->in[2]) || vtac_node_resize_in(g, node, 2))
		return -1;
	node->out[0]->dtype = node->in[1]->dtype;
	return vtac_set_shape(g, node, node->out[0], at->rank + 1, dims);
}

int shape_reverse_sequence(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *n = node->in[1];

	if (x->rank < 2 || n->rank != 1 || n->dims[0] != x->dims[1 - node->attr.reverse.time] ||
	    (n->dtype != VTAC_I32 && n->dtype != VTAC_I64))
		return vtac_fail(g, node, "Its lengths are not one for each sequence.");
	return shape_out(g, node, x->rank, x->dims);
}

int shape_det(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
		return vtac_fail(g, node, "Its input is not square matrices.");
	return shape_out(g, node, x->rank - 2, x->dims);
}

int shape_eye(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (x->rank != 2)
		return vtac_fail(g, node, "Its input has %d dimensions.", x->rank);
	node->out[0]->dtype = node->attr.eye.given ? node->attr.eye.to : x->dtype;
	return vtac_set_shape(g, node, node->out[0], 2, x->dims);
}

int shape_mel_weights(struct vtac_graph *g, struct vtac_node *node)
{
	double v[5];

	for (unsigned int i = 0; i < 5; i++) {
		if (!is_number(node->in[i]))
			return vtac_fail(g, node, "Its input %.120s is not one constant number.",
					 node->in[i]->name);
		v[i] = number_of(node->in[i]);
	}
	if (!(v[0] >= 1 && v[0] <= 65536 && v[1] >= 2 && v[1] <= 1e6 && v[2] > 0))
		return vtac_fail(g, node, "Its sizes are out of range.");
	for (unsigned int i = 0; i < 5; i++)
		node->attr.mel[i] = v[i];
	node->out[0]->dtype = VTAC_F32;
	return vtac_set_shape(g, node, node->out[0], 2,
			      (const int64_t[]){ (int64_t)v[1] / 2 + 1, (int64_t)v[0] });
}

int shape_tile(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t dims[VTAC_RANK_MAX];
	const struct vtac_tensor *x = node->in[0];

	if (node->n_in < 2)
		return 0;	/* done before */
	if (shape_ints(g, node, 1, dims, VTAC_RANK_MAX) != x->rank)
		return vtac_fail(g, node, "Its repeats are not one constant for each dimension.");
	for (int i = 0; i < x->rank; i++) {
		if (dims[i] < 0 || dims[i] > INT32_MAX)
			return vtac_fail(g, node, "It repeats %lld times.", (long long)dims[i]);
		dims[i] *= x->dims[i];
	}
	if (vtac_node_resize_in(g, node, 1))
		return -1;
	return shape_out(g, node, x->rank, dims);
}

int shape_range(struct vtac_graph *g, struct vtac_node *node)
{
	double v[3], n;

	for (unsigned int i = 0; i < 3; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (!is_number(t) || t->dtype != node->in[0]->dtype)
			return vtac_fail(g, node, "Its input %.120s is not one constant number.",
					 t->name);
		v[i] = number_of(t);
	}
	n = v[2] != 0 ? ceil((v[1] - v[0]) / v[2]) : -1;
	if (!(n <= 1e9) || v[2] == 0)
		return vtac_fail(g, node, "Its limit is out of reach.");
	node->out[0]->dtype = node->in[0]->dtype;
	return vtac_set_shape(g, node, node->out[0], 1,
			      (const int64_t[]){ n > 0 ? (int64_t)n : 0 });
}

/* Becomes a choice between x and 0 by a constant mask. */
int shape_trilu(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x = node->in[0], *mask, *zero;
	int64_t k = 0, rows, cols;
	uint64_t none = 0;
	uint8_t *values;

	if (x->rank < 2 || shape_ints(g, node, 1, &k, 1) == -2)
		return vtac_fail(g, node, "Its input is no matrix, or its diagonal not constant.");
	rows = x->dims[x->rank - 2];
	cols = x->dims[x->rank - 1];
	values = vtac_alloc(g, (uint64_t)rows * (uint64_t)cols, 1);
	mask = values ? vtac_tensor_const(g, "mask", VTAC_BOOL, 2, x->dims + x->rank - 2, values,
					  false) : NULL;
	zero = mask ? vtac_tensor_const(g, "zero", x->dtype, 0, NULL, &none, true) : NULL;
	if (!zero)
		return -1;
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			values[i * cols + j] = node->attr.trilu.upper ? j - i >= k : j - i <= k;
	node->op = VTAC_WHERE;
	if (vtac_node_resize_in(g, node, 3) || vtac_node_set_in(g, node, 0, mask) ||
	    vtac_node_set_in(g, node, 1, x) || vtac_node_set_in(g, node, 2, zero))
		return -1;
	node->out[0]->dtype = x->dtype;
	return vtac_set_shape(g, node, node->out[0], x->rank, x->dims);
}
