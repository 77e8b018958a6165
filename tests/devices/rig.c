// SPDX-License-Identifier: GPL-2.0-only
/*
 * rig.c - a device with a queue, opened for each test
 */
#include <errno.h>

#include "rig.h"

const char *rig_device = "soft";
struct vtadev *dev;
struct vtadev_queue *q;

struct vtadev_queue *queue(unsigned int flags)
{
	const struct vtadev_queue_opts opts = { .ring_entries = 16, .flags = flags };
	struct vtadev_queue *made = NULL;

	assert_int_equal(vtadev_queue_create(dev, &opts, &made), 0);
	return made;
}

int rig_setup(void **state)
{
	(void)state;
	assert_int_equal(vtadev_open(rig_device, &dev), 0);
	q = queue(0);
	return 0;
}

int rig_teardown(void **state)
{
	(void)state;
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return 0;
}

struct vtadev_buf *buffer(size_t size, unsigned int flags)
{
	struct vtadev_buf *buf = NULL;

	assert_int_equal(vtadev_buf_alloc(dev, size, flags, &buf), 0);
	return buf;
}

uint64_t submit(struct vtadev_queue *to, struct vta_desc desc)
{
	uint64_t seq = 0;

	assert_int_equal(vtadev_submit(to, &desc, 1, &seq), 0);
	return seq;
}

void works(struct vta_desc desc)
{
	assert_int_equal(vtadev_wait(q, submit(q, desc), FOREVER), 0);
}

struct vtadev_fault fails(struct vta_desc desc)
{
	struct vtadev_fault fault = { 0 };
	uint64_t seq = submit(q, desc);

	assert_int_equal(vtadev_wait(q, seq, FOREVER), -EIO);
	assert_int_equal(vtadev_fault(q, &fault), 0);
	assert_int_equal(fault.seq, seq);
	return fault;
}
