// SPDX-License-Identifier: GPL-2.0-only
/*
 * cards_work.c - random tables, streams and descriptors for both cards
 */
#include <string.h>

#include "cards.h"

/* ---- Chance ---- */

/* splitmix64 */
uint64_t any(struct pair *p)
{
	uint64_t z = p->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t below(struct pair *p, uint32_t n)
{
	return (uint32_t)(any(p) % n);
}

bool one_in(struct pair *p, uint32_t n)
{
	return !below(p, n);
}

/* Small numbers mostly, and sometimes one up to @most. */
static uint32_t length(struct pair *p, uint32_t most)
{
	uint32_t limit = one_in(p, 8) ? most : one_in(p, 3) ? 4096 : 200;

	return 1 + below(p, limit < most ? limit : most);
}

/* ---- Memory ---- */

void fill_random(struct pair *p, uint64_t bus, size_t bytes)
{
	uint64_t *rtl = rig_at(&p->side[0].rig, bus);

	for (size_t i = 0; i < bytes / sizeof(*rtl); i++)
		rtl[i] = any(p);
	memcpy(rig_at(&p->side[1].rig, bus), rtl, bytes);
}

/* An entry for page @i of a queue's data: its own page of the host or the card, or a bad one. */
static uint64_t data_entry(struct pair *p, const struct queue *q, unsigned int i)
{
	const uint64_t host = p->side[0].data[q->n] + i * VTA_PAGE_SIZE;
	const uint64_t card = (q->n * DATA_PAGES + i) * VTA_PAGE_SIZE;

	if (!q->good && one_in(p, 5)) {
		switch (below(p, 7)) {
		case 0:
			return any(p) & ~VTA_PTE_VALID;
		case 1:
			return host | RIG_RW | 1ull << (4 + below(p, 8));
		case 2:
			return host | RIG_RW | 1ull << (52 + below(p, 12));
		case 3:
			return RIG_MEM_SIZE | RIG_RW | RIG_CARD;
		case 4:
			return NO_HOST | RIG_RW;
		case 5:
			return NO_HOST | RIG_RO;
		default:
			return host | RIG_RO;
		}
	}
	return one_in(p, 4) ? card | RIG_RW | RIG_CARD : host | RIG_RW;
}

/* The first queue's block is the host's, the others' are the card's. */
static uint64_t block_entry(const struct side *s, unsigned int n)
{
	return VTA_PTE_BLOCK | RIG_RW | (n ? (uint64_t)n << VTA_L1_SHIFT | RIG_CARD : s->block);
}

/* The part's table anew, in the queue's context and in no other. */
void map_part(struct pair *p, struct queue *q)
{
	const struct side *one = &p->side[0];
	bool no_table = one_in(p, 60);
	uint64_t table[VTA_L2_ENTRIES] = { 0 };

	q->good = one_in(p, 2);
	table[0] = one->ring[q->n] | RIG_RO;
	table[1] = one->stamps[q->n] | RIG_RW;
	table[2] = one->cells | RIG_RW;
	table[4] = one->code[q->n] | RIG_RO;
	for (unsigned int i = 0; i < DATA_PAGES; i++)
		table[VTA_L2_ENTRIES - DATA_PAGES + i] = data_entry(p, q, i);
	for_each_side(s, p) {
		memcpy(rig_at(&s->rig, s->table[q->n]), table, sizeof(table));
		for (unsigned int n = 0; n < QUEUES; n++) {
			uint64_t *l1 = rig_l1(&s->rig, n, PART(q->n));

			l1[0] = n != q->context ? 0 :
				no_table ? NO_HOST | VTA_PTE_VALID : s->table[q->n] | VTA_PTE_VALID;
			if (q->n < BLOCKS)
				l1[1] = n == q->context ? block_entry(s, q->n) : 0;
		}
	}
	for_each_side(s, p)
		rig_invalidate(&s->rig, one_in(p, 4) ? REG_TLB_INVALIDATE_ALL : q->context);
}

/* ---- Streams ---- */

/* An address of @size bytes, a multiple of @align, in a half of the queue's data. */
static uint32_t data_at(struct pair *p, const struct queue *q, unsigned int half, uint32_t size,
			uint32_t align)
{
	return (DATA(q->n) + half * HALF + below(p, HALF - size)) & -align;
}

/*
 * Loads, adds and stores, one after the other.
 * The first micro-op is the code page's last word, 0.
 */
static void write_stream(struct pair *p, struct queue *q, struct insn *at, struct range *stores)
{
	struct prog prog = prog_at(at);
	unsigned int half = below(p, 2), groups = 1 + below(p, 4), bad = below(p, 24);

	prog_load(&prog, INSN_UOP, 0, CODE(q->n) + VTA_PAGE_SIZE - 4, 1, 0);
	for (unsigned int g = 0; g < groups; g++) {
		uint32_t n = 1 + below(p, one_in(p, 4) ? 200 : 20);
		uint32_t sram = below(p, 256);

		if (g == 1 && bad == 0)
			prog_add(&prog, (struct insn) { { any(p) | 7, any(p) } });
		if (g == 1 && bad == 1)
			prog_load(&prog, INSN_ACC, PROG_ACC_DEPTH - 1,
				  data_at(p, q, half, 1024, 64), 2, 0);
		if (g == 1 && bad == 2)
			prog_add_imm(&prog, 1, INSN_POP_PREV);
		prog_load(&prog, INSN_ACC, sram, data_at(p, q, half, n * 64, 64), n,
			  g ? INSN_POP_NEXT : 0);
		prog_load(&prog, INSN_ACC, 0, data_at(p, q, half, 64, 64), 1, 0);
		prog_add_imm(&prog, (int16_t)any(p), 0);
		prog_add_imm(&prog, (int16_t)any(p), INSN_PUSH_NEXT);
		stores[0] = (struct range){ data_at(p, q, !half, 16, 16), 16 };
		stores[1] = (struct range){ data_at(p, q, !half, n * 16, 16), n * 16 };
		prog_store(&prog, one_in(p, 2) ? 0 : sram, stores[0].va, 1, INSN_POP_PREV);
		prog_store(&prog, sram, stores[1].va, n, INSN_PUSH_PREV);
		stores += 2;
	}
	prog_finish(&prog, INSN_POP_NEXT);
	assert_true(prog.count <= STREAM_INSNS);
}

void write_code(struct pair *p, struct queue *q)
{
	struct insn code[VTA_PAGE_SIZE / sizeof(struct insn)] = { 0 };

	memset(q->stores, 0, sizeof(q->stores));
	for (unsigned int i = 0; i < STREAMS; i++)
		write_stream(p, q, code + i * STREAM_INSNS, q->stores[i]);
	for_each_side(s, p)
		memcpy(rig_at(&s->rig, s->code[q->n]), code, sizeof(code));
}

/* ---- Descriptors ---- */

static struct vta_desc make_run(struct pair *p, const struct queue *q)
{
	uint32_t at = CODE(q->n) + below(p, STREAMS) * STREAM_INSNS * sizeof(struct insn);
	struct vta_desc desc = vtadev_desc_run(at, STREAM_INSNS,
					       one_in(p, 5) ? 1 + below(p, 3000) : 0);

	/* The stream's FINISH is before what is left of it: zeros are LOADs of nothing. */
	if (one_in(p, 20))
		desc.run.insn_count = below(p, STREAM_INSNS);
	if (one_in(p, 60))
		desc.run.insn_addr = CODE(q->n) + VTA_PAGE_SIZE - 64;
	if (one_in(p, 60))
		desc.run.insn_addr += 1 + below(p, 15);
	if (one_in(p, 60))
		desc.op_flags |= VTA_DESC_KEEP;
	return desc;
}

/* Rows within a half, or from the upper one to wherever they end. */
static void make_rows(struct pair *p, const struct queue *q, unsigned int half, uint32_t width,
		      uint32_t rows, bool apart, uint32_t *at, uint32_t *pitch)
{
	uint32_t room = HALF / rows, least = apart ? width : 0;

	*pitch = rows > 1 ? least + below(p, room - least + 1) : (uint32_t)any(p);
	*at = data_at(p, q, half, rows > 1 ? (rows - 1) * *pitch + width : width, 1);
	if (half && one_in(p, 30))
		*at += below(p, HALF);
	if (half && one_in(p, 100) && rows > 1)
		*pitch = 1u << 30;
}

static struct vta_desc make_copy(struct pair *p, const struct queue *q, bool fill)
{
	uint32_t rows = one_in(p, 2) ? 1 : 1 + below(p, 12), width = length(p, HALF / rows - 1);
	uint32_t dst, src, dst_pitch, src_pitch;
	unsigned int half = below(p, 2);

	make_rows(p, q, half, width, rows, true, &dst, &dst_pitch);
	make_rows(p, q, !half, width, rows, false, &src, &src_pitch);
	if (one_in(p, 50))
		width = 0;
	else if (width > 2 && one_in(p, 100))
		rows = 1u << 31;
	/* A pattern that would be no address of any part, if a flip made it one. */
	if (fill)
		return vtadev_desc_fill2d(dst, dst_pitch, (uint32_t)any(p) | 1u << 30, width, rows);
	return vtadev_desc_copy2d(dst, dst_pitch, src, src_pitch, width, rows);
}

static uint32_t cell_at(const struct queue *q, unsigned int of)
{
	return CELLS(q->n) + of * 64;
}

static struct vta_desc make_sync(struct pair *p, struct queue *q, bool wait)
{
	const struct queue *other = &p->queue[below(p, QUEUES)];

	if (one_in(p, 12))
		return wait ? vtadev_desc_wait(data_at(p, q, 0, 8, one_in(p, 3) ? 1 : 8), 0) :
			      vtadev_desc_signal(data_at(p, q, 0, 8, one_in(p, 3) ? 1 : 8), any(p));
	if (!wait)
		return vtadev_desc_signal(cell_at(q, q->n), ++q->signals);
	return vtadev_desc_wait(cell_at(q, other->n), other->signals);
}

static void add_stamp(struct pair *p, const struct queue *q, struct vta_desc *desc)
{
	uint32_t at = STAMP(q->n) + (uint32_t)(q->submitted % STAMPS * sizeof(struct vta_stamp));

	if (one_in(p, 30))
		at = PART(q->n) + (one_in(p, 2) ? 0 : 3 * VTA_PAGE_SIZE);
	if (one_in(p, 40))
		at += 1 + below(p, 7);
	vtadev_desc_stamp(desc, at);
}

/* A bit where no address is; a WAIT must not become a SIGNAL to another queue's cell. */
static void flip_bit(struct pair *p, struct vta_desc *desc)
{
	static const uint8_t words[] = { 0, 0, 0, 2, 3, 10, 11, 12, 13, 14, 15 };
	bool wait = (desc->op_flags & VTA_DESC_OP_MASK) == VTA_OP_WAIT;
	uint8_t word = words[wait ? 3 + below(p, sizeof(words) - 3) : below(p, sizeof(words))];

	((uint32_t *)desc)[word] ^= 1u << below(p, word ? 32 : one_in(p, 4) ? 32 : 8);
}

struct vta_desc make_descriptor(struct pair *p, struct queue *q)
{
	uint32_t kind = below(p, p->mode == MODE_PLAIN ? 13 : 16);
	struct vta_desc desc = kind < 1 ? vtadev_desc_nop() :
			       kind < 5 ? make_run(p, q) :
			       kind < 9 ? make_copy(p, q, false) :
			       kind < 12 ? make_copy(p, q, true) : make_sync(p, q, kind > 13);

	if (one_in(p, 4))
		add_stamp(p, q, &desc);
	if (one_in(p, 50))
		flip_bit(p, &desc);
	return desc;
}

/* ---- Queues, as the host sees them ---- */

struct vta_status_page *page_of(struct side *s, unsigned int n)
{
	return rig_at(&s->rig, s->status[n]);
}

uint64_t seq_of(struct side *s, unsigned int n)
{
	return __atomic_load_n(&page_of(s, n)->status.seq, __ATOMIC_ACQUIRE);
}

uint32_t state_of(struct side *s, unsigned int n)
{
	return rig_get(&s->rig, REG_QUEUE_STATE(n));
}

/* The descriptor that a queue has in hand, as the host wrote it. */
const struct vta_desc *in_hand(const struct queue *q, uint64_t seq)
{
	return &q->ring[seq & ((1u << q->order) - 1)];
}
