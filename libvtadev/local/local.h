/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.h - a card in the program's process, on a plugin's device, and plugins by their names
 *
 * It implements the ioctls of vta.h in user space, with rings, status pages and doorbells in
 * ordinary memory. So the library above is the same for both.
 */
#ifndef VTADEV_LOCAL_H
#define VTADEV_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta_desc.h"
#include "vtadev_device.h"

struct local;
struct local_queue;
struct vtadev_counters;
struct vtadev_fence;

/* Make the card that @which names; on failure, a sentence in @why. */
int local_open(const char *which, struct local **card, char *why, size_t size);

/* Free the card and everything in it. In a child that inherited it: do nothing. */
void local_close(struct local *card);

/* The descriptor for poll(): vtadev_fd(). */
int local_fd(const struct local *card);

/*
 * Execute an ioctl of the card's file. Returns a negative errno, never -EINTR. As with ioctl(),
 * pthread_cancel() takes effect later: others' locks and waits depend on this thread.
 */
int local_request(struct local *card, unsigned long request, void *arg);

/* Memory at an offset that an ioctl returned; mapped as long as its object exists. */
void *local_map(uint64_t offset);

/* Copy from or to memory that only the device sees. Returns 0 or a negative errno. */
int local_transfer(struct local *card, uint32_t addr, void *ptr, size_t len, bool write);

struct local_queue *local_queue(struct local *card, uint32_t handle);

/* The doorbell's word has been written. */
void local_doorbell(struct local_queue *queue);

/*
 * Execute the queue's RUNs up to @seq in this thread, as long as no other thread has begun, other
 * queues have none, and a core is free. To call before a wait that has no time-out.
 */
void local_help(struct local *card, uint32_t handle, uint64_t seq);

/* VTA_IOCTL_WAIT_MANY for queues of such cards, of one or several. */
int local_wait_fences(const struct vtadev_fence *fences, unsigned int n, bool any,
		      int64_t deadline, int cancel_fd, unsigned int *index);

void local_counters(struct local *card, struct vtadev_counters *counters);

/* Clocks for which an engine has executed descriptors. */
uint64_t local_clocks(struct local *card, enum vta_unit unit);

/*
 * Returns true if @which names a device of a plugin: NAME or NAME:ARGUMENTS, where NAME has a
 * plugin, or is one of those that packages of this project have.
 */
bool plugin_is_name(const char *which);

/*
 * Load the plugin that @which names, once and for good; @args is the part behind the colon.
 * Returns 0, -EINVAL (it names none), -ELIBACC (its file does not exist) or -ELIBBAD (it cannot be
 * loaded, or has another version), with a sentence in @why.
 */
int plugin_load(const char *which, const struct vtadev_device_ops **ops, const char **args,
		char *why, size_t size);

/* Call @each with the name of each plugin that exists, as long as it returns 0. */
int plugin_each(int (*each)(const char *name, void *priv), void *priv);

#endif /* VTADEV_LOCAL_H */
