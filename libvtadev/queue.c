// SPDX-License-Identifier: Apache-2.0
/*
 * queue.c - create and destroy queues, and submit to them
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch.h"
#include "clock.h"
#include "dev.h"
#include "local/local.h"
#include "queue.h"
#include "trace.h"

static size_t ring_size(const struct vtadev_queue *queue)
{
	return queue->entries * sizeof(*queue->ring);
}

static void free_queue(struct vtadev_queue *queue)
{
	struct vta_queue_destroy req = { .queue = queue->handle };

	/* Fails if the card was reset; then the kernel frees on close. In a child it fails, too. */
	dev_ioctl(queue->dev, VTA_IOCTL_QUEUE_DESTROY, &req);
	dev_unmap(queue->dev, queue->doorbell, queue->page);
	dev_unmap(queue->dev, queue->status, queue->page);
	dev_unmap(queue->dev, queue->ring, ring_size(queue));
	dev_put(queue->dev);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

static int ring_entries(const struct vtadev *dev, uint32_t asked, uint32_t *entries)
{
	uint32_t most = dev->info.ring_entries_max;

	if (!asked)
		asked = most < VTADEV_RING_ENTRIES_DEFAULT ?
			most : VTADEV_RING_ENTRIES_DEFAULT;
	if (asked > most || asked & (asked - 1))
		return -EINVAL;
	*entries = asked;
	return 0;
}

static int64_t spin_time(int32_t asked)
{
	if (asked < 0)
		return 0;
	return asked ? asked : VTADEV_SPIN_NS_DEFAULT;
}

int vtadev_queue_create(struct vtadev *dev, const struct vtadev_queue_opts *opts,
			struct vtadev_queue **out)
{
	static const struct vtadev_queue_opts defaults;
	struct vta_queue_create req = { 0 };
	struct vtadev_queue *queue;
	uint32_t entries;
	int err;

	if (!opts)
		opts = &defaults;
	if (opts->flags & ~(VTADEV_QUEUE_SHARED | VTADEV_QUEUE_BLOCK | VTADEV_QUEUE_KEEP))
		return -EINVAL;
	err = ring_entries(dev, opts->ring_entries, &entries);
	if (err)
		return err;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;

	req.flags = opts->flags & VTADEV_QUEUE_KEEP ? VTA_QUEUE_KEEP : 0;
	req.priority = opts->priority;
	req.ring_order = (uint32_t)__builtin_ctz(entries);
	req.max_cycles = opts->max_cycles;
	err = dev_ioctl(dev, VTA_IOCTL_QUEUE_CREATE, &req);
	if (err) {
		free(queue);
		return err;
	}

	queue->dev = dev_get(dev);
	queue->handle = req.queue;
	queue->entries = entries;
	queue->shared = opts->flags & VTADEV_QUEUE_SHARED;
	queue->block = opts->flags & VTADEV_QUEUE_BLOCK;
	pthread_mutex_init(&queue->lock, NULL);
	spin_init(&queue->spin, spin_time(opts->spin_ns), clock_rate(&dev->opened));
	queue->copy_min = opts->copy_min ? opts->copy_min : VTADEV_COPY_MIN_DEFAULT;
	queue->page = req.doorbell_size;
	atomic_init(&queue->submitting, false);
	atomic_init(&queue->checking, false);
	atomic_init(&queue->submitted, 0);
	atomic_init(&queue->seen, 0);
	atomic_init(&queue->armed, 0);
	atomic_init(&queue->event, false);
	queue->ring = dev_map(dev, ring_size(queue), PROT_READ | PROT_WRITE, req.ring_offset);
	queue->status = dev_map(dev, queue->page, PROT_READ, req.status_offset);
	queue->doorbell = dev_map(dev, queue->page, PROT_READ | PROT_WRITE, req.doorbell_offset);
	if (!queue->ring || !queue->status || !queue->doorbell) {
		err = errno == ENODEV ? -ENODEV : -ENOMEM;
		free_queue(queue);
		return err;
	}
	if (dev->local)
		queue->local = local_queue(dev->local, queue->handle);
	queue->trace = trace_open(queue);
	*out = queue;
	return 0;
}

void vtadev_queue_destroy(struct vtadev_queue *queue)
{
	if (!queue)
		return;
	if (queue->trace)
		trace_close(queue->trace);
	free_queue(queue);
}

/* Descriptor number k, from 1, is at index (k - 1) mod entries. */
static void copy_to_ring(struct vtadev_queue *queue, uint64_t submitted,
			 const struct vta_desc *descs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		queue->ring[(submitted + i) & (queue->entries - 1)] = descs[i];
}

/* All that was written before arrives before the doorbell does. */
static void ring_doorbell(const struct vtadev_queue *queue, uint64_t submitted)
{
	arch_wmb();
	*queue->doorbell = htole32((uint32_t)submitted);
	/* A card sees the store; a device in this process must be woken. */
	if (__builtin_expect(!!queue->local, 0))
		local_doorbell(queue->local);
}

/* The number that must have completed for @n descriptors to have room. */
static uint64_t room_for(const struct vtadev_queue *queue, uint32_t n)
{
	uint64_t last = vtadev_submitted(queue) + n;

	return last > queue->entries ? last - queue->entries : 0;
}

static int put_descs(struct vtadev_queue *queue, const struct vta_desc *descs,
		     uint32_t n, uint64_t *seq)
{
	struct status now;
	uint64_t submitted;
	int err;

	err = status_read(queue, &now);
	if (!err)
		err = status_running(queue, &now);
	if (err)
		return err;
	submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
	/* Cannot be negative: what was seen never exceeds what was submitted. */
	if (n > queue->entries - (submitted - now.seq))
		return -EAGAIN;

	copy_to_ring(queue, submitted, descs, n);
	if (__builtin_expect(!!queue->trace, 0))
		trace_submit(queue->trace, submitted, n, now.seq);
	submitted += n;
	/* Before the doorbell: a number seen as completed must be seen as submitted. */
	atomic_store_explicit(&queue->submitted, submitted, memory_order_release);
	ring_doorbell(queue, submitted);
	if (seq)
		*seq = submitted;
	return 0;
}

static int try_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
		      unsigned int n, uint64_t *seq)
{
	int err;

	if (!n || n > queue->entries)
		return -EINVAL;
	if (__builtin_expect(dev_is_parents(queue->dev), 0))
		return -ECHILD;
	queue_lock(queue);
	err = put_descs(queue, descs, n, seq);
	queue_unlock(queue);
	return err;
}

/* Others may be quicker to take the room, so that it is waited for again. */
static int submit_until(struct vtadev_queue *queue, const struct vta_desc *descs,
			unsigned int n, int64_t deadline, uint64_t *seq)
{
	int64_t left = -1;
	int err;

	do {
		if (deadline != VTA_WAIT_FOREVER) {
			left = deadline - clock_ns();
			if (left < 0)
				left = 0;
		}
		err = queue_wait(queue, room_for(queue, n), left);
		if (!err)
			err = try_submit(queue, descs, n, seq);
	} while (err == -EAGAIN);
	return err;
}

int vtadev_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
		  unsigned int n, uint64_t *seq)
{
	int err = try_submit(queue, descs, n, seq);

	if (err == -EAGAIN && queue->block)
		err = submit_until(queue, descs, n, VTA_WAIT_FOREVER, seq);
	return err;
}

int vtadev_submit_wait(struct vtadev_queue *queue, const struct vta_desc *descs,
		       unsigned int n, int64_t timeout_ns, uint64_t *seq)
{
	int err = try_submit(queue, descs, n, seq);

	if (err == -EAGAIN)
		err = submit_until(queue, descs, n, clock_deadline(timeout_ns), seq);
	return err;
}

int vtadev_wait_room(struct vtadev_queue *queue, unsigned int n, int64_t timeout_ns)
{
	if (!n || n > queue->entries)
		return -EINVAL;
	return queue_wait(queue, room_for(queue, n), timeout_ns);
}

void vtadev_kick(struct vtadev_queue *queue)
{
	if (dev_is_parents(queue->dev))
		return;
	/* A number that another thread has just exceeded would not be the same. */
	queue_lock(queue);
	ring_doorbell(queue, vtadev_submitted(queue));
	queue_unlock(queue);
}

int64_t queue_until(int64_t deadline)
{
	int64_t until = clock_ns() + RING_AGAIN_NS;

	return deadline < until ? deadline : until;
}

/* Returns true if there has been no progress for RING_AGAIN_NS; then the time begins again. */
static bool is_stalled(struct vtadev_queue *queue, const struct status *status)
{
	struct ring_again *again = &queue->again;
	uint64_t submitted = vtadev_submitted(queue);
	int64_t now = clock_ns();

	if (status->state != VTA_QUEUE_ACTIVE || status->seq == submitted ||
	    status->seq != again->seq || submitted != again->submitted) {
		*again = (struct ring_again){
			.seq = status->seq, .submitted = submitted, .since = now,
		};
		return false;
	}
	if (now - again->since < RING_AGAIN_NS)
		return false;
	again->since = now;
	return true;
}

/*
 * Returns false if another thread submits, which rings as well. While no thread can submit, the
 * number is not below SEQ, at which the queue would halt.
 */
static bool ring_if_idle(struct vtadev_queue *queue)
{
	if (atomic_exchange_explicit(&queue->submitting, true, memory_order_acquire))
		return false;
	ring_doorbell(queue, vtadev_submitted(queue));
	atomic_store_explicit(&queue->submitting, false, memory_order_release);
	return true;
}

/* Ring, and count if the card does not: its counter also counts other queues' doorbells. */
static void ring_again(struct vtadev_queue *queue)
{
	uint64_t before, after;
	int err = dev_doorbells(queue->dev, &before);

	if (ring_if_idle(queue) && !err && !dev_doorbells(queue->dev, &after) && before == after)
		queue->again.deaf++;
	else
		queue->again.deaf = 0;
}

int queue_ring_again(struct vtadev_queue *queue)
{
	struct status status;
	int err;

	if (atomic_exchange_explicit(&queue->checking, true, memory_order_acquire))
		return 0;
	err = status_read(queue, &status);
	if (!err && is_stalled(queue, &status))
		ring_again(queue);
	if (!err && queue->again.deaf >= RING_AGAIN_MAX)
		err = -EPROTO;
	atomic_store_explicit(&queue->checking, false, memory_order_release);
	return err;
}

uint32_t vtadev_queue_entries(const struct vtadev_queue *queue)
{
	return queue->entries;
}

uint64_t vtadev_submitted(const struct vtadev_queue *queue)
{
	return atomic_load_explicit(&queue->submitted, memory_order_acquire);
}
