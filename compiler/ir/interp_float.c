// SPDX-License-Identifier: Apache-2.0
/* Run a graph in float. A tensor's memory lives from its producer to its last user. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interp.h"
#include "kernel.h"

struct step {
	struct vtac_call *calls;
	unsigned int n_calls;
};

struct vtac_float {
	struct vtac_graph *g;
	struct step *steps;
	pthread_mutex_t lock;	/* protects the graph's error */
};

struct run {
	struct vtac_float *f;
	void **values;		/* by tensor id */
	unsigned int *left;	/* uses of it that are to come, likewise */
};

/* ---- one node ---- */

static int bind(struct vtac_graph *g, struct step *s, const struct vtac_node *node)
{
	return vtac_is_shape_op(node->op) ? 0 : vtac_calls(g, node, &s->calls, &s->n_calls);
}

/* Of a Shape that is folded, the input has no values; nor has an operand that is left out. */
static void *value(void *const *values, const struct vtac_tensor *t)
{
	if (!t)
		return NULL;
	if (t->data)
		return (void *)(uintptr_t)t->data;
	return values ? values[t->id] : NULL;
}

static int run_calls(const struct step *s, struct crew *crew, void *const *values)
{
	for (unsigned int i = 0; i < s->n_calls; i++) {
		const struct vtac_call *c = &s->calls[i];
		void *io[VTACPU_OPERANDS_MAX] = { NULL };

		for (unsigned int k = 0; k < c->need.operands; k++)
			io[k] = value(values, c->io[k]);
		if (vtac_run_shared(c, crew, io))
			return -1;
	}
	return 0;
}

static void run_eval(const struct vtac_node *node, void *const *values)
{
	const void *in[3] = { NULL };

	for (unsigned int i = 0; i < node->n_in && i < 3; i++)
		in[i] = value(values, node->in[i]);
	vtac_eval(node, in, value(values, node->out[0]));
}

int vtac_run_constant(struct vtac_graph *g, struct vtac_node *node, void *const *out)
{
	struct step s = { 0 };

	/* With data its outputs are found as constants are. */
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i])
			node->out[i]->data = out[i];
	if (bind(g, &s, node))
		return -1;
	if (vtac_is_shape_op(node->op))
		run_eval(node, NULL);
	return run_calls(&s, g->crew, NULL) ? vtac_fail(g, node, "Out of memory.") : 0;
}

/* ---- a graph ---- */

struct vtac_float *vtac_float_new(struct vtac_graph *g)
{
	struct vtac_float *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->g = g;
	pthread_mutex_init(&f->lock, NULL);
	f->steps = calloc(g->n_nodes + 1u, sizeof(*f->steps));
	if (!f->steps)
		vtac_fail(g, NULL, "Out of memory.");
	for (unsigned int i = 0; f->steps && i < g->n_nodes; i++)
		if (bind(g, &f->steps[i], g->nodes[i]))
			goto fail;
	if (f->steps)
		return f;
fail:
	vtac_float_free(f);
	return NULL;
}

void vtac_float_free(struct vtac_float *f)
{
	if (!f)
		return;
	free(f->steps);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- a run ---- */

/* @what: of @t, if that is not NULL */
static int fail_run(struct run *r, const struct vtac_node *node, const char *what,
		    const struct vtac_tensor *t)
{
	pthread_mutex_lock(&r->f->lock);
	vtac_fail(r->f->g, node, "%s%s%.120s.", what, t ? " " : "", t ? t->name : "");
	pthread_mutex_unlock(&r->f->lock);
	return -1;
}

static int make_value(struct run *r, const struct vtac_tensor *t)
{
	size_t bytes = ((size_t)vtac_bytes(t) + 127) & ~(size_t)63;

	r->values[t->id] = (uint64_t)vtac_bytes(t) > r->f->g->arena.limit ? NULL :
		aligned_alloc(64, bytes);
	r->left[t->id] = t->n_users;
	return r->values[t->id] ? 0 : fail_run(r, t->producer, "No memory for its output", t);
}

/* Values that the file's quantisation has: round to them, as the model's author meant. */
static void round_given(const struct vtac_tensor *t, float *v)
{
	const struct vtac_quant *q = &t->quant;
	float lo = q->type == VTAC_U8 ? 0 : -128, hi = q->type == VTAC_U8 ? 255 : 127;
	int64_t inner = 1, n = vtac_elements(t);

	if (!q->given || t->dtype != VTAC_F32 || q->type == VTAC_I32)
		return;
	for (int i = q->axis + 1; i < t->rank; i++)
		inner *= t->dims[i];
	for (int64_t i = 0; i < n; i++) {
		int64_t k = q->n > 1 ? i / inner % q->n : 0;
		float zero = q->zero ? (float)q->zero[k] : 0;
		float r = rintf(v[i] / q->scale[k]) + zero;

		v[i] = ((r < lo ? lo : r > hi ? hi : r) - zero) * q->scale[k];
	}
}

static void show(struct run *r, const struct vtac_interp *io, const struct vtac_tensor *t)
{
	if (io->tensor)
		io->tensor(io->priv, t, value(r->values, t));
	if (!t->n_users && !t->data) {
		free(r->values[t->id]);
		r->values[t->id] = NULL;
	}
}

static void drop_inputs(struct run *r, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (!t || t->data || --r->left[t->id])
			continue;
		free(r->values[t->id]);
		r->values[t->id] = NULL;
	}
}

static int run_node(struct run *r, unsigned int at, const struct vtac_interp *io)
{
	const struct vtac_node *node = r->f->g->nodes[at];

	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && make_value(r, node->out[i]))
			return -1;
	if (vtac_is_shape_op(node->op))
		run_eval(node, r->values);
	if (run_calls(&r->f->steps[at], r->f->g->crew, r->values))
		return fail_run(r, node, "No memory to compute it", NULL);
	for (unsigned int i = 0; i < node->n_out; i++) {
		if (!node->out[i])
			continue;
		round_given(node->out[i], r->values[node->out[i]->id]);
		show(r, io, node->out[i]);
	}
	drop_inputs(r, node);
	return 0;
}

static int give_inputs(struct run *r, const struct vtac_interp *io)
{
	struct vtac_graph *g = r->f->g;

	for (unsigned int i = 0; i < g->n_inputs; i++) {
		const struct vtac_tensor *t = g->inputs[i];

		if (make_value(r, t))
			return -1;
		if (io->input(io->priv, t, r->values[t->id]))
			return fail_run(r, NULL, "No values for input", t);
		round_given(t, r->values[t->id]);
		show(r, io, t);
	}
	return 0;
}

static int run_nodes(struct run *r, const struct vtac_interp *io)
{
	const struct vtac_graph *g = r->f->g;
	unsigned int n = io->nodes ? io->nodes : g->n_nodes;
	int err = give_inputs(r, io);

	for (unsigned int i = 0; i < n && !err; i++) {
		err = io->ended && io->ended(io->priv) ? -1 : run_node(r, i, io);
		if (io->progress)
			io->progress(io->priv, i + 1, n);
	}
	/* Outputs of the graph that are constants have no producer to show them. */
	for (unsigned int i = 0; i < g->n_outputs && !err; i++)
		if (g->outputs[i]->data)
			show(r, io, g->outputs[i]);
	return err;
}

int vtac_float_run(struct vtac_float *f, const struct vtac_interp *io)
{
	struct run r = { f, calloc(f->g->next_id + 1u, sizeof(*r.values)),
			 calloc(f->g->next_id + 1u, sizeof(*r.left)) };
	int err = -1;

	if (r.values && r.left)
		err = run_nodes(&r, io);
	for (unsigned int i = 0; r.values && i < f->g->next_id; i++)
		free(r.values[i]);
	free(r.values);
	free(r.left);
	return err;
}

struct vtac_graph *vtac_float_graph(const struct vtac_float *f)
{
	return f->g;
}

/* As a run makes and frees values: uses that are left are counted in @left. */
static uint64_t most_bytes(const struct vtac_graph *g, unsigned int *left)
{
	uint64_t now = 0, most = 0;

	for (unsigned int i = 0; i < g->n_inputs; i++) {
		now += (uint64_t)vtac_bytes(g->inputs[i]);
		left[g->inputs[i]->id] = g->inputs[i]->n_users;
	}
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];

		for (unsigned int k = 0; k < node->n_out; k++) {
			now += node->out[k] ? (uint64_t)vtac_bytes(node->out[k]) : 0;
			if (node->out[k])
				left[node->out[k]->id] = node->out[k]->n_users;
		}
		most = now > most ? now : most;
		for (unsigned int k = 0; k < node->n_in; k++)
			if (node->in[k] && !node->in[k]->data && !--left[node->in[k]->id])
				now -= (uint64_t)vtac_bytes(node->in[k]);
		for (unsigned int k = 0; k < node->n_out; k++)
			if (node->out[k] && !node->out[k]->n_users)
				now -= (uint64_t)vtac_bytes(node->out[k]);
	}
	return now > most ? now : most;
}

uint64_t vtac_float_bytes(const struct vtac_float *f)
{
	unsigned int *left = calloc(f->g->next_id + 1u, sizeof(*left));
	uint64_t bytes = left ? most_bytes(f->g, left) : UINT64_MAX;

	free(left);
	return bytes;
}

int vtac_interp_float(struct vtac_graph *g, const struct vtac_interp *io)
{
	struct vtac_float *f = vtac_float_new(g);
	int err = f ? vtac_float_run(f, io) : -1;

	vtac_float_free(f);
	return err;
}
