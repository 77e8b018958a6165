// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults (docs/hardware.md, section 8): every reason and every kind of access,
 * with its record; what a halted queue does; going on behind it.
 *
 * The emulator learns of refused writes, as vfio-user answers them. Other cards need not.
 */
#include <string.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* guest memory, 2 pages */
#define CODE	0x00200000u	/* guest memory, 1 page */
#define RO	0x00300000u	/* guest memory, 1 page, not writable */
#define GONE	0x00400000u	/* mapped to where the host has no memory */
#define NOWHERE	0x00500000u	/* not mapped */
#define BAD	0x00600000u	/* a malformed entry */
#define GONE_BUS	0x10000000u

struct bench {
	struct rig *r;
	struct rig_queue q;
	uint8_t *data;
	void *code;
	uint64_t restarts;
};

static void bench(struct bench *b, struct rig *r)
{
	*b = (struct bench) { .r = r };
	rig_context(r, 3);
	b->data = rig_map_pages(r, 3, DATA, 2);
	b->code = rig_map_pages(r, 3, CODE, 1);
	rig_map(r, 3, RO, rig_pages(r, 1), RIG_RO);
	rig_map(r, 3, GONE, GONE_BUS, RIG_RW);
	rig_map(r, 3, BAD, rig_pages(r, 1), RIG_RW | 1ull << 60);
	rig_queue(r, &b->q, 4, 3, 4);
	rig_queue_start(&b->q, 0);
}

/* Continues behind the descriptor that faulted. */
static void go_on(struct bench *b)
{
	uint64_t seq = rig_seq(&b->q) + 1;

	assert_int_equal(rig_get(b->r, REG_EVENT), REG_EVENT_FAULT);
	rig_set(b->r, REG_EVENT, REG_EVENT_FAULT);
	/* Nothing starts or continues it but a stop. */
	rig_set(b->r, REG_QUEUE_CTRL(4), REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(b->r, REG_QUEUE_STATE(4)), VTA_QUEUE_HALTED);
	rig_queue_stop(&b->q, false);
	assert_int_equal(b->q.page->status.fault_reason, VTA_FAULT_NONE);
	rig_queue_start(&b->q, seq);
	assert_int_equal(b->q.page->fault.reason, 0);
	assert_int_equal(b->q.page->fault.seq, 0);
	rig_do(&b->q, vtadev_desc_nop());
	assert_int_equal(rig_seq(&b->q), seq + 1);
	assert_int_equal(rig_counter(b->r, VTA_COUNTER_FAULTS), ++b->restarts);
}

/* The host refuses a write, and the card does not learn of it. */
static bool is_posted(enum vta_fault_reason reason, enum vta_access access)
{
	return reason == VTA_FAULT_DMA && !rig_is_emulator() &&
	       (access == VTA_ACCESS_COPY_DST || access == VTA_ACCESS_SIGNAL ||
		access == VTA_ACCESS_STAMP || access == VTA_ACCESS_STORE);
}

static void expect(struct bench *b, struct vta_desc desc, enum vta_fault_reason reason,
		   enum vta_access access, uint32_t addr)
{
	static const uint32_t none[4];
	struct vta_fault fault;

	if (is_posted(reason, access))
		return;
	fault = rig_fails(&b->q, desc, reason, access, addr);
	assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
	assert_memory_equal(fault.insn, none, sizeof(none));
	go_on(b);
}

/* A RUN whose instruction @index faults. */
static void expect_run(struct bench *b, const struct prog *p, uint32_t index,
		       enum vta_fault_reason reason, enum vta_access access, uint32_t addr)
{
	struct vta_fault fault;

	if (is_posted(reason, access))
		return;
	fault = rig_fails(&b->q, vtadev_desc_run(CODE, p->count, 0), reason, access, addr);
	assert_int_equal(fault.insn_index, index);
	assert_memory_equal(fault.insn, &p->at[index], sizeof(fault.insn));
	go_on(b);
}

/* ---- Descriptors ---- */

TEST_F(RIG, reserved_bits)
{
	/* The operands each operation has, by 32-bit word from 0x10. */
	static const struct { struct vta_desc desc; uint32_t fields; } ops[] = {
		{ { .op_flags = VTA_OP_NOP }, 0 },
		{ { .op_flags = VTA_OP_RUN }, 0xf },
		{ { .op_flags = VTA_OP_COPY }, 0x3f },
		{ { .op_flags = VTA_OP_FILL }, 0x1f },
		{ { .op_flags = VTA_OP_SIGNAL, .sync.addr = DATA }, 0xd },
		{ { .op_flags = VTA_OP_WAIT, .sync.addr = DATA }, 0xd },
	};
	struct bench b;

	bench(&b, r);
	for (size_t op = 0; op < sizeof(ops) / sizeof(ops[0]); op++) {
		for (unsigned int word = 0; word < 16; word++) {
			struct vta_desc desc = ops[op].desc;

			if (word == 0 || (word >= 4 && ops[op].fields >> (word - 4) & 1))
				continue;
			((uint32_t *)&desc)[word] = 1u << (word * 7 % 32);
			expect(&b, desc, VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
		}
		for (unsigned int bit = 9; bit < 32; bit++) {
			struct vta_desc desc = ops[op].desc;

			desc.op_flags |= 1u << bit;
			expect(&b, desc, VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
		}
		rig_do(&b.q, ops[op].desc);
	}
}

TEST_F(RIG, unknown_operations)
{
	struct bench b;

	bench(&b, r);
	for (uint32_t op = VTA_OP_WAIT + 1; op < 256; op += op < 10 ? 1 : 49)
		expect(&b, (struct vta_desc) { .op_flags = op }, VTA_FAULT_DESC, VTA_ACCESS_NONE,
		       0);
}

TEST_F(RIG, copy_size)
{
	static const struct { uint32_t width, rows; } bad[] = {
		{ 0x10000, 0x10001 }, { 0xffffffff, 2 }, { 0xffffffff, 0xffffffff },
		{ 2, 0x80000001 },
	};
	struct bench b;

	bench(&b, r);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vta_desc desc = vtadev_desc_fill2d(DATA, 0, 0, bad[i].width, bad[i].rows);

		expect(&b, desc, VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
		desc.op_flags = VTA_OP_COPY;
		expect(&b, desc, VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
	}
	/* Just 2^32 is allowed. */
	expect(&b, vtadev_desc_fill2d(NOWHERE, 0, 0, 0x10000, 0x10000), VTA_FAULT_PAGE,
	       VTA_ACCESS_COPY_DST, NOWHERE);
}

TEST_F(RIG, alignment)
{
	struct vta_desc desc;
	struct bench b;

	bench(&b, r);
	for (uint32_t off = 1; off < 16; off++)
		expect(&b, vtadev_desc_run(CODE + off, 0, 0), VTA_FAULT_ALIGN, VTA_ACCESS_INSN,
		       CODE + off);
	for (uint32_t off = 1; off < 8; off++) {
		expect(&b, vtadev_desc_signal(DATA + off, 1), VTA_FAULT_ALIGN, VTA_ACCESS_SIGNAL,
		       DATA + off);
		expect(&b, vtadev_desc_wait(DATA + off, 0), VTA_FAULT_ALIGN, VTA_ACCESS_WAIT,
		       DATA + off);
		expect(&b, rig_stamped(vtadev_desc_nop(), DATA + off), VTA_FAULT_ALIGN,
		       VTA_ACCESS_STAMP, DATA + off);
	}
	/* DESC comes before ALIGN. */
	desc = vtadev_desc_signal(DATA + 1, 1);
	desc.sync.reserved = 1;
	expect(&b, desc, VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
	/* ALIGN comes before execution. */
	expect(&b, rig_stamped(vtadev_desc_signal(NOWHERE, 1), DATA + 4), VTA_FAULT_ALIGN,
	       VTA_ACCESS_STAMP, DATA + 4);
}

/* ---- Memory ---- */

/* Each access, to each kind of place where it cannot be done. */
TEST_F(RIG, memory_faults)
{
	static const struct { uint32_t addr; enum vta_fault_reason read, write; } places[] = {
		{ NOWHERE, VTA_FAULT_PAGE, VTA_FAULT_PAGE },
		{ 8, VTA_FAULT_PAGE, VTA_FAULT_PAGE },
		{ BAD + 8, VTA_FAULT_ENTRY, VTA_FAULT_ENTRY },
		{ GONE + 16, VTA_FAULT_DMA, VTA_FAULT_DMA },
		{ RO + 16, VTA_FAULT_NONE, VTA_FAULT_PERM },
	};
	struct bench b;

	bench(&b, r);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint32_t addr = places[i].addr;

		expect(&b, vtadev_desc_copy(addr, DATA, 1), places[i].write, VTA_ACCESS_COPY_DST,
		       addr);
		expect(&b, vtadev_desc_fill(addr, 0, 1), places[i].write, VTA_ACCESS_COPY_DST,
		       addr);
		expect(&b, vtadev_desc_signal(addr, 1), places[i].write, VTA_ACCESS_SIGNAL, addr);
		expect(&b, rig_stamped(vtadev_desc_nop(), addr), places[i].write, VTA_ACCESS_STAMP,
		       addr);
		if (!places[i].read)
			continue;
		expect(&b, vtadev_desc_copy(DATA, addr, 1), places[i].read, VTA_ACCESS_COPY_SRC,
		       addr);
		expect(&b, vtadev_desc_wait(addr, 0), places[i].read, VTA_ACCESS_WAIT, addr);
	}
}

/* The first address that cannot be accessed, with what comes before it done. */
TEST_F(RIG, first_address)
{
	struct bench b;

	bench(&b, r);
	memset(b.data, 0, 8192);
	expect(&b, vtadev_desc_fill(DATA + 4096 + 5, 0x77777777, 8192), VTA_FAULT_PAGE,
	       VTA_ACCESS_COPY_DST, DATA + 8192);
	assert_int_equal(b.data[4096 + 4], 0);
	assert_int_equal(b.data[4096 + 5], 0x77);
	assert_int_equal(b.data[8191], 0x77);
	expect(&b, vtadev_desc_copy(DATA, DATA + 4096 + 5, 4096), VTA_FAULT_PAGE,
	       VTA_ACCESS_COPY_SRC, DATA + 8192);
	assert_int_equal(b.data[0], 0x77);
	assert_int_equal(b.data[4090], 0x77);
	assert_int_equal(b.data[4091], 0);
	/* A stamp of which one half can be written. */
	expect(&b, rig_stamped(vtadev_desc_nop(), DATA + 8192 - 16), VTA_FAULT_PAGE,
	       VTA_ACCESS_STAMP, DATA + 8192);
	/* The effects came before the stamp that could not be written. */
	expect(&b, rig_stamped(vtadev_desc_signal(DATA, 42), NOWHERE), VTA_FAULT_PAGE,
	       VTA_ACCESS_STAMP, NOWHERE);
	assert_int_equal(b.data[0], 42);
}

TEST_F(RIG, ring_faults)
{
	struct vta_fault fault;
	struct bench b;

	bench(&b, r);
	/* Three pages of which the last is not there. */
	rig_queue(r, &b.q, 5, 3, 7);
	b.q.submitted = 126;
	rig_set64(r, REG_QUEUE_START_LO(5), 126);
	rig_set(r, REG_QUEUE_SUBMITTED(5), 126);
	rig_set(r, REG_QUEUE_CTRL(5), REG_QUEUE_CTRL_ENABLE);
	*rig_l2(r, 3, RIG_RING(5) + 4096) = 0;
	rig_invalidate(r, 3);
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	fault = rig_halted(&b.q);
	assert_int_equal(fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(fault.access, VTA_ACCESS_RING);
	assert_int_equal(fault.seq, 127);
	assert_int_equal(fault.addr, RIG_RING(5) + 126 * 64);
	assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
	/* A ring over the end of the address space. */
	rig_queue_stop(&b.q, false);
	rig_set(r, REG_QUEUE_RING_ADDR(5), 0xfffff000);
	rig_map(r, 3, 0xfffff000, rig_pages(r, 1), RIG_RO);
	rig_set64(r, REG_QUEUE_START_LO(5), 63);
	rig_set(r, REG_QUEUE_CTRL(5), REG_QUEUE_CTRL_ENABLE);
	rig_doorbell(r, 5, 65);
	fault = rig_halted(&b.q);
	assert_int_equal(fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(fault.seq, 65);
	assert_int_equal(fault.addr, 0);
}

/* As on PCIe, where a card does not learn of a refused write: it counts as done. */
TEST(refused_writes_that_are_posted)
{
	struct rig rig, *r = &rig;
	struct bench b;

	rig_start(r, (const char *const[]) { "--posted-writes", NULL });
	bench(&b, r);
	rig_do(&b.q, vtadev_desc_copy(GONE, DATA, 4096));
	rig_do(&b.q, vtadev_desc_fill2d(GONE + 1, 0, 0x77777777, 3000, 5));
	rig_do(&b.q, vtadev_desc_signal(GONE, 1));
	rig_do(&b.q, rig_stamped(vtadev_desc_nop(), GONE + 8));
	assert_int_equal(rig_seq(&b.q), 4);
	assert_int_equal(rig_counter(r, VTA_COUNTER_FAULTS), 0);
	/* Reads are answered, or not. */
	expect(&b, vtadev_desc_copy(DATA, GONE, 1), VTA_FAULT_DMA, VTA_ACCESS_COPY_SRC, GONE);
	/* A queue without a receiver of its records goes on; its registers are there. */
	rig_queue(r, &b.q, 5, 3, 4);
	rig_set64(r, REG_QUEUE_STATUS_LO(5), GONE_BUS);
	rig_set(r, REG_QUEUE_CTRL(5), REG_QUEUE_CTRL_ENABLE);
	rig_await(r, REG_QUEUE_STATE(5), REG_QUEUE_STATE_STATE, VTA_QUEUE_ACTIVE);
	rig_put(&b.q, vtadev_desc_fill(DATA, 0x12121212, 64));
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_SEQ_LO(5), UINT32_MAX, 1);
	assert_int_equal(b.data[63], 0x12);
	assert_int_equal(rig_get(r, REG_STATUS) & REG_STATUS_FATAL, 0);
	rig_stop(r);
}

/* The table itself is in memory that the host refuses. */
TEST_F(RIG, table_faults)
{
	struct bench b;

	bench(&b, r);
	*rig_l1(r, 3, 0x40000000) = GONE_BUS | VTA_PTE_VALID;
	expect(&b, vtadev_desc_copy(DATA, 0x40001230, 4), VTA_FAULT_DMA, VTA_ACCESS_COPY_SRC,
	       0x40001230);
}

/* ---- Instructions ---- */

TEST_F(RIG, instruction_accesses)
{
	static const struct { enum insn_memory memory; enum vta_access access; } loads[] = {
		{ INSN_UOP, VTA_ACCESS_UOP }, { INSN_INP, VTA_ACCESS_LOAD },
		{ INSN_WGT, VTA_ACCESS_LOAD }, { INSN_ACC, VTA_ACCESS_LOAD },
		{ INSN_ACC_8BIT, VTA_ACCESS_LOAD },
	};
	static const struct { uint32_t addr; enum vta_fault_reason read, write; } places[] = {
		{ NOWHERE, VTA_FAULT_PAGE, VTA_FAULT_PAGE },
		{ BAD, VTA_FAULT_ENTRY, VTA_FAULT_ENTRY },
		{ GONE, VTA_FAULT_DMA, VTA_FAULT_DMA },
		{ RO, VTA_FAULT_NONE, VTA_FAULT_PERM },
	};
	struct bench b;

	bench(&b, r);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (size_t k = 0; k < sizeof(loads) / sizeof(loads[0]); k++) {
			struct prog p = prog_at(b.code);

			prog_load(&p, INSN_ACC, 0, DATA, 1, 0);
			prog_load(&p, loads[k].memory, 0, places[i].addr, 1, 0);
			if (places[i].read)
				expect_run(&b, &p, 1, places[i].read, loads[k].access,
					   places[i].addr);
			else
				rig_do(&b.q, vtadev_desc_run(CODE, p.count, 0));
		}
		struct prog p = prog_at(b.code);

		prog_store(&p, 0, places[i].addr, 1, 0);
		expect_run(&b, &p, 0, places[i].write, VTA_ACCESS_STORE, places[i].addr);
	}
}

TEST_F(RIG, instruction_fetch)
{
	struct bench b;
	struct vta_fault fault;
	struct prog p;

	bench(&b, r);
	/* Up to the page's end, and on. */
	p = prog_at((uint8_t *)b.code + 4096 - 32);
	prog_add_imm(&p, 1, 0);
	prog_add_imm(&p, 1, 0);
	rig_do(&b.q, vtadev_desc_run(CODE + 4096 - 32, 2, 0));
	fault = rig_fails(&b.q, vtadev_desc_run(CODE + 4096 - 32, 3, 0), VTA_FAULT_PAGE,
			  VTA_ACCESS_INSN, CODE + 4096);
	assert_int_equal(fault.insn_index, 2);
	assert_int_equal(fault.insn[0] | fault.insn[1] | fault.insn[2] | fault.insn[3], 0);
	go_on(&b);
}

TEST_F(RIG, illegal_instructions)
{
	struct bench b;
	struct prog p;

	bench(&b, r);
	p = prog_at(b.code);
	prog_add_imm(&p, 1, 0);
	prog_add(&p, (struct insn) { { 7, 0x1234567890abcdef } });
	expect_run(&b, &p, 1, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
	p = prog_at(b.code);
	prog_load(&p, INSN_ACC, PROG_ACC_DEPTH - 1, DATA, 2, 0);
	expect_run(&b, &p, 0, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	p = prog_at(b.code);
	prog_add_imm(&p, 1, INSN_POP_PREV);
	expect_run(&b, &p, 0, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

/* ---- Limits ---- */

static void runs_out(struct bench *b, uint64_t limit)
{
	struct vta_desc run = vtadev_desc_run(CODE, 1, 0);

	run.run.cycle_limit = limit;
	assert_int_equal(rig_fails(&b->q, run, VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 0).insn_index,
			 0);
	go_on(b);
}

TEST_F(RIG, cycle_limits)
{
	struct bench b;
	struct prog p;

	bench(&b, r);
	p = prog_at(b.code);
	prog_busy(&p);
	runs_out(&b, 1000);
	rig_queue_stop(&b.q, false);
	rig_set64(r, REG_QUEUE_CYCLES_LO(4), 2000);
	rig_queue_start(&b.q, 0);
	runs_out(&b, 0);
	runs_out(&b, UINT64_MAX);
	runs_out(&b, 1000);
	/* A copy that would take more moves nothing. */
	b.data[0] = 1;
	expect(&b, vtadev_desc_fill(DATA, 0, 16 * (2000 - 17) + 1), VTA_FAULT_CYCLES,
	       VTA_ACCESS_NONE, 0);
	assert_int_equal(b.data[0], 1);
	rig_do(&b.q, vtadev_desc_fill(DATA, 0, 4096));
	/* Just as much is allowed: then it is the page that is not there. */
	expect(&b, vtadev_desc_fill(DATA, 0, 16 * (2000 - 17)), VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST,
	       DATA + 8192);
	/* Rows of nothing take a cycle too. */
	expect(&b, (struct vta_desc) { .op_flags = VTA_OP_COPY, .copy.rows = 1985 },
	       VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 0);
	rig_do(&b.q, (struct vta_desc) { .op_flags = VTA_OP_COPY, .copy.rows = 1984 });
	/* ALIGN comes first. */
	expect(&b, rig_stamped(vtadev_desc_fill(DATA, 0, 65536), DATA + 4), VTA_FAULT_ALIGN,
	       VTA_ACCESS_STAMP, DATA + 4);
}

/* ---- What a fault means for others ---- */

TEST_F(RIG, others_are_not_affected)
{
	struct rig_queue other;
	struct bench b;

	bench(&b, r);
	rig_queue(r, &other, 1, 3, 4);
	rig_queue_start(&other, 0);
	for (int i = 0; i < 10; i++)
		rig_put(&other, i % 2 ? vtadev_desc_fill(DATA, 1, 8192) : vtadev_desc_nop());
	rig_submit(&other);
	expect(&b, vtadev_desc_fill(NOWHERE, 1, 1), VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST, NOWHERE);
	rig_wait_seq(&other, 10);
	assert_int_equal(rig_state(&other), VTA_QUEUE_ACTIVE);
}

TEST_F(RIG, halted_queue_is_quiet)
{
	struct bench b;

	bench(&b, r);
	rig_set(r, REG_QUEUE_ARM(4), 2);
	rig_put(&b.q, vtadev_desc_nop());
	rig_put(&b.q, (struct vta_desc) { .op_flags = 0xff });
	rig_put(&b.q, vtadev_desc_fill(DATA, 0xdddddddd, 4));
	rig_submit(&b.q);
	assert_int_equal(rig_halted(&b.q).seq, 2);
	rig_submit(&b.q);
	rig_set(r, REG_QUEUE_ARM(4), 0);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(4), RIG_NEVER), 0);
	assert_int_equal(b.data[0], 0);
	assert_int_equal(rig_get64(r, REG_QUEUE_SEQ_LO(4)), 1);
	/* The record stays until the queue is started again. */
	rig_queue_stop(&b.q, false);
	assert_int_equal(b.q.page->fault.reason, VTA_FAULT_DESC);
}

/* There is nowhere to report it. */
TEST_F(RIG, status_page_gone)
{
	struct rig_queue q;
	struct bench b;

	if (!rig_is_emulator())
		skip();
	bench(&b, r);
	rig_queue(r, &q, 2, 3, 4);
	rig_set(r, REG_EVENT_ENABLE, REG_EVENT_ALL);
	rig_set64(r, REG_QUEUE_STATUS_LO(2), GONE_BUS);
	rig_set(r, REG_QUEUE_CTRL(2), REG_QUEUE_CTRL_ENABLE);
	rig_await(r, REG_STATUS, REG_STATUS_FATAL, REG_STATUS_FATAL);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(2)), VTA_QUEUE_HALTED);
	assert_int_equal(rig_get(r, REG_EVENT), REG_EVENT_FATAL | REG_EVENT_FAULT);
	assert_int_equal(vfc_irq_wait(&r->c, 0, RIG_SOON), 1);
	/* Stopping works, serving does not, and a reset helps. */
	rig_set(r, REG_QUEUE_CTRL(2), 0);
	rig_await(r, REG_QUEUE_STATE(2), 0x1f, VTA_QUEUE_DISABLED);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_STATUS), REG_STATUS_READY);
}

/* In the midst of work: the completion cannot be written. */
TEST_F(RIG, status_page_goes)
{
	struct rig_queue q;
	struct bench b;
	uint64_t status = RIG_RAM + RIG_RAM_SIZE;

	if (!rig_is_emulator())
		skip();
	bench(&b, r);
	assert_int_equal(vfc_dma_map(&r->c, status, 4096, VFIO_DMA_MAP_FLAG_READ |
				     VFIO_DMA_MAP_FLAG_WRITE, r->c.ram_fd, RIG_RAM_SIZE - 4096),
			 0);
	rig_queue(r, &q, 2, 3, 4);
	rig_set64(r, REG_QUEUE_STATUS_LO(2), status);
	rig_set(r, REG_QUEUE_CTRL(2), REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(2)), VTA_QUEUE_ACTIVE);
	assert_int_equal(vfc_dma_unmap(&r->c, status, 4096, 0), 0);
	rig_put(&q, vtadev_desc_nop());
	rig_submit(&q);
	rig_await(r, REG_STATUS, REG_STATUS_FATAL, REG_STATUS_FATAL);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(2)), VTA_QUEUE_HALTED);
	assert_int_equal(rig_get64(r, REG_QUEUE_SEQ_LO(2)), 0);
}
