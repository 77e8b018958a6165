/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_event.h - eventfds and poll() are signalled by a thread
 *
 * How long signalling takes is the user's to say: any number of epoll entries can hang
 * on one file. So it is not done under a lock or in an interrupt, but by a worker.
 */
#ifndef VTA_EVENT_H
#define VTA_EVENT_H

#include <linux/types.h>

struct vta_event;
struct work_struct;

int vta_event_init(void);
void vta_event_exit(void);

/* The eventfd of that descriptor, with one reference. Returns an ERR_PTR. */
struct vta_event *vta_event_get(int fd);
void vta_event_put(struct vta_event *event);

/* Any context. Signals that meet become one. */
void vta_event_signal(struct vta_event *event);
/* Runs @work, which may take as long as a user likes, in such a thread. */
bool vta_event_run(struct work_struct *work);

#endif /* VTA_EVENT_H */
