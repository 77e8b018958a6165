// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed layouts against the formulas of vtaops.h, value by value, on cores of all
 * widths and blocks; and nothing beside them is written.
 */
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "vtaops.h"

#define GUARD	64u
#define ROUNDS	40u

static uint64_t state = 1;

static uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

/* In memory of its own size, so that reading behind it is seen. */
static int8_t *values(size_t count)
{
	int8_t *v = malloc(count);

	assert_non_null(v);
	for (size_t i = 0; i < count; i++)
		v[i] = (int8_t)rnd(256);
	return v;
}

/* The value at index @at of packed values of @width bits. */
static int value_at(const uint8_t *packed, size_t at, unsigned int width)
{
	int value = 0;

	for (unsigned int i = 0; i < width; i++)
		value |= (packed[(at * width + i) / 8] >> (at * width + i) % 8 & 1) << i;
	return value >= 1 << (width - 1) ? value - (1 << width) : value;
}

static int low_bits(int value, unsigned int width)
{
	return (int)((uint32_t)value << (32 - width)) >> (32 - width);
}

static uint8_t *packed_memory(size_t bytes)
{
	uint8_t *memory = malloc(bytes + GUARD);

	assert_non_null(memory);
	memset(memory, 0xa5, bytes + GUARD);
	return memory;
}

static void check_guard(const uint8_t *memory, size_t bytes)
{
	for (unsigned int i = 0; i < GUARD; i++)
		assert_int_equal(memory[bytes + i], 0xa5);
}

static size_t up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to;
}

static void check_act(const struct vtaops_core *core, uint32_t n, uint32_t c, uint32_t h,
		      uint32_t w)
{
	const unsigned int width = 1u << core->log_inp_width;
	size_t bytes = vtaops_act_bytes(core, n, c, h, w), plane = (size_t)h * w, count;
	size_t rows = up(n, core->batch) * core->batch, lanes = up(c, core->block) * core->block;
	int8_t *src = values(n * c * plane), *back = malloc(n * c * plane);
	uint8_t *packed = packed_memory(bytes);

	assert_non_null(back);
	assert_int_equal(bytes, rows * lanes * plane * width / 8);
	vtaops_pack_act(core, packed, src, n, c, h, w);
	check_guard(packed, bytes);
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < lanes; j++)
			for (size_t p = 0; p < plane; p++) {
				size_t element = (i / core->batch * (lanes / core->block) +
						  j / core->block) * plane + p;
				size_t at = (element * core->batch + i % core->batch) *
					    core->block + j % core->block;
				int want = i < n && j < c ?
					   low_bits(src[(i * c + j) * plane + p], width) : 0;

				assert_int_equal(value_at(packed, at, width), want);
			}
	vtaops_unpack_act(core, back, packed, n, c, h, w);
	count = n * c * plane;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(back[i], low_bits(src[i], width));
	if (vtaops_act_is_packed(core, n, c, h, w)) {
		assert_int_equal(bytes, count);
		assert_memory_equal(packed, src, count);
	}
	free(src);
	free(back);
	free(packed);
}

static void check_wgt(const struct vtaops_core *core, uint32_t o, uint32_t in, uint32_t kh,
		      uint32_t kw)
{
	const unsigned int width = 1u << core->log_wgt_width;
	size_t bytes = vtaops_wgt_bytes(core, o, in, kh, kw), taps = (size_t)kh * kw;
	size_t outs = up(o, core->block) * core->block, ins = up(in, core->block) * core->block;
	int8_t *src = values(o * in * taps);
	uint8_t *packed = packed_memory(bytes);

	assert_int_equal(bytes, outs * ins * taps * width / 8);
	vtaops_pack_wgt(core, packed, src, o, in, kh, kw);
	check_guard(packed, bytes);
	for (size_t j = 0; j < outs; j++)
		for (size_t i = 0; i < ins; i++)
			for (size_t k = 0; k < taps; k++) {
				size_t element = (j / core->block * (ins / core->block) +
						  i / core->block) * taps + k;
				size_t at = (element * core->block + j % core->block) *
					    core->block + i % core->block;
				int want = j < o && i < in ?
					   low_bits(src[(j * in + i) * taps + k], width) : 0;

				assert_int_equal(value_at(packed, at, width), want);
			}
	free(src);
	free(packed);
}

static struct vtaops_core core_of(unsigned int width, unsigned int batch, unsigned int block)
{
	struct vtaops_core core = {
		.log_inp_width = width, .log_wgt_width = width, .log_acc_width = 5,
		.log_batch = batch, .log_block = block, .log_uop_buff_size = 10,
		.log_inp_buff_size = batch + block + width + 1,
		.log_wgt_buff_size = 2 * block + width + 1, .log_acc_buff_size = batch + block + 6,
	};

	assert_int_equal(vtaops_core_init(&core), 0);
	return core;
}

TEST(test_layouts)
{
	for (unsigned int width = 1; width <= 3; width++) {
		for (unsigned int block = 1; block <= 6; block++) {
			struct vtaops_core core = core_of(width, rnd(3) + (block + width < 3),
							  block);

			for (unsigned int i = 0; i < ROUNDS; i++) {
				check_act(&core, 1 + rnd(4), 1 + rnd(70), 1 + rnd(7), 1 + rnd(9));
				check_wgt(&core, 1 + rnd(40), 1 + rnd(70), 1 + rnd(3), 1 + rnd(3));
			}
			check_act(&core, 3, 2 * core.block, 1, 1);
			check_wgt(&core, core.block, 2 * core.block, 1, 1);
			check_wgt(&core, core.block + 1, 3, 1, 1);
			check_act(&core, 1, core.block, 1, 1);
			check_act(&core, 2 * core.batch, core.block, 1, 1);
		}
	}
}

/* Values that need no packing are recognised. */
TEST(test_already_packed)
{
	struct vtaops_core one = core_of(3, 0, 4), four = core_of(3, 2, 4);
	struct vtaops_core narrow = core_of(2, 0, 4);

	assert_true(vtaops_act_is_packed(&one, 7, 32, 1, 1));
	assert_false(vtaops_act_is_packed(&one, 7, 33, 1, 1));
	assert_false(vtaops_act_is_packed(&one, 1, 32, 2, 1));
	assert_true(vtaops_act_is_packed(&four, 8, 16, 1, 1));
	assert_false(vtaops_act_is_packed(&four, 8, 32, 1, 1));
	assert_false(vtaops_act_is_packed(&four, 7, 16, 1, 1));
	assert_false(vtaops_act_is_packed(&narrow, 7, 32, 1, 1));
}
