// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_doorbell - words beside a doorbell, and doorbells of queues that are gone, ring for no other
 */
#include "../vta_harness.h"
#include "wall.h"

WALL_FIXTURE(doorbell)

/* The card counts each write as a bad access. */
TEST_F(doorbell, rest_of_its_page_has_no_effect)
{
	struct wall *w = &self->wall;
	unsigned int words = w->q.page / sizeof(uint32_t), i;
	uint64_t bad = card_counter("bad_accesses");

	for (i = 1; i < words; i++)
		w->q.doorbell[i] = htole32(1);
	EXPECT_EQ(bad + words - 1, card_counter("bad_accesses"));
	EXPECT_EQ(0, queue_seq(&w->q));
	EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(w->q.status->status.state));
	EXPECT_EQ(0, queue_do(&w->q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(1, queue_seq(&w->q));
}

TEST_F(doorbell, of_other_widths_has_no_effect)
{
	struct wall *w = &self->wall;
	volatile uint8_t *bytes = (volatile uint8_t *)w->q.doorbell;

	bytes[0] = 1;
	bytes[1] = 0xff;
	*(volatile uint16_t *)bytes = 0xffff;
	*(volatile uint16_t *)(bytes + 2) = 0xffff;
	EXPECT_EQ(0, queue_do(&w->q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(1, queue_seq(&w->q));
}

TEST_F(doorbell, reads_as_zero)
{
	struct wall *w = &self->wall;

	ASSERT_EQ(0, queue_do(&w->q, desc_op(VTA_OP_NOP)));
	for (unsigned int i = 0; i < 8; i++)
		EXPECT_EQ(0, w->q.doorbell[i]);
	EXPECT_EQ(0, w->q.doorbell[w->q.page / 4 - 1]);
}

/* The queue that has its number now must not be rung, nor be visible in the old pages. */
static void ring_old(struct __test_metadata *_metadata, struct queue *old,
		     volatile uint32_t *doorbells[], unsigned int n, uint32_t id)
{
	struct vta_queue_create create = { .ring_order = 2 };
	int other = card_open();
	struct queue q;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, queue_open(other, &q, &create));
	ASSERT_EQ(id, q.id);
	for (unsigned int i = 0; i < 4; i++)
		q.ring[i] = desc_op(VTA_OP_NOP);
	for (unsigned int i = 0; i < n; i++) {
		*doorbells[i] = htole32(1);
		*doorbells[i] = htole32(0x80000000);
	}
	/* After 2^31 descriptors it would have halted; after one it would be at 2. */
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(1, queue_seq(&q));
	EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(q.status->status.state));
	if (old)
		EXPECT_EQ(2, queue_seq(old));
	queue_unmap(&q);
	close(other);
}

TEST_F(doorbell, of_a_destroyed_queue_rings_no_other)
{
	struct wall *w = &self->wall;
	struct queue *q = &w->q;
	volatile uint32_t *doorbells[4];
	void *place;

	/* A second mapping, one that moves, and one that was never touched. */
	doorbells[0] = q->doorbell;
	for (unsigned int i = 1; i < 4; i++) {
		doorbells[i] = mmap(NULL, q->page, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
				    (off_t)q->create.doorbell_offset);
		ASSERT_NE(MAP_FAILED, (void *)doorbells[i]);
	}
	place = mmap(NULL, q->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*doorbells[1] = htole32(0);
	*doorbells[2] = htole32(0);
	doorbells[2] = mremap((void *)doorbells[2], q->page, q->page,
			      MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_EQ(place, (void *)doorbells[2]);

	ASSERT_EQ(0, queue_do(q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(0, queue_do(q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(0, queue_destroy(w->fd, q->id));
	ring_old(_metadata, q, doorbells, 4, q->id);
	queue_unmap(q);
}

/* A mapping holds the file. */
TEST_F(doorbell, of_a_closed_file_rings_its_own_queue)
{
	struct queue q, q2;
	int fd = card_open(), other = card_open();

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	close(fd);
	ASSERT_EQ(0, queue_open(other, &q2, NULL));
	EXPECT_NE(q.id, q2.id);
	queue_put(&q, desc_op(VTA_OP_NOP));
	ASSERT_EQ(0, queue_do(&q2, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(1, queue_seq(&q2));
	queue_unmap(&q);
	close(other);
}

/* A thread rings all the time, while the number goes from file to file. */
struct ringer {
	pthread_t thread;
	volatile uint32_t *doorbell;
	_Atomic bool stop;
};

static void *ring_on(void *arg)
{
	struct ringer *ringer = arg;

	while (!ringer->stop)
		*ringer->doorbell = htole32(0x80000000);
	return NULL;
}

TEST_F(doorbell, rung_while_it_is_revoked_rings_no_other)
{
	struct wall *w = &self->wall;
	uint32_t id = w->q.id;

	for (unsigned int round = 0; round < 10; round++) {
		struct ringer ringer = { .doorbell = w->q.doorbell };

		ASSERT_EQ(0, pthread_create(&ringer.thread, NULL, ring_on, &ringer));
		sleep_ms(2);
		ASSERT_EQ(0, queue_destroy(w->fd, id));
		ring_old(_metadata, NULL, NULL, 0, id);
		ringer.stop = true;
		ASSERT_EQ(0, pthread_join(ringer.thread, NULL));
		queue_unmap(&w->q);
		ASSERT_EQ(0, queue_open(w->fd, &w->q, NULL));
		ASSERT_EQ(id, w->q.id);
	}
}

TEST_HARNESS_MAIN
