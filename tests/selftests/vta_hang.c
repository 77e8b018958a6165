// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_hang - a card that breaks the contract is detected, and brought back by the weakest
 * reset that works, or given up (kmod/vta_reset.c, kmod/vta_watch.c)
 *
 * Faults are injected through the emulator's control socket, so this runs on card 0 alone.
 */
#include <inttypes.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <sys/sysinfo.h>

#include "vta_hang.h"
#include "vta_starving.h"

/* ---- Inject, wait, and count ---- */

FIXTURE(broken_card) {
	struct _test_data_hang h;
	struct client other;
};

FIXTURE_VARIANT(broken_card) {
	const char *faults[3];
	int (*call)(struct _test_data_broken_card *self);	/* NULL: a wait, from before */
	int err;		/* of the call; 0: -ENODEV */
	unsigned int aborts, function, given_up;	/* besides one reset by the register */
};

static int nop(struct _test_data_broken_card *self)
{
	return queue_do(&self->h.q, desc_op(VTA_OP_NOP));
}

static int fill(struct _test_data_broken_card *self)
{
	return queue_do(&self->h.q, desc_fill(self->h.mem.addr, 7, 4));
}

static int bad_fill(struct _test_data_broken_card *self)
{
	return queue_do(&self->h.q, desc_fill(0x40000000, 0, 4));
}

static int create_queue(struct _test_data_broken_card *self)
{
	struct vta_queue_create create = { .ring_order = 4 };

	return card_ioctl(self->h.fd, VTA_IOCTL_QUEUE_CREATE, &create);
}

static int destroy_queue(struct _test_data_broken_card *self)
{
	return queue_destroy(self->h.fd, self->h.q.id);
}

static int free_memory(struct _test_data_broken_card *self)
{
	return buf_release(self->h.fd, self->h.mem.handle);
}

/* Memory of a context whose number differs from that which the registers report. */
static int free_memory_of_another(struct _test_data_broken_card *self)
{
	return buf_release(self->other.fd, self->other.mem.handle);
}

FIXTURE_VARIANT_ADD(broken_card, heartbeat_stops) { { "heartbeat" } };
FIXTURE_VARIANT_ADD(broken_card, fatal_error) { { "fatal" } };
FIXTURE_VARIANT_ADD(broken_card, fatal_error_without_its_interrupt) { { "irq-lost", "fatal" } };
FIXTURE_VARIANT_ADD(broken_card, resets_itself_and_is_not_ready) { { "reg-status=0 1" } };
FIXTURE_VARIANT_ADD(broken_card, resets_itself_and_is_ready) { { "reg-generation=77 1" } };
FIXTURE_VARIANT_ADD(broken_card, function_reset_helps) {
	{ "reset-ignored", "heartbeat" }, .function = 1
};
FIXTURE_VARIANT_ADD(broken_card, no_reset_helps) {
	{ "reset-ignored", "flr-stuck", "heartbeat" }, .function = 1, .given_up = 1
};
FIXTURE_VARIANT_ADD(broken_card, reads_as_ones) { { "ones" }, .function = 1, .given_up = 1 };
FIXTURE_VARIANT_ADD(broken_card, reads_as_zeroes) { { "zeros" }, .function = 1, .given_up = 1 };
FIXTURE_VARIANT_ADD(broken_card, another_device_answers) {
	{ "reg-magic=0x12345678" }, .function = 1, .given_up = 1
};
FIXTURE_VARIANT_ADD(broken_card, everything_hangs) { { "hang-all" }, fill };
FIXTURE_VARIANT_ADD(broken_card, descriptor_reaches_no_engine) { { "hang-front" }, fill };
FIXTURE_VARIANT_ADD(broken_card, engines_are_idle) { { "idle-engines" }, fill };
FIXTURE_VARIANT_ADD(broken_card, records_are_not_written) { { "status-lost" }, nop };
FIXTURE_VARIANT_ADD(broken_card, halt_is_not_recorded) { { "halt-lost" }, bad_fill };
FIXTURE_VARIANT_ADD(broken_card, queue_does_not_start) { { "start-never" }, create_queue };
FIXTURE_VARIANT_ADD(broken_card, queue_starts_as_ones) {
	{ "ones" }, create_queue, .function = 1, .given_up = 1
};
/* The abort fails, and its error comes before the reset. */
FIXTURE_VARIANT_ADD(broken_card, queue_does_not_stop) {
	{ "hang-copy", "stop-never" }, fill, -EIO, .aborts = 1
};
FIXTURE_VARIANT_ADD(broken_card, tlb_invalidation_times_out) { { "tlb-busy" }, free_memory };
/* A bridge that answers with zeroes confirms nothing. */
FIXTURE_VARIANT_ADD(broken_card, zeroes_stop_no_queue) {
	{ "zeros" }, destroy_queue, .function = 1, .given_up = 1
};
FIXTURE_VARIANT_ADD(broken_card, zeroes_free_no_memory) {
	{ "zeros" }, free_memory, .function = 1, .given_up = 1
};
FIXTURE_VARIANT_ADD(broken_card, zeroes_free_no_memory_of_another) {
	{ "zeros" }, free_memory_of_another, .function = 1, .given_up = 1
};

FIXTURE_SETUP(broken_card)
{
	hang_begin(_metadata, &self->h);
	ASSERT_EQ(0, client_open(&self->other));
}

FIXTURE_TEARDOWN(broken_card)
{
	client_close(&self->other);
	hang_end(_metadata, &self->h);
}

TEST_F(broken_card, is_detected_and_recovered)
{
	const int reason = LOST(variant->given_up ? VTA_FATE_GIVEN_UP : VTA_FATE_RESET,
				VTA_CAUSE_CARD);
	struct waiter w;

	if (!variant->call)
		ASSERT_EQ(0, hold(&self->h, &w));
	for (unsigned int i = 0; i < ARRAY_SIZE(variant->faults) && variant->faults[i]; i++)
		ASSERT_EQ(0, emu_inject(variant->faults[i]));
	EXPECT_EQ(variant->err ? variant->err : -ENODEV,
		  variant->call ? variant->call(self) : waiter_join(&w));
	/* With ENODEV the reason is known, before the reset has ended or begun. */
	if (!variant->err)
		EXPECT_EQ(reason, card_lost(self->h.fd));
	expect_steps(_metadata, &self->h.before, variant->aborts, 1, variant->function,
		     variant->given_up);
	EXPECT_EQ(reason, card_lost(self->h.fd));
	EXPECT_EQ(-ENODEV, lost(&self->h));
	EXPECT_EQ(variant->given_up, given_up());
	/* A reset before the cause is gone returns an error. */
	if (variant->given_up) {
		EXPECT_GT(0, card_reset());
		EXPECT_TRUE(given_up());
	}
}

/* ---- One by one ---- */

TEST_F(hang, card_is_given_up_after_too_many_resets)
{
	int fd;

	ASSERT_EQ(0, file_write(PARAMETERS "max_resets", "3"));
	/* A reset by an administrator clears the count. */
	ASSERT_EQ(0, card_reset());
	for (unsigned int i = 1; i <= 3; i++) {
		ASSERT_EQ(0, emu_inject("fatal"));
		ASSERT_TRUE(SOON(card_attr("generation") == self->before.generation + 1 + i));
		fd = card_open();
		EXPECT_LE(0, fd);
		close(fd);
	}
	EXPECT_FALSE(given_up());
	ASSERT_EQ(0, emu_inject("fatal"));
	ASSERT_TRUE(SOON(given_up()));
	EXPECT_STEPS(0, 4, 0, 1);
	EXPECT_EQ(-ENODEV, card_open());
}

static int copies_meanwhile(void *arg)
{
	struct client c;
	struct waiter w;

	(void)arg;
	MUST(!client_open(&c));
	for (int i = 0; i < 40; i++) {
		MUST(!queue_do(&c.q, desc_op(VTA_OP_NOP)));
		sleep_ms(50);
	}
	/* A wait for a number that was never submitted is no hang. */
	MUST(!waiter_start(&w, &c.q, 41, 3000) && waiter_join(&w) == -ETIMEDOUT);
	return !HOLDS(!queue_do(&c.q, desc_op(VTA_OP_NOP)));
}

TEST_F(hang, hanging_descriptor_is_aborted)
{
	struct vta_desc fill = desc_fill(self->mem.addr, 7, 4);
	struct vta_queue_fault fault;
	pid_t pid;

	ASSERT_EQ(0, emu_inject("hang-copy"));
	pid = child_start(copies_meanwhile, NULL);
	EXPECT_EQ(-EIO, queue_do(&self->q, fill));
	EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(VTA_FAULT_HANG, fault.reason);
	EXPECT_EQ(1, fault.seq);
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(0, queue_do(&self->q, fill));
	EXPECT_EQ(7, word(&self->mem));
	/* No other process is affected. */
	EXPECT_EQ(0, child_end(pid));
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_F(hang, second_hang_of_an_engine_is_a_reset)
{
	ASSERT_EQ(0, emu_inject("hang-copy"));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_STEPS(1, 1, 0, 0);
	EXPECT_FALSE(given_up());
}

/* A WAIT holds the queue, and the process writes another descriptor over it in the ring. */
static int forges_a_hang(void *arg)
{
	struct client c;
	uint64_t read;

	(void)arg;
	MUST(!setresuid(1000, 1000, 1000) && !client_open(&c));
	read = card_counter("dma_read_bytes") + sizeof(struct vta_desc);
	queue_hold(&c.q, &c.mem, 1);
	MUST(card_counter_reaches("dma_read_bytes", read) >= read);
	c.q.ring[0] = desc_run(c.mem.addr, 1, 0);
	MUST(queue_wait(&c.q, 1, 5000, NULL) == -ETIMEDOUT);
	queue_release(&c.q, &c.mem, 1);
	return !HOLDS(!queue_wait(&c.q, 1, PATIENCE_MS, NULL));
}

/* The driver trusts the card's counters: users can rewrite the ring. */
TEST_F(hang, forged_ring_does_not_report_a_hang)
{
	ASSERT_EQ(0, chmod(card_node(), 0666));
	EXPECT_EQ(0, in_child(forges_a_hang, NULL));
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_EQ(0, lost(self));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_STEPS(0, 0, 0, 0);
}

static int reset_the_card(void *arg)
{
	(void)arg;
	return card_reset() ? 1 : 0;
}

static int open_the_card(void *arg)
{
	(void)arg;
	return card_open() < 0;
}

/* A process that waits in open for the end of a reset is killed. */
static bool opener_can_be_killed(void)
{
	uint64_t resets = steps_now().soft;
	pid_t opener = child_start(open_the_card, NULL);

	return proc_gets_into(opener, "vta_ctx_open") && !child_kill(opener) &&
	       steps_now().soft == resets;
}

/* The card cannot be opened while it is reset. */
TEST_F(hang, wait_in_open_can_be_killed)
{
	bool killed = false;

	/* On a busy machine the reset may be there before. */
	for (int tries = 0; tries < 3 && !killed; tries++) {
		pid_t resetter;

		ASSERT_EQ(0, emu_inject("reset-slow=2000"));
		resetter = child_start(reset_the_card, NULL);
		ASSERT_TRUE(proc_gets_into(resetter, "vta_card_reset"));
		killed = opener_can_be_killed();
		ASSERT_EQ(0, child_end(resetter));
		ASSERT_EQ(0, emu_clear());
	}
	EXPECT_TRUE(killed);
}

static int close_a_busy_file(void *arg)
{
	uint64_t begun = emu_injected("slow-engine");
	struct vta_desc desc;
	struct client c;

	(void)arg;
	MUST(!client_open(&c));
	desc = desc_fill(c.mem.addr, 0, 1);
	queue_submit(&c.q, &desc, 1);
	while (emu_injected("slow-engine") == begun)
		sleep_ms(1);
	client_close(&c);
	return 0;
}

/* Its queue stops late, and no lock of the card is held until then. */
TEST_F(hang, close_delays_no_open_and_close_of_another)
{
	bool meanwhile = false;

	ASSERT_EQ(0, emu_inject("slow-engine=2000"));
	/* On a busy machine the queue may have stopped before. */
	for (int tries = 0; tries < 5 && !meanwhile; tries++) {
		pid_t closer = child_start(close_a_busy_file, NULL);

		ASSERT_TRUE(proc_gets_into(closer, "vta_ctx_close"));
		ASSERT_EQ(0, close(card_open()));
		meanwhile = proc_is_in(closer, "vta_ctx_close");
		ASSERT_EQ(0, child_end(closer));
	}
	EXPECT_TRUE(meanwhile);
	EXPECT_EQ(0, emu_clear());
	EXPECT_STEPS(0, 0, 0, 0);
}

/* ---- A process that does not get the processor, as one whose cgroup may not have it ---- */

/*
 * An opener, a reset by root, and then another user need nothing that the process holds, nor does
 * the end of waits for its file.
 */
TEST_F(hang, reset_does_not_wait_for_a_process_without_a_processor)
{
	bool meanwhile = false, starves;
	struct starving *s;

	if (get_nprocs() < 2)
		SKIP(return, "this machine has one processor");
	s = starving_new();
	ASSERT_NE(NULL, s);
	/* On a busy machine the driver may have given the queue up before. */
	for (int tries = 0; tries < 5 && !meanwhile; tries++) {
		ASSERT_EQ(0, emu_inject("stop-never"));
		starves = starving_start(s, PATIENCE_MS);
		EXPECT_EQ(0, close(card_open()));
		EXPECT_EQ(0, card_reset());
		EXPECT_EQ(0, emu_clear());
		EXPECT_EQ(0, card_try());
		meanwhile = starves && SOON(s->waits_ended) && starving_continues(s);
		EXPECT_TRUE(starving_end(s));
	}
	EXPECT_TRUE(meanwhile);
	EXPECT_EQ(-ENODEV, s->ret);
	EXPECT_EQ(-ENODEV, s->waited);
	EXPECT_EQ(POLLERR | POLLHUP, s->polled);
	EXPECT_EQ(0, starving_free(s));
}

TEST_F(hang, lost_interrupt_wakes_the_waiter_late)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("irq-lost"));
	queue_hold(&self->q, &self->mem, UINT64_MAX);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 1, PATIENCE_MS));
	queue_release(&self->q, &self->mem, UINT64_MAX);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(self->before.lost + 1, steps_now().lost);
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, interrupt_storm_is_a_reset)
{
	struct waiter w;

	ASSERT_EQ(0, file_write(PARAMETERS "max_excess_irqs", "0"));
	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("irq-storm"));
	sleep_ms(1500);
	EXPECT_EQ(self->before.storms, steps_now().storms);
	/* As many in a second as every machine can take. */
	ASSERT_EQ(0, file_write(PARAMETERS "max_excess_irqs", "20"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	ASSERT_EQ(0, emu_clear());
	EXPECT_LT(self->before.generation, steps_then(&self->before, 1).generation);
	EXPECT_LE(self->before.storms + 1, steps_now().storms);
	/* There may have been another since: its reset is not to come later. */
	ASSERT_EQ(0, card_reset());
}

/*
 * A wait for a number that the card reports as done returns at once, perhaps before the card has
 * written the records that disprove it. Until then, the number is too far ahead.
 */
static int halts(const struct queue *q)
{
	int err;

	SOON((err = queue_wait(q, 1ull << 41, 0, NULL)) != -EINVAL);
	return err;
}

static const char * const false_records[] = { "seq-back 1", "state-wild 1", "seq-jump 1" };

TEST_F(hang, inconsistent_records_halt_their_queue_alone)
{
	struct vta_queue_fault fault;
	struct queue other;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	for (unsigned int i = 0; i < ARRAY_SIZE(false_records); i++) {
		ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(0, emu_inject(false_records[i]));
		/* A jump ahead shows as such only when the number goes back again. */
		if (queue_do(&self->q, desc_op(VTA_OP_NOP)) == 0)
			queue_do(&self->q, desc_op(VTA_OP_NOP));
		ASSERT_EQ(-EIO, halts(&self->q)) {
			TH_LOG("%s", false_records[i]);
		}
		ASSERT_EQ(0, queue_fault(&self->q, &fault));
		EXPECT_EQ(VTA_FAULT_CARD, fault.reason);
		EXPECT_EQ(0, queue_do(&other, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(0, queue_recover(&self->q));
		EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	}
	queue_unmap(&other);
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, invalid_fault_record_is_a_fault_of_the_card)
{
	struct vta_queue_fault fault;

	ASSERT_EQ(0, emu_inject("record-wild"));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(0x40000000, 0, 4)));
	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(VTA_FAULT_CARD, fault.reason);
	EXPECT_EQ(1, fault.seq);
	EXPECT_EQ(0, fault.addr);
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
}

/* Words of the record: reason, access, number of the descriptor, queue, context. */
static const unsigned int wild_words[] = { 1 << 0, 1 << 1, 1 << 2, 1 << 10, 1 << 11 };

TEST_F(hang, forged_fault_record_is_a_fault_of_the_card)
{
	struct vta_queue_fault fault;
	char kind[32];

	for (unsigned int i = 0; i < ARRAY_SIZE(wild_words); i++) {
		snprintf(kind, sizeof(kind), "record-wild=%u", wild_words[i]);
		ASSERT_EQ(0, emu_inject(kind));
		EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(0x40000000, 0, 4)));
		ASSERT_EQ(0, queue_fault(&self->q, &fault));
		EXPECT_EQ(VTA_FAULT_CARD, fault.reason) {
			TH_LOG("%s", kind);
		}
		EXPECT_EQ(queue_seq(&self->q) + 1, fault.seq);
		ASSERT_EQ(0, emu_clear());
		ASSERT_EQ(0, queue_recover(&self->q));
		ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	}
	EXPECT_STEPS(0, 0, 0, 0);
}

/* Nothing reads registers of an idle card. */
TEST_F(hang, watchdog_ends_without_waiters)
{
	struct waiter w;
	uint64_t reads, before;

	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(1500);
	queue_release(&self->q, &self->mem, UINT64_MAX);
	ASSERT_EQ(0, waiter_join(&w));
	/* One more check may be due, and late on a machine that was paused. */
	sleep_ms(2100);
	reads = card_counter("mmio_reads");
	for (int tries = 0; tries < 3; tries++) {
		before = reads;
		sleep_ms(2500);
		reads = card_counter("mmio_reads");
		if (reads == before)
			break;
	}
	EXPECT_EQ(before, reads);
	EXPECT_STEPS(0, 0, 0, 0);
}

static void *end_queue(void *arg)
{
	struct queue *q = arg;

	return (void *)(intptr_t)queue_destroy(q->fd, q->id);
}

/* Destroying a queue that does not stop takes seconds. */
TEST_F(hang, slow_end_of_a_queue_delays_no_other_call)
{
	unsigned int waits = 0, polls = 0, tries;
	struct steps before;
	struct queue other;
	struct client c;
	pthread_t thread;
	void *ret;

	/* A machine that is paused meanwhile sees none, but not each time. */
	for (tries = 0; tries < 5 && (waits < 2 || polls < 2); tries++) {
		before = steps_now();
		waits = 0;
		polls = 0;
		ASSERT_EQ(0, client_open(&c));
		ASSERT_EQ(0, queue_open(c.fd, &other, NULL));
		ASSERT_EQ(0, emu_inject("hang-copy"));
		ASSERT_EQ(0, emu_inject("stop-never"));
		other.ring[0] = desc_fill(c.mem.addr, 7, 4);
		queue_ring(&other, 1);
		ASSERT_EQ(0, pthread_create(&thread, NULL, end_queue, &other));
		sleep_ms(100);
		while (pthread_tryjoin_np(thread, &ret) == EBUSY) {
			waits += queue_wait(&c.q, 1, 1, NULL) == -ETIMEDOUT;
			polls += !card_poll(c.fd, 1);
		}
		EXPECT_EQ(-ENODEV, (int)(intptr_t)ret);
		EXPECT_EQ(before.soft + 1, steps_then(&before, 1).soft);
		ASSERT_EQ(0, emu_clear());
		queue_unmap(&other);
		client_close(&c);
	}
	EXPECT_LE(2, waits);
	EXPECT_LE(2, polls);
	EXPECT_STEPS(0, tries, 0, 0);
}

/*
 * The second invalidation, that of the save area, is not confirmed. The ring is freed by then, and
 * the reset frees all else. Before it, the driver reads the status page for its core dump.
 */
TEST_F(hang, failed_destroy_keeps_the_status_page)
{
	struct vta_queue_create create = { .ring_order = 4, .flags = VTA_QUEUE_KEEP };
	uint64_t before, after;
	struct queue kept;

	ASSERT_EQ(0, queue_open(self->fd, &kept, &create));
	queue_unmap(&kept);
	before = ctx_number(self->fd, "vta-host-bytes");
	ASSERT_EQ(0, emu_inject("reg-tlb-invalidate=200+1 1"));
	EXPECT_EQ(-ENODEV, queue_destroy(self->fd, kept.id));
	after = ctx_number(self->fd, "vta-host-bytes");
	EXPECT_TRUE(after == before - 4096 ||
		    card_attr("generation") != self->before.generation) {
		TH_LOG("%" PRIu64 " of %" PRIu64 " bytes are left", after, before);
	}
	EXPECT_STEPS(0, 1, 0, 0);
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), card_lost(self->fd));
}

TEST_F(hang, held_queue_is_no_hang)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(5000);
	queue_release(&self->q, &self->mem, UINT64_MAX);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, reset_by_an_administrator)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, card_reset());
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_ADMIN), card_lost(self->fd));
	EXPECT_EQ(self->before.generation + 1, steps_now().generation);
	EXPECT_STEPS(0, 1, 0, 0);
}

#define MANY_BUFFERS	20000u

/* Of host memory, and a few of card memory at the end, which are the last to be freed. */
static int holds_many_buffers(void *arg)
{
	const int *pipes = arg;
	char byte = 0;
	int fd;

	MUST(!setresuid(NOBODY, 0, 0));
	fd = card_open();
	MUST(fd >= 0);
	for (unsigned int i = 0; i < MANY_BUFFERS; i++) {
		struct vta_buf_alloc req = {
			.size = 4096, .flags = i + 100 < MANY_BUFFERS ? 0 : VTA_BUF_CARD,
		};

		MUST(!card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req));
	}
	MUST(write(pipes[1], &byte, 1) == 1);
	pause();
	return 1;
}

static int resets_card(void *arg)
{
	(void)arg;
	return HOLDS(!card_reset()) ? 0 : 1;
}

/* Allocates all memory of the card. */
static int take_card(int fd)
{
	struct vta_buf_alloc req = { .flags = VTA_BUF_CARD };
	struct vta_info info;
	int ret = card_ioctl(fd, VTA_IOCTL_INFO, &info);

	req.size = info.mem_size;
	return ret ? ret : card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req);
}

/*
 * Opens the card at the end of a reset, and allocates all its memory. Returns 1 if another user's
 * memory was still being freed, 0 if it was freed, or an error.
 */
static int use_card_after_reset(void)
{
	uint64_t generation = card_attr("generation");
	int pipes[2], fd, freeing, ret;
	pid_t holder, resetter;
	char byte;

	if (pipe(pipes))
		return -errno;
	holder = child_start(holds_many_buffers, pipes);
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		return -EPIPE;
	resetter = child_start(resets_card, NULL);
	while (card_attr("generation") == generation)
		;
	fd = card_open();
	freeing = card_attr("host_bytes") > 0;
	ret = fd < 0 ? fd : take_card(fd);
	close(fd);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	close(pipes[0]);
	ret = ret ? ret : -child_end(resetter);
	return ret ? ret : freeing;
}

/* On a busy machine an open may be too late. If it waited for the memory, each would be. */
TEST_F(hang, reset_frees_memory_while_others_use_the_card)
{
	int ret = 0;

	for (unsigned int tries = 0; tries < 10 && !ret; tries++)
		ret = use_card_after_reset();
	EXPECT_EQ(1, ret);
}

TEST_F(hang, reset_by_vtactl)
{
	struct vta_info old, new;
	struct waiter w;
	char command[96];
	int fd;

	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &old));
	EXPECT_EQ(self->before.generation, old.generation);
	/* While a file is open it needs --force. */
	snprintf(command, sizeof(command),
		 "vtactl reset 0 2>&1 | grep -q 'process %d (vta_hang) of'", getpid());
	EXPECT_EQ(0, system(command));
	EXPECT_EQ(6, WEXITSTATUS(system("vtactl reset 0 2>/dev/null")));
	EXPECT_EQ(self->before.generation, steps_now().generation);
	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, system("vtactl reset --force 0"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_STEPS(0, 1, 0, 0);
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_INFO, &new));
	EXPECT_EQ(old.generation + 1, new.generation);
	close(fd);
}

static int reset_unprivileged(void *arg)
{
	(void)arg;
	MUST(!setresuid(1000, 1000, 1000));
	MUST(WEXITSTATUS(system("vtactl reset --force 0 2>/dev/null")) == 4);
	return !HOLDS(card_reset() == -EACCES);
}

/* Such as root of a container. */
static int reset_without_capabilities(void *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)arg;
	MUST(!syscall(SYS_capset, &header, data));
	return !HOLDS(card_reset() == -EPERM);
}

TEST_F(hang, reset_needs_the_value_1_and_a_capability)
{
	EXPECT_EQ(-EINVAL, file_write(card_path("reset"), "maybe"));
	EXPECT_EQ(0, file_write(card_path("reset"), "0"));
	EXPECT_EQ(0, in_child(reset_without_capabilities, NULL));
	EXPECT_EQ(self->before.generation, steps_now().generation);
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
}

TEST_F(hang, unprivileged_user_cannot_reset)
{
	EXPECT_EQ(0, in_child(reset_unprivileged, NULL));
	EXPECT_EQ(self->before.generation, steps_now().generation);
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->fd));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
}

TEST_HARNESS_MAIN
