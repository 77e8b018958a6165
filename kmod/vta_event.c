// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_event.c - eventfds and poll() are signalled by threads
 */
#include <linux/eventfd.h>
#include <linux/kref.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "vta_compat.h"
#include "vta_event.h"

/* As many at a time as all kernels allow, so that no file's work delays that of another. */
#define VTA_EVENT_WORKERS	512

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

/* ---- The work of an open file ---- */

static struct vta_event *vta_notify_next(struct vta_notify *notify)
{
	struct vta_event *event;

	spin_lock_irq(&notify->lock);
	event = list_first_entry_or_null(&notify->events, struct vta_event, node);
	if (event)
		list_del_init(&event->node);
	spin_unlock_irq(&notify->lock);
	return event;
}

static void vta_notify_work(struct work_struct *work)
{
	struct vta_notify *notify = container_of(work, struct vta_notify, work);
	struct vta_event *event;
	int events;

	events = atomic_xchg(&notify->poll_events, 0);
	if (events)
		wake_up_poll(&notify->poll_wq, (__force __poll_t)events);
	while ((event = vta_notify_next(notify))) {
		vta_eventfd_signal(event->eventfd);
		vta_event_put(event);
		cond_resched();
	}
}

void vta_notify_init(struct vta_notify *notify)
{
	INIT_WORK(&notify->work, vta_notify_work);
	spin_lock_init(&notify->lock);
	INIT_LIST_HEAD(&notify->events);
	init_waitqueue_head(&notify->poll_wq);
}

void vta_notify_event(struct vta_notify *notify, struct vta_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&notify->lock, flags);
	if (list_empty(&event->node)) {
		kref_get(&event->ref);
		list_add_tail(&event->node, &notify->events);
	}
	spin_unlock_irqrestore(&notify->lock, flags);
	queue_work(vta_event_wq, &notify->work);
}

void vta_notify_poll(struct vta_notify *notify, __poll_t events)
{
	atomic_or((__force int)events, &notify->poll_events);
	queue_work(vta_event_wq, &notify->work);
}

void vta_notify_flush(struct vta_notify *notify)
{
	flush_work(&notify->work);
}
