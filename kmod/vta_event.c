// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_event.c - eventfds and poll() are signalled by threads
 */
#include <linux/eventfd.h>
#include <linux/kref.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "vta_compat.h"
#include "vta_event.h"

/* Work items that run at a time: the most that all kernels allow. */
#define VTA_EVENT_WORKERS	512
/* Work items of one user of a card that run at a time. */
#define VTA_EVENT_WORKERS_USER	4

static struct workqueue_struct *vta_event_wq;

/**
 * struct vta_event - an eventfd
 * @ref: held by the queue that has it, and by vta_notify.events
 * @eventfd: the eventfd
 * @node: in vta_notify.events
 */
struct vta_event {
	struct kref ref;
	struct eventfd_ctx *eventfd;
	struct list_head node;
};

int vta_event_init(void)
{
	vta_event_wq = alloc_workqueue("vta", WQ_UNBOUND, VTA_EVENT_WORKERS);
	return vta_event_wq ? 0 : -ENOMEM;
}

void vta_event_exit(void)
{
	destroy_workqueue(vta_event_wq);
}

/* ---- An eventfd ---- */

struct vta_event *vta_event_get(int fd)
{
	struct vta_event *event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	struct eventfd_ctx *eventfd;

	if (!event)
		return ERR_PTR(-ENOMEM);
	eventfd = eventfd_ctx_fdget(fd);
	if (IS_ERR(eventfd)) {
		kfree(event);
		return ERR_CAST(eventfd);
	}
	kref_init(&event->ref);
	event->eventfd = eventfd;
	INIT_LIST_HEAD(&event->node);
	return event;
}

static void vta_event_release(struct kref *ref)
{
	struct vta_event *event = container_of(ref, struct vta_event, ref);

	eventfd_ctx_put(event->eventfd);
	kfree(event);
}

void vta_event_put(struct vta_event *event)
{
	kref_put(&event->ref, vta_event_release);
}

/* ---- The files of one user ---- */

void vta_notifier_init(struct vta_notifier *notifier)
{
	spin_lock_init(&notifier->lock);
	INIT_LIST_HEAD(&notifier->waiting);
}

/* Queues the file's work, now or when a work of the same user has ended. */
static void vta_notify_queue_work(struct vta_notify *notify)
{
	struct vta_notifier *notifier = notify->notifier;

	if (notify->due)
		return;
	notify->due = true;
	if (notifier->active < VTA_EVENT_WORKERS_USER) {
		notifier->active++;
		queue_work(vta_event_wq, &notify->work);
	} else {
		list_add_tail(&notify->node, &notifier->waiting);
	}
}

/* Queues the work of the next file, in place of the one that has ended. */
static void vta_notifier_start_next(struct vta_notifier *notifier)
{
	struct vta_notify *next;

	lockdep_assert_held(&notifier->lock);

	next = list_first_entry_or_null(&notifier->waiting, struct vta_notify, node);
	if (next) {
		list_del_init(&next->node);
		queue_work(vta_event_wq, &next->work);
	} else {
		notifier->active--;
	}
}

/* ---- The work of an open file ---- */

static struct vta_event *vta_notify_pop_event(struct vta_notify *notify)
{
	struct vta_event *event;

	spin_lock_irq(&notify->notifier->lock);
	event = list_first_entry_or_null(&notify->events, struct vta_event, node);
	if (event)
		list_del_init(&event->node);
	spin_unlock_irq(&notify->notifier->lock);
	return event;
}

static void vta_notify_work(struct work_struct *work)
{
	struct vta_notify *notify = container_of(work, struct vta_notify, work);
	struct vta_notifier *notifier = notify->notifier;
	struct vta_event *event;
	__poll_t events;

	spin_lock_irq(&notifier->lock);
	notify->due = false;
	notify->busy = true;
	events = notify->poll_events;
	notify->poll_events = 0;
	spin_unlock_irq(&notifier->lock);
	if (events)
		wake_up_poll(&notify->poll_wq, events);
	while ((event = vta_notify_pop_event(notify))) {
		vta_eventfd_signal(event->eventfd);
		vta_event_put(event);
		cond_resched();
	}
	spin_lock_irq(&notifier->lock);
	notify->busy = false;
	vta_notifier_start_next(notifier);
	spin_unlock_irq(&notifier->lock);
	wake_up_var(notify);	/* only the address is used: the file may be freed by now */
}

void vta_notify_init(struct vta_notify *notify, struct vta_notifier *notifier)
{
	notify->notifier = notifier;
	INIT_WORK(&notify->work, vta_notify_work);
	INIT_LIST_HEAD(&notify->node);
	INIT_LIST_HEAD(&notify->events);
	init_waitqueue_head(&notify->poll_wq);
}

void vta_notify_event(struct vta_notify *notify, struct vta_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&notify->notifier->lock, flags);
	if (list_empty(&event->node)) {
		kref_get(&event->ref);
		list_add_tail(&event->node, &notify->events);
	}
	vta_notify_queue_work(notify);
	spin_unlock_irqrestore(&notify->notifier->lock, flags);
}

void vta_notify_poll(struct vta_notify *notify, __poll_t events)
{
	unsigned long flags;

	spin_lock_irqsave(&notify->notifier->lock, flags);
	notify->poll_events |= events;
	vta_notify_queue_work(notify);
	spin_unlock_irqrestore(&notify->notifier->lock, flags);
}

static bool vta_notify_is_idle(struct vta_notify *notify)
{
	bool idle;

	spin_lock_irq(&notify->notifier->lock);
	idle = !notify->due && !notify->busy;
	spin_unlock_irq(&notify->notifier->lock);
	return idle;
}

int vta_notify_wait(struct vta_notify *notify)
{
	return wait_var_event_killable(notify, vta_notify_is_idle(notify));
}

void vta_notify_flush(struct vta_notify *notify)
{
	wait_var_event(notify, vta_notify_is_idle(notify));
}
