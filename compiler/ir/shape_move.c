// SPDX-License-Identifier: Apache-2.0
/* Shapes of what moves values, and of arithmetic on shapes. */
#include <string.h>

#include "shape_impl.h"

int shape_concat(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *first = node->in[0];
	int64_t dims[VTAC_RANK_MAX];
	int axis;

	if (shape_axis(g, node, node->attr.axis.axis, first->rank, &axis))
		return -1;
	node->attr.axis.axis = axis;
	memcpy(dims, first->dims, sizeof(dims));
	for (unsigned int i = 1; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		for (int d = 0; d < first->rank; d++)
			if (t->rank != first->rank || t->dtype != first->dtype ||
			    (d != axis && t->dims[d] != first->dims[d]))
				return vtac_fail(g, node,
						 "Its input %.120s does not fit to its first.",
						 t->name);
		/* Each is below 2^40, and there are at most 2^16. */
		dims[axis] += t->dims[axis];
	}
	return shape_out(g, node, first->rank, dims);
}

/* Sizes of the parts: as given, or equal with the last the smaller. */
static int split_sizes(struct vtac_graph *g, struct vtac_node *node, int64_t whole,
		       int64_t *sizes)
{
	int n = (int)node->n_out;
	int64_t part = (whole + n - 1) / n;
	int given = shape_ints(g, node, 1, sizes, n);

	if (given == -2)
		return -1;
	if (given >= 0)
		return given == n ? 0 : vtac_fail(g, node, "It has %d sizes for %d outputs.",
						  given, n);
	for (int i = 0; i < n; i++) {
		sizes[i] = whole < part ? whole : part;
		whole -= sizes[i];
	}
	return 0;
}

int shape_split(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t *sizes = vtac_alloc(g, node->n_out, sizeof(*sizes));
	int64_t dims[VTAC_RANK_MAX], left;
	int axis;

	if (!sizes || shape_axis(g, node, node->attr.axis.axis, x->rank, &axis))
		return -1;
	if (node->n_in < 2)
		return 0;	/* done before */
	node->attr.axis.axis = axis;
	left = x->dims[axis];
	if (split_sizes(g, node, left, sizes))
		return -1;
	memcpy(dims, x->dims, sizeof(dims));
	for (unsigned int i = 0; i < node->n_out; i++) {
		if (sizes[i] < 0 || sizes[i] > left)
			return vtac_fail(g, node, "Its sizes are not those of its input.");
		left -= sizes[i];
		dims[axis] = sizes[i];
		node->out[i]->dtype = x->dtype;
		if (vtac_set_shape(g, node, node->out[i], x->rank, dims))
			return -1;
	}
	if (left)
		return vtac_fail(g, node, "Its sizes are not those of its input.");
	return vtac_node_resize_in(g, node, 1);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* As numpy: negative positions count from the end, those outside are moved inside. */
static int slice_axis(struct vtac_graph *g, struct vtac_node *node, int axis, int64_t start,
		      int64_t end, int64_t step, int64_t *size)
{
	int64_t dim = node->in[0]->dims[axis];

	if (!step || step > INT32_MAX || step < -INT32_MAX)
		return vtac_fail(g, node, "Its step is %lld.", (long long)step);
	if (start < 0)
		start = start < -dim ? -1 : start + dim;
	if (end < 0)
		end = end < -dim ? -1 : end + dim;
	start = clamp(start, 0, step > 0 ? dim : dim - 1);
	end = step > 0 ? clamp(end, 0, dim) : clamp(end, -1, dim - 1);
	*size = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
	if (*size < 0)
		*size = 0;
	node->attr.slice.start[axis] = start;
	node->attr.slice.step[axis] = step;
	return 0;
}

int shape_slice(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t v[4][VTAC_RANK_MAX], dims[VTAC_RANK_MAX];
	unsigned int sliced = 0;
	int n[4];

	if (node->n_in < 5)
		return 0;	/* done before */
	for (unsigned int i = 0; i < 4; i++) {
		n[i] = shape_ints(g, node, i + 1, v[i], VTAC_RANK_MAX);
		if (n[i] == -2)
			return -1;
	}
	if (n[0] < 0 || n[1] != n[0] || (n[2] >= 0 && n[2] != n[0]) ||
	    (n[3] >= 0 && n[3] != n[0]))
		return vtac_fail(g, node, "Its starts, ends, axes and steps are not equally many.");
	for (int i = 0; i < x->rank; i++) {
		node->attr.slice.start[i] = 0;
		node->attr.slice.step[i] = 1;
		dims[i] = x->dims[i];
	}
	for (int i = 0; i < n[0]; i++) {
		int axis;

		if (n[2] >= 0 && (v[2][i] < -VTAC_RANK_MAX || v[2][i] > VTAC_RANK_MAX))
			return vtac_fail(g, node, "Its axis is %lld.", (long long)v[2][i]);
		if (shape_axis(g, node, n[2] >= 0 ? (int)v[2][i] : i, x->rank, &axis))
			return -1;
		if (sliced >> axis & 1)
			return vtac_fail(g, node, "Its axis %d is given twice.", axis);
		sliced |= 1u << axis;
		if (slice_axis(g, node, axis, v[0][i], v[1][i], n[3] >= 0 ? v[3][i] : 1,
			       &dims[axis]))
			return -1;
	}
	return vtac_node_resize_in(g, node, 1) ? -1 : shape_out(g, node, x->rank, dims);
}

bool vtac_slice_is_whole(const struct vtac_node *node)
{
	for (int i = 0; i < node->in[0]->rank; i++)
		if (node->attr.slice.step[i] != 1 || node->attr.slice.start[i])
			return false;
	return vtac_same_shape(node->in[0], node->out[0]);
}

/* Axes as bits of a shape of @rank. */
static int axis_bits(struct vtac_graph *g, const struct vtac_node *node, int n, const int64_t *v,
		     int rank, unsigned int *bits)
{
	*bits = 0;
	for (int i = 0; i < n; i++) {
		int64_t axis = v[i] < 0 ? v[i] + rank : v[i];

		if (axis < 0 || axis >= rank || (*bits >> axis & 1))
			return vtac_fail(g, node, "Its axes are out of range or repeated.");
		*bits |= 1u << axis;
	}
	return 0;
}

static int pad_value(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *t = node->n_in > 2 ? node->in[2] : NULL;

	if (!t)
		return 0;
	if (!t->data || vtac_elements(t) != 1)
		return vtac_fail(g, node, "Its value is not one constant.");
	switch (t->dtype) {
	case VTAC_F32:
		node->attr.pad.value = *(const float *)t->data;
		return 0;
	case VTAC_I64:
		node->attr.pad.value = (float)*(const int64_t *)t->data;
		return 0;
	case VTAC_I32:
		node->attr.pad.value = (float)*(const int32_t *)t->data;
		return 0;
	case VTAC_I8:
		node->attr.pad.value = *(const int8_t *)t->data;
		return 0;
	default:
		node->attr.pad.value = *(const uint8_t *)t->data;
		return 0;
	}
}

/* @before and @after of each dimension: as listed, of those that the axes name, or of all. */
static int pad_sizes(struct vtac_graph *g, struct vtac_node *node, int64_t *before, int64_t *after)
{
	int64_t v[2 * VTAC_RANK_MAX], axes[VTAC_RANK_MAX];
	int rank = node->in[0]->rank, n = shape_ints(g, node, 3, axes, VTAC_RANK_MAX);
	unsigned int bits;

	if (n == -2)
		return -1;
	for (int i = 0; n == -1 && i < rank; i++)
		axes[i] = i;
	if (n == -1)
		n = rank;
	if (axis_bits(g, node, n, axes, rank, &bits))
		return -1;
	if (shape_ints(g, node, 1, v, 2 * VTAC_RANK_MAX) != 2 * n)
		return vtac_fail(g, node, "Its pads are not two for each of %d dimensions.", n);
	for (int i = 0; i < n; i++) {
		int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];

		before[axis] = v[i];
		after[axis] = v[n + i];
	}
	return 0;
}

int shape_pad(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t first[VTAC_RANK_MAX] = { 0 }, last[VTAC_RANK_MAX] = { 0 }, dims[VTAC_RANK_MAX];
	const struct vtac_tensor *x = node->in[0];
	struct vtac_pad *p = &node->attr.pad;

	if (node->n_in < 2)
		return 0;	/* done before */
	if (pad_sizes(g, node, first, last) || pad_value(g, node))
		return -1;
	for (int i = 0; i < x->rank; i++) {
		int64_t before = first[i], after = last[i];

		if (before > INT32_MAX || after > INT32_MAX || before < -INT32_MAX ||
		    after < -INT32_MAX || x->dims[i] + before + after < 0)
			return vtac_fail(g, node, "Its pads are out of range.");
		if (p->mode == VTAC_PAD_REFLECT && (before >= x->dims[i] || after >= x->dims[i]))
			return vtac_fail(g, node, "Its pads reflect more than its input has.");
		p->before[i] = before;
		p->after[i] = after;
		dims[i] = x->dims[i] + before + after;
	}
	return vtac_node_resize_in(g, node, 1) ? -1 : shape_out(g, node, x->rank, dims);
}

int shape_transpose(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int *perm = node->attr.transpose.perm;
	int64_t dims[VTAC_RANK_MAX];
	unsigned int seen = 0;

	if (perm[0] == VTAC_PERM_LAST_TWO && x->rank > 1) {
		for (int i = 0; i < x->rank - 2; i++)
			perm[i] = i;
		perm[x->rank - 2] = x->rank - 1;
		perm[x->rank - 1] = x->rank - 2;
	} else if (perm[0] < 0) {
		for (int i = 0; i < x->rank; i++)
			perm[i] = x->rank - 1 - i;
	}
	for (int i = 0; i < x->rank; i++) {
		if (perm[i] < 0 || perm[i] >= x->rank || (seen >> perm[i] & 1))
			return vtac_fail(g, node, "Its perm does not order its %d dimensions.",
					 x->rank);
		seen |= 1u << perm[i];
		dims[i] = x->dims[perm[i]];
	}
	return shape_out(g, node, x->rank, dims);
}

/* ---- the same values in another shape ---- */

static int to_shape(struct vtac_graph *g, struct vtac_node *node, int n, const int64_t *v,
		    int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t known = 1, all = vtac_elements(x);
	int open = -1;

	for (int i = 0; i < n; i++) {
		dims[i] = v[i] || node->attr.reshape.allow_zero ? v[i] :
			i < x->rank ? x->dims[i] : -2;
		if (dims[i] == -1 && open < 0)
			open = i;
		else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known))
			return vtac_fail(g, node, "Its shape is impossible.");
	}
	if (open >= 0) {
		if (!known || all % known)
			return vtac_fail(g, node, "Its shape does not hold %lld values.",
					 (long long)all);
		dims[open] = all / known;
		known = all;
	}
	return known == all ? n : vtac_fail(g, node, "Its shape does not hold %lld values.",
					    (long long)all);
}

static int flatten(struct vtac_graph *g, struct vtac_node *node, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	int axis = node->attr.reshape.axis;

	if (axis < 0)
		axis += x->rank;
	if (axis < 0 || axis > x->rank)
		return vtac_fail(g, node, "Its axis is %d.", node->attr.reshape.axis);
	dims[0] = 1;
	dims[1] = 1;
	for (int i = 0; i < x->rank; i++)
		dims[i >= axis] *= x->dims[i];
	return 2;
}

static int squeeze(struct vtac_graph *g, struct vtac_node *node, int n, const int64_t *v,
		   int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	unsigned int bits;
	int rank = 0;

	if (n >= 0 && axis_bits(g, node, n, v, x->rank, &bits))
		return -1;
	for (int i = 0; i < x->rank; i++) {
		if (n < 0 ? x->dims[i] != 1 : !(bits >> i & 1))
			dims[rank++] = x->dims[i];
		else if (x->dims[i] != 1)
			return vtac_fail(g, node, "Its dimension %d is not 1.", i);
	}
	return rank;
}

static int unsqueeze(struct vtac_graph *g, struct vtac_node *node, int n, const int64_t *v,
		     int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	int rank = x->rank + n, from = 0;
	unsigned int bits;

	if (n < 0 || rank > VTAC_RANK_MAX)
		return vtac_fail(g, node, "It makes %d dimensions.", rank);
	if (axis_bits(g, node, n, v, rank, &bits))
		return -1;
	for (int i = 0; i < rank; i++)
		dims[i] = bits >> i & 1 ? 1 : x->dims[from++];
	return rank;
}

/*
 * A list, of values for places along an axis of a tensor, gets the dimensions behind that axis;
 * other shapes stay. All must fit the tensor without making it larger.
 */
static int lay_along(struct vtac_graph *g, struct vtac_node *node, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0], *of = node->in[1];
	int rank = x->rank, axis;

	memcpy(dims, x->dims, sizeof(x->dims));
	if (vtac_elements(x) == 1)
		return rank <= of->rank ? rank : 0;
	if (rank == 1) {
		if (node->attr.reshape.axis == VTAC_RANK_MAX)
			return vtac_fail(g, node, "It has %lld scales or zero points of a tensor; "
					 "one is supported.", (long long)vtac_elements(x));
		if (shape_axis(g, node, node->attr.reshape.axis, of->rank, &axis))
			return -1;
		rank = of->rank - axis;
		for (int i = 1; i < rank; i++)
			dims[i] = 1;
	}
	for (int i = 1; i <= rank; i++) {
		int64_t have = dims[rank - i];

		if (i > of->rank || (have != 1 && have != of->dims[of->rank - i]))
			return vtac_fail(g, node,
					 "It has %lld scales or zero points along a dimension of "
					 "%lld values.", (long long)have,
					 i > of->rank ? 1LL : (long long)of->dims[of->rank - i]);
	}
	return rank;
}

int shape_reshape(struct vtac_graph *g, struct vtac_node *node)
{
	bool is_along = node->attr.reshape.kind == VTAC_ALONG;
	int64_t v[VTAC_RANK_MAX], dims[VTAC_RANK_MAX];
	int n, rank;

	if (node->n_in < 2)
		return vtac_elements(node->out[0]) == vtac_elements(node->in[0]) ? 0 :
			vtac_fail(g, node, "Its shape does not hold its input's values.");
	n = is_along ? 0 : shape_ints(g, node, 1, v, VTAC_RANK_MAX);
	if (n == -2)
		return -1;
	switch (node->attr.reshape.kind) {
	case VTAC_ALONG:
		rank = lay_along(g, node, dims);
		break;
	case VTAC_TO_SHAPE:
		rank = n < 0 ? vtac_fail(g, node,
					 "It has no shape.") : to_shape(g, node, n, v, dims);
		break;
	case VTAC_FLATTEN:
		rank = flatten(g, node, dims);
		break;
	case VTAC_SQUEEZE:
		rank = squeeze(g, node, n, v, dims);
		break;
	default:
		rank = unsqueeze(g, node, n, v, dims);
	}
	if (rank < 0 || vtac_node_resize_in(g, node, 1))
		return -1;
	return shape_out(g, node, rank, dims);
}

/* ---- arithmetic on shapes ---- */

int shape_expand(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtac_tensor want = { .name = "shape" };
	int64_t dims[VTAC_RANK_MAX];
	int rank = x->rank;

	if (node->n_in < 2)
		return 0;	/* done before */
	want.rank = shape_ints(g, node, 1, want.dims, VTAC_RANK_MAX);
	memcpy(dims, x->dims, sizeof(dims));
	if (want.rank < 0 || shape_broadcast(g, node, &rank, dims, &want) ||
	    vtac_node_resize_in(g, node, 1))
		return -1;
	return shape_out(g, node, rank, dims);
}

int shape_constant_of_shape(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t dims[VTAC_RANK_MAX];
	int rank = shape_ints(g, node, 0, dims, VTAC_RANK_MAX);

	if (rank < 0)
		return -1;
	node->out[0]->dtype = node->in[1]->dtype;
	return vtac_set_shape(g, node, node->out[0], rank, dims);
}

int shape_shape(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t rank = node->in[0]->rank, n;
	int64_t start = node->attr.shape.start, end = node->attr.shape.end;

	start = clamp(start < 0 && start >= -rank ? start + rank : start, 0, rank);
	end = clamp(end < 0 && end >= -rank ? end + rank : end, 0, rank);
	node->attr.shape.start = start;
	node->attr.shape.end = end;
	n = end > start ? end - start : 0;
	node->out[0]->dtype = VTAC_I64;
	return vtac_set_shape(g, node, node->out[0], 1, &n);
}
