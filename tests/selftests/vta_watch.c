// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_watch - the watchdog's checks: faults that no interrupt reports, and which queue is aborted
 *
 * Faults of the card are injected, as in vta_hang, so this runs on card 0 alone.
 */
#include <dirent.h>

#include "vta_hang.h"
#include "vta_insn.h"

/* ---- Faults without an interrupt ---- */

/*
 * Writes to the configuration of a missing function are lost, so a reset through the PCI core
 * must restore it.
 */
TEST_F(hang, missing_function_is_given_up_until_the_pci_core_resets_it)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("ones"));
	ASSERT_EQ(0, emu_inject("config-gone"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 1);
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(0, card_reset_function());
	EXPECT_FALSE(given_up());
}

TEST_F(hang, late_interrupt_of_a_missing_card_is_a_reset)
{
	ASSERT_EQ(0, emu_inject("reg-event=0xffffffff 1"));
	ASSERT_EQ(0, emu_inject("irq-spurious=0 1"));
	EXPECT_STEPS(0, 1, 0, 0);
	EXPECT_EQ(-ENODEV, lost(self));
}

/* After an invalidation, the context's number reads back; ones would read as 255. */
TEST_F(hang, registers_of_ones_free_no_memory)
{
	struct mem mem = { 0 };
	int fds[256], last = -1;
	unsigned int n;

	if (card_attr("contexts") < ARRAY_SIZE(fds))
		SKIP(return, "the card has too few contexts");
	for (n = 0; n < ARRAY_SIZE(fds) - 1; n++) {
		fds[n] = card_open();
		ASSERT_LE(0, fds[n]);
		if (ctx_number(fds[n], "vta-context") == 255)
			last = fds[n];
	}
	ASSERT_LE(0, last);
	ASSERT_EQ(0, mem_alloc(last, &mem, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("ones"));
	mem_free(&mem);
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 1, 1);
	while (n)
		close(fds[--n]);
}

/* ---- When it checks ---- */

static int hang_one(struct _test_data_hang *self)
{
	int err = emu_inject("hang-copy");

	queue_put(&self->q, desc_fill(self->mem.addr, 7, 4));
	return err;
}

/* The first wait for the number has ended, so the card is armed for it already. */
TEST_F(hang, second_wait_for_a_number_detects_a_hang)
{
	ASSERT_EQ(0, hang_one(self));
	ASSERT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 50, NULL));
	EXPECT_EQ(-EIO, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
	/* Waiters wake up before the abort is complete, and counted. */
	EXPECT_EQ(0, queue_recover(&self->q));
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_F(hang, many_short_waits_detect_a_hang)
{
	int err;

	ASSERT_EQ(0, hang_one(self));
	SOON((err = queue_wait(&self->q, 1, 10, NULL)) != -ETIMEDOUT);
	EXPECT_EQ(-EIO, err);
	EXPECT_EQ(0, queue_recover(&self->q));
	EXPECT_STEPS(1, 0, 0, 0);
}

static void *polls(void *arg)
{
	return (void *)(intptr_t)card_poll(*(int *)arg, PATIENCE_MS);
}

/* The other thread of this process, when it sleeps. */
static void wait_for_sleeper(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t tid = 0;

	while ((entry = readdir(tasks)))
		if (atoi(entry->d_name) != getpid() && atoi(entry->d_name))
			tid = atoi(entry->d_name);
	closedir(tasks);
	SOON(task_sleeps(tid));
}

/* No thread waits for a number, but one polls. Later faults are reported by interrupts again. */
TEST_F(hang, lost_event_does_not_silence_faults)
{
	struct vta_desc bad = desc_fill(0x40000000, 0, 4);
	pthread_t thread;
	void *events;

	ASSERT_EQ(0, emu_inject("irq-lost 1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, polls, &self->fd));
	wait_for_sleeper();
	queue_put(&self->q, bad);
	pthread_join(thread, &events);
	EXPECT_EQ(POLLPRI, (int)(intptr_t)events);
	EXPECT_EQ(self->before.lost + 1, steps_now().lost);
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(0, queue_recover(&self->q));
		EXPECT_EQ(-EIO, queue_do(&self->q, bad));
	}
	EXPECT_EQ(self->before.lost + 1, steps_now().lost);
	EXPECT_STEPS(0, 0, 0, 0);
}

/* The fault is seen before the watchdog could miss its interrupt. */
TEST_F(hang, event_lost_unnoticed_does_not_silence_faults)
{
	struct vta_desc bad = desc_fill(0x40000000, 0, 4);

	ASSERT_EQ(0, emu_inject("irq-lost 1"));
	queue_put(&self->q, bad);
	while (self->q.status->status.state != VTA_QUEUE_HALTED)
		sleep_ms(1);
	ASSERT_EQ(-EIO, queue_wait(&self->q, 1, 0, NULL));
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(0, queue_recover(&self->q));
		EXPECT_EQ(-EIO, queue_do(&self->q, bad));
	}
	EXPECT_EQ(self->before.lost, steps_now().lost);
}

/* A waiter finds each halt before two checks have seen it, so the next halt is another one. */
TEST_F(hang, halt_found_by_a_waiter_is_no_lost_interrupt)
{
	struct waiter w;
	struct queue other;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	ASSERT_EQ(0, waiter_start(&w, &other, 1, 8000));	/* as long as the watchdog runs */
	ASSERT_EQ(0, emu_inject("irq-lost"));
	for (unsigned int i = 1; i <= 200; i++) {
		uint64_t lost = card_attr("recovery/lost_interrupts");
		int64_t begin = now_ns();

		queue_put(&self->q, desc_fill(0x40000000, 0, 4));
		while (self->q.status->status.state != VTA_QUEUE_HALTED)
			;
		sleep_ms(20);
		ASSERT_EQ(-EIO, queue_wait(&self->q, i, 0, NULL));
		ASSERT_EQ(0, queue_recover(&self->q));
		if (now_ns() - begin < 900000000)	/* less than between two checks */
			ASSERT_EQ(lost, card_attr("recovery/lost_interrupts"));
	}
	EXPECT_EQ(-ETIMEDOUT, waiter_join(&w));
	queue_unmap(&other);
}

/* An interrupt whose waiter has timed out is not counted as lost. */
TEST_F(hang, wait_that_timed_out_is_no_lost_interrupt)
{
	struct vta_queue_create create = { .ring_order = 4 };
	struct queue other;

	ASSERT_EQ(0, queue_open(self->fd, &other, &create));
	queue_hold(&self->q, &self->mem, 1);
	ASSERT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 50, NULL));
	queue_release(&self->q, &self->mem, 1);
	/* Four checks of the watchdog, which another waiter keeps going. */
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&other, 1, 4000, NULL));
	EXPECT_EQ(1, queue_seq(&self->q));
	EXPECT_EQ(self->before.lost, steps_now().lost);
	queue_unmap(&other);
}

/* Interrupts that this machine has handled: a card may send many more. */
static uint64_t handled_interrupts(void)
{
	uint64_t counts[CARD_VECTORS] = { 0 }, sum = 0;

	card_vectors(counts);
	for (unsigned int n = 0; n < CARD_VECTORS; n++)
		sum += counts[n];
	return sum;
}

/* Interrupts that were armed and have not come are no credit for others, later. */
TEST_F(hang, old_waits_do_not_excuse_a_storm)
{
	int64_t end = now_ns() + 2500 * 1000000ll;
	uint64_t arms = card_counter("arms"), before, after;
	unsigned int seq = 2, i;

	/* A wait that begins late, after its deadline, arms nothing. */
	do {
		for (i = 0; i < 100; i++)
			queue_wait(&self->q, seq++, 1, NULL);
	} while (card_counter("arms") - arms <= 3000 || now_ns() < end);
	/* The first of a new second. */
	ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	sleep_ms(1100);
	ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(0, file_write(PARAMETERS "max_excess_irqs", "20"));
	before = handled_interrupts();
	ASSERT_EQ(0, emu_inject("irq-storm=1"));
	ASSERT_TRUE(SOON(card_attr("recovery/interrupt_storms") != self->before.storms));
	after = handled_interrupts();
	ASSERT_EQ(0, emu_clear());
	EXPECT_LT(before, after);
	EXPECT_GT(3000, after - before);
	steps_then(&self->before, 1);
	/* There may have been another since: its reset is not to come later. */
	ASSERT_EQ(0, card_reset());
}

/* ---- When its checks are late ---- */

/* Faults that a check suspects, and the next one reports if it comes in time. */
static const struct suspicion {
	const char *kind;
	int err, others;	/* results of the waiter, and of those of other queues */
} suspicions[] = {
	{ "heartbeat",		0,		-ENODEV },
	{ "status-lost 1",	-ENODEV,	-ENODEV },
	{ "irq-lost 1",		0,		0 },
};

/* Queues with waiters: each check reads their registers. */
struct crowd {
	struct mem mem;
	struct queue queues[24];
	struct waiter waiters[24];
};

static int crowd_start(struct crowd *c, int fd)
{
	uint64_t arms = card_counter("arms") + ARRAY_SIZE(c->queues);
	int err = mem_alloc(fd, &c->mem, 4096, VTA_BUF_HOST, 0);

	for (unsigned int n = 0; n < ARRAY_SIZE(c->queues) && !err; n++) {
		err = queue_open(fd, &c->queues[n], NULL);
		if (err)
			break;
		queue_put(&c->queues[n], desc_wait(c->mem.addr + 8 * n, 1));
		err = waiter_start(&c->waiters[n], &c->queues[n], 1, 10 * PATIENCE_MS);
	}
	return err ? err : card_counter_reaches("arms", arms) == arms ? 0 : -ETIMEDOUT;
}

static void crowd_let_go(struct crowd *c, unsigned int n)
{
	((volatile uint64_t *)c->mem.ptr)[n] = 1;
	queue_kick(&c->queues[n]);
}

#define CHECKS	4

/*
 * Waits for CHECKS checks from now on. An injected STATUS, with its true value, counts them.
 * @seen_ms: ms from the call until each was seen, or 0
 */
static bool checks_happen(unsigned int seen_ms[CHECKS])
{
	int64_t begin = now_ns(), end = begin + 6 * PATIENCE_MS * 1000000ll;
	unsigned int n = 0;

	memset(seen_ms, 0, CHECKS * sizeof(*seen_ms));
	if (emu_inject("reg-status=1"))
		return false;
	while (n < CHECKS && now_ns() < end) {
		uint64_t checks = emu_injected("reg-status");

		for (; n < CHECKS && n < checks; n++)
			seen_ms[n] = (now_ns() - begin) / 1000000;
		sleep_ms(100);
	}
	return n == CHECKS;
}

/*
 * On a busy host the watchdog's work is late, as it is here, where each access to a register
 * takes 60 ms: a check lasts longer than two periods. The next one uses none of its samples.
 */
TEST_F_TIMEOUT(hang, late_checks_report_no_hang, 300)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(suspicions); i++) {
		const struct suspicion *s = &suspicions[i];
		struct steps before = steps_now();
		unsigned int seen[CHECKS];
		struct crowd c;
		int fd = card_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, crowd_start(&c, fd));
		ASSERT_EQ(0, emu_inject("slow=60000"));
		ASSERT_EQ(0, emu_inject(s->kind));
		crowd_let_go(&c, 0);
		EXPECT_TRUE(checks_happen(seen));	/* the first may have begun before */
		EXPECT_EQ(before.soft, steps_now().soft) {
			TH_LOG("%s", s->kind);
		}
		EXPECT_EQ(before.lost, steps_now().lost) {
			TH_LOG("%s, checks at %u, %u, %u and %u ms", s->kind, seen[0], seen[1],
			       seen[2], seen[3]);
		}
		ASSERT_EQ(0, emu_clear());
		if (!strcmp(s->kind, "heartbeat"))
			ASSERT_EQ(0, emu_inject(s->kind));
		EXPECT_EQ(s->err, waiter_join(&c.waiters[0]));
		for (unsigned int n = 1; n < ARRAY_SIZE(c.queues); n++) {
			if (!s->others)
				crowd_let_go(&c, n);
			EXPECT_EQ(s->others, waiter_join(&c.waiters[n]));
		}
		EXPECT_EQ(before.soft + !!s->others, steps_then(&before, !!s->others).soft);
		EXPECT_EQ(before.lost + !s->others, steps_now().lost);
		ASSERT_EQ(0, emu_clear());
		for (unsigned int n = 0; n < ARRAY_SIZE(c.queues); n++)
			queue_unmap(&c.queues[n]);
		munmap(c.mem.ptr, c.mem.size);
		close(fd);
	}
}

/* ---- More than one queue ---- */

/* The card's number of the last queue that has faulted. */
static int last_faulted(void)
{
	int queue;

	return sscanf(card_last_line("fault_log"), "time=%*s queue=%d", &queue) == 1 ? queue : -1;
}

/* A descriptor that begins, and ends only by an abort or a reset. */
static int begin_endless(struct _test_data_hang *self, struct queue *q)
{
	uint64_t doorbells = card_counter("doorbells");
	char kind[32];
	int err;

	snprintf(kind, sizeof(kind), "hang-copy@%u", q->id);
	err = emu_inject(kind);
	queue_put(q, desc_fill(self->mem.addr, 7, 4));
	return err || card_counter_reaches("doorbells", doorbells + 1) != doorbells + 1;
}

/*
 * No thread waits for the descriptor that hangs. Queues that wait for the engine, before and
 * after its own, get it when the descriptor has been aborted.
 */
TEST_F(hang, only_the_hanging_queue_is_aborted)
{
	struct vta_desc fill = desc_fill(self->mem.addr, 7, 4);
	struct queue culprit, other;
	struct waiter first, second;

	ASSERT_EQ(0, queue_open(self->fd, &culprit, NULL));
	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	ASSERT_EQ(0, begin_endless(self, &culprit));
	queue_put(&self->q, fill);
	queue_put(&other, fill);
	ASSERT_EQ(0, waiter_start(&first, &self->q, 1, PATIENCE_MS));
	ASSERT_EQ(0, waiter_start(&second, &other, 1, PATIENCE_MS));
	EXPECT_EQ(0, waiter_join(&first));
	EXPECT_EQ(0, waiter_join(&second));
	EXPECT_EQ(-EIO, queue_wait(&culprit, 1, 0, NULL));
	EXPECT_EQ((int)culprit.id, last_faulted());
	EXPECT_STEPS(1, 0, 0, 0);
	queue_unmap(&culprit);
	queue_unmap(&other);
}

static int other_user_is_not_slowed(void *arg)
{
	uint64_t throttled = card_attr("throttled");
	struct client c;

	(void)arg;
	MUST(!setresuid(1001, 1001, 1001) && !client_open(&c));
	return !HOLDS(card_attr("throttled") == throttled);
}

/* The next queue of its user waits for as long as detecting the hang took. */
TEST_F(hang, only_the_hanging_user_is_throttled)
{
	uint64_t throttled = card_attr("throttled");
	struct queue next;

	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "5000"));
	ASSERT_EQ(0, hang_one(self));
	ASSERT_EQ(-EIO, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, chmod(card_node(), 0666));
	EXPECT_EQ(0, in_child(other_user_is_not_slowed, NULL));
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_EQ(throttled, card_attr("throttled"));
	ASSERT_EQ(0, queue_open(self->fd, &next, NULL));
	EXPECT_EQ(throttled + 1, card_attr("throttled"));
	queue_unmap(&next);
}

static void interrupted(int signal)
{
	(void)signal;
}

/* By the card's clock the hang lasted for hours. */
TEST_F(hang, hang_throttling_ignores_the_card_s_clock)
{
	const struct sigaction action = { .sa_handler = interrupted };
	struct queue next;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, emu_inject("reg-time-hi=0x1000"));
	ASSERT_EQ(0, hang_one(self));
	ASSERT_EQ(-EIO, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
	ASSERT_EQ(0, emu_clear());
	alarm(PATIENCE_MS / 1000);
	EXPECT_EQ(0, queue_open(self->fd, &next, NULL));
	alarm(0);
	queue_unmap(&next);
}

/* One file after the other has a long job. */
static int has_long_jobs(void *arg)
{
	const int64_t *end = arg;
	struct client c;

	while (now_ns() < *end) {
		MUST(!client_open(&c) && !queue_do(&c.q, desc_fill(c.mem.addr, 7, 4)));
		client_close(&c);
	}
	return 0;
}

/* The jobs end with a fault: there is no memory for the stamp. */
static int has_long_jobs_that_fault(void *arg)
{
	const int64_t *end = arg;
	struct client c;

	MUST(!setresuid(1000, 1000, 1000) && !client_open(&c));
	while (now_ns() < *end) {
		MUST(queue_do(&c.q, desc_stamp(desc_fill(c.mem.addr, 7, 4), 0x40000000)) == -EIO);
		MUST(!queue_recover(&c.q));
	}
	return 0;
}

static int (* const long_jobs[])(void *) = { has_long_jobs, has_long_jobs_that_fault };

/*
 * The engine is always busy, by jobs of half their limit, and another user's descriptor
 * waits behind them for longer than any may take. The emulator's threads never pause as long.
 */
TEST_F(hang, busy_engine_is_no_hang)
{
	unsigned int i, n, jobs = 0;

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "1200"));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "3000"));
	queue_unmap(&self->q);
	close(self->fd);
	self->fd = card_open();
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	munmap(self->mem.ptr, self->mem.size);
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("slow-engine=600"));
	for (i = 0; i < ARRAY_SIZE(long_jobs); i++) {
		int64_t end = now_ns() + 15 * 1000000000ll;
		pid_t pids[9];

		for (n = 0; n < ARRAY_SIZE(pids); n++)
			pids[n] = child_start(long_jobs[i], &end);
		for (; now_ns() < end; jobs++)
			ASSERT_EQ(0, queue_do(&self->q, desc_fill(self->mem.addr, 7, 64)));
		for (n = 0; n < ARRAY_SIZE(pids); n++)
			EXPECT_EQ(0, child_end(pids[n]));
	}
	EXPECT_LT(0, jobs);
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->fd));
	EXPECT_STEPS(0, 0, 0, 0);
}

/* A RUN of a stream that ends at once. */
static struct vta_desc empty_run(const struct mem *mem)
{
	*(struct insn *)mem->ptr = insn_finish(0);
	return desc_run(mem->addr, 1, 0);
}

/* Writes a NOP over the RUN in the ring, when the card has read it. */
static int hides_what_it_runs(void *arg)
{
	struct client c;
	uint64_t read;

	(void)arg;
	MUST(!setresuid(1000, 1000, 1000) && !client_open(&c));
	read = card_counter("dma_read_bytes") + sizeof(struct vta_desc);
	queue_put(&c.q, empty_run(&c.mem));
	MUST(card_counter_reaches("dma_read_bytes", read) >= read);
	c.q.ring[0] = desc_op(VTA_OP_NOP);
	return !HOLDS(!queue_wait(&c.q, 1, PATIENCE_MS, NULL));
}

/* The hidden descriptor keeps its time limit, so the waiters behind it see no hang. */
TEST_F(hang, hidden_descriptors_cause_no_abort)
{
	uint64_t doorbells = card_counter("doorbells");
	pid_t pid;

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "8000"));
	ASSERT_EQ(0, emu_inject("slow-engine=6000@1 1"));
	pid = child_start(hides_what_it_runs, NULL);
	EXPECT_EQ(doorbells + 1, card_counter_reaches("doorbells", doorbells + 1));
	sleep_ms(100);	/* until the engine has it */
	EXPECT_EQ(0, queue_do(&self->q, empty_run(&self->mem)));
	EXPECT_EQ(0, child_end(pid));
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_STEPS(0, 0, 0, 0);
}

/* At each check, the next descriptor in the ring seems to need the engine. */
static int forges_a_running_descriptor(void *arg)
{
	struct client c;

	(void)arg;
	MUST(!setresuid(1000, 1000, 1000) && !client_open(&c));
	for (;; sleep_ms(50)) {
		c.q.ring[(c.q.submitted + 1) % c.q.entries] = empty_run(&c.mem);
		MUST(!queue_do(&c.q, desc_op(VTA_OP_NOP)));
	}
}

TEST_F(hang, forged_ring_does_not_hide_a_hang)
{
	pid_t pid;

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, emu_inject("hang-compute"));
	pid = child_start(forges_a_running_descriptor, NULL);
	EXPECT_EQ(-EIO, queue_do(&self->q, empty_run(&self->mem)));
	EXPECT_EQ(0, child_kill(pid));
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_F(hang, one_abort_shows_that_an_engine_hangs_for_many_queues)
{
	struct waiter waiters[40];
	struct queue queues[ARRAY_SIZE(waiters)];
	unsigned int i, aborted = 0;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		ASSERT_EQ(0, queue_open(self->fd, &queues[i], NULL));
	ASSERT_EQ(0, emu_inject("hang-copy"));
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		queue_put(&queues[i], desc_fill(self->mem.addr, 7, 4));
		ASSERT_EQ(0, waiter_start(&waiters[i], &queues[i], 1, PATIENCE_MS));
	}
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		int err = waiter_join(&waiters[i]);

		EXPECT_TRUE(err == -EIO || err == -ENODEV);
		aborted += err == -EIO;
		queue_unmap(&queues[i]);
	}
	EXPECT_EQ(1, aborted);
	EXPECT_STEPS(1, 1, 0, 0);
}

/* With the watchdog switched off, no hang is reported. */
TEST_F(hang, no_hangs_with_the_watchdog_off)
{
	struct waiter w;

	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "0"));
	ASSERT_EQ(0, emu_inject("hang-copy"));
	queue_put(&self->q, desc_fill(self->mem.addr, 7, 4));
	ASSERT_EQ(0, waiter_start(&w, &self->q, 1, PATIENCE_MS));
	sleep_ms(5000);
	EXPECT_STEPS(0, 0, 0, 0);
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "1000"));
	EXPECT_EQ(-EIO, waiter_join(&w));
	/* Waiters wake up before the abort is complete, and counted. */
	EXPECT_EQ(0, queue_recover(&self->q));
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_HARNESS_MAIN
