// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_wait.c - VTA_IOCTL_WAIT: blocking waits for sequence numbers
 *
 * A thread has a waiter in the tree of each queue (vta_waiter.c), which may belong to several
 * cards. The thread is woken once: by the first waiter that fails, or when one or all of them
 * have succeeded, as described at VTA_WAIT_ANY.
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
 * struct vta_wait_thread - a blocked thread, on its own stack
 * @task: the thread
 * @left: numbers yet to be reached before the thread is woken
 * @woken: set by the waker as its last access to this structure
 *
 * Wakers hold the lock of the queue's vector. The thread takes the lock of each of its queues
 * before it returns, so a waker never touches a stale stack.
 */
struct vta_wait_thread {
	struct task_struct *task;
	atomic_t left;
	bool woken;
};

/**
 * struct vta_wait_entry - one number that a thread waits for
 * @waiter: in the queue's tree
 * @thread: the thread
 * @file: holds the queue's context; NULL for the caller's own file
 * @q: the queue, with a reference
 */
struct vta_wait_entry {
	struct vta_waiter waiter;
	struct vta_wait_thread *thread;
	struct file *file;
	struct vta_queue *q;
};

static void vta_wait_wake(struct vta_waiter *waiter)
{
	struct vta_wait_entry *entry = container_of(waiter, struct vta_wait_entry, waiter);
	struct vta_wait_thread *thread = entry->thread;
	struct task_struct *task = thread->task;

	if (waiter->ret || atomic_dec_and_test(&thread->left)) {
		WRITE_ONCE(thread->woken, true);
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

/* Only an eventfd is accepted: its poll() never sleeps and uses exactly one wait queue. */
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

/* ---- Waiting for one number ---- */

/* Sleeps until a waker has set @woken. */
static int vta_wait_block(struct vta_wait_thread *thread, s64 deadline_ns,
			  struct vta_cancel *cancel)
{
	ktime_t deadline = ns_to_ktime(deadline_ns);
	int ret = 0;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (READ_ONCE(thread->woken))
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

/* Converts a deadline from the caller's time namespace to the host's CLOCK_MONOTONIC. */
static s64 vta_wait_deadline(s64 deadline_ns)
{
	struct timespec64 offset = {};
	s64 host_ns;

	if (deadline_ns == VTA_WAIT_FOREVER)
		return deadline_ns;
	timens_add_monotonic(&offset);
	/* Not timespec64_to_ns(): on 5.10 it turns negative times into the greatest one. */
	if (check_sub_overflow(deadline_ns, offset.tv_sec * NSEC_PER_SEC + offset.tv_nsec,
			       &host_ns))
		return deadline_ns < 0 ? S64_MIN : VTA_WAIT_FOREVER;
	return host_ns;
}

static bool vta_wait_is_past(s64 deadline_ns)
{
	return deadline_ns <= (s64)ktime_get_ns();
}

static void vta_wait_entry_init(struct vta_wait_entry *entry, struct vta_queue *q, u64 seq)
{
	entry->q = q;
	entry->waiter.seq = seq;
	entry->waiter.ret = -EINPROGRESS;
	entry->waiter.wake = vta_wait_wake;
}

int vta_ioctl_wait(struct vta_ctx *ctx, void *data)
{
	struct vta_wait *arg = data;
	struct vta_wait_thread thread = { .task = current, .left = ATOMIC_INIT(1) };
	struct vta_wait_entry entry = { .thread = &thread };
	s64 deadline_ns = vta_wait_deadline(arg->deadline_ns);
	struct vta_queue *q;
	int ret, answer;

	arg->done = 0;
	if (arg->flags & ~VTA_WAIT_POLL)
		return -EINVAL;
	q = vta_queue_get(ctx, arg->queue);
	if (IS_ERR(q))
		return PTR_ERR(q);

	trace_vta_wait_begin(q, arg->seq);
	ret = vta_waiters_check(q, arg->seq, &arg->done, true);
	if (ret != -EINPROGRESS)
		goto out;
	if (arg->flags & VTA_WAIT_POLL) {
		ret = vta_waiters_arm_poll(q, arg->seq, &arg->done);
		goto out;
	}
	if (vta_wait_is_past(deadline_ns)) {
		ret = -ETIMEDOUT;
		goto out;
	}

	vta_wait_entry_init(&entry, q, arg->seq);
	vta_waiter_add(q, &entry.waiter);
	ret = vta_wait_block(&thread, deadline_ns, NULL);
	answer = vta_waiter_remove(q, &entry.waiter, &arg->done);
	if (answer != -EINPROGRESS)
		ret = answer;
out:
	trace_vta_wait_end(q, arg->seq, arg->done, ret);
	vta_queue_put(q);
	return ret;
}

/* ---- Waiting for several numbers ---- */

/**
 * struct vta_wait_set - the numbers that a thread waits for
 * @thread: the thread
 * @nr: number of entries
 * @any: one reached number ends the wait
 * @each: the entries
 */
struct vta_wait_set {
	struct vta_wait_thread thread;
	unsigned int nr;
	bool any;
	struct vta_wait_entry each[];
};

/* Finds the queue of a fence, with references to the queue and to its file. */
static int vta_wait_entry_open(struct vta_wait_entry *entry, const struct vta_ctx *ctx,
			       const struct vta_fence *fence)
{
	struct vta_queue *q;
	struct file *file;

	if (fence->fd < 0)
		return -EBADF;
	file = fget(fence->fd);
	if (!file)
		return -EBADF;
	if (file->f_op != ctx->file->f_op) {	/* not a file of this driver */
		fput(file);
		return -EINVAL;
	}
	q = vta_queue_get(file->private_data, fence->queue);
	if (IS_ERR(q)) {
		fput(file);
		return PTR_ERR(q);
	}
	entry->file = file;
	vta_wait_entry_init(entry, q, fence->seq);
	return 0;
}

static void vta_wait_set_close(struct vta_wait_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		vta_queue_put(set->each[i].q);
		fput(set->each[i].file);
	}
	kvfree(set);
}

static struct vta_wait_set *vta_wait_set_open(const struct vta_ctx *ctx, struct vta_wait_many *arg)
{
	size_t bytes = arg->count * sizeof(struct vta_fence);
	struct vta_wait_set *set;
	struct vta_fence *fences;
	int ret = 0;

	fences = vmemdup_user(u64_to_user_ptr(arg->fences), bytes);
	if (IS_ERR(fences))
		return ERR_CAST(fences);
	set = kvzalloc(struct_size(set, each, arg->count), GFP_KERNEL_ACCOUNT);
	if (!set) {
		kvfree(fences);
		return ERR_PTR(-ENOMEM);
	}
	set->thread.task = current;
	set->any = arg->flags & VTA_WAIT_ANY;

	for (; set->nr < arg->count; set->nr++) {
		struct vta_wait_entry *entry = &set->each[set->nr];

		entry->thread = &set->thread;
		ret = vta_wait_entry_open(entry, ctx, &fences[set->nr]);
		if (ret)
			break;
	}
	kvfree(fences);
	if (!ret)
		return set;
	arg->index = set->nr;
	vta_wait_set_close(set);
	return ERR_PTR(ret);
}

/*
 * Combines the waiters' results; -EINPROGRESS if the wait goes on. With VTA_WAIT_ANY, a reached
 * number takes precedence over an error of another entry.
 */
static int vta_wait_set_result(const struct vta_wait_set *set, u32 *index)
{
	int ret = set->any ? -EINPROGRESS : 0;
	unsigned int i;

	*index = 0;
	for (i = 0; i < set->nr; i++) {
		int one = READ_ONCE(set->each[i].waiter.ret);

		if (!one && set->any) {
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

/* Sets each waiter's result without waiting, or the error of an invalid fence. */
static void vta_wait_set_check(struct vta_wait_set *set)
{
	unsigned int i;
	u64 done;

	for (i = 0; i < set->nr; i++) {
		struct vta_wait_entry *entry = &set->each[i];

		entry->waiter.ret = vta_waiters_check(entry->q, entry->waiter.seq, &done, false);
	}
}

/* Adds waiters to the trees, except for those that have a result. */
static void vta_wait_set_add(struct vta_wait_set *set)
{
	struct vta_wait_thread *thread = &set->thread;
	unsigned int i, left = 0;

	for (i = 0; i < set->nr; i++)
		left += set->each[i].waiter.ret == -EINPROGRESS;
	/* Before the first waiter is added: its number may be reached at once. */
	atomic_set(&thread->left, set->any ? 1 : left);

	for (i = 0; i < set->nr && !READ_ONCE(thread->woken); i++) {
		struct vta_wait_entry *entry = &set->each[i];

		if (entry->waiter.ret != -EINPROGRESS)
			continue;
		trace_vta_wait_begin(entry->q, entry->waiter.seq);
		vta_waiter_add(entry->q, &entry->waiter);
	}
}

static void vta_wait_set_remove(struct vta_wait_set *set)
{
	unsigned int i;
	u64 done;

	for (i = 0; i < set->nr; i++) {
		struct vta_wait_entry *entry = &set->each[i];
		int ret = vta_waiter_remove(entry->q, &entry->waiter, &done);

		trace_vta_wait_end(entry->q, entry->waiter.seq, done, ret);
	}
}

static int vta_wait_set_wait(struct vta_wait_set *set, struct vta_wait_many *arg,
			     struct vta_cancel *cancel)
{
	s64 deadline_ns = vta_wait_deadline(arg->deadline_ns);
	int ret, result;

	vta_wait_set_check(set);
	result = vta_wait_set_result(set, &arg->index);
	if (result != -EINPROGRESS)
		return result;
	if (vta_cancelled(cancel))
		return -ECANCELED;
	if (vta_wait_is_past(deadline_ns))
		return -ETIMEDOUT;

	vta_wait_set_add(set);
	ret = vta_wait_block(&set->thread, deadline_ns, cancel);
	vta_wait_set_remove(set);
	result = vta_wait_set_result(set, &arg->index);
	return result == -EINPROGRESS ? ret : result;
}

int vta_ioctl_wait_many(struct vta_ctx *ctx, void *data)
{
	struct vta_wait_many *arg = data;
	bool cancels = arg->flags & VTA_WAIT_CANCEL;
	struct vta_wait_set *set;
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
	set = vta_wait_set_open(ctx, arg);
	ret = PTR_ERR_OR_ZERO(set);
	if (!ret) {
		ret = vta_wait_set_wait(set, arg, cancels ? &cancel : NULL);
		vta_wait_set_close(set);
	}
	if (cancels)
		vta_cancel_end(&cancel);
	return ret;
}
