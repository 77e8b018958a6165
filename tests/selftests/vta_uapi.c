// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_uapi - arguments of all calls: sizes old and new, bad pointers, unknown requests, and
 * 32-bit callers (kmod/vta_file.c)
 */
#include "vta_harness.h"

/* The same for 32-bit callers, whose 64-bit words are aligned to 4. */
#define ALIGNED(_type, _field) \
	_Static_assert(!(offsetof(struct _type, _field) % 8), #_type "." #_field)
ALIGNED(vta_desc, reserved);
ALIGNED(vta_desc, words);
ALIGNED(vta_status, seq);
ALIGNED(vta_status, time);
ALIGNED(vta_fault, seq);
ALIGNED(vta_fault, time);
ALIGNED(vta_stamp, start);
ALIGNED(vta_info, features);
ALIGNED(vta_info, serial);
ALIGNED(vta_lost, fate);
ALIGNED(vta_buf_alloc, size);
ALIGNED(vta_buf_free, handle);
ALIGNED(vta_queue_create, max_cycles);
ALIGNED(vta_queue_create, ring_offset);
ALIGNED(vta_queue_destroy, queue);
ALIGNED(vta_wait, seq);
ALIGNED(vta_wait, done);
ALIGNED(vta_queue_event, queue);
ALIGNED(vta_wait_many, fences);
ALIGNED(vta_wait_many, deadline_ns);
ALIGNED(vta_fence, seq);
ALIGNED(vta_queue_fault, seq);
ALIGNED(vta_queue_fault, time);
ALIGNED(vta_queue_recover, seq);

/* A request that succeeds as it is, with room behind it. */
union request {
	struct vta_info info;
	struct vta_lost lost;
	struct vta_buf_alloc buf_alloc;
	struct vta_buf_free buf_free;
	struct vta_queue_create queue_create;
	struct vta_queue_destroy queue_destroy;
	struct vta_wait wait;
	struct vta_queue_fault fault;
	struct vta_queue_recover queue_recover;
	struct vta_queue_event event;
	struct vta_wait_many wait_many;
	uint8_t bytes[4096];
};

FIXTURE_VARIANT(uapi) {
	unsigned int cmd;
};

FIXTURE(uapi) {
	int fd;
	struct queue q;
	struct mem mem;
	size_t size;
	struct vta_fence fence;
	union request req;
};

FIXTURE_VARIANT_ADD(uapi, info) { .cmd = VTA_IOCTL_INFO };
FIXTURE_VARIANT_ADD(uapi, lost) { .cmd = VTA_IOCTL_LOST };
FIXTURE_VARIANT_ADD(uapi, buf_alloc) { .cmd = VTA_IOCTL_BUF_ALLOC };
FIXTURE_VARIANT_ADD(uapi, buf_free) { .cmd = VTA_IOCTL_BUF_FREE };
FIXTURE_VARIANT_ADD(uapi, queue_create) { .cmd = VTA_IOCTL_QUEUE_CREATE };
FIXTURE_VARIANT_ADD(uapi, queue_destroy) { .cmd = VTA_IOCTL_QUEUE_DESTROY };
FIXTURE_VARIANT_ADD(uapi, wait) { .cmd = VTA_IOCTL_WAIT };
FIXTURE_VARIANT_ADD(uapi, fault) { .cmd = VTA_IOCTL_FAULT };
FIXTURE_VARIANT_ADD(uapi, queue_recover) { .cmd = VTA_IOCTL_QUEUE_RECOVER };
FIXTURE_VARIANT_ADD(uapi, queue_event) { .cmd = VTA_IOCTL_QUEUE_EVENT };
FIXTURE_VARIANT_ADD(uapi, wait_many) { .cmd = VTA_IOCTL_WAIT_MANY };

FIXTURE_SETUP(uapi)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 4096, VTA_BUF_HOST, 0));
	self->size = _IOC_SIZE(variant->cmd);
	switch (variant->cmd) {
	case VTA_IOCTL_BUF_ALLOC:
		self->req.buf_alloc.size = 4096;
		break;
	case VTA_IOCTL_BUF_FREE:
		self->req.buf_free.handle = self->mem.handle;
		break;
	case VTA_IOCTL_QUEUE_DESTROY:
		self->req.queue_destroy.queue = self->q.id;
		break;
	case VTA_IOCTL_WAIT:
		self->req.wait.queue = self->q.id;
		break;
	case VTA_IOCTL_FAULT:
		self->req.fault.queue = self->q.id;
		break;
	case VTA_IOCTL_QUEUE_RECOVER:
		self->req.queue_recover.queue = self->q.id;
		ASSERT_EQ(-EIO, queue_do(&self->q, desc_op(VTA_OP_WAIT)));
		break;
	case VTA_IOCTL_QUEUE_EVENT:
		self->req.event.queue = self->q.id;
		self->req.event.fd = -1;
		break;
	case VTA_IOCTL_WAIT_MANY:
		self->fence.fd = self->fd;
		self->fence.queue = self->q.id;
		self->req.wait_many.fences = (uintptr_t)&self->fence;
		self->req.wait_many.count = 1;
		self->req.wait_many.index = 7;
		break;
	default:
		break;
	}
}

FIXTURE_TEARDOWN(uapi)
{
	close(self->fd);
}

static unsigned int with_size(unsigned int cmd, size_t size)
{
	return _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

TEST_F(uapi, valid_request_succeeds)
{
	EXPECT_EQ(0, card_ioctl(self->fd, variant->cmd, &self->req));
}

/* The first fields of a structure are enough. */
TEST_F(uapi, argument_shorter_than_the_first_version_is_einval)
{
	const size_t first = variant->cmd == VTA_IOCTL_INFO ?
			     offsetof(struct vta_info, generation) : self->size;

	EXPECT_EQ(-EINVAL, card_ioctl(self->fd, with_size(variant->cmd, first - 8), &self->req));
	EXPECT_EQ(-EINVAL, card_ioctl(self->fd, with_size(variant->cmd, 1), &self->req));
	EXPECT_EQ(-EINVAL, card_ioctl(self->fd, with_size(variant->cmd, 0), &self->req));
	EXPECT_EQ(0, card_ioctl(self->fd, with_size(variant->cmd, first), &self->req));
}

/* A program of a later header that does not use the new fields. */
TEST_F(uapi, longer_argument_with_zeroes_succeeds)
{
	EXPECT_EQ(0, card_ioctl(self->fd, with_size(variant->cmd, self->size + 8), &self->req));
}

TEST_F(uapi, longer_argument_with_a_value_is_e2big)
{
	unsigned int cmd = with_size(variant->cmd, 2000);

	self->req.bytes[1999] = 1;
	if (_IOC_DIR(cmd) & _IOC_WRITE) {
		EXPECT_EQ(-E2BIG, card_ioctl(self->fd, cmd, &self->req));
		self->req.bytes[1999] = 0;
		self->req.bytes[self->size] = 1;
		EXPECT_EQ(-E2BIG, card_ioctl(self->fd, cmd, &self->req));
		return;
	}
	/* Nothing is read; bytes that the kernel does not know are written as zeroes. */
	memset(&self->req, 0xff, sizeof(self->req));
	EXPECT_EQ(0, card_ioctl(self->fd, cmd, &self->req));
	for (unsigned int i = self->size; i < 2000; i++)
		ASSERT_EQ(0, self->req.bytes[i]);
	EXPECT_EQ(0xff, self->req.bytes[2000]);
}

TEST_F(uapi, nothing_behind_the_structure_is_written)
{
	uint8_t *guard = self->req.bytes + self->size;

	memset(guard, 0xa5, 64);
	EXPECT_EQ(0, card_ioctl(self->fd, variant->cmd, &self->req));
	for (unsigned int i = 0; i < 64; i++)
		ASSERT_EQ(0xa5, guard[i]);
}

TEST_F(uapi, bad_pointers_are_efault)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);

	ASSERT_NE(MAP_FAILED, page);
	munmap(page + 4096, 4096);
	EXPECT_EQ(-EFAULT, card_ioctl(self->fd, variant->cmd, NULL));
	EXPECT_EQ(-EFAULT, card_ioctl(self->fd, variant->cmd, (void *)-4096l));
	EXPECT_EQ(-EFAULT, card_ioctl(self->fd, variant->cmd, (void *)0xffff888000000000));
	/* All but the last bytes are there. */
	for (size_t at = 4; at < self->size; at += 4) {
		memcpy(page + 4096 - at, &self->req, at);
		ASSERT_EQ(-EFAULT, card_ioctl(self->fd, variant->cmd, page + 4096 - at));
	}
	/* It ends with the page: fine. */
	memcpy(page + 4096 - self->size, &self->req, self->size);
	EXPECT_EQ(0, card_ioctl(self->fd, variant->cmd, page + 4096 - self->size));
}

TEST_F(uapi, answer_to_read_only_memory_is_efault)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	memcpy(page, &self->req, self->size);
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(_IOC_DIR(variant->cmd) & _IOC_READ ? -EFAULT : 0,
		  card_ioctl(self->fd, variant->cmd, page));
}

TEST_F(uapi, other_direction_or_type_is_enotty)
{
	unsigned int nr = _IOC_NR(variant->cmd);

	EXPECT_EQ(-ENOTTY, card_ioctl(self->fd, _IOC(0, VTA_IOCTL_TYPE, nr, self->size),
				      &self->req));
	EXPECT_EQ(-ENOTTY, card_ioctl(self->fd, variant->cmd ^ (1 << _IOC_TYPESHIFT), &self->req));
}

/* The answer fills the rest of a longer argument with zeroes. */
TEST_F(uapi, longer_answer_to_readonly_memory_is_efault)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool answers = _IOC_DIR(variant->cmd) & _IOC_READ;
	void *req = pages + 4096 - self->size;

	ASSERT_NE(MAP_FAILED, pages);
	memcpy(req, &self->req, self->size);
	ASSERT_EQ(0, mprotect(pages + 4096, 4096, PROT_READ));
	EXPECT_EQ(answers ? -EFAULT : 0,
		  card_ioctl(self->fd, with_size(variant->cmd, self->size + 8), req));
	munmap(pages, 8192);
}

#ifdef __x86_64__
static long ioctl32(int fd, unsigned int cmd, void *arg)
{
	long ret;

	/* The table of 32-bit calls: 54 is ioctl. */
	asm volatile("int $0x80" : "=a"(ret) : "a"(54l), "b"((long)fd), "c"((long)cmd),
		     "d"(arg) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static int try32(void *arg)
{
	struct vta_info info;

	(void)arg;
	ioctl32(-1, VTA_IOCTL_INFO, &info);
	return 0;
}

TEST_F(uapi, call_of_32_bits_succeeds)
{
	void *low;

	if (in_child(try32, NULL))
		SKIP(return, "this kernel has no 32-bit calls");
	low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, low);
	memcpy(low, &self->req, self->size);
	EXPECT_EQ(0, ioctl32(self->fd, variant->cmd, low));
	if (_IOC_DIR(variant->cmd) == (_IOC_READ | _IOC_WRITE) &&
	    variant->cmd != VTA_IOCTL_FAULT && variant->cmd != VTA_IOCTL_WAIT)
		EXPECT_NE(0, memcmp(low, &self->req, self->size));
}
#endif

TEST(unknown_requests_are_enotty)
{
	static const unsigned int numbers[] = { 0x0f, 0x1f, 0x20, 0x7f, 0xff };
	union request req = { 0 };
	int fd = card_open();

	ASSERT_LE(0, fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		EXPECT_EQ(-ENOTTY, card_ioctl(fd, _IOC(3, VTA_IOCTL_TYPE, numbers[i], 32), &req));
		EXPECT_EQ(-ENOTTY, card_ioctl(fd, _IO(VTA_IOCTL_TYPE, numbers[i]), &req));
	}
	EXPECT_EQ(-ENOTTY, card_ioctl(fd, 0, &req));
	EXPECT_EQ(-ENOTTY, card_ioctl(fd, ~0u, &req));
	close(fd);
}

TEST(padding_must_be_zero)
{
	struct vta_queue_destroy destroy = { .pad = 1 };
	struct vta_queue_fault fault = { .pad = 1 };
	struct vta_buf_free release = { .pad = 1 };
	int fd = card_open();
	struct queue q;
	struct mem mem;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0));
	destroy.queue = q.id;
	fault.queue = q.id;
	release.handle = mem.handle;
	EXPECT_EQ(-EINVAL, card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &destroy));
	EXPECT_EQ(-EINVAL, card_ioctl(fd, VTA_IOCTL_FAULT, &fault));
	EXPECT_EQ(-EINVAL, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &release));
	/* Nothing was done. */
	EXPECT_EQ(0, queue_do(&q, desc_fill(mem.addr, 1, 4)));
	close(fd);
}

/* With or without an error. */
TEST(random_requests_leave_the_card_working)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	srandom(1);
	for (unsigned int i = 0; i < 20000; i++) {
		static const unsigned int numbers[] = {
			0, 1, 2, 6, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
		};
		unsigned int nr = numbers[i % ARRAY_SIZE(numbers)];
		union request req = { 0 };

		for (unsigned int n = 0; n < 64; n++)
			if (random() & 1)
				req.bytes[n] = (uint8_t)random();
		/* Not to spend all of the host's memory, nor to wait for long. */
		req.buf_alloc.size &= 0xfffff;
		if (nr == 0x12)
			req.wait.deadline_ns = 0;
		if (nr == 0x15)
			req.wait_many.deadline_ns = 0;
		card_ioctl(fd, _IOC(1 + random() % 3, VTA_IOCTL_TYPE, nr, random() % 96), &req);
	}
	close(fd);
	EXPECT_EQ(0, card_try());
}

TEST_HARNESS_MAIN
