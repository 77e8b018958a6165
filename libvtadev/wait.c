// SPDX-License-Identifier: Apache-2.0
/*
 * wait.c - see and wait for what a queue has completed
 */
#include <errno.h>

#include "arch.h"
#include "clock.h"
#include "dev.h"
#include "local/local.h"
#include "queue.h"

/* Polls between two readings of the counter. */
#define LOOKS		32

int vtadev_completed(struct vtadev_queue *queue, uint64_t *seq)
{
	struct status now;
	int err;

	/*
	 * The kernel clears the status page of a lost card with its buffers, under a lock that
	 * faults of both take. Reading the page after the caller has read a buffer
	 * shows whether its bytes were the card's.
	 */
	arch_rmb();
	err = status_read(queue, &now);
	if (err)
		return err;
	if (now.state == VTA_QUEUE_DISABLED) {
		err = status_running(queue, &now);
		if (err == -ENODEV)
			return err;
	}
	*seq = now.seq;
	return 0;
}

int vtadev_done(struct vtadev_queue *queue, uint64_t seq)
{
	struct status now;
	int err;

	if (seq > vtadev_submitted(queue))
		return -EINVAL;
	err = status_read(queue, &now);
	if (err)
		return err;
	if (now.seq >= seq)
		return 1;
	return status_running(queue, &now);
}

/* Poll for @ns from the start; returns as vtadev_done(). */
static int spin(struct vtadev_queue *queue, uint64_t seq, int64_t ns,
		const struct spin_start *start)
{
	int done;

	do {
		for (int i = 0; i < LOOKS; i++) {
			done = vtadev_done(queue, seq);
			if (done)
				return done;
			arch_relax();
		}
	} while (spin_elapsed(queue, start) < ns);
	return 0;
}

/* The kernel's answer: 0, or the error that vtadev_wait() returns. */
static int sleep_until(struct vtadev_queue *queue, uint64_t seq, int64_t deadline)
{
	struct vta_wait req = {
		.queue = queue->handle,
		.seq = seq,
		.deadline_ns = deadline,
	};

	return dev_ioctl(queue->dev, VTA_IOCTL_WAIT, &req);
}

/*
 * POLLIN stays until the kernel is asked about the queue again. A thread that has seen the armed
 * number complete without a system call must make one to clear POLLIN.
 */
void queue_drop_event(struct vtadev_queue *queue)
{
	uint64_t armed = atomic_load(&queue->armed);

	if (!armed || vtadev_done(queue, armed) != 1)
		return;
	sleep_until(queue, armed, 0);
	atomic_compare_exchange_strong(&queue->armed, &armed, 0);
}

/* As sleep_until(), in parts, after each of which the doorbell may be rung again. */
static int sleep_ringing(struct vtadev_queue *queue, uint64_t seq, int64_t deadline)
{
	int64_t until;
	int ret, err;

	do {
		until = queue_until(deadline);
		ret = sleep_until(queue, seq, until);
		err = ret == -ETIMEDOUT ? queue_ring_again(queue) : 0;
	} while (ret == -ETIMEDOUT && !err && until < deadline);
	return err ? err : ret;
}

int queue_confirmed(int done)
{
	if (done > 0)
		return 0;
	return done ? done : -EPROTO;
}

/* @timeout_ns counts from the start, and the clock is read only to sleep. */
static int spin_then_sleep(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns,
			   int64_t spin_ns, const struct spin_start *start)
{
	int ret;

	if (spin_ns) {
		if (timeout_ns >= 0 && timeout_ns < spin_ns)
			spin_ns = timeout_ns;
		ret = spin(queue, seq, spin_ns, start);
		if (ret)
			return ret < 0 ? ret : 0;
		if (timeout_ns >= 0) {
			timeout_ns -= spin_elapsed(queue, start);
			if (timeout_ns < 0)
				timeout_ns = 0;
		}
	}
	ret = sleep_ringing(queue, seq, clock_deadline(timeout_ns));
	return ret ? ret : queue_confirmed(vtadev_done(queue, seq));
}

int queue_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns)
{
	struct spin_start start;
	int64_t spin_ns;
	int ret;

	ret = vtadev_done(queue, seq);
	if (ret)
		return ret < 0 ? ret : 0;
	if (!timeout_ns) {
		ret = sleep_ringing(queue, seq, clock_deadline(0));
		return ret ? ret : queue_confirmed(vtadev_done(queue, seq));
	}
	if (queue->local && timeout_ns < 0) {
		local_help(queue->dev->local, queue->handle, seq);
		ret = vtadev_done(queue, seq);
		if (ret)
			return ret < 0 ? ret : 0;
	}
	spin_ns = spin_begin(queue, seq, &start);
	ret = spin_then_sleep(queue, seq, timeout_ns, spin_ns, &start);
	if (!ret)
		spin_end(queue, &start);
	return ret;
}

int vtadev_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns)
{
	int ret = queue_wait(queue, seq, timeout_ns);

	if (!ret)
		queue_drop_event(queue);
	return ret;
}

int vtadev_sync(struct vtadev_queue *queue, int64_t timeout_ns)
{
	return vtadev_wait(queue, vtadev_submitted(queue), timeout_ns);
}

int vtadev_arm(struct vtadev_queue *queue, uint64_t seq)
{
	struct vta_wait req = {
		.queue = queue->handle,
		.flags = VTA_WAIT_POLL,
		.seq = seq,
	};
	int ret;

	queue_drop_event(queue);
	ret = vtadev_done(queue, seq);
	if (ret)
		return ret;
	/* Before the system call, for other threads that wait meanwhile. */
	if (!atomic_load(&queue->event))
		atomic_store(&queue->armed, seq);
	ret = dev_ioctl(queue->dev, VTA_IOCTL_WAIT, &req);
	if (ret == -EAGAIN)
		return queue_ring_again(queue);
	atomic_store(&queue->armed, 0);
	if (ret)
		return ret;
	ret = queue_confirmed(vtadev_done(queue, seq));
	return ret ? ret : 1;
}

int vtadev_queue_eventfd(struct vtadev_queue *queue, int fd)
{
	struct vta_queue_event req = { .queue = queue->handle, .fd = fd };
	int ret;

	queue_drop_event(queue);
	ret = dev_ioctl(queue->dev, VTA_IOCTL_QUEUE_EVENT, &req);
	if (!ret)
		atomic_store(&queue->event, fd >= 0);
	return ret;
}
