// SPDX-License-Identifier: GPL-2.0-only
/*
 * Program images: what is written runs wherever it is placed; what is not whole is
 * refused; and what a file claims is never believed. VTA_SEED chooses the mutants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulated.h"
#include "image.h"

#define MEM_SIZE	(4u << 20)
#define MUTANTS		20000u
#define GAP		65536u

enum { C = 20, H = 9, UNITS = 24 };

/* A convolution, a pool, and the sum of it with itself. */
struct net {
	struct vtaops_core core;
	uint8_t *model;
	uint32_t model_bytes, arena_bytes, insn_at;
	uint32_t inp, mid, pool, out;		/* in the arena */
	uint32_t wgt, bias;			/* in the model */
	uint32_t identity;
	uint8_t *image;
	size_t size;
	struct vtaops_builder builder;
};

static uint64_t rng_state;

static uint32_t rnd(uint32_t below)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % below;
}

static uint32_t take(const struct net *net, uint32_t *used, size_t bytes)
{
	uint32_t align = image_align(&net->core), at = (*used + align - 1) / align * align;

	*used = at + (uint32_t)bytes;
	return at;
}

static void lower(struct net *net)
{
	struct vtaops_builder *b = &net->builder;

	vtaops_conv2d(b, &(struct vtaops_conv2d) {
		.inp = VTAIMAGE_ARENA + net->inp, .out = VTAIMAGE_ARENA + net->mid,
		.wgt = VTAIMAGE_MODEL + net->wgt, .n = 1, .in = C, .h = H, .w = H, .units = UNITS,
		.kh = 3, .kw = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
		.post = { .bias = VTAIMAGE_MODEL + net->bias, .shift = 7, .lo = -2, .hi = 1 },
	});
	vtaops_max_pool(b, &(struct vtaops_window) {
		.inp = VTAIMAGE_ARENA + net->mid, .out = VTAIMAGE_ARENA + net->pool,
		.identity = VTAIMAGE_MODEL + net->identity, .n = 1, .c = UNITS, .h = H, .w = H,
		.kh = 2, .kw = 2, .stride_h = 1, .stride_w = 1,
		.post = { .lo = -2, .hi = 1 },
	});
	vtaops_add(b, &(struct vtaops_eltwise) {
		.a = VTAIMAGE_ARENA + net->pool, .b = VTAIMAGE_ARENA + net->pool,
		.out = VTAIMAGE_ARENA + net->out, .identity = VTAIMAGE_MODEL + net->identity,
		.elements = (uint32_t)(vtaops_act_bytes(&net->core, 1, UNITS, H - 1, H - 1) /
				       net->core.inp_bytes),
		.post = { .lo = -2, .hi = 1 },
	});
	assert_int_equal(vtaops_finish(b), 0);
}

static struct vtaimage_tensor tensor(const struct net *net, const char *name,
				     enum vtaimage_role role, uint32_t c, uint32_t h,
				     uint32_t offset)
{
	struct vtaimage_tensor t = {
		.role = role, .n = 1, .c = c, .h = h, .w = h, .offset = offset,
		.bytes = (uint32_t)vtaops_act_bytes(&net->core, 1, c, h, h),
	};

	strcpy(t.name, name);
	return t;
}

static void compile(struct net *net, const struct vtaops_core *core)
{
	int8_t wgt[UNITS * C * 9];
	int32_t bias[UNITS];
	uint32_t uop_at;
	struct vtaimage check;

	*net = (struct net) { .core = *core };
	for (size_t i = 0; i < sizeof(wgt); i++)
		wgt[i] = (int8_t)rnd(256);
	for (unsigned int i = 0; i < UNITS; i++)
		bias[i] = (int32_t)rnd(1000) - 500;
	net->inp = take(net, &net->arena_bytes, vtaops_act_bytes(core, 1, C, H, H));
	net->mid = take(net, &net->arena_bytes, vtaops_act_bytes(core, 1, UNITS, H, H));
	net->pool = take(net, &net->arena_bytes, vtaops_act_bytes(core, 1, UNITS, H - 1, H - 1));
	net->out = take(net, &net->arena_bytes, vtaops_act_bytes(core, 1, UNITS, H - 1, H - 1));
	net->wgt = take(net, &net->model_bytes, vtaops_wgt_bytes(core, UNITS, C, 3, 3));
	net->bias = take(net, &net->model_bytes, vtaops_bias_bytes(core, UNITS));
	net->identity = take(net, &net->model_bytes, core->wgt_bytes);
	vtaops_begin(&net->builder, &net->core, NULL, 0, NULL, 0, 0);
	lower(net);
	net->insn_at = take(net, &net->model_bytes, net->builder.insns * 16);
	uop_at = take(net, &net->model_bytes, net->builder.uops * 4);
	net->model = calloc(1, net->model_bytes);
	assert_non_null(net->model);
	vtaops_pack_wgt(core, net->model + net->wgt, wgt, UNITS, C, 3, 3);
	vtaops_pack_bias(core, net->model + net->bias, bias, UNITS);
	vtaops_pack_identity(core, net->model + net->identity);
	vtaops_begin(&net->builder, &net->core, (struct vtaops_insn *)(net->model + net->insn_at),
		     net->builder.insns, (uint32_t *)(net->model + uop_at), net->builder.uops,
		     VTAIMAGE_MODEL + uop_at);
	lower(net);

	const struct vtaimage_tensor tensors[] = {
		tensor(net, "in", VTAIMAGE_INPUT, C, H, net->inp),
		tensor(net, "conv/mid.1", VTAIMAGE_INTERNAL, UNITS, H, net->mid),
		tensor(net, "out", VTAIMAGE_OUTPUT, UNITS, H - 1, net->out),
	};
	const struct vtaimage_source source = {
		.core = &net->core, .name = "test", .model = net->model,
		.model_bytes = net->model_bytes, .arena_bytes = net->arena_bytes,
		.insn_at = net->insn_at, .insn_count = (uint32_t)net->builder.insns,
		.cycles = net->builder.cycles, .tensors = tensors, .tensor_count = 3,
	};

	net->size = vtaimage_size(&source);
	assert_true(net->size > net->model_bytes);
	net->image = malloc(net->size);
	assert_non_null(net->image);
	assert_int_equal(vtaimage_write(&source, net->image, net->size - 1, &check),
			 -VTAOPS_ESPACE);
	if (vtaimage_write(&source, net->image, net->size, &check))
		fail_msg("%s", check.why);
}

static void net_free(struct net *net)
{
	free(net->model);
	free(net->image);
}

static const struct core_config cores[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 2 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 2 },
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 2 },
};

/* Open, place @shift further than the memory begins, run; the output. */
static void run_image(struct machine *m, const struct net *net, uint32_t shift, const int8_t *in,
		      int8_t *out)
{
	struct vtaimage image;
	struct vtaimage_tensor t;
	uint32_t model, arena;

	machine_reset(m);
	if (shift)
		machine_alloc(m, shift);
	assert_int_equal(vtaimage_open(&image, net->image, net->size), 0);
	assert_int_equal(vtaimage_fits(&image, &m->core), 0);
	model = machine_alloc(m, image.model_bytes);
	arena = machine_alloc(m, image.arena_bytes);
	assert_int_equal(vtaimage_place(&image, model, arena, machine_at(m, model)), 0);
	vtaimage_tensor(&image, (uint32_t)vtaimage_find(&image, "in"), &t);
	vtaops_pack_act(&m->core, machine_at(m, arena + t.offset), in, t.n, t.c, t.h, t.w);
	m->run(m, model + image.insn_at, image.insn_count);
	assert_int_equal(m->stats.cycles, image.cycles);
	vtaimage_tensor(&image, (uint32_t)vtaimage_find(&image, "out"), &t);
	vtaops_unpack_act(&m->core, out, machine_at(m, arena + t.offset), t.n, t.c, t.h, t.w);
}

static void test_runs_where_it_is_placed(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		int8_t in[C * H * H], out[2][UNITS * (H - 1) * (H - 1)];
		unsigned int values = 0;
		struct machine m;
		struct net net;

		rng_state = i;
		emulated_init(&m, &cores[i], MEM_SIZE, CORE_ORDER_RANDOM, i);
		compile(&net, &m.core);
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

static void test_refuses_other_cores(void **state)
{
	struct vtaops_core other;
	struct vtaimage image;
	struct machine m;
	struct net net;

	(void)state;
	emulated_init(&m, &cores[0], MEM_SIZE, CORE_ORDER_INORDER, 0);
	compile(&net, &m.core);
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

static void test_refuses_damage(void **state)
{
	struct vtaimage image;
	struct machine m;
	struct net net;

	(void)state;
	emulated_init(&m, &cores[0], MEM_SIZE, CORE_ORDER_INORDER, 0);
	compile(&net, &m.core);
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

/* Bytes, words with a taste for limits, or a part of the file over another. */
static void mutate(uint8_t *data, size_t size)
{
	static const uint32_t limits[] = { 0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x40000000,
					   15, 16, 0xffff, 0x10000 };
	unsigned int count = 1 + rnd(4);

	while (count--) {
		/* Mostly what is not weights. */
		size_t at = rnd(3) ? rnd(HEADER_BYTES) : rnd((uint32_t)size);

		if (rnd(3) == 0 && at + 4 <= size)
			put32(data + at / 4 * 4, limits[rnd(10)]);
		else if (rnd(3) == 0 && at + 4 <= size)
			put32(data + at / 4 * 4, get32(data + at / 4 * 4) + rnd(9) - 4);
		else
			data[at] ^= (uint8_t)(1u << rnd(8));
	}
}

/* A mutant that is accepted may fault, but stays within its segments. */
static void run_mutant(struct machine *m, const struct vtaimage *image, uint8_t *before)
{
	uint32_t model, arena;
	struct core_fault fault;

	machine_reset(m);
	if ((uint64_t)image->model_bytes + image->arena_bytes + 2 * GAP > MEM_SIZE)
		return;
	model = machine_alloc(m, image->model_bytes);
	machine_alloc(m, GAP);
	arena = machine_alloc(m, image->arena_bytes ? image->arena_bytes : 1);
	assert_int_equal(vtaimage_place(image, model, arena, machine_at(m, model)), 0);
	memcpy(before, machine_at(m, model), arena - model);
	if (emulated_try(m, model + image->insn_at, image->insn_count, 1000000, &fault))
		assert_int_not_equal(fault.reason, VTA_FAULT_PAGE);
	assert_memory_equal(before, machine_at(m, model), arena - model);
}

static void test_mutants(void **state)
{
	unsigned int accepted = 0, seed = 1;
	uint8_t *before = malloc(MEM_SIZE), *data;
	struct vtaimage image;
	struct machine m;
	struct net net;

	(void)state;
	if (getenv("VTA_SEED"))
		seed = (unsigned int)strtoul(getenv("VTA_SEED"), NULL, 0);
	print_message("# VTA_SEED=%u\n", seed);
	rng_state = 0;
	emulated_init(&m, &cores[0], MEM_SIZE, CORE_ORDER_GREEDY, 1);
	compile(&net, &m.core);
	data = malloc(net.size);
	assert_true(before && data);
	for (unsigned int i = 0; i < MUTANTS; i++) {
		rng_state = (uint64_t)seed << 32 | i;
		rnd(2);
		memcpy(data, net.image, net.size);
		mutate(data, net.size);
		put32(data + AT_CRC, image_crc(data, net.size));
		if (vtaimage_open(&image, data, net.size)) {
			assert_true(strlen(image.why) > 0);
			continue;
		}
		accepted++;
		if (accepted % 8 == 0 && !vtaimage_fits(&image, &m.core))
			run_mutant(&m, &image, before);
	}
	print_message("# %u of %u mutants have nothing wrong with them\n", accepted, MUTANTS);
	assert_true(accepted > MUTANTS / 100 && accepted < MUTANTS);
	free(before);
	free(data);
	net_free(&net);
	emulated_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_where_it_is_placed),
		cmocka_unit_test(test_refuses_other_cores),
		cmocka_unit_test(test_refuses_damage),
		cmocka_unit_test(test_mutants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
