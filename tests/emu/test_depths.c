// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_depths.c - depths of the core's queues, by docs/isa.md, section 3, "Depths"
 *
 * Random streams of instructions that do nothing but their tokens run on cores with shallow
 * queues, in each order of the modules. A model of the document's steps, which takes them in a
 * random order, names the end of each stream. With isa_model (isa_bench.h), the core is the RTL's,
 * with the depths of which there is a model.
 */
#include <stdbool.h>
#include <string.h>

#include "../frame.h"
#include "flat.h"
#include "insn.h"
#include "isa_bench.h"

#define BASE		0x100000u
#define INSNS_MAX	160u
#define STREAMS		6000u
#define MODULES		3
#define QUEUES		4

static const enum core_order orders[] = {
	CORE_ORDER_INORDER, CORE_ORDER_GREEDY, CORE_ORDER_RANDOM
};

#define ORDERS	(sizeof(orders) / sizeof(*orders))

/* The token queues that an instruction of a module pops and pushes, by the flag; -1: none. */
static const struct {
	unsigned int flag;
	int queue[MODULES];	/* of load, compute, store */
} pops[] = {
	{ INSN_POP_PREV, { -1, 0, 2 } }, { INSN_POP_NEXT, { 1, 3, -1 } },
}, pushes[] = {
	{ INSN_PUSH_PREV, { -1, 1, 3 } }, { INSN_PUSH_NEXT, { 0, 2, -1 } },
};

struct depths {
	uint32_t tokens, waiting;
};

struct step_insn {
	int module;
	unsigned int flags;
};

struct stream {
	struct step_insn insn[INSNS_MAX];
	uint32_t count;
};

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

/* ---- The document's steps ---- */

struct model {
	const struct stream *stream;
	struct depths depths;
	uint32_t tokens[QUEUES];
	uint32_t fetched, waiting;
	bool done[INSNS_MAX];
};

/* The first instruction that waits for a module; @fetched if none does. */
static uint32_t first_of(const struct model *m, int module)
{
	uint32_t i = 0;

	while (i < m->fetched && (m->done[i] || m->stream->insn[i].module != module))
		i++;
	return i;
}

/* Take the tokens of an instruction and give what it pushes, if both are possible. */
static bool move_tokens(struct model *m, const struct step_insn *insn)
{
	uint32_t after[QUEUES];

	memcpy(after, m->tokens, sizeof(after));
	for (int i = 0; i < 2; i++) {
		int q = pops[i].queue[insn->module];

		if (insn->flags & pops[i].flag && q >= 0 && !after[q]--)
			return false;
	}
	for (int i = 0; i < 2; i++) {
		int q = pushes[i].queue[insn->module];

		if (insn->flags & pushes[i].flag && q >= 0 && after[q]++ == m->depths.tokens)
			return false;
	}
	memcpy(m->tokens, after, sizeof(after));
	return true;
}

/* Step number @kind: a fetch, or an execution by a module. */
static bool take_step(struct model *m, int kind)
{
	uint32_t i;

	if (kind == MODULES) {
		if (m->fetched == m->stream->count || m->waiting == m->depths.waiting)
			return false;
		m->fetched++;
		m->waiting++;
		return true;
	}
	i = first_of(m, kind);
	if (i == m->fetched || !move_tokens(m, &m->stream->insn[i]))
		return false;
	m->done[i] = true;
	m->waiting--;
	return true;
}

/* All steps, in a random order; returns the oldest instruction that is left, or the count. */
static uint32_t end_of(const struct stream *stream, struct depths depths)
{
	struct model m = { .stream = stream, .depths = depths };
	bool moved;
	uint32_t i;

	do {
		int from = (int)below(MODULES + 1);

		moved = false;
		for (int k = 0; k <= MODULES && !moved; k++)
			moved = take_step(&m, (from + k) % (MODULES + 1));
	} while (moved);
	for (i = 0; i < m.fetched && m.done[i]; i++)
		;
	return i;
}

/* The stream's tokens if it is in order; else UINT32_MAX. */
static uint32_t tokens_in_order(const struct stream *stream)
{
	struct model m = { .stream = stream, .depths = { .tokens = UINT32_MAX - 1 } };
	uint32_t most = 0;

	for (uint32_t i = 0; i < stream->count; i++) {
		if (!move_tokens(&m, &stream->insn[i]))
			return UINT32_MAX;
		for (int q = 0; q < QUEUES; q++)
			most = m.tokens[q] > most ? m.tokens[q] : most;
	}
	return most;
}

/* ---- Streams ---- */

/* Flags of an instruction: rare or frequent, by the stream. */
static unsigned int random_flags(uint32_t pushing, uint32_t popping)
{
	return (below(16) < popping ? INSN_POP_PREV : 0) |
	       (below(16) < popping ? INSN_POP_NEXT : 0) |
	       (below(16) < pushing ? INSN_PUSH_PREV : 0) |
	       (below(16) < pushing ? INSN_PUSH_NEXT : 0);
}

/* Pops may come before their pushes unless @in_order. */
static void make_stream(struct stream *s, bool in_order)
{
	uint32_t pushing = 1 + below(10), popping = 1 + below(10), wanted;
	struct model m = { .stream = s, .depths = { .tokens = UINT32_MAX - 1 } };

	wanted = 1 + below(INSNS_MAX);
	for (s->count = 0; s->count < wanted; s->count++) {
		struct step_insn *insn = &s->insn[s->count];

		*insn = (struct step_insn){ (int)below(MODULES), random_flags(pushing, popping) };
		if (in_order && !move_tokens(&m, insn)) {
			insn->flags &= ~(INSN_POP_PREV | INSN_POP_NEXT);
			assert_true(move_tokens(&m, insn));
		}
	}
}

static void put_stream(const struct stream *s, uint8_t *bytes)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct insn_move move = { .flags = s->insn[i].flags, .memory = INSN_INP };
		struct insn insn;

		move.opcode = s->insn[i].module ? INSN_STORE : INSN_LOAD;
		insn = s->insn[i].module == 1 ?
		       insn_finish(s->insn[i].flags, (struct insn){ { 0, 0 } }) : insn_move(&move);
		insn_to_bytes(insn, bytes + 16 * (size_t)i);
	}
}

struct cores {
	struct core *core[ORDERS];
	size_t count;		/* of cores: one of a model, or one for each order */
	struct depths depths;
	struct flat mem;
};

/* False if isa_model has none of these depths. */
static bool open_cores(struct cores *c, unsigned int log_tokens, unsigned int log_waiting)
{
	static const uint8_t image[INSNS_MAX * 16];
	struct core_config cfg = core_config_default;

	cfg.log_tokens = log_tokens;
	cfg.log_waiting = log_waiting;
	if (isa_model && !isa_model(&cfg))
		return false;
	c->depths = (struct depths){ 1u << log_tokens, 1u << log_waiting };
	flat_init(&c->mem, BASE, sizeof(image), image);
	c->count = isa_model ? 1 : ORDERS;
	for (size_t o = 0; o < c->count; o++) {
		c->core[o] = isa_model ? core_new_model(&cfg, isa_model(&cfg)) :
					 core_new(&cfg, orders[o], 7);
		assert_non_null(c->core[o]);
	}
	return true;
}

static void close_cores(struct cores *c)
{
	for (size_t o = 0; o < c->count; o++)
		core_free(c->core[o]);
	flat_free(&c->mem);
}

/* All orders end at instruction @end: by a DEADLOCK that names it, or done if it is the count. */
static void check_stream(struct cores *c, const struct stream *s, uint32_t end)
{
	struct core_stats stats;
	struct core_fault fault;

	put_stream(s, c->mem.bytes);
	for (size_t o = 0; o < c->count; o++) {
		enum core_result result = core_run(c->core[o], &flat_ops, &c->mem, BASE, s->count,
						   0, &stats, &fault);

		if (end == s->count) {
			assert_int_equal(result, CORE_DONE);
			assert_int_equal(stats.insns, s->count);
			continue;
		}
		assert_int_equal(result, CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_DEADLOCK);
		assert_int_equal(fault.insn_index, end);
	}
}

/* ---- Tests ---- */

TEST(streams_in_order_need_no_more_than_their_tokens)
{
	unsigned int fitting = 0, others = 0;
	struct stream s;

	random_state = 1;
	for (unsigned int log = 3; log <= 5; log++) {
		struct cores c;

		if (!open_cores(&c, log, 3))
			continue;
		for (unsigned int i = 0; i < STREAMS / 3; i++) {
			uint32_t tokens;

			make_stream(&s, true);
			tokens = tokens_in_order(&s);
			assert_true(tokens != UINT32_MAX);
			if (tokens <= c.depths.tokens)
				check_stream(&c, &s, s.count);
			fitting += tokens <= c.depths.tokens;
			others += tokens > c.depths.tokens;
		}
		close_cores(&c);
	}
	assert_in_range(fitting, STREAMS / (isa_model ? 12 : 4), STREAMS - STREAMS / 10);
	assert_in_range(others, STREAMS / 10, STREAMS);
}

TEST(ends_of_streams_depend_on_the_depths_alone)
{
	unsigned int ended = 0, stuck = 0, by_depth = 0;
	static const struct {
		unsigned int log_tokens, log_waiting;
	} depths[] = { { 3, 3 }, { 3, 6 }, { 4, 5 }, { 5, 4 }, { 6, 3 } };
	enum { DEPTHS = sizeof(depths) / sizeof(depths[0]) };
	const struct depths deep = { INSNS_MAX + 1, INSNS_MAX + 1 };
	struct stream s;

	random_state = 2;
	for (unsigned int d = 0; d < DEPTHS; d++) {
		struct cores c;

		if (!open_cores(&c, depths[d].log_tokens, depths[d].log_waiting))
			continue;
		for (unsigned int i = 0; i < STREAMS / 4; i++) {
			uint32_t end;

			make_stream(&s, below(2));
			end = end_of(&s, c.depths);
			assert_int_equal(end, end_of(&s, c.depths));
			check_stream(&c, &s, end);
			ended += end == s.count;
			stuck += end != s.count;
			by_depth += end != s.count && end_of(&s, deep) == s.count;
		}
		close_cores(&c);
	}
	assert_in_range(ended, STREAMS / 40, 2 * STREAMS);
	assert_in_range(stuck, STREAMS / 10, 2 * STREAMS);
	assert_in_range(by_depth, STREAMS / 50, STREAMS);
}
