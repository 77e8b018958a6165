// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_streams.c - random streams on the core, in each order of its modules
 *
 * Besides the tests of streams.h: limits, stops, missing tokens, and the edges of a run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"
#include "streams.h"

#define ORDERS		3
/* Micro-ops between two calls of stop(), at most. */
#define UOPS_PER_STOP	65536u

static const enum core_order orders[ORDERS] = {
	CORE_ORDER_INORDER, CORE_ORDER_GREEDY, CORE_ORDER_RANDOM
};

static const char * const order_names[ORDERS] = { "in order", "greedy", "random" };

struct cores {
	struct core *core[ORDERS];
	struct flat mem[ORDERS];
	struct core_stats stats[ORDERS];
	uint64_t cycle_limit;
};

/* ---- The target ---------------------------------------------------------- */

static void cores_open(struct streams *s)
{
	struct cores *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	s->self = c;
	for (int o = 0; o < ORDERS; o++) {
		c->core[o] = core_new(s->cfg, orders[o], 1);
		assert_non_null(c->core[o]);
		flat_init(&c->mem[o], STREAMS_BASE, s->size, s->memory);
	}
}

static void cores_close(struct streams *s)
{
	struct cores *c = s->self;

	for (int o = 0; o < ORDERS; o++) {
		core_free(c->core[o]);
		flat_free(&c->mem[o]);
	}
	free(c);
}

static void clear_cores(struct streams *s)
{
	struct cores *c = s->self;

	for (int o = 0; o < ORDERS; o++)
		core_clear(c->core[o]);
}

/* Memory is where seeds put it: in the middle of the 32 bits or at their end. */
static void cores_begin(struct streams *s, bool strict)
{
	struct cores *c = s->self;

	(void)strict;
	s->base = s->seed % 3 ? STREAMS_BASE : gen_base_for_top(s->cfg);
	for (int o = 0; o < ORDERS; o++)
		c->mem[o].base = s->base;
	clear_cores(s);
}

static void cores_load(struct streams *s, unsigned int o, uint32_t bytes)
{
	struct cores *c = s->self;

	memcpy(c->mem[o].bytes, s->memory, bytes);
}

static const uint8_t *cores_page(struct streams *s, unsigned int o, uint32_t at)
{
	const struct cores *c = s->self;

	return c->mem[o].bytes + at;
}

static enum core_result run_core(struct streams *s, unsigned int o, struct core_fault *fault)
{
	struct cores *c = s->self;

	c->mem[o].stops = 0;
	return core_run(c->core[o], &flat_ops, &c->mem[o], gen_insn_addr(s->gen), s->stream.count,
			c->cycle_limit, &c->stats[o], fault);
}

static bool cores_run(struct streams *s, unsigned int o, struct core_fault *fault,
		      uint64_t *cycles)
{
	enum core_result result = run_core(s, o, fault);
	const struct cores *c = s->self;
	const struct core_stats *stats = &c->stats[o];

	if (result == CORE_STOPPED)
		streams_fail(s, "%s: the run was stopped", order_names[o]);
	*cycles = stats->cycles;
	if (result == CORE_FAULT)
		return false;
	/* The order makes no difference to what the card reports. */
	if (memcmp(stats, &c->stats[0], sizeof(*stats)) || stats->insns != s->stream.count ||
	    stats->cycles < stats->load_cycles || stats->cycles < stats->compute_cycles ||
	    stats->cycles < stats->store_cycles)
		streams_fail(s, "%s: cycles %" PRIu64 " (in order: %" PRIu64
			     "), instructions %" PRIu64 " of %u", order_names[o], stats->cycles,
			     c->stats[0].cycles, stats->insns, s->stream.count);
	return true;
}

/* ---- Limits and stops ---------------------------------------------------- */

/* A further stream, from a new image on. */
static void check_another(struct streams *s)
{
	streams_begin(s, streams_other(s->seed), false);
	gen_valid(s->gen, &s->stream);
	streams_check_valid(s, 0);
}

/* The stream in hand is again the first of its seed. */
static void rewind_all(struct streams *s)
{
	clear_cores(s);
	streams_rewind(s);
	gen_put_insns(&s->stream, s->memory);
	for (unsigned int o = 0; o < ORDERS; o++)
		cores_load(s, o, s->stream.count * 16);
}

/* A run of exactly so many cycles is allowed, of one more is not. */
static void test_cycle_limit(struct streams *s)
{
	struct cores *c = s->self;

	for (uint64_t n = 0; n < (streams_seeds() + 9) / 10; n++) {
		uint64_t cycles;

		c->cycle_limit = 0;
		streams_begin(s, streams_first() + n, false);
		gen_valid(s->gen, &s->stream);
		streams_check_valid(s, 0);
		cycles = c->stats[0].cycles;
		assert_true(cycles > 0);

		rewind_all(s);
		c->cycle_limit = cycles;
		streams_check_valid(s, 1);
		assert_int_equal(c->stats[0].cycles, cycles);
		rewind_all(s);
		c->cycle_limit = cycles - 1;
		for (unsigned int o = 0; o < ORDERS && c->cycle_limit; o++) {
			struct core_fault fault;

			if (run_core(s, o, &fault) != CORE_FAULT ||
			    fault.reason != VTA_FAULT_CYCLES || fault.access != VTA_ACCESS_NONE)
				streams_fail(s, "%s: limit of %" PRIu64 " not kept",
					     order_names[o], c->cycle_limit);
		}
		c->cycle_limit = 0;
		check_another(s);
	}
}

/* stop() is asked between instructions, and ends the run. */
static void test_stop(struct streams *s)
{
	struct cores *c = s->self;
	struct core_fault fault;

	for (uint64_t n = 0; n < (streams_seeds() + 9) / 10; n++) {
		streams_begin(s, streams_first() + n, false);
		gen_valid(s->gen, &s->stream);
		rewind_all(s);
		for (unsigned int o = 0; o < ORDERS; o++) {
			uint64_t asked;

			assert_int_equal(run_core(s, o, &fault), CORE_DONE);
			asked = c->mem[o].stops;
			assert_true(asked + 1 >= s->stream.count);
			for (uint64_t after = 1; after <= asked; after += 1 + asked / 4) {
				rewind_all(s);
				c->mem[o].stop_after = after;
				if (run_core(s, o, &fault) != CORE_STOPPED)
					streams_fail(s, "%s: stop %" PRIu64 " of %" PRIu64
						     " went unheard", order_names[o], after, asked);
				assert_int_equal(c->mem[o].stops, after);
			}
			c->mem[o].stop_after = 0;
		}
		check_another(s);
	}
}

/* An instruction of 2^28 micro-ops is stopped in the middle. */
static void test_stop_in_loop(struct streams *s)
{
	struct insn_loop loop = { .uop_end = 1, .iter_out = 0x3fff, .iter_in = 0x3fff,
				  .alu_opcode = INSN_ADD, .use_imm = true, .imm = 1 };
	static const enum insn_opcode opcodes[] = { INSN_GEMM, INSN_ALU };
	struct cores *c = s->self;
	struct core_fault fault;

	streams_begin(s, streams_first(), false);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		loop.opcode = opcodes[i];
		s->stream.insns[0] = insn_loop(s->cfg, &loop);
		s->stream.count = 1;
		rewind_all(s);
		for (unsigned int o = 0; o < ORDERS; o++) {
			c->mem[o].stop_after = 4;
			assert_int_equal(run_core(s, o, &fault), CORE_STOPPED);
			assert_in_range(c->stats[o].gemm_uops + c->stats[o].alu_uops, 1,
					4 * UOPS_PER_STOP);
		}
	}
}

/* ---- Missing tokens ------------------------------------------------------ */

/* With no instruction waiting for another, the orders' results differ. */
static void test_missing_tokens_show(struct streams *s)
{
	unsigned int differ[ORDERS] = { 0 }, tries = 0;
	struct cores *c = s->self;
	struct core_fault fault;

	for (uint64_t seed = 1; tries < 12; seed++) {
		streams_begin(s, seed, false);
		gen_valid(s->gen, &s->stream);
		if (s->stream.count <= 50)
			continue;
		for (uint32_t i = 0; i < s->stream.count; i++)
			s->stream.insns[i].word[0] &= ~(uint64_t)(INSN_POP_PREV | INSN_POP_NEXT);
		rewind_all(s);
		for (unsigned int o = 0; o < ORDERS; o++) {
			assert_int_equal(run_core(s, o, &fault), CORE_DONE);
			differ[o] += !!memcmp(c->mem[0].bytes, c->mem[o].bytes, s->size);
		}
		tries++;
	}
	assert_in_range(differ[1], tries / 4, tries);
	assert_in_range(differ[2], tries / 4, tries);
}

/* ---- Edges of a run ------------------------------------------------------ */

static void test_empty_and_misaligned(struct streams *s)
{
	struct cores *c = s->self;
	uint32_t addr, end;

	streams_begin(s, streams_first(), false);
	addr = gen_insn_addr(s->gen);
	end = s->base + s->size;
	for (int o = 0; o < ORDERS; o++) {
		struct core_stats stats;
		struct core_fault fault;

		assert_int_equal(core_run(c->core[o], &flat_ops, &c->mem[o], addr, 0, 0, &stats,
					  &fault), CORE_DONE);
		assert_int_equal(stats.insns, 0);
		assert_int_equal(core_run(c->core[o], &flat_ops, &c->mem[o], addr + 8, 1, 0,
					  &stats, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_ALIGN);
		assert_int_equal(fault.access, VTA_ACCESS_INSN);
		assert_int_equal(fault.addr, addr + 8);

		/* The last instruction that memory holds, and one more. */
		insn_to_bytes(insn_move(&(struct insn_move){ .opcode = INSN_STORE }),
			      c->mem[o].bytes + s->size - 16);
		assert_int_equal(core_run(c->core[o], &flat_ops, &c->mem[o], end - 16, 1, 0,
					  &stats, &fault), CORE_DONE);
		assert_int_equal(core_run(c->core[o], &flat_ops, &c->mem[o], end - 16, UINT32_MAX,
					  0, &stats, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_PAGE);
		assert_int_equal(fault.access, VTA_ACCESS_INSN);
		assert_int_equal(fault.addr, end);
		assert_int_equal(fault.insn_index, 1);
		for (int i = 0; i < 4; i++)
			assert_int_equal(fault.insn[i], 0);
	}
}

int main(void)
{
	static const struct streams_test tests[] = {
		{ "cycle_limit", test_cycle_limit }, { "stop", test_stop },
		{ "stop_in_loop", test_stop_in_loop },
		{ "missing_tokens_show", test_missing_tokens_show },
		{ "empty_and_misaligned", test_empty_and_misaligned }, { NULL, NULL }
	};
	static const struct target cores = {
		.group = "streams", .ways = ORDERS, .names = order_names, .seed = 1,
		.streams = 2400, .tests = tests, .open = cores_open, .close = cores_close,
		.begin = cores_begin, .load = cores_load, .page = cores_page, .run = cores_run,
	};

	return streams_main(&cores);
}
