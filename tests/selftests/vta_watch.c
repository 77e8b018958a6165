// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_watch - what the watchdog alone finds of a card that is waited for in vain, and
 * which queue it aborts
 *
 * Faults of the card are injected, as in vta_hang, so this runs on card 0 alone.
 */
#include <dirent.h>

#include "vta_hang.h"
#include "vta_insn.h"
#include "vta_kinds.h"

/* ---- What the watchdog alone finds ---- */

TEST_F(hang, halt_without_a_record)
{
	ASSERT_EQ(0, emu_inject("halt-lost"));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_fill(0x40000000, 0, 4)));
	EXPECT_STEPS(0, 1, 0, 0);
}

/* The interrupt of the fatal error was lost. */
TEST_F(hang, fatal_error_without_its_interrupt)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("irq-lost"));
	ASSERT_EQ(0, emu_inject("fatal"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 0, 0);
}

/* One read of READY or of GENERATION returns a sign of a reset. */
static const char * const signs_of_a_reset[] = { "reg-status=0 1", "reg-generation=77 1" };

TEST_F(hang, card_resets_itself)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signs_of_a_reset); i++) {
		struct steps before = steps_now();
		struct mem mem;
		struct waiter w;
		struct queue q;
		int fd = card_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, queue_open(fd, &q, NULL));
		ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0));
		queue_submit(&q, (struct vta_desc []) { desc_wait(mem.addr, UINT64_MAX) }, 1);
		ASSERT_EQ(0, waiter_start(&w, &q, 1, PATIENCE_MS));
		ASSERT_EQ(0, emu_inject(signs_of_a_reset[i]));
		EXPECT_EQ(-ENODEV, waiter_join(&w)) {
			TH_LOG("%s", signs_of_a_reset[i]);
		}
		EXPECT_EQ(before.soft + 1, steps_then(&before, 1).soft);
		munmap(mem.ptr, mem.size);
		queue_unmap(&q);
		close(fd);
	}
	EXPECT_FALSE(given_up());
}

/* Another answers in its place, and no reset brings it back. */
TEST_F(hang, another_device_answers)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("reg-magic=0x12345678"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 1);
}

/*
 * A function that is not on the bus any more is not waited for. What was written to its
 * configuration meanwhile has not arrived, so the PCI core is to bring it back.
 */
TEST_F(hang, function_missing_on_the_bus)
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

/* An interrupt that was still on its way. */
TEST_F(hang, interrupt_of_a_card_that_is_gone)
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

/* ---- When it looks ---- */

static int hang_one(struct _test_data_hang *self)
{
	int err = emu_inject("hang-copy");

	queue_submit(&self->q, (struct vta_desc []) { desc_fill(self->mem.addr, 7, 4) }, 1);
	return err;
}

/* The first wait for the number has ended, so the card is armed for it already. */
TEST_F(hang, found_by_a_second_wait)
{
	ASSERT_EQ(0, hang_one(self));
	ASSERT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 50, NULL));
	EXPECT_EQ(-EIO, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
	/* Waiters wake up before the abort is complete, and counted. */
	EXPECT_EQ(0, queue_recover(&self->q));
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_F(hang, found_by_many_short_waits)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	int err;

	ASSERT_EQ(0, hang_one(self));
	do {
		err = queue_wait(&self->q, 1, 10, NULL);
	} while (err == -ETIMEDOUT && now_ns() < end);
	EXPECT_EQ(-EIO, err);
	EXPECT_EQ(0, queue_recover(&self->q));
	EXPECT_STEPS(1, 0, 0, 0);
}

static void *polls(void *arg)
{
	return (void *)(intptr_t)card_poll(*(int *)arg, PATIENCE_MS);
}

static bool thread_sleeps(pid_t tid)
{
	char path[64], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strstr(text, ") S ");
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
	while (!thread_sleeps(tid))
		sleep_ms(1);
}

/*
 * No thread waits for a number, but one polls. From then on faults are reported by
 * interrupts again.
 */
TEST_F(hang, lost_event_does_not_silence_faults)
{
	struct vta_desc bad = desc_fill(0x40000000, 0, 4);
	pthread_t thread;
	void *events;

	ASSERT_EQ(0, emu_inject("irq-lost 1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, polls, &self->fd));
	wait_for_sleeper();
	queue_submit(&self->q, &bad, 1);
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
	queue_submit(&self->q, &bad, 1);
	while (self->q.status->status.state != VTA_QUEUE_HALTED)
		sleep_ms(1);
	ASSERT_EQ(-EIO, queue_wait(&self->q, 1, 0, NULL));
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(0, queue_recover(&self->q));
		EXPECT_EQ(-EIO, queue_do(&self->q, bad));
	}
	EXPECT_EQ(self->before.lost, steps_now().lost);
}

/* A halt that a waiter finds before two looks have seen it: the next one is another halt. */
TEST_F(hang, halt_found_by_a_waiter_is_no_lost_interrupt)
{
	struct vta_desc bad = desc_fill(0x40000000, 0, 4);
	struct waiter w;
	struct queue other;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	ASSERT_EQ(0, waiter_start(&w, &other, 1, 8000));	/* so long the watchdog looks */
	ASSERT_EQ(0, emu_inject("irq-lost"));
	for (unsigned int i = 1; i <= 200; i++) {
		uint64_t lost = card_attr("recovery/lost_interrupts");
		int64_t begin = now_ns();

		queue_submit(&self->q, &bad, 1);
		while (self->q.status->status.state != VTA_QUEUE_HALTED)
			;
		sleep_ms(20);
		ASSERT_EQ(-EIO, queue_wait(&self->q, i, 0, NULL));
		ASSERT_EQ(0, queue_recover(&self->q));
		if (now_ns() - begin < 900000000)	/* less than between two looks */
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
	queue_submit(&self->q, (struct vta_desc []) { desc_wait(self->mem.addr, 1) }, 1);
	ASSERT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 50, NULL));
	*(volatile uint64_t *)self->mem.ptr = 1;
	queue_kick(&self->q);
	/* Four looks of the watchdog, which another waiter keeps going. */
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

/* Interrupts that were asked for in vain do not excuse others, later. */
TEST_F(hang, storm_is_not_excused_by_old_waits)
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
	while (steps_now().storms == self->before.storms)
		sleep_ms(1);
	after = handled_interrupts();
	ASSERT_EQ(0, emu_clear());
	EXPECT_LT(before, after);
	EXPECT_GT(3000, after - before);
	steps_then(&self->before, 1);
	/* There may have been another since: its reset is not to come later. */
	ASSERT_EQ(0, card_reset());
}

/* ---- When it comes late ---- */

/* What a look suspects a card of, and the next one finds if it comes in time. */
static const struct suspicion {
	const char *kind;
	int err, others;	/* what the waiter gets then, and those of other queues */
} suspicions[] = {
	{ "heartbeat",		0,		-ENODEV },
	{ "status-lost 1",	-ENODEV,	-ENODEV },
	{ "irq-lost 1",		0,		0 },
};

/* Queues that wait: each look reads their registers. */
struct crowd {
	struct mem mem;
	struct queue queues[24];
	struct waiter waiters[24];
};

static int crowd_start(struct crowd *c, int fd)
{
	uint64_t arms = card_counter("arms") + ARRAY_SIZE(c->queues);
	unsigned int n;
	int err = mem_alloc(fd, &c->mem, 4096, VTA_BUF_HOST, 0);

	for (n = 0; n < ARRAY_SIZE(c->queues) && !err; n++) {
		struct vta_desc desc = desc_wait(c->mem.addr + 8 * n, 1);

		err = queue_open(fd, &c->queues[n], NULL);
		if (err)
			break;
		queue_submit(&c->queues[n], &desc, 1);
		err = waiter_start(&c->waiters[n], &c->queues[n], 1, 10 * PATIENCE_MS);
	}
	return err ? err : card_counter_reaches("arms", arms) == arms ? 0 : -ETIMEDOUT;
}

static void crowd_let_go(struct crowd *c, unsigned int n)
{
	((volatile uint64_t *)c->mem.ptr)[n] = 1;
	queue_kick(&c->queues[n]);
}

#define LOOKS	4

/*
 * From now on: STATUS, which reads as it would, counts them. @seen_ms: after how many ms of this
 * call each was seen; 0: it was not.
 */
static bool looks_happen(unsigned int seen_ms[LOOKS])
{
	int64_t begin = now_ns(), end = begin + 6 * PATIENCE_MS * 1000000ll;
	unsigned int n = 0;

	memset(seen_ms, 0, LOOKS * sizeof(*seen_ms));
	if (emu_inject("reg-status=1"))
		return false;
	while (n < LOOKS && now_ns() < end) {
		uint64_t looks = emu_injected("reg-status");

		for (; n < LOOKS && n < looks; n++)
			seen_ms[n] = (now_ns() - begin) / 1000000;
		sleep_ms(100);
	}
	return n == LOOKS;
}

/*
 * On a busy host the watchdog's work comes late, as it does here, where each access to a
 * register takes 60 ms: a look lasts longer than two periods. The next one judges by nothing
 * that it has seen.
 */
TEST_F_TIMEOUT(hang, late_looks_find_no_hang, 300)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(suspicions); i++) {
		const struct suspicion *s = &suspicions[i];
		struct steps before = steps_now();
		unsigned int seen[LOOKS];
		struct crowd c;
		int fd = card_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, crowd_start(&c, fd));
		ASSERT_EQ(0, emu_inject("slow=60000"));
		ASSERT_EQ(0, emu_inject(s->kind));
		crowd_let_go(&c, 0);
		EXPECT_TRUE(looks_happen(seen));	/* the first may have begun before */
		EXPECT_EQ(before.soft, steps_now().soft) {
			TH_LOG("%s", s->kind);
		}
		EXPECT_EQ(before.lost, steps_now().lost) {
			TH_LOG("%s, looks at %u, %u, %u and %u ms", s->kind, seen[0], seen[1],
			       seen[2], seen[3]);
		}
		ASSERT_EQ(0, emu_clear());
		if (!strcmp(s->kind, "heartbeat"))
			ASSERT_EQ(0, emu_inject(s->kind));
		EXPECT_EQ(s->err, waiter_join(&c.waiters[0]));
		for (n = 1; n < ARRAY_SIZE(c.queues); n++) {
			if (!s->others)
				crowd_let_go(&c, n);
			EXPECT_EQ(s->others, waiter_join(&c.waiters[n]));
		}
		EXPECT_EQ(before.soft + !!s->others, steps_then(&before, !!s->others).soft);
		EXPECT_EQ(before.lost + !s->others, steps_now().lost);
		ASSERT_EQ(0, emu_clear());
		for (n = 0; n < ARRAY_SIZE(c.queues); n++)
			queue_unmap(&c.queues[n]);
		munmap(c.mem.ptr, c.mem.size);
		close(fd);
	}
}

/* ---- More than one ---- */

/* Which queue has faulted as the N-th before now, by its number on the card. */
static int faulted(unsigned int n)
{
	char path[64], line[512];
	int queues[16], count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/vta/%s/fault_log", card_name());
	file = fopen(path, "re");
	while (file && count < (int)ARRAY_SIZE(queues) && fgets(line, sizeof(line), file))
		count += sscanf(line, "time=%*s queue=%d", &queues[count]) == 1;
	if (file)
		fclose(file);
	return count > (int)n ? queues[count - 1 - n] : -1;
}

/* A descriptor that begins, and ends only by an abort or a reset. */
static int begin_endless(struct _test_data_hang *self, struct queue *q)
{
	uint64_t doorbells = card_counter("doorbells");
	char kind[32];
	int err;

	snprintf(kind, sizeof(kind), "hang-copy@%u", q->id);
	err = emu_inject(kind);
	queue_submit(q, (struct vta_desc []) { desc_fill(self->mem.addr, 7, 4) }, 1);
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
	queue_submit(&self->q, &fill, 1);
	queue_submit(&other, &fill, 1);
	ASSERT_EQ(0, waiter_start(&first, &self->q, 1, PATIENCE_MS));
	ASSERT_EQ(0, waiter_start(&second, &other, 1, PATIENCE_MS));
	EXPECT_EQ(0, waiter_join(&first));
	EXPECT_EQ(0, waiter_join(&second));
	EXPECT_EQ(-EIO, queue_wait(&culprit, 1, 0, NULL));
	EXPECT_EQ((int)culprit.id, faulted(0));
	EXPECT_STEPS(1, 0, 0, 0);
	queue_unmap(&culprit);
	queue_unmap(&other);
}

static int other_user_is_not_slowed(void *arg)
{
	uint64_t throttled = card_attr("throttled");
	struct queue q;
	int fd;

	(void)arg;
	if (setresuid(1001, 1001, 1001))
		return 1;
	fd = card_open();
	if (fd < 0 || queue_open(fd, &q, NULL))
		return 2;
	return card_attr("throttled") == throttled ? 0 : 3;
}

/* The time that it took to find that a queue hangs, its user waits for the next one. */
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

/* By the card's clock it was hours. */
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

/* A process after the other has a job that takes its time, and is gone. */
static int has_long_jobs(void *arg)
{
	const int64_t *end = arg;
	struct queue q;
	struct mem mem;
	int fd, err = 0;

	while (!err && now_ns() < *end) {
		fd = card_open();
		err = fd < 0 ? fd : queue_open(fd, &q, NULL);
		err = err ? err : mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0);
		err = err ? err : queue_do(&q, desc_fill(mem.addr, 7, 4));
		if (err)
			break;
		munmap(mem.ptr, mem.size);
		queue_unmap(&q);
		close(fd);
	}
	return -err;
}

/* They end with a fault: the stamp goes where no memory is. */
static int has_long_jobs_that_fault(void *arg)
{
	const int64_t *end = arg;
	struct queue q;
	struct mem mem;
	int fd, err;

	if (setresuid(1000, 1000, 1000))
		return 1;
	fd = card_open();
	err = fd < 0 ? fd : queue_open(fd, &q, NULL);
	err = err ? err : mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0);
	while (!err && now_ns() < *end) {
		if (queue_do(&q, desc_stamp(desc_fill(mem.addr, 7, 4), 0x40000000)) != -EIO)
			return 2;
		err = queue_recover(&q);
	}
	return -err;
}

static int (* const long_jobs[])(void *) = { has_long_jobs, has_long_jobs_that_fault };

/*
 * The engine is always busy, by jobs of half their limit, and another user's descriptor
 * waits behind them for longer than any may take. That is longer than the emulator's threads are
 * ever not run.
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
		int status;

		for (n = 0; n < ARRAY_SIZE(pids); n++) {
			pids[n] = fork();
			if (!pids[n])
				_exit(long_jobs[i](&end));
		}
		for (; now_ns() < end; jobs++)
			ASSERT_EQ(0, queue_do(&self->q, desc_fill(self->mem.addr, 7, 64)));
		for (n = 0; n < ARRAY_SIZE(pids); n++) {
			ASSERT_EQ(pids[n], waitpid(pids[n], &status, 0));
			EXPECT_EQ(0, status);
		}
	}
	EXPECT_LT(0, jobs);
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->fd));
	EXPECT_STEPS(0, 0, 0, 0);
}

/* The card keeps a descriptor for itself, and an engine idle. */
static const char * const standstills[] = { "hang-front", "idle-engines" };

TEST_F(hang, idle_engine_is_detected)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(standstills); i++) {
		struct steps before = steps_now();
		struct queue q;
		struct mem mem;
		int fd = card_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, queue_open(fd, &q, NULL));
		ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0));
		ASSERT_EQ(0, emu_inject(standstills[i]));
		EXPECT_EQ(-ENODEV, queue_do(&q, desc_fill(mem.addr, 7, 4))) {
			TH_LOG("%s", standstills[i]);
		}
		EXPECT_EQ(before.soft + 1, steps_then(&before, 1).soft);
		EXPECT_EQ(before.aborts, steps_now().aborts);
		ASSERT_EQ(0, emu_clear());
		munmap(mem.ptr, mem.size);
		queue_unmap(&q);
		close(fd);
	}
}

/* As one user of several, with a stream that ends at once. */
static int users_queue(struct queue *q, struct vta_desc *run)
{
	struct mem mem;
	int fd;

	if (setresuid(1000, 1000, 1000))
		return 1;
	fd = card_open();
	if (fd < 0 || queue_open(fd, q, NULL) || mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0))
		return 2;
	*(struct insn *)mem.ptr = insn_finish(0);
	*run = desc_run(mem.addr, 1, 0);
	return 0;
}

/* In the ring it is none, when the card has read it. */
static int hides_what_it_runs(void)
{
	struct vta_desc run;
	struct queue q;
	int err = users_queue(&q, &run);
	uint64_t read;

	if (err)
		return err;
	read = card_counter("dma_read_bytes") + sizeof(run);
	queue_submit(&q, &run, 1);
	if (card_counter_reaches("dma_read_bytes", read) < read)
		return 5;
	q.ring[0] = desc_op(VTA_OP_NOP);
	return queue_wait(&q, 1, PATIENCE_MS, NULL) ? 3 : 0;
}

/* The hidden descriptor keeps its time limit, so the waiters behind it see no hang. */
TEST_F(hang, hidden_descriptors_cause_no_abort)
{
	uint64_t doorbells = card_counter("doorbells");
	struct vta_desc run;
	int status;
	pid_t pid;

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "8000"));
	ASSERT_EQ(0, emu_inject("slow-engine=6000@1 1"));
	pid = fork();
	if (!pid)
		_exit(hides_what_it_runs());
	EXPECT_EQ(doorbells + 1, card_counter_reaches("doorbells", doorbells + 1));
	sleep_ms(100);	/* by then it is what the engine has */
	*(struct insn *)self->mem.ptr = insn_finish(0);
	run = desc_run(self->mem.addr, 1, 0);
	EXPECT_EQ(0, queue_do(&self->q, run));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_STEPS(0, 0, 0, 0);
}

/* At each check, the next descriptor in the ring seems to need the engine. */
static int forges_a_running_descriptor(void)
{
	struct vta_desc run;
	struct queue q;
	int err = users_queue(&q, &run);

	while (!err) {
		q.ring[(q.submitted + 1) % q.entries] = run;
		err = queue_do(&q, desc_op(VTA_OP_NOP)) ? 3 : 0;
		sleep_ms(50);
	}
	return err;
}

/* This does not hide the hang of the engine. */
TEST_F(hang, forged_ring_does_not_hide_a_hang)
{
	struct vta_desc run;
	pid_t pid;

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, emu_inject("hang-compute"));
	pid = fork();
	if (!pid)
		_exit(forges_a_running_descriptor());
	*(struct insn *)self->mem.ptr = insn_finish(0);
	run = desc_run(self->mem.addr, 1, 0);
	EXPECT_EQ(-EIO, queue_do(&self->q, run));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_STEPS(1, 0, 0, 0);
}

/* One abort shows that the engine hangs, however many queues wait for it. */
TEST_F(hang, too_many_hang)
{
	struct vta_desc fill = desc_fill(self->mem.addr, 7, 4);
	struct waiter waiters[40];
	struct queue queues[ARRAY_SIZE(waiters)];
	unsigned int i, aborted = 0;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		ASSERT_EQ(0, queue_open(self->fd, &queues[i], NULL));
	ASSERT_EQ(0, emu_inject("hang-copy"));
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		queue_submit(&queues[i], &fill, 1);
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
	queue_submit(&self->q, (struct vta_desc []) { desc_fill(self->mem.addr, 7, 4) }, 1);
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
