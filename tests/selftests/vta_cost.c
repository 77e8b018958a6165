// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_cost - the cost of a launch and a wait, counted: system calls, accesses to the card,
 * interrupts, and the threads that they wake
 */
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "vta_harness.h"
#include "vtadev.h"

#define PATIENCE_NS	(PATIENCE_MS * 1000000ll)
/* After this time a wait of the library looks again, rings again, and sleeps anew. */
#define AGAIN_NS	1000000000ll

enum { QUEUES = 8 };

FIXTURE(cost) {
	struct vtadev *dev;
	struct vtadev_queue *q[QUEUES];
	struct vtadev_buf *buf;
	volatile uint64_t *words;	/* what the queues' gates wait for */
	int64_t began;			/* no wait began before */
};

FIXTURE_SETUP(cost)
{
	struct vtadev_queue_opts opts = { .spin_ns = -1 };
	void *ptr;
	int done;

	ASSERT_EQ(0, vtadev_open(card_node(), &self->dev));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, 4096, VTADEV_HOST, &self->buf));
	ASSERT_EQ(0, vtadev_buf_map(self->buf, &ptr));
	self->words = ptr;
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct vta_desc nop = vtadev_desc_nop();

		ASSERT_EQ(0, vtadev_queue_create(self->dev, &opts, &self->q[i]));
		/* Brings the mappings in. */
		ASSERT_EQ(0, vtadev_submit(self->q[i], &nop, 1, NULL));
		/* Without sleeping: an armed interrupt may come late. */
		do {
			done = vtadev_done(self->q[i], 1);
		} while (!done);
		ASSERT_EQ(1, done);
	}
	self->began = now_ns();
}

FIXTURE_TEARDOWN(cost)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		vtadev_queue_destroy(self->q[i]);
	vtadev_buf_free(self->buf);
	vtadev_close(self->dev);
}

/* A descriptor of queue @i that ends when its word is @value. */
static uint64_t gate(struct _test_data_cost *self, unsigned int i, uint64_t value)
{
	struct vta_desc desc = vtadev_desc_wait(vtadev_buf_addr(self->buf) + 8 * i, value);
	uint64_t seq = 0;

	vtadev_submit(self->q[i], &desc, 1, &seq);
	return seq;
}

static void open_gate(struct _test_data_cost *self, unsigned int i, uint64_t value)
{
	self->words[i] = htole64(value);
	vtadev_kick(self->q[i]);
}

/* ---- System calls ---- */

/* Any but exit_group() kills. */
static int forbid_system_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = ARRAY_SIZE(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

/*
 * Batches of all lengths, each waited for; the long ones first, so that a moment in
 * which the machine did something else makes nothing expected that is longer than
 * the spin.
 */
static int launch_and_wait(void *arg)
{
	struct vtadev_queue_opts opts = { .ring_entries = 64, .spin_ns = INT32_MAX };
	static struct vta_desc descs[64];
	struct vtadev_fence fence;
	struct vtadev *dev;

	(void)arg;
	for (unsigned int i = 0; i < ARRAY_SIZE(descs); i++)
		descs[i] = vtadev_desc_nop();
	if (vtadev_open(card_node(), &dev) || vtadev_queue_create(dev, &opts, &fence.queue))
		return 1;
	if (forbid_system_calls())
		return 2;
	for (unsigned int i = 64; i; i--) {
		if (vtadev_submit(fence.queue, descs, i, &fence.seq))
			return 3;
		if (i & 1 ? vtadev_wait(fence.queue, fence.seq, PATIENCE_NS) :
			    vtadev_wait_all(&fence, 1, -1, -1, NULL))
			return 4;
	}
	return 0;
}

/* For what takes longer than the spin: for ever. */
static int launch_and_sleep(void *arg)
{
	struct vtadev_queue_opts opts = { .spin_ns = 1000 };
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	struct vta_desc desc;
	struct vtadev *dev;

	(void)arg;
	if (vtadev_open(card_node(), &dev) || vtadev_queue_create(dev, &opts, &queue) ||
	    vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf))
		return 1;
	desc = vtadev_desc_wait(vtadev_buf_addr(buf), 1);
	if (forbid_system_calls())
		return 2;
	if (vtadev_submit(queue, &desc, 1, NULL))
		return 3;
	return vtadev_sync(queue, PATIENCE_NS) ? 4 : 0;
}

TEST_F(cost, no_system_call_to_launch_and_wait_within_the_spin)
{
	int err, tries = 0;

	/* Also killed if the machine was paused for longer than the spin, but not each time. */
	do {
		err = in_child(launch_and_wait, NULL);
	} while (err == -EINTR && ++tries < 3);
	EXPECT_EQ(0, err);
	/* The filter kills if there is a system call. */
	EXPECT_EQ(-EINTR, in_child(launch_and_sleep, NULL));
}

/* ---- Accesses to the card ---- */

TEST_F(cost, one_doorbell_for_a_batch_of_any_length)
{
	static const unsigned int lengths[] = { 1, 2, 3, 17, 100, 255, 256 };
	static struct vta_desc descs[256];
	struct vtadev_counters before, after;
	uint64_t seq;

	for (unsigned int i = 0; i < ARRAY_SIZE(descs); i++)
		descs[i] = vtadev_desc_nop();
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		ASSERT_EQ(0, vtadev_counters(self->dev, &before));
		ASSERT_EQ(0, vtadev_submit(self->q[0], descs, lengths[i], &seq));
		while (!vtadev_done(self->q[0], seq))
			;
		ASSERT_EQ(0, vtadev_wait(self->q[0], seq, PATIENCE_NS));
		ASSERT_EQ(0, vtadev_counters(self->dev, &after));
		EXPECT_EQ(before.doorbells + 1, after.doorbells);
		EXPECT_EQ(before.mmio_writes + 1, after.mmio_writes);
		EXPECT_EQ(before.mmio_reads, after.mmio_reads);
		EXPECT_EQ(before.arms, after.arms);
		EXPECT_EQ(before.interrupts, after.interrupts);
		EXPECT_EQ(before.descriptors + lengths[i], after.descriptors);
	}
}

/* ---- Wake-ups ---- */

/*
 * Returns true if @seen, a count of waits, is exactly @count, or as much more as a pause of the
 * machine explains: each second a thread sleeps anew, once for each queue that it waits for.
 */
static bool is_count(const struct _test_data_cost *self, uint64_t count, uint64_t seen)
{
	uint64_t more = (uint64_t)((now_ns() - self->began) / AGAIN_NS) * QUEUES;

	return seen >= count && seen <= count + more;
}

#define EXPECT_COUNT(count, seen) do {							\
	uint64_t _count = (count), _seen = (seen);					\
											\
	if (!is_count(self, _count, _seen))						\
		EXPECT_EQ(_count, _seen);						\
} while (0)

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

struct sleeper {
	pthread_t thread;
	pid_t tid;
	long before;
	sem_t begins;
	struct vtadev_fence fences[QUEUES];
	unsigned int n;
	int ret;
	long slept;	/* how often the thread went to sleep */
};

static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;

	s->tid = gettid();
	s->before = switches();
	sem_post(&s->begins);
	if (s->n == 1)
		s->ret = vtadev_wait(s->fences[0].queue, s->fences[0].seq, PATIENCE_NS);
	else
		s->ret = vtadev_wait_all(s->fences, s->n, PATIENCE_NS, -1, NULL);
	s->slept = switches() - s->before;
	return NULL;
}

/* Number of times that it has gone to sleep; LONG_MAX if unknown. */
static long sleeper_switches(const struct sleeper *s)
{
	char path[64], line[128];
	long n = LONG_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", s->tid);
	f = fopen(path, "r");
	if (!f)
		return n;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	fclose(f);
	return n;
}

/* Returns when the thread sleeps, and whether @arms were written until then. */
static bool sleeper_start(struct _test_data_cost *self, struct sleeper *s, uint64_t arms)
{
	int64_t until = now_ns() + PATIENCE_NS;

	if (sem_init(&s->begins, 0, 0) || pthread_create(&s->thread, NULL, sleep_once, s))
		abort();
	while (sem_wait(&s->begins))
		;
	while (sleeper_switches(s) == s->before && now_ns() < until)
		sleep_ms(1);
	return is_count(self, arms, card_counter("arms"));
}

/* Returns how often it went to sleep, or an error. */
static long sleeper_end(struct sleeper *s)
{
	pthread_join(s->thread, NULL);
	return s->ret ? s->ret : s->slept;
}

TEST_F(cost, one_arm_one_interrupt_one_wakeup)
{
	struct vtadev_counters before, after;

	for (unsigned int i = 1; i <= 10; i++) {
		struct sleeper s = { .n = 1 };

		self->began = now_ns();
		ASSERT_EQ(0, vtadev_counters(self->dev, &before));
		s.fences[0] = (struct vtadev_fence) { self->q[0], gate(self, 0, i) };
		ASSERT_TRUE(sleeper_start(self, &s, before.arms + 1));
		open_gate(self, 0, i);
		pthread_join(s.thread, NULL);
		ASSERT_EQ(0, vtadev_counters(self->dev, &after));
		EXPECT_EQ(0, s.ret);
		EXPECT_COUNT(1, (uint64_t)s.slept);
		EXPECT_COUNT(before.arms + 1, after.arms);
		EXPECT_COUNT(before.interrupts + 1, after.interrupts);
		/* The gate, the kick that opens it, and ARM. */
		EXPECT_COUNT(before.mmio_writes + 3, after.mmio_writes);
	}
}

/* Also if all queues have one vector. */
TEST_F(cost, interrupt_wakes_no_waiter_of_another_queue)
{
	static const unsigned int order[QUEUES] = { 3, 7, 0, 5, 1, 6, 2, 4 };
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");
	struct sleeper s[QUEUES] = { };

	for (unsigned int i = 0; i < QUEUES; i++) {
		s[i].n = 1;
		s[i].fences[0] = (struct vtadev_fence) { self->q[i], gate(self, i, 1) };
		ASSERT_TRUE(sleeper_start(self, &s[i], arms + i + 1));
	}
	for (unsigned int i = 0; i < QUEUES; i++) {
		open_gate(self, order[i], 1);
		EXPECT_COUNT(1, (uint64_t)sleeper_end(&s[order[i]]));
	}
	EXPECT_COUNT(arms + QUEUES, card_counter("arms"));
	EXPECT_COUNT(interrupts + QUEUES, card_counter("interrupts"));
}

TEST_F(cost, interrupt_wakes_no_waiter_for_a_later_number)
{
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");
	struct sleeper s[QUEUES] = { };

	for (unsigned int i = 0; i < QUEUES; i++) {
		s[i].n = 1;
		s[i].fences[0] = (struct vtadev_fence) { self->q[0], gate(self, 0, i + 1) };
	}
	/* Each waits for less than those before, so each arms. */
	for (unsigned int i = QUEUES; i-- > 0;)
		ASSERT_TRUE(sleeper_start(self, &s[i], arms + QUEUES - i));
	for (unsigned int i = 0; i < QUEUES; i++) {
		open_gate(self, 0, i + 1);
		EXPECT_COUNT(1, (uint64_t)sleeper_end(&s[i]));
	}
	/* Each interrupt but the last arms what is next. */
	EXPECT_COUNT(arms + 2 * QUEUES - 1, card_counter("arms"));
	EXPECT_COUNT(interrupts + QUEUES, card_counter("interrupts"));
}

TEST_F(cost, all_of_several_is_one_wakeup)
{
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");
	struct sleeper s = { .n = QUEUES };

	for (unsigned int i = 0; i < QUEUES; i++)
		s.fences[i] = (struct vtadev_fence) { self->q[i], gate(self, i, 1) };
	ASSERT_TRUE(sleeper_start(self, &s, arms + QUEUES));
	for (unsigned int i = 0; i < QUEUES; i++) {
		open_gate(self, i, 1);
		EXPECT_COUNT(interrupts + i + 1,
			     card_counter_reaches("interrupts", interrupts + i + 1));
		sleep_ms(5);
	}
	EXPECT_COUNT(1, (uint64_t)sleeper_end(&s));
	EXPECT_COUNT(arms + QUEUES, card_counter("arms"));
}

/* By the library, with a queue and a gate on the first card that is not ours. */
TEST_F(cost, all_of_two_cards_is_one_wakeup)
{
	struct vtadev_counters before[2], after[2];
	struct vtadev_queue_opts opts = { .spin_ns = -1 };
	struct sleeper s = { .n = 2 };
	struct vtadev_card *cards;
	struct vtadev *dev = NULL;
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	struct vta_desc desc;
	unsigned int index;
	uint64_t one = htole64(1);
	int i, n;

	n = vtadev_list(&cards);
	for (i = 0; i < n && !dev; i++) {
		if (strcmp(cards[i].node, card_node()))
			ASSERT_EQ(0, vtadev_open(cards[i].node, &dev));
	}
	vtadev_list_free(cards);
	if (!dev)
		SKIP(return, "there is only one card");
	ASSERT_EQ(0, vtadev_queue_create(dev, &opts, &queue));
	ASSERT_EQ(0, vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf));
	desc = vtadev_desc_wait(vtadev_buf_addr(buf), 1);
	ASSERT_EQ(0, vtadev_submit(queue, &desc, 1, NULL));
	s.fences[0] = (struct vtadev_fence) { self->q[0], gate(self, 0, 1) };
	s.fences[1] = (struct vtadev_fence) { queue, 1 };
	EXPECT_EQ(-ETIMEDOUT, vtadev_wait_any(s.fences, 2, 0, -1, NULL));

	ASSERT_EQ(0, vtadev_counters(self->dev, &before[0]));
	ASSERT_EQ(0, vtadev_counters(dev, &before[1]));
	ASSERT_TRUE(sleeper_start(self, &s, before[0].arms + 1));
	open_gate(self, 0, 1);
	EXPECT_EQ(0, vtadev_wait_any(s.fences, 2, PATIENCE_NS, -1, &index));
	EXPECT_EQ(0, index);
	ASSERT_EQ(0, vtadev_buf_write(buf, 0, &one, sizeof(one)));
	vtadev_kick(queue);
	EXPECT_COUNT(1, (uint64_t)sleeper_end(&s));
	ASSERT_EQ(0, vtadev_counters(dev, &after[1]));
	EXPECT_COUNT(before[1].arms + 1, after[1].arms);
	EXPECT_COUNT(before[1].interrupts + 1, after[1].interrupts);
	vtadev_queue_destroy(queue);
	vtadev_buf_free(buf);
	vtadev_close(dev);
}

/* ---- Vectors ---- */

TEST_F(cost, queue_interrupts_on_a_vector_of_its_own)
{
	static uint64_t before[CARD_VECTORS], after[CARD_VECTORS];
	bool used[CARD_VECTORS] = { };
	unsigned int vectors, i, v;

	vectors = vtadev_info(self->dev)->vectors;
	if (vectors <= vtadev_info(self->dev)->queues)
		SKIP(return, "queues share vectors");
	/*
	 * A waiter may ask for an interrupt and then see that it needs none, as when the queues
	 * were made. Such interrupts come late: the first round collects them.
	 */
	for (i = 0; i < 2 * QUEUES; i++) {
		unsigned int q = i % QUEUES, changed = 0, which = 0;
		uint64_t arms = card_counter("arms"), value = 1 + i / QUEUES;
		struct sleeper s = { .n = 1 };

		self->began = now_ns();
		ASSERT_EQ(vectors, card_vectors(before));
		s.fences[0] = (struct vtadev_fence) { self->q[q], gate(self, q, value) };
		ASSERT_TRUE(sleeper_start(self, &s, arms + 1));
		open_gate(self, q, value);
		pthread_join(s.thread, NULL);
		ASSERT_EQ(vectors, card_vectors(after));
		if (i < QUEUES)
			continue;
		for (v = 0; v < vectors; v++) {
			if (after[v] == before[v])
				continue;
			EXPECT_COUNT(before[v] + 1, after[v]);
			which = v;
			changed++;
		}
		EXPECT_EQ(1, changed);
		EXPECT_NE(0, which);
		EXPECT_FALSE(used[which]);
		used[which] = true;
	}
}

/* ---- Idle ---- */

static int64_t process_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Longer than any period of the driver's, so that what is periodic shows. */
TEST_F(cost, idle_card_is_not_accessed)
{
	struct vtadev_counters before, after;
	uint64_t vectors_before[CARD_VECTORS] = { }, vectors_after[CARD_VECTORS] = { };
	struct rusage usage_before, usage_after;
	uint64_t seq, read;
	int64_t cpu;

	/* The first WAIT is over at once: the second needs no page table. */
	seq = gate(self, 0, 0);
	while (!vtadev_done(self->q[0], seq))
		;
	/*
	 * One queue is held as soon as the card has read the WAIT and its word, the others have
	 * nothing to do. No thread waits.
	 */
	read = card_counter("dma_read_bytes") + sizeof(struct vta_desc) + sizeof(uint64_t);
	gate(self, 0, 1);
	EXPECT_EQ(read, card_counter_reaches("dma_read_bytes", read));
	card_vectors(vectors_before);
	ASSERT_EQ(0, vtadev_counters(self->dev, &before));
	getrusage(RUSAGE_SELF, &usage_before);
	cpu = process_ns();
	sleep_ms(2500);
	cpu = process_ns() - cpu;
	getrusage(RUSAGE_SELF, &usage_after);
	ASSERT_EQ(0, vtadev_counters(self->dev, &after));
	card_vectors(vectors_after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(0, memcmp(vectors_before, vectors_after, sizeof(vectors_before)));
	/* The sleep itself, and no thread of the library's that polls or spins beside. */
	EXPECT_EQ(usage_before.ru_nvcsw + 1, usage_after.ru_nvcsw);
	EXPECT_GT(1000000000, cpu);
}

TEST_HARNESS_MAIN
