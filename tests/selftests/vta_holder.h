/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_holder.h - a process with one of every resource outstanding when it loses a card; and
 * processes that compute as long as there is a card
 */
#ifndef VTA_HOLDER_H
#define VTA_HOLDER_H

#include <stdint.h>
#include <sys/types.h>

#include "vta_selftest.h"

struct holder {
	int fd;
	struct queue q;			/* held by a WAIT, with a waiter */
	struct waiter waiter;
	struct mem host, card;
	int host_fd, card_fd;		/* dma-bufs of these */
	volatile uint32_t *host_map, *card_map;
	void *own;			/* pinned */
	uint64_t pinned_kb;		/* before that */
};

/* Opens the card and takes one of everything. */
int holder_begin(struct holder *h);

/*
 * The holder has lost the card: the first broken promise for that case, or "". Joins the waiter.
 */
const char *holder_loses(struct holder *h);

/* Releases all. The first broken promise about resources that outlive the card, or "". */
const char *holder_ends(struct holder *h);

/* A process that fills memory of all cards, for ever. */
pid_t worker_start(void);

#endif /* VTA_HOLDER_H */
