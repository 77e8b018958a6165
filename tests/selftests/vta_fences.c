// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_fences - VTA_IOCTL_WAIT_MANY: waits for any or all of several numbers of queues, files and
 * cards; cancelling (kmod/vta_wait.c)
 */
#include <sys/eventfd.h>

#include "vta_gates.h"
#include "vta_harness.h"

FIXTURE(fences) {
	struct gates g;
};

FIXTURE_SETUP(fences)
{
	ASSERT_EQ(0, gates_open(&self->g));
}

FIXTURE_TEARDOWN(fences)
{
	gates_close(&self->g);
}

static struct vta_fence fence(const struct queue *q, uint64_t seq)
{
	return (struct vta_fence) { .fd = q->fd, .queue = q->id, .seq = seq };
}

struct many {
	pthread_t thread;
	int fd;
	struct vta_fence fences[QUEUES];
	const struct vta_fence *all;	/* if not those */
	struct vta_wait_many req;
	int ret;
};

static int many_wait(struct many *m, unsigned int count, uint32_t flags, int ms)
{
	m->req.fences = (uintptr_t)(m->all ? m->all : m->fences);
	m->req.count = count;
	m->req.flags |= flags;
	m->req.deadline_ns = ms < 0 ? VTA_WAIT_FOREVER : now_ns() + ms * 1000000ll;
	m->req.index = 99;
	m->ret = card_ioctl(m->fd, VTA_IOCTL_WAIT_MANY, &m->req);
	if (!m->ret && ms >= 1000 && now_ns() >= m->req.deadline_ns)
		m->ret = -ETIME;	/* its wake-up was lost */
	return m->ret;
}

static void *many_run(void *arg)
{
	struct many *m = arg;

	many_wait(m, m->req.count, 0, PATIENCE_MS);
	return NULL;
}

static int many_start(struct many *m)
{
	return -pthread_create(&m->thread, NULL, many_run, m);
}

static int many_join(struct many *m)
{
	pthread_join(m->thread, NULL);
	return m->ret;
}

/* Number 1 of each queue. */
static struct many many_of(struct _test_data_fences *self, uint32_t flags)
{
	struct many m = { .fd = self->g.fd, .req = { .count = QUEUES, .flags = flags } };

	for (unsigned int i = 0; i < QUEUES; i++)
		m.fences[i] = fence(&self->g.q[i], 1);
	return m;
}

TEST_F(fences, reached_fences_arm_nothing)
{
	struct many m = many_of(self, 0);
	uint64_t arms;

	for (unsigned int i = 0; i < QUEUES; i++)
		ASSERT_EQ(0, queue_do(&self->g.q[i], desc_op(VTA_OP_NOP)));
	arms = card_counter("arms");
	EXPECT_EQ(0, many_wait(&m, QUEUES, 0, 0));
	EXPECT_EQ(0, m.req.index);
	EXPECT_EQ(0, many_wait(&m, QUEUES, VTA_WAIT_ANY, -1));
	EXPECT_EQ(0, m.req.index);
	EXPECT_EQ(arms, card_counter("arms"));
}

TEST_F(fences, any_returns_the_index_that_was_reached)
{
	struct many m = many_of(self, VTA_WAIT_ANY);
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");

	gate_all(&self->g);
	ASSERT_EQ(0, many_start(&m));
	EXPECT_EQ(arms + QUEUES, card_counter_reaches("arms", arms + QUEUES));
	open_gate(&self->g, 2, 1);
	EXPECT_EQ(0, many_join(&m));
	EXPECT_EQ(2, m.req.index);
	EXPECT_EQ(interrupts + 1, card_counter("interrupts"));
	/* It is there: no need to wait for the others. */
	EXPECT_EQ(0, many_wait(&m, QUEUES, 0, 0));
	EXPECT_EQ(2, m.req.index);
}

TEST_F(fences, all_returns_with_the_last)
{
	struct many m = many_of(self, 0);
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");
	static const unsigned int order[] = { 3, 0, 2 };

	gate_all(&self->g);
	ASSERT_EQ(0, many_start(&m));
	EXPECT_EQ(arms + QUEUES, card_counter_reaches("arms", arms + QUEUES));
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		open_gate(&self->g, order[i], 1);
	EXPECT_EQ(interrupts + 3, card_counter_reaches("interrupts", interrupts + 3));
	EXPECT_EQ(EBUSY, pthread_tryjoin_np(m.thread, NULL));
	open_gate(&self->g, 1, 1);
	EXPECT_EQ(0, many_join(&m));
	EXPECT_EQ(interrupts + 4, card_counter("interrupts"));
}

TEST_F(fences, deadline_in_the_past_only_checks)
{
	struct many m = many_of(self, 0);
	uint64_t arms = card_counter("arms");

	gate_all(&self->g);
	open_gate(&self->g, 1, 1);
	ASSERT_EQ(0, queue_wait(&self->g.q[1], 1, PATIENCE_MS, NULL));
	arms = card_counter("arms");
	EXPECT_EQ(-ETIMEDOUT, many_wait(&m, QUEUES, 0, 0));
	EXPECT_EQ(0, m.req.index);
	EXPECT_EQ(0, many_wait(&m, QUEUES, VTA_WAIT_ANY, 0));
	EXPECT_EQ(1, m.req.index);
	EXPECT_EQ(arms, card_counter("arms"));
}

TEST_F(fences, timed_out_wait_can_be_repeated)
{
	struct many m = many_of(self, 0);
	int64_t start = now_ns();

	gate_all(&self->g);
	EXPECT_EQ(-ETIMEDOUT, many_wait(&m, QUEUES, 0, 50));
	EXPECT_LE(50000000, now_ns() - start);
	EXPECT_EQ(-ETIMEDOUT, many_wait(&m, QUEUES, VTA_WAIT_ANY, 50));
	for (unsigned int i = 0; i < QUEUES; i++)
		open_gate(&self->g, i, 1);
	m.req.flags = 0;
	EXPECT_EQ(0, many_wait(&m, QUEUES, 0, PATIENCE_MS));
}

TEST_F(fences, several_numbers_of_one_queue_are_waited_for)
{
	struct many m = { .fd = self->g.fd, .req = { .count = 3 } };

	for (unsigned int i = 0; i < 3; i++) {
		gate(&self->g, 0, i + 1);
		m.fences[i] = fence(&self->g.q[0], 3 - i);
	}
	ASSERT_EQ(0, many_start(&m));
	for (unsigned int i = 0; i < 3; i++)
		open_gate(&self->g, 0, i + 1);
	EXPECT_EQ(0, many_join(&m));
	EXPECT_EQ(0, many_wait(&m, 3, VTA_WAIT_ANY, 0));
	EXPECT_EQ(0, m.req.index);
}

TEST_F(fences, halt_or_end_of_a_queue_ends_the_wait)
{
	static const uint32_t flags[] = { 0, VTA_WAIT_ANY };

	gate_all(&self->g);
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		uint64_t arms = card_counter("arms");
		struct many m = many_of(self, flags[i]);

		/* A queue that was armed for a wait that has ended counts on nothing. */
		arms += QUEUES;
		ASSERT_EQ(0, many_start(&m));
		EXPECT_EQ(arms, card_counter_reaches("arms", arms));
		ASSERT_EQ(0, queue_close(&self->g.q[3]));
		EXPECT_EQ(-ENOENT, many_join(&m));
		EXPECT_EQ(3, m.req.index);
		ASSERT_EQ(0, queue_open(self->g.fd, &self->g.q[3], NULL));
		queue_put(&self->g.q[3], desc_fill(0, 0, 4));
		m = many_of(self, flags[i]);
		ASSERT_EQ(0, many_start(&m));
		EXPECT_EQ(-EIO, many_join(&m));
		EXPECT_EQ(3, m.req.index);
		ASSERT_EQ(0, queue_close(&self->g.q[3]));
		ASSERT_EQ(0, queue_open(self->g.fd, &self->g.q[3], NULL));
		gate(&self->g, 3, 9);
	}
	/* The others are none the worse for it. */
	open_gate(&self->g, 0, 1);
	EXPECT_EQ(0, queue_wait(&self->g.q[0], 1, PATIENCE_MS, NULL));
}

TEST_F(fences, reached_fences_count_before_an_error)
{
	struct many m = many_of(self, 0);

	gate_all(&self->g);
	ASSERT_EQ(0, queue_close(&self->g.q[0]));
	ASSERT_EQ(0, queue_open(self->g.fd, &self->g.q[0], NULL));
	queue_put(&self->g.q[0], desc_fill(0, 0, 4));
	EXPECT_EQ(-EIO, queue_wait(&self->g.q[0], 1, PATIENCE_MS, NULL));
	open_gate(&self->g, 1, 1);
	EXPECT_EQ(0, queue_wait(&self->g.q[1], 1, PATIENCE_MS, NULL));
	EXPECT_EQ(0, many_wait(&m, QUEUES, VTA_WAIT_ANY, 0));
	EXPECT_EQ(1, m.req.index);
	m.req.flags = 0;
	EXPECT_EQ(-EIO, many_wait(&m, QUEUES, 0, 0));
	EXPECT_EQ(0, m.req.index);
}

TEST_F(fences, of_another_file_can_be_waited_for)
{
	struct many m = { .fd = self->g.fd, .req = { .count = 2, .flags = VTA_WAIT_ANY } };
	struct queue other;
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &other, NULL));
	gate(&self->g, 0, 1);
	m.fences[0] = fence(&self->g.q[0], 1);
	m.fences[1] = fence(&other, 1);
	EXPECT_EQ(-ETIMEDOUT, many_wait(&m, 2, 0, 20));
	EXPECT_EQ(0, queue_do(&other, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, many_wait(&m, 2, 0, PATIENCE_MS));
	EXPECT_EQ(1, m.req.index);
	queue_unmap(&other);
	close(fd);
	EXPECT_EQ(-EBADF, many_wait(&m, 2, 0, 0));
	EXPECT_EQ(1, m.req.index);
}

TEST_F(fences, call_holds_files_that_are_closed_meanwhile)
{
	struct many m = { .fd = self->g.fd, .req = { .count = 1 } };
	uint64_t arms = card_counter("arms");
	struct usage before = card_usage();
	struct queue other;
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &other, NULL));
	m.fences[0] = fence(&other, 1);
	ASSERT_EQ(0, many_start(&m));
	EXPECT_EQ(arms + 1, card_counter_reaches("arms", arms + 1));
	ASSERT_EQ(0, close(fd));
	queue_submit(&other, &(struct vta_desc) {}, 1);
	queue_unmap(&other);
	EXPECT_EQ(0, many_join(&m));
	EXPECT_TRUE(usage_is(&before));
}

TEST_F(fences, malformed_requests_are_refused)
{
	struct many good = many_of(self, 0), m;
	struct vta_fence *wide;

	gate_all(&self->g);
	m = good;
	EXPECT_EQ(-EINVAL, many_wait(&m, 0, 0, 0));
	m = good;
	EXPECT_EQ(-EINVAL, many_wait(&m, VTA_FENCES_MAX + 1, 0, 0));
	m = good;
	EXPECT_EQ(-EINVAL, many_wait(&m, UINT32_MAX, 0, 0));
	for (unsigned int i = 2; i < 32; i++) {
		m = good;
		ASSERT_EQ(-EINVAL, many_wait(&m, 1, 1u << i, 0));
	}
	m = good;
	m.req.cancel_fd = self->g.event;
	EXPECT_EQ(-EINVAL, many_wait(&m, QUEUES, 0, 0));
	m = good;
	m.req.cancel_fd = self->g.fd;
	EXPECT_EQ(-EINVAL, many_wait(&m, QUEUES, VTA_WAIT_CANCEL, 0));
	m = good;
	m.req.cancel_fd = -1;
	EXPECT_EQ(-EBADF, many_wait(&m, QUEUES, VTA_WAIT_CANCEL, 0));

	for (unsigned int i = 0; i < QUEUES; i++) {
		m = good;
		m.fences[i].seq = UINT64_MAX;
		EXPECT_EQ(-EINVAL, many_wait(&m, QUEUES, 0, 0));
		EXPECT_EQ(i, m.req.index);
		m = good;
		m.fences[i].queue = UINT32_MAX;
		EXPECT_EQ(-ENOENT, many_wait(&m, QUEUES, 0, 0));
		EXPECT_EQ(i, m.req.index);
		m = good;
		m.fences[i].fd = self->g.event;
		EXPECT_EQ(-EINVAL, many_wait(&m, QUEUES, 0, 0));
		EXPECT_EQ(i, m.req.index);
		m.fences[i].fd = -1;
		EXPECT_EQ(-EBADF, many_wait(&m, QUEUES, 0, 0));
		m.fences[i].fd = INT32_MIN;
		EXPECT_EQ(-EBADF, many_wait(&m, QUEUES, 0, 0));
		EXPECT_EQ(i, m.req.index);
	}

	m = good;
	m.req.count = 1;
	EXPECT_EQ(-EFAULT, card_ioctl(self->g.fd, VTA_IOCTL_WAIT_MANY, &m.req));
	m.req.fences = 0xffff888000000000;
	EXPECT_EQ(-EFAULT, card_ioctl(self->g.fd, VTA_IOCTL_WAIT_MANY, &m.req));
	/* Half of the array is there. */
	wide = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, wide);
	munmap((char *)wide + 4096, 4096);
	m.req.fences = (uintptr_t)wide + 4096 - sizeof(*wide);
	memcpy((char *)wide + 4096 - sizeof(*wide), good.fences, sizeof(*wide));
	EXPECT_EQ(-ETIMEDOUT, card_ioctl(self->g.fd, VTA_IOCTL_WAIT_MANY, &m.req));
	m.req.count = 2;
	EXPECT_EQ(-EFAULT, card_ioctl(self->g.fd, VTA_IOCTL_WAIT_MANY, &m.req));
}

TEST_F(fences, can_be_as_many_as_the_limit)
{
	static struct vta_fence fences[VTA_FENCES_MAX];
	struct vta_wait_many req = {
		.fences = (uintptr_t)fences, .count = VTA_FENCES_MAX,
		.deadline_ns = now_ns() + PATIENCE_MS * 1000000ll,
	};

	for (unsigned int i = 0; i < VTA_FENCES_MAX; i++) {
		struct queue *q = &self->g.q[i % QUEUES];

		fences[i] = fence(q, i < 4 * 63 ? queue_put(q, desc_op(VTA_OP_NOP)) : q->submitted);
	}
	EXPECT_EQ(0, card_ioctl(self->g.fd, VTA_IOCTL_WAIT_MANY, &req));
	EXPECT_GT(req.deadline_ns, now_ns());
}

/* ---- cancelling ---- */

TEST_F(fences, eventfd_cancels_waits_before_and_during)
{
	struct many m = many_of(self, VTA_WAIT_CANCEL), n;
	uint64_t arms;

	gate_all(&self->g);
	m.req.cancel_fd = self->g.event;
	n = m;
	arms = card_counter("arms");
	/* No wait has armed yet. A wait that begins after its deadline arms nothing. */
	do {
		ASSERT_EQ(-ETIMEDOUT, many_wait(&m, QUEUES, 0, 20));
	} while (card_counter("arms") == arms);
	arms += QUEUES;
	EXPECT_EQ(arms, card_counter("arms"));
	ASSERT_EQ(0, many_start(&m));
	ASSERT_EQ(0, many_start(&n));
	arms += QUEUES;		/* both wait for the same */
	EXPECT_EQ(arms, card_counter_reaches("arms", arms));
	/* All that is armed is armed by now, or never again. */
	sleep_ms(50);
	EXPECT_EQ(arms, card_counter("arms"));
	event_add(self->g.event);
	EXPECT_EQ(-ECANCELED, many_join(&m));
	EXPECT_EQ(-ECANCELED, many_join(&n));
	EXPECT_EQ(0, m.req.index);
	EXPECT_EQ(-ECANCELED, many_wait(&m, QUEUES, 0, -1));
	EXPECT_EQ(-ECANCELED, many_wait(&m, QUEUES, VTA_WAIT_ANY, 0));
	EXPECT_EQ(1, event_take(self->g.event));
	/* The queues continue. */
	open_gate(&self->g, 0, 1);
	EXPECT_EQ(0, many_wait(&m, QUEUES, VTA_WAIT_ANY, PATIENCE_MS));
	EXPECT_EQ(0, m.req.index);
	event_add(self->g.event);
	EXPECT_EQ(0, many_wait(&m, QUEUES, VTA_WAIT_ANY, 0));
}

static void nothing(int sig)
{
	(void)sig;
}

TEST_F(fences, signal_interrupts)
{
	struct sigaction action = { .sa_handler = nothing };
	struct many m = many_of(self, 0);
	uint64_t arms = card_counter("arms");

	sigaction(SIGUSR1, &action, NULL);
	gate_all(&self->g);
	ASSERT_EQ(0, many_start(&m));
	EXPECT_EQ(arms + QUEUES, card_counter_reaches("arms", arms + QUEUES));
	pthread_kill(m.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, many_join(&m));
}

/* Until there is room for all of them. */
static void *many_insist(void *arg)
{
	struct many *m = arg;

	do {
		many_run(m);
	} while (m->ret == -ENOMEM);
	return NULL;
}

/* One interrupt ends a limited number of waits. */
TEST_F(fences, too_many_for_one_queue_are_enomem)
{
	struct vta_fence each[VTA_FENCES_MAX];
	struct many many[4], one_more;

	gate(&self->g, 0, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(each); i++)
		each[i] = fence(&self->g.q[0], 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = (struct many) {
			.fd = self->g.fd, .all = each, .req.count = ARRAY_SIZE(each),
		};
		ASSERT_EQ(0, pthread_create(&many[i].thread, NULL, many_insist, &many[i]));
	}
	/* When they are all in, this does not get in; before, it may be in their way. */
	do {
		sleep_ms(10);
	} while (queue_wait(&self->g.q[0], 1, 10, NULL) == -ETIMEDOUT);
	EXPECT_EQ(-ENOMEM, queue_wait(&self->g.q[0], 1, PATIENCE_MS, NULL));
	one_more = many_of(self, 0);
	EXPECT_EQ(-ENOMEM, many_wait(&one_more, QUEUES, 0, PATIENCE_MS));
	EXPECT_EQ(0, one_more.req.index);
	/* Other queues have room, and this one has when those waits end. */
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->g.q[1], 1, 10, NULL));
	open_gate(&self->g, 0, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(many); i++)
		EXPECT_EQ(0, many_join(&many[i]));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->g.q[0], 2, 10, NULL));
}

/* poll() reports to the caller that armed it. */
TEST_F(fences, do_not_clear_pollin)
{
	struct many m = many_of(self, VTA_WAIT_ANY);

	gate(&self->g, 0, 1);
	ASSERT_EQ(-EAGAIN, queue_poll(&self->g.q[0], 1));
	open_gate(&self->g, 0, 1);
	EXPECT_EQ(POLLIN, card_poll(self->g.fd, PATIENCE_MS));
	EXPECT_EQ(0, many_wait(&m, QUEUES, 0, 0));
	EXPECT_EQ(POLLIN, card_poll(self->g.fd, 0));
}

TEST_F(fences, queue_of_another_file_is_enoent)
{
	struct many m = { .req = { .count = 1 } };

	m.fd = card_open();
	ASSERT_LE(0, m.fd);
	m.fences[0] = fence(&self->g.q[0], 0);
	m.fences[0].fd = m.fd;
	EXPECT_EQ(-ENOENT, many_wait(&m, 1, 0, 0));
	close(m.fd);
}

/* ---- two cards, and cards that go ---- */

FIXTURE(two) {
	int fd[2];
	struct queue q[2];
	struct mem mem[2];
	int event;
};

FIXTURE_SETUP(two)
{
	if (access("/dev/vta1", F_OK))
		SKIP(return, "there is only one card");
	for (unsigned int i = 0; i < 2; i++) {
		card_select(i);
		self->fd[i] = card_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, queue_open(self->fd[i], &self->q[i], NULL));
		ASSERT_EQ(0, mem_alloc(self->fd[i], &self->mem[i], 4096, VTA_BUF_HOST, 0));
		queue_hold(&self->q[i], &self->mem[i], 1);
	}
	self->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_LE(0, self->event);
}

FIXTURE_TEARDOWN(two)
{
	for (unsigned int i = 0; i < 2; i++) {
		queue_unmap(&self->q[i]);
		munmap(self->mem[i].ptr, self->mem[i].size);
		close(self->fd[i]);
	}
	close(self->event);
	card_select(0);
}

static void open_two(struct _test_data_two *self, unsigned int i)
{
	queue_release(&self->q[i], &self->mem[i], 1);
}

static struct many many_of_two(struct _test_data_two *self, uint32_t flags)
{
	return (struct many) {
		.fd = self->fd[0],
		.fences = { fence(&self->q[0], 1), fence(&self->q[1], 1) },
		.req = { .count = 2, .flags = flags },
	};
}

TEST_F(two, any_returns_the_card_that_was_reached)
{
	struct many m = many_of_two(self, VTA_WAIT_ANY);

	EXPECT_EQ(-ETIMEDOUT, many_wait(&m, 2, 0, 20));
	ASSERT_EQ(0, many_start(&m));
	sleep_ms(20);
	open_two(self, 1);
	EXPECT_EQ(0, many_join(&m));
	EXPECT_EQ(1, m.req.index);
}

TEST_F(two, all_returns_with_the_last_card)
{
	struct many m = many_of_two(self, 0);

	ASSERT_EQ(0, many_start(&m));
	open_two(self, 0);
	EXPECT_EQ(0, queue_wait(&self->q[0], 1, PATIENCE_MS, NULL));
	EXPECT_EQ(EBUSY, pthread_tryjoin_np(m.thread, NULL));
	open_two(self, 1);
	EXPECT_EQ(0, many_join(&m));
}

TEST_F(two, card_that_is_reset_ends_the_wait)
{
	struct many all = many_of_two(self, 0), any = many_of_two(self, VTA_WAIT_ANY);

	ASSERT_EQ(0, queue_event(&self->q[1], self->event));
	ASSERT_EQ(0, many_start(&all));
	ASSERT_EQ(0, many_start(&any));
	sleep_ms(20);
	card_select(1);
	ASSERT_EQ(0, card_reset_function());
	EXPECT_EQ(-ENODEV, many_join(&all));
	EXPECT_EQ(1, all.req.index);
	EXPECT_EQ(-ENODEV, many_join(&any));
	EXPECT_EQ(1, any.req.index);
	EXPECT_EQ(1, event_take(self->event));
	/* Called on the card that continues, and on the other. */
	EXPECT_EQ(-ENODEV, many_wait(&all, 2, 0, 0));
	all.fd = self->fd[1];
	EXPECT_EQ(-ENODEV, many_wait(&all, 1, 0, 0));
	open_two(self, 0);
	EXPECT_EQ(0, queue_wait(&self->q[0], 1, PATIENCE_MS, NULL));
}

TEST_F(two, card_that_is_removed_ends_the_wait)
{
	struct many all = many_of_two(self, 0);
	char address[32];

	ASSERT_EQ(0, many_start(&all));
	sleep_ms(20);
	card_select(1);
	ASSERT_EQ(0, card_pci_address(address, sizeof(address)));
	ASSERT_EQ(0, file_write(DRIVER "unbind", address));
	EXPECT_EQ(-ENODEV, many_join(&all));
	EXPECT_EQ(1, all.req.index);
	queue_unmap(&self->q[1]);
	munmap(self->mem[1].ptr, self->mem[1].size);
	close(self->fd[1]);
	ASSERT_EQ(0, file_write(DRIVER "bind", address));
	self->fd[1] = card_open();
	ASSERT_LE(0, self->fd[1]);
	ASSERT_EQ(0, queue_open(self->fd[1], &self->q[1], NULL));
	ASSERT_EQ(0, mem_alloc(self->fd[1], &self->mem[1], 4096, VTA_BUF_HOST, 0));
}

TEST_HARNESS_MAIN
