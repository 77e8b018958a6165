// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_hang - a card that does not keep its promises is found, and brought back by
 * the weakest means that works, or given up
 *
 * Faults of the card are injected through the emulator's control socket, so this
 * runs on card 0 alone.
 */
#include <linux/capability.h>

#include "vta_hang.h"

TEST_F(hang, heartbeat_stops)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 0, 0);
	EXPECT_FALSE(given_up());
}

TEST_F(hang, nothing_but_ones)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("ones"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 1, 1);
}

TEST_F(hang, nothing_but_zeroes)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_STEPS(0, 1, 1, 1);
}

/* Memory is not given back because a bridge says zero. */
TEST_F(hang, registers_of_zeroes_stop_no_queue)
{
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, queue_close(&self->q));
	/* Known before the reset is over, or has begun. */
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 1, 1);
	EXPECT_EQ(-ENODEV, lost(self));
}

TEST_F(hang, registers_of_zeroes_free_no_memory)
{
	struct mem mem;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, mem_free(&mem));
	EXPECT_STEPS(0, 1, 1, 1);
}

/* Of a context whose number is not what a bridge says, too. */
TEST_F(hang, registers_of_zeroes_free_no_memory_of_others)
{
	struct mem mem;
	int other = card_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, mem_alloc(other, &mem, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, mem_free(&mem));
	EXPECT_STEPS(0, 1, 1, 1);
	close(other);
}

TEST_F(hang, tlb_invalidation_times_out)
{
	struct mem mem;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("tlb-busy"));
	EXPECT_EQ(-ENODEV, mem_free(&mem));
	EXPECT_STEPS(0, 1, 0, 0);
	EXPECT_EQ(-ENODEV, lost(self));
}

static const char * const no_starts[] = { "start-never", "ones" };

TEST_F(hang, queue_does_not_start)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(no_starts); i++) {
		struct steps before = steps_now();
		struct vta_queue_create create = { .ring_order = 4 };
		int fd = card_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, emu_inject(no_starts[i]));
		EXPECT_EQ(-ENODEV, card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &create));
		EXPECT_EQ(before.soft + 1, steps_then(&before, 1).soft);
		ASSERT_EQ(0, emu_clear());
		close(fd);
	}
}

TEST_F(hang, card_reports_a_fatal_error)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("fatal"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 0, 0);
}

/* It would run for ever. */
TEST_F(hang, too_many_resets)
{
	unsigned int i;
	int fd;

	ASSERT_EQ(0, file_write(PARAMETERS "max_resets", "3"));
	/* By hand, it starts to count anew. */
	ASSERT_EQ(0, card_reset());
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(0, emu_inject("fatal"));
		while (card_attr("generation") != self->before.generation + 1 + i)
			sleep_ms(2);
		fd = card_open();
		EXPECT_LE(0, fd);
		close(fd);
	}
	EXPECT_FALSE(given_up());
	ASSERT_EQ(0, emu_inject("fatal"));
	while (!given_up())
		sleep_ms(2);
	EXPECT_STEPS(0, 4, 0, 1);
	EXPECT_EQ(-ENODEV, card_open());
}

static int copies_meanwhile(void *arg)
{
	struct waiter w;
	struct queue q;
	int fd = card_open();

	(void)arg;
	if (fd < 0 || queue_open(fd, &q, NULL))
		return 1;
	for (int i = 0; i < 40; i++) {
		if (queue_do(&q, desc_op(VTA_OP_NOP)))
			return 2;
		sleep_ms(50);
	}
	/* Waiting for what was never submitted is no hang. */
	if (waiter_start(&w, &q, 41, 3000) || waiter_join(&w) != -ETIMEDOUT)
		return 3;
	return queue_do(&q, desc_op(VTA_OP_NOP)) ? 4 : 0;
}

TEST_F(hang, engine_hangs)
{
	struct vta_desc fill = desc_fill(self->mem.addr, 7, 4);
	struct vta_queue_fault fault;
	int status;
	pid_t pid;

	ASSERT_EQ(0, emu_inject("hang-copy"));
	pid = fork();
	if (!pid)
		_exit(copies_meanwhile(NULL));
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
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_F(hang, engine_hangs_again)
{
	ASSERT_EQ(0, emu_inject("hang-copy"));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_STEPS(1, 1, 0, 0);
	EXPECT_FALSE(given_up());
}

/* Its queue is held by a WAIT; the process itself writes the ring's descriptor. */
static int forges_a_hang(void *arg)
{
	struct vta_desc hold;
	uint64_t read;
	struct queue q;
	struct mem mem;
	int fd;

	(void)arg;
	if (setresuid(1000, 1000, 1000))
		return 1;
	fd = card_open();
	if (fd < 0 || queue_open(fd, &q, NULL) || mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0))
		return 2;
	hold = desc_wait(mem.addr, 1);
	read = card_counter("dma_read_bytes") + sizeof(hold);
	queue_submit(&q, &hold, 1);
	if (card_counter_reaches("dma_read_bytes", read) < read)
		return 5;
	q.ring[0] = desc_run(mem.addr, 1, 0);
	if (queue_wait(&q, 1, 5000, NULL) != -ETIMEDOUT)
		return 3;
	*(volatile uint64_t *)mem.ptr = 1;
	queue_kick(&q);
	return queue_wait(&q, 1, PATIENCE_MS, NULL) ? 4 : 0;
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

TEST_F(hang, queue_does_not_stop)
{
	ASSERT_EQ(0, emu_inject("hang-copy"));
	ASSERT_EQ(0, emu_inject("stop-never"));
	/* The abort is of no use, and says so before the reset does. */
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_STEPS(1, 1, 0, 0);
}

static pid_t close_a_file(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(close(card_open()));
	return pid;
}

/* Whether a process that waits in open for the end of a reset can be killed. */
static bool opener_can_be_killed(void)
{
	uint64_t resets = steps_now().soft;
	pid_t opener = fork();
	int status;

	if (!opener)
		_exit(card_open() < 0);
	if (!proc_gets_into(opener, "vta_ctx_open") || kill(opener, SIGKILL) ||
	    waitpid(opener, &status, 0) != opener)
		return false;
	return WIFSIGNALED(status) && steps_now().soft == resets;
}

/* The card does not forget a file that is closed, and cannot be opened meanwhile. */
TEST_F(hang, wait_in_open_can_be_killed)
{
	bool killed = false;
	int tries, status;

	/* On a busy machine the reset may be there before. */
	for (tries = 0; tries < 3 && !killed; tries++) {
		pid_t closer;

		ASSERT_EQ(0, card_reset());
		ASSERT_EQ(0, emu_inject("tlb-busy"));
		closer = close_a_file();
		ASSERT_TRUE(proc_gets_into(closer, "vta_mmu"));
		killed = opener_can_be_killed();
		ASSERT_EQ(closer, waitpid(closer, &status, 0));
		ASSERT_EQ(0, emu_clear());
	}
	EXPECT_TRUE(killed);
}

TEST_F(hang, everything_hangs)
{
	ASSERT_EQ(0, emu_inject("hang-all"));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 0, 0);
}

TEST_F(hang, function_reset_helps)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 0);
	EXPECT_FALSE(given_up());
}

TEST_F(hang, no_reset_helps)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("flr-stuck"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 1);
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	/* A reset that is too early returns an error. */
	EXPECT_GT(0, card_reset());
	EXPECT_TRUE(given_up());
}

TEST_F(hang, records_are_not_written)
{
	ASSERT_EQ(0, emu_inject("status-lost"));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_STEPS(0, 1, 0, 0);
}

/* The waiter is woken late, but it is woken. */
TEST_F(hang, interrupt_is_lost)
{
	uint64_t arms = card_counter("arms");
	struct waiter w;

	ASSERT_EQ(0, emu_inject("irq-lost"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(arms + 1, card_counter_reaches("arms", arms + 1));
	*(volatile uint64_t *)self->mem.ptr = UINT64_MAX;
	queue_kick(&self->q);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(self->before.lost + 1, steps_now().lost);
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, interrupts_without_end)
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
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	int err;

	do {
		sleep_ms(2);
		err = queue_wait(q, 1ull << 41, 0, NULL);
	} while (err == -EINVAL && now_ns() < end);
	return err;
}

static const char * const lies[] = { "seq-back 1", "state-wild 1", "seq-jump 1" };

/* Only the queue's owner gets an error. */
TEST_F(hang, inconsistent_queue_records)
{
	struct vta_queue_fault fault;
	struct queue other;
	unsigned int i;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(0, emu_inject(lies[i]));
		/* A jump ahead shows as such only when the number goes back again. */
		if (queue_do(&self->q, desc_op(VTA_OP_NOP)) == 0)
			queue_do(&self->q, desc_op(VTA_OP_NOP));
		ASSERT_EQ(-EIO, halts(&self->q)) {
			TH_LOG("%s", lies[i]);
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

TEST_F(hang, invalid_fault_record)
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

TEST_F(hang, fault_record_of_another_descriptor)
{
	struct vta_queue_fault fault;
	unsigned int i;
	char kind[32];

	for (i = 0; i < ARRAY_SIZE(wild_words); i++) {
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

/* The watchdog has an end, and reads nothing of an idle card. */
TEST_F(hang, watchdog_ends_without_waiters)
{
	struct waiter w;
	uint64_t reads;

	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(1500);
	*(volatile uint64_t *)self->mem.ptr = UINT64_MAX;
	queue_kick(&self->q);
	ASSERT_EQ(0, waiter_join(&w));
	/* One more look may be to come. */
	sleep_ms(2100);
	reads = card_counter("mmio_reads");
	sleep_ms(2500);
	EXPECT_EQ(reads, card_counter("mmio_reads"));
	EXPECT_STEPS(0, 0, 0, 0);
}

/* A queue that is held by its owner is no hang. */
static void *end_queue(void *arg)
{
	struct queue *q = arg;
	struct vta_queue_destroy req = { .queue = q->id };

	return (void *)(intptr_t)card_ioctl(q->fd, VTA_IOCTL_QUEUE_DESTROY, &req);
}

/* While another thread ends a queue, which takes seconds, others can be waited for. */
TEST_F(hang, queue_ends_slowly)
{
	unsigned int waits = 0, polls = 0, tries;
	struct queue q, other;
	struct steps before;
	pthread_t thread;
	struct mem mem;
	void *ret;
	int fd;

	/* A machine that is paused meanwhile sees none, but not each time. */
	for (tries = 0; tries < 5 && (waits < 2 || polls < 2); tries++) {
		before = steps_now();
		waits = 0;
		polls = 0;
		fd = card_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, queue_open(fd, &q, NULL));
		ASSERT_EQ(0, queue_open(fd, &other, NULL));
		ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0));
		ASSERT_EQ(0, emu_inject("hang-copy"));
		ASSERT_EQ(0, emu_inject("stop-never"));
		other.ring[0] = desc_fill(mem.addr, 7, 4);
		queue_ring(&other, 1);
		ASSERT_EQ(0, pthread_create(&thread, NULL, end_queue, &other));
		sleep_ms(100);
		while (pthread_tryjoin_np(thread, &ret) == EBUSY) {
			if (queue_wait(&q, 1, 1, NULL) == -ETIMEDOUT)
				waits++;
			if (!card_poll(fd, 1))
				polls++;
		}
		EXPECT_EQ(-ENODEV, (int)(intptr_t)ret);
		EXPECT_EQ(before.soft + 1, steps_then(&before, 1).soft);
		ASSERT_EQ(0, emu_clear());
		munmap(mem.ptr, mem.size);
		queue_unmap(&q);
		queue_unmap(&other);
		close(fd);
	}
	EXPECT_LE(2, waits);
	EXPECT_LE(2, polls);
	EXPECT_STEPS(0, tries, 0, 0);
}

TEST_F(hang, queue_is_held)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(5000);
	*(volatile uint64_t *)self->mem.ptr = UINT64_MAX;
	queue_kick(&self->q);
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

TEST_F(hang, reset_by_vtactl)
{
	struct vta_info old, new;
	struct waiter w;
	char command[96];
	int fd;

	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &old));
	EXPECT_EQ(self->before.generation, old.generation);
	/* Not from under others, unless that is meant. */
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
	if (setresuid(1000, 1000, 1000))
		return 1;
	if (WEXITSTATUS(system("vtactl reset --force 0 2>/dev/null")) != 4)
		return 3;
	return card_reset() == -EACCES ? 0 : 2;
}

/* Root of a container, say. */
static int reset_without_capabilities(void *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)arg;
	if (syscall(SYS_capset, &header, data))
		return 1;
	return card_reset() == -EPERM ? 0 : 2;
}

TEST_F(hang, vtactl_reset_asks_first)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/vta/%s/reset", card_name());
	EXPECT_EQ(-EINVAL, file_write(path, "maybe"));
	EXPECT_EQ(0, file_write(path, "0"));
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
