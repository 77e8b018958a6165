// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_group - users share the engines by time, whatever they submit (kmod/vta_user.c)
 *
 * On a card in modelled time. Users are real user ids, by which files are opened. All
 * submit first, behind a WAIT for one word of the card's that they share, and one SIGNAL
 * releases them. Their shares are measured by the card's stamps, and by the time that the
 * queues' status pages count. On a card in gates, whose time is the host's, jobs are shorter
 * by the factor of time-outs, and what is said of their length by cycles is left out.
 */
#include <linux/capability.h>

#include "vta_harness.h"

enum {
	HOSTILE = 4000,		/* users */
	INNOCENT = 4001,
	QUEUES_MAX = 48,
	RING_ORDER = 7,
	JOBS_MAX = 126,
	WIDTH = 65536,
};

#define MS		1000000ull
/* A turn's credit at weight 1 (docs/hardware.md, section 6, "Scheduling"). */
#define QUANTUM		(1ull << 20)
#define LIMIT_MS	200

struct user {
	int fd;
	uint32_t gate;
	struct mem mem;		/* stamps, a page for each queue; then what is filled */
	struct queue q[QUEUES_MAX];
	unsigned int jobs[QUEUES_MAX];
	unsigned int queues;
};

FIXTURE(group) {
	struct usage before;
	int gate_fd;
	struct user hostile, innocent, root;
	char weights[64];
};

static int open_as(unsigned int uid)
{
	int fd;

	if (setresuid(uid, 0, 0))
		return -errno;
	fd = card_open();
	return setresuid(0, 0, 0) ? -errno : fd;
}

static int user_open(struct user *u, unsigned int uid, int gate_fd)
{
	struct vta_buf_import gate;
	int ret;

	memset(u, 0, sizeof(*u));
	u->fd = open_as(uid);
	if (u->fd < 0)
		return u->fd;
	ret = buf_import(u->fd, gate_fd, 0, &gate);
	u->gate = (uint32_t)gate.addr;
	return ret ?: mem_alloc(u->fd, &u->mem, QUEUES_MAX * 4096 + WIDTH, VTA_BUF_HOST, 0);
}

static void user_close(struct user *u)
{
	for (unsigned int i = 0; i < u->queues; i++)
		queue_close(&u->q[i]);
	if (u->mem.ptr)
		munmap(u->mem.ptr, u->mem.size);
	if (u->fd > 0)
		close(u->fd);
	u->fd = 0;
}

/* Cycles of 10 ns: 16 for the descriptor, and for each row 1 and one for 16 bytes. */
static struct vta_desc job(const struct user *u, unsigned int ms)
{
	const unsigned int row = 1 + WIDTH / 16;

	return desc_fill2d(u->mem.addr + QUEUES_MAX * 4096, 0, 0, WIDTH,
			   ms * 100000 / row / (unsigned int)slowness());
}

static int user_queue(struct user *u, unsigned int priority)
{
	struct vta_queue_create create = { .priority = priority, .ring_order = RING_ORDER };

	return queue_open(u->fd, &u->q[u->queues++], &create);
}

/* The last queue's jobs, behind the gate. */
static void user_submit(struct user *u, unsigned int jobs, unsigned int ms)
{
	unsigned int n = u->queues - 1, i;
	struct vta_desc descs[1 + JOBS_MAX] = { desc_wait(u->gate, 1) };

	for (i = 0; i < jobs; i++)
		descs[1 + i] = desc_stamp(job(u, ms), u->mem.addr + n * 4096 +
					  i * (uint32_t)sizeof(struct vta_stamp));
	u->jobs[n] = jobs;
	queue_submit(&u->q[n], descs, 1 + jobs);
}

static const struct vta_stamp *stamp(const struct user *u, unsigned int n, unsigned int i)
{
	return (const struct vta_stamp *)((const char *)u->mem.ptr + n * 4096) + i;
}

static int user_wait(struct user *u)
{
	int ret = 0;

	for (unsigned int i = 0; i < u->queues && !ret; i++)
		ret = queue_wait(&u->q[i], u->q[i].submitted, 6 * PATIENCE_MS, NULL);
	return ret;
}

/* ns of the user's jobs that began before, and the longest of them. */
static uint64_t used_before(const struct user *u, uint64_t when, uint64_t *longest)
{
	uint64_t used = 0;

	for (unsigned int n = 0; n < u->queues; n++) {
		for (unsigned int i = 0; i < u->jobs[n]; i++) {
			const struct vta_stamp *s = stamp(u, n, i);
			uint64_t ns = le64toh(s->end) - le64toh(s->start);

			if (!s->seq || le64toh(s->start) >= when)
				continue;
			used += ns;
			*longest = ns > *longest ? ns : *longest;
		}
	}
	return used;
}

/* The gate, which only a dma-buf keeps; and the users. */
static int users_open(struct _test_data_group *self)
{
	struct mem gate;
	int fd = card_open(), ret;

	if (fd < 0)
		return fd;
	ret = mem_alloc(fd, &gate, 4096, VTA_BUF_CARD, 0);
	if (ret)
		return ret;
	self->gate_fd = buf_export(fd, gate.handle, O_RDWR | O_CLOEXEC);
	munmap(gate.ptr, gate.size);
	close(fd);
	if (self->gate_fd < 0)
		return self->gate_fd;
	ret = user_open(&self->root, 0, self->gate_fd);
	ret = ret ?: user_queue(&self->root, 0);
	ret = ret ?: user_open(&self->hostile, HOSTILE, self->gate_fd);
	return ret ?: user_open(&self->innocent, INNOCENT, self->gate_fd);
}

static void users_close(struct _test_data_group *self)
{
	user_close(&self->root);
	user_close(&self->hostile);
	user_close(&self->innocent);
	close(self->gate_fd);
}

FIXTURE_SETUP(group)
{
	self->before = card_usage();
	snprintf(self->weights, sizeof(self->weights), "/sys/class/vta/%s/user_weights",
		 card_name());
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_queues", "100"));
	ASSERT_EQ(0, users_open(self));
}

FIXTURE_TEARDOWN(group)
{
	users_close(self);
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_queues", "75"));
	EXPECT_TRUE(usage_is(&self->before));
}

static int release(struct user *root)
{
	return queue_do(&root->q[0], desc_signal(root->gate, 1));
}

/*
 * While both have work, the innocent user gets @part of what the hostile one does, but
 * for one turn: a quantum of its weight, and a job.
 */
static void expect_shares(struct __test_metadata *_metadata, struct user *hostile,
			  struct user *innocent, unsigned int part)
{
	unsigned int last = innocent->jobs[0] - 1;
	uint64_t end = le64toh(stamp(innocent, 0, last)->end), longest = 0, used, mine, slack;

	mine = used_before(innocent, end, &longest);
	used = used_before(hostile, end, &longest);
	slack = part * QUANTUM + 2 * longest;
	TH_LOG("of %llu ms the innocent user had %llu",
	       (unsigned long long)((used + mine) / MS), (unsigned long long)(mine / MS));
	EXPECT_LE(part * used, mine + part * slack);
	EXPECT_GE(part * used + part * slack, mine);
	/* It is what the status page counts, too, with the writing of stamps. */
	EXPECT_LE(mine, le64toh(innocent->q[0].status->status.copy_time));
	if (slowness() == 1)
		EXPECT_EQ(mine, le64toh(innocent->q[0].status->status.copy_time));
}

static void check_half(struct __test_metadata *_metadata, struct _test_data_group *self,
		       unsigned int jobs, unsigned int ms)
{
	for (unsigned int i = 0; i < QUEUES_MAX; i++) {
		ASSERT_EQ(0, user_queue(&self->hostile, VTA_QUEUE_PRIORITY_MAX));
		user_submit(&self->hostile, 1, 20);
	}
	ASSERT_EQ(0, user_queue(&self->innocent, 0));
	user_submit(&self->innocent, jobs, ms);
	ASSERT_EQ(0, release(&self->root));
	ASSERT_EQ(0, user_wait(&self->hostile));
	ASSERT_EQ(0, user_wait(&self->innocent));
	expect_shares(_metadata, &self->hostile, &self->innocent, 1);
}

TEST_F(group, innocent_user_gets_half)
{
	check_half(_metadata, self, 25, 20);
}

TEST_F(group, short_jobs_get_half)
{
	check_half(_metadata, self, JOBS_MAX, 2);
}

/* In each queue, so that they outlast a machine that is paused for seconds. */
enum { LONG_JOBS = 5 };

/* Every descriptor of the hostile user takes nearly what the limit allows. */
TEST_F(group, innocent_user_is_served_within_two_limits)
{
	unsigned int i, late = 0;
	const struct vta_stamp *s;
	struct vta_desc descs[2];

	if (slowness() > 1)
		SKIP(return, "a job takes as long as the simulation does");
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "200"));
	for (i = 0; i < QUEUES_MAX; i++) {
		ASSERT_EQ(0, user_queue(&self->hostile, VTA_QUEUE_PRIORITY_MAX));
		user_submit(&self->hostile, LONG_JOBS, LIMIT_MS - 10);
	}
	ASSERT_EQ(0, user_queue(&self->innocent, 0));
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "1000"));
	ASSERT_EQ(0, release(&self->root));
	descs[0] = desc_stamp(desc_op(VTA_OP_NOP), self->innocent.mem.addr);
	descs[1] = desc_stamp(desc_fill(self->innocent.mem.addr + QUEUES_MAX * 4096, 0, 4096),
			      self->innocent.mem.addr + sizeof(*s));
	for (i = 0; i < 5; i++) {
		queue_submit(&self->innocent.q[0], descs, 2);
		ASSERT_EQ(0, queue_wait(&self->innocent.q[0], self->innocent.q[0].submitted,
					6 * PATIENCE_MS, NULL));
		s = stamp(&self->innocent, 0, 0);
		TH_LOG("served after %llu ms",
		       (unsigned long long)((le64toh(s[1].end) - le64toh(s[0].start)) / MS));
		late += le64toh(s[1].end) - le64toh(s[0].start) > 2 * LIMIT_MS * MS;
	}
	/* In modelled time a busy host may let the card see one doorbell late. */
	EXPECT_GE(1, late);
	/* The hostile user still had work for a while. */
	EXPECT_GT(LONG_JOBS * QUEUES_MAX / 2,
		  used_before(&self->hostile, UINT64_MAX, &(uint64_t) { 0 }) / (LIMIT_MS * MS));
}

/* 60 million rows of a byte take 1.2 s. */
TEST_F(group, limit_of_a_descriptor_is_in_time)
{
	struct vta_queue_fault fault;
	struct vta_desc descs[2];

	if (slowness() > 1)
		SKIP(return, "a job takes as long as the simulation does");
	ASSERT_EQ(0, user_queue(&self->innocent, 0));
	descs[0] = desc_fill2d(self->innocent.mem.addr + QUEUES_MAX * 4096, 0, 0, 1, 60000000);
	descs[1] = desc_stamp(job(&self->innocent, 990), self->innocent.mem.addr);
	queue_submit(&self->innocent.q[0], descs, 1);
	EXPECT_EQ(-EIO, queue_wait(&self->innocent.q[0], 1, 6 * PATIENCE_MS, NULL));
	ASSERT_EQ(0, queue_fault(&self->innocent.q[0], &fault));
	EXPECT_EQ(VTA_FAULT_TIME, fault.reason);
	EXPECT_EQ(VTA_ACCESS_NONE, fault.access);
	EXPECT_EQ(VTA_FAULT_NO_INSN, fault.insn_index);
	EXPECT_EQ(1, fault.seq);
	/* Within the limit. */
	ASSERT_EQ(0, queue_recover(&self->innocent.q[0]));
	queue_put(&self->innocent.q[0], descs[1]);
	EXPECT_EQ(0, queue_wait(&self->innocent.q[0], 2, 6 * PATIENCE_MS, NULL));
	/* For queues that are made from then on. */
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "0"));
	ASSERT_EQ(0, user_queue(&self->innocent, 0));
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "1000"));
	queue_put(&self->innocent.q[1], job(&self->innocent, 1100));
	EXPECT_EQ(0, queue_wait(&self->innocent.q[1], 1, 6 * PATIENCE_MS, NULL));
}

static int weigh(struct _test_data_group *self, unsigned int uid, unsigned int weight)
{
	char text[32];

	snprintf(text, sizeof(text), "%u %u\n", uid, weight);
	return file_write(self->weights, text);
}

static void check_weights(struct __test_metadata *_metadata, struct _test_data_group *self)
{
	for (unsigned int i = 0; i < 4; i++) {
		ASSERT_EQ(0, user_queue(&self->hostile, VTA_QUEUE_PRIORITY_MAX));
		user_submit(&self->hostile, 30, 5);
	}
	ASSERT_EQ(0, user_queue(&self->innocent, 0));
	user_submit(&self->innocent, 120, 5);
	ASSERT_EQ(0, release(&self->root));
	ASSERT_EQ(0, user_wait(&self->innocent));
	expect_shares(_metadata, &self->hostile, &self->innocent, 3);
}

TEST_F(group, weights_are_shares)
{
	ASSERT_EQ(0, weigh(self, INNOCENT, 3));
	check_weights(_metadata, self);
	ASSERT_EQ(0, weigh(self, INNOCENT, 1));
}

/* The weights are written again to a card that was reset. */
TEST_F(group, weights_survive_a_reset)
{
	ASSERT_EQ(0, weigh(self, INNOCENT, 3));
	ASSERT_EQ(0, card_reset());
	users_close(self);
	ASSERT_EQ(0, users_open(self));
	check_weights(_metadata, self);
	ASSERT_EQ(0, weigh(self, INNOCENT, 1));
}

static bool weights_say(struct _test_data_group *self, const char *want)
{
	char text[256] = "";
	FILE *f = fopen(self->weights, "r");
	size_t n;

	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	if (strcmp(text, want))
		fprintf(stderr, "# weights: '%s'\n", text);
	return !strcmp(text, want);
}

/* Also for users without an open file, and as long as the card is bound. */
TEST_F(group, weights_are_kept)
{
	static const char *const bad[] = {
		"", "1000", "1000 0", "1000 256", "1000 -1", "-1 2", "4294967295 2", "a 2", "2 a",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		if (*bad[i])
			EXPECT_EQ(-EINVAL, file_write(self->weights, bad[i]));
	}
	EXPECT_TRUE(weights_say(self, ""));
	EXPECT_EQ(0, weigh(self, 5000, 7));
	EXPECT_EQ(0, weigh(self, HOSTILE, 255));
	user_close(&self->hostile);
	ASSERT_EQ(0, user_open(&self->hostile, HOSTILE, self->gate_fd));
	EXPECT_TRUE(weights_say(self, "4000 255\n5000 7\n"));
	EXPECT_EQ(0, weigh(self, 5000, 1));
	EXPECT_EQ(0, weigh(self, HOSTILE, 1));
	EXPECT_TRUE(weights_say(self, ""));
}

static int set_own_weight(void *arg)
{
	MUST(!setresgid(7, 7, 7) && !setresuid(HOSTILE, HOSTILE, HOSTILE));
	return !HOLDS(file_write(arg, "4000 255") == -EACCES);
}

TEST_F(group, users_do_not_set_weights)
{
	EXPECT_EQ(0, in_child(set_own_weight, self->weights));
	EXPECT_TRUE(weights_say(self, ""));
}

/* Without CAP_SYS_NICE, though with everything else. */
static int raise_priority(void *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	struct vta_queue_create create = { .ring_order = 3 };
	struct queue q;
	int fd = *(int *)arg;

	MUST(!syscall(SYS_capget, &header, data));
	data[0].effective &= ~(1u << CAP_SYS_NICE);
	MUST(!syscall(SYS_capset, &header, data));
	for (create.priority = 1; create.priority <= VTA_QUEUE_PRIORITY_MAX; create.priority++)
		MUST(queue_open(fd, &q, &create) == -EPERM);
	create.priority = VTA_QUEUE_PRIORITY_DEFAULT;
	return !HOLDS(!queue_open(fd, &q, &create) && !queue_close(&q));
}

TEST_F(group, priority_needs_a_capability)
{
	EXPECT_EQ(0, in_child(raise_priority, &self->root.fd));
}

static int group_as(unsigned int uid)
{
	int fd = open_as(uid), group;

	if (fd < 0)
		return fd;
	group = (int)ctx_number(fd, "vta-group");
	close(fd);
	return group;
}

/* Opening the card again does not clear the debt of a group. */
TEST_F(group, returning_user_gets_the_same_group)
{
	int a = group_as(6000), b = group_as(6001);

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_NE(a, b);
	EXPECT_EQ(b, group_as(6001));
	EXPECT_EQ(a, group_as(6000));
}

/* More users than groups, one after the other. */
TEST_F(group, groups_do_not_run_out)
{
	unsigned int n = (unsigned int)card_attr("contexts"), i;

	for (i = 0; i < n + 8; i++) {
		int group = group_as(7000 + i);

		ASSERT_LE(0, group) {
			TH_LOG("user %u", 7000 + i);
		}
		ASSERT_GT((int)n, group);
	}
}

TEST_HARNESS_MAIN
