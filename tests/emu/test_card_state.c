// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core's state, kept for queues and lost to others (docs/hardware.md, section 6,
 * "The core's state").
 */
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

/* Device addresses of every context here. */
#define DATA	0x00100000u	/* guest memory, 4 pages */
#define OUT	(DATA + 0x1000u)
#define STAMP	(DATA + 0x2000u)
#define CODE	0x00500000u	/* guest memory, 2 pages */
#define SAVE(n)	(0x01000000u + 0x00100000u * (n))	/* of queue n, guest memory */
#define SIZE	(64u + (1u << 15) + (1u << 15) + (1u << 18) + (1u << 17))
#define PAGES	((SIZE + VTA_PAGE_SIZE - 1) / VTA_PAGE_SIZE)

/* A context with a queue of the same number that has a save area. */
struct bench {
	struct rig *r;
	unsigned int n;
	uint8_t *data;
	uint8_t *code;
	uint8_t *area;
	struct rig_queue q;
};

static void bench_context(struct bench *b, struct rig *r, unsigned int n)
{
	*b = (struct bench) { .r = r, .n = n };
	rig_context(r, n);
	b->data = rig_map_pages(r, n, DATA, 4);
	b->code = rig_map_pages(r, n, CODE, 2);
}

static void bench_queue(struct bench *b, unsigned int n)
{
	rig_queue(b->r, &b->q, n, b->n, 4);
	rig_set(b->r, REG_QUEUE_SAVE(n), SAVE(n));
	rig_queue_start(&b->q, 0);
}

static void bench(struct bench *b, struct rig *r, unsigned int n)
{
	bench_context(b, r, n);
	b->area = rig_map_pages(r, n, SAVE(n), PAGES);
	bench_queue(b, n);
}

static struct vta_desc keep(struct vta_desc desc)
{
	desc.op_flags |= VTA_DESC_KEEP;
	return desc;
}

static bool has_kept(const struct rig_queue *q)
{
	return rig_get(q->r, REG_QUEUE_STATE(q->n)) & REG_QUEUE_STATE_KEPT;
}

/* ---- Programs: each a RUN of the bench's context ---- */

/* acc[0] = @value in all of its elements. */
static struct vta_desc load_run(const struct bench *b, int32_t value)
{
	struct prog p = prog_at(b->code);
	int32_t *acc = (int32_t *)b->data;

	for (int i = 0; i < 16; i++)
		acc[i] = value;
	prog_load(&p, INSN_ACC, 0, DATA, 1, 0);
	return vtadev_desc_run(CODE, p.count, 0);
}

static struct vta_desc store_run(const struct bench *b)
{
	struct prog p = prog_at(b->code + 1024);

	memset(b->data + (OUT - DATA), 0xee, 16);
	prog_store(&p, 0, OUT, 1, 0);
	return vtadev_desc_run(CODE + 1024, p.count, 0);
}

static struct vta_desc push_run(const struct bench *b)
{
	struct prog p = prog_at(b->code + 2048);

	prog_load(&p, INSN_INP, 0, 0, 0, INSN_PUSH_NEXT);
	return vtadev_desc_run(CODE + 2048, p.count, 0);
}

static struct vta_desc pop_run(const struct bench *b)
{
	struct prog p = prog_at(b->code + 3072);

	prog_finish(&p, INSN_POP_PREV);
	return vtadev_desc_run(CODE + 3072, p.count, 0);
}

static struct vta_desc busy_run(const struct bench *b)
{
	struct prog p = prog_at(b->code + 4096);

	prog_busy(&p);
	return vtadev_desc_run(CODE + 4096, p.count, 0);
}

static struct vta_desc illegal_run(const struct bench *b)
{
	struct prog p = prog_at(b->code + 5120);

	prog_add(&p, (struct insn) { { 7, 0 } });
	return vtadev_desc_run(CODE + 5120, p.count, 0);
}

static int stored(const struct bench *b)
{
	const uint8_t *out = b->data + (OUT - DATA);

	for (int i = 1; i < 16; i++)
		assert_int_equal(out[i], out[0]);
	return out[0];
}

/* acc[0] for RUNs that keep, of a queue of the bench's context. */
static int kept_value(const struct bench *b, struct rig_queue *q)
{
	rig_do(q, keep(store_run(b)));
	return stored(b);
}

static int plain_value(const struct bench *b, struct rig_queue *q)
{
	rig_do(q, store_run(b));
	return stored(b);
}

static void restart(struct rig_queue *q, uint32_t ctrl)
{
	rig_set64(q->r, REG_QUEUE_START_LO(q->n), q->submitted);
	rig_set(q->r, REG_QUEUE_SUBMITTED(q->n), (uint32_t)q->submitted);
	rig_set(q->r, REG_QUEUE_CTRL(q->n), REG_QUEUE_CTRL_ENABLE | ctrl);
	assert_int_equal(rig_state(q), VTA_QUEUE_ACTIVE);
}

/* ---- What is kept ---- */

TEST_F(RIG, tokens_cross_runs)
{
	struct bench b;

	bench(&b, r, 0);
	rig_do(&b.q, keep(push_run(&b)));
	rig_do(&b.q, keep(pop_run(&b)));
	/* That was the only one. */
	rig_fails(&b.q, keep(pop_run(&b)), VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);

	/* None goes from or to a RUN that does not ask for it. */
	rig_do(&b.q, push_run(&b));
	rig_fails(&b.q, keep(pop_run(&b)), VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);
	rig_do(&b.q, keep(push_run(&b)));
	rig_fails(&b.q, pop_run(&b), VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

TEST_F(RIG, state_survives_other_contexts)
{
	struct bench a, b;

	bench(&a, r, 0);
	bench(&b, r, 1);
	assert_false(has_kept(&a.q));
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	assert_true(has_kept(&a.q));
	rig_do(&a.q, keep(push_run(&a)));
	assert_int_equal(kept_value(&b, &b.q), 0);
	rig_do(&b.q, keep(load_run(&b, 0x22)));
	rig_fails(&b.q, keep(pop_run(&b)), VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
	assert_false(has_kept(&b.q));
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);
	rig_do(&b.q, keep(load_run(&b, 0x33)));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(kept_value(&a, &a.q), 0x11);
		assert_int_equal(kept_value(&b, &b.q), 0x33);
	}
	rig_do(&a.q, keep(pop_run(&a)));
}

/* Each queue has its own, also beside those of its context; the context has another. */
TEST_F(RIG, state_is_the_queues_own)
{
	struct rig_queue other;
	struct bench b;

	bench(&b, r, 0);
	rig_map_pages(r, 0, SAVE(1), PAGES);
	rig_queue(r, &other, 1, 0, 4);
	rig_set(r, REG_QUEUE_SAVE(1), SAVE(1));
	rig_queue_start(&other, 0);
	rig_do(&b.q, keep(load_run(&b, 0x11)));
	assert_int_equal(kept_value(&b, &other), 0);
	rig_do(&other, keep(load_run(&b, 0x22)));
	assert_int_equal(plain_value(&b, &b.q), 0);
	rig_do(&other, load_run(&b, 0x33));
	assert_int_equal(plain_value(&b, &b.q), 0x33);
	assert_int_equal(kept_value(&b, &b.q), 0x11);
	assert_int_equal(kept_value(&b, &other), 0x22);
	/* The context's was lost to that. */
	assert_int_equal(plain_value(&b, &b.q), 0);
	assert_int_equal(kept_value(&b, &b.q), 0x11);
}

/* All that a core has, to the last element of each scratchpad. */
TEST_F(RIG, all_of_it_is_kept)
{
	enum { INPS = 2048, WGTS = 1024, UOPS = 8192 };
	struct bench a, b;
	struct prog p;
	uint32_t *uop;

	bench(&a, r, 0);
	bench(&b, r, 1);
	/* The last element of each: inp of twos, wgt of threes, the micro-op that uses them. */
	memset(a.data, 2, 16);
	memset(a.data + 256, 3, 256);
	uop = (uint32_t *)(a.data + 1024);
	*uop = insn_uop(&core_config_default, PROG_ACC_DEPTH - 1, INPS - 1, WGTS - 1, 0);
	p = prog_at(a.code);
	prog_load(&p, INSN_INP, INPS - 1, DATA, 1, 0);
	prog_load(&p, INSN_WGT, WGTS - 1, DATA + 256, 1, 0);
	prog_load(&p, INSN_UOP, UOPS - 1, DATA + 1024, 1, 0);
	rig_do(&a.q, keep(vtadev_desc_run(CODE, p.count, 0)));
	rig_do(&b.q, keep(load_run(&b, 0x22)));

	p = prog_at(a.code);
	prog_add(&p, insn_loop(&core_config_default, &(struct insn_loop) {
		.opcode = INSN_GEMM, .uop_bgn = UOPS - 1, .uop_end = UOPS, .iter_out = 1,
		.iter_in = 1,
	}));
	rig_do(&a.q, keep(vtadev_desc_run(CODE, p.count, 0)));
	assert_int_equal(kept_value(&b, &b.q), 0x22);
	p = prog_at(a.code);
	prog_store(&p, PROG_ACC_DEPTH - 1, OUT, 1, 0);
	rig_do(&a.q, keep(vtadev_desc_run(CODE, p.count, 0)));
	assert_int_equal(stored(&a), 2 * 3 * 16);
}

/* ---- When it is moved, and what that costs ---- */

TEST_F(RIG, moves_only_for_another_owner)
{
	const uint64_t cycles = 32 + PAGES * VTA_PAGE_SIZE / 16;
	struct bench a, b;
	volatile struct vta_stamp *stamp;

	bench(&a, r, 0);
	bench(&b, r, 1);
	assert_int_equal(rig_get(r, REG_SAVE_SIZE), PAGES * VTA_PAGE_SIZE);
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	rig_do(&a.q, keep(store_run(&a)));
	/* Neither are the core's: no engine, the other engine, no instructions. */
	rig_do(&b.q, vtadev_desc_fill(OUT, 0, 16));
	rig_do(&b.q, keep(vtadev_desc_run(CODE, 0, 0)));
	rig_do(&a.q, keep(store_run(&a)));
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_SAVES), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 0);

	/* A context's state is not saved, a queue's is, and comes back. */
	stamp = (volatile struct vta_stamp *)(b.data + (STAMP - DATA));
	rig_do(&b.q, rig_stamped(store_run(&b), STAMP));
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_SAVES), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_RESTORES), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_CYCLES), cycles);
	assert_true(stamp->cycles < cycles);
	rig_do(&a.q, keep(store_run(&a)));
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_SAVES), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_RESTORES), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_CYCLES), 2 * cycles);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 2);
}

/* A RUN's own time, when the engine takes its cycles at 100 MHz. */
static uint64_t time_of(struct bench *b, struct vta_desc desc, uint64_t *cycles)
{
	volatile struct vta_stamp *stamp = (volatile struct vta_stamp *)(b->data + (STAMP - DATA));

	rig_do(&b->q, rig_stamped(desc, STAMP));
	*cycles = stamp->cycles;
	return stamp->end - stamp->start;
}

TEST(moves_take_time_and_no_cycles)
{
	static const char * const args[] = { "--queues", "4", "--time", "model", "--clock-khz",
					     "100000", NULL };
	const uint64_t move_ns = 10 * (32 + PAGES * VTA_PAGE_SIZE / 16);
	uint64_t first, again, after, cycles[3];
	struct bench a, b;
	struct rig r;

	rig_start(&r, args);
	bench(&a, &r, 0);
	bench(&b, &r, 1);
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	first = time_of(&a, keep(store_run(&a)), &cycles[0]);
	rig_do(&b.q, keep(load_run(&b, 0x22)));
	/* The other's goes, its own comes. */
	again = time_of(&a, keep(store_run(&a)), &cycles[1]);
	after = time_of(&a, keep(store_run(&a)), &cycles[2]);
	assert_int_equal(first, 10 * cycles[0]);
	assert_int_equal(again, first + 2 * move_ns);
	assert_int_equal(after, first);
	assert_int_equal(cycles[1], cycles[0]);
	assert_int_equal(cycles[2], cycles[0]);
	rig_stop(&r);
}

/* ---- When it is lost ---- */

TEST_F(RIG, a_halt_drops_it)
{
	struct bench b;

	bench(&b, r, 0);
	rig_do(&b.q, keep(load_run(&b, 0x11)));
	rig_do(&b.q, keep(push_run(&b)));
	rig_fails(&b.q, keep(illegal_run(&b)), VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
	assert_false(has_kept(&b.q));
	rig_queue_stop(&b.q, false);
	assert_false(has_kept(&b.q));
	restart(&b.q, 0);
	assert_int_equal(kept_value(&b, &b.q), 0);
	rig_fails(&b.q, keep(pop_run(&b)), VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);

	/* By a fault of any descriptor, and by a doorbell. */
	rig_do(&b.q, keep(load_run(&b, 0x22)));
	rig_fails(&b.q, vtadev_desc_fill(0x10000, 0, 16), VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST,
		  0x10000);
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);
	assert_int_equal(kept_value(&b, &b.q), 0);
	rig_do(&b.q, keep(load_run(&b, 0x33)));
	rig_doorbell(r, 0, (uint32_t)b.q.submitted + 17);
	rig_halted(&b.q);
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);
	assert_int_equal(kept_value(&b, &b.q), 0);
}

TEST_F(RIG, an_abort_drops_it)
{
	struct bench a, b;

	bench(&a, r, 0);
	bench(&b, r, 1);
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	rig_put(&a.q, keep(busy_run(&a)));
	rig_submit(&a.q);
	rig_await(r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
	rig_queue_stop(&a.q, true);
	assert_false(has_kept(&a.q));
	restart(&a.q, 0);
	assert_int_equal(kept_value(&a, &a.q), 0);

	/* At rest, in the core or in the area. */
	rig_do(&a.q, keep(load_run(&a, 0x22)));
	rig_queue_stop(&a.q, true);
	assert_false(has_kept(&a.q));
	restart(&a.q, 0);
	assert_int_equal(kept_value(&a, &a.q), 0);
	rig_do(&a.q, keep(load_run(&a, 0x33)));
	rig_do(&b.q, store_run(&b));
	rig_queue_stop(&a.q, true);
	restart(&a.q, 0);
	assert_int_equal(kept_value(&a, &a.q), 0);
}

/* ---- Stops ---- */

TEST_F(RIG, a_stop_saves_it)
{
	struct bench a, b;

	bench(&a, r, 0);
	bench(&b, r, 1);
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	rig_do(&a.q, keep(push_run(&a)));
	rig_queue_stop(&a.q, false);
	assert_true(has_kept(&a.q));
	assert_int_equal(rig_counter(r, VTA_COUNTER_STATE_SAVES), 1);
	rig_do(&b.q, keep(load_run(&b, 0x22)));
	restart(&a.q, REG_QUEUE_CTRL_KEPT);
	assert_true(has_kept(&a.q));
	assert_int_equal(kept_value(&a, &a.q), 0x11);
	rig_do(&a.q, keep(pop_run(&a)));

	/* Stopped while no queue is served; a start without CTRL.KEPT then drops the state. */
	rig_set(r, REG_CONTROL, 0);
	rig_queue_stop(&a.q, false);
	assert_true(has_kept(&a.q));
	rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE);
	restart(&a.q, 0);
	assert_false(has_kept(&a.q));
	assert_int_equal(kept_value(&a, &a.q), 0);
	assert_int_equal(kept_value(&b, &b.q), 0x22);
}

/* As before a machine sleeps: software has the area, and the card forgets all. */
TEST_F(RIG, state_saved_by_a_stop_outlives_a_reset)
{
	struct bench b;

	bench(&b, r, 0);
	rig_do(&b.q, keep(load_run(&b, 0x11)));
	rig_queue_stop(&b.q, false);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(r);
	rig_set64(r, REG_CONTEXT_ROOT_LO(0), r->root[0]);
	rig_set(r, REG_CONTEXT_CTRL(0), REG_CONTEXT_CTRL_ENABLE);
	assert_int_equal(rig_get(r, REG_QUEUE_SAVE(0)), 0);
	rig_queue(r, &b.q, 0, 0, 4);
	rig_set(r, REG_QUEUE_SAVE(0), SAVE(0));
	restart(&b.q, REG_QUEUE_CTRL_KEPT);
	assert_int_equal(kept_value(&b, &b.q), 0x11);

	/* A reset alone drops it. */
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(r);
	rig_set64(r, REG_CONTEXT_ROOT_LO(0), r->root[0]);
	rig_set(r, REG_CONTEXT_CTRL(0), REG_CONTEXT_CTRL_ENABLE);
	rig_queue(r, &b.q, 0, 0, 4);
	rig_set(r, REG_QUEUE_SAVE(0), SAVE(0));
	restart(&b.q, 0);
	assert_false(has_kept(&b.q));
	assert_int_equal(kept_value(&b, &b.q), 0);
}

/* ---- What is refused ---- */

TEST_F(RIG, keep_needs_an_area)
{
	struct rig_queue bare;
	struct bench b;

	bench(&b, r, 0);
	rig_queue(r, &bare, 1, 0, 4);
	rig_queue_start(&bare, 0);
	rig_fails(&bare, keep(store_run(&b)), VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
	rig_queue_stop(&bare, false);
	rig_queue_start(&bare, 0);
	rig_fails(&b.q, keep(vtadev_desc_fill(OUT, 0, 16)), VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
	rig_queue_stop(&b.q, false);
	restart(&b.q, 0);
	rig_fails(&b.q, keep(vtadev_desc_nop()), VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
}

TEST_F(RIG, areas_are_checked_at_the_start)
{
	static const struct {
		uint32_t save, ctrl;
	} bad[] = {
		{ SAVE(0) + 64, 0 },
		{ 0xfffff000, 0 },
		{ 0u - (PAGES - 1) * VTA_PAGE_SIZE, 0 },
		{ 0, REG_QUEUE_CTRL_KEPT },
	};
	struct bench b;

	bench(&b, r, 0);
	/* Not while it is started. */
	rig_set(r, REG_QUEUE_SAVE(0), SAVE(1));
	assert_int_equal(rig_get(r, REG_QUEUE_SAVE(0)), SAVE(0));
	rig_queue_stop(&b.q, false);
	rig_clear_counters(r);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		rig_set(r, REG_QUEUE_SAVE(0), bad[i].save);
		rig_set(r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ENABLE | bad[i].ctrl);
		assert_int_equal(rig_state(&b.q), VTA_QUEUE_DISABLED);
		assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), i + 1);
	}
	rig_set(r, REG_QUEUE_SAVE(0), 0u - PAGES * VTA_PAGE_SIZE);
	restart(&b.q, 0);
}

/* The page of the area that cannot be accessed: the second, or the last. */
static void make_bad(struct bench *b, uint32_t page, uint64_t entry)
{
	*rig_l2(b->r, b->n, SAVE(b->n) + page * VTA_PAGE_SIZE) = entry;
	rig_invalidate(b->r, b->n);
}

/* The owner halts, and the RUN that needed the core is none the worse. */
TEST_F(RIG, a_save_that_fails_halts_the_owner)
{
	static const struct {
		uint64_t entry;
		enum vta_fault_reason reason;
	} bad[] = {
		{ 0, VTA_FAULT_PAGE },
		{ RIG_RAM | RIG_RO, VTA_FAULT_PERM },
		{ (RIG_RAM + RIG_RAM_SIZE) | RIG_RW, VTA_FAULT_DMA },
	};
	struct vta_fault fault;
	struct bench a, b;
	uint64_t entry;

	bench(&a, r, 0);
	bench(&b, r, 1);
	entry = *rig_l2(r, 0, SAVE(0));
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		rig_do(&a.q, keep(load_run(&a, 0x11)));
		make_bad(&a, 0, bad[i].entry);
		assert_int_equal(kept_value(&b, &b.q), i ? 0x22 : 0);
		rig_do(&b.q, keep(load_run(&b, 0x22)));
		fault = rig_halted(&a.q);
		assert_int_equal(fault.reason, bad[i].reason);
		assert_int_equal(fault.access, VTA_ACCESS_STATE);
		assert_int_equal(fault.addr, SAVE(0));
		assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
		make_bad(&a, 0, entry);
		rig_queue_stop(&a.q, false);
		assert_false(has_kept(&a.q));
		restart(&a.q, 0);
		assert_int_equal(kept_value(&a, &a.q), 0);
	}

	/* While it is stopped: it is, and has no state. */
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	make_bad(&a, 0, 0);
	rig_queue_stop(&a.q, false);
	assert_false(has_kept(&a.q));
	assert_int_equal(kept_value(&b, &b.q), 0x22);
}

/* The descriptor that its queue has in hand is given up. */
TEST_F(RIG, failed_save_gives_up_the_descriptor_in_hand)
{
	struct vta_fault fault;
	struct bench a, b;

	bench(&a, r, 0);
	bench(&b, r, 1);
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	rig_put(&a.q, vtadev_desc_wait(DATA + 64, UINT64_MAX));
	rig_submit(&a.q);
	rig_await(r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
	make_bad(&a, 0, 0);
	rig_do(&b.q, store_run(&b));
	fault = rig_halted(&a.q);
	assert_int_equal(fault.access, VTA_ACCESS_STATE);
	assert_int_equal(fault.seq, 2);
}

TEST_F(RIG, a_restore_that_fails_is_the_runs_fault)
{
	struct bench a, b;

	bench(&a, r, 0);
	bench(&b, r, 1);
	rig_do(&a.q, keep(load_run(&a, 0x11)));
	rig_do(&b.q, keep(load_run(&b, 0x22)));
	make_bad(&a, 0, 0);
	rig_fails(&a.q, keep(store_run(&a)), VTA_FAULT_PAGE, VTA_ACCESS_STATE, SAVE(0));
	assert_false(has_kept(&a.q));
	assert_int_equal(kept_value(&b, &b.q), 0x22);
}

/* ---- Hostile contents ---- */

/* Whatever the area holds, its queue gets some state, and others keep theirs. */
TEST_F(RIG, any_contents_are_harmless)
{
	struct bench a, b;

	bench(&a, r, 0);
	bench(&b, r, 1);
	srand(7);
	rig_do(&b.q, keep(load_run(&b, 0x22)));
	for (unsigned int i = 0; i < 40; i++) {
		rig_do(&a.q, keep(load_run(&a, 0x11)));
		rig_do(&b.q, keep(store_run(&b)));
		assert_int_equal(stored(&b), 0x22);
		for (uint32_t n = 0; n < SIZE; n++)
			a.area[n] = i ? (uint8_t)rand() : 0xff;
		rig_do(&a.q, keep(store_run(&a)));
		/* Token queues are full, and no fuller: a push fits after a pop. */
		rig_do(&a.q, keep(pop_run(&a)));
		rig_do(&a.q, keep(push_run(&a)));
		rig_do(&a.q, keep(pop_run(&a)));
		/* GEMM and ALU with micro-ops, inputs and weights from there. */
		rig_put(&a.q, keep(busy_run(&a)));
		a.q.ring[(a.q.submitted - 1) % 16].run.cycle_limit = 1;
		rig_submit(&a.q);
		rig_halted(&a.q);
		rig_queue_stop(&a.q, false);
		restart(&a.q, 0);
	}
	assert_int_equal(kept_value(&b, &b.q), 0x22);
}
