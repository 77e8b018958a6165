/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - the process's address space on the card, and the memory in it
 */
#ifndef DRIVER_SPACE_H
#define DRIVER_SPACE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtadev.h"

/**
 * struct mem - memory of VTAMemAlloc()
 * @ptr: where the CPU sees it
 * @addr: where the card does
 * @size: bytes asked for, at least 1
 * @buf: it, as a buffer of the card that is open now
 * @fd: it, as a dma-buf, which survives resets; or -1
 */
struct mem {
	char *ptr;
	uint32_t addr;
	size_t size;
	struct vtadev_buf *buf;
	int fd;
};

/*
 * Enter the space to read: until space_leave(), memory stays and the card is
 * the same. Returns the open card and, in *generation, a number that changes
 * with it; NULL if none is open.
 */
struct vtadev *space_enter(unsigned int *generation);
void space_leave(void);

/*
 * Returns true in a child process whose parent had the card open at fork(). Takes no lock, as
 * another thread of the parent may have held it. Reports it for @call, unless that is NULL.
 */
bool space_is_parents(const char *call);

/* No card could be opened, and the reason is on stderr. */
#define SPACE_SAID	ECANCELED

/* Hold the card open, or release it. 0 or -SPACE_SAID. */
int space_hold(void);
void space_drop(void);

/*
 * Call it when the card that was open in @generation has returned -ENODEV: opens
 * it again, with all memory where it was. 0, or why not. Not between enter and
 * leave.
 */
int space_recover(unsigned int generation);

/* vtadev_strerror(), and what -EOPNOTSUPP of this file's functions means. */
const char *space_strerror(int err);

/* Why the card that was open in @generation was lost. Not between enter and leave. */
void space_lost_text(unsigned int generation, char *text, size_t size);

/* Between enter and leave: the memory with that byte in it, or NULL. */
const struct mem *space_find_ptr(const void *ptr);
const struct mem *space_find_addr(uint32_t addr);

/* Each enters by itself. *out is set on success. -SPACE_SAID as above. */
int space_alloc(size_t size, void **out);
int space_free(void *ptr);	/* -ENOENT: that is not the start of any memory */

#endif /* DRIVER_SPACE_H */
