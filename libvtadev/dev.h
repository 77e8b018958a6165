/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dev.h - an open card
 */
#ifndef VTADEV_DEV_H
#define VTADEV_DEV_H

#include <stdatomic.h>

#include "clock.h"
#include "vtadev.h"

struct local;

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
	struct clock_mark opened;
	struct vtadev_info info;
};

struct vtadev *dev_get(struct vtadev *dev);
void dev_put(struct vtadev *dev);

/* As mmap() of the card's file does; NULL, and errno, if it fails. */
void *dev_map(const struct vtadev *dev, size_t size, int prot, uint64_t offset);
void dev_unmap(const struct vtadev *dev, const volatile void *ptr, size_t size);

/* ioctl() that continues after signals and returns a negative errno. */
int dev_ioctl(const struct vtadev *dev, unsigned long request, void *arg);

#endif /* VTADEV_DEV_H */
