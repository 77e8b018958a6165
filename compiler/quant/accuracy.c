// SPDX-License-Identifier: Apache-2.0
/*
 * Integers against floats: the signal to noise ratio of each quantised tensor, and how
 * often the greatest output is the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interp.h"
#include "passes/passes.h"
#include "quant.h"

struct measure {
	struct vtac_graph *real, *quantised;
	const struct vtac_images *images;
	unsigned int image;
	float **values;			/* of the float graph, by tensor id */
	double *signal, *noise;		/* by tensor id of the quantised graph */
	double *each;			/* likewise: the sum of each image's ratio, in dB */
	int64_t best, best_float;	/* greatest outputs; -1: none yet */
};

static int read_input(void *priv, const struct vtac_tensor *t, void *data)
{
	struct measure *m = priv;

	return vtac_read_image(m->quantised, m->images, m->image, t, data);
}

static void keep_values(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct measure *m = priv;

	if (t->dtype != VTAC_F32 || m->values[t->id])
		return;
	m->values[t->id] = malloc((size_t)vtac_bytes(t) + 1);
	if (m->values[t->id])
		memcpy(m->values[t->id], data, (size_t)vtac_bytes(t));
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
	for (unsigned int i = 0; i < m->quantised->n_outputs; i++)
		if (m->quantised->outputs[i] == t)
			return m->real->outputs[i];
	return vtac_tensor_find(m->real, t->name);
}

static void compare_values(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct measure *m = priv;
	const struct vtac_tensor *as = same_tensor(m, t);
	const float *want = as ? m->values[as->id] : NULL;
	int64_t n = vtac_elements(t), plane = plane_of(t);
	double signal = 0, noise = 0;
	float *got;

	if (!want || !vtac_same_shape(as, t) ||
	    (t->dtype != VTAC_F32 && !(t->dtype == VTAC_I8 && t->quant.scale && t->quant.n == 1)))
		return;
	got = malloc((size_t)n * sizeof(*got) + 1);
	for (int64_t i = 0; got && i < n; i++) {
		got[i] = real_value(t, data, i, plane);
		signal += (double)want[i] * (double)want[i];
		noise += ((double)want[i] - (double)got[i]) * ((double)want[i] - (double)got[i]);
	}
	m->signal[t->id] += signal;
	m->noise[t->id] += noise;
	m->each[t->id] += ratio(signal, noise);
	if (got && m->quantised->n_outputs && m->quantised->outputs[0] == t) {
		m->best = greatest(got, n);
		m->best_float = greatest(want, n);
	}
	free(got);
}

static int run_image(struct measure *m, struct vtac_float *real, struct vtac_float *quantised)
{
	const struct vtac_interp floats = { .input = read_input, .tensor = keep_values, .priv = m };
	const struct vtac_interp integers = {
		.input = read_input, .tensor = compare_values, .priv = m };
	int err = vtac_float_run(real, &floats) || vtac_float_run(quantised, &integers);

	for (unsigned int i = 0; i < m->real->next_id; i++) {
		free(m->values[i]);
		m->values[i] = NULL;
	}
	return err ? -1 : 0;
}

static void count_answers(const struct measure *m, struct vtac_accuracy *a)
{
	const unsigned int *classes = m->images->classes;

	a->images++;
	a->agree += m->best >= 0 && m->best == m->best_float;
	if (!classes)
		return;
	a->right += m->best == (int64_t)classes[m->image];
	a->right_float += m->best_float == (int64_t)classes[m->image];
}

static int run_images(struct measure *m, const struct vtac_options *opt, struct vtac_accuracy *a)
{
	struct vtac_float *real = vtac_float_new(m->real);
	struct vtac_float *quantised = vtac_float_new(m->quantised);
	int err = real && quantised ? 0 : -1;

	for (m->image = 0; m->image < m->images->count && !err; m->image++) {
		m->best = -1;
		m->best_float = -1;
		err = run_image(m, real, quantised);
		count_answers(m, a);
		if (opt->progress)
			opt->progress(opt->progress_priv, "measuring", m->image + 1,
				      m->images->count);
	}
	vtac_float_free(real);
	vtac_float_free(quantised);
	return err;
}

int vtac_measure(struct vtac_graph *real, struct vtac_graph *quantised,
		 const struct vtac_options *opt, const struct vtac_images *images,
		 struct vtac_accuracy *a)
{
	struct measure m = { .real = real, .quantised = quantised, .images = images };
	int err = -1;

	*a = (struct vtac_accuracy){ .n_sqnr = quantised->next_id, .labelled = images->classes };
	a->sqnr = vtac_alloc(quantised, quantised->next_id, sizeof(*a->sqnr));
	m.signal = vtac_alloc(quantised, quantised->next_id, sizeof(*m.signal));
	m.noise = vtac_alloc(quantised, quantised->next_id, sizeof(*m.noise));
	m.each = vtac_alloc(quantised, quantised->next_id, sizeof(*m.each));
	m.values = calloc(real->next_id + 1u, sizeof(*m.values));
	a->each = m.each;
	if (a->sqnr && m.signal && m.noise && m.each && m.values)
		err = run_images(&m, opt, a);
	for (unsigned int i = 0; !err && i < quantised->next_id; i++) {
		a->sqnr[i] = ratio(m.signal[i], m.noise[i]);
		m.each[i] /= images->count;
	}
	if (!err && quantised->n_outputs)
		a->output_sqnr = a->sqnr[quantised->outputs[0]->id];
	free(m.values);
	return err;
}
