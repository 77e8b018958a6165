// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_rtl_streams.c - random streams on the core's RTL, against the reference and the core in C
 *
 * Besides the tests of streams.h: counters and cycles are those of the core in C, cycle limits are
 * kept to the cycle, a stop ends a run at any time, a run does not rely on what a halted one had
 * begun, and a state is saved and restored byte for byte by either core.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flat.h"
#include "rtl.h"
#include "streams.h"

#define WAYS	2

enum way { WAY_C, WAY_RTL };

static const char * const way_names[WAYS] = { "in C", "RTL" };

struct cores {
	struct core *core[WAYS];
	struct flat mem[WAYS];
	struct core_stats stats[WAYS];
	uint64_t cycle_limit;
	bool stalls;		/* memory is slow */
	uint64_t cycles;	/* of the RTL's other runs, by isa.md, 9, */
	uint64_t clocks;	/* and as they were, */
	uint64_t cpu_ns;	/* in so much time of the processor */
};

/* ---- The target ---------------------------------------------------------- */

/* With VTA_RTL_ONLY, no other configuration than that of this name. */
static bool rtl_offers(const struct core_config *cfg, const char *name)
{
	const char *only = getenv("VTA_RTL_ONLY");

	return (!only || !*only || !strcmp(only, name)) && rtl_model(cfg);
}

static void cores_open(struct streams *s)
{
	struct cores *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	s->self = c;
	c->core[WAY_C] = core_new(s->cfg, CORE_ORDER_INORDER, 1);
	c->core[WAY_RTL] = core_new_model(s->cfg, rtl_model(s->cfg));
	for (int w = 0; w < WAYS; w++) {
		assert_non_null(c->core[w]);
		flat_init(&c->mem[w], STREAMS_BASE, s->size, s->memory);
	}
}

static void cores_close(struct streams *s)
{
	struct cores *c = s->self;

	print_message("%" PRIu64 " cycles in %" PRIu64 " clocks; "
		      "%.2f M cycles a second of CPU time\n",
		      c->cycles, c->clocks,
		      c->cpu_ns ? 1e3 * (double)c->cycles / (double)c->cpu_ns : 0.);
	for (int w = 0; w < WAYS; w++) {
		core_free(c->core[w]);
		flat_free(&c->mem[w]);
	}
	free(c);
}

static void clear_cores(struct streams *s)
{
	struct cores *c = s->self;

	for (int w = 0; w < WAYS; w++)
		core_clear(c->core[w]);
}

/*
 * Memory is where seeds put it: in the middle of the 32 bits or at their end. For odd seeds it
 * refuses and delays requests (card/rtl/model.cpp).
 */
static void cores_begin(struct streams *s, bool strict)
{
	struct cores *c = s->self;
	char stalls[24];

	c->stalls = s->seed % 2;
	snprintf(stalls, sizeof(stalls), "%" PRIu64, c->stalls ? s->seed % 0xffffffff : 0);
	assert_int_equal(setenv("VTA_RTL_STALLS", stalls, 1), 0);

	(void)strict;
	s->base = s->seed % 3 ? STREAMS_BASE : gen_base_for_top(s->cfg);
	for (int w = 0; w < WAYS; w++)
		c->mem[w].base = s->base;
	clear_cores(s);
}

static void cores_load(struct streams *s, unsigned int w, uint32_t bytes)
{
	struct cores *c = s->self;

	memcpy(c->mem[w].bytes, s->memory, bytes);
}

static const uint8_t *cores_page(struct streams *s, unsigned int w, uint32_t at)
{
	const struct cores *c = s->self;

	return c->mem[w].bytes + at;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static enum core_result run_core(struct streams *s, unsigned int w, struct core_fault *fault)
{
	struct cores *c = s->self;
	uint64_t clocks = core_clocks(c->core[w]), begin = cpu_ns();
	enum core_result result;

	c->mem[w].stops = 0;
	result = core_run(c->core[w], &flat_ops, &c->mem[w], gen_insn_addr(s->gen),
			  s->stream.count, c->cycle_limit, &c->stats[w], fault);
	if (w == WAY_RTL && result == CORE_DONE && !c->stalls) {
		c->cycles += c->stats[w].cycles;
		c->clocks += core_clocks(c->core[w]) - clocks;
		c->cpu_ns += cpu_ns() - begin;
	}
	return result;
}

static bool cores_run(struct streams *s, unsigned int w, struct core_fault *fault,
		      uint64_t *cycles)
{
	enum core_result result = run_core(s, w, fault);
	const struct cores *c = s->self;
	const struct core_stats *got = &c->stats[w], *want = &c->stats[WAY_C];

	if (result == CORE_STOPPED)
		streams_fail(s, "%s: the run was stopped", way_names[w]);
	*cycles = got->cycles;
	if (result == CORE_FAULT)
		return false;
	if (memcmp(got, want, sizeof(*got)))
		streams_fail(s, "%s: cycles %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			     ", not %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			     "; insns %" PRIu64 ", not %" PRIu64 "; uops %" PRIu64 " %" PRIu64
			     ", not %" PRIu64 " %" PRIu64, way_names[w],
			     got->cycles, got->load_cycles, got->compute_cycles, got->store_cycles,
			     want->cycles, want->load_cycles, want->compute_cycles,
			     want->store_cycles, got->insns, want->insns, got->gemm_uops,
			     got->alu_uops, want->gemm_uops, want->alu_uops);
	return true;
}

/* ---- Limits and stops ---------------------------------------------------- */

/* The stream in hand is again the first of its seed. */
static void rewind_all(struct streams *s)
{
	clear_cores(s);
	streams_rewind(s);
	gen_put_insns(&s->stream, s->memory);
	for (unsigned int w = 0; w < WAYS; w++)
		cores_load(s, w, s->stream.count * 16);
}

/* A further stream, from a new image on. */
static void check_another(struct streams *s)
{
	streams_begin(s, streams_other(s->seed), false);
	gen_valid(s->gen, &s->stream);
	streams_check_valid(s, 0);
}

/*
 * Run instructions of its own on one core, in place of the stream in hand. Scratchpads stay as they
 * are.
 */
static enum core_result run_insns(struct streams *s, unsigned int w, const struct insn *insns,
				  uint32_t count, uint64_t limit, struct core_fault *fault)
{
	struct cores *c = s->self;
	uint32_t addr = gen_insn_addr(s->gen);
	struct core_stats stats;

	for (uint32_t i = 0; i < count; i++)
		insn_to_bytes(insns[i], c->mem[w].bytes + (addr - s->base) + (size_t)16 * i);
	return core_run(c->core[w], &flat_ops, &c->mem[w], addr, count, limit, &stats, fault);
}

/* The first instruction alone takes more cycles than the limit. */
static void check_least_limit(struct streams *s)
{
	struct insn_move move = {
		.opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 1, .x_size = 1, .x_stride = 1,
		.dram_base = s->base / insn_element_bytes(s->cfg, INSN_INP),
	};
	const struct insn insn = insn_move(&move);
	struct core_fault fault;

	for (unsigned int w = 0; w < WAYS; w++) {
		assert_int_equal(run_insns(s, w, &insn, 1, 0, &fault), CORE_DONE);
		assert_int_equal(run_insns(s, w, &insn, 1, 1, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_CYCLES);
		assert_int_equal(fault.insn_index, 0);
	}
}

/* A run of exactly so many cycles is allowed, of one more is not. */
static void test_cycle_limit(struct streams *s)
{
	struct cores *c = s->self;

	for (uint64_t n = 0; n < (streams_seeds() + 9) / 10; n++) {
		struct core_fault fault;
		uint64_t cycles;

		c->cycle_limit = 0;
		streams_begin(s, streams_first() + n, false);
		gen_valid(s->gen, &s->stream);
		streams_check_valid(s, 0);
		cycles = c->stats[WAY_C].cycles;

		rewind_all(s);
		c->cycle_limit = cycles;
		streams_check_valid(s, 1);
		rewind_all(s);
		c->cycle_limit = cycles - 1;
		if (c->cycle_limit && (run_core(s, WAY_RTL, &fault) != CORE_FAULT ||
				       fault.reason != VTA_FAULT_CYCLES ||
				       fault.access != VTA_ACCESS_NONE || fault.addr))
			streams_fail(s, "limit of %" PRIu64 " not kept", c->cycle_limit);
		c->cycle_limit = 0;
		check_another(s);
		check_least_limit(s);
	}
}

/*
 * A LOAD faults while GEMM's micro-ops are looked at for their largest index, which the last one
 * has. The next run looks at all of them again.
 */
static void test_halt(struct streams *s)
{
	struct cores *c = s->self;
	const uint32_t uops = 1u << insn_log_uop_depth(s->cfg), at = 4096;
	const uint32_t last = (1u << insn_log_acc_depth(s->cfg)) - 1;
	struct insn_loop loop = { .opcode = INSN_GEMM, .reset = true, .uop_end = uops,
				  .iter_out = 1, .iter_in = 1 };
	struct insn insns[3];
	struct core_fault fault;

	streams_begin(s, 2, false);	/* memory does not stall */
	if (uops < 128)			/* they are looked at before the LOAD faults */
		return;
	insns[0] = insn_move(&(struct insn_move){
		.opcode = INSN_LOAD, .memory = INSN_UOP, .flags = INSN_PUSH_PREV, .y_size = 1,
		.x_size = uops, .x_stride = uops, .dram_base = (s->base + at) / 4 });
	insns[1] = insn_move(&(struct insn_move){
		.opcode = INSN_LOAD, .memory = INSN_INP, .flags = INSN_POP_NEXT, .y_size = 1,
		.x_size = 1, .x_stride = 1 });
	insns[2] = insn_loop(s->cfg, &loop);
	loop.iter_out = 2;
	loop.dst_out = 1;
	for (unsigned int w = 0; w < WAYS; w++) {
		const struct insn beyond = insn_loop(s->cfg, &loop);

		for (uint32_t u = 0; u < uops; u++) {
			uint32_t uop = insn_uop(s->cfg, u == uops - 1 ? last : 0, 0, 0, 0);

			memcpy(c->mem[w].bytes + at + (size_t)4 * u, &uop, sizeof(uop));
		}
		assert_int_equal(run_insns(s, w, insns, 3, 0, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_PAGE);
		assert_int_equal(fault.insn_index, 1);
		assert_int_equal(run_insns(s, w, &beyond, 1, 0, &fault), CORE_FAULT);
		assert_int_equal(fault.reason, VTA_FAULT_BOUNDS);
		assert_int_equal(fault.insn_index, 0);
	}
}

/* Micro-ops are looked at once for loops that use the same ones, one after the other. */
static void test_scan(struct streams *s)
{
	struct cores *c = s->self;
	const uint32_t uops = 1u << insn_log_uop_depth(s->cfg);
	const struct insn_loop loop = { .opcode = INSN_GEMM, .reset = true, .uop_end = uops,
					.iter_out = 1, .iter_in = 1 };
	const struct insn insns[] = { insn_loop(s->cfg, &loop), insn_loop(s->cfg, &loop) };
	uint64_t clocks[2];
	struct core_fault fault;

	streams_begin(s, 2, false);	/* memory does not stall */
	if (uops < 256)			/* the look takes longer than what a run begins with */
		return;
	for (uint32_t n = 0; n < 2; n++) {
		uint64_t begin;

		clear_cores(s);
		begin = core_clocks(c->core[WAY_RTL]);
		assert_int_equal(run_insns(s, WAY_RTL, insns, n + 1, 0, &fault), CORE_DONE);
		clocks[n] = core_clocks(c->core[WAY_RTL]) - begin;
	}
	if (clocks[1] - clocks[0] + uops / 2 > clocks[0])
		streams_fail(s, "%" PRIu64 " clocks, and for a further loop of the same micro-ops %"
			     PRIu64, clocks[0], clocks[1] - clocks[0]);
}

/* stop() is asked between instructions, and ends the run. */
static void test_stop(struct streams *s)
{
	struct cores *c = s->self;
	struct flat *mem = &c->mem[WAY_RTL];
	struct core_fault fault;

	for (uint64_t n = 0; n < (streams_seeds() + 9) / 10; n++) {
		uint64_t asked;

		streams_begin(s, streams_first() + n, false);
		gen_valid(s->gen, &s->stream);
		rewind_all(s);
		assert_int_equal(run_core(s, WAY_RTL, &fault), CORE_DONE);
		asked = mem->stops;
		assert_true(asked >= s->stream.count / 3);
		for (uint64_t after = 1; after <= asked; after += 1 + asked / 4) {
			rewind_all(s);
			mem->stop_after = after;
			if (run_core(s, WAY_RTL, &fault) != CORE_STOPPED)
				streams_fail(s, "stop %" PRIu64 " of %" PRIu64 " went unheard",
					     after, asked);
			assert_int_equal(mem->stops, after);
		}
		mem->stop_after = 0;
		check_another(s);
	}
}

/* ---- The end of the address space, and memory that refuses --------------- */

/* The core passes on the reason that memory gives. */
static const enum vta_fault_reason reasons[] = {
	VTA_FAULT_PAGE, VTA_FAULT_PERM, VTA_FAULT_DMA, VTA_FAULT_BOUNDS
};

#define EDGE_BYTES	4096u

/* Memory at all addresses; @insns are at the end of the first 2 GiB, or of all. */
struct edge {
	uint8_t insns[EDGE_BYTES];
	uint32_t insn_end;	/* address after them; 0: 2^32 */
	enum vta_fault_reason refuse;	/* accesses of this kind fault for this reason, if not 0 */
	enum vta_access access;
	bool strict;		/* an access that goes beyond 2^32 fails the test, */
	bool beyond;		/* as this says */
};

static enum vta_fault_reason pass_edge(struct edge *edge, uint32_t addr, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	if (edge->refuse && access == edge->access) {
		*fault_addr = addr;
		return edge->refuse;
	}
	if (addr + (uint64_t)len <= 1ull << 32) {
		edge->beyond |= edge->strict && addr < EDGE_BYTES;
		return VTA_FAULT_NONE;
	}
	edge->beyond |= edge->strict;
	*fault_addr = 0;
	return VTA_FAULT_PAGE;
}

static enum vta_fault_reason edge_read(void *priv, uint32_t addr, void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	struct edge *edge = priv;
	uint32_t back = edge->insn_end - addr;

	memset(buf, 0, len);
	if (access == VTA_ACCESS_INSN && back <= EDGE_BYTES && len <= back)
		memcpy(buf, edge->insns + EDGE_BYTES - back, len);
	return pass_edge(edge, addr, len, access, fault_addr);
}

static enum vta_fault_reason edge_write(void *priv, uint32_t addr, const void *buf, size_t len,
					enum vta_access access, uint32_t *fault_addr)
{
	(void)buf;
	return pass_edge(priv, addr, len, access, fault_addr);
}

static bool edge_stop(void *priv)
{
	(void)priv;
	return false;
}

static const struct core_mem_ops edge_ops = {
	.read = edge_read, .write = edge_write, .stop = edge_stop,
};

/*
 * Of @count instructions, @first is the first; as number @index, they fault PAGE at address 0, or
 * for the reason @refuse, if it is not 0, at the address @refused.
 */
static void check_edge(struct streams *s, struct insn first, uint32_t count, uint32_t insn_end,
		       uint32_t index, enum vta_access access, enum vta_fault_reason refuse,
		       uint32_t refused)
{
	struct cores *c = s->self;

	for (unsigned int w = 0; w < WAYS; w++) {
		struct edge edge = { .insn_end = insn_end, .strict = w == WAY_RTL,
				     .refuse = refuse, .access = access };
		struct core_stats stats;
		struct core_fault fault;

		insn_to_bytes(first, edge.insns + EDGE_BYTES - 16);
		core_clear(c->core[w]);
		if (core_run(c->core[w], &edge_ops, &edge, insn_end - 16, count, 0, &stats,
			     &fault) != CORE_FAULT || edge.beyond ||
		    fault.reason != (refuse ? refuse : VTA_FAULT_PAGE) ||
		    fault.access != access || fault.addr != refused || fault.insn_index != index)
			streams_fail(s, "%s: access %u beyond 2^32: fault %u, %u, 0x%x at %u%s",
				     way_names[w], access, fault.reason, fault.access, fault.addr,
				     fault.insn_index, edge.beyond ? ", accessed" : "");
	}
}

/* No access goes beyond the last address, whatever memory would say to it. */
static void test_edge(struct streams *s)
{
	static const enum insn_memory memories[] = {
		INSN_UOP, INSN_WGT, INSN_INP, INSN_ACC, INSN_ACC_8BIT, INSN_OUT
	};
	const unsigned int log_depth[] = {
		insn_log_uop_depth(s->cfg), insn_log_wgt_depth(s->cfg),
		insn_log_inp_depth(s->cfg), insn_log_acc_depth(s->cfg),
		insn_log_acc_depth(s->cfg), insn_log_acc_depth(s->cfg)
	};

	const struct insn nothing = insn_finish(0, (struct insn){ { 0, 0 } });

	streams_begin(s, 2, false);	/* memory does not stall */
	for (size_t m = 0; m < sizeof(memories) / sizeof(memories[0]); m++) {
		uint32_t bytes = insn_element_bytes(s->cfg, memories[m]);
		struct insn_move move = {
			.opcode = memories[m] == INSN_OUT ? INSN_STORE : INSN_LOAD,
			.memory = memories[m], .y_size = 1, .x_size = 2, .x_stride = 2,
			.dram_base = (uint32_t)((1ull << 32) / bytes - 1),
		};

		enum vta_access access = memories[m] == INSN_OUT ? VTA_ACCESS_STORE :
			memories[m] == INSN_UOP ? VTA_ACCESS_UOP : VTA_ACCESS_LOAD;

		if (!log_depth[m])
			continue;
		check_edge(s, insn_move(&move), 1, 1u << 31, 0, access, VTA_FAULT_NONE, 0);
		for (size_t r = 0; r < sizeof(reasons) / sizeof(reasons[0]); r++)
			check_edge(s, insn_move(&move), 1, 1u << 31, 0, access, reasons[r], -bytes);
	}
	check_edge(s, nothing, 2, 0, 1, VTA_ACCESS_INSN, VTA_FAULT_NONE, 0);
	for (size_t r = 0; r < sizeof(reasons) / sizeof(reasons[0]); r++)
		check_edge(s, nothing, 1, 1u << 31, 0, VTA_ACCESS_INSN, reasons[r],
			   (1u << 31) - 16);
}

/* ---- The state between runs ---------------------------------------------- */

#define STATE_HEADER	64u

/* The states of both cores, each in memory of its own. */
struct states {
	struct flat mem[WAYS];
	uint32_t size;
};

static void states_init(struct streams *s, struct states *states)
{
	uint8_t *image;

	states->size = core_state_size(s->cfg);
	image = calloc(1, states->size);
	assert_non_null(image);
	for (unsigned int w = 0; w < WAYS; w++)
		flat_init(&states->mem[w], STREAMS_BASE, states->size, image);
	free(image);
}

static void states_free(struct states *states)
{
	for (unsigned int w = 0; w < WAYS; w++)
		flat_free(&states->mem[w]);
}

static void save_states(struct streams *s, struct states *states)
{
	struct cores *c = s->self;
	struct core_fault fault;

	for (unsigned int w = 0; w < WAYS; w++) {
		memset(states->mem[w].bytes, 0xa5, states->size);
		assert_int_equal(core_save(c->core[w], &flat_ops, &states->mem[w],
					   states->mem[w].base, &fault), CORE_DONE);
	}
	for (uint32_t at = 0; at < states->size; at++)
		if (states->mem[WAY_C].bytes[at] != states->mem[WAY_RTL].bytes[at])
			streams_fail(s, "state's byte 0x%x is 0x%02x, not 0x%02x", at,
				     states->mem[WAY_RTL].bytes[at],
				     states->mem[WAY_C].bytes[at]);
}

typedef enum core_result move_fn(struct core *core, const struct core_mem_ops *ops, void *priv,
				 uint32_t addr, struct core_fault *fault);

/*
 * Only the first @size bytes of the state are there, and memory refuses others for @refusal: the
 * header's move faults, at least.
 */
static void check_state_fault(struct streams *s, struct states *states, move_fn *move,
			      uint32_t size, enum vta_fault_reason refusal)
{
	struct core_fault fault[WAYS];
	enum core_result result[WAYS];
	struct cores *c = s->self;

	for (unsigned int w = 0; w < WAYS; w++) {
		struct flat *mem = &states->mem[w];

		mem->size = states->size;
		assert_int_equal(core_restore(c->core[w], &flat_ops, mem, STREAMS_BASE, &fault[w]),
				 CORE_DONE);
		mem->size = size;
		mem->refusal = refusal;
		result[w] = move(c->core[w], &flat_ops, mem, STREAMS_BASE, &fault[w]);
		mem->size = states->size;
	}
	assert_int_equal(result[WAY_RTL], result[WAY_C]);
	if (size <= STATE_HEADER)
		assert_int_equal(result[WAY_C], CORE_FAULT);
	if (result[WAY_C] == CORE_FAULT) {
		assert_int_equal(fault[WAY_C].reason, refusal);
		assert_memory_equal(&fault[WAY_C], &fault[WAY_RTL], sizeof(fault[0]));
	}
}

/* Of elements in use, a state has no more than a scratchpad: a larger number means all of them. */
static void check_more_than_all(struct streams *s, struct states *states)
{
	const unsigned int log_depth[] = {
		insn_log_uop_depth(s->cfg), insn_log_inp_depth(s->cfg),
		insn_log_wgt_depth(s->cfg), insn_log_acc_depth(s->cfg)
	};
	struct cores *c = s->self;
	struct core_fault fault;

	for (unsigned int m = 0; m < 8; m++) {
		uint32_t used = m < 4 ? (1u << log_depth[m]) + 1 : -1u;

		for (unsigned int w = 0; w < WAYS; w++) {
			struct flat *mem = &states->mem[w];

			memset(mem->bytes + 16, 0, states->size - 16);
			memcpy(mem->bytes + 16 + (size_t)4 * (m % 4), &used, sizeof(used));
			assert_int_equal(core_restore(c->core[w], &flat_ops, mem, mem->base,
						      &fault), CORE_DONE);
		}
		save_states(s, states);
	}
}

/* Each core takes over the other's state in the middle of a seed's streams, tokens with it. */
static void test_state(struct streams *s)
{
	struct cores *c = s->self;
	const uint32_t size = core_state_size(s->cfg);
	const uint32_t sizes[] = { 0, STATE_HEADER, size - 1, STATE_HEADER };
	struct core_fault fault;
	struct states states;

	states_init(s, &states);
	for (uint64_t n = 0; n < (streams_seeds() + 4) / 5; n++) {
		streams_begin(s, streams_first() + n, false);
		gen_valid(s->gen, &s->stream);
		streams_check_valid(s, 0);
		save_states(s, &states);
		clear_cores(s);
		for (unsigned int w = 0; w < WAYS; w++)
			assert_int_equal(core_restore(c->core[w], &flat_ops, &states.mem[!w],
						      states.mem[!w].base, &fault), CORE_DONE);
		for (unsigned int w = 0; w < WAYS; w++)
			core_keep_tokens(c->core[w]);
		gen_keep_tokens(s->gen);
		ref_keep_tokens(&s->ref);
		gen_valid(s->gen, &s->stream);
		streams_check_valid(s, 1);
		save_states(s, &states);

		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			check_state_fault(s, &states, core_save, sizes[i], reasons[i]);
			check_state_fault(s, &states, core_restore, sizes[i], reasons[i]);
		}
		if (!n)
			check_more_than_all(s, &states);
		check_another(s);
	}
	states_free(&states);
}

/* LOAD the last element of each scratchpad, so that a save moves all of them. */
static void use_all(struct streams *s)
{
	static const enum insn_memory memories[] = { INSN_UOP, INSN_WGT, INSN_INP, INSN_ACC };
	const unsigned int log_depth[] = {
		insn_log_uop_depth(s->cfg), insn_log_wgt_depth(s->cfg),
		insn_log_inp_depth(s->cfg), insn_log_acc_depth(s->cfg)
	};
	struct insn insns[4];
	struct core_fault fault;

	for (size_t m = 0; m < 4; m++)
		insns[m] = insn_move(&(struct insn_move){
			.opcode = INSN_LOAD, .memory = memories[m], .y_size = 1, .x_size = 1,
			.x_stride = 1, .sram_base = (1u << log_depth[m]) - 1,
			.dram_base = s->base / insn_element_bytes(s->cfg, memories[m]) });
	for (unsigned int w = 0; w < WAYS; w++)
		assert_int_equal(run_insns(s, w, insns, 4, 0, &fault), CORE_DONE);
}

static void renew_rtl(struct streams *s)
{
	struct cores *c = s->self;

	core_free(c->core[WAY_RTL]);
	c->core[WAY_RTL] = core_new_model(s->cfg, rtl_model(s->cfg));
	assert_non_null(c->core[WAY_RTL]);
}

/* The scratchpads of a core that has just been made are zero, whatever its registers had been. */
static void test_fresh(struct streams *s)
{
	struct states states;

	for (unsigned int wgt = 0; wgt < 2; wgt++) {
		/* A dump of very many weights would be too long. */
		if (wgt && insn_log_wgt_depth(s->cfg) > insn_log_acc_depth(s->cfg) + 6)
			continue;
		streams_begin(s, streams_first() + wgt, false);
		renew_rtl(s);
		gen_dump(s->gen, wgt, &s->stream);
		streams_check_valid(s, 0);
	}

	streams_begin(s, streams_first(), false);
	renew_rtl(s);
	use_all(s);
	states_init(s, &states);
	save_states(s, &states);
	states_free(&states);
}

int main(void)
{
	static const struct streams_test tests[] = {
		{ "fresh", test_fresh },
		{ "cycle_limit", test_cycle_limit }, { "stop", test_stop }, { "halt", test_halt },
		{ "scan", test_scan }, { "edge", test_edge }, { "state", test_state },
		{ NULL, NULL }
	};
	static const struct target cores = {
		.group = "RTL streams", .ways = WAYS, .names = way_names, .seed = 1,
		.streams = 90, .least = 36, .least_configs = 3, .tests = tests,
		.offers = rtl_offers, .open = cores_open, .close = cores_close,
		.begin = cores_begin, .load = cores_load, .page = cores_page, .run = cores_run,
	};

	return streams_main(&cores);
}
