// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_paused - the machine and its card are paused while the card works (kmod/vta_watch.c)
 *
 * run.sh stops QEMU and the emulator when this test asks, and continues them 12 s later.
 */
#include "vta_emu.h"
#include "vta_harness.h"

/* Together less than the pause. */
#define JOB_MS		"3000"
#define HANG_MS		"6000"
#define PAUSE_NS	10000000000ll

/* Waits until the clock jumps, which it may have done since @now. */
static bool was_paused(int64_t now)
{
	int64_t end = now + 6 * PAUSE_NS, before;

	do {
		before = now;
		sleep_ms(10);
		now = now_ns();
	} while (now - before < PAUSE_NS && now < end);
	return now - before >= PAUSE_NS;
}

/* The card has had no time for the current descriptor. */
TEST(pause_of_the_machine_is_no_hang)
{
	struct client c;
	struct waiter w;
	int64_t then;

	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", JOB_MS));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", HANG_MS));
	ASSERT_EQ(0, client_open(&c));
	ASSERT_EQ(0, emu_inject("hang-copy"));
	c.q.ring[0] = desc_fill(c.mem.addr, 7, 4);
	queue_ring(&c.q, 1);
	ASSERT_EQ(0, waiter_start(&w, &c.q, 1, 6 * PATIENCE_MS));
	sleep_ms(2500);	/* The watchdog has seen it. */
	then = now_ns();
	TH_LOG("may be paused now");
	ASSERT_TRUE(was_paused(then));
	/* The watchdog checks again meanwhile. */
	sleep_ms(1500);
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(7, *(volatile uint32_t *)c.mem.ptr);
	EXPECT_EQ(0, card_attr("recovery/queue_aborts"));
	EXPECT_EQ(0, card_attr("recovery/soft_resets"));
}

TEST_HARNESS_MAIN
