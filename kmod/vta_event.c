// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_event.c - eventfds and poll() are signalled by a thread
 */
#include <linux/eventfd.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "vta_compat.h"
#include "vta_event.h"

/* Not bound to a processor: a worker of one user delays no other user's. */
static struct workqueue_struct *vta_event_wq;

/**
 * struct vta_event - an eventfd
 * @ref: held by the queue that has it, and by the work while it is queued
 * @eventfd: the eventfd
 * @work: signals it
 */
struct vta_event {
	struct kref ref;
	struct eventfd_ctx *eventfd;
	struct work_struct work;
};

int vta_event_init(void)
{
	vta_event_wq = alloc_workqueue("vta", WQ_UNBOUND, 0);
	return vta_event_wq ? 0 : -ENOMEM;
}

/* Returns when all work is done. */
void vta_event_exit(void)
{
	destroy_workqueue(vta_event_wq);
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

static void vta_event_work(struct work_struct *work)
{
	struct vta_event *event = container_of(work, struct vta_event, work);

	vta_eventfd_signal(event->eventfd);
	vta_event_put(event);
}

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
	INIT_WORK(&event->work, vta_event_work);
	return event;
}

void vta_event_signal(struct vta_event *event)
{
	kref_get(&event->ref);
	if (!vta_event_run(&event->work))
		vta_event_put(event);	/* not the last: the caller has one */
}

bool vta_event_run(struct work_struct *work)
{
	return queue_work(vta_event_wq, work);
}
