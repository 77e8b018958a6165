// SPDX-License-Identifier: Apache-2.0
/* Integers that a file computes of sizes: the most that each can be. */
#include <string.h>

#include "sizes.h"

bool bounds_known(const struct vtac_bound *b)
{
	return !b->size && !b->vague;
}

bool bounds_get(const struct vtac_tensor *t, struct vtac_bound bounds[BOUNDS_MAX])
{
	int64_t n = t ? vtac_elements(t) : 0;

	if (!t || n > BOUNDS_MAX || (t->dtype != VTAC_I64 && t->dtype != VTAC_I32) ||
	    (!t->data && !t->bounds))
		return false;
	for (int64_t i = 0; i < n; i++) {
		int64_t v = !t->data ? 0 : t->dtype == VTAC_I64 ? ((const int64_t *)t->data)[i] :
			((const int32_t *)t->data)[i];

		bounds[i] = t->data ? (struct vtac_bound){ .least = v, .most = v } : t->bounds[i];
	}
	return true;
}

struct vtac_tensor *bounds_size(struct sizes *s, struct vtac_tensor *t, int i,
				const struct vtac_bound *b)
{
	struct vtac_tensor *x = t;
	struct vtac_node *node;

	if (bounds_known(b))
		return sizes_integer(s, b->most);
	if (b->size)
		return b->size;
	if (t->rank) {
		node = sizes_node(s, VTAC_GATHER, (struct vtac_tensor *[]) {
				  t, sizes_integer(s, i) }, 2);
		x = sizes_finish(s, node);
	}
	if (x && x->dtype != VTAC_I64) {
		node = sizes_node(s, VTAC_CAST, &x, 1);
		if (!node)
			return NULL;
		node->attr.cast.to = VTAC_I64;
		x = sizes_finish(s, node);
	}
	return x;
}

/* The type of @t holds the value of @b whatever it is, and it may be a size. */
static bool is_bound(const struct vtac_tensor *t, const struct vtac_bound *b)
{
	return b->most >= 0 && (t->dtype == VTAC_I64 || (t->dtype == VTAC_I32 &&
	       b->least >= INT32_MIN && b->most <= INT32_MAX));
}

static int set_bounds(struct sizes *s, struct vtac_tensor *t, const struct vtac_bound *bounds)
{
	int64_t n = vtac_elements(t);
	struct vtac_bound *own;

	if (t->data || n > BOUNDS_MAX)
		return 0;
	for (int64_t i = 0; i < n; i++)
		if (!bounds_known(&bounds[i]) && !is_bound(t, &bounds[i]))
			return 0;
	own = vtac_alloc(s->g, (uint64_t)n + 1, sizeof(*own));
	if (!own)
		return -1;
	memcpy(own, bounds, (size_t)n * sizeof(*own));
	t->bounds = own;
	return 0;
}

static bool bound_product(const struct vtac_bound *a, const struct vtac_bound *b,
			  struct vtac_bound *y)
{
	const int64_t x[] = { a->least, a->most }, z[] = { b->least, b->most };

	y->least = INT64_MAX;
	y->most = INT64_MIN;
	for (int i = 0; i < 4; i++) {
		int64_t v;

		if (__builtin_mul_overflow(x[i / 2], z[i % 2], &v))
			return false;
		y->least = v < y->least ? v : y->least;
		y->most = v > y->most ? v : y->most;
	}
	return true;
}

/* Quotients are rounded towards 0, and by 0 they are 0. */
static bool bound_quotient(const struct vtac_bound *a, const struct vtac_bound *b,
			   struct vtac_bound *y)
{
	bool by_zero = b->least <= 0;
	int64_t least = by_zero ? 1 : b->least, most = b->most > 0 ? b->most : 1;

	y->least = a->least / (a->least < 0 ? least : most);
	y->most = a->most / (a->most < 0 ? most : least);
	if (by_zero) {
		y->least = y->least < 0 ? y->least : 0;
		y->most = y->most > 0 ? y->most : 0;
	}
	return b->least >= 0;
}

/* The least and the most that a op b can be; false if they are not known. */
static bool bound_of(const struct vtac_node *node, const struct vtac_bound *a,
		     const struct vtac_bound *b, struct vtac_bound *y)
{
	*y = (struct vtac_bound){ .vague = true };
	switch (node->op) {
	case VTAC_ADD:
		return !__builtin_add_overflow(a->least, b->least, &y->least) &&
		       !__builtin_add_overflow(a->most, b->most, &y->most);
	case VTAC_SUB:
		return !__builtin_sub_overflow(a->least, b->most, &y->least) &&
		       !__builtin_sub_overflow(a->most, b->least, &y->most);
	case VTAC_MUL:
		return bound_product(a, b, y);
	case VTAC_DIV:
		return bound_quotient(a, b, y);
	case VTAC_MIN:
		y->least = a->least < b->least ? a->least : b->least;
		y->most = a->most < b->most ? a->most : b->most;
		return true;
	case VTAC_MAX:
		y->least = a->least > b->least ? a->least : b->least;
		y->most = a->most > b->most ? a->most : b->most;
		return true;
	default:
		return false;
	}
}

int bounds_pair(struct sizes *s)
{
	struct vtac_bound a[BOUNDS_MAX], b[BOUNDS_MAX], y[BOUNDS_MAX];
	struct vtac_tensor *out = s->node->out[0];
	int64_t n = vtac_elements(out), na, nb;

	if (!bounds_get(s->in[0], a) || !bounds_get(s->in[1], b) || n > BOUNDS_MAX)
		return 0;
	na = vtac_elements(s->in[0]);
	nb = vtac_elements(s->in[1]);
	for (int64_t i = 0; i < n; i++)
		if ((na != n && na != 1) || (nb != n && nb != 1) ||
		    !bound_of(s->node, &a[na == n ? i : 0], &b[nb == n ? i : 0], &y[i]))
			return 0;
	if (n == 1 && out->dtype == VTAC_I64)
		y[0].size = out;
	return set_bounds(s, out, y);
}

int bounds_joined(struct sizes *s)
{
	struct vtac_bound y[BOUNDS_MAX], part[BOUNDS_MAX];
	int64_t n = 0;

	if (s->node->out[0]->rank != 1 || vtac_elements(s->node->out[0]) > BOUNDS_MAX)
		return 0;
	for (unsigned int i = 0; i < s->node->n_in; i++) {
		int64_t k = vtac_elements(s->node->in[i]);

		if (!bounds_get(s->node->in[i], part))
			return 0;
		memcpy(y + n, part, (size_t)k * sizeof(y[0]));
		n += k;
	}
	return set_bounds(s, s->node->out[0], y);
}

int bounds_chosen(struct sizes *s)
{
	struct vtac_bound x[BOUNDS_MAX], y[BOUNDS_MAX];
	const struct vtac_tensor *at = s->node->op == VTAC_GATHER ? s->in[1] : NULL;
	int64_t n = vtac_elements(s->node->out[0]), count = vtac_elements(s->in[0]);

	if (s->in[0]->rank > 1 || !bounds_get(s->in[0], x) || n > BOUNDS_MAX ||
	    (at && !at->data))
		return 0;
	for (int64_t i = 0; i < n; i++) {
		int64_t k = s->node->attr.slice.start[0] + i * s->node->attr.slice.step[0];

		if (at)
			k = at->dtype == VTAC_I64 ? ((const int64_t *)at->data)[i] :
				((const int32_t *)at->data)[i];
		k += k < 0 ? count : 0;
		y[i] = x[k];
	}
	return set_bounds(s, s->node->out[0], y);
}

/* The least, greatest, sum or product of a list. */
int bounds_reduced(struct sizes *s)
{
	static const enum vtac_op ops[] = {
		[VTACPU_REDUCE_MEAN] = VTAC_OPS, [VTACPU_REDUCE_SUM] = VTAC_ADD,
		[VTACPU_REDUCE_MAX] = VTAC_MAX, [VTACPU_REDUCE_MIN] = VTAC_MIN,
		[VTACPU_REDUCE_PROD] = VTAC_MUL, [VTACPU_REDUCE_L1] = VTAC_OPS,
		[VTACPU_REDUCE_SUM_SQUARE] = VTAC_OPS, [VTACPU_REDUCE_LOG_SUM_EXP] = VTAC_OPS,
	};
	struct vtac_node as = { .op = ops[s->node->attr.reduce.op] };
	struct vtac_tensor *out = s->node->out[0];
	struct vtac_bound x[BOUNDS_MAX], y;
	int64_t n = vtac_elements(s->in[0]);

	if (s->in[0]->rank != 1 || vtac_elements(out) != 1 || !n || !bounds_get(s->in[0], x))
		return 0;
	y = x[0];
	for (int64_t i = 1; i < n; i++) {
		const struct vtac_bound before = y;

		if (!bound_of(&as, &before, &x[i], &y))
			return 0;
	}
	y.vague = true;
	y.size = out->dtype == VTAC_I64 ? out : NULL;
	return set_bounds(s, out, &y);
}

int bounds_same(struct sizes *s)
{
	struct vtac_bound x[BOUNDS_MAX];

	return bounds_get(s->in[0], x) ? set_bounds(s, s->node->out[0], x) : 0;
}

/* One bound for each of @n values, or the same for all; false if there are others. */
static bool get_broadcast(const struct vtac_tensor *t, struct vtac_bound bounds[BOUNDS_MAX],
			  int64_t n)
{
	int64_t count = t ? vtac_elements(t) : 0;

	if (!bounds_get(t, bounds) || (count != n && count != 1))
		return false;
	for (int64_t i = count; i < n; i++)
		bounds[i] = bounds[0];
	return true;
}

/* Are the integers equal? 1, 0, or -1 if data decides. */
static int compare(const struct vtac_bound *a, const struct vtac_bound *b)
{
	if (bounds_known(a) && bounds_known(b))
		return a->most == b->most;
	return a->most < b->least || b->most < a->least ? 0 : -1;
}

/* PyTorch writes a shape that may have -1 as Where(Equal(shape, -1), 1, shape). */
int bounds_where(struct sizes *s)
{
	const struct vtac_node *equal = s->in[0]->producer;
	struct vtac_bound a[BOUNDS_MAX], b[BOUNDS_MAX], x[BOUNDS_MAX], y[BOUNDS_MAX];
	int64_t n = vtac_elements(s->node->out[0]);

	if (!equal || equal->op != VTAC_BINARY || equal->attr.binary.op != VTACPU_EQUAL ||
	    s->node->out[0]->rank > 1 || n > BOUNDS_MAX || !get_broadcast(equal->in[0], a, n) ||
	    !get_broadcast(equal->in[1], b, n) || !get_broadcast(s->in[1], x, n) ||
	    !get_broadcast(s->in[2], y, n))
		return 0;
	for (int64_t i = 0; i < n; i++) {
		int same = compare(&a[i], &b[i]);

		if (same < 0)
			return 0;
		y[i] = same ? x[i] : y[i];
	}
	return set_bounds(s, s->node->out[0], y);
}

int bounds_most(struct sizes *s, struct vtac_tensor *size, int64_t most)
{
	const struct vtac_bound bound = { .most = most, .size = size };

	return set_bounds(s, size, &bound);
}

int bounds_either(struct sizes *s, struct vtac_tensor *y, const struct vtac_tensor *a,
		  const struct vtac_tensor *b)
{
	struct vtac_bound of_a[BOUNDS_MAX] = {}, of_b[BOUNDS_MAX] = {};
	int64_t n = vtac_elements(y);

	if (!bounds_get(a, of_a) || !bounds_get(b, of_b) || vtac_elements(a) != n ||
	    vtac_elements(b) != n)
		return 0;
	for (int64_t i = 0; i < n; i++) {
		if (bounds_known(&of_a[i]) && bounds_known(&of_b[i]) &&
		    of_a[i].most == of_b[i].most)
			continue;
		if (of_a[i].least > of_b[i].least)
			of_a[i].least = of_b[i].least;
		if (of_a[i].most < of_b[i].most)
			of_a[i].most = of_b[i].most;
		of_a[i].vague = true;
		of_a[i].size = n == 1 && y->dtype == VTAC_I64 ? y : NULL;
	}
	return set_bounds(s, y, of_a);
}
