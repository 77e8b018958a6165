// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `fuse`: products of rows that are pixels, and become a picture again, are convolutions
 * of 1 x 1 on pictures. The Transpose behind the products moves before them, or meets the one that
 * made rows of a picture.
 */
#include <string.h>

#include "fuse_impl.h"
#include "views.h"

#define CHAIN_MAX	16

/* Products, and functions between them, from the last to the first: rows of pixels of @y. */
struct chain {
	struct vtac_tensor *y;			/* the picture */
	struct vtac_tensor *rows;		/* the last rows */
	struct vtac_node *nodes[CHAIN_MAX];
	int n, products;
	struct vtac_tensor *first;		/* the rows that the first node reads */
};

/* Are the places of @v those of @atoms, without those of one place? */
static bool has_places(struct view v, const struct view_atom *atoms, int n)
{
	int at = 0;

	view_join(&v);
	if (v.offset || v.alpha != 1)
		return false;
	for (int i = 0; i < n; i++) {
		if (atoms[i].size == 1)
			continue;
		if (at >= v.n || v.atoms[at].size != atoms[i].size ||
		    v.atoms[at].stride != atoms[i].stride || v.atoms[at].dim != atoms[i].dim)
			return false;
		at++;
	}
	return at == v.n;
}

/* Is the picture @y the rows of @v, pixel by pixel? */
static bool is_turned(const struct view *v, const struct vtac_tensor *y)
{
	int64_t c = y->dims[1], w = y->dims[3], plane = y->dims[2] * w;
	const struct view_atom atoms[] = {
		{ y->dims[0], plane * c, 0 }, { c, 1, 1 }, { y->dims[2], w * c, 2 }, { w, c, 3 },
	};

	return v->t->rank == 2 && v->t->dims[1] == c && v->t->dims[0] == y->dims[0] * plane &&
	       has_places(*v, atoms, 4);
}

/* The picture like @y whose pixels are the rows @t, or NULL. */
static struct vtac_tensor *picture_of(struct vtac_tensor *t, const struct vtac_tensor *y)
{
	int64_t plane = y->dims[2] * y->dims[3], c = t->dims[1];
	bool one = y->dims[0] == 1;
	const struct view_atom atoms[] = {
		{ one ? plane : y->dims[0], one ? 1 : plane * c, 0 }, { one ? 1 : plane, 1, 0 },
		{ c, plane, 1 },
	};
	struct view v;

	if (!view_init(&v, t))
		return NULL;
	while (v.t->producer && (v.t->producer->op == VTAC_RESHAPE ||
				 v.t->producer->op == VTAC_TRANSPOSE) &&
	       !v.t->quant.given && view_step(&v))
		if (v.t->rank == 4 && v.t->dims[0] == y->dims[0] && v.t->dims[1] == c &&
		    v.t->dims[2] == y->dims[2] && v.t->dims[3] == y->dims[3])
			return has_places(v, atoms, 3) ? v.t : NULL;
	return NULL;
}

static bool is_product(const struct vtac_node *node)
{
	const struct vtac_gemm *a = &node->attr.gemm;

	return node->op == VTAC_GEMM && fuse_is_const(node->in[1]) && !a->trans_x && a->trans_w &&
	       a->alpha == 1 && a->beta == 1 && (node->n_in < 4 || !node->in[3]) &&
	       (node->n_in < 3 || !node->in[2] ||
		(fuse_is_const(node->in[2]) && node->in[2]->rank == 1));
}

/* Finds the rows that @y, the output of @node, is made of. */
static bool find_rows(const struct vtac_graph *g, struct vtac_node *node, struct chain *c)
{
	struct view v;

	c->y = node->out[0];
	if ((node->op != VTAC_TRANSPOSE && node->op != VTAC_RESHAPE) || c->y->rank != 4 ||
	    c->y->dtype != VTAC_F32 || c->y->size || vtac_elements(c->y) < 1 ||
	    !view_init(&v, c->y))
		return false;
	while (view_step(&v)) {
		if (!vtac_only_user(g, v.t))
			return false;
		if (is_turned(&v, c->y) && v.t->producer && is_product(v.t->producer)) {
			c->rows = v.t;
			return !c->rows->quant.given || !c->y->quant.given ||
			       vtac_same_quant(&c->rows->quant, &c->y->quant);
		}
		if (!v.t->producer || (v.t->producer->op != VTAC_TRANSPOSE &&
				       v.t->producer->op != VTAC_RESHAPE))
			return false;
	}
	return false;
}

/* Products of computed matrices take their operands as rows. */
static bool is_of_product(const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;

	while (node && (node->op == VTAC_RESHAPE || node->op == VTAC_TRANSPOSE))
		node = node->in[0]->producer;
	return node && node->op == VTAC_MATMUL;
}

static void find_chain(const struct vtac_graph *g, struct chain *c)
{
	struct vtac_tensor *t = c->rows;

	while (c->n < CHAIN_MAX && t->producer && vtac_only_user(g, t)) {
		struct vtac_node *node = t->producer;
		bool product = is_product(node);

		if (!product && !vtac_is_function(node) && node->op != VTAC_CLIP)
			break;
		c->nodes[c->n++] = node;
		t = node->in[0];
		if (t->rank != 2 || !product)
			continue;
		c->first = t;
		c->products = c->n;
	}
	c->n = c->products;
}

/* The first rows as a picture: another name, or a Transpose. */
static struct vtac_tensor *first_picture(struct vtac_graph *g, const struct chain *c)
{
	const int64_t *dims = c->y->dims, channels = c->first->dims[1];
	const int64_t last[] = { dims[0], dims[2], dims[3], channels };
	struct vtac_tensor *t = picture_of(c->first, c->y), *p;
	struct vtac_node *shape, *turn;

	if (t)
		return t;
	shape = vtac_node_new(g, VTAC_RESHAPE, c->nodes[c->n - 1]->name, 1, 1);
	turn = vtac_node_new(g, VTAC_TRANSPOSE, c->nodes[c->n - 1]->name, 1, 1);
	t = vtac_tensor_shaped(g, c->first->name, VTAC_F32, 4, last);
	p = vtac_tensor_shaped(g, c->first->name, VTAC_F32, 4,
			       (const int64_t[]){ dims[0], channels, dims[2], dims[3] });
	if (!shape || !turn || !t || !p || vtac_node_set_in(g, shape, 0, c->first))
		return NULL;
	vtac_node_set_out(shape, 0, t);
	memcpy(turn->attr.transpose.perm, (const int[]){ 0, 3, 1, 2 }, 4 * sizeof(int));
	if (vtac_node_set_in(g, turn, 0, t))
		return NULL;
	vtac_node_set_out(turn, 0, p);
	shape->file_op = c->nodes[c->n - 1]->file_op;
	turn->file_op = shape->file_op;
	return p;
}

static int to_conv(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1];
	struct vtac_tensor *kernel = vtac_tensor_const(g, w->name, VTAC_F32, 4,
						       (const int64_t[]){ w->dims[0], w->dims[1],
									  1, 1 }, w->data, false);

	if (!kernel)
		return -1;
	kernel->quant = w->quant;
	node->op = VTAC_CONV;
	node->attr = (union vtac_attr){ .conv = {
		.window = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
		.groups = 1,
	} };
	return vtac_node_set_in(g, node, 1, kernel);
}

int fuse_columns(struct vtac_graph *g, struct vtac_node *node)
{
	struct chain c = { .n = 0 };
	struct vtac_tensor *x;

	if (!find_rows(g, node, &c))
		return 0;
	find_chain(g, &c);
	if (!c.products || is_of_product(c.first) ||
	    (!picture_of(c.first, c.y) && vtac_elements(c.first) > vtac_elements(c.y)))
		return 0;
	x = first_picture(g, &c);
	if (!x)
		return -1;
	for (int i = c.n; i-- > 0; ) {
		struct vtac_node *each = c.nodes[i];
		struct vtac_tensor *was = each->out[0], *y = c.y;

		if (i)
			y = vtac_tensor_shaped(g, was->name, VTAC_F32, 4,
					       (const int64_t[]){ c.y->dims[0], was->dims[1],
								  c.y->dims[2], c.y->dims[3] });
		if (!y || vtac_node_set_in(g, each, 0, x) ||
		    (each->op == VTAC_GEMM && to_conv(g, each)))
			return -1;
		if (!y->quant.given)
			y->quant = was->quant;
		if (!i)
			vtac_node_remove(node);
		vtac_node_set_out(each, 0, y);
		x = y;
	}
	return 1;
}
