/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - a queue's status records, checked
 */
#ifndef VTADEV_STATUS_H
#define VTADEV_STATUS_H

#include <stdint.h>

#include "queue.h"

struct status {
	uint64_t seq;			/* completed, at most those submitted */
	enum vta_queue_state state;
};

/*
 * Look at the status page. If the state is not ACTIVE, seq is final. Memory
 * that the card wrote for descriptors up to seq can be read after this.
 * Returns 0, or -EPROTO if the records are inconsistent.
 */
int status_look(struct vtadev_queue *queue, struct status *now);

/*
 * 0 if the queue takes descriptors, -EIO if it has halted or was stopped because
 * the card hangs, -ENODEV if the card is not there any more.
 */
int status_running(struct vtadev_queue *queue, const struct status *now);

#endif /* VTADEV_STATUS_H */
