// SPDX-License-Identifier: GPL-2.0-only
/*
 * cards_compare.c - what two cards have done: registers, records, memory, counters, interrupts
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cards.h"

const char * const side_names[SIDES] = { "RTL", "C" };
const char * const mode_names[MODES] = { "plain", "exact", "bus", "stop", "reset" };

/* ---- Registers, records and memory ---- */

/* Registers may follow what is seen in memory. */
static void same_register(struct pair *p, const char *what, uint32_t off)
{
	struct rig *rtl = &p->side[0].rig, *c = &p->side[1].rig;

	for (unsigned int i = 0; i < SPINS && rig_get(c, off) != rig_get(rtl, off); i++)
		usleep(i < 100 ? 0 : 100);
	SAME(p, what, off, rig_get(c, off), rig_get(rtl, off));
}

/* The byte of a copy that faulted, by its number. */
static uint64_t byte_of(const struct vta_desc *desc, const struct vta_fault *fault)
{
	bool src = fault->access == VTA_ACCESS_COPY_SRC;
	uint32_t at = src ? desc->copy.src : desc->copy.dst;
	uint32_t pitch = src ? desc->copy.src_pitch : desc->copy.dst_pitch;

	for (uint32_t row = 0; row < desc->copy.rows; row++)
		if (fault->addr - (at + row * pitch) < desc->copy.width)
			return (uint64_t)row * desc->copy.width + fault->addr - (at + row * pitch);
	return UINT64_MAX;
}

/*
 * The card may report either: neither the source nor the destination of a byte can be accessed, or
 * modules of the core may come to two faults in any order.
 */
static bool both_fault(const struct queue *q, const struct vta_fault *c,
		       const struct vta_fault *rtl)
{
	const struct vta_desc *desc = in_hand(q, c->seq - 1);

	if ((desc->op_flags & VTA_DESC_OP_MASK) == VTA_OP_RUN &&
	    c->insn_index != VTA_FAULT_NO_INSN && rtl->insn_index != VTA_FAULT_NO_INSN)
		return !q->good || q->cycles || desc->run.cycle_limit;
	return c->seq == rtl->seq && c->access == VTA_ACCESS_COPY_DST &&
	       rtl->access == VTA_ACCESS_COPY_SRC && byte_of(desc, c) == byte_of(desc, rtl);
}

static void compare_page(struct pair *p, const struct queue *q)
{
	const struct vta_status_page *rtl = page_of(&p->side[0], q->n);
	const struct vta_status_page *c = page_of(&p->side[1], q->n);

	SAME(p, "seq", q->n, c->status.seq, rtl->status.seq);
	SAME(p, "state", q->n, c->status.state, rtl->status.state);
	if (p->mode < MODE_STOP) {
		SAME(p, "cycles", q->n, c->status.cycles, rtl->status.cycles);
		SAME(p, "runs", q->n, c->status.runs, rtl->status.runs);
		SAME(p, "copies", q->n, c->status.copies, rtl->status.copies);
	}
	if (c->status.state != VTA_QUEUE_HALTED)
		return;
	SAME(p, "fault_reason", q->n, c->fault.reason, c->status.fault_reason);
	SAME(p, "fault_reason", q->n, rtl->fault.reason, rtl->status.fault_reason);
	if (both_fault(q, &c->fault, &rtl->fault))
		return;
	SAME(p, "reason", q->n, c->fault.reason, rtl->fault.reason);
	SAME(p, "access", q->n, c->fault.access, rtl->fault.access);
	SAME(p, "fault's seq", q->n, c->fault.seq, rtl->fault.seq);
	SAME(p, "addr", q->n, c->fault.addr, rtl->fault.addr);
	SAME(p, "insn_index", q->n, c->fault.insn_index, rtl->fault.insn_index);
	for (unsigned int i = 0; i < 4; i++)
		SAME(p, "insn", q->n, c->fault.insn[i], rtl->fault.insn[i]);
	SAME(p, "fault's queue", q->n, c->fault.queue, rtl->fault.queue);
	SAME(p, "fault's context", q->n, c->fault.context, rtl->fault.context);
}

/* Print the queue and the descriptors that its ring still has, to explain a difference. */
void show_queue(struct pair *p, unsigned int n)
{
	const struct queue *q = &p->queue[n % QUEUES];
	uint64_t count = 1ull << q->order;

	print_message("queue %u: context %u, order %u, cycles %llu, %#llx of %#llx, state %#x\n",
		      q->n, q->context, q->order, (unsigned long long)q->cycles,
		      (unsigned long long)seq_of(&p->side[0], q->n),
		      (unsigned long long)q->submitted, state_of(&p->side[0], q->n));
	for (unsigned int i = 0; i < DATA_PAGES; i++)
		print_message("page %#x: %#llx\n", DATA(q->n) + i * VTA_PAGE_SIZE,
			      (unsigned long long)((const uint64_t *)rig_at(&p->side[0].rig,
				p->side[0].table[q->n]))[VTA_L2_ENTRIES - DATA_PAGES + i]);
	for (uint64_t seq = q->submitted - count; seq != q->submitted; seq++) {
		const uint32_t *word = (const uint32_t *)in_hand(q, seq);

		print_message("%#llx:", (unsigned long long)seq + 1);
		for (unsigned int i = 0; i < 10; i++)
			print_message(" %x", word[i]);
		print_message("\n");
	}
	for_each_side(s, p) {
		const struct vta_fault *fault = &page_of(s, q->n)->fault;

		print_message("%s: fault of %#llx: reason %u access %u addr %#x insn %u\n",
			      side_names[s - p->side], (unsigned long long)fault->seq,
			      fault->reason, fault->access, fault->addr, fault->insn_index);
	}
}

static void compare_memory(struct pair *p, const char *what, unsigned int n, const uint8_t *rtl,
			   const uint8_t *c, size_t bytes)
{
	if (!memcmp(rtl, c, bytes))
		return;
	show_queue(p, n);
	for (size_t i = 0; i < bytes; i++)
		if (rtl[i] != c[i])
			fail_msg("batch %lu (%s): %s of %u differ at %#zx: %#x in C, %#x in RTL",
				 p->batch, mode_names[p->mode], what, n, i, c[i], rtl[i]);
}

/* A byte of a queue's data, or NULL if its entry is none of data_entry()'s good ones. */
static uint8_t *byte_at(struct side *s, const struct queue *q, uint32_t va)
{
	const uint64_t *table = rig_at(&s->rig, s->table[q->n]);
	uint64_t entry;

	if (va - DATA(q->n) >= DATA_BYTES)
		return NULL;
	entry = table[va / VTA_PAGE_SIZE % VTA_L2_ENTRIES];
	if ((entry & ~VTA_PTE_ADDR) == (RIG_RW | RIG_CARD) && (entry & VTA_PTE_ADDR) < RIG_MEM_SIZE)
		return s->rig.c.bar4 + (entry & VTA_PTE_ADDR) + va % VTA_PAGE_SIZE;
	if ((entry & ~VTA_PTE_ADDR) == RIG_RW && (entry & VTA_PTE_ADDR) != NO_HOST)
		return (uint8_t *)rig_at(&s->rig, entry & VTA_PTE_ADDR) + va % VTA_PAGE_SIZE;
	return NULL;
}

static void settle_bytes(struct pair *p, const struct queue *q, uint32_t va, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t *rtl = byte_at(&p->side[0], q, va + i);

		if (rtl)
			*rtl = *byte_at(&p->side[1], q, va + i);
	}
}

/*
 * A copy that faulted may have written any byte behind the one that it reports, and a stream any
 * that it stores: let both cards have the same.
 */
static void settle_fault(struct pair *p, const struct queue *q)
{
	const struct vta_fault *fault = &page_of(&p->side[0], q->n)->fault;
	const struct vta_desc *desc = in_hand(q, fault->seq - 1);
	uint32_t stream = (desc->run.insn_addr - CODE(q->n)) / (STREAM_INSNS * sizeof(struct insn));

	if (page_of(&p->side[0], q->n)->status.state != VTA_QUEUE_HALTED)
		return;
	if (fault->access == VTA_ACCESS_COPY_SRC || fault->access == VTA_ACCESS_COPY_DST) {
		uint64_t first = byte_of(desc, fault);
		uint32_t width = desc->copy.width, at = (uint32_t)(first % width);

		for (uint32_t row = (uint32_t)(first / width); row < desc->copy.rows; row++, at = 0)
			settle_bytes(p, q, desc->copy.dst + row * desc->copy.dst_pitch + at,
				     width - at);
	}
	if ((desc->op_flags & VTA_DESC_OP_MASK) == VTA_OP_RUN && stream < STREAMS)
		for (unsigned int i = 0; i < STORES; i++)
			settle_bytes(p, q, q->stores[stream][i].va, q->stores[stream][i].bytes);
}

static void compare_stamps(struct pair *p, unsigned int n)
{
	struct vta_stamp *rtl = rig_at(&p->side[0].rig, p->side[0].stamps[n]);
	struct vta_stamp *c = rig_at(&p->side[1].rig, p->side[1].stamps[n]);

	for (unsigned int i = 0; i < STAMPS; i++) {
		SAME(p, "a stamp's number", n, c[i].seq, rtl[i].seq);
		SAME(p, "a stamp's cycles", n, c[i].cycles, rtl[i].cycles);
		assert_true(c[i].start <= c[i].end && rtl[i].start <= rtl[i].end);
	}
}

void compare_all(struct pair *p)
{
	struct side *rtl = &p->side[0], *c = &p->side[1];

	for (const struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
		unsigned int n = q->n;

		SAME(p, "register STATE", n, state_of(c, n), state_of(rtl, n));
		SAME(p, "register SEQ", n, rig_get64(&c->rig, REG_QUEUE_SEQ_LO(n)),
		     rig_get64(&rtl->rig, REG_QUEUE_SEQ_LO(n)));
		/* A doorbell of a halted queue is ignored, so it counts how early it halted. */
		if (p->mode == MODE_PLAIN || page_of(c, n)->status.state != VTA_QUEUE_HALTED)
			SAME(p, "register SUBMITTED", n, rig_get(&c->rig, REG_QUEUE_SUBMITTED(n)),
			     rig_get(&rtl->rig, REG_QUEUE_SUBMITTED(n)));
		compare_page(p, q);
		settle_fault(p, q);
		compare_stamps(p, n);
		compare_memory(p, "data", n, rig_at(&rtl->rig, rtl->data[n]),
			       rig_at(&c->rig, c->data[n]), DATA_BYTES);
		compare_memory(p, "card memory", n, rtl->rig.c.bar4 + n * DATA_BYTES,
			       c->rig.c.bar4 + n * DATA_BYTES, DATA_BYTES);
	}
	compare_memory(p, "block", 0, rig_at(&rtl->rig, rtl->block), rig_at(&c->rig, c->block),
		       2 * BLOCK_BYTES);
	compare_memory(p, "cells", 0, rig_at(&rtl->rig, rtl->cells), rig_at(&c->rig, c->cells),
		       VTA_PAGE_SIZE);
	for (unsigned int n = 1; n < BLOCKS; n++)
		compare_memory(p, "card block", n, rtl->rig.c.bar4 + ((size_t)n << VTA_L1_SHIFT),
			       c->rig.c.bar4 + ((size_t)n << VTA_L1_SHIFT), 2 * BLOCK_BYTES);
	if (p->mode < MODE_STOP)
		same_register(p, "EVENT", REG_EVENT);
	same_register(p, "GENERATION", REG_GENERATION);
}

/* ---- Counters and interrupts ---- */

static void compare_counter(struct pair *p, enum vta_counter n)
{
	struct rig *rtl = &p->side[0].rig, *c = &p->side[1].rig;

	for (unsigned int i = 0; i < SPINS && rig_counter(c, n) != rig_counter(rtl, n); i++)
		usleep(i < 100 ? 0 : 100);
	SAME(p, "counter", n, rig_counter(c, n), rig_counter(rtl, n));
}

static uint64_t translations(struct side *s)
{
	return rig_counter(&s->rig, VTA_COUNTER_PAGE_WALKS) +
	       rig_counter(&s->rig, VTA_COUNTER_TLB_HITS);
}

void compare_counters(struct pair *p)
{
	static const enum vta_counter always[] = {
		VTA_COUNTER_ARMS, VTA_COUNTER_INTERRUPTS,
		VTA_COUNTER_TLB_INVALIDATIONS, VTA_COUNTER_DESCRIPTORS,
		VTA_COUNTER_RUNS, VTA_COUNTER_COPIES, VTA_COUNTER_FILLS, VTA_COUNTER_COPY_BYTES,
		VTA_COUNTER_COPY_CYCLES, VTA_COUNTER_FAULTS,
		VTA_COUNTER_RESETS, VTA_COUNTER_STATE_SAVES,
	}, plain[] = {
		VTA_COUNTER_BAD_ACCESSES, VTA_COUNTER_DOORBELLS,
	}, traffic[] = {
		VTA_COUNTER_DMA_WRITE_BYTES, VTA_COUNTER_MEM_READ_BYTES,
		VTA_COUNTER_MEM_WRITE_BYTES, VTA_COUNTER_INSNS, VTA_COUNTER_GEMM_UOPS,
		VTA_COUNTER_ALU_UOPS, VTA_COUNTER_COMPUTE_CYCLES,
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		compare_counter(p, always[i]);
	if (p->mode != MODE_PLAIN)
		return;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		compare_counter(p, plain[i]);
	if (p->faulted || p->held)
		return;
	/* Of what a fault ends, a card may have done and read more or less. */
	for (size_t i = 0; i < sizeof(traffic) / sizeof(traffic[0]); i++)
		compare_counter(p, traffic[i]);
	SAME(p, "translations", 0, translations(&p->side[1]), translations(&p->side[0]));
}

/* The queue has come to @seq and is disarmed then, or to the end of the batch. */
void disarm(struct queue *q, uint64_t seq)
{
	if (q->armed && (int64_t)(seq - q->arm) >= 0)
		q->interrupts++;
	q->armed = false;
}

static void compare_vector(struct pair *p, unsigned int vector, uint64_t expected)
{
	if (p->mode >= MODE_STOP)
		expected = 0;
	for_each_side(s, p) {
		uint64_t got = 0, n;

		do {
			n = vfc_irq_wait(&s->rig.c, vector, got < expected ? RIG_SOON : 0);
			got += n;
		} while (n);
		if (got != expected)
			fail_msg("batch %lu (%s): %llu interrupts of vector %u by %s, not %llu",
				 p->batch, mode_names[p->mode], (unsigned long long)got, vector,
				 side_names[s - p->side], (unsigned long long)expected);
	}
}

void compare_interrupts(struct pair *p)
{
	compare_vector(p, 0, p->faulted);
	for (struct queue *q = p->queue; q < p->queue + QUEUES; q++) {
		disarm(q, q->submitted);
		compare_vector(p, RIG_VECTOR(q->n), q->interrupts);
		q->interrupts = 0;
	}
}
