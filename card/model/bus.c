// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses and interrupts wait here while the card may not use the bus.
 */
#include <errno.h>

#include "bus.h"

int bus_init(struct bus *bus, const struct card_config *config, const struct card_ops *ops,
	     void *priv, struct counters *counters, struct inject *inject, pthread_mutex_t *lock)
{
	*bus = (struct bus) {
		.ops = ops,
		.priv = priv,
		.counters = counters,
		.inject = inject,
		.lock = lock,
		.posted_writes = config->posted_writes,
	};
	return -pthread_cond_init(&bus->changed, NULL);
}

void bus_destroy(struct bus *bus)
{
	pthread_cond_destroy(&bus->changed);
}

static void bus_irq_once(struct bus *bus, uint32_t vector)
{
	int ret = -EPERM;

	if (bus_epoch_on(bus_epoch(bus)))
		ret = bus->ops->irq(bus->priv, vector);
	if (ret == -EPERM)
		bus->pending[vector / 64] |= 1ull << vector % 64;
	else if (!ret)
		counter_add(bus->counters, VTA_COUNTER_INTERRUPTS, 1);
}

void bus_irq(struct bus *bus, uint32_t vector)
{
	if (vector >= CARD_VECTORS_MAX || inject_take(bus->inject, INJECT_IRQ_LOST))
		return;
	bus_irq_once(bus, vector);
	if (inject_take(bus->inject, INJECT_IRQ_TWICE))
		bus_irq_once(bus, vector);
}

void bus_drop_irqs(struct bus *bus)
{
	for (unsigned int i = 0; i < sizeof(bus->pending) / sizeof(bus->pending[0]); i++)
		bus->pending[i] = 0;
}

static void bus_send_pending(struct bus *bus)
{
	for (uint32_t v = 0; v < CARD_VECTORS_MAX; v++) {
		uint64_t bit = 1ull << v % 64;

		if (bus->pending[v / 64] & bit) {
			bus->pending[v / 64] &= ~bit;
			bus_irq_once(bus, v);
		}
	}
}

void bus_set(struct bus *bus, bool on)
{
	if (bus_epoch_on(bus_epoch(bus)) == on)
		return;
	atomic_fetch_add(&bus->epoch, 1);
	if (on)
		bus_send_pending(bus);
	pthread_cond_broadcast(&bus->changed);
}

bool bus_wait_locked(struct bus *bus, const atomic_bool *give_up, unsigned int refused)
{
	for (;;) {
		unsigned int epoch = bus_epoch(bus);

		if (atomic_load(give_up))
			return false;
		if (bus_epoch_on(epoch) && epoch != refused)
			return true;
		pthread_cond_wait(&bus->changed, bus->lock);
	}
}

bool bus_wait(struct bus *bus, const atomic_bool *give_up, unsigned int refused)
{
	unsigned int epoch = bus_epoch(bus);
	bool ok;

	if (atomic_load(give_up))
		return false;
	if (bus_epoch_on(epoch) && epoch != refused)
		return true;
	pthread_mutex_lock(bus->lock);
	ok = bus_wait_locked(bus, give_up, refused);
	pthread_mutex_unlock(bus->lock);
	return ok;
}

static int bus_count(struct bus *bus, int ret, enum vta_counter counter, size_t len)
{
	if (!ret)
		counter_add(bus->counters, counter, len);
	return ret;
}

int bus_read(struct bus *bus, uint64_t addr, void *buf, size_t len)
{
	if (inject_take(bus->inject, INJECT_DMA_ABORT))
		return -EIO;
	return bus_count(bus, bus->ops->read(bus->priv, addr, buf, len),
			 VTA_COUNTER_DMA_READ_BYTES, len);
}

/* The result of a write, as far as the card learns of it. */
static int write_result(const struct bus *bus, int ret)
{
	return bus->posted_writes && ret != -EPERM ? 0 : ret;
}

int bus_write(struct bus *bus, uint64_t addr, const void *buf, size_t len)
{
	int ret = -EIO;

	if (!inject_take(bus->inject, INJECT_DMA_ABORT))
		ret = bus->ops->write(bus->priv, addr, buf, len);
	return bus_count(bus, write_result(bus, ret), VTA_COUNTER_DMA_WRITE_BYTES, len);
}

int bus_read64(struct bus *bus, uint64_t addr, uint64_t *val)
{
	if (inject_take(bus->inject, INJECT_DMA_ABORT))
		return -EIO;
	return bus_count(bus, bus->ops->read64(bus->priv, addr, val),
			 VTA_COUNTER_DMA_READ_BYTES, sizeof(*val));
}

int bus_write64(struct bus *bus, uint64_t addr, uint64_t val)
{
	int ret = -EIO;

	if (!inject_take(bus->inject, INJECT_DMA_ABORT))
		ret = bus->ops->write64(bus->priv, addr, val);
	return bus_count(bus, write_result(bus, ret), VTA_COUNTER_DMA_WRITE_BYTES, sizeof(val));
}

void *bus_at(struct bus *bus, uint64_t addr, size_t *len, bool write, int *err)
{
	void *ptr = NULL;

	*err = -EIO;
	if (!inject_take(bus->inject, INJECT_DMA_ABORT))
		ptr = bus->ops->at(bus->priv, addr, len, write, err);
	if (ptr || !write || write_result(bus, *err))
		return ptr;
	*err = 0;
	if (*len > sizeof(bus->sink))
		*len = sizeof(bus->sink);
	return bus->sink;
}
