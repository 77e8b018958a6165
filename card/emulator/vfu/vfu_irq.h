/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The card's interrupt vectors: the eventfds that the client gave, which of
 * them wait to be sent, and the MSI-X table and pending bits in BAR0.
 *
 * Masking is the client's: QEMU keeps the table that the guest sees and
 * answers for its mask bits, so the table here is storage only. A vector
 * without an eventfd, or under the Function Mask, is kept pending.
 *
 * All functions may be called from any thread.
 */
#ifndef VTA_EMU_VFU_IRQ_H
#define VTA_EMU_VFU_IRQ_H

#include <stdbool.h>
#include <stddef.h>

#include "vfu.h"

struct vfu_irqs;

struct vfu_irqs *vfu_irqs_new(void);
void vfu_irqs_free(struct vfu_irqs *irqs);

/* Takes over from config space which kind is on and whether it may be sent. */
void vfu_irqs_sync(struct vfu_irqs *irqs, const struct pci_cfg *pci);
/* The card was reset: nothing is pending, all table entries are masked. */
void vfu_irqs_reset(struct vfu_irqs *irqs);
/* The client has gone. */
void vfu_irqs_close(struct vfu_irqs *irqs);

/*
 * Gives vectors [start, start + count) these eventfds and takes them over, or takes
 * theirs away when fds is NULL. The range was checked. -EINVAL, and nothing taken, when one is not
 * an eventfd.
 */
int vfu_irqs_set(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
		 unsigned int start, unsigned int count, const int *fds);
/* The client raises a vector itself. */
void vfu_irqs_trigger(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
		      unsigned int vector);

enum vfu_irq_kind vfu_irqs_mode(struct vfu_irqs *irqs, unsigned int *count);
int vfu_irqs_raise(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
		   unsigned int vector);

/* The table and the pending bits as BAR0 shows them; ranges were checked. */
void vfu_irqs_table(struct vfu_irqs *irqs, size_t off, void *buf, size_t len,
		    bool write);
void vfu_irqs_pba(struct vfu_irqs *irqs, size_t off, void *buf, size_t len);

#endif
