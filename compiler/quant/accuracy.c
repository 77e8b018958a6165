// SPDX-License-Identifier: Apache-2.0
/*
 * Integers against floats: the signal to noise ratio of each quantised tensor, and how
 * often the greatest output is the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "quant_impl.h"

struct measure {
	struct vtac_graph *real, *quantised;
	struct vtac_float *floats, *integers;	/* the same graphs */
	const struct vtac_images *images;
	struct vtac_known *known;	/* NULL: all tensors are compared */
	const struct vtac_tensor **as;	/* by tensor id of the quantised one; NULL: not compared */
	bool *wanted;			/* by tensor id of the float graph: compared */
	const bool *scores;		/* by tensor id of the quantised one: scores.c */
	uint64_t bytes;			/* of these */
	/* Sums that images add to in their turns: one for a tensor, and the last one. */
	double *signal, *noise;		/* by tensor id of the quantised graph */
	double *each;			/* likewise, of scores: each image's ratio, in dB */
	struct vtac_accuracy *accuracy;
};

struct image {
	struct measure *m;
	float **values;			/* of the float graph, by tensor id */
	int64_t best, best_float;	/* greatest outputs; -1: none yet */
};

static void keep_values(void *priv, const struct vtac_tensor *t, const void *data)
{
	const struct lane *lane = priv;
	struct image *image = lane->own;

	if (!image->m->wanted[t->id] || image->values[t->id])
		return;
	image->values[t->id] = malloc((size_t)vtac_bytes(t) + 1);
	if (image->values[t->id])
		memcpy(image->values[t->id], data, (size_t)vtac_bytes(t));
}

static float real_value(const struct vtac_tensor *t, const void *data, int64_t i, int64_t plane)
{
	float by = t->channel_scale ? t->channel_scale[i / plane % t->dims[1]] : 1;
	const struct vtac_quant *q = &t->quant;

	if (t->dtype == VTAC_F32)
		return ((const float *)data)[i] * by;
	return q->scale[0] * by *
	       (float)(((const int8_t *)data)[i] - (q->zero ? q->zero[0] : 0));
}

/* Returns the number of values of a channel that are contiguous. */
static int64_t plane_of(const struct vtac_tensor *t)
{
	int64_t n = 1;

	for (int i = 2; i < t->rank; i++)
		n *= t->dims[i];
	return n;
}

static int64_t greatest(const float *v, int64_t n)
{
	int64_t best = 0;

	for (int64_t i = 1; i < n; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

/* Signal to noise of results that are exact */
#define EXACT	100000000000000000000.0

/* The ratio of a noise of 0 is written as 200 dB. */
static double ratio(double signal, double noise)
{
	if (signal <= 0)
		return 0;
	return noise <= signal / EXACT ? 200 : 10 * log10(signal / noise);
}

/* The float graph's outputs are the other's in the same order, under any name. */
static const struct vtac_tensor *same_tensor(const struct measure *m, const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;
	const struct vtac_tensor *as;

	for (unsigned int i = 0; i < m->quantised->n_outputs; i++)
		if (m->quantised->outputs[i] == t)
			return m->real->outputs[i];
	as = vtac_tensor_find(m->real, t->name);
	/* The sum of a pair (precision.c) has the values of the coarse tensor. */
	if (!as && node && node->op == VTAC_SUB && node->in[0]->producer &&
	    node->in[0]->producer->op == VTAC_DEQUANTIZE)
		as = vtac_tensor_find(m->real,
				      vtac_before_copies(node->in[0]->producer->in[0])->name);
	return as;
}

/* Sums of squares, of the wanted values and of errors */
struct squares {
	double signal, noise;
};

static void add_squares(struct squares *to, float want, float got)
{
	to->signal += (double)want * (double)want;
	to->noise += ((double)want - (double)got) * ((double)want - (double)got);
}

/*
 * Adds up squares of @all values, and of @numbers: masks and quotients of zeros say nothing of
 * noise. Notes the greatest of the first output.
 */
static int compare(struct image *image, const struct vtac_tensor *t, const void *data,
		   const float *want, struct squares *all, struct squares *numbers)
{
	const struct vtac_graph *g = image->m->quantised;
	int64_t n = vtac_elements(t), plane = plane_of(t);
	float *got = malloc((size_t)n * sizeof(*got) + 1);

	if (!got)
		return -1;
	for (int64_t i = 0; i < n; i++) {
		got[i] = real_value(t, data, i, plane);
		add_squares(all, want[i], got[i]);
		if (isfinite(want[i]) && isfinite(got[i]))
			add_squares(numbers, want[i], got[i]);
	}
	if (g->n_outputs && g->outputs[0] == t) {
		image->best = greatest(got, n);
		image->best_float = greatest(want, n);
	}
	free(got);
	return 0;
}

static void compare_values(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct lane *lane = priv;
	struct image *image = lane->own;
	struct measure *m = image->m;
	const float *want = m->as[t->id] ? image->values[m->as[t->id]->id] : NULL;
	struct squares all = { 0 }, numbers = { 0 };

	if (!m->as[t->id])
		return;
	if (!want || compare(image, t, data, want, &all, &numbers)) {
		lane_fail(lane, NULL);		/* no memory */
		return;
	}
	if (!lane_turn(lane, t->id))
		return;
	m->signal[t->id] += all.signal;
	m->noise[t->id] += all.noise;
	m->each[t->id] += m->scores[t->id] ? ratio(numbers.signal, numbers.noise) : 0;
	lane_pass(lane, t->id);
}

static void count_answers(const struct image *image, unsigned int number)
{
	const unsigned int *classes = image->m->images->classes;
	struct vtac_accuracy *a = image->m->accuracy;

	a->images++;
	a->agree += image->best >= 0 && image->best == image->best_float;
	if (!classes)
		return;
	a->right += image->best == (int64_t)classes[number];
	a->right_float += image->best_float == (int64_t)classes[number];
}

static int run_graphs(struct measure *m, struct lane *lane)
{
	const struct vtac_interp floats = { .input = lane_input, .tensor = keep_values,
					    .ended = lane_ended, .priv = lane };
	const struct vtac_interp integers = { .input = lane_input, .tensor = compare_values,
					      .ended = lane_ended, .priv = lane };

	if (m->floats && vtac_float_run(m->floats, &floats))
		return -1;
	if (vtac_float_run(m->integers, &integers))
		return -1;
	if (lane_turn(lane, m->quantised->next_id)) {
		count_answers(lane->own, lane->image);
		lane_pass(lane, m->quantised->next_id);
	}
	return 0;
}

static int run_image(void *priv, struct lane *lane)
{
	struct measure *m = priv;
	struct image image = { m, NULL, -1, -1 };
	int err;

	image.values = m->known ? m->known->values + (size_t)lane->image * m->known->ids :
		       calloc(m->real->next_id + 1u, sizeof(*image.values));
	if (!image.values)
		return -1;
	lane->own = &image;
	err = run_graphs(m, lane);
	lane->own = NULL;
	if (m->known)
		return err;
	for (unsigned int i = 0; i < m->real->next_id; i++)
		free(image.values[i]);
	free(image.values);
	return err;
}

/* ---- the tensors that are compared ---- */

static bool can_compare(const struct vtac_tensor *as, const struct vtac_tensor *t)
{
	return as && as->dtype == VTAC_F32 && vtac_same_shape(as, t) &&
	       (t->dtype == VTAC_F32 ||
		(t->dtype == VTAC_I8 && t->quant.scale && t->quant.n == 1));
}

static void pair_tensor(struct measure *m, const struct vtac_tensor *t)
{
	const struct vtac_tensor *as = same_tensor(m, t);

	if (m->as[t->id] || !can_compare(as, t))
		return;
	m->as[t->id] = as;
	m->bytes += m->wanted[as->id] ? 0 : (uint64_t)vtac_bytes(as);
	m->wanted[as->id] = true;
}

const struct vtac_tensor *vtac_before_copies(const struct vtac_tensor *t)
{
	while (t->producer && t->producer->op == VTAC_COPY)
		t = t->producer->in[0];
	return t;
}

static int pair_tensors(struct measure *m)
{
	struct vtac_graph *g = m->quantised;

	m->scores = vtac_find_scores(g);
	m->as = calloc(g->next_id + 1u, sizeof(const struct vtac_tensor *));
	m->wanted = calloc(m->real->next_id + 1u, sizeof(*m->wanted));
	if (!m->as || !m->wanted || !m->scores)
		return vtac_fail(m->quantised, NULL, "Out of memory.");
	for (unsigned int i = 0; i < g->n_tensors && !m->known; i++)
		pair_tensor(m, g->tensors[i]);
	for (unsigned int i = 0; i < g->n_outputs; i++)
		pair_tensor(m, g->outputs[i]);
	for (unsigned int i = 0; i < g->n_tensors; i++)
		if (m->scores[g->tensors[i]->id])
			pair_tensor(m, g->tensors[i]);
	return 0;
}

/* Values that are known take no more memory. */
#define KNOWN_MAX	((uint64_t)16 << 20)

/* Makes room for the values of all images; without it, they are computed each time. */
static void open_known(struct measure *m)
{
	struct vtac_known *k = m->known;

	if (!k)
		return;
	if (m->bytes * m->images->count > KNOWN_MAX) {
		m->known = NULL;
		return;
	}
	if (!k->values) {
		k->ids = m->real->next_id;
		k->images = m->images->count;
		k->values = calloc((size_t)k->images * k->ids + 1, sizeof(*k->values));
	}
	if (!k->values || k->ids != m->real->next_id || k->images != m->images->count)
		m->known = NULL;
}

static bool is_known(const struct measure *m)
{
	const struct vtac_known *k = m->known;

	for (unsigned int i = 0; k && i < k->images; i++)
		for (unsigned int id = 0; id < k->ids; id++)
			if (m->wanted[id] && !k->values[(size_t)i * k->ids + id])
				return false;
	return k;
}

void vtac_known_free(struct vtac_known *k)
{
	for (size_t i = 0; k->values && i < (size_t)k->images * k->ids; i++)
		free(k->values[i]);
	free(k->values);
}

static int run_images(struct measure *m, const struct vtac_options *opt)
{
	struct lane_work work = {
		.g = m->quantised, .opt = opt, .images = m->images, .count = m->images->count,
		.what = "measuring", .turns = m->quantised->next_id + 1, .run = run_image,
		.priv = m,
	};
	bool known;
	int err;

	if (pair_tensors(m))
		return -1;
	open_known(m);
	known = is_known(m);
	m->floats = known ? NULL : vtac_float_new(m->real);
	m->integers = vtac_float_new(m->quantised);
	work.graphs[0] = m->floats;
	work.graphs[1] = m->integers;
	work.bytes = m->known ? 0 : m->bytes;
	err = (known || m->floats) && m->integers ? lanes_run(&work) : 1;
	vtac_float_free(m->floats);
	vtac_float_free(m->integers);
	return err;
}

int vtac_measure(struct vtac_graph *real, struct vtac_graph *quantised,
		 const struct vtac_options *opt, const struct vtac_images *images,
		 struct vtac_known *known, struct vtac_accuracy *a)
{
	struct measure m = { .real = real, .quantised = quantised, .images = images,
			     .known = known, .accuracy = a };
	int err = -1;

	*a = (struct vtac_accuracy){ .n_sqnr = quantised->next_id, .labelled = images->classes };
	a->sqnr = vtac_alloc(quantised, quantised->next_id, sizeof(*a->sqnr));
	m.signal = vtac_alloc(quantised, quantised->next_id, sizeof(*m.signal));
	m.noise = vtac_alloc(quantised, quantised->next_id, sizeof(*m.noise));
	m.each = vtac_alloc(quantised, quantised->next_id, sizeof(*m.each));
	a->each = m.each;
	if (a->sqnr && m.signal && m.noise && m.each)
		err = run_images(&m, opt);
	free(m.as);
	free(m.wanted);
	for (unsigned int i = 0; !err && i < quantised->next_id; i++) {
		a->sqnr[i] = ratio(m.signal[i], m.noise[i]);
		m.each[i] /= images->count;
	}
	if (!err && quantised->n_outputs)
		a->output_sqnr = a->sqnr[quantised->outputs[0]->id];
	return err;
}
