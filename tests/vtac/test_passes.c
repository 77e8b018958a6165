// SPDX-License-Identifier: GPL-2.0-only
/* Tests of shape, fuse, partition, legalize, align_channels and pad_channels on small networks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"
#include "ir/kernel.h"

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
	net_pass(net, vtac_pass_shape, &opt);
}

TEST(fusion_keeps_values_of_residual_blocks)
{
	struct net net;

	for (uint64_t seed = 0; seed < 4; seed++) {
		resnet(&net, seed, seed & 1, true);
		net_keeps_values(&net, vtac_pass_fuse, &(struct vtac_options){ 0 });
		assert_int_equal(net_count(&net, VTAC_BATCH_NORM), 0);
		assert_int_equal(net_count(&net, VTAC_CLIP), 0);
		assert_int_equal(net_count(&net, VTAC_ADD), 0);
		assert_int_equal(net_count(&net, VTAC_CONV), 6);
		net_end(&net);
	}
}

/*
 * A factor and a term of each channel, or of all, behind an activation: they go to the convolutions
 * that read them, the term only if none pads; a factor that stays takes its term.
 */
TEST(constants_of_channels_go_to_later_convolutions)
{
	for (unsigned int c = 0; c < 16; c++) {
		struct vtac_options opt = { 0 };
		bool pads = c & 1, two = c & 2, whole = c & 4;
		int64_t groups = c & 8 ? 2 : 1;
		const int64_t dims[] = { 16, 1, 1 };
		struct vtac_tensor *x, *y, *add;
		struct vtac_node *conv;
		struct net net;

		net_begin(&net, 80 + c);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1);
		x = net_relu(&net, x, "relu");
		x = net_node(&net, VTAC_MUL, "mul", net_const(&net, whole ? 0 : 3, dims), x,
			     NULL)->out[0];
		add = net_node(&net, c % 3 ? VTAC_ADD : VTAC_SUB, "add", x,
			       net_const(&net, whole ? 1 : 3, whole ? &dims[1] : dims),
			       NULL)->out[0];
		y = net_conv(&net, add, "one", 16 / groups, 16, pads ? 3 : 1);
		y->producer->attr.conv.groups = groups;
		net_output(&net, y);
		if (two) {
			conv = net_conv(&net, add, "two", 16, 32, 1)->producer;
			assert_int_equal(vtac_graph_output(net.g, conv->out[0]), 0);
		}
		net_pass(&net, vtac_pass_shape, &opt);
		net_keeps_values(&net, vtac_pass_fuse, &opt);
		assert_int_equal(net_count(&net, VTAC_CONV), 2 + two + pads);
		assert_int_equal(net.g->n_nodes, 2 + two + pads);
		net_end(&net);
	}
}

/* Values for which a function is constant are clipped before it, once, not if others read them. */
TEST(inputs_of_functions_reach_as_far_as_they_matter)
{
	for (unsigned int c = 0; c < 6; c++) {
		struct vtac_options opt = { 0 };
		struct vtac_node *node, *conv;
		struct vtac_tensor *x;
		struct net net;

		net_begin(&net, 110 + c);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 3);
		node = net_node(&net, c & 1 ? VTAC_HARD_SWISH : VTAC_HARD_SIGMOID, "f", x, NULL,
				NULL);
		node->attr.unary.alpha = 0.2f;
		node->attr.unary.beta = 0.5f;
		net_output(&net, net_conv(&net, node->out[0], "last", 16, 16, 1));
		if (c & 2)
			assert_int_equal(vtac_graph_output(net.g, x), 0);
		net_pass(&net, vtac_pass_shape, &opt);
		net_keeps_values(&net, vtac_pass_fuse, &opt);
		conv = net_find(&net, "conv");
		assert_int_equal(conv->act.kind, c & 2 ? VTAC_ACT_NONE : VTAC_ACT_CLIP);
		if (!(c & 2)) {
			assert_true(fabsf(conv->act.lo - (c & 1 ? -3 : -2.5f)) < 0.001f);
			assert_true(c & 1 ? conv->act.hi == INFINITY : conv->act.hi < 2.6f);
		}
		net_end(&net);
	}
}

/* Pads go into windows; into those of a MaxPool only behind values that are not negative. */
TEST(fusion_moves_pads)
{
	for (int relu = 0; relu < 2; relu++) {
		struct vtac_options opt = { 0 };
		struct vtac_node *pad, *pool;
		struct vtac_tensor *x;
		struct net net;

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
		net_pass(&net, vtac_pass_shape, &opt);
		net_keeps_values(&net, vtac_pass_fuse, &opt);
		assert_int_equal(net_count(&net, VTAC_PAD), !relu);
		net_end(&net);
	}
}

/* A kernel of 3x3 at a picture of 6 rows and 9 columns: its taps that meet a value, by dilation. */
TEST(fusion_drops_taps_that_meet_padding_alone)
{
	static const struct {
		int64_t dilation, stride, pad, kernel[2];
	} cases[] = {
		{ 1, 1, 1, { 3, 3 } }, { 5, 1, 5, { 3, 3 } }, { 6, 1, 6, { 1, 3 } },
		{ 8, 1, 8, { 1, 3 } }, { 9, 1, 9, { 1, 1 } }, { 36, 1, 36, { 1, 1 } },
		/* Outputs at rows 0 and 4, at columns 0, 4 and 8. */
		{ 5, 4, 5, { 2, 3 } }, { 8, 4, 8, { 1, 3 } },
		/* The taps before would leave a negative pad. */
		{ 10, 1, 7, { 2, 3 } },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vtac_options opt = { 0 };
		struct vtac_tensor *y;
		struct vtac_window *w;
		struct net net;

		net_begin(&net, i);
		y = net_conv(&net, net_input(&net, 3, 6, i == 8 ? 20 : 9), "conv", 3, 4, 3);
		w = &y->producer->attr.conv.window;
		for (int k = 0; k < 2; k++) {
			w->dilation[k] = cases[i].dilation;
			w->stride[k] = cases[i].stride;
			w->pad[k] = cases[i].pad;
			w->pad[2 + k] = i == 8 ? 13 : cases[i].pad;
		}
		net_output(&net, y);
		net_pass(&net, vtac_pass_shape, &opt);
		net_keeps_values(&net, vtac_pass_fuse, &opt);
		for (int k = 0; k < 2; k++)
			assert_int_equal(w->kernel[k], cases[i].kernel[k]);
		net_end(&net);
	}
}

/* Hard swish written out as x * clip(x + 3, 0, 6) / 6 is one node. */
TEST(fusion_finds_hard_swish)
{
	const float three = 3, six = 6;
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *c3, *c6;
	struct vtac_node *node;
	struct net net;

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
	net_pass(&net, vtac_pass_shape, &opt);
	net_keeps_values(&net, vtac_pass_fuse, &opt);
	assert_int_equal(net_count(&net, VTAC_HARD_SWISH), 1);
	assert_int_equal(net.g->n_nodes, 2);
	net_end(&net);
}

/* Likewise with a scale at each step; the sum's range takes the place of the clip. */
TEST(fusion_finds_quantised_hard_swish)
{
	const float step = 3.0f / 255, six = 6;
	const uint8_t most = 255, zero = 0;
	struct vtac_tensor *x, *c3, *c6, *s, *z;
	struct vtac_options opt = { 0 };
	struct vtac_node *node;
	struct net net;

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
	net_pass(&net, vtac_pass_shape, &opt);
	net_pass(&net, vtac_pass_fuse, &opt);
	assert_int_equal(net_count(&net, VTAC_HARD_SWISH), 1);
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
static struct vtac_node *sigmoid(struct net *net, const char *name, struct vtac_tensor *x)
{
	struct vtac_node *node = net_node(net, VTAC_UNARY, name, x, NULL, NULL);

	node->attr.unary.kind = VTACPU_ACT_SIGMOID;
	return node;
}

static void mixed(struct net *net)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *a, *b;
	struct vtac_node *node;

	net_begin(net, 11);
	x = net_input(net, 32, 28, 28);
	a = block(net, x, 0, 32, true, false, false);
	node = sigmoid(net, "sigmoid", a);
	b = net_node(net, VTAC_MUL, "mul", a, node->out[0], NULL)->out[0];
	a = block(net, b, 1, 32, false, true, false);
	node = net_node(net, VTAC_ADD, "sum", a, b, NULL);
	node = sigmoid(net, "sigmoid2", node->out[0]);
	node->attr.unary.kind = VTACPU_ACT_SIN;
	b = net_conv(net, node->out[0], "tiny", 32, 1, 1);
	node = sigmoid(net, "sigmoid3", b);
	node = net_node(net, VTAC_ADD, "alone", node->out[0], node->out[0], NULL);
	net_output(net, node->out[0]);
	net_pass(net, vtac_pass_shape, &opt);
}

static void choose(struct net *net)
{
	struct vtac_options opt = { 0 };

	net_core(&opt);
	net_pass(net, vtac_pass_partition, &opt);
}

/* All nodes whose shapes are wrong are named by operator, and none that only follows them. */
TEST(all_nodes_of_wrong_shapes_are_named)
{
	const struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *a, *b;
	struct net net;

	net_begin(&net, 3);
	x = net_input(&net, 16, 8, 8);
	a = net_relu(&net, net_conv(&net, x, "first", 8, 16, 1), "behind");
	b = net_conv(&net, x, "second", 24, 16, 1);
	net_output(&net, net_conv(&net, net_node(&net, VTAC_ADD, "sum", a, b, NULL)->out[0],
				  "last", 16, 16, 1));
	assert_int_equal(vtac_pass_shape(net.g, &opt), -1);
	assert_non_null(strstr(net.g->error.text, "2 nodes cannot be compiled"));
	assert_non_null(strstr(net.g->error.text, "first"));
	assert_non_null(strstr(net.g->error.text, "second"));
	assert_null(strstr(net.g->error.text, "behind"));
	assert_null(strstr(net.g->error.text, "sum"));
	assert_null(strstr(net.g->error.text, "last"));
	net_end(&net);
}

/* Devices do not depend on the order of nodes, users or operands: 100 of them. */
TEST(devices_do_not_depend_on_order)
{
	struct net first, dice = { .seed = 17 };
	unsigned int card = 0;

	mixed(&first);
	choose(&first);
	for (unsigned int i = 0; i < first.g->n_nodes; i++)
		card += first.g->nodes[i]->device == VTAC_CARD;
	assert_true(card > 4 && card < first.g->n_nodes);
	for (unsigned int i = 0; i < 100; i++) {
		struct net net;

		mixed(&net);
		permute(&net, &dice);
		assert_int_equal(vtac_graph_verify(net.g, 0, 1), 0);
		choose(&net);
		for (unsigned int k = 0; k < net.g->n_nodes; k++) {
			const struct vtac_node *node = net.g->nodes[k];

			if (node->device != net_find(&first, node->name)->device)
				fail_msg("order %u: %s is on another device", i, node->name);
		}
		net_end(&net);
	}
	net_end(&first);
}

/* The first block of ResNet: its addition is between convolutions, and stays with them. */
TEST(residual_blocks_stay_on_the_card)
{
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

/* As numpy has it: a vector's own dimension is none of the product's. */
TEST(vectors_are_multiplied)
{
	static const struct { int ranks[2], rank; } cases[] = {
		{ { 1, 2 }, 1 }, { { 2, 1 }, 1 }, { { 1, 1 }, 0 }, { { 1, 3 }, 2 }, { { 3, 1 }, 2 },
	};

	for (unsigned int c = 0; c < 5; c++) {
		struct vtac_options opt = { 0 };
		struct vtac_tensor *t[2];
		struct vtac_node *node;
		struct net net;
		const float *a, *b;

		net_begin(&net, 50 + c);
		for (int i = 0; i < 2; i++) {
			int rank = cases[c].ranks[i];
			const int64_t dims[2][3] = { { 2, 3, 4 }, { 2, 4, 3 } };

			t[i] = net_const(&net, rank, rank == 1 ? (const int64_t[]){ 4 } :
					 dims[i] + 3 - rank);
		}
		node = net_node(&net, VTAC_MATMUL, "product", t[0], t[1], NULL);
		net_output(&net, node->out[0]);
		net_pass(&net, vtac_pass_shape, &opt);
		assert_int_equal(node->out[0]->rank, cases[c].rank);
		net_run(&net);
		a = t[0]->data;
		b = t[1]->data;
		for (int64_t k = 0; k < net.n_out; k++) {
			bool rows = cases[c].ranks[0] > 1, columns = cases[c].ranks[1] > 1;
			double sum = 0;

			for (int64_t i = 0; i < 4; i++)
				sum += (double)a[rows ? k * 4 + i : i] *
				       b[columns ? k / 3 * 12 + i * 3 + k % 3 : i];
			assert_float_equal(net.out[k], (float)sum, 0.00001f);
		}
		net_end(&net);
	}
}

/* All nodes of @net but reshapes are the card's, and the values stay. */
static void check_on_card(struct net *net)
{
	struct vtac_options opt = { .no_prune = true };

	net_core(&opt);
	net_pass(net, vtac_pass_shape, &opt);
	net_keeps_values(net, vtac_pass_fuse, &opt);
	net_pass(net, vtac_pass_partition, &opt);
	for (unsigned int i = 0; i < net->g->n_nodes; i++)
		if (net->g->nodes[i]->device != VTAC_CARD && net->g->nodes[i]->op != VTAC_RESHAPE)
			fail_msg("%s is on the CPU: %s", net->g->nodes[i]->name,
				 net->g->nodes[i]->why);
	net_keeps_values(net, vtac_pass_legalize, &opt);
	net_end(net);
}

/* Behind an activation nothing takes it: a constant for each channel, or for all. */
TEST(constants_of_channels_are_the_cards)
{
	static const enum vtac_op ops[] = { VTAC_ADD, VTAC_SUB, VTAC_MUL, VTAC_DIV };

	for (unsigned int c = 0; c < 12; c++) {
		struct vtac_tensor *x, *t;
		struct vtac_node *node;
		struct net net;

		net_begin(&net, 60 + c);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1);
		x = net_relu(&net, x, "relu");
		t = c % 3 == 0 ? net_const(&net, 0, NULL) :
			net_const(&net, c % 3 == 1 ? 3 : 4,
				  c % 3 == 1 ? (const int64_t[]){ 16, 1, 1 } :
				  (const int64_t[]){ 1, 16, 1, 1 });
		node = c / 3 % 2 && c % 3 == 1 ? NULL :
			net_node(&net, ops[c / 3], "node", x, t, NULL);
		/* A sum's and product's first operand may be the constant. */
		if (!node)
			node = net_node(&net, c / 3 == 1 ? VTAC_ADD : VTAC_MUL, "node", t, x, NULL);
		net_output(&net, net_relu(&net, node->out[0], "last"));
		check_on_card(&net);
	}
}

/* [1][40][64] times [64][32], with a term for each column. */
TEST(matrices_are_multiplied_by_a_constant_one)
{
	for (int bias = 0; bias < 2; bias++) {
		const int64_t dims[] = { 2, 40, 64 }, n = 32;
		struct vtac_node *node;
		struct vtac_tensor *x;
		struct net net;

		net_begin(&net, 80);
		x = vtac_tensor_shaped(net.g, "x", VTAC_F32, 3, dims);
		assert_int_equal(vtac_graph_input(net.g, x), 0);
		node = net_node(&net, VTAC_MATMUL, "product", x,
				net_const(&net, 2, (const int64_t[]){ 64, n }), NULL);
		if (bias)
			node = net_node(&net, VTAC_ADD, "sum", net_const(&net, 1, &n),
					node->out[0], NULL);
		net_output(&net, node->out[0]);
		check_on_card(&net);
	}
}

/* Of two computed ones: no rule gives the shape of the result from its operands. */
TEST(products_of_matrices_keep_their_shapes)
{
	static const int64_t dims[2][3] = { { 2, 3, 4 }, { 2, 4, 6 } };
	struct vtac_options opt = { .no_prune = true };
	struct vtac_tensor *x[2];
	struct vtac_node *node;
	struct net net;

	net_begin(&net, 85);
	for (int i = 0; i < 2; i++) {
		x[i] = vtac_tensor_shaped(net.g, i ? "b" : "a", VTAC_F32, 3, dims[i]);
		assert_int_equal(vtac_graph_input(net.g, x[i]), 0);
	}
	node = net_node(&net, VTAC_MATMUL, "product", x[0], x[1], NULL);
	net_output(&net, node->out[0]);
	net_core(&opt);
	net_pass(&net, vtac_pass_shape, &opt);
	net_keeps_values(&net, vtac_pass_fuse, &opt);
	assert_int_equal(net_count(&net, VTAC_BATCH_GEMM), 1);
	net_keeps_values(&net, vtac_pass_shape, &opt);
	net_end(&net);
}

/* A perceptron of rows, which are divided in between and put together again. */
static void make_perceptron(struct net *net, int64_t units)
{
	const int64_t dims[] = { 1, 24, 32 }, parts[] = { 2, 12 * 64 / units, units };
	struct vtac_tensor *x;
	struct vtac_node *node;

	net_begin(net, 84);
	x = vtac_tensor_shaped(net->g, "x", VTAC_F32, 3, dims);
	assert_int_equal(vtac_graph_input(net->g, x), 0);
	node = net_node(net, VTAC_MATMUL, "first", x,
			net_const(net, 2, (const int64_t[]){ 32, 64 }), NULL);
	x = net_relu(net, node->out[0], "relu");
	node = net_node(net, VTAC_RESHAPE, "parts", x,
			vtac_tensor_const(net->g, "shape", VTAC_I64, 1, (const int64_t[]){ 3 },
					  parts, true), NULL);
	node = net_node(net, VTAC_MATMUL, "second", node->out[0],
			net_const(net, 2, (const int64_t[]){ units, 16 }), NULL);
	net_output(net, net_relu(net, node->out[0], "last"));
}

/* Rows of whole blocks are the same memory in another shape, if the core has one row at a time. */
TEST(reshapes_between_products_of_rows_are_the_cards)
{
	static const struct {
		int64_t units;
		unsigned int batch, reshapes;	/* of the CPU's: before all and behind */
	} cases[] = { { 64, 1, 2 }, { 16, 1, 2 }, { 8, 1, 3 }, { 16, 2, 3 }, { 64, 2, 2 } };

	for (unsigned int c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct vtac_options opt = { .no_prune = true };
		unsigned int n = 0;
		struct net net;

		make_perceptron(&net, cases[c].units);
		net_core(&opt);
		opt.core.batch = cases[c].batch;
		net_pass(&net, vtac_pass_shape, &opt);
		net_keeps_values(&net, vtac_pass_fuse, &opt);
		assert_int_equal(net_count(&net, VTAC_CLIP), 0);
		net_pass(&net, vtac_pass_partition, &opt);
		for (unsigned int i = 0; i < net.g->n_nodes; i++)
			if (net.g->nodes[i]->device != VTAC_CARD) {
				assert_int_equal(net.g->nodes[i]->op, VTAC_RESHAPE);
				n++;
			}
		assert_int_equal(n, cases[c].reshapes);
		net_end(&net);
	}
}

/* Pads as wide as the kernel and wider, and outputs of which only the end is cut off. */
TEST(all_pads_are_the_cards)
{
	static const int64_t pads[][4] = { { 2, 0, 1, 3 }, { 3, 4, 5, 3 }, { 0, 0, 0, 7 } };

	for (int i = 0; i < 6; i++) {
		struct vtac_tensor *x;
		struct net net;

		net_begin(&net, 90);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 3);
		memcpy(x->producer->attr.conv.window.pad, pads[i / 2], sizeof(pads[0]));
		x->producer->attr.conv.window.stride[0] = 1 + i % 2;
		net_output(&net, x);
		check_on_card(&net);

		net_begin(&net, 91);
		x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 3);
		x->producer->op = VTAC_CONV_TRANSPOSE;
		x->producer->attr.conv.window.stride[0] = 2;
		x->producer->attr.conv.window.stride[1] = 2;
		memcpy(x->producer->attr.conv.window.pad,
		       (const int64_t[]){ i % 2, i / 2, 1 + i / 2, 2 }, sizeof(pads[0]));
		net_output(&net, x);
		check_on_card(&net);
	}
}

/* A constant for each place is no residual, but an operand of the card. */
TEST(constants_of_all_places_are_operands)
{
	struct vtac_options opt = { .no_prune = true };
	const struct vtac_tensor *c;
	struct vtac_tensor *x;
	struct vtac_node *add;
	struct net net;

	net_core(&opt);
	net_begin(&net, 19);
	x = net_conv(&net, net_input(&net, 16, 8, 8), "conv", 16, 16, 1);
	add = net_node(&net, VTAC_SUB, "sub", x,
		       net_const(&net, 2, (const int64_t[]){ 8, 8 }), NULL);
	net_output(&net, add->out[0]);
	net_pass(&net, vtac_pass_shape, &opt);
	net_keeps_values(&net, vtac_pass_fuse, &opt);
	net_pass(&net, vtac_pass_partition, &opt);
	assert_int_equal(net_find(&net, "sub")->device, VTAC_CARD);
	net_keeps_values(&net, vtac_pass_legalize, &opt);
	add = net_find(&net, "sub");
	assert_int_equal(add->op, VTAC_ADD);
	c = add->in[1];
	assert_true(c->data && vtac_same_shape(c, add->out[0]) && vtac_is_given(c));
	net_end(&net);
}

TEST(every_node_of_the_cpu_has_a_reason)
{
	struct net net;

	mixed(&net);
	choose(&net);
	for (unsigned int i = 0; i < net.g->n_nodes; i++)
		assert_int_equal(net.g->nodes[i]->device == VTAC_CPU,
				 net.g->nodes[i]->why && net.g->nodes[i]->why[0]);
	/* A convolution of one channel is not worth the copy of 32. */
	assert_int_equal(net_find(&net, "tiny")->device, VTAC_CPU);
	assert_non_null(strstr(net_find(&net, "tiny")->why, "copies"));
	net_end(&net);
}

TEST(options_of_the_user_choose_devices)
{
	static const char *const cpu[] = { "res1/conv0" };
	struct vtac_options opt = { .cpu = cpu, .n_cpu = 1, .no_prune = true };
	struct net net;

	net_core(&opt);
	resnet(&net, 1, false, false);
	net_pass(&net, vtac_pass_partition, &opt);
	assert_int_equal(net_find(&net, "res1/conv0")->device, VTAC_CPU);
	assert_int_equal(net_find(&net, "res1/conv1")->device, VTAC_CARD);
	opt.n_cpu = 0;
	opt.card_from = "res1/conv0";
	opt.card_to = "res1/add";
	net_pass(&net, vtac_pass_partition, &opt);
	assert_int_equal(net_find(&net, "res0/conv0")->device, VTAC_CPU);
	assert_int_equal(net_find(&net, "res1/conv1")->device, VTAC_CARD);
	assert_int_equal(net_find(&net, "res1/relu")->device, VTAC_CPU);
	opt.card_from = "nothing";
	assert_int_equal(vtac_pass_partition(net.g, &opt), -1);
	assert_non_null(strstr(net.g->error.text, "no node nothing"));
	net_end(&net);
}

/* Squeeze and excite: a value for each channel, on either side, but not for each row. */
TEST(values_of_a_channel_are_broadcast_on_the_card)
{
	for (int side = 0; side < 4; side++) {
		struct vtac_options opt = { .no_prune = true };
		struct vtac_tensor *x, *mean;
		struct vtac_node *pool, *mul;
		struct net net;

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
		net_pass(&net, vtac_pass_shape, &opt);
		net_pass(&net, vtac_pass_partition, &opt);
		assert_int_equal(mul->device, side < 2 ? VTAC_CARD : VTAC_CPU);
		net_end(&net);
	}
}

/* ---- legalize, align_channels, pad_channels ---- */

/* Parts of 4, 20 and 7 channels: filled up to blocks by weights of 0. */
TEST(aligned_channels_keep_values)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *x, *y;
	struct vtac_node *concat;
	struct net net;

	net_core(&opt);
	net_begin(&net, 23);
	x = net_conv(&net, net_input(&net, 3, 8, 8), "first", 3, 16, 3);
	concat = net_node(&net, VTAC_CONCAT, "concat", net_conv(&net, x, "a", 16, 4, 3),
			  net_relu(&net, net_conv(&net, x, "b", 16, 20, 1), "relu"),
			  net_conv(&net, x, "c", 16, 7, 1));
	concat->attr.axis.axis = 1;
	y = net_conv(&net, concat->out[0], "last", 31, 8, 3);
	net_output(&net, y);
	net_pass(&net, vtac_pass_shape, &opt);
	net_pass(&net, vtac_pass_fuse, &opt);
	for (unsigned int k = 0; k < net.g->n_nodes; k++)
		net.g->nodes[k]->device = VTAC_CARD;
	net_keeps_values(&net, vtac_pass_align_channels, &opt);
	net_keeps_values(&net, vtac_pass_pad_channels, &opt);
	assert_int_equal(concat->device, VTAC_CARD);
	assert_int_equal(concat->out[0]->dims[1], 16 + 32 + 7);
	net_end(&net);
}

TEST(parts_that_are_read_elsewhere_are_brought_to_their_lanes)
{
	struct vtac_options opt = { 0 };
	struct vtac_tensor *a, *b;
	struct vtac_node *concat;
	struct net net;

	net_core(&opt);
	net_begin(&net, 29);
	a = net_conv(&net, net_input(&net, 3, 8, 8), "a", 3, 4, 3);
	b = net_conv(&net, a, "b", 4, 16, 3);
	concat = net_node(&net, VTAC_CONCAT, "concat", a, b, NULL);
	concat->attr.axis.axis = 1;
	net_output(&net, net_conv(&net, concat->out[0], "last", 20, 8, 3));
	net_pass(&net, vtac_pass_shape, &opt);
	for (unsigned int k = 0; k < net.g->n_nodes; k++)
		net.g->nodes[k]->device = VTAC_CARD;
	net_keeps_values(&net, vtac_pass_align_channels, &opt);
	net_keeps_values(&net, vtac_pass_pad_channels, &opt);
	assert_int_equal(concat->device, VTAC_CARD);
	assert_int_equal(concat->op, VTAC_CHANNELS);
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
	net_pass(&net, vtac_pass_shape, &opt);
	assert_int_equal(node->out[0]->dims[2], 6);
	net_pass(&net, vtac_pass_partition, &opt);
	card = node->device != VTAC_CPU;
	assert_true(card || node->why);
	net_end(&net);
	return card;
}

TEST(pixels_are_repeated_equally_often)
{
	assert_true(resize_is_on_card(2));
	assert_false(resize_is_on_card(2.3f));
}

TEST(each_pass_gets_the_properties_that_it_needs)
{
	unsigned int holds = 0;

	for (const struct vtac_pass *p = vtac_passes; p->name; p++) {
		assert_int_equal(p->before & ~holds, 0);
		holds = p->after;
	}
}

/* Distances between words are such integers. */
TEST(magnitudes_of_integers_are_folded)
{
	static const int64_t values[] = { -3, 0, INT64_MIN + 1, 5 }, four = 4;
	const enum vtacpu_act_kind kinds[] = { VTACPU_ACT_ABS, VTACPU_ACT_NEG };

	for (unsigned int k = 0; k < 2; k++) {
		struct vtac_options opt = { 0 };
		struct vtac_node *node;
		const int64_t *got;
		struct net net;

		net_begin(&net, 31);
		node = net_node(&net, VTAC_UNARY, "unary",
				vtac_tensor_const(net.g, "x", VTAC_I64, 1, &four, values, true),
				NULL, NULL);
		node->attr.unary.kind = kinds[k];
		net_output(&net, node->out[0]);
		net_pass(&net, vtac_pass_shape, &opt);
		got = net.g->outputs[0]->data;
		assert_non_null(got);
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(got[i], values[i] < 0 || k ? -values[i] : values[i]);
		net_end(&net);
	}
}

/* A kernel takes no more of a tensor than it has, if shapes or types should let one through. */
TEST(no_kernel_gets_a_smaller_operand_than_it_reads)
{
	const enum vtac_dtype types[] = { VTAC_F32, VTAC_U8, VTAC_I64 };

	for (unsigned int i = 0; i < 3; i++) {
		struct vtac_options opt = { 0 };
		struct vtac_call *calls;
		struct vtac_node *node;
		struct vtac_tensor *x;
		struct net net;
		unsigned int n;

		net_begin(&net, 32);
		x = net_input(&net, 3, 4, 4);
		node = net_node(&net, VTAC_DEPTH_TO_SPACE, "copy", x, NULL, NULL);
		node->attr.depth_to_space.block = 1;
		net_output(&net, node->out[0]);
		net_pass(&net, vtac_pass_shape, &opt);
		node->out[0]->dtype = types[i];
		assert_int_equal(vtac_calls(net.g, node, &calls, &n), i == 1 ? -1 : 0);
		assert_int_equal(net.g->error.internal, i == 1);
		if (i == 1)
			assert_non_null(strstr(net.g->error.text, "copy has 48 bytes, of which"));
		net_end(&net);
	}
}

/* An image of a batch of one, as most are, is no obstacle. */
TEST(einsum_with_labels_of_one_value_is_a_product_of_matrices)
{
	const struct vtacpu_matrices want = {
		.batch = { 1, 1, 3 }, .m = 4, .n = 5, .k = 6, .a_batch = { 0, 0, 24 },
		.b_batch = { 0, 0, 30 }, .a_row = 6, .a_col = 1, .b_row = 1, .b_col = 6,
	};
	struct vtac_options opt = { 0 };
	struct vtac_call *calls;
	struct vtac_node *node;
	struct vtac_tensor *b;
	struct net net;
	unsigned int n;

	net_begin(&net, 33);
	b = net_const(&net, 4, (const int64_t[]){ 1, 3, 5, 6 });
	node = net_node(&net, VTAC_EINSUM, "einsum", net_input(&net, 3, 4, 6), b, NULL);
	node->attr.einsum = (struct vtac_einsum){ "nhqd", "nhkd", "nhqk" };
	net_output(&net, node->out[0]);
	net_pass(&net, vtac_pass_shape, &opt);
	assert_int_equal(vtac_calls(net.g, node, &calls, &n), 0);
	assert_int_equal(calls[0].kernel, VTACPU_GEMM_F32);
	assert_memory_equal(&calls[0].p.gemm_f32.mat, &want, sizeof(want));
	net_end(&net);
}

static struct vtac_tensor *net_matrix(struct net *net, int64_t rows, int64_t cols)
{
	struct vtac_tensor *t = net_input(net, 1, rows, cols);

	t->rank = 2;
	t->dims[0] = rows;
	t->dims[1] = cols;
	return t;
}

/* The kernel of the only step of x * w, w of @n columns, which another node reads if @shared. */
static uint32_t kernel_of_product(int64_t n, bool shared, bool constant)
{
	const int64_t dims[] = { n, 5 };
	struct vtac_options opt = { .no_card = true };
	struct vtac_tensor *x, *w;
	struct vtac_program p;
	struct vtac_node *node;
	uint32_t kernel = 0;
	struct net net;

	net_core(&opt);
	net_begin(&net, 34);
	x = net_matrix(&net, 3, 5);
	w = constant ? net_const(&net, 2, dims) : net_matrix(&net, n, 5);
	node = net_node(&net, VTAC_GEMM, "product", x, w, NULL);
	node->attr.gemm = (struct vtac_gemm){ .trans_w = true, .alpha = 1 };
	net_output(&net, node->out[0]);
	if (shared) {
		node = net_node(&net, VTAC_BINARY, "difference", w, net_input(&net, 1, n, 5), NULL);
		node->attr.binary.op = VTACPU_SUB;
		net_output(&net, node->out[0]);
	}
	assert_int_equal(vtac_compile(net.g, &opt, &p), 0);
	for (unsigned int i = 0; i < p.n_steps; i++)
		if (p.steps[i].kernel == VTACPU_GEMM_F32 ||
		    p.steps[i].kernel == VTACPU_GEMM_PACKED_F32)
			kernel = p.steps[i].kernel;
	vtac_program_free(&p);
	net_end(&net);
	return kernel;
}

TEST(constant_matrices_are_packed_unless_narrow_or_read_by_others)
{
	assert_int_equal(kernel_of_product(8, false, true), VTACPU_GEMM_PACKED_F32);
	assert_int_equal(kernel_of_product(7, false, true), VTACPU_GEMM_F32);
	assert_int_equal(kernel_of_product(8, true, true), VTACPU_GEMM_F32);
	assert_int_equal(kernel_of_product(8, false, false), VTACPU_GEMM_F32);
}

/* A product of rounded values and @w, in a 2-D shape after a Reshape if @flat. */
static void rounded_product(struct net *net, struct vtac_options *opt, struct vtac_tensor *w,
			    bool flat)
{
	struct vtac_tensor *x = flat ? net_input(net, 1, 4, 6) : net_matrix(net, 4, 6), *steps;
	struct vtac_node *node;

	steps = net_node(net, VTAC_STEPS, "steps", x, NULL, NULL)->out[0];
	x = net_node(net, VTAC_ROUND, "rounded", x, steps, NULL)->out[0];
	node = net_node(net, VTAC_MATMUL, "product", x, w, NULL);
	net_output(net, net_relu(net, node->out[0], "relu"));
	net_pass(net, vtac_pass_shape, opt);
	net_pass(net, vtac_pass_fuse, opt);
	net_pass(net, vtac_pass_partition, opt);
	net_pass(net, vtac_pass_legalize, opt);
}

/* As a quantised file has it: in 8 bits, dequantised. */
static struct vtac_tensor *dequantised(struct net *net, bool is_unsigned, bool by_column)
{
	const int64_t dims[] = { 6, 5 }, columns = 5;
	struct vtac_tensor *q, *scale, *zero;
	struct vtac_node *node;
	float scales[5];
	uint8_t v[30], zeros[5];

	for (unsigned int i = 0; i < 30; i++)
		v[i] = (uint8_t)net_random(net, 256);
	for (unsigned int i = 0; i < 5; i++) {
		scales[i] = 0.01f + (float)i / 100;
		zeros[i] = (uint8_t)net_random(net, 256);
	}
	q = vtac_tensor_const(net->g, "w", is_unsigned ? VTAC_U8 : VTAC_I8, 2, dims, v, true);
	scale = vtac_tensor_const(net->g, "scale", VTAC_F32, by_column, &columns, scales, true);
	zero = vtac_tensor_const(net->g, "zero", q->dtype, by_column, &columns, zeros, true);
	node = net_node(net, VTAC_DEQUANTIZE, "dequantised", q, scale, zero);
	node->attr.axis.axis = 1;
	return node->out[0];
}

TEST(products_of_rounded_values_are_of_integers_on_the_cpu)
{
	struct vtac_options opt = { .no_card = true };

	net_core(&opt);
	for (unsigned int i = 0; i < 8; i++) {
		struct net net;

		net_begin(&net, 35 + i);
		rounded_product(&net, &opt, dequantised(&net, i & 1, i & 2), i & 4);
		assert_int_equal(net_count(&net, VTAC_ROUND), 1);
		net_keeps_values(&net, vtac_pass_rounded, &opt);
		assert_int_equal(net_count(&net, VTAC_GEMM_ROUNDED), 1);
		assert_int_equal(net_count(&net, VTAC_ROUND), 0);
		net_end(&net);
	}
}

TEST(products_with_weights_that_are_floats_stay)
{
	struct vtac_options opt = { .no_card = true };
	struct net net;

	net_core(&opt);
	net_begin(&net, 43);
	rounded_product(&net, &opt, net_const(&net, 2, (const int64_t[]){ 6, 5 }), false);
	net_keeps_values(&net, vtac_pass_rounded, &opt);
	assert_int_equal(net_count(&net, VTAC_GEMM_ROUNDED), 0);
	assert_int_equal(net_count(&net, VTAC_ROUND), 1);
	net_end(&net);
}

/* ---- space_to_depth ---- */

/* A convolution of an input, with a window that begins and ends inside or outside of it */
struct first_layer {
	int64_t channels, h, w, kernel, stride, pad[4];
	int64_t taps, before;		/* of the window over squares; 0: it stays as it is */
};

static struct vtac_node *make_first_layer(struct net *net, const struct first_layer *l,
					  const struct vtac_options *opt)
{
	struct vtac_tensor *y;
	struct vtac_node *node;

	net_begin(net, (uint64_t)(l->kernel * 100 + l->h));
	y = net_conv(net, net_input(net, l->channels, l->h, l->w), "first", l->channels, 5,
		     l->kernel);
	node = y->producer;
	for (int i = 0; i < 2; i++)
		node->attr.conv.window.stride[i] = l->stride;
	memcpy(node->attr.conv.window.pad, l->pad, sizeof(l->pad));
	net_output(net, y);
	net_pass(net, vtac_pass_shape, opt);
	return node;
}

TEST(first_layers_with_strides_read_squares)
{
	static const struct first_layer layers[] = {
		{ 3, 32, 24, 7, 2, { 3, 3, 3, 3 }, 4, 2 },
		{ 3, 16, 20, 3, 2, { 1, 1, 1, 1 }, 2, 1 },
		{ 3, 16, 20, 3, 2, { 0, 0, 1, 1 }, 2, 0 },
		{ 3, 16, 20, 4, 4, { 0 }, 1, 0 },
		{ 4, 16, 20, 5, 2, { 2, 1, 2, 2 }, 3, 1 },
		{ 1, 12, 18, 7, 3, { 3, 2, 2, 3 }, 3, 1 },
		{ 1, 12, 12, 5, 3, { 4, 4, 1, 1 }, 3, 2 },
		{ 3, 32, 32, 16, 16, { 0 }, 1, 0 },
		/* No window reaches the half of the last squares. */
		{ 3, 17, 20, 3, 2, { 0 }, 2, 0 },
		{ 3, 23, 16, 4, 2, { 1, 0, 0, 0 }, 3, 1 },
		{ 1, 13, 15, 7, 3, { 3, 2, 0, 2 }, 3, 1 },
		/* Rows of half a square, channels of half a block, no strides, one tap */
		{ 3, 15, 20, 3, 2, { 1, 1, 1, 1 }, 0, 0 },
		{ 5, 16, 20, 3, 2, { 1, 1, 1, 1 }, 0, 0 },
		{ 3, 16, 20, 3, 1, { 1, 1, 1, 1 }, 0, 0 },
		{ 3, 16, 20, 1, 4, { 0 }, 0, 0 },
	};

	for (unsigned int i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		const struct first_layer *l = &layers[i];
		struct vtac_options opt = { .no_prune = true };
		struct vtac_node *node;
		struct net net;

		net_core(&opt);
		node = make_first_layer(&net, l, &opt);
		node->device = VTAC_CARD;
		net_keeps_values(&net, vtac_pass_space_to_depth, &opt);
		assert_int_equal(net_count(&net, VTAC_DEPTH_TO_SPACE), !!l->taps);
		assert_int_equal(node->attr.conv.window.kernel[0], l->taps ? l->taps : l->kernel);
		assert_int_equal(node->attr.conv.window.pad[0], l->taps ? l->before : l->pad[0]);
		assert_int_equal(node->attr.conv.window.stride[1], l->taps ? 1 : l->stride);
		net_end(&net);
	}
}

/* A second reader has use for the positions as they are. */
TEST(squares_are_for_one_reader_on_the_card)
{
	static const struct first_layer layer = { 3, 16, 20, 3, 2, { 1, 1, 1, 1 }, 0, 0 };

	for (int i = 0; i < 3; i++) {
		struct vtac_options opt = { .no_prune = true };
		struct vtac_node *node;
		struct net net;

		net_core(&opt);
		node = make_first_layer(&net, &layer, &opt);
		node->device = i == 1 ? VTAC_CPU : VTAC_CARD;
		if (i == 2) {
			net_output(&net, net_relu(&net, node->in[0], "other"));
			net_pass(&net, vtac_pass_shape, &opt);
		}
		net_keeps_values(&net, vtac_pass_space_to_depth, &opt);
		assert_int_equal(net_count(&net, VTAC_DEPTH_TO_SPACE), !i);
		net_end(&net);
	}
}
