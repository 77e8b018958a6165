// SPDX-License-Identifier: Apache-2.0
/*
 * pool_caller.c - rings of requests and completions, each in its own order
 *
 * The eventfd counts 1 exactly while the oldest request is done. It is written and read with
 * the lock held, so a completion that comes beside a reap is not missed.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fd.h"
#include "pool.h"

static struct pool_entry *entry_at(const struct vtadev_caller *caller, uint64_t number)
{
	return &caller->ring[number % caller->size];
}

/* Returns true if there is a completion to reap. */
static bool ready(const struct vtadev_caller *caller)
{
	return caller->reaped < caller->submitted &&
	       entry_at(caller, caller->reaped)->state == ENTRY_DONE;
}

void caller_complete(struct pool_entry *entry, int result)
{
	struct vtadev_caller *caller = entry->caller;

	entry->state = ENTRY_DONE;
	entry->slot = NULL;
	entry->completion.result = result;
	entry->completion.card = entry->card ? entry->card->index : UINT32_MAX;
	if (entry == entry_at(caller, caller->reaped))
		pool_wake(caller->event);
	if (caller->closing)
		pthread_cond_broadcast(&caller->pool->changed);
}

/* ---- Opening and closing ---- */

static void caller_free(struct vtadev_caller *caller)
{
	if (caller->event >= 0)
		close(caller->event);
	free(caller->ring);
	free(caller->io);
	free(caller);
}

static int make_ring(struct vtadev_caller *caller, unsigned int entries)
{
	unsigned int tensors = caller->pool->tensor_count;

	caller->size = entries;
	caller->ring = calloc(entries, sizeof(*caller->ring));
	caller->io = calloc((size_t)entries * tensors + 1, sizeof(*caller->io));
	if (!caller->ring || !caller->io)
		return -ENOMEM;
	for (unsigned int i = 0; i < entries; i++) {
		caller->ring[i].caller = caller;
		caller->ring[i].io = caller->io + (size_t)i * tensors;
	}
	caller->event = fd_above_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return caller->event < 0 ? -errno : 0;
}

int vtadev_caller_open(struct vtadev_pool *pool, unsigned int entries,
		       struct vtadev_caller **out)
{
	struct vtadev_caller *caller;
	int err;

	if (pool->owner != getpid())
		return -ECHILD;
	if (!entries || entries > VTADEV_POOL_REQUESTS_MAX)
		return -EINVAL;
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return -ENOMEM;
	caller->pool = pool;
	caller->event = -1;
	err = make_ring(caller, entries);
	if (err) {
		caller_free(caller);
		return err;
	}
	pthread_mutex_lock(&pool->lock);
	TAILQ_INSERT_TAIL(&pool->callers, caller, link);
	pthread_mutex_unlock(&pool->lock);
	*out = caller;
	return 0;
}

/* Take a request from where it is; what copies must be waited for. */
static void give_up(struct vtadev_pool *pool, struct pool_entry *entry)
{
	switch (entry->state) {
	case ENTRY_PENDING:
		TAILQ_REMOVE(&pool->pending, entry, link);
		break;
	case ENTRY_GIVEN:
		TAILQ_REMOVE(&entry->card->given, entry, link);
		entry->card->stats.in_hand--;
		break;
	case ENTRY_RUNNING:
		entry->slot->entry = NULL;	/* The run continues; its result is dropped. */
		break;
	case ENTRY_COPYING:
		while (entry->state == ENTRY_COPYING)
			pthread_cond_wait(&pool->changed, &pool->lock);
		if (entry->state != ENTRY_DONE)
			give_up(pool, entry);
		break;
	case ENTRY_DONE:
		break;
	}
	entry->state = ENTRY_DONE;
}

void vtadev_caller_close(struct vtadev_caller *caller)
{
	struct vtadev_pool *pool = caller ? caller->pool : NULL;

	if (!caller || pool->owner != getpid())
		return;
	pthread_mutex_lock(&pool->lock);
	caller->closing = true;
	for (uint64_t i = caller->reaped; i < caller->submitted; i++)
		give_up(pool, entry_at(caller, i));
	TAILQ_REMOVE(&pool->callers, caller, link);
	pool_dispatch(pool);
	pthread_mutex_unlock(&pool->lock);
	caller_free(caller);
}

/* ---- Submitting ---- */

static int check_request(const struct vtadev_pool *pool, const struct vtadev_request *request)
{
	if (request->input_count != pool->input_count ||
	    request->output_count != pool->tensor_count - pool->input_count)
		return -EINVAL;
	for (unsigned int i = 0; i < pool->tensor_count; i++) {
		const struct iovec *io = i < pool->input_count ? &request->inputs[i] :
					 &request->outputs[i - pool->input_count];

		if (!io->iov_base)
			return -EINVAL;
		if (io->iov_len != vtaprog_bytes(&pool->tensors[i]))
			return -ERANGE;
	}
	return 0;
}

static void fill_entry(struct pool_entry *entry, const struct vtadev_pool *pool,
		       const struct vtadev_request *request)
{
	entry->number = pool->submitted;
	entry->card = NULL;
	entry->completion = (struct vtadev_completion){ .user_data = request->user_data };
	if (request->input_count)
		memcpy(entry->io, request->inputs, request->input_count * sizeof(*entry->io));
	if (request->output_count)
		memcpy(entry->io + request->input_count, request->outputs,
		       request->output_count * sizeof(*entry->io));
}

int vtadev_caller_submit(struct vtadev_caller *caller, const struct vtadev_request *request)
{
	struct vtadev_pool *pool = caller->pool;
	struct pool_entry *entry;
	int err;

	if (pool->owner != getpid())
		return -ECHILD;
	err = check_request(pool, request);
	if (err)
		return err;
	pthread_mutex_lock(&pool->lock);
	if (caller->submitted - caller->reaped < caller->size) {
		entry = entry_at(caller, caller->submitted++);
		fill_entry(entry, pool, request);
		pool->submitted++;
		pool_pend(pool, entry);
		pool_dispatch(pool);
	} else {
		err = -EAGAIN;
	}
	pthread_mutex_unlock(&pool->lock);
	return err;
}

/* ---- Completions ---- */

int vtadev_caller_reap(struct vtadev_caller *caller, struct vtadev_completion *completions,
		       unsigned int n)
{
	struct vtadev_pool *pool = caller->pool;
	unsigned int taken = 0;

	if (pool->owner != getpid())
		return -ECHILD;
	pthread_mutex_lock(&pool->lock);
	while (taken < n && ready(caller))
		completions[taken++] = entry_at(caller, caller->reaped++)->completion;
	/* The completions that were taken had a wake-up; the next one has none yet. */
	if (taken && !ready(caller))
		pool_calm(caller->event);
	pthread_mutex_unlock(&pool->lock);
	return (int)taken;
}

int vtadev_caller_fd(const struct vtadev_caller *caller)
{
	return caller->event;
}

/* 1: there is a completion; 0: the time has passed. */
static int await(int event, int64_t timeout_ns)
{
	struct pollfd fd = { .fd = event, .events = POLLIN };
	int64_t end;
	int ret;

	if (timeout_ns < 0 || __builtin_add_overflow(clock_ns(), timeout_ns, &end))
		end = -1;

	do {
		int64_t left = end < 0 ? 0 : end - clock_ns();
		struct timespec time;

		left = left > 0 ? left : 0;
		time = (struct timespec){ .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
		ret = ppoll(&fd, 1, end < 0 ? NULL : &time, NULL);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

int vtadev_caller_wait(struct vtadev_caller *caller, int64_t timeout_ns)
{
	struct vtadev_pool *pool = caller->pool;
	bool none;
	int ret;

	if (pool->owner != getpid())
		return -ECHILD;
	pthread_mutex_lock(&pool->lock);
	none = caller->reaped == caller->submitted;
	pthread_mutex_unlock(&pool->lock);
	if (none)
		return -EINVAL;
	ret = await(caller->event, timeout_ns);
	return ret > 0 ? 0 : ret ? ret : -ETIMEDOUT;
}
