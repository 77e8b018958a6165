// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of calibrate, quantise, input_affine, channel_split, merge_conv_add and gptq on small
 * networks.
 */
#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"

/* ---- quantisation that a file gives ---- */

/* Q and DQ around a convolution: its weights know their integers, and nodes are gone. */
TEST(given_quantisation_goes_to_tensors)
{
	const float scale = 0.0625f, w_scale = 0.03125f;
	const int8_t zero = 3;
	struct vtac_options opt = { 0 };
	struct vtac_tensor *s, *z, *ws, *w;
	struct vtac_node *node, *conv;
	int64_t dims[] = { 4, 3, 3, 3 };
	int8_t *integers;
	struct net net;

	net_begin(&net, 31);
	s = vtac_tensor_const(net.g, "s", VTAC_F32, 0, NULL, &scale, true);
	ws = vtac_tensor_const(net.g, "ws", VTAC_F32, 0, NULL, &w_scale, true);
	z = vtac_tensor_const(net.g, "z", VTAC_I8, 0, NULL, &zero, true);
	integers = vtac_alloc(net.g, 108, 1);
	for (int i = 0; i < 108; i++)
		integers[i] = (int8_t)(net_random(&net, 255) - 127);
	w = vtac_tensor_const(net.g, "w8", VTAC_I8, 4, dims, integers, false);
	node = net_node(&net, VTAC_QUANTIZE, "q", net_input(&net, 3, 8, 8), s, z);
	node = net_node(&net, VTAC_DEQUANTIZE, "dq", node->out[0], s, z);
	net_node(&net, VTAC_DEQUANTIZE, "dqw", w, ws, NULL);
	conv = net_node(&net, VTAC_CONV, "conv", node->out[0], vtac_tensor_find(net.g, "dqw"),
			NULL);
	assert_int_equal(vtac_node_resize_in(net.g, conv, 3), 0);
	node = vtac_tensor_find(net.g, "dqw")->producer;
	assert_int_equal(vtac_node_resize_in(net.g, node, 3), 0);
	node = conv->in[0]->producer;
	conv->attr.conv.window = (struct vtac_window){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	conv->attr.conv.groups = 1;
	node = net_node(&net, VTAC_QUANTIZE, "q2", conv->out[0], s, z);
	node = net_node(&net, VTAC_DEQUANTIZE, "dq2", node->out[0], s, z);
	net_output(&net, node->out[0]);
	net_pass(&net, vtac_pass_shape, &opt);
	net_keeps_values(&net, vtac_pass_fuse, &opt);
	assert_int_equal(net.g->n_nodes, 1);
	assert_true(conv->in[0]->quant.given && conv->in[0]->quant.zero[0] == 3);
	assert_true(conv->in[1]->quant.given && conv->in[1]->quant.type == VTAC_I8);
	assert_true(conv->out[0]->quant.given);
	net_end(&net);
}

/* An unsigned picture keeps its scale, and its zero point moves by 128: no images needed. */
TEST(given_zero_points_are_kept)
{
	const float scale = 0.0625f, y_scale = 1.5f;
	const uint8_t zero = 7, y_zero = 0;
	struct vtac_tensor *s, *z, *ys, *yz;
	struct vtac_options opt = { .no_prune = true };
	struct vtac_node *node, *conv;
	int64_t dims[] = { 4, 3, 3, 3 };
	float *w;
	struct net net;

	net_core(&opt);
	net_begin(&net, 32);
	s = vtac_tensor_const(net.g, "s", VTAC_F32, 0, NULL, &scale, true);
	z = vtac_tensor_const(net.g, "z", VTAC_U8, 0, NULL, &zero, true);
	ys = vtac_tensor_const(net.g, "ys", VTAC_F32, 0, NULL, &y_scale, true);
	yz = vtac_tensor_const(net.g, "yz", VTAC_U8, 0, NULL, &y_zero, true);
	w = vtac_alloc(net.g, 108, sizeof(*w));
	for (int i = 0; i < 108; i++)
		w[i] = (float)net_random(&net, 255) / 128 - 1;
	node = net_node(&net, VTAC_QUANTIZE, "q", net_input(&net, 3, 8, 8), s, z);
	node = net_node(&net, VTAC_DEQUANTIZE, "dq", node->out[0], s, z);
	conv = net_node(&net, VTAC_CONV, "conv", node->out[0],
			vtac_tensor_const(net.g, "w", VTAC_F32, 4, dims, w, false), NULL);
	conv->attr.conv.window = (struct vtac_window){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	conv->attr.conv.groups = 1;
	node = net_node(&net, VTAC_QUANTIZE, "q2", conv->out[0], ys, yz);
	node = net_node(&net, VTAC_DEQUANTIZE, "dq2", node->out[0], ys, yz);
	net_output(&net, node->out[0]);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(conv->device, VTAC_CARD);
	assert_float_equal(conv->in[0]->quant.scale[0], scale, 0.0001f);
	assert_int_equal(conv->in[0]->quant.zero[0], zero - 128);
	assert_float_equal(conv->out[0]->quant.scale[0], y_scale, 0.001f);
	assert_int_equal(conv->out[0]->quant.zero[0], y_zero - 128);
	net_end(&net);
}

/*
 * Quantisers leave out a Relu before integers that begin at 0. The card keeps these, also if the
 * second convolution pads, and has the zero point around its input; the CPU limits values.
 */
TEST(range_that_replaces_a_relu_limits)
{
	for (int cpu = 0; cpu < 2; cpu++) {
		struct vtac_options opt = { .no_prune = true, .no_card = cpu };
		double signal = 0, noise = 0;
		struct vtac_tensor *x;
		float *before;
		struct net net;

		net_core(&opt);
		net_begin(&net, 33);
		x = net_uint8(&net, net_input(&net, 16, 8, 8), 0.0079f, 128);
		x = net_uint8(&net, net_conv(&net, x, "first", 16, 16, 3), 0.03f, 0);
		net_output(&net, net_uint8(&net, net_conv(&net, x, "second", 16, 16, 3), 0.05f,
					   128));
		net_pass(&net, vtac_pass_shape, &opt);
		net_run(&net);
		before = net.out;
		net.out = NULL;
		if (vtac_run_passes(net.g, &opt, NULL))
			fail_msg("%s", net.g->error.text);
		assert_int_equal(net_count(&net, VTAC_CLIP), cpu ? 3 : 1);
		if (!cpu) {
			assert_int_equal(net_find(&net, "first")->post.lo, -128);
			assert_int_equal(net_find(&net, "second")->post.around, -128);
		}
		net_run(&net);
		for (int64_t i = 0; i < net.n_out; i++) {
			signal += pow(before[i], 2);
			noise += pow(before[i] - net.out[i], 2);
		}
		assert_true(noise < signal / 100);
		free(before);
		net_end(&net);
	}
}

/* ---- tensors that the file leaves without a scale ---- */

/* @net's passes without images; its values are about as before. */
static void compile_without_images(struct net *net)
{
	struct vtac_options opt = { .no_prune = true };
	double signal = 0, noise = 0;
	float *before;

	net_core(&opt);
	net_pass(net, vtac_pass_shape, &opt);
	net_run(net);
	before = net->out;
	net->out = NULL;
	if (vtac_run_passes(net->g, &opt, NULL))
		fail_msg("%s", net->g->error.text);
	net_run(net);
	for (int64_t i = 0; i < net->n_out; i++) {
		signal += pow(before[i], 2);
		noise += pow(before[i] - net->out[i], 2);
	}
	free(before);
	if (!(noise < signal / 100))
		fail_msg("noise %g, signal %g", noise, signal);
}

static struct vtac_tensor *net_pool(struct net *net, struct vtac_tensor *x, const char *name)
{
	struct vtac_node *node = net_node(net, VTAC_MAX_POOL, name, x, NULL, NULL);

	node->attr.pool = (struct vtac_window){ .kernel = { 2, 2 }, .stride = { 2, 2 },
						.dilation = { 1, 1 } };
	return node->out[0];
}

/* uint8 -> "first" -> uint8: what follows has that scale. */
static struct vtac_tensor *net_rounded(struct net *net, uint64_t seed)
{
	struct vtac_tensor *x;

	net_begin(net, seed);
	x = net_uint8(net, net_input(net, 16, 8, 8), 0.0079f, 128);
	return net_uint8(net, net_conv(net, x, "first", 16, 16, 3), 0.05f, 120);
}

/* Behind a scale, between two, and before one. */
TEST(scales_go_through_what_moves_values)
{
	struct vtac_tensor *x;
	struct net net;

	x = net_pool(&net, net_rounded(&net, 40), "pool");
	x = net_uint8(&net, net_conv(&net, x, "second", 16, 16, 3), 0.1f, 128);
	net_output(&net, net_relu(&net, x, "relu"));
	compile_without_images(&net);
	assert_int_equal(net_find(&net, "pool")->device, VTAC_CARD);
	assert_int_equal(net_find(&net, "second")->device, VTAC_CARD);
	assert_int_equal(net_find(&net, "relu")->device, VTAC_CARD);
	net_end(&net);

	x = net_conv(&net, net_rounded(&net, 41), "second", 16, 16, 3);
	x = net_uint8(&net, net_pool(&net, net_pool(&net, x, "pool"), "pool again"), 0.1f, 128);
	net_output(&net, x);
	compile_without_images(&net);
	assert_int_equal(net_find(&net, "second")->device, VTAC_CARD);
	assert_int_equal(net_find(&net, "pool again")->device, VTAC_CARD);
	net_end(&net);
}

/* The last layer's output is float in the file. */
TEST(a_layer_without_a_scale_stays_float)
{
	struct vtac_node *last;
	struct net net;

	net_output(&net, net_conv(&net, net_rounded(&net, 42), "last", 16, 16, 1));
	compile_without_images(&net);
	assert_int_equal(net_find(&net, "first")->device, VTAC_CARD);
	last = net_find(&net, "last");
	assert_int_equal(last->device, VTAC_CPU);
	assert_non_null(strstr(last->why, "no scale for last"));
	net_end(&net);
}

/* Operators that become several, and a residual that is added to an output of coarser steps. */
TEST(tensors_of_the_compiler_have_scales_too)
{
	static const enum vtac_op ops[] = { VTAC_LEAKY_RELU, VTAC_HARD_SWISH, VTAC_HARD_SIGMOID };
	struct vtac_node *node;
	struct vtac_tensor *x;
	struct net net;

	for (int i = 0; i < 3; i++) {
		node = net_node(&net, ops[i], "form", net_rounded(&net, 43), NULL, NULL);
		node->attr.unary.alpha = 0.2f;
		node->attr.unary.beta = 0.5f;
		net_output(&net, net_uint8(&net, node->out[0], i == 2 ? 1 / 255.0f : 0.05f,
					   i == 2 ? 0 : 120));
		compile_without_images(&net);
		assert_int_equal(net_find(&net, "form")->device, VTAC_CARD);
		net_end(&net);
	}
	for (int fine = 0; fine < 2; fine++) {
		x = net_rounded(&net, 44);
		node = net_node(&net, VTAC_ADD, "sum", net_conv(&net, x, "second", 16, 16, 3), NULL,
				NULL);
		assert_int_equal(vtac_node_resize_in(net.g, node, 2), 0);
		x = net_uint8(&net, net_conv(&net, x, "third", 16, 16, 1),
			      fine ? 0.0001f : 0.05f, 128);
		assert_int_equal(vtac_node_set_in(net.g, node, 1, x), 0);
		net_output(&net, net_uint8(&net, node->out[0], 0.1f, 128));
		compile_without_images(&net);
		assert_int_equal(net_find(&net, "second")->device, VTAC_CARD);
		net_end(&net);
	}
}

/* ---- inputs of integers ---- */

static int pixel_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct net dice = { .seed = 300 + i };

	(void)priv;
	assert_int_equal(t->dtype, VTAC_U8);
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = (float)net_random(&dice, 256);
	return 0;
}

/* uint8 -> Cast -> convolution: the card has the pixels themselves. */
TEST(integers_are_cast_to_floats)
{
	const struct vtac_images images = { .count = 4, .read = pixel_image };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	double signal = 0, noise = 0;
	struct vtac_tensor *x;
	struct vtac_node *cast;
	float *before;
	struct net net;

	net_core(&opt);
	net_begin(&net, 45);
	x = net_input(&net, 3, 8, 8);
	x->dtype = VTAC_U8;
	cast = net_node(&net, VTAC_CAST, "cast", x, NULL, NULL);
	cast->attr.cast.to = VTAC_F32;
	net_output(&net, net_conv(&net, cast->out[0], "conv", 3, 16, 1));
	net_pass(&net, vtac_pass_shape, &opt);
	net_pass(&net, vtac_pass_fuse, &opt);
	assert_float_equal(net_find(&net, "conv")->in[0]->quant.scale[0], 1, 0);
	net_run(&net);
	before = net.out;
	net.out = NULL;
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(net_find(&net, "conv")->device, VTAC_CARD);
	assert_float_equal(net_find(&net, "conv")->in[0]->quant.scale[0], 1, 0);
	net_run(&net);
	for (int64_t i = 0; i < net.n_out; i++) {
		signal += pow(before[i], 2);
		noise += pow(before[i] - net.out[i], 2);
	}
	assert_true(noise < signal / 1000);
	free(before);
	net_end(&net);
}

/* ---- how to quantise ---- */

/* The weights of output channel c (@in: of input channel c) times 2^c, or divided by it. */
static void spread(struct vtac_node *conv, bool in)
{
	const struct vtac_tensor *w = conv->in[1];
	float *v = (float *)(uintptr_t)w->data;
	int64_t cols = w->dims[1], area = w->dims[2] * w->dims[3];

	for (int64_t i = 0; i < vtac_elements(w); i++) {
		int64_t c = in ? i / area % cols : i / area / cols;

		v[i] *= exp2f((float)(in ? c : -c));
	}
}

/* Of ranges that differ by 2^8, half is left for sums of channels, none for channels alone. */
TEST(channels_that_are_read_alone_are_equalised_wholly)
{
	const struct vtac_images images = { .count = 4, .read = net_random_image };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_HALF, .split = VTAC_SPLIT_NONE };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };

	for (int alone = 0; alone < 2; alone++) {
		const struct vtac_stats *stats;
		float least = INFINITY, most = 0;
		struct vtac_tensor *x, *y;
		struct net net;

		net_core(&opt);
		net_begin(&net, 36);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "first", 16, 16, 1);
		spread(x->producer, false);
		y = net_conv(&net, x, "second", alone ? 1 : 16, 16, 3);
		y->producer->attr.conv.groups = alone ? 16 : 1;
		net_output(&net, y);
		if (vtac_run_passes(net.g, &opt, "equalise"))
			fail_msg("%s", net.g->error.text);
		stats = net_find(&net, "second")->in[0]->stats;
		for (int c = 0; c < 9; c++) {
			least = fminf(least, stats->most[c]);
			most = fmaxf(most, stats->most[c]);
		}
		assert_true(alone ? most < 1.2f * least : most > 5 * least);
		net_end(&net);
	}
}

/*
 * Softmax of scores that are far apart, as here the one is positive and the other negative, is 1
 * and 0 whatever the scores' error. Channels of very different ranges need equalisation: the
 * trials find that, as they compare the scores.
 */
TEST(trials_compare_scores)
{
	const struct vtac_images images = { .count = 6, .read = net_random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images };
	struct vtac_node *node;
	struct vtac_tensor *x;
	struct net net;

	net_core(&opt);
	net_begin(&net, 34);
	x = net_conv(&net, net_input(&net, 16, 8, 8), "first", 16, 16, 3);
	spread(x->producer, false);
	x = net_conv(&net, net_relu(&net, x, "relu"), "second", 16, 2, 1);
	spread(x->producer, true);
	for (int64_t i = 0; i < 2 * 16; i++) {
		float *w = (float *)(uintptr_t)x->producer->in[1]->data + i;

		*w = fabsf(*w) * (i < 16 ? 1000 : -1000);
	}
	node = net_node(&net, VTAC_SOFTMAX, "softmax", x, NULL, NULL);
	node->attr.axis.axis = 1;
	net_output(&net, node->out[0]);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(net_find(&net, "second")->device, VTAC_CARD);
	assert_int_equal(net_find(&net, "softmax")->device, VTAC_CPU);
	assert_int_equal(net.g->how->equalise, VTAC_EQUALISE_FULL);
	net_end(&net);
}

/* All channels alike. */
static int grey_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct net dice = { .seed = 200 + i };
	int64_t plane = t->dims[2] * t->dims[3];

	(void)priv;
	for (int64_t k = 0; k < plane; k++)
		for (int64_t c = 0; c < t->dims[1]; c++)
			values[c * plane + k] = c ? values[k] :
						(float)net_random(&dice, 2001) / 1000 - 1;
	return 0;
}

/* The most that a channel's weights of "conv" are wrong by in sum, in steps. */
static float wrong_sum(const struct vtac_quant_options *how)
{
	const struct vtac_images images = { .count = 4, .read = grey_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = how };
	const struct vtac_tensor *ints;
	float w[16 * 16], most = 0;
	struct net net;

	net_core(&opt);
	net_begin(&net, 35);
	net_output(&net, net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1));
	memcpy(w, net_find(&net, "conv")->in[1]->data, sizeof(w));
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	ints = net_find(&net, "conv")->in[1];
	assert_int_equal(ints->dtype, VTAC_I8);
	for (int c = 0; c < 16; c++) {
		float sum = 0;

		for (int i = c * 16; i < (c + 1) * 16; i++)
			sum += ((const int8_t *)ints->data)[i] - w[i] / ints->quant.scale[c];
		most = fmaxf(most, fabsf(sum));
	}
	net_end(&net);
	return most;
}

/* With like channels the error of a sum of weights counts: one makes up for others. */
TEST(weights_of_a_sum_are_rounded_together)
{
	struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };

	assert_true(wrong_sum(&how) < 0.6f);
	how.nearest = true;
	assert_true(wrong_sum(&how) > 1);
}

/* Of so many multiplications that splitting the first two layers adds less than a sixth. */
TEST(first_layers_are_split)
{
	static const char *const names[] = { "first", "second", "third", "4", "5", "6", "7" };
	const struct vtac_images images = { .count = 4, .read = net_random_image };
	struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE };

	for (int split = 0; split < 3; split++) {
		struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
		struct vtac_tensor *x;
		struct net net;

		how.split = (enum vtac_split)(VTAC_SPLIT_NONE + split);
		net_core(&opt);
		net_begin(&net, 36);
		x = net_input(&net, 16, 16, 16);
		for (int i = 0; i < 7; i++) {
			x = net_conv(&net, x, names[i], i < 2 ? 16 : 32, i < 1 ? 16 : 32,
				     i == 1 || i == 2 ? 1 : 3);
			x = net_relu(&net, x, vtac_text(net.g, "relu %s", names[i]));
		}
		net_output(&net, net_conv(&net, x, "last", 32, 16, 1));
		if (vtac_run_passes(net.g, &opt, NULL))
			fail_msg("%s", net.g->error.text);
		for (int i = 0; i < 3; i++)
			assert_int_equal(net_find(&net, names[i])->out[0]->dims[1],
					 (i ? 32 : 16) << (i < split));
		net_end(&net);
	}
}

/* ---- inputs that are pixels ---- */

/* The conversion of pixels to inputs, and to integers on the card. */
struct pixels {
	float mean[3], scale[3];
	int least, levels;	/* of pixels */
	const struct vtac_graph *g;
	unsigned int seen;	/* QUANTIZEs */
	float *out;
};

static int pixel_of(const struct pixels *p, unsigned int i, int64_t k)
{
	return p->least + (int)((k * 37 + i * 11) % p->levels);
}

static int read_pixels(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct pixels *p = priv;
	int64_t plane = t->dims[2] * t->dims[3];

	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = ((float)pixel_of(p, i, k) - p->mean[k / plane]) * p->scale[k / plane];
	return 0;
}

static int give_pixels(void *priv, const struct vtac_tensor *t, void *data)
{
	return read_pixels(priv, 9, t, data);
}

/* Only the pixels are copied to the card: channels, or squares of positions as channels. */
static void check_integers(const struct pixels *p, const struct vtac_tensor *t, const int8_t *v)
{
	int64_t side = 16 / t->dims[2];

	assert_int_equal(vtac_elements(t), 3 * 16 * 20);
	for (int64_t k = 0; k < vtac_elements(t); k++) {
		int64_t x = k % t->dims[3], y = k / t->dims[3] % t->dims[2];
		int64_t channel = k / t->dims[3] / t->dims[2], square = channel / 3;
		int64_t row = y * side + square / side, column = x * side + square % side;

		assert_int_equal(v[k], pixel_of(p, 9, (channel % 3 * 16 + row) * 20 + column) -
				 128);
	}
}

static void see_pixels(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct pixels *p = priv;

	if (vtac_is_output(p->g, t)) {
		p->out = malloc((size_t)vtac_bytes(t));
		assert_non_null(p->out);
		memcpy(p->out, data, (size_t)vtac_bytes(t));
	}
	if (!t->producer || t->producer->op != VTAC_QUANTIZE)
		return;
	check_integers(p, t, data);
	p->seen++;
}

static float *run_pixels(struct net *net, struct pixels *p)
{
	const struct vtac_interp io = { .input = give_pixels, .tensor = see_pixels, .priv = p };

	p->g = net->g;
	if (vtac_interp_float(net->g, &io))
		fail_msg("%s", net->g->error.text);
	return p->out;
}

/* Two convolutions, of which the first one pads, of three channels. */
static void pixel_net(struct net *net, int64_t stride)
{
	struct vtac_tensor *x;

	net_begin(net, 35);
	x = net_conv(net, net_input(net, 3, 16, 20), "first", 3, 16, 3);
	x->producer->attr.conv.window.stride[0] = stride;
	x->producer->attr.conv.window.stride[1] = stride;
	net_output(net, net_conv(net, net_relu(net, x, "relu"), "second", 16, 4, 1));
}

/* One scale for all or not; the first layer whole or in two parts; without strides or with. */
TEST(pixels_are_integers_on_the_card)
{
	const struct vtac_quant_options how = { .equalise = VTAC_EQUALISE_FULL };

	for (int i = 0; i < 8; i++) {
		struct pixels p = { .mean = { 103.939f, 116.779f, 123.68f },
				    .scale = { 1, 1, 1 }, .levels = 256 };
		const struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };
		struct vtac_quant_options split = how;
		struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &split };
		double signal = 0, noise = 0;
		float *before, *after;
		struct net net;

		split.split = i & 1 ? VTAC_SPLIT_FIRST : VTAC_SPLIT_NONE;
		for (int c = 0; c < 3 && i & 2; c++)
			p.scale[c] = 0.017f + 0.001f * (float)c;
		net_core(&opt);
		pixel_net(&net, i < 4 ? 1 : 2);
		net_pass(&net, vtac_pass_shape, &opt);
		before = run_pixels(&net, &p);
		if (vtac_run_passes(net.g, &opt, NULL))
			fail_msg("%s", net.g->error.text);
		assert_int_equal(net_find(&net, "first")->device, VTAC_CARD);
		assert_int_equal(net_find(&net, "first")->in[0]->dims[1], (i < 4 ? 3 : 12) + 1);
		assert_int_equal(net_count(&net, VTAC_PAD), 0);
		after = run_pixels(&net, &p);
		assert_int_equal(p.seen, 1);
		for (int64_t k = 0; k < vtac_elements(net.g->outputs[0]); k++) {
			signal += pow(before[k], 2);
			noise += pow(before[k] - after[k], 2);
		}
		assert_true(noise < signal / 1000);
		free(before);
		free(after);
		net_end(&net);
	}
}

/* Does the pass find pixels in @images? It changes nothing if not. */
static bool are_pixels(const struct vtac_images *images)
{
	struct vtac_options opt = { .no_prune = true };
	struct vtac_node *first;
	struct net net;
	bool found;

	net_core(&opt);
	pixel_net(&net, 1);
	if (vtac_run_passes(net.g, &opt, "legalize"))
		fail_msg("%s", net.g->error.text);
	first = net_find(&net, "first");
	opt.images = images;
	net_pass(&net, vtac_pass_input_affine, &opt);
	found = net.g->n_nodes > 2;
	assert_int_equal(first->in[0]->quant.given, found);
	assert_int_equal(first->attr.conv.window.pad[0], 1);
	if (found)
		assert_int_equal(first->in[0]->producer->op, VTAC_PAD);
	else
		assert_null(first->in[0]->producer);
	net_end(&net);
	return found;
}

TEST(other_inputs_are_left_alone)
{
	struct pixels p = { .mean = { 1, 2, 3 }, .scale = { 1, 0.5f, 2 }, .levels = 256 };
	struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };

	assert_true(are_pixels(&images));
	/* Fewer than show a step; more than there are integers. */
	p.levels = 31;
	assert_false(are_pixels(&images));
	p.levels = 257;
	assert_false(are_pixels(&images));
	p.levels = 256;
	/* The convolution pads with what is far from pixels, and out of reach of weights. */
	p.mean[1] = 300;
	assert_true(are_pixels(&images));
	p.mean[1] = 30000;
	assert_false(are_pixels(&images));
	p.mean[1] = 2;
	/* A channel that is always the same. */
	p.scale[2] = 0;
	assert_false(are_pixels(&images));
	images.read = net_random_image;
	assert_false(are_pixels(&images));
}

/* The greatest integer of the value 0, of any channel; the convolution pads with it. */
static double zero_of(const struct vtac_images *images)
{
	struct vtac_options opt = { .no_prune = true, .images = images };
	const struct vtac_tensor *step, *offset;
	double most = 0;
	struct net net;

	net_core(&opt);
	pixel_net(&net, 1);
	if (vtac_run_passes(net.g, &opt, "legalize"))
		fail_msg("%s", net.g->error.text);
	net_pass(&net, vtac_pass_input_affine, &opt);
	step = net_find(&net, "input/integers")->in[1];
	offset = net_find(&net, "input/shifted")->in[1];
	for (int c = 0; c < 3; c++)
		most = fmax(most, fabs(((const float *)offset->data)[c] *
				       ((const float *)step->data)[c]));
	net_end(&net);
	return most;
}

/* No calibration image is dark; images that the program gets may be. */
TEST(integers_of_bright_pixels_reach_zero)
{
	struct pixels p = { .scale = { 1, 0.5f, 2 }, .least = 100, .levels = 156 };
	const struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };

	assert_true(zero_of(&images) == 128);
	/* The integers are not enough for it. */
	p.least = 101;
	assert_true(zero_of(&images) > 128);
}

/* With residuals split, as calibration has them. */
static int merge_sums(struct vtac_graph *g, const struct vtac_options *opt)
{
	const struct vtac_images images = { .count = 3, .read = net_random_image };
	struct vtac_quant_options how = { .range = VTAC_RANGE_MSE, .merge = VTAC_MERGE_SUMS };
	struct vtac_options with = *opt;
	int err;

	with.images = &images;
	g->how = &how;
	err = vtac_pass_merge_conv_add(g, &with);
	g->how = NULL;
	return err;
}

/*
 * The beginning of ResNet's first block: x, which others read too, and what is made of x, of
 * @channels. The convolutions that are added have windows of one size, or of two.
 */
static void two_ways(struct net *net, int64_t channels, bool two_sizes)
{
	struct vtac_tensor *x, *y;
	struct vtac_node *add;

	net_begin(net, 37);
	x = net_relu(net, net_conv(net, net_input(net, 3, 8, 8), "first", 3, 16, 3), "relu");
	y = net_conv(net, net_relu(net, net_conv(net, x, "a", 16, 8, 1), "a/relu"), "b", 8,
		     channels, 3);
	y = net_conv(net, net_relu(net, y, "b/relu"), "c", channels, 40, 1);
	x = net_conv(net, x, "beside", 16, 40, two_sizes ? 3 : 1);
	add = net_node(net, VTAC_ADD, "add", y, x, NULL);
	net_output(net, net_conv(net, net_relu(net, add->out[0], "add/relu"), "last", 40, 8, 1));
}

TEST(merge_keeps_values)
{
	static const int64_t channels[] = { 16, 24, 32 };

	for (unsigned int i = 0; i < 3; i++) {
		struct vtac_options opt = { .no_prune = true };
		struct vtac_node *conv;
		struct net net;

		net_core(&opt);
		two_ways(&net, channels[i], false);
		net_pass(&net, vtac_pass_shape, &opt);
		net_pass(&net, vtac_pass_fuse, &opt);
		net_pass(&net, vtac_pass_partition, &opt);
		assert_int_equal(vtac_split_residuals(net.g), 0);
		assert_true(vtac_can_merge_conv_add(net.g, &opt));
		net_keeps_values(&net, merge_sums, &opt);
		assert_false(vtac_can_merge_conv_add(net.g, &opt));
		assert_int_equal(net_count(&net, VTAC_CONV), 5);
		assert_int_equal(net_count(&net, VTAC_ADD), 0);
		assert_int_equal(net_count(&net, VTAC_CONCAT), 1);
		conv = net_find(&net, "last")->in[0]->producer;
		assert_int_equal(conv->in[1]->dims[1], 16 + channels[i]);
		assert_int_equal(conv->act.kind, VTAC_ACT_CLIP);
		net_end(&net);
	}
}

/* On the card both inputs are written into the Concat's buffer, so it takes no cycles. */
TEST(merged_inputs_are_placed)
{
	const struct vtac_quant_options how = { .merge = VTAC_MERGE_SUMS };
	const struct vtac_images images = { .count = 6, .read = net_random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	struct vtac_node *concat;
	struct net net;

	net_core(&opt);
	two_ways(&net, 24, false);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(net_count(&net, VTAC_CONCAT), 1);
	concat = net_find(&net, "last")->in[0]->producer->in[0]->producer;
	assert_int_equal(concat->op, VTAC_CONCAT);
	for (unsigned int i = 0; i < 2; i++)
		assert_ptr_equal(concat->in[i]->home, concat->out[0]);
	net_end(&net);
}

/* Verification finds what a pass of the table would have left out. */
TEST(missing_properties_are_found)
{
	const struct vtac_quant_options how = { .equalise = VTAC_EQUALISE_NONE };
	const struct vtac_images images = { .count = 1, .read = net_random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	struct vtac_node *conv;
	struct net net;

	net_core(&opt);
	net_begin(&net, 38);
	net_output(&net, net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 3));
	assert_int_equal(vtac_run_passes(net.g, &opt, "gptq"), 0);
	assert_int_equal(vtac_graph_verify(net.g, VTAC_CHOSEN, 16), 0);
	assert_int_equal(vtac_graph_verify(net.g, VTAC_CALIBRATED, 16), -1);
	assert_int_equal(vtac_graph_verify(net.g, VTAC_SCALED, 16), -1);
	assert_int_equal(vtac_graph_verify(net.g, VTAC_REQUANTIZED, 16), -1);
	assert_int_equal(vtac_graph_verify(net.g, VTAC_PLANNED, 16), -1);
	net.g->how = NULL;
	assert_int_equal(vtac_graph_verify(net.g, VTAC_CHOSEN, 16), -1);
	net_end(&net);

	net_begin(&net, 38);
	net_output(&net, net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 3));
	assert_int_equal(vtac_run_passes(net.g, &opt, NULL), 0);
	conv = net_find(&net, "conv");
	conv->post.mul = NULL;
	assert_int_equal(vtac_graph_verify(net.g, VTAC_PLANNED, 16), 0);
	assert_int_equal(vtac_graph_verify(net.g, VTAC_REQUANTIZED, 16), -1);
	conv->out[0]->offset = -1;
	assert_int_equal(vtac_graph_verify(net.g, VTAC_PLANNED, 16), -1);
	net_end(&net);
}

TEST(other_windows_are_not_merged)
{
	const struct vtac_images images = { .count = 6, .read = net_random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images };
	struct net net;

	net_core(&opt);
	two_ways(&net, 24, true);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(net.g->how->merge, VTAC_MERGE_NONE);
	assert_int_equal(net_count(&net, VTAC_CONCAT), 0);
	net_end(&net);
}

/* ---- what is far too great or too small ---- */

static int scaled_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const float *by = priv;

	net_random_image(NULL, i, t, values);
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] *= *by;
	return 0;
}

/* Squares of the inputs are no floats: weights of one sign must not all become the least. */
TEST(great_values_leave_weights_alone)
{
	float by = 1e19f;
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };
	const struct vtac_images images = { .count = 6, .read = scaled_image, .priv = &by };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	const int8_t *ints;
	struct vtac_tensor *x;
	struct net net;

	net_core(&opt);
	net_begin(&net, 3);
	x = net_relu(&net, net_conv(&net, net_input(&net, 16, 12, 12), "first", 16, 16, 3), "relu");
	x = net_conv(&net, x, "second", 16, 8, 1);
	for (int i = 0; i < 8 * 16; i++) {
		float *w = (float *)(uintptr_t)x->producer->in[1]->data + i;

		*w = 1 - 0.3f * fabsf(*w);
	}
	net_output(&net, x);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	ints = net_find(&net, "second")->in[1]->data;
	for (int i = 0; i < 8 * 16; i++)
		assert_in_range(ints[i], 1, 127);
	net_end(&net);
}

/* Passes need no more memory than a compilation without them has. */
TEST(passes_take_no_memory_that_is_needed)
{
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };
	const struct vtac_images images = { .count = 4, .read = net_random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	struct vtac_tensor *x;
	struct net net;

	net_core(&opt);
	net_begin(&net, 5);
	net.g->arena.limit = 24 << 20;
	x = net_input(&net, 128, 26, 26);
	for (int i = 0; i < 5; i++) {
		x = net_conv(&net, x, vtac_text(net.g, "c%d", i), 128, 16, 3);
		x = net_conv(&net, x, vtac_text(net.g, "d%d", i), 16, 128, 1);
	}
	net_output(&net, x);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	net_end(&net);
}

/* ---- memory ---- */

/* Bytes that the process has allocated, at most while images are read. */
static size_t most_bytes;

static int counted_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct mallinfo2 info = mallinfo2();

	if (info.uordblks + info.hblkhd > most_bytes)
		most_bytes = info.uordblks + info.hblkhd;
	return net_random_image(priv, i, t, values);
}

/* All candidates are tried, and the network is in memory four times at most. */
TEST(candidates_that_lost_take_no_memory)
{
	const struct vtac_images images = { .count = 4, .read = counted_image };
	struct vtac_options opt = { .no_prune = true, .images = &images };
	struct mallinfo2 before = mallinfo2();
	size_t tensors = 0;
	struct vtac_tensor *x;
	cpu_set_t all, one;
	struct net net;

	/* Each thread of a convolution has memory to work in. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);

	net_core(&opt);
	net_begin(&net, 46);
	x = net_input(&net, 16, 6, 6);
	for (int i = 0; i < 6; i++) {
		x = net_conv(&net, x, vtac_text(net.g, "conv%d", i), i ? 256 : 16, 256, 3);
		tensors += (size_t)vtac_bytes(x->producer->in[1]);
		x = net_relu(&net, x, vtac_text(net.g, "relu%d", i));
	}
	net_output(&net, x);
	most_bytes = 0;
	if (vtac_run_passes(net.g, &opt, "stats"))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	for (unsigned int i = 0; i < net.g->n_nodes; i++)
		tensors += (size_t)vtac_bytes(net.g->nodes[i]->out[0]);
	print_message("# %zu bytes of tensors, %zu bytes at most\n", tensors,
		      most_bytes - before.uordblks - before.hblkhd);
	assert_true(most_bytes <= before.uordblks + before.hblkhd + 4 * tensors);
	net_end(&net);
}

/* ---- work ---- */

static int numbered_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	++*(unsigned int *)priv;
	return net_random_image(NULL, i, t, values);
}

/* Returns how many images the network runs on, for @count of calibration. */
static unsigned int runs_with(unsigned int count, const struct vtac_quant_options *how)
{
	unsigned int runs = 0;
	const struct vtac_images images = { .count = count, .read = numbered_image, .priv = &runs };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = how };
	struct vtac_tensor *x;
	struct net net;

	net_core(&opt);
	net_begin(&net, 47);
	x = net_input(&net, 16, 6, 6);
	for (int i = 0; i < 3; i++) {
		x = net_conv(&net, x, vtac_text(net.g, "conv%d", i), 16, 16, 3);
		x = net_relu(&net, x, vtac_text(net.g, "relu%d", i));
	}
	net_output(&net, x);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	net_end(&net);
	return runs;
}

/* Candidates have sets of at most 12 and 8 images: each further image is run once, for ranges. */
TEST(a_further_calibration_image_is_run_once)
{
	const struct vtac_quant_options all = { 0 }, ranges = {
		.residual = VTAC_RESIDUAL_FUSED, .equalise = VTAC_EQUALISE_HALF,
		.split = VTAC_SPLIT_NONE };
	unsigned int few = runs_with(64, &ranges), many = runs_with(256, &ranges);
	unsigned int most = runs_with(256, &all);

	print_message("# %u runs of 64 images, %u of 256; %u with all candidates\n", few, many,
		      most);
	assert_int_equal(many - few, 192);
	/* Six candidates: calibrated, and measured as floats and as integers. */
	assert_in_range(most, many, 256 + 6 * (12 + 12 + 2 * 8));
}

/* The stats of output @name after a search or, with the same options, without it. */
static struct vtac_stats stats_with(const struct vtac_quant_options *how, const char *name)
{
	const struct vtac_images images = { .count = 40, .read = net_random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = how };
	struct vtac_stats stats;
	struct vtac_tensor *x;
	struct net net;

	net_core(&opt);
	net_begin(&net, 48);
	x = net_relu(&net, net_conv(&net, net_input(&net, 16, 6, 6), "first", 16, 16, 3), "relu");
	net_output(&net, net_conv(&net, x, "second", 16, 16, 3));
	if (vtac_run_passes(net.g, &opt, "stats"))
		fail_msg("%s", net.g->error.text);
	x = net_find(&net, name)->out[0];
	assert_non_null(x->stats);
	stats = *x->stats;
	stats.mean = malloc((size_t)stats.channels * sizeof(double));
	assert_non_null(stats.mean);
	memcpy(stats.mean, x->stats->mean, (size_t)stats.channels * sizeof(double));
	net_end(&net);
	return stats;
}

/* A search counts a part of the images, and the others afterwards. */
TEST(each_image_counts_once_after_a_search)
{
	const struct vtac_quant_options given = {
		.range = VTAC_RANGE_MSE, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };
	struct vtac_quant_options searched = given;

	searched.range = VTAC_RANGE_AUTO;
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "second" : "first";
		struct vtac_stats all = stats_with(&given, name), got = stats_with(&searched, name);

		assert_int_equal(got.count, all.count);
		assert_true(got.lo == all.lo && got.hi == all.hi);
		for (int64_t c = 0; c < all.channels; c++)
			assert_float_equal(got.mean[c], all.mean[c], 0.000001);
		free(all.mean);
		free(got.mean);
	}
}

/* Steps that have no reciprocal. */
#define TINY	((float)(1 / 1e39))

TEST(tiny_pixels_are_left_alone)
{
	struct pixels p = { .scale = { TINY, TINY, TINY }, .levels = 256 };
	const struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };

	assert_false(are_pixels(&images));
}

/* ---- limits ---- */

/* The integers are what the floats are, within a hundredth of their power. */
static void check_integers_near_floats(struct net *net)
{
	const struct vtac_images images = { .count = 4, .read = net_random_image };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_HALF, .split = VTAC_SPLIT_NONE };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	double signal = 0, noise = 0;
	float *before;

	net_core(&opt);
	net_pass(net, vtac_pass_shape, &opt);
	net_run(net);
	before = net->out;
	net->out = NULL;
	if (vtac_run_passes(net->g, &opt, NULL))
		fail_msg("%s", net->g->error.text);
	net_run(net);
	for (int64_t i = 0; i < net->n_out; i++) {
		signal += pow(before[i], 2);
		noise += pow(before[i] - net->out[i], 2);
	}
	free(before);
	if (!(noise <= signal / 100))
		fail_msg("noise %g, signal %g", noise, signal);
}

static struct vtac_tensor *net_clip(struct net *net, struct vtac_tensor *x, const char *name,
				    float lo, float hi)
{
	struct vtac_node *node = net_node(net, VTAC_CLIP, name, x, NULL, NULL);

	node->attr.clip.lo = lo;
	node->attr.clip.hi = hi;
	return node->out[0];
}

/* With limits that are crossed, all values are the upper one, as in onnxruntime. */
TEST(crossed_limits_give_the_upper_one)
{
	for (int i = 0; i < 2; i++) {
		struct vtac_tensor *x;
		struct net net;

		net_begin(&net, 37);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1);
		/* A Clip of its own, or of the convolution's. */
		x = net_clip(&net, i ? x : net_relu(&net, x, "relu"), "clip", 0.5f, -0.5f);
		net_output(&net, x);
		check_integers_near_floats(&net);
		for (int64_t k = 0; k < net.n_out; k++)
			assert_float_equal(net.out[k], -0.5f, 0.01f);
		net_end(&net);
	}
}

/* A pool's output stage has limits that none of its inputs reaches: one value is left. */
TEST(limits_beyond_all_inputs_leave_the_nearest_limit)
{
	for (int below = 0; below < 2; below++) {
		struct vtac_node *pool;
		struct vtac_tensor *x;
		struct net net;

		net_begin(&net, 38);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1);
		x = net_clip(&net, x, "first", -1, 1);
		pool = net_node(&net, VTAC_MAX_POOL, "pool", x, NULL, NULL);
		pool->attr.pool = (struct vtac_window){ .kernel = { 2, 2 }, .stride = { 2, 2 },
							.dilation = { 1, 1 } };
		x = net_clip(&net, pool->out[0], "last", below ? -3 : 2, below ? -2 : 3);
		net_output(&net, x);
		check_integers_near_floats(&net);
		for (int64_t k = 0; k < net.n_out; k++)
			assert_float_equal(net.out[k], below ? -2 : 2, 0.03f);
		net_end(&net);
	}
}

static struct vtac_tensor *net_unary(struct net *net, struct vtac_tensor *x,
				     enum vtacpu_act_kind kind, const char *name)
{
	struct vtac_node *node = net_node(net, VTAC_UNARY, name, x, NULL, NULL);

	node->attr.unary.kind = kind;
	return node->out[0];
}

/* Masks of attention are: the logarithm of 0 stands for them. */
TEST(infinite_tensors_of_the_cpu_are_not_calibrated)
{
	for (int card = 0; card < 2; card++) {
		const struct vtac_images images = { .count = 3, .read = net_random_image };
		struct vtac_options opt = { .no_prune = true, .images = &images };
		struct vtac_tensor *x;
		struct net net;

		net_begin(&net, 39);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1);
		x = net_unary(&net, net_relu(&net, x, "relu"), VTACPU_ACT_LOG, "log");
		x = card ? net_conv(&net, x, "last", 16, 16, 1) :
			net_unary(&net, x, VTACPU_ACT_EXP, "exp");
		net_output(&net, x);
		net_core(&opt);
		assert_int_equal(vtac_run_passes(net.g, &opt, "quantise"), card ? -1 : 0);
		if (card)
			assert_non_null(strstr(net.g->error.text, "infinite or not a number"));
		else
			assert_int_equal(net_find(&net, "conv")->device, VTAC_CARD);
		net_end(&net);
	}
}

/* The file's integers end before a Clip's limits begin. */
TEST(the_files_range_limits_limits)
{
	struct vtac_tensor t = { 0 };
	struct vtac_node clip = { .op = VTAC_CLIP };
	const float scale = 0.01f;
	float lo, hi;

	t.quant = (struct vtac_quant){ .scale = &scale, .n = 1, .type = VTAC_I8, .given = true };
	t.producer = &clip;
	clip.attr.clip.lo = -3;
	clip.attr.clip.hi = -2;
	vtac_limits(&t, &lo, &hi);
	assert_float_equal(lo, -1.28f, 0.0001f);
	assert_float_equal(hi, -1.28f, 0.0001f);
	clip.attr.clip.lo = 2;
	clip.attr.clip.hi = 3;
	vtac_limits(&t, &lo, &hi);
	assert_float_equal(lo, 1.27f, 0.0001f);
	assert_float_equal(hi, 1.27f, 0.0001f);
}
