/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.h - a card in the program's process, on a plugin's device
 *
 * It shows the library what the kernel shows of a card: the requests of vta.h, rings,
 * status pages and doorbells in memory. So all above it is the same for both.
 */
#ifndef VTADEV_LOCAL_H
#define VTADEV_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct local;
struct local_queue;
struct vtadev_counters;
struct vtadev_fence;

/* Makes the card that @which names; on failure, a sentence in @why. */
int local_open(const char *which, struct local **card, char *why, size_t size);

/* Ends it, with all that is left of it. In a child that inherited it: nothing. */
void local_close(struct local *card);

/* What poll() is asked about: vtadev_fd(). */
int local_fd(const struct local *card);

/* As ioctl() of the card's file would; returns a negative errno, -EINTR never. */
int local_request(struct local *card, unsigned long request, void *arg);

/* Memory at an offset that a request gave: mapped as long as its object lives. */
void *local_map(uint64_t offset);

/* For the program, from or to memory that its device alone sees. 0 or a negative errno. */
int local_transfer(struct local *card, uint32_t addr, void *ptr, size_t len, bool write);

struct local_queue *local_queue(struct local *card, uint32_t handle);

/* The doorbell's word has been written. */
void local_doorbell(struct local_queue *queue);

/* VTA_IOCTL_WAIT_MANY for queues of such cards, of one or several. */
int local_wait_fences(const struct vtadev_fence *fences, unsigned int n, bool any,
		      int64_t deadline, int cancel_fd, unsigned int *index);

void local_counters(struct local *card, struct vtadev_counters *counters);

#endif /* VTADEV_LOCAL_H */
