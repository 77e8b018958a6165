// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_run - every operation of descriptors, through a ring
 *
 * RUN of a real stream is in vta_basic, which runs on every kind of card.
 */
#include "vta_harness.h"
#include "vta_insn.h"

#define SIZE	65536

FIXTURE(run) {
	int fd;
	struct queue q;
	struct mem host, card;
};

FIXTURE_SETUP(run)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->host, SIZE, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->card, SIZE, VTA_BUF_CARD, 0));
	for (unsigned int i = 0; i < SIZE; i++)
		((uint8_t *)self->host.ptr)[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + 1);
}

FIXTURE_TEARDOWN(run)
{
	close(self->fd);
}

TEST_F(run, nop_completes_and_is_counted)
{
	uint64_t descriptors = card_counter("descriptors");

	for (unsigned int i = 1; i <= 5; i++) {
		ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
		EXPECT_EQ(i, queue_seq(&self->q));
	}
	EXPECT_EQ(descriptors + 5, card_counter("descriptors"));
}

TEST_F(run, one_doorbell_submits_many_descriptors)
{
	uint64_t doorbells = card_counter("doorbells");
	struct vta_desc descs[64];

	for (unsigned int i = 0; i < 64; i++)
		descs[i] = desc_fill(self->card.addr + i * 64, i * 0x01010101u, 64);
	queue_submit(&self->q, descs, 64);
	ASSERT_EQ(0, queue_wait(&self->q, 64, PATIENCE_MS, NULL));
	EXPECT_EQ(doorbells + 1, card_counter("doorbells"));
	for (unsigned int i = 0; i < 64; i++)
		EXPECT_EQ(i, ((uint8_t *)self->card.ptr)[i * 64 + 63]);
}

/* Odd addresses and lengths, over page borders, in every direction. */
TEST_F(run, copy_between_all_kinds_of_memory)
{
	struct mem *mems[] = { &self->host, &self->card };
	static const uint32_t lengths[] = { 1, 3, 63, 4096, 4097, 20001 };

	ASSERT_EQ(0, queue_do(&self->q, desc_copy(self->card.addr, self->host.addr, SIZE)));
	for (unsigned int from = 0; from < 2; from++) {
		for (unsigned int to = 0; to < 2; to++) {
			for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
				uint32_t src = 4093 + i, dst = 40001 + 3 * i;

				struct vta_desc desc;

				desc = desc_copy(mems[to]->addr + dst, mems[from]->addr + src,
						 lengths[i]);
				ASSERT_EQ(0, queue_do(&self->q, desc));
				EXPECT_EQ(0, memcmp((uint8_t *)mems[to]->ptr + dst,
						    (uint8_t *)mems[from]->ptr + src, lengths[i]));
			}
		}
	}
}

TEST_F(run, copy_stays_within_its_bounds)
{
	uint8_t *bytes = self->card.ptr;

	memset(self->card.ptr, 0xee, 8192);
	ASSERT_EQ(0, queue_do(&self->q, desc_copy(self->card.addr + 101, self->host.addr, 999)));
	EXPECT_EQ(0xee, bytes[100]);
	EXPECT_EQ(0, memcmp(bytes + 101, self->host.ptr, 999));
	EXPECT_EQ(0xee, bytes[1100]);
}

/* A tile of 40 x 25 bytes out of rows of 300 into rows of 64. */
TEST_F(run, copy_of_rows_follows_the_pitches)
{
	const uint8_t *src = self->host.ptr, *dst = self->card.ptr;
	unsigned int row;

	memset(self->card.ptr, 0xee, 8192);
	ASSERT_EQ(0, queue_do(&self->q, desc_copy2d(self->card.addr + 8, 64,
						    self->host.addr + 77, 300, 40, 25)));
	for (row = 0; row < 25; row++) {
		EXPECT_EQ(0, memcmp(dst + 8 + row * 64, src + 77 + row * 300, 40));
		EXPECT_EQ(0xee, dst[8 + row * 64 + 40]);
	}
	/* The same row again and again. */
	ASSERT_EQ(0, queue_do(&self->q, desc_copy2d(self->card.addr, 16, self->host.addr, 0,
						    16, 10)));
	for (row = 0; row < 10; row++)
		EXPECT_EQ(0, memcmp(dst + row * 16, src, 16));
}

TEST_F(run, empty_copy_and_fill_complete)
{
	EXPECT_EQ(0, queue_do(&self->q, desc_copy(0, 0, 0)));
	EXPECT_EQ(0, queue_do(&self->q, desc_copy2d(0, 0, 0, 0, 100, 0)));
	EXPECT_EQ(0, queue_do(&self->q, desc_fill(0, 0, 0)));
	EXPECT_EQ(3, queue_seq(&self->q));
}

TEST_F(run, fill_of_rows_follows_the_pitch)
{
	const uint8_t *dst = self->card.ptr;

	ASSERT_EQ(0, queue_do(&self->q, desc_fill2d(self->card.addr + 1, 100, 0x44332211, 7, 9)));
	for (unsigned int row = 0; row < 9; row++) {
		static const uint8_t bytes[] = { 0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 0x33, 0 };

		EXPECT_EQ(0, memcmp(dst + 1 + row * 100, bytes, sizeof(bytes)));
		EXPECT_EQ(0, dst[row * 100]);
	}
}

TEST_F(run, signal_stores_a_value)
{
	volatile uint64_t *words = self->host.ptr;

	words[3] = 0;
	ASSERT_EQ(0, queue_do(&self->q, desc_signal(self->host.addr + 24, 0x123456789abcdef0)));
	EXPECT_EQ(0x123456789abcdef0, le64toh(words[3]));
	ASSERT_EQ(0, queue_do(&self->q, desc_signal(self->card.addr + 8, 77)));
	EXPECT_EQ(77, le64toh(((volatile uint64_t *)self->card.ptr)[1]));
}

TEST_F(run, wait_is_for_the_value_or_more)
{
	volatile uint64_t *word = self->host.ptr;

	*word = htole64(10);
	EXPECT_EQ(0, queue_do(&self->q, desc_wait(self->host.addr, 0)));
	EXPECT_EQ(0, queue_do(&self->q, desc_wait(self->host.addr, 9)));
	EXPECT_EQ(0, queue_do(&self->q, desc_wait(self->host.addr, 10)));
	/* Unsigned: the largest value is not -1. */
	*word = UINT64_MAX;
	EXPECT_EQ(0, queue_do(&self->q, desc_wait(self->host.addr, 1ull << 63)));
	EXPECT_EQ(4, queue_seq(&self->q));
}

TEST_F(run, host_signals_a_queue)
{
	volatile uint64_t *word = self->host.ptr;

	*word = 0;
	queue_hold(&self->q, &self->host, 3);
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 50, NULL));
	*word = htole64(2);
	queue_kick(&self->q);
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 50, NULL));
	*word = htole64(3);
	queue_kick(&self->q);
	EXPECT_EQ(0, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
}

/* Two queues hand a buffer back and forth; each adds its letter. */
TEST_F(run, two_queues_take_turns)
{
	const uint32_t ping = self->card.addr, pong = self->card.addr + 64;
	const uint32_t data = self->card.addr + 4096;
	const unsigned int rounds = 20;
	const uint8_t *bytes = (uint8_t *)self->card.ptr + 4096;
	struct queue other;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	for (unsigned int i = 0; i < rounds; i++) {
		struct vta_desc a[] = {
			desc_wait(pong, i),
			desc_fill(data + 2 * i, 'a', 1),
			desc_signal(ping, i + 1),
		};
		struct vta_desc b[] = {
			desc_wait(ping, i + 1),
			/* The byte that the first queue has just written. */
			desc_copy(data + 2 * i + 1, data + 2 * i, 1),
			desc_signal(pong, i + 1),
		};

		queue_submit(&other, b, 3);
		queue_submit(&self->q, a, 3);
		ASSERT_EQ(0, queue_wait(&other, other.submitted, PATIENCE_MS, NULL));
	}
	for (unsigned int i = 0; i < 2 * rounds; i++)
		ASSERT_EQ('a', bytes[i]);
}

TEST_F(run, stamps_have_times_and_cycles)
{
	const volatile struct vta_stamp *stamps = self->host.ptr;
	struct vta_desc descs[] = {
		desc_op(VTA_OP_NOP),
		desc_fill2d(self->card.addr, 64, 0, 64, 100),
		desc_signal(self->card.addr, 1),
		desc_wait(self->card.addr, 1),
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(descs); i++)
		descs[i] = desc_stamp(descs[i], self->host.addr + i * sizeof(*stamps));
	queue_submit(&self->q, descs, ARRAY_SIZE(descs));
	ASSERT_EQ(0, queue_wait(&self->q, ARRAY_SIZE(descs), PATIENCE_MS, NULL));
	for (unsigned int i = 0; i < ARRAY_SIZE(descs); i++) {
		EXPECT_EQ(i + 1, le64toh(stamps[i].seq));
		EXPECT_NE(0, le64toh(stamps[i].start));
		EXPECT_LE(le64toh(stamps[i].start), le64toh(stamps[i].end));
		if (i)
			EXPECT_LE(le64toh(stamps[i - 1].end), le64toh(stamps[i].start));
	}
	EXPECT_EQ(0, le64toh(stamps[0].cycles));
	/* docs/hardware.md, 7: 16, and for each row 1 + 64 / 16. */
	EXPECT_EQ(16 + 100 * 5, le64toh(stamps[1].cycles));
	EXPECT_LE(le64toh(stamps[3].end), le64toh(self->q.status->status.time));
}

TEST_F(run, empty_stream_completes)
{
	uint64_t runs = card_counter("runs");

	EXPECT_EQ(0, queue_do(&self->q, desc_run(self->host.addr, 0, 0)));
	EXPECT_EQ(runs + 1, card_counter("runs"));
}

/* FINISH does not end a stream: the instructions behind it are executed, too. */
TEST_F(run, the_count_ends_a_stream)
{
	struct insn *code = self->host.ptr;
	uint64_t insns = card_counter("insns");

	memset(self->host.ptr, 0xff, SIZE);
	code[0] = insn_finish(0);
	code[1] = insn_finish(0);
	EXPECT_EQ(0, queue_do(&self->q, desc_run(self->host.addr, 2, 0)));
	EXPECT_EQ(insns + 2, card_counter("insns"));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_run(self->host.addr, 3, 0)));
}

/* RUNs of one context share the scratchpads; another context's see zeroes. */
TEST_F(run, scratchpads_are_not_shared_between_contexts)
{
	struct vta_info info;
	struct core c;
	struct insn *code = self->host.ptr;
	struct mem code2, out2;
	struct queue q2;
	uint8_t *out;
	unsigned int i, set = 0, leaked = 0;
	int other = card_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &info));
	c = core_of(&info);
	ASSERT_EQ(0, queue_open(other, &q2, NULL));
	ASSERT_EQ(0, mem_alloc(other, &code2, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(other, &out2, 4096, VTA_BUF_HOST, 0));

	/* 0xff everywhere into the first accumulators, then read in three ways. */
	memset((uint8_t *)self->host.ptr + 4096, 0xff, 4096);
	code[0] = insn_load(VTA_ISA_ACC, 0, (self->host.addr + 4096) / c.acc_bytes, 1, 4);
	code[1] = insn_finish(0);
	ASSERT_EQ(0, queue_do(&self->q, desc_run(self->host.addr, 2, 0)));
	code[0] = insn_store(VTA_ISA_OUT, 0, (self->host.addr + 8192) / c.inp_bytes, 1, 4);
	memset((uint8_t *)self->host.ptr + 8192, 0, 4096);
	ASSERT_EQ(0, queue_do(&self->q, desc_run(self->host.addr, 2, 0)));
	out = (uint8_t *)self->host.ptr + 8192;
	for (i = 0; i < 4 * c.inp_bytes; i++)
		set += out[i] == 0xff;
	EXPECT_EQ(4 * c.inp_bytes, set);

	((struct insn *)code2.ptr)[0] = insn_store(VTA_ISA_OUT, 0, out2.addr / c.inp_bytes, 1, 4);
	((struct insn *)code2.ptr)[1] = insn_finish(0);
	memset(out2.ptr, 0x77, 4096);
	ASSERT_EQ(0, queue_do(&q2, desc_run(code2.addr, 2, 0)));
	for (i = 0; i < 4 * c.inp_bytes; i++)
		leaked += ((uint8_t *)out2.ptr)[i] != 0;
	EXPECT_EQ(0, leaked);
	close(other);
}

/* Both engines and all queues, each queue in its own order. */
TEST_F(run, queues_work_side_by_side)
{
	enum { QUEUES = 4, STEPS = 60 };
	struct queue queues[QUEUES];
	struct vta_desc descs[STEPS];

	for (unsigned int n = 0; n < QUEUES; n++) {
		struct vta_queue_create create = { .ring_order = 6, .priority = n };

		ASSERT_EQ(0, queue_open(self->fd, &queues[n], &create));
		/* A chain: each step copies what the one before wrote. */
		for (unsigned int i = 0; i < STEPS; i++) {
			uint32_t at = self->card.addr + n * 16384 + i * 128;

			descs[i] = i ? desc_copy(at, at - 128, 128) :
				       desc_fill(at, 0x01010101u * (n + 1), 128);
		}
		queue_submit(&queues[n], descs, STEPS);
	}
	for (unsigned int n = 0; n < QUEUES; n++) {
		uint8_t *last = (uint8_t *)self->card.ptr + n * 16384 + (STEPS - 1) * 128;

		EXPECT_EQ(0, queue_wait(&queues[n], STEPS, PATIENCE_MS, NULL));
		EXPECT_EQ(n + 1, last[0]);
		EXPECT_EQ(n + 1, last[127]);
	}
}

TEST_HARNESS_MAIN
