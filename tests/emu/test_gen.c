// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_gen.c - generated streams are as in gen.h, by the reference
 *
 * Valid ones give one result under every schedule, and only because of their
 * tokens; invalid ones end as announced. So when the core disagrees with the
 * reference, it is not the stream.
 */

#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "configs.h"
#include "gen.h"
#include "ref.h"

#define BASE		0x100000u
#define SEEDS		12u
#define SCHEDULES	4u

static struct configs configs;
static struct gen_stream stream;

/* One reference and its memory. */
struct machine {
	struct ref ref;
	struct ref_mem mem;
	struct ref_fault fault;
};

static void machine_init(struct machine *m, const struct gen *gen,
			 const struct core_config *cfg)
{
	uint32_t size = gen_image_size(gen);

	ref_init(&m->ref, cfg);
	m->mem = (struct ref_mem){ .bytes = malloc(size), .base = BASE, .size = size };
	assert_non_null(m->mem.bytes);
	memcpy(m->mem.bytes, gen_image(gen), size);
}

static void machine_free(struct machine *m)
{
	ref_free(&m->ref);
	free(m->mem.bytes);
}

static bool machine_run(struct machine *m, const struct gen *gen, uint64_t schedule)
{
	gen_put_insns(&stream, m->mem.bytes);
	return ref_run(&m->ref, &m->mem, gen_insn_addr(gen), stream.count, schedule, &m->fault);
}

static bool same_pad(const struct ref_pad *a, const struct ref_pad *b)
{
	return !memcmp(a->v, b->v, (size_t)a->depth * a->values * sizeof(*a->v));
}

static bool same(const struct machine *a, const struct machine *b)
{
	return same_pad(&a->ref.uop, &b->ref.uop) && same_pad(&a->ref.inp, &b->ref.inp) &&
	       same_pad(&a->ref.wgt, &b->ref.wgt) && same_pad(&a->ref.acc, &b->ref.acc) &&
	       !memcmp(a->mem.bytes, b->mem.bytes, a->mem.size);
}

TEST(test_one_result)
{
	for (unsigned int c = 0; c < configs.count; c++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct gen *gen = gen_new(&configs.cfg[c], seed, BASE);
			struct machine m[SCHEDULES];

			for (uint64_t s = 0; s < SCHEDULES; s++)
				machine_init(&m[s], gen, &configs.cfg[c]);
			for (int round = 0; round < 3; round++) {
				if (round < 2)
					gen_valid(gen, &stream);
				else
					gen_dump(gen, seed % 2, &stream);
				for (uint64_t s = 0; s < SCHEDULES; s++) {
					if (!machine_run(&m[s], gen, s * (seed + 1)))
						fail_msg("%s seed %d: fault %d at %u",
							 configs.name[c], (int)seed,
							 m[s].fault.reason,
							 m[s].fault.insn_index);
					if (!same(&m[0], &m[s]))
						fail_msg("%s seed %d: race", configs.name[c],
							 (int)seed);
				}
			}
			for (uint64_t s = 0; s < SCHEDULES; s++)
				machine_free(&m[s]);
			gen_free(gen);
		}
	}
}

/* With every token taken away, most streams of some length are races. */
TEST(test_tokens_matter)
{
	unsigned int long_ones = 0, races = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct gen *gen = gen_new(&configs.cfg[0], seed, BASE);
		struct machine m[SCHEDULES];
		bool race = false;

		gen_valid(gen, &stream);
		for (uint32_t i = 0; i < stream.count; i++)
			stream.insns[i].word[0] &= ~(uint64_t)(INSN_POP_PREV | INSN_POP_NEXT);
		for (uint64_t s = 0; s < SCHEDULES; s++) {
			machine_init(&m[s], gen, &configs.cfg[0]);
			assert_true(machine_run(&m[s], gen, s));
			race |= !same(&m[0], &m[s]);
		}
		for (uint64_t s = 0; s < SCHEDULES; s++)
			machine_free(&m[s]);
		if (stream.count >= 30) {
			long_ones++;
			races += race;
		}
		gen_free(gen);
	}
	assert_in_range(long_ones, 10, 60);
	assert_in_range(races, long_ones / 2, long_ones);
}

TEST(test_one_fault)
{
	for (unsigned int c = 0; c < configs.count; c++) {
		for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
			struct gen *gen = gen_new(&configs.cfg[c], seed, BASE);
			struct gen_expect expect;
			struct machine m;

			machine_init(&m, gen, &configs.cfg[c]);
			gen_invalid(gen, &stream, &expect);
			if (machine_run(&m, gen, seed))
				fail_msg("%s seed %d: no fault: %s", configs.name[c], (int)seed,
					 expect.what);
			if (m.fault.reason != expect.reason || m.fault.access != expect.access ||
			    m.fault.insn_index != expect.insn_index)
				fail_msg("%s seed %d: fault %d at %u: %s", configs.name[c],
					 (int)seed, m.fault.reason, m.fault.insn_index,
					 expect.what);
			machine_free(&m);
			gen_free(gen);
		}
	}
}

TEST(test_dropped_push)
{
	unsigned int deadlocks = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct gen *gen = gen_new(&configs.cfg[0], seed, BASE);
		struct machine m;

		machine_init(&m, gen, &configs.cfg[0]);
		gen_valid(gen, &stream);
		if (gen_drop_push(gen, &stream) && !machine_run(&m, gen, seed)) {
			assert_int_equal(m.fault.reason, VTA_FAULT_DEADLOCK);
			deadlocks++;
		}
		machine_free(&m);
		gen_free(gen);
	}
	assert_in_range(deadlocks, 20, 60);
}

/* Everything an instruction can be occurs, and streams differ in length. */
TEST(test_coverage)
{
	enum { PADS = 4, STRIDE_0 = PADS, STRIDE_SMALL, STRIDE_LARGE, Y_SIZE_0, RESET, IMM, TENSOR,
	       FINISH, SEEN };
	unsigned int opcodes[5] = { 0 }, memories[8] = { 0 }, alus[5] = { 0 }, seen[SEEN] = { 0 };
	struct gen *gen = gen_new(&configs.cfg[0], 1, BASE);
	uint32_t shortest = UINT32_MAX, longest = 0;

	for (int n = 0; n < 200; n++) {
		gen_valid(gen, &stream);
		if (stream.count < shortest)
			shortest = stream.count;
		if (stream.count > longest)
			longest = stream.count;
		for (uint32_t i = 0; i < stream.count; i++) {
			uint64_t w0 = stream.insns[i].word[0], w1 = stream.insns[i].word[1];
			uint32_t y_size = w1 & 0xffff, x_size = w1 >> 16 & 0xffff;
			uint32_t x_stride = w1 >> 32 & 0xffff;

			opcodes[w0 & 7]++;
			switch (w0 & 7) {
			case INSN_LOAD:
			case INSN_STORE:
				if (!x_size)
					break;
				memories[w0 >> 7 & 7]++;
				for (int p = 0; p < PADS; p++)
					seen[p] += (w1 >> (48 + 4 * p) & 15) != 0;
				seen[Y_SIZE_0] += y_size == 0;
				seen[STRIDE_LARGE] += y_size > 1 && x_stride > x_size;
				seen[STRIDE_0] += y_size > 1 && x_stride == 0;
				seen[STRIDE_SMALL] += y_size > 1 && x_stride && x_stride < x_size;
				break;
			case INSN_GEMM:
				seen[RESET] += w0 >> 7 & 1;
				break;
			case INSN_FINISH:
				seen[FINISH]++;
				break;
			case INSN_ALU:
				w1 >>= 4 * insn_log_acc_depth(&configs.cfg[0]);
				alus[w1 & 7]++;
				seen[w1 >> 3 & 1 ? IMM : TENSOR]++;
				break;
			}
		}
	}
	gen_free(gen);
	for (int i = 0; i < 5; i++) {
		assert_true(opcodes[i] >= 50);
		assert_true(alus[i] >= 50);
	}
	for (int i = 0; i <= INSN_ACC_8BIT; i++)
		assert_true(memories[i] >= 50);
	for (int i = 0; i < SEEN; i++)
		assert_true(seen[i] >= 10);
	assert_in_range(shortest, 1, 2);
	assert_in_range(longest, 150, GEN_INSNS_MAX);
}

/* The same seed, the same stream. */
TEST(test_repeatable)
{
	static struct gen_stream again;
	struct gen *a = gen_new(&configs.cfg[1], 5, BASE), *b = gen_new(&configs.cfg[1], 5, BASE);

	assert_int_equal(gen_image_size(a), gen_image_size(b));
	assert_memory_equal(gen_image(a), gen_image(b), gen_image_size(a));
	for (int n = 0; n < 5; n++) {
		gen_valid(a, &stream);
		gen_valid(b, &again);
		assert_int_equal(stream.count, again.count);
		assert_memory_equal(stream.insns, again.insns,
				    stream.count * sizeof(*stream.insns));
	}
	gen_free(a);
	gen_free(b);
}

TEST(test_image)
{
	for (unsigned int c = 0; c < configs.count; c++) {
		struct gen *gen = gen_new(&configs.cfg[c], 1, BASE);
		uint32_t size = gen_image_size(gen), top = gen_base_for_top(&configs.cfg[c]);

		assert_in_range(size, 1, 4u << 20);
		assert_in_range(gen_insn_addr(gen), BASE, BASE + size - 1);
		assert_int_equal((uint64_t)top + size, 1ull << 32);
		assert_int_equal(top % 0x10000, 0);
		gen_free(gen);
	}
}

static int load_configs(void **state)
{
	(void)state;
	configs_load(&configs);
	return 0;
}

GROUP(load_configs, NULL);
