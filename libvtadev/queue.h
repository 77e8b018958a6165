/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - a queue's rings and numbers
 *
 * The ring belongs to the submitting thread, the status page to the card. What
 * the card says is believed only after it was compared with @submitted and
 * @seen.
 */
#ifndef VTADEV_QUEUE_H
#define VTADEV_QUEUE_H

#include <stdatomic.h>
#include <stdint.h>

#include "vtadev.h"

struct vtadev_queue {
	struct vtadev *dev;
	uint32_t handle;
	uint32_t entries;			/* a power of two */
	int64_t spin_ns;
	size_t copy_min;			/* transfers by the card, from here on */
	struct vta_desc *ring;
	const struct vta_status_page *status;
	volatile uint32_t *doorbell;
	struct trace *trace;			/* NULL: not traced */
	size_t page;				/* bytes mapped of each of the two */
	atomic_uint_least64_t submitted;	/* written by the submitting thread */
	atomic_uint_least64_t seen;		/* completed, by the last look */
	atomic_uint_least64_t armed;		/* poll() is to tell of it, or 0 */
};

#endif /* VTADEV_QUEUE_H */
