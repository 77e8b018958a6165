// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_recover - a halted queue continues, and a user whose queues halt again and again is
 * throttled
 */
#include "vta_harness.h"

#define HOLE		0x40000000u
#define LIMIT		PARAMETERS "max_user_faults"

FIXTURE(recover) {
	int fd;
	struct queue q;
	struct mem mem;
};

FIXTURE_SETUP(recover)
{
	ASSERT_EQ(0, file_write(LIMIT, "0"));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 4096, VTA_BUF_HOST, 0));
}

FIXTURE_TEARDOWN(recover)
{
	close(self->fd);
	file_write(LIMIT, "100");
}

static struct vta_desc bad(void)
{
	return desc_fill(HOLE, 0, 1);
}

static uint32_t word(const struct mem *mem, unsigned int index)
{
	return ((volatile uint32_t *)mem->ptr)[index];
}

TEST_F(recover, continues_after_the_fault)
{
	struct vta_queue_recover arg = { .queue = self->q.id, .seq = 99 };
	struct vta_queue_fault fault;

	ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(-EIO, queue_do(&self->q, bad()));
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_QUEUE_RECOVER, &arg));
	EXPECT_EQ(2, arg.seq);

	/* The same mappings show a queue with nothing wrong. */
	EXPECT_EQ(2, queue_seq(&self->q));
	EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(self->q.status->status.state));
	EXPECT_EQ(0, le32toh(self->q.status->fault.reason));
	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(VTA_FAULT_NONE, fault.reason);
	EXPECT_EQ(0, card_poll(self->fd, 0));
	EXPECT_EQ(0, queue_wait(&self->q, 2, 0, NULL));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 3, 0, NULL));

	EXPECT_EQ(0, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_EQ(3, queue_seq(&self->q));
	EXPECT_EQ(7, word(&self->mem, 0));
}

TEST_F(recover, later_descriptors_wait_for_the_doorbell)
{
	struct vta_desc descs[3] = {
		bad(), desc_fill(self->mem.addr, 5, 4), desc_fill(self->mem.addr + 4, 6, 4),
	};
	uint64_t done;

	queue_submit(&self->q, descs, 3);
	ASSERT_EQ(-EIO, queue_wait(&self->q, 3, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 3, 50, &done));
	EXPECT_EQ(1, done);
	EXPECT_EQ(0, word(&self->mem, 0));

	/* As it stands in the ring. */
	queue_ring(&self->q, 3);
	EXPECT_EQ(0, queue_wait(&self->q, 3, PATIENCE_MS, NULL));
	EXPECT_EQ(5, word(&self->mem, 0));
	EXPECT_EQ(6, word(&self->mem, 1));
}

TEST_F(recover, later_descriptors_can_be_replaced)
{
	struct vta_desc descs[3] = {
		bad(), desc_fill(self->mem.addr, 5, 4), desc_fill(self->mem.addr, 6, 4),
	};

	queue_submit(&self->q, descs, 3);
	ASSERT_EQ(-EIO, queue_wait(&self->q, 3, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_recover(&self->q));
	ASSERT_EQ(0, queue_do(&self->q, desc_fill(self->mem.addr, 8, 4)));
	EXPECT_EQ(2, queue_seq(&self->q));
	EXPECT_EQ(8, word(&self->mem, 0));
}

/* Nothing is left out where no descriptor was at fault. */
TEST_F(recover, doorbell_fault_skips_nothing)
{
	struct vta_queue_recover arg = { .queue = self->q.id };

	ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	queue_ring(&self->q, 1 + self->q.entries + 1);
	ASSERT_EQ(-EIO, queue_wait(&self->q, 2, PATIENCE_MS, NULL));
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_QUEUE_RECOVER, &arg));
	EXPECT_EQ(1, arg.seq);
	ASSERT_EQ(0, queue_do(&self->q, desc_fill(self->mem.addr, 9, 4)));
	EXPECT_EQ(2, queue_seq(&self->q));
	EXPECT_EQ(9, word(&self->mem, 0));
}

TEST_F(recover, waits_and_poll_work_again)
{
	struct waiter w;

	ASSERT_EQ(-EIO, queue_do(&self->q, bad()));
	EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(0, card_poll(self->fd, 0));
	queue_hold(&self->q, &self->mem, 1);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 2, PATIENCE_MS));
	queue_release(&self->q, &self->mem, 1);
	EXPECT_EQ(0, waiter_join(&w));
	/* And it can halt again. */
	ASSERT_EQ(-EIO, queue_do(&self->q, bad()));
	EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
}

TEST_F(recover, only_halted_queues)
{
	struct vta_queue_recover flags = { .queue = self->q.id, .flags = 1 };
	struct vta_queue_recover unknown = { .queue = self->q.id + 1 };

	EXPECT_EQ(-EINVAL, card_ioctl(self->fd, VTA_IOCTL_QUEUE_RECOVER, &flags));
	EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_QUEUE_RECOVER, &unknown));
	EXPECT_EQ(-EBUSY, queue_recover(&self->q));
	queue_hold(&self->q, &self->mem, 1);
	EXPECT_EQ(-EBUSY, queue_recover(&self->q));
	queue_release(&self->q, &self->mem, 1);
	EXPECT_EQ(0, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
}

/* The ring goes round meanwhile. */
TEST_F(recover, two_hundred_times)
{
	struct vta_queue_create create = { .ring_order = 1 };
	struct queue q, other;

	ASSERT_EQ(0, queue_open(self->fd, &q, &create));
	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	for (unsigned int i = 0; i < 200; i++) {
		ASSERT_EQ(-EIO, queue_do(&q, bad()));
		ASSERT_EQ(0, queue_do(&other, desc_fill(self->mem.addr, i, 4)));
		ASSERT_EQ(0, queue_recover(&q));
		ASSERT_EQ(2 * i + 1, queue_seq(&q));
		ASSERT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(i, word(&self->mem, 0));
	}
	EXPECT_EQ(200, queue_seq(&other));
}

TEST_F(recover, two_threads_at_once)
{
	pid_t pid;
	int status;

	/* The child has the same file, and a queue that it cannot ring. */
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_EQ(-EIO, queue_do(&self->q, bad()));
		pid = fork();
		if (!pid) {
			status = queue_recover(&self->q);
			_exit(status && status != -EBUSY);
		}
		status = queue_recover(&self->q);
		EXPECT_TRUE(!status || status == -EBUSY);
		waitpid(pid, &status, 0);
		EXPECT_EQ(0, status);
		self->q.submitted = i + 1;
		EXPECT_EQ(i + 1, queue_seq(&self->q));
		EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(self->q.status->status.state));
	}
}

/* More than any ring holds, whatever has been submitted. */
#define TOO_MANY	0x80000000u

struct ringer {
	struct queue *q;
	bool done;
};

static void *ring_too_many(void *arg)
{
	struct ringer *ringer = arg;

	while (!__atomic_load_n(&ringer->done, __ATOMIC_RELAXED))
		queue_ring(ringer->q, TOO_MANY);
	return NULL;
}

/* A queue that halts again as soon as it continues: the card is not at fault. */
TEST_F(recover, halts_at_once)
{
	struct ringer ringer = { .q = &self->q };
	uint64_t generation = card_attr("generation");
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ring_too_many, &ringer));
	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(-EIO, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
		EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
		ASSERT_EQ(0, queue_recover(&self->q));
	}
	__atomic_store_n(&ringer.done, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	queue_ring(&self->q, TOO_MANY);
	ASSERT_EQ(-EIO, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(generation, card_attr("generation"));
}

/* ---- the rate of faults ---- */

static int fault_and_recover(struct queue *q, unsigned int times)
{
	int err = 0;

	while (times-- && !err) {
		err = queue_do(q, bad());
		if (err == -EIO)
			err = queue_recover(q);
	}
	return err;
}

TEST_F(recover, too_many_faults_wait)
{
	uint64_t throttled = card_attr("throttled");
	struct queue more[4];
	int64_t start;
	int fd;

	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++)
		ASSERT_EQ(0, queue_open(self->fd, &more[i], NULL));
	ASSERT_EQ(0, fault_and_recover(&self->q, 30));
	EXPECT_EQ(throttled, card_attr("throttled"));

	/* One is free, the others a second each. */
	start = now_ns();
	ASSERT_EQ(0, file_write(LIMIT, "1"));
	ASSERT_EQ(0, fault_and_recover(&self->q, 4));
	EXPECT_LE(3000000000, now_ns() - start);
	EXPECT_LE(throttled + 1, card_attr("throttled"));

	/* A new file and a new queue do not help. */
	throttled = card_attr("throttled");
	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++)
		ASSERT_EQ(-EIO, queue_do(&more[i], bad()));
	close(self->fd);
	fd = card_open();
	ASSERT_LE(0, fd);
	self->fd = fd;
	ASSERT_EQ(0, queue_open(fd, &self->q, NULL));
	EXPECT_EQ(throttled + 1, card_attr("throttled"));
}

/* How many of the last faults the log says are of files that the process opened. */
static unsigned int faults_of(pid_t pid)
{
	char path[64], log[8192], whose[32];
	unsigned int n = 0;
	const char *at;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/vta/%s/fault_log", card_name());
	snprintf(whose, sizeof(whose), " pid=%d uid=", pid);
	fd = open(path, O_RDONLY);
	len = read(fd, log, sizeof(log) - 1);
	close(fd);
	log[len < 0 ? 0 : len] = '\0';
	for (at = log; (at = strstr(at, whose)); at++)
		n++;
	return n;
}

static int end_what_halts(bool by_closing)
{
	struct vta_queue_destroy end = {};
	struct queue q;
	int fd, i;

	for (i = 0; i < 8; i++) {
		fd = card_open();
		if (fd < 0 || queue_open(fd, &q, NULL))
			return 1;
		end.queue = q.id;
		queue_ring(&q, TOO_MANY);
		if (!by_closing && card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &end))
			return 2;
		queue_unmap(&q);
		close(fd);
	}
	return 0;
}

/* Ending the queue before its fault is read does not help either. */
TEST_F(recover, faults_of_ended_queues_count)
{
	pid_t pid;

	for (int way = 0; way < 2; way++) {
		pid = fork();
		if (!pid)
			_exit(end_what_halts(way));
		EXPECT_EQ(0, child_end(pid));
		EXPECT_EQ(8, faults_of(pid));
	}
}

static int innocent(void *arg)
{
	struct queue q;
	int fd;

	(void)arg;
	/* Opened by root, so that this does not depend on the node's mode. */
	if (setresuid(1000, 1000, 1000))
		return 1;
	fd = card_open();
	if (fd < 0)
		return 2;
	if (queue_open(fd, &q, NULL))
		return 3;
	return queue_do(&q, desc_op(VTA_OP_NOP)) ? 4 : 0;
}

TEST_F(recover, other_users_do_not_wait)
{
	uint64_t throttled = card_attr("throttled");

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, file_write(LIMIT, "1"));
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(-EIO, queue_do(&self->q, bad()));
		if (i < 2)
			ASSERT_EQ(0, queue_recover(&self->q));
	}
	throttled = card_attr("throttled");
	EXPECT_EQ(0, in_child(innocent, NULL));
	EXPECT_EQ(throttled, card_attr("throttled"));
	EXPECT_EQ(0, chmod(card_node(), 0600));
}

TEST_F(recover, throttled_wait_can_be_killed)
{
	uint64_t throttled = card_attr("throttled");
	struct queue q[20];
	pid_t pid;

	for (unsigned int i = 0; i < ARRAY_SIZE(q); i++)
		ASSERT_EQ(0, queue_open(self->fd, &q[i], NULL));
	ASSERT_EQ(0, file_write(LIMIT, "1"));
	for (unsigned int i = 0; i < ARRAY_SIZE(q); i++)
		ASSERT_EQ(-EIO, queue_do(&q[i], bad()));
	pid = fork();
	if (!pid)
		_exit(queue_recover(&q[0]) == 0);
	while (card_attr("throttled") == throttled)
		sleep_ms(2);
	EXPECT_EQ(0, child_kill(pid));
	/* Lifting the limit also releases the waiter. */
	ASSERT_EQ(0, file_write(LIMIT, "0"));
	EXPECT_EQ(0, queue_recover(&q[0]));
}

TEST_HARNESS_MAIN
