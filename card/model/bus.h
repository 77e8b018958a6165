/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The card's side of PCI Express: DMA, interrupt messages, and the gate that
 * bus mastering and the power state close.
 *
 * Two places check that the bus may be used: the card_ops refuse with
 * -EPERM, and bus_set() follows a moment later. The epoch joins them: it
 * changes with each bus_set() and is odd while the bus is on, so an access that
 * was refused in epoch e can continue when the epoch is odd and not e.
 */
#ifndef VTA_EMU_BUS_H
#define VTA_EMU_BUS_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "card.h"
#include "counters.h"
#include "inject.h"
#include "vta.h"

struct bus {
	const struct card_ops *ops;
	void *priv;
	struct counters *counters;
	struct inject *inject;
	pthread_mutex_t *lock;	/* the card's; protects what follows */
	pthread_cond_t changed;	/* the epoch, or a port's give_up */
	atomic_uint epoch;	/* written with the lock, read without */
	bool posted_writes;	/* refused writes count as done */
	uint64_t pending[(CARD_VECTORS_MAX + 63) / 64];
	uint8_t sink[VTA_PAGE_SIZE];	/* for what is written where there is no memory */
};

int bus_init(struct bus *bus, const struct card_config *config, const struct card_ops *ops,
	     void *priv, struct counters *counters, struct inject *inject, pthread_mutex_t *lock);
void bus_destroy(struct bus *bus);

/* With the lock held. */
void bus_set(struct bus *bus, bool on);
void bus_irq(struct bus *bus, uint32_t vector);
void bus_drop_irqs(struct bus *bus);

/*
 * Waits until the bus is on in another epoch than @refused (0: in any). False
 * when *give_up became true instead. The _locked one is called with the lock
 * held, which it drops while it waits.
 */
bool bus_wait(struct bus *bus, const atomic_bool *give_up, unsigned int refused);
bool bus_wait_locked(struct bus *bus, const atomic_bool *give_up, unsigned int refused);

static inline unsigned int bus_epoch(struct bus *bus)
{
	return atomic_load(&bus->epoch);
}

static inline bool bus_epoch_on(unsigned int epoch)
{
	return epoch & 1;
}

/* As the card_ops, counting what was moved. Never wait. */
int bus_read(struct bus *bus, uint64_t addr, void *buf, size_t len);
int bus_write(struct bus *bus, uint64_t addr, const void *buf, size_t len);
int bus_read64(struct bus *bus, uint64_t addr, uint64_t *val);
int bus_write64(struct bus *bus, uint64_t addr, uint64_t val);

/* Direct access, as the card_ops; the caller counts the bytes moved. */
static inline void bus_begin(struct bus *bus)
{
	bus->ops->begin(bus->priv);
}

void *bus_at(struct bus *bus, uint64_t addr, size_t *len, bool write, int *err);

static inline int bus_end(struct bus *bus)
{
	return bus->ops->end(bus->priv);
}

#endif
