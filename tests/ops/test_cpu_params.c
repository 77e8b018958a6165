// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters of the kernels for the CPU that may be anything: what vtacpu_need() accepts runs
 * within the operands that it asks for, and within the time.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "calls.h"

/* Good parameters of kernels of which words at random are seldom good: changed a little. */
struct good {
	enum vtacpu_kernel kernel;
	union vtacpu_params p;
};

#define PLAIN_WINDOW	{ 1, 4, 5, 6, 4, 3, 4, 3, 3, 1, 1, 0, 0, 1, 1, 1, 0 }
#define VOLUME		{ { 3, 4, 5 }, { 2, 3, 4 }, { 2, 2, 2 }, { 1, 1, 1 }, { 0 }, { 1, 1, 1 } }
#define BYTES		{ 1, 0, 0, -128, 127, 0, 0 }

static const struct good good[] = {
	{ VTACPU_CONV_F32, { .conv_f32 = { .win = PLAIN_WINDOW, .has_bias = 1 } } },
	{ VTACPU_CONV_I8, { .conv_i8 = { .win = PLAIN_WINDOW, .post = BYTES } } },
	{ VTACPU_GEMM_PACKED_F32, { .gemm_f32 = {
		.mat = { { 1, 2, 3 }, 4, 21, 6, { 0, 72, 24 }, 6, 1, { 0 }, 0, 0, { 0 }, 0, 1 },
		.has_c = 1, .alpha = 1, .beta = 1 } } },
	{ VTACPU_STEP_F32, { .step_f32 = { 70 } } },
	{ VTACPU_ROUND_F32, { .round_f32 = { 70 } } },
	{ VTACPU_GEMM_ROUNDED, { .gemm_rounded = { 5, 7, 33, 7, 1 } } },
	{ VTACPU_GEMM_I8, { .gemm_i8 = {
		.mat = { { 1, 2, 3 }, 4, 5, 6, { 0, 72, 24 }, 6, 1, { 0 }, 5, 1, { 0 }, 0, 1 },
		.post = BYTES } } },
	{ VTACPU_POOL_WINDOW_F32, { .pool_window_f32 = {
		.pool = { 1, 2, 3, 6, 6, 3, 3, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1 } } } },
	{ VTACPU_POOL_WINDOW_I8, { .pool_window_i8 = {
		.pool = { 0, 2, 3, 6, 6, 3, 3, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1 }, .post = BYTES } } },
	{ VTACPU_RESCALE_I8, { .rescale_i8 = { 2, 3, 4, VTACPU_I8, VTACPU_I8, BYTES } } },
	{ VTACPU_RESIZE, { .resize = { VTACPU_F32, 3, 4, 5, 8, 10, VTACPU_LINEAR,
				       VTACPU_HALF_PIXEL, VTACPU_ROUND_FLOOR, 2, 2 } } },
	{ VTACPU_NORM_F32, { .norm_f32 = { 6, 8, 3, 1, 0, 1, 1, 0.1f } } },
	{ VTACPU_NORM_ACROSS_F32, { .norm_f32 = { 2, 8, 1, 5, 0, 1, 1, 0.1f } } },
	{ VTACPU_NORM_I8, { .norm_i8 = { 2, 8, 5, 0, 0, 3, 8, BYTES } } },
	{ VTACPU_GATHER, { .gather = { 4, VTACPU_I64, 2, 5, 3, 7 } } },
	{ VTACPU_GATHER_ELEMENTS, { .elements = { VTACPU_F32, VTACPU_I64, 0, 3, 1, { 2, 5, 3 },
						  { 2, 4, 3 } } } },
	{ VTACPU_SCATTER_ELEMENTS, { .elements = { VTACPU_I32, VTACPU_I64, 1, 3, 1, { 2, 5, 3 },
						   { 2, 4, 3 } } } },
	{ VTACPU_GATHER_ND, { .slices = { VTACPU_F32, VTACPU_I64, 0, 2, 3, 2, 4, { 3, 5 } } } },
	{ VTACPU_SCATTER_ND, { .slices = { VTACPU_F32, VTACPU_I64, 1, 1, 3, 2, 4, { 3, 5 } } } },
	{ VTACPU_RECURRENT, { .recurrent = { VTACPU_LSTM, 3, 2, 4, 5, 2, 0, 0, 0, 1, 1, 1, 1, 0,
					      0 } } },
	{ VTACPU_RECURRENT, { .recurrent = { VTACPU_GRU, 3, 2, 30, 5, 2, 0, 1, 0, 1, 1, 0, 0, 1,
					      1 } } },
	{ VTACPU_ONE_HOT, { .one_hot = { 4, VTACPU_I64, 3, 5, 2 } } },
	{ VTACPU_REVERSE_SEQUENCE, { .reverse_sequence = { 4, VTACPU_I64, 3, 4, 5, 0 } } },
	{ VTACPU_UNIQUE, { .unique = { VTACPU_F32, 2, 5, 3, 1 } } },
	{ VTACPU_UNIQUE_INVERSE, { .unique = { VTACPU_I64, 2, 5, 3, 0 } } },
	{ VTACPU_NMS, { .nms = { 2, 3, 7, 4, 0, 1, 1, 0.5f, 0 } } },
	{ VTACPU_RESAMPLE, { .resample = {
		VTACPU_F32, 3, { 2, 5, 6 }, { 2, 3, 9 }, VTACPU_CUBIC, VTACPU_CROP, 0, 1, 1,
		-0.75f, 10, { 1, 0.6f, 1.5f }, { 0 }, { 1, 1, 1 } } } },
	{ VTACPU_GRID_SAMPLE, { .grid_sample = { 2, 3, 2, { 1, 5, 6 }, { 1, 3, 4 }, VTACPU_CUBIC,
						 VTACPU_GRID_REFLECTION, 0 } } },
	{ VTACPU_GRID_SAMPLE, { .grid_sample = { 1, 2, 3, { 4, 5, 6 }, { 2, 3, 4 }, VTACPU_LINEAR,
						 VTACPU_GRID_ZEROS, 1 } } },
	{ VTACPU_ROI_ALIGN, { .roi_align = { 2, 3, 5, 6, 4, 2, 3, 0, 0, 1, 1 } } },
	{ VTACPU_CONTRACT_F32, { .contract_f32 = { 4, 2, 1, { 2, 3, 4, 5 }, { 20, 0, 5, 1 },
						   { 0, 1, 3, 12 } } } },
	{ VTACPU_CONV_3D_F32, { .conv_3d_f32 = { 1, 4, 6, 2, 0, 1, VOLUME } } },
	{ VTACPU_CONV_3D_F32, { .conv_3d_f32 = {
		1, 4, 6, 2, 1, 0, { { 2, 3, 4 }, { 3, 4, 5 }, { 2, 2, 2 }, { 1, 1, 1 }, { 0 },
				    { 1, 1, 1 } } } } },
	{ VTACPU_POOL_3D_F32, { .pool_3d_f32 = { VTACPU_POOL_3D_LP, 2, 3, 3, 0, VOLUME, { 0 } } } },
	{ VTACPU_POOL_3D_F32, { .pool_3d_f32 = { VTACPU_POOL_3D_PLACE, 2, 3, 0, 1, VOLUME,
						 { 1, 1, 1 } } } },
	{ VTACPU_DFT_F32, { .dft_f32 = { 2, 16, 3, 4, 4, 8, 5, 1, 0, 1 } } },
};

#define GOOD	(sizeof(good) / sizeof(good[0]))

static uint32_t word(void)
{
	static const uint32_t words[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 255, 1u << 16, 1u << 20, 1u << 30, 1u << 31, 0xffffffffu,
		0x3f800000u, 0xbf800000u, 0x7f800000u, 0x7fc00000u, 0x3f000000u, 0x40a00000u,
	};

	return words[rnd(sizeof(words) / sizeof(words[0]))];
}

/* All words are small, and some are others. */
static enum vtacpu_kernel any_params(union vtacpu_params *p, uint32_t i)
{
	uint32_t large = rnd(8);

	for (uint32_t j = 0; j < VTACPU_WORDS_MAX; j++)
		p->word[j] = rnd(16) < large ? word() : rnd(4);
	return (enum vtacpu_kernel)(1 + i % (VTACPU_KERNELS - 1));
}

/* Up to three words differ. */
static enum vtacpu_kernel changed_params(union vtacpu_params *p, uint32_t i)
{
	const struct good *from = &good[i % GOOD];
	uint32_t words = (uint32_t)vtacpu_params_bytes(from->kernel) / 4;

	*p = from->p;
	for (uint32_t j = rnd(4); j; j--) {
		uint32_t at = rnd(words);

		p->word[at] = rnd(3) ? p->word[at] + rnd(5) - 2 : word();
	}
	return from->kernel;
}

/* Values that a kernel should not trust: infinite, NaN, and as large as can be. */
static void spoil(struct call *c)
{
	static const float odd[] = { INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e9f, 16777216 };

	for (uint32_t i = 0; i + 1 < c->need.operands; i++)
		for (uint64_t j = 0; c->need.value[i] == 4 && j < c->need.bytes[i] / 4; j++)
			if (!rnd(4))
				((float *)c->io[i])[j] = odd[rnd(sizeof(odd) / sizeof(odd[0]))];
}

/* Does it run? Large ones are only checked. */
static bool try_params(uint32_t kernel, const union vtacpu_params *p)
{
	struct vtacpu_need need;
	uint64_t bytes = 0;
	struct call c;

	if (vtacpu_need(kernel, p, &need)) {
		assert_non_null(need.why);
		return false;
	}
	assert_true(need.work <= VTACPU_WORK_MAX);
	for (uint32_t j = 0; j < need.operands; j++)
		bytes += need.bytes[j];
	if (bytes + need.scratch > 1u << 20 || need.work > 1u << 16)
		return false;
	prepare(&c, kernel, p, 1);
	if (rnd(2))
		spoil(&c);
	run(&c, kernel, p);
	drop(&c);
	return true;
}

TEST(good_parameters_are_accepted)
{
	for (uint32_t i = 0; i < GOOD; i++)
		if (!try_params(good[i].kernel, &good[i].p))
			fail_msg("%s", vtacpu_kernel_name(good[i].kernel));
}

TEST(random_parameters)
{
	uint32_t ran[VTACPU_KERNELS] = { 0 };

	for (uint32_t i = 0; i < 560000; i++) {
		union vtacpu_params p;
		uint32_t kernel = i % 2 ? any_params(&p, i / 2) : changed_params(&p, i / 2);

		assert_true(vtacpu_params_bytes(kernel) <= sizeof(p));
		ran[kernel] += try_params(kernel, &p);
	}
	/* Else this would test nothing. */
	for (uint32_t kernel = 1; kernel < VTACPU_KERNELS; kernel++)
		if (ran[kernel] < 50)
			fail_msg("%s ran %u times", vtacpu_kernel_name(kernel), ran[kernel]);
}

/* A few words ask for years. */
TEST(work_is_bounded)
{
	static const struct good long_ones[] = {
		{ VTACPU_POOL_3D_F32, { .pool_3d_f32 = {
			0, 1, 1, 0, 0, { { 1, 1, 1 }, { 1, 1, 1 << 20 },
					 { 1 << 10, 1 << 10, 1 << 10 }, { 1, 1, 1 }, { 0 },
					 { 1, 1, 1 } }, { 0 } } } },
		{ VTACPU_RESAMPLE, { .resample = {
			VTACPU_F32, 3, { 1, 1, 1 }, { 1, 1, 1 }, VTACPU_LINEAR, 0, 0, 0, 1, 0, 0,
			{ 0.00001f, 0.00001f, 0.00001f }, { 0 }, { 0 } } } },
		{ VTACPU_ROI_ALIGN, { .roi_align = {
			1, 1, 1, 1, 1, 65535, 1024, 1024, 0, 0, 1 } } },
		{ VTACPU_NMS, { .nms = { 1, 1, 1 << 24, 1 << 24, 0, 0, 0, 0.5f, 0 } } },
		{ VTACPU_DFT_F32, { .dft_f32 = {
			1, 1 << 20, 1 << 8, 1, 1, 1 << 20, 1 << 20, 0, 0, 0 } } },
		{ VTACPU_DET_F32, { .det_f32 = { 1, 16000 } } },
	};

	for (uint32_t i = 0; i < sizeof(long_ones) / sizeof(long_ones[0]); i++) {
		struct vtacpu_need need;

		if (!vtacpu_need(long_ones[i].kernel, &long_ones[i].p, &need))
			fail_msg("%s takes %llu", vtacpu_kernel_name(long_ones[i].kernel),
				 (unsigned long long)need.work);
		assert_string_equal(need.why, "it takes more than 2^40 multiplications");
	}
}

/* A window whose inputs are too many for the direct order, and the channels too many for one sum */
TEST(large_windows_of_several_channels)
{
	const struct vtacpu_conv_f32 p = {
		.win = { 1, 3, 256, 256, 2, 1, 1, 256, 256, 256, 256, 0, 0, 1, 1, 1, 0 } };
	struct call c;
	double sum = 0;

	prepare(&c, VTACPU_CONV_F32, &p, 1);
	run(&c, VTACPU_CONV_F32, &p);
	for (uint32_t i = 0; i < 3 * 256 * 256; i++)
		sum += (double)((float *)c.io[0])[i] * (double)((float *)c.io[1])[i];
	same_float(((float *)c.io[4])[0], sum, 1000);
	drop(&c);
}

/* A float does not hold this width, nor the number of the last value. */
TEST(samples_of_wide_rows_stay_within)
{
	const uint32_t wide = (1u << 24) + 4;
	const struct vtacpu_grid_sample p = { 1, 1, 2, { 1, 1, wide }, { 1, 1, 4 }, VTACPU_NEAREST,
					      VTACPU_GRID_ZEROS, 1 };
	static const float grid[] = { 1, 0, -1, 0, NAN, 0, INFINITY, 0 };

	for (uint32_t pad = VTACPU_GRID_ZEROS; pad <= VTACPU_GRID_REFLECTION; pad++)
		for (uint32_t mode = VTACPU_NEAREST; mode <= VTACPU_CUBIC; mode++) {
			struct vtacpu_grid_sample q = p;
			struct call c;

			q.pad = pad;
			q.mode = mode;
			prepare(&c, VTACPU_GRID_SAMPLE, &q, 0);
			memset(c.io[0], 0, c.need.bytes[0]);
			((float *)c.io[0])[wide - 1] = 5;
			memcpy(c.io[1], grid, sizeof(grid));
			run(&c, VTACPU_GRID_SAMPLE, &q);
			if (mode == VTACPU_NEAREST)
				assert_true(((float *)c.io[2])[0] == 5);
			assert_true(((float *)c.io[2])[1] == 0);
			drop(&c);
		}
}
