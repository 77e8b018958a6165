// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test of compiler/passes/layout.c, copies between host and card: a network whose first layer pads,
 * and whose input has another zero point than 0, copies the values of its input and output, and
 * nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "../../frame.h"
#include "programs.h"
#include "api/libvtac.h"
#include "api/vtac.h"

enum { SIDE = 8, OUT_C = 8 };

static const struct core_config byte_core = { 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 };
static const struct core_config batch_core = { 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 };
static const struct core_config int4_core = { 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 };

/* Values of images, in steps from 0 to 1, and then less by the mean. */
struct values {
	int64_t count;
	float mean;
};

/* More values than pixels have: 0 is the least integer. */
static const struct values floats = { .count = 503 };
/* Their 0 is between two integers. */
static const struct values pixels = { .count = 256, .mean = 0.4567f };

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct values *v = priv;

	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = (float)((k * 37 + i * 11) % v->count) / (float)(v->count - 1) - v->mean;
	return 0;
}

/* One run of a program. */
struct run {
	struct vtac_graph *g;
	struct values values;
	float *wanted;
};

static int input(void *priv, const struct vtac_tensor *t, void *data)
{
	struct run *r = priv;

	return read_image(&r->values, 1, t, data);
}

static void keep(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct run *r = priv;

	if (!vtac_is_output(r->g, t))
		return;
	r->wanted = malloc((size_t)vtac_bytes(t));
	memcpy(r->wanted, data, (size_t)vtac_bytes(t));
}

/* A convolution of 3x3 taps that pads, of @c channels. */
static struct vtac_graph *padded(int64_t n, int64_t c)
{
	struct vtac_graph *g = vtac_graph_new(0);
	struct vtac_node *conv = vtac_node_new(g, VTAC_CONV, "conv", 2, 1);
	int64_t dims[4] = { n, c, SIDE, SIDE }, w_dims[4] = { OUT_C, c, 3, 3 };
	size_t count = OUT_C * (size_t)c * 9;
	float *w = calloc(count, sizeof(*w));
	struct vtac_tensor *x = vtac_tensor_shaped(g, "x", VTAC_F32, 4, dims), *y;

	for (size_t i = 0; i < count; i++)
		w[i] = (float)((int)(i * 29 % 64) - 32) / 32;
	dims[1] = OUT_C;
	y = vtac_tensor_shaped(g, "y", VTAC_F32, 4, dims);
	conv->attr.conv = (struct vtac_conv) {
		.window = { .kernel = { 3, 3 }, .stride = { 1, 1 }, .dilation = { 1, 1 },
			    .pad = { 1, 1, 1, 1 } }, .groups = 1 };
	vtac_node_set_out(conv, 0, y);
	if (vtac_graph_input(g, x) || vtac_node_set_in(g, conv, 0, x) ||
	    vtac_node_set_in(g, conv, 1, vtac_tensor_const(g, "w", VTAC_F32, 4, w_dims, w, true)) ||
	    vtac_graph_output(g, y))
		fail_msg("%s", g->error.text);
	free(w);
	return g;
}

static unsigned int steps(const struct vtac_program *p, enum vtaimage_step_kind kind)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->n_steps; i++)
		n += p->steps[i].kind == kind;
	return n;
}

static uint64_t crossing(const struct core_config *cfg, int64_t n, int64_t c,
			 const struct values *values, unsigned int fills)
{
	struct run run = { .g = padded(n, c), .values = *values };
	const struct vtac_images images = { .count = 4, .read = read_image, .priv = &run.values };
	const struct vtac_quant_options how = {
		.range = VTAC_RANGE_MAX, .equalise = VTAC_EQUALISE_NONE,
		.residual = VTAC_RESIDUAL_FUSED };
	const struct vtac_options opt = { .core = native_core(cfg), .no_prune = true,
					  .images = &images, .quant = &how };
	const struct vtac_interp io = { .input = input, .tensor = keep, .priv = &run };
	struct vtac_graph *g = run.g;
	struct vtac_program p;
	struct native native;
	uint64_t copied;

	if (vtac_run_passes(g, &opt, NULL) || vtac_interp_float(g, &io) ||
	    vtac_lower(g, &opt, &p))
		fail_msg("%s", g->error.text);
	assert_int_equal(native_init(&native, &p, cfg, CORE_ORDER_RANDOM, 1), 0);
	memset(native.card, 0x55, p.card_bytes);
	if (native_run(&native, &io))
		fail_msg("%s", native.why);
	assert_memory_equal(native_at(&native, g->outputs[0]), run.wanted,
			    vtac_bytes(g->outputs[0]));
	assert_int_equal(p.n_streams, 1);
	assert_int_equal(native.doorbells, 1);
	assert_int_equal(steps(&p, VTAIMAGE_FILL), fills);
	copied = native.copied;
	native_fini(&native);
	vtac_program_free(&p);
	vtac_graph_free(g);
	free(run.wanted);
	return copied;
}

TEST(pixels_of_three_channels_are_three_bytes)
{
	assert_int_equal(crossing(&byte_core, 1, 3, &floats, 1), (3 + OUT_C) * SIDE * SIDE);
	assert_int_equal(crossing(&byte_core, 2, 3, &floats, 1), 2 * (3 + OUT_C) * SIDE * SIDE);
}

/* The card pads them as well, exactly: it adds channels of a constant. */
TEST(pixels_are_padded_by_the_card)
{
	assert_int_equal(crossing(&byte_core, 1, 3, &pixels, 1), (3 + OUT_C) * SIDE * SIDE);
	assert_int_equal(crossing(&byte_core, 2, 3, &pixels, 1), 2 * (3 + OUT_C) * SIDE * SIDE);
	assert_int_equal(crossing(&byte_core, 1, 16, &pixels, 0), (16 + OUT_C) * SIDE * SIDE);
	assert_int_equal(crossing(&batch_core, 1, 3, &pixels, 1), (3 + 4 * OUT_C) * SIDE * SIDE);
}

TEST(whole_blocks_are_followed_by_one_that_does_not_cross)
{
	assert_int_equal(crossing(&byte_core, 1, 128, &floats, 1), (128 + OUT_C) * SIDE * SIDE);
}

/* Elements of four images, of which there is one: input in rows, output as a block. */
TEST(elements_of_a_batch_are_filled)
{
	assert_int_equal(crossing(&batch_core, 1, 3, &floats, 1), (3 + 4 * OUT_C) * SIDE * SIDE);
}

TEST(integers_of_four_bits_are_filled)
{
	assert_int_equal(crossing(&int4_core, 1, 128, &floats, 1), (128 + 16) / 2 * SIDE * SIDE);
}

/* The rest of a block behind whole ones is neither: the host adds the channels. */
TEST(others_are_filled_by_the_host)
{
	assert_int_equal(crossing(&byte_core, 1, 20, &floats, 0), (32 + OUT_C) * SIDE * SIDE);
}

/* ---- integers that are given ---- */

enum { IN_C = 16, UNITS = 8, PLACES = 16 };

static int8_t x_of(int64_t i)
{
	return (int8_t)(i * 89 - 128);
}

static int8_t w_of(int64_t i)
{
	return (int8_t)(i * 57 - 128);
}

static int32_t bias_of(int64_t unit)
{
	return (int32_t)(unit * 1000 - 3500);
}

static int integers(void *priv, const struct vtac_tensor *t, void *data)
{
	(void)priv;
	for (int64_t i = 0; i < vtac_elements(t); i++)
		((int8_t *)data)[i] = x_of(i);
	return 0;
}

/* y = (w * x + bias) / 2^shift, all of scales that are powers of two. */
static struct vtac_net *integer_net(int shift)
{
	const int64_t x_dims[] = { 1, IN_C, 4, 4 }, w_dims[] = { UNITS, IN_C, 1, 1 };
	const int64_t units[] = { UNITS };
	const struct vtac_net_window window = { .stride = { 1, 1 } };
	const float x_scale = 0.5f, w_scale = 0.25f, b_scale = x_scale * w_scale;
	struct vtac_net *net = vtac_net_new();
	struct vtac_tensor *x = vtac_net_input(net, "x", VTACPU_I8, 4, x_dims), *w, *b, *y;
	int8_t wq[UNITS * IN_C];
	int32_t bq[UNITS];

	for (int64_t i = 0; i < UNITS * IN_C; i++)
		wq[i] = w_of(i);
	for (int64_t i = 0; i < UNITS; i++)
		bq[i] = bias_of(i);
	w = vtac_net_const(net, VTACPU_I8, 4, w_dims, wq);
	b = vtac_net_const(net, VTACPU_I32, 1, units, bq);
	y = vtac_net_conv2d(net, "conv", vtac_net_dequantize(net, x, &x_scale, 1, 0),
			    vtac_net_dequantize(net, w, &w_scale, 1, 0),
			    vtac_net_dequantize(net, b, &b_scale, 1, 0), &window);
	y = vtac_net_quantize(net, y, b_scale * (float)(1 << shift), 0, VTACPU_I8);
	if (vtac_net_output(net, y, "y"))
		fail_msg("%s", vtac_net_error(net));
	return net;
}

static int8_t want_integer(int64_t unit, int64_t place, int shift)
{
	int32_t sum = bias_of(unit) + (1 << (shift - 1));

	for (int64_t c = 0; c < IN_C; c++)
		sum += w_of(unit * IN_C + c) * x_of(c * PLACES + place);
	sum >>= shift;
	return (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
}

TEST(given_integers_are_kept)
{
	const struct vtac_options opt = { .core = native_core(&byte_core), .no_prune = true };
	const struct vtac_interp io = { .input = integers };
	unsigned int least = 0;

	for (int shift = 6; shift < 14; shift++) {
		struct vtac_net *net = integer_net(shift);
		struct vtac_program p;
		struct native native;
		const int8_t *got;

		if (vtac_compile(net->g, &opt, &p))
			fail_msg("%s", vtac_net_error(net));
		assert_int_equal(native_init(&native, &p, &byte_core, CORE_ORDER_RANDOM, 1), 0);
		if (native_run(&native, &io))
			fail_msg("%s", native.why);
		got = native_at(&native, net->g->outputs[0]);
		for (int64_t i = 0; i < UNITS * PLACES; i++) {
			assert_int_equal(got[i], want_integer(i / PLACES, i % PLACES, shift));
			least += got[i] == -128;
		}
		/* Nothing between them is float. */
		assert_int_equal(native.copied, (IN_C + UNITS) * PLACES);
		for (unsigned int i = 0; i < net->g->n_tensors; i++)
			assert_int_not_equal(net->g->tensors[i]->dtype, VTAC_F32);
		native_fini(&native);
		vtac_program_free(&p);
		vtac_net_free(net);
	}
	assert_true(least);
}
