// SPDX-License-Identifier: GPL-2.0-only
/* Tests of stats: ranges, means and histograms of tensors against plain loops; and of Hessians. */
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

/* Divisors of channels that are far apart, and no powers of two */
static float divisor(int64_t c)
{
	return 0.01f * (float)((c * 37 + 5) % 997 + 1);
}

static int divided_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	int64_t n = vtac_elements(t), plane = n / t->dims[1];

	if (image(priv, i, t, values))
		return -1;
	for (int64_t k = 0; k < n; k++)
		values[k] /= divisor(k / plane);
	return 0;
}

/* Collect stats of an input of @channels channels, each of 5 x @width. */
static struct vtac_tensor *collect(struct net *net, int64_t channels, int64_t width,
				   int (*read)(void *priv, unsigned int i,
					       const struct vtac_tensor *t, float *values))
{
	const struct vtac_images images = { .count = IMAGES, .read = read };
	const struct vtac_options opt = { .no_card = true, .images = &images };
	struct vtac_tensor *x;

	net_begin(net, 51);
	x = net_input(net, channels, 5, width);
	net_output(net, net_relu(net, x, "relu"));
	net->g->nodes[0]->device = VTAC_CARD;
	if (vtac_run_passes(net->g, &opt, "shape") ||
	    vtac_collect_stats(net->g, &opt, IMAGES, 0, true))
		fail_msg("%s", net->g->error.text);
	return x;
}

/* The greatest difference of the shares of values up to any size, of the same range */
static double farthest(const struct vtac_stats *a, const struct vtac_stats *b)
{
	double most = 0, sum = 0, of_b = 0;

	for (unsigned int i = 0, k = 0; i < VTAC_BINS; i++) {
		sum += (double)a->hist[i];
		while (k < VTAC_BINS && (float)k * b->range <= (float)i * a->range)
			of_b += (double)b->hist[k++];
		most = fmax(most, fabs(sum - of_b) / (double)a->count);
	}
	return most;
}

static void check_divided(const struct vtac_stats *got, const struct vtac_stats *want)
{
	static const enum vtac_range methods[] = { VTAC_RANGE_MSE, VTAC_RANGE_PERCENTILE };
	uint64_t count = 0;

	assert_true(got->lo == want->lo && got->hi == want->hi);
	assert_int_equal(got->count, want->count);
	for (int64_t c = 0; c < want->channels; c++) {
		assert_true(got->most[c] == want->most[c]);
		assert_true(fabs(got->mean[c] - want->mean[c]) <= 0.00001 * want->most[c]);
	}
	/* No value is lost, however few there are. */
	for (unsigned int i = 0; i < VTAC_BINS; i++)
		count += got->hist[i];
	assert_int_equal(count, want->count);
	assert_true(farthest(got, want) < 0.05);
	for (unsigned int i = 0; i < 2; i++) {
		float a = vtac_stats_range(got, methods[i], 99, 255);
		float b = vtac_stats_range(want, methods[i], 99, 255);

		assert_true(fabsf(a - b) <= b / 16);
	}
}

TEST(divided_channels_have_the_stats_of_their_values)
{
	static const int64_t sizes[][2] = { { 64, 1 }, { 64, 13 }, { 7, 200 } };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct vtac_tensor *x, *y;
		struct vtac_stats *divided;
		struct net net, other;
		float by[64];

		for (int64_t c = 0; c < sizes[i][0]; c++)
			by[c] = divisor(c);
		x = collect(&net, sizes[i][0], sizes[i][1], image);
		y = collect(&other, sizes[i][0], sizes[i][1], divided_image);
		divided = vtac_stats_divided(net.g, x->stats, by);
		assert_non_null(divided);
		check_divided(divided, y->stats);
		net_end(&other);
		net_end(&net);
	}
}

/* One divisor of all channels moves no value to another bin. */
TEST(stats_divided_by_one_number_are_exact)
{
	float by[16];
	struct vtac_stats *divided;
	const struct vtac_tensor *x;
	struct net net;

	for (int c = 0; c < 16; c++)
		by[c] = 4;
	x = collect(&net, 16, 9, image);
	divided = vtac_stats_divided(net.g, x->stats, by);
	assert_non_null(divided);
	assert_memory_equal(divided->hist, x->stats->hist, sizeof(divided->hist));
	assert_true(divided->hi == x->stats->hi / 4 && divided->range == x->stats->range / 4);
	net_end(&net);
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
		    vtac_collect_stats(net.g, &opt, IMAGES, 0, false))
			fail_msg("%s", net.g->error.text);
		check_stats(x);
		assert_true(y->stats->hi == x->stats->hi);
		/* No node of the card reads or makes it. */
		assert_null(z->stats);
		net_end(&net);
	}
}

/* ---- Hessians ---- */

#define TAPS	(6 * 9)

/* Neighbours are alike, as in photographs: weights' errors add up. */
static int smooth(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	int64_t n = vtac_elements(t);

	image(priv, i, t, values);
	for (int64_t k = 1; k < n; k++)
		values[k] = 0.9f * values[k - 1] + 0.1f * values[k];
	return 0;
}

/* A convolution whose Hessian has all images. */
static struct vtac_node *observe(struct net *net)
{
	const struct vtac_images images = { .count = IMAGES, .read = smooth };
	const struct vtac_options opt = { .no_card = true, .images = &images };
	struct vtac_node *node;

	net_begin(net, 52);
	net_output(net, net_conv(net, net_input(net, 6, 8, 8), "conv", 6, 4, 3));
	node = net_find(net, "conv");
	node->device = VTAC_CARD;
	if (vtac_run_passes(net->g, &opt, "shape") ||
	    vtac_gptq_select(net->g, NULL, IMAGES, IMAGES) ||
	    vtac_collect_stats(net->g, &opt, IMAGES, 0, true))
		fail_msg("%s", net->g->error.text);
	assert_non_null(node->hessian);
	return node;
}

/* Round the node's weights, with the divisors that its Hessian has. */
static void round_all(struct vtac_node *node, int8_t *q)
{
	struct vtac_rounding channels[VTAC_GPTQ_CHANNELS];

	for (int c = 0; c < VTAC_GPTQ_CHANNELS; c++)
		channels[c] = (struct vtac_rounding) {
			(const float *)node->in[1]->data + c * TAPS, 0.03f, q + c * TAPS };
	assert_int_equal(vtac_gptq_factorise(node->hessian, 0), 0);
	vtac_gptq_round(node->hessian, 0, channels, VTAC_GPTQ_CHANNELS, 127);
}

/* The sum of the squared errors of @node's outputs by weights @q, on all images. */
static double error_by(const struct vtac_node *node, const int8_t *q)
{
	const struct vtac_tensor *x = node->in[0];
	const float *w = node->in[1]->data;
	float values[6 * 8 * 8];
	double sum = 0;

	for (unsigned int i = 0; i < IMAGES; i++) {
		smooth(NULL, i, x, values);
		for (int at = 0; at < VTAC_GPTQ_CHANNELS * 6 * 6; at++) {
			int c = at / 36, y = at / 6 % 6, col = at % 6;
			double off = 0;

			for (int k = 0; k < TAPS; k++) {
				int from = k / 9 * 64 + (y + k / 3 % 3) * 8 + col + k % 3;

				off += (q[c * TAPS + k] * 0.03 - (double)w[c * TAPS + k]) *
					(double)values[from];
			}
			sum += off * off;
		}
	}
	return sum;
}

/* The factor is kept for the divisors that it was made for, and for no others. */
TEST(factors_belong_to_their_divisors)
{
	const float one_by[6] = { 1, 1, 1, 1, 1, 1 }, by[6] = { 1, 20, 0.5f, 3, 7, 0.1f };
	int8_t plain[4 * TAPS], divided[4 * TAPS], again[4 * TAPS], nearest[4 * TAPS];
	struct vtac_node *node, *other;
	struct vtac_hessian *whole;
	struct net net, fresh;

	node = observe(&net);
	whole = node->hessian;
	round_all(node, plain);
	assert_int_equal(vtac_gptq_divide(net.g, node, by), 0);
	round_all(node, divided);
	assert_memory_not_equal(divided, plain, sizeof(plain));
	node->hessian = whole;
	round_all(node, again);
	assert_memory_equal(again, plain, sizeof(plain));
	assert_int_equal(vtac_gptq_divide(net.g, node, one_by), 0);
	round_all(node, again);
	assert_memory_equal(again, plain, sizeof(plain));

	other = observe(&fresh);
	assert_int_equal(vtac_gptq_divide(fresh.g, other, by), 0);
	round_all(other, again);
	assert_memory_equal(again, divided, sizeof(divided));

	for (int i = 0; i < 4 * TAPS; i++)
		nearest[i] = (int8_t)rintf(((const float *)node->in[1]->data)[i] / 0.03f);
	assert_true(error_by(node, plain) < 0.8 * error_by(node, nearest));
	net_end(&net);
	net_end(&fresh);
}
