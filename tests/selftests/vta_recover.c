// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_recover - a halted queue continues (kmod/vta_queue.c), and a user whose queues halt too
 * often is throttled (kmod/vta_user.c), and displaces no other's faults (kmod/vta_history.c)
 */
#include <linux/netlink.h>
#include <sys/socket.h>

#include "vta_harness.h"

#define HOLE		0x40000000u
#define LIMIT		PARAMETERS "max_user_faults"

FIXTURE(recover) {
	struct client c;
};

FIXTURE_SETUP(recover)
{
	ASSERT_EQ(0, file_write(LIMIT, "0"));
	ASSERT_EQ(0, client_open(&self->c));
}

FIXTURE_TEARDOWN(recover)
{
	close(self->c.fd);
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

TEST_F(recover, queue_continues_after_the_fault)
{
	struct vta_queue_recover arg = { .queue = self->c.q.id, .seq = 99 };
	struct vta_queue_fault fault;

	ASSERT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(-EIO, queue_do(&self->c.q, bad()));
	ASSERT_EQ(0, card_ioctl(self->c.fd, VTA_IOCTL_QUEUE_RECOVER, &arg));
	EXPECT_EQ(2, arg.seq);

	/* The same mappings show a queue with nothing wrong. */
	EXPECT_EQ(2, queue_seq(&self->c.q));
	EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(self->c.q.status->status.state));
	EXPECT_EQ(0, le32toh(self->c.q.status->fault.reason));
	ASSERT_EQ(0, queue_fault(&self->c.q, &fault));
	EXPECT_EQ(VTA_FAULT_NONE, fault.reason);
	EXPECT_EQ(0, card_poll(self->c.fd, 0));
	EXPECT_EQ(0, queue_wait(&self->c.q, 2, 0, NULL));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->c.q, 3, 0, NULL));

	EXPECT_EQ(0, queue_do(&self->c.q, desc_fill(self->c.mem.addr, 7, 4)));
	EXPECT_EQ(3, queue_seq(&self->c.q));
	EXPECT_EQ(7, word(&self->c.mem, 0));
}

TEST_F(recover, later_descriptors_wait_for_the_doorbell)
{
	struct vta_desc descs[3] = {
		bad(), desc_fill(self->c.mem.addr, 5, 4), desc_fill(self->c.mem.addr + 4, 6, 4),
	};
	uint64_t done;

	queue_submit(&self->c.q, descs, 3);
	ASSERT_EQ(-EIO, queue_wait(&self->c.q, 3, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_recover(&self->c.q));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->c.q, 3, 50, &done));
	EXPECT_EQ(1, done);
	EXPECT_EQ(0, word(&self->c.mem, 0));

	/* They are still in the ring. */
	queue_ring(&self->c.q, 3);
	EXPECT_EQ(0, queue_wait(&self->c.q, 3, PATIENCE_MS, NULL));
	EXPECT_EQ(5, word(&self->c.mem, 0));
	EXPECT_EQ(6, word(&self->c.mem, 1));
}

TEST_F(recover, later_descriptors_can_be_replaced)
{
	struct vta_desc descs[3] = {
		bad(), desc_fill(self->c.mem.addr, 5, 4), desc_fill(self->c.mem.addr, 6, 4),
	};

	queue_submit(&self->c.q, descs, 3);
	ASSERT_EQ(-EIO, queue_wait(&self->c.q, 3, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_recover(&self->c.q));
	ASSERT_EQ(0, queue_do(&self->c.q, desc_fill(self->c.mem.addr, 8, 4)));
	EXPECT_EQ(2, queue_seq(&self->c.q));
	EXPECT_EQ(8, word(&self->c.mem, 0));
}

TEST_F(recover, doorbell_fault_skips_no_descriptor)
{
	struct vta_queue_recover arg = { .queue = self->c.q.id };

	ASSERT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	queue_ring(&self->c.q, 1 + self->c.q.entries + 1);
	ASSERT_EQ(-EIO, queue_wait(&self->c.q, 2, PATIENCE_MS, NULL));
	ASSERT_EQ(0, card_ioctl(self->c.fd, VTA_IOCTL_QUEUE_RECOVER, &arg));
	EXPECT_EQ(1, arg.seq);
	ASSERT_EQ(0, queue_do(&self->c.q, desc_fill(self->c.mem.addr, 9, 4)));
	EXPECT_EQ(2, queue_seq(&self->c.q));
	EXPECT_EQ(9, word(&self->c.mem, 0));
}

TEST_F(recover, waits_and_poll_work_again)
{
	struct waiter w;

	ASSERT_EQ(-EIO, queue_do(&self->c.q, bad()));
	EXPECT_EQ(POLLPRI, card_poll(self->c.fd, PATIENCE_MS));
	ASSERT_EQ(0, queue_recover(&self->c.q));
	EXPECT_EQ(0, card_poll(self->c.fd, 0));
	queue_hold(&self->c.q, &self->c.mem, 1);
	ASSERT_EQ(0, waiter_arm(&w, &self->c.q, 2, PATIENCE_MS));
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, waiter_join(&w));
	/* And it can halt again. */
	ASSERT_EQ(-EIO, queue_do(&self->c.q, bad()));
	EXPECT_EQ(POLLPRI, card_poll(self->c.fd, PATIENCE_MS));
}

TEST_F(recover, queue_that_is_not_halted_is_ebusy)
{
	struct vta_queue_recover flags = { .queue = self->c.q.id, .flags = 1 };
	struct vta_queue_recover unknown = { .queue = self->c.q.id + 1 };

	EXPECT_EQ(-EINVAL, card_ioctl(self->c.fd, VTA_IOCTL_QUEUE_RECOVER, &flags));
	EXPECT_EQ(-ENOENT, card_ioctl(self->c.fd, VTA_IOCTL_QUEUE_RECOVER, &unknown));
	EXPECT_EQ(-EBUSY, queue_recover(&self->c.q));
	queue_hold(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(-EBUSY, queue_recover(&self->c.q));
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, queue_wait(&self->c.q, 1, PATIENCE_MS, NULL));
}

/* The ring wraps around meanwhile. */
TEST_F(recover, works_two_hundred_times)
{
	struct vta_queue_create create = { .ring_order = 1 };
	struct queue q, other;

	ASSERT_EQ(0, queue_open(self->c.fd, &q, &create));
	ASSERT_EQ(0, queue_open(self->c.fd, &other, NULL));
	for (unsigned int i = 0; i < 200; i++) {
		ASSERT_EQ(-EIO, queue_do(&q, bad()));
		ASSERT_EQ(0, queue_do(&other, desc_fill(self->c.mem.addr, i, 4)));
		ASSERT_EQ(0, queue_recover(&q));
		ASSERT_EQ(2 * i + 1, queue_seq(&q));
		ASSERT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(i, word(&self->c.mem, 0));
	}
	EXPECT_EQ(200, queue_seq(&other));
}

TEST_F(recover, one_of_two_concurrent_calls_succeeds)
{
	pid_t pid;
	int status;

	/* The child has the same file. */
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_EQ(-EIO, queue_do(&self->c.q, bad()));
		pid = fork();
		if (!pid) {
			status = queue_recover(&self->c.q);
			_exit(status && status != -EBUSY);
		}
		status = queue_recover(&self->c.q);
		EXPECT_TRUE(!status || status == -EBUSY);
		waitpid(pid, &status, 0);
		EXPECT_EQ(0, status);
		self->c.q.submitted = i + 1;
		EXPECT_EQ(i + 1, queue_seq(&self->c.q));
		EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(self->c.q.status->status.state));
	}
}

/* A number beyond any ring, whatever has been submitted. */
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

/* Another thread rings it all the time. */
TEST_F(recover, queue_that_halts_again_at_once_resets_no_card)
{
	struct ringer ringer = { .q = &self->c.q };
	uint64_t generation = card_attr("generation");
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ring_too_many, &ringer));
	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(-EIO, queue_wait(&self->c.q, 1, PATIENCE_MS, NULL));
		EXPECT_EQ(POLLPRI, card_poll(self->c.fd, PATIENCE_MS));
		ASSERT_EQ(0, queue_recover(&self->c.q));
	}
	__atomic_store_n(&ringer.done, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	queue_ring(&self->c.q, TOO_MANY);
	ASSERT_EQ(-EIO, queue_wait(&self->c.q, 1, PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_recover(&self->c.q));
	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
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

TEST_F(recover, too_many_faults_are_throttled)
{
	uint64_t throttled = card_attr("throttled");
	struct queue more[4];
	int64_t start;
	int fd;

	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++)
		ASSERT_EQ(0, queue_open(self->c.fd, &more[i], NULL));
	ASSERT_EQ(0, fault_and_recover(&self->c.q, 30));
	EXPECT_EQ(throttled, card_attr("throttled"));

	/* One is free, the others a second each. */
	start = now_ns();
	ASSERT_EQ(0, file_write(LIMIT, "1"));
	ASSERT_EQ(0, fault_and_recover(&self->c.q, 4));
	EXPECT_LE(3000000000, now_ns() - start);
	EXPECT_LE(throttled + 1, card_attr("throttled"));

	/* A new file and a new queue do not help. */
	throttled = card_attr("throttled");
	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++)
		ASSERT_EQ(-EIO, queue_do(&more[i], bad()));
	close(self->c.fd);
	fd = card_open();
	ASSERT_LE(0, fd);
	self->c.fd = fd;
	ASSERT_EQ(0, queue_open(fd, &self->c.q, NULL));
	EXPECT_EQ(throttled + 1, card_attr("throttled"));
}

/* Number of faults in the log of files that the process opened. */
static unsigned int faults_of(pid_t pid)
{
	FILE *log = fopen(card_path("fault_log"), "re");
	char line[512], whose[32];
	unsigned int n = 0;

	snprintf(whose, sizeof(whose), " pid=%d uid=", pid);
	while (log && fgets(line, sizeof(line), log))
		n += !!strstr(line, whose);
	if (log)
		fclose(log);
	return n;
}

static int end_what_halts(bool by_closing)
{
	struct queue q;
	int fd, i;

	for (i = 0; i < 8; i++) {
		fd = card_open();
		if (fd < 0 || queue_open(fd, &q, NULL))
			return 1;
		queue_ring(&q, TOO_MANY);
		if (!by_closing && queue_destroy(fd, q.id))
			return 2;
		queue_unmap(&q);
		close(fd);
	}
	return 0;
}

/* Even if the queue ends before its fault is read. */
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
	(void)arg;
	MUST(!setresuid(1000, 1000, 1000));
	return !HOLDS(!card_try());
}

TEST_F(recover, other_users_are_not_throttled)
{
	uint64_t throttled = card_attr("throttled");

	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, file_write(LIMIT, "1"));
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(-EIO, queue_do(&self->c.q, bad()));
		if (i < 2)
			ASSERT_EQ(0, queue_recover(&self->c.q));
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
		ASSERT_EQ(0, queue_open(self->c.fd, &q[i], NULL));
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

/* ---- what is kept and reported of faults ---- */

/* A user who makes @queues queues, the last of which faults @faults times. */
struct faulter {
	unsigned int uid, queues, faults;
};

static int fault_as(void *arg)
{
	const struct faulter *faulter = arg;
	struct client c;

	MUST(!setresuid(faulter->uid, faulter->uid, faulter->uid));
	MUST(!client_open(&c));
	for (unsigned int i = 1; i < faulter->queues; i++)
		MUST(!queue_open(c.fd, &c.q, NULL));
	MUST(!fault_and_recover(&c.q, faulter->faults));
	return 0;
}

static pid_t faults_by(unsigned int uid, unsigned int queues, unsigned int faults)
{
	struct faulter faulter = { uid, queues, faults };
	pid_t pid = child_start(fault_as, &faulter);

	return child_end(pid) ? -1 : pid;
}

/* Reads a socket or file to its end: the number of messages that have both texts. */
static unsigned int count_messages(int fd, const char *one, const char *other)
{
	char text[4096];
	unsigned int n = 0;
	ssize_t len;

	/* EPIPE: old messages have been overwritten. */
	while ((len = read(fd, text, sizeof(text) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		for (ssize_t i = 0; i < len; i++)
			text[i] = text[i] ? text[i] : ' ';
		text[len > 0 ? len : 0] = '\0';
		n += strstr(text, one) && strstr(text, other);
	}
	return n;
}

static int listen_to_uevents(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int sock = socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  NETLINK_KOBJECT_UEVENT);

	return sock < 0 || bind(sock, (struct sockaddr *)&addr, sizeof(addr)) ? -1 : sock;
}

TEST_F(recover, faults_of_a_user_displace_none_of_another)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int uevents = listen_to_uevents();
	unsigned int reported = 0;
	char whose[32];
	pid_t few;

	ASSERT_LE(0, kmsg);
	ASSERT_LE(0, uevents);
	ASSERT_LE(0, lseek(kmsg, 0, SEEK_END));
	ASSERT_EQ(0, chmod(card_node(), 0666));
	/* All that there is for one user is used up before, and again afterwards. */
	ASSERT_LT(0, faults_by(1001, 1, 100));
	few = faults_by(1002, 5, 3);
	ASSERT_LT(0, few);
	ASSERT_LT(0, faults_by(1001, 1, 100));

	EXPECT_EQ(3, faults_of(few));
	snprintf(whose, sizeof(whose), "[%d] halted", few);
	EXPECT_EQ(3, count_messages(kmsg, whose, ""));
	for (int64_t end = now_ns() + PATIENCE_MS * 1000000ll; reported < 3 && now_ns() < end;) {
		reported += count_messages(uevents, "VTA_EVENT=fault", "VTA_QUEUE=5 ");
		sleep_ms(10);
	}
	EXPECT_EQ(3, reported);
	close(uevents);
	close(kmsg);
	EXPECT_EQ(0, chmod(card_node(), 0600));
}

TEST_HARNESS_MAIN
