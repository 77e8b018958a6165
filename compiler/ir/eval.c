// SPDX-License-Identifier: Apache-2.0
/*
 * Arithmetic on shapes and other integers, value by value: what a model computes of
 * constants, at compile time. Integers wrap; a division by zero gives zero.
 */
#include <math.h>
#include <string.h>

#include "kernel.h"

struct value {
	int64_t i;
	double f;
	bool is_float;
};

static struct value get_value(const void *data, enum vtac_dtype dtype, int64_t at)
{
	struct value v = { 0 };

	switch (dtype) {
	case VTAC_F32:
		v.f = (double)((const float *)data)[at];
		v.is_float = true;
		return v;
	case VTAC_I64:
		v.i = ((const int64_t *)data)[at];
		break;
	case VTAC_I32:
		v.i = ((const int32_t *)data)[at];
		break;
	case VTAC_I8:
		v.i = (int64_t)((const int8_t *)data)[at];
		break;
	default:
		v.i = ((const uint8_t *)data)[at];
	}
	v.f = (double)v.i;
	return v;
}

static int64_t to_integer(struct value v)
{
	if (!v.is_float)
		return v.i;
	return v.f >= -9.2e18 && v.f <= 9.2e18 ? (int64_t)v.f : 0;
}

static void put_value(void *data, enum vtac_dtype dtype, int64_t at, struct value v)
{
	int64_t i = to_integer(v);

	switch (dtype) {
	case VTAC_F32:
		((float *)data)[at] = (float)(v.is_float ? v.f : (double)v.i);
		return;
	case VTAC_I64:
		((int64_t *)data)[at] = i;
		return;
	case VTAC_I32:
		((int32_t *)data)[at] = (int32_t)i;
		return;
	case VTAC_BOOL:
		((uint8_t *)data)[at] = v.is_float ? v.f != 0 : i != 0;
		return;
	default:
		((uint8_t *)data)[at] = (uint8_t)i;
	}
}

/* Returns the place in @t of the value for place @at of @y, as numpy broadcasts. */
static int64_t source(const struct vtac_tensor *t, const struct vtac_tensor *y, int64_t at)
{
	int64_t stride = 1, from = 0;

	for (int d = y->rank - 1; d >= 0; d--) {
		int own = d - (y->rank - t->rank);
		int64_t i = at % y->dims[d];

		at /= y->dims[d];
		if (own < 0)
			continue;
		if (t->dims[own] != 1)
			from += i * stride;
		stride *= t->dims[own];
	}
	return from;
}

static struct value integer(uint64_t i)
{
	return (struct value){ .i = (int64_t)i, .f = (double)(int64_t)i };
}

static struct value binary(enum vtac_op op, struct value a, struct value b)
{
	uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;

	switch (op) {
	case VTAC_ADD:
		return integer(x + y);
	case VTAC_SUB:
		return integer(x - y);
	case VTAC_MUL:
		return integer(x * y);
	case VTAC_DIV:
		return b.i == 0 ? integer(0) : b.i == -1 ? integer(0 - x) :
			integer((uint64_t)(a.i / b.i));
	case VTAC_MAX:
		return a.i > b.i ? a : b;
	case VTAC_MIN:
		return a.i < b.i ? a : b;
	default:	/* EQUAL */
		return integer(a.is_float ? a.f == b.f : a.i == b.i);
	}
}

static void eval_binary(const struct vtac_node *node, const void *const *in, void *out)
{
	const struct vtac_tensor *a = node->in[0], *b = node->in[1], *y = node->out[0];

	for (int64_t i = 0; i < vtac_elements(y); i++)
		put_value(out, y->dtype, i,
			  binary(node->op, get_value(in[0], a->dtype, source(a, y, i)),
				 get_value(in[1], b->dtype, source(b, y, i))));
}

static void eval_where(const struct vtac_node *node, const void *const *in, void *out)
{
	const struct vtac_tensor *y = node->out[0];

	for (int64_t i = 0; i < vtac_elements(y); i++) {
		const uint8_t *yes = in[0];
		int from = yes[source(node->in[0], y, i)] ? 1 : 2;

		put_value(out, y->dtype, i,
			  get_value(in[from], y->dtype, source(node->in[from], y, i)));
	}
}

/* Casts, expansions and constants of a shape: each value from one. */
static void eval_copy(const struct vtac_node *node, const void *const *in, void *out)
{
	unsigned int from = node->op == VTAC_CONSTANT_OF_SHAPE;
	const struct vtac_tensor *x = node->in[from], *y = node->out[0];

	for (int64_t i = 0; i < vtac_elements(y); i++)
		put_value(out, y->dtype, i,
			  get_value(in[from], x->dtype, from ? 0 : source(x, y, i)));
}

static void eval_shape(const struct vtac_node *node, void *out)
{
	const struct vtac_tensor *x = node->in[0];

	for (int64_t i = node->attr.shape.start; i < node->attr.shape.end; i++)
		((int64_t *)out)[i - node->attr.shape.start] = x->dims[i];
}

static int eval_gather(struct vtac_graph *g, const struct vtac_node *node, const void *const *in,
		       void *out)
{
	const struct vtac_tensor *x = node->in[0], *at = node->in[1];
	size_t bytes = vtac_dtype_size(x->dtype);
	int64_t outer = 1, inner = 1, n = vtac_elements(at), dim = x->dims[node->attr.axis.axis];
	unsigned char *to = out;

	for (int i = 0; i < x->rank; i++) {
		if (i < node->attr.axis.axis)
			outer *= x->dims[i];
		else if (i > node->attr.axis.axis)
			inner *= x->dims[i];
	}
	bytes *= (size_t)inner;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t k = 0; k < n; k++, to += bytes) {
			int64_t i = get_value(in[1], at->dtype, k).i;

			if (i < -dim || i >= dim)
				return vtac_fail(g, node, "Its index %lld is out of range.",
						 (long long)i);
			i += i < 0 ? dim : 0;
			memcpy(to, (const char *)in[0] + (size_t)(o * dim + i) * bytes, bytes);
		}
	return 0;
}

static void eval_prod(const struct vtac_node *node, const void *const *in, void *out)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	uint64_t product = 1;
	double f = 1;

	for (int64_t i = 0; i < vtac_elements(x); i++) {
		struct value v = get_value(in[0], x->dtype, i);

		product *= (uint64_t)v.i;
		f *= v.f;
	}
	put_value(out, y->dtype, 0, x->dtype == VTAC_F32 ? (struct value){ 0, f, true } :
		  integer(product));
}

bool vtac_is_shape_op(enum vtac_op op)
{
	switch (op) {
	case VTAC_CAST:
	case VTAC_SHAPE:
	case VTAC_GATHER:
	case VTAC_CONSTANT_OF_SHAPE:
	case VTAC_EXPAND:
	case VTAC_REDUCE_PROD:
	case VTAC_EQUAL:
	case VTAC_WHERE:
		return true;
	default:
		return false;
	}
}

bool vtac_is_eval(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_ADD:
	case VTAC_SUB:
	case VTAC_MUL:
	case VTAC_DIV:
	case VTAC_MAX:
	case VTAC_MIN:
		return node->in[0]->dtype != VTAC_F32 && !vtac_is_int(node);
	default:
		return vtac_is_shape_op(node->op);
	}
}

int vtac_eval(struct vtac_graph *g, const struct vtac_node *node, const void *const *in, void *out)
{
	switch (node->op) {
	case VTAC_SHAPE:
		eval_shape(node, out);
		return 0;
	case VTAC_GATHER:
		return eval_gather(g, node, in, out);
	case VTAC_REDUCE_PROD:
		if (vtac_elements(node->out[0]) != 1)
			return vtac_fail(g, node, "Only a product of all values is supported.");
		eval_prod(node, in, out);
		return 0;
	case VTAC_WHERE:
		eval_where(node, in, out);
		return 0;
	case VTAC_CAST:
	case VTAC_EXPAND:
	case VTAC_CONSTANT_OF_SHAPE:
		eval_copy(node, in, out);
		return 0;
	default:
		eval_binary(node, in, out);
		return 0;
	}
}
