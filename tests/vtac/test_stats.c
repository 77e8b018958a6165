// SPDX-License-Identifier: GPL-2.0-only
/* Tests of stats: ranges, means and histograms of tensors against plain loops. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"
#include "quant/quant.h"

#define IMAGES	3u

/* Image @i: zeros, values of both signs, and greater ones than the images before. */
static int image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	uint32_t state = i + 1;

	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++) {
		state = state * 1664525u + 1013904223u;
		values[k] = state >> 30 ? (float)((int32_t)state >> 8) * (float)(i + 1) / 3e6f : 0;
	}
	return 0;
}

/* The input's stats are those of all values, added up one after the other. */
static void check_stats(const struct vtac_tensor *t)
{
	int64_t n = vtac_elements(t), plane = n / t->dims[1];
	const struct vtac_stats *s = t->stats;
	float *values = malloc((size_t)n * sizeof(*values)), lo = 0, hi = 0;
	double *mean = calloc((size_t)t->dims[1], sizeof(*mean));
	float *most = calloc((size_t)t->dims[1], sizeof(*most));
	uint64_t *hist = calloc(VTAC_BINS, sizeof(*hist));

	assert_non_null(s);
	for (unsigned int i = 0; i < IMAGES; i++) {
		image(NULL, i, t, values);
		for (int64_t k = 0; k < n; k++) {
			int64_t channel = k / plane;
			float bin = fabsf(values[k]) * ((float)VTAC_BINS / s->range);

			lo = fminf(lo, values[k]);
			hi = fmaxf(hi, values[k]);
			most[channel] = fmaxf(most[channel], fabsf(values[k]));
			mean[channel] += values[k] / (double)plane / IMAGES;
			hist[(size_t)fminf(bin, VTAC_BINS - 1)]++;
		}
	}
	assert_true(s->lo == lo && s->hi == hi && s->range > hi && s->range > -lo);
	assert_int_equal(s->count, IMAGES * n);
	assert_memory_equal(s->hist, hist, sizeof(s->hist));
	for (int64_t c = 0; c < t->dims[1]; c++) {
		assert_true(s->most[c] == most[c]);
		assert_true(fabs(s->mean[c] - mean[c]) < 0.000000001);
	}
	free(values);
	free(mean);
	free(most);
	free(hist);
}

/* Planes that no vector divides, of one value, and more values than are counted at a time. */
TEST(stats_are_those_of_all_values)
{
	static const int64_t sizes[][3] = {
		{ 3, 7, 5 }, { 19, 1, 1 }, { 2, 1, 3 }, { 3, 220, 221 },
	};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct vtac_images images = { .count = IMAGES, .read = image };
		const struct vtac_options opt = { .no_card = true, .images = &images };
		struct vtac_tensor *x, *y, *z;
		struct net net;

		net_begin(&net, 50);
		x = net_input(&net, sizes[i][0], sizes[i][1], sizes[i][2]);
		y = net_relu(&net, x, "card");
		z = net_relu(&net, y, "cpu");
		net_output(&net, z);
		y->producer->device = VTAC_CARD;
		if (vtac_run_passes(net.g, &opt, "shape") ||
		    vtac_collect_stats(net.g, &opt, IMAGES, 0))
			fail_msg("%s", net.g->error.text);
		check_stats(x);
		assert_true(y->stats->hi == x->stats->hi);
		/* No node of the card reads or makes it. */
		assert_null(z->stats);
		net_end(&net);
	}
}
