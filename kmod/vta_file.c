// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_file.c - /dev/vtaN: the calls a process can make
 *
 * uapi/vta.h says what each does. Here they are taken apart and checked for
 * form; what they mean is the business of contexts, buffers and queues.
 */
#include <linux/bitfield.h>
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
#include "vta_export.h"
#include "vta_import.h"
#include "vta_mem.h"
#include "vta_pin.h"
#include "vta_queue.h"
#include "vta_sleep.h"
#include "vta_user.h"
#include "vta_wait.h"
#include "vta.h"

/* What card and processes were built with: these never change. */
static_assert(sizeof(struct vta_desc) == 64);
static_assert(sizeof(struct vta_status) == 64);
static_assert(sizeof(struct vta_fault) == 64);
static_assert(sizeof(struct vta_status_page) == VTA_STATUS_ALIGN);
static_assert(sizeof(struct vta_stamp) == 32);
static_assert(sizeof(struct vta_fence) == 16);
/* These may grow at the end. */
static_assert(sizeof(struct vta_info) == 88);
static_assert(sizeof(struct vta_lost) == 8);
static_assert(sizeof(struct vta_buf_alloc) == 40);
static_assert(sizeof(struct vta_buf_free) == 8);
static_assert(sizeof(struct vta_buf_pin) == 40);
static_assert(sizeof(struct vta_buf_export) == 16);
static_assert(sizeof(struct vta_buf_import) == 40);
static_assert(sizeof(struct vta_queue_create) == 56);
static_assert(sizeof(struct vta_queue_destroy) == 8);
static_assert(sizeof(struct vta_wait) == 32);
static_assert(sizeof(struct vta_queue_fault) == 56);
static_assert(sizeof(struct vta_queue_recover) == 16);
static_assert(sizeof(struct vta_queue_event) == 16);
static_assert(sizeof(struct vta_wait_many) == 32);

union vta_arg {
	struct vta_info info;
	struct vta_lost lost;
	struct vta_buf_alloc buf_alloc;
	struct vta_buf_free buf_free;
	struct vta_buf_pin buf_pin;
	struct vta_buf_export buf_export;
	struct vta_buf_import buf_import;
	struct vta_queue_create queue_create;
	struct vta_queue_destroy queue_destroy;
	struct vta_wait wait;
	struct vta_queue_fault fault;
	struct vta_queue_recover queue_recover;
	struct vta_queue_event event;
	struct vta_wait_many wait_many;
};

/**
 * struct vta_ioctl - how a request is passed
 * @cmd: the request as of today
 * @min: size of its structure when it was new
 * @out_always: what goes out is of use when the call fails, too
 * @takes: memory or a queue of the card: for files that are open for writing
 */
struct vta_ioctl {
	unsigned int cmd;
	unsigned int min;
	bool out_always;
	bool takes;
};

static const struct vta_ioctl vta_ioctls[] = {
	[_IOC_NR(VTA_IOCTL_INFO)] = {
		VTA_IOCTL_INFO, offsetofend(struct vta_info, pad) },
	[_IOC_NR(VTA_IOCTL_LOST)] = {
		VTA_IOCTL_LOST, offsetofend(struct vta_lost, cause) },
	[_IOC_NR(VTA_IOCTL_BUF_ALLOC)] = {
		VTA_IOCTL_BUF_ALLOC, offsetofend(struct vta_buf_alloc, handle),
		.takes = true },
	[_IOC_NR(VTA_IOCTL_BUF_FREE)] = {
		VTA_IOCTL_BUF_FREE, offsetofend(struct vta_buf_free, pad) },
	[_IOC_NR(VTA_IOCTL_BUF_PIN)] = {
		VTA_IOCTL_BUF_PIN, offsetofend(struct vta_buf_pin, handle),
		.takes = true },
	[_IOC_NR(VTA_IOCTL_BUF_EXPORT)] = {
		VTA_IOCTL_BUF_EXPORT, offsetofend(struct vta_buf_export, pad),
		.takes = true },
	[_IOC_NR(VTA_IOCTL_BUF_IMPORT)] = {
		VTA_IOCTL_BUF_IMPORT, offsetofend(struct vta_buf_import, pad),
		.takes = true },
	[_IOC_NR(VTA_IOCTL_QUEUE_CREATE)] = {
		VTA_IOCTL_QUEUE_CREATE, offsetofend(struct vta_queue_create, doorbell_size),
		.takes = true },
	[_IOC_NR(VTA_IOCTL_QUEUE_DESTROY)] = {
		VTA_IOCTL_QUEUE_DESTROY, offsetofend(struct vta_queue_destroy, pad) },
	[_IOC_NR(VTA_IOCTL_WAIT)] = {
		VTA_IOCTL_WAIT, offsetofend(struct vta_wait, done), true },
	[_IOC_NR(VTA_IOCTL_FAULT)] = {
		VTA_IOCTL_FAULT, offsetofend(struct vta_queue_fault, time) },
	[_IOC_NR(VTA_IOCTL_QUEUE_RECOVER)] = {
		VTA_IOCTL_QUEUE_RECOVER, offsetofend(struct vta_queue_recover, seq) },
	[_IOC_NR(VTA_IOCTL_QUEUE_EVENT)] = {
		VTA_IOCTL_QUEUE_EVENT, offsetofend(struct vta_queue_event, pad) },
	[_IOC_NR(VTA_IOCTL_WAIT_MANY)] = {
		VTA_IOCTL_WAIT_MANY, offsetofend(struct vta_wait_many, index), true },
};

static int vta_file_info(struct vta_ctx *ctx, struct vta_info *info)
{
	struct vta_device *vdev = ctx->vdev;
	const struct vta_caps *caps = &vdev->caps;

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
		.log_inp_width = FIELD_GET(REG_CONFIG0_LOG_INP_WIDTH, caps->config0),
		.log_wgt_width = FIELD_GET(REG_CONFIG0_LOG_WGT_WIDTH, caps->config0),
		.log_acc_width = FIELD_GET(REG_CONFIG0_LOG_ACC_WIDTH, caps->config0),
		.log_batch = FIELD_GET(REG_CONFIG0_LOG_BATCH, caps->config0),
		.log_block = FIELD_GET(REG_CONFIG0_LOG_BLOCK, caps->config0),
		.log_uop_buff_size = FIELD_GET(REG_CONFIG1_LOG_UOP_BUFF_SIZE, caps->config1),
		.log_inp_buff_size = FIELD_GET(REG_CONFIG1_LOG_INP_BUFF_SIZE, caps->config1),
		.log_wgt_buff_size = FIELD_GET(REG_CONFIG1_LOG_WGT_BUFF_SIZE, caps->config1),
		.log_acc_buff_size = FIELD_GET(REG_CONFIG1_LOG_ACC_BUFF_SIZE, caps->config1),
		.generation = ctx->generation,
		.save_size = PAGE_ALIGN(caps->save_size),
	};
	return 0;
}

/* @made: a file that is to become the descriptor in the answer */
static int vta_file_call(struct vta_ctx *ctx, unsigned int nr, union vta_arg *arg,
			 struct file **made)
{
	switch (nr) {
	case _IOC_NR(VTA_IOCTL_INFO):
		return vta_file_info(ctx, &arg->info);
	case _IOC_NR(VTA_IOCTL_LOST):
		return vta_ctx_lost(ctx, &arg->lost);
	case _IOC_NR(VTA_IOCTL_BUF_ALLOC):
		return vta_buf_alloc(ctx, &arg->buf_alloc);
	case _IOC_NR(VTA_IOCTL_BUF_FREE):
		return vta_buf_free(ctx, &arg->buf_free);
	case _IOC_NR(VTA_IOCTL_BUF_PIN):
		return vta_pin(ctx, &arg->buf_pin);
	case _IOC_NR(VTA_IOCTL_BUF_EXPORT):
		return vta_export(ctx, &arg->buf_export, made);
	case _IOC_NR(VTA_IOCTL_BUF_IMPORT):
		return vta_import(ctx, &arg->buf_import);
	case _IOC_NR(VTA_IOCTL_QUEUE_CREATE):
		return vta_queue_create(ctx, &arg->queue_create);
	case _IOC_NR(VTA_IOCTL_QUEUE_DESTROY):
		return vta_queue_destroy(ctx, &arg->queue_destroy);
	case _IOC_NR(VTA_IOCTL_WAIT):
		return vta_sleep(ctx, &arg->wait);
	case _IOC_NR(VTA_IOCTL_FAULT):
		return vta_wait_fault(ctx, &arg->fault);
	case _IOC_NR(VTA_IOCTL_QUEUE_RECOVER):
		return vta_queue_recover(ctx, &arg->queue_recover);
	case _IOC_NR(VTA_IOCTL_QUEUE_EVENT):
		return vta_wait_event(ctx, &arg->event);
	case _IOC_NR(VTA_IOCTL_WAIT_MANY):
		return vta_sleep_many(ctx, &arg->wait_many);
	default:
		return -ENOTTY;
	}
}

/*
 * Takes back what a call has made and cannot tell the caller of. Who guesses the
 * handle meanwhile, and uses it, loses it: it is the same file.
 */
static void vta_file_undo(struct vta_ctx *ctx, unsigned int nr, const union vta_arg *arg,
			  struct file *made)
{
	struct vta_queue_destroy queue = {};
	struct vta_buf_free buf = {};

	switch (nr) {
	case _IOC_NR(VTA_IOCTL_BUF_ALLOC):
		buf.handle = arg->buf_alloc.handle;
		vta_buf_free(ctx, &buf);
		break;
	case _IOC_NR(VTA_IOCTL_BUF_PIN):
		buf.handle = arg->buf_pin.handle;
		vta_buf_free(ctx, &buf);
		break;
	case _IOC_NR(VTA_IOCTL_BUF_IMPORT):
		buf.handle = arg->buf_import.handle;
		vta_buf_free(ctx, &buf);
		break;
	case _IOC_NR(VTA_IOCTL_BUF_EXPORT):
		put_unused_fd(arg->buf_export.fd);
		fput(made);
		break;
	case _IOC_NR(VTA_IOCTL_QUEUE_CREATE):
		queue.queue = arg->queue_create.queue;
		vta_queue_destroy(ctx, &queue);
		break;
	}
}

/*
 * Structures are copied in and out once, by the size the caller says. A caller
 * newer than the kernel may send what the kernel does not know if it is zero,
 * and gets zeroes for it.
 */
static long vta_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct vta_ctx *ctx = file->private_data;
	unsigned int nr = _IOC_NR(cmd);
	size_t size = _IOC_SIZE(cmd);
	void __user *uarg = (void __user *)user;
	const struct vta_ioctl *ioctl;
	struct file *made = NULL;
	union vta_arg arg = {};
	size_t ksize;
	int ret;

	/* Every call on a file that has lost the card says so; but one, which says why. */
	if (READ_ONCE(ctx->dead) && nr != _IOC_NR(VTA_IOCTL_LOST))
		return -ENODEV;

	if (nr >= ARRAY_SIZE(vta_ioctls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(vta_ioctls));
	ioctl = &vta_ioctls[nr];
	if (!ioctl->cmd || (cmd ^ ioctl->cmd) & ~IOCSIZE_MASK)
		return -ENOTTY;
	if (size < ioctl->min)
		return -EINVAL;
	if (ioctl->takes && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	ksize = _IOC_SIZE(ioctl->cmd);

	if (cmd & IOC_IN) {
		ret = copy_struct_from_user(&arg, ksize, uarg, size);
		if (ret)
			return ret;
	}

	ret = vta_file_call(ctx, nr, &arg, &made);

	if (cmd & IOC_OUT && (!ret || ioctl->out_always)) {
		if (copy_to_user(uarg, &arg, min(size, ksize)) ||
		    (size > ksize && clear_user(uarg + ksize, size - ksize))) {
			if (!ret)
				vta_file_undo(ctx, nr, &arg, made);
			return -EFAULT;
		}
	}
	if (made)
		fd_install(arg.buf_export.fd, made);
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

	poll_wait(file, &ctx->notify.poll_wq, wait);

	if (READ_ONCE(ctx->dead))
		return EPOLLERR | EPOLLHUP;
	xa_lock(&ctx->queues);
	xa_for_each(&ctx->queues, handle, q)
		mask |= vta_wait_poll(q, vta_poll_waits(wait));
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

static void vta_show_lost(struct seq_file *m, const struct vta_lost *lost)
{
	static const char * const fates[] = {
		[VTA_FATE_NONE] = "no",
		[VTA_FATE_PENDING] = "pending",
		[VTA_FATE_RESET] = "reset",
		[VTA_FATE_GIVEN_UP] = "given-up",
		[VTA_FATE_REMOVED] = "removed",
	};
	static const char * const causes[] = {
		[VTA_CAUSE_NONE] = "",
		[VTA_CAUSE_CARD] = " card",
		[VTA_CAUSE_ADMIN] = " admin",
		[VTA_CAUSE_FUNCTION] = " function",
		[VTA_CAUSE_BUS] = " bus",
		[VTA_CAUSE_SLEEP] = " sleep",
		[VTA_CAUSE_WAKE] = " wake",
		[VTA_CAUSE_UNBOUND] = " unbound",
		[VTA_CAUSE_UNPLUGGED] = " unplugged",
		[VTA_CAUSE_SHUTDOWN] = " shutdown",
	};

	seq_printf(m, "vta-lost:\t%s%s\n", fates[lost->fate], causes[lost->cause]);
}

/* Without a lock: who looks does not wait for who uses the card. */
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
	vta_show_lost(m, &lost);
	seq_printf(m, "vta-host-bytes:\t%llu\n", READ_ONCE(ctx->host_bytes));
	seq_printf(m, "vta-user-host-bytes:\t%llu\n",
		   READ_ONCE(ctx->user->used[VTA_USER_HOST_MEM]));
	seq_printf(m, "vta-user-host-limit:\t%llu\n",
		   vta_user_limit(ctx->vdev, VTA_USER_HOST_MEM));
	seq_printf(m, "vta-card-bytes:\t%llu\n", READ_ONCE(ctx->card_bytes));
	seq_printf(m, "vta-pinned-bytes:\t%llu\n", READ_ONCE(ctx->pinned_bytes));
	seq_printf(m, "vta-imported-bytes:\t%llu\n", READ_ONCE(ctx->imported_bytes));
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
