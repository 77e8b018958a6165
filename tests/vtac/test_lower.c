// SPDX-License-Identifier: GPL-2.0-only
/* Tests of lower: values that sums begin with, and weights that are loaded early. */
#include "../frame.h"
#include "net.h"
#include "api/vtac.h"

#define LEAST	(-128)

TEST(start_times_multiplier_is_the_bias)
{
	unsigned int odd = 0, even = 0;
	struct net net;
	int32_t start;

	net_begin(&net, 1);
	for (unsigned int i = 0; i < 100000; i++) {
		int32_t mul = 1 + (int32_t)net_random(&net, 32767);
		int32_t bias = (int32_t)(net_random(&net, UINT32_MAX) >> net_random(&net, 31));

		if (!vtac_sum_start(mul, bias, LEAST, &start))
			continue;
		assert_true(start <= LEAST);
		assert_int_equal((uint32_t)start * (uint32_t)mul, (uint32_t)bias);
		odd += mul & 1;
		even += !(mul & 1);
	}
	/* Half of the odd multipliers, and half of those that 2 divides, a quarter of 4, ... */
	assert_in_range(odd, 24000, 26000);
	assert_in_range(even, 10000, 20000);
	net_end(&net);
}

TEST(biases_without_start_are_refused)
{
	int32_t start;

	assert_false(vtac_sum_start(1, 5, LEAST, &start));
	assert_false(vtac_sum_start(1, LEAST + 1, LEAST, &start));
	assert_false(vtac_sum_start(4, 6, LEAST, &start));
	assert_false(vtac_sum_start(0, 0, LEAST, &start));
	assert_false(vtac_sum_start(-3, 3, LEAST, &start));
	assert_true(vtac_sum_start(1, LEAST, LEAST, &start));
	assert_int_equal(start, LEAST);
	assert_true(vtac_sum_start(2, 6, LEAST, &start));
	assert_int_equal(start, INT32_MIN + 3);
}

static int random_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	uint32_t state = i + 1;

	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++) {
		state = state * 1664525u + 1013904223u;
		values[k] = (float)((int32_t)state >> 8) / 3e6f;
	}
	return 0;
}

/* Four convolutions in a row, with a bias each */
static void make_chain(struct net *net, struct vtac_options *opt, struct vtac_program *p)
{
	static const struct vtac_images images = { .count = 2, .read = random_image };
	static const char *const names[] = { "one", "two", "three", "four" };
	struct vtac_tensor *t;

	net_begin(net, 60);
	t = net_input(net, 64, 8, 8);
	for (unsigned int i = 0; i < 4; i++)
		t = net_relu(net, net_conv(net, t, names[i], 64, 64, 3), NULL);
	net_output(net, t);
	*opt = (struct vtac_options) { .no_prune = true, .images = &images };
	net_core(opt);
	if (vtac_compile(net->g, opt, p))
		fail_msg("%s", net->g->error.text);
}

TEST(biases_of_layers_have_starts)
{
	unsigned int layers = 0;
	struct vtac_options opt;
	struct vtac_program p;
	struct net net;

	make_chain(&net, &opt, &p);
	for (unsigned int i = 0; i < net.g->n_nodes; i++) {
		const struct vtac_node *node = net.g->nodes[i];
		int32_t start;

		if (node->op != VTAC_CONV)
			continue;
		layers++;
		for (int64_t c = 0; c < node->out[0]->dims[1]; c++)
			assert_true(vtac_sum_start(node->post.mul[node->post.per_channel ? c : 0],
						   node->post.bias[c], LEAST, &start));
	}
	assert_int_equal(layers, 4);
	vtac_program_free(&p);
	net_end(&net);
}

/* A layer of a stream has its weights sooner than one that is a stream of its own. */
TEST(weights_are_loaded_while_the_layer_before_ends)
{
	struct vtac_program whole, alone;
	struct vtac_options opt;
	struct net net;

	make_chain(&net, &opt, &whole);
	opt.one_by_one = true;
	if (vtac_lower(net.g, &opt, &alone))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(whole.n_streams, 1);
	assert_int_equal(alone.n_streams, 4);
	/* 32 and 16 for each of the weights of a block: at least that is hidden three times. */
	if (whole.cycles + 3 * (32 + 16 * 9) > alone.cycles)
		fail_msg("%llu cycles in one stream, %llu in four",
			 (unsigned long long)whole.cycles, (unsigned long long)alone.cycles);
	vtac_program_free(&alone);
	vtac_program_free(&whole);
	net_end(&net);
}
