// SPDX-License-Identifier: Apache-2.0
/*
 * fence.c - wait for any or all of several numbers, of several queues and cards
 */
#include <errno.h>

#include "arch.h"
#include "clock.h"
#include "dev.h"
#include "local/local.h"
#include "queue.h"

/* Rounds of checks between two readings of the counter. */
#define ROUNDS		8

/* One wait. The caller's arguments do not change. */
struct many {
	const struct vtadev_fence *fences;
	unsigned int n;
	bool any;
	unsigned int index;		/* the queue that the result is about */
	bool waits[VTADEV_FENCES_MAX];	/* those that were not reached at first */
	struct spin_start starts[VTADEV_FENCES_MAX];
};

/*
 * As vtadev_done(), for all: 1 if the wait is over, 0 if not yet. If one fence is enough, a
 * reached fence takes precedence over an error.
 */
static int check_fences(struct many *m)
{
	unsigned int reached = 0;
	int err = 0;

	for (unsigned int i = 0; i < m->n; i++) {
		int done = vtadev_done(m->fences[i].queue, m->fences[i].seq);

		reached += done > 0;
		if ((done > 0 && m->any) || (done < 0 && !err))
			m->index = i;
		if (done > 0 && m->any)
			return 1;
		if (done < 0 && !err)
			err = done;
	}
	return err ? err : reached == m->n;
}

/* Spin only if completions come soon: for any, one of them; for all, each of them. */
static int64_t begin(struct many *m)
{
	int64_t most = 0, least = INT64_MAX;

	for (unsigned int i = 0; i < m->n; i++) {
		const struct vtadev_fence *fence = &m->fences[i];
		int64_t ns;

		m->waits[i] = !vtadev_done(fence->queue, fence->seq);
		if (!m->waits[i])
			continue;
		ns = spin_begin(fence->queue, fence->seq, &m->starts[i]);
		if (ns > most)
			most = ns;
		if (ns < least)
			least = ns;
	}
	return m->any || least ? most : 0;
}

static void end(struct many *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		const struct vtadev_fence *fence = &m->fences[i];

		if (vtadev_done(fence->queue, fence->seq) != 1)
			continue;
		if (m->waits[i])
			spin_end(fence->queue, &m->starts[i]);
		queue_drop_event(fence->queue);
	}
}

/* Poll for @ns; returns as check_fences(). */
static int spin(struct many *m, int64_t ns, const struct spin_start *start)
{
	int ret;

	do {
		for (int i = 0; i < ROUNDS; i++) {
			ret = check_fences(m);
			if (ret)
				return ret;
			arch_relax();
		}
	} while (spin_elapsed(m->fences[0].queue, start) < ns);
	return 0;
}

static int sleep_locally(struct many *m, int64_t deadline, int cancel_fd)
{
	int ret = local_wait_fences(m->fences, m->n, m->any, deadline, cancel_fd, &m->index);

	return ret ? ret : queue_confirmed(check_fences(m));
}

static int sleep_until(struct many *m, int64_t deadline, int cancel_fd)
{
	struct vta_fence raw[VTADEV_FENCES_MAX];
	struct vta_wait_many req = {
		.fences = (uintptr_t)raw,
		.count = m->n,
		.flags = (m->any ? VTA_WAIT_ANY : 0) |
			 (cancel_fd >= 0 ? VTA_WAIT_CANCEL : 0),
		.deadline_ns = deadline,
		.cancel_fd = cancel_fd >= 0 ? cancel_fd : 0,
	};
	unsigned int in_process = 0;
	int ret;

	for (unsigned int i = 0; i < m->n; i++)
		in_process += !!m->fences[i].queue->local;
	if (in_process)
		return in_process < m->n ? -EOPNOTSUPP : sleep_locally(m, deadline, cancel_fd);
	for (unsigned int i = 0; i < m->n; i++)
		raw[i] = (struct vta_fence){
			.fd = m->fences[i].queue->dev->fd,
			.queue = m->fences[i].queue->handle,
			.seq = m->fences[i].seq,
		};
	ret = dev_ioctl(m->fences[0].queue->dev, VTA_IOCTL_WAIT_MANY, &req);
	if (ret) {
		m->index = req.index;
		return ret;
	}
	return queue_confirmed(check_fences(m));
}

/* Ring the doorbells of all queues that are waited for again. */
static int ring_again(struct many *m)
{
	int err;

	for (unsigned int i = 0; i < m->n; i++) {
		err = queue_ring_again(m->fences[i].queue);
		if (err) {
			m->index = i;
			return err;
		}
	}
	return 0;
}

/* As sleep_until(), in parts, after each of which doorbells may be rung again. */
static int sleep_for(struct many *m, int64_t deadline, int cancel_fd)
{
	int64_t until;
	int ret, err;

	do {
		until = queue_until(deadline);
		ret = sleep_until(m, until, cancel_fd);
		err = ret == -ETIMEDOUT ? ring_again(m) : 0;
	} while (ret == -ETIMEDOUT && !err && until < deadline);
	return err ? err : ret;
}

/* As check_fences(); @timeout_ns counts from the start. */
static int spin_then_sleep(struct many *m, int64_t timeout_ns, int cancel_fd)
{
	struct spin_start start = { .ticks = arch_ticks() };
	int64_t ns = begin(m);
	int ret;

	if (timeout_ns >= 0 && timeout_ns < ns)
		ns = timeout_ns;
	/* The last fence may have been reached just now: then there is no reason to spin. */
	ret = ns ? spin(m, ns, &start) : check_fences(m);
	if (ret)
		return ret < 0 ? ret : 0;
	if (timeout_ns > 0) {
		timeout_ns -= spin_elapsed(m->fences[0].queue, &start);
		if (timeout_ns < 0)
			timeout_ns = 0;
	}
	return sleep_for(m, clock_deadline(timeout_ns), cancel_fd);
}

static int wait_many(struct many *m, int64_t timeout_ns, int cancel_fd, unsigned int *index)
{
	int ret;

	if (!m->n || m->n > VTADEV_FENCES_MAX)
		return -EINVAL;
	ret = check_fences(m);
	if (!ret) {
		ret = spin_then_sleep(m, timeout_ns, cancel_fd);
		if (!ret)
			end(m);
	} else if (ret > 0) {
		ret = 0;
		for (unsigned int i = 0; i < m->n; i++)
			queue_drop_event(m->fences[i].queue);
	}
	if (index)
		*index = m->index;
	return ret;
}

int vtadev_wait_any(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index)
{
	struct many m;

	m.fences = fences;
	m.n = n;
	m.any = true;
	m.index = 0;
	return wait_many(&m, timeout_ns, cancel_fd, index);
}

int vtadev_wait_all(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index)
{
	struct many m;

	m.fences = fences;
	m.n = n;
	m.any = false;
	m.index = 0;
	return wait_many(&m, timeout_ns, cancel_fd, index);
}
