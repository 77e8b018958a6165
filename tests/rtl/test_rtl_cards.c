// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_rtl_cards.c - random descriptors, faults, stops, aborts and resets, on two cards
 *
 * The same host drives the card in RTL ($VTA_EMU) and the card in C, each with memory of its own.
 * The work comes in batches for eight queues, whose data lie in pages of their own and whose WAITs
 * are for SIGNALs of others. Stops, aborts, resets and a bus that is off come while a batch is
 * executed, so each card is somewhere else; the host then goes on with what is left, and as it may
 * repeat each descriptor, both come to the same end. There the queues' states, records, memory and
 * events are the same, and after batches without a stop or reset counters and interrupts too.
 *
 * VTA_SEED (1) is the seed, VTA_DESCRIPTORS (3000) the number of descriptors to be executed.
 */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "cards.h"

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static void set_both(struct pair *p, uint32_t off, uint32_t val)
{
	for_each_side(s, p)
		rig_set(&s->rig, off, val);
}

/* ---- Queues ---- */

/* All settings, of a queue that is not started. */
static void set_queue(struct side *s, const struct queue *q)
{
	struct rig *r = &s->rig;

	rig_set(r, REG_QUEUE_CONTEXT(q->n), q->context);
	rig_set(r, REG_QUEUE_RING_ORDER(q->n), q->order);
	rig_set(r, REG_QUEUE_RING_ADDR(q->n), RING(q->n));
	rig_set(r, REG_QUEUE_VECTOR(q->n), RIG_VECTOR(q->n));
	rig_set64(r, REG_QUEUE_STATUS_LO(q->n), s->status[q->n]);
	rig_set64(r, REG_QUEUE_CYCLES_LO(q->n), q->cycles);
	rig_set(r, REG_QUEUE_GROUP(q->n), q->group);
}

/* Goes on behind number @start. */
static void start_queue(struct side *s, const struct queue *q, uint64_t start)
{
	struct rig *r = &s->rig;

	rig_set64(r, REG_QUEUE_START_LO(q->n), start);
	rig_set(r, REG_QUEUE_SUBMITTED(q->n), (uint32_t)q->submitted);
	rig_set(r, REG_QUEUE_CTRL(q->n), REG_QUEUE_CTRL_ENABLE |
		q->priority << __builtin_ctz(REG_QUEUE_CTRL_PRIORITY));
	rig_await(r, REG_QUEUE_CTRL(q->n), REG_QUEUE_CTRL_ENABLE, REG_QUEUE_CTRL_ENABLE);
}

static void stop_queue(struct side *s, unsigned int n, bool abort)
{
	rig_set(&s->rig, REG_QUEUE_CTRL(n), abort ? REG_QUEUE_CTRL_ABORT : 0);
	rig_await(&s->rig, REG_QUEUE_STATE(n), REG_QUEUE_STATE_STATE | REG_QUEUE_STATE_BUSY,
		  VTA_QUEUE_DISABLED);
	assert_int_equal(page_of(s, n)->status.state, VTA_QUEUE_DISABLED);
	assert_int_equal(page_of(s, n)->status.fault_reason, 0);
	assert_int_equal(rig_get64(&s->rig, REG_QUEUE_SEQ_LO(n)), seq_of(s, n));
}

/* Another context, ring, limits and numbers, of a stopped queue. */
static void choose_queue(struct pair *p, struct queue *q)
{
	q->context = below(p, QUEUES);
	q->order = below(p, ORDER_MAX + 1);
	q->cycles = one_in(p, 4) ? 100 + below(p, 4000) : 0;
	q->group = below(p, QUEUES);
	q->priority = below(p, 4);
	q->submitted = one_in(p, 3) ? any(p) : one_in(p, 2) ? (1ull << 32) - below(p, 8) :
		       below(p, 100);
	map_part(p, q);
}

static void set_up(struct pair *p, bool anew)
{
	for_each_side(s, p)
		for (unsigned int n = 0; n < QUEUES; n++) {
			rig_set64(&s->rig, REG_CONTEXT_ROOT_LO(n), s->rig.root[n]);
			rig_set(&s->rig, REG_CONTEXT_CTRL(n), REG_CONTEXT_CTRL_ENABLE);
		}
	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
		if (anew)
			choose_queue(p, q);
		for_each_side(s, p)
			set_queue(s, q);
		for_each_side(s, p)
			start_queue(s, q, anew ? q->submitted : seq_of(s, q->n));
	}
	set_both(p, REG_CONTROL, REG_CONTROL_ENABLE);
}

/* ---- The end of a batch ---- */

/* The queue does nothing more by itself: complete, halted, or held by a word that is too small. */
static bool rests(struct side *s, const struct queue *q, bool *held)
{
	uint32_t state = state_of(s, q->n);
	uint64_t seq = seq_of(s, q->n);
	const struct vta_desc *desc = in_hand(q, seq);
	uint32_t page = desc->sync.addr & -VTA_PAGE_SIZE;
	const uint64_t *word;

	*held = false;
	if ((state & REG_QUEUE_STATE_STATE) == VTA_QUEUE_HALTED)
		return true;
	if ((state & REG_QUEUE_STATE_STATE) != VTA_QUEUE_ACTIVE)
		return false;
	if (!(state & REG_QUEUE_STATE_BUSY))
		return seq == q->submitted;
	if ((state & REG_QUEUE_STATE_HAND) >> __builtin_ctz(REG_QUEUE_STATE_HAND) != VTA_HAND_HELD)
		return false;
	*held = true;
	/* A word of another page changes by nothing but its own queue. */
	if (page != CELLS(q->n))
		return true;
	word = (const uint64_t *)rig_at(&s->rig, s->cells + desc->sync.addr % VTA_PAGE_SIZE);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) < desc->sync.value;
}

/* Waits until all queues rest, twice at the same numbers: nothing happened in between. */
static void await_rest(struct pair *p, struct side *s)
{
	uint64_t before[QUEUES] = { 0 };
	unsigned int again = 0;

	for (unsigned long spins = 0; again < 2; spins++) {
		bool same = true, held;

		for (const struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
			uint64_t seq = seq_of(s, q->n);

			same &= rests(s, q, &held) && seq == before[q->n];
			before[q->n] = seq;
		}
		again = same ? again + 1 : 0;
		if (spins > 100)
			usleep(100);
		if (spins < SPINS)
			continue;
		for (const struct queue *q = p->queue; q < p->queue + QUEUES; q++)
			print_message("queue %u: state %#x, seq %#llx of %#llx\n", q->n,
				      state_of(s, q->n), (unsigned long long)seq_of(s, q->n),
				      (unsigned long long)q->submitted);
		fail_msg("batch %lu (%s): the card %s does not come to rest", p->batch,
			 mode_names[p->mode], side_names[s - p->side]);
	}
}

/* Starts a halted queue behind what faulted. */
static void pass_fault(struct pair *p, struct queue *q, uint64_t seq)
{
	const struct vta_fault *fault = &page_of(&p->side[0], q->n)->fault;
	bool skip = fault->reason != VTA_FAULT_DOORBELL, abort = one_in(p, 2);

	/* Without a ring each descriptor would fault. */
	if (fault->access == VTA_ACCESS_RING) {
		map_part(p, q);
		skip = false;
	}
	p->faults++;
	p->faulted = true;
	disarm(q, seq);
	for_each_side(s, p) {
		stop_queue(s, q->n, abort);
		start_queue(s, q, seq + skip);
	}
}

/* Lets a queue go on that is held. */
static void pass_wait(struct pair *p, struct queue *q, uint64_t seq)
{
	const struct vta_desc *desc = in_hand(q, seq);
	uint32_t at = desc->sync.addr % VTA_PAGE_SIZE;

	p->held = true;
	for_each_side(s, p) {
		if (desc->sync.addr - at != CELLS(q->n)) {
			disarm(q, seq);
			stop_queue(s, q->n, false);
			start_queue(s, q, seq + 1);
			continue;
		}
		__atomic_store_n((uint64_t *)rig_at(&s->rig, s->cells + at), desc->sync.value,
				 __ATOMIC_RELEASE);
		/* Others may be held by the same word. */
		for (const struct queue *each = p->queue; each < p->queue + QUEUES; each++)
			rig_doorbell(&s->rig, each->n, (uint32_t)each->submitted);
	}
}

/*
 * Goes on where queues halted; if none did, where the one is held whose WAIT was made first: all
 * SIGNALs to its cell that are to come have larger values. False if all queues are complete.
 */
static bool go_on(struct pair *p)
{
	struct queue *first = NULL;
	unsigned long least = 0;
	bool halted = false;

	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
		uint64_t seq = seq_of(&p->side[0], q->n);
		unsigned long made = q->made[seq & ((1u << q->order) - 1)];

		if ((state_of(&p->side[0], q->n) & REG_QUEUE_STATE_STATE) == VTA_QUEUE_HALTED) {
			pass_fault(p, q, seq);
			halted = true;
		} else if (seq != q->submitted && (!first || made < least)) {
			first = q;
			least = made;
		}
	}
	if (first && !halted)
		pass_wait(p, first, seq_of(&p->side[0], first->n));
	return first || halted;
}

/* ---- What comes at any time ---- */

static void turn_bus(struct pair *p)
{
	for_each_side(s, p)
		vfc_command(&s->rig.c, 0, PCI_COMMAND_MASTER);
	if (one_in(p, 2))
		for_each_side(s, p)
			rig_get(&s->rig, REG_STATUS);
	for_each_side(s, p)
		vfc_command(&s->rig.c, PCI_COMMAND_MASTER, 0);
}

/* Stops a queue, and starts it where it was. A halted one halts again. */
static void stop_somewhere(struct pair *p)
{
	const struct queue *q = &p->queue[below(p, QUEUES)];
	bool abort = one_in(p, 2);

	p->stops++;
	for_each_side(s, p) {
		stop_queue(s, q->n, abort);
		start_queue(s, q, seq_of(s, q->n));
	}
}

static void reset_cards(struct pair *p)
{
	bool soft = one_in(p, 2);

	p->resets++;
	for_each_side(s, p) {
		if (soft) {
			rig_set(&s->rig, REG_CONTROL, REG_CONTROL_RESET);
		} else {
			vfc_flr(&s->rig.c);
			vfc_command(&s->rig.c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
		}
		rig_ready(&s->rig);
		/* MSI-X went with it. */
		if (!soft) {
			vfc_irq_teardown(&s->rig.c);
			assert_int_equal(vfc_irq_setup(&s->rig.c, VFIO_PCI_MSIX_IRQ_INDEX,
						       QUEUES + 1), 0);
		}
	}
	set_up(p, false);
}

static void disturb(struct pair *p)
{
	for (unsigned int i = 1 + below(p, 6); i; i--) {
		usleep(below(p, one_in(p, 3) ? 5000 : 300));
		switch (p->mode) {
		case MODE_BUS:
			turn_bus(p);
			break;
		case MODE_STOP:
			stop_somewhere(p);
			break;
		case MODE_RESET:
			reset_cards(p);
			i = 1;
			break;
		default:
			return;
		}
	}
}

/* ---- Batches ---- */

/* Puts descriptors into the rings, and submits them in one or two steps. */
static void submit(struct pair *p)
{
	bool any_left = true;

	/* A WAIT is for a SIGNAL that was made before it, so there is always one to go on. */
	while (any_left) {
		any_left = false;
		for (struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
			struct vta_desc desc;
			size_t at = q->submitted & ((1u << q->order) - 1);

			if (!q->left)
				continue;
			q->left--;
			any_left = true;
			desc = make_descriptor(p, q);
			q->ring[at] = desc;
			q->made[at] = p->executed;
			for_each_side(s, p)
				((struct vta_desc *)rig_at(&s->rig, s->ring[q->n]))[at] = desc;
			q->submitted++;
			p->executed++;
			if (p->mode != MODE_PLAIN && one_in(p, 6))
				for_each_side(s, p)
					rig_doorbell(&s->rig, q->n, (uint32_t)q->submitted);
		}
	}
	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++)
		for_each_side(s, p)
			rig_doorbell(&s->rig, q->n, (uint32_t)q->submitted);
}

/* Registers of a card's own time and traffic, and what an access of 64 bits reads with them. */
static bool is_own(uint32_t off)
{
	return (off & ~7u) == REG_TIME_LO || (off & ~7u) == REG_HEARTBEAT ||
	       (off & ~0xfffu) == REG_COUNTER_CTRL || (off & ~0x3fu) == REG_ENGINE_MOVES(0);
}

/* Accesses of which some are bad; what they read is the same. */
static void access_registers(struct pair *p)
{
	for (unsigned int i = below(p, 12); i; i--) {
		uint32_t queue = REG_QUEUE_CTRL(below(p, 2 * QUEUES)) + 4 * below(p, 32);
		uint32_t off = one_in(p, 3) ? queue : below(p, 0x10000) & ~3u;
		size_t len = one_in(p, 4) ? 1u << below(p, 4) : 4;
		uint64_t got[SIDES] = { 0 };

		if (is_own(off))
			continue;
		for (unsigned int n = 0; n < SIDES; n++)
			assert_int_equal(vfc_read(&p->side[n].rig.c, VFC_BAR(VTA_BAR_REGS),
						  off & -len, &got[n], len), 0);
		SAME(p, "register", off, got[1], got[0]);
	}
}

/* More than the ring holds. */
static void overflow(struct pair *p)
{
	const struct queue *q = &p->queue[below(p, QUEUES)];
	uint32_t value = (uint32_t)q->submitted + (1u << q->order) + 1 + below(p, 1000);

	for_each_side(s, p)
		rig_doorbell(&s->rig, q->n, value);
	for_each_side(s, p)
		rig_await(&s->rig, REG_QUEUE_STATE(q->n), REG_QUEUE_STATE_STATE, VTA_QUEUE_HALTED);
}

/* Each number is reached in this batch, unless the queue halts before. */
static void arm_queues(struct pair *p)
{
	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
		if (one_in(p, 2))
			continue;
		q->armed = true;
		q->arm = q->submitted + below(p, q->left + 1);
		set_both(p, REG_QUEUE_ARM(q->n), (uint32_t)q->arm);
		if (q->arm == q->submitted)
			disarm(q, q->submitted);
	}
}

/* Some queues are another one's from now on. */
static void change_queues(struct pair *p)
{
	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
		if (!one_in(p, 4))
			continue;
		for_each_side(s, p)
			stop_queue(s, q->n, one_in(p, 2));
		choose_queue(p, q);
		write_code(p, q);
		for_each_side(s, p) {
			memset(rig_at(&s->rig, s->stamps[q->n]), 0, VTA_PAGE_SIZE);
			set_queue(s, q);
			start_queue(s, q, q->submitted);
		}
	}
	set_both(p, REG_GROUP_WEIGHT(below(p, QUEUES)), below(p, 256));
}

/* Each card has stopped somewhere else: their records count from the same number again. */
static void restart_queues(struct pair *p)
{
	for_each_side(s, p)
		for (const struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
			stop_queue(s, q->n, false);
			start_queue(s, q, q->submitted);
		}
}

static void run_batch(struct pair *p)
{
	p->mode = one_in(p, 12) ? MODE_RESET : (enum mode)below(p, MODE_RESET);
	p->faulted = false;
	p->held = false;
	change_queues(p);
	set_both(p, REG_EVENT, UINT32_MAX);
	set_both(p, REG_EVENT_ENABLE, p->mode < MODE_STOP ? REG_EVENT_FAULT : 0);
	for_each_side(s, p)
		rig_clear_counters(&s->rig);
	access_registers(p);
	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++)
		q->left = 1 + below(p, 1u << q->order);
	if (p->mode < MODE_STOP)
		arm_queues(p);
	if (one_in(p, 10))
		overflow(p);
	submit(p);
	disturb(p);
	do {
		for_each_side(s, p)
			await_rest(p, s);
		compare_all(p);
	} while (go_on(p));
	compare_interrupts(p);
	if (p->mode < MODE_STOP)
		compare_counters(p);
	else
		restart_queues(p);
	p->batch++;
}

/* ---- The two cards ---- */

static void start_side(struct side *s)
{
	static const char *const args[] = {
		"--queues", "8", "--mem", "8M", "--no-kept-state", "--posted-writes", NULL
	};
	struct rig *r = &s->rig;

	rig_start(r, args);
	for (unsigned int n = 0; n < QUEUES; n++)
		rig_context(r, n);
	s->block = rig_block(r);
	s->cells = rig_pages(r, 1);
	for (unsigned int n = 0; n < QUEUES; n++) {
		s->ring[n] = rig_pages(r, 1);
		s->stamps[n] = rig_pages(r, 1);
		s->code[n] = rig_pages(r, 1);
		s->table[n] = rig_pages(r, 1);
		s->status[n] = rig_pages(r, 1);
		s->data[n] = rig_pages(r, DATA_PAGES);
	}
}

TEST(cards_agree)
{
	static struct pair pair;
	struct pair *p = &pair;
	unsigned long most = (unsigned long)env("VTA_DESCRIPTORS", 3000);

	p->seed = env("VTA_SEED", 1);
	print_message("VTA_SEED=%llu\n", (unsigned long long)p->seed);
	start_side(&p->side[0]);
	assert_int_equal(unsetenv("VTA_EMU"), 0);
	start_side(&p->side[1]);
	for (unsigned int n = 0; n < QUEUES; n++) {
		p->queue[n].n = n;
		fill_random(p, p->side[0].data[n], DATA_BYTES);
		write_code(p, &p->queue[n]);
	}
	set_up(p, true);
	while (p->executed < most)
		run_batch(p);
	print_message("%lu descriptors in %lu batches: %lu faults, %lu stops, %lu resets\n",
		      p->executed, p->batch, p->faults, p->stops, p->resets);
	assert_true(p->faults > p->executed / 100);
	for_each_side(s, p)
		rig_stop(&s->rig);
}
