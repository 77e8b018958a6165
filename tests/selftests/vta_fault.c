// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_fault - every fault that a process can cause: the right record, and no effect on other
 * processes (kmod/vta_fault.c, kmod/vta_history.c)
 *
 * ENTRY and DMA cannot be had from here: page tables and bus addresses are the
 * kernel's.
 */
#include <sys/prctl.h>

#include "vta_harness.h"
#include "vta_insn.h"

/* Addresses in the context, so that descriptors can be constants. */
#define RW	0x10000000u
#define RO	0x20000000u
#define CODE	0x30000000u
#define HOLE	0x40000000u
#define SIZE	0x10000u

/* Writes a stream, whose instruction 1 is the bad one; returns its length. */
typedef unsigned int (*stream_fn)(const struct core *core, struct insn *code);

FIXTURE_VARIANT(fault) {
	uint32_t desc[16];
	stream_fn stream;	/* instead: a RUN of that */
	uint64_t limit;		/* of cycles */
	uint32_t reason;
	uint32_t access;
	uint32_t addr;
};

FIXTURE(fault) {
	int fd;
	struct core core;
	struct queue q;
	struct mem rw, ro, code;
	struct vta_desc bad;
};

FIXTURE_SETUP(fault)
{
	struct vta_info info;
	uint32_t words[16];
	unsigned int i;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &info));
	self->core = core_of(&info);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->rw, SIZE, VTA_BUF_HOST, RW));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->ro, SIZE, VTA_BUF_READONLY, RO));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->code, SIZE, VTA_BUF_READONLY, CODE));
	for (i = 0; i < 16; i++)
		words[i] = htole32(variant->desc[i]);
	memcpy(&self->bad, words, sizeof(self->bad));
	if (variant->stream) {
		i = variant->stream(&self->core, self->code.ptr);
		self->bad = desc_run(CODE, i, variant->limit);
	}
}

FIXTURE_TEARDOWN(fault)
{
	close(self->fd);
}

/* ---- descriptors ---- */

/* Descriptors word by word (docs/hardware.md, 7), to be malformed at will. */
#define COPY(_dst, _src, _width)						\
	{ [0] = VTA_OP_COPY, [4] = _dst, [5] = _src, [6] = _width, [7] = 1 }
#define FILL(_dst, _width)							\
	{ [0] = VTA_OP_FILL, [4] = _dst, [6] = _width, [7] = 1 }
#define SYNC(_op, _addr, _value)						\
	{ [0] = _op, [4] = _addr, [6] = _value }
#define STAMP(_addr)								\
	{ [0] = VTA_OP_NOP | VTA_DESC_STAMP, [1] = _addr }
#define RUN(_addr, _count)							\
	{ [0] = VTA_OP_RUN, [4] = _addr, [5] = _count }

#define FAULT(_reason, _access, _addr, ...)					\
	{ .desc = __VA_ARGS__, .reason = VTA_FAULT_##_reason,			\
	  .access = VTA_ACCESS_##_access, .addr = _addr }

FIXTURE_VARIANT_ADD(fault, page_copy_src)
	FAULT(PAGE, COPY_SRC, HOLE, COPY(RW, HOLE, 16));
FIXTURE_VARIANT_ADD(fault, page_copy_dst)
	FAULT(PAGE, COPY_DST, HOLE, COPY(HOLE, RW, 16));
FIXTURE_VARIANT_ADD(fault, page_fill)
	FAULT(PAGE, COPY_DST, HOLE, FILL(HOLE, 16));
FIXTURE_VARIANT_ADD(fault, page_signal)
	FAULT(PAGE, SIGNAL, HOLE, SYNC(VTA_OP_SIGNAL, HOLE, 1));
FIXTURE_VARIANT_ADD(fault, page_wait)
	FAULT(PAGE, WAIT, HOLE, SYNC(VTA_OP_WAIT, HOLE, 1));
FIXTURE_VARIANT_ADD(fault, page_stamp)
	FAULT(PAGE, STAMP, HOLE, STAMP(HOLE));
FIXTURE_VARIANT_ADD(fault, page_insn)
	FAULT(PAGE, INSN, HOLE, RUN(HOLE, 1));
FIXTURE_VARIANT_ADD(fault, page_zero)
	FAULT(PAGE, COPY_SRC, 0, COPY(RW, 0, 4));
FIXTURE_VARIANT_ADD(fault, page_zero_end)
	FAULT(PAGE, COPY_DST, 0xffc, FILL(0xffc, 4));
FIXTURE_VARIANT_ADD(fault, page_before_buffer)
	FAULT(PAGE, COPY_SRC, RW - 4, COPY(RW + 64, RW - 4, 8));
FIXTURE_VARIANT_ADD(fault, page_behind_buffer)
	FAULT(PAGE, COPY_DST, RW + SIZE, FILL(RW + SIZE - 4, 8));
FIXTURE_VARIANT_ADD(fault, page_last_byte)
	FAULT(PAGE, COPY_SRC, 0xffffffff, COPY(RW, 0xffffffff, 1));

FIXTURE_VARIANT_ADD(fault, perm_copy)
	FAULT(PERM, COPY_DST, RO + 5, COPY(RO + 5, RW, 16));
FIXTURE_VARIANT_ADD(fault, perm_fill)
	FAULT(PERM, COPY_DST, RO, FILL(RO, 16));
FIXTURE_VARIANT_ADD(fault, perm_signal)
	FAULT(PERM, SIGNAL, RO + 8, SYNC(VTA_OP_SIGNAL, RO + 8, 1));
FIXTURE_VARIANT_ADD(fault, perm_stamp)
	FAULT(PERM, STAMP, RO, STAMP(RO));

FIXTURE_VARIANT_ADD(fault, desc_unknown_op)
	FAULT(DESC, NONE, 0, { 6 });
FIXTURE_VARIANT_ADD(fault, desc_last_op)
	FAULT(DESC, NONE, 0, { 255 });
FIXTURE_VARIANT_ADD(fault, desc_unknown_flag)
	FAULT(DESC, NONE, 0, { 0x200 });
FIXTURE_VARIANT_ADD(fault, desc_high_flag)
	FAULT(DESC, NONE, 0, { 0x80000000 });
FIXTURE_VARIANT_ADD(fault, desc_reserved_low)
	FAULT(DESC, NONE, 0, { [2] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_reserved_high)
	FAULT(DESC, NONE, 0, { [3] = 0x80000000 });
FIXTURE_VARIANT_ADD(fault, desc_stamp_addr_without_stamp)
	FAULT(DESC, NONE, 0, { [1] = RW });
FIXTURE_VARIANT_ADD(fault, desc_nop_operand)
	FAULT(DESC, NONE, 0, { [4] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_nop_tail)
	FAULT(DESC, NONE, 0, { [15] = 0x80000000 });
FIXTURE_VARIANT_ADD(fault, desc_run_tail)
	FAULT(DESC, NONE, 0, { VTA_OP_RUN, [8] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_copy_tail)
	FAULT(DESC, NONE, 0, { VTA_OP_COPY, [10] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_fill_tail)
	FAULT(DESC, NONE, 0, { VTA_OP_FILL, [9] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_signal_reserved)
	FAULT(DESC, NONE, 0, { VTA_OP_SIGNAL, [4] = RW, [5] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_wait_tail)
	FAULT(DESC, NONE, 0, { VTA_OP_WAIT, [4] = RW, [8] = 1 });
FIXTURE_VARIANT_ADD(fault, desc_copy_too_much)
	FAULT(DESC, NONE, 0, { VTA_OP_COPY, [4] = RW, RO, 0x10001, 0x10000 });
FIXTURE_VARIANT_ADD(fault, desc_fill_too_much)
	FAULT(DESC, NONE, 0, { VTA_OP_FILL, [4] = RW, 0, ~0u, ~0u });

FIXTURE_VARIANT_ADD(fault, align_run)
	FAULT(ALIGN, INSN, CODE + 8, RUN(CODE + 8, 1));
FIXTURE_VARIANT_ADD(fault, align_signal)
	FAULT(ALIGN, SIGNAL, RW + 4, SYNC(VTA_OP_SIGNAL, RW + 4, 1));
FIXTURE_VARIANT_ADD(fault, align_wait)
	FAULT(ALIGN, WAIT, RW + 1, SYNC(VTA_OP_WAIT, RW + 1, 0));
FIXTURE_VARIANT_ADD(fault, align_stamp)
	FAULT(ALIGN, STAMP, RW + 4, STAMP(RW + 4));

/* ---- instructions ---- */

#define FAULT_STREAM(_name, _reason, _access, _addr, _limit, ...)		\
	static unsigned int stream_##_name(const struct core *c, struct insn *code)	\
	{									\
		(void)c;							\
		code[0] = insn_load(VTA_ISA_UOP, 0, 0, 1, 0);	\
		code[1] = __VA_ARGS__;						\
		return 2;							\
	}									\
	FIXTURE_VARIANT_ADD(fault, _name) {					\
		.stream = stream_##_name,					\
		.limit = _limit,						\
		.reason = VTA_FAULT_##_reason,					\
		.access = VTA_ACCESS_##_access,					\
		.addr = _addr,							\
	}

/* Micro-op 0 is zero: it names the first element of everything. */
#define LOOPS(_uops, _outer, _inner, ...)					\
	(&(struct vta_isa_loop) { .uop_end = _uops, .iter_out = _outer, .iter_in = _inner,	\
				  ##__VA_ARGS__ })

FAULT_STREAM(page_uop_load, PAGE, UOP, HOLE, 0,
	     insn_load(VTA_ISA_UOP, 0, HOLE / 4, 1, 8));
FAULT_STREAM(page_inp_load, PAGE, LOAD, HOLE, 0,
	     insn_load(VTA_ISA_INP, 0, HOLE / c->inp_bytes, 1, 1));
FAULT_STREAM(page_wgt_load, PAGE, LOAD, HOLE, 0,
	     insn_load(VTA_ISA_WGT, 0, HOLE / c->wgt_bytes, 1, 1));
FAULT_STREAM(page_acc_load, PAGE, LOAD, RW + SIZE, 0,
	     insn_load(VTA_ISA_ACC, 0, (RW + SIZE) / c->acc_bytes - 1, 1, 2));
FAULT_STREAM(page_store, PAGE, STORE, HOLE, 0,
	     insn_store(VTA_ISA_OUT, 0, HOLE / c->inp_bytes, 1, 1));
/* Byte address 2^32 and RW: must not wrap round to RW. */
FAULT_STREAM(page_load_beyond_4g, PAGE, LOAD, RW, 0,
	     insn_load(VTA_ISA_WGT, 0, (uint32_t)(((1ull << 32) + RW) / c->wgt_bytes), 1, 1));
FAULT_STREAM(perm_store, PERM, STORE, RO, 0,
	     insn_store(VTA_ISA_OUT, 0, RO / c->inp_bytes, 1, 1));

FAULT_STREAM(insn_opcode_5, INSN, NONE, 0, 0, (struct insn) { { htole64(5) } });
FAULT_STREAM(insn_opcode_7, INSN, NONE, 0, 0, (struct insn) { { htole64(7) } });
FAULT_STREAM(insn_alu_opcode, INSN, NONE, 0, 0, insn_alu(c, 0, 5, 0, LOOPS(1, 1, 1)));
FAULT_STREAM(insn_load_of_out, INSN, NONE, 0, 0,
	     insn_load(VTA_ISA_OUT, 0, RW / c->inp_bytes, 1, 1));
FAULT_STREAM(insn_load_of_type_7, INSN, NONE, 0, 0,
	     insn_load(7, 0, RW / c->inp_bytes, 1, 1));
FAULT_STREAM(insn_store_of_acc, INSN, NONE, 0, 0,
	     insn_store(VTA_ISA_ACC, 0, RW / c->acc_bytes, 1, 1));

FAULT_STREAM(bounds_inp_load, BOUNDS, NONE, 0, 0,
	     insn_load(VTA_ISA_INP, 1u << c->log.inp, RW / c->inp_bytes, 1, 1));
FAULT_STREAM(bounds_wgt_load, BOUNDS, NONE, 0, 0,
	     insn_load(VTA_ISA_WGT, (1u << c->log.wgt) - 1, RW / c->wgt_bytes, 1, 2));
FAULT_STREAM(bounds_store, BOUNDS, NONE, 0, 0,
	     insn_store(VTA_ISA_OUT, 0xffff, RW / c->inp_bytes, 1, 1));
FAULT_STREAM(bounds_gemm_dst, BOUNDS, NONE, 0, 0,
	     insn_gemm(c, 0, LOOPS(1, 3, 1, .reset = 1, .dst_factor_out = 1u << (c->log.acc - 1))));
FAULT_STREAM(bounds_gemm_src, BOUNDS, NONE, 0, 0,
	     insn_gemm(c, 0, LOOPS(1, 1, 3, .src_factor_in = 1u << (c->log.inp - 1))));
FAULT_STREAM(bounds_gemm_wgt, BOUNDS, NONE, 0, 0,
	     insn_gemm(c, 0, LOOPS(1, 1, 3, .wgt_factor_in = 1u << (c->log.wgt - 1))));
FAULT_STREAM(bounds_alu_dst, BOUNDS, NONE, 0, 0,
	     insn_alu(c, 0, VTA_ISA_ADD, 1, LOOPS(1, 9999, 1, .dst_factor_out = 1)));
FAULT_STREAM(bounds_uop, BOUNDS, NONE, 0, 0,
	     insn_gemm(c, 0, LOOPS((1u << c->log.uop) + 1, 1, 1, .reset = 1)));

FAULT_STREAM(cycles, CYCLES, NONE, 0, 100,
	     insn_gemm(c, 0, LOOPS(1, 1000, 1000, .reset = 1)));
FAULT_STREAM(deadlock_load, DEADLOCK, NONE, 0, 0,
	     insn_move(VTA_ISA_LOAD | VTA_ISA_POP_NEXT, VTA_ISA_INP, 0, RW / c->inp_bytes, 1, 1));
FAULT_STREAM(deadlock_gemm, DEADLOCK, NONE, 0, 0,
	     insn_gemm(c, VTA_ISA_POP_PREV, LOOPS(1, 1, 1, .reset = 1)));
FAULT_STREAM(deadlock_store, DEADLOCK, NONE, 0, 0,
	     insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV, VTA_ISA_OUT, 0, RW / c->inp_bytes, 1, 1));

/* ---- effects of a fault ---- */

/* The waiter, poll(), the status page and the ioctl agree. */
TEST_F(fault, is_reported)
{
	const volatile struct vta_status_page *page = self->q.status;
	struct vta_desc descs[] = { desc_op(VTA_OP_NOP), self->bad, desc_op(VTA_OP_NOP) };
	uint64_t faults = card_counter("faults");
	struct vta_queue_fault fault;
	uint64_t done = 99;

	queue_submit(&self->q, descs, 3);
	EXPECT_EQ(0, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
	EXPECT_EQ(-EIO, queue_wait(&self->q, 3, PATIENCE_MS, &done));
	EXPECT_EQ(1, done);
	EXPECT_EQ(-EIO, queue_wait(&self->q, 2, 0, NULL));
	EXPECT_EQ(0, queue_wait(&self->q, 1, 0, NULL));
	EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
	EXPECT_EQ(faults + 1, card_counter("faults"));

	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(self->q.id, fault.queue);
	EXPECT_EQ(variant->reason, fault.reason);
	EXPECT_EQ(variant->access, fault.access);
	EXPECT_EQ(2, fault.seq);
	EXPECT_EQ(0, fault.pad);
	EXPECT_NE(0, fault.time);
	EXPECT_EQ(variant->addr, fault.addr);
	if (variant->stream) {
		EXPECT_EQ(1, fault.insn_index);
		EXPECT_EQ(0, memcmp(fault.insn, (struct insn *)self->code.ptr + 1, 16));
	} else if (variant->reason == VTA_FAULT_PAGE && variant->access == VTA_ACCESS_INSN) {
		EXPECT_EQ(0, fault.insn_index);
	} else {
		EXPECT_EQ(VTA_FAULT_NO_INSN, fault.insn_index);
	}

	EXPECT_EQ(1, le64toh(page->status.seq));
	EXPECT_EQ(VTA_QUEUE_HALTED, le32toh(page->status.state));
	EXPECT_EQ(fault.reason, le32toh(page->status.fault_reason));
	EXPECT_EQ(fault.reason, le32toh(page->fault.reason));
	EXPECT_EQ(fault.access, le32toh(page->fault.access));
	EXPECT_EQ(fault.seq, le64toh(page->fault.seq));
	EXPECT_EQ(fault.addr, le32toh(page->fault.addr));
	EXPECT_EQ(fault.insn_index, le32toh(page->fault.insn_index));
	EXPECT_EQ(fault.time, le64toh(page->fault.time));
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_EQ(fault.insn[i], le32toh(page->fault.insn[i]));
}

FIXTURE(halted) {
	struct client c;
};

FIXTURE_SETUP(halted)
{
	ASSERT_EQ(0, client_open(&self->c));
}

FIXTURE_TEARDOWN(halted)
{
	close(self->c.fd);
}

TEST_F(halted, queue_rung_beyond_its_ring_has_a_doorbell_fault)
{
	struct vta_queue_fault fault;

	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	queue_ring(&self->c.q, (uint32_t)self->c.q.submitted + self->c.q.entries + 1);
	EXPECT_EQ(-EIO, queue_wait(&self->c.q, 2, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_fault(&self->c.q, &fault));
	EXPECT_EQ(VTA_FAULT_DOORBELL, fault.reason);
	EXPECT_EQ(VTA_ACCESS_NONE, fault.access);
	EXPECT_EQ(2, fault.seq);
}

TEST_F(halted, queue_rung_backwards_has_a_doorbell_fault)
{
	struct vta_queue_fault fault;

	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	queue_ring(&self->c.q, 1);
	EXPECT_EQ(-EIO, queue_wait(&self->c.q, 3, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_fault(&self->c.q, &fault));
	EXPECT_EQ(VTA_FAULT_DOORBELL, fault.reason);
}

static int other_process(void *arg)
{
	struct client c;

	(void)arg;
	MUST(!client_open(&c));
	for (unsigned int i = 0; i < 300; i++)
		MUST(!queue_do(&c.q, desc_fill(c.mem.addr, i, 4096)) &&
		     *(uint32_t *)c.mem.ptr == i);
	return 0;
}

/* Faults one after the other, while others compute and wait. */
TEST_F(halted, other_queues_are_unaffected)
{
	struct queue mine, doomed;
	int other = card_open();
	pid_t pid;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, queue_open(self->c.fd, &mine, NULL));
	pid = child_start(other_process, NULL);
	for (unsigned int i = 0; i < 50; i++) {
		ASSERT_EQ(0, queue_open(other, &doomed, NULL));
		ASSERT_EQ(-EIO, queue_do(&doomed, desc_fill(HOLE, 0, 1)));
		ASSERT_EQ(0, queue_do(&mine, desc_fill(self->c.mem.addr, i, 4)));
		ASSERT_EQ(i, *(volatile uint32_t *)self->c.mem.ptr);
		ASSERT_EQ(0, queue_close(&doomed));
	}
	EXPECT_EQ(0, child_end(pid));
	EXPECT_EQ(0, card_poll(self->c.fd, 0));
	close(other);
}

static int fault_by_another_name(void *arg)
{
	struct client c;

	(void)arg;
	MUST(!prctl(PR_SET_NAME, "a b\tc\377=\ndefghi", 0, 0, 0) && !client_open(&c));
	return !HOLDS(queue_do(&c.q, desc_fill(HOLE, 0, 1)) == -EIO);
}

TEST_F(halted, name_of_a_program_cannot_forge_the_log)
{
	const char *last;

	ASSERT_EQ(0, in_child(fault_by_another_name, NULL));
	last = card_last_line("fault_log");
	EXPECT_NE(NULL, strstr(last, " comm=a?b?c?=?defghi\n")) {
		TH_LOG("%s", last);
	}
}

TEST_F(halted, queue_can_be_replaced)
{
	struct vta_queue_fault fault;

	EXPECT_EQ(-EIO, queue_do(&self->c.q, desc_fill(HOLE, 0, 1)));
	EXPECT_EQ(POLLPRI, card_poll(self->c.fd, PATIENCE_MS));
	ASSERT_EQ(0, queue_close(&self->c.q));
	EXPECT_EQ(0, card_poll(self->c.fd, 0));
	ASSERT_EQ(0, queue_open(self->c.fd, &self->c.q, NULL));
	EXPECT_EQ(0, queue_seq(&self->c.q));
	ASSERT_EQ(0, queue_fault(&self->c.q, &fault));
	EXPECT_EQ(VTA_FAULT_NONE, fault.reason);
	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
}

TEST_F(halted, every_waiter_is_notified)
{
	enum { WAITERS = 5 };
	struct vta_desc descs[2] = { desc_wait(self->c.mem.addr, 1), desc_fill(HOLE, 0, 1) };
	struct waiter w[WAITERS];

	queue_submit(&self->c.q, descs, 2);
	ASSERT_EQ(0, waiter_arm(&w[0], &self->c.q, 2, PATIENCE_MS));
	for (unsigned int i = 1; i < WAITERS; i++)
		ASSERT_EQ(0, waiter_start(&w[i], &self->c.q, 2 + i, PATIENCE_MS));
	queue_release(&self->c.q, &self->c.mem, 1);
	for (unsigned int i = 0; i < WAITERS; i++) {
		EXPECT_EQ(-EIO, waiter_join(&w[i]));
		EXPECT_EQ(1, w[i].done);
	}
}

static void *fault_later(void *arg)
{
	sleep_ms(50);
	queue_put(arg, desc_fill(HOLE, 0, 1));
	return NULL;
}

/* No thread waits for the queue: the card's event alone wakes poll(). */
TEST_F(halted, poll_is_woken_without_a_waiter)
{
	uint64_t interrupts = card_counter("interrupts");
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, fault_later, &self->c.q));
	EXPECT_EQ(POLLPRI, card_poll(self->c.fd, PATIENCE_MS));
	pthread_join(thread, NULL);
	EXPECT_EQ(interrupts + 1, card_counter("interrupts"));
}

/* Whichever number is rung. */
TEST_F(halted, queue_executes_no_more_descriptors)
{
	EXPECT_EQ(-EIO, queue_do(&self->c.q, desc_fill(HOLE, 0, 1)));
	queue_put(&self->c.q, desc_op(VTA_OP_NOP));
	EXPECT_EQ(-EIO, queue_wait(&self->c.q, 1, 50, NULL));
	EXPECT_EQ(0, queue_seq(&self->c.q));
}

TEST_HARNESS_MAIN
