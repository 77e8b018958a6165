// SPDX-License-Identifier: GPL-2.0-only
/* streams.c - random streams on a target, against the reference (see streams.h) */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"

/* Valid streams from one seed, one after the other, and a dump. */
#define ROUNDS		3u
#define PAGE		4096u
#define OTHER		(1ull << 63)
/* Fewer than these do not show what the tests are there for. */
#define VALID_MIN	2100
#define CONFIGS_MIN	8
/* Of so many valid streams there is an invalid one. */
#define INVALID_SHARE	7

static struct configs configs;
static uint64_t first_seed;
static uint64_t seeds;		/* per configuration */
static unsigned int valid_streams, invalid_streams;

uint64_t streams_first(void)
{
	return first_seed;
}

uint64_t streams_seeds(void)
{
	return seeds;
}

uint64_t streams_other(uint64_t seed)
{
	return seed ^ OTHER;
}

void streams_fail(const struct streams *s, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fail_msg("%s, VTA_SEED=%" PRIu64 " VTA_STREAMS=1: %s", s->name, s->seed & ~OTHER, what);
}

/* ---- Seeds --------------------------------------------------------------- */

static void load(struct streams *s, uint32_t bytes)
{
	for (unsigned int w = 0; w < s->target->ways; w++)
		s->target->load(s, w, bytes);
}

void streams_rewind(struct streams *s)
{
	ref_clear(&s->ref);
	memcpy(s->memory, gen_image(s->gen), s->size);
	load(s, s->size);
}

void streams_begin(struct streams *s, uint64_t seed, bool strict)
{
	if (s->gen)
		gen_free(s->gen);
	s->gen = NULL;
	s->seed = seed;
	s->target->begin(s, strict);
	s->gen = gen_new(s->cfg, seed, s->base);
	streams_rewind(s);
}

static bool run_ref(struct streams *s, struct ref_fault *fault)
{
	const struct ref_mem mem = { .bytes = s->memory, .base = s->base, .size = s->size };

	gen_put_insns(&s->stream, s->memory);
	load(s, s->stream.count * 16);
	return ref_run(&s->ref, &mem, gen_insn_addr(s->gen), s->stream.count, 0, fault);
}

/* ---- Valid streams ------------------------------------------------------- */

static void compare_memory(struct streams *s, unsigned int way, unsigned int round)
{
	for (uint32_t at = 0; at < s->size; at += PAGE) {
		const uint8_t *got = s->target->page(s, way, at), *want = s->memory + at;
		uint32_t i = 0, n = s->size - at < PAGE ? s->size - at : PAGE;

		if (!memcmp(got, want, n))
			continue;
		while (got[i] == want[i])
			i++;
		streams_fail(s, "%s, stream %u: byte 0x%x is 0x%02x, not 0x%02x",
			     s->target->names[way], round, s->base + at + i, got[i], want[i]);
	}
}

void streams_check_valid(struct streams *s, unsigned int round)
{
	uint64_t first = 0, cycles = 0;
	struct ref_fault want;

	if (!run_ref(s, &want))
		streams_fail(s, "stream %u: the reference faults %d", round, want.reason);
	for (unsigned int w = 0; w < s->target->ways; w++) {
		struct core_fault fault;

		if (!s->target->run(s, w, &fault, &cycles))
			streams_fail(s, "%s, stream %u: fault %d at %u", s->target->names[w],
				     round, fault.reason, fault.insn_index);
		compare_memory(s, w, round);
		first = w ? first : cycles;
		if (cycles != first)
			streams_fail(s, "%s, stream %u: %" PRIu64 " cycles, not %" PRIu64 " as %s",
				     s->target->names[w], round, cycles, first,
				     s->target->names[0]);
	}
}

static void test_valid(struct streams *s)
{
	for (uint64_t n = 0; n < seeds; n++) {
		streams_begin(s, first_seed + n, false);
		for (unsigned int round = 0; round < ROUNDS; round++) {
			gen_valid(s->gen, &s->stream);
			streams_check_valid(s, round);
			valid_streams++;
		}
		gen_dump(s->gen, n / 3 % 2, &s->stream);
		streams_check_valid(s, ROUNDS);
	}
}

/* ---- Invalid streams ----------------------------------------------------- */

/* The fault of the stream in hand on one machine. */
static struct core_fault fault_of(struct streams *s, unsigned int way)
{
	const char *name = s->target->names[way];
	struct core_fault fault;
	uint64_t cycles;

	memset(&fault, 0xee, sizeof(fault));
	if (s->target->run(s, way, &fault, &cycles))
		streams_fail(s, "%s: no fault", name);
	if (fault.insn_index >= s->stream.count)
		streams_fail(s, "%s: fault %d at %u", name, fault.reason, fault.insn_index);
	for (unsigned int i = 0; i < 4; i++)
		if (fault.insn[i] != (uint32_t)(s->stream.insns[fault.insn_index].word[i / 2] >>
						(32 * (i % 2))))
			streams_fail(s, "%s: the fault's instruction is not number %u", name,
				     fault.insn_index);
	return fault;
}

static void check_invalid(struct streams *s)
{
	struct gen_expect want;
	struct ref_fault fault;

	gen_invalid(s->gen, &s->stream, &want);
	if (run_ref(s, &fault))
		streams_fail(s, "the reference does not fault: %s", want.what);
	for (unsigned int w = 0; w < s->target->ways; w++) {
		struct core_fault got = fault_of(s, w);

		if (got.reason != want.reason || got.access != want.access ||
		    got.addr != want.addr || got.insn_index != want.insn_index)
			streams_fail(s, "%s: fault %u, %u, 0x%x at %u, not %u, %u, 0x%x at %u: %s",
				     s->target->names[w], got.reason, got.access, got.addr,
				     got.insn_index, want.reason, want.access, want.addr,
				     want.insn_index, want.what);
	}
	invalid_streams++;
}

/* A token less: the fault may name any of the instructions that wait. */
static void check_dropped_push(struct streams *s)
{
	struct core_fault got;
	struct ref_fault want;
	uint64_t cycles;

	gen_valid(s->gen, &s->stream);
	gen_drop_push(s->gen, &s->stream);
	if (run_ref(s, &want)) {
		/* A surplus token served. Each begin is followed by a run. */
		for (unsigned int w = 0; w < s->target->ways; w++)
			assert_true(s->target->run(s, w, &got, &cycles));
		return;
	}
	assert_int_equal(want.reason, VTA_FAULT_DEADLOCK);
	for (unsigned int w = 0; w < s->target->ways; w++) {
		bool waits = false;

		got = fault_of(s, w);
		for (int m = 0; m < REF_MODULES; m++)
			waits |= got.insn_index == want.waiting[m];
		if (got.reason != VTA_FAULT_DEADLOCK || got.access != VTA_ACCESS_NONE ||
		    got.addr || !waits)
			streams_fail(s, "%s: fault %u at %u, not a deadlock there",
				     s->target->names[w], got.reason, got.insn_index);
	}
	invalid_streams++;
}

static void test_invalid(struct streams *s)
{
	for (uint64_t n = 0; n < (seeds + 1) / 2; n++) {
		uint64_t seed = first_seed + n;

		streams_begin(s, seed, true);
		check_invalid(s);
		/* The machines are none the worse for it. */
		streams_begin(s, streams_other(seed), true);
		gen_valid(s->gen, &s->stream);
		streams_check_valid(s, 0);
		streams_begin(s, seed, true);
		check_dropped_push(s);
	}
}

static void test_enough(void **state)
{
	const struct target *target = *state;
	unsigned int least = target->least ? target->least : VALID_MIN;
	unsigned int least_configs = target->least_configs ? target->least_configs : CONFIGS_MIN;

	print_message("%u valid and %u invalid streams, %u configurations, %u ways\n",
		      valid_streams, invalid_streams, configs.count, target->ways);
	if (getenv("VTA_STREAMS"))
		skip();
	assert_true(valid_streams >= least);
	assert_true(invalid_streams >= least / INVALID_SHARE);
	assert_true(configs.count >= least_configs);
}

/* ---- Tests --------------------------------------------------------------- */

static const struct streams_test kinds[] = {
	{ "valid", test_valid }, { "invalid", test_invalid }, { NULL, NULL }
};

/* A test of one configuration. */
struct variant {
	const struct target *target;
	unsigned int config;
	void (*run)(struct streams *s);
	char name[64];
};

static int setup(void **state)
{
	const struct variant *v = *state;
	struct streams *s = calloc(1, sizeof(*s));
	struct gen *gen;

	if (!s)
		return -1;
	*state = s;
	s->target = v->target;
	s->run = v->run;
	s->config = v->config;
	s->cfg = &configs.cfg[v->config];
	s->name = configs.name[v->config];
	s->path = configs.path[v->config];
	gen = gen_new(s->cfg, 0, STREAMS_BASE);
	s->size = gen_image_size(gen);
	gen_free(gen);
	ref_init(&s->ref, s->cfg);
	s->memory = malloc(s->size);
	assert_non_null(s->memory);
	s->target->open(s);
	return 0;
}

static int teardown(void **state)
{
	struct streams *s = *state;

	s->target->close(s);
	if (s->gen)
		gen_free(s->gen);
	ref_free(&s->ref);
	free(s->memory);
	free(s);
	return 0;
}

static void run_variant(void **state)
{
	struct streams *s = *state;

	s->run(s);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
	const char *value = getenv(variable);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

/* Leaves the configurations that the target has. */
static void keep_offered(const struct target *target)
{
	unsigned int n = 0;

	for (unsigned int c = 0; c < configs.count; c++) {
		if (target->offers && !target->offers(&configs.cfg[c], configs.name[c]))
			continue;
		configs.cfg[n] = configs.cfg[c];
		memmove(configs.name[n], configs.name[c], sizeof(configs.name[n]));
		memmove(configs.path[n], configs.path[c], sizeof(configs.path[n]));
		n++;
	}
	configs.count = n;
}

int streams_main(const struct target *target)
{
	enum { TESTS_MAX = 8 };
	static struct variant variants[TESTS_MAX * CONFIGS_MAX];
	static struct CMUnitTest tests[TESTS_MAX * CONFIGS_MAX + 1];
	const struct streams_test *const lists[] = { kinds, target->tests }, *test;
	size_t n = 0;

	configs_load(&configs);
	keep_offered(target);
	first_seed = number_from("VTA_SEED", target->seed) & ~OTHER;
	seeds = number_from("VTA_STREAMS", target->streams) / ROUNDS /
		(configs.count ? configs.count : 1);
	if (!seeds)
		seeds = 1;
	for (unsigned int c = 0; c < configs.count; c++) {
		for (unsigned int l = 0; l < 2; l++) {
			for (test = lists[l]; test && test->name; test++) {
				struct variant *v = &variants[n];

				*v = (struct variant){ .target = target, .config = c,
						       .run = test->run };
				snprintf(v->name, sizeof(v->name), "%s: %s", test->name,
					 configs.name[c]);
				tests[n++] = (struct CMUnitTest){ v->name, run_variant, setup,
								  teardown, v };
			}
		}
	}
	tests[n++] = (struct CMUnitTest){ .name = "test_enough", .test_func = test_enough,
					  .initial_state = (void *)target };
	return _cmocka_run_group_tests(target->group, tests, n, NULL, NULL);
}
