/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dev.h - an open card, its description by sysfs and its properties
 */
#ifndef VTADEV_DEV_H
#define VTADEV_DEV_H

#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "vtadev.h"

struct local;
struct vta_info;

/*
 * Buffers and queues hold a reference, so that the file stays open until the
 * last of them is freed, in whatever order a program frees them.
 */
struct vtadev {
	struct local *local;	/* NULL: the card is the kernel's */
	int fd;			/* of @local: its own */
	int sysfs;		/* the card's directory there, or -1 */
	uint32_t abi;		/* version of the driver's interface */
	atomic_uint refs;
	unsigned int forks;	/* dev_forks, when it was opened */
	struct clock_mark opened;
	struct vtadev_info info;
};

/* vtadev_open(); after some errors @why is a sentence, otherwise unchanged. */
int dev_open(const char *which, struct vtadev **dev, char *why, size_t size);

/* Number of forks between the program's start and this process. */
extern unsigned int dev_forks;

/*
 * Returns true in a child of the process that opened the card. The child has none of its threads,
 * perhaps locks that they held, and no doorbells: whatever waits, locks or frees returns -ECHILD,
 * or does nothing.
 */
static inline bool dev_is_parents(const struct vtadev *dev)
{
	return dev->forks != dev_forks;
}

struct vtadev *dev_get(struct vtadev *dev);
void dev_put(struct vtadev *dev);

/* As mmap() of the card's file does; NULL, and errno, if it fails. */
void *dev_map(const struct vtadev *dev, size_t size, int prot, uint64_t offset);
/* In a child, which may have something else there: do nothing. */
void dev_unmap(const struct vtadev *dev, const volatile void *ptr, size_t size);

/* The card's counter of doorbells. Errors: as vtadev_counters(). */
int dev_doorbells(const struct vtadev *dev, uint64_t *count);

/* ioctl() that continues after signals and returns a negative errno; in a child -ECHILD. */
int dev_ioctl(const struct vtadev *dev, unsigned long request, void *arg);

/* Return @which, or the value of VTADEV_DEVICE if @which is NULL or empty. */
const char *card_or_default(const char *which);

/* Returns true if @which names a card by the path of its node. */
bool card_is_path(const char *which);

/* Returns false where /sys is not mounted, as in some containers. */
bool card_has_sysfs(void);

/*
 * Describe the card that is open as @fd. Returns a descriptor of its sysfs directory, or -ENODEV
 * if sysfs does not have it.
 */
int card_of_fd(int fd, struct vtadev_card *card);

/*
 * Derive the properties that programs need from those that the kernel reports: all of @info but
 * @info->card. Returns -EPROTO if the configuration is invalid (docs/isa.md): a card with
 * registers gone bad.
 */
int info_derive(const struct vta_info *raw, struct vtadev_info *info);

#endif /* VTADEV_DEV_H */
