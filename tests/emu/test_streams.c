// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_streams.c - the core against the reference on random streams
 *
 * VTA_SEED (1) is the first seed and VTA_STREAMS (2400) the number of valid
 * streams, over all configurations together. A failure names what to set to
 * see it again.
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "configs.h"
#include "flat.h"
#include "gen.h"
#include "ref.h"

/* Valid streams from one seed, one after the other, and a dump. */
#define ROUNDS		3u
#define ORDERS		3
/* Of what runs in between: stop() must be asked this often at least. */
#define UOPS_PER_STOP	65536u

static const enum core_order orders[ORDERS] = {
	CORE_ORDER_INORDER, CORE_ORDER_GREEDY, CORE_ORDER_RANDOM
};

static const char * const order_names[ORDERS] = { "in order", "greedy", "random" };

static struct configs configs;
static uint64_t first_seed = 1;
static uint64_t seeds;		/* per configuration */
static unsigned int valid_streams, invalid_streams;

/* One seed's core under each order, and the reference. */
struct rig {
	const char *name;
	uint64_t seed;
	struct gen *gen;
	struct gen_stream stream;
	struct ref ref;
	struct flat ref_mem;
	struct core *core[ORDERS];
	struct flat mem[ORDERS];
	struct core_stats stats[ORDERS];
	struct core_fault fault[ORDERS];
};

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

/* Memory is where seeds put it: in the middle of the 32 bits or at their end. */
static void rig_generate(struct rig *rig, const struct core_config *cfg)
{
	uint32_t base = rig->seed % 3 ? 0x100000 : gen_base_for_top(cfg);

	rig->gen = gen_new(cfg, rig->seed, base);
	flat_init(&rig->ref_mem, base, gen_image_size(rig->gen), gen_image(rig->gen));
	for (int o = 0; o < ORDERS; o++)
		flat_init(&rig->mem[o], base, gen_image_size(rig->gen), gen_image(rig->gen));
}

static void rig_degenerate(struct rig *rig)
{
	gen_free(rig->gen);
	flat_free(&rig->ref_mem);
	for (int o = 0; o < ORDERS; o++)
		flat_free(&rig->mem[o]);
}

/* A test has one rig at a time, and may fail while it has. */
static struct rig *current;

static struct rig *rig_new(unsigned int config, uint64_t seed)
{
	const struct core_config *cfg = &configs.cfg[config];
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	current = rig;
	rig->name = configs.name[config];
	rig->seed = seed;
	ref_init(&rig->ref, cfg);
	rig_generate(rig, cfg);
	for (int o = 0; o < ORDERS; o++) {
		rig->core[o] = core_new(cfg, orders[o], seed);
		if (!rig->core[o])
			abort();
	}
	return rig;
}

static void rig_free(struct rig *rig)
{
	rig_degenerate(rig);
	ref_free(&rig->ref);
	for (int o = 0; o < ORDERS; o++)
		core_free(rig->core[o]);
	free(rig);
	current = NULL;
}

static int teardown(void **state)
{
	(void)state;
	if (current)
		rig_free(current);
	return 0;
}

/* As from the start, for the first stream: it is valid only there. */
static void rig_rewind(struct rig *rig)
{
	ref_clear(&rig->ref);
	memcpy(rig->ref_mem.bytes, gen_image(rig->gen), rig->ref_mem.size);
	for (int o = 0; o < ORDERS; o++) {
		core_clear(rig->core[o]);
		memcpy(rig->mem[o].bytes, gen_image(rig->gen), rig->mem[o].size);
	}
}

/* As from the start, on the same cores, with another lot of streams. */
static void rig_restart(struct rig *rig, const struct core_config *cfg)
{
	rig_degenerate(rig);
	rig->seed ^= 1ull << 63;
	rig_generate(rig, cfg);
	rig_rewind(rig);
}

__attribute__((format(printf, 2, 3)))
static void rig_fail(const struct rig *rig, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fail_msg("%s, VTA_SEED=%" PRIu64 " VTA_STREAMS=1: %s", rig->name,
		 rig->seed & ~(1ull << 63), what);
}

static bool run_ref(struct rig *rig, struct ref_fault *fault)
{
	struct ref_mem mem = { .bytes = rig->ref_mem.bytes, .base = rig->ref_mem.base,
			       .size = rig->ref_mem.size };

	gen_put_insns(&rig->stream, mem.bytes);
	return ref_run(&rig->ref, &mem, gen_insn_addr(rig->gen), rig->stream.count, 0, fault);
}

static enum core_result run_core(struct rig *rig, int o, uint64_t cycle_limit)
{
	gen_put_insns(&rig->stream, rig->mem[o].bytes);
	rig->mem[o].stops = 0;
	memset(&rig->fault[o], 0xee, sizeof(rig->fault[o]));
	return core_run(rig->core[o], &flat_ops, &rig->mem[o], gen_insn_addr(rig->gen),
			rig->stream.count, cycle_limit, &rig->stats[o], &rig->fault[o]);
}

/* ---- Valid streams ------------------------------------------------------- */

static void compare_memory(struct rig *rig, int o, unsigned int round)
{
	const uint8_t *want = rig->ref_mem.bytes, *got = rig->mem[o].bytes;

	if (!memcmp(want, got, rig->ref_mem.size))
		return;
	for (uint32_t i = 0; i < rig->ref_mem.size; i++)
		if (want[i] != got[i])
			rig_fail(rig, "%s, stream %u: byte 0x%x is 0x%02x, not 0x%02x",
				 order_names[o], round, rig->ref_mem.base + i, got[i], want[i]);
}

/* The order makes no difference to what the card says it did. */
static void compare_stats(struct rig *rig, int o, unsigned int round)
{
	const struct core_stats *a = &rig->stats[0], *b = &rig->stats[o];

	if (memcmp(a, b, sizeof(*a)))
		rig_fail(rig, "%s, stream %u: cycles %" PRIu64 " (in order: %" PRIu64
			 "), instructions %" PRIu64 " (%" PRIu64 ")", order_names[o], round,
			 b->cycles, a->cycles, b->insns, a->insns);
	if (b->insns != rig->stream.count)
		rig_fail(rig, "%s, stream %u: %" PRIu64 " instructions executed, not %u",
			 order_names[o], round, b->insns, rig->stream.count);
	if (b->cycles < b->load_cycles || b->cycles < b->compute_cycles ||
	    b->cycles < b->store_cycles)
		rig_fail(rig, "%s, stream %u: a module was busy for longer than the run",
			 order_names[o], round);
}

static void check_valid(struct rig *rig, unsigned int round, uint64_t cycle_limit)
{
	struct ref_fault fault;

	if (!run_ref(rig, &fault))
		rig_fail(rig, "stream %u: the reference faults %d", round, fault.reason);
	for (int o = 0; o < ORDERS; o++) {
		enum core_result result = run_core(rig, o, cycle_limit);

		if (result != CORE_DONE)
			rig_fail(rig, "%s, stream %u: result %d, fault %d at %u", order_names[o],
				 round, result, rig->fault[o].reason, rig->fault[o].insn_index);
		compare_memory(rig, o, round);
		compare_stats(rig, o, round);
	}
}

static void check_valid_seed(struct rig *rig)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		gen_valid(rig->gen, &rig->stream);
		check_valid(rig, round, 0);
		valid_streams++;
	}
	gen_dump(rig->gen, rig->seed % 2, &rig->stream);
	check_valid(rig, ROUNDS, 0);
}

static void test_valid(void **state)
{
	const unsigned int *config = *state;

	for (uint64_t n = 0; n < seeds; n++) {
		struct rig *rig = rig_new(*config, first_seed + n);

		check_valid_seed(rig);
		rig_free(rig);
	}
}

/* ---- Invalid streams ----------------------------------------------------- */

static void compare_insn(struct rig *rig, int o)
{
	const struct core_fault *fault = &rig->fault[o];
	const struct insn *insn = &rig->stream.insns[fault->insn_index];

	for (int i = 0; i < 4; i++)
		if (fault->insn[i] != (uint32_t)(insn->word[i / 2] >> (32 * (i % 2))))
			rig_fail(rig, "%s: the fault's instruction is not number %u",
				 order_names[o], fault->insn_index);
}

static void check_invalid(struct rig *rig, const struct gen_expect *expect)
{
	for (int o = 0; o < ORDERS; o++) {
		const struct core_fault *fault = &rig->fault[o];

		if (run_core(rig, o, 0) != CORE_FAULT)
			rig_fail(rig, "%s: no fault: %s", order_names[o], expect->what);
		if (fault->reason != expect->reason || fault->access != expect->access ||
		    fault->insn_index != expect->insn_index || fault->addr != expect->addr)
			rig_fail(rig, "%s: fault %d, %d, 0x%x at %u, not %d, %d, 0x%x at %u: %s",
				 order_names[o], fault->reason, fault->access, fault->addr,
				 fault->insn_index, expect->reason, expect->access, expect->addr,
				 expect->insn_index, expect->what);
		compare_insn(rig, o);
	}
}

/* A token less: the core may name any of the instructions that wait. */
static void check_dropped_push(struct rig *rig)
{
	struct ref_fault want;

	gen_valid(rig->gen, &rig->stream);
	if (!gen_drop_push(rig->gen, &rig->stream) || run_ref(rig, &want))
		return;
	assert_int_equal(want.reason, VTA_FAULT_DEADLOCK);
	for (int o = 0; o < ORDERS; o++) {
		const struct core_fault *fault = &rig->fault[o];
		bool waits = false;

		if (run_core(rig, o, 0) != CORE_FAULT || fault->reason != VTA_FAULT_DEADLOCK ||
		    fault->access != VTA_ACCESS_NONE || fault->addr)
			rig_fail(rig, "%s: no deadlock", order_names[o]);
		for (int m = 0; m < REF_MODULES; m++)
			waits |= fault->insn_index == want.waiting[m];
		if (!waits || fault->insn_index == VTA_FAULT_NO_INSN)
			rig_fail(rig, "%s: deadlock at %u, where nothing waits", order_names[o],
				 fault->insn_index);
		compare_insn(rig, o);
	}
	invalid_streams++;
}

static void test_invalid(void **state)
{
	const unsigned int *config = *state;
	const struct core_config *cfg = &configs.cfg[*config];

	for (uint64_t n = 0; n < (seeds + 1) / 2; n++) {
		struct rig *rig = rig_new(*config, first_seed + n);
		struct gen_expect expect;

		gen_invalid(rig->gen, &rig->stream, &expect);
		check_invalid(rig, &expect);
		invalid_streams++;

		/* The core is none the worse for it. */
		rig_restart(rig, cfg);
		gen_valid(rig->gen, &rig->stream);
		check_valid(rig, 0, 0);

		rig_restart(rig, cfg);
		check_dropped_push(rig);
		rig_free(rig);
	}
}

/* ---- Limits and stops ---------------------------------------------------- */

/* A run of exactly so many cycles is allowed, of one more is not. */
static void test_cycle_limit(void **state)
{
	const unsigned int *config = *state;
	const struct core_config *cfg = &configs.cfg[*config];

	for (uint64_t n = 0; n < (seeds + 9) / 10; n++) {
		struct rig *rig = rig_new(*config, first_seed + n);
		uint64_t cycles;

		gen_valid(rig->gen, &rig->stream);
		check_valid(rig, 0, 0);
		cycles = rig->stats[0].cycles;
		assert_true(cycles > 0);

		rig_rewind(rig);
		check_valid(rig, 1, cycles);
		assert_int_equal(rig->stats[0].cycles, cycles);
		if (cycles > 1) {
			rig_rewind(rig);
			for (int o = 0; o < ORDERS; o++) {
				if (run_core(rig, o, cycles - 1) != CORE_FAULT ||
				    rig->fault[o].reason != VTA_FAULT_CYCLES ||
				    rig->fault[o].access != VTA_ACCESS_NONE)
					rig_fail(rig, "%s: limit of %" PRIu64 " not kept",
						 order_names[o], cycles - 1);
			}
		}
		rig_restart(rig, cfg);
		gen_valid(rig->gen, &rig->stream);
		check_valid(rig, 2, 0);
		rig_free(rig);
	}
}

/* stop() is asked between instructions, and ends the run. */
static void test_stop(void **state)
{
	const unsigned int *config = *state;
	const struct core_config *cfg = &configs.cfg[*config];

	for (uint64_t n = 0; n < (seeds + 9) / 10; n++) {
		struct rig *rig = rig_new(*config, first_seed + n);

		gen_valid(rig->gen, &rig->stream);
		for (int o = 0; o < ORDERS; o++) {
			uint64_t asked;

			assert_int_equal(run_core(rig, o, 0), CORE_DONE);
			asked = rig->mem[o].stops;
			assert_true(asked + 1 >= rig->stream.count);
			for (uint64_t after = 1; after <= asked; after += 1 + asked / 4) {
				rig_rewind(rig);
				rig->mem[o].stop_after = after;
				if (run_core(rig, o, 0) != CORE_STOPPED)
					rig_fail(rig, "%s: stop %" PRIu64 " of %" PRIu64
						 " went unheard", order_names[o], after, asked);
				assert_int_equal(rig->mem[o].stops, after);
			}
			rig->mem[o].stop_after = 0;
		}
		rig_restart(rig, cfg);
		gen_valid(rig->gen, &rig->stream);
		check_valid(rig, 1, 0);
		rig_free(rig);
	}
}

/* An instruction of 2^28 micro-ops is stopped in the middle. */
static void test_stop_in_loop(void **state)
{
	const unsigned int *config = *state;
	struct rig *rig = rig_new(*config, first_seed);
	struct insn_loop loop = { .uop_end = 1, .iter_out = 0x3fff, .iter_in = 0x3fff,
				  .alu_opcode = INSN_ADD, .use_imm = true, .imm = 1 };
	static const enum insn_opcode opcodes[] = { INSN_GEMM, INSN_ALU };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		loop.opcode = opcodes[i];
		rig->stream.insns[0] = insn_loop(&configs.cfg[*config], &loop);
		rig->stream.count = 1;
		for (int o = 0; o < ORDERS; o++) {
			rig->mem[o].stop_after = 4;
			assert_int_equal(run_core(rig, o, 0), CORE_STOPPED);
			assert_in_range(rig->stats[o].gemm_uops + rig->stats[o].alu_uops, 1,
					4 * UOPS_PER_STOP);
		}
	}
	rig_free(rig);
}

/* ---- Missing tokens ------------------------------------------------------ */

/* With no instruction waiting for another, the orders' results differ. */
static void test_missing_tokens_show(void **state)
{
	const unsigned int *config = *state;
	unsigned int differ[ORDERS] = { 0 }, tries = 0;

	for (uint64_t seed = 1; tries < 12; seed++) {
		struct rig *rig = rig_new(*config, seed);
		struct gen_stream *stream = &rig->stream;

		gen_valid(rig->gen, stream);
		for (uint32_t i = 0; i < stream->count; i++)
			stream->insns[i].word[0] &= ~(uint64_t)(INSN_POP_PREV | INSN_POP_NEXT);
		for (int o = 0; o < ORDERS && stream->count > 50; o++) {
			assert_int_equal(run_core(rig, o, 0), CORE_DONE);
			differ[o] += !!memcmp(rig->mem[0].bytes, rig->mem[o].bytes,
					      rig->mem[0].size);
		}
		tries += stream->count > 50;
		rig_free(rig);
	}
	assert_in_range(differ[1], tries / 4, tries);
	assert_in_range(differ[2], tries / 4, tries);
}

/* ---- Edges of a run ------------------------------------------------------ */

static void test_empty_and_misaligned(void **state)
{
	const unsigned int *config = *state;
	struct rig *rig = rig_new(*config, first_seed);
	uint32_t addr = gen_insn_addr(rig->gen), end = rig->mem[0].base + rig->mem[0].size;

	for (int o = 0; o < ORDERS; o++) {
		struct core_stats stats;
		struct core_fault fault;

		assert_int_equal(core_run(rig->core[o], &flat_ops, &rig->mem[o], addr, 0, 0,
					  &stats, &fault), CORE_DONE);
		assert_int_equal(stats.insns, 0);
		assert_int_equal(core_run(rig->core[o], &flat_ops, &rig->mem[o], addr + 8, 1, 0,
					  &stats, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_ALIGN);
		assert_int_equal(fault.access, VTA_ACCESS_INSN);
		assert_int_equal(fault.addr, addr + 8);

		/* The last instruction that memory holds, and one more. */
		insn_to_bytes(insn_move(&(struct insn_move){ .opcode = INSN_STORE }),
			      rig->mem[o].bytes + rig->mem[o].size - 16);
		assert_int_equal(core_run(rig->core[o], &flat_ops, &rig->mem[o], end - 16, 1, 0,
					  &stats, &fault), CORE_DONE);
		assert_int_equal(core_run(rig->core[o], &flat_ops, &rig->mem[o], end - 16,
					  UINT32_MAX, 0, &stats, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_PAGE);
		assert_int_equal(fault.access, VTA_ACCESS_INSN);
		assert_int_equal(fault.addr, end);
		assert_int_equal(fault.insn_index, 1);
		for (int i = 0; i < 4; i++)
			assert_int_equal(fault.insn[i], 0);
	}
	rig_free(rig);
}

static void test_enough(void **state)
{
	(void)state;
	print_message("%u valid and %u invalid streams, %u configurations, %d orders\n",
		      valid_streams, invalid_streams, configs.count, ORDERS);
	if (getenv("VTA_STREAMS"))
		skip();
	assert_true(valid_streams >= 2100);
	assert_true(invalid_streams >= 300);
	assert_true(configs.count >= 8);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} kinds[] = {
		{ "valid", test_valid }, { "invalid", test_invalid },
		{ "cycle_limit", test_cycle_limit }, { "stop", test_stop },
		{ "stop_in_loop", test_stop_in_loop },
		{ "missing_tokens_show", test_missing_tokens_show },
		{ "empty_and_misaligned", test_empty_and_misaligned },
	};
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	static char names[KINDS * CONFIGS_MAX][64];
	static struct CMUnitTest tests[KINDS * CONFIGS_MAX + 1];
	static unsigned int numbers[CONFIGS_MAX];
	size_t count = 0;

	configs_load(&configs);
	first_seed = env("VTA_SEED", first_seed) & ~(1ull << 63);
	seeds = env("VTA_STREAMS", 2400) / ROUNDS / configs.count;
	if (!seeds)
		seeds = 1;
	for (unsigned int c = 0; c < configs.count; c++) {
		numbers[c] = c;
		for (int k = 0; k < KINDS; k++) {
			snprintf(names[count], sizeof(names[count]), "%s: %s", kinds[k].name,
				 configs.name[c]);
			tests[count] = (struct CMUnitTest){ .name = names[count],
							    .test_func = kinds[k].run,
							    .teardown_func = teardown,
							    .initial_state = &numbers[c] };
			count++;
		}
	}
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_enough);
	return _cmocka_run_group_tests("streams", tests, count, NULL, NULL);
}
