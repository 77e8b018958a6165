/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - when each descriptor ran, if VTADEV_TRACE asks for it
 *
 * docs/operating.md describes the result. A queue that is traced has a record
 * for each place of its ring; a descriptor gets a stamp on its way to the card
 * and is taken down, with it, before its place is used again.
 */
#ifndef VTADEV_TRACE_H
#define VTADEV_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "vtadev.h"

struct trace;

/* NULL if the queue, which is complete but for this, is not traced. */
struct trace *trace_open(struct vtadev_queue *queue);

/*
 * The @n descriptors behind number @submitted are in the ring, and those up to
 * @completed are done; the doorbell comes next.
 */
void trace_submit(struct trace *trace, uint64_t submitted, uint32_t n, uint64_t completed);

/*
 * Around vtadev_recover(): before, and after it has succeeded, but before what was
 * submitted is forgotten: from number @seq on others will come.
 */
void trace_halted(struct trace *trace);
void trace_recovered(struct trace *trace, uint64_t seq);

/* Before the queue is stopped. The last one writes the file. */
void trace_close(struct trace *trace);

/* Programs may have stamps of their own in buffers, which are read there. */
bool trace_wanted(void);
bool trace_buf_add(struct vtadev_buf *buf);
void trace_buf_del(struct vtadev_buf *buf);

#endif /* VTADEV_TRACE_H */
