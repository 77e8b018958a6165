// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_paused - the machine and its card are paused while the card works
 *
 * run.sh stops QEMU and the emulator when this test asks, and continues them 12 s later.
 */
#include "vta_emu.h"
#include "vta_harness.h"

/* Together less than the pause. */
#define JOB_MS		"3000"
#define HANG_MS		"6000"
#define PAUSE_NS	10000000000ll

/* Until the clock jumps, which it may have done since @now. */
static bool has_stood_still(int64_t now)
{
	int64_t end = now + 6 * PAUSE_NS, before;

	do {
		before = now;
		sleep_ms(10);
		now = now_ns();
	} while (now - before < PAUSE_NS && now < end);
	return now - before >= PAUSE_NS;
}

/* A descriptor in hand at the pause is no hang: the card had no time for it. */
TEST(is_no_hang)
{
	int fd;
	struct waiter w;
	struct queue q;
	struct mem mem;
	int64_t then;

	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", JOB_MS));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", HANG_MS));
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("hang-copy"));
	q.ring[0] = desc_fill(mem.addr, 7, 4);
	queue_ring(&q, 1);
	ASSERT_EQ(0, waiter_start(&w, &q, 1, 6 * PATIENCE_MS));
	sleep_ms(2500);	/* The watchdog knows it. */
	then = now_ns();
	TH_LOG("may stand still now");
	ASSERT_TRUE(has_stood_still(then));
	/* The watchdog looks again meanwhile. */
	sleep_ms(1500);
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(7, *(volatile uint32_t *)mem.ptr);
	EXPECT_EQ(0, card_attr("recovery/queue_aborts"));
	EXPECT_EQ(0, card_attr("recovery/soft_resets"));
}

TEST_HARNESS_MAIN
