// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random streams, cut anywhere, whose pieces are RUNs that keep the core's state: each of
 * several queues comes to what the whole stream comes to in the reference, whatever ran
 * between its pieces. In every order of the modules, on all configurations.
 *
 * VTA_SEED=n begins with another seed, VTA_STREAMS=n takes so many on each card.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card_rig.h"
#include "configs.h"
#include "gen.h"
#include "ref.h"

#define BASE	0x00100000u
#define SAVE	0x40000000u
#define QUEUES	3	/* a context each */
#define ROUNDS	3	/* streams, and a dump of the scratchpads */

static const char * const orders[] = { "inorder", "greedy", "random" };

static struct configs configs;
static unsigned int pieces_run;

/* Token queues, and for each the bit in word 0 of an instruction that pushes or pops. */
enum { TOKENS = 4 };

static const struct {
	unsigned int pusher, push, popper, pop;	/* modules are REF_... */
} tokens[TOKENS] = {
	{ REF_LOAD, INSN_PUSH_NEXT, REF_COMPUTE, INSN_POP_PREV },
	{ REF_COMPUTE, INSN_PUSH_PREV, REF_LOAD, INSN_POP_NEXT },
	{ REF_COMPUTE, INSN_PUSH_NEXT, REF_STORE, INSN_POP_PREV },
	{ REF_STORE, INSN_PUSH_PREV, REF_COMPUTE, INSN_POP_NEXT },
};

/* A queue, what it is to do, and what must come of that. */
struct lane {
	struct rig_queue queue;
	struct gen *gen;
	struct gen_stream stream;
	struct ref ref;
	uint8_t *memory;	/* the card's, and the reference's */
	uint8_t *expected;
	uint32_t done;		/* instructions of the stream that were run */
	int left[TOKENS];	/* tokens that these have left */
	unsigned int round;
};

struct card {
	unsigned int config;
	unsigned int order;
	uint64_t seed;
	struct rig rig;
	struct lane lane[QUEUES];
};

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static unsigned int module_of(uint64_t word)
{
	uint64_t memory = word >> 7 & 7;

	if ((word & 7) == INSN_STORE)
		return REF_STORE;
	return (word & 7) == INSN_LOAD && (memory == INSN_INP || memory == INSN_WGT) ?
	       REF_LOAD : REF_COMPUTE;
}

static void count_tokens(int left[TOKENS], const struct insn *insn)
{
	for (unsigned int i = 0; i < TOKENS; i++) {
		unsigned int module = module_of(insn->word[0]);

		left[i] += module == tokens[i].pusher && insn->word[0] & tokens[i].push;
		left[i] -= module == tokens[i].popper && insn->word[0] & tokens[i].pop;
	}
}

/* Returns the length of a piece of at least @count that has all the tokens it pops. */
static uint32_t piece(struct lane *l, uint32_t count)
{
	uint32_t n = 0;
	bool owes;

	do {
		count_tokens(l->left, &l->stream.insns[l->done + n++]);
		owes = false;
		for (unsigned int i = 0; i < TOKENS; i++)
			owes |= l->left[i] < 0;
	} while (n < count || owes);
	return n;
}

static void next_stream(struct card *c, struct lane *l)
{
	struct ref_mem mem = { .bytes = l->expected, .base = BASE,
			       .size = gen_image_size(l->gen) };
	struct ref_fault fault;

	if (l->round < ROUNDS)
		gen_valid(l->gen, &l->stream);
	else
		gen_dump(l->gen, c->seed % 2, &l->stream);
	gen_put_insns(&l->stream, l->expected);
	gen_put_insns(&l->stream, l->memory);
	l->done = 0;
	l->round++;
	if (!ref_run(&l->ref, &mem, gen_insn_addr(l->gen), l->stream.count, 0, &fault))
		fail_msg("the reference faults %d", fault.reason);
}

static void lane_begin(struct card *c, unsigned int n)
{
	const struct core_config *cfg = &configs.cfg[c->config];
	struct lane *l = &c->lane[n];
	uint32_t size, pages;

	l->gen = gen_new(cfg, c->seed * QUEUES + n, BASE);
	size = gen_image_size(l->gen);
	ref_init(&l->ref, cfg);
	l->expected = malloc(size);
	assert_non_null(l->expected);
	memcpy(l->expected, gen_image(l->gen), size);

	rig_context(&c->rig, n);
	l->memory = rig_map_pages(&c->rig, n, BASE, (size + VTA_PAGE_SIZE - 1) / VTA_PAGE_SIZE);
	memcpy(l->memory, l->expected, size);
	pages = rig_get(&c->rig, REG_SAVE_SIZE) / VTA_PAGE_SIZE;
	rig_map_pages(&c->rig, n, SAVE, pages);
	rig_queue(&c->rig, &l->queue, n, n, 4);
	rig_set(&c->rig, REG_QUEUE_SAVE(n), SAVE);
	rig_queue_start(&l->queue, 0);
	next_stream(c, l);
}

static void lane_end(struct lane *l)
{
	gen_free(l->gen);
	ref_free(&l->ref);
	free(l->expected);
}

static void run_kept(struct lane *l, uint32_t first, uint32_t count)
{
	struct vta_desc desc = vtadev_desc_run(gen_insn_addr(l->gen) + 16 * first, count, 0);

	desc.op_flags |= VTA_DESC_KEEP;
	rig_do(&l->queue, desc);
	pieces_run++;
}

/* The next stream begins without tokens: all that are left over are there to be popped. */
static void drain(struct lane *l)
{
	static const struct insn_move none[TOKENS] = {
		{ .opcode = INSN_LOAD, .memory = INSN_UOP, .flags = INSN_POP_PREV },
		{ .opcode = INSN_LOAD, .memory = INSN_INP, .flags = INSN_POP_NEXT },
		{ .opcode = INSN_STORE, .memory = INSN_OUT, .flags = INSN_POP_PREV },
		{ .opcode = INSN_LOAD, .memory = INSN_UOP, .flags = INSN_POP_NEXT },
	};

	l->stream.count = 0;
	for (unsigned int i = 0; i < TOKENS; i++)
		for (; l->left[i]; l->left[i]--)
			l->stream.insns[l->stream.count++] = insn_move(&none[i]);
	gen_put_insns(&l->stream, l->expected);
	gen_put_insns(&l->stream, l->memory);
	if (l->stream.count)
		run_kept(l, 0, l->stream.count);
}

static void compare(struct card *c, const struct lane *l)
{
	uint32_t size = gen_image_size(l->gen);

	for (uint32_t i = 0; i < size; i++)
		if (l->memory[i] != l->expected[i])
			fail_msg("%s, %s, VTA_SEED=%" PRIu64 ": queue %u, stream %u: "
				 "byte 0x%x is 0x%02x, not 0x%02x",
				 configs.name[c->config], orders[c->order], c->seed, l->queue.n,
				 l->round, BASE + i, l->memory[i], l->expected[i]);
}

/* One piece of a stream; false when the lane has no more. */
static bool step(struct card *c, struct lane *l, unsigned int *random)
{
	uint32_t left = l->stream.count - l->done;
	uint32_t most = 1u << (unsigned int)rand_r(random) % 8, count;

	if (left) {
		count = piece(l, 1 + (uint32_t)rand_r(random) % (left < most ? left : most));
		run_kept(l, l->done, count);
		l->done += count;
		return true;
	}
	compare(c, l);
	drain(l);
	if (l->round > ROUNDS)
		return false;
	next_stream(c, l);
	return true;
}

/* A RUN that keeps nothing, which takes the core from whichever queue has it. */
static void disturb(struct card *c, unsigned int n)
{
	/* In the last place: the lane's stream has the first. A LOAD of nothing does no harm. */
	static const struct insn nothing = { { INSN_LOAD, 0 } };
	struct lane *l = &c->lane[n];
	uint32_t at = gen_insn_addr(l->gen) + 16 * (GEN_INSNS_MAX - 1);

	insn_to_bytes(nothing, l->memory + (at - BASE));
	insn_to_bytes(nothing, l->expected + (at - BASE));
	rig_do(&l->queue, vtadev_desc_run(at, 1, 0));
}

static void run_card(struct card *c)
{
	const char * const args[] = { "--config", configs.path[c->config], "--order",
				      orders[c->order], "--seed", "1", "--queues", "4", NULL };
	unsigned int random = (unsigned int)c->seed, busy = (1u << QUEUES) - 1;

	rig_start(&c->rig, args);
	for (unsigned int n = 0; n < QUEUES; n++)
		lane_begin(c, n);
	while (busy) {
		unsigned int n = (unsigned int)rand_r(&random) % QUEUES;

		if (rand_r(&random) % 16 == 0)
			disturb(c, n);
		if (busy & 1u << n && !step(c, &c->lane[n], &random))
			busy &= ~(1u << n);
	}
	assert_true(rig_counter(&c->rig, VTA_COUNTER_STATE_RESTORES) > 0);
	for (unsigned int n = 0; n < QUEUES; n++)
		lane_end(&c->lane[n]);
	rig_stop(&c->rig);
}

static void test_config(void **state)
{
	uint64_t first = env("VTA_SEED", 1), seeds = env("VTA_STREAMS", 2);
	struct card *c = malloc(sizeof(*c));

	assert_non_null(c);
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		for (unsigned int o = 0; o < 3; o++) {
			memset(c, 0, sizeof(*c));
			c->config = *(const unsigned int *)*state;
			c->order = o;
			c->seed = seed;
			run_card(c);
		}
	}
	free(c);
}

static void test_enough(void **state)
{
	(void)state;
	print_message("%u pieces, %u configurations, 3 orders\n", pieces_run, configs.count);
	assert_true(pieces_run >= 500);
}

int main(void)
{
	static struct CMUnitTest tests[CONFIGS_MAX + 1];
	static unsigned int numbers[CONFIGS_MAX];
	size_t count = 0;

	configs_load(&configs);
	for (unsigned int c = 0; c < configs.count; c++) {
		numbers[c] = c;
		tests[count++] = (struct CMUnitTest) {
			.name = configs.name[c],
			.test_func = test_config,
			.initial_state = &numbers[c],
		};
	}
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_enough);
	return _cmocka_run_group_tests("streams in pieces", tests, count, NULL, NULL);
}
