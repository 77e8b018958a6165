// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_wait.c - VTA_IOCTL_WAIT: blocking waits for sequence numbers
 *
 * A thread has a waiter in the tree of each queue (vta_waiter.c), of whatever cards. It is woken
 * once: by the first that fails and, of the others, by the first or by the last, as asked for.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>

#include "vta_ctx.h"
#include "vta_ioctl.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_waiter.h"

/**
 * struct vta_sleeper - a sleeping thread, on its own stack
 * @task: the thread
 * @left: numbers yet to be reached before it is woken
 * @awake: set by the waker, last
 *
 * Wakers hold the lock of the queue's vector, and the thread takes that of each
 * of its queues before it leaves.
 */
struct vta_sleeper {
	struct task_struct *task;
	atomic_t left;
	bool awake;
};

/**
 * struct vta_sleep - one number that a thread sleeps for
 * @waiter: in the queue's tree
 * @sleeper: the thread
 * @file: holds the queue's context
 * @q: the queue
 */
struct vta_sleep {
	struct vta_waiter waiter;
	struct vta_sleeper *sleeper;
	struct file *file;
	struct vta_queue *q;
};

static void vta_sleep_wake(struct vta_waiter *waiter)
{
	struct vta_sleeper *sleeper = container_of(waiter, struct vta_sleep, waiter)->sleeper;
	struct task_struct *task = sleeper->task;

	if (waiter->ret || atomic_dec_and_test(&sleeper->left)) {
		WRITE_ONCE(sleeper->awake, true);
		wake_up_process(task);
	}
}

/* ---- Cancelling, by an eventfd ---- */

struct vta_cancel {
	struct file *file;
	wait_queue_head_t *head;
	wait_queue_entry_t entry;
	poll_table table;
};

static void vta_cancel_enqueue(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct vta_cancel *cancel = container_of(table, struct vta_cancel, table);

	cancel->head = head;
	add_wait_queue(head, &cancel->entry);
}

/* No other file's poll() is as simple: it does not sleep, and has one queue. */
static int vta_cancel_begin(struct vta_cancel *cancel, int fd)
{
	struct eventfd_ctx *ctx;

	cancel->file = fget(fd);
	if (!cancel->file)
		return -EBADF;
	ctx = eventfd_ctx_fileget(cancel->file);
	if (IS_ERR(ctx)) {
		fput(cancel->file);
		return PTR_ERR(ctx);
	}
	eventfd_ctx_put(ctx);	/* the file holds it */
	init_waitqueue_entry(&cancel->entry, current);
	init_poll_funcptr(&cancel->table, vta_cancel_enqueue);
	vfs_poll(cancel->file, &cancel->table);
	return 0;
}

static bool vta_cancelled(struct vta_cancel *cancel)
{
	return cancel && vfs_poll(cancel->file, NULL) & EPOLLIN;
}

static void vta_cancel_end(struct vta_cancel *cancel)
{
	remove_wait_queue(cancel->head, &cancel->entry);
	fput(cancel->file);
}

/* ---- Sleeping ---- */

static int vta_sleep_until(struct vta_sleeper *sleeper, s64 deadline_ns, struct vta_cancel *cancel)
{
	ktime_t deadline = ns_to_ktime(deadline_ns);
	int ret = 0;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (READ_ONCE(sleeper->awake))
			break;
		if (vta_cancelled(cancel)) {
			ret = -ECANCELED;
			break;
		}
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		if (!schedule_hrtimeout_range(deadline_ns == VTA_WAIT_FOREVER ? NULL : &deadline,
					      current->timer_slack_ns, HRTIMER_MODE_ABS)) {
			ret = -ETIMEDOUT;
			break;
		}
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

/*
 * The caller's CLOCK_MONOTONIC may be another than the machine's: its time namespace
 * adds an offset.
 */
static s64 vta_sleep_deadline(s64 deadline_ns)
{
	struct timespec64 offset = {};
	s64 host_ns;

	if (deadline_ns == VTA_WAIT_FOREVER)
		return deadline_ns;
	timens_add_monotonic(&offset);
	/* On 5.10 timespec64_to_ns() takes a negative time for the greatest one. */
	if (check_sub_overflow(deadline_ns, offset.tv_sec * NSEC_PER_SEC + offset.tv_nsec,
			       &host_ns))
		return deadline_ns < 0 ? S64_MIN : VTA_WAIT_FOREVER;
	return host_ns;
}

static bool vta_sleep_past(s64 deadline_ns)
{
	return deadline_ns <= (s64)ktime_get_ns();
}

static void vta_sleep_init(struct vta_sleep *sleep, struct vta_queue *q, u64 seq)
{
	sleep->q = q;
	sleep->waiter.seq = seq;
	sleep->waiter.ret = -EINPROGRESS;
	sleep->waiter.wake = vta_sleep_wake;
}

int vta_ioctl_wait(struct vta_ctx *ctx, void *data)
{
	struct vta_wait *arg = data;
	struct vta_sleeper sleeper = { .task = current, .left = ATOMIC_INIT(1) };
	struct vta_sleep sleep = { .sleeper = &sleeper };
	s64 deadline_ns = vta_sleep_deadline(arg->deadline_ns);
	struct vta_queue *q;
	int ret, answer;

	arg->done = 0;
	if (arg->flags & ~VTA_WAIT_POLL)
		return -EINVAL;
	q = vta_queue_get(ctx, arg->queue);
	if (IS_ERR(q))
		return PTR_ERR(q);

	trace_vta_wait_begin(q, arg->seq);
	ret = vta_wait_check(q, arg->seq, &arg->done, true);
	if (ret != -EINPROGRESS)
		goto out;
	if (arg->flags & VTA_WAIT_POLL) {
		ret = vta_wait_ask(q, arg->seq, &arg->done);
		goto out;
	}
	if (vta_sleep_past(deadline_ns)) {
		ret = -ETIMEDOUT;
		goto out;
	}

	vta_sleep_init(&sleep, q, arg->seq);
	vta_wait_add(q, &sleep.waiter);
	ret = vta_sleep_until(&sleeper, deadline_ns, NULL);
	answer = vta_wait_remove(q, &sleep.waiter, &arg->done);
	if (answer != -EINPROGRESS)
		ret = answer;
out:
	trace_vta_wait_end(q, arg->seq, arg->done, ret);
	vta_queue_put(q);
	return ret;
}

/* ---- Waiting for several numbers ---- */

/**
 * struct vta_sleeps - what a thread sleeps for
 * @sleeper: the thread
 * @nr: how many
 * @any: one is enough
 * @each: all of them
 */
struct vta_sleeps {
	struct vta_sleeper sleeper;
	unsigned int nr;
	bool any;
	struct vta_sleep each[];
};

/* The queue of a fence, with references to it and to its file: any of this driver, as @ctx has. */
static int vta_sleep_open(struct vta_sleep *sleep, const struct vta_ctx *ctx,
			  const struct vta_fence *fence)
{
	struct vta_queue *q;
	struct file *file;

	if (fence->fd < 0)
		return -EBADF;
	file = fget(fence->fd);
	if (!file)
		return -EBADF;
	if (file->f_op != ctx->file->f_op) {
		fput(file);
		return -EINVAL;
	}
	q = vta_queue_get(file->private_data, fence->queue);
	if (IS_ERR(q)) {
		fput(file);
		return PTR_ERR(q);
	}
	sleep->file = file;
	vta_sleep_init(sleep, q, fence->seq);
	return 0;
}

static void vta_sleeps_close(struct vta_sleeps *sleeps)
{
	unsigned int i;

	for (i = 0; i < sleeps->nr; i++) {
		vta_queue_put(sleeps->each[i].q);
		fput(sleeps->each[i].file);
	}
	kvfree(sleeps);
}

static struct vta_sleeps *vta_sleeps_open(const struct vta_ctx *ctx, struct vta_wait_many *arg)
{
	size_t bytes = arg->count * sizeof(struct vta_fence);
	struct vta_sleeps *sleeps;
	struct vta_fence *fences;
	int ret = 0;

	fences = vmemdup_user(u64_to_user_ptr(arg->fences), bytes);
	if (IS_ERR(fences))
		return ERR_CAST(fences);
	sleeps = kvzalloc(struct_size(sleeps, each, arg->count), GFP_KERNEL_ACCOUNT);
	if (!sleeps) {
		kvfree(fences);
		return ERR_PTR(-ENOMEM);
	}
	sleeps->sleeper.task = current;
	sleeps->any = arg->flags & VTA_WAIT_ANY;

	for (; sleeps->nr < arg->count; sleeps->nr++) {
		struct vta_sleep *sleep = &sleeps->each[sleeps->nr];

		sleep->sleeper = &sleeps->sleeper;
		ret = vta_sleep_open(sleep, ctx, &fences[sleeps->nr]);
		if (ret)
			break;
	}
	kvfree(fences);
	if (!ret)
		return sleeps;
	arg->index = sleeps->nr;
	vta_sleeps_close(sleeps);
	return ERR_PTR(ret);
}

/*
 * Combines the waiters' results: -EINPROGRESS if more must come. With VTA_WAIT_ANY, a number that
 * was reached takes precedence over an error elsewhere.
 */
static int vta_sleeps_result(const struct vta_sleeps *sleeps, u32 *index)
{
	int ret = sleeps->any ? -EINPROGRESS : 0;
	unsigned int i;

	*index = 0;
	for (i = 0; i < sleeps->nr; i++) {
		int one = READ_ONCE(sleeps->each[i].waiter.ret);

		if (!one && sleeps->any) {
			*index = i;
			return 0;
		}
		if (one == -EINPROGRESS) {
			if (!ret)
				ret = one;
		} else if (one && (!ret || ret == -EINPROGRESS)) {
			ret = one;
			*index = i;
		}
	}
	return ret;
}

/* The result without waiting, or the error of an invalid fence. */
static void vta_sleeps_check(struct vta_sleeps *sleeps)
{
	unsigned int i;
	u64 done;

	for (i = 0; i < sleeps->nr; i++) {
		struct vta_sleep *sleep = &sleeps->each[i];

		sleep->waiter.ret = vta_wait_check(sleep->q, sleep->waiter.seq, &done, false);
	}
}

/* Adds waiters to the trees, except for numbers that have been reached. */
static void vta_sleeps_add(struct vta_sleeps *sleeps)
{
	struct vta_sleeper *sleeper = &sleeps->sleeper;
	unsigned int i, left = 0;

	for (i = 0; i < sleeps->nr; i++)
		left += sleeps->each[i].waiter.ret == -EINPROGRESS;
	/* Before the first could be reached. */
	atomic_set(&sleeper->left, sleeps->any ? 1 : left);

	for (i = 0; i < sleeps->nr && !READ_ONCE(sleeper->awake); i++) {
		struct vta_sleep *sleep = &sleeps->each[i];

		if (sleep->waiter.ret != -EINPROGRESS)
			continue;
		trace_vta_wait_begin(sleep->q, sleep->waiter.seq);
		vta_wait_add(sleep->q, &sleep->waiter);
	}
}

static void vta_sleeps_remove(struct vta_sleeps *sleeps)
{
	unsigned int i;
	u64 done;

	for (i = 0; i < sleeps->nr; i++) {
		struct vta_sleep *sleep = &sleeps->each[i];
		int ret = vta_wait_remove(sleep->q, &sleep->waiter, &done);

		trace_vta_wait_end(sleep->q, sleep->waiter.seq, done, ret);
	}
}

static int vta_sleeps_wait(struct vta_sleeps *sleeps, struct vta_wait_many *arg,
			   struct vta_cancel *cancel)
{
	s64 deadline_ns = vta_sleep_deadline(arg->deadline_ns);
	int ret, result;

	vta_sleeps_check(sleeps);
	result = vta_sleeps_result(sleeps, &arg->index);
	if (result != -EINPROGRESS)
		return result;
	if (vta_cancelled(cancel))
		return -ECANCELED;
	if (vta_sleep_past(deadline_ns))
		return -ETIMEDOUT;

	vta_sleeps_add(sleeps);
	ret = vta_sleep_until(&sleeps->sleeper, deadline_ns, cancel);
	vta_sleeps_remove(sleeps);
	result = vta_sleeps_result(sleeps, &arg->index);
	return result == -EINPROGRESS ? ret : result;
}

int vta_ioctl_wait_many(struct vta_ctx *ctx, void *data)
{
	struct vta_wait_many *arg = data;
	bool cancels = arg->flags & VTA_WAIT_CANCEL;
	struct vta_sleeps *sleeps;
	struct vta_cancel cancel;
	int ret;

	arg->index = 0;
	if (arg->flags & ~(VTA_WAIT_ANY | VTA_WAIT_CANCEL) ||
	    !arg->count || arg->count > VTA_FENCES_MAX ||
	    (!cancels && arg->cancel_fd))
		return -EINVAL;
	if (cancels) {
		ret = vta_cancel_begin(&cancel, arg->cancel_fd);
		if (ret)
			return ret;
	}
	sleeps = vta_sleeps_open(ctx, arg);
	ret = PTR_ERR_OR_ZERO(sleeps);
	if (!ret) {
		ret = vta_sleeps_wait(sleeps, arg, cancels ? &cancel : NULL);
		vta_sleeps_close(sleeps);
	}
	if (cancels)
		vta_cancel_end(&cancel);
	return ret;
}
