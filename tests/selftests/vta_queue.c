// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_queue - queues: creation, mappings and end (kmod/vta_queue.c)
 */
#include "vta_harness.h"

FIXTURE(queue) {
	struct usage before;
	struct vta_info info;
	int fd;
};

/* The tests before, which ended with everything open, have left nothing. */
FIXTURE_SETUP(queue)
{
	self->before = card_usage();
	ASSERT_EQ(0, self->before.queues);
	ASSERT_EQ(0, self->before.contexts);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &self->info));
}

FIXTURE_TEARDOWN(queue)
{
	close(self->fd);
}

static int create(int fd, uint32_t order, uint32_t priority, uint32_t flags)
{
	struct vta_queue_create req = {
		.ring_order = order, .priority = priority, .flags = flags,
	};

	return card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &req);
}

static int destroy(int fd, uint32_t queue, uint32_t pad)
{
	struct vta_queue_destroy req = { .queue = queue, .pad = pad };

	return card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &req);
}

/* Returns 1 if /proc lists the queue by the number that the caller got. */
static int is_numbered(int fd, uint32_t id)
{
	char path[64], line[256], want[32];
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(want, sizeof(want), "vta-queue-numbers:\t%u ", id);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		found += !strncmp(line, want, strlen(want));
	if (file)
		fclose(file);
	return found;
}

TEST_F(queue, new_queue_is_active_and_empty)
{
	struct vta_queue_fault fault;
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(1, is_numbered(self->fd, q.id));
	EXPECT_EQ((uint32_t)sysconf(_SC_PAGESIZE), q.page);
	EXPECT_EQ(0, queue_seq(&q));
	EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(q.status->status.state));
	EXPECT_EQ(0, le32toh(q.status->status.fault_reason));
	ASSERT_EQ(0, queue_fault(&q, &fault));
	EXPECT_EQ(VTA_FAULT_NONE, fault.reason);
	EXPECT_EQ(VTA_FAULT_NO_INSN, fault.insn_index);
	EXPECT_EQ(self->before.queues + 1, card_usage().queues);
	EXPECT_EQ(0, queue_close(&q));
	EXPECT_EQ(self->before.queues, card_usage().queues);
}

/* Every length wraps round its ring twice, the longest once. */
TEST_F(queue, every_ring_order_works)
{
	for (uint32_t order = 0; order <= self->info.ring_order_max; order++) {
		struct vta_queue_create req = { .ring_order = order };
		struct vta_desc nop = desc_op(VTA_OP_NOP);
		uint64_t n, total;
		struct queue q;

		ASSERT_EQ(0, queue_open(self->fd, &q, &req));
		total = (order < 10 ? 2 : 1) * (uint64_t)q.entries + 1;
		for (n = 0; n < total; n += q.entries) {
			unsigned int i, some = q.entries;

			if (some > total - n)
				some = (unsigned int)(total - n);
			for (i = 0; i < some; i++)
				q.ring[(n + i) & (q.entries - 1)] = nop;
			q.submitted += some;
			queue_kick(&q);
			ASSERT_EQ(0, queue_wait(&q, q.submitted, PATIENCE_MS, NULL));
		}
		EXPECT_EQ(total, queue_seq(&q));
		ASSERT_EQ(0, queue_close(&q));
	}
}

TEST_F(queue, every_priority_works)
{
	for (uint32_t priority = 0; priority <= VTA_QUEUE_PRIORITY_MAX; priority++) {
		struct vta_queue_create req = { .ring_order = 3, .priority = priority };
		struct queue q;

		ASSERT_EQ(0, queue_open(self->fd, &q, &req));
		EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
		EXPECT_EQ(0, queue_close(&q));
	}
}

TEST_F(queue, malformed_requests_are_einval)
{
	EXPECT_EQ(-EINVAL, create(self->fd, self->info.ring_order_max + 1, 0, 0));
	EXPECT_EQ(-EINVAL, create(self->fd, UINT32_MAX, 0, 0));
	EXPECT_EQ(-EINVAL, create(self->fd, 64, 0, 0));
	EXPECT_EQ(-EINVAL, create(self->fd, 3, VTA_QUEUE_PRIORITY_MAX + 1, 0));
	EXPECT_EQ(-EINVAL, create(self->fd, 3, UINT32_MAX, 0));
	EXPECT_EQ(-EINVAL, create(self->fd, 3, 0, VTA_QUEUE_KEEP << 1));
	EXPECT_EQ(-EINVAL, create(self->fd, 3, 0, 0x80000000));
	EXPECT_EQ(self->before.queues, card_usage().queues);
}

TEST_F(queue, unknown_queues_are_enoent)
{
	struct vta_queue_fault fault = { .queue = UINT32_MAX };
	struct vta_wait wait = { .queue = UINT32_MAX };
	int other = card_open();
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(-ENOENT, destroy(self->fd, self->info.queues, 0));
	EXPECT_EQ(-ENOENT, destroy(self->fd, q.id + 1, 0));
	EXPECT_EQ(-ENOENT, destroy(self->fd, UINT32_MAX, 0));
	EXPECT_EQ(-EINVAL, destroy(self->fd, q.id, 1));
	EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_WAIT, &wait));
	EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_FAULT, &fault));
	/* Another file's. */
	wait.queue = q.id;
	fault.queue = q.id;
	EXPECT_EQ(-ENOENT, destroy(other, q.id, 0));
	EXPECT_EQ(-ENOENT, card_ioctl(other, VTA_IOCTL_WAIT, &wait));
	EXPECT_EQ(-ENOENT, card_ioctl(other, VTA_IOCTL_FAULT, &fault));
	/* Gone. */
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(0, queue_close(&q));
	EXPECT_EQ(-ENOENT, destroy(self->fd, q.id, 0));
	EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_WAIT, &wait));
	close(other);
}

/* The card's queues are for all files together. */
TEST_F(queue, all_files_share_the_queues_of_the_card)
{
	unsigned int n = self->info.queues - (unsigned int)self->before.queues, i;
	int other = card_open();

	ASSERT_LE(0, other);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, create(self->fd, 1, 0, 0));
	EXPECT_EQ(-ENOSPC, create(self->fd, 1, 0, 0));
	EXPECT_EQ(-ENOSPC, create(other, 1, 0, 0));
	close(self->fd);
	EXPECT_EQ(0, create(other, 1, 0, 0));
	self->fd = other;
}

TEST_F(queue, creating_and_destroying_leaks_nothing)
{
	struct queue q;

	for (unsigned int i = 0; i < 200; i++) {
		ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
		ASSERT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(1, queue_seq(&q));
		ASSERT_EQ(0, queue_close(&q));
	}
}

TEST_F(queue, status_page_is_read_only)
{
	struct queue q;
	void *ptr;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	ptr = mmap(NULL, q.page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   (off_t)q.create.status_offset);
	EXPECT_EQ(MAP_FAILED, ptr);
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect((void *)q.status, q.page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect((void *)q.status, q.page, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F_SIGNAL(queue, writing_the_status_page_is_sigsegv, SIGSEGV)
{
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	*(volatile uint64_t *)q.status = 1;
}

/* No memory leaks through the rest of the page, after the record. */
TEST_F(queue, status_page_is_zero_behind_the_records)
{
	const volatile uint8_t *bytes;
	unsigned int i, other = 0;
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	bytes = (const volatile uint8_t *)q.status;
	for (i = sizeof(struct vta_status_page); i < q.page; i++)
		other += bytes[i] != 0;
	EXPECT_EQ(0, other);
}

TEST_F(queue, other_sizes_and_kinds_of_mappings_are_refused)
{
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * q.page, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)q.create.status_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * q.page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
				   (off_t)q.create.doorbell_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, q.page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
				   (off_t)(q.create.doorbell_offset + q.page)));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, q.page, PROT_READ | PROT_EXEC, MAP_SHARED, self->fd,
				   (off_t)q.create.doorbell_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, q.page, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd,
				   (off_t)q.create.doorbell_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * q.page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
				   (off_t)q.create.ring_offset));
}

TEST_F(queue, mappings_are_not_for_other_files)
{
	int other = card_open();
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, q.page, PROT_READ, MAP_SHARED, other,
				   (off_t)q.create.status_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, q.page, PROT_READ | PROT_WRITE, MAP_SHARED, other,
				   (off_t)q.create.doorbell_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, q.page, PROT_READ, MAP_SHARED, other,
				   (off_t)q.create.ring_offset));
	close(other);
}

TEST_F(queue, doorbell_of_a_destroyed_queue_rings_no_other)
{
	volatile uint32_t *stale;
	struct queue old, new;
	uint64_t doorbells;

	ASSERT_EQ(0, queue_open(self->fd, &old, NULL));
	stale = mmap(NULL, old.page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		     (off_t)old.create.doorbell_offset);
	ASSERT_NE(MAP_FAILED, (void *)stale);
	*stale = 0;
	ASSERT_EQ(0, queue_close(&old));

	/* The same hardware queue, and another file's. */
	ASSERT_EQ(0, queue_open(self->fd, &new, NULL));
	doorbells = card_counter("doorbells");
	*stale = htole32(1);
	*stale = htole32(1000000);
	EXPECT_EQ(0, queue_wait(&new, 0, 0, NULL));
	EXPECT_EQ(doorbells, card_counter("doorbells"));
	EXPECT_EQ(VTA_QUEUE_ACTIVE, le32toh(new.status->status.state));
	EXPECT_EQ(0, queue_do(&new, desc_op(VTA_OP_NOP)));
	munmap((void *)stale, old.page);
}

TEST_F(queue, doorbell_reads_as_zero)
{
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, *q.doorbell);
}

/* The ring and the status page are the kernel's: they go with the queue only. */
TEST_F(queue, ring_cannot_be_freed_as_a_buffer)
{
	struct vta_buf_free req = { 0 };
	uint64_t pages[2], i;
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	pages[0] = q.create.ring_addr;
	pages[1] = q.create.ring_offset;
	for (i = 0; i < 2; i++) {
		/* Numbers that are no handles. */
		req.handle = (uint32_t)(pages[i] >> VTA_PAGE_SHIFT);
		EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req));
		req.handle = (uint32_t)pages[i];
		EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req));
	}
	for (req.handle = 0; req.handle < 64; req.handle++)
		EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req));
	req.handle = (uint32_t)(q.create.status_offset >> VTA_PAGE_SHIFT);
	EXPECT_EQ(-ENOENT, card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
}

/* The card can only read rings. */
TEST_F(queue, ring_is_read_only_for_the_card)
{
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill(q.create.ring_addr, 0, 64)));
	EXPECT_EQ(VTA_FAULT_PERM, le32toh(q.status->status.fault_reason));
}

TEST_F(queue, destroyed_queue_ends_its_waits_with_enoent)
{
	struct waiter w;
	struct queue q;
	struct mem word;

	ASSERT_EQ(0, mem_alloc(self->fd, &word, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	queue_hold(&q, &word, 1);
	ASSERT_EQ(0, waiter_arm(&w, &q, 1, PATIENCE_MS));
	EXPECT_EQ(0, destroy(self->fd, q.id, 0));
	EXPECT_EQ(-ENOENT, waiter_join(&w));
	queue_unmap(&q);
}

/* The limit of the queue for one descriptor. */
TEST_F(queue, max_cycles_ends_a_copy)
{
	struct vta_queue_create req = { .ring_order = 2, .max_cycles = 100 };
	struct mem mem;
	struct queue q;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, queue_open(self->fd, &q, &req));
	EXPECT_EQ(0, queue_do(&q, desc_fill(mem.addr, 1, 16)));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill(mem.addr, 2, 65536)));
	EXPECT_EQ(VTA_FAULT_CYCLES, le32toh(q.status->status.fault_reason));
	EXPECT_EQ(1, *(volatile uint8_t *)mem.ptr);
}

TEST_HARNESS_MAIN
