/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_event.h - eventfds and poll() are signalled by threads
 *
 * Users decide how long signalling takes: a file can have any number of epoll entries. So each open
 * file has a work item that signals, and only a few work items of one user of a card run at a time.
 * No user waits for the listeners of another.
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
 *        off, inside any other lock
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
 * @work: sends the signals
 * @node: in vta_notifier.waiting
 * @due: signals were added since @work last began; vta_notifier.lock
 * @busy: @work runs; vta_notifier.lock
 * @events: eventfds to be signalled, struct vta_event; vta_notifier.lock
 * @poll_wq: wait queue of poll()
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

/**
 * vta_event_init() - make the workqueue
 *
 * Context: module load.
 * Return: 0 or -ENOMEM.
 */
int vta_event_init(void);

/**
 * vta_event_exit() - destroy the workqueue
 *
 * Context: module unload.
 */
void vta_event_exit(void);

/**
 * vta_event_get() - look up an eventfd of the caller
 * @fd: its descriptor
 *
 * Return: the eventfd, with one reference; or an ERR_PTR.
 */
struct vta_event *vta_event_get(int fd);

/**
 * vta_event_put() - drop a reference
 * @event: the eventfd
 */
void vta_event_put(struct vta_event *event);

/**
 * vta_notifier_init() - initialise the notifier of a user
 * @notifier: zeroed memory
 */
void vta_notifier_init(struct vta_notifier *notifier);

/**
 * vta_notify_init() - initialise the signals of an open file
 * @notify: zeroed memory
 * @notifier: of the file's user
 */
void vta_notify_init(struct vta_notify *notify, struct vta_notifier *notifier);

/**
 * vta_notify_event() - signal an eventfd; pending signals are merged
 * @notify: the file
 * @event: the eventfd, which belongs to this file only
 *
 * Context: any.
 */
void vta_notify_event(struct vta_notify *notify, struct vta_event *event);

/**
 * vta_notify_poll() - wake poll() of a file; pending events are merged
 * @notify: the file
 * @events: EPOLL*
 *
 * Context: any.
 */
void vta_notify_poll(struct vta_notify *notify, __poll_t events);

/**
 * vta_notify_wait() - wait until all pending signals of a file are sent
 * @notify: the file
 *
 * Context: sleeps for as long as the listeners like.
 * Return: 0, or -ERESTARTSYS if the caller is killed.
 */
int vta_notify_wait(struct vta_notify *notify);

/**
 * vta_notify_flush() - vta_notify_wait(), even if the caller is killed
 * @notify: the file
 *
 * Context: sleeps for as long as the listeners like.
 */
void vta_notify_flush(struct vta_notify *notify);

#endif /* VTA_EVENT_H */
