// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_sync - libvtadev waits for other devices that use a dma-buf
 *
 * Such a device is vgem, which puts fences into dma-bufs on request.
 */
#include "vta_foreign.h"
#include "vta_harness.h"
#include "vtadev.h"
#include "vtadev_desc.h"

#define SIZE	0x100000u
#define SOON_NS	20000000

FIXTURE(sync) {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	int dmabuf;
};

FIXTURE_SETUP(sync)
{
	ASSERT_EQ(0, vtadev_open(NULL, &self->dev));
	ASSERT_EQ(0, vtadev_queue_create(self->dev, NULL, &self->queue));
	self->dmabuf = foreign_export(FOREIGN_VGEM, SIZE);
	if (self->dmabuf != -ENODEV)
		ASSERT_LE(0, self->dmabuf);
}

FIXTURE_TEARDOWN(sync)
{
	vtadev_queue_destroy(self->queue);
	vtadev_close(self->dev);
	close(self->dmabuf);
}

/* A process that does @action, and sleeps until the fence is done. */
static int sleeps_until_the_end(const struct foreign_fence *fence,
				int (*action)(struct _test_data_sync *self),
				struct _test_data_sync *self)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(-action(self));
	if (!proc_gets_into(pid, "do_sys_poll") || waitpid(pid, &status, WNOHANG))
		return -ETIME;
	if (foreign_end(fence) || waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	return -WEXITSTATUS(status);
}

/* A child cannot use its parent's context. */
static int imports(struct _test_data_sync *self)
{
	struct vtadev_buf *buf;
	struct vtadev *dev;
	int ret = vtadev_open(NULL, &dev);

	return ret ? ret : vtadev_buf_import(dev, self->dmabuf, 0, &buf);
}

TEST_F(sync, import_waits_for_the_writer)
{
	struct foreign_fence fence;

	if (self->dmabuf < 0)
		SKIP(return, "this kernel has no vgem");
	ASSERT_EQ(0, foreign_begin(self->dmabuf, true, &fence));
	EXPECT_EQ(0, sleeps_until_the_end(&fence, imports, self));
}

TEST_F(sync, reader_delays_writers_alone)
{
	struct foreign_fence fence;
	struct vtadev_buf *buf;

	if (self->dmabuf < 0)
		SKIP(return, "this kernel has no vgem");
	ASSERT_EQ(0, vtadev_buf_import(self->dev, self->dmabuf, 0, &buf));
	EXPECT_EQ(0, vtadev_buf_wait(buf, 0, 0));
	ASSERT_EQ(0, foreign_begin(self->dmabuf, false, &fence));
	EXPECT_EQ(0, vtadev_buf_wait(buf, VTADEV_READONLY, 0));
	EXPECT_EQ(-ETIMEDOUT, vtadev_buf_wait(buf, 0, SOON_NS));
	ASSERT_EQ(0, foreign_end(&fence));
	EXPECT_EQ(0, vtadev_buf_wait(buf, 0, 0));

	ASSERT_EQ(0, foreign_begin(self->dmabuf, true, &fence));
	EXPECT_EQ(-ETIMEDOUT, vtadev_buf_wait(buf, VTADEV_READONLY, SOON_NS));
	ASSERT_EQ(0, foreign_end(&fence));
	EXPECT_EQ(0, vtadev_buf_wait(buf, VTADEV_READONLY, 0));
	vtadev_buf_free(buf);
}

/* A queue takes for ever if its process likes, so there is no fence for what it does. */
TEST_F(sync, no_fence_for_queues)
{
	struct vtadev_buf *held, *same;
	struct vta_desc desc;
	uint64_t seq;
	int fd;

	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, SIZE, VTADEV_HOST, &held));
	ASSERT_EQ(0, vtadev_buf_export(held, 0, &fd));
	ASSERT_EQ(0, vtadev_buf_import(self->dev, fd, 0, &same));
	desc = vtadev_desc_wait(vtadev_buf_addr(same), 1);
	ASSERT_EQ(0, vtadev_submit(self->queue, &desc, 1, &seq));
	EXPECT_EQ(0, vtadev_buf_wait(same, 0, 0));
	vtadev_queue_destroy(self->queue);
	self->queue = NULL;
	vtadev_buf_free(same);
	vtadev_buf_free(held);
	close(fd);
}

TEST_HARNESS_MAIN
