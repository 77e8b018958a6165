// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `quantise`: the card's nodes get integers, and the CPU computes floats: a QUANTIZE
 * stands before each copy of a float tensor to the card, a DEQUANTIZE behind each copy back or
 * output of the graph.
 */
#include <math.h>

#include "quant_impl.h"

/* @t has integers with the scale of @like. */
static int mark_tensor(struct quantiser *q, struct vtac_tensor *t, const struct vtac_tensor *like)
{
	float *scale = vtac_alloc(q->g, 1, sizeof(*scale));
	int32_t *zero = vtac_alloc(q->g, 1, sizeof(*zero));

	if (!scale || !zero)
		return -1;
	*scale = q->scale[like->id];
	*zero = q->zero[like->id];
	t->dtype = VTAC_I8;
	t->quant = (struct vtac_quant) {
		.scale = scale, .zero = *zero ? zero : NULL, .n = 1, .type = VTAC_I8,
		.given = like->quant.given };
	return 0;
}

/* A node QUANTIZE or DEQUANTIZE between @from and @to, with the scale of @like. */
static struct vtac_node *add_conversion(struct quantiser *q, enum vtac_op op, const char *name,
					const struct vtac_tensor *like, struct vtac_tensor *to)
{
	struct vtac_graph *g = q->g;
	struct vtac_node *node = vtac_node_new(g, op, name, 3, 1);
	struct vtac_tensor *scale, *zero = NULL;

	scale = vtac_tensor_const(g, vtac_text(g, "%s/scale", to->name), VTAC_F32, 0, NULL,
				  &q->scale[like->id], true);
	if (q->zero[like->id])
		zero = vtac_tensor_const(g, vtac_text(g, "%s/zero", to->name), VTAC_I32, 0, NULL,
					 &q->zero[like->id], true);
	if (!node || !scale || vtac_node_set_in(g, node, 1, scale) ||
	    (zero && vtac_node_set_in(g, node, 2, zero)))
		return NULL;
	vtac_node_set_out(node, 0, to);
	node->device = VTAC_CPU;
	node->post.lo = least_of(q, like);
	node->post.hi = q->in_top;
	return node;
}

static int replace_user(struct vtac_graph *g, struct vtac_node *user, struct vtac_tensor *from,
			struct vtac_tensor *to)
{
	for (unsigned int k = 0; k < user->n_in; k++)
		if (user->in[k] == from)
			return vtac_node_set_in(g, user, k, to);
	return 0;
}

/* Returns a tensor for the integers of @t, on @device in @layout. */
static struct vtac_tensor *integers_like(struct quantiser *q, const struct vtac_tensor *t,
					 const char *what, enum vtac_device device,
					 enum vtac_layout layout)
{
	struct vtac_tensor *made = vtac_tensor_shaped(q->g, vtac_text(q->g, "%s/%s", t->name, what),
						      VTAC_I8, t->rank, t->dims);

	if (!made || mark_tensor(q, made, t))
		return NULL;
	made->channel_scale = t->channel_scale;
	made->device = device;
	made->layout = layout;
	return made;
}

static int add_copy(struct vtac_graph *g, struct vtac_tensor *from, struct vtac_tensor *to)
{
	struct vtac_node *node = vtac_node_new(g, VTAC_COPY, vtac_text(g, "%s/copy", to->name), 1,
					       1);

	if (!node)
		return -1;
	node->device = VTAC_CPU;
	vtac_node_set_out(node, 0, to);
	return vtac_node_set_in(g, node, 0, from);
}

/* Does the file's @node (de)quantise by the scale and zero point that @t has here? */
static bool has_same_quant(const struct quantiser *q, const struct vtac_node *node, enum vtac_op op,
			   const struct vtac_tensor *t)
{
	const struct vtac_tensor *scale = node->n_in > 1 ? node->in[1] : NULL, *ints;
	const struct vtac_tensor *zero = node->n_in > 2 ? node->in[2] : NULL;

	if (node->op != op || !scale || !scale->data || vtac_elements(scale) != 1 ||
	    *(const float *)scale->data != q->scale[t->id] ||
	    (zero && (!zero->data || vtac_elements(zero) != 1 || zero->dtype != VTAC_I8)))
		return false;
	ints = op == VTAC_QUANTIZE ? node->out[0] : node->in[0];
	return ints->dtype == VTAC_I8 &&
	       (zero ? *(const int8_t *)zero->data : 0) == q->zero[t->id];
}

/* The integers that @t was made of, or a QUANTIZE's. */
static struct vtac_tensor *plain_integers(struct quantiser *q, struct vtac_tensor *t)
{
	struct vtac_node *node = t->producer;
	struct vtac_tensor *plain;

	if (node && has_same_quant(q, node, VTAC_DEQUANTIZE, t))
		return node->in[0];
	plain = integers_like(q, t, "int", VTAC_CPU, VTAC_PLAIN);
	node = plain ? add_conversion(q, VTAC_QUANTIZE, vtac_text(q->g, "%s/quantise", t->name), t,
				      plain) : NULL;
	return node && !vtac_node_set_in(q->g, node, 0, t) ? plain : NULL;
}

/* @t, float and of the CPU, as integers for its users on the card. */
static int copy_to_card(struct quantiser *q, struct vtac_tensor *t)
{
	struct vtac_tensor *plain = plain_integers(q, t);
	struct vtac_tensor *packed = integers_like(q, t, "packed", VTAC_CPU, VTAC_PACKED);
	struct vtac_tensor *there = integers_like(q, t, "card", VTAC_CARD, VTAC_PACKED);

	if (!plain || !packed || !there)
		return -1;
	/* Users change while the list is walked. */
	for (unsigned int i = t->n_users; i-- > 0; )
		if (t->users[i]->device == VTAC_CARD && replace_user(q->g, t->users[i], t, there))
			return -1;
	return add_copy(q->g, plain, packed) || add_copy(q->g, packed, there) ? -1 : 0;
}

/* Give @plain to those users of @t that read the integers themselves. */
static int give_integers(struct quantiser *q, struct vtac_tensor *t, struct vtac_tensor *plain)
{
	for (unsigned int i = t->n_users; i-- > 0; ) {
		struct vtac_node *user = t->users[i];

		if (!has_same_quant(q, user, VTAC_QUANTIZE, t))
			continue;
		if (vtac_tensor_replace(q->g, user->out[0], plain))
			return -1;
		vtac_node_remove(user);
	}
	return 0;
}

/* @t, of the card, as float for its users on the CPU and for the graph's outputs. */
static int copy_to_cpu(struct quantiser *q, struct vtac_tensor *t)
{
	struct vtac_graph *g = q->g;
	struct vtac_tensor *packed = integers_like(q, t, "packed", VTAC_CPU, VTAC_PACKED);
	struct vtac_tensor *plain = integers_like(q, t, "int", VTAC_CPU, VTAC_PLAIN), *to;
	struct vtac_node *node;

	to = vtac_tensor_shaped(g, vtac_text(g, "%s/float", t->name), VTAC_F32, t->rank, t->dims);
	if (!packed || !plain || !to)
		return -1;
	node = add_conversion(q, VTAC_DEQUANTIZE, vtac_text(g, "%s/dequantise", t->name), t, to);
	if (!node)
		return -1;
	if (give_integers(q, t, plain))
		return -1;
	for (unsigned int i = t->n_users; i-- > 0; )
		if (t->users[i]->device != VTAC_CARD && replace_user(g, t->users[i], t, to))
			return -1;
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (g->outputs[i] == t)
			g->outputs[i] = to;
	return add_copy(g, t, packed) || add_copy(g, packed, plain) ||
	       vtac_node_set_in(g, node, 0, plain) ? -1 : 0;
}

static bool has_user(const struct vtac_graph *g, const struct vtac_tensor *t,
		     enum vtac_device device)
{
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->device == device)
			return true;
	return device == VTAC_CPU && vtac_is_output(g, t);
}

/* Operand @t, a constant, gets integers in the card's memory of constants. */
static int fill_operand(struct quantiser *q, struct vtac_tensor *t)
{
	int64_t n = vtac_elements(t);
	float least = (float)least_of(q, t), most = (float)q->in_top;
	int8_t *to = vtac_alloc(q->g, (uint64_t)n, 1);
	struct vtac_tensor *made;

	if (!to)
		return -1;
	for (int64_t i = 0; i < n; i++) {
		float v = rintf(((const float *)t->data)[i] / q->scale[t->id]) +
			(float)q->zero[t->id];

		to[i] = (int8_t)fminf(fmaxf(v, least), most);
	}
	made = vtac_tensor_const(q->g, vtac_text(q->g, "%s/int", t->name), VTAC_I8, t->rank,
				 t->dims, to, false);
	if (!made || mark_tensor(q, made, t))
		return -1;
	for (unsigned int i = t->n_users; i-- > 0; )
		if (t->users[i]->device == VTAC_CARD && replace_user(q->g, t->users[i], t, made))
			return -1;
	return 0;
}

static int cross_borders(struct quantiser *q)
{
	unsigned int n = q->g->n_tensors;

	for (unsigned int i = 0; i < n; i++) {
		struct vtac_tensor *t = q->g->tensors[i];
		bool made = t->producer && t->producer->device == VTAC_CARD;

		if (is_operand(t) && fill_operand(q, t))
			return -1;
		if (t->data || q->scale[t->id] <= 0)
			continue;
		if (!made && has_user(q->g, t, VTAC_CARD) && copy_to_card(q, t))
			return -1;
		if (!made)
			continue;
		if (mark_tensor(q, t, t) || (has_user(q->g, t, VTAC_CPU) && copy_to_cpu(q, t)))
			return -1;
		t->device = VTAC_CARD;
		t->layout = VTAC_PACKED;
	}
	return 0;
}

/* Is @t a float of the CPU, with a range by the file? */
static bool has_range(const struct vtac_tensor *t)
{
	return t->dtype == VTAC_F32 && !t->data && vtac_is_given(t);
}

static bool is_within(const struct vtac_tensor *t, float lo, float hi)
{
	float from, to;

	vtac_limits(t, &from, &to);
	return from >= lo && to <= hi;
}

/* May @t, which has a range, be outside of it? Not if it was made of integers or moved. */
static bool may_exceed(const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;
	float lo, hi;

	if (!node)
		return true;
	if (node->op == VTAC_DEQUANTIZE)
		return false;
	vtac_limits(t, &lo, &hi);
	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i] && node->in[i]->dtype == VTAC_F32 && !node->in[i]->data &&
		    !is_within(node->in[i], lo, hi))
			return true;
	return !vtac_moves_values(node->op) || node->op == VTAC_PAD;
}

/* Is @t only read to become the integers of its range? These are limited anyhow. */
static bool becomes_integers(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	const struct vtac_node *user = vtac_only_user(g, t);

	return user && user->op == VTAC_QUANTIZE && t->quant.n == 1 &&
	       vtac_same_quant(&t->quant, &user->out[0]->quant);
}

/*
 * Floats of the CPU, those that enter the card included, have the range of the file's integers.
 * They are not rounded to these: the file asks for no more than that this much error is acceptable.
 */
static int limit_float(struct quantiser *q, struct vtac_tensor *t)
{
	struct vtac_graph *g = q->g;
	struct vtac_tensor *to = vtac_tensor_shaped(g, vtac_text(g, "%s/limited", t->name),
						    VTAC_F32, t->rank, t->dims);
	struct vtac_node *node = vtac_node_new(g, VTAC_CLIP, vtac_text(g, "%s/limit", t->name), 1,
					       1);

	if (!to || !node)
		return -1;
	node->device = VTAC_CPU;
	vtac_limits(t, &node->attr.clip.lo, &node->attr.clip.hi);
	if (vtac_tensor_replace(g, t, to))
		return -1;
	vtac_node_set_out(node, 0, to);
	return vtac_node_set_in(g, node, 0, t);
}

static int limit_floats(struct quantiser *q)
{
	unsigned int n = q->g->n_tensors;
	bool *exceeds = vtac_alloc(q->g, n + 1, sizeof(*exceeds));

	if (!exceeds)
		return -1;
	for (unsigned int i = 0; i < n; i++)
		exceeds[i] = has_range(q->g->tensors[i]) && may_exceed(q->g->tensors[i]) &&
			     !becomes_integers(q->g, q->g->tensors[i]);
	for (unsigned int i = 0; i < n; i++) {
		if (exceeds[i] && limit_float(q, q->g->tensors[i]))
			return -1;
		if (has_range(q->g->tensors[i]))
			q->g->tensors[i]->quant.given = false;
	}
	return 0;
}

int vtac_pass_quantise(struct vtac_graph *g, const struct vtac_options *opt)
{
	(void)opt;
	return cross_borders(g->quantiser) || limit_floats(g->quantiser) ? -1 : vtac_graph_dce(g);
}
