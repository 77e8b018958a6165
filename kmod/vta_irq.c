// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_irq.c - interrupt vectors
 *
 * The handler finds completions in memory. Only the handler of the card's own vector reads a
 * register, EVENT, which the thread handles.
 */
#include <linux/interrupt.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "vta_device.h"
#include "vta_irq.h"
#include "vta_waiter.h"

/* The default is far more than can be overdue. */
static unsigned int vta_max_excess_irqs = 1000;
module_param_named(max_excess_irqs, vta_max_excess_irqs, uint, 0644);
MODULE_PARM_DESC(max_excess_irqs,
		 "Most interrupts in a second, on one vector, that no waiter asked for; after more, the driver resets the card (default 1000, 0: no limit)");

static unsigned int vta_max_vectors;
module_param_named(max_vectors, vta_max_vectors, uint, 0444);
MODULE_PARM_DESC(max_vectors,
		 "Most interrupt vectors of a card, which its queues share (default 0: one for each queue and one more, fewer if there are many cards)");

/*
 * A processor has some 200 vectors for all devices. This many are for cards. The first cards get
 * one for each queue, and later cards fewer, so that one is left for the last card.
 */
#define VTA_IRQS_PER_CPU	150
static atomic_t vta_irqs_used;

/* Clears the events before their records are read, so that a later event interrupts again. */
static bool vta_irq_take_events(struct vta_device *vdev)
{
	u32 events = vta_read(vdev, REG_EVENT);

	if (!events)
		return false;
	if (!vta_is_dead(events))
		vta_write(vdev, REG_EVENT, events);
	atomic_or(events, &vdev->events);
	return true;
}

/*
 * Each interrupt is due to a write to ARM or to a queue that halts. A card that sends many more is
 * broken, and would keep a processor busy. Each second counts separately; one interrupt for each
 * queue may be left from the previous second.
 */
static bool vta_irq_is_storm(struct vta_vector *vector)
{
	s64 credit = atomic64_dec_return(&vector->credit);
	s64 limit = READ_ONCE(vta_max_excess_irqs);

	if (time_after(jiffies, vector->second_start + HZ)) {
		vector->second_start = jiffies;
		atomic64_set(&vector->credit, clamp_t(s64, credit, 0, vector->vdev->caps.queues));
		return false;
	}
	if (!limit || credit >= -limit || vector->masked)
		return false;
	vector->masked = true;
	return true;
}

/*
 * Never returns IRQ_NONE, even if the waiter has gone: the kernel disables interrupts that are
 * often unhandled.
 */
static irqreturn_t vta_irq(int irq, void *data)
{
	struct vta_vector *vector = data;

	vta_waiters_interrupt(vector);
	if (vta_irq_is_storm(vector)) {
		disable_irq_nosync(irq);
		atomic_inc(&vector->vdev->interrupt_storms);
		vta_card_request_reset(vector->vdev, "interrupt storm");
		return IRQ_HANDLED;
	}
	if (vector->nr == VTA_EVENT_VECTOR && vta_irq_take_events(vector->vdev))
		return IRQ_WAKE_THREAD;
	return IRQ_HANDLED;
}

static irqreturn_t vta_irq_thread(int irq, void *data)
{
	struct vta_vector *vector = data;
	struct vta_device *vdev = vector->vdev;
	u32 events = atomic_xchg(&vdev->events, 0);
	unsigned int i;

	if (vta_is_dead(events)) {
		vta_card_request_reset(vdev, "does not answer");
		return IRQ_HANDLED;
	}
	if (events & REG_EVENT_FATAL)
		vta_card_request_reset(vdev, "reported a fatal error");
	if (events & REG_EVENT_FAULT) {
		/*
		 * A queue that halts before the clearing write arrives does not interrupt. After
		 * reading back, its record is in memory.
		 */
		vta_read(vdev, REG_EVENT);
		for (i = 0; i < vdev->nr_vectors; i++)
			vta_waiters_find_halted(&vdev->vectors[i]);
	}
	return IRQ_HANDLED;
}

static void vta_irq_init_vector(struct vta_vector *vector, unsigned int nr, struct vta_device *vdev)
{
	vector->vdev = vdev;
	vector->nr = nr;
	spin_lock_init(&vector->lock);
	INIT_LIST_HEAD(&vector->queues);
	INIT_LIST_HEAD(&vector->waiting);
	if (nr == VTA_EVENT_VECTOR)
		snprintf(vector->name, sizeof(vector->name), "%s-card", dev_name(&vdev->dev));
	else
		snprintf(vector->name, sizeof(vector->name), "%s-%u", dev_name(&vdev->dev), nr);
}

static int vta_irq_request(struct vta_vector *vector)
{
	return pci_request_irq(vector->vdev->pdev, vector->nr, vta_irq,
			       vector->nr == VTA_EVENT_VECTOR ? vta_irq_thread : NULL,
			       vector, "%s", vector->name);
}

static void vta_irq_free(struct vta_device *vdev, unsigned int nr)
{
	while (nr--)
		pci_free_irq(vdev->pdev, nr, &vdev->vectors[nr]);
	pci_free_irq_vectors(vdev->pdev);
	vdev->nr_vectors = 0;
}

static unsigned int vta_irq_count_wanted(struct vta_device *vdev)
{
	int left = VTA_IRQS_PER_CPU * num_online_cpus() - atomic_read(&vta_irqs_used);
	unsigned int most = vta_max_vectors ?: max(left / 2, 1);

	return min(most, vdev->caps.queues + 1);
}

/*
 * Allocates at most @wanted vectors and requests all of them. On failure, *got is the number that
 * could be requested, or -1 if none could be allocated. x86 allocates a vector only when it is
 * requested, so the request may fail.
 */
static int vta_irq_alloc(struct vta_device *vdev, unsigned int wanted, int *got)
{
	struct pci_dev *pdev = vdev->pdev;
	unsigned int i;
	int nr, ret;

	*got = -1;
	nr = pci_alloc_irq_vectors(pdev, 1, wanted, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (nr < 0) {
		dev_err(&pdev->dev,
			"no interrupt vector, neither MSI-X nor MSI (%d): enable MSI on this host (is pci=nomsi given?)\n",
			nr);
		return nr;
	}
	vdev->nr_vectors = nr;
	/* The first vector may interrupt at once, and its thread checks all of them. */
	for (i = 0; i < nr; i++)
		vta_irq_init_vector(&vdev->vectors[i], i, vdev);

	for (i = 0; i < nr; i++) {
		ret = vta_irq_request(&vdev->vectors[i]);
		if (ret) {
			vta_irq_free(vdev, i);
			*got = i;
			return ret;
		}
	}
	vta_irq_disable(vdev);
	return 0;
}

int vta_irq_init(struct vta_device *vdev)
{
	unsigned int wanted = vta_irq_count_wanted(vdev), nr = wanted;
	int got, ret;

	lockdep_assert_held(&vdev->lock);

	vdev->vectors = kcalloc(wanted, sizeof(*vdev->vectors), GFP_KERNEL);
	if (!vdev->vectors)
		return -ENOMEM;
	/* If vectors run out, take half of those available: other devices need some, too. */
	while ((ret = vta_irq_alloc(vdev, nr, &got)) == -ENOSPC && got > 0)
		nr = max(got / 2, 1);
	if (!ret)
		atomic_add(vdev->nr_vectors, &vta_irqs_used);
	else if (got >= 0)
		dev_err(&vdev->pdev->dev, "cannot request interrupt %d of %u (%d)\n", got, nr, ret);
	return ret;
}

void vta_irq_fini(struct vta_device *vdev)
{
	if (vdev->nr_vectors)	/* else vta_irq_init() has failed */
		atomic_sub(vdev->nr_vectors, &vta_irqs_used);
	vta_irq_free(vdev, vdev->nr_vectors);
}

void vta_irq_disable(struct vta_device *vdev)
{
	unsigned int i;

	for (i = 0; i < vdev->nr_vectors; i++)
		disable_irq(pci_irq_vector(vdev->pdev, i));
	atomic_set(&vdev->events, 0);
}

void vta_irq_enable(struct vta_device *vdev)
{
	unsigned int i;

	for (i = 0; i < vdev->nr_vectors; i++) {
		struct vta_vector *vector = &vdev->vectors[i];
		int irq = pci_irq_vector(vdev->pdev, i);

		atomic64_set(&vector->credit, 0);
		vector->second_start = jiffies;
		if (vector->masked) {	/* disabled twice */
			vector->masked = false;
			enable_irq(irq);
		}
		enable_irq(irq);
	}
}
