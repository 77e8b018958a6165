// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_ctx.c - contexts: the resources of an open file
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "vta_buf.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_ioctl.h"
#include "vta_mmu.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_user.h"
#include "vta_waiter.h"

static atomic64_t vta_clients;

/* Programs the context on a live card. */
static int vta_ctx_attach(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	int ret;

	lockdep_assert_held(&vdev->gate);

	if (vdev->state != VTA_STATE_LIVE)
		return -ENODEV;
	ret = vta_user_join_group(vdev, ctx->user);
	if (ret)
		return ret;
	vta_mmu_enable(&ctx->mmu);
	ctx->generation = vdev->generation;
	list_add_tail(&ctx->node, &vdev->ctxs);
	vdev->nr_ctxs++;
	return 0;
}

/* Sanitises comm to one word, so that no process can forge log lines. */
static void vta_ctx_set_comm(struct vta_ctx *ctx)
{
	char *at;

	get_task_comm(ctx->comm, current);
	for (at = ctx->comm; *at; at++) {
		if (!isascii(*at) || !isgraph(*at))
			*at = '?';
	}
}

/* Allocates the context's number on the card, and its page table except for what the card reads. */
static int vta_ctx_alloc_mmu(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	int id, ret;

	id = ida_alloc_max(&vdev->ctx_ids, vdev->caps.contexts - 1, GFP_KERNEL);
	if (id < 0)
		return id;
	ctx->mmu.user = ctx->user;
	ctx->mmu.file = ctx->file;
	ret = vta_mmu_init(&ctx->mmu, vdev, id);
	if (ret)
		ida_free(&vdev->ctx_ids, id);
	return ret;
}

/* Frees queues and numbers, which takes a short time: other contexts need them. */
static void vta_ctx_free_numbers(struct vta_ctx *ctx)
{
	struct vta_queue *q;
	unsigned long index;

	mutex_lock(&ctx->lock);
	xa_for_each(&ctx->queues, index, q)
		vta_queue_free(q);
	mutex_unlock(&ctx->lock);
	/*
	 * The charge ends now, because a process that has lost the card may open it again before
	 * it closes the old file. The user's group is freed before the context's number, so that
	 * the next user of that number finds a free group.
	 */
	vta_user_uncharge(ctx->vdev, ctx->user, VTA_USER_CTXS, 1);
	ida_free(&ctx->vdev->ctx_ids, ctx->mmu.id);
}

static void vta_ctx_free_memory(struct vta_ctx *ctx)
{
	while (vta_buf_drop(ctx))
		;
	vta_mmu_fini(&ctx->mmu);
}

/* Fails all waiters, and revokes all mappings. */
static void vta_ctx_revoke_mappings(struct vta_ctx *ctx)
{
	struct vta_queue *q;
	unsigned long handle;

	mutex_lock(&ctx->lock);
	/*
	 * Page faults wait for the lock. So before the first call fails, all mappings of the file
	 * have been revoked.
	 */
	unmap_mapping_range(ctx->inode->i_mapping, 0, 0, 1);
	WRITE_ONCE(ctx->dead, true);
	xa_for_each(&ctx->queues, handle, q)
		vta_queue_revoke(q, -ENODEV);
	mutex_unlock(&ctx->lock);
	vta_notify_poll(ctx->notify, EPOLLERR | EPOLLHUP);
}

/* Does the steps of vta_ctx_revoke() and vta_ctx_drop() that wait for the context's user. */
static void vta_ctx_work(struct work_struct *work)
{
	struct vta_ctx *ctx = container_of(work, struct vta_ctx, work);
	struct vta_device *vdev = ctx->vdev;

	if (!ctx->revoked) {
		vta_ctx_revoke_mappings(ctx);
		ctx->revoked = true;
		vta_dec_and_wake(&vdev->nr_revoking);
	}
	/* Pairs with vta_ctx_drop(). */
	if (smp_load_acquire(&ctx->memory) != VTA_CTX_LOST)
		return;
	vta_ctx_free_numbers(ctx);
	vta_dec_and_wake(&vdev->nr_revoking);
	vta_ctx_free_memory(ctx);
	WRITE_ONCE(ctx->memory, VTA_CTX_FREED);
	vta_dec_and_wake(&ctx->user->nr_lost);
	vta_dec_and_wake(&vdev->nr_lost);
}

/*
 * Allocates all that a context needs besides the card, charged to the user, without a lock and
 * before vta_dma_get(): it takes as long as the user's memory and listeners like.
 */
static struct vta_ctx *vta_ctx_alloc(struct vta_device *vdev, struct file *file)
{
	struct vta_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->vdev = vdev;
	ctx->file = file;
	ctx->client = atomic64_inc_return(&vta_clients);
	ctx->tgid = task_tgid_nr(current);
	vta_ctx_set_comm(ctx);
	mutex_init(&ctx->lock);
	xa_init_flags(&ctx->bufs, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&ctx->buf_list);
	INIT_LIST_HEAD(&ctx->removed);
	xa_init_flags(&ctx->queues, XA_FLAGS_ACCOUNT);
	INIT_WORK(&ctx->work, vta_ctx_work);

	ctx->user = vta_user_get(vdev);
	if (IS_ERR(ctx->user)) {
		ret = PTR_ERR(ctx->user);
		goto err_free;
	}
	ret = vta_notifier_wait(ctx->user->notifier);
	if (ret)
		goto err_user;
	/* First, so that the limit also bounds the allocations that follow. */
	ret = vta_user_charge(vdev, ctx->user, VTA_USER_CTXS, 1, file);
	if (ret)
		goto err_user;
	ret = -ENOMEM;
	ctx->notify = vta_notify_new(ctx->user->notifier);
	if (!ctx->notify)
		goto err_charge;
	ctx->iova = vta_iova_create();
	if (!ctx->iova)
		goto err_notify;
	ctx->inode = vta_inode_new();
	if (IS_ERR(ctx->inode)) {
		ret = PTR_ERR(ctx->inode);
		goto err_iova;
	}
	ret = vta_ctx_alloc_mmu(ctx);
	if (ret)
		goto err_inode;
	return ctx;

err_inode:
	vta_inode_put(ctx->inode);
err_iova:
	vta_iova_destroy(ctx->iova);
err_notify:
	vta_notify_close(ctx->notify);
err_charge:
	vta_user_uncharge(vdev, ctx->user, VTA_USER_CTXS, 1);
err_user:
	vta_user_put(vdev, ctx->user);
err_free:
	mutex_destroy(&ctx->lock);
	kfree(ctx);
	return ERR_PTR(ret);
}

/* Frees the rest, after numbers and memory. */
static void vta_ctx_free(struct vta_ctx *ctx)
{
	vta_notify_close(ctx->notify);
	if (ctx->blank)
		__free_page(ctx->blank);
	xa_destroy(&ctx->queues);
	xa_destroy(&ctx->bufs);
	vta_iova_destroy(ctx->iova);
	vta_inode_put(ctx->inode);
	mutex_destroy(&ctx->lock);
	vta_user_put(ctx->vdev, ctx->user);
	kfree(ctx);
}

/* Waits until the user's limits do not count memory any more that a reset has taken. */
static int vta_ctx_settle_user(struct vta_ctx *ctx)
{
	atomic_t *lost = &ctx->user->nr_lost;

	return wait_var_event_killable(lost, !atomic_read(lost)) ? -EINTR : 0;
}

/* Calls vta_dma_get() for a context that no list has yet. */
static int vta_ctx_begin_dma(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	int ret = vta_card_enter_settled(vdev);

	if (ret)
		return ret;
	if (vdev->state == VTA_STATE_LIVE)
		vta_dma_get(vdev);
	else
		ret = -ENODEV;
	vta_card_leave(vdev);
	return ret;
}

/* As vta_ctx_begin_dma(), and allocates the first-level table. Removal of the card waits. */
static int vta_ctx_begin_root(struct vta_ctx *ctx)
{
	unsigned int tries = VTA_ROOM_TRIES;
	int ret;

	do {
		ret = vta_ctx_begin_dma(ctx);
		if (ret)
			return ret;
		ret = vta_mmu_alloc_root(&ctx->mmu);
		if (ret)
			vta_dma_put(ctx->vdev);
	} while (ret && tries-- && !vta_mmu_make_room(0));
	return ret;
}

static int vta_ctx_begin(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	int ret = vta_ctx_begin_root(ctx);

	if (ret)
		return ret;
	ret = vta_card_enter_settled(vdev);
	if (!ret) {
		ret = vta_ctx_attach(ctx);
		vta_card_leave(vdev);
	}
	if (ret)
		vta_mmu_free_root(&ctx->mmu);
	vta_dma_put(vdev);
	return ret;
}

struct vta_ctx *vta_ctx_open(struct vta_device *vdev, struct file *file)
{
	struct vta_ctx *ctx;
	int ret;

	ret = vta_card_get(vdev);
	if (ret)
		return ERR_PTR(ret);
	ret = vta_card_settle(vdev);
	if (ret)
		goto err_pm;
	ctx = vta_ctx_alloc(vdev, file);
	if (IS_ERR(ctx)) {
		ret = PTR_ERR(ctx);
		goto err_pm;
	}
	ret = vta_ctx_begin(ctx);
	if (ret)
		goto err_free;
	trace_vta_ctx_open(ctx);
	ret = vta_ctx_settle_user(ctx);
	if (ret) {
		vta_ctx_close(ctx);
		return ERR_PTR(ret);
	}
	return ctx;

err_free:
	vta_ctx_free_numbers(ctx);
	vta_ctx_free_memory(ctx);
	vta_ctx_free(ctx);
err_pm:
	vta_card_put(vdev);
	return ERR_PTR(ret);
}

/*
 * Stops all queues, and has the card drop the context. Returns -ENODEV if a reset has been
 * requested or has begun.
 */
static int vta_ctx_stop(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	struct vta_queue *q;
	unsigned long handle;
	int ret = 0;

	mutex_lock(&ctx->lock);
	if (vta_ctx_is_lost(ctx)) {
		ret = -ENODEV;
		goto out;
	}

	xa_for_each(&ctx->queues, handle, q)
		vta_queue_revoke(q, -ENODEV);
	/* A suspended card does not execute, and is reset when it resumes. */
	if (vdev->state == VTA_STATE_SUSPENDED)
		goto out;

	/* Stop all queues before waiting for the first. */
	xa_for_each(&ctx->queues, handle, q)
		vta_queue_abort(q);
	xa_for_each(&ctx->queues, handle, q) {
		ret = vta_card_wait_queue(vdev, ctx->mmu.epoch, q->id);
		if (ret)
			goto out;
		vta_queue_read_final(q);
	}
	ret = vta_mmu_disable(&ctx->mmu);
	if (!ret)
		WRITE_ONCE(ctx->dead, true);
out:
	mutex_unlock(&ctx->lock);
	return ret;
}

/* Counts the files that are being closed and are still in vta_device.ctxs (vta_pm.c). */
static void vta_ctx_add_stopping(struct vta_device *vdev, int nr)
{
	vta_card_enter(vdev);
	WRITE_ONCE(vdev->nr_stopping, vdev->nr_stopping + nr);
	vta_card_leave(vdev);
	smp_mb();	/* for wake_up_var() */
	wake_up_var(&vdev->nr_stopping);
}

/* Returns the state of the context's memory, which vta_ctx_drop() does not change any more. */
static enum vta_ctx_memory vta_ctx_detach(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	enum vta_ctx_memory memory;

	vta_card_enter(vdev);
	list_del(&ctx->node);
	vdev->nr_ctxs--;
	atomic_inc(&vdev->nr_closing);
	memory = ctx->memory;
	vta_card_leave(vdev);
	return memory;
}

void vta_ctx_close(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	enum vta_ctx_memory memory;
	int ret;

	trace_vta_ctx_close(ctx);

	vta_ctx_add_stopping(vdev, 1);
	ret = vta_ctx_stop(ctx);
	if (!ret)
		memory = vta_ctx_detach(ctx);
	vta_ctx_add_stopping(vdev, -1);
	if (ret) {
		/* The context's memory is not freed before the reset. */
		wait_var_event(&ctx->memory, READ_ONCE(ctx->memory) != VTA_CTX_HELD);
		memory = vta_ctx_detach(ctx);
	}

	if (memory == VTA_CTX_HELD) {
		vta_ctx_free_numbers(ctx);
		vta_ctx_free_memory(ctx);
	} else {
		flush_work(&ctx->work);
	}
	vta_dec_and_wake(&vdev->nr_closing);

	vta_ctx_free(ctx);
	vta_card_put(vdev);
}

void vta_ctx_set_lost(struct vta_ctx *ctx, enum vta_fate fate, enum vta_cause cause)
{
	lockdep_assert_held(&ctx->vdev->lock);

	if (ctx->lost.fate == VTA_FATE_NONE)
		ctx->lost.cause = cause;
	if (ctx->lost.fate == VTA_FATE_NONE || ctx->lost.fate == VTA_FATE_PENDING)
		WRITE_ONCE(ctx->lost.fate, fate);
}

/* If a call has failed before the reset that it requested, the state is PENDING. */
int vta_ioctl_lost(struct vta_ctx *ctx, void *data)
{
	struct vta_lost *lost = data;
	struct vta_device *vdev = ctx->vdev;
	int ret;

	ret = vta_card_enter_settled(vdev);
	if (ret)
		return ret;
	*lost = ctx->lost;
	if (lost->fate == VTA_FATE_NONE && READ_ONCE(vdev->history.reason))
		*lost = (struct vta_lost) {
			.fate = VTA_FATE_PENDING,
			.cause = READ_ONCE(vdev->history.cause),
		};
	vta_card_leave(vdev);
	return 0;
}

void vta_ctx_revoke(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;

	lockdep_assert_held(&vdev->lock);

	if (ctx->memory != VTA_CTX_HELD)
		return;
	atomic_inc(&vdev->nr_revoking);
	queue_work(vdev->works, &ctx->work);
}

void vta_ctx_hang_up(struct vta_ctx *ctx)
{
	struct vta_queue *q;

	lockdep_assert_held(&ctx->vdev->lock);

	if (ctx->memory != VTA_CTX_HELD)
		return;
	for (q = vta_queue_next(ctx, NULL); q; q = vta_queue_next(ctx, q))
		vta_queue_close(q, -ENODEV);
	WRITE_ONCE(ctx->hung_up, true);
	vta_notify_poll(ctx->notify, EPOLLERR | EPOLLHUP);
}

void vta_ctx_drop(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;

	lockdep_assert_held(&vdev->lock);

	if (ctx->memory != VTA_CTX_HELD)
		return;
	atomic_inc(&vdev->nr_revoking);
	atomic_inc(&vdev->nr_lost);
	atomic_inc(&ctx->user->nr_lost);
	smp_store_release(&ctx->memory, VTA_CTX_LOST);	/* for vta_ctx_work() */
	queue_work(vdev->works, &ctx->work);
	/* A thread that is about to wait is either woken, or sees the new state. */
	smp_mb();
	wake_up_var(&ctx->memory);
}

int vta_ctx_for_queues(struct vta_ctx *ctx, int (*each)(struct vta_queue *q))
{
	struct vta_queue *q;
	unsigned long handle;
	int ret = 0;

	if (vta_ctx_is_lost(ctx))
		return 0;
	mutex_lock(&ctx->lock);
	xa_for_each(&ctx->queues, handle, q) {
		ret = each(q);
		if (ret)
			break;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

int vta_ctx_resume(struct vta_ctx *ctx)
{
	lockdep_assert_held(&ctx->vdev->lock);

	if (vta_ctx_is_lost(ctx))
		return 0;
	vta_mmu_enable(&ctx->mmu);
	return vta_ctx_for_queues(ctx, vta_queue_resume);
}
