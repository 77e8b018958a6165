// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected faults (card/model/inject.h): each does what
 * its name says, as often as its count, for its queue, and is over when it
 * is cleared. Those that begin with bus_ are for the card in RTL, too.
 */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../frame.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* guest memory, 2 pages */

struct bench {
	struct rig *r;
	struct rig_queue q, other;
	uint8_t *data;
};

static void bench(struct bench *b, struct rig *r)
{
	*b = (struct bench) { .r = r };
	rig_context(r, 0);
	b->data = rig_map_pages(r, 0, DATA, 2);
	rig_queue(r, &b->q, 0, 0, 4);
	rig_queue(r, &b->other, 1, 0, 4);
	rig_queue_start(&b->q, 0);
	rig_queue_start(&b->other, 0);
	rig_set(r, REG_EVENT_ENABLE, REG_EVENT_ALL);
	rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE);
}

static void order(struct rig *r, const char *what)
{
	char line[128], answer[256];

	snprintf(line, sizeof(line), "inject %s\n", what);
	rig_control(r, line, answer, sizeof(answer));
	if (strcmp(answer, "{\"ok\":true}\n"))
		fail_msg("inject %s: %s", what, answer);
}

/* Number of times that a kind has happened, from the control socket. */
static unsigned int happened(struct rig *r, const char *kind)
{
	char answer[4096], key[64];
	unsigned int count = 0;
	const char *at;

	rig_control(r, "injected\n", answer, sizeof(answer));
	snprintf(key, sizeof(key), "\"%s\":{", kind);
	at = strstr(answer, key);
	if (at) {
		at = strstr(at, "\"count\":");
		count = (unsigned int)strtoul(at + strlen("\"count\":"), NULL, 10);
	}
	return count;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec) { ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Nothing comes of what was submitted, for as long as one can wait for that. */
static void stands_still(struct rig_queue *q)
{
	uint64_t seq = rig_seq(q);

	pause_ms(RIG_NEVER);
	assert_int_equal(rig_seq(q), seq);
}

static struct vta_desc copy(void)
{
	return vtadev_desc_copy(DATA, DATA + VTA_PAGE_SIZE, 64);
}

/* ---- Queues and engines ---- */

TEST_F(RIG, fault_of_each_reason)
{
	static const char *const names[] = {
		"page", "perm", "entry", "dma", "desc", "align", "insn", "bounds", "cycles",
		"deadlock", "doorbell",
	};
	struct bench b;

	bench(&b, r);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char what[32];

		snprintf(what, sizeof(what), "fault=%s", names[i]);
		order(r, what);
		rig_put(&b.q, vtadev_desc_nop());
		rig_submit(&b.q);
		assert_int_equal(rig_halted(&b.q).reason, VTA_FAULT_PAGE + i);
		rig_queue_stop(&b.q, true);
		rig_queue_start(&b.q, 0);
		b.q.submitted = 0;
		rig_do(&b.q, vtadev_desc_nop());
	}
}

TEST_F(RIG, fault_for_one_queue_after_some)
{
	struct bench b;

	bench(&b, r);
	order(r, "fault=insn@1+2");
	for (unsigned int i = 0; i < 5; i++)
		rig_do(&b.q, vtadev_desc_nop());
	rig_do(&b.other, vtadev_desc_nop());
	rig_do(&b.other, vtadev_desc_nop());
	assert_int_equal(happened(r, "fault"), 0);
	assert_int_equal(rig_fails(&b.other, vtadev_desc_nop(), VTA_FAULT_INSN, 0, 0).seq, 3);
	assert_int_equal(happened(r, "fault"), 1);
	rig_do(&b.q, vtadev_desc_nop());
}

TEST_F(RIG, hung_engine)
{
	struct bench b;

	bench(&b, r);
	order(r, "hang-copy");
	rig_put(&b.q, copy());
	rig_submit(&b.q);
	stands_still(&b.q);
	assert_true(rig_get(r, REG_QUEUE_STATE(0)) & REG_QUEUE_STATE_BUSY);
	rig_do(&b.other, vtadev_desc_nop());	/* needs no engine */
	rig_queue_stop(&b.q, true);
	/* It would hang again, if it were not for the end of it. */
	rig_queue_start(&b.q, 0);
	b.q.submitted = 0;
	rig_put(&b.q, copy());
	rig_submit(&b.q);
	stands_still(&b.q);
	order(r, "clear");
	rig_wait_seq(&b.q, 1);
}

TEST_F(RIG, hung_engine_for_one_queue)
{
	struct bench b;

	bench(&b, r);
	order(r, "hang-copy@0");
	rig_do(&b.other, copy());
	rig_put(&b.q, copy());
	rig_submit(&b.q);
	stands_still(&b.q);
	rig_queue_stop(&b.q, true);
	rig_do(&b.other, copy());
}

TEST_F(RIG, hung_card)
{
	struct bench b;
	uint32_t beat;

	bench(&b, r);
	order(r, "hang-all");
	beat = rig_get(r, REG_HEARTBEAT);
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	stands_still(&b.q);
	assert_int_equal(rig_get(r, REG_HEARTBEAT), beat);
	rig_set(r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ABORT);
	rig_set(r, REG_TLB_INVALIDATE, 0);
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)) & REG_QUEUE_STATE_STATE, VTA_QUEUE_ACTIVE);
	assert_true(rig_get(r, REG_TLB_INVALIDATE) & REG_TLB_INVALIDATE_BUSY);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_DISABLED);
	assert_int_not_equal(rig_get(r, REG_HEARTBEAT), beat);
	assert_int_equal(rig_get(r, REG_TLB_INVALIDATE), 0);
}

TEST_F(RIG, start_and_stop)
{
	struct bench b;

	bench(&b, r);
	order(r, "stop-never@0");
	rig_set(r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ABORT);
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_ACTIVE);
	rig_queue_stop(&b.other, true);
	order(r, "start-never 1");
	rig_set(r, REG_QUEUE_CTRL(1), REG_QUEUE_CTRL_ENABLE);
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(1)), VTA_QUEUE_DISABLED);
	rig_set(r, REG_QUEUE_CTRL(1), REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(1)), VTA_QUEUE_ACTIVE);
}

TEST_F(RIG, lost_doorbell_and_arm)
{
	struct bench b;

	bench(&b, r);
	order(r, "doorbell-lost 1");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	stands_still(&b.q);
	rig_submit(&b.q);
	rig_wait_seq(&b.q, 1);
	order(r, "arm-lost 1");
	rig_set(r, REG_QUEUE_ARM(0), 1);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(0), RIG_NEVER), 0);
	rig_set(r, REG_QUEUE_ARM(0), 1);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(0), RIG_SOON), 1);
}

/* ---- Records ---- */

/* This process may pause for longer than a record is late, but not each time. */
#define TRIES		5

TEST_F(RIG, late_status)
{
	uint64_t seen = 1;
	struct bench b;

	bench(&b, r);
	for (uint32_t i = 1; i <= TRIES && seen; i++) {
		order(r, "status-late=2000 1");
		rig_set(r, REG_QUEUE_ARM(0), i);
		rig_put(&b.q, vtadev_desc_nop());
		rig_submit(&b.q);
		assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(0), RIG_SOON), 1);
		seen = rig_seq(&b.q) - (i - 1);
		rig_wait_seq(&b.q, i);
	}
	assert_int_equal(seen, 0);
}

TEST_F(RIG, lost_status)
{
	struct bench b;

	bench(&b, r);
	order(r, "status-lost 1");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_SEQ_LO(0), UINT32_MAX, 1);
	assert_int_equal(rig_seq(&b.q), 0);
	rig_do(&b.q, vtadev_desc_nop());
	assert_int_equal(rig_seq(&b.q), 2);
}

TEST_F(RIG, torn_halt)
{
	uint32_t seen = VTA_FAULT_PAGE;
	struct bench b;

	bench(&b, r);
	order(r, "status-torn=2000");
	order(r, "fault=page");
	for (unsigned int i = 0; i < TRIES && seen; i++) {
		rig_put(&b.q, vtadev_desc_nop());
		rig_submit(&b.q);
		while (b.q.page->status.state != VTA_QUEUE_HALTED)
			;
		seen = b.q.page->fault.reason;
		assert_int_equal(rig_halted(&b.q).reason, VTA_FAULT_PAGE);
		rig_queue_stop(&b.q, true);
		b.q.page->fault.reason = 0;
		b.q.submitted = 0;
		rig_queue_start(&b.q, 0);
	}
	assert_int_equal(seen, 0);
}

TEST_F(RIG, wild_numbers)
{
	struct bench b;

	bench(&b, r);
	rig_do(&b.q, vtadev_desc_nop());
	rig_do(&b.q, vtadev_desc_nop());
	order(r, "seq-back=2 1");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_SEQ_LO(0), UINT32_MAX, 3);
	assert_int_equal(rig_seq(&b.q), 0);
	order(r, "seq-jump=0x100000000 1");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_SEQ_LO(0), UINT32_MAX, 4);
	assert_true(b.q.page->status.seq == 0x100000004ull);
	order(r, "state-wild=77 1");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_SEQ_LO(0), UINT32_MAX, 5);
	assert_int_equal(b.q.page->status.state, 77);
}

TEST_F(RIG, wild_record)
{
	struct bench b;

	bench(&b, r);
	order(r, "record-wild");
	order(r, "fault=page");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_STATE(0), REG_QUEUE_STATE_STATE, VTA_QUEUE_HALTED);
	assert_int_equal(b.q.page->fault.queue, UINT32_MAX);
	assert_int_equal(b.q.page->fault.insn_index, UINT32_MAX);
	assert_int_equal(b.q.page->status.fault_reason, UINT32_MAX);
}

/* The sequence number alone, which is two words. */
TEST_F(RIG, wild_words)
{
	struct bench b;

	bench(&b, r);
	order(r, "record-wild=0xc");
	order(r, "fault=page");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_STATE(0), REG_QUEUE_STATE_STATE, VTA_QUEUE_HALTED);
	assert_int_equal(b.q.page->fault.reason, VTA_FAULT_PAGE);
	assert_true(b.q.page->fault.seq == UINT64_MAX);
	assert_int_equal(b.q.page->fault.queue, 0);
}

TEST_F(RIG, halt_without_a_record)
{
	struct bench b;

	bench(&b, r);
	order(r, "halt-lost");
	order(r, "fault=page");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_await(r, REG_QUEUE_STATE(0), REG_QUEUE_STATE_STATE, VTA_QUEUE_HALTED);
	assert_int_equal(b.q.page->status.state, VTA_QUEUE_ACTIVE);
	assert_int_equal(b.q.page->fault.reason, 0);
}

/* ---- Interrupts ---- */

/* @n interrupts come, maybe some time apart, and then no more at once. */
static void await_interrupts(struct rig *r, unsigned int vector, uint64_t n)
{
	uint64_t count = 0, more;

	do {
		more = vfc_irq_wait(&r->c, vector, RIG_SOON);
		count += more;
	} while (more && count < n);
	assert_int_equal(count, n);
}

TEST_F(RIG, bus_interrupts)
{
	struct bench b;

	bench(&b, r);
	order(r, "irq-lost 1");
	rig_set(r, REG_QUEUE_ARM(0), 0);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(0), RIG_NEVER), 0);
	order(r, "irq-twice 1");
	rig_set(r, REG_QUEUE_ARM(0), 0);
	await_interrupts(r, RIG_VECTOR(0), 2);
	order(r, "irq-spurious=3 5");
	await_interrupts(r, 3, 5);
	assert_int_equal(happened(r, "irq-spurious"), 5);
}

TEST_F(RIG, bus_irq_storm)
{
	struct bench b;
	uint64_t count = 0;

	bench(&b, r);
	order(r, "irq-storm=2");
	while (count < 1000)
		count += vfc_irq_wait(&r->c, 2, RIG_SOON);
	rig_do(&b.q, vtadev_desc_nop());
	order(r, "clear");
	vfc_irq_wait(&r->c, 2, 0);
	assert_int_equal(vfc_irq_wait(&r->c, 2, RIG_NEVER), 0);
}

TEST_F(RIG, stuck_event)
{
	struct bench b;

	bench(&b, r);
	order(r, "event-stuck");
	order(r, "fault=page");
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	assert_int_equal(vfc_irq_wait(&r->c, 0, RIG_SOON), 1);
	rig_set(r, REG_EVENT, REG_EVENT_ALL);
	assert_int_equal(rig_get(r, REG_EVENT), REG_EVENT_FAULT);
	assert_int_equal(vfc_irq_wait(&r->c, 0, RIG_SOON), 1);
	order(r, "clear");
	rig_set(r, REG_EVENT, REG_EVENT_ALL);
	assert_int_equal(rig_get(r, REG_EVENT), 0);
}

/* ---- The bus ---- */

TEST_F(RIG, bus_refuses_reads)
{
	struct bench b;

	bench(&b, r);
	rig_do(&b.q, copy());
	order(r, "dma-abort 1");
	rig_put(&b.q, copy());
	rig_submit(&b.q);
	assert_int_equal(rig_halted(&b.q).reason, VTA_FAULT_DMA);
	assert_int_equal(happened(r, "dma-abort"), 1);
	rig_do(&b.other, copy());
}

TEST_F(RIG, refused_records)
{
	struct bench b;

	bench(&b, r);
	order(r, "dma-abort");
	rig_put(&b.other, copy());
	rig_submit(&b.other);
	rig_await(r, REG_STATUS, REG_STATUS_FATAL, REG_STATUS_FATAL);
}

TEST_F(RIG, tlb_kinds)
{
	struct bench b;

	bench(&b, r);
	rig_do(&b.q, copy());
	*rig_l2(r, 0, DATA) = 0;
	order(r, "tlb-stale");
	rig_invalidate(r, 0);
	rig_do(&b.q, copy());		/* by what it should have forgotten */
	order(r, "clear");
	order(r, "tlb-busy");
	rig_set(r, REG_TLB_INVALIDATE, 0);
	assert_true(rig_get(r, REG_TLB_INVALIDATE) & REG_TLB_INVALIDATE_BUSY);
	order(r, "clear");
	assert_int_equal(rig_get(r, REG_TLB_INVALIDATE), 0);
	rig_fails(&b.q, copy(), VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST, DATA);
}

TEST_F(RIG, bus_ones_and_zeros)
{
	order(r, "ones+2 1");
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	assert_int_equal(rig_get(r, REG_MAGIC), UINT32_MAX);
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	order(r, "zeros");
	assert_int_equal(rig_get(r, REG_MAGIC), 0);
	order(r, "clear");
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	order(r, "reg-magic=5");
	assert_int_equal(rig_get(r, REG_MAGIC), 5);
	assert_int_equal(rig_get(r, REG_CONTRACT), VTA_CONTRACT << 16 | VTA_CONTRACT_NEWEST_MINOR);
}

TEST_F(RIG, bus_garbage_follows_from_its_seed)
{
	uint32_t first[16];
	unsigned int i, same = 0;

	order(r, "garbage=7 16");
	for (i = 0; i < 16; i++)
		first[i] = rig_get(r, REG_MAGIC);
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	order(r, "garbage=7");
	for (i = 0; i < 16; i++) {
		assert_int_equal(rig_get(r, REG_MAGIC), first[i]);
		same += first[i] == REG_MAGIC_VALUE;
	}
	assert_in_range(same, 0, 2);
	order(r, "garbage=8");
	for (i = 0, same = 0; i < 16; i++)
		same += rig_get(r, REG_MAGIC) == first[i];
	assert_in_range(same, 0, 8);
	order(r, "clear");
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
}

TEST_F(RIG, bus_is_slow)
{
	order(r, "slow=2000 3");
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	assert_int_equal(happened(r, "slow"), 3);
}

TEST_F(RIG, bus_without_the_card)
{
	struct bench b;

	bench(&b, r);
	order(r, "config-gone");
	assert_int_equal(vfc_cfg_read16(&r->c, PCI_VENDOR_ID), 0xffff);
	vfc_cfg_write16(&r->c, PCI_COMMAND, 0);
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	rig_do(&b.q, copy());
	order(r, "clear");
	rig_do(&b.q, copy());
	order(r, "gone");
	assert_int_equal(vfc_cfg_read16(&r->c, PCI_VENDOR_ID), 0xffff);
	assert_int_equal(rig_get(r, REG_MAGIC), UINT32_MAX);
	rig_put(&b.q, copy());
	rig_submit(&b.q);
	stands_still(&b.q);
	order(r, "clear");
	/* A fresh one. */
	assert_int_equal(vfc_cfg_read16(&r->c, PCI_VENDOR_ID), 0x1234);
	assert_int_equal(vfc_cfg_read16(&r->c, PCI_COMMAND), 0);
	vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_DISABLED);
}

/* ---- Resets ---- */

TEST_F(RIG, failing_resets)
{
	uint32_t generation = rig_get(r, REG_GENERATION);

	order(r, "reset-ignored 1");
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_GENERATION), generation);
	order(r, "reset-stuck 1");
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_get(r, REG_STATUS) & REG_STATUS_READY, 0);
	vfc_flr(&r->c);
	vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_GENERATION), generation + 1);
	order(r, "flr-stuck");
	vfc_flr(&r->c);
	vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_get(r, REG_STATUS) & REG_STATUS_READY, 0);
	order(r, "clear");
	rig_ready(r);
	order(r, "generation-same 1");
	generation = rig_get(r, REG_GENERATION);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_GENERATION), generation);
}

TEST_F(RIG, whole_card)
{
	uint32_t beat;

	order(r, "heartbeat");
	beat = rig_get(r, REG_HEARTBEAT);
	pause_ms(3 * VTA_HEARTBEAT_MS);
	assert_int_equal(rig_get(r, REG_HEARTBEAT), beat);
	order(r, "fatal");
	assert_true(rig_get(r, REG_STATUS) & REG_STATUS_FATAL);
	assert_int_equal(rig_get(r, REG_EVENT), REG_EVENT_FATAL);
}

/* ---- The control socket ---- */

TEST_F(RIG, bad_requests)
{
	static const char *const bad[] = {
		"", "bogus", "fault=bogus", "fault=", "fault=page@", "fault=page@256",
		"fault=page+x", "fault=page 0", "fault=page 1 2", "fault=page x", "ones=1",
		"irq-storm=257", "slow=60001", "seq-back=-1", "seq-back=1x", "clear 1",
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64], answer[256];

		snprintf(line, sizeof(line), "inject %s\n", bad[i]);
		rig_control(r, line, answer, sizeof(answer));
		if (!strstr(answer, "\"ok\":false"))
			fail_msg("inject %s: %s", bad[i], answer);
	}
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
}
