// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_queue.c - queues of a context: creation, end, memory, ioctls, doorbells
 *
 * docs/hardware.md, section 6. Ring and status page are buffers of the context (vta_buf.c). Users
 * write descriptors and doorbells themselves; the driver handles neither.
 */
#include <linux/bitfield.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "vta_buf.h"
#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_ioctl.h"
#include "vta_irq.h"
#include "vta_mem.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_user.h"

static unsigned int vta_max_job_ms = 1000;
module_param_named(max_job_ms, vta_max_job_ms, uint, 0644);
MODULE_PARM_DESC(max_job_ms,
		 "Longest time that an engine may execute one descriptor, in ms, for queues that are created after a change (default 1000, 0: no limit)");

/* mmap offsets above device addresses: status page and doorbell of each queue. */
#define VTA_QUEUE_PGOFF(id)	((VTA_ADDR_END >> PAGE_SHIFT) + 2 * (id))
#define VTA_STATUS_PGOFF(id)	(VTA_QUEUE_PGOFF(id) + 0)
#define VTA_DOORBELL_PGOFF(id)	(VTA_QUEUE_PGOFF(id) + 1)

static void vta_queue_release(struct kref *ref)
{
	kfree(container_of(ref, struct vta_queue, ref));
}

void vta_queue_put(struct vta_queue *q)
{
	kref_put(&q->ref, vta_queue_release);
}

/*
 * Does not take vta_ctx.lock, so that a waiter of one queue does not wait for the end of another.
 * A queue that has not been started, or has been stopped, has vta_queue.error set.
 */
struct vta_queue *vta_queue_get(struct vta_ctx *ctx, u32 id)
{
	struct vta_queue *q;

	xa_lock(&ctx->queues);
	q = xa_load(&ctx->queues, id);
	if (q)
		kref_get(&q->ref);
	xa_unlock(&ctx->queues);
	if (q)
		return q;
	return ERR_PTR(READ_ONCE(ctx->dead) ? -ENODEV : -ENOENT);
}

struct vta_queue *vta_queue_next(struct vta_ctx *ctx, struct vta_queue *q)
{
	unsigned long id = q ? q->id : 0;
	struct vta_queue *next;

	xa_lock(&ctx->queues);
	if (q)
		next = xa_find_after(&ctx->queues, &id, ULONG_MAX, XA_PRESENT);
	else
		next = xa_find(&ctx->queues, &id, ULONG_MAX, XA_PRESENT);
	if (next)
		kref_get(&next->ref);
	xa_unlock(&ctx->queues);
	if (q)
		vta_queue_put(q);
	return next;
}

void vta_queue_revoke(struct vta_queue *q, int error)
{
	struct vta_ctx *ctx = q->ctx;

	lockdep_assert_held(&ctx->lock);

	if (q->stopped)
		return;
	WRITE_ONCE(q->stopped, true);
	vta_queue_close(q, error);
	/* Another queue will get the doorbell. Page faults on this mapping find @stopped set. */
	unmap_mapping_range(ctx->inode->i_mapping,
			    (loff_t)VTA_DOORBELL_PGOFF(q->id) << PAGE_SHIFT, PAGE_SIZE, 1);
}

/* Frees the number and its charge, and drops the table's reference. */
static void vta_queue_free_id(struct vta_queue *q)
{
	struct vta_device *vdev = q->ctx->vdev;

	ida_free(&vdev->queue_ids, q->id);
	vta_user_uncharge(vdev, q->ctx->user, VTA_USER_QUEUES, 1);
	atomic_dec(&vdev->nr_queues);
	vta_queue_put(q);
}

void vta_queue_free(struct vta_queue *q)
{
	struct vta_ctx *ctx = q->ctx;

	lockdep_assert_held(&ctx->lock);

	vta_usage_collect(q);
	xa_erase(&ctx->queues, q->id);
	ctx->nr_queues--;
	vta_queue_free_id(q);
}

/* ---- Memory: ring, status page and, with VTA_QUEUE_KEEP, room for the core's state ---- */

static int vta_queue_alloc_buf(struct vta_queue *q, enum vta_queue_buf which, u64 size, u32 flags)
{
	struct vta_ctx *ctx = q->ctx;
	struct vta_mem *mem = vta_mem_alloc(ctx, VTA_MEM_HOST, size);
	struct vta_buf *buf;

	if (IS_ERR(mem))
		return PTR_ERR(mem);
	buf = vta_buf_create(ctx, mem, VTA_BUF_HOST | VTA_BUF_KERNEL | flags, 0, 0);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	q->bufs[which] = buf;
	return 0;
}

/* Frees the buffers from @first on, which have not been published. */
static void vta_queue_discard_bufs(struct vta_queue *q, unsigned int first)
{
	unsigned int i;

	for (i = first; i < VTA_QUEUE_BUFS; i++) {
		if (q->bufs[i])
			vta_buf_put(q->bufs[i]);
	}
}

static int vta_queue_alloc_bufs(struct vta_queue *q, const struct vta_queue_create *arg)
{
	u64 ring = PAGE_ALIGN(sizeof(struct vta_desc) << arg->ring_order);
	u64 save = PAGE_ALIGN(q->ctx->vdev->caps.save_size);
	int ret;

	ret = vta_queue_alloc_buf(q, VTA_QUEUE_RING, ring, VTA_BUF_READONLY);
	if (!ret)
		ret = vta_queue_alloc_buf(q, VTA_QUEUE_STATUS, PAGE_SIZE, VTA_BUF_STATUS);
	if (!ret && arg->flags & VTA_QUEUE_KEEP)
		ret = vta_queue_alloc_buf(q, VTA_QUEUE_SAVE, save, VTA_BUF_HIDDEN);
	if (ret) {
		vta_queue_discard_bufs(q, 0);
		return ret;
	}
	q->record = page_address(q->bufs[VTA_QUEUE_STATUS]->mem->host.pages[0]);
	return 0;
}

/* Removes the buffers before @end from card and context; under vta_ctx.lock. */
static int vta_queue_revoke_bufs(struct vta_queue *q, unsigned int end)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < end && !ret; i++) {
		if (q->bufs[i])
			ret = vta_buf_unpublish(q->bufs[i]);
	}
	return ret;
}

/* Undoes the publishing of the buffers before @end; a dead context has dropped them. */
static void vta_queue_unpublish_bufs(struct vta_queue *q, unsigned int end)
{
	struct vta_ctx *ctx = q->ctx;

	mutex_lock(&ctx->lock);
	if (!ctx->dead)
		vta_queue_revoke_bufs(q, end);	/* if this fails, the card's reset frees them */
	vta_buf_unlock(ctx);
}

static int vta_queue_publish_bufs(struct vta_queue *q)
{
	unsigned int i;
	int ret;

	for (i = 0; i < VTA_QUEUE_BUFS; i++) {
		ret = q->bufs[i] ? vta_buf_publish(q->bufs[i]) : 0;
		if (ret) {
			vta_queue_discard_bufs(q, i + 1);
			vta_queue_unpublish_bufs(q, i);
			return ret;
		}
	}
	return 0;
}

/* ---- Creation and end ---- */

/* Allocates a queue with its number and its memory, which is not published yet. */
static struct vta_queue *vta_queue_alloc(struct vta_ctx *ctx, const struct vta_queue_create *arg)
{
	struct vta_device *vdev = ctx->vdev;
	struct vta_queue *q;
	int ret;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return ERR_PTR(-ENOMEM);
	kref_init(&q->ref);
	q->ctx = ctx;
	INIT_LIST_HEAD(&q->vector_node);
	INIT_LIST_HEAD(&q->waiters.node);
	q->waiters.tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&q->usage_node);
	q->error = -ENOENT;
	vta_record_clear_fault(q);

	ret = vta_queue_alloc_bufs(q, arg);
	if (ret)
		goto err_free;
	ret = vta_user_charge(vdev, ctx->user, VTA_USER_QUEUES, 1, ctx->file);
	if (ret)
		goto err_bufs;
	ret = ida_alloc_max(&vdev->queue_ids, vdev->caps.queues - 1, GFP_KERNEL);
	if (ret < 0)
		goto err_user;
	q->id = ret;
	q->bufs[VTA_QUEUE_STATUS]->pgoff = VTA_STATUS_PGOFF(q->id);
	q->vector = vta_irq_vector(vdev, q->id);
	q->setup = (struct vta_queue_setup) {
		.context = ctx->mmu.id,
		.ring_order = arg->ring_order,
		.ring_addr = q->bufs[VTA_QUEUE_RING]->addr,
		.vector = q->vector->nr,
		.cycles = arg->max_cycles,
		.time_limit = (u64)READ_ONCE(vta_max_job_ms) * NSEC_PER_MSEC,
		.group = ctx->user->group,
		.save = q->bufs[VTA_QUEUE_SAVE] ? q->bufs[VTA_QUEUE_SAVE]->addr : 0,
		.priority = arg->priority,
	};
	atomic_inc(&vdev->nr_queues);
	return q;

err_user:
	vta_user_uncharge(vdev, ctx->user, VTA_USER_QUEUES, 1);
err_bufs:
	vta_queue_discard_bufs(q, 0);
err_free:
	vta_queue_put(q);
	return ERR_PTR(ret);
}

/* Publishes the queue to card and user; its resources then belong to the context. */
static int vta_queue_publish(struct vta_queue *q)
{
	struct vta_ctx *ctx = q->ctx;

	lockdep_assert_held(&ctx->lock);

	q->setup.status = sg_dma_address(q->bufs[VTA_QUEUE_STATUS]->sgt->sgl);
	/* The entry is reserved. */
	xa_store(&ctx->queues, q->id, q, GFP_NOWAIT);
	ctx->nr_queues++;
	/* A card that fails here will be reset, which frees the queue. */
	return vta_queue_start(q);
}

/* Publishes the buffers and reserves the table's entry; may sleep for the user's memory. */
static int vta_queue_prepare(struct vta_queue *q)
{
	struct vta_ctx *ctx = q->ctx;
	int ret = vta_queue_publish_bufs(q);

	if (ret)
		return ret;
	ret = xa_reserve(&ctx->queues, q->id, GFP_KERNEL_ACCOUNT);
	if (ret)
		vta_queue_unpublish_bufs(q, VTA_QUEUE_BUFS);
	return ret;
}

int vta_ioctl_queue_create(struct vta_ctx *ctx, void *data)
{
	struct vta_queue_create *arg = data;
	struct vta_queue *q;
	int ret;

	if (arg->flags & ~VTA_QUEUE_KEEP || arg->priority > VTA_QUEUE_PRIORITY_MAX ||
	    arg->ring_order > ctx->vdev->caps.ring_order_max)
		return -EINVAL;
	if (arg->flags & VTA_QUEUE_KEEP && !ctx->vdev->caps.save_size)
		return -EOPNOTSUPP;
	if (arg->priority > VTA_QUEUE_PRIORITY_DEFAULT && !capable(CAP_SYS_NICE))
		return -EPERM;

	ret = vta_user_throttle(ctx->vdev, ctx->user);
	if (ret)
		return ret;
	q = vta_queue_alloc(ctx, arg);
	if (IS_ERR(q))
		return PTR_ERR(q);

	ret = vta_queue_prepare(q);
	if (ret) {
		vta_queue_free_id(q);
		return ret;
	}

	mutex_lock(&ctx->lock);
	if (ctx->dead) {
		xa_release(&ctx->queues, q->id);
		vta_queue_free_id(q);
		ret = -ENODEV;
		goto out;
	}
	ret = vta_queue_publish(q);
	if (ret)
		goto out;
	trace_vta_queue_create(q);
	arg->queue = q->id;
	arg->ring_offset = (u64)q->bufs[VTA_QUEUE_RING]->pgoff << PAGE_SHIFT;
	arg->status_offset = (u64)VTA_STATUS_PGOFF(q->id) << PAGE_SHIFT;
	arg->doorbell_offset = (u64)VTA_DOORBELL_PGOFF(q->id) << PAGE_SHIFT;
	arg->ring_addr = q->bufs[VTA_QUEUE_RING]->addr;
	arg->doorbell_size = PAGE_SIZE;
out:
	mutex_unlock(&ctx->lock);
	return ret;
}

int vta_ioctl_queue_destroy(struct vta_ctx *ctx, void *data)
{
	struct vta_queue_destroy *arg = data;
	struct vta_queue *q;
	int ret;

	if (arg->pad)
		return -EINVAL;

	mutex_lock(&ctx->lock);
	q = xa_load(&ctx->queues, arg->queue);
	if (ctx->dead) {
		ret = -ENODEV;
		goto out;
	}
	if (!q || q->stopped) {
		ret = -ENOENT;
		goto out;
	}

	trace_vta_queue_destroy(q);
	vta_queue_revoke(q, -ENOENT);
	vta_queue_abort(q);
	/* If the card does not stop the queue, a reset will free it. */
	ret = vta_card_wait_queue(ctx->vdev, ctx->mmu.epoch, q->id);
	vta_usage_collect(q);
	if (!ret) {
		vta_queue_read_final(q);
		ret = vta_queue_revoke_bufs(q, VTA_QUEUE_BUFS);
	}
	if (!ret)
		vta_queue_free(q);
out:
	vta_buf_unlock(ctx);
	return ret;
}

/*
 * Stops the halted queue and starts it again; ring, status page and doorbell stay mapped. The card
 * forgets the descriptors after the fault, until a doorbell submits them again.
 */
int vta_ioctl_queue_recover(struct vta_ctx *ctx, void *data)
{
	struct vta_queue_recover *arg = data;
	struct vta_queue *q;
	int ret;

	if (arg->flags)
		return -EINVAL;
	ret = vta_user_throttle(ctx->vdev, ctx->user);
	if (ret)
		return ret;

	mutex_lock(&ctx->lock);
	q = xa_load(&ctx->queues, arg->queue);
	if (ctx->dead)
		ret = -ENODEV;
	else if (!q || q->stopped)
		ret = -ENOENT;
	else
		ret = vta_queue_recover(q, &arg->seq);
	if (!ret)
		trace_vta_queue_recover(q);
	mutex_unlock(&ctx->lock);
	return ret;
}

/* ---- Its eventfd and its fault ---- */

int vta_ioctl_queue_event(struct vta_ctx *ctx, void *data)
{
	struct vta_queue_event *arg = data;
	struct vta_event *event = NULL;
	struct vta_queue *q;
	int ret;

	if (arg->flags || arg->pad || arg->fd < -1)
		return -EINVAL;
	/* Limits the number of pending eventfds. */
	ret = vta_notify_wait(ctx->notify);
	if (ret)
		return ret;
	if (arg->fd >= 0) {
		event = vta_event_get(arg->fd);
		if (IS_ERR(event))
			return PTR_ERR(event);
	}
	q = vta_queue_get(ctx, arg->queue);
	if (IS_ERR(q)) {
		ret = PTR_ERR(q);
	} else {
		ret = vta_waiters_set_event(q, &event);
		vta_queue_put(q);
	}
	if (event)
		vta_event_put(event);
	return ret;
}

int vta_ioctl_fault(struct vta_ctx *ctx, void *data)
{
	struct vta_queue_fault *arg = data;
	u32 id = arg->queue;
	struct vta_queue *q;
	int ret;

	if (arg->pad)
		return -EINVAL;
	q = vta_queue_get(ctx, id);
	if (IS_ERR(q))
		return PTR_ERR(q);
	ret = vta_queue_get_fault(q, arg);
	arg->queue = id;
	vta_queue_put(q);
	return ret;
}

/* ---- Doorbell mappings ---- */

static vm_fault_t vta_doorbell_fault(struct vm_fault *vmf)
{
	struct vta_queue *q = vmf->vma->vm_private_data;
	struct vta_device *vdev = q->ctx->vdev;
	phys_addr_t phys = vdev->doorbell_phys + ((u64)q->id << vdev->caps.doorbell_shift);
	struct vta_ctx *ctx = q->ctx;
	vm_fault_t ret;

	ret = vta_mem_fault_begin(READ_ONCE(q->stopped) ? &ctx->blank : NULL, vmf);
	if (ret)
		return ret;
	mutex_lock(&ctx->lock);
	if (q->stopped)
		ret = vta_mem_fault_blank(ctx->blank, vmf);
	else
		ret = vmf_insert_pfn(vmf->vma, vmf->address, PHYS_PFN(phys));
	mutex_unlock(&ctx->lock);
	return ret;
}

static void vta_doorbell_open(struct vm_area_struct *vma)
{
	struct vta_queue *q = vma->vm_private_data;

	kref_get(&q->ref);
}

static void vta_doorbell_close(struct vm_area_struct *vma)
{
	vta_queue_put(vma->vm_private_data);
}

static const struct vm_operations_struct vta_doorbell_vm_ops = {
	.open = vta_doorbell_open,
	.close = vta_doorbell_close,
	.fault = vta_doorbell_fault,
};

int vta_queue_mmap(struct vta_ctx *ctx, struct vm_area_struct *vma)
{
	unsigned long id = (vma->vm_pgoff - VTA_DOORBELL_PGOFF(0)) / 2;
	struct vta_queue *q;

	lockdep_assert_held(&ctx->lock);

	if (vma->vm_pgoff != VTA_DOORBELL_PGOFF(id) || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	q = xa_load(&ctx->queues, id);
	if (!q || q->stopped)
		return -EINVAL;

	/* Not inherited: an accidental doorbell write by a child would be hard to find. */
	vm_flags_set(vma, VM_DONTCOPY);
	vma->vm_page_prot = pgprot_decrypted(pgprot_noncached(vma->vm_page_prot));
	kref_get(&q->ref);
	vma->vm_private_data = q;
	vma->vm_ops = &vta_doorbell_vm_ops;
	return 0;
}
