// SPDX-License-Identifier: GPL-2.0-only
/* Tests of results of 16 bits along skip connections (compiler/quant/skip.c, precision_auto.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"
#include "lower/program.h"
#include "quant/quant.h"

#define CHANNELS	16
#define SIDE		8

static const struct vtac_images images = { .count = 9, .read = net_random_image };

static struct vtac_quant_options plain(enum vtac_precision precision)
{
	return (struct vtac_quant_options) {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE,
		.merge = VTAC_MERGE_NONE, .padding = VTAC_PADDING_ZERO,
		.precision = precision, .extra_cycles = 100 };
}

/*
 * Convolutions "c0", "c1" and so on, each of which but the first adds what the one before it made,
 * "a1" and so on. The result of the first is limited to @most, unless that is 0.
 */
static void skips(struct net *net, unsigned int n, float most)
{
	struct vtac_tensor *x;
	struct vtac_node *node;

	net_begin(net, 5);
	x = net_conv(net, net_input(net, CHANNELS, SIDE, SIDE), "c0", CHANNELS, CHANNELS, 1);
	if (most > 0) {
		node = net_node(net, VTAC_CLIP, "clip", x, NULL, NULL);
		node->attr.clip.lo = 0;
		node->attr.clip.hi = most;
		x = node->out[0];
	}
	for (unsigned int i = 1; i < n; i++) {
		struct vtac_tensor *y = net_conv(net, x, vtac_text(net->g, "c%u", i), CHANNELS,
						 CHANNELS, 1);
		float *w = (float *)(uintptr_t)y->producer->in[1]->data;

		for (int k = 0; k < CHANNELS * CHANNELS; k++)
			w[k] /= CHANNELS;
		x = net_node(net, VTAC_ADD, vtac_text(net->g, "a%u", i), x, y, NULL)->out[0];
	}
	net_output(net, x);
}

static int compile(struct net *net, struct vtac_options *opt)
{
	struct vtac_program p;

	opt->no_prune = true;
	opt->images = &images;
	if (vtac_run_passes(net->g, opt, NULL) || vtac_lower(net->g, opt, &p))
		return -1;
	vtac_program_free(&p);
	return 0;
}

/* Returns the low halves that there are. */
static unsigned int count_lows(const struct net *net)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < net->g->n_nodes; i++)
		n += net->g->nodes[i]->post.low;
	return n;
}

/* The first result cannot have 16 bits: it keeps 8, with the @reason, unless the user names it. */
static void stays_at_8(unsigned int acc_buff, unsigned int n, float most, const char *reason)
{
	static const enum vtac_precision asked[] = { VTAC_PRECISION_8, VTAC_PRECISION_16,
						     VTAC_PRECISION_AUTO, VTAC_PRECISION_8 };

	for (unsigned int i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const struct vtac_precision_option c0 = { "c0", VTAC_PRECISION_16 };
		struct vtac_quant_options how = plain(asked[i]);
		struct vtac_options opt = { .quant = &how, .precisions = i == 3 ? &c0 : NULL,
					    .n_precisions = i == 3 };
		struct net net;
		int err;

		net_core(&opt);
		opt.core.log_acc_buff_size = acc_buff;
		assert_int_equal(vtaops_core_init(&opt.core), 0);
		skips(&net, n, most);
		err = compile(&net, &opt);
		if (i == 3) {
			assert_int_equal(err, -1);
			assert_non_null(strstr(net.g->error.text, "stays at 8 bits"));
			assert_non_null(strstr(net.g->error.text, reason));
		} else if (err) {
			fail_msg("%s", net.g->error.text);
		}
		if (i == 1) {
			const struct vtac_node *node = net_find(&net, "c0");

			assert_non_null(node->coarse_why);
			assert_string_equal(node->coarse_why, reason);
			assert_false(node->precise);
		}
		if (i < 3)
			assert_int_equal(net_find(&net, "c0")->device, VTAC_CARD);
		net_end(&net);
	}
}

/* ACC has room for an element and its three vectors, but not for a low half. */
TEST(core_without_room_keeps_8_bits)
{
	stays_at_8(8, 4, 0, "the core has no room for it");
}

/* Sums of weights so much greater than a limited result are shifted by less than 8. */
TEST(coarse_sums_keep_8_bits)
{
	stays_at_8(17, 2, 0.00001f, "its sums are too coarse for it");
}

/* All others have 16 bits, as they are asked to. */
TEST(skip_connections_have_16_bits)
{
	struct vtac_quant_options how = plain(VTAC_PRECISION_16);
	struct vtac_options opt = { .quant = &how };
	struct net net;

	net_core(&opt);
	skips(&net, 5, 0);
	if (compile(&net, &opt))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(count_lows(&net), 4);
	assert_null(net_find(&net, "c0")->coarse_why);
	net_end(&net);
}

/* Biases of a first result with 16 bits are the nearest integers, none of which a start moved. */
TEST(biases_of_16_bits_do_not_move)
{
	struct vtac_quant_options how = plain(VTAC_PRECISION_16);
	struct vtac_options opt = { .quant = &how };
	const struct vtac_post *post;
	const float *b;
	struct net net;

	how.no_bias_correction = true;
	net_core(&opt);
	skips(&net, 3, 0);
	b = net_find(&net, "c0")->in[2]->data;
	if (compile(&net, &opt))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(count_lows(&net), 2);
	post = &net_find(&net, "c0")->post;
	for (int c = 0; c < CHANNELS; c++) {
		int32_t shift = post->shift[post->per_channel ? c : 0];
		double scale = (double)net_find(&net, "c0")->out[0]->quant.scale[0];
		double off = post->bias[c] - b[c] / scale * exp2(shift) - exp2(shift - 1);

		if (fabs(off) > 1 + fabs(post->bias[c] * 0.000001))
			fail_msg("channel %d: %g off", c, off);
	}
	net_end(&net);
}

/* ---- groups of --precision=auto ---- */

static int count_measures(void *priv, double *noise)
{
	++*(unsigned int *)priv;
	*noise = 1;
	return 0;
}

/* However many candidates there are, and however dear each is, few groups of them are measured. */
TEST(few_groups_are_measured)
{
	static const unsigned int percents[] = { 1, 25, 400 };

	for (unsigned int i = 0; i < 3; i++) {
		static const struct vtac_noise_fns fns = { count_measures, count_measures };
		struct vtac_quant_options how = plain(VTAC_PRECISION_AUTO);
		struct vtac_options opt = { .quant = &how };
		struct vtac_options before = { .no_prune = true, .images = &images };
		struct vtac_quant_options how_before = plain(VTAC_PRECISION_8);
		unsigned int measures = 0;
		struct net net;

		how.extra_cycles = percents[i];
		before.quant = &how_before;
		net_core(&opt);
		net_core(&before);
		skips(&net, 120, 0);
		if (vtac_run_passes(net.g, &before, "equalise"))
			fail_msg("%s", net.g->error.text);
		net.g->how = &how;
		assert_int_equal(vtac_spread_precision(net.g, &opt, 2, 1, &fns, &measures), 0);
		net.g->how = NULL;
		/* Two more decide about all that is taken. */
		assert_in_range(measures, i ? 3 : 0, 16 + 2);
		net_end(&net);
	}
}
