// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_bounce - a host with bounce buffers (swiotlb=force): sharing host memory is refused, card
 * memory works (kmod/vta_host.c)
 */
#include "vta_foreign.h"
#include "vta_harness.h"

FIXTURE(bounce) {
	struct usage before;
	int fd;
};

FIXTURE_SETUP(bounce)
{
	self->before = card_usage();
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(bounce)
{
	close(self->fd);
	EXPECT_TRUE(usage_is(&self->before));
	EXPECT_EQ(0, card_attr("host_bytes"));
	EXPECT_EQ(0, card_attr("pinned_bytes"));
	EXPECT_EQ(0, proc_number("status", "VmPin"));
}

/* From one page, for which there is a bounce buffer, to more than there are. */
static const uint64_t sizes[] = { 4096, 65536, 4 * MIB, 96 * MIB };

TEST_F(bounce, host_memory_is_refused)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct vta_buf_alloc req = { .size = sizes[i] };

		EXPECT_EQ(-EOPNOTSUPP, card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &req));
	}
}

TEST_F(bounce, queues_are_refused)
{
	struct vta_queue_create req = { .ring_order = 4 };

	EXPECT_EQ(-EOPNOTSUPP, card_ioctl(self->fd, VTA_IOCTL_QUEUE_CREATE, &req));
}

TEST_F(bounce, pinning_is_refused)
{
	struct vta_buf_pin req;
	uint8_t *ptr = malloc(96 * MIB);

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-EOPNOTSUPP, buf_pin(self->fd, ptr, sizes[i], 0, &req));
		EXPECT_EQ(-EOPNOTSUPP, buf_pin(self->fd, ptr, sizes[i], VTA_BUF_READONLY, &req));
		EXPECT_EQ(0, card_attr("pinned_bytes"));
	}
	free(ptr);
}

TEST_F(bounce, importing_is_refused)
{
	struct vta_buf_import req;
	int dmabuf;

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes) - 1; i++) {
		dmabuf = foreign_export(FOREIGN_VGEM, sizes[i]);
		if (dmabuf == -ENODEV)
			SKIP(return, "no vgem");
		ASSERT_LE(0, dmabuf);
		EXPECT_EQ(-EOPNOTSUPP, buf_import(self->fd, dmabuf, 0, &req));
		EXPECT_EQ(-EOPNOTSUPP, buf_import(self->fd, dmabuf, VTA_BUF_READONLY, &req));
		EXPECT_EQ(0, ctx_number(self->fd, "vta-imported-bytes"));
		close(dmabuf);
	}
}

TEST_F(bounce, card_memory_works)
{
	struct vta_buf_import req;
	struct mem mem;
	int dmabuf;
	void *ptr;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 65536, VTA_BUF_CARD, 0));
	*(volatile uint32_t *)mem.ptr = 42;
	__sync_synchronize();
	dmabuf = buf_export(self->fd, mem.handle, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(0, buf_import(self->fd, dmabuf, 0, &req));
	ptr = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, ptr);
	EXPECT_EQ(42, *(volatile uint32_t *)ptr);
	munmap(ptr, 65536);
	close(dmabuf);
	EXPECT_EQ(0, mem_free(&mem));
}

TEST_HARNESS_MAIN
