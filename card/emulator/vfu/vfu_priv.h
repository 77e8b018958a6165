/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations shared by the server's files: vfu.c, vfu_msg.c, vfu_region.c. */
#ifndef VTA_EMU_VFU_PRIV_H
#define VTA_EMU_VFU_PRIV_H

#include <poll.h>
#include <stdatomic.h>

#include "unix_listen.h"
#include "vfu.h"
#include "vfu_irq.h"
#include "vfu_proto.h"

/* As many descriptors as the kernel lets one message carry (SCM_MAX_FD). */
#define VFU_SCM_MAX	253

struct vfu_watch {
	int fd;
	short events;
	vfu_fd_fn fn;
	void *arg;
	bool resting;		/* until the next poll() has returned */
};

/* The message that is being received. */
struct vfu_input {
	uint8_t *buf;		/* VFU_MSG_MAX bytes */
	size_t len;
	int fds[VFU_SCM_MAX];
	unsigned int nfds;
};

/* The reply that is being sent; no message is read meanwhile. */
struct vfu_output {
	struct vfu_reply reply;
	size_t sent;
	bool hangup;		/* close the connection after it */
};

/*
 * Lifetime: vfu_new to vfu_free. The session part begins with a VERSION that
 * was accepted and ends in vfu_hangup, which drops all that the client gave.
 */
struct vfu {
	/* given by the owner */
	const struct vfu_device_ops *ops;
	void *priv;
	struct pci_cfg *pci;
	struct vfu_backing bar[PCI_NUM_BARS];
	bool once;

	struct vfu_dma *dma;
	struct vfu_irqs *irqs;
	uint8_t *reply;			/* VFU_MSG_MAX bytes */

	/* session */
	bool negotiated;
	bool can_pass_fd;		/* the client takes descriptors */
	unsigned int log_lines;		/* written for this client */

	/* socket and loop (vfu.c) */
	struct unix_socket listener;
	bool resting;			/* as a watch does */
	bool refusing;			/* the last client could not be accepted */
	int client_fd;
	int64_t hello_until;		/* CLOCK_MONOTONIC in ms */
	int wake_fd;
	atomic_bool stop;
	struct vfu_input in;
	struct vfu_output out;
	struct vfu_watch *watches;
	size_t nr_watches;
	struct pollfd *polls;		/* fixed ones first, then the watches */
	size_t nr_polls;
};

/* To the owner's log; a client that errs without end is cut off. */
void vfu_log(struct vfu *srv, const char *line);

/* vfu_region.c */

/* 0 for a region that does not exist. */
uint64_t vfu_region_size(const struct vfu *srv, uint32_t region);
/* 0 or -EINVAL: region [offset, offset + count) may be accessed. */
int vfu_region_check(const struct vfu *srv, uint32_t region, uint64_t offset,
		     uint64_t count);
/* Does what was checked. */
int vfu_region_access(struct vfu *srv, uint32_t region, uint64_t offset,
		      void *buf, size_t count, bool write);
void vfu_device_reset(struct vfu *srv);

#endif
