// SPDX-License-Identifier: Apache-2.0
/*
 * wait.c - see and wait for what a queue has completed
 */
#include <errno.h>
#include <time.h>

#include "arch.h"
#include "dev.h"
#include "queue.h"
#include "status.h"

#define NS_PER_S	1000000000ll
/* Looks between two readings of the clock. */
#define LOOKS		32

int vtadev_completed(struct vtadev_queue *queue, uint64_t *seq)
{
	struct status now;
	int err;

	err = status_look(queue, &now);
	if (err)
		return err;
	if (now.state == VTA_QUEUE_DISABLED)
		return -ENODEV;
	*seq = now.seq;
	return 0;
}

int vtadev_done(struct vtadev_queue *queue, uint64_t seq)
{
	struct status now;
	int err;

	if (seq > vtadev_submitted(queue))
		return -EINVAL;
	err = status_look(queue, &now);
	if (err)
		return err;
	if (now.seq >= seq)
		return 1;
	return status_running(&now);
}

/* A system call only in name: the vDSO answers. */
static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t deadline_of(int64_t timeout_ns)
{
	int64_t deadline;

	if (timeout_ns < 0 ||
	    __builtin_add_overflow(now_ns(), timeout_ns, &deadline))
		return VTA_WAIT_FOREVER;
	return deadline;
}

/* Look until @end; as vtadev_done(). */
static int spin(struct vtadev_queue *queue, uint64_t seq, int64_t end)
{
	int done;

	do {
		for (int i = 0; i < LOOKS; i++) {
			done = vtadev_done(queue, seq);
			if (done)
				return done;
			arch_relax();
		}
	} while (now_ns() < end);
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
 * POLLIN stays until the kernel is asked about the queue again. Who has seen
 * the number that was armed without asking has to do so for that alone.
 */
static void drop_event(struct vtadev_queue *queue)
{
	uint64_t armed = atomic_load(&queue->armed);

	if (!armed || vtadev_done(queue, armed) != 1)
		return;
	sleep_until(queue, armed, 0);
	atomic_compare_exchange_strong(&queue->armed, &armed, 0);
}

/* From vtadev_done() after the kernel has said that @seq is reached. */
static int confirmed(int done)
{
	if (done > 0)
		return 0;
	return done ? done : -EPROTO;
}

static int wait_for(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns)
{
	int64_t deadline, end;
	int ret;

	ret = vtadev_done(queue, seq);
	if (ret)
		return ret < 0 ? ret : 0;

	deadline = deadline_of(timeout_ns);
	if (queue->spin_ns && timeout_ns) {
		end = now_ns() + queue->spin_ns;
		ret = spin(queue, seq, end < deadline ? end : deadline);
		if (ret)
			return ret < 0 ? ret : 0;
	}
	ret = sleep_until(queue, seq, deadline);
	return ret ? ret : confirmed(vtadev_done(queue, seq));
}

int vtadev_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns)
{
	int ret = wait_for(queue, seq, timeout_ns);

	if (!ret)
		drop_event(queue);
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

	drop_event(queue);
	ret = vtadev_done(queue, seq);
	if (ret)
		return ret;
	/* Before the kernel knows, for others who wait meanwhile. */
	atomic_store(&queue->armed, seq);
	ret = dev_ioctl(queue->dev, VTA_IOCTL_WAIT, &req);
	if (ret == -EAGAIN)
		return 0;
	atomic_store(&queue->armed, 0);
	if (ret)
		return ret;
	ret = confirmed(vtadev_done(queue, seq));
	return ret ? ret : 1;
}
