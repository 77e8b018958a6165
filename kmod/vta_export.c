// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_export.c - dma-bufs made of buffers
 *
 * A dma-buf refers to memory (vta_mem.c), not to a context. Any device can attach to host pages,
 * and they outlive the card. Card memory can only be imported by contexts of its card, which find
 * it by vta_export_mem(), and is lost when the card is reset.
 *
 * Devices that are not coherent are refused. So the end of a CPU access only has to drain
 * write-combined writes to card memory.
 *
 * The dma-bufs have no fences. A kernel fence must complete independently of any process, but a
 * user decides what a queue executes next.
 */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_mem.h"
#include "vta_user.h"

VTA_IMPORT_NS(DMA_BUF);

/**
 * struct vta_export - a dma-buf
 * @ref: held by the dma-buf, and while @mem is revoked
 * @mem: its memory (constant)
 * @inode: the dma-buf's, with a reference, since the file may be freed before @node is removed
 *         (constant)
 * @node: of card memory, in vta_user.exports until it is revoked
 * @lock: held while card memory is mapped into a process, and while it is revoked
 */
struct vta_export {
	struct kref ref;
	struct vta_mem *mem;
	struct inode *inode;
	struct list_head node;
	struct mutex lock; /* Protects: CPU mappings of card memory */
};

static int vta_export_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct vta_export *export = dmabuf->priv;

	return export->mem->kind == VTA_MEM_CARD ? -EOPNOTSUPP : 0;
}

static struct sg_table *vta_export_map(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	struct vta_export *export = attach->dmabuf->priv;

	if (dir != DMA_TO_DEVICE && !(attach->dmabuf->file->f_mode & FMODE_WRITE))
		return ERR_PTR(-EACCES);
	return vta_host_map(&export->mem->host, attach->dev, dir);
}

static void vta_export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			     enum dma_data_direction dir)
{
	vta_host_unmap(sgt, attach->dev, dir);
}

static int vta_export_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	wmb();	/* drain write-combined writes to card memory before a doorbell is rung */
	return 0;
}

static vm_fault_t vta_export_fault(struct vm_fault *vmf)
{
	struct vta_export *export = vmf->vma->vm_private_data;
	struct vta_mem *mem = export->mem;
	vm_fault_t ret;

	if (mem->kind == VTA_MEM_HOST)
		return vta_mem_fault(mem, vmf, 0);

	ret = vta_mem_fault_begin(vta_mem_is_lost(mem) ? &mem->blank : NULL, vmf);
	if (ret)
		return ret;
	mutex_lock(&export->lock);
	if (vta_mem_is_lost(mem))
		ret = vta_mem_fault_blank(mem->blank, vmf);
	else
		ret = vta_mem_fault(mem, vmf, 0);
	mutex_unlock(&export->lock);
	return ret;
}

static const struct vm_operations_struct vta_export_vm_ops = {
	.fault = vta_export_fault,
};

/* The mapping holds the dma-buf. */
static int vta_export_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct vta_export *export = dmabuf->priv;
	int ret = vta_vma_init(vma);

	if (ret)
		return ret;
	vta_mem_mmap(export->mem, vma);
	vma->vm_private_data = export;
	vma->vm_ops = &vta_export_vm_ops;
	return 0;
}

static void vta_export_free(struct kref *ref)
{
	struct vta_export *export = container_of(ref, struct vta_export, ref);

	iput(export->inode);
	vta_mem_put(export->mem);
	mutex_destroy(&export->lock);
	kfree(export);
}

static void vta_export_release(struct dma_buf *dmabuf)
{
	struct vta_export *export = dmabuf->priv;
	struct vta_device *vdev = export->mem->vdev;

	spin_lock(&vdev->exports_lock);
	list_del_init(&export->node);
	spin_unlock(&vdev->exports_lock);
	kref_put(&export->ref, vta_export_free);
}

static const struct dma_buf_ops vta_export_ops = {
	.attach = vta_export_attach,
	.map_dma_buf = vta_export_map,
	.unmap_dma_buf = vta_export_unmap,
	.end_cpu_access = vta_export_end_cpu_access,
	.mmap = vta_export_mmap,
	.release = vta_export_release,
};

struct vta_mem *vta_export_mem(struct dma_buf *dmabuf)
{
	struct vta_export *export = dmabuf->priv;

	return dmabuf->ops == &vta_export_ops ? export->mem : NULL;
}

/*
 * Removes the user's first dma-buf whose memory is lost, and returns it with a reference; NULL if
 * none. Those that are not lost have been added later.
 */
static struct vta_export *vta_export_take_lost(struct vta_user *user)
{
	struct vta_device *vdev = user->vdev;
	struct vta_export *export;

	spin_lock(&vdev->exports_lock);
	export = list_first_entry_or_null(&user->exports, struct vta_export, node);
	if (export && !vta_mem_is_lost(export->mem))
		export = NULL;
	if (export) {
		kref_get(&export->ref);
		list_del_init(&export->node);
	}
	spin_unlock(&vdev->exports_lock);
	return export;
}

/* Revokes the lost memory of one user, which may wait for processes that map it. */
static void vta_export_work(struct work_struct *work)
{
	struct vta_user *user = container_of(work, struct vta_user, export_work);
	struct vta_device *vdev = user->vdev;
	struct vta_export *export;

	while ((export = vta_export_take_lost(user))) {
		mutex_lock(&export->lock);
		unmap_mapping_range(export->inode->i_mapping, 0, 0, 1);
		mutex_unlock(&export->lock);
		kref_put(&export->ref, vta_export_free);
	}
	vta_user_put(vdev, user);
	vta_dec_and_wake(&vdev->nr_revoking);
}

static void vta_export_queue_work(struct vta_user *user)
{
	struct vta_device *vdev = user->vdev;

	lockdep_assert_held(&vdev->users_lock);

	spin_lock(&vdev->exports_lock);
	if (!list_empty(&user->exports) && queue_work(vdev->works, &user->export_work)) {
		user->refs++;	/* the work waits for the locks before it drops this */
		atomic_inc(&vdev->nr_revoking);
	}
	spin_unlock(&vdev->exports_lock);
}

void vta_export_revoke(struct vta_device *vdev)
{
	lockdep_assert_held(&vdev->lock);

	vta_user_for_each(vdev, vta_export_queue_work);
}

/* Adds card memory to the dma-bufs of its user. */
static void vta_export_add(struct vta_export *export)
{
	struct vta_user *user = export->mem->user;

	lockdep_assert_held(&user->vdev->exports_lock);

	if (!user->export_work.func)
		INIT_WORK(&user->export_work, vta_export_work);
	list_add_tail(&export->node, &user->exports);
}

/* Takes over the caller's reference to @mem on success. May sleep for the caller's memory. */
static struct dma_buf *vta_export_alloc(struct vta_mem *mem, u32 flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct vta_export *export;
	struct dma_buf *dmabuf;

	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export)
		return ERR_PTR(-ENOMEM);
	info.ops = &vta_export_ops;
	info.size = mem->size;
	info.flags = flags;
	info.priv = export;
	export->mem = mem;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		kfree(export);
		return dmabuf;
	}
	kref_init(&export->ref);
	mutex_init(&export->lock);
	INIT_LIST_HEAD(&export->node);
	export->inode = file_inode(dmabuf->file);
	ihold(export->inode);
	return dmabuf;
}

struct dma_buf *vta_export_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags)
{
	struct dma_buf *dmabuf = vta_export_alloc(mem, flags);
	struct vta_device *vdev = ctx->vdev;
	struct vta_export *export;
	bool lost;

	if (IS_ERR(dmabuf)) {
		vta_mem_put(mem);
		return dmabuf;
	}
	export = dmabuf->priv;
	spin_lock(&vdev->exports_lock);
	/* vta_export_revoke() is called in a new epoch. */
	lost = vta_ctx_is_lost(ctx);
	if (!lost && mem->kind == VTA_MEM_CARD)
		vta_export_add(export);
	spin_unlock(&vdev->exports_lock);
	if (!lost)
		return dmabuf;
	dma_buf_put(dmabuf);
	return ERR_PTR(-ENODEV);
}
