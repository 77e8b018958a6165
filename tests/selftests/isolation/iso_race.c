// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_race - arguments of ioctls that change while the kernel reads them, and concurrent calls
 */
#include "../vta_harness.h"
#include "wall.h"
#include "writer.h"

WALL_FIXTURE(race)

static int try_map(int fd, uint64_t offset, size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (ptr == MAP_FAILED)
		return -errno;
	munmap(ptr, size);
	return 0;
}

enum { ROUNDS = 200 };

/* They differ in one byte: the kernel may copy byte by byte. */
#define SMALL	0x1000
#define LARGE	0x9000

/* The accounted size is the size that can be mapped, whichever size was read first. */
TEST_F(race, size_of_a_buffer_is_read_once)
{
	struct vta_buf_alloc *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, writer_flip(&writer, (uint32_t *)&arg->size, SMALL, LARGE));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t bytes;

		arg->addr = 0;
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, arg));
		bytes = holding_of(fd).host_bytes - self->wall.before.host_bytes;
		ASSERT_TRUE(bytes == SMALL || bytes == LARGE);
		ASSERT_EQ(0, try_map(fd, arg->mmap_offset, bytes));
		ASSERT_EQ(-EINVAL, try_map(fd, arg->mmap_offset, bytes + 4096));
		ASSERT_EQ(0, buf_release(fd, arg->handle));
	}
	writer_stop(&writer);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* Memory of either kind goes back to where it came from. */
TEST_F(race, kind_of_a_buffer_is_read_once)
{
	struct vta_buf_alloc *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, writer_flip(&writer, &arg->flags, VTA_BUF_HOST, VTA_BUF_CARD));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct holding now;

		arg->addr = 0;
		arg->size = 8192;
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, arg));
		now = holding_of(fd);
		ASSERT_EQ(8192, now.host_bytes + now.card_bytes - self->wall.before.host_bytes -
				self->wall.before.card_bytes);
		ASSERT_EQ(self->wall.usage.mem_free + self->wall.before.card_bytes - now.card_bytes,
			  card_usage().mem_free);
		ASSERT_EQ(0, buf_release(fd, arg->handle));
	}
	writer_stop(&writer);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* The address that was checked is the one that is used. */
TEST_F(race, address_of_a_buffer_is_read_once)
{
	/* Again, one byte makes the difference. */
	static const uint32_t others[] = { HOLE + 1, 0, OWN_RW, HOLE + 0x10000000 };
	struct vta_buf_alloc *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;

	ASSERT_NE(NULL, arg);
	for (unsigned int k = 0; k < ARRAY_SIZE(others); k++) {
		memset(arg, 0, sizeof(*arg));
		ASSERT_EQ(0, writer_flip(&writer, (uint32_t *)&arg->addr, HOLE, others[k]));
		for (unsigned int i = 0; i < ROUNDS / 2; i++) {
			int ret;

			arg->size = 8192;
			arg->flags = VTA_BUF_FIXED;
			ret = card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, arg);
			if (ret) {
				ASSERT_TRUE(ret == -EINVAL || ret == -EEXIST);
				continue;
			}
			if (buf_release(fd, HOLE >> VTA_PAGE_SHIFT)) {
				ASSERT_EQ(HOLE + 0x10000000, others[k]);
				ASSERT_EQ(0, buf_release(fd, others[k] >> VTA_PAGE_SHIFT));
			}
		}
		writer_stop(&writer);
		EXPECT_TRUE(wall_nothing_taken(&self->wall));
	}
}

/* The card's ring is as long as the memory that there is for it. */
TEST_F(race, length_of_a_ring_is_read_once)
{
	struct vta_queue_create *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, writer_flip(&writer, &arg->ring_order, 6, 8));
	for (unsigned int i = 0; i < ROUNDS / 4; i++) {
		struct queue q = { .fd = fd };
		uint64_t bytes;

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, arg));
		q.id = arg->queue;
		/* Less the status page. */
		bytes = holding_of(fd).host_bytes - self->wall.before.host_bytes - 4096;
		ASSERT_TRUE(bytes == 64 << 6 || bytes == 64 << 8);
		ASSERT_EQ(0, try_map(fd, arg->ring_offset, bytes));
		ASSERT_EQ(-EINVAL, try_map(fd, arg->ring_offset, bytes + 4096));

		/* All zero: NOPs. As many as there are, and then one too many. */
		q.page = arg->doorbell_size;
		q.doorbell = mmap(NULL, q.page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				  (off_t)arg->doorbell_offset);
		ASSERT_NE(MAP_FAILED, (void *)q.doorbell);
		queue_ring(&q, (uint32_t)(bytes / 64));
		ASSERT_EQ(0, queue_wait(&q, bytes / 64, PATIENCE_MS, NULL));
		queue_ring(&q, (uint32_t)(2 * bytes / 64 + 1));
		ASSERT_EQ(-EIO, queue_wait(&q, bytes / 64 + 1, PATIENCE_MS, NULL));
		munmap((void *)q.doorbell, q.page);
		ASSERT_EQ(0, queue_destroy(fd, q.id));
	}
	writer_stop(&writer);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_F(race, invalid_length_of_a_ring_is_never_used)
{
	struct vta_queue_create *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, writer_flip(&writer, &arg->ring_order, 2, 0xffffffc2));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		int ret = card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, arg);

		if (!ret) {
			ASSERT_EQ(8192, holding_of(fd).host_bytes - self->wall.before.host_bytes);
			ASSERT_EQ(0, queue_destroy(fd, arg->queue));
		} else {
			ASSERT_EQ(-EINVAL, ret);
		}
	}
	writer_stop(&writer);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* ---- two at once ---- */

/* The same call from several threads. */
struct contender {
	pthread_t thread;
	pthread_barrier_t *barrier;
	unsigned long cmd;
	void *arg;
	int fd, ret;
};

static void *contend(void *arg)
{
	struct contender *c = arg;

	pthread_barrier_wait(c->barrier);
	c->ret = card_ioctl(c->fd, c->cmd, c->arg);
	return NULL;
}

/* Number of the three calls that succeeded; from 100 if one did not fail with ENOENT. */
static int contend_for(int fd, unsigned long cmd, void *arg)
{
	struct contender c[3];
	pthread_barrier_t barrier;
	int won = 0;

	pthread_barrier_init(&barrier, NULL, ARRAY_SIZE(c));
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		c[i] = (struct contender) {
			.barrier = &barrier, .cmd = cmd, .arg = arg, .fd = fd,
		};
		if (pthread_create(&c[i].thread, NULL, contend, &c[i]))
			return -1;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		pthread_join(c[i].thread, NULL);
		won += c[i].ret == -ENOENT ? 0 : c[i].ret ? 100 : 1;
	}
	pthread_barrier_destroy(&barrier);
	return won;
}

TEST_F(race, buffer_is_freed_once)
{
	int fd = self->wall.fd;

	for (unsigned int i = 0; i < 50; i++) {
		struct vta_buf_alloc alloc = {
			.size = 8192, .flags = i & 1 ? VTA_BUF_CARD : VTA_BUF_HOST,
		};
		struct vta_buf_free req = { 0 };

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc));
		req.handle = alloc.handle;
		ASSERT_EQ(1, contend_for(fd, VTA_IOCTL_BUF_FREE, &req));
	}
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_F(race, queue_is_destroyed_once)
{
	int fd = self->wall.fd;

	for (unsigned int i = 0; i < 30; i++) {
		struct vta_queue_create create = { .ring_order = 2 };
		struct vta_queue_destroy req = { 0 };

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &create));
		req.queue = create.queue;
		ASSERT_EQ(1, contend_for(fd, VTA_IOCTL_QUEUE_DESTROY, &req));
	}
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* A buffer that is freed while others map it, read it and release it. */
static void map_and_read(struct writer *writer)
{
	struct wall *w = writer->w;
	const volatile uint64_t *ptr;

	ptr = mmap(NULL, 65536, PROT_READ, MAP_SHARED, w->fd, HOLE);
	if ((void *)ptr == MAP_FAILED)
		return;
	for (unsigned int i = 0; i < 65536 / 8; i += 512)
		writer->found += secrets_in((void *)&ptr[i], sizeof(*ptr));
	munmap((void *)ptr, 65536);
}

TEST_F(race, mapping_during_a_free_shows_no_memory_of_others)
{
	struct writer writer = { .step = map_and_read, .w = &self->wall };
	int fd = self->wall.fd;

	ASSERT_EQ(0, writer_start(&writer));
	for (unsigned int i = 0; i < 100; i++) {
		struct vta_buf_alloc alloc = {
			.size = 65536, .addr = HOLE,
			.flags = VTA_BUF_FIXED | (i & 1 ? VTA_BUF_CARD : VTA_BUF_HOST),
		};

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc));
		ASSERT_EQ(0, buf_release(fd, HOLE >> VTA_PAGE_SHIFT));
		if (i % 10 == 0)
			ASSERT_EQ(0, victim_order(&self->wall.victim,
						  i % 20 ? VICTIM_DROP : VICTIM_HOARD));
	}
	EXPECT_LT(0, writer_stop(&writer));
	EXPECT_EQ(0, writer.found);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_HARNESS_MAIN
