// SPDX-License-Identifier: GPL-2.0-only
/* What values tensors have: the float graph is run on images, and each value counted. */
#include <math.h>
#include <string.h>

#include "quant.h"

struct run {
	struct vtac_graph *g;
	const struct vtac_images *images;
	unsigned int image;
	bool failed;
};

/* Bins twice as wide, until @most is within them. */
static void widen(struct vtac_stats *s, float most)
{
	while (most >= s->range) {
		for (unsigned int i = 0; i < VTAC_BINS / 2; i++)
			s->hist[i] = s->hist[2 * i] + s->hist[2 * i + 1];
		memset(s->hist + VTAC_BINS / 2, 0, sizeof(s->hist) / 2);
		s->range *= 2;
	}
}

static void count_values(struct vtac_stats *s, const float *v, int64_t n)
{
	float lo = s->lo, hi = s->hi, most, per;

	for (int64_t i = 0; i < n; i++) {
		lo = v[i] < lo ? v[i] : lo;
		hi = v[i] > hi ? v[i] : hi;
	}
	s->lo = lo;
	s->hi = hi;
	most = -lo > hi ? -lo : hi;
	if (!s->range)
		s->range = most > 0 ? most * 1.01f : 0;
	if (!s->range)
		return;
	widen(s, most);
	per = (float)VTAC_BINS / s->range;
	for (int64_t i = 0; i < n; i++) {
		unsigned int bin = (unsigned int)(fabsf(v[i]) * per);

		s->hist[bin < VTAC_BINS ? bin : VTAC_BINS - 1]++;
	}
	s->count += (uint64_t)n;
}

static void count_means(struct vtac_stats *s, const struct vtac_tensor *t, const float *v)
{
	int64_t plane = 1, n = t->rank ? t->dims[0] : 1;

	for (int i = 2; i < t->rank; i++)
		plane *= t->dims[i];
	for (int64_t i = 0; i < n * s->channels; i++) {
		float most = s->most[i % s->channels];
		double sum = 0;

		for (int64_t k = 0; k < plane; k++) {
			sum += v[i * plane + k];
			most = fmaxf(most, fabsf(v[i * plane + k]));
		}
		s->mean[i % s->channels] += sum / (double)(plane * n);
		s->most[i % s->channels] = most;
	}
}

static struct vtac_stats *stats_of(struct run *r, struct vtac_tensor *t)
{
	struct vtac_stats *s = t->stats;

	if (s)
		return s;
	s = vtac_alloc(r->g, 1, sizeof(*s));
	if (!s)
		return NULL;
	s->channels = t->rank >= 2 ? t->dims[1] : 1;
	s->mean = vtac_alloc(r->g, (uint64_t)s->channels, sizeof(s->mean[0]));
	s->most = vtac_alloc(r->g, (uint64_t)s->channels, sizeof(s->most[0]));
	if (!s->mean || !s->most)
		return NULL;
	t->stats = s;
	return s;
}

static bool finite_values(const float *v, int64_t n)
{
	float sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += v[i] * 0.0f;
	return sum == 0;
}

static void seen(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct run *r = priv;
	int64_t n = vtac_elements(t);
	struct vtac_stats *s;

	if (t->dtype != VTAC_F32 || !n || r->failed)
		return;
	/* The graph belongs to the compiler: only stats are written. */
	s = stats_of(r, (struct vtac_tensor *)t);
	if (!s) {
		r->failed = true;
		return;
	}
	if (!finite_values(data, n)) {
		r->failed = true;
		vtac_fail(r->g, t->producer,
			  "Tensor %.120s is infinite or not a number for calibration image %u.",
			  t->name, r->image);
		return;
	}
	count_values(s, data, n);
	if (t->rank < 2 || t->dims[1])
		count_means(s, t, data);
}

static int fill(void *priv, const struct vtac_tensor *t, void *data)
{
	struct run *r = priv;

	if (t->dtype != VTAC_F32)
		return vtac_fail(r->g, NULL, "Input %.120s is not float: it cannot be calibrated.",
				 t->name);
	if (r->images->read(r->images->priv, r->image, t, data))
		return vtac_fail(r->g, NULL, "Calibration image %u cannot be read.", r->image);
	return 0;
}

static void finish(struct vtac_graph *g, unsigned int images)
{
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_stats *s = g->tensors[i]->stats;

		for (int64_t k = 0; s && k < s->channels; k++)
			s->mean[k] /= images;
	}
}

int vtac_calibrate(struct vtac_graph *g, const struct vtac_options *opt,
		   const struct vtac_images *images)
{
	struct run r = { .g = g, .images = images };
	const struct vtac_interp io = { .input = fill, .tensor = seen, .priv = &r };
	struct vtac_float *f;
	int err = 0;

	if (!images->count)
		return vtac_fail(g, NULL, "There are no images to calibrate with.");
	for (unsigned int i = 0; i < g->n_tensors; i++)
		g->tensors[i]->stats = NULL;
	f = vtac_float_new(g);
	if (!f)
		return -1;
	for (; r.image < images->count && !err; r.image++) {
		if (opt->progress)
			opt->progress(opt->progress_priv, "calibrating", r.image, images->count);
		err = vtac_float_run(f, &io) || r.failed ? -1 : 0;
	}
	if (opt->progress && !err)
		opt->progress(opt->progress_priv, "calibrating", r.image, images->count);
	vtac_float_free(f);
	if (!err)
		finish(g, images->count);
	return err;
}

/* ---- ranges ---- */

/* The sum of squared errors, if values are cut off behind @bins bins. */
static double error_of(const struct vtac_stats *s, unsigned int bins, int levels)
{
	double width = s->range / (double)VTAC_BINS, top = bins * width, step = top / levels;
	double cut = 0, within = 0;

	for (unsigned int i = 0; i < VTAC_BINS; i++) {
		double over = (i + 0.5) * width - top;

		/* What rounds to 0 has its own value as error. */
		if (i < bins && (i + 0.5) * width < step / 2)
			within += s->hist[i] * (i + 0.5) * (i + 0.5) * width * width;
		else if (i < bins)
			within += s->hist[i] * step * step / 12;
		else
			cut += s->hist[i] * over * over;
	}
	return cut + within;
}

static unsigned int best_bins(const struct vtac_stats *s, int levels)
{
	unsigned int used = (unsigned int)(fmaxf(-s->lo, s->hi) * VTAC_BINS / s->range) + 1;
	unsigned int best = used;
	double least = INFINITY;

	for (unsigned int i = 64; i > 6; i--) {
		unsigned int bins = (unsigned int)((uint64_t)used * i / 64);
		double e = bins ? error_of(s, bins, levels) : INFINITY;

		if (e < least) {
			least = e;
			best = bins;
		}
	}
	return best;
}

static unsigned int percentile_bins(const struct vtac_stats *s, double percentile)
{
	double left = (double)s->count * (1 - percentile / 100), seen_so_far = 0;
	unsigned int i = VTAC_BINS;

	while (i > 1 && seen_so_far + s->hist[i - 1] <= left)
		seen_so_far += s->hist[--i];
	return i;
}

float vtac_stats_range(const struct vtac_stats *s, enum vtac_range method, double percentile,
		       int levels)
{
	float most = fmaxf(-s->lo, s->hi), cut;

	if (!s->range || method == VTAC_RANGE_MAX)
		return most;
	if (method != VTAC_RANGE_PERCENTILE)
		cut = s->range * (float)best_bins(s, levels) / VTAC_BINS;
	else
		cut = s->range * (float)percentile_bins(s, percentile ? percentile : 99.99) /
		      VTAC_BINS;
	return cut < most ? cut : most;
}
