// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_file.c - /dev/vtaN: file operations, and the table of ioctls
 *
 * uapi/vta.h documents each call. This file copies and checks their structures; the files for
 * contexts, buffers and queues implement them.
 */
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "vta_buf.h"
#include "vta_cardmem.h"
#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_drv.h"
#include "vta_faults.h"
#include "vta_ioctl.h"
#include "vta_mem.h"
#include "vta_queue.h"
#include "vta_user.h"
#include "vta_waiter.h"
#include "vta.h"

/* Cards and processes have been built with these sizes. */
static_assert(sizeof(struct vta_desc) == 64);
static_assert(sizeof(struct vta_status) == 64);
static_assert(sizeof(struct vta_fault) == 64);
static_assert(sizeof(struct vta_status_page) == VTA_STATUS_ALIGN);
static_assert(sizeof(struct vta_stamp) == 32);
static_assert(sizeof(struct vta_fence) == 16);

static int vta_ioctl_info(struct vta_ctx *ctx, void *data)
{
	struct vta_device *vdev = ctx->vdev;
	const struct vta_caps *caps = &vdev->caps;
	struct vta_info *info = data;

	*info = (struct vta_info) {
		.contract = caps->contract,
		.abi = VTA_ABI_VERSION,
		.features = caps->features,
		.mem_size = caps->mem_size,
		.mem_free = vta_cardmem_avail(vdev->cardmem),
		.serial = caps->serial,
		.queues = caps->queues,
		.contexts = caps->contexts,
		.ring_order_max = caps->ring_order_max,
		.clock_khz = caps->clock_khz,
		.vectors = vdev->nr_vectors,
		.hw_ver = caps->hw_ver,
		VTA_ISA_CONFIG_FIELDS(&caps->config),
		.log_tokens = caps->log_tokens,
		.log_waiting = caps->log_waiting,
		.generation = ctx->generation,
		.save_size = PAGE_ALIGN(caps->save_size),
	};
	return 0;
}

static int vta_undo_buf_export(struct vta_ctx *ctx, void *data)
{
	const struct vta_exported *exported = data;

	put_unused_fd(exported->arg.fd);
	fput(exported->file);
	return 0;
}

static void vta_finish_buf_export(const void *data)
{
	const struct vta_exported *exported = data;

	fd_install(exported->arg.fd, exported->file);
}

/* Size limit of the structure of a call. */
#define VTA_CALL_SIZE	128

/**
 * struct vta_call - an ioctl
 * @cmd: the request, with the structure's present size
 * @min: size of the structure in the first version of the call
 * @out_always: copy the structure to the caller even if the call fails
 * @needs_write: the call takes memory or a queue, so the file must be open for writing
 * @run: implements the call
 * @undo: undoes the call if its result cannot be copied to the caller; a thread of the same file
 *        that has guessed the new handle loses it
 * @handle: offset of the handle in the structure, if @undo takes a handle; else 0
 * @finish: completes the call after the result was copied
 */
struct vta_call {
	unsigned int cmd;
	unsigned int min;
	bool out_always;
	bool needs_write;
	vta_ioctl_fn *run;
	vta_ioctl_fn *undo;
	unsigned int handle;
	void (*finish)(const void *data);
};

/*
 * An entry: the call's name in upper and lower case, its structure, the structure's present size
 * and the last member of its first version, and other members of vta_call.
 */
#define VTA_CALL(_NAME, _name, _type, _size, _last, ...)			\
	[_IOC_NR(VTA_IOCTL_##_NAME)] = {					\
		.cmd = VTA_IOCTL_##_NAME,					\
		.min = offsetofend(struct _type, _last) +			\
		       BUILD_BUG_ON_ZERO(_IOC_SIZE(VTA_IOCTL_##_NAME) != (_size)), \
		.run = vta_ioctl_##_name, __VA_ARGS__				\
	}

static const struct vta_call vta_calls[] = {
	VTA_CALL(INFO, info, vta_info, 88, pad),
	VTA_CALL(LOST, lost, vta_lost, 8, cause),
	VTA_CALL(BUF_ALLOC, buf_alloc, vta_buf_alloc, 40, handle,
		 .needs_write = true, .undo = vta_ioctl_buf_free,
		 .handle = offsetof(struct vta_buf_alloc, handle)),
	VTA_CALL(BUF_FREE, buf_free, vta_buf_free, 8, pad),
	VTA_CALL(BUF_PIN, buf_pin, vta_buf_pin, 40, handle,
		 .needs_write = true, .undo = vta_ioctl_buf_free,
		 .handle = offsetof(struct vta_buf_pin, handle)),
	VTA_CALL(BUF_EXPORT, buf_export, vta_buf_export, 16, pad,
		 .needs_write = true, .undo = vta_undo_buf_export, .finish = vta_finish_buf_export),
	VTA_CALL(BUF_IMPORT, buf_import, vta_buf_import, 40, pad,
		 .needs_write = true, .undo = vta_ioctl_buf_free,
		 .handle = offsetof(struct vta_buf_import, handle)),
	VTA_CALL(QUEUE_CREATE, queue_create, vta_queue_create, 56, doorbell_size,
		 .needs_write = true, .undo = vta_ioctl_queue_destroy,
		 .handle = offsetof(struct vta_queue_create, queue)),
	VTA_CALL(QUEUE_DESTROY, queue_destroy, vta_queue_destroy, 8, pad),
	VTA_CALL(QUEUE_RECOVER, queue_recover, vta_queue_recover, 16, seq),
	VTA_CALL(QUEUE_EVENT, queue_event, vta_queue_event, 16, pad),
	VTA_CALL(FAULT, fault, vta_queue_fault, 56, time),
	VTA_CALL(WAIT, wait, vta_wait, 32, done, .out_always = true),
	VTA_CALL(WAIT_MANY, wait_many, vta_wait_many, 32, index, .out_always = true),
};

/* The largest structures. */
static_assert(sizeof(struct vta_info) <= VTA_CALL_SIZE);
static_assert(sizeof(struct vta_exported) <= VTA_CALL_SIZE);

static void vta_call_undo(const struct vta_call *call, struct vta_ctx *ctx, void *data)
{
	/* As struct vta_buf_free and struct vta_queue_destroy: the handle, and padding. */
	u32 handle[2] = { *(u32 *)(data + call->handle) };

	call->undo(ctx, call->handle ? handle : data);
}

/*
 * Structures are copied in and out once, with the size in the caller's request. A newer caller may
 * send members that the kernel does not know, if they are zero, and gets zeroes back.
 */
static long vta_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct vta_ctx *ctx = file->private_data;
	u64 data[VTA_CALL_SIZE / sizeof(u64)] = {};
	unsigned int nr = _IOC_NR(cmd);
	size_t size = _IOC_SIZE(cmd);
	void __user *udata = (void __user *)user;
	const struct vta_call *call;
	size_t ksize;
	int ret;

	/* If the file has lost its card, all calls fail but the one that returns the cause. */
	if (READ_ONCE(ctx->dead) && nr != _IOC_NR(VTA_IOCTL_LOST))
		return -ENODEV;

	if (nr >= ARRAY_SIZE(vta_calls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(vta_calls));
	call = &vta_calls[nr];
	if (!call->cmd || (cmd ^ call->cmd) & ~IOCSIZE_MASK)
		return -ENOTTY;
	if (size < call->min)
		return -EINVAL;
	if (call->needs_write && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	ksize = _IOC_SIZE(call->cmd);

	if (cmd & IOC_IN) {
		ret = copy_struct_from_user(data, ksize, udata, size);
		if (ret)
			return ret;
	}

	ret = call->run(ctx, data);

	if (cmd & IOC_OUT && (!ret || call->out_always)) {
		if (copy_to_user(udata, data, min(size, ksize)) ||
		    (size > ksize && clear_user(udata + ksize, size - ksize))) {
			if (!ret && call->undo)
				vta_call_undo(call, ctx, data);
			return -EFAULT;
		}
	}
	if (!ret && call->finish)
		call->finish(data);
	return ret;
}

static int vta_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vta_ctx *ctx = file->private_data;
	struct vta_buf *buf;
	int ret;

	if (READ_ONCE(ctx->dead))
		return -ENODEV;
	ret = vta_vma_init(vma);
	if (ret)
		return ret;

	mutex_lock(&ctx->lock);
	buf = xa_load(&ctx->bufs, vma->vm_pgoff);
	if (ctx->dead)
		ret = -ENODEV;
	else if (buf)
		ret = vta_buf_mmap(buf, vma);
	else
		ret = vta_queue_mmap(ctx, vma);
	mutex_unlock(&ctx->lock);
	return ret;
}

static __poll_t vta_poll(struct file *file, poll_table *wait)
{
	struct vta_ctx *ctx = file->private_data;
	struct vta_queue *q;
	unsigned long handle;
	__poll_t mask = 0;

	poll_wait(file, &ctx->notify->poll_wq, wait);

	if (READ_ONCE(ctx->dead) || READ_ONCE(ctx->hung_up))
		return EPOLLERR | EPOLLHUP;
	xa_lock(&ctx->queues);
	xa_for_each(&ctx->queues, handle, q)
		mask |= vta_waiters_poll(q, vta_poll_waits(wait));
	xa_unlock(&ctx->queues);
	return mask;
}

static int vta_open(struct inode *inode, struct file *file)
{
	struct vta_device *vdev = container_of(inode->i_cdev, struct vta_device, cdev);
	struct vta_ctx *ctx;

	ctx = vta_ctx_open(vdev, file);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;
	file->f_mapping = ctx->inode->i_mapping;
	return nonseekable_open(inode, file);
}

static int vta_release(struct inode *inode, struct file *file)
{
	vta_ctx_close(file->private_data);
	return 0;
}

#define VTA_FATE_WORD(_NAME, _word, _text) \
	[VTA_FATE_##_NAME] = _word,
#define VTA_CAUSE_WORD(_NAME, _word, _text) \
	[VTA_CAUSE_##_NAME] = _word,

static void vta_show_lost(struct seq_file *m, const struct vta_lost *lost)
{
	static const char * const fates[] = { VTA_FATES(VTA_FATE_WORD) };
	static const char * const causes[] = { VTA_CAUSES(VTA_CAUSE_WORD) };

	seq_printf(m, "vta-lost:\t%s%s%s\n", fates[lost->fate],
		   lost->cause ? " " : "", causes[lost->cause]);
}

/* Takes no mutex: readers do not wait for users of the card. */
static void vta_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct vta_ctx *ctx = file->private_data;
	const struct vta_lost lost = {
		.fate = READ_ONCE(ctx->lost.fate),
		.cause = READ_ONCE(ctx->lost.cause),
	};
	struct vta_usage usage;
	struct vta_queue *q;
	unsigned long handle;

	seq_printf(m, "vta-card:\t%s\n", dev_name(&ctx->vdev->dev));
	seq_printf(m, "vta-client-id:\t%llu\n", ctx->client);
	seq_printf(m, "vta-context:\t%u\n", ctx->mmu.id);
	seq_printf(m, "vta-group:\t%d\n", READ_ONCE(ctx->user->group));
	vta_show_lost(m, &lost);
	seq_printf(m, "vta-host-bytes:\t%llu\n", READ_ONCE(ctx->host_bytes));
	seq_printf(m, "vta-user-host-bytes:\t%llu\n",
		   READ_ONCE(ctx->user->used[VTA_USER_HOST_MEM]));
	seq_printf(m, "vta-user-host-limit:\t%llu\n",
		   vta_user_limit(ctx->vdev, VTA_USER_HOST_MEM));
	seq_printf(m, "vta-card-bytes:\t%llu\n", READ_ONCE(ctx->card_bytes));
	seq_printf(m, "vta-pinned-bytes:\t%llu\n", READ_ONCE(ctx->pinned_bytes));
	seq_printf(m, "vta-imported-bytes:\t%llu\n", READ_ONCE(ctx->imported_bytes));
	seq_printf(m, "vta-user-signal-time:\t%llu ns\n", READ_ONCE(ctx->user->notifier->sent_ns));
	seq_printf(m, "vta-queues:\t%u\n", READ_ONCE(ctx->nr_queues));
	seq_puts(m, "vta-queue-numbers:\t");
	xa_lock(&ctx->queues);
	xa_for_each(&ctx->queues, handle, q)
		seq_printf(m, "%u ", q->id);
	xa_unlock(&ctx->queues);
	seq_putc(m, '\n');

	vta_usage_of_ctx(ctx, &usage);
	seq_printf(m, "vta-descriptors:\t%llu\n", usage.descriptors);
	seq_printf(m, "vta-cycles-compute:\t%llu\n", usage.cycles);
	seq_printf(m, "vta-runs:\t%llu\n", usage.runs);
	seq_printf(m, "vta-copies:\t%llu\n", usage.copies);
	seq_printf(m, "vta-engine-compute:\t%llu ns\n", usage.run_ns);
	seq_printf(m, "vta-engine-copy:\t%llu ns\n", usage.copy_ns);
}

const struct file_operations vta_fops = {
	.owner = THIS_MODULE,
	.open = vta_open,
	.release = vta_release,
	.unlocked_ioctl = vta_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = vta_mmap,
	.poll = vta_poll,
	.show_fdinfo = vta_show_fdinfo,
};
