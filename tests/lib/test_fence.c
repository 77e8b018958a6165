// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fence.c - any and all of several numbers; eventfds: what the kernel is
 * asked, and when it is not
 */
#include <errno.h>

#include "../frame.h"
#include "fake.h"
#include "queue.h"

static struct vtadev *dev;
static struct vtadev_queue *q;
static struct vtadev_fence fences[3];

static int setup(void **state)
{
	struct vta_desc descs[4];

	fake_setup(state);
	dev = fake_open();
	q = fake_queue(dev, 8);
	for (int i = 0; i < 4; i++)
		descs[i] = vtadev_desc_nop();
	assert_int_equal(vtadev_submit(q, descs, 4, NULL), 0);
	for (unsigned int i = 0; i < 3; i++)
		fences[i] = (struct vtadev_fence){ q, 4 - i };
	fake.calls = 0;
	return 0;
}

static int teardown(void **state)
{
	fake.fail = 0;
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define FENCES void *unused, setup, teardown

/* Polls of the library, by the linker's --wrap, until all have completed. */
static unsigned int looks;

int __real_vtadev_done(struct vtadev_queue *queue, uint64_t seq);
int __wrap_vtadev_done(struct vtadev_queue *queue, uint64_t seq);

int __wrap_vtadev_done(struct vtadev_queue *queue, uint64_t seq)
{
	int done = __real_vtadev_done(queue, seq);

	if (looks && !--looks)
		fake_complete(4);
	return done;
}

static void complete_two(struct fake *f)
{
	(void)f;
	fake_complete(2);
}

static void complete_all(struct fake *f)
{
	(void)f;
	fake_complete(4);
}

TEST_F(FENCES, already_done)
{
	unsigned int index = 9;

	fake_complete(3);
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(vtadev_wait_any(fences, 3, 0, -1, NULL), 0);
	fake_complete(4);
	assert_int_equal(vtadev_wait_all(fences, 3, -1, -1, &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(fake.calls, 0);
}

/* Whenever they complete between the first poll and going to sleep. */
TEST_F(FENCES, done_after_the_first_look)
{
	for (unsigned int n = 1; n <= 6; n++) {
		fake_complete(0);
		atomic_store(&q->seen, 0);
		looks = n;
		assert_int_equal(n & 1 ? vtadev_wait_any(fences, 3, -1, -1, NULL) :
					 vtadev_wait_all(fences, 3, -1, -1, NULL), 0);
		assert_int_equal(looks, 0);
	}
	assert_int_equal(fake.calls, 0);
}

TEST_F(FENCES, any_asks_the_kernel)
{
	unsigned int index = 9;

	fake.on_wait = complete_two;
	fake.index = 2;
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, &index), 0);
	assert_int_equal(index, 2);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.many.count, 3);
	assert_int_equal(fake.many.flags, VTA_WAIT_ANY);
	assert_int_equal(fake.many.cancel_fd, 0);
	assert_true(fake.many.deadline_ns != VTA_WAIT_FOREVER);	/* see queue_ring_again() */
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(fake.fences[i].fd, vtadev_fd(dev));
		assert_int_equal(fake.fences[i].queue, 7);
		assert_int_equal(fake.fences[i].seq, 4 - i);
	}
}

TEST_F(FENCES, all_asks_the_kernel)
{
	fake.on_wait = complete_all;
	assert_int_equal(vtadev_wait_all(fences, 3, 1000000, 5, NULL), 0);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.many.flags, VTA_WAIT_CANCEL);
	assert_int_equal(fake.many.cancel_fd, 5);
	assert_true(fake.many.deadline_ns != VTA_WAIT_FOREVER);
}

TEST_F(FENCES, passes_errors_on)
{
	static const int errors[] = { ETIMEDOUT, ECANCELED, EIO, ENODEV, ENOENT, ENOMEM, EBADF };
	unsigned int index;

	fake.index = 1;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.wait_errno = errors[i];
		index = 9;
		assert_int_equal(vtadev_wait_any(fences, 3, 1000, 5, &index), -errors[i]);
		assert_int_equal(index, 1);
		assert_int_equal(vtadev_wait_all(fences, 3, 1000, 5, NULL), -errors[i]);
	}
}

TEST_F(FENCES, continues_after_signals)
{
	fake.interrupts = 2;
	fake.on_wait = complete_all;
	assert_int_equal(vtadev_wait_all(fences, 3, -1, -1, NULL), 0);
	assert_int_equal(fake.calls, 3);
}

TEST_F(FENCES, wrong_requests)
{
	unsigned int index = 9;

	assert_int_equal(vtadev_wait_any(fences, 0, -1, -1, NULL), -EINVAL);
	assert_int_equal(vtadev_wait_all(fences, VTADEV_FENCES_MAX + 1, -1, -1, NULL), -EINVAL);
	fences[1].seq = 5;
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, &index), -EINVAL);
	assert_int_equal(index, 1);
	assert_int_equal(vtadev_wait_all(fences, 3, -1, -1, &index), -EINVAL);
	assert_int_equal(index, 1);
	assert_int_equal(fake.calls, 0);
	fences[1].seq = 3;
}

TEST_F(FENCES, halted)
{
	unsigned int index = 9;

	fake_complete(2);
	fake_state(VTA_QUEUE_HALTED);
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, &index), 0);
	assert_int_equal(index, 2);
	assert_int_equal(vtadev_wait_any(fences, 2, -1, -1, &index), -EIO);
	assert_int_equal(index, 0);
	assert_int_equal(vtadev_wait_all(fences, 3, -1, -1, &index), -EIO);
	assert_int_equal(index, 0);
	assert_int_equal(fake.calls, 0);
}

/* The kernel reports done, and the page does not. */
TEST_F(FENCES, kernel_and_card_disagree)
{
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, NULL), -EPROTO);
	fake.on_wait = complete_two;
	assert_int_equal(vtadev_wait_all(fences, 3, -1, -1, NULL), -EPROTO);
}

TEST_F(FENCES, eventfd_instead_of_poll)
{
	assert_int_equal(vtadev_queue_eventfd(q, 12), 0);
	assert_int_equal(fake.event.queue, 7);
	assert_int_equal(fake.event.fd, 12);
	fake.wait_errno = EAGAIN;
	assert_int_equal(vtadev_arm(q, 3), 0);
	fake.wait_errno = 0;
	fake.calls = 0;

	/* There is no POLLIN that would have to be taken back. */
	fake_complete(3);
	assert_int_equal(vtadev_wait(q, 3, -1), 0);
	assert_int_equal(vtadev_wait_all(fences + 1, 2, -1, -1, NULL), 0);
	assert_int_equal(fake.calls, 0);

	assert_int_equal(vtadev_queue_eventfd(q, -1), 0);
	assert_int_equal(fake.event.fd, -1);
	fake.fail = EBADF;
	assert_int_equal(vtadev_queue_eventfd(q, 99), -EBADF);
}

TEST_F(FENCES, event_is_dropped)
{
	fake.wait_errno = EAGAIN;
	assert_int_equal(vtadev_arm(q, 3), 0);
	fake.wait_errno = 0;
	fake.calls = 0;
	fake_complete(3);
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, NULL), 0);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.wait.seq, 3);
	assert_int_equal(vtadev_wait_any(fences, 3, -1, -1, NULL), 0);
	assert_int_equal(fake.calls, 1);
}
