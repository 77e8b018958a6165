// SPDX-License-Identifier: GPL-2.0-only
/*
 * flaky.c - soft, failing on request; compiled beside soft.c, whose table is renamed
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flaky.h"
#include "vtadev_device.h"

#define LOOK_US	100

extern const struct vtadev_device_ops flaky_soft;
extern struct flaky flaky[FLAKY_DEVICES] __attribute__((visibility("default")));
struct flaky flaky[FLAKY_DEVICES];

/* For programs that have the structure in another language. */
extern const unsigned int flaky_bytes __attribute__((visibility("default")));
const unsigned int flaky_bytes = sizeof(struct flaky);

struct device {
	void *soft;
	struct flaky *control;
};

/* Decrement a count that is above 0; returns true if it was. */
static bool take_one(atomic_int *count)
{
	int now = atomic_load(count);

	while (now > 0)
		if (atomic_compare_exchange_weak(count, &now, now - 1))
			return true;
	return false;
}

static int flaky_list(unsigned int i, char *args, size_t size)
{
	(void)i;
	(void)args;
	(void)size;
	return -ENOENT;
}

static int flaky_open(const char *args, struct vta_info *info, void **device, char *why,
		      size_t why_size)
{
	unsigned int number = (unsigned int)(*args - '0');
	struct device *d;
	int err;

	if (number >= FLAKY_DEVICES || (args[1] && args[1] != ':'))
		return -EINVAL;
	atomic_fetch_add(&flaky[number].opens, 1);
	if (atomic_load(&flaky[number].refuse))
		return -atomic_load(&flaky[number].refuse);
	d = malloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->control = &flaky[number];
	err = flaky_soft.open(args[1] ? args + 2 : "", info, &d->soft, why, why_size);
	if (err) {
		free(d);
		return err;
	}
	if (atomic_load(&d->control->clock_khz))
		info->clock_khz = (uint32_t)atomic_load(&d->control->clock_khz);
	*device = d;
	return 0;
}

static void flaky_close(void *device)
{
	struct device *d = device;

	flaky_soft.close(d->soft);
	free(d);
}

static int flaky_core_new(void *device, void **core)
{
	return flaky_soft.core_new(((struct device *)device)->soft, core);
}

static void flaky_core_free(void *device, void *core)
{
	flaky_soft.core_free(((struct device *)device)->soft, core);
}

/* Counts a run that begins. */
static void begin_run(struct flaky *f)
{
	unsigned int side = atomic_fetch_add(&f->side, 1) + 1, most = atomic_load(&f->sides);

	atomic_fetch_add(&f->runs, 1);
	atomic_store(&f->thread, gettid());
	while (most < side && !atomic_compare_exchange_weak(&f->sides, &most, side))
		;
}

static int run_or_fail(struct device *d, void *core, const struct vtadev_device_run *run,
		       struct vtadev_device_result *result)
{
	struct flaky *f = d->control;

	while (atomic_load(&f->hold) && !run->memory->stop(run->memory->space))
		usleep(LOOK_US);
	if (take_one(&f->lose))
		return -ENODEV;
	if (take_one(&f->faults)) {
		result->reason = (enum vta_fault_reason)atomic_load(&f->fault);
		return 0;
	}
	return flaky_soft.run(d->soft, core, run, result);
}

static int flaky_run(void *device, void *core, const struct vtadev_device_run *run,
		     struct vtadev_device_result *result)
{
	struct device *d = device;
	int ret;

	begin_run(d->control);
	ret = run_or_fail(d, core, run, result);
	atomic_fetch_sub(&d->control->side, 1);
	return ret;
}

const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION,
	.name = "flaky",
	.about = "soft that fails on request",
	.list = flaky_list,
	.open = flaky_open,
	.close = flaky_close,
	.core_new = flaky_core_new,
	.core_free = flaky_core_free,
	.run = flaky_run,
};
