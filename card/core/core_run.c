// SPDX-License-Identifier: Apache-2.0
/*
 * core_run.c - one run of an instruction stream
 *
 * Instructions are fetched in order, each exactly once, and wait in the queue
 * of their module. A module takes its next one when a token is there from each
 * queue that it pops and there is room in each that it pushes to. Both, once
 * true, stay true until the module moves; so in whichever order the modules
 * take turns, they come to the same end, and only a missing token shows.
 *
 * Memory for a run is bounded by the core's two depths, however long the
 * stream is. Fetch stays ahead by FETCH_AHEAD; only when no module can move
 * does it go on, up to core.waiting_max. The limits act at points that do not
 * depend on the order either (docs/isa.md, section 3, "Depths").
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core_impl.h"

#define FETCH_AHEAD	256u
#define PAGE_INSNS	(VTA_PAGE_SIZE / VTA_ISA_INSN_BYTES)

struct command {
	uint32_t words[4];
	uint32_t index;		/* in the stream */
};

/* Each remembers when it was pushed: the cycle that its instruction ended. */
struct core_token_queue {
	uint64_t *pushed;	/* core.tokens_max */
	uint32_t head;
	uint32_t count;
};

struct core_module {
	struct command *queue;	/* core.waiting_max */
	uint32_t head;
	uint32_t count;
	bool decoded;		/* @insn is the first command */
	struct core_insn insn;
	uint64_t free;		/* the cycle that the last one ended */
	uint64_t *busy;		/* where its cycles are counted */
};

/* Named for their ends: the module that pushes, the module that pops. */
enum token_queue {
	LOAD_TO_COMPUTE,
	COMPUTE_TO_LOAD,
	COMPUTE_TO_STORE,
	STORE_TO_COMPUTE,
	TOKEN_QUEUES,
	NO_QUEUE = -1,
};

/* A module without a neighbour on a side ignores the bits for that side. */
static const struct {
	enum token_queue pop_prev;
	enum token_queue pop_next;
	enum token_queue push_prev;
	enum token_queue push_next;
} neighbours[CORE_MODULES] = {
	[CORE_LOAD] = { NO_QUEUE, COMPUTE_TO_LOAD, NO_QUEUE, LOAD_TO_COMPUTE },
	[CORE_COMPUTE] = { LOAD_TO_COMPUTE, STORE_TO_COMPUTE, COMPUTE_TO_LOAD, COMPUTE_TO_STORE },
	[CORE_STORE] = { COMPUTE_TO_STORE, NO_QUEUE, STORE_TO_COMPUTE, NO_QUEUE },
};

struct stream {
	struct core_run run;
	uint32_t addr;
	uint32_t count;
	uint32_t fetched;
	uint32_t waiting;
	bool fetch_faulted;	/* the fault is reported when no module can move */
	struct core_fault fetch_fault;
	uint64_t cycle_limit;
	enum core_module_id turn;	/* CORE_ORDER_RANDOM: the chosen module, */
	uint32_t turns;			/* and for how many instructions yet */
};

int core_queues_new(struct core *core)
{
	int i;

	core->modules = calloc(CORE_MODULES, sizeof(*core->modules));
	core->tokens = calloc(TOKEN_QUEUES, sizeof(*core->tokens));
	if (!core->modules || !core->tokens)
		return -1;
	for (i = 0; i < CORE_MODULES; i++) {
		core->modules[i].queue = calloc(core->waiting_max, sizeof(struct command));
		if (!core->modules[i].queue)
			return -1;
	}
	for (i = 0; i < TOKEN_QUEUES; i++) {
		core->tokens[i].pushed = calloc(core->tokens_max, sizeof(uint64_t));
		if (!core->tokens[i].pushed)
			return -1;
	}
	return 0;
}

void core_queues_free(struct core *core)
{
	int i;

	for (i = 0; core->modules && i < CORE_MODULES; i++)
		free(core->modules[i].queue);
	for (i = 0; core->tokens && i < TOKEN_QUEUES; i++)
		free(core->tokens[i].pushed);
	free(core->modules);
	free(core->tokens);
}

static void modules_reset(struct core *core, struct core_stats *stats)
{
	uint64_t *busy[CORE_MODULES] = {
		[CORE_LOAD] = &stats->load_cycles,
		[CORE_COMPUTE] = &stats->compute_cycles,
		[CORE_STORE] = &stats->store_cycles,
	};
	int i;

	for (i = 0; i < CORE_MODULES; i++)
		core->modules[i] = (struct core_module){
			.queue = core->modules[i].queue,
			.busy = busy[i],
		};
}

_Static_assert(TOKEN_QUEUES == CORE_TOKEN_QUEUES, "all of them are kept");

void core_tokens_get(const struct core *core, uint32_t count[CORE_TOKEN_QUEUES])
{
	int i;

	for (i = 0; i < TOKEN_QUEUES; i++)
		count[i] = core->tokens[i].count;
}

/* They were there before the run: pushed at cycle 0. */
void core_tokens_set(struct core *core, const uint32_t count[CORE_TOKEN_QUEUES])
{
	struct core_token_queue *t;
	int i;

	for (i = 0; i < TOKEN_QUEUES; i++) {
		t = &core->tokens[i];
		t->head = 0;
		t->count = count[i] < core->tokens_max ? count[i] : core->tokens_max;
		memset(t->pushed, 0, t->count * sizeof(*t->pushed));
	}
}

static void tokens_begin(struct core *core)
{
	uint32_t count[CORE_TOKEN_QUEUES] = { 0 };

	if (core->keep_tokens)
		core_tokens_get(core, count);
	core_tokens_set(core, count);
	core->keep_tokens = false;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* ---- Fetch ---- */

static bool can_fetch(const struct stream *s)
{
	return s->fetched < s->count && s->waiting < s->run.core->waiting_max;
}

static void dispatch_insn(struct stream *s, const uint32_t words[4])
{
	struct core_module *m = &s->run.core->modules[core_insn_module(words)];
	struct command *cmd;

	/* Back to the start when empty: a queue rarely needs all its memory. */
	if (!m->count)
		m->head = 0;
	cmd = &m->queue[(m->head + m->count++) % s->run.core->waiting_max];
	memcpy(cmd->words, words, sizeof(cmd->words));
	cmd->index = s->fetched++;
	s->waiting++;
}

/* Fetches up to the end of a page: that is there as a whole, or not at all. */
static void fetch_insns(struct stream *s)
{
	struct core_run *run = &s->run;
	uint64_t addr = s->addr + (uint64_t)s->fetched * VTA_ISA_INSN_BYTES;
	uint32_t words[PAGE_INSNS][4];
	uint32_t n = PAGE_INSNS - (uint32_t)(addr / VTA_ISA_INSN_BYTES % PAGE_INSNS);
	enum vta_fault_reason reason = VTA_FAULT_PAGE;
	uint32_t fault_addr = (uint32_t)addr;
	uint32_t i, j;

	if (n > s->count - s->fetched)
		n = s->count - s->fetched;
	if (n > run->core->waiting_max - s->waiting)
		n = run->core->waiting_max - s->waiting;

	if (addr <= UINT32_MAX)
		reason = run->ops->read(run->priv, (uint32_t)addr, words,
					(size_t)n * VTA_ISA_INSN_BYTES, VTA_ACCESS_INSN,
					&fault_addr);
	if (reason != VTA_FAULT_NONE) {
		s->fetch_faulted = true;
		s->fetch_fault = (struct core_fault){
			.reason = reason,
			.access = VTA_ACCESS_INSN,
			.addr = fault_addr,
			.insn_index = s->fetched,
		};
		s->count = s->fetched;
		return;
	}

	for (i = 0; i < n; i++) {
		for (j = 0; j < 4; j++)
			words[i][j] = le32toh(words[i][j]);
		dispatch_insn(s, words[i]);
	}
}

/* ---- Tokens ---- */

static bool token_there(const struct core *core, enum token_queue q)
{
	return q == NO_QUEUE || core->tokens[q].count;
}

static bool token_room(const struct core *core, enum token_queue q)
{
	return q == NO_QUEUE || core->tokens[q].count < core->tokens_max;
}

/* Returns when it came. */
static uint64_t token_pop(struct core *core, enum token_queue q)
{
	struct core_token_queue *t;
	uint64_t pushed;

	if (q == NO_QUEUE)
		return 0;
	t = &core->tokens[q];
	pushed = t->pushed[t->head];
	t->head = (t->head + 1) % core->tokens_max;
	t->count--;
	return pushed;
}

static void token_push(struct core *core, enum token_queue q, uint64_t now)
{
	struct core_token_queue *t;

	if (q == NO_QUEUE)
		return;
	t = &core->tokens[q];
	if (!t->count)
		t->head = 0;
	t->pushed[(t->head + t->count++) % core->tokens_max] = now;
}

/* ---- Modules ---- */

static struct command *first_command(struct core_module *m)
{
	return &m->queue[m->head];
}

static bool can_move(struct core *core, enum core_module_id id)
{
	struct core_module *m = &core->modules[id];
	const struct core_insn *insn = &m->insn;

	if (!m->count)
		return false;
	if (!m->decoded) {
		core_insn_decode(core, first_command(m)->words, &m->insn);
		m->decoded = true;
	}
	/* An illegal instruction faults at once. */
	return !insn->legal ||
	       ((!insn->pop_prev || token_there(core, neighbours[id].pop_prev)) &&
		(!insn->pop_next || token_there(core, neighbours[id].pop_next)) &&
		(!insn->push_prev || token_room(core, neighbours[id].push_prev)) &&
		(!insn->push_next || token_room(core, neighbours[id].push_next)));
}

/* Notes the instruction that a fault, already filled in, is about. */
static enum core_result fault_at(struct stream *s, const struct command *cmd)
{
	s->run.fault->insn_index = cmd->index;
	memcpy(s->run.fault->insn, cmd->words, sizeof(cmd->words));
	return CORE_FAULT;
}

static bool insn_fits(struct core *core, const struct core_insn *insn)
{
	switch (insn->op) {
	case VTA_ISA_LOAD:
	case VTA_ISA_STORE:
		return core_mem_fits(core, &insn->mem);
	case VTA_ISA_GEMM:
	case VTA_ISA_ALU:
		return core_loop_fits(core, &insn->loop);
	case VTA_ISA_FINISH:
		break;
	}
	return true;
}

static enum core_result execute_insn(struct core_run *run, const struct core_insn *insn)
{
	switch (insn->op) {
	case VTA_ISA_LOAD:
		return core_mem_load(run, &insn->mem);
	case VTA_ISA_STORE:
		return core_mem_store(run, &insn->mem);
	case VTA_ISA_GEMM:
	case VTA_ISA_ALU:
		return core_loop_run(run, &insn->loop);
	case VTA_ISA_FINISH:
		break;
	}
	return CORE_DONE;
}

/* One instruction of a module that can move. */
static enum core_result step_module(struct stream *s, enum core_module_id id)
{
	struct core *core = s->run.core;
	struct core_stats *stats = s->run.stats;
	struct core_module *m = &core->modules[id];
	const struct core_insn *insn = &m->insn;
	const struct command *cmd = first_command(m);
	enum core_result result;
	uint64_t start, cost, end, token;

	result = CORE_DONE;
	if (!insn->legal)
		result = core_run_fault(&s->run, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
	else if (!insn_fits(core, insn))
		result = core_run_fault(&s->run, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	if (result != CORE_DONE)
		return fault_at(s, cmd);

	start = (uint64_t)cmd->index + 1;
	start = m->free > start ? m->free : start;
	token = insn->pop_prev ? token_pop(core, neighbours[id].pop_prev) : 0;
	start = token > start ? token : start;
	token = insn->pop_next ? token_pop(core, neighbours[id].pop_next) : 0;
	start = token > start ? token : start;
	cost = core_insn_cycles(core, insn);
	end = add_saturating(start, cost);

	/* Known beforehand, so no time is spent on what would be stopped. */
	if (s->cycle_limit && end > s->cycle_limit) {
		core_run_fault(&s->run, VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 0);
		return fault_at(s, cmd);
	}

	result = execute_insn(&s->run, insn);
	if (result == CORE_FAULT)
		return fault_at(s, cmd);
	if (result == CORE_STOPPED)
		return result;

	if (insn->push_prev)
		token_push(core, neighbours[id].push_prev, end);
	if (insn->push_next)
		token_push(core, neighbours[id].push_next, end);
	m->free = end;
	*m->busy = add_saturating(*m->busy, cost);
	stats->insns++;
	if (stats->cycles < end)
		stats->cycles = end;

	m->decoded = false;
	m->head = (m->head + 1) % core->waiting_max;
	m->count--;
	s->waiting--;
	return CORE_DONE;
}

/* ---- Order ---- */

/* splitmix64 */
static uint64_t random64(struct core *core)
{
	uint64_t z = core->rng += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/*
 * Of the modules in @mask, the one whose next instruction is first in the
 * stream; CORE_MODULES if there is none.
 */
static enum core_module_id oldest_module(struct core *core, unsigned int mask)
{
	enum core_module_id best = CORE_MODULES;
	uint32_t index = 0;
	enum core_module_id id;

	for (id = CORE_LOAD; id < CORE_MODULES; id++) {
		if (!(mask & 1u << id))
			continue;
		if (best == CORE_MODULES || first_command(&core->modules[id])->index < index) {
			best = id;
			index = first_command(&core->modules[id])->index;
		}
	}
	return best;
}

/*
 * One module stays chosen for a random number of instructions, short or long:
 * drawing anew for each would keep all three at about the same pace.
 */
static enum core_module_id pick_random(struct stream *s, unsigned int mask)
{
	uint64_t random;

	if (s->turns && mask & 1u << s->turn) {
		s->turns--;
		return s->turn;
	}
	do {
		random = random64(s->run.core);
		s->turn = random % CORE_MODULES;
	} while (!(mask & 1u << s->turn));
	s->turns = (1u << (random >> 32) % 8) - 1;
	return s->turn;
}

/* Chooses among the modules that can move; CORE_MODULES if there is none. */
static enum core_module_id pick_module(struct stream *s)
{
	struct core *core = s->run.core;
	unsigned int mask = 0;
	enum core_module_id id;

	for (id = CORE_LOAD; id < CORE_MODULES; id++)
		if (can_move(core, id))
			mask |= 1u << id;
	if (mask && core->order == CORE_ORDER_RANDOM)
		return pick_random(s, mask);
	if (core->order == CORE_ORDER_INORDER)
		return oldest_module(core, mask);

	for (id = CORE_LOAD; id < CORE_MODULES; id++)
		if (mask & 1u << id)
			break;
	return id;
}

/* ---- The run ---- */

/* No module can move and nothing more can be fetched. */
static enum core_result end_run(struct stream *s)
{
	struct core *core = s->run.core;
	unsigned int mask = 0;
	enum core_module_id id;

	if (s->fetch_faulted) {
		*s->run.fault = s->fetch_fault;
		return CORE_FAULT;
	}
	for (id = CORE_LOAD; id < CORE_MODULES; id++)
		if (core->modules[id].count)
			mask |= 1u << id;
	id = oldest_module(core, mask);
	if (id == CORE_MODULES)
		return CORE_DONE;
	core_run_fault(&s->run, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
	return fault_at(s, first_command(&core->modules[id]));
}

enum core_result core_run(struct core *core, const struct core_mem_ops *ops, void *priv,
			  uint32_t insn_addr, uint32_t insn_count, uint64_t cycle_limit,
			  struct core_stats *stats, struct core_fault *fault)
{
	struct stream s = {
		.run = { core, ops, priv, stats, fault },
		.addr = insn_addr,
		.count = insn_count,
		.cycle_limit = cycle_limit,
	};
	enum core_module_id id;
	enum core_result result;

	if (core->model)
		return core->model->run(core->self, ops, priv, insn_addr, insn_count, cycle_limit,
					stats, fault);
	memset(stats, 0, sizeof(*stats));
	memset(fault, 0, sizeof(*fault));
	if (insn_addr % VTA_ISA_INSN_BYTES) {
		fault->insn_index = VTA_FAULT_NO_INSN;
		return core_run_fault(&s.run, VTA_FAULT_ALIGN, VTA_ACCESS_INSN, insn_addr);
	}

	modules_reset(core, stats);
	tokens_begin(core);
	for (;;) {
		if (core_run_stopped(&s.run))
			return CORE_STOPPED;
		if (can_fetch(&s) && s.waiting < FETCH_AHEAD)
			fetch_insns(&s);
		id = pick_module(&s);
		if (id != CORE_MODULES) {
			result = step_module(&s, id);
			if (result != CORE_DONE)
				return result;
		} else if (can_fetch(&s)) {
			fetch_insns(&s);
		} else {
			return end_run(&s);
		}
	}
}
