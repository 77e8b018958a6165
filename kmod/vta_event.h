/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_event.h - eventfds and poll() are signalled by threads
 *
 * Users decide how long signalling takes, as a file can have any number of epoll entries. So a
 * work item of each open file does it; of one user's files on a card a few are signalled at a
 * time: no user waits for the listeners of another.
 */
#ifndef VTA_EVENT_H
#define VTA_EVENT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct vta_event;

/**
 * struct vta_notifier - one user's files with pending signals
 * @lock: Protects: all below, and the state of each struct vta_notify; taken with interrupts
 *        off, inside any other
 * @active: work items of files that are queued or run
 * @waiting: files whose work items are not queued yet, struct vta_notify
 */
struct vta_notifier {
	spinlock_t lock; /* Protects: see above */
	unsigned int active;
	struct list_head waiting;
};

/**
 * struct vta_notify - pending signals of one open file
 * @notifier: of the file's user
 * @work: signals it
 * @node: in vta_notifier.waiting
 * @due: signals were added since @work last began; vta_notifier.lock
 * @busy: @work runs; likewise
 * @events: eventfds to be signalled, struct vta_event; likewise
 * @poll_wq: where poll() waits
 * @poll_events: EPOLL* to be signalled there; vta_notifier.lock
 */
struct vta_notify {
	struct vta_notifier *notifier;
	struct work_struct work;
	struct list_head node;
	bool due;
	bool busy;
	struct list_head events;
	wait_queue_head_t poll_wq;
	__poll_t poll_events;
};

int vta_event_init(void);
void vta_event_exit(void);

/* The eventfd of that descriptor, with one reference. Returns an ERR_PTR. */
struct vta_event *vta_event_get(int fd);
void vta_event_put(struct vta_event *event);

void vta_notifier_init(struct vta_notifier *notifier);
void vta_notify_init(struct vta_notify *notify, struct vta_notifier *notifier);
/* Any context; pending signals are merged. @event belongs to this file only. */
void vta_notify_event(struct vta_notify *notify, struct vta_event *event);
void vta_notify_poll(struct vta_notify *notify, __poll_t events);
/*
 * Both return when all pending signals were sent, which may take as long as the user likes;
 * the first with -ERESTARTSYS if the caller is killed.
 */
int vta_notify_wait(struct vta_notify *notify);
void vta_notify_flush(struct vta_notify *notify);

#endif /* VTA_EVENT_H */
