// SPDX-License-Identifier: Apache-2.0
/* Sizes that data decides through a Reshape: the same values in another shape. */
#include "sizes.h"

int64_t sizes_before(const struct vtac_tensor *t, int d)
{
	int64_t n = 1;

	for (int i = 0; i < d; i++)
		n *= t->dims[i];
	return n;
}

/* Products of products that are compared: a file may have long chains of them. */
#define DEPTH_MAX	4u

/* Are both the same number whatever the data? Only what is computed alike is known to be. */
static bool is_same(const struct vtac_tensor *a, const struct vtac_tensor *b, unsigned int depth)
{
	struct vtac_bound of_a[BOUNDS_MAX], of_b[BOUNDS_MAX];
	bool one = vtac_elements(a) == 1 && vtac_elements(b) == 1;
	const struct vtac_node *p, *q;

	if (a == b)
		return true;
	if (!one || !bounds_get(a, of_a) || !bounds_get(b, of_b))
		return false;
	if (bounds_known(of_a) && bounds_known(of_b))
		return of_a->most == of_b->most;
	if (!of_a->size || !of_b->size)
		return false;
	p = of_a->size->producer;
	q = of_b->size->producer;
	if (of_a->size == of_b->size || !p || !q || p->op != q->op)
		return of_a->size == of_b->size;
	return depth < DEPTH_MAX && (p->op == VTAC_MUL || p->op == VTAC_DIV) &&
	       is_same(p->in[0], q->in[0], depth + 1) && is_same(p->in[1], q->in[1], depth + 1);
}

/* Integer @i of the shape that a Reshape is given: is it copied from the input's open dimension? */
static bool is_copied(const struct sizes *s, int i, const struct vtac_bound *b)
{
	return i == s->in[0]->open && bounds_known(b) && !b->most &&
	       !s->node->attr.reshape.allow_zero;
}

/*
 * Does the shape that a Reshape is given leave no other size for dimension @d than @size? All
 * other dimensions are constants; or this one is @size itself, and one of the others, which follows
 * from it, is a constant thereby.
 */
static bool is_decided(const struct sizes *s, int d, const struct vtac_tensor *size)
{
	const struct vtac_tensor *shape = s->n_in > 1 ? s->in[1] : NULL;
	struct vtac_bound b[BOUNDS_MAX];
	unsigned int others = 0;

	if (s->node->attr.reshape.kind != VTAC_TO_SHAPE || !shape || !bounds_get(shape, b))
		return true;
	for (int i = 0; i < vtac_elements(shape); i++)
		others += i != d && (!bounds_known(&b[i]) || b[i].most == -1 ||
				     is_copied(s, i, &b[i]));
	return !others || (others == 1 && (is_copied(s, d, &b[d]) ||
					   (b[d].size && is_same(b[d].size, size, 0))));
}

/* The size of dimension @d if it holds what the input's dimension does, times or by a constant. */
static struct vtac_tensor *reshaped_size(struct sizes *s, int d)
{
	const struct vtac_tensor *x = s->in[0];
	int64_t n = x->dims[x->open], m = s->node->out[0]->dims[d];

	if (n == m)
		return x->size;
	return m % n ? sizes_two(s, VTAC_DIV, x->size, sizes_integer(s, n / m)) :
		       sizes_two(s, VTAC_MUL, x->size, sizes_integer(s, m / n));
}

/* The dimension is kept, or is the first of several that become one, or becomes several. */
int sizes_reshape(struct sizes *s)
{
	const struct vtac_tensor *x = s->in[0];
	struct vtac_tensor *y = s->node->out[0];
	int64_t before = sizes_before(x, x->open), n = x->dims[x->open];
	int found = -1;

	/* The second input of ALONG is open. */
	if (!x->size)
		return 0;
	/* A node that was shaped before has been checked, and has its second input no more. */
	if (s->node->attr.reshape.kind == VTAC_ALONG && s->n_in > 1 &&
	    (!s->in[1]->size || !is_same(x->size, s->in[1]->size, 0)))
		return vtac_fail(s->g, s->node, "It has as many scales or zero points as data "
				 "decides, for another number of values.");
	for (int d = 0; d < y->rank; d++) {
		int64_t m = y->dims[d];

		if (sizes_before(y, d) != before || (m != n && (m <= 1 || !n || (m % n && n % m))))
			continue;
		if (found < 0 || (m == n && y->dims[found] != n))
			found = d;
	}
	if (found >= 0) {
		struct vtac_tensor *size = reshaped_size(s, found);

		if (!size)
			return -1;
		if (is_decided(s, found, size))
			return sizes_set(s, y, found, size);
	}
	return vtac_fail(s->g, s->node, "Its shape mixes a dimension whose size data decides with "
			 "others.");
}
