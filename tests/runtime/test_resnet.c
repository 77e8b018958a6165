// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_resnet.c - the scores that examples/aot compares with are those of the network
 *
 * scores.bin was written by the training script. Here the arithmetic of resnet.h is
 * done once more, in plain loops over the weights that the program is made of: on
 * every tenth image, so that it takes no time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "resnet.h"
#include "testset.h"

#define STEP		10
#define VALUES_MAX	(16 * RESNET_SIDE * RESNET_SIDE)

static int8_t acts[RESNET_LAYERS][VALUES_MAX];

static int32_t sum_at(const struct resnet_layer *l, const int8_t *in, int o, int y, int x)
{
	const int8_t *wgt = l->weights + (size_t)o * l->in_channels * l->kernel * l->kernel;
	int32_t sum = l->bias[o];

	for (int c = 0; c < l->in_channels; c++)
		for (int i = 0; i < l->kernel; i++)
			for (int j = 0; j < l->kernel; j++, wgt++) {
				int row = y * l->stride + i - l->pad;
				int col = x * l->stride + j - l->pad;

				if (row >= 0 && row < l->in_side && col >= 0 && col < l->in_side)
					sum += in[(c * l->in_side + row) * l->in_side + col] * *wgt;
			}
	return sum;
}

static void layer(const struct resnet_layer *l, const int8_t *in, const int8_t *res, int8_t *out)
{
	for (int o = 0; o < l->out_channels; o++)
		for (int y = 0; y < l->out_side; y++)
			for (int x = 0; x < l->out_side; x++, out++) {
				int32_t sum = sum_at(l, in, o, y, x);

				if (res)
					sum += *res++ * (1 << l->res_shift);
				sum >>= l->shift;
				if (l->relu && sum < 0)
					sum = 0;
				*out = (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
			}
}

static const int8_t *network(const uint8_t *pixels)
{
	static int8_t image[RESNET_PIXELS];

	for (int i = 0; i < RESNET_PIXELS; i++)
		image[i] = (int8_t)(pixels[i] >> 1);
	for (int i = 0; i < RESNET_LAYERS; i++) {
		const struct resnet_layer *l = &resnet_layers[i];

		assert_true(l->out_channels * l->out_side * l->out_side <= VALUES_MAX);
		layer(l, l->source == RESNET_INPUT ? image : acts[l->source],
		      l->res == RESNET_NONE ? NULL : acts[l->res], acts[i]);
	}
	return acts[RESNET_LAYERS - 1];
}

static void scores_are_the_networks(void **state)
{
	struct digits_testset set;
	FILE *file = fopen("examples/aot/scores.bin", "rb");
	int8_t want[RESNET_CLASSES];
	unsigned int right = 0, tried = 0;

	(void)state;
	assert_non_null(file);
	assert_int_equal(digits_load("examples/digits/testset.bin", &set), 0);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	assert_int_equal(ftell(file), (long)set.count * RESNET_CLASSES);
	for (uint32_t i = 0; i < set.count; i += STEP, tried++) {
		const int8_t *got = network(set.images[i]);
		unsigned int best = 0;

		assert_int_equal(fseek(file, (long)i * RESNET_CLASSES, SEEK_SET), 0);
		assert_int_equal(fread(want, 1, sizeof(want), file), sizeof(want));
		if (memcmp(got, want, sizeof(want)))
			fail_msg("image %u: other scores than in scores.bin", (unsigned int)i);
		for (unsigned int j = 1; j < RESNET_CLASSES; j++)
			if (got[j] > got[best])
				best = j;
		right += best == set.labels[i];
	}
	fclose(file);
	digits_unload(&set);
	/* 98.55 % of all; not all of them are looked at here. */
	if (right * 100 < tried * 96)
		fail_msg("%u of %u are right", right, tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_are_the_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
