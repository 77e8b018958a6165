// SPDX-License-Identifier: Apache-2.0
/* Run a graph in float. A tensor's memory lives from its producer to its last user. */
#include <math.h>
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
	void **values;		/* by tensor id */
	unsigned int *left;	/* uses of it that are to come, likewise */
	unsigned int threads;
	void *scratch;
	size_t scratch_bytes;
};

/* ---- one node ---- */

static int bind(struct vtac_graph *g, struct step *s, const struct vtac_node *node)
{
	return vtac_is_shape_op(node->op) ? 0 : vtac_calls(g, node, &s->calls, &s->n_calls);
}

static size_t scratch_of(const struct step *s, unsigned int threads)
{
	size_t bytes = 0;

	for (unsigned int i = 0; i < s->n_calls; i++) {
		size_t own = vtac_shared_scratch(&s->calls[i], threads);

		bytes = own > bytes ? own : bytes;
	}
	return bytes;
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

static void run_calls(const struct step *s, unsigned int threads, void *const *values,
		      void *scratch)
{
	for (unsigned int i = 0; i < s->n_calls; i++) {
		const struct vtac_call *c = &s->calls[i];
		void *io[VTACPU_OPERANDS_MAX] = { NULL };

		for (unsigned int k = 0; k < c->need.operands; k++)
			io[k] = value(values, c->io[k]);
		vtac_run_shared(c, threads, io, scratch);
	}
}

static void run_eval(const struct vtac_node *node, void *const *values)
{
	const void *in[3] = { NULL };

	for (unsigned int i = 0; i < node->n_in && i < 3; i++)
		in[i] = value(values, node->in[i]);
	vtac_eval(node, in, value(values, node->out[0]));
}

static void *scratch_new(size_t bytes)
{
	return aligned_alloc(64, (bytes + 127) & ~(size_t)63);
}

int vtac_run_constant(struct vtac_graph *g, struct vtac_node *node, void *const *out)
{
	struct step s = { 0 };
	void *scratch;

	/* With data its outputs are found as constants are. */
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i])
			node->out[i]->data = out[i];
	if (bind(g, &s, node))
		return -1;
	scratch = scratch_new(scratch_of(&s, 1));
	if (!scratch)
		return vtac_fail(g, node, "Out of memory.");
	if (vtac_is_shape_op(node->op))
		run_eval(node, NULL);
	run_calls(&s, 1, NULL, scratch);
	free(scratch);
	return 0;
}

/* ---- a graph ---- */

struct vtac_float *vtac_float_new(struct vtac_graph *g)
{
	struct vtac_float *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->g = g;
	f->threads = vtac_threads();
	f->steps = calloc(g->n_nodes + 1u, sizeof(*f->steps));
	f->values = calloc(g->next_id + 1u, sizeof(*f->values));
	f->left = calloc(g->next_id + 1u, sizeof(*f->left));
	if (!f->steps || !f->values || !f->left) {
		vtac_fail(g, NULL, "Out of memory.");
		goto fail;
	}
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		if (bind(g, &f->steps[i], g->nodes[i]))
			goto fail;
		if (scratch_of(&f->steps[i], f->threads) > f->scratch_bytes)
			f->scratch_bytes = scratch_of(&f->steps[i], f->threads);
	}
	f->scratch = scratch_new(f->scratch_bytes);
	if (f->scratch)
		return f;
	vtac_fail(g, NULL, "Out of memory.");
fail:
	vtac_float_free(f);
	return NULL;
}

static void free_values(struct vtac_float *f)
{
	for (unsigned int i = 0; f->values && i < f->g->next_id; i++) {
		free(f->values[i]);
		f->values[i] = NULL;
	}
}

void vtac_float_free(struct vtac_float *f)
{
	if (!f)
		return;
	free_values(f);
	free(f->steps);
	free(f->values);
	free(f->left);
	free(f->scratch);
	free(f);
}

static int make_value(struct vtac_float *f, const struct vtac_tensor *t)
{
	size_t bytes = ((size_t)vtac_bytes(t) + 127) & ~(size_t)63;

	f->values[t->id] = (uint64_t)vtac_bytes(t) > f->g->arena.limit ? NULL :
		aligned_alloc(64, bytes);
	f->left[t->id] = t->n_users;
	if (!f->values[t->id])
		return vtac_fail(f->g, t->producer, "No memory for its output %.120s.", t->name);
	return 0;
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

static void show(struct vtac_float *f, const struct vtac_interp *io, const struct vtac_tensor *t)
{
	if (io->tensor)
		io->tensor(io->priv, t, value(f->values, t));
	if (!t->n_users && !t->data) {
		free(f->values[t->id]);
		f->values[t->id] = NULL;
	}
}

static void drop_inputs(struct vtac_float *f, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (!t || t->data || --f->left[t->id])
			continue;
		free(f->values[t->id]);
		f->values[t->id] = NULL;
	}
}

static int run_node(struct vtac_float *f, unsigned int at, const struct vtac_interp *io)
{
	const struct vtac_node *node = f->g->nodes[at];

	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && make_value(f, node->out[i]))
			return -1;
	if (vtac_is_shape_op(node->op))
		run_eval(node, f->values);
	run_calls(&f->steps[at], f->threads, f->values, f->scratch);
	for (unsigned int i = 0; i < node->n_out; i++) {
		if (!node->out[i])
			continue;
		round_given(node->out[i], f->values[node->out[i]->id]);
		show(f, io, node->out[i]);
	}
	drop_inputs(f, node);
	return 0;
}

static int give_inputs(struct vtac_float *f, const struct vtac_interp *io)
{
	for (unsigned int i = 0; i < f->g->n_inputs; i++) {
		const struct vtac_tensor *t = f->g->inputs[i];

		if (make_value(f, t))
			return -1;
		if (io->input(io->priv, t, f->values[t->id]))
			return vtac_fail(f->g, NULL, "No values for input %.120s.", t->name);
		round_given(t, f->values[t->id]);
		show(f, io, t);
	}
	return 0;
}

int vtac_float_run(struct vtac_float *f, const struct vtac_interp *io)
{
	unsigned int n = io->nodes ? io->nodes : f->g->n_nodes;
	int err = give_inputs(f, io);

	for (unsigned int i = 0; i < n && !err; i++) {
		err = run_node(f, i, io);
		if (io->progress)
			io->progress(io->priv, i + 1, n);
	}
	/* Outputs of the graph that are constants have no producer to show them. */
	for (unsigned int i = 0; i < f->g->n_outputs && !err; i++)
		if (f->g->outputs[i]->data)
			show(f, io, f->g->outputs[i]);
	free_values(f);
	return err;
}

int vtac_interp_float(struct vtac_graph *g, const struct vtac_interp *io)
{
	struct vtac_float *f = vtac_float_new(g);
	int err = f ? vtac_float_run(f, io) : -1;

	vtac_float_free(f);
	return err;
}
