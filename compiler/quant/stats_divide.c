// SPDX-License-Identifier: Apache-2.0
/*
 * Stats of a tensor whose channels are divided: made of those that it had, without another run of
 * the network. So the values of each channel are counted in bands, eight to an octave, below the
 * channel's greatest; a band's values are taken to be spread evenly, and smaller ones for 0.
 */
#include <math.h>
#include <string.h>

#include "quant_impl.h"

/* Bits of a float's fraction that a band does not tell apart */
#define BAND_SHIFT	20

/* Of a channel: the last band is that of all smaller values */
struct vtac_bands {
	int32_t top;			/* the number of band 0 */
	float lo, hi;
	uint32_t count[VTAC_BANDS];
};

struct vtac_bands *bands_new(struct vtac_graph *g, int64_t channels)
{
	return vtac_alloc(g, (uint64_t)channels, sizeof(struct vtac_bands));
}

static int32_t band_number(float size)
{
	int32_t bits;

	memcpy(&bits, &size, sizeof(bits));
	return bits >> BAND_SHIFT;
}

/* The least value of the band with @number */
static float band_edge(int32_t number)
{
	int32_t bits = number << BAND_SHIFT;
	float edge;

	memcpy(&edge, &bits, sizeof(edge));
	return edge;
}

/* Let band 0 be that of @most, which is greater than any value before. */
static void raise_top(struct vtac_bands *b, float most)
{
	int32_t by = band_number(most) - b->top, last = VTAC_BANDS - 1;

	if (by <= 0)
		return;
	b->top += by;
	by = by < last ? by : last;
	for (int32_t i = last - by; i < last; i++)
		b->count[last] += b->count[i];
	memmove(b->count + by, b->count, (size_t)(last - by) * sizeof(b->count[0]));
	memset(b->count, 0, (size_t)by * sizeof(b->count[0]));
}

/* Counters in turn, as neighbours are often in one band, and each increment waits for the last. */
#define TURNS	4
#define LANES	8

typedef int32_t ints_t __attribute__((vector_size(32), aligned(4)));

VTAC_CLONES
static void count_sizes(uint32_t count[TURNS][VTAC_BANDS], const float *v, int64_t n, int32_t top)
{
	const ints_t last = (ints_t){ 0 } + (VTAC_BANDS - 1);
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		ints_t x, band, below;

		memcpy(&x, v + i, sizeof(x));
		band = top - ((x & INT32_MAX) >> BAND_SHIFT);
		below = band < last;
		band = (band & below) | (last & ~below);
		for (int k = 0; k < LANES; k++)
			count[k % TURNS][band[k]]++;
	}
	for (; i < n; i++) {
		int32_t band = top - band_number(fabsf(v[i]));

		count[0][band < VTAC_BANDS ? band : VTAC_BANDS - 1]++;
	}
}

void bands_count(struct vtac_bands *bands, int64_t channel, const float *v, int64_t n, float lo,
		 float hi)
{
	struct vtac_bands *b = &bands[channel];
	uint32_t count[TURNS][VTAC_BANDS] = { { 0 } };

	b->lo = fminf(b->lo, lo);
	b->hi = fmaxf(b->hi, hi);
	raise_top(b, fmaxf(-b->lo, b->hi));
	count_sizes(count, v, n, b->top);
	for (unsigned int i = 0; i < VTAC_BANDS; i++)
		for (unsigned int k = 0; k < TURNS; k++)
			b->count[i] += count[k][i];
}

/* ---- stats of divided channels ---- */

/* Values for each bin, and how this changes: sums of all before are the bins' own. */
struct spread {
	double at[VTAC_BINS + 1], slope[VTAC_BINS + 2];
};

/* Add @n values that are spread evenly from @from to @to, in bins. */
static void add_evenly(struct spread *s, double from, double to, double n)
{
	const double end = VTAC_BINS;
	unsigned int first, last;
	double each;

	to = fmin(to, end);
	from = fmin(from, to);
	first = (unsigned int)fmin(from, end - 1);
	last = (unsigned int)fmin(to, end - 1);
	if (first == last) {
		s->at[first] += n;
		return;
	}
	each = n / (to - from);
	s->at[first] += (first + 1 - from) * each;
	s->at[last] += (to - last) * each;
	s->slope[first + 1] += each;
	s->slope[last] -= each;
}

/* Add channel @b, whose values are multiplied by @by to be in bins. */
static void add_bands(struct spread *s, const struct vtac_bands *b, double by)
{
	double above = fmax(-b->lo, b->hi);

	for (int32_t i = 0; i < VTAC_BANDS; i++) {
		double below = b->top > i ? band_edge(b->top - i) : 0;

		/* Most of the values below all bands are 0. */
		if (i == VTAC_BANDS - 1)
			s->at[0] += b->count[i];
		else if (b->count[i])
			add_evenly(s, below * by, above * by, b->count[i]);
		above = below;
	}
}

static void fill_hist(struct vtac_stats *s, const struct vtac_bands *bands, const float *by)
{
	struct spread spread = { { 0 }, { 0 } };
	double slope = 0, rest = 0.5;

	for (int64_t c = 0; c < s->channels && s->range > 0; c++)
		add_bands(&spread, &bands[c], VTAC_BINS / ((double)by[c] * s->range));
	for (unsigned int i = 0; i < VTAC_BINS; i++) {
		slope += spread.slope[i];
		/* Parts of values are kept for the next bins. */
		rest += fmax(spread.at[i] + slope, 0);
		s->hist[i] = (uint64_t)rest;
		rest -= (double)s->hist[i];
	}
}

/* The bins stay as they are. */
static void divide_by_one(struct vtac_stats *s, float by)
{
	s->lo /= by;
	s->hi /= by;
	s->range /= by;
}

static void divide_channels(struct vtac_stats *s, const struct vtac_bands *bands, const float *by)
{
	s->lo = 0;
	s->hi = 0;
	for (int64_t c = 0; c < s->channels; c++) {
		s->lo = fminf(s->lo, bands[c].lo / by[c]);
		s->hi = fmaxf(s->hi, bands[c].hi / by[c]);
	}
	s->range = fmaxf(-s->lo, s->hi) * VTAC_STATS_MARGIN;
	fill_hist(s, bands, by);
}

static bool all_same(const float *v, int64_t n)
{
	for (int64_t i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

struct vtac_stats *vtac_stats_divided(struct vtac_graph *g, const struct vtac_stats *from,
				      const float *by)
{
	struct vtac_stats *s = vtac_alloc(g, 1, sizeof(*s));

	if (!s)
		return NULL;
	*s = *from;
	s->bands = NULL;
	s->mean = vtac_alloc(g, (uint64_t)s->channels, sizeof(s->mean[0]));
	s->most = vtac_alloc(g, (uint64_t)s->channels, sizeof(s->most[0]));
	if (!s->mean || !s->most)
		return NULL;
	for (int64_t c = 0; c < s->channels; c++) {
		s->mean[c] = from->mean[c] / (double)by[c];
		s->most[c] = from->most[c] / by[c];
	}
	if (all_same(by, s->channels))
		divide_by_one(s, by[0]);
	else
		divide_channels(s, from->bands, by);
	return s;
}
