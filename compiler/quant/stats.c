// SPDX-License-Identifier: Apache-2.0
/* Ranges of tensors: run the float graph on images, and count each value. */
#include <math.h>
#include <string.h>

#include "passes/passes.h"
#include "quant_impl.h"

/* Bins twice as wide, until @most is within them. */
static void widen_bins(struct vtac_stats *s, float most)
{
	while (most >= s->range) {
		for (unsigned int i = 0; i < VTAC_BINS / 2; i++)
			s->hist[i] = s->hist[2 * i] + s->hist[2 * i + 1];
		memset(s->hist + VTAC_BINS / 2, 0, sizeof(s->hist) / 2);
		s->range *= 2;
	}
}

/* Vectors at any address. GCC makes two instructions of each where registers are shorter. */
typedef float floats_t __attribute__((vector_size(32), aligned(4)));
typedef int32_t ints_t __attribute__((vector_size(32), aligned(4)));
typedef float half_t __attribute__((vector_size(16), aligned(4)));
typedef double doubles_t __attribute__((vector_size(32), aligned(8)));

#define LANES	8
/* Lane by lane @a where @mask is set, else @b. */
#define CHOOSE(mask, a, b)	((floats_t)(((mask) & (ints_t)(a)) | (~(mask) & (ints_t)(b))))

/* Values of a channel: their range, to which 0 belongs, their sum, and if all are finite */
struct range {
	float lo, hi;
	double sum;
	bool finite;
};

VTAC_CLONES
static void find_range(const float *v, int64_t n, struct range *r)
{
	floats_t lo = { 0 }, hi = { 0 }, odd = { 0 };	/* odd: 0, but for infinite and NaN */
	doubles_t sum = { 0 }, more = { 0 };
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		floats_t x = *(const floats_t *)(v + i);

		lo = CHOOSE(x < lo, x, lo);
		hi = CHOOSE(x > hi, x, hi);
		odd += x * 0.0f;
		sum += __builtin_convertvector(*(const half_t *)(v + i), doubles_t);
		more += __builtin_convertvector(*(const half_t *)(v + i + LANES / 2), doubles_t);
	}
	for (; i < n; i++) {
		lo[0] = v[i] < lo[0] ? v[i] : lo[0];
		hi[0] = v[i] > hi[0] ? v[i] : hi[0];
		odd[0] += v[i] * 0.0f;
		sum[0] += v[i];
	}
	sum += more;
	*r = (struct range) { .sum = sum[0] + sum[1] + sum[2] + sum[3], .finite = true };
	for (int k = 0; k < LANES; k++) {
		r->lo = lo[k] < r->lo ? lo[k] : r->lo;
		r->hi = hi[k] > r->hi ? hi[k] : r->hi;
		r->finite = r->finite && odd[k] == 0;
	}
}

/*
 * Histograms in turn: many values are the same, and each increment waits for the one before. All
 * fit a small cache, as they count a part at a time, whose values fit 16 bits.
 */
#define TURNS	4
#define PART	(TURNS * 32768)

VTAC_CLONES
static void count_part(uint16_t hist[TURNS][VTAC_BINS], const float *v, int64_t n, float per)
{
	const floats_t last = (floats_t){ 0 } + (float)(VTAC_BINS - 1);
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		floats_t x = *(const floats_t *)(v + i) * per;
		ints_t bin;

		x = CHOOSE(x < 0, -x, x);
		bin = __builtin_convertvector(CHOOSE(x < last, x, last), ints_t);
		for (int k = 0; k < LANES; k++)
			hist[k % TURNS][bin[k]]++;
	}
	for (; i < n; i++)
		hist[0][(int)fminf(fabsf(v[i] * per), VTAC_BINS - 1)]++;
}

static void count_bins(struct vtac_stats *s, const float *v, int64_t n)
{
	float per = (float)VTAC_BINS / s->range;

	for (int64_t at = 0; at < n; at += PART) {
		uint16_t hist[TURNS][VTAC_BINS] = { { 0 } };

		count_part(hist, v + at, n - at < PART ? n - at : PART, per);
		for (unsigned int i = 0; i < VTAC_BINS; i++)
			for (unsigned int k = 0; k < TURNS; k++)
				s->hist[i] += hist[k][i];
	}
}

/*
 * Count the ranges and means of channels, and the tensor's range. False if a value is infinite, or
 * no number.
 */
static bool count_channels(struct vtac_stats *s, const struct vtac_tensor *t, const float *v)
{
	int64_t plane = 1, n = t->rank ? t->dims[0] : 1;

	for (int i = 2; i < t->rank; i++)
		plane *= t->dims[i];
	for (int64_t i = 0; i < n * s->channels; i++, v += plane) {
		float *most = &s->most[i % s->channels];
		struct range r;

		find_range(v, plane, &r);
		if (!r.finite)
			return false;
		*most = fmaxf(*most, fmaxf(-r.lo, r.hi));
		if (s->bands)
			bands_count(s->bands, i % s->channels, v, plane, r.lo, r.hi);
		s->mean[i % s->channels] += r.sum / (double)(plane * n);
		s->lo = fminf(s->lo, r.lo);
		s->hi = fmaxf(s->hi, r.hi);
	}
	return true;
}

/* Values that the processor compares at once */
#define SIZES	8

VTAC_CLONES
static float find_greatest(const float *v, int64_t n)
{
	float most[SIZES] = { 0 };
	int64_t i = 0;

	for (; i + SIZES <= n; i += SIZES)
		for (int k = 0; k < SIZES; k++) {
			float size = fabsf(v[i + k]);

			most[k] = size > most[k] ? size : most[k];
		}
	for (; i < n; i++)
		most[0] = fabsf(v[i]) > most[0] ? fabsf(v[i]) : most[0];
	for (int k = 1; k < SIZES; k++)
		most[0] = most[k] > most[0] ? most[k] : most[0];
	return most[0];
}

/* clang 14 gives functions that it clones another name for other files. */
float greatest_size(const float *v, int64_t n)
{
	return find_greatest(v, n);
}

static void count_values(struct vtac_stats *s, const float *v, int64_t n)
{
	float most = fmaxf(-s->lo, s->hi);

	if (!s->range)
		s->range = most > 0 ? most * VTAC_STATS_MARGIN : 0;
	if (!s->range)
		return;
	widen_bins(s, most);
	count_bins(s, v, n);
	s->count += (uint64_t)n;
}

/* The card's tensors alone need stats: a detector has thousands of others. */
static bool touches_card(const struct vtac_tensor *t)
{
	if (t->producer && t->producer->device == VTAC_CARD)
		return true;
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->device == VTAC_CARD)
			return true;
	return false;
}

/* Stats of a tensor of floats that the card has, before any image is counted. */
static int make_stats(struct vtac_graph *g, struct vtac_tensor *t, bool bands)
{
	struct vtac_stats *s;

	if (t->dtype != VTAC_F32 || !vtac_elements(t) || !touches_card(t))
		return 0;
	s = vtac_alloc(g, 1, sizeof(*s));
	if (!s)
		return -1;
	s->channels = t->rank >= 2 ? t->dims[1] : 1;
	s->mean = vtac_alloc(g, (uint64_t)s->channels, sizeof(s->mean[0]));
	s->most = vtac_alloc(g, (uint64_t)s->channels, sizeof(s->most[0]));
	if (!s->mean || !s->most)
		return -1;
	if (bands && t->rank >= 2) {
		s->bands = bands_new(g, s->channels);
		if (!s->bands)
			return -1;
	}
	t->stats = s;
	return 0;
}

/* Stats of all tensors that a run of @nodes nodes shows, 0 for all. */
static int make_all_stats(struct vtac_graph *g, unsigned int nodes, bool bands)
{
	unsigned int n = nodes ? nodes : g->n_nodes;

	for (unsigned int i = 0; i < g->n_tensors; i++)
		g->tensors[i]->stats = NULL;
	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (make_stats(g, g->inputs[i], bands))
			return -1;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < g->nodes[i]->n_out; k++)
			if (g->nodes[i]->out[k] && make_stats(g, g->nodes[i]->out[k], bands))
				return -1;
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (g->outputs[i]->data && make_stats(g, g->outputs[i], bands))
			return -1;
	return 0;
}

/* In the order of the images */
static void count_tensor(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct lane *lane = priv;

	if (!t->stats || !lane_turn(lane, t->id))
		return;
	if (count_channels(t->stats, t, data)) {
		count_values(t->stats, data, vtac_elements(t));
		for (unsigned int i = 0; i < t->n_users; i++)
			if (t->users[i]->hessian && t->users[i]->in[0] == t)
				vtac_gptq_observe(t->users[i], data);
	} else {
		lane_fail(lane, t);
	}
	lane_pass(lane, t->id);
}

static int count_image(void *priv, struct lane *lane)
{
	const struct lane_work *work = priv;
	const struct vtac_interp io = {
		.input = lane_input, .tensor = count_tensor, .ended = lane_ended,
		.nodes = work->nodes, .priv = lane };

	return vtac_float_run(work->graphs[0], &io);
}

/* Means are sums while images are counted. */
static void scale_means(struct vtac_graph *g, double by)
{
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_stats *s = g->tensors[i]->stats;

		for (int64_t k = 0; s && k < s->channels; k++)
			s->mean[k] *= by;
	}
}

/* Count the first @max images, and add them to @before others. */
static int count_images(struct vtac_graph *g, const struct vtac_options *opt, unsigned int max,
			unsigned int nodes, unsigned int before)
{
	const struct vtac_images *images = opt->images;
	struct lane_work work = {
		.g = g, .opt = opt, .images = images, .what = "calibrating", .nodes = nodes,
		.count = images->count < max ? images->count : max,
		.turns = g->next_id, .run = count_image, .priv = &work,
	};
	int err;

	work.graphs[0] = vtac_float_new(g);
	if (!work.graphs[0])
		return -1;
	scale_means(g, before);
	err = lanes_run(&work);
	vtac_float_free(work.graphs[0]);
	scale_means(g, 1.0 / (before + work.count));
	if (work.bad)
		vtac_fail(g, work.bad->producer,
			  "Tensor %.120s is infinite or not a number for calibration image %u.",
			  work.bad->name, vtac_image_number(images, work.failed));
	return err;
}

int vtac_collect_stats(struct vtac_graph *g, const struct vtac_options *opt, unsigned int max,
		       unsigned int nodes, bool bands)
{
	if (!opt->images->count)
		return vtac_fail(g, NULL, "There are no images to calibrate with.");
	return make_all_stats(g, nodes, bands) ? -1 : count_images(g, opt, max, nodes, 0);
}

bool is_counted(const struct vtac_graph *base, const struct vtac_tensor *t)
{
	const struct vtac_tensor *same = vtac_tensor_find(base, t->name);

	return same && vtac_same_shape(same, t);
}

/* Stats of the tensors that @base lacks. Sets the number of nodes up to the last of these. */
static int make_stats_beside(struct vtac_graph *g, const struct vtac_graph *base,
			     unsigned int *nodes)
{
	*nodes = 0;
	for (unsigned int i = 0; i < g->n_tensors; i++)
		g->tensors[i]->stats = NULL;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		for (unsigned int k = 0; k < g->nodes[i]->n_out; k++) {
			struct vtac_tensor *t = g->nodes[i]->out[k];

			if (!t || is_counted(base, t))
				continue;
			*nodes = i + 1;
			if (make_stats(g, t, true))
				return -1;
		}
	return 0;
}

int vtac_collect_stats_beside(struct vtac_graph *g, const struct vtac_options *opt,
			      const struct vtac_graph *base)
{
	unsigned int nodes;

	if (make_stats_beside(g, base, &nodes) ||
	    (nodes && count_images(g, opt, opt->images->count, nodes, 0)))
		return -1;
	for (unsigned int i = 0; i < g->n_tensors; i++)
		if (is_counted(base, g->tensors[i]))
			g->tensors[i]->stats =
				vtac_tensor_find(base, g->tensors[i]->name)->stats;
	return 0;
}

int vtac_add_stats(struct vtac_graph *g, const struct vtac_options *opt, unsigned int before)
{
	return count_images(g, opt, opt->images->count, 0, before);
}

int vtac_pass_stats(struct vtac_graph *g, const struct vtac_options *opt)
{
	return g->how && !g->counted ?
		vtac_collect_stats(g, opt, opt->images->count, 0, vtac_will_equalise(g)) : 0;
}

/* ---- ranges ---- */

/* Of the first i bins: how many values they have, their sum, and the sum of their squares */
struct moments {
	double n[VTAC_BINS + 1], sum[VTAC_BINS + 1], squares[VTAC_BINS + 1];
};

/* Values are in the middles of their bins, whose width is 1 here: then all sums are exact. */
static void add_up(struct moments *m, const struct vtac_stats *s)
{
	m->n[0] = 0;
	m->sum[0] = 0;
	m->squares[0] = 0;
	for (unsigned int i = 0; i < VTAC_BINS; i++) {
		m->n[i + 1] = m->n[i] + s->hist[i];
		m->sum[i + 1] = m->sum[i] + s->hist[i] * (i + 0.5);
		m->squares[i + 1] = m->squares[i] + s->hist[i] * (i + 0.5) * (i + 0.5);
	}
}

/* The sum of squared errors, in bins, if values are cut off behind @bins bins. */
static double error_of(const struct moments *m, unsigned int bins, int levels)
{
	double step = (double)bins / levels;
	unsigned int zero = (unsigned int)ceil(step / 2 - 0.5);
	double cut = (m->squares[VTAC_BINS] - m->squares[bins]) -
		     2.0 * bins * (m->sum[VTAC_BINS] - m->sum[bins]) +
		     (double)bins * bins * (m->n[VTAC_BINS] - m->n[bins]);

	/* The error of a value that rounds to 0 is the value. */
	return cut + m->squares[zero] + (m->n[bins] - m->n[zero]) * step * step / 12;
}

static unsigned int best_bins(const struct vtac_stats *s, int levels)
{
	unsigned int used = (unsigned int)(fmaxf(-s->lo, s->hi) * VTAC_BINS / s->range) + 1;
	unsigned int best = used;
	double least = INFINITY;
	struct moments m;

	add_up(&m, s);
	for (unsigned int i = 64; i > 6; i--) {
		unsigned int bins = (unsigned int)((uint64_t)used * i / 64);
		double e = bins ? error_of(&m, bins, levels) : INFINITY;

		if (e < least) {
			least = e;
			best = bins;
		}
	}
	return best;
}

static unsigned int percentile_bins(const struct vtac_stats *s, double percentile)
{
	double left = (double)s->count * (1 - percentile / 100), counted = 0;
	unsigned int i = VTAC_BINS;

	while (i > 1 && counted + s->hist[i - 1] <= left)
		counted += s->hist[--i];
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

/* The greatest values are taken for a tail: as many as their number's root, and these at least. */
#define TAIL_LEAST	4

/*
 * The greatest of N values is M, and beyond a lower threshold they are b on average: a tail is
 * taken for exponential. With a range R the squared error of a value is R^2 / (12 levels^2) by
 * rounding, and 2 b^2 exp((M - R) / b) / N by clipping. The sum is least with
 *	R = M + b ln(12 levels^2 b / (N R))
 */
float vtac_stats_beyond(const struct vtac_stats *s, int levels)
{
	double wanted = fmax(sqrt((double)s->count), TAIL_LEAST), n = 0, sum = 0, beyond, odds;
	float most = fmaxf(-s->lo, s->hi);
	unsigned int i = VTAC_BINS;

	if (!s->range || !(most > 0))
		return most;
	while (i > 0 && n < wanted) {
		i--;
		n += (double)s->hist[i];
		sum += (double)s->hist[i] * (i + 0.5);
	}
	if (n < 1)
		return most;
	beyond = (sum / n - i) * (double)s->range / VTAC_BINS;
	odds = 12.0 * levels * levels * beyond / ((double)s->count * (double)most);
	return odds > 1 ? most + (float)(beyond * log(odds)) : most;
}
