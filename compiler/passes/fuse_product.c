// SPDX-License-Identifier: Apache-2.0
/*
 * Fusion: products of two computed tensors are products of the parts of two matrices, one for each
 * head of each image. Reshape, Transpose and Split before them are strides, where the operand is
 * then all of a matrix that is computed anyhow; a matrix product with constant weights whose
 * columns several operands share is divided among them.
 */
#include <string.h>

#include "fuse_impl.h"
#include "views.h"

/* An operand: rows and columns of a head, and where they are. */
struct operand {
	struct vtac_tensor *from;	/* of the file */
	struct view view;		/* where it is found, joined */
	int64_t rows, cols;
	int row_dim, col_dim;		/* of @from; swapped if it is turned */
	bool turned;
	/* By place_heads(): */
	bool columns;
	int64_t head;			/* distance of two heads' columns, by columns */
};

/* The atoms of the dimensions before the last two are @heads of one stride in each of images. */
static bool find_batch(const struct operand *o, int64_t images, int64_t heads, int64_t *image,
		       int64_t *head)
{
	struct view_atom a[VIEW_ATOMS_MAX];
	int n = 0;

	for (int i = 0; i < o->view.n; i++) {
		struct view_atom next = o->view.atoms[i];

		if (next.dim >= o->from->rank - 2)
			continue;
		if (n && a[n - 1].stride == next.size * next.stride) {
			next.size *= a[n - 1].size;
			n--;
		}
		a[n++] = next;
	}
	*image = 0;
	*head = 0;
	if (n == 0)
		return images * heads == 1;
	if (n == 1 && a[0].size == images * heads) {
		*head = heads > 1 ? a[0].stride : 0;
		*image = images > 1 ? a[0].stride * heads : 0;
		return true;
	}
	if (n != 2 || a[0].size != images || a[1].size != heads)
		return false;
	*image = a[0].stride;
	*head = a[1].stride;
	return true;
}

/* The stride of dimension @dim; false if it is none. */
static bool stride_of(const struct view *v, int dim, int64_t *stride)
{
	bool found = false;

	*stride = 0;
	for (int i = 0; i < v->n; i++) {
		if (v->atoms[i].dim != dim)
			continue;
		if (found)
			return false;
		found = true;
		*stride = v->atoms[i].stride;
	}
	return true;
}

static int64_t row_length(const struct vtac_tensor *t)
{
	return t->rank ? t->dims[t->rank - 1] : 1;
}

/* A matrix product with constant weights, of whose columns some can be computed alone. */
static bool is_divisible(const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;

	return t->rank == 2 && node && node->op == VTAC_GEMM && node->in[1]->data &&
	       node->attr.gemm.trans_w && !node->attr.gemm.trans_x && node->attr.gemm.alpha == 1 &&
	       node->attr.gemm.beta == 1 && node->in[1]->quant.n <= 1 &&
	       (node->n_in < 3 || !node->in[2] ||
		(node->in[2]->data && node->in[2]->rank == 1)) &&
	       (node->n_in < 4 || !node->in[3]);
}

/* Is @o's view whole rows of heads, by rows or by columns? */
static bool place_heads(struct operand *o, int64_t images, int64_t heads)
{
	const struct vtac_tensor *t = o->view.t;
	int64_t length = row_length(t), all = vtac_elements(t), image, head, row, col;

	if (t->dtype != VTAC_F32 || t->data || t->size || !length ||
	    !find_batch(o, images, heads, &image, &head) ||
	    !stride_of(&o->view, o->row_dim, &row) || !stride_of(&o->view, o->col_dim, &col))
		return false;
	if ((o->cols > 1 && col != 1) || (o->rows > 1 && row != length))
		return false;
	o->head = 0;
	o->columns = false;
	/* By rows: all of the tensor. */
	if (!o->view.offset && o->cols == length && all == images * heads * o->rows * o->cols &&
	    (heads < 2 || head == o->rows * length) &&
	    (images < 2 || image == heads * o->rows * length))
		return true;
	o->columns = true;
	o->head = heads > 1 ? head : o->cols;
	if (all != images * o->rows * length || (images > 1 && image != o->rows * length) ||
	    o->head < o->cols || o->view.offset + (heads - 1) * o->head + o->cols > length)
		return false;
	return is_divisible(t) ||
	       (!o->view.offset && o->head == o->cols && heads * o->cols == length);
}

static bool find_place(struct operand *o, const struct view *v, int64_t images, int64_t heads)
{
	int last = o->from->rank - 1;

	o->view = *v;
	view_join(&o->view);
	o->turned = false;
	o->row_dim = last - 1;
	o->col_dim = last;
	return place_heads(o, images, heads);
}

static bool find_turned(struct operand *o, const struct view *v, int64_t images, int64_t heads)
{
	int64_t rows = o->rows;

	find_place(o, v, images, heads);
	o->turned = true;
	o->row_dim = o->from->rank - 1;
	o->col_dim = o->from->rank - 2;
	o->rows = o->cols;
	o->cols = rows;
	if (place_heads(o, images, heads))
		return true;
	o->cols = o->rows;
	o->rows = rows;
	return false;
}

/* The first tensor of those that @o's values come from, and where. */
static bool trace(struct operand *o, struct vtac_tensor *t, int64_t images, int64_t heads,
		  bool may_turn)
{
	struct operand best = { 0 };
	bool found = false;
	struct view v;

	*o = (struct operand) { .from = t, .rows = t->dims[t->rank - 2],
				.cols = t->dims[t->rank - 1] };
	if (!view_init(&v, t))
		return false;
	do {
		struct operand now = *o;

		if (find_place(&now, &v, images, heads) ||
		    (may_turn && find_turned(&now, &v, images, heads))) {
			best = now;
			found = true;
		}
	} while (view_step(&v));
	if (found)
		*o = best;
	return found;
}

/* ---- making it ---- */

static struct vtac_tensor *flat(struct vtac_graph *g, const char *name, int64_t rows, int64_t cols)
{
	return vtac_tensor_shaped(g, name, VTAC_F32, 2, (const int64_t[]){ rows, cols });
}

static int64_t column_of(const struct operand *o, int64_t i)
{
	return o->view.offset + i / o->cols * o->head + i % o->cols;
}

/* @count of the values of constant @t, each of @each, as the operand's columns are in order. */
static struct vtac_tensor *take_columns(struct vtac_graph *g, const struct vtac_tensor *t,
					const struct operand *o, int64_t count, int64_t each)
{
	float *v = vtac_alloc(g, (uint64_t)(count * each), sizeof(*v));
	int64_t dims[2] = { count, each };
	struct vtac_tensor *to;

	if (!v)
		return NULL;
	for (int64_t i = 0; i < count; i++)
		memcpy(v + i * each, (const float *)t->data + column_of(o, i) * each,
		       (size_t)each * sizeof(*v));
	to = vtac_tensor_const(g, t->name, VTAC_F32, t->rank, dims, v, false);
	if (to)
		to->quant = t->quant;
	return to;
}

/* The operand's columns alone, by a matrix product of its own. */
static struct vtac_tensor *divide(struct vtac_graph *g, const struct operand *o, int64_t count)
{
	const struct vtac_node *from = o->view.t->producer;
	struct vtac_tensor *x = from->in[0], *y = flat(g, o->from->name, o->view.t->dims[0], count);
	struct vtac_tensor *w = take_columns(g, from->in[1], o, count, from->in[1]->dims[1]), *c;
	struct vtac_node *node = vtac_node_new(g, VTAC_GEMM, from->name, 3, 1);

	if (!y || !w || !node || vtac_node_set_in(g, node, 0, x) || vtac_node_set_in(g, node, 1, w))
		return NULL;
	if (from->n_in > 2 && from->in[2]) {
		c = take_columns(g, from->in[2], o, count, 1);
		if (!c || vtac_node_set_in(g, node, 2, c))
			return NULL;
	}
	node->attr = from->attr;
	node->act = from->act;
	node->file_op = from->file_op;
	y->quant = o->view.t->quant;
	if (!vtac_is_given(y) && o->view.quant)
		y->quant = *o->view.quant;
	vtac_node_set_out(node, 0, y);
	return y;
}

/* The matrix of an operand. */
static struct vtac_tensor *matrix_of(struct vtac_graph *g, const struct operand *o, int64_t heads)
{
	struct vtac_tensor *t = o->view.t, *y;
	int64_t count = heads * o->cols;
	struct vtac_node *node;

	if (o->columns && (o->view.offset || o->head != o->cols || count != row_length(t)))
		return divide(g, o, count);
	if (t->rank == 2) {
		if (!vtac_is_given(t) && o->view.quant && !vtac_is_output(g, t))
			t->quant = *o->view.quant;
		return t;
	}
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->op == VTAC_RESHAPE && t->users[i]->out[0]->rank == 2 &&
		    t->users[i]->out[0]->dims[1] == row_length(t))
			return t->users[i]->out[0];
	y = flat(g, t->name, vtac_elements(t) / row_length(t), row_length(t));
	node = y ? vtac_node_new(g, VTAC_RESHAPE, t->name, 1, 1) : NULL;
	if (!node || vtac_node_set_in(g, node, 0, t))
		return NULL;
	if (t->quant.n == 1)
		y->quant = t->quant;
	vtac_node_set_out(node, 0, y);
	return y;
}

struct product {
	struct operand a, b;
	int64_t images, heads;
};

static bool find_operands(struct product *p, const struct vtac_node *node, int64_t images,
			  int64_t heads)
{
	p->images = images;
	p->heads = heads;
	return images > 0 && heads > 0 && trace(&p->a, node->in[0], images, heads, false) &&
	       trace(&p->b, node->in[1], images, heads, true);
}

static bool same_batch(const struct vtac_node *node)
{
	const struct vtac_tensor *a = node->in[0], *b = node->in[1];

	if (a->rank != b->rank || a->rank < 2 || node->out[0]->rank != a->rank)
		return false;
	for (int i = 0; i < a->rank - 2; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

/* Heads are the last dimension of the batch, all of it, or the inner part of one. */
static bool find_heads(struct product *p, const struct vtac_node *node)
{
	const struct vtac_tensor *y = node->out[0];
	int64_t all = 1;

	for (int i = 0; i < y->rank - 2; i++)
		all *= y->dims[i];
	if (find_operands(p, node, 1, all))
		return true;
	for (int64_t heads = 1, i = y->rank - 2; i-- > 0; ) {
		heads *= y->dims[i];
		if (find_operands(p, node, all / heads, heads))
			return true;
	}
	return all > 1 && find_operands(p, node, all, 1);
}

int fuse_product(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *y = node->out[0], *a, *b, *to;
	struct product p = { .images = 0 };	/* its factor is positive, as multipliers are */
	struct vtac_node *shape;
	int64_t m, n;

	if (node->op != VTAC_MATMUL || node->in[0]->data || node->in[1]->data ||
	    node->in[0]->dtype != VTAC_F32 || y->size || vtac_elements(y) < 1 ||
	    !same_batch(node) || !find_heads(&p, node) ||
	    !(p.a.view.alpha * p.b.view.alpha > 0))
		return 0;
	m = y->dims[y->rank - 2];
	n = y->dims[y->rank - 1];
	a = matrix_of(g, &p.a, p.heads);
	b = a ? matrix_of(g, &p.b, p.heads) : NULL;
	to = b ? flat(g, y->name, p.images * p.heads * m, n) : NULL;
	shape = to ? vtac_node_new(g, VTAC_RESHAPE, node->name, 1, 1) : NULL;
	if (!shape || vtac_node_set_in(g, node, 0, a) || vtac_node_set_in(g, node, 1, b) ||
	    vtac_node_set_in(g, shape, 0, to))
		return -1;
	node->op = VTAC_BATCH_GEMM;
	node->attr = (union vtac_attr){ .batch_gemm = {
		.images = p.images, .heads = p.heads, .a_columns = p.a.columns,
		.b_columns = p.b.columns, .b_turned = p.b.turned,
		.alpha = p.a.view.alpha * p.b.view.alpha } };
	if (y->quant.n == 1)
		to->quant = y->quant;
	shape->file_op = node->file_op;
	vtac_node_set_out(node, 0, to);
	vtac_node_set_out(shape, 0, y);
	return 1;
}

/* ---- heads that become columns ---- */

/* Are the values of @t those of @node's product, each image's heads side by side? */
static bool joins_heads(const struct vtac_node *node, struct vtac_tensor *t)
{
	const struct vtac_batch_gemm *p = &node->attr.batch_gemm;
	const struct vtac_tensor *y = node->out[0];
	int64_t m = y->dims[0] / p->images / p->heads, n = y->dims[1];
	/* Rows of images, and columns of heads */
	const struct view_atom want[] = {
		{ p->images, p->heads * m * n, 0 }, { m, n, 0 },
		{ p->heads, m * n, 1 }, { n, 1, 1 },
	};
	struct view v, all = { .n = 4 };

	if (t->rank != 2 || t->dims[0] != p->images * m || t->dims[1] != p->heads * n ||
	    !view_init(&v, t))
		return false;
	while (v.t != y && vtac_moves_values(v.t->producer ? v.t->producer->op : VTAC_CONV))
		if (!view_step(&v))
			return false;
	if (v.t != y || v.offset || v.alpha != 1)
		return false;
	memcpy(all.atoms, want, sizeof(want));
	view_join(&all);
	view_join(&v);
	if (v.n != all.n)
		return false;
	for (int i = 0; i < v.n; i++)
		if (v.atoms[i].size != all.atoms[i].size ||
		    v.atoms[i].stride != all.atoms[i].stride || v.atoms[i].dim != all.atoms[i].dim)
			return false;
	return true;
}

int vtac_join_heads(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *t = node->out[0];

	if (node->attr.batch_gemm.heads < 2 || node->attr.batch_gemm.out_columns)
		return 0;
	for (;;) {
		struct vtac_node *user = vtac_only_user(g, t);

		if (!user || !vtac_moves_values(user->op) || user->n_out != 1 || user->n_in != 1)
			return 0;
		t = user->out[0];
		if (joins_heads(node, t))
			break;
	}
	node->attr.batch_gemm.out_columns = true;
	if (!vtac_is_given(t) && node->out[0]->quant.n == 1)
		t->quant = node->out[0]->quant;
	vtac_node_remove(t->producer);
	vtac_node_set_out(node, 0, t);
	return 1;
}
