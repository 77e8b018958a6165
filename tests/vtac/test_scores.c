// SPDX-License-Identifier: GPL-2.0-only
/* Tests of what a search of options compares (compiler/quant/scores.c). */
#include <string.h>

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"
#include "quant/quant.h"

/* Compiles @net up to integers, with @t as its output, and lists the names of its scores. */
static void list_scores(struct net *net, struct vtac_tensor *t, char *names, size_t size)
{
	const struct vtac_images images = { .count = 3, .read = net_random_image };
	const struct vtac_quant_options how = { .equalise = VTAC_EQUALISE_NONE };
	struct vtac_options opt = { .no_prune = true, .images = &images, .quant = &how };
	const bool *scores;

	net_output(net, t);
	net_core(&opt);
	assert_int_equal(vtac_run_passes(net->g, &opt, "quantise"), 0);
	scores = vtac_find_scores(net->g);
	assert_non_null(scores);
	names[0] = 0;
	for (unsigned int i = 0; i < net->g->n_tensors; i++)
		if (scores[net->g->tensors[i]->id])
			snprintf(names + strlen(names), size - strlen(names), "%s ",
				 net->g->tensors[i]->name);
}

static struct vtac_tensor *net_unary(struct net *net, struct vtac_tensor *x,
				     enum vtacpu_act_kind kind, const char *name)
{
	struct vtac_node *node = net_node(net, VTAC_UNARY, name, x, NULL, NULL);

	node->attr.unary.kind = kind;
	return node->out[0];
}

/* A network that begins with a convolution, whose sine it goes on with */
static struct vtac_tensor *net_begin_sine(struct net *net, unsigned int seed)
{
	struct vtac_tensor *x;

	net_begin(net, seed);
	x = net_conv(net, net_input(net, 16, 8, 8), "first", 16, 16, 1);
	return net_unary(net, x, VTACPU_ACT_SIN, "sine");
}

/* The card computes the sine's argument, too, whose noise is in the output already. */
TEST(outputs_are_compared_and_not_what_the_card_leaves_on_the_way)
{
	struct vtac_tensor *x;
	struct net net;
	char names[100];

	x = net_begin_sine(&net, 1);
	x = net_conv(&net, x, "last", 16, 16, 1);
	list_scores(&net, x, names, sizeof(names));
	assert_string_equal(names, "last ");
	net_end(&net);
	net_begin(&net, 2);
	x = net_conv(&net, net_input(&net, 16, 8, 8), "first", 16, 16, 1);
	x = net_unary(&net, x, VTACPU_ACT_SIN, "sine");
	list_scores(&net, x, names, sizeof(names));
	assert_string_equal(names, "sine ");
	net_end(&net);
}

TEST(scores_of_probabilities_are_compared)
{
	struct vtac_node *node;
	struct vtac_tensor *x;
	struct net net;
	char names[100];

	net_begin(&net, 3);
	x = net_conv(&net, net_input(&net, 16, 8, 8), "first", 16, 16, 1);
	node = net_node(&net, VTAC_SOFTMAX, "softmax", x, NULL, NULL);
	node->attr.softmax.axis = 1;
	node = net_node(&net, VTAC_TRANSPOSE, "transpose", node->out[0], NULL, NULL);
	memcpy(node->attr.transpose.perm, (const int[]){ 0, 2, 3, 1 }, 4 * sizeof(int));
	list_scores(&net, node->out[0], names, sizeof(names));
	assert_string_equal(names, "first ");
	net_end(&net);
}

/* The place of the greatest value jumps, and so do results that are computed of it. */
TEST(results_that_jump_are_compared_by_their_operands)
{
	struct vtac_node *node;
	struct vtac_tensor *x;
	struct net net;
	char names[100];

	x = net_begin_sine(&net, 4);
	node = net_node(&net, VTAC_ARG, "place", x, NULL, NULL);
	node->attr.arg.axis = 1;
	node->out[0]->dtype = VTAC_I64;
	node = net_node(&net, VTAC_CAST, "float", node->out[0], NULL, NULL);
	node->attr.cast.to = VTAC_F32;
	list_scores(&net, node->out[0], names, sizeof(names));
	assert_string_equal(names, "sine ");
	net_end(&net);
}
