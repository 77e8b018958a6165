// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generated operators on the emulator's core, bit for bit against plain loops:
 * all kinds, cores that differ in everything that may, all interleavings of a
 * core's modules.
 *
 * VTA_SEED=n runs one case, the n that a failure prints. Cases are numbered by kind, core and seed,
 * then those on random cores.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases.h"
#include "machine.h"

#define EACH	60u	/* cases of a kind on a core */
#define ANY	300u	/* random cores */

/* Widths, batch, block, then buffers: uop, inp, wgt, acc. */
static const struct core_config cores[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 },	/* TVM's default */
	{ 3, 3, 5, 0, 4, 12, 12, 15, 14, 2, 0, 0 },
	{ 3, 3, 5, 0, 5, 15, 16, 19, 18, 2, 0, 0 },
	{ 3, 3, 5, 0, 6, 15, 15, 18, 17, 2, 0, 0 },
	{ 3, 3, 5, 1, 4, 14, 14, 17, 16, 2, 0, 0 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 },
	{ 3, 2, 5, 0, 4, 15, 15, 17, 17, 2, 0, 0 },
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 },
	{ 2, 3, 5, 0, 5, 13, 14, 17, 16, 2, 0, 0 },
	{ 1, 1, 5, 1, 4, 14, 13, 15, 16, 2, 0, 0 },
	{ 1, 2, 5, 0, 6, 15, 14, 17, 17, 2, 0, 0 },
	{ 3, 3, 5, 0, 4, 8, 9, 13, 11, 2, 0, 0 },	/* hardly any room */
};

enum { CORES = sizeof(cores) / sizeof(cores[0]) };

static unsigned int total;

/* Returns true if case @n is to run: all, or the one that VTA_SEED names. */
static bool is_wanted(unsigned int n)
{
	const char *text = getenv("VTA_SEED");

	return !text || strtoul(text, NULL, 0) == n;
}

static void test_kind(void **state)
{
	enum case_kind kind = (enum case_kind)(uintptr_t)*state;
	unsigned int exact = 0, refused = 0;
	char text[512];

	for (unsigned int core = 0; core < CORES; core++) {
		for (unsigned int order = 0; order < 3; order++) {
			struct machine m;

			emulated_init(&m, &cores[core], CASE_MEMORY, (enum core_order)order, core);
			for (unsigned int seed = order; seed < EACH; seed += 3) {
				unsigned int n = ((unsigned int)kind * CORES + core) * EACH + seed;
				enum case_result result;

				if (!is_wanted(n))
					continue;
				result = case_run(&m, kind, core * 1000 + seed, text, sizeof(text));

				if (result == CASE_WRONG)
					fail_msg("VTA_SEED=%u: %s", n, text);
				exact += result == CASE_EXACT;
				refused += result == CASE_REFUSED;
			}
			emulated_fini(&m);
		}
	}
	print_message("# %s: %u shapes bit-exact, %u refused, with the numbers\n",
		      case_name(kind), exact, refused);
	total += exact;
	/* Only the last core is so small that much does not fit. */
	/* A group of normalised positions takes more weights than fit where BLOCK is 64. */
	assert_true(refused <= (exact + refused) / (kind == CASE_NORM ? 3 : 8));
}

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

/* Any core that a card may report, its elements not too large for a test's memory. */
static struct core_config any_core(uint64_t seed)
{
	uint64_t state = seed * 2 + 1;
	struct core_config cfg;
	unsigned int element;
	char err[256];

	do {
		cfg = (struct core_config) {
			.log_inp_width = 1 + rnd(&state, 3), .log_wgt_width = 1 + rnd(&state, 3),
			.log_acc_width = 5, .log_batch = rnd(&state, 9),
			.log_block = 1 + rnd(&state, 8), .log_uop_buff_size = 2 + rnd(&state, 14),
		};
		element = cfg.log_batch + cfg.log_block;
		cfg.log_inp_buff_size = element + cfg.log_inp_width - 3 + rnd(&state, 17);
		cfg.log_wgt_buff_size = 2 * cfg.log_block + cfg.log_wgt_width - 3 + rnd(&state, 17);
		cfg.log_acc_buff_size = element + 2 + rnd(&state, 12);
	} while (element > 9 || core_config_check(&cfg, err, sizeof(err)));
	return cfg;
}

static void test_any_core(void **state)
{
	unsigned int exact = 0, refused = 0;
	char text[512];

	(void)state;
	for (unsigned int seed = 0; seed < ANY; seed++) {
		unsigned int n = CASE_KINDS * CORES * EACH + seed;
		struct core_config cfg = any_core(seed);
		struct machine m;

		if (!is_wanted(n))
			continue;
		emulated_init(&m, &cfg, CASE_MEMORY_ANY, (enum core_order)(seed % 3), seed);
		for (unsigned int kind = 0; kind < CASE_KINDS; kind++) {
			enum case_result result = case_run(&m, (enum case_kind)kind, seed, text,
							   sizeof(text));

			if (result == CASE_WRONG)
				fail_msg("VTA_SEED=%u, kind %u: %s", n, kind, text);
			exact += result == CASE_EXACT;
			refused += result == CASE_REFUSED;
		}
		emulated_fini(&m);
	}
	print_message("# %u made-up cores: %u shapes bit-exact, %u refused\n", ANY, exact, refused);
	assert_true(getenv("VTA_SEED") || exact > refused);
}

static void test_total(void **state)
{
	(void)state;
	if (getenv("VTA_SEED"))
		skip();
	print_message("# %u cases on %d cores\n", total, CORES);
	assert_true(total >= 5000);
}

int main(void)
{
	static struct CMUnitTest tests[CASE_KINDS + 2];

	for (unsigned int i = 0; i < CASE_KINDS; i++)
		tests[i] = (struct CMUnitTest) {
			.name = case_name((enum case_kind)i), .test_func = test_kind,
			.initial_state = (void *)(uintptr_t)i,
		};
	tests[CASE_KINDS] = (struct CMUnitTest)cmocka_unit_test(test_any_core);
	tests[CASE_KINDS + 1] = (struct CMUnitTest)cmocka_unit_test(test_total);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
