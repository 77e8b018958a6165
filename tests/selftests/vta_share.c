// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_share - many processes on one card: turns, priorities, and floods
 *
 * The engines begin nothing until all have submitted. So all have work from then on, and the order
 * in which it was done is counted, by the card's stamps.
 */
#include "vta_emu.h"
#include "vta_harness.h"

enum {
	QUEUES_MAX = 64,
	JOBS_MAX = 126,
	RING_ORDER = 7,
	JOB_BYTES = 65536,
};

/* A process: so many queues, each with so many jobs. */
struct part {
	unsigned int queues;
	unsigned int priority;
	unsigned int jobs;
};

struct shared {
	uint64_t start[QUEUES_MAX][JOBS_MAX];
	unsigned int priority[QUEUES_MAX];
	unsigned int jobs[QUEUES_MAX];
	unsigned int queues;
};

static struct shared *shared;

/* One queue, with its stamps and what it fills. */
struct user {
	struct queue q;
	struct mem mem;
};

static int user_open(int fd, struct user *u, const struct part *part)
{
	struct vta_queue_create create = {
		.priority = part->priority, .ring_order = RING_ORDER,
	};
	int err = queue_open(fd, &u->q, &create);

	return err ?: mem_alloc(fd, &u->mem, 4096 + JOB_BYTES, VTA_BUF_HOST, 0);
}

/* Returns when the card has executed the descriptors without an engine and begins the jobs. */
static int user_submit(struct user *u, const struct part *part)
{
	struct vta_desc descs[1 + JOBS_MAX] = { desc_op(VTA_OP_NOP) };

	for (unsigned int i = 0; i < part->jobs; i++)
		descs[1 + i] = desc_stamp(desc_fill(u->mem.addr + 4096, i, JOB_BYTES),
					  u->mem.addr + i * sizeof(struct vta_stamp));
	queue_submit(&u->q, descs, 1 + part->jobs);
	return queue_wait(&u->q, 1, PATIENCE_MS, NULL);
}

static int user_end(struct user *u, const struct part *part, unsigned int nr)
{
	const struct vta_stamp *stamps = u->mem.ptr;
	struct vta_queue_fault fault = { };
	int err = queue_wait(&u->q, u->q.submitted, 4 * PATIENCE_MS, NULL);

	if (err) {
		queue_fault(&u->q, &fault);
		fprintf(stderr, "# queue %u: error %d, number %llu of %llu, fault %u\n", nr, err,
			(unsigned long long)queue_seq(&u->q),
			(unsigned long long)u->q.submitted, fault.reason);
		return err;
	}
	for (unsigned int i = 0; i < part->jobs; i++)
		shared->start[nr][i] = le64toh(stamps[i].start);
	return 0;
}

/* A process's part, which writes to @ready when all is submitted; its queues begin at @nr. */
static int take_part(const struct part *part, unsigned int nr, int ready)
{
	struct user users[QUEUES_MAX];
	int fd = card_open();

	MUST(fd >= 0);
	for (unsigned int i = 0; i < part->queues; i++) {
		if (!HOLDS(!user_open(fd, &users[i], part)) || !HOLDS(!user_submit(&users[i],
										   part)))
			return 1;
	}
	MUST(write(ready, "", 1) == 1);
	for (unsigned int i = 0; i < part->queues; i++)
		MUST(!user_end(&users[i], part, nr + i));
	/* Mappings keep the file open. */
	for (unsigned int i = 0; i < part->queues; i++) {
		queue_unmap(&users[i].q);
		munmap(users[i].mem.ptr, users[i].mem.size);
	}
	close(fd);
	return 0;
}

static bool is_ready(int pipe)
{
	struct pollfd pfd = { .fd = pipe, .events = POLLIN };
	char byte;

	return poll(&pfd, 1, PATIENCE_MS) == 1 && read(pipe, &byte, 1) == 1;
}

/* Each part by a process of its own. */
static int run_parts(const struct part *parts, unsigned int n)
{
	unsigned int nr = 0, i, k;
	int ready[2], status, ret;

	if (pipe(ready))
		return -errno;
	ret = emu_inject("idle-engines");
	for (i = 0; i < n; i++) {
		for (k = 0; k < parts[i].queues; k++) {
			shared->priority[nr + k] = parts[i].priority;
			shared->jobs[nr + k] = parts[i].jobs;
		}
		if (!fork())
			_exit(take_part(&parts[i], nr, ready[1]));
		nr += parts[i].queues;
	}
	shared->queues = nr;
	for (i = 0; i < n && !ret; i++)
		ret = is_ready(ready[0]) ? 0 : -ETIMEDOUT;
	ret = emu_clear() ?: ret;
	close(ready[0]);
	close(ready[1]);
	while (wait(&status) > 0)
		ret = ret ?: status;
	return ret;
}

/* On a busy host the last queue's first job may be fetched some rounds late. */
#define ROUNDS_LEAST	3

/* Number of jobs of the queue that began in between. */
static unsigned int begun(unsigned int nr, uint64_t after, uint64_t before)
{
	unsigned int n = 0, i;

	for (i = 0; i < shared->jobs[nr]; i++)
		n += shared->start[nr][i] > after && shared->start[nr][i] < before;
	return n;
}

/*
 * From one job of queue @of, which has the least priority, to its next every other
 * has its turn, while all have work. Returns how many such rounds there were, or
 * -1 if one was not as it is to be. The first and the last do not count.
 */
static int count_rounds(unsigned int of)
{
	uint64_t from = 0, until = UINT64_MAX;
	int rounds = 0;

	for (unsigned int nr = 0; nr < shared->queues; nr++) {
		uint64_t last = shared->start[nr][shared->jobs[nr] - 1];

		if (shared->start[nr][0] > from)
			from = shared->start[nr][0];
		if (last < until)
			until = last;
	}
	for (unsigned int i = 0; i + 1 < shared->jobs[of]; i++) {
		uint64_t begin = shared->start[of][i], end = shared->start[of][i + 1];

		if (begin < from || end > until)
			continue;
		rounds++;
		for (unsigned int nr = 0; nr < shared->queues; nr++) {
			if (nr != of && !HOLDS(begun(nr, begin, end) == 1u << shared->priority[nr]))
				return -1;
		}
	}
	return rounds;
}

FIXTURE(share) {
	struct usage before;
};

FIXTURE_SETUP(share)
{
	self->before = card_usage();
	/* On a busy machine a job, and what the engines wait for, may take any time. */
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "0"));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "0"));
	if (card_attr("queues") < QUEUES_MAX || card_attr("contexts") < QUEUES_MAX)
		SKIP(return, "the card is too small");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
}

FIXTURE_TEARDOWN(share)
{
	EXPECT_EQ(0, file_write(PARAMETERS "hang_ms", "10000"));
	EXPECT_EQ(0, file_write(PARAMETERS "max_job_ms", "1000"));
	EXPECT_TRUE(usage_is(&self->before));
	munmap(shared, sizeof(*shared));
}

TEST_F(share, sixty_four_queues_take_turns)
{
	struct part parts[QUEUES_MAX];

	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++)
		parts[i] = (struct part) { .queues = 1, .jobs = 15 };
	ASSERT_EQ(0, run_parts(parts, ARRAY_SIZE(parts)));
	for (unsigned int i = 0; i < QUEUES_MAX; i += 9)
		EXPECT_LE(ROUNDS_LEAST, count_rounds(i));
}

TEST_F(share, sixty_four_queues_share_by_priority)
{
	struct part parts[4];

	/* All have work for as many rounds. */
	for (unsigned int p = 0; p < 4; p++)
		parts[p] = (struct part) { .queues = 16, .priority = p, .jobs = 15u << p };
	ASSERT_EQ(0, run_parts(parts, 4));
	for (unsigned int p = 0; p < 16; p++)
		EXPECT_LE(ROUNDS_LEAST, count_rounds(p));
}

/* The others always have work, and get no more than theirs. */
TEST_F(share, least_priority_does_not_starve)
{
	struct part parts[] = {
		{ .queues = 1, .priority = 0, .jobs = 15 },
		{ .queues = 63, .priority = 3, .jobs = 120 },
	};

	ASSERT_EQ(0, run_parts(parts, ARRAY_SIZE(parts)));
	EXPECT_LE(9, count_rounds(0));
}

/* However much is in a queue, it has no more turns than others. */
TEST_F(share, flood_takes_no_more_than_its_share)
{
	struct part parts[] = {
		{ .queues = 1, .jobs = 30 },
		{ .queues = 2, .jobs = JOBS_MAX },
	};

	ASSERT_EQ(0, run_parts(parts, ARRAY_SIZE(parts)));
	EXPECT_LE(24, count_rounds(0));
	/* From its first job to its last, each of the others has one for one. */
	EXPECT_GE(30, begun(1, shared->start[0][0], shared->start[0][29]));
	EXPECT_GE(30, begun(2, shared->start[0][0], shared->start[0][29]));
}

TEST_HARNESS_MAIN
