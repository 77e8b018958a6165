// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test of zero points of what padded convolutions read: depthwise and other ones, with any strides
 * and pads, on cores of different blocks and widths. They are chosen, the card computes what the
 * interpreter does, and the steps are half as wide. The compiler chooses them by their noise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../frame.h"
#include "programs.h"
#include "api/vtac.h"

enum { CHANNELS = 32, H = 11, W = 9 };

static const struct core_config cores[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 },
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 },
};

struct shape {
	int64_t kernel, stride, pad[4], groups;
};

static const struct shape shapes[] = {
	{ 3, 1, { 1, 1, 1, 1 }, CHANNELS }, { 3, 2, { 1, 1, 1, 1 }, CHANNELS },
	{ 5, 1, { 2, 2, 2, 2 }, CHANNELS }, { 5, 2, { 1, 2, 2, 1 }, CHANNELS },
	{ 3, 2, { 0, 0, 1, 1 }, CHANNELS }, { 2, 1, { 1, 0, 0, 1 }, CHANNELS },
	{ 3, 1, { 1, 1, 1, 1 }, 1 }, { 3, 1, { 1, 1, 1, 1 }, 2 },
};

static float noise_of(int64_t i)
{
	return (float)((uint32_t)(i + 1) * 2654435761u >> 8) / (float)(1 << 24);
}

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = 2 * noise_of(k * 7 + i) - 1;
	return 0;
}

static int input(void *priv, const struct vtac_tensor *t, void *data)
{
	return read_image(priv, 1, t, data);
}

static struct vtac_tensor *add_conv(struct vtac_graph *g, const char *name, struct vtac_tensor *x,
				    const struct shape *s, float least,
				    float most)
{
	struct vtac_node *conv = vtac_node_new(g, VTAC_CONV, name, 2, 1);
	int64_t w_dims[4] = { CHANNELS, x->dims[1] / s->groups, s->kernel, s->kernel };
	int64_t dims[4] = { x->dims[0], CHANNELS };
	int64_t count = CHANNELS * w_dims[1] * s->kernel * s->kernel;
	float *w = malloc((size_t)count * sizeof(*w));
	struct vtac_tensor *y;

	for (int i = 0; i < 2; i++)
		dims[2 + i] = (x->dims[2 + i] + s->pad[i] + s->pad[2 + i] - s->kernel) /
			s->stride + 1;
	for (int64_t i = 0; i < count; i++)
		w[i] = noise_of(i * 3 + s->kernel) - 0.4f;
	y = vtac_tensor_shaped(g, name, VTAC_F32, 4, dims);
	conv->attr.conv = (struct vtac_conv) {
		.window = { .kernel = { s->kernel, s->kernel }, .stride = { s->stride, s->stride },
			    .dilation = { 1, 1 } }, .groups = s->groups };
	memcpy(conv->attr.conv.window.pad, s->pad, sizeof(s->pad));
	if (least > -INFINITY)
		conv->act = (struct vtac_activation) { VTAC_ACT_CLIP, least, most, 0 };
	vtac_node_set_out(conv, 0, y);
	if (vtac_node_set_in(g, conv, 0, x) ||
	    vtac_node_set_in(g, conv, 1,
			     vtac_tensor_const(g, name, VTAC_F32, 4, w_dims, w, true)))
		fail_msg("%s", g->error.text);
	free(w);
	return y;
}

/* A layer whose results are limited, and @s, which reads them. */
static struct vtac_graph *network(const struct shape *s, float least, float most)
{
	const struct shape first = { 1, 1, { 0 }, 1 };
	struct vtac_graph *g = vtac_graph_new(0);
	int64_t dims[4] = { 2, 16, H, W };
	struct vtac_tensor *x = vtac_tensor_shaped(g, "x", VTAC_F32, 4, dims);

	if (vtac_graph_input(g, x) ||
	    vtac_graph_output(g, add_conv(g, "around",
					  add_conv(g, "first", x, &first, least, most), s,
					  -INFINITY, INFINITY)))
		fail_msg("%s", g->error.text);
	return g;
}

struct kept {
	struct vtac_graph *g;
	float *values;
};

static void keep(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct kept *k = priv;

	if (!vtac_is_output(k->g, t))
		return;
	k->values = malloc((size_t)vtac_bytes(t));
	memcpy(k->values, data, (size_t)vtac_bytes(t));
}

static const struct vtac_node *find(const struct vtac_graph *g, const char *name)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (!strcmp(g->nodes[i]->name, name))
			return g->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

static float step_of(const struct shape *s, const struct core_config *cfg, bool zero_points)
{
	const struct vtac_images images = { .count = 4, .read = read_image };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .equalise = VTAC_EQUALISE_NONE,
		.residual = VTAC_RESIDUAL_FUSED,
		.padding = zero_points ? VTAC_PADDING_POINT : VTAC_PADDING_ZERO };
	const struct vtac_options opt = { .core = native_core(cfg), .no_prune = true,
					  .images = &images, .quant = &how };
	struct kept want = { network(s, 0, INFINITY), NULL };
	const struct vtac_interp io = { .input = input, .tensor = keep, .priv = &want };
	struct vtac_graph *g = want.g;
	const int least = -(1 << ((1 << cfg->log_inp_width) - 1));
	const struct vtac_node *conv;
	struct vtac_program p;
	struct native native;
	float step;

	if (vtac_run_passes(g, &opt, NULL) || vtac_interp_float(g, &io) || vtac_lower(g, &opt, &p))
		fail_msg("%s", g->error.text);
	conv = find(g, "around");
	assert_int_equal(conv->device, VTAC_CARD);
	assert_int_equal(conv->post.around, zero_points ? least : 0);
	step = conv->in[0]->quant.scale[0];
	for (unsigned int order = 0; order < 3; order++) {
		assert_int_equal(native_init(&native, &p, cfg, (enum core_order)order, 1), 0);
		memset(native.card, 0x55, p.card_bytes);
		if (native_run(&native, &io))
			fail_msg("%s", native.why);
		assert_memory_equal(native_at(&native, g->outputs[0]), want.values,
				    vtac_bytes(g->outputs[0]));
		native_fini(&native);
	}
	vtac_program_free(&p);
	vtac_graph_free(g);
	free(want.values);
	return step;
}

TEST(padded_layers_read_zero_points)
{
	for (size_t c = 0; c < sizeof(cores) / sizeof(*cores); c++)
		for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
			assert_true(step_of(&shapes[i], &cores[c], true) <
				    0.6f * step_of(&shapes[i], &cores[c], false));
}

/* Of the network whose first layer has these limits: with all else given */
static enum vtac_padding chosen(float least, float most, char *text)
{
	const struct vtac_images images = { .count = 6, .read = read_image };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE,
		.residual = VTAC_RESIDUAL_FUSED };
	const struct vtac_options opt = { .core = native_core(&cores[0]), .no_prune = true,
					  .images = &images, .quant = &how };
	struct vtac_graph *g = network(&shapes[0], least, most);
	enum vtac_padding padding;

	if (vtac_run_passes(g, &opt, NULL))
		fail_msg("%s", g->error.text);
	padding = g->how->padding;
	assert_int_equal(find(g, "around")->post.around != 0, padding == VTAC_PADDING_POINT);
	vtac_quant_text(g->how, text);
	print_message("# from %g to %g: %s\n", (double)least, (double)most, text);
	vtac_graph_free(g);
	return padding;
}

/* Half as wide steps are worth it, those that are hardly finer are not. */
TEST(zero_points_around_inputs_are_chosen_by_their_noise)
{
	char text[VTAC_QUANT_TEXT];

	assert_int_equal(chosen(0, INFINITY, text), VTAC_PADDING_POINT);
	assert_non_null(strstr(text, "zero points around inputs: yes (no: +"));
	assert_int_equal(chosen(-1.2f, 1.6f, text), VTAC_PADDING_ZERO);
	assert_non_null(strstr(text, "zero points around inputs: no (yes: "));
}
