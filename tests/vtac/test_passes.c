// SPDX-License-Identifier: GPL-2.0-only
/* The compiler's passes on small networks: what they keep, and what they decide. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net.h"
#include "vtac.h"

static void pass(struct net *net, vtac_pass_fn run, const struct vtac_options *opt)
{
	if (run(net->g, opt) || vtac_graph_check(net->g))
		fail_msg("%s", net->g->error.text);
}

static unsigned int count(const struct net *net, enum vtac_op op)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < net->g->n_nodes; i++)
		n += net->g->nodes[i]->op == op;
	return n;
}

static struct vtac_node *find(const struct net *net, const char *name)
{
	for (unsigned int i = 0; i < net->g->n_nodes; i++)
		if (!strcmp(net->g->nodes[i]->name, name))
			return net->g->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

/* The same values before and after, within what sums in another order lose. */
static void keeps_values(struct net *net, vtac_pass_fn run, const struct vtac_options *opt)
{
	float *before, most = 0;
	int64_t n;

	net_run(net);
	before = net->out;
	n = net->n_out;
	net->out = NULL;
	for (int64_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(before[i]));
	pass(net, run, opt);
	net_run(net);
	assert_int_equal(net->n_out, n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabsf(before[i] - net->out[i]) <= 0.00001f * most))
			fail_msg("value %lld is %g, was %g", (long long)i, (double)net->out[i],
				 (double)before[i]);
	free(before);
}

/* @t as uint8 and back, as a quantised file has it. */
static struct vtac_tensor *net_uint8(struct net *net, struct vtac_tensor *t, float scale,
				     uint8_t zero)
{
	struct vtac_tensor *s, *z;
	struct vtac_node *node;

	s = vtac_tensor_const(net->g, "scale", VTAC_F32, 0, NULL, &scale, true);
	z = vtac_tensor_const(net->g, "zero", VTAC_U8, 0, NULL, &zero, true);
	node = net_node(net, VTAC_QUANTIZE, vtac_text(net->g, "%s/q", t->name), t, s, z);
	node = net_node(net, VTAC_DEQUANTIZE, vtac_text(net->g, "%s/dq", t->name), node->out[0],
			s, z);
	return node->out[0];
}

/* Residual blocks as ResNet has them, with or without a convolution beside. */
static struct vtac_tensor *block(struct net *net, struct vtac_tensor *x, unsigned int i,
				 int64_t c, bool beside, bool swapped, bool norm)
{
	char name[32];
	struct vtac_tensor *y = x, *other = x;
	struct vtac_node *add;

	for (unsigned int k = 0; k < 2; k++) {
		snprintf(name, sizeof(name), "res%u/conv%u", i, k);
		y = net_conv(net, y, name, c, c, k ? 3 : 1);
		snprintf(name, sizeof(name), "res%u/norm%u", i, k);
		if (norm)
			y = net_norm(net, y, name, c);
		snprintf(name, sizeof(name), "res%u/relu%u", i, k);
		if (!k)
			y = net_relu(net, y, name);
	}
	snprintf(name, sizeof(name), "res%u/beside", i);
	if (beside)
		other = net_conv(net, x, name, c, c, 1);
	snprintf(name, sizeof(name), "res%u/add", i);
	add = net_node(net, VTAC_ADD, name, swapped ? other : y, swapped ? y : other, NULL);
	snprintf(name, sizeof(name), "res%u/relu", i);
	return net_relu(net, add->out[0], name);
}

static void resnet(struct net *net, uint64_t seed, bool swapped, bool norm)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x;

	net_begin(net, seed);
	x = net_input(net, 32, 14, 14);
	x = block(net, x, 0, 32, true, swapped, norm);
	x = block(net, x, 1, 32, false, swapped, norm);
	net_output(net, net_conv(net, x, "last", 32, 16, 3));
	pass(net, vtac_pass_shape, &opt);
}

static void fusion_keeps_values_of_residual_blocks(void **state)
{
	struct net net;

	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		resnet(&net, seed, seed & 1, true);
		keeps_values(&net, vtac_pass_fuse, &(struct vtac_options){ 0 });
		assert_int_equal(count(&net, VTAC_BATCH_NORM), 0);
		assert_int_equal(count(&net, VTAC_CLIP), 0);
		assert_int_equal(count(&net, VTAC_ADD), 0);
		assert_int_equal(count(&net, VTAC_CONV), 6);
		net_end(&net);
	}
}

/* Pads go into windows; into those of a MaxPool only behind values that are not negative. */
static void fusion_moves_pads(void **state)
{
	for (int relu = 0; relu < 2; relu++) {
		struct vtac_options opt = { 0 };
		struct vtac_node *pad, *pool;
		struct vtac_tensor *x;
		struct net net;

		(void)state;
		net_begin(&net, 3);
		x = net_conv(&net, net_input(&net, 3, 9, 9), "conv", 3, 16, 3);
		if (relu)
			x = net_relu(&net, x, "relu");
		pad = net_node(&net, VTAC_PAD, "pad", x, NULL, NULL);
		for (int i = 2; i < 4; i++) {
			pad->attr.pad.before[i] = 1;
			pad->attr.pad.after[i] = i - 2;
		}
		assert_int_equal(vtac_set_shape(net.g, NULL, pad->out[0], 4,
						(const int64_t[]){ 1, 16, 10, 11 }), 0);
		pool = net_node(&net, VTAC_MAX_POOL, "pool", pad->out[0], NULL, NULL);
		pool->attr.pool = (struct vtac_window){
			.kernel = { 3, 3 }, .stride = { 2, 2 }, .dilation = { 1, 1 },
		};
		net_output(&net, pool->out[0]);
		pass(&net, vtac_pass_shape, &opt);
		keeps_values(&net, vtac_pass_fuse, &opt);
		assert_int_equal(count(&net, VTAC_PAD), !relu);
		net_end(&net);
	}
}

/* Hard swish written out as x * clip(x + 3, 0, 6) / 6 is one node. */
static void fusion_finds_hard_swish(void **state)
{
	const float three = 3, six = 6;
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *c3, *c6;
	struct vtac_node *node;
	struct net net;

	(void)state;
	net_begin(&net, 5);
	x = net_conv(&net, net_input(&net, 3, 8, 8), "conv", 3, 8, 3);
	c3 = vtac_tensor_const(net.g, "three", VTAC_F32, 0, NULL, &three, true);
	c6 = vtac_tensor_const(net.g, "six", VTAC_F32, 0, NULL, &six, true);
	node = net_node(&net, VTAC_ADD, "plus", x, c3, NULL);
	node = net_node(&net, VTAC_CLIP, "clip", node->out[0], NULL, NULL);
	node->attr.clip.hi = 6;
	node = net_node(&net, VTAC_MUL, "times", x, node->out[0], NULL);
	node = net_node(&net, VTAC_DIV, "over", node->out[0], c6, NULL);
	net_output(&net, node->out[0]);
	pass(&net, vtac_pass_shape, &opt);
	keeps_values(&net, vtac_pass_fuse, &opt);
	assert_int_equal(count(&net, VTAC_HARD_SWISH), 1);
	assert_int_equal(net.g->n_nodes, 2);
	net_end(&net);
}

/* Likewise with a scale at each step; the sum's range takes the place of the clip. */
static void fusion_finds_quantised_hard_swish(void **state)
{
	const float step = 3.0f / 255, six = 6;
	const uint8_t most = 255, zero = 0;
	struct vtac_tensor *x, *c3, *c6, *s, *z;
	struct vtac_options opt = { 0 };
	struct vtac_node *node;
	struct net net;

	(void)state;
	net_begin(&net, 5);
	x = net_uint8(&net, net_conv(&net, net_input(&net, 3, 8, 8), "conv", 3, 8, 3), 0.05f, 128);
	s = vtac_tensor_const(net.g, "step", VTAC_F32, 0, NULL, &step, true);
	z = vtac_tensor_const(net.g, "zero", VTAC_U8, 0, NULL, &zero, true);
	c3 = vtac_tensor_const(net.g, "three", VTAC_U8, 0, NULL, &most, true);
	c3 = net_node(&net, VTAC_DEQUANTIZE, "three/dq", c3, s, z)->out[0];
	c6 = vtac_tensor_const(net.g, "six", VTAC_F32, 0, NULL, &six, true);
	node = net_node(&net, VTAC_ADD, "plus", x, c3, NULL);
	node = net_node(&net, VTAC_MUL, "times", x,
			net_uint8(&net, node->out[0], 6.0f / 255, 0), NULL);
	node = net_node(&net, VTAC_DIV, "over", net_uint8(&net, node->out[0], 0.15f, 20), c6, NULL);
	net_output(&net, net_uint8(&net, node->out[0], 0.025f, 20));
	pass(&net, vtac_pass_shape, &opt);
	pass(&net, vtac_pass_fuse, &opt);
	assert_int_equal(count(&net, VTAC_HARD_SWISH), 1);
	assert_int_equal(net.g->n_nodes, 2);
	net_end(&net);
}

/* ---- devices ---- */

/* Another order that a graph may be in, and other orders of what can be exchanged. */
static void permute(struct net *net, struct net *dice)
{
	struct vtac_graph *g = net->g;
	bool done[256] = { false };
	struct vtac_node *order[256];
	unsigned int n = 0;

	assert_true(g->n_nodes <= 256);
	while (n < g->n_nodes) {
		struct vtac_node *node = g->nodes[net_random(dice, g->n_nodes)];
		bool ready = !done[node->id];

		for (unsigned int i = 0; i < node->n_in && ready; i++)
			ready = !node->in[i] || !node->in[i]->producer ||
				done[node->in[i]->producer->id];
		if (!ready)
			continue;
		done[node->id] = true;
		order[n++] = node;
		if ((node->op == VTAC_ADD || node->op == VTAC_MUL) && net_random(dice, 2)) {
			struct vtac_tensor *t = node->in[0];

			node->in[0] = node->in[1];
			node->in[1] = t;
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		g->nodes[i] = order[i];
		order[i]->id = i;
	}
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_tensor *t = g->tensors[i];

		for (unsigned int k = 1; k < t->n_users; k++) {
			unsigned int other = net_random(dice, k + 1);
			struct vtac_node *user = t->users[k];

			t->users[k] = t->users[other];
			t->users[other] = user;
		}
	}
}

/* The card and the CPU by turns: additions and pools between, of several sizes. */
static void mixed(struct net *net)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *a, *b;
	struct vtac_node *node;

	net_begin(net, 11);
	x = net_input(net, 32, 28, 28);
	a = block(net, x, 0, 32, true, false, false);
	node = net_node(net, VTAC_SIGMOID, "sigmoid", a, NULL, NULL);
	b = net_node(net, VTAC_MUL, "mul", a, node->out[0], NULL)->out[0];
	a = block(net, b, 1, 32, false, true, false);
	node = net_node(net, VTAC_ADD, "sum", a, b, NULL);
	node = net_node(net, VTAC_SIGMOID, "sigmoid2", node->out[0], NULL, NULL);
	b = net_conv(net, node->out[0], "tiny", 32, 1, 1);
	node = net_node(net, VTAC_SIGMOID, "sigmoid3", b, NULL, NULL);
	node = net_node(net, VTAC_ADD, "alone", node->out[0], node->out[0], NULL);
	net_output(net, node->out[0]);
	pass(net, vtac_pass_shape, &opt);
}

static void choose(struct net *net)
{
	struct vtac_options opt = { 0 };

	net_core(&opt);
	pass(net, vtac_pass_annotate, &opt);
	pass(net, vtac_pass_propagate, &opt);
	pass(net, vtac_pass_prune, &opt);
}

/* Devices do not depend on the order of nodes, users or operands: 100 of them. */
static void devices_do_not_depend_on_order(void **state)
{
	struct net first, dice = { .seed = 17 };
	unsigned int card = 0;

	(void)state;
	mixed(&first);
	choose(&first);
	for (unsigned int i = 0; i < first.g->n_nodes; i++)
		card += first.g->nodes[i]->device == VTAC_CARD;
	assert_true(card > 4 && card < first.g->n_nodes);
	for (unsigned int i = 0; i < 100; i++) {
		struct net net;

		mixed(&net);
		permute(&net, &dice);
		assert_int_equal(vtac_graph_check(net.g), 0);
		choose(&net);
		for (unsigned int k = 0; k < net.g->n_nodes; k++) {
			const struct vtac_node *node = net.g->nodes[k];

			if (node->device != find(&first, node->name)->device)
				fail_msg("order %u: %s is on another device", i, node->name);
		}
		net_end(&net);
	}
	net_end(&first);
}

/* The first block of ResNet: its addition is between convolutions, and stays with them. */
static void residual_blocks_stay_on_the_card(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct net net;

		resnet(&net, 1, swapped, false);
		choose(&net);
		for (unsigned int i = 0; i < net.g->n_nodes; i++) {
			const struct vtac_node *node = net.g->nodes[i];

			if (node->device != VTAC_CARD)
				fail_msg("%s is on the CPU: %s", node->name, node->why);
		}
		net_end(&net);
	}
}

static void every_node_of_the_cpu_has_a_reason(void **state)
{
	struct net net;

	(void)state;
	mixed(&net);
	choose(&net);
	for (unsigned int i = 0; i < net.g->n_nodes; i++)
		assert_int_equal(net.g->nodes[i]->device == VTAC_CPU,
				 net.g->nodes[i]->why && net.g->nodes[i]->why[0]);
	/* A convolution of one channel is not worth the copy of 32. */
	assert_int_equal(find(&net, "tiny")->device, VTAC_CPU);
	assert_non_null(strstr(find(&net, "tiny")->why, "copies"));
	net_end(&net);
}

static void users_wishes_are_followed(void **state)
{
	static const char *const cpu[] = { "res1/conv0" };
	struct vtac_options opt = { .cpu = cpu, .n_cpu = 1, .no_prune = true };
	struct net net;

	(void)state;
	net_core(&opt);
	resnet(&net, 1, false, false);
	pass(&net, vtac_pass_annotate, &opt);
	pass(&net, vtac_pass_propagate, &opt);
	assert_int_equal(find(&net, "res1/conv0")->device, VTAC_CPU);
	assert_int_equal(find(&net, "res1/conv1")->device, VTAC_CARD);
	opt.n_cpu = 0;
	opt.card_from = "res1/conv0";
	opt.card_to = "res1/add";
	pass(&net, vtac_pass_annotate, &opt);
	pass(&net, vtac_pass_propagate, &opt);
	assert_int_equal(find(&net, "res0/conv0")->device, VTAC_CPU);
	assert_int_equal(find(&net, "res1/conv1")->device, VTAC_CARD);
	assert_int_equal(find(&net, "res1/relu")->device, VTAC_CPU);
	opt.card_from = "nothing";
	assert_int_equal(vtac_pass_annotate(net.g, &opt), -1);
	assert_non_null(strstr(net.g->error.text, "no node nothing"));
	net_end(&net);
}

/* Squeeze and excite: a value for each channel, on either side, but not for each row. */
static void values_of_channels_are_spread_on_the_card(void **state)
{
	for (int side = 0; side < 4; side++) {
		struct vtac_options opt = { .no_prune = true };
		struct vtac_tensor *x, *mean;
		struct vtac_node *pool, *mul;
		struct net net;

		(void)state;
		net_core(&opt);
		net_begin(&net, 21);
		x = net_conv(&net, net_input(&net, 16, 6, 5), "conv", 16, 24, 3);
		pool = net_node(&net, VTAC_AVG_POOL, "pool", x, NULL, NULL);
		pool->attr.pool = (struct vtac_window){
			.kernel = { 6, side < 2 ? 5 : 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 },
		};
		mean = net_conv(&net, pool->out[0], "excite", 24, 24, 1);
		mul = net_node(&net, VTAC_MUL, "scale", side % 2 ? mean : x, side % 2 ? x : mean,
			       NULL);
		net_output(&net, mul->out[0]);
		pass(&net, vtac_pass_shape, &opt);
		pass(&net, vtac_pass_annotate, &opt);
		pass(&net, vtac_pass_propagate, &opt);
		assert_int_equal(mul->device, side < 2 ? VTAC_CARD : VTAC_CPU);
		net_end(&net);
	}
}

/* ---- forms and blocks ---- */

static void forms_keep_values(void **state)
{
	static const enum vtac_op ops[] = { VTAC_HARD_SWISH, VTAC_HARD_SIGMOID, VTAC_LEAKY_RELU };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct vtac_options opt = { 0 };
		struct vtac_node *node;
		struct net net;

		net_core(&opt);
		net_begin(&net, i);
		node = net_node(&net, ops[i], "act",
				net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 24, 3), NULL,
				NULL);
		node->attr.unary.alpha = 0.2f;
		node->attr.unary.beta = 0.5f;
		net_output(&net, node->out[0]);
		pass(&net, vtac_pass_shape, &opt);
		for (unsigned int k = 0; k < net.g->n_nodes; k++)
			net.g->nodes[k]->device = VTAC_CARD;
		keeps_values(&net, vtac_pass_forms, &opt);
		assert_int_equal(count(&net, ops[i]), 0);
		net_end(&net);
	}
}

/* Parts of 4, 20 and 7 channels: filled up to blocks by weights of 0. */
static void blocks_keep_values(void **state)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *y;
	struct vtac_node *concat;
	struct net net;

	(void)state;
	net_core(&opt);
	net_begin(&net, 23);
	x = net_conv(&net, net_input(&net, 3, 8, 8), "first", 3, 16, 3);
	concat = net_node(&net, VTAC_CONCAT, "concat", net_conv(&net, x, "a", 16, 4, 3),
			  net_relu(&net, net_conv(&net, x, "b", 16, 20, 1), "relu"),
			  net_conv(&net, x, "c", 16, 7, 1));
	concat->attr.axis.axis = 1;
	y = net_conv(&net, concat->out[0], "last", 31, 8, 3);
	net_output(&net, y);
	pass(&net, vtac_pass_shape, &opt);
	pass(&net, vtac_pass_fuse, &opt);
	for (unsigned int k = 0; k < net.g->n_nodes; k++)
		net.g->nodes[k]->device = VTAC_CARD;
	keeps_values(&net, vtac_pass_blocks, &opt);
	assert_int_equal(concat->device, VTAC_CARD);
	assert_int_equal(concat->out[0]->dims[1], 16 + 32 + 7);
	net_end(&net);
}

/* What cannot be filled up is joined by the CPU. */
static void blocks_that_are_seen_elsewhere_are_not_filled(void **state)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *a, *b;
	struct vtac_node *concat;
	struct net net;

	(void)state;
	net_core(&opt);
	net_begin(&net, 29);
	a = net_conv(&net, net_input(&net, 3, 8, 8), "a", 3, 4, 3);
	b = net_conv(&net, a, "b", 4, 16, 3);
	concat = net_node(&net, VTAC_CONCAT, "concat", a, b, NULL);
	concat->attr.axis.axis = 1;
	net_output(&net, net_conv(&net, concat->out[0], "last", 20, 8, 3));
	pass(&net, vtac_pass_shape, &opt);
	for (unsigned int k = 0; k < net.g->n_nodes; k++)
		net.g->nodes[k]->device = VTAC_CARD;
	keeps_values(&net, vtac_pass_blocks, &opt);
	assert_int_equal(concat->device, VTAC_CPU);
	assert_non_null(concat->why);
	net_end(&net);
}

/* ---- pictures of another size ---- */

/* 3 pixels times @scale: on the card if each is repeated equally often. */
static bool resize_is_on_card(float scale)
{
	struct vtac_options opt = { .no_prune = true };
	const float scales[] = { 1, 1, scale, scale };
	struct vtac_tensor *x, *s;
	struct vtac_node *node;
	const int64_t four = 4;
	struct net net;
	bool card;

	net_core(&opt);
	net_begin(&net, 30);
	x = net_input(&net, 16, 3, 3);
	s = vtac_tensor_const(net.g, "scales", VTAC_F32, 1, &four, scales, true);
	node = net_node(&net, VTAC_RESIZE, "resize", net_conv(&net, x, "conv", 16, 16, 3), s, NULL);
	node->attr.resize = (struct vtac_resize){ .mode = VTAC_NEAREST };
	net_output(&net, net_conv(&net, node->out[0], "last", 16, 16, 3));
	pass(&net, vtac_pass_shape, &opt);
	assert_int_equal(node->out[0]->dims[2], 6);
	pass(&net, vtac_pass_annotate, &opt);
	card = node->device != VTAC_CPU;
	assert_true(card || node->why);
	net_end(&net);
	return card;
}

static void pixels_are_repeated_equally_often(void **state)
{
	(void)state;
	assert_true(resize_is_on_card(2));
	assert_false(resize_is_on_card(2.3f));
}

/* ---- quantisation that a file gives ---- */

/* Q and DQ around a convolution: its weights know their integers, and nodes are gone. */
static void given_quantisation_goes_to_tensors(void **state)
{
	const float scale = 0.0625f, w_scale = 0.03125f;
	const int8_t zero = 3;
	struct vtac_options opt = { 0 };
	struct vtac_tensor *s, *z, *ws, *w;
	struct vtac_node *node, *conv;
	int64_t dims[] = { 4, 3, 3, 3 };
	int8_t *integers;
	struct net net;

	(void)state;
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
	pass(&net, vtac_pass_shape, &opt);
	keeps_values(&net, vtac_pass_fuse, &opt);
	assert_int_equal(net.g->n_nodes, 1);
	assert_true(conv->in[0]->quant.given && conv->in[0]->quant.zero[0] == 3);
	assert_true(conv->in[1]->quant.given && conv->in[1]->quant.type == VTAC_I8);
	assert_true(conv->out[0]->quant.given);
	net_end(&net);
}

/* An unsigned picture keeps its scale, and its zero point moves by 128: no images needed. */
static void given_zero_points_are_kept(void **state)
{
	const float scale = 0.0625f, y_scale = 1.5f;
	const uint8_t zero = 7, y_zero = 0;
	struct vtac_tensor *s, *z, *ys, *yz;
	struct vtac_options opt = { .no_prune = true };
	struct vtac_node *node, *conv;
	int64_t dims[] = { 4, 3, 3, 3 };
	float *w;
	struct net net;

	(void)state;
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
 * Quantisers leave out a Relu before integers that begin at 0. Where the second convolution pads,
 * the card has the zero point 0, and integers below it: these stay unused, on the CPU as well.
 */
static void range_that_replaces_a_relu_limits(void **state)
{
	for (int cpu = 0; cpu < 2; cpu++) {
		struct vtac_options opt = { .no_prune = true, .no_card = cpu };
		double signal = 0, noise = 0;
		struct vtac_tensor *x;
		float *before;
		struct net net;

		(void)state;
		net_core(&opt);
		net_begin(&net, 33);
		x = net_uint8(&net, net_input(&net, 16, 8, 8), 0.0079f, 128);
		x = net_uint8(&net, net_conv(&net, x, "first", 16, 16, 3), 0.03f, 0);
		net_output(&net, net_uint8(&net, net_conv(&net, x, "second", 16, 16, 3), 0.05f,
					   128));
		pass(&net, vtac_pass_shape, &opt);
		net_run(&net);
		before = net.out;
		net.out = NULL;
		if (vtac_run_passes(net.g, &opt, NULL))
			fail_msg("%s", net.g->error.text);
		assert_int_equal(count(&net, VTAC_CLIP), cpu ? 3 : 1);
		if (!cpu)
			assert_int_equal(find(&net, "first")->post.lo, 0);
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

/* ---- how to quantise ---- */

static int random_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct net dice = { .seed = 100 + i };

	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = (float)net_random(&dice, 2001) / 1000 - 1;
	return 0;
}

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

/*
 * Softmax of scores that are far apart, as here the one is positive and the other negative, is 1
 * and 0 whatever the scores' error. Channels of very different ranges need equalisation: the
 * trials find that, as they compare the scores.
 */
static void trials_compare_scores(void **state)
{
	const struct vtac_images images = { .count = 6, .read = random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images };
	struct vtac_node *node;
	struct vtac_tensor *x;
	struct net net;

	(void)state;
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
	assert_int_equal(find(&net, "second")->device, VTAC_CARD);
	assert_int_equal(find(&net, "softmax")->device, VTAC_CPU);
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
	memcpy(w, find(&net, "conv")->in[1]->data, sizeof(w));
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	ints = find(&net, "conv")->in[1];
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

/* Where channels are alike, the error of a sum of weights counts: one makes up for others. */
static void weights_of_a_sum_are_rounded_together(void **state)
{
	struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };

	(void)state;
	assert_true(wrong_sum(&how) < 0.6f);
	how.nearest = true;
	assert_true(wrong_sum(&how) > 1);
}

/* Of so many multiplications that splitting the first two layers adds less than a sixth. */
static void first_layers_are_split(void **state)
{
	static const char *const names[] = { "first", "second", "third", "4", "5", "6", "7" };
	const struct vtac_images images = { .count = 4, .read = random_image };
	struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE };

	(void)state;
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
			assert_int_equal(find(&net, names[i])->out[0]->dims[1],
					 (i ? 32 : 16) << (i < split));
		net_end(&net);
	}
}

/* ---- inputs that are pixels ---- */

/* How inputs are made of pixels, and what they are on the card. */
struct pixels {
	float mean[3], scale[3];
	int levels;		/* that pixels have */
	const struct vtac_graph *g;
	unsigned int seen;	/* QUANTIZEs */
	float *out;
};

static int pixel_of(const struct pixels *p, unsigned int i, int64_t k)
{
	return (int)((k * 37 + i * 11) % p->levels);
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

/* All pixels of @t, padded by 1, are there; the mean is beside. */
static void check_integers(const struct pixels *p, const struct vtac_tensor *t, const int8_t *v)
{
	int64_t h = t->dims[2], w = t->dims[3], k = 0;

	for (int64_t c = 0; c < 3; c++, v += h * w) {
		assert_in_range(v[0] + 128 - (int)p->mean[c], 0, 1);
		for (int64_t y = 1; y < h - 1; y++)
			for (int64_t x = 1; x < w - 1; x++)
				assert_int_equal(v[y * w + x], pixel_of(p, 9, k++) - 128);
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
static void pixel_net(struct net *net)
{
	struct vtac_tensor *x;

	net_begin(net, 35);
	x = net_conv(net, net_input(net, 3, 16, 20), "first", 3, 16, 3);
	net_output(net, net_conv(net, net_relu(net, x, "relu"), "second", 16, 4, 1));
}

/* One scale for all or not, and the first layer whole or in two parts. */
static void pixels_are_integers_on_the_card(void **state)
{
	const struct vtac_quant_options how = { .equalise = VTAC_EQUALISE_FULL };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct pixels p = { .mean = { 103.939f, 116.779f, 123.68f },
				    .scale = { 1, 1, 1 }, .levels = 256 };
		const struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };
		struct vtac_quant_options split = how;
		struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &split };
		double signal = 0, noise = 0;
		float *before, *after;
		struct net net;

		split.split = i & 1 ? VTAC_SPLIT_FIRST : VTAC_SPLIT_NONE;
		for (int c = 0; c < 3 && i > 1; c++)
			p.scale[c] = 0.017f + 0.001f * (float)c;
		net_core(&opt);
		pixel_net(&net);
		pass(&net, vtac_pass_shape, &opt);
		before = run_pixels(&net, &p);
		if (vtac_run_passes(net.g, &opt, NULL))
			fail_msg("%s", net.g->error.text);
		assert_int_equal(find(&net, "first")->device, VTAC_CARD);
		assert_int_equal(find(&net, "first")->in[0]->dims[1], 3);
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
	pixel_net(&net);
	if (vtac_run_passes(net.g, &opt, "forms"))
		fail_msg("%s", net.g->error.text);
	first = find(&net, "first");
	opt.images = images;
	pass(&net, vtac_pass_grid, &opt);
	found = net.g->n_nodes > 2;
	assert_int_equal(first->in[0]->quant.given, found);
	assert_int_equal(first->attr.conv.window.pad[0], !found);
	assert_ptr_equal(first->in[0]->producer, found ? net.g->nodes[net.g->n_nodes - 3] : NULL);
	net_end(&net);
	return found;
}

static void other_inputs_are_left_alone(void **state)
{
	struct pixels p = { .mean = { 1, 2, 3 }, .scale = { 1, 0.5f, 2 }, .levels = 256 };
	struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };

	(void)state;
	assert_true(are_pixels(&images));
	/* Fewer than tell a step; more than there are integers. */
	p.levels = 31;
	assert_false(are_pixels(&images));
	p.levels = 257;
	assert_false(are_pixels(&images));
	p.levels = 256;
	/* The convolution pads with what is out of reach. */
	p.mean[1] = 300;
	assert_false(are_pixels(&images));
	p.mean[1] = 2;
	/* A channel that is always the same. */
	p.scale[2] = 0;
	assert_false(are_pixels(&images));
	images.read = random_image;
	assert_false(are_pixels(&images));
}

/* With residuals split, as calibration has them. */
static int merge_sums(struct vtac_graph *g, const struct vtac_options *opt)
{
	const struct vtac_images images = { .count = 3, .read = random_image };
	const struct vtac_quant_options how = { .range = VTAC_RANGE_MSE };

	return vtac_merge_sums(g, opt, &images, &how);
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

static void merge_keeps_values(void **state)
{
	static const int64_t channels[] = { 16, 24, 32 };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct vtac_options opt = { .no_prune = true };
		struct vtac_node *conv;
		struct net net;

		net_core(&opt);
		two_ways(&net, channels[i], false);
		pass(&net, vtac_pass_shape, &opt);
		pass(&net, vtac_pass_fuse, &opt);
		pass(&net, vtac_pass_annotate, &opt);
		pass(&net, vtac_pass_propagate, &opt);
		assert_int_equal(vtac_split_residuals(net.g), 0);
		assert_true(vtac_can_merge(net.g, &opt));
		keeps_values(&net, merge_sums, &opt);
		assert_false(vtac_can_merge(net.g, &opt));
		assert_int_equal(count(&net, VTAC_CONV), 5);
		assert_int_equal(count(&net, VTAC_ADD), 0);
		assert_int_equal(count(&net, VTAC_CONCAT), 1);
		conv = find(&net, "last")->in[0]->producer;
		assert_int_equal(conv->in[1]->dims[1], 16 + channels[i]);
		assert_int_equal(conv->act.kind, VTAC_ACT_CLIP);
		net_end(&net);
	}
}

/* On the card both inputs are written where they stand together: joining takes no cycles. */
static void merged_inputs_are_placed(void **state)
{
	const struct vtac_quant_options how = { .merge = VTAC_MERGE_SUMS };
	const struct vtac_images images = { .count = 6, .read = random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	struct vtac_node *concat;
	struct net net;

	(void)state;
	net_core(&opt);
	two_ways(&net, 24, false);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(count(&net, VTAC_CONCAT), 1);
	concat = find(&net, "last")->in[0]->producer->in[0]->producer;
	assert_int_equal(concat->op, VTAC_CONCAT);
	for (unsigned int i = 0; i < 2; i++)
		assert_ptr_equal(concat->in[i]->home, concat->out[0]);
	net_end(&net);
}

static void other_windows_are_not_merged(void **state)
{
	const struct vtac_images images = { .count = 6, .read = random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images };
	struct net net;

	(void)state;
	net_core(&opt);
	two_ways(&net, 24, true);
	if (vtac_run_passes(net.g, &opt, NULL))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(net.g->how->merge, VTAC_MERGE_NONE);
	assert_int_equal(count(&net, VTAC_CONCAT), 0);
	net_end(&net);
}

/* ---- what is far too great or too small ---- */

static int scaled_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const float *by = priv;

	random_image(NULL, i, t, values);
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] *= *by;
	return 0;
}

/* Squares of the inputs are no floats: weights of one sign must not all become the least. */
static void great_values_leave_weights_alone(void **state)
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

	(void)state;
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
	ints = find(&net, "second")->in[1]->data;
	for (int i = 0; i < 8 * 16; i++)
		assert_in_range(ints[i], 1, 127);
	net_end(&net);
}

/* What the passes would like to have is no reason to fail: as much memory as without them. */
static void passes_take_no_memory_that_is_needed(void **state)
{
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE };
	const struct vtac_images images = { .count = 4, .read = random_image };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	struct vtac_tensor *x;
	struct net net;

	(void)state;
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

/* Steps that have no reciprocal. */
#define TINY	((float)(1 / 1e39))

static void tiny_pixels_are_left_alone(void **state)
{
	struct pixels p = { .scale = { TINY, TINY, TINY }, .levels = 256 };
	const struct vtac_images images = { .count = 3, .read = read_pixels, .priv = &p };

	(void)state;
	assert_false(are_pixels(&images));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fusion_keeps_values_of_residual_blocks),
		cmocka_unit_test(fusion_moves_pads),
		cmocka_unit_test(fusion_finds_hard_swish),
		cmocka_unit_test(fusion_finds_quantised_hard_swish),
		cmocka_unit_test(devices_do_not_depend_on_order),
		cmocka_unit_test(residual_blocks_stay_on_the_card),
		cmocka_unit_test(every_node_of_the_cpu_has_a_reason),
		cmocka_unit_test(users_wishes_are_followed),
		cmocka_unit_test(values_of_channels_are_spread_on_the_card),
		cmocka_unit_test(forms_keep_values),
		cmocka_unit_test(blocks_keep_values),
		cmocka_unit_test(blocks_that_are_seen_elsewhere_are_not_filled),
		cmocka_unit_test(pixels_are_repeated_equally_often),
		cmocka_unit_test(given_quantisation_goes_to_tensors),
		cmocka_unit_test(given_zero_points_are_kept),
		cmocka_unit_test(range_that_replaces_a_relu_limits),
		cmocka_unit_test(trials_compare_scores),
		cmocka_unit_test(weights_of_a_sum_are_rounded_together),
		cmocka_unit_test(first_layers_are_split),
		cmocka_unit_test(pixels_are_integers_on_the_card),
		cmocka_unit_test(other_inputs_are_left_alone),
		cmocka_unit_test(merge_keeps_values),
		cmocka_unit_test(merged_inputs_are_placed),
		cmocka_unit_test(other_windows_are_not_merged),
		cmocka_unit_test(great_values_leave_weights_alone),
		cmocka_unit_test(passes_take_no_memory_that_is_needed),
		cmocka_unit_test(tiny_pixels_are_left_alone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
