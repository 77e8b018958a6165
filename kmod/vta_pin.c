// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pin.c - memory of a process, pinned for the card
 *
 * Documentation/core-api/pin_user_pages.rst, case 2: long-term pins. They are counted against
 * RLIMIT_MEMLOCK, in mm->pinned_vm ("VmPin" in /proc/PID/status) and in the user's locked_vm.
 *
 * Shared file pages that a file system cleans are pinned for reading only. The file system would
 * not notice writes after it has cleaned the page (the kernel itself refuses this since 6.5), and
 * marking a page dirty waits for its lock, which FUSE may hold for as long as a user likes.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_mem.h"
#include "vta_mmu.h"
#include "vta_user.h"

/* Pages that are pinned or unpinned between two checks for signals. */
#define VTA_PIN_BATCH	1024ul

/*
 * Charges three: the process, as the kernel's own long-term pins do; its user, as io_uring does,
 * because the pins of a process that has ended remain while others hold the file; and the user of
 * the card, which represents all IDs of a user namespace.
 */
static int vta_pin_charge(struct vta_mem *mem, struct vta_user *user)
{
	unsigned long nr = mem->size >> PAGE_SHIFT;
	long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	atomic_long_t *locked = &current_user()->locked_vm;
	struct mm_struct *mm = current->mm;
	bool user_over, over;

	user_over = vta_user_charge_below(mem->vdev, user, VTA_USER_PINNED, mem->size,
					  (u64)limit << PAGE_SHIFT);
	over = user_over;
	over |= atomic_long_add_return(nr, locked) > limit;
	over |= atomic64_add_return(nr, &mm->pinned_vm) > limit;
	if (over && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(nr, &mm->pinned_vm);
		atomic_long_sub(nr, locked);
		if (!user_over)
			vta_user_uncharge(mem->vdev, user, VTA_USER_PINNED, mem->size);
		return -ENOMEM;
	}
	if (user_over)
		vta_user_charge_below(mem->vdev, user, VTA_USER_PINNED, mem->size, U64_MAX);
	mem->user = user;
	mmgrab(mm);
	mem->mm = mm;
	mem->cred = get_current_cred();
	atomic64_add(mem->size, &mem->vdev->pinned_bytes);
	return 0;
}

static void vta_pin_uncharge(struct vta_mem *mem)
{
	unsigned long nr = mem->size >> PAGE_SHIFT;

	atomic64_sub(mem->size, &mem->vdev->pinned_bytes);
	atomic64_sub(nr, &mem->mm->pinned_vm);
	atomic_long_sub(nr, &mem->cred->user->locked_vm);
	mmdrop(mem->mm);
	put_cred(mem->cred);
	vta_user_uncharge(mem->vdev, mem->user, VTA_USER_PINNED, mem->size);
}

static void vta_pin_unpin_pages(struct vta_mem *mem)
{
	struct vta_host *host = &mem->host;
	unsigned long i;

	for (i = 0; i < host->nr; i += VTA_PIN_BATCH) {
		unpin_user_pages_dirty_lock(host->pages + i, min(host->nr - i, VTA_PIN_BATCH),
					    mem->dirty);
		cond_resched();
	}
	kvfree(host->pages);
	host->pages = NULL;
	host->nr = 0;
}

static void vta_pin_release(struct vta_mem *mem)
{
	vta_pin_unpin_pages(mem);
	vta_pin_uncharge(mem);
}

static const struct vta_mem_ops vta_pin_ops = {
	.release = vta_pin_release,
};

/* True if the page at @addr can be pinned for reading. */
static bool vta_pin_can_read(unsigned long addr)
{
	struct page *page;

	if (pin_user_pages_fast(addr, 1, FOLL_LONGTERM, &page) != 1)
		return false;
	unpin_user_page(page);
	return true;
}

/*
 * Refines an -EFAULT of pin_user_pages_fast(): no access, or a page of a shared file that may be
 * read but not written. No page is there beyond the end of a file.
 */
static int vta_pin_map_error(unsigned long addr, bool write, int ret)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool shared = false;

	if (ret != -EFAULT)
		return ret;
	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && !(vma->vm_flags & (VM_IO | VM_PFNMAP))) {
		if (!(vma->vm_flags & (write ? VM_WRITE : VM_READ)))
			ret = -EACCES;
		else
			shared = write && vma->vm_file && vma->vm_flags & VM_SHARED;
	}
	mmap_read_unlock(mm);
	return shared && vta_pin_can_read(addr) ? -EOPNOTSUPP : ret;
}

/* Pins pages from @addr on, at least one and at most a batch. */
static int vta_pin_batch(struct vta_mem *mem, unsigned long addr)
{
	struct vta_host *host = &mem->host;
	unsigned long nr = min((unsigned long)(mem->size >> PAGE_SHIFT) - host->nr, VTA_PIN_BATCH);
	unsigned int flags = FOLL_LONGTERM;
	int i, got;

	if (mem->dirty)
		flags |= FOLL_WRITE;
	else
		flags |= vta_pin_read_flags(addr, &nr);
	got = pin_user_pages_fast(addr, nr, flags, host->pages + host->nr);
	if (got <= 0)
		return vta_pin_map_error(addr, mem->dirty, got ? got : -EFAULT);

	for (i = 0; i < got && mem->dirty; i++) {
		if (vta_page_is_swap_backed(host->pages[host->nr + i]))
			continue;
		/* They have not been written yet, so do not mark them dirty. */
		unpin_user_pages(host->pages + host->nr, got);
		return -EOPNOTSUPP;
	}
	host->nr += got;
	return 0;
}

struct vta_mem *vta_pin_mem(struct vta_ctx *ctx, unsigned long start, u64 size, bool write)
{
	struct vta_mem *mem = vta_mem_new(ctx->vdev, VTA_MEM_PINNED, &vta_pin_ops, size);
	int ret;

	if (IS_ERR(mem))
		return mem;
	/* Huge pages are aligned in the process's address space, too. */
	mem->skew = start & (VTA_L1_SIZE - 1);
	mem->dirty = write;
	ret = vta_pin_charge(mem, ctx->user);
	if (ret)
		goto err_discard;
	ret = vta_host_init(&mem->host, size);
	while (!ret && mem->host.nr < size >> PAGE_SHIFT) {
		ret = vta_pin_batch(mem, start + (mem->host.nr << PAGE_SHIFT));
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	if (ret)
		goto err_put;
	return mem;

err_put:
	vta_mem_put(mem);
	return ERR_PTR(ret);
err_discard:
	vta_mem_discard(mem);
	return ERR_PTR(ret);
}
