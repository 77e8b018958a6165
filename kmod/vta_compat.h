/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_compat.h - what older kernels lack
 *
 * The only place that knows of differences between kernels. VTA_HAVE_x come
 * from Kbuild, which looks for x in the headers of the kernel it builds for.
 */
#ifndef VTA_COMPAT_H
#define VTA_COMPAT_H

#include <linux/mm.h>

#ifndef VTA_HAVE_VM_FLAGS_SET	/* before 6.3 */
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#endif /* VTA_COMPAT_H */
