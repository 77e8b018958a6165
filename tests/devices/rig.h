/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rig.h - a device with a queue, opened for each test, and what tests do with them
 *
 * Every failure fails the test.
 */
#ifndef TESTS_DEVICES_RIG_H
#define TESTS_DEVICES_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "test.h"
#include "vtadev.h"

#define PAGE		4096u
#define FOREVER		(-1)

/* The argument of vtadev_open(), "soft" unless main() sets it. */
extern const char *rig_device;
extern struct vtadev *dev;
extern struct vtadev_queue *q;

int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG void *unused, rig_setup, rig_teardown

/* Another queue, of 16 entries. */
struct vtadev_queue *queue(unsigned int flags);
struct vtadev_buf *buffer(size_t size, unsigned int flags);

/* The descriptor's number in the queue. */
uint64_t submit(struct vtadev_queue *to, struct vta_desc desc);
/* By the rig's queue: it completes, or faults with this record. */
void works(struct vta_desc desc);
struct vtadev_fault fails(struct vta_desc desc);

#endif /* TESTS_DEVICES_RIG_H */
