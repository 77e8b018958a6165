/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vfio-user server for one PCI device: a unix socket, one client (QEMU, or a
 * test) at a time. Written from the protocol's specification, docs/interop/
 * vfio-user.rst of QEMU, version 0.0.
 *
 * Threads. One thread, the server's, calls vfu_run() and through it every
 * callback of struct vfu_device_ops and every vfu_add_fd() callback, one at a
 * time. Any thread may call vfu_irq(), vfu_irq_mode(), vfu_stop() and the
 * access functions of vfu_dma.h. Everything else belongs to the server's
 * thread. Callbacks may wait for other threads of the device as long as those
 * threads do not wait for the server's thread in turn (vfu_irq and DMA
 * accesses never do).
 *
 * Messages are refused with an errno in the error reply; the client is still
 * served unless the table has hang-up:
 *   hang-up             a header with a size below 16 bytes, or a message
 *                       that is not a command: the framing is lost
 *   EMSGSIZE + hang-up  a message larger than VFU_MSG_MAX
 *   EPROTONOSUPPORT + hang-up   a major version other than 0
 *   EPROTO              a command before VERSION, or VERSION again
 *   ENOSYS              an unknown command
 *   EOPNOTSUPP          a known command, interrupt kind or action that this
 *                       device lacks; the one refusal that is not logged
 *   EINVAL              a payload of the wrong size, argsz too small, file
 *                       descriptors missing, too many or not of the right
 *                       kind, unknown flags, an index or range outside the
 *                       device, an offset that overflows, bad JSON
 *   EEXIST, ENOSPC      DMA_MAP over a mapped range, or too many ranges
 *   the errno of mmap   DMA_MAP of memory that cannot be mapped
 * A message that is refused has changed nothing, and every file descriptor
 * that came with it is closed. A refused message with No_reply is dropped.
 */
#ifndef VTA_EMU_VFU_H
#define VTA_EMU_VFU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pci.h"
#include "vfu_dma.h"

#define VFU_MAX_FDS	16u		/* per message; QEMU's limit too */
#define VFU_MAX_XFER	1048576u	/* bytes per region read or write */
#define VFU_MSG_MAX	(16u + 16u + VFU_MAX_XFER)

struct vfu;

/* Why the device is reset. */
enum vfu_reset {
	VFU_RESET_CLIENT,	/* DEVICE_RESET: the machine was reset */
	VFU_RESET_FLR,		/* Function Level Reset through config space */
};

/* Callbacks, on the server's thread. Only access is required. */
struct vfu_device_ops {
	/*
	 * A trapped access to a BAR without backing memory. The bytes are in
	 * bus order (little-endian); 1 <= len, off + len <= the BAR's size,
	 * any alignment. Never called while the card does not decode memory
	 * (reads give ones then, writes are dropped), nor for the MSI-X table
	 * and pending bits. A register that does not exist is the device's to
	 * answer; a negative errno makes an error reply, which QEMU reports
	 * as a broken device.
	 */
	int (*access)(void *priv, unsigned int bar, uint64_t off, void *buf,
		      size_t len, bool write);
	/* Config space is back to its reset values when this is called. */
	void (*reset)(void *priv, enum vfu_reset why);
	/*
	 * Bus Master Enable, Memory Space Enable or the power state changed
	 * (PCI_D0, PCI_D3HOT). The DMA and interrupt gates have followed
	 * already. Not called for what a reset changes.
	 */
	void (*bus_master)(void *priv, bool on);
	void (*mem_space)(void *priv, bool on);
	void (*power)(void *priv, unsigned int state);
	/*
	 * A client negotiated a version; a client has gone. On disconnected,
	 * guest memory is unmapped and the interrupts are closed already; the
	 * rest of the state is kept, as the specification asks.
	 */
	void (*connected)(void *priv);
	void (*disconnected)(void *priv);
	/* The client changed guest memory; for tests and statistics. */
	void (*dma_changed)(void *priv);
	/* One line without newline; stderr when NULL. */
	void (*log)(void *priv, const char *line);
};

/* A part of a BAR that the client may map. Page aligned. */
struct vfu_area {
	uint64_t offset;
	uint64_t size;
};

/*
 * A BAR with backing memory: the client may map fd from fd_offset on, wholly
 * or, with areas, in part. ptr is the same memory here, and serves accesses
 * by message. fd and ptr stay the caller's and must outlive the server. A BAR
 * whose ptr is NULL is trapped: ops->access.
 */
struct vfu_backing {
	void *ptr;
	int fd;
	uint64_t fd_offset;
	const struct vfu_area *areas;
	unsigned int nr_areas;
};

struct vfu_config {
	const char *path;	/* socket; NULL: none, messages by vfu_handle */
	bool once;		/* vfu_run returns when the first client goes */
	struct pci_cfg *pci;	/* the caller's, must outlive the server */
	struct vfu_backing bar[PCI_NUM_BARS];
	const struct vfu_device_ops *ops;
	void *priv;
};

/*
 * Binds the socket (mode 0600; a stale one is replaced) and listens. Returns
 * 0, -EINVAL, -ENAMETOOLONG, -EADDRINUSE (another process listens there, or the file is no
 * socket), or another negative errno.
 */
int vfu_new(struct vfu **out, const struct vfu_config *config);
/* Hangs up, closes and removes the socket. Not from within vfu_run. */
void vfu_free(struct vfu *srv);

/*
 * Serves until vfu_stop() is called, or until the first client that had
 * negotiated goes if config.once. One that does not negotiate within 10 s is
 * hung up. Idle costs nothing: it sleeps in poll(). Returns 0 or a negative errno.
 */
int vfu_run(struct vfu *srv);
/* Makes vfu_run return soon; any thread, and signal handlers. */
void vfu_stop(struct vfu *srv);

/*
 * Also watch fd for events (POLLIN, POLLOUT) in vfu_run and call fn. Server's
 * thread, or before vfu_run; both may be called from callbacks. del before
 * closing the fd. add returns 0, -EEXIST or -ENOMEM.
 */
typedef void (*vfu_fd_fn)(void *arg, int fd, short revents);
int vfu_add_fd(struct vfu *srv, int fd, short events, vfu_fd_fn fn, void *arg);
void vfu_del_fd(struct vfu *srv, int fd);
/* From its callback: fd has an event that cannot be served now; it is watched again soon. */
void vfu_rest_fd(struct vfu *srv, int fd);

struct vfu_dma *vfu_get_dma(struct vfu *srv);

/*
 * For tests: makes the card deaf and dumb (pci.h), and back. One that was PCI_ABSENT
 * comes back as from power-on. Server's thread.
 */
void vfu_set_absence(struct vfu *srv, enum pci_absence absence);

/*
 * Interrupts. The client gives an eventfd per vector and masks vectors by
 * itself; the host's driver chooses MSI-X or MSI in config space.
 *
 * vfu_irq_mode returns the one that is enabled now and sets *count to the vectors the
 * host granted (MSI may grant fewer than asked for); count may be NULL.
 *
 * vfu_irq raises a vector: 0 when sent; -EAGAIN when it is kept pending (the
 * vector has no eventfd yet, or the function is masked; it is sent when that
 * changes); -EPERM when dropped because bus mastering is off, the card is not
 * in D0, or this kind of interrupt is not enabled; -EINVAL for a vector that
 * was not granted. Never blocks.
 */
enum vfu_irq_kind {
	VFU_IRQ_NONE = 0,
	VFU_IRQ_MSI = 1,	/* VFIO_PCI_MSI_IRQ_INDEX */
	VFU_IRQ_MSIX = 2,	/* VFIO_PCI_MSIX_IRQ_INDEX */
};

enum vfu_irq_kind vfu_irq_mode(struct vfu *srv, unsigned int *count);
int vfu_irq(struct vfu *srv, enum vfu_irq_kind kind, unsigned int vector);

/*
 * The protocol without a socket, for fuzzers: handles one whole message, header
 * included, and owns the fds from then on. The reply (in a buffer of the
 * server's, good until the next call) has len 0 when none is due; its fd (-1:
 * none) is borrowed. Returns 0, or -EPROTO when the connection is to be closed
 * after the reply is sent. vfu_hangup ends the client's session.
 */
struct vfu_reply {
	const void *data;
	size_t len;
	int fd;
};

int vfu_handle(struct vfu *srv, const void *msg, size_t len, const int *fds,
	       unsigned int nfds, struct vfu_reply *reply);
void vfu_hangup(struct vfu *srv);

#endif
