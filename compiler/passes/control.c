// SPDX-License-Identifier: Apache-2.0
/*
 * If, Loop and Scan become nodes, which are made of their sub-graphs
 *
 * A condition that is known when the model is compiled chooses a branch. If data decides, both are
 * computed, and the condition selects results. A loop becomes its iterations, one after the other.
 * If data decides how many there are, those behind the last keep the values that are carried, and
 * lists of results have as many entries as iterations ran. Results of different lengths have a
 * size that data decides (sizes.c).
 */
#include <string.h>

#include "sizes.h"

bool vtac_is_control(enum vtac_op op)
{
	return op == VTAC_IF || op == VTAC_LOOP || op == VTAC_SCAN;
}

/* ---- making nodes of a sub-graph ---- */

static int check_room(struct vtac_graph *g, const struct vtac_node *node,
		      const struct vtac_body *body)
{
	/* A body without nodes counts, too. */
	if ((uint64_t)g->n_nodes + ++g->n_bodies + body->n_nodes <= VTAC_NODES_MAX)
		return 0;
	return vtac_fail(g, node, "Its sub-graph is repeated until the model has more than %u "
			 "nodes.", VTAC_NODES_MAX);
}

/* The tensor of the graph for @t of the body: constants have the same values. */
static struct vtac_tensor *instance_of(struct vtac_graph *g, struct vtac_tensor **map,
				       const struct vtac_tensor *t)
{
	if (!map[t->id])
		map[t->id] = t->data ? vtac_tensor_const(g, t->name, t->dtype, t->rank, t->dims,
							 t->data, false) :
			vtac_tensor_new(g, t->name, t->dtype);
	return map[t->id];
}

static int make_node(struct vtac_graph *g, struct vtac_tensor **map, const struct vtac_node *from)
{
	struct vtac_node *node = vtac_node_new(g, from->op, from->name, from->n_in, from->n_out);

	if (!node)
		return -1;
	node->file_op = from->file_op;
	node->attr = from->attr;
	node->act = from->act;
	for (unsigned int i = 0; i < from->n_in; i++) {
		struct vtac_tensor *t = from->in[i] ? instance_of(g, map, from->in[i]) : NULL;

		if (from->in[i] && (!t || vtac_node_set_in(g, node, i, t)))
			return -1;
	}
	for (unsigned int i = 0; i < from->n_out; i++) {
		struct vtac_tensor *t = from->out[i] ? instance_of(g, map, from->out[i]) : NULL;

		if (from->out[i] && !t)
			return -1;
		vtac_node_set_out(node, i, t);
	}
	return 0;
}

/*
 * Make nodes of @body, whose inputs are @in and whose captures are those of @node from input @first
 * on. They are shaped, and the outputs become inputs of @node from @slot on, where they
 * stay what they are when nodes are left out.
 */
static int make_body(struct vtac_graph *g, struct vtac_node *node, const struct vtac_body *body,
		     struct vtac_tensor *const *in, unsigned int first, unsigned int slot)
{
	struct vtac_tensor **map = vtac_alloc(g, body->n_tensors + 1u, sizeof(void *));
	unsigned int begin = g->n_nodes;

	if (!map || check_room(g, node, body))
		return -1;
	for (unsigned int i = 0; in && i < body->n_in; i++)
		map[body->in[i]->id] = in[i];
	for (unsigned int i = 0; i < body->n_captures; i++)
		map[body->in[body->n_in + i]->id] = node->in[first + i];
	for (unsigned int i = 0; i < body->n_nodes; i++)
		if (make_node(g, map, body->nodes[i]))
			return -1;
	for (unsigned int i = 0; i < body->n_out; i++) {
		struct vtac_tensor *t = instance_of(g, map, body->out[i]);

		if (!t || vtac_node_set_in(g, node, slot + i, t))
			return -1;
	}
	return vtac_shape_nodes(g, begin, g->n_nodes);
}

/* Was a node of the sub-graph refused, on which inputs of @node from @slot on depend? */
static bool is_refused(const struct vtac_node *node, unsigned int slot)
{
	for (unsigned int i = slot; i < node->n_in; i++)
		if (node->in[i] && node->in[i]->rank < 0)
			return true;
	return false;
}

/* ---- selecting ---- */

/* One truth value? It becomes a scalar. NULL: an error. */
static struct vtac_tensor *condition_of(struct sizes *s, struct vtac_tensor *t)
{
	if (!t || t->dtype != VTAC_BOOL || vtac_elements(t) != 1) {
		vtac_fail(s->g, s->node, "Its condition %.120s is not one truth value.",
			  t ? t->name : "");
		return NULL;
	}
	return sizes_reshaped(s, t, 0, NULL);
}

static bool is_true(const struct vtac_tensor *t)
{
	return *(const uint8_t *)t->data;
}

/* @t with dimension @d of @n, by zeros; all of its memory is in use. */
static struct vtac_tensor *lengthen(struct sizes *s, struct vtac_tensor *t, int d, int64_t n)
{
	int64_t dims[VTAC_RANK_MAX];
	struct vtac_tensor *in[2] = { t, NULL }, *y;
	struct vtac_node *node;

	if (t->dims[d] == n)
		return t;
	memcpy(dims, t->dims, sizeof(dims));
	dims[d] = n - t->dims[d];
	in[1] = vtac_tensor_shaped(s->g, "zeros", t->dtype, t->rank, dims);
	if (!in[1])
		return NULL;
	in[1]->data = vtac_alloc(s->g, (uint64_t)vtac_bytes(in[1]) + 1, 1);
	if (!in[1]->data || !t->dims[d])
		return in[1]->data ? in[1] : NULL;
	node = sizes_node(s, VTAC_CONCAT, in, 2);
	if (!node)
		return NULL;
	node->attr.axis.axis = d;
	y = node->out[0];
	return vtac_shape_memory(s->g, node) ? NULL : y;
}

/* The dimension in which @a and @b have different lengths, or -1; -2 if there are several. */
static int find_difference(const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	int found = -1;

	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i] || (a->size && a->open == i) ||
		    (b->size && b->open == i))
			found = found == -1 ? i : -2;
	return found;
}

static struct vtac_tensor *size_of(struct sizes *s, struct vtac_tensor *t, int d)
{
	return t->size ? t->size : sizes_integer(s, t->dims[d]);
}

static struct vtac_tensor *select_scalar(struct sizes *s, struct vtac_tensor *condition,
					 struct vtac_tensor *a, struct vtac_tensor *b)
{
	struct vtac_tensor *in[] = { condition, a, b };

	if (a == b)
		return a;
	return a && b ? sizes_finish(s, sizes_node(s, VTAC_WHERE, in, 3)) : NULL;
}

static int fail_different(struct sizes *s, const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	char of_a[128], of_b[128];

	return vtac_fail(s->g, s->node, "Data decides whether a result is %s of %s or %s of %s; "
			 "one length may differ.", vtac_dtype_name(a->dtype),
			 vtac_shape_text(a, of_a), vtac_dtype_name(b->dtype),
			 vtac_shape_text(b, of_b));
}

/* Make @y: @a if the scalar @condition is true, else @b. */
static int select_value(struct sizes *s, struct vtac_tensor *condition, struct vtac_tensor *a,
			struct vtac_tensor *b, struct vtac_tensor *y)
{
	struct vtac_tensor *in[] = { condition, a, b };
	struct vtac_node *node;
	int64_t n;
	int d;

	if (a->dtype != b->dtype || a->rank != b->rank)
		return fail_different(s, a, b);
	d = find_difference(a, b);
	if (d == -2)
		return fail_different(s, a, b);
	n = d < 0 ? 0 : a->dims[d] > b->dims[d] ? a->dims[d] : b->dims[d];
	for (int i = 1; d >= 0 && i < 3; i++) {
		in[i] = lengthen(s, in[i], d, n);
		if (!in[i])
			return -1;
	}
	node = sizes_node(s, VTAC_WHERE, in, 3);
	if (!node)
		return -1;
	vtac_node_set_out(node, 0, y);
	if (vtac_shape_memory(s->g, node))
		return -1;
	if (d < 0)
		return bounds_either(s, y, a, b);
	y->size = select_scalar(s, condition, size_of(s, a, d), size_of(s, b, d));
	y->open = d;
	s->g->has_sizes = true;
	return y->size ? bounds_most(s, y->size, n) : -1;
}

/* ---- results ---- */

/* @to is @from, if there is @to. */
static int make_result(struct sizes *s, struct vtac_tensor *from, struct vtac_tensor *to)
{
	struct vtac_node *node = to ? sizes_node(s, VTAC_IDENTITY, &from, 1) : NULL;

	if (!to)
		return 0;
	if (!node)
		return -1;
	vtac_node_set_out(node, 0, to);
	return vtac_shape_made(s->g, node);
}

/* The node's outputs, of which it lets go. */
static struct vtac_tensor **take_outputs(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor **out = vtac_alloc(g, node->n_out + 1u, sizeof(void *));

	for (unsigned int i = 0; out && i < node->n_out; i++) {
		out[i] = node->out[i];
		vtac_node_set_out(node, i, NULL);
	}
	return out;
}

/* ---- If ---- */

static int take_branch(struct sizes *s, const struct vtac_body *body, unsigned int first)
{
	struct vtac_node *node = s->node;
	unsigned int slot = node->n_in;
	struct vtac_tensor **out;

	if (vtac_node_resize_in(s->g, node, slot + body->n_out) ||
	    make_body(s->g, node, body, NULL, first, slot))
		return -1;
	if (is_refused(node, slot))
		return 0;
	out = take_outputs(s->g, node);
	for (unsigned int i = 0; out && i < node->n_out; i++)
		if (make_result(s, node->in[slot + i], out[i]))
			return -1;
	return out ? 0 : -1;
}

static int take_both(struct sizes *s, const struct vtac_body *const body[2],
		     struct vtac_tensor *condition)
{
	struct vtac_node *node = s->node;
	unsigned int slot = node->n_in;
	struct vtac_tensor **out;

	if (vtac_node_resize_in(s->g, node, slot + body[0]->n_out + body[1]->n_out) ||
	    vtac_node_set_in(s->g, node, 0, condition) ||
	    make_body(s->g, node, body[0], NULL, 1, slot) ||
	    make_body(s->g, node, body[1], NULL, 1 + body[0]->n_captures, slot + body[0]->n_out))
		return -1;
	if (is_refused(node, slot))
		return 0;
	condition = node->in[0];
	out = take_outputs(s->g, node);
	for (unsigned int i = 0; out && i < node->n_out; i++)
		if (out[i] && select_value(s, condition, node->in[slot + i],
					   node->in[slot + body[0]->n_out + i], out[i]))
			return -1;
	return out ? 0 : -1;
}

static int expand_if(struct sizes *s)
{
	const struct vtac_control *control = s->node->attr.control;
	struct vtac_tensor *condition = condition_of(s, s->node->in[0]);

	if (!condition)
		return -1;
	if (!condition->data)
		return take_both(s, control->body, condition);
	if (is_true(condition))
		return take_branch(s, control->body[0], 1);
	return take_branch(s, control->body[1], 1 + control->body[0]->n_captures);
}

/* ---- Loop and Scan ---- */

/*
 * A loop whose iterations are made. The node's inputs hold what is computed: those of the file,
 * where the condition and the carried values are replaced by each iteration; captures; and from
 * @slot on the last iteration's outputs.
 */
struct loop {
	struct sizes s;
	const struct vtac_control *control;
	const struct vtac_body *body;
	bool scans;
	unsigned int carried;		/* the first carried value among the inputs */
	unsigned int captures, slot, lists;	/* lists: the first output that makes a list */
	int64_t most;			/* iterations; INT64_MAX: nothing bounds them */
	struct vtac_tensor *count;	/* likewise, if data decides it; or NULL */
	struct vtac_tensor *ran;	/* iterations that ran, if data decides it; or NULL */
	struct vtac_node **joined;	/* for each list, the node that joins its entries */
	unsigned int n;			/* entries */
};

/* The count of a Loop. */
static int set_count(struct loop *l)
{
	struct vtac_tensor *t = l->s.node->in[0];
	struct vtac_bound bound[BOUNDS_MAX];

	l->most = INT64_MAX;
	if (!t)
		return 0;
	if (t->dtype != VTAC_I64 || vtac_elements(t) != 1)
		return vtac_fail(l->s.g, l->s.node, "Its count %.120s is not one int64.", t->name);
	if (t->data) {
		l->most = *(const int64_t *)t->data;
		return 0;
	}
	if (!bounds_get(t, bound))
		return vtac_fail(l->s.g, l->s.node, "Data decides how often it is repeated, and "
				 "nothing says how often at most.");
	l->most = bound[0].most;
	l->count = sizes_reshaped(&l->s, t, 0, NULL);
	return l->count ? 0 : -1;
}

/* The axis of each list of a Scan, and its length, which all have. */
static int set_lists(struct loop *l)
{
	struct vtac_node *node = l->s.node;
	const struct vtac_control *c = l->control;
	int64_t *axes = vtac_alloc(l->s.g, c->n_lists, sizeof(*axes));
	struct vtac_control *own = vtac_alloc(l->s.g, 1, sizeof(*own));

	if (!axes || !own)
		return -1;
	for (unsigned int i = 0; i < c->n_lists; i++) {
		struct vtac_tensor *t = node->in[c->n_carried + i];
		int64_t axis = c->axis[i];

		if (axis < -t->rank || axis >= t->rank)
			return vtac_fail(l->s.g, node, "Its list %.120s has no axis %lld.",
					 t->name, (long long)axis);
		axes[i] = axis < 0 ? axis + t->rank : axis;
		if (i && t->dims[axes[i]] != l->most)
			return vtac_fail(l->s.g, node, "Its lists have %lld and %lld entries.",
					 (long long)l->most, (long long)t->dims[axes[i]]);
		l->most = t->dims[axes[i]];
		if (t->size && t->open == axes[i]) {
			l->count = t->size;
			if (c->reverse[i])
				return vtac_fail(l->s.g, node, "It begins at an end that data "
						 "decides.");
		}
	}
	*own = *c;
	own->axis = axes;
	l->control = own;
	return 0;
}

/* Nodes for the entries of each list that a loop makes. */
static int begin_lists(struct loop *l)
{
	struct vtac_node *node = l->s.node;
	unsigned int n = l->most < 16 ? (unsigned int)(l->most > 0 ? l->most : 1) : 16;

	l->joined = vtac_alloc(l->s.g, node->n_out + 1u, sizeof(void *));
	if (!l->joined)
		return -1;
	for (unsigned int i = l->control->n_carried; i < node->n_out; i++) {
		if (!node->out[i])
			continue;
		l->joined[i] = vtac_node_new(l->s.g, VTAC_CONCAT,
					     vtac_text(l->s.g, "%s.list", node->name), n, 1);
		if (!l->joined[i])
			return -1;
		l->joined[i]->file_op = node->file_op;
	}
	return 0;
}

/* Iteration @i runs if *@run; NULL: always. Returns 1; 0 if it never runs; -1 after an error. */
static int condition_at(struct loop *l, int64_t i, struct vtac_tensor **run)
{
	struct vtac_tensor *t = l->scans ? NULL : l->s.node->in[1];
	struct vtac_tensor *in[2] = { NULL, l->count };
	struct vtac_node *node;

	*run = NULL;
	if (i >= l->most)
		return 0;
	if (t) {
		t = condition_of(&l->s, t);
		if (!t)
			return -1;
		if (t->data && !is_true(t))
			return 0;
		*run = t->data ? NULL : t;
	}
	if (*run && l->most == INT64_MAX)
		return vtac_fail(l->s.g, l->s.node, "Data decides how often it is repeated, and "
				 "nothing says how often at most.");
	if (!l->count)
		return 1;
	in[0] = sizes_integer(&l->s, i);
	node = in[0] ? sizes_node(&l->s, VTAC_BINARY, in, 2) : NULL;
	if (!node)
		return -1;
	node->attr.binary.op = VTACPU_LESS;
	in[1] = sizes_finish(&l->s, node);
	in[0] = *run;
	*run = in[1];
	if (in[0] && in[1]) {
		node = sizes_node(&l->s, VTAC_BINARY, in, 2);
		if (!node)
			return -1;
		node->attr.binary.op = VTACPU_AND;
		*run = sizes_finish(&l->s, node);
	}
	return *run ? 1 : -1;
}

/* Entry @i of list @k. */
static struct vtac_tensor *entry_of(struct loop *l, unsigned int k, int64_t i)
{
	struct vtac_tensor *list = l->s.node->in[l->control->n_carried + k];
	struct vtac_tensor *in[] = {
		list, sizes_integer(&l->s, l->control->reverse[k] ? l->most - 1 - i : i),
	};
	struct vtac_node *node = in[1] ? sizes_node(&l->s, VTAC_GATHER, in, 2) : NULL;

	if (!node)
		return NULL;
	node->attr.axis.axis = (int)l->control->axis[k];
	return sizes_finish(&l->s, node);
}

/* Make the nodes of iteration @i. */
static int make_iteration(struct loop *l, int64_t i)
{
	struct vtac_node *node = l->s.node;
	struct vtac_tensor **in = vtac_alloc(l->s.g, l->body->n_in + 1u, sizeof(void *));
	static const uint8_t yes = 1;
	unsigned int at = 0;

	if (!in)
		return -1;
	if (!l->scans) {
		in[at++] = sizes_integer(&l->s, i);
		in[at++] = vtac_tensor_const(l->s.g, "runs", VTAC_BOOL, 0, NULL, &yes, true);
	}
	for (unsigned int k = 0; k < l->control->n_carried; k++)
		in[at++] = node->in[l->carried + k];
	for (unsigned int k = 0; k < l->control->n_lists; k++)
		in[at++] = entry_of(l, k, i);
	for (unsigned int k = 0; k < at; k++)
		if (!in[k])
			return -1;
	return make_body(l->s.g, node, l->body, in, l->captures, l->slot);
}

/* The values that go into the next iteration: as they were, if this one does not run. */
static int carry(struct loop *l, struct vtac_tensor *run)
{
	struct vtac_node *node = l->s.node;

	for (unsigned int k = 0; k < l->control->n_carried; k++) {
		struct vtac_tensor *old = node->in[l->carried + k];
		struct vtac_tensor *t = node->in[l->slot + !l->scans + k];

		if (run && t != old) {
			struct vtac_tensor *y = vtac_tensor_new(l->s.g, t->name, t->dtype);

			if (!y || select_value(&l->s, run, t, old, y))
				return -1;
			t = y;
		}
		if (vtac_node_set_in(l->s.g, node, l->carried + k, t))
			return -1;
	}
	return 0;
}

/* The condition of the next iteration: that this one ran, and its result. */
static int carry_condition(struct loop *l, struct vtac_tensor *run)
{
	struct vtac_tensor *in[2] = { run, NULL };
	struct vtac_node *node;

	if (l->scans)
		return 0;
	in[1] = condition_of(&l->s, l->s.node->in[l->slot]);
	if (!in[1])
		return -1;
	if (run && in[1]->data && is_true(in[1])) {
		in[1] = run;
	} else if (run && !in[1]->data) {
		node = sizes_node(&l->s, VTAC_BINARY, in, 2);
		if (!node)
			return -1;
		node->attr.binary.op = VTACPU_AND;
		in[1] = sizes_finish(&l->s, node);
	}
	return in[1] ? vtac_node_set_in(l->s.g, l->s.node, 1, in[1]) : -1;
}

/* Count an iteration that runs if @run, after @l->n that ran or, if data decides it, @l->ran. */
static int count_run(struct loop *l, struct vtac_tensor *run)
{
	struct vtac_node *node = run ? sizes_node(&l->s, VTAC_CAST, &run, 1) : NULL;
	struct vtac_tensor *one;

	if (!run)
		return 0;
	if (!node)
		return -1;
	node->attr.cast.to = VTAC_I64;
	one = sizes_finish(&l->s, node);
	l->ran = sizes_two(&l->s, VTAC_ADD, l->ran ? l->ran : sizes_integer(&l->s, l->n), one);
	return l->ran ? bounds_most(&l->s, l->ran, (int64_t)l->n + 1) : -1;
}

static int64_t list_axis(const struct loop *l, unsigned int out, int rank)
{
	int64_t axis = l->scans ? l->control->out_axis[out - l->control->n_carried] : 0;

	return axis < 0 ? axis + rank + 1 : axis;
}

/* Put the iteration's entry at the end of each list. */
static int append_entries(struct loop *l)
{
	for (unsigned int i = l->control->n_carried; i < l->s.node->n_out; i++) {
		struct vtac_tensor *t = l->s.node->in[l->slot + !l->scans + i];
		struct vtac_node *node = l->joined[i];
		int64_t dims[VTAC_RANK_MAX + 1], axis = list_axis(l, i, t->rank);

		if (!node)
			continue;
		if (axis < 0 || axis > t->rank || t->rank == VTAC_RANK_MAX)
			return vtac_fail(l->s.g, l->s.node, "A list of results has no axis %lld.",
					 (long long)axis);
		for (int d = 0; d <= t->rank; d++)
			dims[d] = d < axis ? t->dims[d] : d == axis ? 1 : t->dims[d - 1];
		t = sizes_reshaped(&l->s, t, t->rank + 1, dims);
		if (!t || (l->n == node->n_in &&
			   vtac_node_resize_in(l->s.g, node, 2 * l->n)) ||
		    vtac_node_set_in(l->s.g, node, l->n, t))
			return -1;
	}
	l->n++;
	return 0;
}

/* A list without entries, for which an iteration was made that never runs. */
static int make_empty(struct loop *l, unsigned int i, struct vtac_tensor *y)
{
	const struct vtac_tensor *entry = l->joined[i]->in[0];
	int axis = (int)list_axis(l, i, entry->rank - 1);
	int64_t dims[VTAC_RANK_MAX];

	memcpy(dims, entry->dims, sizeof(dims));
	dims[axis] = 0;
	y->dtype = entry->dtype;
	y->data = vtac_alloc(l->s.g, 1, 1);
	vtac_node_remove(l->joined[i]);
	return y->data ? vtac_set_shape(l->s.g, l->s.node, y, entry->rank, dims) : -1;
}

static void reverse_entries(struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in / 2; i++) {
		struct vtac_tensor *t = node->in[i];

		node->in[i] = node->in[node->n_in - 1 - i];
		node->in[node->n_in - 1 - i] = t;
	}
}

/* Join the entries of list @i in @y: as many as iterations ran. */
static int join_entries(struct loop *l, unsigned int i, struct vtac_tensor *y)
{
	struct vtac_node *node = l->joined[i];
	int axis = (int)list_axis(l, i, node->in[0]->rank - 1);
	bool reverse = l->scans && l->control->out_reverse[i - l->control->n_carried];

	if (reverse && l->ran)
		return vtac_fail(l->s.g, l->s.node, "It begins at an end that data decides.");
	if (vtac_node_resize_in(l->s.g, node, l->n))
		return -1;
	for (unsigned int k = 0; l->ran && k < l->n; k++)
		if (node->in[k]->size)
			return vtac_fail(l->s.g, l->s.node, "Data decides how many results it has, "
					 "and the length of each.");
	if (reverse)
		reverse_entries(node);
	node->attr.axis.axis = axis;
	vtac_node_set_out(node, 0, y);
	if (!l->ran)
		return vtac_shape_made(l->s.g, node);
	y->size = l->ran;
	y->open = axis;
	l->s.g->has_sizes = true;
	return vtac_shape_memory(l->s.g, node);
}

static int make_results(struct loop *l, int64_t iterations)
{
	struct vtac_node *node = l->s.node;
	struct vtac_tensor **out = take_outputs(l->s.g, node);

	if (!out)
		return -1;
	/* The lists first: their lengths may be carried values. */
	for (unsigned int i = l->control->n_carried; i < node->n_out; i++)
		if (out[i] && (iterations ? join_entries(l, i, out[i]) : make_empty(l, i, out[i])))
			return -1;
	for (unsigned int i = 0; i < l->control->n_carried; i++)
		if (make_result(&l->s, node->in[l->carried + i], out[i]))
			return -1;
	return 0;
}

static bool makes_lists(const struct loop *l)
{
	for (unsigned int i = l->control->n_carried; i < l->s.node->n_out; i++)
		if (l->joined[i])
			return true;
	return false;
}

/* Returns the number of iterations that were made; -1 after an error, or if one is refused. */
static int64_t make_iterations(struct loop *l)
{
	struct vtac_tensor *run;
	int64_t i = 0;
	int runs;

	for (;; i++) {
		runs = condition_at(l, i, &run);
		if (runs <= 0)
			break;
		if (make_iteration(l, i) || is_refused(l->s.node, l->slot) || carry(l, run) ||
		    count_run(l, run) || append_entries(l) || carry_condition(l, run))
			return -1;
	}
	/* Only an iteration shows the shapes of results. */
	if (!runs && !i && makes_lists(l) &&
	    (make_iteration(l, 0) || is_refused(l->s.node, l->slot) || append_entries(l)))
		return -1;
	return runs < 0 ? -1 : i;
}

static int expand_loop(struct sizes *s, bool scans)
{
	const struct vtac_control *control = s->node->attr.control;
	struct loop l = {
		.s = *s, .control = control, .body = control->body[0], .scans = scans,
		.carried = scans ? 0 : 2,
		.captures = (scans ? 0 : 2) + control->n_carried + control->n_lists,
		.slot = s->node->n_in,
	};
	int64_t iterations;

	if ((scans ? set_lists(&l) : set_count(&l)) || begin_lists(&l) ||
	    vtac_node_resize_in(s->g, s->node, l.slot + l.body->n_out))
		return -1;
	iterations = make_iterations(&l);
	if (iterations < 0)
		return s->g->error.text[0] ? -1 : 0;
	return make_results(&l, iterations);
}

int vtac_expand(struct vtac_graph *g, struct vtac_node *node)
{
	struct sizes s = { .g = g, .node = node };

	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i] && vtac_elements(node->in[i]) < 0)
			return vtac_fail(g, node, "The shape of its input %.120s is not known.",
					 node->in[i]->name);
	if (node->op == VTAC_IF ? expand_if(&s) : expand_loop(&s, node->op == VTAC_SCAN))
		return -1;
	vtac_node_remove(node);
	return 0;
}
