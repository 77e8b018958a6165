// SPDX-License-Identifier: Apache-2.0
/*
 * local_wait.c - waiting for queues of cards in the process
 *
 * A wait that sleeps has an alarm, and a waiter at each of its queues. The card rings the alarm
 * when a waiter's number is reached, or never will be. An alarm is a condition, which takes a
 * system call to sleep and one to wake; if a file can cancel the wait, too, it is an eventfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "dev.h"
#include "fd.h"
#include "local_impl.h"
#include "queue.h"

/* A number cannot be further ahead of what has completed. */
#define AHEAD_MAX	(1ull << 31)

bool local_is_eventfd(int fd)
{
	char path[48], line[64];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "eventfd-count:", strlen("eventfd-count:"));
	fclose(file);
	return found;
}

/* With the lock: 1 if it is reached, 0 if not yet, or why it never will be. */
static int state_of(const struct local *card, const struct local_queue *q, uint64_t seq)
{
	if (card->lost)
		return -ENODEV;
	if (!q)
		return -ENOENT;
	if (q->seq >= seq)
		return 1;
	if (seq - q->seq >= AHEAD_MAX)
		return -EINVAL;
	return q->state == VTA_QUEUE_HALTED ? -EIO : 0;
}

static void add_to(int event)
{
	const uint64_t one = 1;

	/* Fails only if very many are there already. */
	if (write(event, &one, sizeof(one)) < 0)
		return;
}

/* With a card's lock */
static void ring(struct local_alarm *alarm)
{
	if (alarm->event >= 0) {
		add_to(alarm->event);
		return;
	}
	pthread_mutex_lock(&alarm->lock);
	alarm->rung = true;
	pthread_mutex_unlock(&alarm->lock);
	/* The waiter takes the card's lock before it frees the alarm. */
	pthread_cond_signal(&alarm->wake);
}

/* The number that poll() or the queue's eventfd reports. */
static void tell_poll(struct local_queue *q)
{
	bool reached = q->poll_seq && q->seq >= q->poll_seq;

	if (q->event >= 0 && (reached || q->state != VTA_QUEUE_ACTIVE))
		add_to(q->event);
	if (!reached)
		return;
	q->poll_seq = 0;
	if (q->event < 0) {
		q->poll_hit = true;
		local_poll_update(q->card);
	}
}

void local_tell(struct local_queue *q)
{
	struct local *card = q->card;
	bool gone = local_find(card, q->handle) != q;

	for (struct local_waiter *w = q->waiters; w; w = w->next) {
		if (gone || state_of(card, q, w->seq))
			ring(w->alarm);
		if (gone)
			w->queue = NULL;
	}
	tell_poll(q);
}

/* ---- One wait ---- */

struct point {
	struct local *card;
	uint32_t queue;
	struct local_waiter waiter;
};

struct wait {
	struct point *points;
	unsigned int n;
	bool any;
	bool linked;
	unsigned int index;	/* the fence that the result is about */
};

static int check_point(const struct wait *wait, const struct point *point)
{
	struct local *card = point->card;
	struct local_queue *q;
	int state;

	pthread_mutex_lock(&card->lock);
	q = wait->linked ? point->waiter.queue : local_find(card, point->queue);
	state = state_of(card, q, point->waiter.seq);
	pthread_mutex_unlock(&card->lock);
	return state;
}

/* 1: over; 0: not yet. If one fence is enough, a reached one takes precedence over an error. */
static int check_points(struct wait *wait)
{
	unsigned int reached = 0;
	int err = 0;

	for (unsigned int i = 0; i < wait->n; i++) {
		int state = check_point(wait, &wait->points[i]);

		reached += state > 0;
		if ((state > 0 && wait->any) || (state < 0 && !err))
			wait->index = i;
		if (state > 0 && wait->any)
			return 1;
		if (state < 0 && !err)
			err = state;
	}
	return err ? err : reached == wait->n;
}

static void link_waiters(struct wait *wait, struct local_alarm *alarm)
{
	for (unsigned int i = 0; i < wait->n; i++) {
		struct point *point = &wait->points[i];
		struct local_waiter *w = &point->waiter;

		pthread_mutex_lock(&point->card->lock);
		w->alarm = alarm;
		w->queue = local_find(point->card, point->queue);
		if (w->queue) {
			w->next = w->queue->waiters;
			w->queue->waiters = w;
		}
		pthread_mutex_unlock(&point->card->lock);
	}
	wait->linked = true;
}

static void unlink_waiters(struct wait *wait)
{
	for (unsigned int i = 0; i < wait->n; i++) {
		struct point *point = &wait->points[i];
		struct local_waiter **at;

		pthread_mutex_lock(&point->card->lock);
		if (point->waiter.queue) {
			at = &point->waiter.queue->waiters;
			while (*at != &point->waiter)
				at = &(*at)->next;
			*at = point->waiter.next;
		}
		point->waiter.alarm = NULL;
		pthread_mutex_unlock(&point->card->lock);
	}
	wait->linked = false;
}

/* Until the alarm is rung: 0, or -ETIMEDOUT at the deadline. */
static int sleep_on_condition(struct local_alarm *alarm, int64_t deadline)
{
	const struct timespec until = { .tv_sec = deadline / NS_PER_S,
					.tv_nsec = deadline % NS_PER_S };
	int err = 0;

	pthread_mutex_lock(&alarm->lock);
	while (!alarm->rung && !err)
		err = deadline == VTA_WAIT_FOREVER ?
			pthread_cond_wait(&alarm->wake, &alarm->lock) :
			pthread_cond_timedwait(&alarm->wake, &alarm->lock, &until);
	alarm->rung = false;
	pthread_mutex_unlock(&alarm->lock);
	return -err;
}

/* Until the alarm is rung, the wait is cancelled or it times out: 0, or an error. */
static int sleep_until(struct local_alarm *alarm, int64_t deadline, int cancel_fd)
{
	struct pollfd fds[] = {
		{ .fd = alarm->event, .events = POLLIN },
		{ .fd = cancel_fd, .events = POLLIN },
	};
	int64_t left = deadline - clock_ns();
	const struct timespec ts = { .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
	uint64_t told;
	int n;

	if (left <= 0)
		return -ETIMEDOUT;
	if (alarm->event < 0)
		return sleep_on_condition(alarm, deadline);
	n = ppoll(fds, 2, deadline == VTA_WAIT_FOREVER ? NULL : &ts, NULL);
	if (n < 0)
		return errno == EINTR ? 0 : -ENOMEM;
	if (!n)
		return -ETIMEDOUT;
	if (fds[0].revents && read(alarm->event, &told, sizeof(told)) < 0)
		return 0;
	return fds[1].revents ? -ECANCELED : 0;
}

static int open_alarm(struct local_alarm *alarm, int cancel_fd)
{
	pthread_condattr_t attr;

	*alarm = (struct local_alarm){ .event = -1 };
	if (cancel_fd >= 0) {
		alarm->event = fd_above_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		return alarm->event < 0 ? -ENOMEM : 0;
	}
	pthread_mutex_init(&alarm->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&alarm->wake, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

static void close_alarm(struct local_alarm *alarm)
{
	if (alarm->event >= 0) {
		close(alarm->event);
		return;
	}
	pthread_cond_destroy(&alarm->wake);
	pthread_mutex_destroy(&alarm->lock);
}

static int sleep_for(struct wait *wait, int64_t deadline, int cancel_fd)
{
	struct local_alarm alarm;
	int err = open_alarm(&alarm, cancel_fd), ret;

	if (err)
		return err;
	link_waiters(wait, &alarm);
	do {
		ret = check_points(wait);
		if (!ret && !err)
			err = sleep_until(&alarm, deadline, cancel_fd);
		else
			break;
	} while (true);
	unlink_waiters(wait);
	close_alarm(&alarm);
	if (ret)
		return ret < 0 ? ret : 0;
	wait->index = 0;
	return err;
}

static int wait_for(struct wait *wait, int64_t deadline, int cancel_fd)
{
	int ret;

	if (cancel_fd >= 0 && !local_is_eventfd(cancel_fd))
		return fcntl(cancel_fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
	ret = check_points(wait);
	if (ret)
		return ret < 0 ? ret : 0;
	if (cancel_fd < 0 && deadline <= clock_ns())
		return -ETIMEDOUT;
	return sleep_for(wait, deadline, cancel_fd);
}

int local_wait_fences(const struct vtadev_fence *fences, unsigned int n, bool any,
		      int64_t deadline, int cancel_fd, unsigned int *index)
{
	struct point points[VTADEV_FENCES_MAX];
	struct wait wait = { .points = points, .n = n, .any = any };
	int cancel, err;

	for (unsigned int i = 0; i < n; i++)
		points[i] = (struct point){
			.card = fences[i].queue->dev->local,
			.queue = fences[i].queue->handle,
			.waiter = { .seq = fences[i].seq },
		};
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = wait_for(&wait, deadline, cancel_fd);
	pthread_setcancelstate(cancel, NULL);
	*index = wait.index;
	return err;
}

/* ---- VTA_IOCTL_WAIT ---- */

/* With the lock: clear the queue's result of poll(); it may be armed again. */
static int ask_poll(struct local *card, struct local_queue *q, const struct vta_wait *req)
{
	int state = state_of(card, q, req->seq);

	if (!q)
		return state;
	q->poll_hit = false;
	local_poll_update(card);
	if (!(req->flags & VTA_WAIT_POLL) || state)
		return state < 0 ? state : 0;
	q->poll_seq = req->seq;
	card->counters.arms++;
	return -EAGAIN;
}

int local_wait(struct local *card, struct vta_wait *req)
{
	struct point point = {
		.card = card,
		.queue = req->queue,
		.waiter = { .seq = req->seq },
	};
	struct wait wait = { .points = &point, .n = 1 };
	struct local_queue *q;
	int err;

	if (req->flags & ~VTA_WAIT_POLL)
		return -EINVAL;
	pthread_mutex_lock(&card->lock);
	err = ask_poll(card, local_find(card, req->queue), req);
	pthread_mutex_unlock(&card->lock);
	if (!err && !(req->flags & VTA_WAIT_POLL))
		err = wait_for(&wait, req->deadline_ns, -1);
	pthread_mutex_lock(&card->lock);
	q = local_find(card, req->queue);
	req->done = q ? q->seq : 0;
	pthread_mutex_unlock(&card->lock);
	return err;
}
