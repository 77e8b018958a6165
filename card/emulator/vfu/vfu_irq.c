// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts: eventfds, masks and pending bits of MSI-X and MSI.
 */
#define _GNU_SOURCE 1	/* syscall */
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vfu_irq.h"

struct vector {
	int fd;		/* -1: none */
	bool pending;
};

struct vfu_irqs {
	pthread_mutex_t lock;	/* Protects: everything below */
	aio_context_t aio;
	int ready;		/* a descriptor of our own, always to be read */
	enum vfu_irq_kind mode;
	unsigned int count;	/* vectors of this mode that were granted */
	bool masked;		/* Function Mask */
	bool may_send;		/* bus master, in D0 */
	struct vector msi[PCI_MSI_MAX];
	struct vector msix[PCI_MSIX_MAX];
	uint8_t table[PCI_MSIX_MAX * PCI_MSIX_ENTRY];
};

static struct vector *vectors_of(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
				 unsigned int *max)
{
	switch (kind) {
	case VFU_IRQ_MSI:
		*max = PCI_MSI_MAX;
		return irqs->msi;
	case VFU_IRQ_MSIX:
		*max = PCI_MSIX_MAX;
		return irqs->msix;
	default:
		*max = 0;
		return NULL;
	}
}

/*
 * Called with the lock held. A write() could block: the client, which has the file too, clears
 * O_NONBLOCK when it likes, and fills the counter. Completing an asynchronous request adds 1 to the
 * counter and never waits; a counter at its end has that wake-up to come. This request completes
 * at once.
 */
static void signal_fd(struct vfu_irqs *irqs, int fd)
{
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = (uint32_t)irqs->ready,
		.aio_buf = POLLIN, .aio_flags = IOCB_FLAG_RESFD, .aio_resfd = (uint32_t)fd,
	};
	struct iocb *requests[] = { &request };
	struct io_event event;

	if (syscall(SYS_io_submit, irqs->aio, 1, requests) != 1)
		return;
	while (syscall(SYS_io_getevents, irqs->aio, 1, 1, &event, NULL) < 0 && errno == EINTR)
		;
}

/* Called with the lock held. */
static bool can_send(const struct vfu_irqs *irqs, const struct vector *v)
{
	return irqs->may_send && !irqs->masked && v->fd >= 0;
}

static void flush_vectors(struct vfu_irqs *irqs)
{
	unsigned int i, max;
	struct vector *v = vectors_of(irqs, irqs->mode, &max);

	for (i = 0; i < max; i++) {
		if (!v[i].pending || !can_send(irqs, &v[i]))
			continue;
		v[i].pending = false;
		signal_fd(irqs, v[i].fd);
	}
}

static void forget_pending(struct vfu_irqs *irqs, enum vfu_irq_kind kind)
{
	unsigned int i, max;
	struct vector *v = vectors_of(irqs, kind, &max);

	for (i = 0; i < max; i++)
		v[i].pending = false;
}

static void close_vector(struct vector *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
}

static void clear_table(struct vfu_irqs *irqs)
{
	unsigned int i;

	memset(irqs->table, 0, sizeof(irqs->table));
	for (i = 0; i < PCI_MSIX_MAX; i++)
		irqs->table[i * PCI_MSIX_ENTRY +
			    PCI_MSIX_ENTRY_VECTOR_CTRL] =
			PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

struct vfu_irqs *vfu_irqs_new(void)
{
	struct vfu_irqs *irqs = calloc(1, sizeof(*irqs));
	unsigned int i;

	if (!irqs)
		return NULL;
	irqs->ready = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (irqs->ready < 0 || syscall(SYS_io_setup, 1, &irqs->aio)) {
		if (irqs->ready >= 0)
			close(irqs->ready);
		free(irqs);
		return NULL;
	}
	pthread_mutex_init(&irqs->lock, NULL);
	for (i = 0; i < PCI_MSI_MAX; i++)
		irqs->msi[i].fd = -1;
	for (i = 0; i < PCI_MSIX_MAX; i++)
		irqs->msix[i].fd = -1;
	clear_table(irqs);
	return irqs;
}

void vfu_irqs_free(struct vfu_irqs *irqs)
{
	if (!irqs)
		return;
	vfu_irqs_close(irqs);
	syscall(SYS_io_destroy, irqs->aio);
	close(irqs->ready);
	pthread_mutex_destroy(&irqs->lock);
	free(irqs);
}

void vfu_irqs_sync(struct vfu_irqs *irqs, const struct pci_cfg *pci)
{
	pthread_mutex_lock(&irqs->lock);
	irqs->masked = false;
	if (pci_msix_enabled(pci)) {
		irqs->mode = VFU_IRQ_MSIX;
		irqs->count = pci_msix_count(pci);
		irqs->masked = pci_msix_masked(pci);
		forget_pending(irqs, VFU_IRQ_MSI);
	} else if (pci_msi_granted(pci)) {
		irqs->mode = VFU_IRQ_MSI;
		irqs->count = pci_msi_granted(pci);
		forget_pending(irqs, VFU_IRQ_MSIX);
	} else {
		irqs->mode = VFU_IRQ_NONE;
		irqs->count = 0;
		forget_pending(irqs, VFU_IRQ_MSI);
		forget_pending(irqs, VFU_IRQ_MSIX);
	}
	irqs->may_send = pci_may_dma(pci);
	flush_vectors(irqs);
	pthread_mutex_unlock(&irqs->lock);
}

void vfu_irqs_reset(struct vfu_irqs *irqs)
{
	pthread_mutex_lock(&irqs->lock);
	forget_pending(irqs, VFU_IRQ_MSI);
	forget_pending(irqs, VFU_IRQ_MSIX);
	clear_table(irqs);
	pthread_mutex_unlock(&irqs->lock);
}

void vfu_irqs_close(struct vfu_irqs *irqs)
{
	unsigned int i;

	pthread_mutex_lock(&irqs->lock);
	for (i = 0; i < PCI_MSI_MAX; i++)
		close_vector(&irqs->msi[i]);
	for (i = 0; i < PCI_MSIX_MAX; i++)
		close_vector(&irqs->msix[i]);
	pthread_mutex_unlock(&irqs->lock);
}

/* A pipe could kill with SIGPIPE, a file would grow: only an eventfd will do. */
static bool is_eventfd(int fd)
{
	static const char want[] = "anon_inode:[eventfd]";
	char path[32], name[sizeof(want)];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name));
	return n == sizeof(want) - 1 && !memcmp(name, want, sizeof(want) - 1);
}

int vfu_irqs_set(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
		 unsigned int start, unsigned int count, const int *fds)
{
	struct vector *v;
	unsigned int i, max;

	v = vectors_of(irqs, kind, &max);
	if (start > max || count > max - start)
		return -EINVAL;
	for (i = 0; fds && i < count; i++)
		if (!is_eventfd(fds[i]))
			return -EINVAL;

	pthread_mutex_lock(&irqs->lock);
	for (i = 0; i < count; i++) {
		close_vector(&v[start + i]);
		if (fds)
			v[start + i].fd = fds[i];
	}
	flush_vectors(irqs);
	pthread_mutex_unlock(&irqs->lock);
	return 0;
}

void vfu_irqs_trigger(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
		      unsigned int vector)
{
	struct vector *v;
	unsigned int max;

	v = vectors_of(irqs, kind, &max);
	if (vector >= max)
		return;
	pthread_mutex_lock(&irqs->lock);
	if (v[vector].fd >= 0)
		signal_fd(irqs, v[vector].fd);
	pthread_mutex_unlock(&irqs->lock);
}

enum vfu_irq_kind vfu_irqs_mode(struct vfu_irqs *irqs, unsigned int *count)
{
	enum vfu_irq_kind mode;

	pthread_mutex_lock(&irqs->lock);
	mode = irqs->mode;
	if (count)
		*count = irqs->count;
	pthread_mutex_unlock(&irqs->lock);
	return mode;
}

/* Called with the lock held. */
static int raise_locked(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
			unsigned int vector)
{
	unsigned int max;
	struct vector *v = vectors_of(irqs, kind, &max);

	if (kind == VFU_IRQ_NONE || kind != irqs->mode || !irqs->may_send)
		return -EPERM;
	if (vector >= irqs->count)
		return -EINVAL;
	if (!can_send(irqs, &v[vector])) {
		v[vector].pending = true;
		return -EAGAIN;
	}
	signal_fd(irqs, v[vector].fd);
	return 0;
}

int vfu_irqs_raise(struct vfu_irqs *irqs, enum vfu_irq_kind kind,
		   unsigned int vector)
{
	int ret;

	pthread_mutex_lock(&irqs->lock);
	ret = raise_locked(irqs, kind, vector);
	pthread_mutex_unlock(&irqs->lock);
	return ret;
}

void vfu_irqs_table(struct vfu_irqs *irqs, size_t off, void *buf, size_t len,
		    bool write)
{
	pthread_mutex_lock(&irqs->lock);
	if (write)
		memcpy(irqs->table + off, buf, len);
	else
		memcpy(buf, irqs->table + off, len);
	pthread_mutex_unlock(&irqs->lock);
}

void vfu_irqs_pba(struct vfu_irqs *irqs, size_t off, void *buf, size_t len)
{
	uint8_t *dst = buf;
	size_t i, bit;

	memset(dst, 0, len);
	pthread_mutex_lock(&irqs->lock);
	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			size_t nr = (off + i) * 8 + bit;

			if (nr < PCI_MSIX_MAX && irqs->msix[nr].pending)
				dst[i] |= (uint8_t)(1u << bit);
		}
	pthread_mutex_unlock(&irqs->lock);
}
