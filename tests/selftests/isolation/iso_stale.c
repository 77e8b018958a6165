// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_stale - addresses of memory that the attacker has freed and the victim uses
 */
#include "../vta_harness.h"
#include "wall.h"

#define SIZE	HOARD_BYTES
/* The same again and again: each copy takes long, on a card in gates also with one. */
#define ROWS	(slowness() > 1 ? 1 : 128)
#define POISON	0xbad0bad0bad0bad0ull

FIXTURE(stale) {
	struct wall wall;
	struct mem out;
};

FIXTURE_VARIANT(stale) {
	uint32_t kind;
};

FIXTURE_VARIANT_ADD(stale, host) { .kind = VTA_BUF_HOST };
FIXTURE_VARIANT_ADD(stale, card) { .kind = VTA_BUF_CARD };

FIXTURE_SETUP(stale)
{
	ASSERT_EQ(0, wall_up(&self->wall));
	ASSERT_EQ(0, mem_alloc(self->wall.fd, &self->out, SIZE, VTA_BUF_HOST, 0));
}

FIXTURE_TEARDOWN(stale)
{
	EXPECT_EQ(0, secrets_in(self->out.ptr, SIZE));
	EXPECT_STREQ("intact", wall_down(&self->wall));
}

/* Has the card read and write every page, so that its TLB knows them. */
static int warm(struct queue *q, const struct mem *mem, uint32_t out)
{
	return queue_do(q, desc_fill(mem->addr, 0x01010101, SIZE)) ?:
	       queue_do(q, desc_copy(out, mem->addr, SIZE));
}

/* Reads and writes one page there by each operation that can. */
static const char *probe(int fd, struct queue *q, uint32_t out, uint32_t addr)
{
	const struct vta_desc descs[] = {
		desc_copy(out, addr, 4096),
		desc_fill(addr, 0xbad0bad0, 4096),
		desc_signal(addr, POISON),
		desc_wait(addr, 0),
		desc_stamp(desc_op(VTA_OP_NOP), addr),
	};
	static const uint32_t accesses[] = {
		VTA_ACCESS_COPY_SRC, VTA_ACCESS_COPY_DST, VTA_ACCESS_SIGNAL, VTA_ACCESS_WAIT,
		VTA_ACCESS_STAMP,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(descs); i++) {
		const struct blame blame = { VTA_FAULT_PAGE, accesses[i], addr, false };
		const char *verdict = wall_attack(fd, q, descs[i], &blame);

		if (strcmp(verdict, "blamed"))
			return verdict;
		if (queue_close(q) || queue_open(fd, q, NULL))
			return "no new queue";
	}
	return "blamed";
}

TEST_F(stale, address_faults_in_the_same_context)
{
	struct wall *w = &self->wall;

	for (unsigned int round = 0; round < 3; round++) {
		struct mem mem;

		ASSERT_EQ(0, mem_alloc(w->fd, &mem, SIZE, variant->kind, HOLE));
		ASSERT_EQ(0, warm(&w->q, &mem, self->out.addr));
		ASSERT_EQ(0, mem_free(&mem));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
		EXPECT_STREQ("blamed", probe(w->fd, &w->q, self->out.addr, HOLE));
		EXPECT_STREQ("blamed", probe(w->fd, &w->q, self->out.addr, HOLE + SIZE - 4096));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
	}
}

/* A context without memory there, after one that had some. */
TEST_F(stale, address_faults_in_another_context)
{
	struct wall *w = &self->wall;
	int other = card_open();
	struct mem mem, out;
	struct queue q;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, queue_open(other, &q, NULL));
	ASSERT_EQ(0, mem_alloc(other, &out, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(w->fd, &mem, SIZE, variant->kind, HOLE));
	ASSERT_EQ(0, warm(&w->q, &mem, self->out.addr));
	/* While it is there, and when it is not. */
	EXPECT_STREQ("blamed", probe(other, &q, out.addr, HOLE));
	ASSERT_EQ(0, mem_free(&mem));
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
	EXPECT_STREQ("blamed", probe(other, &q, out.addr, HOLE));
	EXPECT_EQ(0, nonzero_in(out.ptr, 4096));
	close(other);
}

/* Closing frees all memory, and the next file gets the number of the context. */
TEST_F(stale, address_faults_in_a_context_of_the_same_number)
{
	struct wall *w = &self->wall;
	struct holding before;
	struct mem mem, out;
	struct queue q;
	int fd;

	fd = card_open();
	ASSERT_LE(0, fd);
	before = holding_of(fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, SIZE, variant->kind, HOLE));
	ASSERT_EQ(0, mem_alloc(fd, &out, SIZE, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, warm(&q, &mem, out.addr));
	munmap(mem.ptr, mem.size);
	munmap(out.ptr, out.size);
	queue_unmap(&q);
	close(fd);

	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(before.context, holding_of(fd).context);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &out, 4096, VTA_BUF_HOST, 0x60000000));
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
	EXPECT_STREQ("blamed", probe(fd, &q, out.addr, HOLE));
	EXPECT_STREQ("blamed", probe(fd, &q, out.addr, HOLE + SIZE - 4096));
	EXPECT_EQ(0, nonzero_in(out.ptr, 4096));
	close(fd);
}

/* ---- freed in use ---- */

/* Copies out of @mem and into it, by many descriptors, as long as they go. */
static void hammer(struct queue *q, const struct mem *mem, const struct mem *out, bool write)
{
	struct vta_desc descs[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(descs); i++)
		descs[i] = write ? desc_copy2d(mem->addr, 0, out->addr, 0, SIZE, ROWS) :
				   desc_copy2d(out->addr, 0, mem->addr, 0, SIZE, ROWS);
	queue_submit(q, descs, ARRAY_SIZE(descs));
}

static void freed_in_use(struct __test_metadata *_metadata, struct wall *w, uint32_t kind,
			 struct mem *out, bool write)
{
	for (unsigned int round = 0; round < 4; round++) {
		struct vta_queue_fault fault;
		struct mem mem;

		ASSERT_EQ(0, mem_alloc(w->fd, &mem, SIZE, kind, HOLE));
		hammer(&w->q, &mem, out, write);
		ASSERT_EQ(0, queue_wait(&w->q, 1 + round, PATIENCE_MS, NULL));
		ASSERT_EQ(0, mem_free(&mem));
		/* Its pages are the victim's now, which sees that they are zero and stay its. */
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
		EXPECT_EQ(-EIO, queue_wait(&w->q, w->q.submitted, PATIENCE_MS, NULL));
		ASSERT_EQ(0, queue_fault(&w->q, &fault));
		EXPECT_EQ(VTA_FAULT_PAGE, fault.reason);
		EXPECT_EQ(write ? VTA_ACCESS_COPY_DST : VTA_ACCESS_COPY_SRC, fault.access);
		EXPECT_EQ(HOLE, fault.addr & ~(SIZE - 1));
		EXPECT_EQ(0, secrets_in(out->ptr, SIZE));
		ASSERT_EQ(0, victim_progress(&w->victim, 1));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
		ASSERT_EQ(0, wall_new_queue(w));
	}
}

TEST_F(stale, copy_from_freed_memory_faults)
{
	freed_in_use(_metadata, &self->wall, variant->kind, &self->out, false);
}

TEST_F(stale, copy_to_freed_memory_faults)
{
	memset(self->out.ptr, 0xba, SIZE);
	freed_in_use(_metadata, &self->wall, variant->kind, &self->out, true);
}

/* A stream that stores again and again, as long as it is let. */
TEST_F(stale, stream_that_stores_to_freed_memory_faults)
{
	enum { STORES = 4000 };
	struct wall *w = &self->wall;
	struct insn *code = w->code.ptr;
	struct vta_queue_fault fault;
	struct mem mem;

	ASSERT_LE(STORES * sizeof(*code), OWN_SIZE);
	ASSERT_EQ(0, mem_alloc(w->fd, &mem, SIZE, variant->kind, HOLE));
	for (unsigned int i = 0; i < STORES; i++)
		code[i] = insn_store(VTA_ISA_OUT, 0, HOLE / w->core.inp_bytes, 1,
				     1u << w->core.log.acc);
	for (unsigned int i = 0; i < 64; i++)
		w->q.ring[i] = desc_run(w->code.addr, STORES, 0);
	w->q.submitted = 64;
	memset(mem.ptr, 0xff, 4096);
	queue_kick(&w->q);
	/* It has begun. */
	while (*(volatile uint8_t *)mem.ptr)
		sleep_ms(1);
	ASSERT_EQ(0, mem_free(&mem));
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
	EXPECT_EQ(-EIO, queue_wait(&w->q, 64, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_fault(&w->q, &fault));
	EXPECT_EQ(VTA_FAULT_PAGE, fault.reason);
	EXPECT_EQ(VTA_ACCESS_STORE, fault.access);
	EXPECT_EQ(0, victim_progress(&w->victim, 2));
}

/* The card is busy with the context. */
TEST_F(stale, closed_context_writes_to_no_memory_of_others)
{
	struct wall *w = &self->wall;

	for (unsigned int round = 0; round < 4; round++) {
		struct mem mem, out;
		struct queue q;
		int fd = card_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, queue_open(fd, &q, NULL));
		ASSERT_EQ(0, mem_alloc(fd, &mem, SIZE, variant->kind, HOLE));
		ASSERT_EQ(0, mem_alloc(fd, &out, SIZE, VTA_BUF_HOST, 0));
		memset(out.ptr, 0xba, SIZE);
		hammer(&q, &mem, &out, true);
		ASSERT_EQ(0, queue_wait(&q, 1 + round, PATIENCE_MS, NULL));
		munmap(mem.ptr, mem.size);
		munmap(out.ptr, out.size);
		queue_unmap(&q);
		close(fd);
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
		ASSERT_EQ(0, victim_progress(&w->victim, 1));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
	}
}

TEST_HARNESS_MAIN
