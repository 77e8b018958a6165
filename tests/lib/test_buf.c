// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_buf.c - buffers: allocation, bounds, one mapping, lifetime
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "../frame.h"
#include "fake.h"

#define SIZE	1000u

static struct vtadev *dev;

static int setup(void **state)
{
	fake_setup(state);
	dev = fake_open();
	return 0;
}

static int teardown(void **state)
{
	fake.fail = 0;
	vtadev_close(dev);
	return fake_teardown(state);
}

#define CARD void *unused, setup, teardown

static struct vtadev_buf *alloc(void)
{
	struct vtadev_buf *buf = NULL;

	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &buf), 0);
	return buf;
}

TEST_F(CARD, what_the_kernel_is_asked)
{
	struct vtadev_buf *buf;

	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_CARD | VTADEV_READONLY, &buf), 0);
	assert_int_equal(fake.alloc.size, SIZE);
	assert_int_equal(fake.alloc.flags, VTA_BUF_CARD | VTA_BUF_READONLY);
	assert_int_equal(fake.alloc.align, 0);
	assert_int_equal(fake.alloc.addr, 0);
	assert_int_equal(vtadev_buf_size(buf), SIZE);
	assert_int_equal(vtadev_buf_addr(buf), 0x200000);
	vtadev_buf_free(buf);

	assert_int_equal(vtadev_buf_alloc_at(dev, SIZE, VTADEV_HOST, 8192, 0x4000, &buf), 0);
	assert_int_equal(fake.alloc.flags, VTA_BUF_FIXED);
	assert_int_equal(fake.alloc.align, 8192);
	assert_int_equal(fake.alloc.addr, 0x4000);
	assert_int_equal(vtadev_buf_addr(buf), 0x4000);
	vtadev_buf_free(buf);
}

TEST_F(CARD, refusals)
{
	static const int errors[] = {
		EINVAL, ENOMEM, ENOSPC, EEXIST, EOPNOTSUPP, ENODEV,
	};
	struct vtadev_buf *buf = NULL;

	assert_int_equal(vtadev_buf_alloc(dev, 0, VTADEV_HOST, &buf), -EINVAL);
	fake.calls = 0;
	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTA_BUF_FIXED, &buf), -EINVAL);
	assert_int_equal(vtadev_buf_alloc(dev, SIZE, 0x80000000, &buf), -EINVAL);
	assert_int_equal(fake.calls, 0);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.fail = errors[i];
		assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &buf), -errors[i]);
	}
	assert_null(buf);
}

TEST_F(CARD, bounds)
{
	struct vtadev_buf *buf = alloc();
	char bytes[SIZE + 1] = { 0 };

	assert_int_equal(vtadev_buf_write(buf, 0, bytes, SIZE), 0);
	assert_int_equal(vtadev_buf_write(buf, SIZE - 1, bytes, 1), 0);
	assert_int_equal(vtadev_buf_write(buf, SIZE, bytes, 0), 0);
	assert_int_equal(vtadev_buf_write(buf, 0, NULL, 0), 0);

	assert_int_equal(vtadev_buf_write(buf, 0, bytes, SIZE + 1), -ERANGE);
	assert_int_equal(vtadev_buf_write(buf, SIZE, bytes, 1), -ERANGE);
	assert_int_equal(vtadev_buf_write(buf, SIZE + 1, bytes, 0), -ERANGE);
	assert_int_equal(vtadev_buf_write(buf, SIZE_MAX, bytes, 1), -ERANGE);
	assert_int_equal(vtadev_buf_write(buf, 1, bytes, SIZE_MAX), -ERANGE);
	assert_int_equal(vtadev_buf_write(buf, SIZE_MAX, bytes, SIZE_MAX), -ERANGE);

	assert_int_equal(vtadev_buf_read(buf, 0, bytes, SIZE), 0);
	assert_int_equal(vtadev_buf_read(buf, 0, bytes, SIZE + 1), -ERANGE);
	assert_int_equal(vtadev_buf_read(buf, SIZE_MAX, bytes, 2), -ERANGE);
	assert_int_equal(vtadev_buf_read(buf, 2, bytes, SIZE_MAX), -ERANGE);
	vtadev_buf_free(buf);
}

TEST_F(CARD, what_is_written_is_read)
{
	static const char text[] = "sixteen and odd";
	struct vtadev_buf *buf = alloc();
	char back[sizeof(text)];
	void *ptr;

	assert_int_equal(vtadev_buf_write(buf, 7, text, sizeof(text)), 0);
	assert_int_equal(vtadev_buf_read(buf, 7, back, sizeof(back)), 0);
	assert_string_equal(back, text);
	assert_int_equal(vtadev_buf_map(buf, &ptr), 0);
	assert_string_equal((char *)ptr + 7, text);
	vtadev_buf_free(buf);
}

static void *map_it(void *buf)
{
	void *ptr = NULL;

	return vtadev_buf_map(buf, &ptr) ? NULL : ptr;
}

TEST_F(CARD, threads_share_one_mapping)
{
	enum { THREADS = 8 };
	struct vtadev_buf *buf = alloc();
	pthread_t threads[THREADS];
	void *first = NULL, *ptr;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, map_it, buf), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &ptr), 0);
		assert_non_null(ptr);
		if (!first)
			first = ptr;
		assert_ptr_equal(ptr, first);
	}
	vtadev_buf_free(buf);
}

TEST_F(CARD, mapping_that_fails)
{
	struct vtadev_buf *buf;
	void *ptr = dev;
	char byte = 0;

	fake.bad_offset = 1;
	buf = alloc();
	assert_int_equal(vtadev_buf_map(buf, &ptr), -EINVAL);
	assert_ptr_equal(ptr, dev);
	assert_int_equal(vtadev_buf_write(buf, 0, &byte, 1), -EINVAL);
	assert_int_equal(vtadev_buf_read(buf, 0, &byte, 1), -EINVAL);
	vtadev_buf_free(buf);
}

/* In any order of frees, the file stays open until the last one. */
TEST_F(CARD, card_closed_before_buffer)
{
	struct vtadev *other = fake_open();
	int fd = vtadev_fd(other);
	struct vtadev_buf *buf;
	char byte = 1;

	assert_int_equal(vtadev_buf_alloc(other, SIZE, VTADEV_HOST, &buf), 0);
	vtadev_close(other);
	assert_int_equal(vtadev_buf_write(buf, 0, &byte, 1), 0);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	vtadev_buf_free(buf);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fake.buffers, 0);
}

TEST_F(CARD, nothing_to_free)
{
	fake.calls = 0;
	vtadev_buf_free(NULL);
	vtadev_queue_destroy(NULL);
	vtadev_close(NULL);
	vtadev_list_free(NULL);
	assert_int_equal(fake.calls, 0);
}
