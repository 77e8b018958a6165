// SPDX-License-Identifier: GPL-2.0-only
/*
 * Program images: one that was written runs wherever it is placed; one that is not whole is
 * refused. tests/fuzz/image.c makes up hostile files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "image.h"
#include "machine.h"
#include "net.h"

#define MEM_SIZE	(4u << 20)

static uint64_t rng_state;

static uint32_t rnd(uint32_t below)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % below;
}

static const struct core_config cores[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 },
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 },
};

/* Open, place @shift further than the memory begins, run; the output. */
static void run_image(struct machine *m, const struct net *net, uint32_t shift, const int8_t *in,
		      int8_t *out)
{
	struct vtaimage image;
	struct vtaimage_stream stream;
	uint32_t model, arena;

	machine_reset(m);
	if (shift)
		machine_alloc(m, shift);
	assert_int_equal(vtaimage_open(&image, net->image, net->size), 0);
	assert_int_equal(vtaimage_fits(&image, &m->core), 0);
	model = machine_alloc(m, image.model_bytes);
	arena = machine_alloc(m, image.arena_bytes);
	assert_int_equal(vtaimage_place(&image, model, arena, machine_at(m, model)), 0);
	vtaimage_stream(&image, 0, &stream);
	vtaops_pack_act(&m->core, machine_at(m, arena + net->inp), in, 1, NET_C, NET_H, NET_H);
	m->run(m, model + stream.insn_at, stream.insn_count);
	assert_int_equal(m->stats.cycles, image.cycles);
	vtaops_unpack_act(&m->core, out, machine_at(m, arena + net->out), 1, NET_UNITS, NET_H - 1,
			  NET_H - 1);
}

TEST(test_runs_where_it_is_placed)
{
	for (unsigned int i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		int8_t in[NET_C * NET_H * NET_H], out[2][NET_UNITS * (NET_H - 1) * (NET_H - 1)];
		unsigned int values = 0;
		struct machine m;
		struct net net;

		rng_state = i;
		emulated_init(&m, &cores[i], MEM_SIZE, CORE_ORDER_RANDOM, i);
		net_compile(&net, &m.core, 1);
		for (size_t j = 0; j < sizeof(in); j++)
			in[j] = (int8_t)((int)rnd(4) - 2);
		run_image(&m, &net, 0, in, out[0]);
		run_image(&m, &net, 300000, in, out[1]);
		assert_memory_equal(out[0], out[1], sizeof(out[0]));
		for (size_t j = 0; j < sizeof(out[0]); j++)
			values |= 1u << (out[0][j] + 2);
		/* Sums of two equal values, clipped: -2, 0 and 1. */
		assert_int_equal(values & ~0xdu, 0);
		assert_true(values & 1 && values & 8);
		net_free(&net);
		emulated_fini(&m);
	}
}

TEST(test_refuses_other_cores)
{
	struct vtaops_core other;
	struct vtaimage image;
	struct machine m;
	struct net net;

	emulated_init(&m, &cores[0], MEM_SIZE, CORE_ORDER_INORDER, 0);
	net_compile(&net, &m.core, 1);
	assert_int_equal(vtaimage_open(&image, net.image, net.size), 0);
	assert_int_equal(vtaimage_find(&image, "conv/mid.1"), 1);
	assert_int_equal(vtaimage_find(&image, "conv/mid"), -1);
	assert_int_equal(vtaimage_find(&image, "conv/mid.11"), -1);
	other = m.core;
	other.log_block = 5;
	assert_int_equal(vtaimage_fits(&image, &other), -VTAOPS_ECORE);
	assert_string_equal(image.why,
			    "the program is for a core with LOG_BLOCK = 4, the card has 5");
	other = m.core;
	other.log_acc_buff_size++;
	assert_int_equal(vtaimage_fits(&image, &other), -VTAOPS_ECORE);
	assert_int_equal(vtaimage_place(&image, image.align / 2, 0, net.model), -VTAOPS_EALIGN);
	assert_int_equal(vtaimage_place(&image, 0xffffff00u, 0, net.model), -VTAOPS_EINVAL);
	net_free(&net);
	emulated_fini(&m);
}

TEST(test_refuses_damage)
{
	struct vtaimage image;
	struct machine m;
	struct net net;

	emulated_init(&m, &cores[0], MEM_SIZE, CORE_ORDER_INORDER, 0);
	net_compile(&net, &m.core, 1);
	for (size_t size = 0; size < net.size; size += size < 300 ? 1 : 997) {
		/* Memory of that size, so that reading behind it is seen. */
		uint8_t *cut = malloc(size + !size);

		memcpy(cut, net.image, size);
		assert_int_equal(vtaimage_open(&image, cut, size), -VTAOPS_EINVAL);
		assert_true(strlen(image.why) > 0);
		free(cut);
	}
	for (unsigned int i = 0; i < 2000; i++) {
		size_t at = i < HEADER_BYTES ? i : rnd((uint32_t)net.size);
		uint8_t bit = (uint8_t)(1u << rnd(8));

		net.image[at] ^= bit;
		assert_int_equal(vtaimage_open(&image, net.image, net.size), -VTAOPS_EINVAL);
		assert_true(strlen(image.why) > 0);
		net.image[at] ^= bit;
	}
	assert_int_equal(vtaimage_open(&image, net.image, net.size), 0);
	net_free(&net);
	emulated_fini(&m);
}
