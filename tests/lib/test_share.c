// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_share.c - pinned memory and dma-bufs
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/dma-buf.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../frame.h"
#include "fake.h"

#define SIZE	0x10000u

static struct vtadev *dev;
static int dmabuf;	/* a memfd */

static int setup(void **state)
{
	fake_setup(state);
	dev = fake_open();
	dmabuf = memfd_create("dmabuf", MFD_CLOEXEC);
	assert_true(dmabuf >= 0);
	assert_int_equal(ftruncate(dmabuf, SIZE), 0);
	fake.import_size = SIZE;
	return 0;
}

static int teardown(void **state)
{
	fake.fail = 0;
	close(dmabuf);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define CARD void *unused, setup, teardown

static struct vtadev_buf *import(int fd, unsigned int flags)
{
	struct vtadev_buf *buf = NULL;

	assert_int_equal(vtadev_buf_import(dev, fd, flags, &buf), 0);
	return buf;
}

static void assert_syncs(uint64_t access)
{
	assert_int_equal(fake.nr_syncs, 2);
	assert_int_equal(fake.syncs[0], DMA_BUF_SYNC_START | access);
	assert_int_equal(fake.syncs[1], DMA_BUF_SYNC_END | access);
	fake.nr_syncs = 0;
}

TEST_F(CARD, pinned_memory_is_where_it_was)
{
	char memory[300], back[300];
	struct vtadev_buf *buf;
	void *ptr;

	memset(memory, 7, sizeof(memory));
	assert_int_equal(vtadev_buf_pin(dev, memory + 1, 299, VTADEV_READONLY, &buf), 0);
	assert_true(fake.pin.user_addr == (uintptr_t)memory + 1);
	assert_int_equal(fake.pin.size, 299);
	assert_int_equal(fake.pin.align, 0);
	assert_int_equal(fake.pin.addr, 0);
	assert_int_equal(fake.pin.flags, VTA_BUF_READONLY);
	assert_int_equal(vtadev_buf_size(buf), 299);
	assert_int_equal(vtadev_buf_addr(buf) % VTA_PAGE_SIZE,
			 ((uintptr_t)memory + 1) % VTA_PAGE_SIZE);

	assert_int_equal(vtadev_buf_map(buf, &ptr), 0);
	assert_ptr_equal(ptr, memory + 1);
	assert_int_equal(vtadev_buf_write(buf, 298, "x", 1), 0);
	assert_int_equal(memory[299], 'x');
	assert_int_equal(vtadev_buf_write(buf, 299, "x", 1), -ERANGE);
	assert_int_equal(vtadev_buf_read(buf, 0, back, 299), 0);
	assert_memory_equal(back, memory + 1, 299);
	assert_int_equal(fake.nr_syncs, 0);
	vtadev_buf_free(buf);
	assert_int_equal(memory[0], 7);		/* still mapped */
	assert_int_equal(fake.buffers, 0);
}

TEST_F(CARD, refusals_of_pin)
{
	static const int errors[] = {
		EINVAL, EFAULT, EACCES, ENOMEM, ENOSPC, EOPNOTSUPP, ENODEV,
	};
	struct vtadev_buf *buf = NULL;
	char byte;

	fake.calls = 0;
	assert_int_equal(vtadev_buf_pin(dev, &byte, 1, VTADEV_CARD, &buf), -EINVAL);
	assert_int_equal(vtadev_buf_pin(dev, &byte, 1, VTA_BUF_FIXED, &buf), -EINVAL);
	assert_int_equal(fake.calls, 0);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.fail = errors[i];
		assert_int_equal(vtadev_buf_pin(dev, &byte, 1, 0, &buf), -errors[i]);
	}
	assert_null(buf);
}

TEST_F(CARD, what_an_export_asks_for)
{
	struct vtadev_buf *buf;
	int fd = -1;

	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &buf), 0);
	assert_int_equal(vtadev_buf_export(buf, 0, &fd), 0);
	assert_int_equal(fake.export.flags, O_RDWR | O_CLOEXEC);
	assert_int_equal(fake.export.handle, 3);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(vtadev_buf_export(buf, VTADEV_READONLY, &fd), 0);
	assert_int_equal(fake.export.flags, O_RDONLY | O_CLOEXEC);
	close(fd);

	fd = -1;
	fake.calls = 0;
	assert_int_equal(vtadev_buf_export(buf, VTADEV_CARD, &fd), -EINVAL);
	assert_int_equal(vtadev_buf_export(buf, O_CLOEXEC, &fd), -EINVAL);
	assert_int_equal(fake.calls, 0);
	fake.fail = EACCES;
	assert_int_equal(vtadev_buf_export(buf, 0, &fd), -EACCES);
	assert_int_equal(fd, -1);
	fake.fail = 0;
	vtadev_buf_free(buf);
}

TEST_F(CARD, imports_map_the_dmabuf)
{
	struct vtadev_buf *buf = import(dmabuf, 0);
	char *theirs = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	char back[4];
	void *ptr;

	assert_ptr_not_equal(theirs, MAP_FAILED);
	assert_int_equal(fake.import.flags, 0);
	assert_int_equal(vtadev_buf_size(buf), SIZE);
	assert_int_equal(vtadev_buf_write(buf, SIZE - 4, "four", 4), 0);
	assert_syncs(DMA_BUF_SYNC_WRITE);
	assert_memory_equal(theirs + SIZE - 4, "four", 4);
	memcpy(theirs, "ours", 4);
	assert_int_equal(vtadev_buf_read(buf, 0, back, 4), 0);
	assert_syncs(DMA_BUF_SYNC_READ);
	assert_memory_equal(back, "ours", 4);
	assert_int_equal(vtadev_buf_map(buf, &ptr), 0);
	assert_memory_equal(ptr, "ours", 4);
	/* Nothing is moved, nothing is reported. */
	assert_int_equal(vtadev_buf_read(buf, 0, back, 0), 0);
	assert_int_equal(vtadev_buf_read(buf, SIZE, back, 1), -ERANGE);
	assert_int_equal(fake.nr_syncs, 0);
	vtadev_buf_free(buf);
	munmap(theirs, SIZE);
}

/* The buffer has a descriptor of its own, and closes that one. */
TEST_F(CARD, importers_may_close_their_descriptor)
{
	int fd = dup(dmabuf), own;
	struct vtadev_buf *buf;

	buf = import(fd, 0);
	own = fake.import.fd;
	assert_int_not_equal(own, fd);
	assert_int_equal(fcntl(own, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_equal(vtadev_buf_write(buf, 0, "x", 1), 0);
	vtadev_buf_free(buf);
	assert_int_equal(fcntl(own, F_GETFD), -1);
}

TEST_F(CARD, dmabufs_for_reading)
{
	char path[64], byte;
	struct vtadev_buf *buf;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dmabuf);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	buf = import(fd, VTADEV_READONLY);
	assert_int_equal(fake.import.flags, VTA_BUF_READONLY);
	assert_int_equal(vtadev_buf_read(buf, 0, &byte, 1), 0);
	assert_int_equal(vtadev_buf_write(buf, 0, &byte, 1), -EACCES);
	assert_int_equal(vtadev_buf_write(buf, SIZE, &byte, 1), -ERANGE);
	vtadev_buf_free(buf);
	close(fd);
}

TEST_F(CARD, imports_may_choose_their_address)
{
	struct vtadev_buf *buf = NULL;

	assert_int_equal(vtadev_buf_import_at(dev, dmabuf, 0, 0x2000, 0x40000000, &buf), 0);
	assert_int_equal(fake.import.flags, VTA_BUF_FIXED);
	assert_int_equal(fake.import.align, 0x2000);
	vtadev_buf_free(buf);
	assert_int_equal(vtadev_buf_import_at(dev, dmabuf, VTADEV_READONLY, 0x2000, 0, &buf), 0);
	assert_int_equal(fake.import.flags, VTA_BUF_READONLY);
	vtadev_buf_free(buf);
	fake.fail = EEXIST;
	assert_int_equal(vtadev_buf_import_at(dev, dmabuf, 0, 0, 0x1000, &buf), -EEXIST);
}

TEST_F(CARD, refusals_of_import)
{
	static const int errors[] = {
		EINVAL, EBADF, EACCES, ENOMEM, ENOSPC, EOPNOTSUPP, ENODEV,
	};
	struct vtadev_buf *buf = NULL;
	int next = dup(dmabuf);

	close(next);
	fake.calls = 0;
	assert_int_equal(vtadev_buf_import(dev, dmabuf, VTADEV_CARD, &buf), -EINVAL);
	assert_int_equal(vtadev_buf_import(dev, -1, 0, &buf), -EBADF);
	assert_int_equal(fake.calls, 0);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.fail = errors[i];
		assert_int_equal(vtadev_buf_import(dev, dmabuf, 0, &buf), -errors[i]);
	}
	assert_null(buf);
	fake.fail = 0;
	/* No descriptor is left over. */
	assert_int_equal(fcntl(next, F_GETFD), -1);
}

/* An eventfd in place of the fences: it can be read when they are done. */
TEST_F(CARD, imports_wait_for_other_devices)
{
	int fences = eventfd(0, EFD_CLOEXEC), next = dup(dmabuf);
	struct vtadev_buf *buf, *own;

	close(next);
	buf = import(dmabuf, 0);	/* there are none, and no sync files either */
	assert_int_equal(vtadev_buf_wait(buf, 0, 0), 0);
	fake.sync_file = fences;
	assert_int_equal(vtadev_buf_wait(buf, 0, 0), -ETIMEDOUT);
	assert_int_equal(fake.sync_file_of, DMA_BUF_SYNC_RW);
	assert_int_equal(vtadev_buf_wait(buf, VTADEV_READONLY, 1000000), -ETIMEDOUT);
	assert_int_equal(fake.sync_file_of, DMA_BUF_SYNC_READ);
	assert_int_equal(vtadev_buf_wait(buf, VTADEV_CARD, 0), -EINVAL);
	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &own), 0);
	assert_int_equal(vtadev_buf_wait(own, 0, 0), 0);
	vtadev_buf_free(own);
	assert_int_equal(eventfd_write(fences, 1), 0);
	fake.interrupts = 3;
	assert_int_equal(vtadev_buf_wait(buf, 0, -1), 0);
	vtadev_buf_free(buf);
	buf = import(dmabuf, VTADEV_READONLY);
	assert_int_equal(fake.sync_file_of, DMA_BUF_SYNC_READ);
	vtadev_buf_free(buf);
	/* A sync file cannot be had: nor can the buffer, and no descriptor is left over. */
	fake.sync_file = INT_MAX;
	assert_int_equal(vtadev_buf_import(dev, dmabuf, 0, &buf), -EBADF);
	close(fences);
	assert_int_equal(fcntl(next, F_GETFD), -1);
}

TEST_F(CARD, syncs_continue_after_signals_and_may_fail)
{
	struct vtadev_buf *buf = import(dmabuf, 0);
	char byte = 1;

	fake.interrupts = 3;
	assert_int_equal(vtadev_buf_write(buf, 0, &byte, 1), 0);
	assert_syncs(DMA_BUF_SYNC_WRITE);
	fake.fail_sync = EIO;
	byte = 2;
	assert_int_equal(vtadev_buf_write(buf, 0, &byte, 1), -EIO);
	fake.fail_sync = 0;
	assert_int_equal(vtadev_buf_read(buf, 0, &byte, 1), 0);
	assert_int_equal(byte, 1);
	vtadev_buf_free(buf);
}
