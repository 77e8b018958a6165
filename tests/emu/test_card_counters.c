// SPDX-License-Identifier: GPL-2.0-only
/*
 * The debug counters (docs/hardware.md, section 12), to the last one, for jobs
 * small enough to count by hand. The emulator's TLB holds all translations.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* guest memory, 4 pages */
#define CODE	0x00200000u	/* guest memory, 1 page */
#define CARD	0x00400000u	/* card memory, one block */

/* Bytes of a descriptor, of an entry, and of what a completion writes. */
#define DESC	64
#define ENTRY	8
#define DONE	56

struct bench {
	struct rig *r;
	struct rig_queue q;
	uint8_t *data;
	void *code;
};

static void bench(struct bench *b, struct rig *r)
{
	*b = (struct bench) { .r = r };
	rig_context(r, 0);
	b->data = rig_map_pages(r, 0, DATA, 4);
	b->code = rig_map_pages(r, 0, CODE, 1);
	rig_map_block(r, 0, CARD, 0, RIG_RW | RIG_CARD);
	rig_queue(r, &b->q, 0, 0, 4);
	rig_queue_start(&b->q, 0);
	/* The ring's page is in the TLB from now on. */
	rig_do(&b->q, vtadev_desc_nop());
	rig_clear_counters(r);
}

struct count {
	enum vta_counter counter;
	uint64_t val;
};

/* Clocks are counted of engines whose cycles are. In real time their number is not known. */
static bool clocks_fit(unsigned int i, uint64_t clocks, const uint64_t *want)
{
	unsigned int cycles = i == VTA_COUNTER_COMPUTE_CLOCKS ? VTA_COUNTER_COMPUTE_CYCLES :
								VTA_COUNTER_COPY_CYCLES;

	return !clocks == !want[cycles];
}

/* Counters follow the status record: waits for what changes last. */
static void await_last(struct bench *b, const uint64_t *want)
{
	static const enum vta_counter last[] = { VTA_COUNTER_DESCRIPTORS, VTA_COUNTER_FAULTS,
						 VTA_COUNTER_DMA_WRITE_BYTES };

	for (unsigned int i = 0; i < sizeof(last) / sizeof(*last); i++)
		rig_await(b->r, REG_COUNTER(last[i]), UINT32_MAX, want[last[i]]);
}

/* All counters at once: those named, up to VTA_COUNTERS, and zeros. */
static void expect(struct bench *b, const struct count *counts)
{
	uint64_t want[VTA_COUNTERS] = { 0 };

	uint64_t walks = 0;	/* by which hits may be fewer: of a smaller TLB */

	for (; counts->counter < VTA_COUNTERS; counts++)
		want[counts->counter] = counts->val;
	await_last(b, want);
	for (unsigned int i = 0; i < VTA_COUNTERS; i++) {
		uint64_t got = rig_counter(b->r, i);

		if (i == VTA_COUNTER_COMPUTE_CLOCKS || i == VTA_COUNTER_COPY_CLOCKS)
			assert_true(clocks_fit(i, got, want));
		else if (i == VTA_COUNTER_PAGE_WALKS && !rig_is_emulator() && got > want[i])
			walks = got - want[i];
		else if (got + (i == VTA_COUNTER_TLB_HITS ? walks : 0) != want[i])
			fail_msg("counter %u is %llu, not %llu", i, (unsigned long long)got,
				 (unsigned long long)want[i]);
	}
	rig_clear_counters(b->r);
}

#define N(name, val)	((struct count) { VTA_COUNTER_##name, (val) })
#define EXPECT(b, ...)	\
	expect(b, (const struct count[]) { __VA_ARGS__, { VTA_COUNTERS, 0 } })

TEST_F(RIG, start_and_stop)
{
	struct bench b;

	bench(&b, r);
	rig_set(r, REG_QUEUE_CTRL(0), 0);
	while (*(volatile uint32_t *)&b.q.page->status.state != VTA_QUEUE_DISABLED)
		;
	/* State and reason, in one word. */
	EXPECT(&b, N(MMIO_WRITES, 1), N(DMA_WRITE_BYTES, 8));
	rig_set(r, REG_QUEUE_SUBMITTED(0), 0);
	rig_set(r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ENABLE);
	EXPECT(&b, N(MMIO_WRITES, 2), N(DMA_WRITE_BYTES, 128));
	(void)rig_get(r, REG_STATUS);
	(void)rig_get(r, 0xf0);
	EXPECT(&b, N(MMIO_READS, 2), N(BAD_ACCESSES, 1));
}

TEST_F(RIG, nop)
{
	struct bench b;

	bench(&b, r);
	rig_do(&b.q, vtadev_desc_nop());
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC),
	       N(DMA_WRITE_BYTES, DONE), N(TLB_HITS, 1), N(DESCRIPTORS, 1));
}

TEST_F(RIG, walks_and_hits)
{
	struct bench b;

	bench(&b, r);
	/* A first access reads both levels. */
	rig_do(&b.q, vtadev_desc_signal(DATA, 1));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC + 2 * ENTRY),
	       N(DMA_WRITE_BYTES, 8 + DONE), N(TLB_HITS, 1), N(PAGE_WALKS, 1),
	       N(DESCRIPTORS, 1));
	/* The next page needs the second level only. */
	rig_do(&b.q, vtadev_desc_signal(DATA + 4096, 1));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC + ENTRY),
	       N(DMA_WRITE_BYTES, 8 + DONE), N(TLB_HITS, 1), N(PAGE_WALKS, 1),
	       N(DESCRIPTORS, 1));
	/* Both are in the TLB now. */
	rig_do(&b.q, vtadev_desc_signal(DATA + 4096, 1));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC),
	       N(DMA_WRITE_BYTES, 8 + DONE), N(TLB_HITS, 2), N(DESCRIPTORS, 1));
	/* A block is one entry. */
	rig_do(&b.q, vtadev_desc_signal(CARD + 0x12340, 1));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC + ENTRY),
	       N(DMA_WRITE_BYTES, DONE), N(MEM_WRITE_BYTES, 8), N(TLB_HITS, 1),
	       N(PAGE_WALKS, 1), N(DESCRIPTORS, 1));
	/* Dropped, all of it is read again: ring, then word. */
	rig_set(b.r, REG_TLB_INVALIDATE, 0);
	rig_do(&b.q, vtadev_desc_wait(DATA, 1));
	EXPECT(&b, N(MMIO_WRITES, 2), N(DOORBELLS, 1),
	       N(DMA_READ_BYTES, DESC + 4 * ENTRY + 8), N(DMA_WRITE_BYTES, DONE),
	       N(PAGE_WALKS, 2), N(TLB_INVALIDATIONS, 1), N(DESCRIPTORS, 1));
}

TEST_F(RIG, copy)
{
	struct bench b;

	bench(&b, r);
	rig_do(&b.q, vtadev_desc_fill(DATA, 0, 4 * 4096));
	/* Four pages, of which the first needs two entries. */
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC + 5 * ENTRY),
	       N(DMA_WRITE_BYTES, 4 * 4096 + DONE), N(TLB_HITS, 1), N(PAGE_WALKS, 4),
	       N(DESCRIPTORS, 1), N(FILLS, 1), N(COPY_BYTES, 4 * 4096),
	       N(COPY_CYCLES, 16 + 1 + 1024));
	/*
	 * Three rows, each of two pages at both its ends, where the pages end
	 * at different bytes. The block takes one walk, then hits.
	 */
	rig_do(&b.q, vtadev_desc_copy2d(CARD + 2000, 8192, DATA, 4096, 5000, 3));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1),
	       N(DMA_READ_BYTES, DESC + ENTRY + 15000), N(DMA_WRITE_BYTES, DONE),
	       N(MEM_WRITE_BYTES, 15000), N(TLB_HITS, 1 + 6 + 5), N(PAGE_WALKS, 1),
	       N(DESCRIPTORS, 1), N(COPIES, 1), N(COPY_BYTES, 15000),
	       N(COPY_CYCLES, 16 + 3 * (1 + 313)));
	/* Within card memory, with a stamp in host memory. */
	rig_do(&b.q, rig_stamped(vtadev_desc_copy(CARD, CARD + 8192, 100), DATA));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC),
	       N(DMA_WRITE_BYTES, 32 + DONE), N(MEM_READ_BYTES, 100), N(MEM_WRITE_BYTES, 100),
	       N(TLB_HITS, 1 + 2 + 1), N(DESCRIPTORS, 1), N(COPIES, 1), N(COPY_BYTES, 100),
	       N(COPY_CYCLES, 16 + 1 + 7));
	/* Nothing to move is still a copy. */
	rig_do(&b.q, vtadev_desc_copy(0, 0, 0));
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC),
	       N(DMA_WRITE_BYTES, DONE), N(TLB_HITS, 1), N(DESCRIPTORS, 1), N(COPIES, 1),
	       N(COPY_CYCLES, 17));
}

TEST_F(RIG, run)
{
	volatile struct vta_stamp *stamp;
	struct bench b;
	struct prog p;

	bench(&b, r);
	p = prog_at(b.code);
	prog_load(&p, INSN_ACC, 0, DATA, 2, 0);
	prog_add_imm(&p, 5, INSN_PUSH_NEXT);
	prog_store(&p, 0, CARD, 2, INSN_POP_PREV | INSN_PUSH_PREV);
	prog_add(&p, insn_loop(&core_config_default, &(struct insn_loop) {
		.opcode = INSN_GEMM, .uop_end = 1, .iter_out = 3, .iter_in = 4, .dst_in = 1,
	}));
	prog_finish(&p, INSN_POP_NEXT);
	stamp = (void *)(b.data + 4096);
	rig_do(&b.q, rig_stamped(vtadev_desc_run(CODE, p.count, 0), DATA + 4096));
	/* Walks for stream, data, card and stamp: each is one access. */
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1),
	       N(DMA_READ_BYTES, DESC + 5 * 16 + 2 * 64 + 6 * ENTRY),
	       N(DMA_WRITE_BYTES, 32 + DONE), N(MEM_WRITE_BYTES, 32), N(PAGE_WALKS, 4),
	       N(TLB_HITS, 1), N(DESCRIPTORS, 1), N(RUNS, 1), N(INSNS, 5),
	       N(COMPUTE_CYCLES, stamp->cycles), N(GEMM_UOPS, 12), N(ALU_UOPS, 1));
}

TEST_F(RIG, arming_and_faults)
{
	struct bench b;

	bench(&b, r);
	rig_set(b.r, REG_QUEUE_ARM(0), 0);
	rig_set(b.r, REG_QUEUE_ARM(0), 2);
	rig_set(b.r, REG_QUEUE_ARM(1), 0);	/* not active */
	rig_do(&b.q, vtadev_desc_nop());
	EXPECT(&b, N(MMIO_WRITES, 4), N(DOORBELLS, 1), N(ARMS, 2), N(INTERRUPTS, 2),
	       N(DMA_READ_BYTES, DESC), N(DMA_WRITE_BYTES, DONE), N(TLB_HITS, 1),
	       N(DESCRIPTORS, 1));
	rig_put(&b.q, vtadev_desc_fill(0, 0, 1));
	rig_submit(&b.q);
	while (*(volatile uint32_t *)&b.q.page->status.state != VTA_QUEUE_HALTED)
		;
	/* Page 0 takes no translation. The cycles are those before the first row. */
	EXPECT(&b, N(MMIO_WRITES, 1), N(DOORBELLS, 1), N(DMA_READ_BYTES, DESC),
	       N(DMA_WRITE_BYTES, 64 + 8), N(TLB_HITS, 1), N(COPY_CYCLES, 16), N(FAULTS, 1));
	rig_submit(&b.q);
	EXPECT(&b, N(MMIO_WRITES, 1), N(BAD_ACCESSES, 1));
}

/* Reading the low half keeps the high one; a wide read counts as one access. */
TEST_F(RIG, reading)
{
	struct bench b;

	bench(&b, r);
	for (int i = 0; i < 3; i++)
		(void)vfc_bar_read64(&r->c, VTA_BAR_REGS, REG_TIME_LO);
	assert_int_equal(rig_get(r, REG_COUNTER(VTA_COUNTER_MMIO_READS)), 3);
	assert_int_equal(rig_get(r, REG_COUNTER(VTA_COUNTER_MMIO_READS) + 4), 0);
	/* They can be cleared, not written. */
	rig_set64(r, REG_COUNTER(VTA_COUNTER_MMIO_READS), 99);
	rig_set(r, REG_COUNTER_CTRL, ~REG_COUNTER_CTRL_CLEAR);
	EXPECT(&b, N(MMIO_READS, 3));
	assert_int_equal(rig_get(r, REG_COUNTER_CTRL), 0);
}

/* --counters prints the values that the client leaves behind. */
TEST(printed_at_the_end)
{
	static const char *const args[] = { "--queues", "8", "--mem", "8M", "--counters", NULL };
	char name[] = "/tmp/vta-counters-XXXXXX", text[4096];
	int file = mkstemp(name), out = dup(STDOUT_FILENO);
	struct bench b;
	struct rig r;
	ssize_t len;

	assert_true(file >= 0 && out >= 0);
	assert_int_equal(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
	rig_start(&r, args);
	assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	close(out);
	bench(&b, &r);
	rig_do(&b.q, vtadev_desc_nop());
	rig_do(&b.q, vtadev_desc_nop());
	rig_stop(&r);
	len = pread(file, text, sizeof(text) - 1, 0);
	assert_true(len > 0);
	text[len] = '\0';
	assert_non_null(strstr(text, "\ndescriptors 2\n"));
	assert_non_null(strstr(text, "\nfaults 0\n"));
	close(file);
	unlink(name);
}
