// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGNAL, WAIT, doorbells and interrupts (docs/hardware.md, sections 6, 7, 9).
 */
#include <linux/pci_regs.h>
#include <string.h>
#include <time.h>

#include "../frame.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* guest memory, 1 page */
#define CARD	0x00200000u	/* card memory, one block */

static uint64_t *bench(struct rig *r, unsigned int context)
{
	rig_context(r, context);
	rig_map_block(r, context, CARD, 0, RIG_RW | RIG_CARD);
	return rig_map_pages(r, context, DATA, 1);
}

static void start(struct rig *r, struct rig_queue *q, unsigned int n, unsigned int context)
{
	rig_queue(r, q, n, context, 4);
	rig_queue_start(q, 0);
}

/* The queue comes to @seq, and still waits there after a while. */
static void assert_waits(struct rig_queue *q, uint64_t seq)
{
	rig_wait_seq(q, seq);
	nanosleep(&(struct timespec) { .tv_nsec = RIG_NEVER * 1000000 }, NULL);
	assert_int_equal(rig_seq(q), seq);
}

/* ---- SIGNAL and WAIT ---- */

TEST_F(RIG, signal_stores)
{
	uint64_t *words = bench(r, 0);
	struct rig_queue q;

	start(r, &q, 0, 0);
	words[2] = UINT64_MAX;
	rig_do(&q, vtadev_desc_signal(DATA + 8, 0x1122334455667788));
	assert_true(words[1] == 0x1122334455667788);
	assert_int_equal(words[0], 0);
	assert_true(words[2] == UINT64_MAX);
	rig_do(&q, vtadev_desc_signal(CARD + 0x1ffff8, 0xfedcba9876543210));
	assert_true(*(uint64_t *)(r->c.bar4 + 0x1ffff8) == 0xfedcba9876543210);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MEM_WRITE_BYTES), 8);
}

TEST_F(RIG, wait_compares)
{
	uint64_t *words = bench(r, 0);
	struct rig_queue q;

	start(r, &q, 0, 0);
	words[0] = 5;
	rig_do(&q, vtadev_desc_wait(DATA, 5));
	rig_do(&q, vtadev_desc_wait(DATA, 4));
	rig_do(&q, vtadev_desc_wait(DATA, 0));
	/* Unsigned, all 64 bits. */
	words[0] = 1ull << 63;
	rig_do(&q, vtadev_desc_wait(DATA, INT64_MAX));
	words[0] = 0x00000001ffffffff;
	rig_put(&q, vtadev_desc_wait(DATA, 0x0000000200000000));
	rig_submit(&q);
	assert_waits(&q, 4);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_ACTIVE | REG_QUEUE_STATE_BUSY |
			 VTA_HAND_HELD << 8);
	assert_int_equal(rig_get(r, REG_STATUS) & REG_STATUS_BUSY, REG_STATUS_BUSY);
	/* The doorbell with the same value has it check again. */
	rig_submit(&q);
	assert_waits(&q, 4);
	words[0]++;
	assert_waits(&q, 4);
	rig_submit(&q);
	rig_wait_seq(&q, 5);
	rig_settle(&q);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_ACTIVE);
}

TEST_F(RIG, signal_wakes_wait)
{
	struct rig_queue a, b, c;
	uint64_t shared;

	/* The word is card memory in one context, at another address in the other. */
	bench(r, 0);
	rig_context(r, 1);
	rig_map(r, 1, 0x30000, 4096, RIG_RW | RIG_CARD);
	start(r, &a, 0, 0);
	start(r, &b, 1, 1);
	start(r, &c, 2, 1);
	rig_put(&b, vtadev_desc_wait(0x30008, 2));
	rig_put(&b, vtadev_desc_signal(0x30010, 1));
	rig_submit(&b);
	rig_put(&c, vtadev_desc_wait(0x30010, 1));
	rig_submit(&c);
	assert_waits(&b, 0);
	rig_do(&a, vtadev_desc_signal(CARD + 4096 + 8, 1));
	assert_waits(&b, 0);
	rig_do(&a, vtadev_desc_signal(CARD + 4096 + 8, 3));
	rig_wait_seq(&b, 2);
	rig_wait_seq(&c, 1);
	memcpy(&shared, r->c.bar4 + 4096 + 16, sizeof(shared));
	assert_int_equal(shared, 1);
}

/* Writes of a queue before its SIGNAL are visible to another after its WAIT. */
TEST_F(RIG, signal_orders)
{
	uint64_t *words = bench(r, 0);
	struct rig_queue a, b;

	start(r, &a, 0, 0);
	start(r, &b, 1, 0);
	for (uint32_t i = 1; i <= 200; i++) {
		rig_put(&b, vtadev_desc_wait(DATA, i));
		rig_put(&b, vtadev_desc_copy(DATA + 2048, CARD, 1024));
		rig_put(&a, vtadev_desc_fill(CARD, i * 0x01010101, 1024));
		rig_put(&a, vtadev_desc_signal(DATA, i));
		rig_submit(&b);
		rig_submit(&a);
		rig_wait_seq(&b, 2 * i);
		assert_int_equal(words[256], i * 0x0101010101010101ull);
		assert_int_equal(words[256 + 127], i * 0x0101010101010101ull);
	}
}

/* A check that is not satisfied is still a check: its word may go away. */
TEST_F(RIG, wait_faults_later)
{
	struct rig_queue q;
	struct vta_fault fault;

	bench(r, 0);
	start(r, &q, 0, 0);
	rig_put(&q, vtadev_desc_nop());
	rig_put(&q, vtadev_desc_wait(DATA + 16, 1));
	rig_submit(&q);
	assert_waits(&q, 1);
	*rig_l2(r, 0, DATA) = 0;
	rig_invalidate(r, 0);
	rig_submit(&q);
	fault = rig_halted(&q);
	assert_int_equal(fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(fault.access, VTA_ACCESS_WAIT);
	assert_int_equal(fault.addr, DATA + 16);
}

/* ---- Doorbells ---- */

TEST_F(RIG, doorbell_overflow)
{
	struct rig_queue q;
	struct vta_fault fault;

	bench(r, 0);
	start(r, &q, 0, 0);
	rig_do(&q, vtadev_desc_nop());
	/* The whole ring may wait, one more may not. */
	rig_put(&q, vtadev_desc_wait(DATA, 1));
	for (int i = 0; i < 15; i++)
		rig_put(&q, vtadev_desc_nop());
	rig_submit(&q);
	assert_waits(&q, 1);
	rig_doorbell(r, 0, (uint32_t)q.submitted + 1);
	fault = rig_halted(&q);
	assert_int_equal(fault.reason, VTA_FAULT_DOORBELL);
	assert_int_equal(fault.access, VTA_ACCESS_NONE);
	assert_int_equal(fault.seq, 2);
	assert_int_equal(fault.addr, 0);
	assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 3);
	/* Ignored from now on. */
	rig_submit(&q);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 3);
	rig_queue_stop(&q, false);
	assert_int_equal(q.page->status.fault_reason, 0);
	/* Going back behind what has been done is too much as well. */
	rig_queue_start(&q, 0);
	rig_do(&q, vtadev_desc_nop());
	rig_doorbell(r, 0, 0);
	assert_int_equal(rig_halted(&q).reason, VTA_FAULT_DOORBELL);
}

TEST_F(RIG, doorbell_overflow_stops_engines)
{
	struct rig_queue q;

	bench(r, 0);
	start(r, &q, 0, 0);
	rig_put(&q, vtadev_desc_fill2d(DATA, 0, 0, 1, UINT32_MAX));
	rig_submit(&q);
	rig_await(r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
	rig_doorbell(r, 0, 0x80000000);
	assert_int_equal(rig_halted(&q).reason, VTA_FAULT_DOORBELL);
	assert_int_equal(rig_get(r, REG_STATUS), REG_STATUS_READY);
}

/* ---- Arming ---- */

static uint64_t irqs(struct rig *r, unsigned int vector)
{
	return vfc_irq_wait(&r->c, vector, RIG_SOON);
}

static void assert_no_irq(struct rig *r, unsigned int vector)
{
	assert_int_equal(vfc_irq_wait(&r->c, vector, RIG_NEVER), 0);
}

TEST_F(RIG, nothing_unasked)
{
	struct rig_queue q;

	bench(r, 0);
	start(r, &q, 0, 0);
	rig_do(&q, vtadev_desc_nop());
	for (unsigned int v = 0; v < r->c.nr_irqs; v++)
		assert_int_equal(vfc_irq_wait(&r->c, v, 1), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 0);
}

TEST_F(RIG, arm_fires_once)
{
	struct rig_queue q;

	bench(r, 0);
	start(r, &q, 0, 0);
	rig_do(&q, vtadev_desc_nop());
	/* Reached already: at once, each time. */
	rig_set(r, REG_QUEUE_ARM(0), 1);
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	rig_set(r, REG_QUEUE_ARM(0), 0);
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	/* Later: when it is reached, and no more. */
	rig_set(r, REG_QUEUE_ARM(0), 3);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	rig_do(&q, vtadev_desc_nop());
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	/* When the interrupt is there, so is the number. */
	for (uint32_t i = 5; i < 100; i++) {
		rig_set(r, REG_QUEUE_ARM(0), i);
		rig_put(&q, vtadev_desc_fill(DATA, i, 4));
		rig_submit(&q);
		assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
		assert_true(rig_seq(&q) == i);
	}
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 3 + 95);
	assert_int_equal(rig_counter(r, VTA_COUNTER_ARMS), 3 + 95);
}

TEST_F(RIG, arm_replaces)
{
	struct rig_queue q;

	bench(r, 0);
	start(r, &q, 0, 0);
	rig_set(r, REG_QUEUE_ARM(0), 1);
	rig_set(r, REG_QUEUE_ARM(0), 2);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	rig_do(&q, vtadev_desc_nop());
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	/* By one that has been reached: now, and then no more. */
	rig_set(r, REG_QUEUE_ARM(0), 3);
	rig_set(r, REG_QUEUE_ARM(0), 2);
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	/* A stop disarms, and a queue that is not active cannot be armed. */
	rig_set(r, REG_QUEUE_ARM(0), 4);
	rig_queue_stop(&q, false);
	rig_set(r, REG_QUEUE_ARM(0), 0);
	rig_queue_start(&q, 3);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	assert_int_equal(rig_counter(r, VTA_COUNTER_ARMS), 5);
}

TEST_F(RIG, arm_wraps)
{
	struct rig_queue q;

	bench(r, 0);
	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0x2fffffffe);
	/* Half of the numbers lie behind, the others ahead. */
	rig_set(r, REG_QUEUE_ARM(0), 0x7fffffff);
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	rig_set(r, REG_QUEUE_ARM(0), 0x7ffffffe);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	rig_set(r, REG_QUEUE_ARM(0), 1);
	rig_do(&q, vtadev_desc_nop());
	assert_no_irq(r, RIG_VECTOR(0));
	rig_do(&q, vtadev_desc_nop());
	assert_int_equal(irqs(r, RIG_VECTOR(0)), 1);
	assert_true(rig_seq(&q) == 0x300000001);
}

TEST_F(RIG, vectors_are_shared)
{
	struct rig_queue a, b;

	bench(r, 0);
	rig_queue(r, &a, 0, 0, 4);
	rig_queue(r, &b, 1, 0, 4);
	rig_set(r, REG_QUEUE_VECTOR(0), 2);
	rig_set(r, REG_QUEUE_VECTOR(1), 2);
	rig_set(r, REG_EVENT_VECTOR, 2);
	rig_set(r, REG_EVENT_ENABLE, REG_EVENT_FAULT);
	rig_queue_start(&a, 0);
	rig_queue_start(&b, 0);
	rig_set(r, REG_QUEUE_ARM(0), 0);
	assert_int_equal(irqs(r, 2), 1);
	rig_set(r, REG_QUEUE_ARM(1), 0);
	assert_int_equal(irqs(r, 2), 1);
	rig_doorbell(r, 1, 100);
	assert_int_equal(irqs(r, 2), 1);
	assert_int_equal(rig_get(r, REG_EVENT), REG_EVENT_FAULT);
	/* A vector that there is not sends nothing. */
	rig_queue_stop(&a, false);
	rig_set(r, REG_QUEUE_VECTOR(0), 9);
	rig_queue_start(&a, 0);
	rig_clear_counters(r);
	rig_set(r, REG_QUEUE_ARM(0), 0);
	rig_queue_stop(&a, false);
	rig_set(r, REG_QUEUE_VECTOR(0), 0xffffffff);
	rig_queue_start(&a, 0);
	rig_set(r, REG_QUEUE_ARM(0), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_ARMS), 2);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 0);
}

TEST_F(RIG_MSI, msi_does_too)
{
	struct rig_queue q;

	assert_int_equal(r->c.irq_index, VFIO_PCI_MSI_IRQ_INDEX);
	assert_int_equal(r->c.nr_irqs, 4);
	assert_int_equal(vfc_find_cap(&r->c, PCI_CAP_ID_MSIX), 0);
	bench(r, 0);
	start(r, &q, 2, 0);
	rig_set(r, REG_QUEUE_ARM(2), 1);
	rig_do(&q, vtadev_desc_nop());
	assert_int_equal(irqs(r, RIG_VECTOR(2)), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 1);
}

/* Every queue of the largest card, each with a context and a vector of its own. */
TEST(all_queues)
{
	static const char *const args[] = { "--queues", "256", "--mem", "8M", NULL };
	static struct rig_queue q[VTA_QUEUES_MAX];
	struct rig rig, *r = &rig;

	rig_start(r, args);
	assert_int_equal(r->c.nr_irqs, VTA_QUEUES_MAX + 1);
	for (unsigned int i = 0; i < VTA_QUEUES_MAX; i++) {
		rig_context(r, i);
		rig_queue(r, &q[i], i, i, 4);
		rig_queue_start(&q[i], 0);
		rig_map(r, i, DATA, 0, RIG_RW | RIG_CARD);
	}
	/* A chain: each waits for the one before it, and the last is rung first. */
	for (unsigned int i = VTA_QUEUES_MAX; i-- > 0;) {
		rig_put(&q[i], vtadev_desc_wait(DATA, i));
		rig_put(&q[i], vtadev_desc_signal(DATA, i + 1));
		rig_set(r, REG_QUEUE_ARM(i), 2);
		rig_submit(&q[i]);
	}
	for (unsigned int i = 0; i < VTA_QUEUES_MAX; i++) {
		assert_int_equal(irqs(r, RIG_VECTOR(i)), 1);
		assert_int_equal(rig_seq(&q[i]), 2);
	}
	assert_int_equal(*(uint64_t *)r->c.bar4, VTA_QUEUES_MAX);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), VTA_QUEUES_MAX);
	rig_stop(r);
}

/* ---- Events ---- */

TEST_F(RIG, events)
{
	struct rig_queue a, b;

	bench(r, 0);
	start(r, &a, 0, 0);
	start(r, &b, 1, 0);
	rig_set(r, REG_EVENT_VECTOR, 0);
	/* Not enabled: only noted; enabling it is a gain. */
	rig_doorbell(r, 0, 100);
	rig_halted(&a);
	assert_no_irq(r, 0);
	assert_int_equal(rig_get(r, REG_EVENT), REG_EVENT_FAULT);
	rig_set(r, REG_EVENT_ENABLE, REG_EVENT_ALL);
	assert_int_equal(irqs(r, 0), 1);
	/* Set already: no gain. Cleared and set again: one. */
	rig_doorbell(r, 1, 100);
	rig_halted(&b);
	assert_no_irq(r, 0);
	rig_set(r, REG_EVENT, REG_EVENT_FATAL);
	assert_int_equal(rig_get(r, REG_EVENT), REG_EVENT_FAULT);
	rig_set(r, REG_EVENT, REG_EVENT_FAULT);
	assert_int_equal(rig_get(r, REG_EVENT), 0);
	rig_queue_stop(&a, false);
	rig_queue_start(&a, 0);
	rig_doorbell(r, 0, 100);
	rig_halted(&a);
	assert_int_equal(irqs(r, 0), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_FAULTS), 3);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 2);
}
