/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_event.h - eventfds and poll() are signalled by threads
 *
 * Users decide how long signalling takes: a file can have any number of epoll entries. So each user
 * of a card has a work item that signals, file by file, in a small part of a processor's time. No
 * user waits for the listeners of another, and no file waits for its signals when it is closed.
 */
#ifndef VTA_EVENT_H
#define VTA_EVENT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct vta_event;

/**
 * struct vta_notifier - one user's files with signals to be sent
 * @ref: held by the user, by each file's struct vta_notify, and while @working
 * @lock: Protects: all below, and the state of each struct vta_notify; taken with interrupts
 *        off, inside any other lock
 * @due: files with signals to be sent, struct vta_notify, the next one first
 * @work: sends the signals
 * @working: @work is queued or runs
 * @closed: files that were closed and have signals to be sent
 * @sent_ns: time that sending signals has taken, in ns
 * @paid_until: time at which all signals so far would have been sent, had they taken no more than
 *              their part of a processor, in ns of CLOCK_MONOTONIC
 */
struct vta_notifier {
	struct kref ref;
	spinlock_t lock; /* Protects: see above */
	struct list_head due;
	struct delayed_work work;
	bool working;
	unsigned int closed;
	u64 sent_ns;
	u64 paid_until;
};

/**
 * struct vta_notify - signals of one open file
 * @ref: held by the file, by vta_notifier.due, and while @busy
 * @notifier: of the file's user
 * @node: in vta_notifier.due; vta_notifier.lock
 * @busy: signals of the file are being sent; vta_notifier.lock
 * @events: eventfds to be signalled, struct vta_event; vta_notifier.lock
 * @poll_wq: wait queue of poll()
 * @poll_events: EPOLL* to be signalled there; vta_notifier.lock
 */
struct vta_notify {
	struct kref ref;
	struct vta_notifier *notifier;
	struct list_head node;
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
 * vta_event_exit() - wait for all notifiers, and destroy the workqueue
 *
 * Context: module unload.
 */
void vta_event_exit(void);

/**
 * vta_event_get() - find an eventfd of the caller
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
 * vta_notifier_new() - make the notifier of a user
 *
 * Return: the notifier, with one reference; or NULL.
 */
struct vta_notifier *vta_notifier_new(void);

/**
 * vta_notifier_put() - drop a reference
 * @notifier: the notifier
 *
 * Context: any.
 */
void vta_notifier_put(struct vta_notifier *notifier);

/**
 * vta_notifier_is_idle() - check that no signals are to be sent, nor their time to be paid
 * @notifier: the notifier
 *
 * Return: true if a new notifier could replace it.
 */
bool vta_notifier_is_idle(struct vta_notifier *notifier);

/**
 * vta_notifier_wait() - wait while many closed files of the user have signals to be sent
 * @notifier: the notifier
 *
 * Context: sleeps for as long as the user's listeners like.
 * Return: 0, or -ERESTARTSYS if interrupted.
 */
int vta_notifier_wait(struct vta_notifier *notifier);

/**
 * vta_notify_new() - make the signals of an open file
 * @notifier: of the file's user
 *
 * Return: the signals, or NULL.
 */
struct vta_notify *vta_notify_new(struct vta_notifier *notifier);

/**
 * vta_notify_close() - end the use of a file's signals; those that are pending will be sent
 * @notify: of a file that makes no more signals
 */
void vta_notify_close(struct vta_notify *notify);

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
 * Return: 0, or -ERESTARTSYS if interrupted.
 */
int vta_notify_wait(struct vta_notify *notify);

#endif /* VTA_EVENT_H */
