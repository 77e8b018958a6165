// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the scales of activations (compiler/quant/scales.c). */

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"
#include "quant/quant.h"

/* Values of up to 400, most of them up to 4 */
static int wide_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct net image = { .seed = i };

	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = (k % 4 ? 1.0f : 100.0f) * ((float)net_random(&image, 8001) / 1000 - 4);
	return 0;
}

/* A function of @kind behind a convolution that passes on its input */
static void make_net(struct net *net, enum vtacpu_act_kind kind)
{
	struct vtac_tensor *x;
	struct vtac_node *node;
	float *w;

	net_begin(net, 1);
	x = net_conv(net, net_input(net, 16, 8, 8), "conv", 16, 16, 1);
	w = (float *)(uintptr_t)x->producer->in[1]->data;
	for (int i = 0; i < 16 * 16; i++)
		w[i] = i / 16 == i % 16;
	node = net_node(net, VTAC_UNARY, "function", x, NULL, NULL);
	node->attr.unary.kind = kind;
	net_output(net, node->out[0]);
}

/*
 * Integers of a Sigmoid's or Tanh's input reach as far as results change, not as far as values do:
 * here these are 60 and 130 times as far.
 */
TEST(inputs_of_functions_reach_as_far_as_results_change)
{
	static const enum vtacpu_act_kind kinds[] = { VTACPU_ACT_SIGMOID, VTACPU_ACT_TANH };
	const struct vtac_images images = { .count = 4, .read = wide_image };
	const struct vtac_quant_options how = { .range = VTAC_RANGE_MAX,
						.equalise = VTAC_EQUALISE_NONE };

	for (unsigned int i = 0; i < 2; i++) {
		struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
		const struct vtac_tensor *t;
		struct net net;

		make_net(&net, kinds[i]);
		net_core(&opt);
		assert_int_equal(vtac_run_passes(net.g, &opt, "quantise"), 0);
		t = vtac_tensor_find(net.g, "conv");
		assert_non_null(t);
		assert_int_equal(t->dtype, VTAC_I8);
		assert_true(t->quant.scale[0] < (i ? 0.03f : 0.06f));
		net_end(&net);
	}
}

/* The linker gives the compiler the second one for the first. */
typedef float range_fn(const struct vtac_stats *s, enum vtac_range method, double percentile,
		       int levels);
range_fn __real_vtac_stats_range, __wrap_vtac_stats_range;

static unsigned int asked;

float __wrap_vtac_stats_range(const struct vtac_stats *s, enum vtac_range method, double percentile,
			      int levels)
{
	asked++;
	return __real_vtac_stats_range(s, method, percentile, levels);
}

/* Returns how often scales of @n Sigmoids, one behind the other, need the range of a tensor. */
static unsigned int ranges_of_chain(unsigned int n)
{
	const struct vtac_images images = { .count = 1, .read = wide_image };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE,
		.merge = VTAC_MERGE_NONE, .functions = VTAC_FUNCTIONS_FAST,
		.padding = VTAC_PADDING_ZERO };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	struct vtac_tensor *x;
	struct net net;

	net_core(&opt);
	net_begin(&net, 1);
	x = net_conv(&net, net_input(&net, 16, 2, 2), "conv", 16, 16, 1);
	for (unsigned int i = 0; i < n; i++) {
		struct vtac_node *node = net_node(&net, VTAC_UNARY, vtac_text(net.g, "s%u", i), x,
						  NULL, NULL);

		node->attr.unary.kind = VTACPU_ACT_SIGMOID;
		x = node->out[0];
	}
	net_output(&net, x);
	if (vtac_run_passes(net.g, &opt, "stats"))
		fail_msg("%s", net.g->error.text);
	asked = 0;
	for (unsigned int i = 0; i < 2; i++)
		net_pass(&net, i ? vtac_pass_zero_point : vtac_pass_residual, &opt);
	net_end(&net);
	return asked;
}

/* No Sigmoid asks down to the end of its chain. */
TEST(chains_of_sigmoids_take_linear_work)
{
	unsigned int few = ranges_of_chain(20), many = ranges_of_chain(80);

	assert_true(few >= 20);
	assert_in_range(many, few, 5 * few);
}
