// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_residue - data of others in new memory of every kind, and in the card's scratchpads
 */
#include "../vta_harness.h"
#include "wall.h"

WALL_FIXTURE(residue)

/* ---- memory ---- */

/* The victim has just freed memory full of secrets. */
static int litter(struct wall *w)
{
	return victim_order(&w->victim, VICTIM_HOARD) ?: victim_order(&w->victim, VICTIM_DROP);
}

TEST_F(residue, process_sees_none_in_new_memory)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	/* Above 2 MiB the kernel takes other ways; again, for what was just soiled. */
	static const size_t sizes[] = {
		1, 65536, HOARD_BYTES, 8 * HOARD_BYTES + 1, 8 * HOARD_BYTES, 8 * HOARD_BYTES,
	};
	struct wall *w = &self->wall;

	for (unsigned int k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct mem mem;

			ASSERT_EQ(0, litter(w));
			ASSERT_EQ(0, mem_alloc(w->fd, &mem, sizes[i], kinds[k], 0));
			EXPECT_EQ(0, nonzero_in(mem.ptr, mem.size));
			memset(mem.ptr, 0xee, mem.size);
			ASSERT_EQ(0, mem_free(&mem));
		}
	}
}

/* The process does not access the memory, which could be what clears it. */
TEST_F(residue, card_sees_none_in_new_memory)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	struct wall *w = &self->wall;
	struct mem mem, out;

	ASSERT_EQ(0, mem_alloc(w->fd, &out, HOARD_BYTES, VTA_BUF_HOST, 0));
	for (unsigned int k = 0; k < ARRAY_SIZE(kinds); k++) {
		ASSERT_EQ(0, litter(w));
		ASSERT_EQ(0, mem_alloc(w->fd, &mem, HOARD_BYTES, kinds[k], 0));
		memset(out.ptr, 0xee, HOARD_BYTES);
		ASSERT_EQ(0, queue_do(&w->q, desc_copy(out.addr, mem.addr, HOARD_BYTES)));
		EXPECT_EQ(0, nonzero_in(out.ptr, HOARD_BYTES));
		ASSERT_EQ(0, mem_free(&mem));
	}
}

/* Nothing beside the records (docs/hardware.md, 6): the rest of the page is zero. */
TEST_F(residue, none_is_in_ring_and_status_page_of_a_new_queue)
{
	struct wall *w = &self->wall;

	for (unsigned int order = 0; order <= w->info.ring_order_max; order += 3) {
		struct vta_queue_create create = { .ring_order = order };
		size_t ring = sizeof(struct vta_desc) << order;
		struct vta_status status;
		struct queue q;

		ASSERT_EQ(0, litter(w));
		ASSERT_EQ(0, queue_open(w->fd, &q, &create));
		EXPECT_EQ(0, nonzero_in(q.ring, ring < q.page ? q.page : ring));
		EXPECT_EQ(0, nonzero_in((uint8_t *)q.status + sizeof(struct vta_status),
					q.page - sizeof(struct vta_status)));
		memcpy(&status, (void *)q.status, sizeof(status));
		EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(status.state));
		status.state = 0;
		status.time = 0;
		EXPECT_EQ(0, nonzero_in(&status, sizeof(status)));
		memset(q.ring, 0xee, ring < q.page ? q.page : ring);
		ASSERT_EQ(0, queue_close(&q));
	}
}

/* ---- scratchpads ---- */

#define ELEMS(_log)	(1u << (_log))

/* Stores all accumulators; returns the number of instructions. */
static unsigned int store(const struct core *c, struct insn *code, unsigned int tokens,
			  uint32_t out)
{
	code[0] = insn_move(VTA_ISA_STORE | tokens, VTA_ISA_OUT, 0, out / c->inp_bytes, 1,
			    ELEMS(c->log.acc));
	return 1;
}

#define SPY_DATA	65536u

/* An attacker's context with all that shows the scratchpads. */
struct spy {
	int fd;
	struct queue q;
	struct mem code, data, out;
	const struct core *c;
};

static int spy_open(struct spy *spy, const struct core *c)
{
	spy->c = c;
	spy->fd = card_open();
	if (spy->fd < 0)
		return spy->fd;
	return queue_open(spy->fd, &spy->q, NULL) ?:
	       mem_alloc(spy->fd, &spy->code, 4096, VTA_BUF_HOST, 0) ?:
	       mem_alloc(spy->fd, &spy->data, SPY_DATA, VTA_BUF_HOST, 0) ?:
	       mem_alloc(spy->fd, &spy->out, ELEMS(c->log.acc) * c->inp_bytes,
			 VTA_BUF_HOST, 0);
}

static void spy_close(struct spy *spy)
{
	munmap(spy->code.ptr, spy->code.size);
	munmap(spy->data.ptr, spy->data.size);
	munmap(spy->out.ptr, spy->out.size);
	queue_unmap(&spy->q);
	close(spy->fd);
}

/* Writes a stream that shows one scratchpad in @out; returns its length. */
typedef unsigned int (*peek_fn)(struct spy *spy);

static unsigned int peek_acc(struct spy *spy)
{
	return store(spy->c, spy->code.ptr, 0, spy->out.addr);
}

/* The second half of the data is zero: a micro-op of the first elements. */
static unsigned int multiply(struct spy *spy, struct insn *code, const struct vta_isa_loop *loops)
{
	code[0] = insn_load(VTA_ISA_UOP, 0, (spy->data.addr + SPY_DATA / 2) / 4, 1, 1);
	code[1] = insn_gemm(spy->c, VTA_ISA_POP_PREV | VTA_ISA_PUSH_NEXT, loops);
	return 2 + store(spy->c, code + 2, VTA_ISA_POP_PREV, spy->out.addr);
}

/* acc[i] += inp[i] x the unit matrix. */
static unsigned int peek_inp(struct spy *spy)
{
	const struct core *c = spy->c;
	unsigned int n = ELEMS(c->log.inp < c->log.acc ? c->log.inp : c->log.acc);
	struct vta_isa_loop loops = {
		.uop_end = 1, .iter_out = n, .iter_in = 1, .dst_factor_out = 1, .src_factor_out = 1,
	};
	struct insn *code = spy->code.ptr;
	uint8_t *unit = spy->data.ptr;

	memset(spy->data.ptr, 0, spy->data.size);
	for (unsigned int i = 0; i < c->block; i++)
		unit[i * c->block + i] = 1;
	code[0] = insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_WGT, 0,
			    spy->data.addr / c->wgt_bytes, 1, 1);
	return 1 + multiply(spy, code + 1, &loops);
}

/* acc[i] += the first column of wgt[i]. */
static unsigned int peek_wgt(struct spy *spy)
{
	const struct core *c = spy->c;
	unsigned int n = ELEMS(c->log.wgt < c->log.acc ? c->log.wgt : c->log.acc);
	struct vta_isa_loop loops = {
		.uop_end = 1, .iter_out = n, .iter_in = 1, .dst_factor_out = 1, .wgt_factor_out = 1,
	};
	struct insn *code = spy->code.ptr;

	memset(spy->data.ptr, 0, spy->data.size);
	*(uint8_t *)spy->data.ptr = 1;
	code[0] = insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0,
			    spy->data.addr / c->inp_bytes, 1, 1);
	return 1 + multiply(spy, code + 1, &loops);
}

/*
 * acc[uop[i].dst] += 256 / uops for some of the micro-ops: all in accumulator 0, a
 * multiple of 256, unless one of them is not 0.
 */
static unsigned int peek_uop(struct spy *spy)
{
	const struct core *c = spy->c;
	unsigned int n = ELEMS(c->log.uop) < 256 ? ELEMS(c->log.uop) : 256;
	struct vta_isa_loop loops = { .uop_end = n, .iter_out = 1, .iter_in = 1 };
	struct insn *code = spy->code.ptr;

	code[0] = insn_alu(c, VTA_ISA_PUSH_NEXT, VTA_ISA_ADD, 256 / n, &loops);
	return 1 + store(c, code + 1, VTA_ISA_POP_PREV, spy->out.addr);
}

static const struct {
	const char *name;
	peek_fn peek;
} scratchpads[] = {
	{ "acc", peek_acc }, { "inp", peek_inp }, { "wgt", peek_wgt }, { "uop", peek_uop },
};

/* Bytes that are not 0 in a scratchpad, as far as the spy can see; -1: not at all. */
static int spy_peek(struct spy *spy, peek_fn look)
{
	unsigned int n = look(spy);

	memset(spy->out.ptr, 0xee, spy->out.size);
	if (queue_do(&spy->q, desc_run(spy->code.addr, n, 0)))
		return -1;
	return (int)nonzero_in(spy->out.ptr, spy->out.size);
}

/* Fills all scratchpads as the victim does. */
static int spy_soil(struct spy *spy)
{
	const struct core *c = spy->c;
	struct insn *code = spy->code.ptr;
	uint32_t data = spy->data.addr;

	memset(spy->data.ptr, VICTIM_SCRATCH, spy->data.size);
	code[0] = insn_load(VTA_ISA_UOP, 0, data / 4, 1, 256);
	code[1] = insn_load(VTA_ISA_ACC, 0, data / c->acc_bytes, 1, 64);
	code[2] = insn_load(VTA_ISA_INP, 0, data / c->inp_bytes, 1, 64);
	code[3] = insn_load(VTA_ISA_WGT, 0, data / c->wgt_bytes, 1, 64);
	return queue_do(&spy->q, desc_run(spy->code.addr, 4, 0));
}

/* The spy can read each scratchpad as long as the contents are its own. */
TEST_F(residue, spy_can_read_its_own_scratchpads)
{
	ASSERT_EQ(0, victim_order(&self->wall.victim, VICTIM_REST));
	for (unsigned int i = 0; i < ARRAY_SIZE(scratchpads); i++) {
		struct spy spy;

		ASSERT_EQ(0, spy_open(&spy, &self->wall.core));
		ASSERT_EQ(0, spy_soil(&spy));
		EXPECT_LT(0, spy_peek(&spy, scratchpads[i].peek)) {
			TH_LOG("in %s", scratchpads[i].name);
		}
		spy_close(&spy);
	}
	ASSERT_EQ(0, victim_order(&self->wall.victim, VICTIM_COMPUTE));
}

/* Each time the victim has run in between. */
TEST_F(residue, none_is_in_scratchpads_after_the_victim)
{
	struct spy spy;

	ASSERT_EQ(0, spy_open(&spy, &self->wall.core));
	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(scratchpads); i++) {
			ASSERT_EQ(0, victim_progress(&self->wall.victim, 1));
			EXPECT_EQ(0, spy_peek(&spy, scratchpads[i].peek)) {
				TH_LOG("in %s", scratchpads[i].name);
			}
		}
	}
	spy_close(&spy);
}

/* The previous user of the number was another context, even if none ran in between. */
TEST_F(residue, none_is_in_scratchpads_of_a_context_of_the_same_number)
{
	ASSERT_EQ(0, victim_order(&self->wall.victim, VICTIM_REST));
	for (unsigned int i = 0; i < ARRAY_SIZE(scratchpads); i++) {
		struct holding before;
		struct spy spy;

		ASSERT_EQ(0, spy_open(&spy, &self->wall.core));
		before = holding_of(spy.fd);
		ASSERT_EQ(0, spy_soil(&spy));
		spy_close(&spy);
		ASSERT_EQ(0, spy_open(&spy, &self->wall.core));
		ASSERT_EQ(before.context, holding_of(spy.fd).context);
		EXPECT_EQ(0, spy_peek(&spy, scratchpads[i].peek)) {
			TH_LOG("in %s", scratchpads[i].name);
		}
		spy_close(&spy);
	}
	ASSERT_EQ(0, victim_order(&self->wall.victim, VICTIM_COMPUTE));
}

/* A RUN that faults leaves nothing to others either. */
TEST_F(residue, none_is_in_scratchpads_after_a_fault)
{
	ASSERT_EQ(0, victim_order(&self->wall.victim, VICTIM_REST));
	for (unsigned int i = 0; i < ARRAY_SIZE(scratchpads); i++) {
		struct spy a, b;

		ASSERT_EQ(0, spy_open(&a, &self->wall.core));
		ASSERT_EQ(0, spy_open(&b, &self->wall.core));
		ASSERT_EQ(0, spy_soil(&a));
		EXPECT_EQ(-EIO, queue_do(&a.q, desc_run(HOLE, 1, 0)));
		EXPECT_EQ(0, spy_peek(&b, scratchpads[i].peek)) {
			TH_LOG("in %s", scratchpads[i].name);
		}
		spy_close(&a);
		spy_close(&b);
	}
	ASSERT_EQ(0, victim_order(&self->wall.victim, VICTIM_COMPUTE));
}

TEST_HARNESS_MAIN
