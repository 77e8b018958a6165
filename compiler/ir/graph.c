// SPDX-License-Identifier: Apache-2.0
/* Graphs: making and changing them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define ELEMENTS_MAX	(INT64_C(1) << 40)

struct vtac_graph *vtac_graph_new(uint64_t limit)
{
	struct vtac_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->arena.limit = limit ? limit : VTAC_MEMORY_LIMIT;
	g->name = "";
	return g;
}

void vtac_graph_free(struct vtac_graph *g)
{
	if (!g)
		return;
	arena_free(&g->arena);
	free(g);
}

/* ---- tensors ---- */

struct vtac_tensor *vtac_tensor_new(struct vtac_graph *g, const char *name,
				    enum vtac_dtype dtype)
{
	struct vtac_tensor *t = vtac_alloc(g, 1, sizeof(*t));

	if (!t || array_grow(g, (void **)&g->tensors, g->n_tensors, &g->max_tensors,
			     sizeof(void *)))
		return NULL;
	t->name = names_add(g, NAME_TENSOR, name ? name : "tensor", t);
	if (!t->name)
		return NULL;
	t->id = g->next_id++;
	t->dtype = dtype;
	t->rank = -1;
	t->offset = -1;
	g->tensors[g->n_tensors++] = t;
	return t;
}

struct vtac_tensor *vtac_tensor_shaped(struct vtac_graph *g, const char *name,
				       enum vtac_dtype dtype, int rank, const int64_t *dims)
{
	struct vtac_tensor *t = vtac_tensor_new(g, name, dtype);

	if (!t || vtac_set_shape(g, NULL, t, rank, dims))
		return NULL;
	return t;
}

struct vtac_tensor *vtac_tensor_const(struct vtac_graph *g, const char *name,
				      enum vtac_dtype dtype, int rank, const int64_t *dims,
				      const void *data, bool copy)
{
	struct vtac_tensor *t = vtac_tensor_shaped(g, name, dtype, rank, dims);
	void *own;

	if (!t || !copy) {
		if (t)
			t->data = data;
		return t;
	}
	/* An empty constant has data too. */
	own = vtac_alloc(g, (uint64_t)vtac_bytes(t) + 1, 1);
	if (!own)
		return NULL;
	if (vtac_bytes(t))
		memcpy(own, data, (size_t)vtac_bytes(t));
	t->data = own;
	return t;
}

struct vtac_tensor *vtac_tensor_find(const struct vtac_graph *g, const char *name)
{
	return names_find(g, NAME_TENSOR, name);
}

int vtac_graph_input(struct vtac_graph *g, struct vtac_tensor *t)
{
	if (array_grow(g, (void **)&g->inputs, g->n_inputs, &g->max_inputs, sizeof(void *)))
		return -1;
	g->inputs[g->n_inputs++] = t;
	return 0;
}

int vtac_graph_output(struct vtac_graph *g, struct vtac_tensor *t)
{
	if (array_grow(g, (void **)&g->outputs, g->n_outputs, &g->max_outputs, sizeof(void *)) ||
	    array_grow(g, (void **)&g->output_names, g->n_outputs, &g->max_output_names,
		       sizeof(g->output_names[0])))
		return -1;
	g->output_names[g->n_outputs] = t->name;
	g->outputs[g->n_outputs++] = t;
	return 0;
}

static int user_add(struct vtac_graph *g, struct vtac_tensor *t, struct vtac_node *node)
{
	if (array_grow(g, (void **)&t->users, t->n_users, &t->max_users, sizeof(void *)))
		return -1;
	t->users[t->n_users++] = node;
	return 0;
}

static void user_drop(struct vtac_tensor *t, const struct vtac_node *node)
{
	unsigned int i = t->n_users;

	while (i && t->users[i - 1] != node)
		i--;
	if (!i)
		return;
	memmove(t->users + i - 1, t->users + i, (t->n_users - i) * sizeof(void *));
	t->n_users--;
}

int vtac_tensor_replace(struct vtac_graph *g, struct vtac_tensor *from, struct vtac_tensor *to)
{
	for (unsigned int i = 0; from != to && i < from->n_users; i++) {
		struct vtac_node *user = from->users[i];

		for (unsigned int k = 0; k < user->n_in; k++)
			if (user->in[k] == from) {
				user->in[k] = to;
				break;
			}
		if (user_add(g, to, user))
			return -1;
	}
	if (from != to)
		from->n_users = 0;
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (g->outputs[i] == from)
			g->outputs[i] = to;
	for (unsigned int i = 0; g->has_sizes && i < g->n_tensors; i++)
		if (g->tensors[i]->size == from)
			g->tensors[i]->size = to;
	return 0;
}

/* ---- nodes ---- */

struct vtac_node *vtac_node_new(struct vtac_graph *g, enum vtac_op op, const char *name,
				unsigned int n_in, unsigned int n_out)
{
	struct vtac_node *node = vtac_alloc(g, 1, sizeof(*node));

	if (g->n_nodes >= VTAC_NODES_MAX) {
		vtac_fail(g, NULL, "The model has more than %u nodes.", VTAC_NODES_MAX);
		return NULL;
	}
	if (!node || array_grow(g, (void **)&g->nodes, g->n_nodes, &g->max_nodes, sizeof(void *)))
		return NULL;
	node->in = vtac_alloc(g, n_in, sizeof(void *));
	node->out = vtac_alloc(g, n_out, sizeof(void *));
	node->name = names_add(g, NAME_NODE, name ? name : vtac_op_name(op), node);
	if (!node->in || !node->out || !node->name)
		return NULL;
	node->id = g->next_id++;
	node->op = op;
	node->n_in = n_in;
	node->n_out = n_out;
	node->region = -1;
	g->nodes[g->n_nodes++] = node;
	return node;
}

int vtac_node_set_in(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
		     struct vtac_tensor *t)
{
	if (t && user_add(g, t, node))
		return -1;
	if (node->in[i])
		user_drop(node->in[i], node);
	node->in[i] = t;
	return 0;
}

int vtac_node_set_floats(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
			 const float *values)
{
	const struct vtac_tensor *t = node->in[i];
	struct vtac_tensor *made = vtac_tensor_const(g, t->name, VTAC_F32, t->rank, t->dims, values,
						     false);

	return made ? vtac_node_set_in(g, node, i, made) : -1;
}

void vtac_node_set_out(struct vtac_node *node, unsigned int i, struct vtac_tensor *t)
{
	if (node->out[i])
		node->out[i]->producer = NULL;
	node->out[i] = t;
	if (t)
		t->producer = node;
}

int vtac_node_resize_in(struct vtac_graph *g, struct vtac_node *node, unsigned int n_in)
{
	struct vtac_tensor **in;

	for (unsigned int i = n_in; i < node->n_in; i++)
		if (node->in[i])
			user_drop(node->in[i], node);
	if (n_in > node->n_in) {
		in = vtac_alloc(g, n_in, sizeof(void *));
		if (!in)
			return -1;
		memcpy(in, node->in, node->n_in * sizeof(void *));
		node->in = in;
	}
	node->n_in = n_in;
	return 0;
}

void vtac_node_remove(struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++) {
		if (node->in[i])
			user_drop(node->in[i], node);
		node->in[i] = NULL;
	}
	for (unsigned int i = 0; i < node->n_out; i++)
		vtac_node_set_out(node, i, NULL);
	node->dead = true;
}

/* ---- questions ---- */

static const size_t dtype_sizes[VTAC_DTYPES] = { 4, 1, 1, 4, 8, 1 };
static const char *const dtype_names[VTAC_DTYPES] = { "f32", "i8", "u8", "i32", "i64", "bool" };

size_t vtac_dtype_size(enum vtac_dtype dtype)
{
	return dtype_sizes[dtype];
}

const char *vtac_dtype_name(enum vtac_dtype dtype)
{
	return dtype_names[dtype];
}

static const char *const op_names[VTAC_OPS] = {
	[VTAC_CONV] = "conv", [VTAC_CONV_TRANSPOSE] = "conv_transpose", [VTAC_GEMM] = "gemm",
	[VTAC_ADD] = "add", [VTAC_MUL] = "mul", [VTAC_SUB] = "sub", [VTAC_DIV] = "div",
	[VTAC_MAX] = "max", [VTAC_MIN] = "min",
	[VTAC_MAX_POOL] = "max_pool", [VTAC_AVG_POOL] = "avg_pool",
	[VTAC_CLIP] = "clip", [VTAC_LEAKY_RELU] = "leaky_relu",
	[VTAC_HARD_SIGMOID] = "hard_sigmoid", [VTAC_HARD_SWISH] = "hard_swish",
	[VTAC_UNARY] = "unary", [VTAC_BINARY] = "binary", [VTAC_MATMUL] = "matmul",
	[VTAC_BATCH_GEMM] = "batch_gemm", [VTAC_GEMM_ROUNDED] = "gemm_rounded",
	[VTAC_STEPS] = "steps", [VTAC_ROUND] = "round",
	[VTAC_BATCH_NORM] = "batch_norm", [VTAC_SOFTMAX] = "softmax",
	[VTAC_REDUCE] = "reduce", [VTAC_NORM] = "norm", [VTAC_ARG] = "arg", [VTAC_TOP] = "top",
	[VTAC_CUM_SUM] = "cum_sum", [VTAC_RECURRENT] = "recurrent", [VTAC_TILE] = "tile",
	[VTAC_GATHER_ELEMENTS] = "gather_elements", [VTAC_GATHER_ND] = "gather_nd",
	[VTAC_SCATTER_ELEMENTS] = "scatter_elements", [VTAC_SCATTER_ND] = "scatter_nd",
	[VTAC_RESIZE] = "resize",
	[VTAC_CONCAT] = "concat", [VTAC_SPLIT] = "split", [VTAC_SLICE] = "slice",
	[VTAC_PAD] = "pad", [VTAC_TRANSPOSE] = "transpose",
	[VTAC_DEPTH_TO_SPACE] = "depth_to_space", [VTAC_RESHAPE] = "reshape",
	[VTAC_IDENTITY] = "identity", [VTAC_QUANTIZE] = "quantize",
	[VTAC_DEQUANTIZE] = "dequantize", [VTAC_COPY] = "copy",
	[VTAC_CHANNELS] = "channels", [VTAC_CAST] = "cast",
	[VTAC_SHAPE] = "shape", [VTAC_GATHER] = "gather",
	[VTAC_CONSTANT_OF_SHAPE] = "constant_of_shape", [VTAC_EXPAND] = "expand",
	[VTAC_WHERE] = "where", [VTAC_RANGE] = "range", [VTAC_TRILU] = "trilu",
	[VTAC_LIMIT] = "limit",
	[VTAC_LRN] = "lrn",
	[VTAC_DET] = "det",
	[VTAC_ONE_HOT] = "one_hot",
	[VTAC_REVERSE_SEQUENCE] = "reverse_sequence",
	[VTAC_EYE] = "eye",
	[VTAC_MEL_WEIGHTS] = "mel_weights",
	[VTAC_NON_ZERO] = "non_zero",
	[VTAC_UNIQUE] = "unique",
	[VTAC_UNIQUE_INVERSE] = "unique_inverse",
	[VTAC_NMS] = "nms",
	[VTAC_COUNT] = "count",
	[VTAC_GRID_SAMPLE] = "grid_sample",
	[VTAC_ROI_ALIGN] = "roi_align",
	[VTAC_EINSUM] = "einsum",
	[VTAC_CONV_3D] = "conv_3d",
	[VTAC_POOL_3D] = "pool_3d",
	[VTAC_DFT] = "dft",
	[VTAC_IF] = "if", [VTAC_LOOP] = "loop", [VTAC_SCAN] = "scan",
};

const char *vtac_op_name(enum vtac_op op)
{
	return op_names[op];
}

bool vtac_same_size(const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	return a->size == b->size && (!a->size || a->open == b->open);
}

int64_t vtac_elements(const struct vtac_tensor *t)
{
	int64_t n = 1;

	if (t->rank < 0)
		return -1;
	for (int i = 0; i < t->rank; i++) {
		if (t->dims[i] < 0)
			return -1;
		n *= t->dims[i];
	}
	return n;
}

int64_t vtac_bytes(const struct vtac_tensor *t)
{
	int64_t n = vtac_elements(t);

	return n < 0 ? -1 : n * (int64_t)dtype_sizes[t->dtype];
}

int vtac_set_shape(struct vtac_graph *g, const struct vtac_node *node, struct vtac_tensor *t,
		   int rank, const int64_t *dims)
{
	int64_t n = 1;

	if (rank < 0 || rank > VTAC_RANK_MAX)
		return vtac_fail(g, node,
				 "Tensor %.120s has %d dimensions; at most %d are supported.",
				 t->name, rank, VTAC_RANK_MAX);
	for (int i = 0; i < rank; i++) {
		/* A dimension of 0 hides no other: the product of the rest is bounded too. */
		if (dims[i] < 0 || (dims[i] && n > ELEMENTS_MAX / dims[i]))
			return vtac_fail(g, node,
					 "Dimension %d of tensor %.120s is %lld: negative or too "
					 "large.",
					 i, t->name, (long long)dims[i]);
		n *= dims[i] ? dims[i] : 1;
	}
	t->rank = rank;
	for (int i = 0; i < rank; i++)
		t->dims[i] = dims[i];
	return 0;
}

bool vtac_same_shape(const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	return a->rank >= 0 && a->rank == b->rank &&
	       !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0]));
}

bool vtac_is_output(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (g->outputs[i] == t)
			return true;
	return false;
}

struct vtac_node *vtac_only_user(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	return t->n_users == 1 && !vtac_is_output(g, t) ? t->users[0] : NULL;
}

struct vtac_product vtac_product_of(const struct vtac_node *node)
{
	const struct vtac_batch_gemm *p = &node->attr.batch_gemm;
	const struct vtac_tensor *a = node->in[0], *y = node->out[0];

	return (struct vtac_product) {
		.m = y->dims[0] / p->images / (p->out_columns ? 1 : p->heads),
		.n = y->dims[1] / (p->out_columns ? p->heads : 1),
		.k = a->dims[1] / (p->a_columns ? p->heads : 1),
	};
}

bool vtac_moves_values(enum vtac_op op)
{
	switch (op) {
	case VTAC_MAX_POOL:
	case VTAC_RESIZE:
	case VTAC_CONCAT:
	case VTAC_SPLIT:
	case VTAC_SLICE:
	case VTAC_PAD:
	case VTAC_TRANSPOSE:
	case VTAC_DEPTH_TO_SPACE:
	case VTAC_RESHAPE:
	case VTAC_IDENTITY:
	case VTAC_COPY:
	case VTAC_CHANNELS:
		return true;
	default:
		return false;
	}
}

const struct vtac_node *vtac_low_of(const struct vtac_node *node)
{
	const struct vtac_tensor *t = node->out[0];

	for (unsigned int i = 0; node->op == VTAC_CONV && i < t->n_users; i++)
		if (t->users[i]->op == VTAC_CONV && t->users[i]->n_in > 5 &&
		    t->users[i]->in[5] == t)
			return t->users[i];
	return NULL;
}

bool vtac_has_padding(const struct vtac_window *w)
{
	return w->pad[0] || w->pad[1] || w->pad[2] || w->pad[3];
}

bool vtac_is_given(const struct vtac_tensor *t)
{
	return t->quant.given && t->quant.scale && t->quant.n == 1 && t->quant.type != VTAC_I32;
}

bool vtac_same_quant(const struct vtac_quant *a, const struct vtac_quant *b)
{
	if (a->n != b->n || a->axis != b->axis || a->type != b->type)
		return false;
	for (int64_t i = 0; i < a->n; i++)
		if (a->scale[i] != b->scale[i] ||
		    (a->zero ? a->zero[i] : 0) != (b->zero ? b->zero[i] : 0))
			return false;
	return true;
}

void vtac_given_range(const struct vtac_tensor *t, int32_t least, float *lo, float *hi)
{
	const struct vtac_quant *quant = &t->quant;
	int32_t zero = quant->zero ? quant->zero[0] : 0;

	*lo = (float)(least - zero) * quant->scale[0];
	*hi = (float)((quant->type == VTAC_U8 ? 255 : 127) - zero) * quant->scale[0];
}

void vtac_limits(const struct vtac_tensor *t, float *lo, float *hi)
{
	const struct vtac_node *node = t->producer;
	float least = -INFINITY, most = INFINITY;

	if (vtac_is_given(t))
		vtac_given_range(t, t->quant.type == VTAC_U8 ? 0 : -128, &least, &most);
	*lo = least;
	*hi = most;
	/* The file's range comes last: it limits the limits. */
	if (node && node->op == VTAC_CLIP) {
		*lo = fminf(fmaxf(least, node->attr.clip.lo), most);
		*hi = fmaxf(fminf(most, node->attr.clip.hi), least);
	} else if (node && node->act.kind == VTAC_ACT_CLIP) {
		*lo = fminf(fmaxf(least, node->act.lo), most);
		*hi = fmaxf(fminf(most, node->act.hi), least);
	}
}

bool vtac_all_same(const int32_t *v, int64_t n)
{
	for (int64_t i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

unsigned int vtac_set_find(unsigned int *parent, unsigned int i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

void vtac_set_unite(unsigned int *parent, unsigned int a, unsigned int b)
{
	a = vtac_set_find(parent, a);
	b = vtac_set_find(parent, b);
	parent[a > b ? a : b] = a > b ? b : a;
}

const char *vtac_shape_text(const struct vtac_tensor *t, char buf[static 128])
{
	int at = 0;

	if (t->rank <= 0)
		return t->rank < 0 ? "?" : "scalar";
	/* 8 dimensions of below 2^41: at most 8 x 14 characters, and "<=". */
	for (int i = 0; i < t->rank; i++)
		at += snprintf(buf + at, 128 - (size_t)at, t->dims[i] < 0 ? "%s%s?" : "%s%s%lld",
			       i ? "x" : "", t->size && i == t->open ? "<=" : "",
			       (long long)t->dims[i]);
	return buf;
}
