// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_same.c - a card in the process and the emulated card fare the same
 *
 * Random descriptors, well-formed or not, with addresses inside and outside of what is
 * mapped, go to both: the sequence number, the fault record, what a stamp counts and all
 * memory must be equal after each. The emulated card is a process of its own.
 *
 * VTA_SEED (1) is the first seed and VTA_DESCS (1200) the number of descriptors.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"
#include "vtadev.h"

#define CONTEXT		1u
#define STAMP_AT	(DATA + DATA_SIZE)
#define DATA		0x00100000u	/* host memory, and a page of stamps behind it */
#define DATA_SIZE	(3 * VTA_PAGE_SIZE)
#define RO		0x00300000u	/* not writable */
#define CARD		0x00400000u	/* card memory */
#define TOP		0xfffff000u	/* the last page */
#define NOWHERE		0x00500000u
#define STREAM		0x00600000u	/* instructions */

static const struct {
	uint32_t addr;
	uint32_t pages;
	unsigned int flags;
	uint64_t entry;
} areas[] = {
	{ DATA, 4, VTADEV_HOST, RIG_RW },
	{ RO, 1, VTADEV_HOST | VTADEV_READONLY, RIG_RO },
	{ CARD, 2, VTADEV_CARD, RIG_RW | RIG_CARD },
	{ TOP, 1, VTADEV_HOST, RIG_RW },
	{ STREAM, 1, VTADEV_HOST, RIG_RW },
};

#define AREAS	(sizeof(areas) / sizeof(*areas))

struct both {
	struct rig *rig;
	struct rig_queue card;
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_buf *bufs[AREAS];
	uint8_t *by_card[AREAS], *by_soft[AREAS];
	unsigned int faults[VTA_FAULT_TIME + 1];
};

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

/* ---- The two ---- */

static void map_card(struct both *b, size_t i)
{
	const uint32_t addr = areas[i].addr;

	if (areas[i].entry & RIG_CARD) {
		for (uint32_t p = 0; p < areas[i].pages; p++)
			rig_map(b->rig, CONTEXT, addr + p * VTA_PAGE_SIZE, p * VTA_PAGE_SIZE,
				areas[i].entry);
		b->by_card[i] = b->rig->c.bar4;
	} else if (areas[i].entry == RIG_RO) {
		uint64_t bus = rig_pages(b->rig, 1);

		rig_map(b->rig, CONTEXT, addr, bus, RIG_RO);
		b->by_card[i] = rig_at(b->rig, bus);
	} else {
		b->by_card[i] = rig_map_pages(b->rig, CONTEXT, addr, areas[i].pages);
	}
}

static void open_both(struct both *b, struct rig *rig, uint64_t max_cycles)
{
	const struct vtadev_queue_opts opts = { .ring_entries = 16, .max_cycles = max_cycles };

	memset(b, 0, sizeof(*b));
	b->rig = rig;
	rig_context(rig, CONTEXT);
	rig_queue(rig, &b->card, 2, CONTEXT, 4);
	rig_set64(rig, REG_QUEUE_CYCLES_LO(2), max_cycles);
	assert_int_equal(vtadev_open("soft", &b->dev), 0);
	assert_int_equal(vtadev_queue_create(b->dev, &opts, &b->queue), 0);
	for (size_t i = 0; i < AREAS; i++) {
		void *map;

		map_card(b, i);
		assert_int_equal(vtadev_buf_alloc_at(b->dev, areas[i].pages * VTA_PAGE_SIZE,
						     areas[i].flags, 0, areas[i].addr, &b->bufs[i]),
				 0);
		assert_int_equal(vtadev_buf_map(b->bufs[i], &map), 0);
		b->by_soft[i] = map;
	}
	rig_queue_start(&b->card, 0);
}

static void close_both(struct both *b)
{
	vtadev_queue_destroy(b->queue);
	for (size_t i = 0; i < AREAS; i++)
		vtadev_buf_free(b->bufs[i]);
	vtadev_close(b->dev);
}

/* ---- Random descriptors ---- */

static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((rng >> 33) % below);
}

/* Mostly good, often near an edge. */
static uint32_t address(void)
{
	static const uint32_t at[] = { DATA, DATA, DATA, CARD, CARD, RO, TOP, STREAM };
	static const uint32_t odd[] = {
		NOWHERE, 0, 0xfffffff8, DATA - 8, DATA + 4 * VTA_PAGE_SIZE - 8,
		CARD + 2 * VTA_PAGE_SIZE - 4, RO + VTA_PAGE_SIZE - 16,
	};

	if (!rnd(12))
		return odd[rnd(sizeof(odd) / sizeof(*odd))];
	return at[rnd(sizeof(at) / sizeof(*at))] + rnd(rnd(4) ? 64 : DATA_SIZE);
}

static uint32_t length(void)
{
	return rnd(4) ? rnd(300) : rnd(9000);
}

static struct vta_desc well_formed(void)
{
	uint32_t rows = rnd(3) ? 1 : rnd(9), width = length();

	switch (rnd(6)) {
	case 0:
		return vtadev_desc_nop();
	case 1:
		return vtadev_desc_run(rnd(8) ? STREAM : address(), rnd(4),
				       rnd(3) ? 4000 : rnd(40));
	case 2:
		return vtadev_desc_fill2d(address(), rnd(400), (uint32_t)rng, width, rows);
	case 3:
		return vtadev_desc_signal(rnd(4) ? address() & ~7u : address(), rng);
	case 4:	/* of what is there already */
		return vtadev_desc_wait(rnd(4) ? address() & ~7u : address(), 0);
	default:
		return vtadev_desc_copy2d(address(), rnd(400), address(), rnd(400), width, rows);
	}
}

/* Shortens a descriptor that would last: both must come to an end. */
static struct vta_desc bounded(struct vta_desc desc)
{
	switch (desc.op_flags & VTA_DESC_OP_MASK) {
	case VTA_OP_RUN:
		desc.run.cycle_limit = desc.run.cycle_limit % 5000 + 1;
		break;
	case VTA_OP_WAIT:
		desc.sync.value = 0;
		break;
	case VTA_OP_COPY:
	case VTA_OP_FILL:
		/* Rows of nothing, or on top of each other, are without end. */
		desc.copy.rows %= 4096;
		break;
	default:
		break;
	}
	return desc;
}

static struct vta_desc descriptor(void)
{
	struct vta_desc desc = well_formed();
	uint32_t *words = (uint32_t *)&desc;

	if (!rnd(4))
		vtadev_desc_stamp(&desc, rnd(16) ? STAMP_AT + 32 * rnd(100) : address());
	if (!rnd(12))
		words[rnd(16)] ^= 1u << rnd(32);
	return bounded(desc);
}

/* Both get the same instructions: good ones, any bits, or loads and stores of anywhere. */
static void new_stream(struct both *b)
{
	struct prog p = prog_at(b->by_card[AREAS - 1]);

	for (unsigned int i = 0; i < 4; i++) {
		const struct insn junk = { { rng ^ rnd(1u << 31), rng * 3 } };

		switch (rnd(5)) {
		case 0:
			prog_finish(&p, rnd(8) ? 0 : INSN_POP_PREV);
			break;
		case 1:
			prog_load(&p, INSN_ACC, rnd(PROG_ACC_DEPTH), address() & -64u, rnd(30), 0);
			break;
		case 2:
			prog_store(&p, rnd(PROG_ACC_DEPTH), address() & -16u, rnd(30), 0);
			break;
		case 3:
			prog_add_imm(&p, (int16_t)rnd(1000), 0);
			break;
		default:
			prog_add(&p, junk);
			break;
		}
	}
	memcpy(b->by_soft[AREAS - 1], b->by_card[AREAS - 1], VTA_PAGE_SIZE);
}

/* ---- Comparing ---- */

struct end {
	uint64_t seq;
	struct vta_fault fault;
};

static struct end on_card(struct both *b, struct vta_desc desc)
{
	struct rig_queue *q = &b->card;
	struct end end = { 0 };

	rig_put(q, desc);
	rig_submit(q);
	while (!(end.fault.reason = q->page->status.fault_reason) && rig_seq(q) != q->submitted)
		;
	end.seq = rig_seq(q);
	if (!end.fault.reason)
		return end;
	end.fault = rig_halted(q);
	rig_queue_stop(q, false);
	rig_queue_start(q, end.fault.seq);
	return end;
}

static struct end on_soft(struct both *b, struct vta_desc desc)
{
	struct vtadev_fault fault;
	struct end end = { 0 };
	int err;

	assert_int_equal(vtadev_submit(b->queue, &desc, 1, &end.seq), 0);
	err = vtadev_wait(b->queue, end.seq, -1);
	if (!err)
		return end;
	assert_int_equal(err, -EIO);
	assert_int_equal(vtadev_completed(b->queue, &end.seq), 0);
	assert_int_equal(vtadev_fault(b->queue, &fault), 0);
	end.fault = (struct vta_fault){
		.reason = fault.reason, .access = fault.access, .seq = fault.seq,
		.addr = fault.addr, .insn_index = fault.insn_index,
	};
	memcpy(end.fault.insn, fault.insn, sizeof(fault.insn));
	assert_int_equal(vtadev_recover(b->queue), 0);
	return end;
}

/* Clears the stamps: each side has a clock of its own. */
static void forget_times(struct both *b)
{
	const uint32_t end = DATA_SIZE + VTA_PAGE_SIZE;

	for (uint32_t at = DATA_SIZE; at < end; at += sizeof(struct vta_stamp)) {
		memset(b->by_card[0] + at, 0, offsetof(struct vta_stamp, cycles));
		memset(b->by_soft[0] + at, 0, offsetof(struct vta_stamp, cycles));
	}
}

/* A stamp among the data has times in it, too. */
static void forget_stray(struct both *b, const struct vta_desc *desc)
{
	uint32_t at = desc->stamp_addr;

	if (!(desc->op_flags & VTA_DESC_STAMP) || (at >= STAMP_AT && at < STAMP_AT + VTA_PAGE_SIZE))
		return;
	for (size_t i = 0; i < AREAS; i++)
		memcpy(b->by_soft[i], b->by_card[i], areas[i].pages * VTA_PAGE_SIZE);
}

static void compare(struct both *b, uint64_t n, const struct vta_desc *desc)
{
	struct end card = on_card(b, *desc), soft = on_soft(b, *desc);

	if (card.seq != soft.seq || card.fault.reason != soft.fault.reason ||
	    card.fault.access != soft.fault.access || card.fault.seq != soft.fault.seq ||
	    card.fault.addr != soft.fault.addr || card.fault.insn_index != soft.fault.insn_index ||
	    memcmp(card.fault.insn, soft.fault.insn, sizeof(card.fault.insn)) != 0)
		fail_msg("descriptor %" PRIu64 ", operation 0x%x: the card is at %" PRIu64
			 " with fault %u, %u, 0x%x at %u, soft at %" PRIu64
			 " with %u, %u, 0x%x at %u", n, desc->op_flags, card.seq,
			 card.fault.reason, card.fault.access, card.fault.addr,
			 card.fault.insn_index, soft.seq, soft.fault.reason, soft.fault.access,
			 soft.fault.addr, soft.fault.insn_index);
	if (card.fault.reason <= VTA_FAULT_TIME)
		b->faults[card.fault.reason]++;
	forget_times(b);
	forget_stray(b, desc);
	for (size_t i = 0; i < AREAS; i++)
		if (memcmp(b->by_card[i], b->by_soft[i], areas[i].pages * VTA_PAGE_SIZE) != 0)
			fail_msg("descriptor %" PRIu64 ", operation 0x%x: other memory at 0x%x",
				 n, desc->op_flags, areas[i].addr);
}

static void fare_the_same(struct rig *r, uint64_t max_cycles, uint64_t descs)
{
	static const enum vta_fault_reason seen[] = {
		VTA_FAULT_NONE, VTA_FAULT_PAGE, VTA_FAULT_PERM, VTA_FAULT_DESC, VTA_FAULT_ALIGN,
		VTA_FAULT_INSN, VTA_FAULT_BOUNDS, VTA_FAULT_CYCLES, VTA_FAULT_DEADLOCK,
	};
	struct both b;

	rng = env("VTA_SEED", 1) + max_cycles;
	open_both(&b, r, max_cycles);
	for (uint64_t n = 0; n < descs; n++) {
		const struct vta_desc desc = (n % 16 ? (void)0 : new_stream(&b), descriptor());

		compare(&b, n, &desc);
	}
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen) && descs >= 1000; i++)
		if (!b.faults[seen[i]])
			fail_msg("nothing ended in %u: the test is too weak", seen[i]);
	close_both(&b);
}

TEST_F(RIG, descriptors_fare_the_same)
{
	fare_the_same(r, 0, env("VTA_DESCS", 1200));
}

TEST_F(RIG, with_a_limit_of_cycles_too)
{
	fare_the_same(r, 200, env("VTA_DESCS", 1200) / 4);
}
