// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_event.c - eventfds and poll() are signalled by threads
 */
#include <linux/eventfd.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "vta_compat.h"
#include "vta_event.h"

/* Files of one user that have been closed before their last signal was sent; more delay opens. */
#define VTA_NOTIFIER_CLOSED_MAX	64

/*
 * Signals of one user take at most a tenth of a processor's time, and a tenth of a second at once:
 * the time of a work is charged to no user, so it must not delay the work of other users.
 */
#define VTA_NOTIFIER_SHARE	10
#define VTA_NOTIFIER_AHEAD_NS	NSEC_PER_SEC
/* A delayed work checks again after this time, so that unloading the module takes no longer. */
#define VTA_NOTIFIER_DELAY_NS	(100 * NSEC_PER_MSEC)

static struct workqueue_struct *vta_event_wq;
static atomic_t vta_notifiers;	/* that are allocated */
static bool vta_event_ended;	/* the module is unloaded: signals are dropped */

/**
 * struct vta_event - an eventfd
 * @ref: held by the queue that has it, by vta_notify.events, and while it is signalled
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
	vta_event_wq = alloc_workqueue("vta", WQ_UNBOUND, 0);
	return vta_event_wq ? 0 : -ENOMEM;
}

void vta_event_exit(void)
{
	WRITE_ONCE(vta_event_ended, true);
	wait_var_event(&vta_notifiers, !atomic_read(&vta_notifiers));
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

static void vta_notifier_work(struct work_struct *work);

struct vta_notifier *vta_notifier_new(void)
{
	struct vta_notifier *notifier = kzalloc(sizeof(*notifier), GFP_KERNEL_ACCOUNT);

	if (!notifier)
		return NULL;
	kref_init(&notifier->ref);
	spin_lock_init(&notifier->lock);
	INIT_LIST_HEAD(&notifier->due);
	INIT_DELAYED_WORK(&notifier->work, vta_notifier_work);
	atomic_inc(&vta_notifiers);
	return notifier;
}

static void vta_notifier_release(struct kref *ref)
{
	kfree(container_of(ref, struct vta_notifier, ref));
	if (atomic_dec_and_test(&vta_notifiers))
		wake_up_var(&vta_notifiers);
}

void vta_notifier_put(struct vta_notifier *notifier)
{
	kref_put(&notifier->ref, vta_notifier_release);
}

bool vta_notifier_is_idle(struct vta_notifier *notifier)
{
	bool idle;

	spin_lock_irq(&notifier->lock);
	idle = !notifier->working && notifier->paid_until <= ktime_get_ns();
	spin_unlock_irq(&notifier->lock);
	return idle;
}

static bool vta_notifier_may_open(struct vta_notifier *notifier)
{
	bool may;

	spin_lock_irq(&notifier->lock);
	may = notifier->closed < VTA_NOTIFIER_CLOSED_MAX;
	spin_unlock_irq(&notifier->lock);
	return may;
}

int vta_notifier_wait(struct vta_notifier *notifier)
{
	return wait_var_event_interruptible(notifier, vta_notifier_may_open(notifier));
}

/* Returns the delay of the next signal, in jiffies. */
static unsigned long vta_notifier_delay(const struct vta_notifier *notifier)
{
	s64 ahead = notifier->paid_until - ktime_get_ns() - VTA_NOTIFIER_AHEAD_NS;

	if (ahead <= 0 || READ_ONCE(vta_event_ended))
		return 0;
	return nsecs_to_jiffies(min_t(s64, ahead, VTA_NOTIFIER_DELAY_NS)) + 1;
}

static void vta_notifier_queue_work(struct vta_notifier *notifier)
{
	queue_delayed_work(vta_event_wq, &notifier->work, vta_notifier_delay(notifier));
}

/* ---- An open file ---- */

struct vta_notify *vta_notify_new(struct vta_notifier *notifier)
{
	struct vta_notify *notify = kzalloc(sizeof(*notify), GFP_KERNEL_ACCOUNT);

	if (!notify)
		return NULL;
	kref_init(&notify->ref);
	kref_get(&notifier->ref);
	notify->notifier = notifier;
	INIT_LIST_HEAD(&notify->node);
	INIT_LIST_HEAD(&notify->events);
	init_waitqueue_head(&notify->poll_wq);
	return notify;
}

static void vta_notify_release(struct kref *ref)
{
	struct vta_notify *notify = container_of(ref, struct vta_notify, ref);
	struct vta_notifier *notifier = notify->notifier;

	spin_lock_irq(&notifier->lock);
	notifier->closed--;
	spin_unlock_irq(&notifier->lock);
	wake_up_var(notifier);
	vta_notifier_put(notifier);
	kfree(notify);
}

static void vta_notify_put(struct vta_notify *notify)
{
	kref_put(&notify->ref, vta_notify_release);
}

void vta_notify_close(struct vta_notify *notify)
{
	spin_lock_irq(&notify->notifier->lock);
	notify->notifier->closed++;
	spin_unlock_irq(&notify->notifier->lock);
	vta_notify_put(notify);
}

/* Queues the file behind the user's others that have signals to be sent. */
static void vta_notify_queue(struct vta_notify *notify)
{
	struct vta_notifier *notifier = notify->notifier;

	lockdep_assert_held(&notifier->lock);

	if (!list_empty(&notify->node))
		return;
	kref_get(&notify->ref);
	list_add_tail(&notify->node, &notifier->due);
	if (!notifier->working) {
		notifier->working = true;
		kref_get(&notifier->ref);
		vta_notifier_queue_work(notifier);
	}
}

void vta_notify_event(struct vta_notify *notify, struct vta_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&notify->notifier->lock, flags);
	if (list_empty(&event->node)) {
		kref_get(&event->ref);
		list_add_tail(&event->node, &notify->events);
	}
	vta_notify_queue(notify);
	spin_unlock_irqrestore(&notify->notifier->lock, flags);
}

void vta_notify_poll(struct vta_notify *notify, __poll_t events)
{
	unsigned long flags;

	spin_lock_irqsave(&notify->notifier->lock, flags);
	notify->poll_events |= events;
	vta_notify_queue(notify);
	spin_unlock_irqrestore(&notify->notifier->lock, flags);
}

static bool vta_notify_is_idle(struct vta_notify *notify)
{
	bool idle;

	spin_lock_irq(&notify->notifier->lock);
	idle = list_empty(&notify->node) && !notify->busy;
	spin_unlock_irq(&notify->notifier->lock);
	return idle;
}

int vta_notify_wait(struct vta_notify *notify)
{
	return wait_var_event_interruptible(notify, vta_notify_is_idle(notify));
}

/* ---- The work of a user ---- */

/* Takes the file that has waited longest, with its reference. */
static struct vta_notify *vta_notifier_pop(struct vta_notifier *notifier)
{
	struct vta_notify *notify = list_first_entry(&notifier->due, struct vta_notify, node);

	lockdep_assert_held(&notifier->lock);

	list_del_init(&notify->node);
	notify->busy = true;
	return notify;
}

/* Takes the file's oldest eventfd, with its reference; NULL if there is none. */
static struct vta_event *vta_notify_pop(struct vta_notify *notify)
{
	struct vta_event *event = list_first_entry_or_null(&notify->events, struct vta_event, node);

	lockdep_assert_held(&notify->notifier->lock);

	if (event)
		list_del_init(&event->node);
	return event;
}

/* Returns the time that the signals took. Most of it has interrupts off, so none is preempted. */
static u64 vta_notify_send(struct vta_notify *notify, __poll_t poll_events,
			   struct vta_event *event)
{
	u64 start;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	start = ktime_get_ns();
	if (poll_events)
		wake_up_poll(&notify->poll_wq, poll_events);
	if (event)
		vta_eventfd_signal(event->eventfd);
	start = ktime_get_ns() - start;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	return start;
}

/* Sends one eventfd's signal and those of poll() of one file. */
static void vta_notifier_send(struct vta_notifier *notifier)
{
	struct vta_notify *notify;
	struct vta_event *event;
	__poll_t poll_events;
	u64 ns = 0;

	spin_lock_irq(&notifier->lock);
	notify = vta_notifier_pop(notifier);
	event = vta_notify_pop(notify);
	poll_events = notify->poll_events;
	notify->poll_events = 0;
	spin_unlock_irq(&notifier->lock);

	if (!READ_ONCE(vta_event_ended))
		ns = vta_notify_send(notify, poll_events, event);
	if (event)
		vta_event_put(event);

	spin_lock_irq(&notifier->lock);
	notifier->sent_ns += ns;
	notifier->paid_until = max(notifier->paid_until, ktime_get_ns()) +
			       ns * VTA_NOTIFIER_SHARE;
	notify->busy = false;
	if (!list_empty(&notify->events))
		vta_notify_queue(notify);
	spin_unlock_irq(&notifier->lock);
	wake_up_var(notify);
	vta_notify_put(notify);
}

/*
 * Sends signals of one file and queues itself again. So a file that makes new signals all the time
 * delays no other.
 */
static void vta_notifier_work(struct work_struct *work)
{
	struct vta_notifier *notifier = container_of(work, struct vta_notifier, work.work);
	bool more;

	if (!vta_notifier_delay(notifier))
		vta_notifier_send(notifier);
	spin_lock_irq(&notifier->lock);
	more = !list_empty(&notifier->due);
	if (more)
		vta_notifier_queue_work(notifier);
	notifier->working = more;
	spin_unlock_irq(&notifier->lock);
	if (!more)
		vta_notifier_put(notifier);
}
