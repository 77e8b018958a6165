// SPDX-License-Identifier: Apache-2.0
/*
 * vta.cl - a VTA core in OpenCL C 1.2, by docs/isa.md
 *
 * Two kernels share the work, one after the other in a queue that keeps its order:
 *
 *   vta_stream  a work-group for each stream: plans a block of instructions at a time (plan.cl),
 *               moves rows (moves.cl), and executes GEMM and ALU (loops.cl, jobs.cl)
 *   vta_wide    any number of work-groups: a part of a GEMM or ALU with many micro-ops, of a
 *               stream that is alone
 *
 * On NVIDIA's devices, vta_crowd is vta_stream for more streams than there are compute units, and
 * vta_team takes the place of both kernels for a stream that is alone: its first work-group does as
 * vta_stream, and the others help it with GEMMs and ALUs.
 *
 * A core is a slot: its part of each buffer. @slots has those of the streams of a launch.
 *
 * Neither runs for long, so that the host can end a run. The host enqueues pairs of them
 * ahead: the one that has nothing to do ends at once. The host moves data of its own memory,
 * through @bounce and @code.
 *
 * All work-items of a group take the same way through the plan: what they decide by is in local
 * memory, and does not change between two barriers.
 *
 * Build options: LOG_BATCH, LOG_BLOCK, LOG_INP_WIDTH and LOG_WGT_WIDTH of the configuration;
 * LOG_UOP, LOG_INP, LOG_WGT and LOG_ACC, the depths of the scratchpads (all base-2
 * logarithms); LOG_TOKENS and LOG_WAITING, those of its queues; BOUNCE, bytes of a slot's bounce;
 * FAULT_*, reasons of vta.h. VTA_GPU for a device with many small processors, VTA_CROWD for a
 * compiler that limits registers by an option, and makes vta_crowd. Others have values
 * below. VTA_TASK makes vta_stream a kernel of a single work-item, which is what FPGA tools
 * ask for, and takes vta_wide away. VTA_TEAM has vta_team made on other devices too, if these begin
 * a launch with its first group, and VTA_ALONE has it not made.
 */
#include "state.h"

/* Work-items of vta_stream, and multiplications of one launch of vta_wide. */
#ifdef VTA_TASK
#define VTA_ITEMS	1
#elif !defined(VTA_ITEMS)
#ifdef VTA_GPU
#define VTA_ITEMS	256
#else
#define VTA_ITEMS	1
#endif
#endif
#ifndef VTA_CHUNK
#ifdef VTA_GPU
#define VTA_CHUNK	(1ul << 28)
#else
#define VTA_CHUNK	(1ul << 21)
#endif
#endif
/* Multiplications from which on vta_wide has a loop. */
#ifndef VTA_WIDE_MIN
#ifdef VTA_GPU
#define VTA_WIDE_MIN	(1ul << 22)
#else
#define VTA_WIDE_MIN	(1ul << 22)
#endif
#endif

/* Cycles of the clock after which vta_stream lets the host check; or work, as VTA_CHUNK. */
#ifndef VTA_SLICE
#if defined(VTA_GPU) && defined(__NV_CL_C_VERSION)
#define VTA_SLICE	(1ul << 22)
#else
#define VTA_SLICE	(1ul << 24)
#endif
#endif

/* A kernel for a stream that is alone, with groups that help: jobs.cl. */
#if defined(VTA_GPU) && defined(__NV_CL_C_VERSION) && !defined(VTA_TASK) && !defined(VTA_ALONE)
#define VTA_TEAM
#endif

/* Multiplications between two looks at the clock, at least. */
#ifndef VTA_PART
#define VTA_PART	(1ul << 24)
#endif

#define BATCH		(1u << LOG_BATCH)
#define BLOCK		(1u << LOG_BLOCK)
#define LANES_LOG	(LOG_BATCH + LOG_BLOCK)
#define LANES		(BATCH * BLOCK)		/* values of an element of ACC */
#define SHAPE		{ .uop = LOG_UOP, .inp = LOG_INP, .wgt = LOG_WGT, .acc = LOG_ACC }

#if VTA_ITEMS == 1
#define ITEM		0u
#define JOIN
#define LOOKERS		1u
#else
#define ITEM		((uint)get_local_id(0))
#define JOIN		barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOOKERS		(VTA_ITEMS < VTA_LOOKERS ? (uint)VTA_ITEMS : VTA_LOOKERS)
#endif

/* Values of a slot in each buffer. */
#define SLOT_UOP	((size_t)1 << LOG_UOP)
#define SLOT_INP	((size_t)LANES << LOG_INP)
#define SLOT_WGT	((size_t)BLOCK * BLOCK << LOG_WGT)
#define SLOT_ACC	((size_t)LANES << LOG_ACC)
#define SLOT_WAITING	((size_t)VTA_MODULES * VTA_WAITING)
#define SLOT_TOKENS	((size_t)VTA_TOKEN_QUEUES * VTA_TOKENS)

#define PAGE_INSNS	(1u << (VTA_PAGE_LOG - 4))
/* What an instruction counts, in multiplications. */
#define INSN_WORK	(1ul << 16)
#define NOWHERE		(~0ul)
#define NO_QUEUE	(~0u)
#define FLAGS		0x78u		/* of word 0: those for tokens */
/* Pieces of a move, or parts of elements, that a work-item reads before it writes the first. */
#define AT_ONCE		4u
#define RESET		8u		/* GEMM that resets, as an opcode of an ALU */

#define ENUMERATOR(name, number) name = (number),
enum { VTA_ISA_OPCODES(ENUMERATOR) };
enum { VTA_ISA_MEMORIES(ENUMERATOR) };
enum { VTA_ISA_ALU_OPCODES(ENUMERATOR) };
enum { TO_LOAD_MODULE, TO_COMPUTE, TO_STORE };

struct core {
	__global uchar *memory;			/* NULL: the device has none yet */
	__global const uint *pages;
	__global uint *uop;
	__global char *inp;
	__global char *wgt;
	__global int *acc;
	__global struct vta_command *waiting;	/* VTA_WAITING of each module */
	__global ulong *tokens;			/* VTA_TOKENS of each queue: when pushed */
	__global const uint *code;
	__global uchar *bounce;
	__global struct vta_team *team;		/* NULL: the group is alone */
};

/* ---- Memory ---- */

/* Offset of device address @addr in @memory, or NOWHERE. */
static ulong place(const struct core *c, ulong addr, uint allowed)
{
	uint entry;

	if (addr >> 32 || !c->memory)
		return NOWHERE;
	entry = c->pages[addr >> VTA_PAGE_LOG];
	if ((entry & allowed) != allowed)
		return NOWHERE;
	return ((ulong)(entry >> VTA_ENTRY_SHIFT) << VTA_PAGE_LOG) |
	       (addr & ((1u << VTA_PAGE_LOG) - 1));
}

static uint elem_bytes(uint type)
{
	switch (type) {
	case UOP:
		return 4;
	case WGT:
		return (BLOCK * BLOCK << LOG_WGT_WIDTH) / 8;
	case INP:
	case OUT:
		return (LANES << LOG_INP_WIDTH) / 8;
	case ACC:
		return LANES * 4;
	default:
		return LANES;
	}
}

#include "moves.cl"
#include "loops.cl"
#include "plan.cl"

/* ---- Time ---- */

/* Multiplications, or what takes as long. */
static ulong work(ulong uops, bool is_alu)
{
	return uops * LANES * (is_alu ? 8 : BLOCK);
}

#if defined(VTA_GPU) && defined(__NV_CL_C_VERSION)
static ulong clock(void)
{
	ulong cycles;

	asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
	return cycles;
}

/* Counts @done, and returns what @spent is then. */
static ulong spend(ulong spent, ulong begun, ulong done)
{
	return clock() - begun;
}
#else
static ulong clock(void)
{
	return 0;
}

static ulong spend(ulong spent, ulong begun, ulong done)
{
	return spent + done;
}
#endif

#include "jobs.cl"

/* ---- Execution ---- */

/*
 * A launch of vta_stream, the same for all work-items. @turn: grows with each part of an
 * instruction, so that work-items which read what others write are not mistaken when some are
 * a turn ahead.
 */
struct launch {
	uint at, planned;		/* entries of the plan */
	uint turn;
	bool resumes;			/* the entry has begun */
	bool wide;			/* it is a loop, of which the rest is to be executed */
	bool shared;			/* no launch of vta_wide is for this stream */
	ulong begun, spent;		/* of the slice; by work-item 0 */
};

enum outcome { EXECUTED, UNFINISHED, FAULTED, ASKED };

/* Work-item 0 counts @done and looks at the clock; after a barrier all know by is_late(). */
static void look_at_clock(__local struct vta_group *g, struct launch *w, ulong done)
{
	w->turn++;
	if (ITEM)
		return;
	w->spent = spend(w->spent, w->begun, done);
	if (w->spent > VTA_SLICE)
		g->late = w->turn;
}

static bool is_late(__local const struct vta_group *g, const struct launch *w)
{
	return g->late == w->turn;
}

/* Counts entries of the plan that have been executed. */
static void count(__local struct vta_group *g, struct launch *w, uint entries, ulong uops)
{
	__local struct vta_state *s = &g->s;

	for (uint i = 0; !ITEM && i < entries; i++) {
		__local const struct vta_planned *p = &g->plan.entries[w->at + i];

		if ((p->command.words[0] & 7) == ALU)
			s->alu_uops += uops;
		else
			s->gemm_uops += uops;
		s->cycles = max((ulong)s->cycles, (ulong)p->cycles);
		s->insns++;
	}
	w->at += entries;
}

/* A LOAD or STORE. With @bounce the host has moved the rows of a LOAD, or is to. */
static enum outcome execute_move(const struct core *c, __local struct vta_group *g,
				 struct launch *w, bool load, bool bounce)
{
	const struct vta_isa_move m = g->unpacked[w->at].move;

	look_at_clock(g, w, INSN_WORK + (ulong)m.x_size * m.y_size * LANES);
	if (!move(c, &m, load, bounce))
		g->missing = w->turn;
	if (load && m.memory_type == UOP)
		forget_spans(g);
	JOIN;
	if (g->missing == w->turn) {
		if (!load)
			move(c, &m, load, true);
		if (ITEM == 0) {
			g->s.move.insn = m;
			g->s.move.elem = elem_bytes(m.memory_type);
			g->s.move.bounce = 0;
			g->s.status = VTA_MOVE;
		}
		return ASKED;
	}
	count(g, w, 1, 0);
	return EXECUTED;
}

/* Entries from the one in hand on that are executed at once: ALUs with the same destinations. */
static uint gather_passes(const struct core *c, __local struct vta_group *g,
			  const struct launch *w, const struct vta_isa_loop *first,
			  const struct vta_span *span)
{
	struct vta_isa_loop l = *first;
	struct vta_span s = *span;
	uint n = 0;

	for (;;) {
		if (ITEM == 0)
			g->passes[n] = (struct vta_pass){
				l.alu ? l.alu_opcode : RESET, l.use_imm | !l.alu, l.imm,
				s.own && l.src_factor_out == l.dst_factor_out &&
				l.src_factor_in == l.dst_factor_in,
				l.uop_bgn, l.src_factor_out, l.src_factor_in
			};
		n++;
		if (n == VTA_PASSES || w->at + n == w->planned || !l.alu)
			break;
		if ((g->plan.entries[w->at + n].command.words[0] & 7) != ALU ||
		    g->plan.entries[w->at + n].reason)
			break;
		l = g->unpacked[w->at + n].loop;
		if (l.iter_out != first->iter_out || l.iter_in != first->iter_in ||
		    l.dst_factor_out != first->dst_factor_out ||
		    l.dst_factor_in != first->dst_factor_in ||
		    l.uop_end - l.uop_bgn != first->uop_end - first->uop_bgn)
			break;
		s = span_of(c, g, &l);
		if ((l.uop_bgn != first->uop_bgn &&
		     (l.uop_end - l.uop_bgn > 1 || s.dst_min != span->dst_min)) ||
		    !loop_fits(&l, &s) || !independent(&l, &s))
			break;
	}
	return n;
}

/* Each micro-op of an ALU is a pass. */
static uint passes_of_uops(__local struct vta_group *g, const struct vta_isa_loop *l)
{
	uint n = l->uop_end - l->uop_bgn;

	for (uint u = 0; !ITEM && u < n; u++)
		g->passes[u] = (struct vta_pass){ l->alu_opcode, l->use_imm, l->imm, 0,
						  l->uop_bgn + u, l->src_factor_out,
						  l->src_factor_in };
	return n;
}

/*
 * A part of a loop that has enough work for a look at the clock, or with @passes all of it. Returns
 * its end.
 */
static ulong execute_part(const struct core *c, __local struct vta_group *g,
			  const struct vta_loop *l, bool apart, uint passes)
{
	ulong uops = l->insn.uop_end - l->insn.uop_bgn;
	ulong n = max(VTA_PART / work(1, l->insn.alu), (ulong)1), end = min(l->done + n, l->count);
	bool sums = !passes && !l->insn.alu && !l->insn.reset && l->done % uops == 0;
	struct vta_job j = { .insn = l->insn, .passes = passes, .end = (uint)l->count };
	uint parts = 1;

	if (sums) {
		ulong last = min(l->done + max(n / uops, max((ulong)PARTS, 1ul)) * uops, l->count);

		j.bgn = (uint)(l->done / uops);
		j.end = (uint)(last / uops);
	}
	if (passes || sums)
		parts = split_job(c, &j);
	if (parts == 1 && !passes && !(apart && sums && SORTS && j.end - j.bgn >= PARTS)) {
		execute(c, l, l->done, end, ITEM, VTA_ITEMS);
		return end;
	}
	execute_job(c, g, &j, parts);
	return passes ? j.end : j.end * uops;
}

/* A GEMM or ALU from micro-op @done on, and ALUs behind it that can be executed with it. */
static enum outcome execute_loop(const struct core *c, __local struct vta_group *g,
				 struct launch *w, ulong done)
{
	struct vta_loop l = { g->unpacked[w->at].loop, 0, done, 0 };
	struct vta_span span;
	bool apart;
	uint passes = 0;

	l.count = vta_isa_loop_count(&l.insn);
	if (!l.count) {
		look_at_clock(g, w, INSN_WORK);
		JOIN;
		count(g, w, 1, 0);
		return EXECUTED;
	}
	span = span_of(c, g, &l.insn);
	if (!loop_fits(&l.insn, &span))
		return FAULTED;
	l.apart = independent(&l.insn, &span);
	apart = disjoint(&l.insn, &span);
	if (!l.apart && !done && work(l.count, true) <= VTA_PART && rowwise(&l.insn, &span)) {
		passes = passes_of_uops(g, &l.insn);
		JOIN;
		look_at_clock(g, w, INSN_WORK + work(l.count, true));
		alu_rows(c, g, &l.insn, passes);
		count(g, w, 1, l.count);
		return EXECUTED;
	}
	if (l.apart && !done && (l.insn.alu || (l.insn.reset && l.count <= VTA_PART))) {
		passes = gather_passes(c, g, w, &l.insn, &span);
		JOIN;
	}
	while (l.done < l.count) {
#ifndef VTA_TASK
		bool wide = !w->shared && work(l.count - l.done, l.insn.alu) >= VTA_WIDE_MIN;
#else
		bool wide = false;
#endif
		if (!passes && (wide || (l.done && is_late(g, w)))) {
			if (ITEM == 0) {
				g->s.loop = l;
				g->s.status = VTA_WIDE;
			}
			return UNFINISHED;
		}
		look_at_clock(g, w, passes ? passes * (INSN_WORK + work(l.count, true)) :
				    INSN_WORK + min(work(l.count, l.insn.alu), VTA_PART));
		l.done = execute_part(c, g, &l, apart, passes);
		JOIN;
	}
	count(g, w, max(passes, 1u), l.insn.alu || !l.insn.reset ? l.count : 0);
	return EXECUTED;
}

/* FINISH, and an entry that others have executed, need no work of the group. */
static enum outcome pass_over(__local struct vta_group *g, struct launch *w, ulong uops)
{
	look_at_clock(g, w, INSN_WORK);
	JOIN;
	count(g, w, 1, uops);
	return EXECUTED;
}

/*
 * Executes an entry, or continues what the last launch began. Each function that has barriers is
 * called once: pocl's compiler takes minutes for copies of these.
 */
static enum outcome execute_entry(const struct core *c, __local struct vta_group *g,
				  struct launch *w)
{
	uint op = g->plan.entries[w->at].command.words[0] & 7;
	bool resumes = w->resumes;

	w->resumes = false;
	if (!resumes && g->plan.entries[w->at].reason)
		return FAULTED;
	/* The host has moved the rows of a LOAD, which are in @bounce. */
	if (op == LOAD || (op == STORE && !resumes))
		return execute_move(c, g, w, op == LOAD, resumes);
	if ((op == GEMM || op == ALU) && (!resumes || w->wide))
		return execute_loop(c, g, w, resumes ? g->s.loop.done : 0);
	/* The host has moved the rows of a STORE, or vta_wide has executed the loop. */
	return pass_over(g, w, resumes && op != STORE ? g->s.loop.count : 0);
}

#ifdef VTA_GPU
/* An entry that has not begun: an H200 takes 7 % less time for code of each kind. */
static enum outcome execute_fresh(const struct core *c, __local struct vta_group *g,
				  struct launch *w)
{
	if (g->plan.entries[w->at].reason)
		return FAULTED;
	switch (g->plan.entries[w->at].command.words[0] & 7) {
	case LOAD:
		return execute_move(c, g, w, true, false);
	case STORE:
		return execute_move(c, g, w, false, false);
	case GEMM:
	case ALU:
		return execute_loop(c, g, w, 0);
	default:
		return pass_over(g, w, 0);
	}
}
#else
#define execute_fresh	execute_entry
#endif

/* ---- The kernels ---- */

/* Between the buffers and the group, by all work-items. */
static void copy_in(__local uint *to, __global const uint *from, uint bytes)
{
	for (uint i = ITEM; i < bytes / 4; i += VTA_ITEMS)
		to[i] = from[i];
}

static void copy_out(__global uint *to, __local const uint *from, uint bytes)
{
	for (uint i = ITEM; i < bytes / 4; i += VTA_ITEMS)
		to[i] = from[i];
}

/* End of a launch of vta_wide that begins at @done. */
static ulong wide_end(const struct vta_loop *l)
{
	ulong chunk = VTA_CHUNK / work(1, l->insn.alu);

	return min(l->done + max(chunk, 1ul), (ulong)l->count);
}

/* By work-item 0: a launch of vta_wide has been. */
static void count_wide(__local struct vta_state *s)
{
	struct vta_loop l = s->loop;

	s->loop.done = wide_end(&l);
	if (s->loop.done < l.count)
		return;
	s->status = VTA_RUN;
	if (l.insn.reset)
		s->loop.count = 0;	/* these are not counted */
}

/* Executes the plan, and makes the next, until the slice is over or the host is asked. */
static void run(const struct core *c, __local struct vta_group *g, struct launch *w)
{
	enum outcome outcome = EXECUTED;
	uint fresh;

#ifdef VTA_GPU
	if (w->resumes)
		outcome = execute_entry(c, g, w);
#endif
	while (outcome == EXECUTED && !is_late(g, w)) {
		if (w->at == w->planned && !w->resumes) {
			fresh = refill(c, g);
			JOIN;
			if (ITEM == 0)
				make_plan(c, g, fresh);
			JOIN;
			unpack_plan(g);
			w->at = 0;
			w->planned = g->s.planned;
			look_at_clock(g, w, INSN_WORK);
			JOIN;
			if (g->s.status != VTA_RUN)
				break;
		} else {
			outcome = execute_fresh(c, g, w);
		}
	}
	if (ITEM)
		return;
	g->s.taken = w->at;
	g->s.in_hand = outcome != EXECUTED;
	if (outcome == EXECUTED)
		return;
	g->s.command = g->plan.entries[w->at].command;
	if (outcome == FAULTED) {
		struct vta_planned p = g->plan.entries[w->at];

		fault(&g->s, p.reason ? p.reason : FAULT_BOUNDS, &p.command);
	}
}

#define ARGUMENTS	__global struct vta_state *state, __global uchar *memory,		\
			__global const uint *pages, __global uint *uop, __global char *inp,	\
			__global char *wgt, __global int *acc,					\
			__global struct vta_command *waiting, __global ulong *tokens,		\
			__global const uint *code, __global uchar *bounce,			\
			__global struct vta_plan *plans, __global const uint *slots
#define PASSED		state, memory, pages, uop, inp, wgt, acc, waiting, tokens, code, bounce,	\
			plans, slots
#define CORE(slot, team) { memory, pages, uop + (slot) * SLOT_UOP, inp + (slot) * SLOT_INP,	\
			  wgt + (slot) * SLOT_WGT, acc + (slot) * SLOT_ACC,			\
			  waiting + (slot) * SLOT_WAITING, tokens + (slot) * SLOT_TOKENS,	\
			  code + (slot) * (size_t)(VTA_CODE * 4),				\
			  bounce + (slot) * (size_t)BOUNCE, team }

/* A launch of vta_stream. */
static void execute_slice(ARGUMENTS, __local struct vta_group *g, uint shared,
			  __global struct vta_team *team)
{
	const size_t slot = slots[get_group_id(0)];
	const struct core c = CORE(slot, team);
	struct launch w = { 0, 0, 1, false, false, shared, clock(), 0 };

	state += slot;
	plans += slot;
	copy_in((__local uint *)&g->s, (__global const uint *)state, sizeof(g->s));
	copy_in((__local uint *)&g->plan, (__global const uint *)plans, sizeof(g->plan));
	forget_spans(g);
	JOIN;
	if (ITEM == 0) {
		g->missing = 0;
		g->jobs = 0;
		g->late = 0;
		if (g->s.status == VTA_WIDE && !shared) {
			count_wide(&g->s);
			state->loop.done = g->s.loop.done;	/* the next vta_wide reads it */
		}
	}
	JOIN;
	if (g->s.status != VTA_RUN && (g->s.status != VTA_WIDE || !shared))
		return;		/* wide, or the host's turn */
	unpack_plan(g);
	w.at = g->s.taken;
	w.planned = g->s.planned;
	w.resumes = g->s.in_hand;
	w.wide = g->s.status == VTA_WIDE;
	JOIN;
	/* Or a later launch, of this stream alone, would take the loop for one that is not done. */
	if (ITEM == 0)
		g->s.status = VTA_RUN;
	run(&c, g, &w);
	JOIN;
	copy_out((__global uint *)state, (__local const uint *)&g->s, sizeof(g->s));
	copy_out((__global uint *)plans, (__local const uint *)&g->plan, sizeof(g->plan));
}

__kernel __attribute__((reqd_work_group_size(VTA_ITEMS, 1, 1)))
void vta_stream(ARGUMENTS, __local struct vta_group *g, uint shared)
{
	execute_slice(PASSED, g, shared, 0);
}

#ifdef VTA_CROWD
/*
 * The same without the size of a group, so that the option for the most registers is heeded: a
 * stream alone takes longer, but a compute unit has room for two.
 */
__kernel void vta_crowd(ARGUMENTS, __local struct vta_group *g, uint shared)
{
	execute_slice(PASSED, g, shared, 0);
}
#endif

#ifdef VTA_TEAM
/* A launch for a stream that is alone, on any number of groups: the first one executes it. */
__kernel __attribute__((reqd_work_group_size(VTA_ITEMS, 1, 1)))
void vta_team(ARGUMENTS, __local struct vta_group *g, __global struct vta_team *team)
{
	const size_t slot = slots[0];
	const struct core c = CORE(slot, team);

	if (get_group_id(0))
		help(&c, g);
	else
		execute_slice(PASSED, g, true, team);
	if (ITEM == 0)
		leave_team(team);
}
#elif !defined(VTA_TASK)
/*
 * Some micro-ops of the loop in hand. The next launch of vta_stream counts them: here no
 * work-item changes what another one reads.
 */
__kernel void vta_wide(ARGUMENTS)
{
	const size_t slot = slots[0];
	const struct core c = CORE(slot, 0);
	struct vta_loop l;

	state += slot;
	if (state->status != VTA_WIDE)
		return;
	l = state->loop;
	execute(&c, &l, l.done, wide_end(&l), (uint)get_global_id(0), (uint)get_global_size(0));
}
#endif
