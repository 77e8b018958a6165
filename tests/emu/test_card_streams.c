// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_card_streams.c - random streams through the whole card
 *
 * As test_streams.c, but with emulators as they are run: the stream and its
 * memory are behind page tables, in guest and card memory, and RUN descriptors
 * in rings start it. One emulator for each order in which modules take turns.
 *
 * VTA_SEED (1000) is the first seed and VTA_STREAMS (2160) the number of valid
 * streams, over all configurations together.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card_rig.h"
#include "configs.h"
#include "gen.h"
#include "ref.h"

#define ROUNDS		3u	/* streams from one seed, and a dump */
#define ORDERS		3
#define CONTEXTS	3
#define PAGES_MAX	512u

static const char * const orders[ORDERS] = { "inorder", "greedy", "random" };

static struct configs configs;
static uint64_t first_seed;
static uint64_t seeds;		/* per configuration */
static unsigned int valid_streams, invalid_streams;

/* A context's queue, and the image as it lies behind the context's table. */
struct space {
	struct rig_queue queue;
	uint8_t *page[PAGES_MAX];
};

struct cards {
	unsigned int config;
	uint32_t base[CONTEXTS];	/* of the image, the same on all cards */
	uint32_t size;
	struct rig rig[ORDERS];
	unsigned int started;
	struct space space[ORDERS][CONTEXTS];
	/* Of the seed at hand: */
	uint64_t seed;
	unsigned int context;
	struct gen *gen;
	struct gen_stream stream;
	struct ref ref;
	uint8_t *memory;
};

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

__attribute__((format(printf, 2, 3)))
static void cards_fail(const struct cards *c, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fail_msg("%s, seed %" PRIu64 ": %s", configs.name[c->config], c->seed, what);
}

/* ---- Cards --------------------------------------------------------------- */

/* Every other page in card memory, and none where its neighbour is. */
static void map_pages(struct cards *c, int o, unsigned int context)
{
	struct rig *r = &c->rig[o];
	uint32_t pages = c->size / VTA_PAGE_SIZE;
	uint64_t card = context * PAGES_MAX * VTA_PAGE_SIZE;

	assert_in_range(pages, 1, PAGES_MAX);
	for (uint32_t i = pages; i-- > 0;) {
		uint32_t va = c->base[context] + i * VTA_PAGE_SIZE;

		if (i % 2) {
			rig_map(r, context, va, card, RIG_RW | RIG_CARD);
			c->space[o][context].page[i] = r->c.bar4 + card;
			card += VTA_PAGE_SIZE;
		} else {
			c->space[o][context].page[i] = rig_map_pages(r, context, va, 1);
		}
	}
}

static void map_block(struct cards *c, int o, unsigned int context)
{
	uint64_t block = rig_block(&c->rig[o]);

	rig_map_block(&c->rig[o], context, c->base[context], block, RIG_RW);
	for (uint32_t i = 0; i < c->size / VTA_PAGE_SIZE; i++)
		c->space[o][context].page[i] =
			(uint8_t *)rig_at(&c->rig[o], block) + i * VTA_PAGE_SIZE;
}

static void start(struct cards *c, int o)
{
	const char * const args[] = { "--config", configs.path[c->config], "--order", orders[o],
				      "--seed", "1", "--queues", "8", "--mem", "8M", NULL };

	rig_start(&c->rig[o], args);
	c->started++;
	for (unsigned int n = 0; n < CONTEXTS; n++) {
		rig_context(&c->rig[o], n);
		rig_queue(&c->rig[o], &c->space[o][n].queue, n, n, 4);
		if (n == CONTEXTS - 1)
			map_block(c, o, n);
		else
			map_pages(c, o, n);
		rig_queue_start(&c->space[o][n].queue, 0);
	}
}

static int setup(void **state)
{
	unsigned int config = *(const unsigned int *)*state;
	const struct core_config *cfg = &configs.cfg[config];
	struct cards *c = calloc(1, sizeof(*c));
	struct gen *gen;

	if (!c)
		return -1;
	*state = c;
	c->config = config;
	c->base[0] = 0x100000;
	c->base[1] = gen_base_for_top(cfg);
	c->base[2] = 0x200000;
	gen = gen_new(cfg, 0, c->base[0]);
	c->size = gen_image_size(gen);
	gen_free(gen);
	ref_init(&c->ref, cfg);
	c->memory = malloc(c->size);
	assert_non_null(c->memory);
	for (int o = 0; o < ORDERS; o++)
		start(c, o);
	return 0;
}

static int teardown(void **state)
{
	struct cards *c = *state;

	for (unsigned int o = 0; o < c->started; o++)
		rig_stop(&c->rig[o]);
	if (c->gen)
		gen_free(c->gen);
	ref_free(&c->ref);
	free(c->memory);
	free(c);
	return 0;
}

/* ---- Seeds --------------------------------------------------------------- */

static void put(struct cards *c, int o, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += VTA_PAGE_SIZE)
		memcpy(c->space[o][c->context].page[i / VTA_PAGE_SIZE], bytes + i,
		       len - i < VTA_PAGE_SIZE ? len - i : VTA_PAGE_SIZE);
}

/*
 * A new image. The context is another than the seed's before, so the card has
 * to clear its scratchpads.
 */
static void begin(struct cards *c, uint64_t n, unsigned int contexts)
{
	if (c->gen)
		gen_free(c->gen);
	c->seed = first_seed + n;
	c->context = (unsigned int)(n % contexts);
	c->gen = gen_new(&configs.cfg[c->config], c->seed, c->base[c->context]);
	memcpy(c->memory, gen_image(c->gen), c->size);
	ref_clear(&c->ref);
	for (int o = 0; o < ORDERS; o++)
		put(c, o, c->memory, c->size);
}

static bool run_ref(struct cards *c, struct ref_fault *fault)
{
	struct ref_mem mem = { .bytes = c->memory, .base = c->base[c->context],
			       .size = c->size };

	gen_put_insns(&c->stream, c->memory);
	for (int o = 0; o < ORDERS; o++)
		put(c, o, c->memory, c->stream.count * 16);
	return ref_run(&c->ref, &mem, gen_insn_addr(c->gen), c->stream.count, 0, fault);
}

static struct vta_desc run_desc(const struct cards *c)
{
	return rig_run(gen_insn_addr(c->gen), c->stream.count);
}

/* ---- Valid streams ------------------------------------------------------- */

static void compare(struct cards *c, int o, unsigned int round)
{
	const struct space *s = &c->space[o][c->context];

	for (uint32_t at = 0; at < c->size; at += VTA_PAGE_SIZE) {
		const uint8_t *got = s->page[at / VTA_PAGE_SIZE], *want = c->memory + at;
		uint32_t i = 0, n = c->size - at < VTA_PAGE_SIZE ? c->size - at : VTA_PAGE_SIZE;

		if (!memcmp(got, want, n))
			continue;
		while (got[i] == want[i])
			i++;
		cards_fail(c, "%s, stream %u: byte 0x%x is 0x%02x, not 0x%02x", orders[o], round,
			   c->base[c->context] + at + i, got[i], want[i]);
	}
}

static void check_valid(struct cards *c, unsigned int round)
{
	struct ref_fault fault;

	if (!run_ref(c, &fault))
		cards_fail(c, "stream %u: the reference faults %d", round, fault.reason);
	for (int o = 0; o < ORDERS; o++) {
		struct rig_queue *q = &c->space[o][c->context].queue;
		struct rig_queue *first = &c->space[0][c->context].queue;

		rig_do(q, run_desc(c));
		compare(c, o, round);
		if (q->page->status.cycles != first->page->status.cycles)
			cards_fail(c, "%s, stream %u: other cycles than in order", orders[o],
				   round);
	}
}

static void test_valid(void **state)
{
	struct cards *c = *state;

	for (uint64_t n = 0; n < seeds; n++) {
		begin(c, n, CONTEXTS);
		for (unsigned int round = 0; round < ROUNDS; round++) {
			gen_valid(c->gen, &c->stream);
			check_valid(c, round);
			valid_streams++;
		}
		gen_dump(c->gen, n / CONTEXTS % 2, &c->stream);
		check_valid(c, ROUNDS);
	}
}

/* ---- Invalid streams ----------------------------------------------------- */

/* The fault that a card's queue halts with; the queue continues behind it. */
static struct vta_fault fault_of(struct cards *c, int o)
{
	struct rig_queue *q = &c->space[o][c->context].queue;
	struct vta_fault fault;

	rig_put(q, run_desc(c));
	rig_submit(q);
	fault = rig_halted(q);
	rig_queue_stop(q, false);
	rig_queue_start(q, fault.seq);
	return fault;
}

static void compare_insn(struct cards *c, int o, const struct vta_fault *fault)
{
	const struct insn *insn = &c->stream.insns[fault->insn_index];

	for (int i = 0; i < 4; i++)
		if (fault->insn[i] != (uint32_t)(insn->word[i / 2] >> (32 * (i % 2))))
			cards_fail(c, "%s: the fault's instruction is not number %u", orders[o],
				   fault->insn_index);
}

static void check_invalid(struct cards *c)
{
	struct gen_expect want;
	struct ref_fault fault;

	gen_invalid(c->gen, &c->stream, &want);
	if (run_ref(c, &fault))
		cards_fail(c, "the reference does not fault: %s", want.what);
	for (int o = 0; o < ORDERS; o++) {
		struct vta_fault got = fault_of(c, o);

		if (got.reason != want.reason || got.access != want.access ||
		    got.addr != want.addr || got.insn_index != want.insn_index)
			cards_fail(c, "%s: fault %u, %u, 0x%x at %u, not %u, %u, 0x%x at %u: %s",
				   orders[o], got.reason, got.access, got.addr, got.insn_index,
				   want.reason, want.access, want.addr, want.insn_index, want.what);
		compare_insn(c, o, &got);
	}
	invalid_streams++;
}

static void check_dropped_push(struct cards *c)
{
	struct ref_fault want;

	gen_valid(c->gen, &c->stream);
	if (!gen_drop_push(c->gen, &c->stream) || run_ref(c, &want)) {
		/* For the next seed's context, this one is to have run. */
		for (int o = 0; o < ORDERS; o++)
			rig_do(&c->space[o][c->context].queue, run_desc(c));
		return;
	}
	assert_int_equal(want.reason, VTA_FAULT_DEADLOCK);
	for (int o = 0; o < ORDERS; o++) {
		struct vta_fault got = fault_of(c, o);
		bool waits = false;

		for (int m = 0; m < REF_MODULES; m++)
			waits |= got.insn_index == want.waiting[m];
		if (got.reason != VTA_FAULT_DEADLOCK || !waits ||
		    got.insn_index == VTA_FAULT_NO_INSN)
			cards_fail(c, "%s: fault %u at %u, not a deadlock there", orders[o],
				   got.reason, got.insn_index);
		compare_insn(c, o, &got);
	}
	invalid_streams++;
}

/* Below and above the image of the first two contexts nothing is mapped. */
static void test_invalid(void **state)
{
	struct cards *c = *state;

	for (uint64_t n = 0; n < (seeds + 1) / 2; n++) {
		begin(c, n, CONTEXTS - 1);
		if (n % 3 < 2)
			check_invalid(c);
		else
			check_dropped_push(c);
	}
	/* The cards are none the worse for it. */
	begin(c, seeds, CONTEXTS);
	gen_valid(c->gen, &c->stream);
	check_valid(c, 0);
}

static void test_enough(void **state)
{
	(void)state;
	print_message("%u valid and %u invalid streams, %u configurations, %d orders\n",
		      valid_streams, invalid_streams, configs.count, ORDERS);
	if (getenv("VTA_STREAMS"))
		skip();
	assert_true(valid_streams >= 2100);
	assert_true(invalid_streams >= 200);
	assert_true(configs.count >= 8);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} kinds[] = {
		{ "valid", test_valid }, { "invalid", test_invalid },
	};
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	static char names[KINDS * CONFIGS_MAX][64];
	static struct CMUnitTest tests[KINDS * CONFIGS_MAX + 1];
	static unsigned int numbers[CONFIGS_MAX];
	size_t count = 0;

	configs_load(&configs);
	first_seed = env("VTA_SEED", 1000);
	seeds = env("VTA_STREAMS", 2160) / ROUNDS / configs.count;
	if (!seeds)
		seeds = 1;
	for (unsigned int c = 0; c < configs.count; c++) {
		numbers[c] = c;
		for (int k = 0; k < KINDS; k++) {
			snprintf(names[count], sizeof(names[count]), "%s: %s", kinds[k].name,
				 configs.name[c]);
			tests[count] = (struct CMUnitTest){ .name = names[count],
							    .test_func = kinds[k].run,
							    .setup_func = setup,
							    .teardown_func = teardown,
							    .initial_state = &numbers[c] };
			count++;
		}
	}
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_enough);
	return _cmocka_run_group_tests("streams through the card", tests, count, NULL, NULL);
}
