// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host that does everything wrong: random register writes, page tables,
 * descriptors, streams, resets and a bus that comes and goes. The card must neither fail nor
 * touch memory that it was not given, and must work after a reset.
 *
 * VTA_SEED (1) is the seed and VTA_CHAOS (20000) the number of actions.
 */
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "card_rig.h"

#define QUEUES		8
#define CONTEXTS	8
#define PAGES		64		/* that entries may point to */
#define CANARIES	256		/* pages that none does */
#define NO_HOST		0x10000000u	/* no memory there */

struct chaos {
	struct rig *r;
	uint64_t seed;
	uint64_t pages;
	uint64_t canaries;
	uint64_t roots;			/* of CONTEXTS contexts */
	uint64_t tables;		/* CONTEXTS second-level tables */
	uint64_t status;		/* QUEUES status pages */
};

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

/* splitmix64 */
static uint64_t any(struct chaos *c)
{
	uint64_t z = c->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t below(struct chaos *c, uint32_t n)
{
	return (uint32_t)(any(c) % n);
}

static bool one_in(struct chaos *c, uint32_t n)
{
	return !below(c, n);
}

/* Addresses that are mapped mostly, and some that never are. */
static uint32_t address(struct chaos *c)
{
	if (one_in(c, 20))
		return (uint32_t)any(c);
	return below(c, VTA_L2_ENTRIES) * VTA_PAGE_SIZE + (one_in(c, 3) ? below(c, 4096) : 0);
}

static uint64_t entry(struct chaos *c)
{
	switch (below(c, 12)) {
	case 0:
		return 0;
	case 1:
		return any(c) & ~VTA_PTE_VALID;
	case 2:
		return any(c) | VTA_PTE_VALID | VTA_PTE_CARD | 1ull << 62;
	case 3:
		return NO_HOST | RIG_RW;
	case 4:
	case 5:
		return below(c, RIG_MEM_SIZE / VTA_PAGE_SIZE + 2) * VTA_PAGE_SIZE | RIG_RW |
		       RIG_CARD;
	case 6:
		return (c->pages + below(c, PAGES) * VTA_PAGE_SIZE) | RIG_RO;
	default:
		return (c->pages + below(c, PAGES) * VTA_PAGE_SIZE) | RIG_RW;
	}
}

static void change_entry(struct chaos *c)
{
	unsigned int n = below(c, CONTEXTS);
	uint64_t *l1 = rig_at(c->r, c->roots + n * VTA_L1_ENTRIES * sizeof(*l1));
	uint64_t *l2 = rig_at(c->r, c->tables + n * VTA_PAGE_SIZE);

	if (one_in(c, 30))
		l1[below(c, 4)] = one_in(c, 2) ? entry(c) | VTA_PTE_BLOCK : NO_HOST | VTA_PTE_VALID;
	else if (one_in(c, 10))
		l1[0] = (c->tables + n * VTA_PAGE_SIZE) | VTA_PTE_VALID;
	else
		l2[below(c, VTA_L2_ENTRIES)] = entry(c);
}

static struct vta_desc descriptor(struct chaos *c)
{
	struct vta_desc desc = { .op_flags = below(c, VTA_OP_WAIT + (one_in(c, 20) ? 3 : 1)) };

	if (one_in(c, 4)) {
		desc.op_flags |= VTA_DESC_STAMP;
		desc.stamp_addr = address(c) & (one_in(c, 20) ? UINT32_MAX : ~7u);
	}
	switch (desc.op_flags & VTA_DESC_OP_MASK) {
	case VTA_OP_RUN:
		desc.run.insn_addr = address(c) & ~15u;
		desc.run.insn_count = below(c, one_in(c, 10) ? UINT32_MAX : 64);
		desc.run.cycle_limit = one_in(c, 5) ? 0 : below(c, 1 << 20);
		break;
	case VTA_OP_COPY:
	case VTA_OP_FILL:
		desc.copy.dst = address(c);
		desc.copy.src = address(c);
		desc.copy.width = below(c, one_in(c, 10) ? UINT32_MAX : 10000);
		desc.copy.rows = below(c, one_in(c, 10) ? UINT32_MAX : 20);
		desc.copy.dst_pitch = below(c, 10000);
		if ((desc.op_flags & VTA_DESC_OP_MASK) == VTA_OP_COPY)
			desc.copy.src_pitch = below(c, 10000);
		break;
	case VTA_OP_SIGNAL:
	case VTA_OP_WAIT:
		desc.sync.addr = address(c) & ~7u;
		desc.sync.value = below(c, 3);
		break;
	}
	if (one_in(c, 40))
		((uint32_t *)&desc)[below(c, 16)] ^= 1u << below(c, 32);
	return desc;
}

/* Rings and streams are wherever the tables point: any page may be either. */
static void scribble(struct chaos *c)
{
	uint8_t *page = rig_at(c->r, c->pages + below(c, PAGES) * VTA_PAGE_SIZE);
	uint64_t *words = (void *)page;

	if (one_in(c, 3)) {
		/* Instructions with an opcode that exists, mostly. */
		for (unsigned int i = 0; i < VTA_PAGE_SIZE / sizeof(*words); i += 2) {
			words[i] = (any(c) & ~7ull) | below(c, one_in(c, 50) ? 8 : 5);
			words[i + 1] = any(c) & (one_in(c, 2) ? UINT64_MAX : 0x0000000f000f000f);
		}
	} else {
		struct vta_desc *ring = (void *)page;

		for (unsigned int i = 0; i < VTA_PAGE_SIZE / sizeof(*ring); i++)
			ring[i] = descriptor(c);
	}
}

static void set_up_queue(struct chaos *c, unsigned int n)
{
	struct rig *r = c->r;

	rig_set(r, REG_QUEUE_CONTEXT(n), below(c, CONTEXTS + one_in(c, 10)));
	rig_set(r, REG_QUEUE_RING_ORDER(n), below(c, one_in(c, 20) ? UINT32_MAX : 7));
	rig_set(r, REG_QUEUE_RING_ADDR(n), address(c) & (one_in(c, 20) ? UINT32_MAX : ~4095u));
	rig_set(r, REG_QUEUE_VECTOR(n), below(c, 12));
	rig_set64(r, REG_QUEUE_STATUS_LO(n), c->status + n * VTA_PAGE_SIZE);
	rig_set64(r, REG_QUEUE_CYCLES_LO(n), one_in(c, 3) ? 0 : below(c, 1 << 20));
	rig_set64(r, REG_QUEUE_START_LO(n), one_in(c, 5) ? any(c) : 0);
	rig_set(r, REG_QUEUE_CTRL(n), REG_QUEUE_CTRL_ENABLE | below(c, 4) << 8);
}

static void set_up_context(struct chaos *c, unsigned int n)
{
	rig_set(c->r, REG_CONTEXT_CTRL(n), 0);
	rig_set64(c->r, REG_CONTEXT_ROOT_LO(n), c->roots + n * VTA_L1_ENTRIES * sizeof(uint64_t));
	rig_set(c->r, REG_CONTEXT_CTRL(n), !one_in(c, 10));
	if (one_in(c, 2))
		rig_set(c->r, REG_TLB_INVALIDATE, n);
}

/* One of everything that a host can do. */
static void act(struct chaos *c)
{
	struct rig *r = c->r;
	unsigned int n = below(c, QUEUES);
	uint32_t seq;

	switch (below(c, 24)) {
	case 0:
		set_up_context(c, below(c, CONTEXTS));
		break;
	case 1:
	case 2:
		set_up_queue(c, n);
		break;
	case 3:
		rig_set(r, REG_QUEUE_CTRL(n), one_in(c, 2) ? REG_QUEUE_CTRL_ABORT : 0);
		break;
	case 4:
		rig_set(r, REG_QUEUE_ARM(n), rig_get(r, REG_QUEUE_SEQ_LO(n)) + below(c, 4));
		break;
	case 5:
		rig_set(r, REG_TLB_INVALIDATE, (uint32_t)any(c));
		break;
	case 6:
		/* Not the status pages: the host keeps those, or it is fatal. */
		if (one_in(c, 4))
			rig_set(r, below(c, 0x1000) & ~3u & ~REG_CONTROL, (uint32_t)any(c));
		break;
	case 7:
		rig_set(r, REG_EVENT, UINT32_MAX);
		rig_set(r, REG_EVENT_ENABLE, below(c, 4));
		break;
	case 8:
		if (one_in(c, 20))
			rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
		else if (one_in(c, 3))
			rig_set(r, REG_CONTROL, below(c, 2));
		break;
	case 9:
		vfc_command(&r->c, 0, PCI_COMMAND_MASTER);
		break;
	case 10:
		if (one_in(c, 40))
			vfc_flr(&r->c);
		vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
		break;
	case 11:
	case 12:
		scribble(c);
		break;
	case 13:
	case 14:
	case 15:
		change_entry(c);
		break;
	default:
		vfc_command(&r->c, PCI_COMMAND_MASTER, 0);
		rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE);
		seq = rig_get(r, REG_QUEUE_SEQ_LO(n));
		rig_doorbell(r, n, seq + below(c, one_in(c, 30) ? UINT32_MAX : 8));
		break;
	}
}

static void prepare(struct chaos *c, struct rig *r)
{
	*c = (struct chaos) { .r = r, .seed = env("VTA_SEED", 1) };
	c->roots = rig_pages(r, CONTEXTS * 4);
	c->tables = rig_pages(r, CONTEXTS);
	c->status = rig_pages(r, QUEUES);
	c->pages = rig_pages(r, PAGES);
	c->canaries = rig_pages(r, CANARIES);
	memset(rig_at(r, c->canaries), 0x5c, CANARIES * VTA_PAGE_SIZE);
	for (unsigned int n = 0; n < CONTEXTS; n++) {
		uint64_t *l1 = rig_at(r, c->roots + n * VTA_L1_ENTRIES * sizeof(*l1));
		uint64_t *l2 = rig_at(r, c->tables + n * VTA_PAGE_SIZE);

		l1[0] = (c->tables + n * VTA_PAGE_SIZE) | VTA_PTE_VALID;
		for (unsigned int i = 0; i < VTA_L2_ENTRIES; i++)
			l2[i] = entry(c);
		set_up_context(c, n);
	}
	for (unsigned int i = 0; i < 4 * PAGES; i++)
		scribble(c);
}

/* Tables and status pages are the card's to read and to write in part. */
static void assert_untouched(struct chaos *c)
{
	const uint8_t *canary = rig_at(c->r, c->canaries);

	for (size_t i = 0; i < CANARIES * VTA_PAGE_SIZE; i++)
		assert_int_equal(canary[i], 0x5c);
	for (unsigned int n = 0; n < QUEUES; n++) {
		const uint8_t *page = rig_at(c->r, c->status + n * VTA_PAGE_SIZE);

		for (size_t i = VTA_STATUS_ALIGN; i < VTA_PAGE_SIZE; i++)
			assert_int_equal(page[i], 0);
	}
}

TEST_F(RIG, survives)
{
	uint64_t actions = env("VTA_CHAOS", 20000), done = 0, faults = 0;
	struct rig_queue q;
	struct chaos c;

	prepare(&c, r);
	for (uint64_t i = 0; i < actions; i++) {
		act(&c);
		if (i % 100)
			continue;
		assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
		assert_int_equal(rig_get(r, REG_STATUS) & REG_STATUS_FATAL, 0);
		done += rig_counter(r, VTA_COUNTER_DESCRIPTORS);
		faults += rig_counter(r, VTA_COUNTER_FAULTS);
		rig_clear_counters(r);
	}
	/* It was no exercise in refusing everything. */
	assert_true(done > actions / 400);
	assert_true(faults > actions / 1000);
	assert_untouched(&c);

	vfc_flr(&r->c);
	vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	rig_ready(r);
	rig_context(r, 0);
	rig_queue(r, &q, 0, 0, 4);
	rig_map_pages(r, 0, 0x100000, 1);
	rig_queue_start(&q, 0);
	rig_do(&q, vtadev_desc_fill(0x100000, 1, 4096));
	assert_untouched(&c);
}
